"""Measure what `asynclab.waits` costs a program in which nothing waits.

Run it with the interpreter of a framework's environment. Small operations, of which a loop consists entirely, are the
worst case; each round takes the loop watched and unwatched, one after the other. The exit status is 1 if, with
``--check``, the median of the rounds' ratios exceeds the limit.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from asynclab import repeat, synchronize, waits

#: How much slower a watched program may be.
LIMIT = 1.1
OPERATIONS, ROUNDS = 5000, 15


def torch_loop() -> Callable[[], None]:
    """Additions, and the indexing whose masks are looked for."""
    import torch

    x = torch.ones((1, 2))

    def loop() -> None:
        y = x
        for _ in range(OPERATIONS):
            y = x + 1
            y = y[0]

    return loop


def mxnet_loop() -> Callable[[], None]:
    """Additions, each of which passes the call that is watched."""
    from mxnet import np, npx

    npx.set_np()
    x = np.ones((1, 2))

    def loop() -> None:
        for _ in range(OPERATIONS):
            _ = x + 1

    return loop


def watched(loop: Callable[[], None]) -> Callable[[], None]:
    """The same loop under watch."""

    def run() -> None:
        with waits() as found:
            loop()
        if found.count:
            sys.exit(f"something waits in this program:\n{found}")

    return run


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help=f"fail above {LIMIT}")
    options = parser.parse_args()
    name = "mxnet" if importlib.util.find_spec("mxnet") else "torch"
    plain = {"mxnet": mxnet_loop, "torch": torch_loop}[name]()
    under_watch = watched(plain)
    ratios, times = [], []
    for _ in range(ROUNDS):
        before, after = (repeat(loop, sync=synchronize, repeats=3).median_s for loop in (plain, under_watch))
        ratios.append(after / before)
        times.append(before)
    ratio, each_us = statistics.median(ratios), statistics.median(times) / OPERATIONS * 1e6
    spread = f"rounds {min(ratios):.3f} to {max(ratios):.3f}"
    print(f"{name}: {each_us:.1f} µs an operation; watched, {ratio:.3f} times as long ({spread})")
    return int(options.check and ratio > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
