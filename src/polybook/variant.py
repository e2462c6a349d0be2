"""The code of one framework on one page: what runs, as data that can be carried to another machine.

Pure data, standard library only; made by ``split.py``, run by ``execute.py``.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Cell:
    """A code cell of a variant.

    Attributes:
        index: Its place in the page's notebook.
        line: 1-based line of its first line of code in the page's source.
        source: The code.
        tags: Those of its tags that change how it runs, sorted.
    """

    index: int
    line: int
    source: str
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Variant:
    """The code of one framework on one page, in order.

    Attributes:
        docname: Sphinx's name for the page.
        path: The page's source file, relative to the book.
        framework: The framework's name.
        cells: The cells that run.
        needs: What the variant needs (``gpu``), or an empty text.
        timeout_s: Seconds that a cell may take; None if the page does not say.
        folder: The folder that the cells run in, relative to the book; empty for a temporary one.
    """

    docname: str
    path: str
    framework: str
    cells: tuple[Cell, ...]
    needs: str = ""
    timeout_s: float | None = None
    folder: str = ""

    @property
    def code(self) -> str:
        """The digest of what runs: sources, the tags that change execution and the folder of files that cells open."""
        content = [[cell.source, list(cell.tags)] for cell in self.cells]
        return hashlib.sha256(json.dumps([self.folder, content]).encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """Give the variant as plain data, for a machine that has neither Sphinx nor MyST-NB."""
        return {
            "page": self.docname,
            "path": self.path,
            "framework": self.framework,
            "code": self.code,
            "needs": self.needs,
            "timeout_s": self.timeout_s,
            "folder": self.folder,
            "cells": [{"index": c.index, "line": c.line, "source": c.source, "tags": list(c.tags)} for c in self.cells],
        }


def variant_from_json(data: dict[str, Any]) -> Variant:
    """Read a variant from the plain data that ``as_json`` gives.

    Raises:
        KeyError: If a field is missing.
        TypeError: If a field is of another shape.
        ValueError: If the code is not the code that the digest was taken from.
    """
    cells = tuple(
        Cell(int(cell["index"]), int(cell["line"]), str(cell["source"]), tuple(cell["tags"])) for cell in data["cells"]
    )
    variant = Variant(
        docname=str(data["page"]),
        path=str(data["path"]),
        framework=str(data["framework"]),
        cells=cells,
        needs=str(data["needs"]),
        timeout_s=data["timeout_s"],
        folder=str(data["folder"]),
    )
    if variant.code != data["code"]:
        raise ValueError(f"the code of {variant.docname} [{variant.framework}] was changed after the plan was made")
    return variant
