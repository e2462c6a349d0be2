"""Compare what asynclab's Benchmark costs with what d2l's does, and the lines that both print.

Run it with the interpreter of a framework's environment, which has d2l. Both sides take turns within one run; figures
are medians over rounds of the mean of many blocks, since d2l's clock ticks too coarsely for a single one. The exit
status is 1 if the lines differ and, with ``--check``, if ours costs more inside the clock than the limit allows.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from asynclab import Benchmark, timing

#: The most that a block may cost inside our clock, by what it costs inside d2l's.
LIMIT = 1.1

#: Durations for which both lines are compared.
SECONDS = (0.001, 0.00149, 0.0123, 0.09995, 0.1, 1.0, 12.34567, 3600.0)

Measure = Callable[[int], float]


class Nowhere(io.TextIOBase):
    """Takes text and keeps none, so that printing costs the same on both sides and no memory."""

    def write(self, text: str) -> int:
        """Count the text."""
        return len(text)


def d2l_module() -> Any:
    """The d2l of the framework that this environment has."""
    return importlib.import_module("d2l.mxnet" if importlib.util.find_spec("mxnet") else "d2l.torch")


def inside_ours(blocks: int) -> float:
    """Mean seconds that an empty block shows on our clock."""
    total_s = 0.0
    for _ in range(blocks):
        with Benchmark() as benchmark:
            pass
        total_s += benchmark.seconds or 0.0
    return total_s / blocks


def inside_d2l(d2l: Any) -> Measure:
    """The same on d2l's clock."""

    def measure(blocks: int) -> float:
        total_s = 0.0
        for _ in range(blocks):
            with d2l.Benchmark() as benchmark:
                pass
            total_s += benchmark.timer.times[-1]
        return total_s / blocks

    return measure


def around(make: Callable[[str], Any]) -> Measure:
    """Seconds that a whole empty block costs, as a benchmark around it would see it."""

    def measure(blocks: int) -> float:
        start = time.perf_counter()
        for _ in range(blocks):
            with make("a block"):
                pass
        return (time.perf_counter() - start) / blocks

    return measure


def alternated(ours: Measure, other: Measure, rounds: int, blocks: int) -> tuple[float, float]:
    """Median seconds of both sides, measured in turns."""
    ours_s, other_s = [], []
    with contextlib.redirect_stdout(Nowhere()):
        for number in range(rounds + 1):
            pair = (ours(blocks), other(blocks))
            if number:  # the first round warms up
                ours_s.append(pair[0])
                other_s.append(pair[1])
    return statistics.median(ours_s), statistics.median(other_s)


def line(module: Any, clock: str, make: Callable[[str], Any], seconds: float) -> str:
    """What a benchmark prints whose block takes so long by the clock of its module."""
    ticks: Iterator[float] = iter((0.0, seconds))
    fake = SimpleNamespace(**{clock: lambda: next(ticks)})
    printed = io.StringIO()
    with mock.patch.object(module, "time", fake), contextlib.redirect_stdout(printed), make("ten products"):
        pass
    return printed.getvalue()


def differing_lines(d2l: Any) -> list[str]:
    """Say where our line is not d2l's; below a millisecond we may add a finer unit, so these are not asked for."""
    with mock.patch.object(timing, "_wait_for_rest", return_value=0.0):
        pairs = [
            (line(timing, "perf_counter", Benchmark, seconds), line(d2l, "time", d2l.Benchmark, seconds))
            for seconds in SECONDS
        ]
    return [f"ours {ours!r}, d2l's {other!r}" for ours, other in pairs if ours != other]


def main() -> int:
    """Measure, print the table, and say with the exit status whether all holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help=f"exit with 1 if inside the clock is > {LIMIT} x d2l's")
    parser.add_argument("--rounds", type=int, default=31, help="rounds of each side; 0 compares the lines only")
    parser.add_argument("--blocks", type=int, default=2000, help="blocks of each round (default: 2000)")
    arguments = parser.parse_args()
    d2l = d2l_module()
    different = differing_lines(d2l)
    print(f"printed lines, {len(SECONDS)} durations: {'; '.join(different) or 'as those of d2l'}")
    if not arguments.rounds:
        return int(bool(different))
    print(f"{'cost of a block':<24}{'ours µs':>9}{'d2l µs':>9}{'ratio':>8}  limit")
    ratios = []
    for name, ours, other, limit in (
        ("inside the clock", inside_ours, inside_d2l(d2l), f"ratio ≤ {LIMIT}"),
        ("in an outer clock", around(Benchmark), around(d2l.Benchmark), "none"),
    ):
        ours_s, other_s = alternated(ours, other, arguments.rounds, arguments.blocks)
        ratios.append(ours_s / other_s)
        print(f"{name:<24}{ours_s * 1e6:>9.3f}{other_s * 1e6:>9.3f}{ratios[-1]:>8.2f}  {limit}")
    return int(bool(different) or (arguments.check and ratios[0] > LIMIT))


if __name__ == "__main__":
    sys.exit(main())
