"""Make the notebooks that students get, from what is public of an exercise, and an archive for a course's LMS.

Nothing of the teacher's part is read here but its questions' points, to see that they add up. Bytes depend on the
exercise, its version and the seed alone.
"""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coursework import drawing
from coursework.errors import CourseError, ExerciseError
from coursework.exercise import Exercise, Places, load
from coursework.files import packed
from coursework.model import Offering
from coursework.plain import markdown
from coursework.source import ANSWER, Cell
from coursework.stamp import KEY, Stamp
from coursework.teacher import validate
from coursework.wheel import version, wheel, wheel_name
from coursework.wording import HEADING, with_constants

if TYPE_CHECKING:
    from nbformat import NotebookNode

TITLES = {"pytorch": "PyTorch", "mxnet": "MXNet"}
#: The folder of this course's own book: exercises that a course keeps elsewhere get its set-up cell.
HOME = Path(__file__).resolve().parents[2]
#: The template of the set-up cell, in a book's folder.
FIRST_CELL = "notebooks/first-cell.py"
#: What Colab keeps of a cell that is shown as a form, its code folded.
_FORM = {"cellView": "form", "jupyter": {"source_hidden": True}}
_ADDRESS = re.compile(r"https?://[^\s\"'\\\\$]+")
#: What to say of a notebook that can be opened anywhere, and of one that needs the wheel beside it.
_OPENED = "Open {name} with Jupyter or VS Code, or upload it to Colab."
_OPENED_BESIDE = """Unpack all of this zip and leave the folder wheels where it is: the notebook installs from it.
Open {name} there with Jupyter or VS Code."""
#: What whoever hands out should know.
HAND_OUT_THE_ZIP = (
    "Hand out the zip, not the bare notebook: without --site the notebook installs asynclab from the wheel that lies "
    "beside it in the zip (Colab, which gets the notebook alone, needs --site)."
)
_READ_ME = """{title}

{opened} Run the first cell: it installs what is missing. Write your
answers into the cells whose first line names an answer, and leave that line there. Save the notebook, then run the last
cell: it writes the file to hand in.
"""
_PACK = """{stamp}
# Save the notebook, then run this cell: it writes the file to hand in.
from asynclab import exercises
exercises.pack()"""


def stamp_of(exercise: Exercise, offering: Offering) -> Stamp:
    """Give the stamp of what is handed out."""
    identity = drawing.identity(offering.seed, exercise.slug)
    return Stamp(exercise.slug, offering.framework, exercise.version, identity)


def notebook(
    exercise: Exercise, framework: str, offering: Offering, *, site: str = "", mirror: str = ""
) -> NotebookNode:
    """Make a student's notebook.

    Args:
        exercise: The exercise.
        framework: One of its frameworks.
        offering: What it is asked with.
        site: Where the book's site is published; empty if students cannot reach it.
        mirror: A package index for the set-up cell; empty for whatever their machines use.

    Raises:
        ExerciseError: If the exercise is not for this framework.
    """
    import nbformat

    _check_framework(exercise, framework)
    stamp = stamp_of(exercise, offering)
    title, *text = _text(exercise, framework, offering, site)
    set_up = _set_up(exercise, framework, stamp, site, mirror)
    pack = _cell("pack", "code", _PACK.format(stamp=stamp.line), {})
    made: NotebookNode = nbformat.from_dict(
        {
            "cells": [title, *([set_up] if set_up else []), *text, pack],
            "metadata": _metadata(exercise, stamp, text),
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )
    nbformat.validate(made)
    return made


def notebook_bytes(made: NotebookNode) -> bytes:
    """Write a notebook as JSON, as Jupyter does."""
    import nbformat

    text: str = nbformat.writes(made)
    return (text.rstrip("\n") + "\n").encode()


def write(  # noqa: PLR0913 - it is what the command line asks for
    slugs: Iterable[str],
    framework: str,
    out: Path,
    course: Path,
    places: Places,
    *,
    site: str = "",
    mirror: str = "",
    force: bool = False,
) -> list[Path]:
    """Write the notebooks of exercises, and for each a zip for an LMS.

    Args:
        slugs: The exercises.
        framework: ``pytorch`` or ``mxnet``.
        out: The folder to write to.
        course: The course's folder; it gets a seed if it has none.
        places: Where exercises are.
        site: Where the book's site is published; empty if students cannot reach it.
        mirror: A package index for the set-up cell.
        force: Whether to replace files that hold something else.

    Returns:
        The files, the notebook of each exercise before its zip.

    Raises:
        ExerciseError: If something is wrong with an exercise.
        CourseError: If the seed cannot be read, or a file is there that holds something else. Nothing is written then.
    """
    exercises = [load(slug, places) for slug in dict.fromkeys(slugs)]
    for exercise in exercises:
        _check_framework(exercise, framework)
        if exercise.teacher.is_dir():
            validate(exercise)
    seed = drawing.course(course, make=True).seed
    files: dict[Path, bytes] = {}
    for exercise in exercises:
        offering = drawing.offering(exercise, framework, seed)
        made = notebook(exercise, framework, offering, site=site, mirror=mirror)
        name = file_name(stamp_of(exercise, offering))
        content = notebook_bytes(made)
        files[out / name] = content
        beside = _beside(exercise, site)
        opened = (_OPENED_BESIDE if beside else _OPENED).format(name=name)
        members = {name: content, **beside}
        members["README.txt"] = _READ_ME.format(title=exercise.title, opened=opened).encode()
        files[out / f"{name.removesuffix('.ipynb')}.zip"] = packed(members)
    _refuse_others(files, force)
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_bytes() != content:
            # In one step, and with the usual rights: it may be handed out by a shared folder.
            written = path.with_name(f".{path.name}.new")
            written.write_bytes(content)
            written.replace(path)
    return list(files)


def _beside(exercise: Exercise, site: str) -> dict[str, bytes]:
    """Give what a student needs beside the notebook: where no site can be reached, the wheel.

    It is made anew each time: one that a build of the site left there may be of other sources.
    """
    book = exercise.book or HOME
    if site or not (book / FIRST_CELL).is_file():
        return {}
    return {f"wheels/{wheel_name(book)}": wheel(book)}


def _check_framework(exercise: Exercise, framework: str) -> None:
    if framework not in exercise.frameworks:
        raise ExerciseError(
            f"{exercise.path}:1: {exercise.slug} is not for {framework!r} "
            f"(it is for: {', '.join(exercise.frameworks)}).\n  Take one of these: `--framework`."
        )


def _refuse_others(files: Mapping[Path, bytes], force: bool) -> None:
    others = [path for path, content in files.items() if path.exists() and path.read_bytes() != content]
    if others and not force:
        raise CourseError(
            f"{others[0]}: it is there already and holds something else"
            f"{f', and so do {len(others) - 1} more' if len(others) > 1 else ''}. Nothing was written.\n"
            "  Move it away, choose another `--out`, or replace it with `--force`."
        )


def _text(exercise: Exercise, framework: str, offering: Offering, site: str) -> list[dict[str, Any]]:
    """Give the cells of an exercise's text, the first with the stamp below its title."""
    reader = exercise.reader(framework, offering.constants, site)
    told: list[str] = []
    found = []
    for number, cell in enumerate(exercise.cells):
        if cell.is_for(framework):
            source = (
                cell.source
                if cell.kind == "code"
                else markdown(cell.source, cell.line, reader, lambda line, what, _: told.append(f"{line}: {what}"))
            )
            if number == 0:
                source = _titled(source, exercise, stamp_of(exercise, offering))
            elif cell.kind == "code":
                source = with_constants(source, offering.constants)
            if source:
                found.append(_answer(cell, source) if cell.answer else _other(cell, source, number))
    if told:
        raise ExerciseError(f"{exercise.path}:{told[0]}")
    return found


def _titled(source: str, exercise: Exercise, stamp: Stamp) -> str:
    heading, _, rest = source.partition("\n")
    if not HEADING.fullmatch(heading):
        raise ExerciseError(f"{exercise.path}:1: the text begins with {heading!r}.\n  Begin it with its title.")
    about = f"{TITLES[stamp.framework]} · {exercise.points:g} points · about {exercise.minutes} minutes"
    return f"# {exercise.title}\n\n{about}\n\n<small>{stamp.text}</small>\n\n{rest.strip()}".rstrip()


def _answer(cell: Cell, source: str) -> dict[str, Any]:
    text = source if cell.kind == "code" else f"<!-- answer: {cell.answer} -->\n{source}"
    metadata = {KEY: {"answer": cell.answer}, "tags": [ANSWER]}
    return _cell(f"answer-{cell.answer}", cell.kind, text, metadata)


def _other(cell: Cell, source: str, number: int) -> dict[str, Any]:
    tags = [tag for tag in cell.tags if tag not in TITLES]
    return _cell(f"cell-{number}", cell.kind, source, {"tags": tags} if tags else {})


def _cell(name: str, kind: str, source: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    cell = {"id": name, "cell_type": kind, "metadata": dict(metadata), "source": source}
    return cell if kind == "markdown" else {**cell, "execution_count": None, "outputs": []}


def digest(source: str) -> str:
    """Give a few digits of a source, by which `pack` sees that nobody wrote in a cell."""
    return hashlib.sha256("\n".join(line.rstrip() for line in source.strip().split("\n")).encode()).hexdigest()[:16]


def _set_up(exercise: Exercise, framework: str, stamp: Stamp, site: str, mirror: str) -> dict[str, Any] | None:
    """Make the cell that sets a student's machine up, from the book's own template; None if it has none."""
    book = exercise.book or HOME
    if not (book / FIRST_CELL).is_file():
        return None
    for name, address in (("--site", site), ("--mirror", mirror)):
        if address and not _ADDRESS.fullmatch(address):
            raise CourseError(f"{name} is {address!r} (allowed: http://... or https://...).\n  Correct it.")
    source = string.Template((book / FIRST_CELL).read_text("utf8")).substitute(
        framework=framework,
        title=TITLES[framework],
        needs=exercise.settings.needs.get(framework, ""),
        wheel=f"{site.rstrip('/')}/wheels/{wheel_name(book)}".lstrip("/"),
        mirror=mirror,
        version=version(book),
    )
    first, _, rest = source.strip("\n").partition("\n")
    # Colab takes a form's title from the first line alone.
    return _cell("set-up", "code", f"{first}\n{stamp.line}\n{rest}", _FORM)


def _metadata(exercise: Exercise, stamp: Stamp, text: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    stubs = {cell["metadata"][KEY]["answer"]: digest(cell["source"]) for cell in text if KEY in cell["metadata"]}
    found: dict[str, Any] = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "colab": {"name": file_name(stamp), "provenance": []},
        KEY: {**stamp.metadata, "stubs": stubs},
    }
    if exercise.settings.needs.get(stamp.framework) == "gpu":
        found["accelerator"] = "GPU"
        found["colab"]["gpuType"] = "T4"
    return found


def file_name(stamp: Stamp) -> str:
    """Name a student's notebook."""
    return f"{stamp.slug}.{stamp.framework}.ipynb"
