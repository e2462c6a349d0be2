"""Look for lines of a teacher's part in everything that a student or a reader can get.

A line is secret if it stands in the teacher's part and in nothing that is public anyway. Pages, notebooks, search
indexes, archives within archives are looked into; spaces, tags and line breaks do not hide a line.
"""

from __future__ import annotations

import html
import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coursework.exercise import Exercise

#: Shorter lines stand everywhere, such as `return total`.
_SHORTEST = 30
_ARCHIVES = (".zip", ".whl")
_MARKUP = (".html", ".htm", ".xml", ".svg")
_BINARY = {".png", ".jpg", ".jpeg", ".gif", ".ico", ".woff", ".woff2", ".ttf", ".eot", ".otf", ".inv", ".map", ".pdf"}
_TAG = re.compile(r"<[^<>]*>")
_SPACE = re.compile(r"\s+")
_LEAD = re.compile(r"^(?:#+\s*|[-*]\s+|\"\"\"|import |from )")


@dataclass(frozen=True)
class Leak:
    """A secret line where others can get it.

    Attributes:
        place: The file, and the file in it if it is an archive.
        source: The file of the teacher's part and the line's number.
        line: The line.
    """

    place: str
    source: str
    line: str


def secrets(exercise: Exercise, public: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Give the lines of a teacher's part that nobody else may see.

    Args:
        exercise: Whose.
        public: Texts that are public anyway: a line in one of them is no secret.

    Returns:
        By each line without its spaces, where it stands and what it is.
    """
    shown = sorted(exercise.teacher.glob("solution*.py")) if exercise.solution == "public" else []
    known = "\0".join(_bare(text) for text in (*public, *(path.read_text("utf8") for path in shown)))
    found: dict[str, tuple[str, str]] = {}
    for path in sorted(exercise.teacher.rglob("*")):
        if path.suffix not in (".py", ".md", ".yml", ".toml", ".csv", ".txt"):
            continue
        for number, line in enumerate(path.read_text("utf8").splitlines(), start=1):
            bare = _bare(line)
            if len(bare) >= _SHORTEST and not _LEAD.match(line.strip()) and bare not in known:
                found.setdefault(bare, (f"{path.relative_to(exercise.teacher.parent)}:{number}", line.strip()))
    return found


def public_texts(book: Path) -> Iterator[str]:
    """Give the sources of a book that anyone may read: its pages, its exercises without teachers' parts, its packages.

    Args:
        book: The book's folder.
    """
    for pattern in ("*.md", "chapters/*.md", "solutions/*.md", "exercises/*/exercise.md", "src/**/*.py"):
        for path in sorted(book.glob(pattern)):
            yield path.read_text("utf8")


def leaks(places: Iterable[Path], secret: dict[str, tuple[str, str]]) -> Iterator[Leak]:
    """Find secret lines in files and in all that is in folders.

    Args:
        places: Files and folders that others can get.
        secret: What `secrets` gave.
    """
    for place in places:
        paths = sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else [place]
        for path in paths:
            for name, text in texts(str(path), path.read_bytes()):
                yield from (Leak(name, *secret[line]) for line in secret if line in text)


def texts(name: str, content: bytes) -> Iterator[tuple[str, str]]:
    """Give each text in a file, without spaces; those of an archive one by one.

    Args:
        name: The file's name.
        content: Its bytes.
    """
    suffix = Path(name).suffix.lower()
    if suffix in _ARCHIVES:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for inside in archive.namelist():
                yield from texts(f"{name}/{inside}", archive.read(inside))
    elif suffix not in _BINARY:
        text = content.decode("utf8", errors="replace")
        yield name, _bare(text)
        if suffix in _MARKUP:
            # Highlighted code has a tag around each word.
            yield name, _bare(html.unescape(_TAG.sub("", text)))
        elif suffix in (".ipynb", ".json"):
            yield name, _bare("\n".join(_strings(text)))


def _strings(text: str) -> list[str]:
    """Give every string in a JSON text; a notebook's sources and outputs among them."""
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            # Jupyter writes a text as a list of its lines.
            found.append("".join(part for part in value if isinstance(part, str)))
            for part in value:
                if not isinstance(part, str):
                    walk(part)
        elif isinstance(value, dict):
            for part in value.values():
                walk(part)

    try:
        walk(json.loads(text))
    except ValueError:
        return []
    return found


def _bare(text: str) -> str:
    return _SPACE.sub("", text)
