"""Every link inside of a site leads somewhere, in pages, notebooks and archives."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from books import Book

from polybook.links import check


def site(root: Path, **pages: str) -> Path:
    """A site with these pages."""
    for name, body in {"index": "", **pages}.items():
        (root / f"{name}.html").write_text(f"<html><body>\n{body}\n</body></html>", "utf8")
    return root


def notebook(text: str) -> str:
    """A notebook of one cell of prose."""
    return json.dumps({"cells": [{"cell_type": "markdown", "source": [text]}]})


def dead(root: Path, **options: object) -> list[str]:
    """What is wrong with a site's links."""
    return check(root, **options)[1]  # type: ignore[arg-type]


def test_links_that_lead_somewhere_are_fine(tmp_path: Path):
    """Files, places, whole folders, and what is written as the site's own address."""
    root = site(
        tmp_path,
        page='<p id="here"></p><a href="#here">a</a><a href="./">b</a><a href="page.html?x=1#here">c</a>'
        '<a href="https://book.invalid/page.html#here">d</a><a href="mailto:x@y.invalid">e</a><a href="#top">f</a>',
    )

    assert check(root, address="https://book.invalid") == (5, [])


def test_dead_links_are_told_with_their_place(tmp_path: Path):
    """A page, a place, a picture and a framework that are not there, each with file and line."""
    root = site(
        tmp_path, page='\n<a href="gone.html">a</a>\n<a href="index.html#gone">b</a>\n<img src="gone.png">',
        other='<a href="page.html?framework=pytroch">c</a>',
    )  # fmt: skip

    assert dead(root, frameworks=["pytorch"]) == [
        "other.html:2: the link to page.html?framework=pytroch is dead: no framework is called 'pytroch'.",
        "page.html:3: the link to gone.html is dead: there is no gone.html.",
        "page.html:4: the link to index.html#gone is dead: index.html has no place 'gone'.",
        "page.html:5: the link to gone.png is dead: there is no gone.png.",
    ]


def test_what_a_template_holds_is_no_place_on_the_page(tmp_path: Path):
    """A place that a reader sees only after a choice cannot be linked to."""
    root = site(tmp_path, page='<a href="#held">a</a><template><p id="held"></p></template>')

    assert dead(root) == ["page.html:2: the link to #held is dead: page.html has no place 'held'."]


def test_notebooks_are_checked_and_their_code_is_not(tmp_path: Path):
    """A link in a notebook's prose leads to the site; what stands in code is none."""
    root = site(tmp_path)
    (root / "notebooks").mkdir()
    text = "[`x[0]`](../index.html) ![](../gone.svg) `[no](link.html)`\n```\n[no](link.html)\n```\n"
    (root / "notebooks" / "page.ipynb").write_text(notebook(text), "utf8")

    assert dead(root) == ["notebooks/page.ipynb: the link to ../gone.svg is dead: there is no gone.svg."]


def test_archives_are_checked_by_themselves(tmp_path: Path):
    """What an archive's notebooks link to lies in it: the site is not there when it is unpacked."""
    root = site(tmp_path)
    with zipfile.ZipFile(root / "all.zip", "w") as archive:
        archive.writestr("all/a.ipynb", notebook("[b](b.ipynb) [site](../index.html)"))
        archive.writestr("all/b.ipynb", notebook("[a](a.ipynb)"))

    assert dead(root) == ["all.zip!all/a.ipynb: the link to ../index.html is dead: there is no index.html."]


def test_a_built_book_has_no_dead_link(minibook: Book):
    """The command finds nothing wrong with a book, and says so with its exit status when something is."""
    good = minibook.polybook("links")
    page = minibook.root / "_build" / "html" / "index.html"
    text = page.read_text("utf8")
    page.write_text(text.replace("</article>", '<a href="gone.html">x</a></article>'), "utf8")
    bad = minibook.polybook("links")
    page.write_text(text, "utf8")

    assert (good.status, bad.status) == (0, 1), good.output
    assert " links inside of the site, 0 of them dead" in good.output
    assert "the link to gone.html is dead: there is no gone.html." in bad.output
