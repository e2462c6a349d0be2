"""The instructor's seed, and what an offering draws from it: constants now, hidden inputs when it is graded.

The seed is kept in the course's folder, in ``offering.toml``, readable by its owner alone. So is where the course's own
teachers' parts and overlay are: a command that forgot them would grade by other questions or points.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import re
import secrets
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from coursework.errors import CourseError
from coursework.exercise import Exercise
from coursework.files import write_whole
from coursework.model import Offering, secret_draw

FILE = "offering.toml"
_SEED = re.compile(r"[0-9a-f]{32,}")
_KEYS = {"name", "seed", "created"}
#: The folders that it remembers, relative to its own.
FOLDERS = ("teacher", "overlay")
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
        folders: Where its own teachers' parts and overlay are, by `FOLDERS`, as the file says it.
    """

    name: str
    seed: str = field(repr=False)
    created: str
    folders: Mapping[str, str] = field(default_factory=dict)


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


def remembered(folder: Path) -> dict[str, Path]:
    """Give the folders that a course remembers, by `FOLDERS`; none if there is no such course yet.

    Raises:
        CourseError: If one is not there any more, or the file cannot be read.
    """
    path = folder / FILE
    if not path.is_file():
        return {}
    found = {}
    for name, told in course(folder).folders.items():
        found[name] = Path(os.path.normpath(folder / told))
        if not found[name].is_dir():
            raise CourseError(
                f"{path}: `{name}` is {told!r}, and there is no such folder (it is looked for from {folder}).\n"
                f"  Correct the line, or remove it; `--{name} DIR` writes it anew."
            )
    return found


def remember(folder: Path, folders: Mapping[str, Path | None]) -> list[str]:
    """Keep where a course's own teachers' parts and overlay are, for all commands to come.

    Args:
        folder: The course's folder; nothing is kept where there is no course.
        folders: By `FOLDERS`; what is missing or None stays as it was.

    Returns:
        A sentence for each that is new.

    Raises:
        CourseError: If the file cannot be read.
    """
    path = folder / FILE
    if not path.is_file():
        return []
    before, text, told = course(folder).folders, path.read_text("utf8"), []
    for name in FOLDERS:
        where = folders.get(name)
        relative = Path(os.path.relpath(where.resolve(), folder.resolve())).as_posix() if where else ""
        if where and relative != before.get(name):
            line = f"{name} = {json.dumps(relative, ensure_ascii=False)}"
            text = re.sub(rf"^{name}\s*=.*\n?", "", text, flags=re.MULTILINE).rstrip("\n") + f"\n{line}\n"
            told.append(f"{path}: `--{name} {where}` holds for all commands from now on; without its line it does not.")
    if told:
        write_whole(path, text)
    return told


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
    known = {*_KEYS, *FOLDERS}
    unknown = sorted(set(table) - known)
    if unknown:
        raise CourseError(f"{path}: `{unknown[0]}` is unknown (known: {', '.join(sorted(known))}).\n  Remove it.")
    if not isinstance(table.get("seed"), str) or not _SEED.fullmatch(table["seed"]):
        # Not what was found: it may be most of a seed.
        raise CourseError(
            f"{path}: `seed` is no text of at least 32 hexadecimal digits.\n"
            "  Take the file from a backup: with another seed nothing that was handed out can be graded."
        )
    folders = {name: table[name] for name in FOLDERS if name in table}
    for name, value in folders.items():
        if not isinstance(value, str) or not value:
            raise CourseError(f"{path}: `{name}` is {value!r}, but has to name a folder.\n  Correct or remove it.")
    return Course(str(table.get("name", "")), table["seed"], str(table.get("created", "")), folders)


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
