"""Read an exercise's MyST file: its front matter, its cells, each with its line, and its prose as plain Markdown.

Of MyST only what a reader of a plain notebook can be given as well is allowed; the rest is told with its line.
`exercise.py` gives the front matter its meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coursework.errors import ExerciseError
from coursework.myst import Block, blocks

FRAMEWORKS = ("mxnet", "pytorch")
ANSWER, CHECK = "answer", "check"
#: Tags of a code cell. The last three are MyST-NB's.
TAGS = (ANSWER, CHECK, *FRAMEWORKS, "hide-input", "hide-output", "hide-cell")
#: What a student replaces in a written answer.
WRITE_HERE = "*Write here, in place of this line.*"

#: Keys below keys; nothing in the format goes deeper.
_DEEPEST = 8
_NAME = r"[A-Za-z][A-Za-z0-9_-]{0,40}"
_CODE_MARK = re.compile(rf"#[ \t]*answer:[ \t]*(?P<name>{_NAME})[ \t]*")
_TEXT_MARK = re.compile(rf"(?:#[ \t]*)?<!--[ \t]*answer:[ \t]*(?P<name>{_NAME})[ \t]*-->[ \t]*")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?P<yaml>.*?)^---[ \t]*$\n?", re.DOTALL | re.MULTILINE)


#: The class of a box that shows the solution.
SOLUTION = "solution"
_SOLUTION = """  ::::{admonition} Solution
  :class: dropdown solution polybook-page-only

  ```{literalinclude} teacher/solution.py
  :language: python
  ```
  ::::"""


@dataclass(frozen=True)
class Cell:
    """A piece of an exercise, from its file.

    Attributes:
        kind: ``code`` or ``markdown``.
        source: Code, or text in MyST; of a written answer what stands in its box.
        tags: A code cell's tags, frameworks included.
        line: The line of the file that `source` begins in, from 1.
        answer: The answer that it holds; empty if it is none.
    """

    kind: str
    source: str
    tags: tuple[str, ...]
    line: int
    answer: str = ""

    def is_for(self, framework: str) -> bool:
        """Whether a framework's notebook has it."""
        named = set(self.tags) & set(FRAMEWORKS)
        return not named or framework in named


@dataclass
class Faults:
    """Collects what is wrong, to be told all at once.

    Attributes:
        path: The file, for messages.
    """

    path: Path
    found: list[tuple[int, str]] = field(default_factory=list)

    def add(self, line: int, what: str, remedy: str) -> None:
        """Note a fault, once: where, what was found and is allowed, what to do."""
        fault = (line, f"{self.path}:{line}: {what}\n  {remedy}")
        if fault not in self.found:
            self.found.append(fault)

    def settle(self) -> None:
        """Raise them, in the order of the file.

        Raises:
            ExerciseError: If there are any.
        """
        if self.found:
            raise ExerciseError("\n".join(text for _, text in sorted(self.found, key=lambda fault: fault[0])))


@dataclass(frozen=True)
class Source:
    """An exercise's file, read.

    Attributes:
        path: The file.
        matter: Its front matter.
        lines: The line of each key of the front matter, by its path, such as ``("exercise", "points")``.
        cells: Its cells, in order.
    """

    path: Path
    matter: Mapping[str, Any]
    lines: Mapping[tuple[str, ...], int]
    cells: tuple[Cell, ...]

    def line_of(self, *keys: str) -> int:
        """Give the line of a key, or of the nearest one above it that is there."""
        while keys and keys not in self.lines:
            keys = keys[:-1]
        return self.lines.get(keys, 1)


def code_answer(source: str) -> str:
    """Give the name in the first line of a code cell, ``# answer: NAME``; empty if there is none."""
    found = _CODE_MARK.fullmatch(_first_line(source))
    return found["name"] if found else ""


def text_answer(source: str) -> str:
    """Give the name in the first line of a written answer, ``<!-- answer: NAME -->``; empty if there is none."""
    found = _TEXT_MARK.fullmatch(_first_line(source))
    return found["name"] if found else ""


def _first_line(source: str) -> str:
    return next(iter(source.lstrip("\ufeff\n").split("\n")), "").strip()


def read(path: Path, faults: Faults, *, text_only: bool = False) -> Source:
    """Read an exercise's file.

    Args:
        path: The file.
        faults: Gets what is wrong with its cells.
        text_only: Whether it need not have front matter: it replaces another file's text.

    Raises:
        ExerciseError: If it is missing, no UTF-8, or its front matter cannot be read.
    """
    text = read_text(path)
    match = _FRONT_MATTER.match(text)
    if not match and not text_only:
        raise ExerciseError(
            f"{path}:1: there is no front matter (it begins with a line `---` and ends with another).\n"
            "  Write it as exercises/README.md says, or start anew: python -m coursework new SLUG."
        )
    matter, lines = read_yaml(match["yaml"], path, first_line=2) if match else ({}, {})
    skipped = text[: match.end()].count("\n") if match else 0
    body = text[match.end() :] if match else text
    settings = matter.get("exercise")
    public = isinstance(settings, dict) and settings.get("solution") == "public"
    shown: list[int] = []
    cells = tuple(_cells(body.split("\n"), skipped + 1, faults, shown))
    _check_shown(shown, public, faults) if match else None
    return Source(path, matter, lines, cells)


def _check_shown(shown: list[int], public: bool, faults: Faults) -> None:
    """See that a page shows the solution if, and only if, it is public."""
    if shown and not public:
        told = "Say `solution: public` in the front matter, or remove it."
        faults.add(shown[0], "this box shows the solution, which readers must not see.", told)
    elif public and not shown:
        faults.add(1, "`solution` is 'public', but the page does not show it.", f"Add this at the end:\n{_SOLUTION}")


def read_text(path: Path) -> str:
    """Read a file of an exercise, with lines that end alike.

    Raises:
        ExerciseError: If it is missing or no UTF-8.
    """
    try:
        return path.read_text("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ExerciseError(f"{path}:1: it is not UTF-8 ({error.reason}).\n  Save it as UTF-8.") from None
    except OSError as error:
        raise ExerciseError(
            f"{path}:1: it cannot be read ({error.strerror}).\n  Make it, or correct the name."
        ) from None


def read_yaml(text: str, path: Path, first_line: int = 1) -> tuple[dict[str, Any], dict[tuple[str, ...], int]]:
    """Read a mapping in YAML, and the line of each of its keys.

    Args:
        text: The YAML.
        path: The file, for messages.
        first_line: The line of the file that the text begins in.

    Raises:
        ExerciseError: If it is no YAML, no mapping, or gives a key twice.
    """
    import yaml

    try:
        node, value = yaml.compose(text, yaml.SafeLoader), yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = first_line + (mark.line if mark else 0)
        why = getattr(error, "problem", None) or str(error)
        raise ExerciseError(f"{path}:{line}: it is no valid YAML: {why}.\n  Correct it.") from None
    if value is None:
        return {}, {}
    if not isinstance(value, dict):
        raise ExerciseError(f"{path}:{first_line}: it is no mapping of keys to values.\n  Write `key: value` lines.")
    lines: dict[tuple[str, ...], int] = {}
    for keys, line in _key_lines(node, ()):
        if keys in lines:
            raise ExerciseError(
                f"{path}:{first_line + line}: the key `{': '.join(keys)}` stands here again "
                f"(first in line {lines[keys]}).\n  Remove one of the two."
            )
        lines[keys] = first_line + line
    return value, lines


def _key_lines(node: Any, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    import yaml

    # An alias may stand inside of what it names, without end.
    if isinstance(node, yaml.MappingNode) and len(above) < _DEEPEST:
        for key, value in node.value:
            keys = (*above, str(key.value))
            yield keys, key.start_mark.line
            yield from _key_lines(value, keys)


def _cells(lines: list[str], first: int, faults: Faults, shown: list[int]) -> Iterator[Cell]:
    """Cut the text below the front matter into cells; note where it shows the solution, which is in no notebook."""
    prose: list[str] = []
    begin = first
    for block in blocks(lines, first, faults.add):
        if block.name == "admonition" and SOLUTION in str(block.options.get("class", "")).split():
            shown.append(block.line)
            continue
        cell = _cell(block, faults)
        if cell is None:
            begin = begin if prose else block.line
            prose += block.raw
            continue
        yield from _prose(prose, begin)
        prose = []
        yield cell
    yield from _prose(prose, begin)


def _prose(lines: list[str], begin: int) -> Iterator[Cell]:
    blank = next((count for count, line in enumerate(lines) if line.strip()), len(lines))
    text = "\n".join(lines[blank:]).rstrip()
    if text:
        yield Cell("markdown", text, (), begin + blank)


def _cell(block: Block, faults: Faults) -> Cell | None:
    """Make the cell of a block; None if it is prose."""
    if block.name == "code-cell":
        return _code(block, faults)
    name = str(block.options.get("name", ""))
    if block.name == "admonition" and name.startswith("answer-"):
        answer = name.removeprefix("answer-")
        if not re.fullmatch(_NAME, answer):
            faults.add(block.line, f"{answer!r} is no name of an answer.", f"Names have the form {_NAME}.")
        return Cell("markdown", "\n".join(block.body).strip("\n"), (ANSWER,), block.body_line, answer)
    return None


def _code(block: Block, faults: Faults) -> Cell:
    tags = block.options.get("tags", [])
    tags = [tags] if isinstance(tags, str) else [str(tag) for tag in tags or []]
    for tag in tags:
        if tag not in TAGS:
            faults.add(block.line, f"the tag {tag!r} is unknown (known: {', '.join(TAGS)}).", "Correct or remove it.")
    for key in sorted(set(block.options) - {"tags"}):
        faults.add(block.line, f"a code cell has the option `{key}` (known: tags).", "Remove it.")
    blank = next((count for count, line in enumerate(block.body) if line.strip()), 0)
    source = "\n".join(block.body).strip("\n").rstrip()
    name = code_answer(source)
    line = block.body_line + blank
    if ANSWER in tags and not name:
        found = _first_line(source)
        faults.add(line, f"the first line of this answer is {found!r}.", "Write `# answer: NAME` there.")
    if name and ANSWER not in tags:
        faults.add(line, f"this cell is the answer {name!r}, but is not tagged so.", "Add `:tags: [answer]`.")
    if ANSWER in tags and CHECK in tags:
        faults.add(block.line, "a cell is tagged `answer` and `check`.", "Make two cells of it.")
    return Cell("code", source, tuple(tags), line, name)
