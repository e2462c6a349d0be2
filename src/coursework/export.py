"""Pack an autograder for Gradescope, where a class outgrows one machine: that service runs it on its own fleet.

The archive holds one exercise in one framework with its teacher's part and the course's seed, so it is as secret as
these. Inside its container ``autograder.py`` keeps students' code in a process and a user of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from coursework.assign import packed
from coursework.drawing import FILE
from coursework.drawing import course as read_course
from coursework.drawing import offering as drawn
from coursework.errors import CourseError
from coursework.exercise import Exercise, Places, load, questions
from coursework.files import write_whole

HERE = Path(__file__).parent
#: What makes an exercise need a framework's whole environment.
_MODULES = {"pytorch": {"torch", "d2l"}, "mxnet": {"mxnet", "d2l"}}


def gradescope(slug: str, framework: str, out: Path, course: Path, places: Places) -> Path:
    """Write the archive to upload under *Configure Autograder*.

    Args:
        slug: The exercise.
        framework: One of its frameworks.
        out: The archive, or the folder that it is put in.
        course: The course's folder, whose seed draws the inputs.
        places: Where exercises are.

    Returns:
        The archive.

    Raises:
        CourseworkError: If there is no seed, or the exercise is not as it should be.
    """
    exercise = load(slug, places)
    seed = read_course(course).seed
    # Whatever is wrong is told here rather than on somebody else's machine.
    questions(exercise, drawn(exercise, framework, seed))
    if exercise.book is None:
        raise CourseError(f"{places.exercises}: it stands in no book. Export from the course's repository.")
    path = out if out.suffix == ".zip" else out / f"{slug}.{framework}.gradescope.zip"
    members = dict(_members(exercise, framework, course, places, exercise.book))
    write_whole(path, packed(members, executable=("setup.sh", "run_autograder")))
    return path


def _members(
    exercise: Exercise, framework: str, course: Path, places: Places, book: Path
) -> Iterator[tuple[str, bytes]]:
    for name in ("setup.sh", "run_autograder"):
        yield name, (HERE / "gradescope" / name).read_bytes()
    yield "assignment.txt", f"{exercise.slug} {framework}\n".encode()
    yield f"course/{FILE}", (course / FILE).read_bytes()
    public = places.exercises / exercise.slug / "exercise.md"
    yield f"exercises/{exercise.slug}/exercise.md", public.read_bytes()
    for path in _files(exercise.teacher):
        yield f"exercises/{exercise.slug}/teacher/{path.relative_to(exercise.teacher).as_posix()}", path.read_bytes()
    for path in _overlay(exercise.slug, places):
        yield f"overlay/{path.name}", path.read_bytes()
    # So that the folder is taken for a book, with the version that notebooks were made with.
    for name in ("_config.yml", "pyproject.toml", "notebooks/first-cell.py"):
        yield name, (book / name).read_bytes()
    # The exercise's links lead to pages, and whether these exist is checked.
    for path in sorted((*book.glob("*.md"), *book.glob("chapters/*.md"))):
        yield path.relative_to(book).as_posix(), path.read_bytes()
    yield "requirements/uv.txt", (book / "requirements/uv.txt").read_bytes()
    yield "requirements/grader.txt", (book / "requirements/coursework.txt").read_bytes()
    wanted = book / f"requirements/{framework}.txt"
    yield "requirements/student.txt", wanted.read_bytes() if _needs_framework(exercise, framework) else b""
    for package in (HERE, HERE.parent / "asynclab"):
        for path in _files(package):
            yield f"src/{package.name}/{path.relative_to(package).as_posix()}", path.read_bytes()


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _overlay(slug: str, places: Places) -> list[Path]:
    found = [places.overlay / f"{slug}{ending}" for ending in (".yml", ".md")] if places.overlay else []
    return [path for path in found if path.is_file()]


def _needs_framework(exercise: Exercise, framework: str) -> bool:
    """Whether any code that may run in the jail imports the framework."""
    sources = [cell.source for cell in exercise.cells if cell.kind == "code" and cell.is_for(framework)]
    sources += [path.read_text("utf8") for path in _files(exercise.teacher) if path.suffix == ".py"]
    # Helper code that questions define there is a text in theirs.
    names = [f"{how} {name}" for name in _MODULES[framework] for how in ("import", "from")]
    return any(name in source for source in sources for name in names)
