"""The one place that touches sphinx-design: put the cells of one group into one synchronised tab set.

The nodes are those that sphinx-design's own ``tab-set`` directive makes, so that its script, style and
non-HTML fallbacks apply. Guarded by ``tests/test_sphinx_design.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.fileutil import copy_asset_file
from sphinx_design.config import get_sd_config
from sphinx_design.shared import create_component

from polybook.session import shown_runs
from polybook.split import DISPLAY_KEY

#: The sync group of every tab set: the name of the URL parameter (``?framework=mxnet``) as well.
SYNC_GROUP = "framework"


_STATIC = Path(__file__).parent / "static"
#: Completes sphinx-design's memory of the chosen tab; says itself how.
SCRIPT = _STATIC / "polybook.js"
#: The look of what is ours.
STYLE = _STATIC / "polybook.css"


class GroupCells(SphinxTransform):
    """Turn neighbouring code cells of one group into a tab set."""

    # Before docutils' PropagateTargets (260), so that a label above a cell lands on the tab set as a whole.
    default_priority = 200

    def apply(self, **_: Any) -> None:
        """Group the cells of this document."""
        groups: dict[int, list[nodes.container]] = {}
        for node in self.document.findall(nodes.container):
            if node.get("nb_element") != "cell_code":
                continue
            note = node["cell_metadata"].get(DISPLAY_KEY)
            if note:
                groups.setdefault(note["group"], []).append(node)
        titles = {name: entry["title"] for name, entry in self.config.polybook_frameworks.items()}
        for cells in groups.values():
            _replace_by_tabs(cells, titles)


def add_assets(app: Sphinx, *_page: Any) -> None:
    """Add our script and style to every page of a book that has framework pages, for ``html-page-context``.

    A link that names a framework may lead to a page without tabs.
    """
    if not shown_runs(app.env):
        return
    app.add_css_file(STYLE.name)
    app.add_js_file(
        SCRIPT.name,
        # Before sphinx-design's own script (500), which reads the address as well.
        priority=400,
        **{
            "data-group": SYNC_GROUP,
            "data-names": " ".join(app.config.polybook_frameworks),
            "data-key": get_sd_config(app.env).tabs_storage_prefix + SYNC_GROUP,
        },
    )


def copy_assets(app: Sphinx, error: Exception | None) -> None:
    """Copy our script and style into a site that has framework pages, for ``build-finished``."""
    if error is None and app.builder.format == "html" and shown_runs(app.env):
        for source in (SCRIPT, STYLE):
            copy_asset_file(str(source), str(Path(app.outdir) / "_static"))


def _replace_by_tabs(cells: list[nodes.container], titles: dict[str, str]) -> None:
    parent = cells[0].parent
    place = parent.index(cells[0])
    panels: dict[tuple[int, str], list[nodes.container]] = {}
    for cell in cells:
        note = cell["cell_metadata"][DISPLAY_KEY]
        panels.setdefault((note["panel"], note["framework"]), []).append(cell)
        parent.remove(cell)
    classes = ["sd-tab-set", "polybook-tabs"] + ["polybook-only"] * (len(panels) == 1)
    tab_set = create_component("tab-set", classes=classes)
    tab_set.source, tab_set.line = cells[0].source, cells[0].line
    for (_, name), content in sorted(panels.items(), key=lambda item: item[0]):
        tab_set += _tab(titles[name], name, content)
    parent.insert(place, tab_set)


def _tab(title: str, sync_id: str, content: list[nodes.container]) -> nodes.container:
    label = nodes.rubric(title, title, classes=["sd-tab-label"], sync_id=sync_id, sync_group=SYNC_GROUP)
    item = create_component("tab-item", classes=["sd-tab-item"], selected=False)
    item += label
    lines = [cell["cell_metadata"][DISPLAY_KEY].get("line") for cell in content]
    line = next(filter(None, lines), None)
    last = [nodes.paragraph(line, line, classes=["polybook-run-line"])] if line else []
    item += create_component("tab-content", children=[*content, *last], classes=["sd-tab-content"])
    return item
