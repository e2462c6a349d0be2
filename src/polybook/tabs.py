"""The one place that touches sphinx-design: put the cells of one group into one synchronised tab set.

The nodes are those that sphinx-design's own ``tab-set`` directive makes, so that its script, style and
non-HTML fallbacks apply. Guarded by ``tests/test_sphinx_design.py``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.fileutil import copy_asset_file
from sphinx_design.config import get_sd_config
from sphinx_design.shared import create_component, is_component

from polybook.shown import shown_runs
from polybook.split import DISPLAY_KEY

#: The sync group of every tab set: the name of the URL parameter (``?framework=mxnet``) as well.
SYNC_GROUP = "framework"
_SEVERAL = 2


_STATIC = Path(__file__).parent / "static"
#: Completes sphinx-design's memory of the chosen tab; says itself how.
SCRIPT = _STATIC / "polybook.js"
#: The look of what is ours.
STYLE = _STATIC / "polybook.css"
#: How a page looks that a reader prints.
PRINT_STYLE = _STATIC / "polybook-print.css"


class OtherRun(nodes.General, nodes.Inline, nodes.Element):
    """Holds what belongs to another run than the one that is shown first.

    In HTML a ``<template>``: not a part of the page, its scripts and ids without effect, until a reader chooses that
    run. Nothing elsewhere, and no text of a caption or a link.
    """

    def astext(self) -> str:
        """Give no text: whoever asks, such as a reference to a caption, wants what is shown."""
        return ""


def visit_other_run(translator: Any, node: OtherRun) -> None:
    """Open a template; leave the run out of an EPUB, which is HTML too."""
    if translator.builder.name == "epub":
        raise nodes.SkipNode
    translator.body.append(f'<template class="{" ".join(node["classes"])}">')


def depart_other_run(translator: Any, _node: OtherRun) -> None:
    """Close it."""
    translator.body.append("</template>")


def skip_other_run(_translator: Any, _node: OtherRun) -> None:
    """Leave it out where nobody can choose."""
    raise nodes.SkipNode


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
    # Now: an EPUB is packed before the build has finished.
    _copy(app)
    for style in (STYLE, PRINT_STYLE):
        app.add_css_file(style.name)
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
        _copy(app)


def _copy(app: Sphinx) -> None:
    for source in (SCRIPT, STYLE, PRINT_STYLE):
        copy_asset_file(str(source), str(Path(app.outdir) / "_static"))


def tab_set(panels: Mapping[str, list[nodes.Node]], titles: Mapping[str, str], order: Sequence[str]) -> nodes.container:
    """Make a synchronised tab set.

    Args:
        panels: The content of each framework's panel.
        titles: The frameworks' titles.
        order: The frameworks in the order of the tabs.
    """
    classes = ["sd-tab-set", "polybook-tabs"] + ["polybook-only"] * (len(panels) == 1)
    made: nodes.container = create_component("tab-set", classes=classes)
    for name in sorted(panels, key=order.index):
        label = nodes.rubric(titles[name], titles[name], classes=["sd-tab-label"], sync_id=name, sync_group=SYNC_GROUP)
        item = create_component("tab-item", classes=["sd-tab-item"], selected=False)
        item += label
        item += create_component("tab-content", children=panels[name], classes=["sd-tab-content"])
        made += item
    return made


def framework_of(node: nodes.Node) -> str:
    """Find the framework in whose tab a node stands; an empty text if it stands in none."""
    parent = node.parent
    while parent is not None:
        if is_component(parent, "tab-item"):
            label = parent.children[0]
            if isinstance(label, nodes.Element) and label.get("sync_group") == SYNC_GROUP:
                return str(label["sync_id"])
        parent = parent.parent
    return ""


def panels_of(node: nodes.Node) -> dict[str, tuple[str, nodes.Element]]:
    """Give the title and the content of each framework's panel; none if this is no tab set that follows the choice."""
    found: dict[str, tuple[str, nodes.Element]] = {}
    items = _elements(node) if isinstance(node, nodes.Element) and is_component(node, "tab-set") else []
    for item in items:
        if is_component(item, "tab-item"):
            label, content = _elements(item)
            if label.get("sync_group") == SYNC_GROUP:
                found[label["sync_id"]] = (label.astext(), content)
    return found


class Unfolded(nodes.General, nodes.Element):
    """Stands for a dropdown where it is written otherwise; its first child is the title."""


def keep_panels(document: nodes.document, framework: str) -> None:
    """Put the content of one framework's panel in place of each synchronised tab set.

    A tab set without such a panel goes; one of another group becomes its panels, one below the other.
    """
    # From the outside in. One that has gone with its panel is replaced in what nobody looks at any more.
    for found in [node for node in document.findall(nodes.container) if is_component(node, "tab-set")]:
        kept: list[nodes.Node] = []
        for item in _elements(found):
            label, content = _elements(item)
            if label.get("sync_group") != SYNC_GROUP:
                kept += [nodes.paragraph("", "", nodes.strong("", "", *label.children)), *content.children]
            elif label["sync_id"] == framework:
                kept += content.children
        # Not `replace_self`, which refuses to lose a tab set's classes where no panel is kept, or hands them on.
        found.parent.replace(found, kept)


def unfold(document: nodes.document) -> None:
    """Put an ``Unfolded`` in place of each dropdown."""
    for node in [*document.findall(nodes.container)]:
        if is_component(node, "dropdown"):
            title = nodes.title("", "Details")
            content = node.children
            if node.get("has_title") and content:
                title, content = nodes.title("", "", *content[0].children), content[1:]
            node.replace_self(Unfolded("", title, *content))


def _elements(node: nodes.Element) -> list[nodes.Element]:
    return [child for child in node.children if isinstance(child, nodes.Element)]


def choice_of_runs(readings: Sequence[Sequence[nodes.Node]], framework: str, offers: Sequence[str]) -> list[nodes.Node]:
    """Join what stands at one place for each run of a framework: once if all read the same.

    Args:
        readings: What stands there, for each run.
        framework: The framework's name.
        offers: What each run is chosen by.
    """
    if len({"".join(node.pformat() for node in reading) for reading in readings}) == 1:
        return list(readings[0])
    first: nodes.Element = nodes.inline() if all(map(_is_inline, readings[0])) else nodes.container()
    first += readings[0]
    first["classes"] = _run_classes(framework, offers[0])
    return [
        first,
        *(_other(reading, framework, offer) for reading, offer in zip(readings[1:], offers[1:], strict=True)),
    ]


def unnumbered(content: Sequence[nodes.Node]) -> None:
    """Take out of a copy what may stand on a page once: targets, ids, footnote marks, and numbers of figures."""
    for top in content:
        for node in list(top.findall(nodes.Element)):
            node["ids"], node["names"] = [], []
            if isinstance(node, nodes.math_block):
                node["label"] = node["number"] = None
            if isinstance(node, nodes.target | nodes.footnote_reference) and node.parent is not None:
                node.parent.remove(node)
        for figure in list(top.findall(nodes.figure)):
            caption = next(iter(figure.findall(nodes.caption)), None)
            if caption is not None:
                caption.replace_self(nodes.paragraph("", "", *caption.children, classes=["caption"]))
            if figure.parent is not None:
                figure.replace_self(nodes.container("", *figure.children, classes=["figure"]))


def _other(content: Sequence[nodes.Node], framework: str, offer: str) -> OtherRun:
    return OtherRun("", *content, classes=_run_classes(framework, offer))


def _is_inline(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Text | nodes.Inline)


def _replace_by_tabs(cells: list[nodes.container], titles: dict[str, str]) -> None:
    parent = cells[0].parent
    place = parent.index(cells[0])
    panels: dict[str, list[nodes.container]] = {}
    order: dict[str, int] = {}
    for cell in cells:
        note = cell["cell_metadata"][DISPLAY_KEY]
        panels.setdefault(note["framework"], []).append(cell)
        order[note["framework"]] = note["panel"]
        parent.remove(cell)
    made = tab_set(
        {name: _panel(name, content) for name, content in panels.items()}, titles, sorted(order, key=order.__getitem__)
    )
    made.source, made.line = cells[0].source, cells[0].line
    parent.insert(place, made)


def _panel(framework: str, content: list[nodes.container]) -> list[nodes.Node]:
    notes = (cell["cell_metadata"][DISPLAY_KEY].get("lines") for cell in content)
    lines: list[dict[str, str]] = next(filter(None, notes), [])
    shown = [_of_run(cell, framework) for cell in content] if len(lines) >= _SEVERAL else content
    return [*shown, *_run_lines(lines, framework)]


def _of_run(cell: nodes.container, framework: str) -> nodes.Node:
    """Mark what belongs to one of several runs: the outputs of the first, all of a cell that another one added."""
    note = cell["cell_metadata"][DISPLAY_KEY]
    if note["run"]:
        unnumbered([cell])
        return _other([cell], framework, note["offer"])
    for part in cell.children:
        if isinstance(part, nodes.container) and part.get("nb_element") == "cell_code_output":
            part["classes"] += _run_classes(framework, note["offer"])
    return cell


def _run_lines(lines: list[dict[str, str]], framework: str) -> list[nodes.Node]:
    """Say where outputs were made; where there are several runs, for each, with a choice between them."""
    if len(lines) < _SEVERAL:
        return [_paragraph(line["text"], ["polybook-run-line"]) for line in lines]
    shown = [[_paragraph(line["text"], ["polybook-run-line"])] for line in lines]
    labels = [line["label"] for line in lines]
    choices = [nodes.inline(label, label, classes=["polybook-choice"]) for label in labels]
    switch = nodes.paragraph("", "", *choices, classes=["polybook-switch", f"polybook-of-{framework}"])
    # Last: hidden by the style sheet, and made of buttons by the script.
    return [*choice_of_runs(shown, framework, labels), OnlyChoice("", switch)]


class OnlyChoice(nodes.General, nodes.Element):
    """Holds a choice that only a page can offer."""


def visit_choice(translator: Any, _node: OnlyChoice) -> None:
    """Show what it holds, but not in an EPUB."""
    if translator.builder.name == "epub":
        raise nodes.SkipNode


def pass_choice(_translator: Any, _node: OnlyChoice) -> None:
    """Nothing is to be closed."""


def skip_choice(_translator: Any, _node: OnlyChoice) -> None:
    """Show nothing."""
    raise nodes.SkipNode


def _run_classes(framework: str, offer: str) -> list[str]:
    """Give the classes by which ``polybook.js`` finds what belongs to a run."""
    return ["polybook-run", f"polybook-of-{framework}", f"polybook-from-{_slug(offer)}"]


def _slug(label: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")


def _paragraph(text: str, classes: list[str]) -> nodes.paragraph:
    return nodes.paragraph(text, text, classes=classes)
