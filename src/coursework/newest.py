"""Say which of a student's files counts: the newest of those that are right. See ``collect.py``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from coursework.rows import Row, Status

#: How a message begins that is about another file.
DOUBLED = "The student handed in several: "
#: How it begins where a notebook has lost its stamp.
LOST = "Its stamp is gone"
_UNTOLD = "nothing tells which is the newest. This one was taken by its name; see whether it is the right one."


def decided(rows: Iterable[Row]) -> list[Row]:
    """Let one file a student count, the newest of those that are right; the others are duplicates."""
    ready = [replace(row, status=Status.COLLECTED) if row.status is Status.DUPLICATE else row for row in rows]
    right: dict[str, list[Row]] = {}
    for row in ready:
        if row.status is Status.COLLECTED:
            right.setdefault(row.student, []).append(row)
    # By its name last: the same files give the same answer, in whatever order they come.
    newest = {
        student: max(own, key=lambda row: (_age(row), row.original, row.digest)) for student, own in right.items()
    }
    unsure = {student for student, best in newest.items() if any(_is_as_new(row, best) for row in right[student])}
    return [
        _told(row, newest[row.student], unsure=row.student in unsure) if row.status is Status.COLLECTED else row
        for row in ready
    ]


def not_replaced(before: Iterable[Row], now: Iterable[Row]) -> list[Row]:
    """Give earlier rows without those of files that hold something else now, in the same place and as old."""
    there = {(row.student, row.original, _age(row)) for row in now if row.status is Status.COLLECTED}
    right = (Status.COLLECTED, Status.DUPLICATE)
    return [row for row in before if row.status not in right or (row.student, row.original, _age(row)) not in there]


def _age(row: Row) -> tuple[int, float, int]:
    stamped = 0 if LOST in row.message else 1
    # Moodle's times are by person, not by file; of two downloads the later one has what is newer.
    moment = (row.changed_at or row.submitted_at) if row.kind == "moodle" else (row.submitted_at or row.changed_at)
    return (stamped, datetime.fromisoformat(moment).timestamp() if moment else 0.0, row.order)


def _is_as_new(row: Row, best: Row) -> bool:
    return row is not best and row.digest != best.digest and _age(row) == _age(best)


def _told(row: Row, best: Row, *, unsure: bool) -> Row:
    said = _undoubled(row.message)
    if row is best:
        said = f"{said} {DOUBLED}{_UNTOLD}".strip() if unsure else said
        return replace(row, file=f"{row.student}/{row.slug}.{row.framework}.ipynb", message=said)
    return replace(row, status=Status.DUPLICATE, file="", message=f"{said} {DOUBLED}{best.original} counts.".strip())


def _undoubled(message: str) -> str:
    return message.partition(DOUBLED)[0].strip()
