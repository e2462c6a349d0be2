"""Make tables and pages of all results: marks and corrections laid over them, feedback, the instructor's overview."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import quote

from coursework.alike import alike
from coursework.assignment import Assignment
from coursework.batch import NOT_OURS
from coursework.collect import DOUBLED
from coursework.course import Course
from coursework.feedback import TITLES, page
from coursework.files import write_if_other
from coursework.known import with_misconceptions
from coursework.marks import ask_for_marks, begin_corrections, decided, read_decisions, unfitting
from coursework.model import Outcome, WrittenQuestion
from coursework.pages import points, render
from coursework.results import QuestionResult, Result, all_results, write_grades, write_result
from coursework.rows import Row, Status, read_rows, standing

_RIGHT = (Outcome.PASSED, Outcome.MARKED)
_OPEN = (Outcome.TO_BE_MARKED, Outcome.TOO_NOISY)
#: A question that fewer than half of those who tried it got right is worth a look.
_FAILING = 0.5
_BARS, _BAR, _HEIGHT, _FLOOR = 12, 48, 160, 140
#: What is no answer that is right or wrong.
_ODD = {Outcome.TIMEOUT: "timed out", Outcome.CRASHED: "crashed", Outcome.TOO_NOISY: "too noisy to measure"}


@dataclass(frozen=True)
class Notes:
    """What is to be said once everything is written.

    Attributes:
        faults: What could not be understood of people's marks and corrections, with file and line.
        waiting: How many written answers have no points yet.
        warnings: What counts and is yet not as it should be.
    """

    faults: list[str]
    waiting: int
    warnings: list[str] = field(default_factory=list)


def finish(course: Course, assignments: Sequence[Assignment]) -> tuple[list[Result], Notes]:
    """Write results, ``marks.csv``'s new rows, ``grades.csv``, feedback pages and the overview.

    Args:
        course: The course.
        assignments: What was graded now; the results of others stay as they are.

    Returns:
        All results, and what is to be said.

    Raises:
        CourseError: If those files are no tables.
    """
    decisions = read_decisions(course)
    by_place = {(one.slug, one.framework): one for one in assignments}
    results: list[Result] = []
    for (slug, framework), group in _groups(all_results(course)).items():
        assignment = by_place.get((slug, framework))
        found = with_misconceptions(course, assignment, group) if assignment else group
        for old, new in zip(group, [decided(one, decisions) for one in found], strict=True):
            path = course.result(slug, framework, new.student)
            if new != old:
                write_result(path, new)
            write_if_other(path.with_suffix(".html"), page(new))
            results.append(new)
    ask_for_marks(course, results)
    begin_corrections(course)
    faults = [*decisions.faults, *unfitting(decisions, results, {one.slug for one in results})]
    write_grades(course, results)
    write_if_other(course.grades / "overview.html", overview(course, results, assignments))
    return results, Notes(faults, sum(len(one.pending) for one in results), decisions.warnings)


def overview(course: Course, results: Iterable[Result], assignments: Sequence[Assignment]) -> str:
    """Give the instructor's page."""
    results = list(results)
    by_place = {(one.slug, one.framework): one for one in assignments}
    shown = [
        _assignment(course, group, by_place.get(place)) for place, group in sorted(_groups(results).items()) if group
    ]
    return render("overview.html", assignments=shown, people=_people(results), rows=_rows(course, results))


def _rows(course: Course, results: Iterable[Result]) -> list[dict[str, Any]]:
    """Give those lines of ``submissions.csv`` that somebody should see, exercise by exercise."""
    titles = {one.slug: one.title for one in results}
    groups: dict[str, list[dict[str, Any]]] = {}
    for line, row in enumerate(read_rows(course), start=2):
        if row.status is not Status.COLLECTED or row.message or row.late_days:
            groups.setdefault(row.slug, []).append({"row": row, "line": line, "message": without_names(row)})
    return [{"title": titles.get(slug) or slug, "rows": groups[slug]} for slug in sorted(groups)]


def _people(results: Sequence[Result]) -> dict[str, Any]:
    """Give everyone's points in each exercise, and together."""
    worth = {one.slug: {"title": one.title or one.slug, "max_points": one.max_points} for one in results}
    found = {(one.student, one.slug): _result(one) for one in results}
    rows = []
    for student in sorted({one.student for one in results}):
        own = [found.get((student, slug)) for slug in sorted(worth)]
        there = [one for one in own if one]
        rows.append(
            {
                "student": student,
                "results": own,
                "points": sum(one["points"] for one in there),
                "complete": all(one["complete"] for one in there),
            }
        )
    return {"columns": [worth[slug] for slug in sorted(worth)], "rows": rows}


def _groups(results: Iterable[Result]) -> dict[tuple[str, str], list[Result]]:
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.slug, result.framework), []).append(result)
    return groups


def _assignment(course: Course, results: Sequence[Result], assignment: Assignment | None) -> dict[str, Any]:
    results = sorted(results, key=lambda one: one.student)
    graded = [one for one in results if one.status is Status.GRADED]
    complete = [one.points for one in results if one.counts and one.complete]
    # What is not marked yet would make the others look like the class.
    marked = bool(complete) and not any(one.pending for one in results)
    first = results[0]
    written = _written(results, assignment)
    return {
        "slug": first.slug,
        "framework": TITLES.get(first.framework, first.framework),
        "framework_name": first.framework,
        "title": first.title or first.slug,
        "graded": len(graded),
        "told": _standing(results) + (_middle(complete, results) if marked else ""),
        "odd": _odd(results),
        "chart": _chart(complete, first.max_points) if marked else None,
        "questions": _questions(graded or results[:1]),
        "misconceptions": _misconceptions(graded),
        "alike": alike(course, graded, assignment) if assignment else [],
        "written": written,
        "by_people": {one["name"] for one in written},
        "results": results,
        "quiet": [_result(one) for one in results if _quiet(one)],
        "telling": [_result(one) for one in results if not _quiet(one)],
    }


def _standing(results: Sequence[Result]) -> str:
    """Say how many are done, and what the others wait for."""
    counted = Counter(standing(one.status, pending=bool(one.pending)) for one in results)
    counted = Counter({"complete": counted.pop(Status.GRADED.value, 0), **counted})
    told = ", ".join(f"{count} {what}" for what, count in counted.items() if count)
    by_hand = sum(one.corrected for one in results if one.status is not Status.GRADED)
    more = f"; {by_hand} of them {'has' if by_hand == 1 else 'have'} points by correction alone" if by_hand else ""
    return f"{len(results)} student{'' if len(results) == 1 else 's'}: {told}{more}"


def _middle(complete: Sequence[float], results: Sequence[Result]) -> str:
    some = " among the complete ones" if any(not one.complete for one in results) else ""
    middle = f"median {points(statistics.median(complete))}, mean {points(statistics.fmean(complete))}"
    return f"; {middle} of {points(results[0].max_points)} points{some}"


def _quiet(result: Result) -> bool:
    """Whether there is nothing to tell of a submission but that it has all points."""
    full = result.status is Status.GRADED and result.complete and result.points >= result.max_points
    said = any(one.comment or _oddity(one) for one in result.questions)
    return full and not (said or result.message or result.late_days or result.corrected)


def _questions(results: Sequence[Result]) -> list[dict[str, Any]]:
    table = []
    for question in results[0].questions:
        outcomes = Counter(one.outcome for result in results for one in result.questions if one.name == question.name)
        right = sum(outcomes[outcome] for outcome in _RIGHT)
        waiting = sum(outcomes[outcome] for outcome in _OPEN)
        missing = outcomes[Outcome.NOT_ATTEMPTED]
        odd = sum(bool(_oddity(one)) for result in results for one in result.questions if one.name == question.name)
        wrong = sum(outcomes.values()) - right - waiting - missing - odd
        table.append(
            {
                "name": question.name,
                "title": question.title or question.name,
                "max_points": question.max_points,
                "right": right,
                "wrong": wrong,
                "missing": missing,
                "open": waiting,
                "odd": odd,
                "failing": wrong > 0 and right < _FAILING * (right + wrong),
            }
        )
    return table


def _oddity(question: QuestionResult) -> str:
    """Say what makes a question worth a look; empty if it was judged as it should be."""
    if question.private.startswith(NOT_OURS):
        return "could not be judged"
    return _ODD.get(question.outcome, "")


def _odd(results: Iterable[Result]) -> list[dict[str, Any]]:
    """List who is worth a look, with what and in which questions."""
    found = []
    for result in sorted(results, key=lambda one: one.student):
        told: dict[str, list[str]] = {}
        for question in result.questions:
            if what := _oddity(question):
                told.setdefault(what, []).append(question.name)
        if result.status is Status.AGAIN and not told:
            told["could not be judged"] = [question.name for question in result.questions]
        if told:
            what = "; ".join(f"{what}: {', '.join(names)}" for what, names in told.items())
            found.append({"student": result.student, "what": what})
    return found


def without_names(row: Row) -> str:
    """Give a row's message without the name of a file, which a platform makes of the person's own."""
    begin, doubled, _ = row.message.partition(DOUBLED)
    return (
        f"{begin}{doubled.rstrip(': ')}; another one counts." if doubled and row.status is Status.DUPLICATE else begin
    )


def _misconceptions(results: Iterable[Result]) -> list[dict[str, Any]]:
    """Count in how many submissions each misconception shows, the most frequent first."""
    students: dict[str, dict[str, None]] = {}
    for result in results:
        for text in dict.fromkeys(text for question in result.questions for text in question.misconceptions):
            students.setdefault(text, {})[result.student] = None
    found = [{"text": text, "count": len(names), "students": sorted(names)} for text, names in students.items()]
    return sorted(found, key=lambda one: (-one["count"], one["text"]))


def _written(results: Iterable[Result], assignment: Assignment | None) -> list[dict[str, Any]]:
    """Give each written question with how to mark it and its answers; those without points come first."""
    asked = assignment.questions if assignment else ()
    rubrics = {one.name: one.rubric for one in asked if isinstance(one, WrittenQuestion)}
    found: dict[str, dict[str, Any]] = {}
    for result in results:
        for one in result.questions:
            if one.private and (one.name in rubrics or one.outcome in (Outcome.TO_BE_MARKED, Outcome.MARKED)):
                about = {"name": one.name, "title": one.title or one.name, "max_points": one.max_points, "answers": []}
                group = found.setdefault(one.name, {**about, "rubric": rubrics.get(one.name, "")})
                group["answers"].append(_written_answer(result, one))
    for group in found.values():
        group["answers"].sort(key=lambda one: (not one["waiting"], one["student"]))
        group["waiting"] = sum(one["waiting"] for one in group["answers"])
    return list(found.values())


def _written_answer(result: Result, question: QuestionResult) -> dict[str, Any]:
    waiting = question.outcome is Outcome.TO_BE_MARKED
    return {**asdict(question), "student": result.student, "waiting": waiting, "text": question.private}


def _result(result: Result) -> dict[str, Any]:
    full = result.points >= result.max_points
    look = "open" if not result.complete else "good" if result.status is Status.GRADED and full else "bad"
    names = (*result.__dataclass_fields__, "points", "corrected", "complete", "counts", "pending")
    page = quote(f"{result.slug}.{result.framework}/{result.student}.html")
    shown: dict[str, Any] = {name: getattr(result, name) for name in names}
    return {**shown, "look": look, "page": page, "standing": standing(result.status, pending=bool(result.pending))}


def _chart(values: Sequence[float], most: float) -> Mapping[str, Any]:
    """Draw how many submissions have how many points, by whole points or, where those are many, several at a time."""
    step = max(1, math.ceil((most + 1) / _BARS))
    counts = [0] * (int(most) // step + 1)
    for value in values:
        counts[min(len(counts) - 1, int(value + 1e-9) // step)] += 1
    top = max([*counts, 1])
    bars: list[dict[str, Any]] = []
    for number, count in enumerate(counts):
        height = round((_FLOOR - 20) * count / top)
        first, last = number * step, min(number * step + step - 1, int(most))
        bars.append(
            {
                "x": number * _BAR + 4,
                "y": _FLOOR - height,
                "width": _BAR - 8,
                "height": height,
                "middle": number * _BAR + _BAR // 2,
                "count": count,
                "label": f"{first}" if first == last else f"{first}\N{EN DASH}{last}",
            }
        )
    told = ", ".join(f"{bar['count']} with {bar['label']}" for bar in bars if bar["count"])
    text = f"How many submissions have how many points: {told or 'none yet'}"
    return {"width": len(counts) * _BAR, "height": _HEIGHT, "floor": _FLOOR, "bars": bars, "text": text}
