"""What people decide: points for written answers in ``marks.csv``, corrections in ``overrides.csv``.

Both belong to people. Rows to fill in are added to ``marks.csv``, and ``overrides.csv`` is begun with its header; no
other byte of either file is ever changed, but for somebody who gets another pseudonym (``moving.py``). Both
are laid over every result anew, so they survive whatever is graded again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from coursework.course import Course
from coursework.files import write_if_other
from coursework.model import Outcome
from coursework.results import QuestionResult, Result, with_questions
from coursework.sheet import Record, number, read_sheet, write_table

_MARKS = ("student", "slug", "question", "points", "comment")
_OVERRIDES = ("student", "slug", "question", "points", "reason")


@dataclass(frozen=True)
class Decision:
    """Points that a person gave: where that stands, how many, and what is said about it."""

    where: str
    points: float
    text: str


@dataclass
class Decisions:
    """The decisions of both files.

    Attributes:
        marks: By student, exercise and question.
        overrides: The same.
        faults: What could not be understood, each with file and line. Such a row changes nothing.
        warnings: What counts and is yet not as it should be, in the same form.
    """

    marks: dict[tuple[str, str, str], Decision] = field(default_factory=dict)
    overrides: dict[tuple[str, str, str], Decision] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read_decisions(course: Course) -> Decisions:
    """Read both files, as whatever program left them.

    Raises:
        CourseError: If one is no table, or lacks a column.
    """
    decisions = Decisions()
    if course.marks.is_file():
        decisions.marks = _read(course.marks, _MARKS, "comment", decisions.faults)
    if course.overrides.is_file():
        decisions.overrides = _read(course.overrides, _OVERRIDES, "reason", decisions.faults)
        decisions.warnings = [
            f"{one.where}: this correction has no reason. It counts; the student will wonder why."
            for one in decisions.overrides.values()
            if not one.text
        ]
    return decisions


def _read(path: Path, names: tuple[str, ...], text: str, faults: list[str]) -> dict[tuple[str, str, str], Decision]:
    found: dict[tuple[str, str, str], Decision] = {}
    for record in read_sheet(path).needs(*names[:4], of=names).records():
        if not record["points"]:
            continue
        where, key = f"{path}:{record.line}", _key(record)
        points = number(record["points"])
        if points is None or points < 0:
            faults.append(f"{where}: {record['points']!r} is no number of points. Write one such as 2 or 1.5.")
        elif key in found and found[key].points != points:
            faults.append(
                f"{where}: {' '.join(key)} has other points in {found[key].where}, which count. Keep one of both rows."
            )
        else:
            found.setdefault(key, Decision(where, points, record[text]))
    return found


def _key(record: Record) -> tuple[str, str, str]:
    return (record["student"], record["slug"], record["question"])


def ask_for_marks(course: Course, results: Iterable[Result]) -> int:
    """Add a row to ``marks.csv`` for every written answer that has none; gives how many.

    Raises:
        CourseError: If the file is no table, or lacks a column.
    """
    wanted = [
        {"student": one.student, "slug": one.slug, "question": question.name}
        for one in results
        for question in one.questions
        if question.outcome in (Outcome.TO_BE_MARKED, Outcome.MARKED)
    ]
    if not course.marks.is_file():
        if wanted:
            write_table(course.marks, _MARKS, wanted)
        return len(wanted)
    sheet = read_sheet(course.marks).needs(*_MARKS[:4], of=_MARKS)
    there = {_key(record) for record in sheet.records()}
    new = [row for row in wanted if (row["student"], row["slug"], row["question"]) not in there]
    if new:
        write_if_other(course.marks, sheet.encoded(sheet.extended(new)))
    return len(new)


def begin_corrections(course: Course) -> None:
    """Write the header of ``overrides.csv``, for whoever wants to correct something, unless the file is there."""
    if not course.overrides.is_file():
        write_table(course.overrides, _OVERRIDES, [])


def decided(result: Result, decisions: Decisions) -> Result:
    """Lay marks and corrections over a result; corrections last."""
    return with_questions(result, [_decided(one, result, decisions) for one in result.questions])


def _decided(question: QuestionResult, result: Result, decisions: Decisions) -> QuestionResult:
    key = (result.student, result.slug, question.name)
    one = replace(question, points=question.given, comment="", corrected=False)
    if one.outcome in (Outcome.TO_BE_MARKED, Outcome.MARKED):
        mark = decisions.marks.get(key)
        fits = mark is not None and mark.points <= one.max_points
        one = replace(one, outcome=Outcome.MARKED if fits else Outcome.TO_BE_MARKED, points=0.0)
        if mark is not None and fits:
            one = replace(one, points=mark.points, comment=mark.text)
    correction = decisions.overrides.get(key)
    if correction is not None and correction.points <= one.max_points:
        outcome = Outcome.MARKED if one.outcome is Outcome.TO_BE_MARKED else one.outcome
        one = replace(one, points=correction.points, outcome=outcome, comment=correction.text, corrected=True)
    return one


def unfitting(decisions: Decisions, results: Iterable[Result], known: Collection[str]) -> list[str]:
    """Find decisions that belong to nothing, or give more than there is.

    Args:
        decisions: What was read.
        results: All results.
        known: The exercises that were graded now; decisions of others are not looked at.

    Returns:
        A sentence each, with file and line.
    """
    most = {(one.student, one.slug, q.name): q.max_points for one in results for q in one.questions}
    written = {
        (one.student, one.slug, q.name)
        for one in results
        for q in one.questions
        if q.outcome in (Outcome.TO_BE_MARKED, Outcome.MARKED)
    }
    faults = []
    tables: list[tuple[Mapping[tuple[str, str, str], Decision], Callable[[tuple[str, str, str]], bool], str]] = [
        (decisions.marks, written.__contains__, "It counts nothing; points of other questions go into overrides.csv."),
        (
            decisions.overrides,
            most.__contains__,
            "It counts nothing. Names of students, and of questions after `SLUG/`, stand in grades.csv; those of "
            "questions also below their titles in overview.html.",
        ),
    ]
    for table, fits, told in tables:
        for key, decision in table.items():
            if key[1] and key[1] not in known:
                continue
            if not fits(key):
                what = " ".join(name or "(empty)" for name in key)
                faults.append(f"{decision.where}: there is no such answer to mark: {what}. {told}")
            elif decision.points > most[key]:
                worth = f"{decision.points:g} points, but {key[2]} is worth {most[key]:g}"
                faults.append(f"{decision.where}: {worth}. It counts nothing.")
    return faults
