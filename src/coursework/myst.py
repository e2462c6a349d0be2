"""Cut MyST into blocks: runs of plain lines, and directives with their options and bodies.

Knows which directives an exercise may have, not what they mean: that is `source.py`'s and `plain.py`'s. A line
scanner, as fences are lines: the words inside paragraphs stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

#: Boxes; what a reader sees above each.
BOXES = {
    "hint": "Hint",
    "note": "Note",
    "tip": "Tip",
    "warning": "Warning",
    "important": "Important",
    "admonition": "",
}
#: Every directive that an exercise may have, with its options.
DIRECTIVES: Mapping[str, frozenset[str]] = {
    "code-cell": frozenset(),  # its options are told by `source.py`
    "tab-set": frozenset({"sync-group", "class", "name"}),
    "tab-item": frozenset({"sync", "class", "name", "selected"}),
    **{name: frozenset({"class", "name"}) for name in BOXES},
}
Tell = Callable[[int, str, str], None]

_OPENS = re.compile(r"(?P<fence>`{3,}(?=[^`]*$)|~{3,}|:{3,})(?P<info>.*)")
_DIRECTIVE = re.compile(r"[ \t]*\{(?P<name>[^}\s]*)\}[ \t]*(?P<argument>.*?)[ \t]*")
_OPTION = re.compile(r":(?P<key>[\w-]+):(?:[ \t]+(?P<value>.*))?")
_INDENTED = re.compile(r"(?:[ \t]|>|[-*+][ \t]|\d+[.)][ \t])+[ \t]*(?:`{3,}|~{3,}|:{3,})[ \t]*\{(?P<name>[^}]*)\}.*")


@dataclass(frozen=True)
class Block:
    """A run of plain lines, or a directive.

    Attributes:
        name: The directive's name; empty for plain lines.
        argument: What stands behind the name.
        options: The directive's options.
        body: The lines inside; of plain lines they themselves.
        line: The line of the file that it begins in.
        body_line: The line of the file that `body` begins in.
        raw: All its lines, fences included.
    """

    name: str
    argument: str
    options: Mapping[str, Any] = field(repr=False)
    body: list[str] = field(repr=False)
    line: int = 0
    body_line: int = 0
    raw: list[str] = field(default_factory=list, repr=False)


def blocks(lines: list[str], first: int, tell: Tell, *, inside: str = "") -> Iterator[Block]:
    """Cut lines into blocks.

    Args:
        lines: The lines.
        first: The line of the file that they begin in.
        tell: Called for each fault with its line, what was found and what to do.
        inside: The directive whose body they are; empty at top level.
    """
    plain: list[str] = []
    begin = at = 0
    while at < len(lines):
        opens = _OPENS.fullmatch(lines[at])
        end = _end(lines, at, opens["fence"]) if opens else at
        if opens and end == len(lines):
            tell(
                first + at,
                f"the fence `{opens['fence']}` is never closed.",
                "Close it with a line that holds the same.",
            )
        directive = _DIRECTIVE.fullmatch(opens["info"]) if opens else None
        if directive is None:
            if opens and opens["fence"][0] == ":":
                tell(first + at, f"`{lines[at]}` opens no directive.", "Write for example `:::{hint}`.")
            _tell_indented(lines[at], first + at, tell) if not opens else None
            begin = begin if plain else at
            plain += lines[at : end + 1]
        else:
            if plain:
                yield Block("", "", {}, plain, first + begin, first + begin, plain)
                plain = []
            yield _directive(directive, lines[at : end + 1], first + at, tell, inside)
        at = end + 1
    if plain:
        yield Block("", "", {}, plain, first + begin, first + begin, plain)


def _end(lines: list[str], at: int, fence: str) -> int:
    """Give the index of the line that closes a fence."""
    closes = re.compile(rf"{re.escape(fence[0])}{{{len(fence)},}}[ \t]*")
    return next((index for index in range(at + 1, len(lines)) if closes.fullmatch(lines[index])), len(lines))


def _tell_indented(line: str, number: int, tell: Tell) -> None:
    found = _INDENTED.fullmatch(line)
    if found:
        tell(number, f"the directive `{found['name']}` is indented, or in a list.", "Begin its lines at the margin.")


def _directive(match: re.Match[str], raw: list[str], line: int, tell: Tell, inside: str) -> Block:
    name = match["name"]
    fault = _misplaced(name, inside)
    if fault:
        tell(line, *fault)
    options, skipped = _options(raw[1:], line + 1, tell)
    known = DIRECTIVES.get(name)
    for key in sorted(set(options) - known) if known else ():
        allowed = ", ".join(sorted(known or ()))
        tell(line, f"`{name}` has the option `{key}` (known: {allowed}).", "Correct or remove it.")
    if name == "tab-item" and options.get("sync") not in ("mxnet", "pytorch"):
        tell(line, f"this tab has `:sync: {options.get('sync', '')}` (known: mxnet, pytorch).", "Name its framework.")
    if name == "admonition" and not match["argument"]:
        tell(line, "an admonition has no title.", "Write it behind the name: `:::{admonition} Your answer`.")
    if str(options.get("name", "")).startswith("answer-") and (name != "admonition" or inside):
        tell(
            line,
            "a written answer stands inside of something, or is no `admonition`.",
            "Put an admonition at top level.",
        )
    body = raw[1 + skipped : len(raw) - 1]
    return Block(name, match["argument"], options, body, line, line + 1 + skipped, raw)


def _misplaced(name: str, inside: str) -> tuple[str, str] | None:
    """Say why a directive may not stand where it does."""
    if name not in DIRECTIVES:
        return (
            f"the directive `{name}` is not allowed (allowed: {', '.join(DIRECTIVES)}).",
            "Write it as plain Markdown.",
        )
    if name == "code-cell" and inside:
        return f"this code cell is inside of `{inside}`, where nobody runs it.", "Move it to the top level."
    if (name == "tab-item") != (inside == "tab-set"):
        return (
            f"`{name}` stands {'inside of ' + inside if inside else 'at top level'}.",
            "A tab-set holds tab-items alone.",
        )
    return None


def _options(lines: list[str], first: int, tell: Tell) -> tuple[dict[str, Any], int]:
    """Read a directive's options; how many lines they take."""
    import yaml

    if lines and lines[0].strip() == "---":
        end = next((index for index, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
        if not end:
            tell(first, "the options are never closed.", "Close them with a line `---`.")
            return {}, 0
        text, count = "\n".join(lines[1:end]), end + 1
    else:
        found = []
        for line in lines:
            match = _OPTION.fullmatch(line)
            if not match:
                break
            found.append(f"{match['key']}: {match['value'] or ''}")
        text, count = "\n".join(found), len(found)
    try:
        options = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        tell(first, f"the options are no valid YAML: {getattr(error, 'problem', error)}.", "Write `:key: value`.")
        return {}, count
    if not isinstance(options, dict):
        tell(first, "the options are no mapping.", "Write `:key: value`.")
        return {}, count
    return {str(key): value for key, value in options.items()}, count
