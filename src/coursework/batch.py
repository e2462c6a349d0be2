"""Grade a class: every submission in its own jail, several at a time, each result kept as soon as it is there.

``judge.py`` puts the questions; here it is decided what has to be graded, what still holds, and what people's marks and
corrections make of it. Interrupted at any moment and started again, it goes on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from coursework.alone import alone
from coursework.assignment import Assignment
from coursework.course import Course
from coursework.errors import CourseworkError
from coursework.files import tidy
from coursework.known import keep_known, known_jobs
from coursework.marks import Decisions, decided, read_decisions
from coursework.model import Outcome, Question, Verdict, WrittenQuestion
from coursework.results import QuestionResult, Result, cut, read_result, write_result
from coursework.roster import Roster
from coursework.rows import Row, Status, read_rows, standing
from coursework.running import Done, Job, Judge, Judged, run
from coursework.submission import Answers, Unreadable, read, untouched

#: Which row tells of a student who handed in several files: the first of these.
_BETTER = (Status.COLLECTED, Status.OLD, Status.WRONG, Status.UNREADABLE, Status.MISSING)
#: How much of a written answer is kept for the one who marks it, in characters.
_LONGEST = 20_000
#: How much of all answers together is kept for the student to read again, in characters.
_ANSWERS = 20_000
#: How the judge begins what it says of a question that failed by itself.
NOT_OURS = "The question's own code"
_AGAIN = "Grading failed; it will be graded again."
_NOISY = "too noisy to measure; run `grade` again"


def _quiet(text: str) -> None:
    pass


def _s(count: int) -> str:
    return "" if count == 1 else "s"


@dataclass
class Report:
    """What grading did.

    Attributes:
        graded: How many submissions were graded now.
        kept: How many were unchanged.
        faults: What could not be done, a sentence each.
    """

    graded: int = 0
    kept: int = 0
    faults: list[str] = field(default_factory=list)

    def summary(self, results: Sequence[Result], marks: Path) -> str:
        """Say what was done, and what of all results waits for points in the table of marks."""
        said = f"{self.graded} graded, {self.kept} unchanged, {len(results)} result{_s(len(results))} in all"
        pending = [len(one.pending) for one in results if one.pending]
        if not pending:
            return said
        answers = f"{sum(pending)} answer{_s(sum(pending))} {'waits' if sum(pending) == 1 else 'wait'}"
        return f"{said}, {len(pending)} of them to be marked\n{answers} for points in {marks}"


@dataclass(frozen=True)
class Batch:
    """What to grade, and how.

    Attributes:
        course: The course.
        assignments: Each exercise in each framework.
        judge: Puts an assignment's questions.
        roster: For time factors.
        jobs: How many submissions at a time.
        regrade: Whether to grade what is unchanged, too.
        only: These students alone; all if empty.
        tell: Is told each result as it comes, and now and then how far grading is.
    """

    course: Course
    assignments: Sequence[Assignment]
    judge: Judge
    roster: Roster = field(default_factory=Roster)
    jobs: int = 1
    regrade: bool = False
    only: Collection[str] = ()
    tell: Callable[[str], None] = _quiet


def grade(batch: Batch) -> Report:
    """Grade what was collected.

    Returns:
        What was done. Results are in the course's folder; ``overview.py`` makes tables and pages of them.

    Raises:
        CourseError: If another command is at work in this course's folder.
        JailError: If the jail does not work.
        KeyboardInterrupt: After Ctrl-C; results that are there stay.
    """
    with alone(batch.course, "grade"):
        return grade_held(batch)


def grade_held(batch: Batch) -> Report:
    """The same for a caller that is `alone` with the course, and makes tables and pages before it leaves."""
    course, report, decisions = batch.course, Report(), read_decisions(batch.course)
    for folder in (course.root, course.grades, *(course.graded(one.slug, one.framework) for one in batch.assignments)):
        tidy(folder)
    jobs = [job for assignment in batch.assignments for job in known_jobs(course, assignment)]
    chosen = [row for row in _one_each(read_rows(course)) if not batch.only or row.student in batch.only]
    for row, assignment in _matched(chosen, batch.assignments):
        if row.status is Status.COLLECTED:
            jobs += _job(batch, row, assignment, report)
        else:
            _keep(course, _ungraded(row, assignment, row.message))
        _forget_other_framework(course, row, assignment)
    run(jobs, batch.judge, batch.jobs, lambda done: _take(batch, done, report, decisions), batch.tell)
    return report


def _one_each(rows: Iterable[Row]) -> list[Row]:
    """Give one row a student and exercise: the file that counts, or why there is none."""
    best: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = (row.slug, row.student)
        if row.student and row.status in _BETTER:
            old = best.get(key)
            best[key] = row if old is None or _BETTER.index(row.status) < _BETTER.index(old.status) else old
    return [best[key] for key in sorted(best)]


def _matched(rows: Iterable[Row], assignments: Sequence[Assignment]) -> Iterator[tuple[Row, Assignment]]:
    for row in rows:
        fitting = [one for one in assignments if one.slug == row.slug]
        exact = [one for one in fitting if one.framework == row.framework]
        if exact or (fitting and row.status is not Status.COLLECTED):
            yield row, (exact or fitting)[0]


def _job(batch: Batch, row: Row, assignment: Assignment, report: Report) -> list[Job]:
    """Give the job of grading a submission; none if its result still holds or its file cannot be read."""
    course = batch.course
    try:
        found = assignment.answers(read((course.submissions / row.file).read_bytes()))
    except (OSError, Unreadable) as error:
        told = f"{str(error)[:1].upper()}{str(error)[1:]}."
        told = "Its file is gone from the folder of submissions." if isinstance(error, OSError) else told
        _keep(course, _ungraded(replace(row, status=Status.UNREADABLE), assignment, told))
        return []
    except Exception as error:  # whatever one student's file does to us, the others are graded
        report.faults.append(_fault(assignment, row.student, error))
        _keep(course, replace(_ungraded(row, assignment, _AGAIN), status=Status.AGAIN))
        return []
    factor = batch.roster.time_factor(row.student)
    digest = assignment.digest(found, factor)
    old = read_result(course.result(row.slug, assignment.framework, row.student))
    if old and old.digest == digest and old.status is Status.GRADED and not batch.regrade:
        report.kept += 1
        kept = replace(
            old, message=" ".join(found.messages), late_days=row.late_days, answers=_answers(found, assignment)
        )
        if kept != old:
            _keep(course, kept)
        return []
    return [Job(assignment, row.student, found.code, factor, row, found, digest)]


def _ungraded(row: Row, assignment: Assignment, message: str) -> Result:
    questions = tuple(_not_attempted(question) for question in assignment.questions)
    return replace(_blank(row, assignment), status=row.status, message=message, questions=questions)


def _blank(row: Row, assignment: Assignment) -> Result:
    return Result(
        row.student,
        row.slug,
        assignment.framework,
        Status.GRADED,
        version=assignment.version,
        late_days=row.late_days,
        max_points=assignment.points,
        title=assignment.title,
    )


def _not_attempted(question: Question | WrittenQuestion) -> QuestionResult:
    return QuestionResult(question.name, question.title, 0.0, question.points, Outcome.NOT_ATTEMPTED)


def _take(batch: Batch, done: Done, report: Report, decisions: Decisions) -> None:
    """Keep what came of a job, and tell what stands in the end."""
    job, judged = done.job, done.judged
    where = f"{job.assignment.slug}.{job.assignment.framework}"
    if isinstance(judged, Exception):
        whose = job.name if job.row else f"the known wrong answer {job.name}"
        report.faults.append(_fault(job.assignment, whose, judged))
        if job.row:
            _keep(batch.course, replace(_ungraded(job.row, job.assignment, _AGAIN), status=Status.AGAIN))
    elif job.row is None:
        keep_known(batch.course, job, judged)
    else:
        result = _result(job, job.row, judged, done.seconds)
        _keep(batch.course, result)
        report.graded += 1
        told = _told(result, decisions)
        if told == _NOISY:
            report.faults.append(f"{where}: {job.name}: {told}.")
        report.faults += [
            f"{where}: {job.name}: {one.name}: {one.private.strip()}"
            for one in result.questions
            if one.private.startswith(NOT_OURS)
        ]
        batch.tell(f"{where}  {job.name}  {told}")


def _told(result: Result, decisions: Decisions) -> str:
    """Say how a submission ended once people's marks and corrections are laid over it."""
    before, after = decided(result, replace(decisions, overrides={})), decided(result, decisions)
    if any(one.outcome is Outcome.TOO_NOISY and not one.corrected for one in after.questions):
        return _NOISY
    told = f"{before.points:g}/{before.max_points:g}{' so far' if before.pending else ''}"
    if after.corrected:
        told += f", corrected to {after.points:g}"
    return f"{told}, {standing(after.status, pending=True)}" if after.pending else told


def _fault(assignment: Assignment, whose: str, error: Exception) -> str:
    told = str(error) if isinstance(error, CourseworkError) else f"{type(error).__name__}: {error}"
    where = f"{assignment.slug}.{assignment.framework}"
    return f"{where}: {whose} could not be graded; the exercise is at fault, not the student: {told}"


def _result(job: Job, row: Row, judged: Judged, seconds: float) -> Result:
    verdicts = {question.name: (verdict, took) for question, verdict, took in judged[0]}
    questions = tuple(_question(question, job, verdicts) for question in job.assignment.questions)
    noisy = any(question.outcome is Outcome.TOO_NOISY for question in questions)
    return replace(
        _blank(row, job.assignment),
        status=Status.AGAIN if noisy else Status.GRADED,
        digest=job.digest,
        message=" ".join(job.answers.messages),
        elapsed_s=round(seconds, 3),
        questions=questions,
        output=cut(judged[1]),
        answers=_answers(job.answers, job.assignment),
    )


def _answers(found: Answers, assignment: Assignment) -> dict[str, str]:
    """Give what was handed in, answer by answer, until it becomes too long to be read again."""
    kept: dict[str, str] = {}
    left = _ANSWERS
    for name in assignment.stubs:
        text = found.code.get(name) or found.written.get(name, "")
        if text.strip() and left > 0:
            kept[name] = cut(text, left)
            left -= len(text)
    return kept


def _question(
    question: Question | WrittenQuestion, job: Job, verdicts: Mapping[str, tuple[Verdict, float]]
) -> QuestionResult:
    blank = _not_attempted(question)
    if isinstance(question, WrittenQuestion):
        text = job.answers.written.get(question.name, "")
        given = bool(text) and not untouched(text, job.assignment.stubs.get(question.name, ""))
        return replace(blank, outcome=Outcome.TO_BE_MARKED, private=text[:_LONGEST]) if given else blank
    if question.name not in verdicts:
        return replace(blank, hint=question.hint)
    verdict, seconds = verdicts[question.name]
    points = question.points if verdict.outcome is Outcome.PASSED else 0.0
    return replace(
        blank,
        outcome=verdict.outcome,
        points=points,
        given=points,
        message=verdict.message,
        private=cut(verdict.private),
        sign=verdict.sign,
        hint=question.hint,
        seconds=round(seconds, 3),
    )


def _keep(course: Course, result: Result) -> None:
    write_result(course.result(result.slug, result.framework, result.student), result)


def _forget_other_framework(course: Course, row: Row, assignment: Assignment) -> None:
    """Remove what a student got for the same exercise before in another framework: one hand-in counts."""
    for folder in course.grades.glob(f"{row.slug}.*"):
        if folder.name != f"{assignment.slug}.{assignment.framework}":
            for ending in (".json", ".html"):
                (folder / f"{row.student}{ending}").unlink(missing_ok=True)


def default_jobs() -> int:
    """Give how many submissions to grade at a time: half of the processors, as each may use two."""
    return max(1, (os.cpu_count() or 2) // 2)
