"""What ``waits`` finds: a blocking call; and how many of them are shown to a reader."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from asynclab.digits import three_digits
from asynclab.places import Place
from asynclab.watching import Kind

_WIDTH = 80  # of a table, in columns, unless a place or a call is very long
_LEAST_TEXT = 16  # of a line of code in it
_LEAST_S = 1e-4  # below, a table does not tell how long
_ON_A_CPU = "On a CPU PyTorch waits for nothing: the times are those of the calls. On a GPU each of them would wait."


@dataclass(frozen=True)
class BlockingCall:
    """A line of code that makes a call which may wait.

    Attributes:
        call: The call, such as ``"item()"``.
        kind: How it waits, and what to do about it.
        place: The innermost line outside of the frameworks that made it.
        program: The line of the program that led there, if ``place`` is in an installed package.
        count: How often it was made.
        ready: How often it found ready what it needed, and did not wait.
        waited_s: How long the program was held up by it in all, in seconds.
    """

    call: str
    kind: Kind
    place: Place
    program: Place | None
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
        return self.count > self.ready


def table(calls: Sequence[BlockingCall]) -> str:
    """Tell what waited, where, how often and how long; and what did not."""
    return "\n".join(_lines(calls))


def advice(calls: Iterable[BlockingCall]) -> str:
    """Say for each kind of wait among the calls what to do about it, in the order of the calls."""
    kinds: dict[Kind, list[str]] = {}
    for each in calls:
        if each.waited:
            kinds.setdefault(each.kind, []).append(each.call)
    return "\n".join(
        f"{', '.join(dict.fromkeys(calls))}: {kind.why}.\n{textwrap.indent(_wrapped(kind.advice), '    ')}"
        for kind, calls in kinds.items()
    )


def _lines(calls: Sequence[BlockingCall]) -> Iterator[str]:
    waited, ready = [each for each in calls if each.waited], [each for each in calls if not each.waited]
    if not calls:
        yield "no blocking calls"
        return
    if waited:
        rows = [("waited", "calls", "where", "call", "line"), *map(_row, waited)]
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        room = max(_WIDTH - sum(widths) - 2 * len(widths), _LEAST_TEXT)
        for *cells, text in rows:
            aligned = [f"{cell:{side}{width}}" for cell, side, width in zip(cells, ">><<", widths, strict=True)]
            yield "  ".join([*aligned, text if len(text) <= room else f"{text[: room - 1]}…"]).rstrip()
    if ready:
        places = ", ".join(f"{each.call} at {_where(each)}" for each in ready)
        yield _wrapped(f"did not wait, since their numbers were there: {places}")
    if _torch_on_cpu() and waited:
        yield _wrapped(_ON_A_CPU)


def _row(each: BlockingCall) -> tuple[str, str, str, str, str]:
    return _milliseconds(each.waited_s), str(each.count), _where(each), each.call, each.place.text


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _milliseconds(seconds: float) -> str:
    return f"{three_digits(1e3 * seconds)} ms" if seconds >= _LEAST_S else "< 0.1 ms"


def _where(each: BlockingCall) -> str:
    return f"{each.place}, from {each.program}" if each.program else str(each.place)


def _torch_on_cpu() -> bool:
    torch = sys.modules.get("torch")
    return bool(torch and not torch.cuda.is_available() and not torch.backends.mps.is_available())
