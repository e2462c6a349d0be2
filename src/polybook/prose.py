"""Find measured figures that were typed by hand into a page's prose, where no run can ever correct them.

A check beside the build: what was measured is recorded in a cell and quoted with a role. Pure: text in, findings out.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass

from polybook.errors import Failure

#: Directives whose body is shown as it stands, or holds names. Not those of ``page.py``, which would bring YAML along.
LITERAL = {"code-cell", "raw-cell", "code", "code-block", "sourcecode", "literalinclude", "parsed-literal", "raw"}
LITERAL |= {"math", "mermaid", "prompt", "doctest", "testcode", "testoutput", "toctree", "bibliography"}
#: Directives with prose for a body, but a file, an address or a name for an argument.
_NAMING = {"figure", "image", "include", "video", "iframe", "glue", "glue:figure"}
#: How many containers deep markdown-it reads; without a limit a line full of ``>`` would cost quadratic time.
_DEPTH = 20
#: So many columns of indentation make a line code, outside of a paragraph.
_CODE_INDENT = 4

_END_OF_LINE = r"(?:\r\n?+|\n)"
_LINE_END = re.compile(_END_OF_LINE)
_FRONT_MATTER = re.compile(
    rf"-{{3,}}[ \t]*{_END_OF_LINE}(?:[^\r\n]*+{_END_OF_LINE})*?(?:-{{3,}}|\.\.\.)[ \t]*(?=[\r\n]|$)"
)
_FENCE = re.compile(r"(?P<marks>`{3,}+(?=[^`]*$)|~{3,}+|:{3,}+) *(?:\{(?P<name>[^\s}]+)\})?(?P<argument>.*)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?: {1,4}(?! )| |$)")
#: Below a paragraph, a mark without text is an underline, and a number other than 1 is part of the sentence.
_INTERRUPTING_ITEM = re.compile(r"(?:[-*+]|1[.)])(?: {1,4}(?! )| )")
_HEADING = re.compile(r"#{1,6}(?: |$)")
#: A comment, a block break, a label, a rule or an underline: no prose, and the end of a paragraph.
_BREAK = re.compile(r"%|\+\+\+|\([^()]+\)=$|(?:=+|-+|[*_ ]{3,})$")
#: What hides everything up to its end, blank lines included.
_HIDING = re.compile(r"<!--|\$\$|\\begin\{|<(?:pre|script|style)(?=[\s>]|$)")
_HIDING_END = {"<!--": "-->", "$$": "$$", "\\begin{": "\\end{"}
_HIDING_END |= {f"<{tag}": f"</{tag}>" for tag in ("pre", "script", "style")}
#: The directive options that a reader sees.
_SEEN_OPTION = re.compile(r" *:?(?:alt|caption|title):(?P<value>.*)")

#: What is no prose inside a paragraph. What has no name here is replaced by a barrier.
_INLINE = re.compile(
    r"""(?P<ticks>`+) | (?P<comment><!--) | \\(?P<escaped>[!-/:-@\[-`{-~\n]) | (?P<entity>&\#?\w{1,31};)
    | (?P<markup></?[A-Za-z][\w-]*(?:\s+[A-Za-z_:][\w:.-]*(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?)*+\s*/?>
        | \](?:\[[^\[\]]*\] | \((?:<[^<>\n]*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*+)\)?))
    | \$\$(?:[^$\\]++|\\.)++\$\$ | \$(?:[^$\\]++|\\.)++\$ | \{\{[^{}]*\}\} | \[\^[^\[\]\s]+\]:?
    | <[A-Za-z][\w+.-]{1,31}:[^\s<>]*> | (?:https?://|www\.)[^\s<>]* | @[A-Za-z][\w:.-]*
    | ^\ {0,3}\[[^\[\]\n]+\]:\ *\S+\ *(?=$|["'(])""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)

# The patterns are put together from parts that cannot match the same text in two ways (``++`` and ``*+`` keep what they
# took), so that no text takes more than linear time.
_MARK = r"[*_~]{0,3}+"
_SPACE = rf"(?:{_MARK}\s++{_MARK})"
#: Between a number and its unit; the hyphen is that of "50-millisecond".
_GAP = rf"(?:{_MARK}\s*+[-\u2010\u2011]?\s*+{_MARK})"
_END = r"(?![^\W_])"
#: "2 second-order methods" last no two seconds.
_SECOND = rf"(?i:(?:milli|micro|nano|pico)?seconds?){_END}(?!-(?:order|hand|rate|class|best|level|generation)\b)"
_SYMBOL = rf"(?:[mnpu\u00b5\u03bc]s|s|[mu\u00b5\u03bc]?secs?){_END}"
_PER_SECOND = rf"""(?:/\s?(?:s|sec|second){_END}|(?i:per){_SPACE}(?:secs?{_END}|{_SECOND})
    |a{_SPACE}second(?=\s*(?:[.,;:)!?]|$)))"""
_RATE = rf"""(?:(?:[kMGTPE]?FLOPS|[kMGTPE]flops|[kMGT]?bps){_END}
    |(?:[^\W\d_][\w-]{{0,40}}+{_SPACE}?){{0,4}}?{_PER_SECOND})"""
_COMPARED = rf"""(?i:as{_SPACE}(?:fast|slow|quick|long|short|quickly|slowly|much{_SPACE}time)
    |(?:of{_SPACE})?the{_SPACE}(?:time|speed|duration|runtime|throughput|bandwidth)){_END}"""
_FASTER = rf"""(?i:faster|slower|quicker|longer|shorter|speed-?ups?
    |(?:less|more){_SPACE}(?:time|quickly|slowly)){_END}"""
_FOLD = rf"""(?:{_GAP}(?:[\u00d7xX\u2715\u2716\u2a2f]|%|(?i:percent|per{_SPACE}cent))
    |(?:{_SPACE}|-)(?i:times)|-?(?i:fold)){_END}"""
_RATIO = rf"{_FOLD}(?:{_SPACE}|-)(?:{_COMPARED}|{_FASTER})"

#: Digits with separators, an exponent, a power of ten, a scale: 1,000.5 and 3e-4 and 2 x 10^-3 and 5 million.
_DIGITS = r"""(?:(?:\d++|\.\d++)(?:[.,'\u2019]\d++|[ \u00a0\u2007\u2009\u202f]\d{3}(?!\d))*+(?:[eE][-+\u2212]?\d++)?+
    (?:(?:\s*[\u00d7x*\u00b7]\s*10(?=[\^\u2070-\u207b\u00b9\u00b2\u00b3]))?+
        (?:\^\{?[-+\u2212]?\d++\}?|[\u2070-\u207b\u00b9\u00b2\u00b3]++))?+(?:\s(?i:hundred|thousand|million|billion)\b)?+)"""
_WORD = rf"""(?i:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand
    |million|billion|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty)
    (?:{_END}|(?=fold))"""
_WORDS = rf"(?:{_WORD}(?:[\s-]{_WORD}){{0,5}}+)"
_TO = rf"(?:{_GAP}(?:\.{{2,3}}|[\u2026\u2013\u2014\u2212\u00b1-]|to(?=\s)){_SPACE}?)"
_NUMBER = re.compile(
    rf"""(?<![^\W_])(?<![^\W_]_)(?<!\d[.,])(?:(?P<digits>{_DIGITS}(?:{_TO}{_DIGITS})?)|(?P<words>{_WORDS}(?:{_TO}{_WORDS})?)
    |(?P<times>(?i:twice|thrice|double|triple){_END})|(?P<part>(?i:half|third|quarter|fifth|tenth|hundredth){_END}))""",
    re.VERBOSE,
)
#: What makes a measurement of a number, by the kind of number.
_AFTER = {
    "digits": re.compile(rf"{_GAP}(?:{_SYMBOL}|{_SECOND}|{_RATE})|{_RATIO}", re.VERBOSE),
    "words": re.compile(
        rf"""{_GAP}(?:[mn\u00b5\u03bc]s{_END}|(?=\w+s\b|milli|micro|nano){_SECOND}|{_RATE})
        |(?:-|(?<=[Oo]ne){_SPACE}){_SECOND}|{_RATIO}""",
        re.VERBOSE,
    ),
    "times": re.compile(rf"{_SPACE}(?:{_COMPARED}|{_FASTER})", re.VERBOSE),
    "part": re.compile(rf"{_SPACE}(?:{_COMPARED}|(?:of{_SPACE})?a{_SPACE}{_SECOND})", re.VERBOSE),
}
#: Where the number comes last, or is none: "faster by a factor of 3", "orders of magnitude slower".
_WITHOUT = re.compile(
    rf"""\b(?:(?i:faster|slower|quicker|longer|shorter)(?:{_SPACE}\w++){{0,4}}?{_SPACE}by{_SPACE}(?:\w++{_SPACE})?
        (?:a{_SPACE}factor{_SPACE}of{_SPACE}(?:{_DIGITS}|{_WORDS})|(?:{_DIGITS}|{_WORDS}){_FOLD})
    |(?i:speed-?ups?){_SPACE}(?:(?:of|by){_SPACE}a{_SPACE}factor{_SPACE}of{_SPACE}(?:{_DIGITS}|{_WORDS})|of{_SPACE}{_DIGITS})
    |(?:\w++{_SPACE})?(?i:orders?){_SPACE}of{_SPACE}magnitude{_SPACE}(?:{_COMPARED}|{_FASTER}))""",
    re.VERBOSE,
)
#: Decades and round numbers in the plural: "the 1990s", "the 90s", "100s of".
_PLURAL = re.compile(r"(?:1[5-9]|20)\d0s|(?:(?<=the )|(?<=['\u2019]))\d0s|10+s(?= of\b)")


@dataclass(frozen=True, order=True)
class TypedMeasurement:
    """A figure in prose that looks measured.

    Attributes:
        line: 1-based line of the page's source on which it begins.
        found: The figure with its unit, such as ``0.31 s``, without emphasis and line ends.
    """

    line: int
    found: str


def typed_measurements(text: str) -> list[TypedMeasurement]:
    """Find times, rates and ratios of speed that stand in the prose of a MyST page as plain text.

    Args:
        text: The page's source.

    Returns:
        What was found, in the order of the lines. Figures in code, mathematics and roles are none.
    """
    found = []
    for start, block in _Reader(text).read():
        prose, line, place = _visible(block), start, 0
        for begin, end in _places(prose):
            line, place = line + prose.count("\n", place, begin), begin
            figure = re.sub(r"[*~]+|(?<!\w)_+|_+(?!\w)", "", prose[begin:end])
            found.append(TypedMeasurement(line, " ".join(figure.split())))
    return sorted(found)


def prose_failures(path: str, text: str) -> list[Failure]:
    """Say of each measurement that was typed by hand what to do instead.

    Args:
        path: The page's source file, relative to the book.
        text: The source.

    Returns:
        A failure for each, in the order of the lines.
    """
    return [
        Failure(
            path,
            each.line,
            "",
            f"`{each.found}` looks like a measurement typed by hand.",
            "Record it in a cell and quote it with {value}; a figure that was chosen, not measured, is written "
            f"{{given}}`{each.found}`.",
        )
        for each in typed_measurements(text)
    ]


def _places(prose: str) -> list[tuple[int, int]]:
    """Return where the measurements of a block begin and end, in order."""
    places = [match.span() for match in _WITHOUT.finditer(prose)]
    for number in _NUMBER.finditer(prose):
        after = _AFTER[number.lastgroup or ""].match(prose, number.end())
        plural = _PLURAL.match(prose, number.start())
        if after and not (plural and plural.end() == after.end()):
            places.append((number.start(), after.end()))
    return sorted(places)


def _visible(block: str) -> str:
    """Take out of a block what is no prose; its line ends stay, a null keeps apart what stood on both sides."""
    runs = defaultdict(list)
    for run in re.finditer("`+", block):
        runs[len(run[0])].append(run.start())
    last_comment_end = block.rfind("-->")
    parts, place = [], 0
    while token := _INLINE.search(block, place):
        end, instead = token.end(), "\0"
        if token["ticks"]:
            # A run of backticks is closed by the next one of the same length, or is plain text.
            closing = runs[len(token["ticks"])]
            index = bisect_left(closing, end)
            end = closing[index] + len(token["ticks"]) if index < len(closing) else end
        elif token["comment"]:
            end, instead = (block.find("-->", end - 2) + 3 if last_comment_end >= end - 2 else end), ""
        elif token["markup"] or token["escaped"]:
            instead = (token["escaped"] or "").strip()
        elif token["entity"]:
            instead = re.sub(r"\s", " ", html.unescape(token["entity"]))
        parts += [block[place : token.start()], instead, "\n" * block.count("\n", token.start(), end)]
        place = end
    return "".join([*parts, block[place:]])


@dataclass(frozen=True)
class _Container:
    """What lines stand in: a block quote, a list item or a fence.

    Attributes:
        marks: ``>`` for a quote, nothing for a list item, or the fence's own marks.
        width: How many columns of indentation belong to it.
        literal: Whether what it holds is no prose.
    """

    marks: str
    width: int = 0
    literal: bool = False

    @property
    def is_fence(self) -> bool:
        """Whether it lasts until a line closes it."""
        return len(self.marks) > 1


class _Reader:
    """Reads a page line by line, as CommonMark does, and keeps its blocks of prose.

    A directive's body is read as part of the page, since MyST parses it again.
    """

    def __init__(self, text: str) -> None:
        self.lines = _LINE_END.split(text)
        self.blocks: list[tuple[int, str]] = []
        self.block: list[str] = []
        front_matter = _FRONT_MATTER.match(text)
        self.number = len(_LINE_END.findall(front_matter[0])) + 1 if front_matter else 0
        self.first = 0
        self.containers: list[_Container] = []
        #: What part of a directive's options is being read: `?` if they may begin, `:` or `-`; empty if none.
        self.options = ""
        #: The indentation of the option whose text goes on in the next lines; -1 if no reader sees it.
        self.seen_indent = -1
        #: What ends the comment or formula that is being read.
        self.hidden_until = ""
        self.last_lines = {end: self._last_line(end) for end in _HIDING_END.values()}

    def read(self) -> list[tuple[int, str]]:
        """Return the blocks of prose, each with the 1-based line on which it begins."""
        for number in range(self.number + 1, len(self.lines) + 1):
            self.number = number
            self._line(self.lines[number - 1].expandtabs(4).rstrip())
        self._end()
        return self.blocks

    def _last_line(self, piece: str) -> int:
        return next((n for n in range(len(self.lines), 0, -1) if piece in self.lines[n - 1]), 0)

    def _add(self, text: str) -> None:
        if text.strip():
            self.first = self.first if self.block else self.number
            self.block.append(text)

    def _end(self) -> None:
        if self.block:
            self.blocks.append((self.first, "\n".join(self.block)))
            self.block = []

    def _line(self, line: str) -> None:
        rest, kept = self._inside(line)
        left = self.containers[kept:]
        # A paragraph goes on without the marks of its quote or the indentation of its list item.
        if left and not (self.block and _is_plain(rest) and not any(container.is_fence for container in left)):
            self._end()
            del self.containers[kept:]
            self.options = self.hidden_until = ""
        if self.options and self._option(rest):
            return
        if self.containers and self.containers[-1].literal:
            return
        if self.hidden_until:
            _, end, rest = rest.partition(self.hidden_until)
            if not end:
                return
            self.hidden_until = ""
        self._leaf(self._open(rest))

    def _inside(self, line: str) -> tuple[str, int]:
        """Return what a line holds inside the open containers, and how many of these go on.

        The line that closes a fence holds nothing.
        """
        rest = line
        for index, container in enumerate(self.containers):
            inner = rest.lstrip(" ")
            indent = len(rest) - len(inner)
            if container.is_fence:
                if indent < _CODE_INDENT and inner.startswith(container.marks) and not inner.strip(inner[0]):
                    return "", index
                rest = rest[min(indent, container.width) :]
            elif container.marks:
                if indent >= _CODE_INDENT or not inner.startswith(container.marks):
                    return rest, index
                rest = inner[1:].removeprefix(" ")
            elif inner and indent < container.width:
                return rest, index
            else:
                rest = rest[container.width :]
        return rest, len(self.containers)

    def _open(self, rest: str) -> str:
        """Open the quotes and list items that begin here, and return what is inside."""
        while len(self.containers) < _DEPTH:
            inner = rest.lstrip(" ")
            indent = len(rest) - len(inner)
            item = (_INTERRUPTING_ITEM if self.block else _ITEM).match(inner)
            if indent >= _CODE_INDENT or not (item or inner.startswith(">")):
                break
            self._end()
            if item:
                # An item that begins with an empty line has its text one column behind the mark.
                width = indent + len(item[0]) + (not item[0].endswith(" "))
                self.containers.append(_Container("", width))
                rest = rest[width:]
            else:
                self.containers.append(_Container(">"))
                rest = inner[1:].removeprefix(" ")
        return rest

    def _leaf(self, rest: str) -> None:
        """Read what is left of a line when all containers are open."""
        inner = rest.lstrip(" ")
        if len(rest) - len(inner) >= _CODE_INDENT:
            if self.block:
                self._add(inner)
        elif not inner or (_BREAK.match(inner) and (self.block or inner[0] != "=")):
            self._end()
        elif fence := _FENCE.match(inner):
            self._end()
            self._fence(fence, len(rest) - len(inner))
        elif _HEADING.match(inner):
            self._end()
            self._add(inner)
            self._end()
        elif hiding := _HIDING.match(inner):
            self._end()
            self._hide(inner, hiding[0])
        else:
            self._add(inner)

    def _fence(self, fence: re.Match[str], indent: int) -> None:
        marks, name = fence["marks"], fence["name"]
        literal = name in LITERAL if name else marks[0] != ":"
        if name and not literal and name not in _NAMING:
            self._add(fence["argument"])
            self._end()
        if len(self.containers) < _DEPTH:
            self.containers.append(_Container(marks, indent, literal))
            self.options = "?" if name else ""

    def _hide(self, inner: str, start: str) -> None:
        """Skip a comment or formula; one that is never closed is text."""
        end = _HIDING_END[start]
        _, closed, rest = inner[len(start) :].partition(end)
        if closed:
            self._add(rest)
        elif self.last_lines[end] > self.number:
            self.hidden_until = end
        else:
            self._add(inner)

    def _option(self, rest: str) -> bool:
        """Tell whether a line belongs to a directive's options, and keep the text of those that a reader sees."""
        inner = rest.lstrip()
        indent = len(rest) - len(inner)
        if self.options == "?":
            self.options = "-" if rest.startswith("---") else ":"
        elif self.options == "-" and rest.startswith("---"):
            self.options = ""
            self._end()
            return True
        if self.options == ":" and (inner[:1] != ":" or inner.startswith(":::")):
            self.options = ""
            self._end()
            return False
        if not inner or self.options == ":" or not 0 <= self.seen_indent < indent:
            self._end()
        if inner and (self.options == ":" or not 0 <= self.seen_indent < indent):
            seen = _SEEN_OPTION.match(rest)
            self.seen_indent, inner = (indent, seen["value"]) if seen else (-1, "")
        self._add(inner)
        return True


def _is_plain(rest: str) -> bool:
    """Tell whether a line below a paragraph can only be more of its text."""
    inner = rest.lstrip(" ")
    if len(rest) - len(inner) >= _CODE_INDENT or not inner:
        return bool(inner)
    return inner[0] != ">" and not any(p.match(inner) for p in (_ITEM, _FENCE, _HEADING, _BREAK, _HIDING))
