"""Write one notebook a framework from each page: its cells, and all the prose that is meant for it.

Called for each page that a build writes; ``onepage.py`` reduces the page's tree, ``markdown.py`` writes its prose.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import string
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import nbformat
from docutils import nodes
from sphinx.environment import BuildEnvironment

from polybook.archive import FOLDER
from polybook.markdown import SITE, NotebookTranslator, written
from polybook.notebook_options import NotebookOptions
from polybook.onepage import Check, CheckNode, one_page
from polybook.options import Framework
from polybook.shown import ShownRun, ShownVariant
from polybook.split import PLACE_KEY
from polybook.tabs import SYNC_GROUP
from polybook.variant import Cell

#: What Colab keeps of a cell that is shown as a form, its code folded.
_FORM = {"cellView": "form", "jupyter": {"source_hidden": True}}
_FIRST = -1
#: sphinx-exercise's nodes, by name: a book need not use it.
_EXERCISES = ("exercise_node", "exercise_enumerable_node")
_SOLUTION = "solution_node"
_LINE = 100


@dataclass(frozen=True)
class Piece:
    """A cell in the making.

    Attributes:
        kind: ``markdown`` or ``code``.
        source: Its text.
        tags: The tags that change how it runs.
        place: Its place in the page; None if no run has it.
        heading: Whether it begins with a heading.
    """

    kind: str
    source: str
    tags: tuple[str, ...] = ()
    place: int | None = None
    heading: bool = False


@dataclass(frozen=True)
class Subject:
    """What a notebook is made from.

    Attributes:
        docname: The page.
        framework: Whose cells it holds.
        title: The title of the book.
        shown: What the page shows of the framework.
        cells: What the framework's kernel runs.
        wheel: The path in the site of the wheel that readers install; empty if there is none.
        version: That package's version.
    """

    docname: str
    framework: Framework
    title: str
    shown: ShownVariant
    cells: tuple[Cell, ...]
    wheel: str = ""
    version: str = ""

    @property
    def path(self) -> str:
        """The notebook's path in the site."""
        return notebook_path(self.docname, self.framework.name)

    @property
    def run(self) -> ShownRun | None:
        """The run whose figures it quotes."""
        return next(iter(self.shown.runs), None)


def notebook_path(docname: str, framework: str) -> str:
    """Give a notebook's path in the site."""
    return f"{FOLDER}/{framework}/{docname}.ipynb"


def make_notebook(
    document: nodes.document, subject: Subject, env: BuildEnvironment, builder: Any, options: NotebookOptions
) -> dict[str, Any]:
    """Make the notebook of a page for one framework.

    Args:
        document: The page as it was read; it is used up.
        subject: What it is made from.
        env: Sphinx's environment.
        builder: The builder that resolves references.
        options: How notebooks are exported.

    Returns:
        The notebook as plain data: links within the site begin with ``SITE``, and the metadata of what a run has say
        where it stands there (``place``).
    """
    values = subject.run.values if subject.run else {}
    one_page(document, subject.framework.name, values)
    env.resolve_references(document, subject.docname, builder)
    pieces = [
        *first_cell(subject, options),
        *_joined(_with_links(_Writer(document, subject, builder, options).pieces(), subject, builder)),
    ]
    return _notebook(pieces, subject)


class _Writer:
    """Goes through a page, section by section."""

    def __init__(self, document: nodes.document, subject: Subject, builder: Any, options: NotebookOptions) -> None:
        self._document = document
        self._subject = subject
        self._builder = builder
        self._check = options.check
        self._query = f"?{SYNC_GROUP}={subject.framework.name}"
        self._cells = {cell.index: cell for cell in subject.cells}
        self._left = [cell.index for cell in subject.cells]

    def pieces(self) -> Iterator[Piece]:
        """Give the page's pieces in order."""
        yield from self._of(self._document, 0)
        yield from self._cells_before(None)

    def _of(self, parent: nodes.Element, level: int) -> Iterator[Piece]:
        for node in list(parent.children):
            if isinstance(node, nodes.section):
                yield from self._of(node, level + 1)
            elif isinstance(node, nodes.container) and node.get("nb_element") == "cell_code":
                yield from self._cell(node)
            elif isinstance(node, CheckNode):
                yield from self._checks([node.check])
            elif isinstance(node, nodes.Element) and node.__class__.__name__ == _SOLUTION:
                # With its cells: nothing after an exercise may need its solution.
                self._left = [place for place in self._left if place not in _places(node)]
            elif isinstance(node, nodes.Element) and node.__class__.__name__ in _EXERCISES and _places(node):
                yield from self._exercise_with_cells(node, level)
            else:
                yield from self._block(node, level)

    def _block(self, node: nodes.Node, level: int) -> Iterator[Piece]:
        text, checks = written(node, self._translator(level))
        if text:
            yield Piece("markdown", text, heading=isinstance(node, nodes.title))
        yield from self._checks(checks)
        if node.__class__.__name__ in _EXERCISES:
            yield Piece("code", "# Your answer")

    def _exercise_with_cells(self, node: nodes.Element, level: int) -> Iterator[Piece]:
        """Give an exercise whose cells stand between its start and its end."""
        title, *content = node.children
        node.children = [title]
        yield Piece("markdown", written(node, self._translator(level))[0])
        for part in content:
            yield from self._of(part if isinstance(part, nodes.section) else nodes.container("", part), level)
        yield Piece("code", "# Your answer")

    def _translator(self, level: int) -> Callable[[], NotebookTranslator]:
        return lambda: NotebookTranslator(self._document, self._builder, self._subject.docname, level, self._query)

    def _checks(self, checks: Iterable[Check]) -> Iterator[Piece]:
        if self._check:
            yield from (Piece("code", check_call(self._check, check)) for check in checks)

    def _cell(self, node: nodes.container) -> Iterator[Piece]:
        place = node["cell_metadata"].get(PLACE_KEY)
        if place in self._left:
            yield from self._cells_before(place)
            yield self._code(place)
            self._left.remove(place)
        elif place not in self._cells:
            # It is not run in the build either, so it is shown, and nobody runs it by running all.
            for block in list(node.findall(nodes.literal_block))[:1]:
                yield from self._block(block, 0)

    def _cells_before(self, place: int | None) -> Iterator[Piece]:
        """Give the cells that the page runs without showing them: those that follow need what they do."""
        while self._left and (place is None or self._left[0] < place):
            yield self._code(self._left.pop(0))

    def _code(self, place: int) -> Piece:
        cell = self._cells[place]
        return Piece("code", cell.source.strip("\n"), cell.tags, place)


def _places(top: nodes.Element) -> set[int]:
    """Give the places of the cells below a node."""
    cells = (node for node in top.findall(nodes.container) if node.get("nb_element") == "cell_code")
    return {place for node in cells if (place := node["cell_metadata"].get(PLACE_KEY)) is not None}


def check_call(function: str, check: Check) -> str:
    """Write the call by which a reader's own figures are compared with the site's."""
    figures = ", ".join(f"{_quoted(name)}: {_quoted(text)}" for name, text in check.figures.items())
    arguments = [_quoted(check.name), f"site_holds={check.holds}", *([f"site={{{figures}}}"] if figures else [])]
    line = f"{function}({', '.join(arguments)})"
    if len(line) <= _LINE:
        return line
    rows = "".join(f"        {_quoted(name)}: {_quoted(text)},\n" for name, text in check.figures.items())
    return f"{function}(\n    {arguments[0]},\n    {arguments[1]},\n    site={{\n{rows}    }},\n)"


def _quoted(text: str) -> str:
    # What does not break a line of prose would be a trap in code.
    return json.dumps(" ".join(text.split()), ensure_ascii=False)


def first_cell(subject: Subject, options: NotebookOptions) -> list[Piece]:
    """Make the cell that sets the reader's machine up."""
    if options.first_cell is None:
        return []
    template = string.Template(options.first_cell.read_text("utf8"))
    source = template.substitute(
        framework=subject.framework.name,
        title=subject.framework.title,
        needs=subject.shown.needs,
        wheel=f"{SITE}{subject.wheel}" if subject.wheel else "",
        mirror=options.mirror,
        version=subject.version,
    )
    return [Piece("code", source.strip("\n"), place=_FIRST)]


def _with_links(pieces: Iterable[Piece], subject: Subject, builder: Any) -> Iterator[Piece]:
    """Say below the title where the page stands, and where its figures come from."""
    pieces = iter(pieces)
    page = f"{SITE}{builder.get_target_uri(subject.docname)}?{SYNC_GROUP}={subject.framework.name}"
    for piece in pieces:
        yield piece
        if piece.heading:
            quotes = subject.run if subject.run and subject.run.values else None
            figures = f" The site's figures: {_explained(quotes.line)}." if quotes else ""
            yield Piece("markdown", f"From *{subject.title}*: [this page on the site]({page}).{figures}")
            break
    yield from pieces


def _explained(line: str) -> str:
    """Say in words what a page's own card would explain."""
    return line.removesuffix(" · noisy") + ", while other work disturbed the machine" * line.endswith(" · noisy")


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Join neighbouring prose; each heading begins a cell of its own."""
    last: Piece | None = None
    for piece in pieces:
        if last and last.kind == piece.kind == "markdown" and not piece.heading:
            last = Piece("markdown", f"{last.source}\n\n{piece.source}", heading=last.heading)
            continue
        if last:
            yield last
        last = piece
    if last:
        yield last


def _notebook(pieces: Iterable[Piece], subject: Subject) -> dict[str, Any]:
    known: set[str] = set()
    metadata: dict[str, Any] = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "colab": {"name": posixpath.basename(subject.path), "provenance": []},
    }
    if subject.shown.needs == "gpu":
        metadata["accelerator"] = "GPU"
        metadata["colab"]["gpuType"] = "T4"
    return {
        "cells": [_as_cell(piece, known) for piece in pieces],
        "metadata": metadata,
        "nbformat": nbformat.v4.nbformat,
        "nbformat_minor": nbformat.v4.nbformat_minor,
    }


def _as_cell(piece: Piece, known: set[str]) -> dict[str, Any]:
    metadata: dict[str, Any] = {"tags": list(piece.tags)} if piece.tags else {}
    if piece.place is not None:
        metadata |= _FORM if piece.place == _FIRST else {"place": piece.place}
    cell = {"id": _cell_id(piece, known), "cell_type": piece.kind, "metadata": metadata, "source": piece.source}
    return cell if piece.kind == "markdown" else {**cell, "execution_count": None, "outputs": []}


def _cell_id(piece: Piece, known: set[str]) -> str:
    """Name a cell after what is in it, so that an edit elsewhere leaves its name alone."""
    digest = hashlib.sha256(f"{piece.kind}\n{piece.source}".encode()).hexdigest()[:12]
    found, number = digest, 1
    while found in known:
        number += 1
        found = f"{digest}-{number}"
    known.add(found)
    return found
