"""Links to other pages' notebooks, where a page asks for them by a directive."""

from __future__ import annotations

from collections.abc import Callable

from books import Book, cell, page_text, tabs

SETTINGS = "    polybook_notebooks: {launch: []}\n"


def listing(make_book: Callable[..., Book], *pages: str) -> Book:
    """A book whose page ``other`` asks for the links of some pages."""
    text = "# A list\n\n" + "".join(f"```{{polybook-notebooks}} {page}\n```\n\n" for page in pages)
    book = make_book(page=page_text(cell("x = 1")), other=text)
    config = book.root / "_config.yml"
    config.write_text(config.read_text("utf8") + SETTINGS, "utf8")
    return book


def test_links_of_another_page_follow_its_frameworks(make_book: Callable[..., Book]):
    """A list of pages offers the notebooks of each, a tab a framework."""
    book = listing(make_book, "page")
    built = book.build("-W")
    assert built.status == 0, built.output

    panels = tabs(book.article("other"))[0]
    assert {name: panel.a["href"] for name, panel in panels.items()} == {
        "Alpha": "notebooks/alpha/page.ipynb",
        "Beta": "notebooks/beta/page.ipynb",
    }


def test_a_page_that_has_none_is_told(make_book: Callable[..., Book]):
    """The name of no page, and a page without frameworks, are told with line and remedy."""
    book = listing(make_book, "pege", "index")
    built = book.build()

    assert "other.md:3: " in built.output
    assert "'pege' is no page of this book. Name one of _toc.yml as it stands there." in built.output
    assert "other.md:6: WARNING: the page 'index' has no notebooks: it declares no frameworks." in built.output
    assert tabs(book.article("other")) == []
