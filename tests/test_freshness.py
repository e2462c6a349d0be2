"""What makes cells run again, and what does not: on the minibook, built again and again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

import pytest
from books import Book, cell, page_text, tabs

from polybook.store import Store

MakeBook = Callable[..., Book]


@pytest.fixture
def book(make_book: MakeBook) -> Book:
    """A built book of one page, one cell a framework and one that both run."""
    book = make_book(
        page=page_text(
            "Words.\n\n",
            cell("import lab"),
            cell("print('this is', 'alpha')", "alpha"),
            cell("print('this is', 'beta')", "beta"),
        )
    )
    built = book.build()
    assert (built.status, built.cells_run) == (0, 4), built.output
    return book


def shown(book: Book, label: str) -> str:
    """What a panel of the page's first tab set shows as output."""
    output = tabs(book.article("page"))[0][label].select_one(".cell_output")
    assert output is not None
    return output.get_text().strip()


def test_no_change_runs_nothing(book: Book):
    """A second build reads no page and runs no cell."""
    again = book.build()

    assert (again.status, again.cells_run, again.ran()) == (0, 0, [])
    assert "0 added, 0 changed, 0 removed" in again.output


def test_prose_edit_runs_nothing(book: Book):
    """An edit of prose changes the page and runs no cell."""
    book.replace("page", "Words.", "Other words.\n\nMore of them.")

    again = book.build()

    assert (again.status, again.cells_run) == (0, 0)
    assert "Other words." in book.article("page").get_text()
    assert shown(book, "Beta") == "this is beta"


def test_display_tag_runs_nothing(book: Book):
    """A tag that only changes how a cell looks runs no cell."""
    book.replace("page", ":tags: [alpha]", ":tags: [alpha, hide-input]")

    again = book.build()

    assert (again.status, again.cells_run) == (0, 0)
    assert book.article("page").select("details .cell_input")


def test_edit_of_one_framework_runs_that_one_only(book: Book):
    """An edit of a tagged cell runs its framework and recalls the other."""
    book.replace("page", "print('this is', 'beta')", "print('this is', 'a new beta')")

    again = book.build()

    assert again.ran() == [("page", "beta")]
    assert shown(book, "Beta") == "this is a new beta"
    assert shown(book, "Alpha") == "this is alpha"


def test_undoing_an_edit_runs_nothing(book: Book):
    """A run is kept under its code, so that the way back is free."""
    book.replace("page", "'beta')", "'changed')")
    book.build()
    book.replace("page", "'changed')", "'beta')")

    again = book.build()

    assert (again.status, again.cells_run) == (0, 0)
    assert shown(book, "Beta") == "this is beta"


def test_renamed_page_runs_nothing(book: Book):
    """A run belongs to code, not to a file name."""
    text = book.read("page")
    book.keep_only({"other": text})

    again = book.build()

    assert (again.status, again.cells_run) == (0, 0)


def test_edit_of_the_projects_package_runs_everything(book: Book):
    """What kernels import from the project is part of a run's identity; no page need be touched."""
    (book.root / "lab" / "__init__.py").write_text("value = 2\n")

    again = book.build()

    assert again.ran() == [("page", "alpha"), ("page", "beta")]


def test_changed_pins_run_their_framework(book: Book):
    """A changed requirements file makes its framework's runs stale; a changed comment in it does not."""
    pins = book.root / "requirements" / "beta.txt"
    pins.write_text("# a comment\n" + pins.read_text())
    after_comment = book.build()
    pins.write_text(pins.read_text() + "another-package==1.0\n")

    after_pin = book.build()

    assert after_comment.cells_run == 0
    assert after_pin.ran() == [("page", "beta")]


def test_clean_keeps_the_runs(book: Book):
    """``jupyter-book clean`` empties ``_build``, and the next build runs no cell."""
    shutil.rmtree(book.root / "_build")

    again = book.build()

    assert (again.status, again.cells_run) == (0, 0)
    assert shown(book, "Alpha") == "this is alpha"


def test_store_filled_before_the_first_build_is_used(make_book: MakeBook):
    """``python -m polybook run`` runs the cells, the build only shows them."""
    book = make_book(page=page_text(cell("print('a')", "alpha"), cell("print('b')", "beta")))

    ran = book.polybook("run")
    built = book.build()

    assert ran.ran() == [("page", "alpha"), ("page", "beta")]
    assert (built.status, built.cells_run) == (0, 0)
    assert shown(book, "Beta") == "b"


@pytest.mark.parametrize("older", [False, True], ids=["new time stamp", "older time stamp"])
def test_store_refilled_from_outside_changes_the_page(book: Book, older: bool):
    """A run that was made elsewhere is shown on the next build, whatever its file's time stamp says."""
    path = next(path for path in book.store_files() if path.parent.name == "beta")
    found = Store(book.root / ".polybook").get("beta", path.stem)
    assert found is not None
    run = found[1]
    run.cells[1]["outputs"][0]["text"] = "from elsewhere\n"
    Store(book.root / ".polybook").put(run)
    if older:
        os.utime(path, (1, 1))

    again = book.build()

    assert (again.status, again.cells_run) == (0, 0)
    assert shown(book, "Beta") == "from elsewhere"


@pytest.mark.parametrize(
    "damage",
    [lambda raw: raw[: len(raw) // 2], lambda raw: raw.replace(b"this is", b"this was")],
    ids=["truncated", "altered"],
)
def test_unreadable_entry_is_run_again_with_one_warning(book: Book, damage: Callable[[bytes], bytes]):
    """A damaged entry costs a run and one warning, not the build."""
    path = next(path for path in book.store_files() if path.parent.name == "beta")
    path.write_bytes(damage(path.read_bytes()))

    again = book.build()

    assert again.status == 0
    assert again.ran() == [("page", "beta")]
    assert again.output.count("is unreadable and ignored") == 1
    assert Store(book.root / ".polybook").get("beta", path.stem) is not None
    assert "is unreadable" not in book.build().output


def test_removed_framework_is_no_longer_shown(book: Book):
    """A framework that a page no longer declares leaves no tab behind."""
    text = book.read("page").replace("[alpha, beta]", "[alpha]").replace(cell("print('this is', 'beta')", "beta"), "")
    book.write("page", text)

    again = book.build()

    assert (again.status, again.cells_run) == (0, 0)
    assert [list(tab_set) for tab_set in tabs(book.article("page"))] == [["Alpha"]]
