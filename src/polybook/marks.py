"""Write words so that Markdown takes them for words: escapes, marks of emphasis, code and addresses.

Pure text, for ``markdown.py``.
"""

from __future__ import annotations

import re

from sphinx_markdown_builder.contexts import SubContext, SubContextParams

#: What would make a list, a heading, a quotation or a line of the first words of a paragraph.
_BLOCK_START = re.compile(r"#{1,6}(?=\s|$)|[+-](?=\s|$)|>|-{3,}$|\d{1,9}(?P<dot>[.)])(?=\s|$)")
#: What HTML, and so a notebook, would take for another character.
_ENTITY = re.compile(r"&(?=#?\w+;)")
_SPECIAL = re.compile(r"[\\*`$_~\[\]]")
_ESCAPE = re.compile(r"\\.")


class Paragraph(SubContext):  # type: ignore[misc]
    """Keeps the first words of a paragraph from being taken for something else."""

    def make(self) -> str:
        """Give the paragraph."""
        text: str = super().make()
        found = _BLOCK_START.match(text)
        if not found:
            return text
        at = found.start("dot") if found["dot"] else 0
        return f"{text[:at]}\\{text[at:]}"


class Marked(SubContext):  # type: ignore[misc]
    """Stands between two marks of emphasis, whatever is in it.

    The translator's own puts a space before what begins with no letter, and what is emphasised inside would end it.

    Args:
        mark: ``*`` or ``**``.
        eol: How many lines end before and after it.
    """

    def __init__(self, mark: str, eol: int = 0) -> None:
        """Begin with nothing in it."""
        super().__init__(SubContextParams(eol, eol))
        self._mark = mark

    def make(self) -> str:
        """Give it with its marks; with none if there is nothing in it."""
        text: str = super().make()
        words = text.strip()
        mark = self._mark.replace("*", "_") if self._mark in _ESCAPE.sub("", words) else self._mark
        return text.replace(words, f"{mark}{words}{mark}", 1) if words else text


def escaped(text: str) -> str:
    """Write a text so that nothing in it is taken for Markdown, maths or HTML."""
    return _SPECIAL.sub(r"\\\g<0>", _ENTITY.sub("&amp;", text)).replace("<", "&lt;")


def quoted(address: str) -> str:
    """Write an address so that it ends where it should."""
    return address.replace(" ", "%20").replace("(", "%28").replace(")", "%29")


def code_span(text: str) -> str:
    """Write code in a line, between as many backticks as it takes."""
    fence = "`" * (1 + _longest(text))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def fence_for(text: str) -> str:
    """Give what stands above and below code, at least three backticks."""
    return "`" * max(3, 1 + _longest(text))


def _longest(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
