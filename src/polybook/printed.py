"""Make one document for print of a built site: all pages in order, with one framework's panels in them.

Sites in, HTML out: the document goes to ``printing.py``, which has a browser draw it. The pages are the built ones, so
that numbers, figures and outputs are those of the site.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from bs4 import BeautifulSoup, Tag

from polybook.errors import PdfFailed
from polybook.paper import keep_framework, settle, shift_headings
from polybook.reading_order import Chapter

#: What a page's number is written as until the first drawing has told it; as wide as most.
UNKNOWN_PAGE = "00"
#: Where links of this form lead elsewhere, or start something.
_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
#: Attributes that name an element of the same page.
_NAMING = ("for", "headers", "aria-controls", "aria-describedby", "aria-details", "aria-labelledby")
_LINKED = ", ".join(["[id]", "[src]", "a[href]", *(f"[{name}]" for name in _NAMING)])
_PARTS = re.compile(r"h[1-6]")


@dataclass(frozen=True)
class Edition:
    """What is printed.

    Attributes:
        site: The folder of the built site.
        framework: The framework's name.
        title: How it is called.
        others: How the other frameworks are called, by name.
        book: The book's title.
        author: Who wrote it; may be empty.
        address: Where the site is published, ending in a slash; empty if that is not known.
    """

    site: Path
    framework: str
    title: str
    others: Mapping[str, str]
    book: str
    author: str = ""
    address: str = ""


@dataclass(frozen=True)
class Entry:
    """A line of the contents.

    Attributes:
        depth: 0 for a part, 1 for a page, 2 for a section.
        text: What it says.
        target: The id that it leads to.
    """

    depth: int
    text: str
    target: str


@dataclass(frozen=True)
class Document:
    """A document for print.

    Attributes:
        soup: The whole of it; numbers of pages are still unknown.
        headings: The text of every heading that its pages have, in order.
    """

    soup: BeautifulSoup
    headings: tuple[str, ...]

    def html(self, numbers: dict[str, int]) -> str:
        """Give its HTML, with the page's number where a target's is known."""
        for place in self.soup.select("[data-page-of]"):
            place.string = str(numbers.get(str(place["data-page-of"]), UNKNOWN_PAGE))
        return str(self.soup)


def printed(edition: Edition, chapters: Sequence[Chapter], style: str) -> Document:
    """Put a site's pages together.

    Args:
        edition: What is printed.
        chapters: The pages, in order.
        style: The style sheet for print.

    Raises:
        PdfFailed: If the site lacks a page, or a page what its author wrote.
    """
    out = BeautifulSoup(_FRAME, "html.parser")
    head, body = out.select("head, body")
    soups = {chapter.docname: _soup(edition, chapter.docname) for chapter in chapters}
    articles = {chapter.docname: _article(edition, chapter, soups[chapter.docname]) for chapter in chapters}
    for sheet in dict.fromkeys(sheet for docname, soup in soups.items() for sheet in _sheets(edition, docname, soup)):
        head.append(out.new_tag("link", rel="stylesheet", href=sheet))
    head.append(_text(out, "title", f"{edition.book}: {edition.title}"))
    head.append(_text(out, "style", f"{style}\n{_running_heads(edition, chapters, articles)}"))
    targets = {
        (f"{docname}.html", str(found["id"])): _new_id(docname, str(found["id"]))
        for docname, article in articles.items()
        for found in article.find_all(id=True)
    }
    contents = list(_entries(chapters, articles))
    body.append(_cover(out, edition))
    body.append(_contents(out, contents))
    headings = tuple(_words(found) for article in articles.values() for found in article.find_all(_PARTS))
    part = None
    for number, chapter in enumerate(chapters):
        article = articles[chapter.docname]
        _rename(edition, chapter.docname, article, targets)
        section = out.new_tag("section", id=_new_id(chapter.docname), attrs={"class": f"printed-page page-{number}"})
        if chapter.part and chapter.part != part:
            section.append(_text(out, "h1", chapter.part, id=_part_id(chapter), attrs={"class": "printed-part"}))
        part = chapter.part
        section.extend(list(article.contents))
        body.append(section)
    return Document(out, headings)


_FRAME = """<!DOCTYPE html>
<html lang="en" id="printed" data-theme="light" data-mode="light"><head><meta charset="utf-8"></head>
<body></body></html>"""


def _article(edition: Edition, chapter: Chapter, soup: BeautifulSoup) -> Tag:
    """Find what an author wrote of a page, and make it what is printed."""
    article = soup.find("article", class_="bd-article") or soup.find("main")
    if not isinstance(article, Tag):
        raise PdfFailed(f"{chapter.docname}.html of the site has no article.\nBuild it with a theme of Jupyter Book.")
    keep_framework(article, edition.framework, edition.others)
    settle(article)
    shift_headings(article, chapter.depth)
    return article


def _soup(edition: Edition, docname: str) -> BeautifulSoup:
    path = edition.site / f"{docname}.html"
    try:
        return BeautifulSoup(path.read_text("utf8"), "html.parser")
    except OSError as error:
        raise PdfFailed(f"{path} cannot be read: {error.strerror}.\nBuild the book first.") from error


def _sheets(edition: Edition, docname: str, soup: BeautifulSoup) -> Iterator[str]:
    """Yield the addresses of a page's style sheets."""
    page = edition.site / f"{docname}.html"
    for link in soup.select("head link[rel~=stylesheet][href]"):
        href = str(link["href"])
        if not _ABSOLUTE.match(href):
            yield _file(page, href)


def _file(page: Path, address: str) -> str:
    """Give the address of a file that a page names: the document lies elsewhere than its pages."""
    path = (page.parent / unquote(urlsplit(address).path)).resolve()
    return path.as_uri()


def _new_id(docname: str, name: str = "") -> str:
    """Name a place of a page in the document, where ids of all pages meet."""
    return "--".join(filter(None, [docname.replace("/", "-"), name]))


def _part_id(chapter: Chapter) -> str:
    return f"part--{_new_id(chapter.docname)}"


def _rename(edition: Edition, docname: str, article: Tag, targets: dict[tuple[str, str], str]) -> None:
    """Make ids those of the document, and have links between pages lead to them."""
    page = edition.site / f"{docname}.html"
    own = {old: new for (path, old), new in targets.items() if path == f"{docname}.html"}
    for found in article.select(_LINKED):
        # A drawing's own ids are named by its attributes and styles in many ways.
        if found.find_parent("svg") is not None:
            continue
        for name in _NAMING:
            if name in found.attrs:
                names = " ".join(own.get(one, one) for one in _value(found, name).split())
                found[name] = names
        if "id" in found.attrs:
            found["id"] = own.get(_value(found, "id"), _value(found, "id"))
        if "src" in found.attrs and not _ABSOLUTE.match(_value(found, "src")):
            found["src"] = _file(page, _value(found, "src"))
        if found.name == "a" and "href" in found.attrs:
            _lead(edition, docname, found, targets)


def _lead(edition: Edition, docname: str, link: Tag, targets: dict[tuple[str, str], str]) -> None:
    """Have a link lead to where it belongs in the document, to the site, or nowhere."""
    href = _value(link, "href")
    if _ABSOLUTE.match(href):
        return
    parts = urlsplit(href)
    here = f"{docname}.html"
    path = posixpath.normpath(posixpath.join(posixpath.dirname(here), unquote(parts.path))) if parts.path else here
    fragment = unquote(parts.fragment)
    pages = {page for page, _ in targets}
    if target := targets.get((path, fragment)):
        link["href"] = f"#{target}"
    elif path in pages and not fragment:
        link["href"] = f"#{_new_id(path.removesuffix('.html'))}"
    elif path not in pages and edition.address:
        link["href"] = urljoin(urljoin(edition.address, here), href)
    else:
        # A place in another framework's panel, or a file that only the site has.
        link.unwrap()


def _value(element: Tag, name: str) -> str:
    """Give an attribute's text."""
    value = element[name]
    return value if isinstance(value, str) else " ".join(value)


def _entries(chapters: Iterable[Chapter], articles: dict[str, Tag]) -> Iterator[Entry]:
    """Yield the lines of the contents: parts, pages and their sections."""
    part = None
    for chapter in chapters:
        if chapter.part and chapter.part != part:
            yield Entry(0, chapter.part, _part_id(chapter))
        part = chapter.part
        title = articles[chapter.docname].select_one(".printed-title")
        yield Entry(1, _words(title) if title else chapter.docname, _new_id(chapter.docname))
        for heading in articles[chapter.docname].select(".printed-section"):
            section = heading.find_parent("section", id=True)
            if section is not None:
                yield Entry(2, _words(heading), _new_id(chapter.docname, _value(section, "id")))


def _words(element: Tag) -> str:
    return " ".join(element.get_text().split())


def _cover(out: BeautifulSoup, edition: Edition) -> Tag:
    cover = out.new_tag("header", attrs={"class": "printed-cover"})
    cover.append(_text(out, "p", edition.book, attrs={"class": "printed-book"}))
    cover.append(_text(out, "p", f"With {edition.title}", attrs={"class": "printed-edition"}))
    for line in filter(None, [edition.author, edition.address]):
        cover.append(_text(out, "p", line))
    return cover


def _contents(out: BeautifulSoup, entries: Iterable[Entry]) -> Tag:
    contents = out.new_tag("nav", attrs={"class": "printed-contents"})
    contents.append(_text(out, "h1", "Contents"))
    for entry in entries:
        line = out.new_tag("p", attrs={"class": f"printed-entry printed-depth-{entry.depth}"})
        link = out.new_tag("a", href=f"#{entry.target}")
        link.append(_text(out, "span", entry.text))
        link.append(_text(out, "span", UNKNOWN_PAGE, attrs={"class": "printed-number", "data-page-of": entry.target}))
        line.append(link)
        contents.append(line)
    return contents


def _running_heads(edition: Edition, chapters: Sequence[Chapter], articles: dict[str, Tag]) -> str:
    """Say on each page which chapter it is of: a named page for each, since Chromium knows no running strings."""
    rules = []
    for number, chapter in enumerate(chapters):
        title = articles[chapter.docname].select_one(".printed-title")
        name, text = f"page-{number}", _words(title) if title else ""
        rules.append(f".{name} {{ page: {name} }}")
        rules.append(f"@page {name} {{ @top-right {{ content: {_quoted(text)} }} }}")
    head = f"{edition.book} \N{MIDDLE DOT} {edition.title}"
    return "\n".join([f"@page {{ @top-left {{ content: {_quoted(head)} }} }}", *rules])


def _quoted(text: str) -> str:
    """Write a text as CSS does; in a `<style>` no `</` may stand."""
    escaped = re.sub(r'[\\"<\n]', lambda found: f"\\{ord(found[0]):x} ", text)
    return f'"{escaped}"'


def _text(out: BeautifulSoup, name: str, text: str, **values: object) -> Tag:
    made: Tag = out.new_tag(name, **values)  # type: ignore[arg-type]
    made.string = text
    return made
