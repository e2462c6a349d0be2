"""Predict what waiting costs: one frontend, one queue, one worker, and three times.

The arithmetic of the course's cost model. Rests on ``fitting``, which measures the three times of a real pipeline, and
on ``timeline`` to draw; chapters and exercises use `PipelineModel` and `crossover` directly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from asynclab.errors import InvalidNumberError
from asynclab.fitting import FEWEST, Pipe, measure_terms
from asynclab.profilers import BACKEND, FRONTEND, WAIT, Span
from asynclab.quantities import check_capacity, checked_count, checked_size, told_time
from asynclab.sync import synchronize
from asynclab.timeline import Timeline

#: The names of the two regimes: who sets the pace.
BACKEND_BOUND, FRONTEND_BOUND = "backend-bound", "frontend-bound"

_CALL, _OPERATION = "call", "operation"
_TICK_S = 1e-9  # a time that was too short to be measured still has a logarithm


@dataclass(frozen=True)
class Operation:
    """When one operation was asked for and computed.

    Attributes:
        issue_s: When its call begins, in seconds.
        issued_s: When its call returns, in seconds; with a full queue, when there is room.
        start_s: When the worker begins with it, in seconds.
        end_s: When the worker is done with it, in seconds.
    """

    issue_s: float
    issued_s: float
    start_s: float
    end_s: float


@dataclass(frozen=True)
class PipelineModel:
    """One frontend, a queue that keeps its order, and one worker.

    Methods raise an `UnsupportedValueError` for a number of operations that is no integer (a ``TypeError``), and an
    `InvalidNumberError` for one that is less than 1 (a ``ValueError``).

    Attributes:
        t1: Seconds in which the frontend issues one operation.
        t2: Seconds in which the worker computes it.
        t3: Seconds from the end of the work until a waiting frontend has its answer.
        capacity: At most that many operations wait in the queue, besides the one that runs; ``None`` for any number.
    """

    t1: float
    t2: float
    t3: float
    capacity: int | None = None

    def __post_init__(self) -> None:
        """Check the times and the capacity.

        Raises:
            UnsupportedValueError: If a time is no number (a ``TypeError``).
            InvalidNumberError: If a time is negative or not finite (a ``ValueError``).
            InvalidCapacityError: If the capacity is no integer of at least 1 and not ``None`` (a ``ValueError``).
        """
        for name in ("t1", "t2", "t3"):
            object.__setattr__(self, name, checked_size(f"PipelineModel: {name}", getattr(self, name)))
        check_capacity("PipelineModel", self.capacity)

    @classmethod
    def fit(  # noqa: PLR0913 - all but the first are named in a call
        cls,
        operation: Callable[[], object],
        *,
        blocker: Callable[[], object],
        wait: Callable[[], object] = synchronize,
        n: int = 200,
        repeats: int = 5,
        capacity: int | None = None,
    ) -> Self:
        """Measure the three times of a real pipeline; how is said at `asynclab.fitting.measure_terms`.

        With our engine, for example::

            with Engine() as engine:
                model = PipelineModel.fit(
                    lambda: engine.submit(torch.add, x, 1),
                    blocker=lambda: engine.submit(torch.mm, large, large),
                    wait=engine.wait_all,
                )
            print(model)  # t1 = 3.9 µs, t2 = 139 µs, t3 = 17 µs: backend-bound

        Args:
            operation: Issues one operation: a single one, such as an addition, whose time is ``t2``; no training step
                of many, within which frontend and worker already overlap.
            blocker: Issues one operation that keeps the worker busy for longer than ``n`` calls of ``operation`` take.
            wait: Waits until everything that was issued has been computed. By default for the frameworks that are
                loaded; an `Engine` has its own, ``wait=engine.wait_all``.
            n: How many operations make up a loop; kept below the capacity. Behind the blocker it is halved, down to 10,
                while the loop outlasts the blocker.
            repeats: How often to measure; the medians count.
            capacity: That of the queue, if it has one.

        Returns:
            The model.

        Raises:
            FittingError: If nothing is computed behind the frontend, ``wait`` does not wait for it, or the blocker or
                the queue is too small.
            UnsupportedValueError: If ``n`` or ``repeats`` is no integer (a ``TypeError``).
            InvalidNumberError: If ``n`` is less than 10 or ``repeats`` less than 1 (a ``ValueError``).
            InvalidCapacityError: If the capacity is none (a ``ValueError``).
            Exception: What the functions raise.
        """
        check_capacity("PipelineModel.fit", capacity)
        n = checked_count("PipelineModel.fit: n", n, least=FEWEST)
        repeats = checked_count("PipelineModel.fit: repeats", repeats)
        return cls(*measure_terms(Pipe(operation, blocker, wait, capacity), n, repeats), capacity)

    def __str__(self) -> str:
        """Tell the times and who sets the pace."""
        times = ", ".join(f"{name} = {told_time(getattr(self, name))}" for name in ("t1", "t2", "t3"))
        return f"{times}: {self.regime}"

    @property
    def regime(self) -> str:
        """Who sets the pace: ``"backend-bound"`` if ``t2 >= t1``, else ``"frontend-bound"``."""
        return BACKEND_BOUND if self.t2 >= self.t1 else FRONTEND_BOUND

    def sync_total(self, n: int) -> float:
        """Predict the time of ``n`` operations with a wait after each.

        Args:
            n: Number of operations; at least 1.

        Returns:
            Seconds, from the first call to the last answer.
        """
        return _count("n", n) * (self.t1 + self.t2 + self.t3)

    def async_total(self, n: int) -> float:
        """Predict the time of ``n`` operations with one wait at the end; exact, and for every capacity the same.

        The slower one of frontend and worker sets the pace. A limit to the queue makes the frontend wait, but never the
        worker: while it computes, at least one operation waits for it.

        Args:
            n: Number of operations; at least 1.

        Returns:
            Seconds, from the first call to the last answer.
        """
        return _count("n", n) * max(self.t1, self.t2) + min(self.t1, self.t2) + self.t3

    def total(self, n: int, wait_every: int) -> float:
        """Predict the time of ``n`` operations with a wait after every so many, and one at the end.

        Args:
            n: Number of operations; at least 1.
            wait_every: Number of operations before each wait; at least 1. With 1 this is `sync_total`, from ``n`` on
                `async_total`.

        Returns:
            Seconds, from the first call to the last answer.
        """
        rounds, rest = divmod(_count("n", n), _count("wait_every", wait_every))
        return (rounds and rounds * self.async_total(wait_every)) + (rest and self.async_total(rest))

    def per_operation(self, wait_every: int) -> float:
        """Predict the time of one operation in a long run with a wait after every so many.

        Args:
            wait_every: Number of operations ``k`` before each wait; at least 1.

        Returns:
            Seconds: ``c0 + c1 / k`` with ``c0 = max(t1, t2)`` and ``c1 = min(t1, t2) + t3``.
        """
        return max(self.t1, self.t2) + (min(self.t1, self.t2) + self.t3) / _count("wait_every", wait_every)

    def issue_time(self, n: int) -> float:
        """Predict how long the frontend is busy: until the last of ``n`` calls has returned, without a wait.

        Args:
            n: Number of operations; at least 1.

        Returns:
            Seconds; with a queue that is full, those for which the frontend waits for room as well.
        """
        unhindered = _count("n", n) * self.t1
        if self.capacity is None:
            return unhindered
        # The last call returns when the operation `capacity` places before it leaves the queue.
        return max(unhindered, self.t1 + (n - 1 - self.capacity) * self.t2)

    def schedule(self, n: int) -> tuple[Operation, ...]:
        """Say for each of ``n`` operations when it is issued and when it runs, without a wait between them.

        Args:
            n: Number of operations; at least 1.

        Returns:
            The operations in their order; the first call begins at 0.
        """
        made: list[Operation] = []
        issue_s = end_s = 0.0
        for k in range(_count("n", n)):
            issued_s = issue_s + self.t1
            if self.capacity is not None and k >= self.capacity:
                issued_s = max(issued_s, made[k - self.capacity].start_s)  # when there is room
            start_s = max(issued_s, end_s)
            end_s = start_s + self.t2
            made.append(Operation(issue_s, issued_s, start_s, end_s))
            issue_s = issued_s
        return tuple(made)

    def pending(self, n: int) -> int:
        """Predict the most operations that are issued and not finished at any one time.

        It is what the queue keeps alive. An operation whose call has not returned does not count, though its inputs
        may be there as well.

        Args:
            n: Number of operations; at least 1.

        Returns:
            Number of operations, the one that runs included.
        """
        operations = self.schedule(n)
        most = finished = 0
        for issued, latest in enumerate(operations, start=1):
            while finished < issued and operations[finished].end_s <= latest.issued_s:
                finished += 1
            most = max(most, issued - finished)
        return most

    def timeline(self, n: int, wait_every: int | None = None) -> Timeline:
        """Lay out ``n`` operations and the waits between them in two lanes, to be drawn.

        Args:
            n: Number of operations; at least 1.
            wait_every: Number of operations before each wait; by default there is only the one at the end.

        Returns:
            A lane "frontend" of calls and waits, those for room in the queue included, and a lane "backend" of
            operations.
        """
        every = _count("wait_every", n if wait_every is None else wait_every)
        lanes: dict[str, list[Span]] = {FRONTEND: [], BACKEND: []}
        zero_s = 0.0
        for first in range(0, _count("n", n), every):
            operations = self.schedule(min(every, n - first))
            done_s = operations[-1].end_s + self.t3
            lanes[FRONTEND] += _moved(self._frontend(operations, done_s), zero_s)
            lanes[BACKEND] += _moved((Span(_OPERATION, each.start_s, each.end_s) for each in operations), zero_s)
            zero_s += done_s
        return Timeline({name: tuple(spans) for name, spans in lanes.items()})

    def _frontend(self, operations: Sequence[Operation], done_s: float) -> Iterator[Span]:
        for each in operations:
            yield Span(_CALL, each.issue_s, each.issue_s + self.t1)
            if each.issued_s > each.issue_s + self.t1:
                yield Span(WAIT, each.issue_s + self.t1, each.issued_s)
        if done_s > operations[-1].issued_s:
            yield Span(WAIT, operations[-1].issued_s, done_s)


def _count(name: str, value: object) -> int:
    return checked_count(f"PipelineModel: {name}", value)


def _moved(spans: Iterator[Span], by_s: float) -> list[Span]:
    return [Span(span.name, span.start_s + by_s, span.end_s + by_s) for span in spans]


def crossover(sizes: Sequence[float], models: Sequence[PipelineModel]) -> float | None:
    """Find the size of an operation at which the backend's time overtakes the frontend's.

    Between two sizes both times are taken to be straight lines on logarithmic axes.

    Args:
        sizes: Sizes of an operation, such as numbers of elements; above 0 and ascending.
        models: The model of each size.

    Returns:
        The first size at which ``t2`` overtakes ``t1``; ``None`` if it never does.

    Raises:
        UnsupportedValueError: If a size is no number (a ``TypeError``).
        InvalidNumberError: If the sizes do not ascend from above 0, or are not as many as the models
            (a ``ValueError``).
    """
    checked = [checked_size("crossover: a size", size) for size in sizes]
    if len(checked) != len(models) or any(a >= b for a, b in pairwise([0.0, *checked])):
        raise InvalidNumberError(
            f"crossover: {len(models)} models have the sizes {checked!r:.80} (allowed: as many sizes as models, above "
            "0 and ascending).\nSort the sizes, and fit one model for each."
        )
    # Above 0 where the backend is slower.
    leads = [math.log(max(model.t2, _TICK_S) / max(model.t1, _TICK_S)) for model in models]
    for (left, behind), (right, ahead) in pairwise(zip(checked, leads, strict=True)):
        if behind < 0 <= ahead:
            return left * math.pow(right / left, behind / (behind - ahead))
    return None
