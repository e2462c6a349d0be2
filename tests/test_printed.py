"""On paper: a PDF a framework of the whole book, and a page as a reader's own browser prints it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from books import Book, cell, copy_minibook
from browsing import empty_page, served
from bs4 import BeautifulSoup
from playwright.sync_api import Browser
from pypdf import PdfReader

from polybook.paper import keep_framework, settle
from polybook.reading_order import Chapter, reading_order

LONG = f'print("{"long line " * 30}")'
PAGES = {
    "part": "# Part of Words\n\n(there)=\n## There\n\nSee {ref}`the code <code>` and [beyond](https://example.org/).\n\n"
    "$$\nx_1^2\n$$\n\n```{dropdown} Folded\nHeld inside.\n```\n",
    "code": "---\nfile_format: mystnb\npolybook:\n  frameworks: [alpha, beta]\n---\n\n(code)=\n# Code\n\n"
    "Back to {ref}`there`.\n\n## Both\n\n"
    + cell('print("only" + "-alpha")', "alpha")
    + cell('print("only" + "-beta")', "beta")
    + "### Long\n\n"
    + cell(LONG, "alpha", "hide-input")
    + "::::{tab-set}\n:sync-group: framework\n\n:::{tab-item} Alpha\n:sync: alpha\n\nProse of alpha.\n:::\n"
    ":::{tab-item} Beta\n:sync: beta\n\nProse of beta.\n:::\n::::\n\n"
    "::::{tab-set}\n\n:::{tab-item} One\n\nFirst way.\n:::\n:::{tab-item} Two\n\nSecond way.\n:::\n::::\n",
}
TOC = """format: jb-book
root: index
parts:
  - caption: The First Part
    chapters:
      - file: part
        sections:
          - file: code
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory, environments: dict[str, Path]) -> Book:
    """A built book with a part, a nested page, and cells of both frameworks."""
    made = copy_minibook(tmp_path_factory.mktemp("printed") / "book", environments, PAGES)
    (made.root / "_toc.yml").write_text(TOC, "utf8")
    built = made.build("-W", "--keep-going")
    assert built.status == 0, built.output
    return made


@pytest.fixture(scope="module")
def pdf(book: Book) -> Path:
    """Its PDF with Alpha."""
    done = book.polybook("pdf", "--framework", "alpha")
    assert done.status == 0, done.output
    return book.root / "_build" / "pdf" / "alpha.pdf"


@pytest.fixture(scope="module")
def text(pdf: Path) -> str:
    """What poppler reads in it."""
    return subprocess.run(["pdftotext", "-layout", pdf, "-"], capture_output=True, text=True, check=True).stdout


def joined(text: str) -> str:
    """A text without any space, which a line's end may have put in or taken away."""
    return re.sub(r"\s+", "", text)


def test_only_the_chosen_framework_is_in_it(text: str):
    """Cells, outputs, prose and records of the other framework are not there, and those of this one are."""
    assert "only-alpha" in text
    assert "Prose of alpha." in text
    assert not re.search(r"only-beta|Prose of beta|outputs in Beta", text)


def test_every_heading_is_there_and_in_the_outline(book: Book, pdf: Path, text: str):
    """Each heading of each page, the part's, and the contents stand in the text and in the reader's outline."""

    def titles(entries: list[object]) -> list[str]:
        return [t for e in entries for t in (titles(e) if isinstance(e, list) else [e["/Title"]])]  # type: ignore[index]

    outline = titles(PdfReader(pdf).outline)
    headings = [
        re.sub(r"\s*#$", "", " ".join(found.get_text().split()))
        for name in ("index", "part", "code")
        for found in book.article(name).find_all(re.compile("h[1-6]"))
    ]
    assert len(headings) == 6
    assert ["Contents", headings[0], "The First Part", *headings[1:]] == outline
    assert all(joined(heading) in joined(text) for heading in headings)


def test_no_line_of_code_is_cut(book: Book, text: str):
    """A line that is wider than the paper is wrapped, and a cell that is folded on the page is open."""
    cells = [
        found.get_text() for found in book.article("code").select(".tag_alpha pre") if "outputs in" not in str(found)
    ]
    assert any(LONG in code for code in cells)
    for code in cells:
        assert all(joined(line) in joined(text) for line in code.splitlines())


def test_what_is_folded_or_in_other_tabs_is_open(text: str):
    """A dropdown's content, and both panels of tabs that are no frameworks'."""
    assert all(words in text for words in ("Folded", "Held inside.", "One", "First way.", "Two", "Second way."))


def test_links_lead_to_where_the_contents_say(pdf: Path):
    """Links between pages lead inside of the PDF, all of them to places that are there; others lead out."""
    reader = PdfReader(pdf)
    links = [found.get_object() for page in reader.pages for found in page.get("/Annots") or []]
    targets = [str(link["/Dest"]).removeprefix("/") for link in links if "/Dest" in link]
    outside = {str(link["/A"]["/URI"]) for link in links if "/URI" in link.get("/A", {})}
    places = {str(name).removeprefix("/"): target for name, target in reader.named_destinations.items()}

    assert set(targets) <= {*places}
    assert {"code--code", "part--there"} <= set(targets)
    assert outside == {"https://example.org/"}
    contents = reader.pages[1].extract_text()
    for title, place in (("Part of Words", "part"), ("There", "part--there"), ("Code", "code")):
        number = reader.get_destination_page_number(places[place])
        assert number is not None
        assert re.search(rf"{title}\s*{number + 1}\b", contents)


def test_pages_are_numbered_and_say_where_they_are(pdf: Path):
    """All but the cover have a number; a page's head names the book, the framework and the chapter."""
    pages = [page.extract_text() for page in PdfReader(pdf).pages]

    assert "Minibook \N{MIDDLE DOT} Alpha" not in pages[0]
    assert all("Minibook \N{MIDDLE DOT} Alpha" in page for page in pages[1:])
    assert all(re.search(rf"^{number}$", page, re.MULTILINE) for number, page in enumerate(pages[1:], start=2))


def test_formulas_are_drawn_and_not_typed(text: str):
    """A formula that waits for MathJax on the page is drawn as MathML."""
    assert r"\[" not in text
    assert "x_1" not in text


def test_an_unknown_framework_is_told(book: Book):
    """The known ones are named."""
    done = book.polybook("pdf", "--framework", "gamma")

    assert done.status == 2
    assert "framework 'gamma' is unknown (known: alpha, beta)." in done.output


def test_a_browser_prints_what_is_chosen(book: Book, browser: Browser, tmp_path: Path):
    """A reader's own print has the chosen panels, no sidebar, open dropdowns, whole code, and no addresses."""
    with served(book.root / "_build" / "html") as address, empty_page(browser, address) as page:
        page.goto("code.html?framework=beta")
        page.pdf(path=tmp_path / "code.pdf")
        page.goto("part.html")
        page.pdf(path=tmp_path / "part.pdf")
        page.goto("code.html?framework=alpha")
        page.pdf(path=tmp_path / "alpha.pdf")
        page.emulate_media(media="print")
        wide = page.evaluate(
            "[...document.querySelectorAll('article pre')].filter((code) => code.scrollWidth > code.clientWidth + 1)"
            ".length"
        )
    beta, part, alpha = (
        "".join(page.extract_text() for page in PdfReader(tmp_path / f"{name}.pdf").pages)
        for name in ("code", "part", "alpha")
    )

    assert "only-beta" in beta
    assert "Prose of beta." in beta
    assert "only-alpha" not in beta
    assert "Prose of alpha." not in beta
    assert re.search(r"Beta \N{MIDDLE DOT} \d+ \w+ 20", beta)
    assert "Held inside." in part
    assert not re.search(r"example\.org|Minibook|Search", part)
    assert joined(LONG) in joined(alpha)
    assert wide == 0


def test_a_panel_takes_the_place_of_its_tab_set():
    """Also inside of another one; a tab set without the framework goes."""

    def tabs(name: str, content: str) -> str:
        return (
            f'<div class="sd-tab-set"><input><label class="sd-tab-label" data-sync-group="framework" '
            f'data-sync-id="{name}">L</label><div class="sd-tab-content">{content}</div></div>'
        )

    article = BeautifulSoup(
        f"<article>{tabs('a', tabs('a', 'in') + tabs('b', 'out'))}</article>", "html.parser"
    ).article
    assert article is not None
    keep_framework(article, "a", {"b": "B"})

    assert article.get_text() == "in"
    assert article.select(".sd-tab-set") == []


def test_a_formula_that_cannot_be_drawn_stays_as_typed():
    """Nothing is lost of what its author wrote."""
    article = BeautifulSoup(r'<article><span class="math">\(\nonsense{x}\)</span></article>', "html.parser").article
    assert article is not None
    settle(article)

    assert article.get_text() == r"\(\nonsense{x}\)"


def test_pages_stand_in_the_order_of_the_contents(tmp_path: Path):
    """Parts, nested pages and patterns, each with how deep it stands."""
    toc = "format: jb-book\nroot: index\nparts:\n  - caption: P\n    chapters:\n      - file: a\n        sections:\n"
    (tmp_path / "_toc.yml").write_text(f"{toc}          - file: b\n  - chapters:\n      - glob: more/*\n", "utf8")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "c.html").touch()

    assert reading_order(tmp_path / "_toc.yml", tmp_path) == [
        Chapter("index", "", 0),
        Chapter("a", "P", 1),
        Chapter("b", "P", 2),
        Chapter("more/c", "", 0),
    ]
