"""The minibook built end to end: each framework's outputs in its own tab, and MyST-NB's features inside tabs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from books import MINIBOOK, Book, cell, page_text, run, tabs
from bs4 import Tag


@pytest.fixture(scope="module")
def features(minibook: Book) -> Tag:
    """The article of the page that uses every feature."""
    return minibook.article("features")


def panel(article: Tag, text: str) -> Tag:
    """The tab panel that holds a text."""
    found = [panel for tab_set in tabs(article) for panel in tab_set.values() if text in panel.get_text()]
    assert len(found) == 1, f"{text!r} stands in {len(found)} panels"
    return found[0]


def label_of(panel: Tag) -> str:
    """The label of a panel."""
    label = panel.find_previous_sibling("label")
    assert isinstance(label, Tag)
    return label.get_text(strip=True)


def source_of(panel: Tag) -> str:
    """The code shown in a panel."""
    return "\n".join(block.get_text() for block in panel.select(".cell_input pre"))


def test_each_tab_holds_its_own_frameworks_output(minibook: Book):
    """Tagged neighbours make one tab set, with the output of each environment's own package in its panel."""
    first = tabs(minibook.article("first"))[0]

    assert list(first) == ["Alpha", "Beta"]
    assert "alpha runs 0.9.0" in first["Alpha"].get_text()
    assert "beta runs 0.10.0" in first["Beta"].get_text()


def test_untagged_cell_with_output_is_in_every_panel(minibook: Book):
    """A cell without a framework shows each framework's output beside the same code."""
    untagged = tabs(minibook.article("first"))[2]

    assert "untagged 0.9.0" in untagged["Alpha"].get_text()
    assert "untagged 0.10.0" in untagged["Beta"].get_text()


def test_untagged_cell_without_output_stays_plain(minibook: Book):
    """A cell without a framework and without output is not put into a tab."""
    plain = minibook.article("first").find("div", class_="cell")

    assert isinstance(plain, Tag)
    assert plain.get_text().strip() == "import tabulate"
    assert plain.find_parent(class_="sd-tab-set") is None


def test_block_of_one_framework_is_labelled(minibook: Book):
    """A cell that exists for one framework only stands in a tab set of one panel, with that framework's label."""
    only = tabs(minibook.article("first"))[3]

    assert list(only) == ["Beta"]
    assert "only beta" in only["Beta"].get_text()


def test_tabs_stand_in_the_order_of_the_front_matter(features: Tag):
    """A page chooses the order of its tabs."""
    assert list(tabs(features)[0]) == ["Beta", "Alpha"]


def test_tab_sets_of_cells_and_of_prose_share_group_and_ids(minibook: Book):
    """Tab sets made from cells carry the same sync group and ids as those that an author writes."""
    labels = minibook.article("first").find_all("label", class_="sd-tab-label")

    assert {label["data-sync-group"] for label in labels} == {"framework"}
    assert {label["data-sync-id"] for label in labels} == {"alpha", "beta"}


def test_hide_input_folds_the_code(features: Tag):
    """``hide-input`` folds the code and leaves the output open."""
    found = panel(features, "hide-input alpha")

    assert found.select_one("details.above-input .cell_input")
    assert not found.select_one("details .cell_output")


def test_hide_output_folds_the_output(features: Tag):
    """``hide-output`` folds the output and leaves the code open."""
    found = panel(features, "hide-output alpha")

    assert found.select_one("details.below-input .cell_output")
    assert not found.select_one("details .cell_input")


def test_hide_cell_folds_both(features: Tag):
    """``hide-cell`` folds code and output together."""
    found = panel(features, "hide-cell beta")

    assert found.select_one("details .cell_input")
    assert found.select_one("details .cell_output")


def test_remove_input_leaves_the_output(features: Tag):
    """``remove-input`` shows the output without its code."""
    found = panel(features, "shown output of removed input alpha")

    assert not found.select_one(".cell_input")


def test_remove_output_leaves_the_code(features: Tag):
    """``remove-output`` shows the code without its output."""
    assert "removed-output-beta" not in features.get_text()
    assert label_of(panel(features, '"-output-beta"')) == "Beta"


def test_remove_cell_leaves_nothing(features: Tag):
    """``remove-cell`` runs the cell, shows nothing of it and keeps its neighbour."""
    assert "removed-cell-beta" not in features.get_text()
    assert label_of(panel(features, "kept beside a removed cell")) == "Alpha"


def test_remove_stderr_leaves_stdout(features: Tag):
    """``remove-stderr`` takes only what went to standard error."""
    assert "err-gone-beta" not in features.get_text()
    assert panel(features, "out-stays-beta")


def test_raises_exception_shows_the_error(features: Tag):
    """``raises-exception`` shows the traceback and the build goes on."""
    assert label_of(panel(features, "ZeroDivisionError")) == "Alpha"


def test_skip_execution_shows_code_that_never_ran(features: Tag):
    """``skip-execution`` shows the code and runs nothing."""
    found = panel(features, "never run")

    assert label_of(found) == "Beta"
    assert not found.select_one(".cell_output")


def test_scroll_output_keeps_its_class(features: Tag):
    """``scroll-output`` keeps the class that MyST-NB's style sheet scrolls."""
    assert panel(features, "scrolling alpha").select_one(".cell.tag_scroll-output")


def test_label_of_a_cell_leads_to_its_tab_set(features: Tag):
    """A label above a cell names the whole tab set, which is never hidden."""
    target = features.find(id="labelled")

    assert isinstance(target, Tag)
    assert "sd-tab-set" in target["class"]
    assert features.find("a", href="#labelled")


def test_figures_have_captions_numbers_and_alternative_texts(features: Tag):
    """A figure in a tab keeps its caption, its own label in each panel, and its alternative text."""
    images = features.select("figure img")

    assert [figure["id"] for figure in features.select("figure")] == ["fig-dot", "fig-dot-alpha"]
    assert all("A dot." in figure.get_text() for figure in features.select("figcaption"))
    assert [image["alt"] for image in images] == ["one coloured square"] * 2
    assert len({image["src"] for image in images}) == 2
    assert [label_of(image.find_parent(class_="sd-tab-content")) for image in images] == ["Beta", "Alpha"]


def test_html_markdown_and_latex_outputs_are_rendered(features: Tag):
    """Rich outputs are rendered in both panels, with each framework's own value."""
    bold = [element.get_text() for element in features.select("b.rich")]
    emphasised = [element.get_text() for element in features.select(".cell_output em")]
    maths = [element.get_text() for element in features.select(".cell_output .math")]

    assert bold == ["html 0.10.0", "html 0.9.0"]
    assert emphasised == ["markdown 0.10.0", "markdown 0.9.0"]
    assert [r"\alpha_{6}" in maths[0], r"\alpha_{5}" in maths[1]] == [True, True]


def test_glued_values_are_prefixed_by_framework(features: Tag):
    """The same glue key of two frameworks names two values."""
    text = features.get_text()

    assert "0.9.0 in Alpha and 0.10.0 in Beta" in text.replace("'", "")


def test_execution_table_lists_pages_of_frameworks(minibook: Book):
    """``{nb-exec-table}`` has a row for each page that was run."""
    rows = [row.get_text(" ", strip=True) for row in minibook.article("index").select("tbody tr")]

    assert any(row.startswith("features ") and " polybook " in row for row in rows)
    assert any(row.startswith("first ") for row in rows)


def test_single_kernel_notebook_still_runs(minibook: Book):
    """A notebook without polybook settings is run by MyST-NB as ever."""
    assert "a single kernel 42" in minibook.article("notebook").get_text()


def test_settings_do_not_reach_the_page(minibook: Book):
    """The front matter's ``polybook`` key is not shown as a field of the page."""
    executed = json.loads((minibook.root / "_build/jupyter_execute/first.ipynb").read_text("utf8"))

    assert "polybook" not in executed["metadata"]
    assert "frameworks" not in minibook.article("first").get_text()


def test_label_between_cells_separates_tab_sets(make_book: Callable[..., Book]):
    """Prose between tagged cells ends a tab set; a comment does not."""
    book = make_book(
        page=page_text(
            cell("1", "alpha"),
            "% a comment\n\n",
            cell("2", "beta"),
            "Words.\n\n",
            cell("3", "alpha"),
            cell("4", "beta"),
        )
    )

    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    assert [list(tab_set) for tab_set in tabs(book.article("page"))] == [["Alpha", "Beta"]] * 2


def test_execution_off_shows_code_and_runs_nothing(make_book: Callable[..., Book]):
    """``execute_notebooks: off`` builds without a kernel, and shows what is stored and fresh."""
    book = make_book(page=page_text(cell("print('a')", "alpha"), cell("print('b')", "beta")))
    config = book.root / "_config.yml"
    config.write_text(config.read_text().replace("  timeout: 60", "  execute_notebooks: 'off'"))

    before = book.build()
    outputs_before = book.article("page").select(".cell_output")
    book.polybook("run", "--force")
    after = book.build()

    assert (before.status, before.cells_run, outputs_before) == (0, 0, [])
    assert (after.status, after.cells_run) == (0, 0)
    assert len(book.article("page").select(".cell_output")) == 2


CONF = """
extensions = ["polybook"]
exclude_patterns = ["_build", ".*"]
polybook_frameworks = {
    "alpha": {"title": "Alpha", "environment": ".venv-alpha"},
    "beta": {"title": "Beta", "environment": ".venv-beta"},
}
"""


def test_parallel_reading_gives_each_page_its_own_runs(make_book: Callable[..., Book]):
    """With several reading processes nothing is mixed up, and a rebuild runs nothing.

    In plain Sphinx, where the extension works as well: Jupyter Book loads extensions that forbid parallel reading.
    """
    names = [f"page{n}" for n in range(7)]
    book = make_book(
        **{name: page_text(cell(f"print('alpha', '{name}')", "alpha"), cell(f"print('beta', '{name}')", "beta"))
           for name in names}
    )  # fmt: skip
    (book.root / "conf.py").write_text(CONF)
    book.write("index", "# Index\n\n```{toctree}\n" + "\n".join(names) + "\n```\n")
    command = (sys.executable, "-m", "sphinx", "-W", "-j", "2", "-b", "html", ".", "_build/html")

    built = run(*command, cwd=book.root)
    again = run(*command, cwd=book.root)

    assert built.status == 0, built.output
    assert "index .. page2" in built.output, "pages were not read in parallel"
    assert built.cells_run == 14
    for name in names:
        panels = tabs(book.html(name))[0]
        assert f"alpha {name}" in panels["Alpha"].select_one(".cell_output").get_text()
        assert f"beta {name}" in panels["Beta"].select_one(".cell_output").get_text()
    assert (again.status, again.cells_run) == (0, 0)
    assert "0 added, 0 changed" in again.output


def test_parallel_reading_loses_no_failure(make_book: Callable[..., Book]):
    """What goes wrong in a process that only reads ends the build as well: a broken cell, a value of nobody's."""
    names = [f"page{n}" for n in range(7)]
    book = make_book(
        **{name: page_text(cell(f"print('{name}')", "alpha"), cell("1", "beta"), "Fine.\n") for name in names}
    )
    book.replace("page5", "Fine.", "It took {value}`alpha.nothing`.")
    # An extension that changes a source after it was read from disk.
    (book.root / "changing.py").write_text(
        "def setup(app):\n    app.connect('source-read', change)\n    return {'parallel_read_safe': True}\n\n"
        "def change(app, docname, source):\n    if docname == 'page6':\n"
        "        source[0] = source[0].replace(\"print('page6')\", '1 / 0')\n"
    )
    (book.root / "conf.py").write_text(
        "import sys\nsys.path.insert(0, '.')\n" + CONF.replace('"polybook"', '"polybook", "changing"')
    )
    book.write("index", "# Index\n\n```{toctree}\n" + "\n".join(names) + "\n```\n")
    command = (sys.executable, "-m", "sphinx", "-j", "2", "-b", "html", ".", "_build/html")

    built = [run(*command, cwd=book.root) for _ in range(2)]

    for once in built:
        assert once.status == 1, once.output
        assert "[alpha] no cell records the value 'nothing'" in once.output
        assert "[alpha] cell 1 of 1 raised ZeroDivisionError" in once.output


def test_book_without_frameworks_is_byte_identical(make_book: Callable[..., Book], tmp_path: Path):
    """The extension changes no byte of a book that does not use it, a running notebook included."""
    book = make_book(plain=(MINIBOOK / "plain.md").read_text(), notebook=(MINIBOOK / "notebook.md").read_text())
    book.write("index", "# Minibook\n\nA page.\n")
    config = book.root / "_config.yml"

    with_extension = built_html(book, tmp_path / "with")
    config.write_text(config.read_text().partition("sphinx:")[0])
    without = built_html(book, tmp_path / "without")

    assert "a single kernel 42" in with_extension["notebook.html"].decode()
    assert with_extension == without


def built_html(book: Book, target: Path) -> dict[str, bytes]:
    """Build a book from nothing and return every file of the site by name."""
    built = book.build("-W", "--keep-going")
    assert built.status == 0, built.output
    (book.root / "_build").rename(target)
    site = target / "html"
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*") if path.is_file()}


def test_variant_without_a_cell_to_run_starts_no_kernel(make_book: Callable[..., Book]):
    """A framework all of whose cells are skipped is shown, and costs nothing."""
    book = make_book(page=page_text(cell("1", "alpha"), cell("2", "beta", "skip-execution")))

    built = book.build("-W", "--keep-going")

    assert (built.status, built.ran()) == (0, [("page", "alpha")])
    assert list(tabs(book.article("page"))[0]) == ["Alpha", "Beta"]
    assert "nothing to run" in book.polybook("status").output
    assert book.build().cells_run == 0
