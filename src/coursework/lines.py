"""Look at Python source by its tokens alone: what was handed in is never compiled or run in this process.

A compiler can be made to crash by a few kilobytes of brackets; a tokenizer cannot.
"""

from __future__ import annotations

import builtins
import io
import keyword
import tokenize
from collections.abc import Collection, Iterator

#: Longer sources are left alone, in characters.
_LONGEST = 50_000
_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER}
#: What the lines within a stub begin with.
_IN_STUBS = ("def", "async", "class", "import", "from", "raise", "@")
_BLOCKS = (tokenize.INDENT, tokenize.DEDENT)
_FAULTS = (tokenize.TokenError, SyntaxError, ValueError, MemoryError, RecursionError)


def normalised(source: str, kept: Collection[str]) -> str:
    """Give a source so that copies with other names, comments, docstrings or spaces become the same text.

    Args:
        source: Python code.
        kept: Names that stay, such as those of the functions that an exercise asks for.
    """
    names: dict[str, str] = {}
    words: list[str] = []
    try:
        for line in _logical_lines(source):
            text_alone = all(token.type in (tokenize.STRING, tokenize.NEWLINE, *_BLOCKS) for token in line)
            before = ""
            for token in [token for token in line if token.type in _BLOCKS or not text_alone]:
                text = {tokenize.INDENT: "{", tokenize.DEDENT: "}", tokenize.NEWLINE: ";"}.get(token.type, token.string)
                if token.type == tokenize.NAME and before != "." and not _fixed(text, kept):
                    text = names.setdefault(text, f"n{len(names)}")
                words.append(text)
                before = token.string
    except _FAULTS:
        return " ".join(source.split())
    return " ".join(words)


def without_calls(source: str, module: str) -> str:
    """Give a source with the statements at its top level that call a module's functions left blank.

    Lines keep their numbers.

    Args:
        source: Python code; given back as it is if it cannot be read.
        module: Such as ``exercises``: a statement ``exercises.check(...)`` goes.
    """
    if f"{module}." not in source:
        return source
    lines = source.split("\n")
    try:
        for line in _logical_lines(source):
            words = [token for token in line if token.type not in _BLOCKS]
            if len(words) > 1 and words[0].string == module and words[1].string == "." and words[0].start[1] == 0:
                for number in range(words[0].start[0] - 1, words[-1].end[0]):
                    lines[number] = ""
    except _FAULTS:
        return source
    return "\n".join(lines)


def unwritten(source: str) -> bool:
    """Whether functions hold nothing but a docstring, imports and what they raise, as a stub does.

    Args:
        source: Python code; what cannot be read was written.
    """
    try:
        lines = [[token for token in line if token.type not in _BLOCKS] for line in _logical_lines(source)]
    except _FAULTS:
        return False
    inside = [line for line in lines if line and line[0].start[1] > 0]
    return all(line[0].type == tokenize.STRING or line[0].string in _IN_STUBS for line in inside)


def _logical_lines(source: str) -> Iterator[list[tokenize.TokenInfo]]:
    if len(source) > _LONGEST:
        raise ValueError(source[:20])
    line: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in _LAYOUT:
            continue
        line.append(token)
        if token.type == tokenize.NEWLINE:
            yield line
            line = []
    if line:
        yield line


def _fixed(word: str, kept: Collection[str]) -> bool:
    return keyword.iskeyword(word) or word in kept or word in vars(builtins)
