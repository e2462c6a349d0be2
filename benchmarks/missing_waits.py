"""Count how often Benchmark's hints are right, over real programs with and without their waits.

Run it with the interpreter of a framework's environment, whose framework it takes. Each program runs as a cell would,
several times; the exit status is 1 if a hint was missing where work was left, or appeared where none was.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from asynclab import Benchmark, conditions, synchronize

PRODUCTS, FLOPS = 10, 10 * 2 * 1000**3


@dataclass(frozen=True)
class Program:
    """A timed block.

    Attributes:
        name: What it computes and how it waits.
        block: The block itself.
        sync: What Benchmark is told to wait for.
        flops: What Benchmark is told of the operations.
        left: Whether work is left when the clock stops, so that a hint has to appear.
        too_fast: Whether the rate has to be called impossible.
        afterwards: Waits for what Benchmark cannot know of.
    """

    name: str
    block: Callable[[], object]
    sync: object = None
    flops: float | None = None
    left: bool = False
    too_fast: bool = False
    afterwards: Callable[[], object] = synchronize


def mxnet_programs() -> list[Program]:
    """Programs whose wait is missing, and the same with a wait of each kind."""
    from mxnet import np, npx

    npx.set_np()
    a, x = np.random.normal(size=(1000, 1000)), np.ones((1000, 1000))

    def products(count: int = PRODUCTS) -> object:
        return [np.dot(a, a) for _ in range(count)]

    def dot() -> object:
        return products(4)

    def chain() -> object:
        y = x
        for _ in range(20):
            y = np.tanh(y) + 1
        return y

    def random() -> object:
        return [np.random.normal(size=(1000, 1000)) for _ in range(10)]

    def loop() -> None:
        y = x.copy()
        for _ in range(500):
            y += 1

    def copies() -> object:
        return [x.copy() for _ in range(500)]

    def one_by_one() -> None:
        for _ in range(4):
            np.dot(a, a).wait_to_read()

    collected: list[object] = []

    def collect() -> None:
        collected[:] = [np.dot(a, a) for _ in range(4)]

    blocks = {"dot": dot, "chain": chain, "random": random, "loop": loop, "copy": copies}
    return [
        *(Program(f"{name}, wait missing", block, left=True) for name, block in blocks.items()),
        Program("dot with flops, wait missing", products, flops=FLOPS, left=True, too_fast=True),
        *(Program(f"{name}, waitall", block, npx.waitall) for name, block in blocks.items()),
        Program("dot, synchronize", dot, synchronize),
        Program("dot, list of results", collect, collected),
        Program("dot, a wait each", one_by_one),
        Program("dot, asnumpy", lambda: np.dot(a, a).asnumpy()),
        Program("chain, item", lambda: chain().sum().item()),
        Program("dot with flops, waitall", products, npx.waitall, FLOPS),
        Program("nothing", lambda: None),
    ]


def pytorch_programs() -> list[Program]:
    """The same on a CPU, where PyTorch has computed when a call returns, unless the call was made in another thread."""
    import torch

    a, x = torch.randn(1000, 1000), torch.ones(1000, 1000)

    def products() -> object:
        return [a @ a for _ in range(PRODUCTS)]

    pool, submitted = ThreadPoolExecutor(1), []

    def submit() -> None:
        submitted[:] = [pool.submit(torch.mm, a, a) for _ in range(3 * PRODUCTS)]

    def chain() -> object:
        y = x
        for _ in range(100):
            y = torch.tanh(y) + 1
        return y

    def random() -> object:
        return [torch.randn(1000, 1000) for _ in range(10)]

    def loop() -> None:
        y = x.clone()
        for _ in range(500):
            y += 1

    def copies() -> object:
        return [x.clone() for _ in range(200)]

    blocks = {"dot": products, "chain": chain, "random": random, "loop": loop, "copy": copies}
    return [
        *(Program(f"{name}, no wait needed", block) for name, block in blocks.items()),
        *(Program(f"{name}, device", block, "cpu") for name, block in blocks.items()),
        Program("dot with flops, device", products, "cpu", FLOPS),
        Program("dot with flops, no wait needed", products, flops=FLOPS),
        Program(
            "dot in a thread, wait missing",
            submit,
            flops=3 * FLOPS,
            too_fast=True,
            afterwards=lambda: [future.result() for future in submitted],
        ),
        Program("nothing", lambda: None),
    ]


def hints(program: Program) -> tuple[bool, bool]:
    """Run a program once; return whether the hints at work left and at an impossible rate appeared."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        with Benchmark("x", program.sync, flops=program.flops):
            program.block()
        program.afterwards()
    return "still pending" in printed.getvalue(), "cannot have been computed" in printed.getvalue()


def main() -> int:
    """Run every program, print how often each hint appeared, and say with the exit status whether all were right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50, help="runs of each program (default: 50)")
    runs = parser.parse_args().runs
    if runs < 1:
        parser.error(f"--runs is {runs}; at least 1 is needed")
    programs = mxnet_programs() if importlib.util.find_spec("mxnet") else pytorch_programs()
    for program in programs:  # first calls also pay for loading
        program.block()
        program.afterwards()
    print(f"{conditions()}\n\n{'program':<32}{'runs':>6}{'hints':>7}{'right':>7}{'too fast':>10}{'right':>7}")
    wrong = 0
    for program in programs:
        seen = [hints(program) for _ in range(runs)]
        left, too_fast = (sum(column) for column in zip(*seen, strict=True))
        rights = (runs * program.left, runs * program.too_fast)
        wrong += abs(left - rights[0]) + abs(too_fast - rights[1])
        print(f"{program.name:<32}{runs:>6}{left:>7}{rights[0]:>7}{too_fast:>10}{rights[1]:>7}", flush=True)
    print(f"\n{wrong} of {len(programs) * runs} runs were judged wrongly")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
