"""Measure the three times of a pipeline from outside, by means of an operation that blocks its worker.

The layer below ``pipeline``, whose model takes what is measured here.
"""

from __future__ import annotations

import contextlib
import gc
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from asynclab.errors import FittingError

#: A loop of fewer operations says nothing.
FEWEST = 10

_LOOP_UP_TO = 0.8  # of the blocker's time, since blockers are not all equally long
_LEFT_FROM = 0.25  # of the blocker's time that has to be left when its call returns
_LOOKS = 3  # at what is left, to see whether there is a pipeline at all
_HINDERED_BELOW = 0.75  # of the live pace; memory that both use may hinder a worker as well, but less
_LOCKED_BELOW = 0.95  # of the live pace, where a lock explains it: both times are of one size, and add up to the pace
_OF_ONE_SIZE = 0.2
_WAITED = 10  # operations of a round that are waited for, one by one

Act = Callable[[], object]


@dataclass(frozen=True)
class Pipe:
    """A pipeline, as it is seen from its frontend.

    Attributes:
        operation: Issues one small operation: a single one, no step of many.
        blocker: Issues one long operation.
        wait: Waits until everything that was issued has been computed.
        capacity: How many operations may wait in its queue; ``None`` for any number.
    """

    operation: Act
    blocker: Act
    wait: Act
    capacity: int | None = None


@dataclass(frozen=True)
class _Round:
    """One round of measurements, in seconds; everything was waited for before each."""

    call_s: float  # the call of the blocker
    blocker_s: float  # the blocker, from its call to the answer, beside a busy frontend
    behind_s: float  # the loop of operations, issued behind the blocker
    both_s: float  # the blocker and that loop, from the first call to the answer
    live_s: float  # the loop, while the worker takes the operations
    done_s: float  # the live loop, from the first call to the last answer
    waited_s: float  # one operation, from its call to the answer


def measure_terms(pipe: Pipe, n: int, repeats: int) -> tuple[float, float, float]:
    """Measure how long a call, an operation and an answer take.

    First of all the blocker alone is called and waited for: if nothing is left when its call returns, there is no
    pipeline, or nobody waits for it. Each round times four things, each after a wait for all that is pending:

    * the blocker, ``n`` operations and a wait. While the blocker keeps the worker busy, the loop alone takes ``n t1``;
    * the blocker and a wait. As the worker finds all ``n`` operations in the queue, they have made the whole longer by
      ``n t2``, and by nothing else, provided that the blocker outlasts the loop. This is checked, and where it does
      not, half as many are tried. After its call the frontend is kept busy for as long as the loop took: where both
      share a core's units or its memory, each slows the other down, and that is not to be charged to the operations;
    * ``n`` operations without a blocker, the live loop;
    * single operations with a wait after each, which take ``t1 + t2 + t3``.

    A worker that is faster than the live loop falls asleep between operations, and each call has to wake it, which
    takes the frontend's time. And what frontend and worker do under a lock, such as that of two threads of Python, they
    cannot do at the same time, so that live operations follow each other more slowly than ``t1`` and ``t2`` say. So
    where ``t2`` is less than the pace of the live loop, or much less than that of live operations, the pace is ``t1``;
    less by a little is enough where ``t1`` is of the size of ``t2`` and both together would explain the pace.

    Medians of the rounds count, for ``t2`` the median of the differences within a round, so that neither a disturbance
    nor a slow change of the machine's speed does much harm. The first round warms up and does not count. Python's
    collector of garbage has to wait: it would run in the middle of a loop that makes many objects.

    Args:
        pipe: The pipeline.
        n: Operations of the live loop, and the most behind the blocker; at least `FEWEST`.
        repeats: How many rounds; at least 1.

    Returns:
        ``t1``, ``t2`` and ``t3`` in seconds; what came out negative is 0.

    Raises:
        FittingError: If nothing is computed behind the frontend, ``wait`` does not wait for it, or the blocker or the
            queue is too small.
        Exception: What the functions of the pipeline raise.
    """
    live = behind = _below_capacity(n, pipe.capacity)
    with _no_collector():
        _round(pipe, FEWEST, FEWEST)  # warm up
        alone_s = _checked_blocker_s(pipe)
        while behind >= FEWEST:
            rounds = [_round(pipe, behind, live)]
            if _outlasted(rounds):  # else there is no need to see it more often
                rounds += [_round(pipe, behind, live) for _ in range(repeats - 1)]
            if _outlasted(rounds):
                return _terms(rounds, behind, live)
            behind = _halved(behind, rounds[0].behind_s / behind, alone_s)
    raise FittingError(
        f"PipelineModel.fit: a loop of {2 * behind} operations takes longer than the blocker, which takes "
        f"{_median(each.blocker_s for each in rounds):.2g} s (allowed: a blocker that outlasts at least {FEWEST} "
        "operations).\nTake a larger blocker, such as a product of matrices with twice as many rows."
    )


def _outlasted(rounds: Sequence[_Round]) -> bool:
    """Say whether the blocker kept the worker busy until the loop had ended."""
    return _median(each.call_s + each.behind_s - _LOOP_UP_TO * each.blocker_s for each in rounds) <= 0


def _halved(behind: int, pace_s: float, blocker_s: float) -> int:
    """Halve a loop that was too long, at once as often as its pace demands; whether it will do, the next try says."""
    behind //= 2
    while behind // 2 >= FEWEST and behind * pace_s > _LOOP_UP_TO * blocker_s:
        behind //= 2
    return behind


def _terms(rounds: Sequence[_Round], behind: int, live: int) -> tuple[float, float, float]:
    t1 = _median(each.behind_s for each in rounds) / behind
    t2 = max(_median(each.both_s - each.blocker_s for each in rounds) / behind, 0.0)
    loop = _median(each.live_s for each in rounds) / live
    pace = _median(each.done_s - each.waited_s for each in rounds) / (live - 1)
    locked = t2 < _LOCKED_BELOW * pace and pace <= t1 + t2 and t1 > _OF_ONE_SIZE * t2
    if t2 < loop or t2 < _HINDERED_BELOW * pace or locked:
        t1 = max(loop, pace)
    return t1, t2, max(_median(each.waited_s for each in rounds) - t1 - t2, 0.0)


def _round(pipe: Pipe, behind: int, live: int) -> _Round:
    _, both_s, behind_s = _timed(pipe, pipe.blocker, behind)
    call_s, blocker_s, _ = _timed(pipe, pipe.blocker, 0, busy_s=behind_s)
    _, done_s, live_s = _timed(pipe, _nothing, live)
    waited_s = _median(_timed(pipe, pipe.operation, 0)[1] for _ in range(_WAITED))
    return _Round(call_s, blocker_s, behind_s, both_s, live_s, done_s, waited_s)


def _timed(pipe: Pipe, first: Act, n: int, busy_s: float = 0.0) -> tuple[float, float, float]:
    """Time one call, the whole with ``n`` operations after it and a wait, and their loop alone."""
    operation = pipe.operation
    pipe.wait()
    start = time.perf_counter()
    first()
    called = time.perf_counter()
    for _ in range(n):
        operation()
    issued = time.perf_counter()
    _keep_busy(busy_s)
    pipe.wait()
    return called - start, time.perf_counter() - start, issued - called


def _below_capacity(n: int, capacity: int | None) -> int:
    """As many operations as surely have room: the blocker may still wait in the queue as well."""
    if capacity is None or n < capacity:
        return n
    if capacity > FEWEST:
        return capacity - 1
    raise FittingError(
        f"PipelineModel.fit: the capacity of the queue is {capacity} (allowed: more than {FEWEST}, so that a loop of "
        f"{FEWEST} operations has room behind the blocker).\n"
        "Fit the same pipeline with a larger queue; the three times do not depend on it."
    )


def _checked_blocker_s(pipe: Pipe) -> float:
    """Time the blocker alone; check that it runs on when its call has returned, and that it is waited for.

    A wait that finds nothing to do takes time as well, which is no blocker's.
    """
    alone = [_timed(pipe, pipe.blocker, 0) for _ in range(_LOOKS)]
    call_s = _median(call_s for call_s, _, _ in alone)
    left_s = _median(whole_s - call_s for call_s, whole_s, _ in alone)
    left_s -= _median(_timed(pipe, _nothing, 0)[1] for _ in range(_LOOKS))
    if left_s < _LEFT_FROM * (call_s + left_s):
        raise FittingError(
            f"PipelineModel.fit: the call of the blocker takes {call_s:.2g} s, and hardly anything is left to wait for "
            "after it (allowed: an operation that runs on when its call has returned, and a `wait` that waits for it)."
            "\nDoes `wait` wait for this backend? For an Engine: wait=engine.wait_all. Where a frontend computes "
            "itself, as PyTorch does on a CPU, there is no pipeline: hand operation and blocker to an Engine, as in "
            "operation=lambda: engine.submit(torch.add, x, 1), and wait by wait=engine.wait_all. Otherwise take a "
            "larger blocker."
        )
    return call_s + left_s


@contextlib.contextmanager
def _no_collector() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _keep_busy(duration_s: float) -> None:
    end = time.perf_counter() + duration_s
    while time.perf_counter() < end:
        time.sleep(0)  # lets go of Python's lock, which a worker in Python may need to begin


def _nothing() -> None:
    pass


def _median(values: Iterable[float]) -> float:
    return statistics.median(values)
