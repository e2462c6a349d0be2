"""Render the templates: every text in them is escaped, whoever wrote it.

`told` is for messages, `prose` for a line, `markdown` for what teachers write.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import jinja2
import markupsafe

#: What stands between backticks is code; nothing else of Markdown means anything.
CODE = re.compile(r"`([^`\n]+)`")
#: What a message's lines begin with that list something.
ITEM = "- "
#: Stands for points that nobody has given yet.
NONE_YET = "\N{EN DASH}"
_FIRST = re.compile(r"[\w.]+")


def render(name: str, **values: Any) -> str:
    """Render a template.

    Args:
        name: Such as ``feedback.html``.
        values: What it shows.
    """
    return _environment().get_template(name).render(points=points, worth=worth, **values)


@functools.cache
def _environment() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    made = jinja2.Environment(autoescape=True, loader=loader, undefined=jinja2.StrictUndefined, trim_blocks=True)
    made.filters |= {"prose": prose, "told": told, "markdown": markdown}
    return made


def points(value: float) -> str:
    """Write points as people do: without needless zeros."""
    return f"{round(value, 2):g}"


def prose(text: str) -> markupsafe.Markup:
    """Give a text as HTML: escaped, with code where backticks stand."""
    parts = CODE.split(text)
    shown = [
        markupsafe.Markup("<code>{}</code>").format(part) if number % 2 else markupsafe.escape(part)
        for number, part in enumerate(parts)
    ]
    return markupsafe.Markup().join(shown)


def told(text: str, before: str = "") -> markupsafe.Markup:
    """Give a message as HTML: paragraphs, with a list where lines begin with a dash.

    Args:
        text: The message.
        before: A word in bold that the first paragraph begins with.
    """
    parts = []
    for listed, lines in itertools.groupby(text.strip().split("\n"), lambda line: line.startswith(ITEM)):
        if listed:
            items = (markupsafe.Markup("<li>{}</li>").format(prose(line.removeprefix(ITEM))) for line in lines)
            parts.append(markupsafe.Markup("<ul>{}</ul>").format(markupsafe.Markup().join(items)))
        else:
            lead = markupsafe.Markup("<strong>{}</strong> ").format(before) if before and not parts else ""
            parts.append(markupsafe.Markup('<p class="told">{}{}</p>').format(lead, prose("\n".join(lines))))
    return markupsafe.Markup("\n").join(parts)


def markdown(text: str) -> markupsafe.Markup:
    """Give Markdown as HTML; HTML in it is text."""
    from markdown_it import MarkdownIt

    return markupsafe.Markup(MarkdownIt("commonmark", {"html": False}).enable("table").render(text))  # noqa: S704


def worth(value: float, most: float, *, waiting: bool = False) -> str:
    """Write the points of a question: a dash where nobody has given any yet, which is no zero."""
    return f"{NONE_YET if waiting else points(value)}/{points(most)}"


def sentence(text: str, names: Collection[str] = ()) -> str:
    """Let a text begin as sentences do; what is the name of something in a program is set as code instead.

    Args:
        text: A message of one sentence or more.
        names: Those of the submission's own functions.
    """
    text = text.strip()
    first = _FIRST.match(text)
    word = first[0].rstrip(".") if first else ""
    after = text[len(word) : len(word) + 1]
    if word in names and after.isspace():
        return f"Your `{word}`{text[len(word) :]}"
    if word[:1].islower() and (after == "(" or re.search(r"[_.]|[a-z][A-Z]", word)):
        end = re.match(r"\([^()`\n]*\)", text[len(word) :])
        word += end[0] if end else ""
        return f"`{word}`{text[len(word) :]}"
    return text[:1].upper() + text[1:]


def closed(text: str) -> str:
    """Let a text end as sentences do."""
    text = text.strip()
    return text if not text or text.endswith((".", "!", "?", "…", ":", ")")) else f"{text}."
