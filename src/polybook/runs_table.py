"""The ``{polybook-runs}`` and ``{polybook-claims}`` directives: every run that the book shows, every claim in them.

A table is made when a page is written, after all pages have been read; a page that holds one is written again
whenever a run changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from polybook.shown import ShownVariant, shown_runs

_METADATA_KEY = "polybook_tables"


class TableNode(nodes.General, nodes.Element):
    """Stands for a table until the page is written."""


class RunsTableDirective(SphinxDirective):
    """Put the table of runs here."""

    kind = "runs"

    def run(self) -> list[nodes.Node]:
        """Leave a node in its place."""
        self.env.metadata[self.env.docname][_METADATA_KEY] = True
        return [TableNode(kind=self.kind)]


class ClaimsTableDirective(RunsTableDirective):
    """Put the table of claims here."""

    kind = "claims"


class FillTables(SphinxPostTransform):
    """Put the tables in place of their nodes."""

    # Before references are resolved (10): the tables refer to pages.
    default_priority = 8

    def run(self, **_: Any) -> None:
        """Fill the tables of this page."""
        titles = {name: entry["title"] for name, entry in self.config.polybook_frameworks.items()}
        for node in list(self.document.findall(TableNode)):
            made = [
                (docname, titles[name], variant)
                for docname, variants in sorted(shown_runs(self.env).items())
                for name, variant in variants.items()
            ]
            headings, rows = (_runs if node["kind"] == "runs" else _claims)(made)
            empty = "No page declares a framework." if node["kind"] == "runs" else "No page makes a claim."
            node.replace_self(_table(headings, rows) if rows else nodes.paragraph(empty, empty))


def pages_with_table(env: BuildEnvironment) -> list[str]:
    """List the pages that hold a table."""
    return sorted(docname for docname, values in env.metadata.items() if _METADATA_KEY in values)


_Made = list[tuple[str, str, ShownVariant]]
_Table = tuple[tuple[str, ...], list[list[nodes.Node]]]


def _runs(made: _Made) -> _Table:
    """A line a run; one for a framework of a page that was not run, and for each recorded run that is stale."""
    headings = ("Page", "Framework", "State", "Made", "Seconds", "Cells", "Machine")
    rows = []
    for docname, title, variant in made:
        for run in [*variant.runs, *variant.stale]:
            state = f"{run.state} ({run.source})" if run.source else run.state
            texts = [state + ", noisy" * run.noisy, run.started[:16].replace("T", " "), f"{run.elapsed_s:.1f}"]
            rows.append([_page_link(docname), *_paragraphs(title, *texts, str(run.cells), run.machine)])
        if not variant.runs:
            rows.append([_page_link(docname), *_paragraphs(title, "not run", "", "", str(variant.cells), "")])
    return headings, rows


def _claims(made: _Made) -> _Table:
    headings = ("Page", "Framework", "Claim", "Holds", "Must", "Run", "Machine")
    rows = []
    for docname, title, variant in made:
        for run in variant.runs:
            for claim in run.claims:
                must = "yes" if claim.must else "no"
                texts = (claim.name.replace("_", " "), claim.answer, must, run.label, run.machine)
                rows.append([_page_link(docname), *_paragraphs(title, *texts)])
    return headings, rows


def _paragraphs(*texts: str) -> list[nodes.Node]:
    return [nodes.paragraph(text, text) for text in texts]


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


def _table(headings: Sequence[str], rows: list[list[nodes.Node]]) -> nodes.table:
    group = nodes.tgroup(cols=len(headings))
    group += [nodes.colspec(colwidth=12) for _ in headings]
    group += nodes.thead("", _table_row(_paragraphs(*headings)))
    group += nodes.tbody("", *(_table_row(row) for row in rows))
    return nodes.table("", group, classes=["polybook-runs"])


def _table_row(cells: list[Any]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", cell) for cell in cells))
