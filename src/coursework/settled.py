"""Take lines out of ``submissions.csv`` whose trouble is over: else they, and the overview's, would stand for good.

See ``collect.py``, which writes the table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from coursework.course import Course
from coursework.roster import Roster
from coursework.rows import Row, Status

#: What is wrong with a file.
_TROUBLE = (Status.UNREADABLE, Status.WRONG, Status.OLD)
_RIGHT = (Status.COLLECTED, Status.DUPLICATE)
_PLATFORMS = ("canvas", "moodle")


def unsettled(before: Iterable[Row], now: Sequence[Row], sources: Collection[str]) -> list[Row]:
    """Give those earlier rows of an exercise that still mean something.

    Args:
        before: The earlier rows, without those of files that were looked at again.
        now: The rows of the files that were collected now.
        sources: The names of the downloads and folders that were.
    """
    there = {row.student for row in now}
    good = {row.student for row in now if row.status in _RIGHT}
    return [row for row in before if not (row.status in _TROUBLE and _is_over(row, there, good, sources))]


def _is_over(row: Row, there: Collection[str], good: Collection[str], sources: Collection[str]) -> bool:
    # A platform calls all its downloads alike: who is not in this one was in another.
    gone = row.source in sources and (row.kind not in _PLATFORMS or row.student in there)
    return gone or row.student in good


def collected_rightly(rows: Iterable[Row], others: Iterable[Row]) -> list[Row]:
    """List those rows of a wrong assignment whose files are right in another exercise."""
    right = {key for row in others if row.status in _RIGHT for key in _files(row)}
    return [row for row in rows if row.status is Status.WRONG and right & _files(row)]


def _files(row: Row) -> set[tuple[str, str]]:
    """Give what tells that two rows are about one file: its bytes, and whose it is or what it is called."""
    return {(f"student {row.student}", row.digest), (f"file {row.original}", row.digest)} if row.digest else set()


def without(rows: Sequence[Row], unwanted: Collection[Row], roster: Roster) -> list[Row]:
    """Take rows out of their exercises: whoever has no other is missing there, unless nobody handed anything in.

    Args:
        rows: Those of any exercises.
        unwanted: Some of them.
        roster: Who takes part.
    """
    kept = [row for row in rows if row not in unwanted]
    for slug in sorted({row.slug for row in unwanted}):
        own = [row for row in kept if row.slug == slug]
        if all(row.status is Status.MISSING for row in own):
            # It was collected by mistake, under a wrong name.
            kept = [row for row in kept if row.slug != slug]
        else:
            kept += missing(own, slug, roster)
    return kept


def missing(rows: Iterable[Row], slug: str, roster: Roster) -> list[Row]:
    """Give a row for everyone in the roster who has none."""
    here = {row.student for row in rows}
    return [
        Row(student, slug, status=Status.MISSING, message="Nothing was handed in.")
        for student in roster.students
        if student not in here
    ]


def clear_results(course: Course, before: Iterable[Row], now: Iterable[Row]) -> None:
    """Delete the results of those who have no row in an exercise any more."""
    gone = {(row.slug, row.student) for row in before if row.student} - {(row.slug, row.student) for row in now}
    for slug, student in sorted(gone):
        for graded in course.grades.glob(f"{slug}.*"):
            for ending in (".json", ".html"):
                (graded / f"{student}{ending}").unlink(missing_ok=True)
