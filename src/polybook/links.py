"""``polybook links``: check that every link inside of a built site leads somewhere, in pages, notebooks and archives.

Looks at what was written, not at sources: what a template, a directive or an extension made is checked as well. Links
that leave the site are Sphinx's to check (its builder ``linkcheck``), since that takes a network.
"""

from __future__ import annotations

import argparse
import json
import posixpath
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from polybook.errors import ConfigError

#: Where links of this form lead elsewhere, or start something.
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_LINKING = {
    **dict.fromkeys(("a", "area", "link", "use", "image"), ("href", "xlink:href")),
    **dict.fromkeys(("img", "source", "script", "iframe", "embed", "audio", "video", "track"), ("src", "srcset")),
    "object": ("data",),
}
#: A link or a picture of Markdown, whose text may hold brackets in pairs; and HTML within it.
_MARKDOWN = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|\b(?:href|src)=\"([^\"]+)\"")
_CODE = re.compile(r"(?s)^(`{3,}|~{3,}).*?^\1|`[^`\n]*`", re.MULTILINE)
#: Fragments that every page has, and those that name words on it.
_ALWAYS = re.compile(r"(top)?$|:~:", re.IGNORECASE)


@dataclass(frozen=True, order=True)
class Link:
    """A link.

    Attributes:
        file: The file that it stands in, relative to the site; a file in an archive after ``!``.
        line: Its line there, from 1; 0 where lines say nothing.
        address: Where it leads, as it stands there.
        base: The folder from which its address is meant.
    """

    file: str
    line: int
    address: str
    base: str


@dataclass
class _Page(HTMLParser):
    """What a page of HTML links to, and what can be linked to on it."""

    name: str
    links: list[Link] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._base = posixpath.dirname(self.name)
        self._templates = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note links and ids; what a template holds is not on the page."""
        values = {name: value or "" for name, value in attrs}
        self._templates += tag == "template"
        if not self._templates:
            self.ids |= {values[name] for name in ("id", *(["name"] * (tag == "a"))) if values.get(name)}
        if tag == "base":
            # Of a page that is shown at any depth: all is named from the top.
            self._base = ""
        for name in _LINKING.get(tag, ()):
            for address in _addresses(name, values.get(name, "")):
                self.links.append(Link(self.name, self.getpos()[0], address, self._base))

    def handle_endtag(self, tag: str) -> None:
        """See where a template ends."""
        self._templates -= tag == "template"


def _addresses(name: str, value: str) -> list[str]:
    if name == "srcset":
        return [part.split()[0] for part in value.split(",") if part.strip()]
    return [value.strip()] if value.strip() else []


def links(arguments: argparse.Namespace) -> int:
    """Check a site and say what is wrong; the exit status is 1 if anything is."""
    from polybook.book import open_book

    book = open_book(arguments.book)
    site = arguments.site or book.root / "_build" / "html"
    if not (site / "index.html").is_file():
        raise ConfigError(f"{site} holds no site.\nBuild the book first.")
    checked, dead = check(site, list(book.options.frameworks), str(book.config.get("html_baseurl") or ""))
    for line in dead:
        print(line, file=sys.stderr)
    print(f"{checked} links inside of the site, {len(dead)} of them dead")
    return 1 if dead else 0


def check(site: Path, frameworks: Iterable[str] = (), address: str = "") -> tuple[int, list[str]]:
    """Check the links of a site.

    Args:
        site: Its folder.
        frameworks: The names that a link may choose by ``?framework=``; any, if there are none.
        address: Where the site is published; links to there are links inside of it.

    Returns:
        How many links were checked, and of each that is dead where it stands and what is wrong.
    """
    pages = {page.name: page for page in map(lambda path: _read_page(site, path), _files(site, ".html"))}
    members = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    ids: Mapping[str, set[str]] = {name: page.ids for name, page in pages.items()}
    found = [link for page in pages.values() for link in page.links]
    found += [link for path in _files(site, ".ipynb") for link in _of_notebook(_name(site, path), path.read_bytes())]
    checker = _Checker(members, ids, set(frameworks), f"{address.rstrip('/')}/" if address else "")
    dead = list(checker.check(found))
    for path in _files(site, ".zip"):
        with zipfile.ZipFile(path) as archive:
            inside = [name for name in archive.namelist() if name.endswith(".ipynb")]
            # Whoever unpacked it has nothing but what lies in it.
            own = _Checker(set(archive.namelist()), {}, checker.frameworks, "", f"{_name(site, path)}!")
            dead += own.check(link for name in inside for link in _of_notebook(name, archive.read(name)))
            checker.count += own.count
    return checker.count, dead


@dataclass
class _Checker:
    """Checks links against what there is.

    Attributes:
        members: All files.
        ids: What can be linked to on each page.
        frameworks: Known names; empty if any is right.
        address: Where all that is published; empty if it is not.
        prefix: What is written before a file's name.
        count: How many links were checked.
    """

    members: set[str]
    ids: Mapping[str, set[str]]
    frameworks: set[str]
    address: str
    prefix: str = ""
    count: int = 0

    def check(self, found: Iterable[Link]) -> Iterator[str]:
        """Yield what is wrong with each dead link, once."""
        for link in sorted(set(found)):
            address, base = link.address, link.base
            if self.address and address.startswith(self.address):
                address, base = address.removeprefix(self.address) or "index.html", ""
            if _ELSEWHERE.match(address):
                continue
            self.count += 1
            if wrong := self._wrong(address, base, link.file):
                place = f"{self.prefix}{link.file}:{link.line}" if link.line else f"{self.prefix}{link.file}"
                yield f"{place}: the link to {link.address} is dead: {wrong}."

    def _wrong(self, address: str, base: str, here: str) -> str:
        parts = urlsplit(address)
        path = posixpath.normpath(posixpath.join(base, unquote(parts.path))) if parts.path else here
        if path == "." or parts.path.endswith("/"):
            path = posixpath.normpath(posixpath.join(path, "index.html"))
        if path not in self.members:
            return f"there is no {path}"
        chosen = parse_qs(parts.query).get("framework", [])
        if self.frameworks and (unknown := [name for name in chosen if name not in self.frameworks]):
            return f"no framework is called {unknown[0]!r}"
        fragment = unquote(parts.fragment)
        if path in self.ids and not _ALWAYS.match(fragment) and fragment not in self.ids[path]:
            return f"{path} has no place {fragment!r}"
        return ""


def _files(site: Path, ending: str) -> list[Path]:
    # Themes bring templates and the like there.
    static = site / "_static"
    return sorted(path for path in site.rglob(f"*{ending}") if static not in path.parents)


def _name(site: Path, path: Path) -> str:
    return path.relative_to(site).as_posix()


def _read_page(site: Path, path: Path) -> _Page:
    page = _Page(_name(site, path))
    page.feed(path.read_text("utf8"))
    page.close()
    return page


def _of_notebook(name: str, content: bytes) -> Iterator[Link]:
    """Yield the links in a notebook's prose; what stands in code is none."""
    for cell in json.loads(content)["cells"]:
        if cell["cell_type"] == "markdown":
            text = _CODE.sub("", "".join(cell["source"]))
            for found in _MARKDOWN.finditer(text):
                address = found[1] or found[2]
                # A notebook has places of its own, which Jupyter makes of its headings.
                if not address.startswith(("#", "attachment:")):
                    yield Link(name, 0, address, posixpath.dirname(name))
