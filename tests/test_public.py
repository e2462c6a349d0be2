"""What a site says to search engines, to previews, and to readers of an address that is not there."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from xml.etree import ElementTree

import pytest
from books import BIN, Book, run
from browsing import Quiet, empty_page
from bs4 import BeautifulSoup
from docutils.core import publish_doctree
from playwright.sync_api import Browser, expect

from polybook.public import description

SITE = "https://example.org/courses/wait"
CONFIG = f"""
title: A Book
author: Me
html: {{baseurl: "{SITE}"}}
only_build_toc_files: true
sphinx:
  extra_extensions: [polybook.public]
  recursive_update: true
  config:
    html_context: {{default_mode: light, social_card: card.png, social_card_alt: "Two lanes."}}
"""
PAGE = '# A *Deep* Page\n\n```{note}\nNot this.\n```\n\nThe first "words" of it.\n\nMore.\n'
OWN = "---\nmyst:\n  html_meta:\n    description: Its own.\n---\n\n# Own\n\nText.\n"


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """A book without frameworks, that is published below a path."""
    root = tmp_path_factory.mktemp("public") / "book"
    (root / "deep").mkdir(parents=True)
    (root / "_config.yml").write_text(CONFIG)
    (root / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters:\n- file: deep/page\n- file: own\n")
    (root / "index.md").write_text("# Index\n\nAll of it.\n")
    (root / "deep/page.md").write_text(PAGE)
    (root / "own.md").write_text(OWN)
    built = run(str(BIN / "jupyter-book"), "build", str(root), "-W", cwd=root, timeout=120)
    assert built.status == 0, built.output
    return Book(root)


def metas(page: BeautifulSoup) -> dict[str, str]:
    """What a page's head says of it, by name."""
    return {tag.get("name") or tag.get("property"): tag.get("content") for tag in page.select("meta")}


def test_page_says_what_it_is_about(book: Book):
    """The first paragraph that stands in no box is the description, for search engines and for previews."""
    found = metas(book.html("deep/page"))

    assert found["description"] == found["og:description"] == "The first “words” of it."
    assert (found["og:title"], found["og:site_name"]) == ("A Deep Page", "A Book")
    assert found["og:url"] == f"{SITE}/deep/page.html"
    assert (found["og:image"], found["og:image:alt"]) == (f"{SITE}/_static/card.png", "Two lanes.")


def test_an_authors_description_stands(book: Book):
    """A page that describes itself in its front matter is described once, in its author's words."""
    described = book.html("own").select("meta[name=description], meta[property='og:description']")
    tags = [tag["content"] for tag in described]

    assert tags == ["Its own.", "Its own."]


def test_each_page_has_one_address(book: Book):
    """The canonical address is below the book's; that of the first page is the book's own. The sitemap lists them."""
    addresses = [book.html(page).select_one("link[rel=canonical]")["href"] for page in ("index", "deep/page", "own")]

    assert addresses == [f"{SITE}/", f"{SITE}/deep/page.html", f"{SITE}/own.html"]
    sitemap = ElementTree.parse(book.root / "_build" / "html" / "sitemap.xml")
    assert sorted(place.text for place in sitemap.iterfind("{*}url/{*}loc")) == sorted(addresses)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Short.", "Short."),
        ("A" * 80 + ". " + "b" * 100, "A" * 80 + "."),
        ("word " * 50, ("word " * 32).strip() + "…"),
    ],
)
def test_a_long_description_ends_well(text: str, expected: str):
    """It ends with a sentence, or else with a whole word."""
    # As in Sphinx, where a lone title is that of a section.
    found = description(publish_doctree(f"Title\n=====\n\n{text}\n", settings_overrides={"doctitle_xform": False}))

    assert found == expected
    assert len(found) <= 160


def test_a_page_without_prose_has_no_description():
    """Where there is no paragraph, nothing is said."""
    assert description(publish_doctree("")) == ""


@pytest.fixture(scope="module")
def address(book: Book) -> Iterator[str]:
    """Where the book is served below its path, by a host that shows its 404.html for what is not there."""

    class Host(Quiet):
        def send_error(self, code: int, *_: object, **__: object) -> None:
            body = Path(self.directory, "404.html").read_bytes()
            self.send_response(code)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(body)

        def translate_path(self, path: str) -> str:
            return super().translate_path(path.removeprefix("/courses/wait"))

    folder = str(book.root / "_build" / "html")
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Host, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_lost_reader_finds_the_way_back(browser: Browser, address: str):
    """Whatever the depth of a dead link, its page loads all that it needs, and its links lead into the site."""
    with empty_page(browser, address) as page:
        missing = []
        page.on("response", lambda got: missing.append(got.url) if got.status == 404 else None)
        page.goto("/courses/wait/gone/for/good.html")

        expect(page.get_by_role("heading", name="Page Not Found")).to_be_visible()
        assert missing == [f"{address}/courses/wait/gone/for/good.html"]
        page.get_by_role("link", name="Begin at the first page").click()
        expect(page.get_by_role("heading", name="Index")).to_be_visible()
        assert page.url == f"{address}/courses/wait/index.html"
