"""What the command line's options mean: which folders, which exercises, which submissions, which jails."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from coursework import drawing
from coursework.course import Course
from coursework.errors import CourseworkError
from coursework.exercise import Exercise, Places, load
from coursework.jail import Jail, interpreter
from coursework.rows import Status, read_rows
from coursework.source import FRAMEWORKS

Command = TypeVar("Command", bound=Callable[..., Any])


def with_remembered(command: Command) -> Command:
    """Give a command the teachers' parts and the overlay that its course remembers, unless it is told others.

    Args:
        command: Called with ``teacher``, ``overlay`` and, if it is about a course, ``root``.
    """

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> Any:
        known = drawing.remembered(options["root"]) if "root" in options else {}
        return command(*args, **{**options, **{name: options[name] or path for name, path in known.items()}})

    return cast("Command", run)


def remember(root: Path, options: Mapping[str, Path | None]) -> None:
    """Have a course remember the teachers' parts and the overlay that a command was told of, and say so.

    Args:
        root: The course's folder.
        options: The command's; see `drawing.remember`.
    """
    for told in drawing.remember(root, options):
        click.echo(told)


def exercise_of(slug: str, framework: str | None, places: Places) -> Exercise:
    """Load an exercise and see that it is for a framework.

    Raises:
        click.BadParameter: If it is not.
        ExerciseError: If it cannot be loaded.
    """
    exercise = load(slug, places)
    if framework and framework not in exercise.frameworks:
        raise click.BadParameter(
            f"{slug} is for {', '.join(exercise.frameworks)}, not {framework}.", param_hint="--framework"
        )
    return exercise


def collected(
    course: Course, places: Places, asked: Sequence[str], framework: str | None, only: Sequence[str]
) -> list[tuple[str, str]]:
    """Name the assignments of which something was collected: exercise and framework.

    Raises:
        CourseworkError: If there is nothing, or no such student.
    """
    rows = [row for row in read_rows(course) if not asked or row.slug in asked]
    unknown = [slug for slug in asked if slug not in {row.slug for row in rows}]
    if unknown or not rows:
        raise CourseworkError(
            f"{course.collected}: nothing was collected of {', '.join(unknown) or 'any exercise'}. "
            "First: python -m coursework collect SLUG SOURCE"
        )
    strangers = [name for name in only if name not in {row.student for row in rows}]
    if strangers:
        raise CourseworkError(
            f"{course.collected}: there is no student {', '.join(strangers)}. The name has to be exact."
        )
    found = {(row.slug, row.framework) for row in rows if row.status is Status.COLLECTED}
    # Those who handed in nothing have results, too, even if nobody handed anything in.
    empty = {row.slug for row in rows} - {slug for slug, _ in found}
    found |= {(slug, framework or load(slug, places).frameworks[0]) for slug in empty}
    return sorted(one for one in found if framework in (None, one[1]))


def pythons_for(frameworks: Sequence[str], places: Places, pythons: Sequence[str]) -> dict[str, Path]:
    """Say which interpreter has each framework; it need not be there.

    Args:
        frameworks: The frameworks.
        places: Their environments lie beside the exercises' folder.
        pythons: What was said of interpreters, as ``FRAMEWORK=PATH``.

    Raises:
        click.BadParameter: If an interpreter is said in another form.
    """
    told = dict(item.partition("=")[::2] for item in pythons)
    if set(told) - set(FRAMEWORKS) or not all(told.values()):
        raise click.BadParameter(f"write FRAMEWORK=PATH with one of {', '.join(FRAMEWORKS)}", param_hint="--python")
    root = places.exercises.resolve().parent
    return {name: Path(told[name]).absolute() if name in told else interpreter(name, root) for name in frameworks}


def jails_for(paths: Mapping[str, Path], *, unsafe: bool, gpu: bool) -> dict[str, Jail]:
    """Say where submissions of each framework run.

    Args:
        paths: What `pythons_for` gave.
        unsafe: Whether to do without a jail.
        gpu: Whether submissions may use the GPU.

    Raises:
        CourseworkError: If an interpreter is not there.
    """
    for name, path in paths.items():
        if not path.exists():
            raise CourseworkError(
                f"{path}: there is no such interpreter for {name}. Make it: make environments; or say where one is: "
                f"--python {name}=PATH"
            )
    return {name: Jail(path, "unsafe" if unsafe else "bubblewrap", gpu) for name, path in paths.items()}
