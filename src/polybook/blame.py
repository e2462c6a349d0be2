"""Say what went wrong with one variant: where, what, and what to do.

Pure: what nbclient raised goes in, failures that name page, line and framework come out. Used by ``execute.py``.
"""

from __future__ import annotations

import re

from nbclient.exceptions import CellExecutionError, CellTimeoutError
from nbformat import NotebookNode, ValidationError

from polybook.errors import Failure, PageFailed
from polybook.options import Framework
from polybook.variant import Cell, Variant

#: Seconds that output may take to arrive after its cell has ended.
OUTPUT_S = 120

_ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Blame:
    """Says what went wrong with one variant, where, and what to do."""

    def __init__(self, variant: Variant, framework: Framework) -> None:
        """Keep whom to blame."""
        self.variant = variant
        self.framework = framework

    def _failed(self, line: int, what: str, remedy: str) -> PageFailed:
        return PageFailed([Failure(self.variant.path, line, self.framework.name, what, remedy)])

    def environment(self, what: str, without_ipykernel: bool = False) -> PageFailed:
        """There is no environment, or no kernel starts in it."""
        line = self.variant.cells[0].line if self.variant.cells else 0
        name = self.framework.name
        if without_ipykernel:
            return self._failed(
                line, what, f"Add ipykernel to the requirements of {name}, and make its environment again."
            )
        return self._failed(line, what, f"Make it: `python -m polybook env {name}` (`make book` does that too).")

    def probe(self, probe: str, why: str) -> PageFailed:
        """The book's probe failed."""
        what = f"`polybook_probe` {probe!r} failed in the kernel: {why}"
        return self._failed(0, what, "Correct it in _config.yml, or add what it needs to the environment.")

    def cell(self, cell: Cell, index: int, node: NotebookNode, error: Exception, timeout: float | None) -> PageFailed:
        """A cell raised, took too long, or took its kernel with it."""
        place = f"cell {index + 1} of {len(self.variant.cells)}"
        if isinstance(error, CellTimeoutError) and "IOPub" in str(error):
            return self._failed(
                cell.line, f"the output of {place} did not arrive within {OUTPUT_S} s.", "Make it print less."
            )
        if isinstance(error, CellTimeoutError):
            return self._failed(
                cell.line,
                f"{place} took longer than {timeout:g} s and was stopped.",
                "Make it shorter, or allow more: `polybook: {timeout: seconds}` in the page's front matter.",
            )
        if isinstance(error, CellExecutionError):
            return self._raised(cell, place, node, error)
        if isinstance(error, ValidationError):
            what = f"{place} displayed what is no output of a notebook: {str(error).partition(chr(10))[0]}"
            return self._failed(cell.line, what, "Display a text, or a picture, by its mime type.")
        return self._failed(
            cell.line,
            f"the kernel died in {place}.",
            "Run the cell by itself to see why: a crash in native code, or memory that ran out (see `dmesg`).",
        )

    def _raised(self, cell: Cell, place: str, node: NotebookNode, error: CellExecutionError) -> PageFailed:
        line = cell.line + _line_in_cell(node) - 1
        what = f"{place} raised {error.ename}: {_ANSI.sub('', error.evalue)}"
        if error.ename == "ModuleNotFoundError":
            name = self.framework.name
            remedy = (
                f"The environment {self.framework.environment.name} lacks that module: add it to the requirements of "
                f"{name}, or make the environment again with `python -m polybook env {name}`."
            )
        else:
            remedy = "Correct the cell; if it is meant to raise, tag it `raises-exception`."
        return self._failed(line, what, remedy)


def _line_in_cell(node: NotebookNode) -> int:
    """Find, in a failed cell's traceback, the line of the cell that was running; 1 if it is not told.

    IPython writes ``Cell In[3], line 2`` for each frame of a cell, ``File <...>:2`` for a syntax error.
    """
    count = node.get("execution_count")
    for output in node.outputs:
        if output.output_type == "error":
            text = _ANSI.sub("", "\n".join(output.traceback))
            found = re.findall(rf"Cell In\[{count or r'[0-9]+'}\], line (\d+)", text)
            if found and int(found[0]) <= len(node.source.splitlines()):
                return int(found[0])
    return 1
