"""Write a notebook's cells back into the page that they came from, and touch no line that nobody changed.

Jupytext alone would write the front matter anew and the whole page with it. Pure: texts and cells in, a text out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Any

import yaml

#: What JupyterLab notes in a cell about how it looks or when it ran; Jupytext leaves most of it out as well.
_TRANSIENT = {"ExecuteTime", "autoscroll", "collapsed", "execution", "jupyter", "scrolled", "trusted"}
_FENCE = re.compile(r"`{3,}|~{3,}")
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+$")
_BREAK = "+++"


@dataclass(frozen=True)
class Cell:
    """A cell, as far as a page keeps it.

    Attributes:
        kind: ``code``, ``markdown`` or ``raw``.
        source: Its text.
        metadata: Its options as JSON, with sorted keys, to be compared.
        options: The same options in their own order, to be written.
    """

    kind: str
    source: str
    metadata: str
    options: Mapping[str, Any] = field(compare=False, hash=False)


def cells_of(notebook: Mapping[str, Any]) -> list[Cell]:
    """Take from a notebook, in JSON or as an object, what a page keeps of its cells."""
    return [_cell(cell) for cell in notebook["cells"]]


def _cell(cell: Mapping[str, Any]) -> Cell:
    # In a notebook's file a text may be a list of lines.
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        source = re.sub(r"\A(?:[ \t]*\n)+", "", source).rstrip()
    # An empty list of tags is what JupyterLab leaves when the last one is taken away.
    options = {name: value for name, value in cell["metadata"].items() if name not in _TRANSIENT and value != []}
    return Cell(cell["cell_type"], source, json.dumps(options, sort_keys=True, default=str), options)


def rewrite(text: str, old: Sequence[Cell], starts: Sequence[int], new: Sequence[Cell]) -> str:
    """Write cells into a page.

    A cell that is as it was keeps its lines to the byte, an edited one its fence and options; the front matter and what
    stands between two cells that still follow each other stay. Empty cells are not added: JupyterLab makes one
    whenever the last cell is run.

    Args:
        text: The page.
        old: The cells that it has.
        starts: For each of them, the line that Jupytext gives: the 1-based line of a fence, the 0-based one on which
            prose may begin.
        new: The cells that it shall have.

    Returns:
        The page with them.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    spans = _spans(text, old, starts)
    places = [
        (cell, place)
        for cell, place in zip(new, _partners(old, new), strict=True)
        if place is not None or cell.source.strip()
    ]
    parts = [text[: spans[0][0]] if spans else _head(text, newline)]
    for index, (cell, place) in enumerate(places):
        if index:
            before = places[index - 1]
            between = text[spans[place - 1][1] : spans[place][0]] if place and before[1] == place - 1 else ""
            parts.append(between or _gap(before[0], cell, newline))
        was = (old[place], text[slice(*spans[place])]) if place is not None else None
        parts.append(_body(cell, was, newline))
    return "".join(parts) + (text[spans[-1][1] :] if spans else newline)


def _spans(text: str, cells: Sequence[Cell], starts: Sequence[int]) -> list[tuple[int, int]]:
    """Find where each cell's lines begin and end in the text, without the blank lines around them."""
    lines = _LINE.findall(text)
    offsets = [0, *accumulate(map(len, lines))]
    # Fences are counted from 1, prose from 0.
    firsts = [start - (cell.kind != "markdown") for cell, start in zip(cells, starts, strict=True)]
    spans = []
    for first, end in zip(firsts, [*firsts[1:], len(lines)], strict=True):
        while not lines[first].strip():
            first += 1  # noqa: PLW2901
        while not lines[end - 1].strip() or lines[end - 1].startswith(_BREAK):
            end -= 1  # noqa: PLW2901
        spans.append((offsets[first], offsets[end - 1] + len(lines[end - 1].rstrip("\r\n"))))
    return spans


def _partners(old: Sequence[Cell], new: Sequence[Cell]) -> list[int | None]:
    """Find for each new cell the old one that it was, unchanged or edited; None for one that was added."""
    partners: list[int | None] = [None] * len(new)
    for _, start, end, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        free = start
        for index in range(first, last):
            alike = (new[index].kind, new[index].metadata)
            found = next((n for n in range(free, end) if (old[n].kind, old[n].metadata) == alike), None)
            if found is not None:
                partners[index], free = found, found + 1
    return partners


def _head(text: str, newline: str) -> str:
    """What stands before the first cell of a page that has none yet."""
    kept = text.rstrip()
    return kept + 2 * newline if kept else ""


def _gap(before: Cell, cell: Cell, newline: str) -> str:
    """What stands between two cells that did not follow each other: two pieces of prose need a mark between them."""
    if cell.kind != "markdown" or (before.kind != "markdown" and not cell.options):
        return 2 * newline
    options = f" {json.dumps(cell.options, default=str)}" if cell.options else ""
    return f"{2 * newline}{_BREAK}{options}{2 * newline}"


def _body(cell: Cell, was: tuple[Cell, str] | None, newline: str) -> str:
    if was and was[0] == cell:
        return was[1]
    if cell.kind == "markdown":
        return cell.source.replace("\n", newline)
    opening, closing = _fences(cell, was)
    code = cell.source.split("\n") if cell.source else []
    if opening[-1].strip() and code and (not code[0].strip() or code[0].lstrip().startswith((":", "---"))):
        # Else the first line would be taken for an option, or for the blank line that may follow them.
        opening = [*opening, ""]
    return newline.join([*opening, *code, closing])


def _fences(cell: Cell, was: tuple[Cell, str] | None) -> tuple[list[str], str]:
    """The lines above and below a cell's code: the page's own, unless the code would end them."""
    longest = max((len(found) for found in _FENCE.findall(cell.source)), default=2)
    if was:
        *above, closing = was[1].splitlines()
        code = was[0].source.split("\n") if was[0].source else []
        # Jupytext drops a blank line at the end of a cell that has options.
        while len(above) > 1 and above[-len(code) :] != code and not above[-1].strip():
            above.pop()
        opening = above[: len(above) - len(code)]
        if opening and set(closing.strip()) in ({"`"}, {"~"}) and longest < len(closing.strip()):
            return opening, closing
    fence = "`" * max(3, longest + 1)
    options = [_option(name, value) for name, value in cell.options.items()]
    return [f"{fence}{{{cell.kind}-cell}}", *options, *([""] if options else [])], fence


def _option(name: str, value: object) -> str:
    line: str = yaml.safe_dump({name: value}, default_flow_style=True, width=math.inf, allow_unicode=True)
    return f":{line.strip()[1:-1]}"
