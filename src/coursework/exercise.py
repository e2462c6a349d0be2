"""Load an exercise from its folder, with everything that is wrong with it told by file and line.

`matter.py` checks the front matter, `source.py` cuts the text into cells, `wording.py` checks them, `overlay.py`
changes them, `teacher.py` looks at the teacher's part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coursework.errors import ExerciseError
from coursework.matter import Settings, settings
from coursework.model import Limits, Offering, Question, WrittenQuestion
from coursework.plain import Reader
from coursework.source import Cell, Faults, Source, read

_SLUG = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


@dataclass(frozen=True)
class Places:
    """Where exercises are.

    Attributes:
        exercises: The folder with a folder for each exercise.
        teacher: A folder with teachers' parts, a folder for each exercise. What is not in it stands in its exercise.
        overlay: A folder whose ``<slug>.yml`` and ``<slug>.md`` change exercises; None if there is none.
    """

    exercises: Path
    teacher: Path | None = None
    overlay: Path | None = None


@dataclass(frozen=True)
class Exercise:
    """An exercise, checked. Its teacher's part is only read when somebody asks for it.

    Attributes:
        slug: Its name, that of its folder.
        settings: Its front matter.
        cells: Its cells for all frameworks, in order.
        source: Its file.
        constants: The value of each constant that the book shows.
        teacher: The folder of the teacher's part; need not be there.
        book: The folder of the book that it belongs to; None if it belongs to none.
        own_constants: Whether an overlay draws its constants from values that the book need not show.
    """

    slug: str
    settings: Settings
    cells: tuple[Cell, ...]
    source: Source
    constants: Mapping[str, Any]
    teacher: Path
    book: Path | None
    own_constants: bool = False

    @property
    def title(self) -> str:
        """Its name for readers."""
        return self.settings.title

    @property
    def page(self) -> str:
        """The chapter it belongs to."""
        return self.settings.page

    @property
    def kind(self) -> str:
        """``code``, ``written`` or ``measure``."""
        return self.settings.kind

    @property
    def points(self) -> float:
        """What it is worth."""
        return self.settings.points

    @property
    def minutes(self) -> int:
        """How long it takes."""
        return self.settings.minutes

    @property
    def version(self) -> int:
        """Raised whenever its questions change."""
        return self.settings.version

    @property
    def compatible_with(self) -> tuple[int, ...]:
        """Earlier versions whose hand-ins are still graded."""
        return self.settings.compatible_with

    @property
    def solution(self) -> str:
        """``public`` or ``teacher``."""
        return self.settings.solution

    @property
    def limits(self) -> Limits:
        """What a submission may use."""
        return self.settings.limits

    @property
    def frameworks(self) -> tuple[str, ...]:
        """The frameworks it is for."""
        return self.settings.frameworks

    @property
    def path(self) -> Path:
        """Its file."""
        return self.source.path

    def answers(self, framework: str) -> dict[str, Cell]:
        """Give the cells to answer in, with their stubs, by the answers' names, in order."""
        return {cell.answer: cell for cell in self.cells if cell.answer and cell.is_for(framework)}

    def reader(self, framework: str, constants: Mapping[str, Any], site: str = "") -> Reader:
        """Say for whom its prose is written; see `plain.Reader`."""
        book = self.book
        exists = (lambda page: (book / f"{page}.md").is_file()) if book else (lambda _: True)
        return Reader(framework, constants, f"exercises/{self.slug}/exercise", site, exists)


def load(slug: str, places: Places) -> Exercise:
    """Load an exercise and check all of its public part.

    Args:
        slug: Its name.
        places: Where exercises are.

    Raises:
        ExerciseError: If there is no such exercise, or with everything that is wrong with it.
    """
    folder = _folder(slug, places)
    faults = Faults(folder / "exercise.md")
    source = read(faults.path, faults)
    exercise = Exercise(
        slug=slug,
        settings=settings(source.matter, faults, source.line_of),
        cells=source.cells,
        source=source,
        constants={},
        teacher=_teacher(slug, places),
        book=_book(places),
    )
    from coursework.overlay import overlaid
    from coursework.wording import check_text

    # What follows would be told wrongly where cells or settings are not what they should be.
    faults.settle()
    _check_page(exercise, faults)
    checked = check_text(exercise, faults)
    faults.settle()
    return overlaid(checked, places.overlay) if places.overlay else checked


def slugs(places: Places) -> list[str]:
    """Name all exercises that are there, in order."""
    return sorted(path.parent.name for path in places.exercises.glob("*/exercise.md"))


def questions(exercise: Exercise, offering: Offering) -> list[Question | WrittenQuestion]:
    """Ask the teacher's part for the questions of an offering, with an overlay's points.

    Raises:
        ExerciseError: If there is no teacher's part, it fails, or what it gives does not suit the exercise.
    """
    from coursework.teacher import questions as asked  # which imports this module

    return asked(exercise, offering)


def _folder(slug: str, places: Places) -> Path:
    folder = places.exercises / slug
    if not _SLUG.fullmatch(slug):
        raise ExerciseError(
            f"{places.exercises}: {slug!r} is no name of an exercise (allowed: small letters, digits, and `-` between)."
            "\n  Correct it."
        )
    if not (folder / "exercise.md").is_file():
        raise ExerciseError(
            f"{folder / 'exercise.md'}:1: there is no exercise {slug!r} (there are: "
            f"{', '.join(slugs(places)) or 'none'}).\n  Correct the name, or make it: python -m coursework new {slug}."
        )
    return folder


def _teacher(slug: str, places: Places) -> Path:
    """Say where an exercise's teacher's part is: apart, if it is there; else with the exercise."""
    own = places.exercises / slug / "teacher"
    if places.teacher is None:
        return own
    if not places.teacher.is_dir():
        raise ExerciseError(f"{places.teacher}: there is no such folder of teachers' parts.\n  Correct `--teacher`.")
    known = slugs(places)
    for path in sorted(places.teacher.glob("*/checks.py")):
        if path.parent.name not in known:
            # Else a slip in the name would grade by the public part without a word.
            raise ExerciseError(
                f"{path.parent}: there is no exercise {path.parent.name!r} (there are: {', '.join(known)}).\n"
                "  Rename the folder, or take it away."
            )
    apart = places.teacher / slug
    return apart if apart.is_dir() or not own.is_dir() else own


def _check_page(exercise: Exercise, faults: Faults) -> None:
    if exercise.book and exercise.page and not (exercise.book / f"{exercise.page}.md").is_file():
        pages = ", ".join(f"chapters/{path.stem}" for path in sorted(exercise.book.glob("chapters/*.md")))
        line = exercise.source.line_of("exercise", "page")
        faults.add(line, f"`page` is {exercise.page!r}, which is no page (chapters: {pages}).", "Take one of these.")


def _book(places: Places) -> Path | None:
    folder = places.exercises.resolve().parent
    return folder if (folder / "_config.yml").is_file() else None
