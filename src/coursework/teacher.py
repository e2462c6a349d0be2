"""Read an exercise's teacher's part: the questions, the solution, the known wrong answers. None of it is handed out."""

from __future__ import annotations

import itertools
import re
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from coursework import drawing, percent
from coursework.errors import ExerciseError
from coursework.exercise import Exercise
from coursework.matter import is_number
from coursework.model import Offering, Question, WrittenQuestion
from coursework.source import Faults

#: Points are added as floating-point numbers.
ROUNDING = 1e-9

AnyQuestion = Question | WrittenQuestion


def questions(exercise: Exercise, offering: Offering) -> list[AnyQuestion]:
    """Give the questions of an offering; see `exercise.questions`."""
    weights = exercise.settings.weights
    return [replace(one, points=weights.get(one.name, one.points)) for one in _checked(exercise, offering)]


def worth(exercise: Exercise, offering: Offering) -> dict[str, float]:
    """Give what each question is worth by its author, whatever an overlay says: known wrong answers speak of that."""
    return {one.name: one.points for one in _checked(exercise, offering)}


def _checked(exercise: Exercise, offering: Offering) -> list[AnyQuestion]:
    path = exercise.teacher / "checks.py"
    found = _asked(path, exercise, offering)
    faults = Faults(path)
    text = path.read_text("utf8")
    for question in found:
        _check(question, exercise, offering.framework, faults, _line_of(question.name, text))
    _check_all(found, exercise, faults, text)
    faults.settle()
    return found


def validate(exercise: Exercise) -> None:
    """Check all of an exercise's teacher's part, for each of its frameworks, with the constants that the book shows.

    Raises:
        ExerciseError: With what is wrong.
    """
    for framework in exercise.frameworks:
        asked = _checked(exercise, drawing.sample(exercise, framework))
        automatic = sum(question.points for question in asked if isinstance(question, Question))
        percent.solution(exercise, framework)
        for wrong in percent.wrong(exercise, framework):
            if wrong.points > automatic + ROUNDING:
                raise ExerciseError(
                    f"{wrong.path}:1: it is said to get {wrong.points:g} points, but the automatic questions for "
                    f"{framework} are worth {automatic:g}.\n  Correct `points`."
                )


def total(asked: Sequence[AnyQuestion]) -> float:
    """Add the questions' points."""
    return float(sum(question.points for question in asked))


def _asked(path: Path, exercise: Exercise, offering: Offering) -> list[AnyQuestion]:
    function = getattr(_imported(path, exercise.slug), "questions", None)
    if not callable(function):
        raise ExerciseError(
            f"{path}:1: there is no function `questions(offering)` in it.\n"
            "  Define it: it gives a list of coursework.Question and WrittenQuestion."
        )
    try:
        found = function(offering)
    except Exception as error:
        raise _failed(path, error) from error
    if (
        not isinstance(found, list)
        or not found
        or not all(isinstance(item, Question | WrittenQuestion) for item in found)
    ):
        items = found if isinstance(found, list) else []
        kinds = ", ".join(sorted({type(item).__name__ for item in items})) or "nothing"
        raise ExerciseError(
            f"{path}:1: `questions` gave a {type(found).__name__} of {kinds} "
            "(allowed: a list of coursework.Question and WrittenQuestion).\n  Return such a list."
        )
    return found


def _imported(path: Path, slug: str) -> ModuleType:
    """Run a file as a module of its own: every exercise has one of the same name, outside of any package."""
    try:
        code = compile(path.read_text("utf-8-sig"), str(path), "exec", dont_inherit=True)
    except OSError as error:
        raise ExerciseError(
            f"{path}:1: the teacher's part cannot be read ({error.strerror}).\n"
            "  Say where it is: `--teacher DIR`, with a folder for each exercise; or make it."
        ) from None
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        raise ExerciseError(f"{path}:{line}: it is not Python: {error}.\n  Correct it.") from None
    module = ModuleType(f"coursework_checks_{slug.replace('-', '_')}")
    module.__file__ = str(path)
    # Dataclasses look their module up by its name.
    sys.modules[module.__name__] = module
    try:
        exec(code, module.__dict__)  # noqa: S102
    except Exception as error:
        raise _failed(path, error) from error
    return module


def _failed(path: Path, error: Exception) -> ExerciseError:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    line = (frames[-1].lineno or 1) if frames else 1
    what = f"{type(error).__name__}: {error}".strip()
    return ExerciseError(f"{path}:{line}: it raised {what}\n  Correct it; `python -m coursework verify` tries it.")


def _check(question: AnyQuestion, exercise: Exercise, framework: str, faults: Faults, line: int) -> None:
    name = f"the question {question.name!r}"
    if not re.fullmatch(r"[A-Za-z][\w.-]*", question.name):
        faults.add(line, f"{name} has a name that files cannot have.", "Use letters, digits, `_`, `-` and `.`.")
    if not is_number(question.points) or question.points <= 0:
        faults.add(line, f"{name} is worth {question.points!r} points.", "Give a number above 0.")
    wanted = (question.answer or question.name) if isinstance(question, Question) else question.name
    cell = exercise.answers(framework).get(wanted)
    if cell is None:
        known = ", ".join(exercise.answers(framework))
        remedy = "Name one of these: `answer=...`." if isinstance(question, Question) else "Give it an answer's name."
        faults.add(line, f"{name} asks about the answer {wanted!r} (for {framework} there are: {known}).", remedy)
    elif (cell.kind == "code") != isinstance(question, Question):
        kinds = "a person marks, but it is code" if cell.kind == "code" else "a program judges, but it is text"
        faults.add(
            line, f"{name} asks about the answer {wanted!r}, which {kinds}.", "Correct the question or the cell."
        )


def _check_all(found: Sequence[AnyQuestion], exercise: Exercise, faults: Faults, text: str) -> None:
    names = [question.name for question in found]
    for name in sorted({name for name in names if names.count(name) > 1}):
        faults.add(_line_of(name, text), f"two questions are called {name!r}.", "Rename one.")
    for first, second in itertools.combinations(sorted(set(names)), 2):
        if _bare(first) == _bare(second):
            # People write them into marks.csv and overrides.csv.
            what = f"the questions {first!r} and {second!r} are called nearly the same"
            faults.add(_line_of(second, text), f"{what}.", "Rename one, so that nobody takes it for the other.")
    if exercise.kind == "written" and not any(isinstance(question, WrittenQuestion) for question in found):
        faults.add(1, "`kind` is written, but no question is.", "Add a WrittenQuestion, or correct `kind`.")
    if exercise.kind != "written" and not any(isinstance(question, Question) for question in found):
        faults.add(1, f"`kind` is {exercise.kind}, but no question is judged by a program.", "Correct either.")
    for name in sorted(set(exercise.settings.weights) - set(names)):
        what = f"the overlay gives points to {name!r}, which is no question (there are: {', '.join(names)})"
        faults.add(1, f"{what}.", "Correct `points` in the overlay.")
    if not exercise.settings.weights and abs(total(found) - exercise.points) > ROUNDING:
        what = f"the questions are worth {total(found):g} points, but `exercise: points` is {exercise.points:g}"
        where = f"{exercise.path.name}, line {exercise.source.line_of('exercise', 'points')}"
        faults.add(1, f"{what} ({where}).", "Make the two agree.")


def _bare(name: str) -> str:
    return re.sub(r"[-_.]", "", name).casefold()


def _line_of(name: Any, text: str) -> int:
    quoted = (f'"{name}"', f"'{name}'")
    lines = enumerate(text.split("\n"), 1)
    return next((number for number, line in lines if any(each in line for each in quoted)), 1)
