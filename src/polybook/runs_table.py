"""The ``{polybook-runs}`` directive: one table of every run that the book shows.

The table is made when a page is written, after all pages have been read; a page that holds it is written again
whenever a run changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from polybook.session import ShownRun, shown_runs

_HEADINGS = ("Page", "Framework", "State", "Made", "Seconds", "Cells", "Machine")
_METADATA_KEY = "polybook_runs_table"


class RunsTableNode(nodes.General, nodes.Element):
    """Stands for the table until the page is written."""


class RunsTableDirective(SphinxDirective):
    """Put the table of runs here."""

    def run(self) -> list[nodes.Node]:
        """Leave a node in its place."""
        self.env.metadata[self.env.docname][_METADATA_KEY] = True
        return [RunsTableNode()]


class FillRunsTable(SphinxPostTransform):
    """Put the table in place of its node."""

    # Before references are resolved (10): the table refers to pages.
    default_priority = 8

    def run(self, **_: Any) -> None:
        """Fill the tables of this page."""
        for node in list(self.document.findall(RunsTableNode)):
            titles = {name: entry["title"] for name, entry in self.config.polybook_frameworks.items()}
            rows = [
                _row(docname, titles[name], run)
                for docname, runs in sorted(shown_runs(self.env).items())
                for name, run in runs.items()
            ]
            node.replace_self(_table(rows) if rows else nodes.paragraph("", "No page declares a framework."))


def pages_with_table(env: BuildEnvironment) -> list[str]:
    """List the pages that hold a table of runs."""
    return sorted(docname for docname, values in env.metadata.items() if _METADATA_KEY in values)


def _row(docname: str, title: str, run: ShownRun) -> list[nodes.Node]:
    made = run.started[:16].replace("T", " ")
    texts = [title, run.state, made, f"{run.elapsed_s:.1f}" if run.started else "", str(run.cells), run.machine]
    return [_page_link(docname), *(nodes.paragraph(text, text) for text in texts)]


def _page_link(docname: str) -> nodes.Node:
    attributes: Mapping[str, Any] = {
        "refdomain": "std",
        "reftype": "doc",
        "reftarget": f"/{docname}",
        "refexplicit": False,
        "refwarn": True,
    }
    link = addnodes.pending_xref("", nodes.inline(docname, docname), **attributes)
    return nodes.paragraph("", "", link)


def _table(rows: list[list[nodes.Node]]) -> nodes.table:
    group = nodes.tgroup(cols=len(_HEADINGS))
    group += [nodes.colspec(colwidth=1) for _ in _HEADINGS]
    head = [nodes.paragraph(text, text) for text in _HEADINGS]
    group += nodes.thead("", _table_row(head))
    group += nodes.tbody("", *(_table_row(row) for row in rows))
    return nodes.table("", group, classes=["polybook-runs"])


def _table_row(cells: list[Any]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", cell) for cell in cells))
