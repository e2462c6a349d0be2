"""Options that several commands of the command line have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from coursework.choosing import with_remembered
from coursework.source import FRAMEWORKS

Command = TypeVar("Command", bound=Callable[..., Any])

FOLDER = click.Path(file_okay=False, path_type=Path)
THERE = click.Path(exists=True, path_type=Path)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def course_option(command: Command) -> Command:
    """The course's folder."""
    text = "The course's folder, kept out of every public repository."
    return click.option("--course", "root", type=FOLDER, default=Path("course"), show_default=True, help=text)(command)


def places_options(command: Command) -> Command:
    """Where exercises, teachers' parts and an author's changes lie; what the course remembers fills in."""
    given = click.option("--overlay", type=THERE, help="A folder whose <slug>.yml and <slug>.md change exercises.")
    given_teacher = click.option(
        "--teacher", type=FOLDER, help="A folder with teachers' parts that are kept apart; others stay where they are."
    )
    exercises = click.option(
        "--exercises", type=THERE, default=Path("exercises"), show_default=True, help="The folder with the exercises."
    )
    return exercises(given_teacher(given(with_remembered(command))))


def jails_options(command: Command) -> Command:
    """Which interpreters submissions run by, and how apart."""
    python = click.option(
        "--python",
        "pythons",
        multiple=True,
        metavar="FRAMEWORK=PATH",
        help="The interpreter that has a framework (default: .venv-FRAMEWORK beside the exercises).",
    )
    unsafe = click.option("--unsafe", is_flag=True, help="Without a jail. Only for programs you have read.")
    gpu = click.option("--gpu", is_flag=True, help="Let submissions use the GPU.")
    return python(unsafe(gpu(command)))


def framework_option(text: str) -> Callable[[Command], Command]:
    """One of the frameworks; what for, the command says."""
    return click.option("--framework", type=click.Choice(FRAMEWORKS), help=text)
