"""Time a function several times, and say how far the times agree.

The companion of ``timing`` for a figure that is to be trusted: one measurement cannot tell what chance has added.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from asynclab.digits import decimals, time_unit
from asynclab.errors import InvalidNumberError, UnsupportedValueError
from asynclab.sync import Wait, synchronize
from asynclab.timing import find_wait
from asynclab.values import record

#: Up to this spread repeated times agree; above the second one their median is no figure.
STEADY_UP_TO, FIGURE_UP_TO = 0.1, 0.25

_FEWEST_REPEATS = 3  # below, quartiles say nothing
_DECIMALS_OF_SECONDS = 4  # as in the lines of Benchmark


@dataclass(frozen=True, repr=False)
class Repeated:
    """The times of a repeated measurement; shows itself as a line with median and quartiles.

    Attributes:
        seconds: Duration of each repetition in seconds, in their order; at least three.
    """

    seconds: tuple[float, ...]

    @property
    def median_s(self) -> float:
        """The median in seconds."""
        return statistics.median(self.seconds)

    @property
    def quartiles_s(self) -> tuple[float, float]:
        """The first and the third quartile in seconds: half of the repetitions lie between them."""
        first, _, third = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return first, third

    @property
    def spread(self) -> float:
        """How far the quartiles lie apart, relative to the median: 0.12 for 12 %."""
        first, third = self.quartiles_s
        return (third - first) / self.median_s if self.median_s else math.inf

    @property
    def steady(self) -> bool:
        """Whether the repetitions agree: a spread of at most 10 %."""
        return self.spread <= STEADY_UP_TO

    @property
    def is_figure(self) -> bool:
        """Whether the median may be called a figure: a spread of at most 25 %."""
        return self.spread <= FIGURE_UP_TO

    def record(self, name: str) -> None:
        """Record the median for prose, in the unit in which it reads best, with its spread.

        Args:
            name: As for `asynclab.record`.

        Raises:
            InvalidNameError: If prose cannot quote the name.
            InvalidNumberError: If the median is 0, so that there is no spread.
        """
        unit, factor = time_unit(self.median_s)
        record(name, self.median_s * factor, unit, spread=self.spread)

    def __str__(self) -> str:
        """Say the median and between which times half of the repetitions lie, or that this is no figure."""
        unit, factor = time_unit(self.median_s)
        places = _DECIMALS_OF_SECONDS if unit == "s" else decimals(self.median_s * factor)

        def written(seconds: float) -> str:
            return f"{seconds * factor:.{places}f}"

        count = len(self.seconds)
        if not self.is_figure:
            between = f"{written(min(self.seconds))} to {written(max(self.seconds))} {unit}"
            return f"no figure: {count} repetitions spread by {_percent(self.spread)} ({between})"
        first, third = (written(quartile) for quartile in self.quartiles_s)
        line = f"{written(self.median_s)} {unit} (median of {count}, half of them between {first} and {third} {unit})"
        return line if self.steady else f"{line}; spread {_percent(self.spread)}: read it with care"

    # A notebook shows what the last line of a cell returns by its repr.
    __repr__ = __str__


def repeat(fn: Callable[[], object], *, sync: object = None, warmup: int = 1, repeats: int = 9) -> Repeated:
    """Time a function several times.

    Before each start all pending work is waited for; before each stop only what ``sync`` says, so that without it the
    times are those of the *calls*.

    Args:
        fn: What to time; called without arguments.
        sync: What to wait for before the clock stops: all that `Benchmark` takes.
        warmup: How many calls to make first, without a clock: the first one often pays for loading and allocating.
        repeats: How many times to measure.

    Returns:
        The times.

    Raises:
        UnsupportedValueError: If ``fn`` cannot be called, or a number of calls is not an integer.
        UnsupportedTargetError: If ``sync`` is nothing that can be waited for.
        InvalidNumberError: If ``warmup`` is negative or ``repeats`` less than 3.
    """
    if not callable(fn):
        raise UnsupportedValueError(
            f"repeat: cannot call an object of type {type(fn).__name__} (allowed: a function without arguments).\n"
            "Wrap what is to be timed: repeat(lambda: a @ a) instead of repeat(a @ a)."
        )
    _check_count("warmup", warmup, 0, "Leave it out for one call, or give 0 to time the very first call as well.")
    _check_count("repeats", repeats, _FEWEST_REPEATS, "Fewer have no quartiles; leave it out for nine.")
    wait = find_wait(sync)
    for _ in range(warmup):
        _time(fn, wait)
    return Repeated(tuple(_time(fn, wait) for _ in range(repeats)))


def _time(fn: Callable[[], object], wait: Wait | None) -> float:
    synchronize()
    start = time.perf_counter()
    fn()
    if wait is not None:
        wait()
    return time.perf_counter() - start


def _check_count(name: str, count: object, least: int, advice: str) -> None:
    if not isinstance(count, int) or isinstance(count, bool):
        raise UnsupportedValueError(
            f"repeat: {name} is an object of type {type(count).__name__} (allowed: an integer from {least}).\n{advice}"
        )
    if count < least:
        raise InvalidNumberError(f"repeat: {name} is {count} (allowed: an integer from {least}).\n{advice}")


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"
