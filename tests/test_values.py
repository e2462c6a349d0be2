"""Named values: recorded in a cell, quoted in prose."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest
from books import REPOSITORY, Book, cell, page_text

from asynclab import record


def test_outside_of_a_notebook_nothing_happens(capsys: pytest.CaptureFixture[str]):
    """A script that records values runs as it is, and prints nothing."""
    record("speedup", 2.0)

    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["", "Speed", "speed-up", "1st", "pytorch.speedup", "a b"])
def test_odd_names_are_refused(name: str):
    """A name is one that prose can quote."""
    with pytest.raises(ValueError, match="is no name for a value"):
        record(name, 1.0)


def test_prose_quotes_each_frameworks_value(make_book: Callable[..., Book]):
    """The same name in two frameworks is two values; the cell itself shows nothing."""
    book = make_book(
        page=page_text(
            cell("from asynclab import record"),
            cell("record('answer', 42.123, 'ms')", "alpha"),
            cell("record('answer', 7)", "beta"),
            "Alpha took {glue:text}`alpha.answer`, Beta {glue:text}`beta.answer`.\n",
        )
    )
    shutil.copytree(REPOSITORY / "src" / "asynclab", book.root / "asynclab")

    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    assert "Alpha took 42.1 ms, Beta 7." in book.article("page").get_text().replace("'", "")
    assert book.article("page").select(".cell_output") == []
