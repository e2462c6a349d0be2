"""Open what a platform's download holds: a zip or a folder becomes a list of files, each with whose it may be.

Names are told apart one by one: Canvas's (``lastfirst_LATE_123456_7890123_name.ipynb``, as its ``content_zipper``
writes them), Moodle's (``First Last_12345_assignsubmission_file_/name.ipynb``), a folder a student, or a file a student
as a Drive folder has them. ``opened.py`` gets files out safely, ``collect.py`` sorts them in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePosixPath

from coursework.errors import CourseError
from coursework.opened import Item, items

_CANVAS = re.compile(
    r"(?:(?P<name>.*?)_)??(?:(?P<late>LATE)_)?(?:anon_(?P<anonymous>[A-Za-z0-9]+)|(?P<user>\d+))_"
    r"(?:(?P<attachment>\d+)_(?P<file>.+)|(?P<other>text|link)\.html)",
    re.DOTALL,
)
_MOODLE = re.compile(
    r"(?P<name>[^/]*)_(?P<user>\d+)_assignsubmission_(?P<plugin>file|onlinetext)_?(?:/(?P<folder>.+)|(?P<file>[^/]+))?",
    re.DOTALL,
)
#: What Google Drive puts before the name of a copy, in some languages.
_COPIES = "Copy of|Kopie von|Kopie van|Kopia|Copia de|Copia di|Cópia de|Copie de"  # codespell:ignore copie
_COPY = re.compile(rf"\A(?:{_COPIES})\s+", re.IGNORECASE)
_COUNTED = re.compile(r"\s*(?:\(\d+\)|- ?(?:Copy|Kopie))\s*$")
_ENDINGS = (".txt", ".json", ".gz", ".ipynb")
#: What systems and editors leave about; nobody handed these in.
_CLUTTER = re.compile(
    r"(?:^|/)(?:__MACOSX|\.ipynb_checkpoints|\.git|\.DS_Store|Thumbs\.db|desktop\.ini|\._[^/]*|\.gitignore)(?:/|$)"
)
_SEVERAL = 2
#: As many as any platform's numbers have.
_DIGITS = 20


@dataclass(frozen=True)
class Found:
    """A file that somebody may have handed in.

    Attributes:
        item: The file.
        name: Whose it is by its name; empty if that says nothing.
        kind: ``canvas``, ``moodle``, ``folder`` (one a student), ``repository`` or ``file``.
        identity: What the platform calls its owner; empty if it says nothing.
        late: Whether Canvas marked it as late.
        order: The larger, the later it was handed in, where a platform tells and times do not.
        moment: When it was handed in; ``None`` if nothing tells.
    """

    item: Item
    name: str
    kind: str
    identity: str = ""
    late: bool = False
    order: int = 0
    moment: datetime | None = None


def incoming(source: Path, slug: str) -> list[Found]:
    """List what a download holds.

    Args:
        source: A zip file, a folder, or one notebook.
        slug: The exercise; its name in a file's name says nothing about whose it is.

    Raises:
        CourseError: If there is nothing there.
    """
    if not source.exists():
        raise CourseError(f"{source}: there is no such file or folder. Give the platform's zip, or a folder.")
    found = [item for item in items(source) if not _CLUTTER.search(item.path)]
    # A repository holds much that nobody handed in.
    found = [item for item in found if not item.repository or ".ipynb" in item.path.lower()]
    return [_found(item, slug) for item in _without_wrapping(found)]


def cleaned(name: str) -> str:
    """Give a file's name without its endings and without what copying put around it."""
    while True:
        before = name
        name = _COUNTED.sub("", _COPY.sub("", name.strip(), count=1)).strip()
        for ending in _ENDINGS:
            name = name[: -len(ending)] if name.lower().endswith(ending) else name
        if name == before:
            return name


def owner(name: str, slug: str) -> str:
    """Give the part of a name that says whose it is: without the exercise's own, and what stands around it."""
    rest = re.sub(rf"(?:hand-in[-_ ])?{re.escape(slug)}(?:[-_. ](?:pytorch|mxnet))?", " ", name, flags=re.IGNORECASE)
    return name if rest == name else rest.strip(" -_.")


def _found(item: Item, slug: str) -> Found:
    path = item.path
    moodle = _MOODLE.fullmatch(path)
    if moodle:
        online = "typed into Moodle's text field instead of handing in a file"
        told = replace(item, problem=item.problem or online) if moodle["plugin"] == "onlinetext" else item
        return Found(told, moodle["name"], "moodle", moodle["user"], moment=item.moment)
    canvas = _CANVAS.fullmatch(PurePosixPath(path).name)
    if canvas:
        typed = "typed into Canvas's field for a text or a link instead of handing in a file"
        told = replace(item, problem=item.problem or typed) if canvas["other"] else item
        # The times in Canvas's zip are those of its making.
        return Found(
            told,
            canvas["name"] or canvas["anonymous"] or "",
            "canvas",
            canvas["user"] or canvas["anonymous"] or "",
            bool(canvas["late"]),
            int((canvas["attachment"] or "0")[:_DIGITS]),
        )
    top, _, below = path.partition("/")
    if below:
        kind = "repository" if item.repository else "folder"
        return Found(item, owner(top, slug), kind, moment=item.moment)
    return Found(item, owner(cleaned(top), slug), "file", moment=item.moment)


def _without_wrapping(found: list[Item]) -> Iterator[Item]:
    """Take away the one folder that some programs wrap everything in."""
    tops = {item.path.partition("/")[0] for item in found}
    wrapped = len(tops) == 1 and all("/" in item.path for item in found) and _holds_several(found)
    for item in found:
        yield replace(item, path=item.path.partition("/")[2]) if wrapped else item


def _holds_several(found: Iterable[Item]) -> bool:
    inner = [item.path.partition("/")[2] for item in found if not _MOODLE.fullmatch(item.path)]
    platform = [path for path in inner if _MOODLE.fullmatch(path) or _CANVAS.fullmatch(path)]
    folders = {path.partition("/")[0] for path in inner if "/" in path}
    return bool(platform) or len(folders) >= _SEVERAL
