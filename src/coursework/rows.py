"""The table ``submissions.csv``: a row for every file that was handed in, and for everyone who handed in nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import StrEnum

from coursework.course import Course
from coursework.errors import CourseError
from coursework.sheet import plain, read_sheet, write_table


class Status(StrEnum):
    """What became of a file, or of a submission."""

    COLLECTED = "collected"
    GRADED = "graded"
    AGAIN = "to be graded again"
    UNREADABLE = "unreadable"
    WRONG = "wrong assignment"
    OLD = "old version"
    DUPLICATE = "duplicate"
    MISSING = "missing"


def standing(status: Status, *, pending: bool) -> str:
    """Say how far a submission is: one that a person has still to mark is not graded, whatever its status.

    Args:
        status: Its status.
        pending: Whether answers of it wait for points.
    """
    return "to be marked" if pending and status is Status.GRADED else status.value


@dataclass(frozen=True)
class Row:
    """A file that was handed in, or nothing from somebody.

    Attributes:
        student: The pseudonym.
        slug: The exercise that was collected.
        framework: The notebook's.
        file: Where it is, below the folder of submissions; empty unless it counts.
        submitted_at: When it was handed in, in ISO 8601; empty if nothing tells that can be trusted.
        late_days: How many days after the due date, begun days as whole ones; ``None`` if that is not known.
        status: What became of it.
        message: Why, for a person.
        original: Its name in what was collected.
        kind: How that named its files: ``canvas``, ``moodle``, ``folder``, ``repository`` or ``file``.
        identity: What the platform calls the student.
        order: The larger the later, if the platform tells.
        digest: Of its bytes.
        changed_at: What may tell which of two files is newer, in ISO 8601; it does not tell when either came.
        source: The name of the download or the folder that it came from.
    """

    student: str
    slug: str
    framework: str = ""
    file: str = ""
    submitted_at: str = ""
    late_days: int | None = None
    status: Status = Status.UNREADABLE
    message: str = ""
    original: str = ""
    kind: str = ""
    identity: str = ""
    order: int = 0
    digest: str = ""
    changed_at: str = ""
    source: str = ""


_NAMES = [field.name for field in fields(Row)]
#: What tables of earlier versions do not have.
_NEW = ("changed_at", "source")


def read_rows(course: Course) -> list[Row]:
    """Read the table; no rows if nothing was collected yet.

    Raises:
        CourseError: If it is not as `write_rows` left it.
    """
    if not course.collected.is_file():
        return []
    rows = []
    for record in read_sheet(course.collected).needs(*(name for name in _NAMES if name not in _NEW)).records():
        try:
            cells = {name: plain(record[name]) for name in _NAMES}
            rows.append(
                Row(
                    **{  # type: ignore[arg-type]
                        **cells,
                        "late_days": int(cells["late_days"]) if cells["late_days"] else None,
                        "order": int(re.sub(r"^$", "0", cells["order"])),
                        "status": Status(cells["status"]),
                    }
                )
            )
        except ValueError as error:
            raise CourseError(
                f"{course.collected}:{record.line}: {error}. Collect again after deleting this file; do not edit it."
            ) from None
    return rows


def write_rows(course: Course, rows: Iterable[Row]) -> None:
    """Write the table."""
    write_table(course.collected, _NAMES, [{name: getattr(row, name) for name in _NAMES} for row in rows])
