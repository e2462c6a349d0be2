"""The ``{polybook-outputs}`` directive: show what a cell of another page gave when that page was run.

``{polybook-outputs} chapters/async-computation#measured-timeline`` stands for the outputs of the cells that follow the
label ``(measured-timeline)=`` on that page, in tabs as there, with the line that says where they were made. A picture
on a front page is thus one that was measured, and new whenever the chapter's is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from polybook.tabs import OnlyChoice, OtherRun, panels_of, tab_set, unnumbered

logger = logging.getLogger(__name__)


class OutputsNode(nodes.General, nodes.Element):
    """Stands for outputs of another page until all pages have been read."""


class OutputsDirective(SphinxDirective):
    """Put the outputs of another page's cells here."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Leave a node in their place."""
        page, mark, label = self.arguments[0].partition("#")
        if page not in self.env.found_docs or not (mark and label):
            raise self.error(
                f"{self.arguments[0]!r} names no cell (allowed: a page as it stands in _toc.yml, `#` and the label "
                "that stands above the cell)."
            )
        node = OutputsNode(page=page, label=nodes.fully_normalize_name(label))
        self.set_source_info(node)
        return [node]


def output_sources(doctree: nodes.document) -> list[str]:
    """List the pages whose outputs a page shows."""
    return sorted({node["page"] for node in doctree.findall(OutputsNode)})


class FillOutputs(SphinxPostTransform):
    """Put the outputs in place of their nodes."""

    # Before MyST-NB chooses, for each output, the form that the builder can show (4).
    default_priority = 3

    def run(self, **_: Any) -> None:
        """Fill those of this page."""
        for node in [*self.document.findall(OutputsNode)]:
            made = self._tabs(node)
            if made is None:
                text = "page %r has no outputs in tabs below the label %r. Put the label above a cell that has some."
                arguments = (node["page"], node["label"])
                logger.warning(text, *arguments, type="polybook", subtype="outputs", location=node)
            node.replace_self([made] if made else [])

    def _tabs(self, node: OutputsNode) -> nodes.container | None:
        source = self.env.get_doctree(node["page"])
        place = source.nameids.get(node["label"])
        labelled = (element for element in source.findall(nodes.Element) if place in element["ids"])
        found = panels_of(next(labelled, nodes.container()))
        panels = {name: [*_outputs(content)] for name, (_, content) in found.items()}
        if not any(panels.values()):
            return None
        made = tab_set(panels, {name: title for name, (title, _) in found.items()}, [*panels])
        made["classes"].append("polybook-outputs")
        return made


def _outputs(content: nodes.Element) -> Iterator[nodes.Node]:
    """Yield copies of a panel's outputs, and of the line below them; of several runs, those of the first."""
    for child in content.children:
        if not isinstance(child, nodes.Element) or isinstance(child, OtherRun | OnlyChoice):
            continue
        if child.get("nb_element") == "cell_code_output" or "polybook-run-line" in child["classes"]:
            copy = child.deepcopy()
            unnumbered([copy])
            # As MyST-NB's style sheet wants an output to stand.
            yield nodes.container("", copy, classes=["cell"]) if copy.get("nb_element") else copy
        else:
            yield from _outputs(child)
