"""Read solutions and known wrong answers: scripts in Jupytext's percent format, one cell an answer.

The first line of a cell names the answer, as in a student's notebook: ``# answer: NAME`` or ``<!-- answer: NAME -->``.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coursework.errors import ExerciseError
from coursework.matter import is_number
from coursework.source import FRAMEWORKS, Faults, code_answer, read_text, read_yaml, text_answer

if TYPE_CHECKING:
    from nbformat import NotebookNode

    from coursework.exercise import Exercise

_HEADER = re.compile(r"(?:#!.*\n)?# ---\n(?P<yaml>(?:#.*\n)*?)# ---\n")
_KEYS = {"points", "misconception", *(f"points_{name}" for name in FRAMEWORKS)}
#: Other headers that Jupytext writes.
_OTHERS = {"jupytext", "jupyter", "kernelspec"}


@dataclass(frozen=True)
class Script:
    """A script with answers.

    Attributes:
        path: The file.
        header: What its header says under ``coursework``.
        answers: The source of each answer, with the line that names it, by its name, in order.
        written: Which of them are text.
    """

    path: Path
    header: Mapping[str, Any]
    answers: Mapping[str, str]
    written: frozenset[str]


@dataclass(frozen=True)
class Wrong:
    """A known wrong answer.

    Attributes:
        name: That of its file, without what follows the first dot.
        path: The file.
        points: What the automatic questions give it.
        misconception: What somebody believes who answers so.
        answers: All answers: its own, and the solution's for the others.
        changed: The names of its own.
    """

    name: str
    path: Path
    points: float
    misconception: str
    answers: Mapping[str, str]
    changed: tuple[str, ...]


def read(path: Path) -> Script:
    """Read a script.

    Raises:
        ExerciseError: If it cannot be read, a cell names no answer, or two cells the same one.
    """
    import jupytext

    text = read_text(path)
    match = _HEADER.match(text)
    header = _header(match["yaml"], path, text[: match.start("yaml")].count("\n")) if match else {}
    notebook = jupytext.reads(text, fmt="py:percent")
    found: dict[str, str] = {}
    written = set()
    for cell in notebook.cells:
        name = code_answer(cell.source) if cell.cell_type == "code" else text_answer(cell.source)
        if cell.cell_type == "raw" or not (name or cell.source.strip()):
            continue
        if not name and cell.cell_type == "markdown":
            continue  # what the teacher says about it
        if not name:
            line = _line_of(cell.source.split("\n")[0], text)
            raise ExerciseError(
                f"{path}:{line}: this cell names no answer (its first line is {cell.source.split(chr(10))[0]!r}).\n"
                "  Begin each cell with `# %%` and a line `# answer: NAME`; put what it needs into it."
            )
        if name in found:
            raise ExerciseError(
                f"{path}:{_line_of(f'answer: {name}', text)}: two cells are the answer {name!r}.\n  Remove one."
            )
        found[name] = cell.source
        written |= {name} if cell.cell_type == "markdown" else set()
    return Script(path, header, found, frozenset(written))


def answers(path: Path) -> dict[str, str]:
    """Give the answers in a script by their names."""
    return dict(read(path).answers)


def header(path: Path) -> dict[str, Any]:
    """Give what a script's header says under ``coursework``: points and misconception."""
    return dict(read(path).header)


def submission(notebook: NotebookNode, answers: Mapping[str, str]) -> NotebookNode:
    """Give a student's notebook with these answers in it.

    Args:
        notebook: The notebook as it is handed out.
        answers: Sources by the answers' names.

    Raises:
        ExerciseError: If the notebook has no such answer.
    """
    made = copy.deepcopy(notebook)
    cells = {cell.metadata.get("coursework", {}).get("answer"): cell for cell in made.cells}
    for name, source in answers.items():
        if name not in cells:
            known = ", ".join(str(each) for each in cells if each)
            raise ExerciseError(f"the notebook has no answer {name!r} (it has: {known}).\n  Correct the name.")
        cells[name].source = source
    return made


def solution(exercise: Exercise, framework: str) -> dict[str, str]:
    """Give the reference solution for a framework: an answer for each cell.

    Raises:
        ExerciseError: If there is none, or it does not suit the exercise.
    """
    script = read(_solution_path(exercise, framework))
    _check_names(script, exercise, framework)
    missing = [name for name in exercise.answers(framework) if name not in script.answers]
    if missing:
        raise ExerciseError(
            f"{script.path}:1: there is no solution for the answer {missing[0]!r} of {framework}.\n"
            f"  Add a cell with the first line `# answer: {missing[0]}`."
        )
    return {name: script.answers[name] for name in exercise.answers(framework)}


def wrong(exercise: Exercise, framework: str) -> list[Wrong]:
    """Give the known wrong answers for a framework, in the order of their files' names.

    Raises:
        ExerciseError: If one does not suit the exercise, or does not say its points and its misconception.
    """
    found = []
    right: dict[str, str] = {}
    for path in sorted((exercise.teacher / "wrong").glob("*.py")):
        name, *of = path.stem.split(".")
        if of and (len(of) > 1 or of[0] not in FRAMEWORKS):
            allowed = ", ".join(f"{name}.{each}.py" for each in FRAMEWORKS)
            raise ExerciseError(f"{path}:1: its name says {of[0]!r} (allowed: {name}.py, {allowed}).\n  Rename it.")
        if of and of[0] != framework:
            continue
        script = read(path)
        _check_names(script, exercise, framework)
        if not script.answers:
            raise ExerciseError(f"{path}:1: it holds no answer.\n  Add a cell: `# %%` and a line `# answer: NAME`.")
        right = right or solution(exercise, framework)
        own = {answer: source for answer, source in script.answers.items() if answer in right}
        if own:
            points, misconception = _marks(script, framework)
            found.append(Wrong(name, path, points, misconception, {**right, **own}, tuple(own)))
    return found


def _marks(script: Script, framework: str) -> tuple[float, str]:
    points = script.header.get(f"points_{framework}", script.header.get("points"))
    if not is_number(points) or points is None or points < 0:
        raise ExerciseError(
            f"{script.path}:1: the header's `points` is {points!r}, but has to say what the automatic questions give "
            "it.\n  Write `#   points: 4` below `# coursework:`."
        )
    misconception = script.header.get("misconception")
    if not isinstance(misconception, str) or not misconception.strip():
        raise ExerciseError(
            f"{script.path}:1: the header's `misconception` is {misconception!r}, but has to say what one believes who "
            "answers so.\n  Write `#   misconception: thinks that ...` below `# coursework:`."
        )
    return float(points), " ".join(misconception.split())


def _solution_path(exercise: Exercise, framework: str) -> Path:
    own = exercise.teacher / f"solution.{framework}.py"
    shared = exercise.teacher / "solution.py"
    if own.is_file() and shared.is_file():
        raise ExerciseError(f"{own}:1: there is a solution.py as well.\n  Keep one of the two.")
    if not own.is_file() and not shared.is_file():
        raise ExerciseError(
            f"{shared}:1: there is no solution for {framework} (nor a {own.name}).\n"
            "  Write it: a cell `# %%` for each answer, its first line `# answer: NAME`."
        )
    return own if own.is_file() else shared


def _check_names(script: Script, exercise: Exercise, framework: str) -> None:
    known = exercise.answers(framework)
    # An answer of another framework may stand in a script for both.
    everywhere = {name for each in exercise.frameworks for name in exercise.answers(each)}
    faults = Faults(script.path)
    text = read_text(script.path)
    for name in script.answers:
        line = _line_of(f"answer: {name}", text)
        if name not in everywhere:
            faults.add(line, f"there is no answer {name!r} (there are: {', '.join(known)}).", "Correct the name.")
        elif name in known and (known[name].kind == "markdown") != (name in script.written):
            kind = (
                "text: `# %% [markdown]`, then `# <!-- answer: NAME -->`" if known[name].kind == "markdown" else "code"
            )
            faults.add(line, f"the answer {name!r} has to be {kind}.", "Change the kind of its cell.")
    faults.settle()


def _header(text: str, path: Path, above: int) -> dict[str, Any]:
    plain = "\n".join(line.removeprefix("#").removeprefix(" ") for line in text.split("\n"))
    table, lines = read_yaml(plain, path, first_line=above + 1)
    faults = Faults(path)
    for key in table:
        if key != "coursework" and key not in _OTHERS:
            faults.add(lines.get((key,), 1), f"`{key}` is unknown (known: coursework).", "Correct or remove it.")
    found = table.get("coursework", {})
    if not isinstance(found, Mapping):
        faults.add(lines.get(("coursework",), 1), "`coursework` is no mapping.", "Write its keys indented below it.")
        found = {}
    for key in found:
        if key not in _KEYS:
            known = ", ".join(sorted(_KEYS))
            faults.add(lines.get(("coursework", key), 1), f"`{key}` is unknown (known: {known}).", "Correct it.")
    faults.settle()
    return dict(found)


def _line_of(part: str, text: str) -> int:
    return next((number for number, line in enumerate(text.split("\n"), 1) if part in line), 1)
