"""The table of every run that a book shows."""

from __future__ import annotations

from collections.abc import Callable

from books import Book, cell, page_text


def rows(book: Book) -> list[list[str]]:
    """The table's rows, as texts."""
    return [
        [entry.get_text(strip=True) for entry in row.select("td")] for row in book.article("index").select("tbody tr")
    ]


def test_table_lists_every_page_and_framework(make_book: Callable[..., Book]):
    """A row for each page and framework says when it was made and how many cells ran; the page is linked."""
    book = make_book(
        page=page_text(cell("1", "alpha"), cell("2", "beta"), cell("3", "beta"), title="A page"),
        second=page_text(cell("4", "alpha"), cell("5", "beta"), title="Second"),
    )
    book.write("index", "# Index\n\n```{polybook-runs}\n```\n")

    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    found = rows(book)
    assert [[*row[:2], row[2].removesuffix(", noisy")] for row in found] == [
        ["A page", "Alpha", "fresh"],
        ["A page", "Beta", "fresh"],
        ["Second", "Alpha", "fresh"],
        ["Second", "Beta", "fresh"],
    ]
    assert [row[5] for row in found] == ["1", "2", "1", "1"]
    assert all(row[3][:2] == "20" and float(row[4]) > 0 for row in found)
    assert book.article("index").select_one("td a[href='page.html']")


def test_table_follows_a_run_that_changed(make_book: Callable[..., Book]):
    """The page that holds the table is written again when another page's run changes, though nobody touched it."""
    book = make_book(page=page_text(cell("1", "alpha"), cell("2", "beta")))
    book.write("index", "# Index\n\n```{polybook-runs}\n```\n")
    book.build()
    before = rows(book)
    book.replace("page", "\n2\n", "\n2\n3\n")
    book.write("page", book.read("page") + cell("4", "beta"))

    assert book.build("-W", "--keep-going").status == 0

    after = rows(book)
    assert after[0] == before[0]
    assert (before[1][5], after[1][5]) == ("1", "2")


def test_table_says_what_was_not_run(make_book: Callable[..., Book]):
    """Without execution a variant is listed as not run, and a book without framework pages says so."""
    book = make_book(page=page_text(cell("1", "alpha"), cell("2", "beta")))
    book.write("index", "# Index\n\n```{polybook-runs}\n```\n")
    config = book.root / "_config.yml"
    config.write_text(config.read_text().replace("  timeout: 60", "  execute_notebooks: 'off'"))
    book.build()
    not_run = rows(book)
    book.write("page", "# Plain\n")

    book.build()

    assert [row[2] for row in not_run] == ["not run", "not run"]
    assert not_run[0][3:5] == ["", ""]
    assert "No page declares a framework." in book.article("index").get_text()
