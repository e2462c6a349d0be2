"""Split a page into one variant per framework, and merge executed variants back.

Stages 2 and 4 of a build (see ``ext.py``). Pure: a page in, variants out; a page and runs in, a notebook out.
Merging variants that were not run gives the page's cells back.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import nbformat
from nbformat import NotebookNode

from polybook.facts import FACT_KEY, is_claim
from polybook.page import Page, cell_tags
from polybook.provenance import run_card, run_line
from polybook.run import Offer, Run
from polybook.variant import Cell, Variant

#: Cell tags that change what a run does; every other tag is display only.
_EXECUTION_TAGS = {"raises-exception"}
_SKIP_TAG = "skip-execution"
#: Where ``merge`` leaves a note for ``tabs.py``, in a cell's metadata.
DISPLAY_KEY = "polybook"
#: And where it notes a code cell's place in the page's own notebook, for ``notebooks.py``.
PLACE_KEY = "polybook_place"
#: The mime prefix under which MyST-NB's ``glue`` keeps a value that is not displayed.
_GLUE_PREFIX = "application/papermill.record/"
#: What a page is written in when no kernel has said so.
LANGUAGE = {"name": "python", "pygments_lexer": "ipython3"}

#: What a run holds of a cell.
_Result = dict[str, Any]


def split(page: Page, framework: str) -> Variant:
    """Take out of a page what one framework's kernel runs.

    Cells tagged with other frameworks only, cells tagged ``skip-execution`` and empty cells are left out.
    """
    cells = []
    for index, cell in enumerate(page.notebook.cells):
        tags = cell_tags(cell)
        owners = set(tags) & set(page.frameworks)
        runs = cell.cell_type == "code" and cell.source.strip() and _SKIP_TAG not in tags
        if runs and (not owners or framework in owners):
            execution_tags = tuple(sorted(_EXECUTION_TAGS & set(tags)))
            cells.append(Cell(index, page.lines[index], cell.source, execution_tags))
    needs = page.needs.get(framework, "")
    return Variant(page.docname, page.path, framework, tuple(cells), needs, page.timeout_s, page.folder)


def merge(page: Page, offers: Mapping[str, Sequence[Offer]], titles: Mapping[str, str] | None = None) -> NotebookNode:
    """Put the outputs of runs back to the cells that they came from.

    A cell that is shown in a tab gets a note in its metadata (``polybook: {group, framework, panel, run}``): cells of
    one group make one tab set. An untagged cell with visible output becomes one cell a framework; without
    any it stays as it was. Where a framework offers several runs, its first one's outputs stay with the cell, and a
    cell without input follows for each of the others.

    Args:
        page: The page.
        offers: The runs of each framework, the one to show first at the front; a framework may be absent.
        titles: The frameworks' titles. If they are given, each panel with outputs says where they were made, and the
            page ends with a card for each run.

    Returns:
        A new notebook; the page's own is left alone.
    """
    results = {name: [_by_index(split(page, name), offer.run) for offer in found] for name, found in offers.items()}
    notebook = copy.deepcopy(page.notebook)
    source_map = notebook.metadata.get("source_map", [0] * len(notebook.cells))
    cells: list[NotebookNode] = []
    new_map: list[int] = []
    group = -1
    previous_tagged = False
    for index, cell in enumerate(notebook.cells):
        shown = _display(page, cell, {name: [run.get(index) for run in found] for name, found in results.items()})
        tagged = cell.cell_type == "code" and bool(set(cell_tags(cell)) & set(page.frameworks))
        if cell.cell_type == "code" and not (tagged and previous_tagged):
            group += 1
        previous_tagged = tagged or (previous_tagged and _is_invisible(cell))
        for copied in shown:
            if titles and cell.cell_type == "code":
                copied.metadata[PLACE_KEY] = index
            note = copied.metadata.get(DISPLAY_KEY)
            if note:
                note["group"] = group
                if titles and (_visible(copied, copied.outputs) or _records(copied)):
                    name = note["framework"]
                    note["offer"] = offers[name][note["run"]].label
                    note["lines"] = [
                        {"label": offer.label, "text": run_line(titles[name], offer)} for offer in offers[name]
                    ]
        cells += shown
        new_map += [source_map[index]] * len(shown)
    for name in page.frameworks if titles else ():
        for number, offer in enumerate(offers.get(name, ())):
            card = run_card(titles[name] if titles else name, offer, alone=len(offers[name]) == 1)
            cells.append(nbformat.v4.new_markdown_cell(card, id=f"run-{number}-of-{name}"[-64:]))
            new_map.append(source_map[-1])
    notebook.cells = cells
    runs = [offer.run for name in page.frameworks for offer in offers.get(name, ())]
    _finish_metadata(notebook, new_map, runs)
    return notebook


def _display(page: Page, cell: NotebookNode, results: Mapping[str, Sequence[_Result | None]]) -> list[NotebookNode]:
    """Make the cells that stand for ``cell`` on the merged page, one for each panel and run that it is shown in."""
    # The note is ours: what an author wrote under that key means nothing.
    cell.metadata.pop(DISPLAY_KEY, None)
    if cell.cell_type != "code":
        return [cell]
    if "tags" in cell.metadata:
        cell.metadata["tags"] = cell_tags(cell)
    owners = [name for name in page.frameworks if name in cell_tags(cell)]
    if not owners:
        if not any(_visible(cell, result["outputs"]) for found in results.values() for result in found if result):
            for name, found in results.items():
                _add_outputs(cell, name, next(iter(found), None))
            return [cell]
        owners = list(page.frameworks)
    panels: list[NotebookNode] = []
    for name in owners:
        panel = copy.deepcopy(cell)
        panel.metadata[DISPLAY_KEY] = {"framework": name, "panel": page.frameworks.index(name), "run": 0}
        if panels:
            panel["id"] = f"{cell.get('id', '')}-{name}"[-64:]
            _rename_figure(panel, name)
        found = results.get(name, ())
        others = [
            _other(panel, name, number, result)
            for number, result in enumerate(found)
            if number and result and _visible(cell, result["outputs"])
        ]
        _add_outputs(panel, name, next(iter(found), None))
        panels += [panel, *others]
    return panels


def _other(panel: NotebookNode, framework: str, number: int, result: _Result) -> NotebookNode:
    """Make the cell for what another run of the same code gave: outputs only, nothing that a label could name."""
    other = copy.deepcopy(panel)
    other.metadata["tags"] = [*cell_tags(panel), "remove-input"]
    other.metadata[DISPLAY_KEY]["run"] = number
    other["id"] = f"{panel.get('id', '')}-{number}"[-64:]
    for key in ("mystnb", "render"):
        (((other.metadata.get(key) or {}).get("figure")) or {}).pop("name", None)
    # A glued value is the first run's: nobody could name another one.
    visible = [_without_glue(output) for output in result["outputs"] if _visible(other, [output])]
    _add_outputs(other, framework, {**result, "outputs": visible})
    return other


def _without_glue(output: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in output.get("metadata", {}).items() if key != "scrapbook"}
    return {**output, "metadata": kept} if "metadata" in output else output


def _add_outputs(cell: NotebookNode, framework: str, result: _Result | None) -> None:
    if not result:
        return
    outputs = [_prefix_glue(copy.deepcopy(output), framework) for output in result["outputs"] if not is_claim(output)]
    cell.outputs = [*cell.get("outputs", []), *(_as_node(output) for output in outputs)]
    cell.execution_count = result["execution_count"]
    # MyST-NB takes a picture's description from the cell, one for all of its pictures.
    alt = " ".join(dict.fromkeys(found for found in map(_alt, outputs) if found))
    if alt:
        image = cell.metadata.setdefault("mystnb", NotebookNode()).setdefault("image", NotebookNode())
        image.setdefault("alt", alt)


def _alt(output: Mapping[str, Any]) -> str:
    """What an output's own metadata say that its picture shows."""
    for mime, described in output.get("metadata", {}).items():
        if mime.startswith("image/") and isinstance(described, Mapping) and isinstance(described.get("alt"), str):
            return str(described["alt"])
    return ""


def _as_node(value: Any) -> Any:
    if isinstance(value, dict):
        return NotebookNode({key: _as_node(item) for key, item in value.items()})
    return [_as_node(item) for item in value] if isinstance(value, list) else value


def _prefix_glue(output: dict[str, Any], framework: str) -> dict[str, Any]:
    """Prefix a glued value's key, so that the same key of two frameworks names two values."""
    scrapbook = output.get("metadata", {}).get("scrapbook")
    if isinstance(scrapbook, dict) and "name" in scrapbook:
        scrapbook["name"] = f"{framework}.{scrapbook['name']}"
    return output


def _visible(cell: NotebookNode, outputs: list[dict[str, Any]]) -> bool:
    """Tell whether a reader would see any of these outputs."""
    tags = set(cell_tags(cell))
    if tags & {"remove-output", "remove_output", "remove-cell", "remove_cell"}:
        return False
    return any(
        f"remove-{output.get('name')}" not in tags
        if output["output_type"] == "stream"
        else not all(mime.startswith(_GLUE_PREFIX) for mime in output.get("data", {"error": ""}))
        for output in outputs
    )


def _records(cell: NotebookNode) -> bool:
    """Tell whether a cell records a value for prose, which a reader sees there."""
    return any(FACT_KEY in output.get("metadata", {}) for output in cell.outputs)


def _rename_figure(cell: NotebookNode, framework: str) -> None:
    """Give a copied cell's figure a label of its own: ``fig`` in the first panel, ``fig-mxnet`` in MXNet's."""
    for key in ("mystnb", "render"):
        figure = (cell.metadata.get(key) or {}).get("figure")
        if isinstance(figure, dict) and "name" in figure:
            figure["name"] = f"{figure['name']}-{framework}"


def _is_invisible(cell: NotebookNode) -> bool:
    """Tell whether a prose cell renders to nothing: MyST comments only."""
    return cell.cell_type == "markdown" and all(
        not line.strip() or line.startswith("%") for line in cell.source.splitlines()
    )


def _by_index(variant: Variant, run: Run) -> dict[int, _Result]:
    return {cell.index: result for cell, result in zip(variant.cells, _latest_glue(run.cells), strict=True)}


def _latest_glue(cells: Sequence[_Result]) -> list[_Result]:
    """Leave out what was glued again later under the same name: MyST-NB would warn, and show the last one anyway."""
    kept: list[_Result] = []
    known: set[str] = set()
    for cell in reversed(cells):
        outputs = []
        for output in reversed(cell["outputs"]):
            name = _glue_name(output)
            if name in known:
                if not any(mime.startswith(_GLUE_PREFIX) for mime in output.get("data", {})):
                    outputs.append(_without_glue(output))
                continue
            known |= {name} if name else set()
            outputs.append(output)
        kept.append({**cell, "outputs": outputs[::-1]})
    return kept[::-1]


def _glue_name(output: Mapping[str, Any]) -> str:
    scrapbook = output.get("metadata", {}).get("scrapbook")
    return str(scrapbook.get("name", "")) if isinstance(scrapbook, Mapping) else ""


def _finish_metadata(notebook: NotebookNode, source_map: list[int], runs: Sequence[Run]) -> None:
    """Set what MyST-NB needs to render without a kernel: cell lines, the language, and widgets."""
    if "source_map" in notebook.metadata:
        notebook.metadata["source_map"] = source_map
    languages = [run.metadata["language_info"] for run in runs if "language_info" in run.metadata]
    notebook.metadata.setdefault("language_info", _as_node(languages[0] if languages else dict(LANGUAGE)))
    for run in runs:
        for mime, widgets in run.metadata.get("widgets", {}).items():
            known = notebook.metadata.setdefault("widgets", NotebookNode()).setdefault(mime, _as_node(widgets))
            known["state"].update(_as_node(widgets["state"]))
