"""Outputs of one page that are shown on another."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from books import Book, cell, page_text, tabs

DIRECTIVE = "```{{polybook-outputs}} {}\n```\n"


def book_with(make_book: Callable[..., Book], target: str, code: str = "print('made', 40 + {})") -> Book:
    """A book whose front page shows outputs of its page."""
    cells = cell(code.format(1), "alpha") + cell(code.format(2), "beta")
    book = make_book(page=page_text(cell("x = 0"), "(shown)=\n", cells, "Prose.\n"))
    book.write("index", "# Index\n\n" + DIRECTIVE.format(target))
    return book


def texts(book: Book) -> dict[str, str]:
    """What the front page shows, by the title of its tab."""
    return {
        title: panel.select_one(".cell_output").text.strip() for title, panel in tabs(book.article("index"))[0].items()
    }


def test_outputs_are_shown_in_tabs_without_code(make_book: Callable[..., Book]):
    """A front page shows what the cells of a chapter gave, with where it was made, and follows a new run of them."""
    book = book_with(make_book, "page#shown")
    built = book.build("-W", "--keep-going")
    assert built.status == 0, built.output

    assert texts(book) == {"Alpha": "made 41", "Beta": "made 42"}
    assert book.article("index").select(".cell_input") == []
    assert len(book.article("index").select(".polybook-run-line")) == 2

    book.replace("page", "40 + 2", "50 + 2")
    assert book.build("-W", "--keep-going").status == 0
    assert texts(book) == {"Alpha": "made 41", "Beta": "made 52"}


@pytest.mark.parametrize(
    ("target", "code", "told"),
    [
        ("page", "print({})", "index.md:3: ERROR: 'page' names no cell"),
        ("pege#shown", "print({})", "'pege#shown' names no cell"),
        ("page#other", "print({})", "index.md:3: WARNING: page 'page' has no outputs in tabs below the label 'other'"),
        ("page#shown", "y = {}", "page 'page' has no outputs in tabs below the label 'shown'"),
    ],
)
def test_what_shows_nothing_is_told(make_book: Callable[..., Book], target: str, code: str, told: str):
    """A page or a label that is not there, and cells that gave nothing, are told with line and remedy."""
    book = book_with(make_book, target, code)

    assert told in book.build().output
