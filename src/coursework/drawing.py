"""The instructor's seed, and what an offering draws from it: constants now, hidden inputs when it is graded.

The seed is kept in the course's folder, in ``offering.toml``, readable by its owner alone.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import re
import secrets
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from coursework.errors import CourseError
from coursework.exercise import Exercise
from coursework.model import Offering, secret_draw

FILE = "offering.toml"
_SEED = re.compile(r"[0-9a-f]{32,}")
_KEYS = {"name", "seed", "created"}
_ABOUT = """\
# The seed of this course: constants and hidden inputs are drawn from it. Keep it, and keep it secret: whoever has it
# can compute them, and without it nothing that was handed out can be graded.
"""


@dataclass(frozen=True)
class Course:
    """What ``offering.toml`` says.

    Attributes:
        name: Such as ``Autumn 2026``.
        seed: The secret.
        created: The day it was made, as ISO 8601.
    """

    name: str
    seed: str = field(repr=False)
    created: str


def course(folder: Path, *, make: bool = False, name: str = "") -> Course:
    """Read a course's seed.

    Args:
        folder: The course's folder.
        make: Whether to make a seed if there is none.
        name: The new course's name; that of the folder if empty.

    Raises:
        CourseError: If there is none, or it cannot be read.
    """
    path = folder / FILE
    try:
        return _read(path, path.read_text("utf8"))
    except FileNotFoundError:
        if not make:
            raise CourseError(
                f"{path}: there is no such file, which holds the course's seed (made by the first `assign`).\n"
                "  Say where the course is: `--course DIR`; or assign an exercise first."
            ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path}: it cannot be read ({error}).\n  Correct it, or take it from a backup.") from None
    made = Course(name or folder.resolve().name, secrets.token_hex(16), datetime.date.today().isoformat())
    return _write(path, made)


def _write(path: Path, made: Course) -> Course:
    """Write a new seed; if another process was quicker, read that one's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # What JSON makes of a text is one in TOML as well.
    lines = [f"{key} = {json.dumps(getattr(made, key), ensure_ascii=False)}" for key in ("name", "seed", "created")]
    temporary = path.with_name(f".{FILE}-{secrets.token_hex(4)}")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf8") as file:
        file.write(_ABOUT + "\n".join(lines) + "\n")
    try:
        os.link(temporary, path)
    except FileExistsError:
        return _read(path, path.read_text("utf8"))
    finally:
        temporary.unlink()
    return made


def _read(path: Path, text: str) -> Course:
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CourseError(f"{path}: it is no valid TOML: {error}.\n  Correct it, or take it from a backup.") from None
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        raise CourseError(f"{path}: `{unknown[0]}` is unknown (known: {', '.join(sorted(_KEYS))}).\n  Remove it.")
    if not isinstance(table.get("seed"), str) or not _SEED.fullmatch(table["seed"]):
        # Not what was found: it may be most of a seed.
        raise CourseError(
            f"{path}: `seed` is no text of at least 32 hexadecimal digits.\n"
            "  Take the file from a backup: with another seed nothing that was handed out can be graded."
        )
    return Course(str(table.get("name", "")), table["seed"], str(table.get("created", "")))


def offering(exercise: Exercise, framework: str, seed: str) -> Offering:
    """Draw what an exercise is asked with.

    Args:
        exercise: The exercise.
        framework: One of its frameworks.
        seed: The course's secret.
    """
    constants = {
        name: secret_draw(seed, exercise.slug, f"constant {name}").choice(values)
        for name, values in exercise.settings.constants.items()
    }
    return Offering(exercise.slug, framework, seed, constants)


def sample(exercise: Exercise, framework: str) -> Offering:
    """Give an offering with the constants that the book shows, and a seed that is no secret."""
    return Offering(exercise.slug, framework, "the book's own", exercise.constants)


def identity(seed: str, slug: str) -> str:
    """Give the eight digits by which notebooks name an offering: they tell nothing of the seed."""
    return hashlib.sha256(f"{seed}{slug}".encode()).hexdigest()[:8]
