"""Give a site's search what it shows: the words of every section, once, and in whose tab they stand.

Used by ``lean.py``; ``theme/static/polybook-search.js`` searches in a page. Sphinx's own search finds pages and then
has to fetch them for its excerpts, which a page opened from a file may not; and it knows no tabs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from polybook.files import write_if_other
from polybook.mathml import plain
from polybook.tabs import OnlyChoice, OtherRun, framework_of

#: In the site; and, for pages that a build does not write again, below the doctrees.
FILE, _FOLDER = "polybook-search-texts.js", "search"
#: What stands in many places alike and is sought in none: where outputs were made, and how.
_SKIPPED = {"polybook-run-line", "polybook-card", "polybook-switch", "toctree-wrapper", "sd-tab-label"}
_SPACE = re.compile(r"\s+")


def collect_texts(app: Sphinx, page: str, _template: str, _context: dict[str, Any], doctree: Any) -> None:
    """Note the sections of a page that is written."""
    from polybook.lean import builder_of

    if doctree is not None and builder_of(app):
        found = json.dumps(list(sections(doctree)), ensure_ascii=False)
        write_if_other(_noted(app, page), found.encode())


def write_texts(app: Sphinx, error: Exception | None) -> None:
    """Write the sections of all pages as a script, which a page may load from a file as well."""
    from polybook.lean import builder_of

    builder = builder_of(app)
    if error is not None or builder is None:
        return
    titles = {name: entry["title"] for name, entry in (app.config.polybook_frameworks or {}).items()}
    pages = [
        {"page": page, "title": title_of(app.env, page), "sections": json.loads(_noted(app, page).read_text("utf8"))}
        for page in sorted(app.env.found_docs)
        if _noted(app, page).is_file()
    ]
    content = json.dumps({"frameworks": titles, "pages": pages}, ensure_ascii=False, separators=(",", ":"))
    write_if_other(Path(builder.outdir) / FILE, f"window.polybookTexts = {content};\n".encode())


def title_of(env: BuildEnvironment, page: str) -> str:
    """Give a page's title."""
    return text_of(env.titles[page]) if page in env.titles else page


def sections(doctree: nodes.document) -> Iterator[dict[str, Any]]:
    """Yield a page's sections, and the terms that it explains: title, anchor, and blocks of text with their framework.

    A text that a section has in several tabs is given once, as every framework's.
    """
    for section in doctree.findall(nodes.section):
        if title := _title(section):
            yield _entry(text_of(title), section, list(_blocks(section)))
    for item in doctree.findall(nodes.definition_list_item):
        if term := _term(item):
            yield _entry(text_of(term), term, list(_blocks(item)))


def text_of(node: nodes.Element) -> str:
    """Give a node's text, with its formulas as they are read, and without what only another run shows."""
    return _SPACE.sub(" ", "".join(_pieces(node))).strip()


def _pieces(node: nodes.Element) -> Iterator[str]:
    for child in node.children:
        if isinstance(child, nodes.math):
            yield plain(child.astext())
        elif isinstance(child, nodes.Text):
            yield child.astext()
        # A dropdown's title has its arrow as raw HTML.
        elif isinstance(child, nodes.Element) and not isinstance(child, OtherRun | addnodes.index | nodes.raw):
            yield from _pieces(child)


def _entry(title: str, node: nodes.Element, blocks: list[tuple[str, str]]) -> dict[str, Any]:
    whose: dict[str, str] = {}
    for framework, text in blocks:
        whose[text] = framework if whose.get(text, framework) == framework else ""
    return {"title": title, "anchor": next(iter(node["ids"]), ""), "blocks": [[of, text] for text, of in whose.items()]}


def _blocks(node: nodes.Element) -> Iterator[tuple[str, str]]:
    """Yield a section's own blocks of text, each with the framework in whose tab it stands."""
    for child in node.children:
        if not isinstance(child, nodes.Element) or _is_skipped(child):
            continue
        if isinstance(child, nodes.math_block):
            yield framework_of(child), plain(child.astext())
        elif isinstance(child, nodes.TextElement | nodes.row):
            if text := _of_block(child):
                yield framework_of(child), text
        else:
            yield from _blocks(child)


def _of_block(node: nodes.Element) -> str:
    if isinstance(node, nodes.row):
        # Its cells say something together only.
        return " · ".join(text_of(cell) for cell in node.children if isinstance(cell, nodes.entry))
    return node.astext().strip() if isinstance(node, nodes.literal_block) else text_of(node)


def _title(section: nodes.section) -> nodes.title | None:
    """Give a section's heading; sphinx-exercise has sections without, which are a part of what they stand in."""
    return next((child for child in section.children if isinstance(child, nodes.title)), None)


def _term(item: nodes.definition_list_item) -> nodes.term | None:
    """Give the term that an item explains, if there are links to it."""
    return next((child for child in item.children if isinstance(child, nodes.term) and child["ids"]), None)


def _is_skipped(node: nodes.Element) -> bool:
    """Tell what is no part of a section's own text: its title, what has an entry of its own, what is not read."""
    if isinstance(node, nodes.definition_list_item) and _term(node):
        return True
    if isinstance(node, nodes.section):
        return _title(node) is not None
    others = nodes.title | nodes.rubric | nodes.thead | nodes.raw | nodes.comment | nodes.Invisible
    if isinstance(node, nodes.term):
        return bool(node["ids"])
    if isinstance(node, others | OtherRun | OnlyChoice):
        # An admonition's title says what it is about.
        return not (isinstance(node, nodes.title) and isinstance(node.parent, nodes.Admonition))
    return bool(_SKIPPED & {*node.get("classes", [])})


def _noted(app: Sphinx, page: str) -> Path:
    return Path(app.doctreedir) / _FOLDER / f"{page}.json"
