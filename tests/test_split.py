"""The laws of splitting a page into variants and merging their outputs back."""

from __future__ import annotations

import dataclasses
import json
import random

import nbformat
import pytest
from books import (
    cell,
    displayed,
    front_matter,
    glued,
    myst_page,
    notebook,
    page,
    printed,
    prose,
    put_together,
    run_of,
    sources,
    tagged,
)
from nbformat import NotebookNode

from polybook.page import Page, cell_tags
from polybook.run import Run
from polybook.split import DISPLAY_KEY, split

FRAMEWORKS = ("pytorch", "mxnet")


def runs(page: Page, outputs: dict[int, list[dict[str, object]]] | None = None) -> dict[str, Run]:
    """A run of each framework of a page, all with the same outputs."""
    return {name: run_of(split(page, name), outputs) for name in page.frameworks}


def notes(merged: NotebookNode) -> list[tuple[int, str] | None]:
    """For each merged cell its tab set and framework; None if it is in no tab set."""
    found = [cell.metadata.get(DISPLAY_KEY) for cell in merged.cells]
    return [(note["group"], note["framework"]) if note else None for note in found]


def groups(*cells: str | NotebookNode) -> list[list[str]]:
    """The tab sets that these cells make, as the frameworks in them."""
    found: dict[int, list[str]] = {}
    for note in notes(put_together(page(list(cells)), {})):
        if note:
            found.setdefault(note[0], []).append(note[1])
    return list(found.values())


def random_page(seed: int) -> Page:
    """A page of random cells: prose, tagged and untagged code, with and without tags that matter."""
    dice = random.Random(seed)
    cells: list[str | NotebookNode] = [tagged("first", "pytorch"), tagged("first", "mxnet")]
    for number in range(dice.randrange(12)):
        tags = dice.sample(["pytorch", "mxnet", "skip-execution", "raises-exception", "hide-input"], dice.randrange(4))
        source = dice.choice([f"x = {number}", "", "é€😀\t", "%%time\nx"])
        cells.append(dice.choice([prose(f"text {number}"), prose("% comment"), tagged(source, *tags)]))
    return page(cells)


# Splitting


def test_untagged_cell_runs_in_every_framework():
    """A cell without a framework goes into every variant, in its old place."""
    made = page(["x = 1", tagged("y = 2", "mxnet"), tagged("z = 3", "pytorch")])

    assert sources(split(made, "mxnet")) == ["x = 1", "y = 2"]
    assert sources(split(made, "pytorch")) == ["x = 1", "z = 3"]


def test_cell_of_two_frameworks_runs_in_both():
    """A cell tagged with two frameworks is in both variants and no third."""
    cells = [tagged("a", "alpha", "beta"), tagged("b", "gamma")]
    names = {name: {"title": name, "environment": name} for name in ("alpha", "beta", "gamma")}
    text = front_matter("polybook:", "  frameworks: [alpha, beta, gamma]")
    made = myst_page(text + "".join(cell(c.source, *c.metadata.tags) for c in cells), polybook_frameworks=names)

    assert [sources(split(made, name)) for name in names] == [["a"], ["a"], ["b"]]


def test_skipped_cell_runs_nowhere():
    """A cell tagged `skip-execution` is in no variant, whether it has a framework or not."""
    made = page([tagged("a", "skip-execution"), tagged("b", "pytorch", "skip-execution"), "c", tagged("d", "mxnet")])

    assert [sources(split(made, name)) for name in FRAMEWORKS] == [["c"], ["c", "d"]]


def test_cells_without_code_do_not_run():
    """Empty cells, blank cells, raw cells and prose are in no variant."""
    made = page([tagged("", "pytorch"), " \n\t", prose("x"), nbformat.v4.new_raw_cell("r"), tagged("a", "mxnet")])

    assert [sources(split(made, name)) for name in FRAMEWORKS] == [[], ["a"]]


def test_variant_remembers_where_its_cells_came_from():
    """Each cell of a variant knows its place in the notebook and its line in the source."""
    text = front_matter("polybook:", "  frameworks: [pytorch, mxnet]") + "Prose.\n\n"
    made = myst_page(text + cell("a = 1", "pytorch") + cell("b = 1", "mxnet") + cell("c = 1"))

    found = [(cell.index, cell.line) for cell in split(made, "mxnet").cells]

    lines = made.notebook.metadata.source_map
    assert found == [(2, lines[2] + 2), (3, lines[3] + 1)]


def test_variant_carries_the_pages_settings():
    """What a variant needs and may take comes from the front matter."""
    made = page(["a"], needs="{pytorch: gpu}", timeout=7)

    assert [(split(made, name).needs, split(made, name).timeout_s) for name in FRAMEWORKS] == [("gpu", 7), ("", 7)]


def test_variant_is_plain_data():
    """A variant written as JSON says all that another machine needs to run it."""
    variant = split(page(["é😀", tagged("b", "raises-exception", "hide-input")]), "pytorch")

    data = json.loads(json.dumps(variant.as_json()))

    assert data["code"] == variant.code
    assert (data["page"], data["path"], data["framework"]) == ("page", "page.md", "pytorch")
    assert [(cell["source"], cell["tags"]) for cell in data["cells"]] == [("é😀", []), ("b", ["raises-exception"])]


# The digest


def digest(*cells: str | NotebookNode, frameworks: str = "pytorch, mxnet", **settings: object) -> str:
    """The digest of PyTorch's variant of a page of these cells, and of one cell of MXNet's."""
    return split(page([*cells, tagged("m", "mxnet"), tagged("p", "pytorch")], frameworks, **settings), "pytorch").code


BASE = digest("a", "b")


@pytest.mark.parametrize(
    "other",
    [
        digest(prose("text"), "a", prose("more"), "b"),
        digest(tagged("a", "hide-input"), tagged("b", "remove-output", "margin")),
        digest(tagged("a", "pytorch"), tagged("b", "mxnet", "pytorch")),
        digest("a", tagged("other", "mxnet"), "b"),
        digest("a", tagged("skipped", "skip-execution"), "b", ""),
        digest("a", "b", frameworks="mxnet, pytorch"),
        digest("a", "b", timeout=5, needs="{pytorch: gpu}"),
    ],
    ids=["prose", "display tags", "framework tags", "other framework", "cells that do not run", "order", "settings"],
)
def test_digest_ignores_what_does_not_run(other: str):
    """Prose, display tags, the other framework and the page's settings leave the digest alone."""
    assert other == BASE


def test_digest_ignores_page_and_place():
    """The same code on another page, at other lines, is the same code; nothing of the host is in it."""
    variant = split(page(["a", "b"]), "pytorch")
    moved = [dataclasses.replace(cell, line=cell.line + 10, index=cell.index + 3) for cell in variant.cells]

    other = dataclasses.replace(variant, docname="x", path="y/x.md", framework="mxnet", cells=tuple(moved))

    assert other.code == variant.code
    assert split(page(["a"]), "mxnet").code == "3f2762615ea8c614a092020ac0d34de0eb81da941eb4f4b2265219859f93d0df"


@pytest.mark.parametrize(
    "other",
    [
        digest("a", "B"),
        digest("a", "b "),
        digest("b", "a"),
        digest("a\nb"),
        digest("ab"),
        digest("a", "b", "b"),
        digest("a", tagged("b", "raises-exception")),
        digest("a", tagged("b", "skip-execution")),
        digest("a", tagged("b", "mxnet")),
    ],
    ids=["code", "space", "order", "one cell", "joined", "one more", "raises-exception", "skipped", "other framework"],
)
def test_digest_follows_what_runs(other: str):
    """Code, its order, its cutting into cells and the tags that change a run make another digest."""
    assert other != BASE


# Merging what was not run


@pytest.mark.parametrize("seed", range(50))
def test_merging_what_was_not_run_gives_the_page_back(seed: int):
    """Without runs, and with runs that gave nothing, a merged page has the cells of the page, in order."""
    made = random_page(seed)
    before = json.dumps(made.notebook)

    for merged in (put_together(made, {}), put_together(made, runs(made))):
        kept = [cell for cell in merged.cells if cell.metadata.pop(DISPLAY_KEY, {}).get("framework") in firsts(cell)]
        assert [(c.cell_type, c.source, cell_tags(c)) for c in kept] == [
            (c.cell_type, c.source, cell_tags(c)) for c in made.notebook.cells
        ]
        assert not any(cell.get("outputs") for cell in merged.cells)
    assert json.dumps(made.notebook) == before


def firsts(cell: NotebookNode) -> list[str | None]:
    """The framework in whose panel a cell of the page stands first: a cell of two frameworks is in two panels."""
    return [next((name for name in FRAMEWORKS if name in cell_tags(cell)), None)]


@pytest.mark.parametrize("seed", range(50))
def test_every_output_comes_back_to_its_cell(seed: int):
    """An output is shown once for each framework that ran its cell, in that framework's panel, and nowhere else."""
    made = random_page(seed)
    results = {}
    for name in made.frameworks:
        variant = split(made, name)
        results[name] = run_of(variant, {cell.index: [printed(f"{name} {cell.index}")] for cell in variant.cells})

    merged = put_together(made, results)

    shown = []
    for panel in merged.cells:
        for output in panel.get("outputs", []):
            name, index = output.text.split()
            origin = made.notebook.cells[int(index)]
            assert (panel.metadata[DISPLAY_KEY].framework, panel.source) == (name, origin.source)
            shown.append((name, int(index)))
    assert sorted(shown) == sorted((name, cell.index) for name in FRAMEWORKS for cell in split(made, name).cells)
    assert len({cell.id for cell in merged.cells}) == len(merged.cells)
    nbformat.validate(merged)


def test_a_run_that_is_missing_leaves_an_empty_panel():
    """A framework without a run still has its panel, without output."""
    made = page(["a"])

    merged = put_together(made, {"mxnet": run_of(split(made, "mxnet"), {0: [printed("1")]})})

    assert notes(merged) == [(0, "pytorch"), (0, "mxnet")]
    assert [len(cell.outputs) for cell in merged.cells] == [0, 1]


# Groups


def test_neighbours_make_one_tab_set():
    """Tagged cells with nothing between them are one tab set, also two of one framework."""
    assert groups(tagged("a", "pytorch"), tagged("b", "mxnet"), tagged("c", "pytorch")) == [
        ["pytorch", "mxnet", "pytorch"]
    ]


def test_prose_separates_tab_sets():
    """Prose between tagged cells makes two tab sets, a label or a heading as well."""
    for text in ("Prose.", "# Heading", "(label)=", "% comment\nand prose", "100 % x"):
        assert groups(tagged("a", "pytorch"), prose(text), tagged("b", "mxnet")) == [["pytorch"], ["mxnet"]]


def test_comment_does_not_separate():
    """What a reader cannot see does not cut a tab set in two."""
    for text in ("% x", "% x\n% y", "% x\n\n% y", "%"):
        assert groups(tagged("a", "pytorch"), prose(text), tagged("b", "mxnet")) == [["pytorch", "mxnet"]]


def test_comment_joins_no_cell_to_an_untagged_one():
    """After an untagged cell a tab set begins, comment between them or not."""
    made = page(["u", prose("% x"), tagged("a", "pytorch"), tagged("b", "mxnet")])

    merged = put_together(made, runs(made, {0: [printed("x")]}))

    assert notes(merged) == [(0, "pytorch"), (0, "mxnet"), None, (1, "pytorch"), (1, "mxnet")]


def test_untagged_cell_separates():
    """An untagged cell between tagged ones is no part of their tab sets, with output or without."""
    cells = [tagged("a", "pytorch"), "u", tagged("b", "mxnet")]
    made = page(cells)

    merged = put_together(made, {"pytorch": run_of(split(made, "pytorch"), {1: [printed("1")]})})

    assert groups(*cells) == [["pytorch"], ["mxnet"]]
    assert notes(merged) == [(0, "pytorch"), (1, "pytorch"), (1, "mxnet"), (2, "mxnet")]


def test_raw_cell_separates():
    """A raw cell between tagged ones makes two tab sets."""
    raw = nbformat.v4.new_raw_cell("r")

    assert groups(tagged("a", "pytorch"), raw, tagged("b", "mxnet")) == [["pytorch"], ["mxnet"]]


def test_cell_of_two_frameworks_is_in_two_panels():
    """A cell tagged with two frameworks stands in both panels of one tab set, with each one's output."""
    made = page([tagged("a", "pytorch", "mxnet"), tagged("b", "mxnet")])

    merged = put_together(made, {name: run_of(split(made, name), {0: [printed(name)]}) for name in FRAMEWORKS})

    assert notes(merged) == [(0, "pytorch"), (0, "mxnet"), (0, "mxnet")]
    assert [cell.outputs[0].text for cell in merged.cells[:2]] == ["pytorch", "mxnet"]


def test_panels_stand_in_the_order_of_the_front_matter():
    """The place of a panel is that of its framework in the front matter, whatever the order of cells and runs."""
    made = page([tagged("a", "pytorch"), tagged("b", "mxnet"), "c"], "mxnet, pytorch")
    results = runs(made, {2: [printed("x")]})

    merged = put_together(made, dict(reversed(results.items())))

    panels = [(cell.metadata[DISPLAY_KEY].framework, cell.metadata[DISPLAY_KEY].panel) for cell in merged.cells]
    assert panels == [("pytorch", 1), ("mxnet", 0), ("mxnet", 0), ("pytorch", 1)]


# Untagged cells


def test_untagged_cell_with_output_is_one_cell_a_framework():
    """Visible output of an untagged cell is shown in every panel, in cells with ids of their own."""
    made = page([prose("x"), "a"])

    merged = put_together(made, {name: run_of(split(made, name), {1: [printed(name)]}) for name in FRAMEWORKS})

    assert notes(merged) == [None, (0, "pytorch"), (0, "mxnet")]
    assert [cell.outputs[0].text for cell in merged.cells[1:]] == list(FRAMEWORKS)
    assert merged.cells[1].id == made.notebook.cells[1].id
    assert len({cell.id for cell in merged.cells}) == 3


def test_output_of_one_framework_is_enough_for_panels():
    """A cell that printed in one framework only is shown in both panels."""
    made = page(["a"])
    results = runs(made) | {"mxnet": run_of(split(made, "mxnet"), {0: [printed("x")]})}

    assert notes(put_together(made, results)) == [(0, "pytorch"), (0, "mxnet")]


def test_ids_stay_short_enough():
    """An id as long as nbformat allows still gives a valid one for each panel."""
    made = page([tagged("a"), "b"])
    made.notebook.cells[0]["id"] = "x" * 64

    merged = put_together(made, runs(made, {0: [printed("x")], 1: [printed("y")]}))

    assert [len(cell.id) for cell in merged.cells[:2]] == [64, 64]
    assert len({cell.id for cell in merged.cells}) == 4


SILENT = {
    "nothing": ((), []),
    "glued": ((), [glued("n", "1")]),
    "glued twice": ((), [glued("n", "1"), glued("m", "2")]),
    "remove-output": (("remove-output",), [printed("x")]),
    "remove_output": (("remove_output",), [displayed({"text/plain": "x"})]),
    "remove-cell": (("remove-cell",), [printed("x")]),
    "remove-stderr": (("remove-stderr",), [printed("x", "stderr")]),
    "remove-stdout": (("remove-stdout",), [printed("x"), glued("n", "1")]),
}


@pytest.mark.parametrize(("tags", "outputs"), SILENT.values(), ids=SILENT)
def test_output_that_nobody_sees_stays_on_the_plain_cell(tags: tuple[str, ...], outputs: list[dict[str, object]]):
    """Without visible output a cell stays single and plain, and keeps what every framework put there."""
    made = page([tagged("a", *tags)])

    merged = put_together(made, runs(made, {0: outputs}))

    assert notes(merged) == [None]
    assert len(merged.cells[0].outputs) == 2 * len(outputs)


SEEN = {
    "printed": ((), [printed("x")]),
    "error": (("raises-exception",), [{"output_type": "error", "ename": "E", "evalue": "", "traceback": []}]),
    "displayed and glued": ((), [glued("n", "1", visible=True)]),
    "glued with a view": ((), [displayed({"application/papermill.record/text/plain": "1", "text/html": "<b>1</b>"})]),
    "glued and printed": ((), [glued("n", "1"), printed("x")]),
    "other stream": (("remove-stderr",), [printed("x"), printed("y", "stderr")]),
    "result": ((), [{"output_type": "execute_result", "data": {"text/plain": "1"}, "metadata": {}}]),
    "removed input": (("remove-input",), [printed("x")]),
}


@pytest.mark.parametrize(("tags", "outputs"), SEEN.values(), ids=SEEN)
def test_output_that_is_seen_makes_panels(tags: tuple[str, ...], outputs: list[dict[str, object]]):
    """Whatever a reader sees puts an untagged cell into a tab set."""
    made = page([tagged("a", *tags)])

    assert notes(put_together(made, runs(made, {0: outputs}))) == [(0, "pytorch"), (0, "mxnet")]


# Names


def glue_names(merged: NotebookNode) -> list[str]:
    """The names of all glued values of a page."""
    return [
        output.metadata.scrapbook.name
        for cell in merged.cells
        for output in cell.get("outputs", [])
        if "scrapbook" in output.get("metadata", {})
    ]


def test_glued_values_are_prefixed():
    """The same name glued in two frameworks names two values, on plain cells, untagged panels and tagged cells."""
    made = page(["a", "b", tagged("c", "pytorch"), tagged("d", "mxnet")])
    outputs = {0: [glued("silent", "1")], 1: [glued("seen", "2", visible=True)], 2: [glued("t", "3")]}

    merged = put_together(made, runs(made, outputs))

    assert glue_names(merged) == [
        "pytorch.silent", "mxnet.silent", "pytorch.seen", "mxnet.seen", "pytorch.t",
    ]  # fmt: skip


def test_merging_twice_prefixes_once():
    """A run is left as it was stored: merging it again gives the same page."""
    made = page(["a"])
    results = runs(made, {0: [glued("n", "1"), printed("x")]})

    first, second = put_together(made, results), put_together(made, results)

    assert first == second
    assert glue_names(second) == ["pytorch.n", "mxnet.n"]


@pytest.mark.parametrize("key", ["mystnb", "render"])
def test_figure_of_a_later_panel_has_a_label_of_its_own(key: str):
    """The first panel keeps the figure's label, later ones add their framework; the page keeps its own."""
    drawn = tagged("a")
    drawn.metadata[key] = {"figure": {"name": "fig", "caption": "c"}, "image": {"alt": "t"}}
    made = page([drawn])

    merged = put_together(made, runs(made, {0: [printed("x")]}))

    assert [cell.metadata[key]["figure"]["name"] for cell in merged.cells] == ["fig", "fig-mxnet"]
    assert [cell.metadata[key]["figure"]["caption"] for cell in merged.cells] == ["c", "c"]
    assert made.notebook.cells[0].metadata[key]["figure"]["name"] == "fig"


@pytest.mark.parametrize("value", [None, {}, {"figure": None}, {"figure": "name"}, {"figure": {}}])
def test_odd_figure_settings_are_left_alone(value: object):
    """Figure settings that MyST-NB may complain about later do not end the merge."""
    drawn = tagged("a", "pytorch", "mxnet")
    drawn.metadata["mystnb"] = value
    made = page([drawn])

    assert [cell.metadata["mystnb"] for cell in put_together(made, {}).cells] == [value, value]


def test_note_of_the_authors_is_not_taken_for_ours():
    """A cell option or prose metadata called `polybook` means nothing and breaks nothing."""
    made = page(["a", prose("b"), tagged("c", "pytorch"), tagged("d", "mxnet")])
    for noted, value in zip(made.notebook.cells, (3, "x", {"group": 7}, None), strict=True):
        noted.metadata[DISPLAY_KEY] = value

    merged = put_together(made, {})

    assert notes(merged) == [None, None, (1, "pytorch"), (1, "mxnet")]


# What MyST-NB needs to render


def test_lines_follow_the_cells():
    """The merged notebook's source map has an entry for each cell, copies included."""
    made = myst_page(front_matter("polybook:", "  frameworks: [pytorch, mxnet]") + "Prose.\n\n" + cell("a") + cell("b"))
    first = list(made.notebook.metadata.source_map)

    merged = put_together(made, runs(made, {2: [printed("x")]}))

    assert merged.metadata.source_map == [first[0], first[1], first[2], first[2]]
    assert len(merged.cells) == 4


def test_language_is_always_set():
    """The language comes from a kernel if one has said it, and is Python otherwise: a lexer must be known."""
    made = page(["a"])

    assert put_together(made, {}).metadata.language_info.pygments_lexer == "ipython3"
    assert put_together(made, runs(made)).metadata.language_info == {"name": "python", "version": "3.11"}


def test_widgets_of_all_frameworks_are_kept():
    """Widget states of every run end up on the page, and those of the runs are left alone."""
    made = page(["a"])
    mime = "application/vnd.jupyter.widget-state+json"
    results = {
        name: run_of(split(made, name), metadata={"widgets": {mime: {"state": {name: 1}, "version_major": 2}}})
        for name in FRAMEWORKS
    }

    merged = put_together(made, results)

    assert merged.metadata.widgets[mime]["state"] == {"pytorch": 1, "mxnet": 1}
    assert results["pytorch"].metadata["widgets"][mime]["state"] == {"pytorch": 1}


def test_count_of_execution_is_shown():
    """A merged cell has the number that its kernel gave it."""
    made = page([tagged("a", "pytorch"), tagged("b", "mxnet"), "c"])

    assert [cell.execution_count for cell in put_together(made, runs(made)).cells] == [1, 1, 2]


def test_empty_notebook_merges_to_an_empty_one():
    """A page without cells, if one were let through, would be an empty notebook."""
    made = dataclasses.replace(page(["a"]), notebook=notebook([]), lines=())

    assert put_together(made, runs(made)).cells == []


def test_value_that_was_glued_again_counts_once():
    """Of what was glued twice the later one stays; what was shown as well is still shown."""
    made = page(["1", "2"], frameworks="pytorch")
    outputs = {0: [glued("v", "old"), glued("w", "seen", visible=True)], 1: [glued("v", "new"), glued("w", "new")]}

    found = put_together(made, {"pytorch": run_of(split(made, "pytorch"), outputs)})

    assert glue_names(found) == ["pytorch.v", "pytorch.w"]
    texts = [output.data for cell in found.cells for output in cell.outputs]
    assert {"text/plain": "seen"} in texts
    assert not any("old" in data.values() for data in texts)


def test_description_of_a_picture_is_kept():
    """What a cell says that its picture shows is handed to MyST-NB, unless the author has said something else."""
    made = page(["1"], frameworks="pytorch")
    picture = displayed({"image/svg+xml": "<svg/>"}, **{"image/svg+xml": {"alt": "A dot."}})
    own = page([tagged("1")], frameworks="pytorch")
    own.notebook.cells[0].metadata["mystnb"] = {"image": {"alt": "Mine."}}

    found = [
        put_together(shown, {"pytorch": run_of(split(shown, "pytorch"), {0: [picture]})}).cells[0].metadata.mystnb
        for shown in (made, own)
    ]

    assert [metadata["image"]["alt"] for metadata in found] == ["A dot.", "Mine."]
