"""The cost model: its formulas against a simulation of events, and what it draws and refuses."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import deque
from dataclasses import dataclass, field

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from asynclab import (
    InvalidCapacityError,
    InvalidNumberError,
    Operation,
    PipelineModel,
    Span,
    UnsupportedValueError,
    crossover,
)
from asynclab.lanes import described

WHOLE = st.integers(0, 12)
CAPACITIES = st.none() | st.integers(1, 8)
COUNTS = st.integers(1, 40)


@dataclass
class Simulation:
    """Lets frontend and worker act from event to event; knows no formula.

    Times are whole numbers, so that sums are exact and events at the same time really are.
    """

    t1: int
    t2: int
    t3: int
    capacity: float
    begun: list[int] = field(default_factory=list)
    issued: list[int] = field(default_factory=list)
    started: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    now: int = 0
    most_pending: int = 0

    def run(self, n: int, every: int) -> Simulation:
        """Issue ``n`` operations and wait after every so many, and at the end."""
        while len(self.ended) < n:
            self.round(min(every, n - len(self.ended)))
            self.now += self.t3
        return self

    def round(self, n: int) -> None:
        """Issue operations and wait for them: do all that happens now, then go on to the next event."""
        queue: deque[int] = deque()
        first = len(self.begun)
        called_at = running_until = math.inf
        while len(self.ended) < first + n:
            moved = True
            while moved:
                moved = False
                if called_at == math.inf and len(self.begun) == len(self.issued) < first + n:
                    self.begun.append(self.now)
                    called_at, moved = self.now + self.t1, True
                if running_until <= self.now:
                    self.ended.append(self.now)
                    running_until, moved = math.inf, True
                if running_until == math.inf and queue:
                    self.started.append(self.now)
                    queue.popleft()
                    running_until, moved = self.now + self.t2, True
                # With room for one or more, an operation goes through the queue even if the worker is idle.
                if called_at <= self.now and len(queue) < self.capacity:
                    queue.append(len(self.issued))
                    self.issued.append(self.now)
                    called_at, moved = math.inf, True
            self.most_pending = max(self.most_pending, len(self.issued) - len(self.ended))
            if len(self.ended) < first + n:
                self.now = min(time for time in (called_at, running_until) if time > self.now)


def simulate(model: PipelineModel, n: int, every: int | None = None) -> Simulation:
    """Simulate what a model of whole times stands for."""
    capacity = math.inf if model.capacity is None else model.capacity
    return Simulation(int(model.t1), int(model.t2), int(model.t3), capacity).run(n, every or n)


MODELS = st.builds(PipelineModel, WHOLE, WHOLE, WHOLE, CAPACITIES)


@given(MODELS, COUNTS, st.integers(1, 45))
@settings(max_examples=1000, deadline=None)
@example(PipelineModel(3, 3, 1, 1), 7, 2)
@example(PipelineModel(0, 0, 0, 1), 7, 2)
@example(PipelineModel(0, 5, 2, 3), 40, 40)
@example(PipelineModel(2, 5, 0, None), 40, 45)
def test_model_agrees_with_a_simulation(model: PipelineModel, n: int, every: int):
    """Totals, schedule, the frontend's time and what is pending are those of the events, to the last bit."""
    events = simulate(model, n)

    assert model.schedule(n) == tuple(map(Operation, events.begun, events.issued, events.started, events.ended))
    assert model.async_total(n) == events.now
    assert model.issue_time(n) == events.issued[-1]
    assert model.pending(n) == events.most_pending
    assert model.sync_total(n) == simulate(model, n, 1).now
    assert model.total(n, every) == simulate(model, n, every).now


@given(*[st.floats(0, 1e3)] * 3, CAPACITIES, COUNTS)
def test_formulas_agree_with_the_schedule(t1: float, t2: float, t3: float, capacity: int | None, n: int):
    """For times that are no whole numbers the totals are those of the schedule, up to rounding."""
    model = PipelineModel(t1, t2, t3, capacity)

    assert model.async_total(n) == pytest.approx(model.schedule(n)[-1].end_s + t3)
    assert model.issue_time(n) == pytest.approx(model.schedule(n)[-1].issued_s)


@given(MODELS, COUNTS)
def test_limit_of_the_queue_costs_the_frontend_only(model: PipelineModel, n: int):
    """With a bounded queue the total is that of an unbounded one; the calls return no sooner."""
    unlimited = dataclasses.replace(model, capacity=None)

    assert simulate(model, n).now == simulate(unlimited, n).now
    assert model.issue_time(n) >= unlimited.issue_time(n)


def test_full_queue_holds_the_frontend_up():
    """Of ten slow operations one runs and two may wait: the tenth call returns when the eighth begins to run."""
    assert PipelineModel(1, 5, 0).issue_time(10) == 10
    assert PipelineModel(1, 5, 0, capacity=2).issue_time(10) == 1 + 7 * 5


@given(MODELS, st.integers(1, 20))
def test_time_of_an_operation_in_a_long_run(model: PipelineModel, every: int):
    """The time of an operation is c0 + c1/k, as in a run of many full rounds."""
    assert model.per_operation(every) == pytest.approx(simulate(model, 7 * every, every).now / (7 * every))


def test_waiting_each_time_and_once_are_the_ends_of_one_scale():
    """A wait after every one is the synchronous total, a wait after all the asynchronous one."""
    model = PipelineModel(2, 3, 5)

    assert model.total(12, wait_every=1) == model.sync_total(12) == 120
    assert model.total(12, wait_every=12) == model.total(12, wait_every=99) == model.async_total(12) == 43


@pytest.mark.parametrize(
    ("t1", "t2", "regime"), [(1, 2, "backend-bound"), (2, 2, "backend-bound"), (2, 1, "frontend-bound")]
)
def test_slower_one_gives_the_regime_its_name(t1: float, t2: float, regime: str):
    """The backend sets the pace if it is no faster than the frontend."""
    assert PipelineModel(t1, t2, 0).regime == regime


def test_pending_counts_what_runs_and_what_waits():
    """A queue without a limit fills while the backend is slower; a limit counts beside the one that runs."""
    assert PipelineModel(1, 1000, 0).pending(30) == 30
    assert PipelineModel(1, 1000, 0, capacity=4).pending(30) == 5
    assert PipelineModel(5, 1, 0).pending(30) == 1
    assert PipelineModel(5, 0, 0).pending(30) == 0


def test_timeline_of_one_wait():
    """Calls follow each other, operations run beside them, and the frontend waits for the rest."""
    lanes = PipelineModel(1, 2, 0.5).timeline(2).lanes

    assert lanes["frontend"] == (Span("call", 0, 1), Span("call", 1, 2), Span("wait", 2, 5.5))
    assert lanes["backend"] == (Span("operation", 1, 3), Span("operation", 3, 5))


def test_timeline_of_several_waits():
    """After each wait everything begins anew."""
    lanes = PipelineModel(1, 2, 0.5).timeline(3, wait_every=2).lanes

    assert [(span.start_s, span.end_s) for span in lanes["frontend"] if span.name == "wait"] == [(2, 5.5), (6.5, 9)]
    assert lanes["backend"][-1] == Span("operation", 6.5, 8.5)


def test_timeline_shows_waiting_for_room():
    """A call that finds the queue full is over, but the frontend waits until there is room."""
    lanes = PipelineModel(1, 4, 1, capacity=1).timeline(3).lanes

    assert [span for span in lanes["frontend"] if span.name == "wait"] == [Span("wait", 3, 5), Span("wait", 5, 14)]


def test_timeline_without_a_wait_has_no_empty_span():
    """Where the answer is there at once nothing is drawn for it."""
    lanes = PipelineModel(1, 0, 0).timeline(1).lanes

    assert lanes["frontend"] == (Span("call", 0, 1),)


@given(MODELS, st.integers(1, 20), st.integers(1, 20))
def test_timeline_is_as_long_as_the_total(model: PipelineModel, n: int, every: int):
    """The drawing ends when the last answer is there, and no two spans of a lane overlap."""
    timeline = model.timeline(n, every)

    assert timeline.duration_s == model.total(n, every)
    for spans in timeline.lanes.values():
        assert all(a.end_s <= b.start_s for a, b in itertools.pairwise(spans))


def test_timeline_can_be_described():
    """What is laid out has the lanes and the names that a drawing tells of."""
    told = described(PipelineModel(0.001, 0.002, 0).timeline(4).lanes, "Once")

    assert "Once, 9 ms long" in told
    assert "In the lane frontend: wait once, 5 ms; call 4 times, 4 ms." in told
    assert "In the lane backend: operation 4 times, 8 ms." in told


def test_crossover_between_two_sizes():
    """On logarithmic axes: t2 grows with the size from a quarter of t1 to four times as much, and equals it halfway."""
    models = [PipelineModel(4, 1, 0), PipelineModel(4, 16, 0)]

    assert crossover([100, 10_000], models) == pytest.approx(1000)


def test_crossover_at_a_size():
    """Where both are equal the backend has caught up."""
    assert crossover([1, 2], [PipelineModel(4, 1, 0), PipelineModel(4, 4, 0)]) == pytest.approx(2)


def test_crossover_of_a_time_too_short_to_measure():
    """A time of 0 lies between the sizes all the same."""
    found = crossover([1, 100], [PipelineModel(1e-5, 0, 0), PipelineModel(1e-5, 1e-3, 0)])

    assert found is not None
    assert 1 < found < 100


@pytest.mark.parametrize("t2s", [(1, 2, 3), (5, 6, 7), (4, 5), (7, 6, 1), (1,), ()])
def test_no_crossover(t2s: tuple[float, ...]):
    """Nobody overtakes where one is always the faster, or the backend becomes the faster one."""
    models = [PipelineModel(4, t2, 0) for t2 in t2s]

    assert crossover(range(1, len(t2s) + 1), models) is None


@pytest.mark.parametrize("sizes", [(1,), (1, 2, 3), (2, 1), (1, 1), (0, 1), (-1, 1), (1, math.inf)])
def test_crossover_refuses_sizes(sizes: tuple[float, ...]):
    """Sizes ascend from above 0, one for each model."""
    with pytest.raises(InvalidNumberError, match="allowed"):
        crossover(sizes, [PipelineModel(4, 1, 0), PipelineModel(4, 9, 0)])


def test_crossover_refuses_a_size_that_is_no_number():
    """A size is a number."""
    with pytest.raises(UnsupportedValueError, match="a size is 'small'"):
        crossover(["small"], [PipelineModel(1, 1, 1)])


@pytest.mark.parametrize("name", ["t1", "t2", "t3"])
@pytest.mark.parametrize("value", [-1e-9, math.nan, math.inf, 10**400])
def test_times_are_finite_and_not_negative(name: str, value: float):
    """A time that cannot be is refused, by its name."""
    with pytest.raises(InvalidNumberError, match=f"PipelineModel: {name} is .*allowed"):
        PipelineModel(**{"t1": 1, "t2": 1, "t3": 1, name: value})


@pytest.mark.parametrize("value", [None, "1", True, 1j, [1]])
def test_times_are_numbers(value: object):
    """What is no number is refused, truth values included."""
    with pytest.raises(UnsupportedValueError, match=r"PipelineModel: t2 is .*allowed"):
        PipelineModel(1, value, 1)


@pytest.mark.parametrize("capacity", [0, -1, 2.0, True, "4"])
def test_capacity_has_room_for_one(capacity: object):
    """A capacity is that of an engine."""
    with pytest.raises(InvalidCapacityError, match=r"PipelineModel: the capacity is .*allowed"):
        PipelineModel(1, 1, 1, capacity)


CALLS = {
    "sync_total": lambda model, n: model.sync_total(n),
    "async_total": lambda model, n: model.async_total(n),
    "total": lambda model, n: model.total(n, 1),
    "total, wait_every": lambda model, n: model.total(1, n),
    "per_operation": lambda model, n: model.per_operation(n),
    "issue_time": lambda model, n: model.issue_time(n),
    "schedule": lambda model, n: model.schedule(n),
    "pending": lambda model, n: model.pending(n),
    "timeline": lambda model, n: model.timeline(n),
    "timeline, n": lambda model, n: model.timeline(n, 1),
    "timeline, wait_every": lambda model, n: model.timeline(1, n),
}


@pytest.mark.parametrize("call", CALLS)
def test_numbers_of_operations_are_checked(call: str):
    """A number of operations is an integer of at least 1."""
    model = PipelineModel(1, 1, 1)

    with pytest.raises(InvalidNumberError, match=r"is 0 .*integer of at least 1"):
        CALLS[call](model, 0)
    for wrong in (1.0, True, "1", None if "wait_every" not in call or call == "total, wait_every" else 1.5):
        with pytest.raises(UnsupportedValueError, match="integer of at least 1"):
            CALLS[call](model, wrong)


def test_model_is_not_changed():
    """A model is frozen, and equal to another one of the same times."""
    model = PipelineModel(1, 2, 3)

    with pytest.raises(dataclasses.FrozenInstanceError):
        model.t1 = 2
    assert model == PipelineModel(1.0, 2.0, 3.0, None)


@pytest.mark.parametrize(
    ("times", "told"),
    [
        ((3.9e-6, 139e-6, 17.2e-6), "t1 = 3.9 µs, t2 = 139 µs, t3 = 17 µs: backend-bound"),
        ((0.003, 0.0015, 0), "t1 = 3 ms, t2 = 1.5 ms, t3 = 0 µs: frontend-bound"),
        ((1, 12.3, 0.123), "t1 = 1 s, t2 = 12 s, t3 = 123 ms: backend-bound"),
        ((1e-9, 9.96e-4, 9.96e-6), "t1 = 0.001 µs, t2 = 996 µs, t3 = 10 µs: backend-bound"),
    ],
)
def test_model_is_printed_in_words(times: tuple[float, float, float], told: str):
    """A printed model tells its times in units that suit them, and who sets the pace; its repr stays exact."""
    model = PipelineModel(*times)

    assert str(model) == f"{model}" == told
    assert repr(model).startswith(f"PipelineModel(t1={float(times[0])!r}, t2=")
