"""What it takes to grade one exercise in one framework: its questions, its stubs, its known wrong answers."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from coursework.course import Course
from coursework.exercise import Exercise, Places
from coursework.model import Limits, Question, WrittenQuestion
from coursework.submission import Answers, Notebook, answers, read

_SILENT = "with __import__('contextlib').redirect_stdout(__import__('io').StringIO()):\n    pass\n"


@dataclass(frozen=True)
class Known:
    """A known wrong answer.

    Attributes:
        name: Its file's.
        misconception: What it shows.
        code: What is run, as if it were handed in.
        changed: The answers that are its own; the others are the solution's.
    """

    name: str
    misconception: str
    code: Mapping[str, str]
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Assignment:
    """An exercise in one framework, as this course asks it.

    Attributes:
        slug: The exercise.
        framework: The framework.
        title: The exercise's, for pages.
        version: The exercise's.
        questions: All of them, in order.
        stubs: What stands in each answer's cell when it is handed out.
        limits: What a submission may use.
        known: Known wrong answers.
        fingerprint: Changes whenever an unchanged hand-in could be graded differently.
        given: The code of the cells around the answers, as they are handed out.
    """

    slug: str
    framework: str
    title: str
    version: int
    questions: tuple[Question | WrittenQuestion, ...]
    stubs: Mapping[str, str]
    limits: Limits = field(default_factory=Limits)
    known: tuple[Known, ...] = ()
    fingerprint: str = ""
    given: frozenset[str] = frozenset()

    @property
    def asked(self) -> list[Question]:
        """The questions that are put to the submission's process."""
        return [question for question in self.questions if isinstance(question, Question)]

    @property
    def written(self) -> set[str]:
        """The answers that are text."""
        return {question.name for question in self.questions if isinstance(question, WrittenQuestion)}

    @property
    def points(self) -> float:
        """What it is worth."""
        return round(sum(question.points for question in self.questions), 6)

    def answers(self, notebook: Notebook) -> Answers:
        """Find its answers in a notebook that was handed in; cells that nobody changed run, but print nothing."""
        found = answers(notebook, self.stubs, self.written)
        code = {
            name: silent(source) if name not in self.stubs and source.strip() in self.given else source
            for name, source in found.code.items()
        }
        return replace(found, code=code)

    def about(self, known: Known) -> set[str]:
        """Name the questions about the answers that a known wrong answer has of its own."""
        changed = known.changed or tuple(self.stubs)
        return {question.name for question in self.asked if (question.answer or question.name) in changed}

    def digest(self, found: Answers, time_factor: float) -> str:
        """Give what tells one grading of a hand-in from another."""
        parts = [self.fingerprint, list(found.code.items()), sorted(found.written.items()), time_factor]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def silent(source: str) -> str:
    """Give a cell of ours so that what it prints is not taken for the student's.

    Args:
        source: Python code; given back as it is if it cannot be changed so.
    """
    try:
        tree = ast.parse(source)
        whole = ast.parse(_SILENT)
        assert isinstance(whole.body[0], ast.With)  # noqa: S101 - for the type checker
        whole.body[0].body = tree.body or whole.body[0].body
        made = ast.unparse(whole)
        compile(made, "<cell>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return source
    return made


def assignment(exercise: Exercise, framework: str, course: Course, places: Places) -> Assignment:
    """Prepare an exercise for grading.

    Args:
        exercise: The exercise.
        framework: One of its frameworks.
        course: Whose seed draws its inputs.
        places: Where exercises are.

    Raises:
        CourseworkError: If there is no seed, or the teacher's part is missing or wrong.
    """
    import nbformat

    from coursework import assign, drawing, percent
    from coursework.exercise import questions

    seed = drawing.course(course.root).seed
    offering = drawing.offering(exercise, framework, seed)
    handed_out = assign.notebook(exercise, framework, offering)
    notebook = read(nbformat.writes(handed_out).encode())
    made = Assignment(
        slug=exercise.slug,
        framework=framework,
        title=exercise.title,
        version=exercise.version,
        questions=tuple(questions(exercise, offering)),
        stubs={cell.name: cell.source for cell in notebook.cells if cell.name},
        limits=exercise.limits,
        fingerprint=_fingerprint(exercise, framework, seed, places),
    )
    around = made.answers(notebook).code
    made = replace(made, given=frozenset(text.strip() for name, text in around.items() if name not in made.stubs))
    known = []
    for wrong in percent.wrong(exercise, framework):
        filled = read(nbformat.writes(percent.submission(handed_out, wrong.answers)).encode())
        known.append(Known(wrong.name, wrong.misconception, made.answers(filled).code, wrong.changed))
    return replace(made, known=tuple(known))


def _fingerprint(exercise: Exercise, framework: str, seed: str, places: Places) -> str:
    """Digest everything that questions and known wrong answers depend on."""
    overlays = [places.overlay / f"{exercise.slug}{ending}" for ending in (".yml", ".md")] if places.overlay else []
    files = [places.exercises / exercise.slug / "exercise.md", *overlays, *_python(exercise.teacher)]
    parts = [framework, seed, *(part for path in files if path.is_file() for part in (path.name, path.read_bytes()))]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part.encode() if isinstance(part, str) else part).digest())
    return digest.hexdigest()


def _python(folder: Path) -> Iterable[Path]:
    return sorted(path for path in folder.rglob("*.py") if path.is_file())
