"""Say to those who come from outside what a site is: search engines, previews elsewhere, readers of a dead link.

An extension of its own (``polybook.public``). Every page gets a description and what previews show; a book that says
where it is published (``html: baseurl`` in ``_config.yml``) also gets canonical addresses, a ``sitemap.xml`` and a
``404.html`` that works at any depth below that address. A picture for previews is named in ``html_context``:
``social_card``, below ``_static``, and ``social_card_alt``. Parts of the theme get names for screen readers.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from polybook.files import write_if_other
from polybook.searching import text_of

_TEMPLATES = Path(__file__).parent / "templates"
#: What search engines show of a description.
_LONGEST = 160
#: Below that a sentence says too little to be a description alone.
_SHORTEST = 70
_LOST = "404"
_TAG = re.compile(r"<[^>]*>")
#: As docutils writes it.
_OWN = re.compile(r'<meta content="([^"]*)" name="description"')
#: Pixels of a card: what previews of large pictures ask for.
CARD_SIZE = (1200, 630)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the events."""
    app.connect("config-inited", _add_templates)
    app.connect("html-page-context", describe_page)
    app.connect("html-collect-pages", lost_page)
    app.connect("build-finished", write_sitemap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _add_templates(_: Sphinx, config: Config) -> None:
    # First: the themes' own parts, which some of these stand for, are in that list too.
    config.templates_path = [str(_TEMPLATES), *config.templates_path]


def describe_page(app: Sphinx, page: str, _template: str, context: dict[str, Any], doctree: Any) -> None:
    """Add a page's description, what previews show of it, and its canonical address."""
    if not _is_site(app):
        return
    base = _base(app.config.html_baseurl)
    if page == _LOST or not base:
        context["pageurl"] = None
    else:
        context["pageurl"] = _address(app, base, page)
    tags = list(_tags(context, base, description(doctree) if doctree else ""))
    if page == _LOST:
        # First of all: it says what every other address on this page starts from.
        tags = [f'<base href="{html.escape(urlsplit(base).path)}" />'] * bool(base) + [_meta("robots", "noindex")]
    context["metatags"] = "\n".join([*tags, context.get("metatags") or ""])


def description(doctree: nodes.document) -> str:
    """Take a page's description from its first paragraph: whole sentences, or the beginning of one.

    A paragraph in a box or in a tab is none: it does not say what the page is about.
    """
    section = next(iter(doctree.findall(nodes.section)), None)
    paragraphs = (node for node in section.children if isinstance(node, nodes.paragraph)) if section else iter(())
    text = text_of(next(paragraphs, nodes.paragraph()))
    if len(text) <= _LONGEST:
        return text
    end = text.rfind(". ", _SHORTEST, _LONGEST)
    return text[: end + 1] if end >= 0 else textwrap.shorten(text, _LONGEST, placeholder="\N{HORIZONTAL ELLIPSIS}")


def lost_page(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Give the page that a host shows for an address that is not there.

    It is shown below any address, while all that it loads and leads to is named relative to the site's own; its
    ``<base>`` says which. Without ``html: baseurl`` it works at the top of the site only.
    """
    if _is_site(app):
        yield _LOST, {"title": "Page Not Found"}, f"{_LOST}.html"


def write_sitemap(app: Sphinx, error: Exception | None) -> None:
    """List the pages' addresses for search engines."""
    base = _base(app.config.html_baseurl)
    if error is not None or not _is_site(app) or not base:
        return
    places = "".join(
        f"<url><loc>{html.escape(_address(app, base, page))}</loc></url>\n" for page in sorted(app.env.found_docs)
    )
    opening = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n{opening}\n{places}</urlset>\n'
    write_if_other(Path(app.outdir) / "sitemap.xml", text.encode())


def _tags(context: dict[str, Any], base: str, text: str) -> Iterator[str]:
    """Yield what the head of a page says of it; an author's own description (``html_meta``) stands."""
    title = html.unescape(_TAG.sub("", context.get("title") or ""))
    if own := _OWN.search(context.get("metatags") or ""):
        text = html.unescape(own[1])
    elif text:
        yield _meta("description", text)
    yield _property("og:type", "website")
    yield _property("og:title", title)
    yield _property("og:site_name", str(context.get("docstitle") or title))
    if text:
        yield _property("og:description", text)
    if context.get("pageurl"):
        yield _property("og:url", context["pageurl"])
    if base and (card := context.get("social_card")):
        width, height = CARD_SIZE
        yield _property("og:image", urljoin(base, f"_static/{card}"))
        yield _property("og:image:width", str(width))
        yield _property("og:image:height", str(height))
        yield _property("og:image:alt", context.get("social_card_alt") or title)
        yield _meta("twitter:card", "summary_large_image")


def _address(app: Sphinx, base: str, page: str) -> str:
    """Give a page's one address: that of the site for its first page."""
    return base if page == app.config.root_doc else urljoin(base, app.builder.get_target_uri(page))


def _base(address: str | None) -> str:
    """Give the site's address with a slash at its end, without which relative ones would lead beside it."""
    return f"{address.rstrip('/')}/" if address else ""


def _is_site(app: Sphinx) -> bool:
    return app.builder.name in {"html", "dirhtml"}


def _meta(name: str, content: str) -> str:
    return f'<meta name="{name}" content="{html.escape(content)}" />'


def _property(name: str, content: str) -> str:
    return f'<meta property="{name}" content="{html.escape(content)}" />'
