"""``polybook pdf``: one PDF a framework, of the built site, drawn by Chromium.

Puts the document together (``printed.py``), has it drawn twice, since only the first drawing tells on which page what
stands, and looks whether all of it fits on the paper. Playwright and pypdf are imported inside functions: the book's
environment has neither, and a build needs neither.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from polybook.errors import ConfigError, EnvironmentFailed, PdfFailed
from polybook.files import write_whole

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from polybook.book import Book
    from polybook.printed import Document, Edition
    from polybook.reading_order import Chapter

STYLE = Path(__file__).parent / "static" / "printed.css"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = ("--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-first-run")
#: The width of A4 less the margins of ``printed.css``, in CSS pixels; as tall as it is of no matter.
_WIDTH, _HEIGHT = 643, 900
#: Milliseconds in which a book is drawn.
_PATIENCE = 300_000
#: Lists what is wider than the paper, and images that are not there.
_TOO_WIDE = """() => {
  const limit = document.documentElement.clientWidth + 1;
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const box = element.getBoundingClientRect();
    const cut = element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX !== "visible";
    if (box.right > limit || (cut && element.clientWidth > 0 && !element.closest("svg, math"))) {
      if (![...element.children].some((child) => child.getBoundingClientRect().right > limit)) found.push(element);
    }
  }
  const broken = [...document.images].filter((image) => image.complete && image.naturalWidth === 0);
  const said = (element) => `${element.closest(".printed-page")?.id ?? "cover"}: ${element.tagName.toLowerCase()} `
    + (element.getAttribute("alt") ?? element.textContent).trim().replace(/\\s+/g, " ").slice(0, 60);
  return [...found.map((element) => `wider than the paper: ${said(element)}`),
          ...broken.map((image) => `an image is missing: ${image.src}`)];
}"""


@dataclass(frozen=True)
class Pdf:
    """A PDF that was written.

    Attributes:
        path: Where it lies.
        pages: How many pages it has.
        faults: What does not fit on the paper, or is missing.
    """

    path: Path
    pages: int
    faults: tuple[str, ...]


def pdf(arguments: argparse.Namespace) -> int:
    """Write the PDFs; the exit status is 1 if anything in one is cut or missing.

    Raises:
        ConfigError: If there is no such framework.
        EnvironmentFailed: If there is no browser, or no Python package that speaks to it.
        PdfFailed: If the site is not built.
    """
    from polybook.book import open_book
    from polybook.reading_order import reading_order

    book = open_book(arguments.book)
    site = arguments.site or book.root / "_build" / "html"
    wanted = _wanted(book, arguments.framework)
    if not (site / "index.html").is_file():
        raise PdfFailed(f"{site} holds no site.\nBuild the book first.")
    chapters = reading_order(book.root / "_toc.yml", site)
    faults = 0
    for framework in wanted:
        made = write_pdf(_edition(book, site, framework), chapters, _target(book, arguments.out, framework))
        for fault in made.faults:
            print(f"WARNING: {fault}", file=sys.stderr)
        faults += len(made.faults)
        size = made.path.stat().st_size / 1e6
        print(f"{os.path.relpath(made.path)}: {made.pages} pages, {size:.1f} MB", flush=True)
    return 1 if faults else 0


def write_pdf(edition: Edition, chapters: list[Chapter], target: Path) -> Pdf:
    """Write the PDF of one framework.

    Args:
        edition: What is printed.
        chapters: The pages, in order.
        target: Where it is to lie; the document that it is drawn from lies beside it, to be looked at in a browser.
    """
    from polybook.printed import printed

    document = printed(edition, chapters, STYLE.read_text("utf8"))
    source = target.with_suffix(".html")
    target.parent.mkdir(parents=True, exist_ok=True)
    faults = _in_browser(lambda page: _drawn(page, document, source, target))
    return Pdf(target, _count(target), tuple(faults))


def _wanted(book: Book, name: str | None) -> list[str]:
    known = list(book.options.frameworks)
    if name and name not in known:
        raise ConfigError(f"framework {name!r} is unknown (known: {', '.join(known)}).\nCorrect the name.")
    return [name] if name else known


def _target(book: Book, out: Path | None, framework: str) -> Path:
    return (out or book.root / "_build" / "pdf") / f"{framework}.pdf"


def _edition(book: Book, site: Path, name: str) -> Edition:
    from polybook.printed import Edition

    titles = {key: framework.title for key, framework in book.options.frameworks.items()}
    address = str(book.config.get("html_baseurl") or "")
    return Edition(
        site=site.resolve(),
        framework=name,
        title=titles.pop(name),
        others=titles,
        book=str(book.config.get("html_title") or book.config.get("project") or ""),
        author=str(book.config.get("author") or ""),
        address=f"{address.rstrip('/')}/" if address else "",
    )


def _in_browser(draw: Callable[[Page], list[str]]) -> list[str]:
    """Start a browser that reaches files of this machine only."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise EnvironmentFailed(f"there is no browser (looked for: {', '.join(BROWSERS)}).\nInstall Debian's chromium.")
    for package in ("playwright", "pypdf"):
        if importlib.util.find_spec(package) is None:
            raise EnvironmentFailed(f"this Python lacks {package}, which draws PDFs.\nUse `make pdf`, which brings it.")
    from playwright.sync_api import sync_playwright

    # Chromium refuses to run as root inside of its sandbox.
    flags = [*_FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=flags)
        try:
            page = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT})
            page.set_default_timeout(_PATIENCE)
            page.route(lambda address: not address.startswith(("file:", "data:")), lambda route: route.abort())
            return draw(page)
        finally:
            browser.close()


def _drawn(page: Page, document: Document, source: Path, target: Path) -> list[str]:
    """Draw twice: the contents' numbers are known from the first time."""
    faults = _draw(page, document.html({}), source, target)
    numbers = page_numbers(target)
    _draw(page, document.html(numbers), source, target)
    if page_numbers(target) != numbers:
        faults.append("the contents name wrong pages: their numbers changed while they were filled in")
    return faults


def _draw(page: Page, html: str, source: Path, target: Path) -> list[str]:
    write_whole(source, html.encode())
    page.emulate_media(media="print", color_scheme="light")
    page.goto(source.as_uri())
    page.evaluate("document.fonts.ready")
    faults: list[str] = page.evaluate(_TOO_WIDE)
    content = page.pdf(prefer_css_page_size=True, print_background=True, outline=True, tagged=True)
    write_whole(target, content)
    return faults


def page_numbers(path: Path) -> dict[str, int]:
    """Give the number of the page, from 1, on which each target of a link in a PDF stands."""
    from pypdf import PdfReader

    reader = PdfReader(path)
    numbers = {}
    for name, target in reader.named_destinations.items():
        number = reader.get_destination_page_number(target)
        if number is not None:
            numbers[str(name).removeprefix("/")] = number + 1
    return numbers


def _count(path: Path) -> int:
    from pypdf import PdfReader

    return len(PdfReader(path).pages)
