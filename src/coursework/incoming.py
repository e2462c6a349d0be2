"""Open what a platform's download holds: a zip or a folder becomes a list of files, each with whose it may be.

Names are Canvas's (``lastfirst_LATE_123456_7890123_name.ipynb``, as its ``content_zipper`` writes them), Moodle's
(``First Last_12345_assignsubmission_file_/name.ipynb``), a folder a student, or a file a student as a Drive folder has
them. What a student can choose, a file's name below the student's own folder or behind the platform's part, never says
whose it is. ``opened.py`` gets files out safely, ``collect.py`` sorts them in.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from coursework.errors import CourseError
from coursework.opened import Item, items
from coursework.roster import Roster

#: Canvas takes numbers between underscores out of people's names: the first one is its own.
_CANVAS = re.compile(
    r"(?:(?P<name>.+?)_)??(?:(?P<late>LATE)_)?(?:anon_(?P<anonymous>[A-Za-z0-9]+)|(?<=_)(?P<user>[1-9]\d*))_"
    r"(?:(?P<attachment>[1-9]\d*)_(?P<file>.+)|(?P<other>text|link)\.html)",
    re.DOTALL,
)
#: Moodle takes underscores out of people's names: what stands first is its own. A file's name, which the student
#: chose, may say the same once more behind it.
_MOODLE = re.compile(
    r"(?P<name>[^/]*?)_(?P<user>\d+)_assignsubmission_(?P<plugin>file|onlinetext)_?(?:/(?P<folder>.+)|(?P<file>[^/]+))?",
    re.DOTALL,
)
_YEAR, _MONTH, _DAY = r"(?:19|20)\d\d", r"(?:0?[1-9]|1[0-2])", r"(?:0?[1-9]|[12]\d|3[01])"
#: A date in a file's name, which looks like Canvas's numbers.
_DATE = re.compile(
    rf"(?<!\d)(?:{_YEAR}([-_.]){_MONTH}\1{_DAY}|{_DAY}([-_.]){_MONTH}\2{_YEAR}|{_MONTH}([-_.]){_DAY}\3{_YEAR})(?!\d)"
)
#: What Google Drive puts before the name of a copy, in some languages.
_COPIES = "Copy of|Kopie von|Kopie van|Kopia|Copia de|Copia di|Cópia de|Copie de"  # codespell:ignore copie
_COPY = re.compile(rf"\A(?:{_COPIES})\s+", re.IGNORECASE)
_COUNTED = re.compile(r"\s*(?:\(\d+\)|- ?(?:Copy|Kopie))\s*$")
_NUMBERED = re.compile(r"\((\d{1,4})\)(?:\.[A-Za-z.]+)?$")
_ENDINGS = (".txt", ".json", ".gz", ".ipynb", ".zip")
#: What systems and editors leave about; nobody handed these in.
_CLUTTER = re.compile(
    r"(?:^|/)(?:__MACOSX|\.ipynb_checkpoints|\.git|\.DS_Store|Thumbs\.db|desktop\.ini|\._[^/]*|\.gitignore)(?:/|$)"
)
_SEVERAL = 2
#: What share of a download's names has to be a platform's.
_NEARLY = 0.75
_UNLIKE = "Unlike most here, its name is not one of Canvas's: it was taken for the file of the student it names."
_LIKE = "Its name looks like one of Canvas's, but most here do not: it was taken for the file of the student it names."
#: As many as any platform's numbers have.
_DIGITS = 20
NOBODY = Roster()


@dataclass(frozen=True)
class Found:
    """A file that somebody may have handed in.

    Attributes:
        item: The file.
        name: Whose it is by its name; empty if that says nothing.
        kind: ``canvas``, ``moodle``, ``folder`` (one a student), ``repository`` or ``file``.
        identity: What the platform calls its owner; empty if it says nothing.
        late: Whether Canvas marked it as late.
        order: The larger, the later it was handed in, where a platform or a copy's number tells and times do not.
        moment: When it was handed in; ``None`` if nothing tells that can be trusted.
        changed: What may tell which of two files is newer, though not when either came; ``None`` if nothing does.
        told: What the instructor should know about how its name was read.
    """

    item: Item
    name: str
    kind: str
    identity: str = ""
    late: bool = False
    order: int = 0
    moment: datetime | None = None
    changed: datetime | None = None
    told: str = ""


def incoming(source: Path, slug: str, roster: Roster = NOBODY, student: str = "") -> list[Found]:
    """List what a download holds.

    Args:
        source: A zip file, a folder, or one notebook.
        slug: The exercise; its name in a file's name says nothing about whose it is.
        roster: Who takes part; a folder called as somebody there is that student's.
        student: Whose everything is, if that is known; then no name means anything.

    Raises:
        CourseError: If there is nothing there.
    """
    if not source.exists():
        raise CourseError(f"{source}: there is no such file or folder. Give the platform's zip, or a folder.")
    found = [item for item in items(source) if not is_clutter(item.path)]
    # A repository holds much that nobody handed in.
    found = [one for one in found if not one.repository or ".ipynb" in one.path.lower() or _MOODLE.fullmatch(one.path)]
    if student:
        return [_dated_by(Found(item, student, "folder")) for item in found]
    found = _without_wrapping(found, slug, roster)
    likely, canvas = _canvas_names(found)
    listed = [_found(item, slug, item.path in likely, canvas) for item in found]
    # Moodle gives no times to what it packs: these are of the download's making, one after the other.
    made = max((one.item.changed for one in listed if one.kind == "moodle" and one.item.changed), default=None)
    return [replace(one, changed=made) if one.kind == "moodle" else _dated_by(one) for one in listed]


def _dated_by(one: Found) -> Found:
    """Say what tells when a file came: a commit. What else it is changed by may only tell which of two is newer."""
    # The times in Canvas's zip are those of its making.
    return replace(one, moment=one.item.moment, changed=None if one.kind == "canvas" else one.item.changed)


def is_clutter(path: str) -> bool:
    """Whether a file is one that systems and editors leave about."""
    return _CLUTTER.search(path) is not None


def cleaned(name: str) -> str:
    """Give a file's name without its endings and without what copying put around it."""
    while True:
        before = name
        name = _COUNTED.sub("", _COPY.sub("", name.strip(), count=1)).strip()
        for ending in _ENDINGS:
            name = name[: -len(ending)] if name.lower().endswith(ending) else name
        if name == before:
            return name


def named(path: str, kind: str, slug: str) -> str:
    """Give whose a file is by its place in a download that no platform made.

    Args:
        path: Its path there.
        kind: ``file`` if the file's name says it, else the outermost folder's does.
        slug: The exercise.
    """
    top = path.partition("/")[0]
    if kind != "file":
        return owner(top, slug)
    name = owner(cleaned(top), slug)
    rest = _DATE.sub(" ", name)
    return name if rest == name else rest.strip(" -_.")


def owner(name: str, slug: str) -> str:
    """Give the part of a name that says whose it is: without the exercise's own, and what stands around it."""
    rest = re.sub(rf"(?:hand-in[-_ ])?{re.escape(slug)}(?:[-_. ](?:pytorch|mxnet))?", " ", name, flags=re.IGNORECASE)
    return name if rest == name else rest.strip(" -_.")


def _found(item: Item, slug: str, likely: bool, canvas: bool) -> Found:
    moodle = _MOODLE.fullmatch(item.path)
    if moodle:
        online = "typed into Moodle's text field instead of handing in a file"
        told = replace(item, problem=item.problem or online) if moodle["plugin"] == "onlinetext" else item
        return Found(told, moodle["name"], "moodle", moodle["user"], order=_copy_number(item.path))
    if canvas and likely:
        return _of_canvas(item)
    below = "/" in item.path
    kind = ("repository" if item.repository else "folder") if below else "file"
    told_of_name = "" if below or canvas == likely else _UNLIKE if canvas else _LIKE
    return Found(item, named(item.path, kind, slug), kind, order=_copy_number(item.path), told=told_of_name)


def _copy_number(path: str) -> int:
    """Give the number that browsers, Moodle and Drive put behind a name that was there already; 0 if it has none."""
    found = _NUMBERED.search(path.rpartition("/")[2])
    return int(found[1]) if found else 0


def _of_canvas(item: Item) -> Found:
    parts = _CANVAS.fullmatch(item.path)
    assert parts is not None  # noqa: S101 - for the type checker
    typed = "typed into Canvas's field for a text or a link instead of handing in a file"
    return Found(
        replace(item, problem=item.problem or typed) if parts["other"] else item,
        parts["name"] or parts["anonymous"] or "",
        "canvas",
        parts["user"] or parts["anonymous"] or "",
        bool(parts["late"]),
        int((parts["attachment"] or "0")[:_DIGITS]),
    )


def _canvas_names(found: Sequence[Item]) -> tuple[Collection[str], bool]:
    """Find the names that may be Canvas's, and whether the download is: side by side, nearly all files are so named.

    A name with a date, ``ada_2026_01_15.ipynb``, looks the same; but of Canvas's numbers each is one person's.
    """
    flat = [item.path for item in found if "/" not in item.path and not _MOODLE.fullmatch(item.path)]
    parts = {path: match for path in flat if (match := _CANVAS.fullmatch(path)) and not _dated(path, match)}
    names: dict[str, set[str]] = {}
    for match in parts.values():
        names.setdefault(match["user"] or match["anonymous"], set()).add(match["name"] or "")
    likely = {path for path, match in parts.items() if len(names[match["user"] or match["anonymous"]]) == 1}
    return likely, bool(likely) and sum(path in likely for path in flat) >= _NEARLY * len(flat)


def _dated(path: str, match: re.Match[str]) -> bool:
    """Whether the numbers that a name begins with are a date's."""
    return any(date.start() <= match.start("user") < date.end() for date in _DATE.finditer(path))


def _without_wrapping(found: list[Item], slug: str, roster: Roster) -> list[Item]:
    """Take away the one folder that some programs wrap everything in."""
    tops = {item.path.partition("/")[0] for item in found}
    if len(tops) != 1 or not all("/" in item.path for item in found) or _is_somebodys(tops.pop(), found, slug, roster):
        return found
    inner = [replace(item, path=item.path.partition("/")[2]) for item in found]
    return inner if _holds_several(inner, slug, roster) else found


def _is_somebodys(top: str, found: Sequence[Item], slug: str, roster: Roster) -> bool:
    """Whether the only folder is a student's: a clone, one that a platform made, or one called as a student is."""
    made = any(item.repository == top or _MOODLE.fullmatch(item.path) for item in found)
    return made or roster.find(owner(top, slug)) is not None


def _holds_several(inner: Sequence[Item], slug: str, roster: Roster) -> bool:
    if sum(_MOODLE.fullmatch(item.path) is not None for item in inner) >= _NEARLY * len(inner):
        return True
    likely, canvas = _canvas_names(inner)
    people = {match["name"] or match["anonymous"] for path in likely if (match := _CANVAS.fullmatch(path))}
    folders = {item.path.partition("/")[0] for item in inner if "/" in item.path}
    files = {named(item.path, "file", slug) for item in inner if "/" not in item.path}
    known = {one.student for name in files if (one := roster.find(name))}
    return max(len(folders), len(known), len(people) if canvas else 0) >= _SEVERAL
