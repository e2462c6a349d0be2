"""What ``waits`` finds: a blocking call; and how many of them are shown to a reader."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from asynclab.digits import three_digits
from asynclab.places import Place
from asynclab.watching import Kind

#: Of a table, in columns; it fits a page.
WIDTH = 80

_LEAST_TEXT = 16  # of a line of code in it
_LEAST_S = 1e-4  # below, a table does not tell how long
_ELSEWHERE = "would wait if their tensors were on a GPU (here PyTorch waits for nothing):"


@dataclass(frozen=True)
class BlockingCall:
    """A line of code that makes a call which may wait.

    Attributes:
        call: The call, such as ``"item()"``.
        kind: How it waits, and what to do about it.
        place: The innermost line outside of the frameworks that made it.
        program: The line of the program that led there, if ``place`` is in an installed package.
        elsewhere: Whether it cannot wait on this machine, but would if its tensors were on a GPU.
        count: How often it was made.
        ready: How often it found ready what it needed, and did not wait.
        waited_s: How long the program was held up by it in all, in seconds.
    """

    call: str
    kind: Kind
    place: Place
    program: Place | None
    elsewhere: bool
    count: int
    ready: int
    waited_s: float

    @property
    def file(self) -> str:
        """The file of the line."""
        return self.place.file

    @property
    def line(self) -> int:
        """The number of the line."""
        return self.place.line

    @property
    def waited(self) -> bool:
        """Whether it waited at all."""
        return self.count > self.ready and not self.elsewhere

    @property
    def is_barrier(self) -> bool:
        """Whether it waited, or would wait on a GPU."""
        return self.waited or self.elsewhere


def table(calls: Sequence[BlockingCall], width: int = WIDTH) -> str:
    """Tell what waited, where, how often and how long; what would wait on a GPU; and what did not.

    Args:
        calls: What was found.
        width: In columns; a place or a call that is very long may make it wider.

    Returns:
        Lines of text.
    """
    return "\n".join(_lines(calls, width)) or "no blocking calls"


def advice(calls: Iterable[BlockingCall]) -> str:
    """Say for each kind of wait among the calls what to do about it, in the order of the calls."""
    kinds: dict[Kind, list[str]] = {}
    for each in calls:
        if each.is_barrier:
            kinds.setdefault(each.kind, []).append(each.call)
    return "\n".join(
        f"{', '.join(dict.fromkeys(calls))}: {kind.why}.\n{textwrap.indent(_wrapped(kind.advice), '    ')}"
        for kind, calls in kinds.items()
    )


def _lines(calls: Sequence[BlockingCall], width: int) -> Iterator[str]:
    waited, elsewhere = [each for each in calls if each.waited], [each for each in calls if each.elsewhere]
    if waited:
        rows = [(_milliseconds(each.waited_s), str(each.count), *_made(each)) for each in waited]
        yield from _aligned([("waited", "calls", "where", "call", "line"), *rows], ">><<", width)
    if ready := [f"{each.call} at {_where(each)} ({each.count})" for each in calls if not each.is_barrier]:
        yield _wrapped(f"did not wait, since the numbers were there: {', '.join(ready)}")
        if waited:
            yield "They may wait in place of a call above that is taken away."
    if elsewhere:
        yield _ELSEWHERE
        yield from _aligned(
            [("calls", "where", "call", "line"), *((str(each.count), *_made(each)) for each in elsewhere)], "><<", width
        )


def _aligned(rows: Sequence[Sequence[str]], sides: str, width: int) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(sides))]
    room = max(width - sum(widths) - 2 * len(widths), _LEAST_TEXT)
    for *cells, text in rows:
        aligned = [f"{cell:{side}{wide}}" for cell, side, wide in zip(cells, sides, widths, strict=True)]
        yield "  ".join([*aligned, text if len(text) <= room else f"{text[: room - 1]}…"]).rstrip()


def _made(each: BlockingCall) -> tuple[str, str, str]:
    """Where a call was made, what it is, and its line; of an installed package with the function, whose name tells."""
    text = f"{each.place.function}: {each.place.text}" if each.program else each.place.text
    return _where(each), each.call, text


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _milliseconds(seconds: float) -> str:
    return f"{three_digits(1e3 * seconds)} ms" if seconds >= _LEAST_S else "< 0.1 ms"


def _where(each: BlockingCall) -> str:
    return f"{each.place}, from {each.program}" if each.program else str(each.place)
