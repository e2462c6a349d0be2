"""Turn an exercise's MyST prose into Markdown that any notebook shows: boxes, tabs, links and constants resolved.

Knows one framework at a time. Pure: text in, text out; faults are told with their lines.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from coursework.myst import BOXES, Block, Tell, blocks

_SPAN = re.compile(r"(?P<marks>`+)(?!`).+?(?<!`)(?P=marks)(?!`)", re.DOTALL)
_CONSTANT = re.compile(r"\{\{\s*(?P<name>[^{}]*?)\s*\}\}")
_IN_MATHS = re.compile(r"(?<![\\$])\$(?!\s)[^$\n]*\{\{[^$\n]*\$")
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]\\]|\\.|\[[^\[\]]*\])*)\]\((?P<target>[^)\s]*)\)")
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_LABEL = re.compile(r"\([^()\s]+\)=[ \t]*")
_FENCE = re.compile(r"`{3,}|~{3,}")


@dataclass(frozen=True)
class Reader:
    """For whom prose is written.

    Attributes:
        framework: Whose tabs are kept.
        constants: What stands in place of ``{{ name }}``.
        page: The exercise's own page in the site, such as ``exercises/the-total/exercise``.
        site: Where the site is published; empty if nobody can go there.
        exists: Whether the site has this page; given its path without an ending.
    """

    framework: str
    constants: Mapping[str, Any]
    page: str
    site: str = ""
    exists: Callable[[str], bool] = lambda _: True


def markdown(source: str, line: int, reader: Reader, tell: Tell) -> str:
    """Write prose as plain Markdown.

    Args:
        source: The prose, in MyST.
        line: The line of its file that it begins in.
        reader: For whom.
        tell: Called for each fault with its line, what was found and what to do.
    """
    return "\n".join(_lines(blocks(source.split("\n"), line, tell), reader, tell)).strip("\n")


def _lines(found: Iterator[Block], reader: Reader, tell: Tell) -> list[str]:
    """Write blocks, with one empty line around each box: what follows would otherwise be a part of it."""
    lines: list[str] = []
    after_box = False
    for block in found:
        if block.name:
            inner = _lines(blocks(block.body, block.body_line, tell, inside=block.name), reader, tell)
            boxed = _boxed(block, "\n".join(inner).strip("\n").split("\n") if any(inner) else [], reader, tell)
            lines += ["", *boxed] if boxed and lines and lines[-1].strip() else boxed
            after_box = True
            continue
        plain = list(_plain(block, reader, tell))
        if after_box:
            plain = list(itertools.dropwhile(lambda line: not line.strip(), plain))
            plain = ["", *plain] if lines and lines[-1].strip() else plain
        lines += plain
        after_box = False
    return lines


def _boxed(block: Block, inner: list[str], reader: Reader, tell: Tell) -> list[str]:
    if block.name == "tab-set":
        return inner
    if block.name == "tab-item":
        return inner if block.options.get("sync") == reader.framework else []
    title = _inline(block.argument, block.line, reader, tell) or BOXES.get(block.name, "")
    if "dropdown" in str(block.options.get("class", "")).split():
        # Of HTML tags each front end lets these through; Markdown inside needs the empty lines.
        plain = title.replace("&", "&amp;").replace("<", "&lt;")
        return ["<details>", f"<summary>{plain}</summary>", "", *inner, "", "</details>"]
    return [f"> {line}".rstrip() for line in [f"**{title}**", "", *inner]]


def _plain(block: Block, reader: Reader, tell: Tell) -> Iterator[str]:
    """Write plain lines: paragraphs are taken whole, since code and links may go over lines' ends."""
    paragraph: list[str] = []
    begin, fence = block.line, ""
    for number, line in enumerate(block.body, block.line):
        opens = _FENCE.match(line.lstrip())
        if fence or opens or not line.strip():
            yield from _paragraph(paragraph, begin, reader, tell)
            paragraph = []
            yield line
            fence = _after(line, fence, opens)
            continue
        if line.startswith(("% ", "+++")) or line == "%" or _LABEL.fullmatch(line):
            continue  # comments, breaks of cells and names of places
        begin = begin if paragraph else number
        paragraph.append(line)
    yield from _paragraph(paragraph, begin, reader, tell)


def _after(line: str, fence: str, opens: re.Match[str] | None) -> str:
    """Give the fence that is open after a line."""
    if not fence:
        return opens[0] if opens else ""
    return "" if line.strip().startswith(fence) and not line.strip().strip(fence[0]) else fence


def _paragraph(lines: list[str], begin: int, reader: Reader, tell: Tell) -> list[str]:
    return _inline("\n".join(lines), begin, reader, tell).split("\n") if lines else []


def _inline(text: str, line: int, reader: Reader, tell: Tell) -> str:
    """Resolve what stands within a paragraph; code stays as it is."""
    spans = [match[0] for match in _SPAN.finditer(text)]
    # Links may hold code: it stands for itself as a character that no text has.
    bare = _SPAN.sub("\0", text)

    def at(match: re.Match[str]) -> int:
        return line + bare[: match.start()].count("\n")

    for match in re.finditer(r"\{[A-Za-z][\w:.+-]*\}(?=\0)", bare):
        tell(
            at(match), f"the role `{match[0]}` is not allowed.", "Write a link as `[text](../../chapters/x.md#place)`."
        )
    for match in _IN_MATHS.finditer(bare):
        tell(
            at(match),
            f"a constant stands in a formula: {match[0]!r}.",
            "The book leaves formulas alone: write it beside.",
        )

    def constant(match: re.Match[str]) -> str:
        if match["name"] not in reader.constants:
            known = ", ".join(sorted(reader.constants)) or "none"
            tell(
                at(match),
                f"there is no constant {match['name']!r} (known: {known}).",
                "Add it to `constants`, or correct it.",
            )
        return str(reader.constants.get(match["name"], match[0]))

    def link(match: re.Match[str]) -> str:
        return _linked(match, at(match), reader, tell)

    bare = _CONSTANT.sub(constant, _LINK.sub(link, bare))
    left = iter(spans)
    return re.sub("\0", lambda _: next(left), bare)


def _linked(match: re.Match[str], line: int, reader: Reader, tell: Tell) -> str:
    target = match["target"]
    if match["image"]:
        tell(
            line, f"the picture {target!r} would not be in a notebook.", "Draw it in a cell, or link to a page with it."
        )
        return match[0]
    if _ELSEWHERE.match(target):
        return match[0]
    path, mark, anchor = target.partition("#")
    page = (
        posixpath.normpath(posixpath.join(posixpath.dirname(reader.page), path.removesuffix(".md")))
        if path
        else reader.page
    )
    if path and (not path.endswith(".md") or page.startswith(("..", "/")) or not reader.exists(page)):
        tell(
            line, f"the link leads to {target!r}, which is no page of the book.", "Link as `../../chapters/x.md#place`."
        )
    if not reader.site:
        return match["text"]
    address = f"{reader.site.rstrip('/')}/{page}.html?framework={reader.framework}{mark}{anchor}"
    return f"[{match['text']}]({address})"
