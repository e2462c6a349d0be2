"""Make ``roster.csv`` of a platform's own list: Moodle's grading worksheet, or the gradebook that Canvas exports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from coursework.course import Course
from coursework.errors import CourseError
from coursework.files import write_whole
from coursework.people import is_nobody, name_of, number_of
from coursework.roster import Roster, read_roster
from coursework.sheet import Record, Sheet, defused, parsed, read_sheet

_COLUMNS = ("student", "name", "due", "time_factor")
#: Canvas's row for the teacher's own trials.
_TRIAL = "Student, Test"


@dataclass
class Enrolled:
    """What was done.

    Attributes:
        added: The pseudonyms of new lines.
        known: How many people had a line already.
        left: Who got none, and why; a sentence each.
    """

    added: list[str] = field(default_factory=list)
    known: int = 0
    left: list[str] = field(default_factory=list)


def enrol(course: Course, path: Path) -> Enrolled:
    """Add everyone in a platform's sheet who has no line in the roster yet. Lines that are there stay as they are.

    Args:
        course: The course.
        path: The sheet.

    Raises:
        CourseError: If it is neither platform's, or the roster cannot be read.
    """
    sheet = read_sheet(path)
    column = _column(sheet)
    roster, done = read_roster(course), Enrolled()
    people = [record for record in sheet.records() if not is_nobody(record) and name_of(record) != _TRIAL]
    new = [record for record in people if _is_new(record, column, sheet, roster, done)]
    lines = []
    for record, student in zip(new, _pseudonyms(roster, len(new)), strict=True):
        lines.append({"student": student, "name": defused(name_of(record)), column: number_of(record)})
        done.added.append(student)
    if lines:
        write_whole(course.roster, _extended(course.roster, column, lines))
    return done


def _column(sheet: Sheet) -> str:
    """Name the roster's column for a platform's numbers."""
    if {"Identifier", "Full name"} <= set(sheet.header):
        return "moodle_id"
    if {"Student", "ID"} <= set(sheet.header):
        return "canvas_id"
    raise CourseError(
        f"{sheet.path}:1: neither Moodle's grading worksheet (Identifier, Full name, ...) nor Canvas's gradebook "
        f"(Student, ID, ...); found: {', '.join(sheet.header) or 'nothing'}. Export it again, in English."
    )


def _is_new(record: Record, column: str, sheet: Sheet, roster: Roster, done: Enrolled) -> bool:
    name, number = name_of(record), number_of(record)
    if not name or not number:
        done.left.append(f"{sheet.path}:{record.line}: has no name or no number; no line was made of it.")
        return False
    if roster.by_ids(**{column: number}):
        done.known += 1
        return False
    called = roster.called(name)
    # Of Canvas's numbers each person has one; of Moodle's one in every assignment.
    others = [one for one in called if column == "moodle_id" or not roster.students[one].ids.get(column)]
    if len(others) > 1 or (called and not others):
        done.left.append(
            f"{sheet.path}:{record.line}: {name} has number {number} there, and roster.csv has this name in the line"
            f"{'s' if len(called) > 1 else ''} of {' and '.join(called)}; no line was made. Put the number into "
            f"{column} of the right one, or write a line for another person of this name."
        )
        return False
    done.known += len(others)
    return not others


def _pseudonyms(roster: Roster, count: int) -> Sequence[str]:
    """Go on counting where the roster stops: s01, s02 and so on."""
    taken = [int(found[1]) for one in roster.students if (found := re.fullmatch(r"[sS](\d{1,6})", one))]
    first = max(taken, default=0) + 1
    return [f"s{number:02}" for number in range(first, first + count)]


def _extended(path: Path, column: str, lines: Iterable[dict[str, str]]) -> bytes:
    """Give the roster with more lines, and with the columns that they need."""
    if not path.is_file():
        header = ",".join([*_COLUMNS, column])
        return parsed(path, f"{header}\n".encode()).extended(lines).encode()
    sheet = read_sheet(path)
    more = [name for name in ("name", column) if name not in sheet.header]
    width = len(sheet.rows[0].cells)
    for place, name in enumerate(more, start=width):
        sheet = parsed(path, sheet.encoded(sheet.filled({(0, place): name})))
    return sheet.encoded(sheet.extended(lines))
