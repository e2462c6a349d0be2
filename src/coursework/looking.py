"""Say what a file that was handed in is: by its stamp, or by its answers if it has lost that. See ``collect.py``."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from coursework.incoming import Found
from coursework.nested import taken
from coursework.newest import LOST
from coursework.opened import Refused
from coursework.owners import Owner
from coursework.roster import Roster, late_days
from coursework.rows import Row, Status
from coursework.stamp import read as read_stamp
from coursework.submission import Notebook, Unreadable, read
from coursework.worksheet import Submitted

#: How it is told that the roster has no line for somebody.
STRANGER = "Not in roster.csv"
#: How much of what a stamp says is told, in characters: a student may have written it.
_CUT = 60


@dataclass(frozen=True)
class Expected:
    """What is collected.

    Attributes:
        slug: The exercise.
        frameworks: Those that are taken.
        version: The exercise's.
        compatible_with: Earlier versions that are still graded.
        offering: The course's own mark of this exercise; empty if nothing was handed out yet.
        names: The exercise's answers, by which a notebook without a stamp is known.
        due: When it is due for those of whom the roster does not say.
        submitted: What Moodle's grading worksheet says of hand-ins, by Moodle's number.
        exercises: If files of several exercises may lie together: those that stamps may name.
        home: Then, to which exercise the files of a source belong that have no such stamp.
    """

    slug: str
    frameworks: tuple[str, ...]
    version: int
    compatible_with: tuple[int, ...]
    offering: str
    names: Collection[str]
    due: datetime | None = None
    submitted: Mapping[str, Submitted] = field(default_factory=dict)
    exercises: Collection[str] = ()
    home: Mapping[Path, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Looked:
    """A file's row, and which exercise its stamp names; empty if it has none."""

    row: Row
    stamped: str = ""


def looked_at(one: Found, owner: Owner, source: Path, expected: Expected) -> Looked:
    """Say what a file is, whatever it holds.

    Args:
        one: The file.
        owner: Whose it is.
        source: The download or folder that it came from.
        expected: What is collected.
    """
    row = Row(
        owner.student,
        expected.slug,
        original=one.item.path,
        kind=one.kind,
        identity=one.identity,
        order=one.order,
        submitted_at=_written(one.moment),
        changed_at=_written(one.changed),
        source=source.name,
    )
    try:
        looked = _described(row, one, expected)
    except Exception as error:
        # Whatever it is, it is one file's: the others are collected.
        looked = Looked(replace(row, message=f"It cannot be read ({type(error).__name__})."))
    message = " ".join(filter(None, [looked.row.message, one.told, owner.told]))
    return replace(looked, row=replace(looked.row, message=message))


def timed(row: Row, one: Found, expected: Expected, roster: Roster, earlier: str = "") -> Row:
    """Say when a notebook came, and how late that was; nothing is said where nothing tells.

    Args:
        row: What `looked_at` gave.
        one: The file.
        expected: What is collected.
        roster: Who takes part.
        earlier: When it came by what an earlier call knew, in ISO 8601.
    """
    said = expected.submitted.get(one.identity, Submitted()) if one.kind == "moodle" else Submitted()
    row = replace(row, submitted_at=_written(said.moment) or row.submitted_at or earlier)
    participant = roster.students.get(row.student)
    due = (participant.due_for(expected.slug) if participant else None) or expected.due
    late = late_days(datetime.fromisoformat(row.submitted_at) if row.submitted_at else None, due)
    messages = [row.message]
    if said.draft:
        messages.append("Moodle calls it a draft, which was not submitted.")
    if one.kind == "canvas" and not late:
        late = int(one.late)
        messages += ["Canvas says that it came late; by how much, its zip does not tell."] if one.late else []
    elif said.late and late is None:
        late = 1
        messages.append("Moodle says that it came late; by how much, cannot be told here.")
    if roster.students and participant is None:
        near = roster.nearly(one.name)
        messages.append(f"{STRANGER}; the name is nearly that of {near}." if near else f"{STRANGER}.")
    return replace(row, late_days=late, message=" ".join(filter(None, messages)))


def sentence(text: str) -> str:
    """Make a sentence of a problem."""
    return f"{text[:1].upper()}{text[1:]}."


def _written(moment: datetime | None) -> str:
    return moment.isoformat(timespec="seconds") if moment else ""


def _described(row: Row, one: Found, expected: Expected) -> Looked:
    """Say what a file is."""
    if one.item.problem:
        return Looked(replace(row, message=sentence(one.item.problem)))
    try:
        content = one.item.content()
        row = replace(row, digest=hashlib.sha256(content).hexdigest()[:16])
        notebook = read(taken(content, one.item.path))
    except (Refused, Unreadable) as error:
        return Looked(replace(row, message=sentence(str(error))))
    looked = _judged(row, notebook, one, expected)
    row = looked.row
    if not row.student:
        told = f"Nothing says whose it is: rename it to STUDENT.ipynb, such as p01.ipynb. {row.message}"
        row = replace(row, status=Status.UNREADABLE, message=told.strip())
    return replace(looked, row=row)


def _judged(row: Row, notebook: Notebook, one: Found, expected: Expected) -> Looked:
    """Say what a notebook is, by its stamp, or by its answers if it has lost that."""
    stamp = read_stamp(notebook.document)
    if stamp is None:
        return Looked(_unstamped(row, notebook, one, expected))
    row, what = replace(row, framework=stamp.framework if stamp.slug == expected.slug else ""), ""
    if stamp.slug != expected.slug:
        what = f"It is the notebook of another exercise, {stamp.slug[:_CUT]}; collected here is {expected.slug}."
    elif stamp.framework not in expected.frameworks:
        what = f"It is the notebook for {stamp.framework[:_CUT]}; collected here is {' or '.join(expected.frameworks)}."
    elif expected.offering and stamp.offering != expected.offering:
        what = f"It is from another course or year (offering {stamp.offering[:_CUT]}, here {expected.offering})."
    if what:
        return Looked(replace(row, status=Status.WRONG, message=what), stamp.slug)
    if stamp.version != expected.version and stamp.version not in expected.compatible_with:
        what = f"It is version {stamp.version} of the exercise; version {expected.version} is graded."
        return Looked(replace(row, status=Status.OLD, message=what), stamp.slug)
    older = f"It is version {stamp.version}, which is graded like {expected.version}."
    message = "" if stamp.version == expected.version else older
    return Looked(replace(row, status=Status.COLLECTED, message=message), stamp.slug)


def _unstamped(row: Row, notebook: Notebook, one: Found, expected: Expected) -> Row:
    named = [name for name in expected.frameworks if name in one.item.path.lower()]
    framework = named[0] if len(named) == 1 else expected.frameworks[0]
    if notebook.names & set(expected.names):
        sure = len(named) == 1 or len(expected.frameworks) == 1
        told = f"{LOST}; it was known by its answers." + (
            "" if sure else f" Taken for {framework}; collect with --framework if it is another."
        )
        return replace(row, framework=framework, status=Status.COLLECTED, message=told)
    what = f"No notebook that `coursework assign` made: it has none of the answers of {expected.slug}."
    return replace(row, status=Status.WRONG, message=what)
