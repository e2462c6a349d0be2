"""What grading gives: one result a submission, as JSON, as a table, and in Gradescope's shape."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from coursework.course import Course
from coursework.files import write_whole
from coursework.model import Outcome
from coursework.rows import Status, standing
from coursework.sheet import write_table

#: How much of what a submission printed is kept with its result, in characters.
_PRINTED = 4_000


@dataclass(frozen=True)
class QuestionResult:
    """How one question of a submission ended.

    Attributes:
        name: The question.
        title: A line for pages.
        points: What it gets in the end.
        max_points: What it is worth.
        outcome: How it ended.
        message: For the student.
        private: For the instructor; of a written question the answer itself.
        sign: The same for all that are wrong in the same way.
        hint: For the student, where the answer is not right.
        misconceptions: What known wrong answers with the same sign show, for the instructor.
        seconds: How long asking took.
        given: The points before marks and corrections.
        comment: What the person who marked or corrected it says to the student.
        corrected: Whether its points are a person's correction.
    """

    name: str
    title: str
    points: float
    max_points: float
    outcome: Outcome
    message: str = ""
    private: str = ""
    sign: str = ""
    hint: str = ""
    misconceptions: tuple[str, ...] = ()
    seconds: float = 0.0
    given: float = 0.0
    comment: str = ""
    corrected: bool = False


@dataclass(frozen=True)
class Result:
    """How a submission ended.

    Attributes:
        student: The pseudonym.
        slug: The exercise.
        framework: The notebook's.
        status: Whether it was graded, and why not.
        version: The exercise's.
        digest: Of the answers, the checks and the offering: one that is unchanged is not graded again.
        message: For the student: how the answers were found, or why there are none.
        late_days: How many days after the due date, never deducted; ``None`` if that is not known.
        elapsed_s: How long grading took, in seconds.
        questions: One by one.
        max_points: What the exercise is worth.
        output: What the submission printed, cut.
        title: The exercise's, for pages.
        answers: What was handed in, by the answer's name, cut.
    """

    student: str
    slug: str
    framework: str
    status: Status
    version: int = 0
    digest: str = ""
    message: str = ""
    late_days: int | None = 0
    elapsed_s: float = 0.0
    questions: tuple[QuestionResult, ...] = ()
    max_points: float = 0.0
    output: str = ""
    title: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)

    @property
    def points(self) -> float:
        """What it gets."""
        return round(sum(question.points for question in self.questions), 6)

    @property
    def pending(self) -> tuple[str, ...]:
        """The questions that a person has still to mark."""
        return tuple(one.name for one in self.questions if one.outcome is Outcome.TO_BE_MARKED)

    @property
    def complete(self) -> bool:
        """Whether these are the final points: a correction stands for what was not graded yet."""
        noisy = [one for one in self.questions if one.outcome is Outcome.TOO_NOISY]
        again = self.status is Status.AGAIN and not all(one.corrected for one in noisy or self.questions)
        return not again and not self.pending

    @property
    def corrected(self) -> bool:
        """Whether a person corrected anything."""
        return any(one.corrected for one in self.questions)

    @property
    def counts(self) -> bool:
        """Whether its points mean something: it was graded, or a person gave some."""
        return self.status is Status.GRADED or self.corrected


def cut(text: str, most: int = _PRINTED) -> str:
    """Shorten what a submission printed: its beginning and its end stay."""
    text = "".join(letter for letter in text if letter.isprintable() or letter in "\n\t")
    if len(text) <= most:
        return text
    left = len(text) - most
    told = f"… {left} character{'' if left == 1 else 's'} left out …"
    return f"{text[: most * 3 // 4]}\n{told}\n{text[-most // 4 :]}"


def write_result(path: Path, result: Result) -> None:
    """Write a result, whole or not at all."""
    write_whole(path, json.dumps({**asdict(result), "points": result.points}, indent=1, ensure_ascii=False) + "\n")


def read_result(path: Path) -> Result | None:
    """Read a result; ``None`` if there is none, or none of this form: then it is graded again."""
    try:
        data = json.loads(path.read_text("utf8"))
        values = {**_typed(Result, data), "status": Status(data["status"])}
        return Result(**{**values, "questions": tuple(_question(question) for question in data["questions"])})
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None


def _question(data: Mapping[str, Any]) -> QuestionResult:
    misconceptions = tuple(data["misconceptions"])
    values = {**_typed(QuestionResult, data), "outcome": Outcome(data["outcome"]), "misconceptions": misconceptions}
    return QuestionResult(**values)


def _typed(kind: type[Result | QuestionResult], data: Mapping[str, Any]) -> dict[str, Any]:
    """Give what is known of some data as JSON has it.

    Raises:
        ValueError: If a value is of another type than the dataclass says.
    """
    values = {one.name: data[one.name] for one in fields(kind) if one.name in data}
    for one in fields(kind):
        fits = _FITS.get(str(one.type))
        if one.name in values and fits and not fits(values[one.name]):
            raise ValueError(f"{one.name} is no {one.type}")
    return values


def _texts(values: Any) -> bool:
    return isinstance(values, list | dict) and all(
        isinstance(text, str) for text in (values.values() if isinstance(values, dict) else values)
    )


#: What a value of each type, named as the dataclasses name it, has to be in JSON; others have a look of their own.
_FITS: Mapping[str, Callable[[Any], bool]] = {
    "str": lambda value: isinstance(value, str),
    "int": lambda value: type(value) is int,
    "int | None": lambda value: value is None or type(value) is int,
    "bool": lambda value: isinstance(value, bool),
    # JSON as Python reads it knows numbers that are none.
    "float": lambda value: type(value) in (int, float) and math.isfinite(value),
    "tuple[str, ...]": lambda value: isinstance(value, list) and _texts(value),
    "Mapping[str, str]": lambda value: isinstance(value, dict) and _texts(value),
}


def gradescope(result: Result) -> dict[str, Any]:
    """Give a result in the shape of Gradescope's ``results.json``; nothing that is private is in it."""
    failed = {Outcome.FAILED, Outcome.ERROR, Outcome.TIMEOUT, Outcome.CRASHED, Outcome.NOT_ATTEMPTED}
    tests = []
    for one in result.questions:
        comment = f"Corrected by your instructor. {one.comment}" if one.corrected else one.comment
        told = [one.message, comment, f"Hint: {one.hint}" if one.hint and one.outcome in failed else ""]
        test = {
            "name": one.title or one.name,
            "score": one.points,
            "max_score": one.max_points,
            "output": "\n".join(filter(None, [f"{one.outcome}", *told])),
            "output_format": "text",
            "visibility": "visible",
        }
        if one.outcome in failed | {Outcome.PASSED}:
            test["status"] = "passed" if one.outcome is Outcome.PASSED else "failed"
        tests.append(test)
    return {
        "score": result.points,
        "execution_time": max(1, round(result.elapsed_s)),
        "output": result.message or result.status.value,
        "output_format": "text",
        "stdout_visibility": "hidden",
        "tests": tests,
    }


_WAITING = (Outcome.TO_BE_MARKED, Outcome.TOO_NOISY)
_COLUMNS = ("student", "slug", "framework", "points", "max_points", "status", "late_days", "message")


def write_grades(course: Course, results: Iterable[Result]) -> None:
    """Write ``grades.csv``: a row for every submission and for everyone who handed in nothing, then its questions."""
    results = sorted(results, key=lambda one: (one.slug, one.framework, one.student))
    names = list(dict.fromkeys(f"{one.slug}/{question.name}" for one in results for question in one.questions))
    records = []
    for one in results:
        record: dict[str, object] = {name: _cell(getattr(one, name)) for name in _COLUMNS}
        record["status"] = standing(one.status, pending=bool(one.pending))
        record |= {
            f"{one.slug}/{q.name}": _cell(q.points if q.corrected or q.outcome not in _WAITING else None)
            for q in one.questions
        }
        records.append(record)
    write_table(course.grades / "grades.csv", [*_COLUMNS, *names], records)


def _cell(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def all_results(course: Course) -> list[Result]:
    """Read the results of all assignments."""
    found = [read_result(path) for path in _paths(course)]
    return [one for one in found if one is not None]


def broken_results(course: Course, slug: str) -> list[Path]:
    """List the results of an exercise that cannot be read."""
    ours = [path for path in _paths(course) if path.parent.name.startswith(f"{slug}.")]
    return [path for path in ours if read_result(path) is None]


def _paths(course: Course) -> list[Path]:
    return [path for path in sorted(course.grades.glob("*/*.json")) if not path.name.startswith(("_", "."))]


def with_questions(result: Result, questions: Iterable[QuestionResult]) -> Result:
    """Give a result with other questions."""
    return replace(result, questions=tuple(questions))
