"""Draw formulas as MathML while the book is built, so that a page needs no script and no font for them.

An extension of its own (``polybook.mathml``), chosen by ``html_math_renderer: mathml``. Every current browser draws
MathML Core by itself, also from a file and inside of a template, and screen readers read it.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

# Names of functions are operators to latex2mathml, with an operator's wide spaces; a reader expects "n max(a, b)".
_FUNCTION = re.compile(r"(?P<before></m(?:i|n|sub|sup|row|frac)>)?<mo>(?P<name>[A-Za-z]{2,})</mo>")
_THIN = '<mspace width="0.167em" />'
_APPLIED = "<mo>&#x02061;</mo>"
_NAME = re.compile(r"<mi>(?=[A-Za-z]{2})")
# A command that latex2mathml does not know becomes a quantity of that name.
_UNKNOWN = re.compile(r">(\\[A-Za-z]+)<")
_TAG = re.compile(r"<[^>]*>")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def mathml(formula: str, *, block: bool = False) -> str:
    """Turn a formula of LaTeX into a MathML element.

    Raises:
        ValueError: If it is no formula that can be drawn.
    """
    # Here: it reads large tables, and most builds write no page.
    from latex2mathml.converter import convert

    try:
        drawn = str(convert(formula, display="block" if block else "inline"))
    except Exception as error:
        # Its errors have no base of their own but Exception.
        raise ValueError(" ".join(filter(None, [type(error).__name__, str(error)]))) from error
    if unknown := _UNKNOWN.search(drawn):
        raise ValueError(f"{unknown[1]} is unknown")
    return _NAME.sub('<mi mathvariant="normal">', _FUNCTION.sub(_named, drawn))


def plain(formula: str) -> str:
    """Give a formula's characters alone, such as ``n (t1+t2)``; the formula itself if it cannot be drawn."""
    from html import unescape

    try:
        spaced = re.sub(r"<mspace\b[^>]*>", " ", mathml(formula).replace(_APPLIED, ""))
        return unescape(_TAG.sub("", spaced))
    except ValueError:
        return formula


def visit_math(translator: Any, node: nodes.math) -> None:
    """Write a formula in a line."""
    translator.body.append(_drawn(translator, node, block=False))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula of its own, with its number and its link."""
    from sphinx.locale import _
    from sphinx.util.math import get_node_equation_number

    translator.body.append(translator.starttag(node, "div", CLASS="math notranslate nohighlight polybook-formula"))
    if node["number"]:
        translator.body.append(f'<span class="eqno">({get_node_equation_number(translator, node)})')
        translator.add_permalink_ref(node, _("Link to this equation"))
        translator.body.append("</span>")
    translator.body.append(f"{_drawn(translator, node, block=True)}</div>\n")
    raise nodes.SkipNode


def _named(found: re.Match[str]) -> str:
    space = found["before"] + _THIN if found["before"] else ""
    return f"{space}<mi>{found['name']}</mi>{_APPLIED}"


def _drawn(translator: Any, node: nodes.math | nodes.math_block, *, block: bool) -> str:
    formula = node.astext()
    try:
        return mathml(formula, block=block)
    except ValueError as error:
        logger.warning(
            "the formula %r cannot be drawn (%s); it is shown as it was typed",
            formula, error, location=node, type="polybook", subtype="formula",
        )  # fmt: skip
        return f"<code>{translator.encode(formula)}</code>"
