"""Check an exercise's cells: answers and their names, checks that name an answer, constants, links, heading.

Called by `exercise.load`, and by `overlay.py` for a text that replaces another.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from coursework.exercise import Exercise
from coursework.plain import markdown
from coursework.source import CHECK, FRAMEWORKS, Cell, Faults

#: A line that sets a constant; assigning rewrites its value.
CONSTANT = re.compile(
    r"(?P<before>[ \t]*\w+[ \t]*=[ \t]*)(?P<value>[^#]*?)(?P<after>[ \t]*#[ \t]*constant:[ \t]*(?P<name>\w+)[ \t]*)"
)
HEADING = re.compile(r"#[ \t]+(?P<title>.*?)[ \t]*")


def check_text(exercise: Exercise, faults: Faults) -> Exercise:
    """Check an exercise's cells; gives it with the values of constants that the book shows.

    Args:
        exercise: The exercise, its front matter checked.
        faults: Gets what is wrong.
    """
    found = replace(exercise, constants=_shown(exercise, faults))
    _heading(found, faults)
    for cell in found.cells:
        _tags(cell, found, faults)
    for framework in found.frameworks:
        _answers(found, framework, faults)
        _checks(found, framework, faults)
    for framework in found.frameworks:
        for cell in found.cells:
            if cell.kind == "markdown":
                markdown(cell.source, cell.line, found.reader(framework, found.constants), faults.add)
    return found


def with_constants(source: str, values: Mapping[str, Any]) -> str:
    """Give a cell's code with other values in the lines that set constants."""
    lines = []
    for line in source.split("\n"):
        match = CONSTANT.fullmatch(line)
        known = match and match["name"] in values
        lines.append(f"{match['before']}{values[match['name']]!r}{match['after']}" if match and known else line)
    return "\n".join(lines)


def _heading(exercise: Exercise, faults: Faults) -> None:
    first = exercise.cells[0] if exercise.cells else None
    line = first.source.split("\n")[0] if first and first.kind == "markdown" else ""
    match = HEADING.fullmatch(line)
    if not match or match["title"] != exercise.title:
        found = f"the text begins with {line!r}, but `exercise: title` is {exercise.title!r}"
        faults.add(first.line if first else 1, f"{found}.", f"Begin it with the line `# {exercise.title}`.")


def _tags(cell: Cell, exercise: Exercise, faults: Faults) -> None:
    for tag in sorted(set(cell.tags) & set(FRAMEWORKS) - set(exercise.frameworks)):
        known = ", ".join(exercise.frameworks)
        faults.add(cell.line, f"a cell is tagged {tag!r}, but the exercise is for {known} alone.", "Correct either.")


def _answers(exercise: Exercise, framework: str, faults: Faults) -> None:
    """Check that there are answers, each once."""
    seen: dict[str, Cell] = {}
    for cell in exercise.cells:
        if cell.answer and cell.is_for(framework):
            if cell.answer in seen:
                what = f"the answer {cell.answer!r} stands here again for {framework}"
                faults.add(cell.line, f"{what} (first in line {seen[cell.answer].line}).", "Rename one of the two.")
            if not cell.source.strip():
                faults.add(cell.line, f"the answer {cell.answer!r} holds nothing.", "Say what to write there.")
            seen.setdefault(cell.answer, cell)
    if not seen:
        what = f"there is no answer for {framework}"
        faults.add(1, f"{what}.", "Tag a cell `:tags: [answer]`, its first line `# answer: NAME`.")


def _checks(exercise: Exercise, framework: str, faults: Faults) -> None:
    """Check that the code is Python, and that every check tries what an answer defines."""
    trees = {id(cell): _tree(cell, faults) for cell in exercise.cells if cell.kind == "code" and cell.is_for(framework)}
    cells = [cell for cell in exercise.cells if id(cell) in trees]
    defined = {name for cell in cells if cell.answer for name in _defined(trees[id(cell)])}
    for cell in cells:
        tree = trees[id(cell)]
        if CHECK in cell.tags and tree:
            used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            if not used & defined:
                what = f"this check names nothing that an answer for {framework} defines"
                faults.add(cell.line, f"{what} (they define: {', '.join(sorted(defined)) or 'nothing'}).", "Name one.")


def _tree(cell: Cell, faults: Faults) -> ast.AST | None:
    try:
        return ast.parse(cell.source)
    except (SyntaxError, ValueError) as error:
        line = cell.line + (getattr(error, "lineno", None) or 1) - 1
        why = getattr(error, "msg", None) or str(error)
        faults.add(line, f"this is not Python: {why}.", "Correct it; magics such as `%time` are not for exercises.")
        return None


def _defined(tree: ast.AST | None) -> Iterator[str]:
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _shown(exercise: Exercise, faults: Faults) -> dict[str, Any]:
    """Give the value of each constant that the book shows; all that show one have to agree."""
    rules = exercise.settings.constants
    shown: dict[str, Any] = {}
    for name, line, value in _places(exercise, faults):
        if name not in rules:
            known = ", ".join(rules) or "none"
            faults.add(
                line, f"there is no constant {name!r} (known: {known}).", "Add it to `constants`, or correct it."
            )
        elif name in shown and shown[name] != value:
            what = f"the constant {name!r} is {value!r} here, and {shown[name]!r} elsewhere"
            faults.add(line, f"{what}.", "Make the two agree.")
        elif value not in rules[name] and not exercise.own_constants:
            allowed = ", ".join(map(repr, rules[name][:12]))
            faults.add(line, f"the constant {name!r} is {value!r} here (allowed: {allowed}).", "Take one of these.")
        else:
            shown[name] = value
    return {name: shown[name] if name in shown else values[0] for name, values in rules.items()}


def _places(exercise: Exercise, faults: Faults) -> Iterator[tuple[str, int, Any]]:
    source = exercise.source
    for name, value in exercise.settings.substitutions.items():
        yield name, source.line_of("myst", "substitutions", name), value
    for cell in exercise.cells:
        for number, line in enumerate(cell.source.split("\n") if cell.kind == "code" else [], cell.line):
            match = CONSTANT.fullmatch(line)
            if match:
                try:
                    yield match["name"], number, ast.literal_eval(match["value"].strip())
                except (SyntaxError, ValueError):
                    what = f"the value {match['value']!r} of a constant is no number or text"
                    faults.add(number, f"{what}.", "Write the value itself: `capacity = 4  # constant: capacity`.")
