"""Fitting the cost model: right on a pipeline whose times are known, and an error where there is none."""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from asynclab import (
    AsynclabError,
    Engine,
    FittingError,
    InvalidCapacityError,
    InvalidNumberError,
    PipelineModel,
    UnsupportedValueError,
)

NOTHING_LEFT = r"(?s)hardly anything is left.*wait=engine\.wait_all.*there is no pipeline: .*engine\.submit"


class Simulated:
    """A pipeline on a clock of its own, where every time is known and nothing else happens."""

    def __init__(
        self, t1: float, t2: float, t3: float = 0, *, blocker_s: float = 1000, wake_s: float = 0, first_s: float = 0
    ) -> None:
        """Take the times; ``wake_s`` is what a call costs more when the worker is idle, ``first_s`` the first call."""
        self.t1, self.t2, self.t3, self.blocker_s, self.wake_s, self.first_s = t1, t2, t3, blocker_s, wake_s, first_s
        self.shared = 0.0
        self.now_s = self.free_s = 0.0
        self.loop = self.longest = 0

    def operation(self) -> None:
        """Issue a small operation."""
        self.issue(self.t2)
        self.loop += 1
        self.longest = max(self.longest, self.loop)

    def blocker(self) -> None:
        """Issue a long operation."""
        self.issue(self.blocker_s)

    def issue(self, work_s: float) -> None:
        """Spend the frontend's time, then give work to the worker."""
        idle = self.free_s <= self.now_s + self.t1
        if not idle:
            self.free_s += self.shared * self.t1
        self.now_s += self.t1 + self.first_s + (self.wake_s if idle else 0)
        self.first_s = 0
        self.free_s = max(self.free_s, self.now_s) + work_s

    def keep_busy(self, duration_s: float) -> None:
        """Let the frontend do something else; so does the worker, but both take longer if they share a core."""
        if self.free_s > self.now_s:
            self.free_s += self.shared * duration_s
        self.now_s += duration_s

    def wait(self) -> None:
        """Wait until the worker has nothing left; cheap if it has nothing."""
        if self.free_s > self.now_s:
            self.now_s = self.free_s + self.t3
        self.loop = 0

    def fit(self, **options: object) -> PipelineModel:
        """Fit a model to this pipeline."""
        return PipelineModel.fit(self.operation, blocker=self.blocker, wait=self.wait, **options)


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Simulated]:
    """Make a simulated pipeline, whose clock is the one to measure by."""

    def make(*times: float, **options: float) -> Simulated:
        pipe = Simulated(*times, **options)
        monkeypatch.setattr("asynclab.fitting.time", SimpleNamespace(perf_counter=lambda: pipe.now_s))
        monkeypatch.setattr("asynclab.fitting._keep_busy", pipe.keep_busy)
        return pipe

    return make


@pytest.mark.parametrize("times", [(1, 3, 0.5), (3, 1, 0.5), (2, 2, 0), (1, 300, 7)])
def test_fit_finds_the_times(simulated: Callable[..., Simulated], times: tuple[float, float, float]):
    """Without disturbances the three times are found, in both regimes."""
    model = simulated(*times).fit()

    assert (model.t1, model.t2, model.t3) == pytest.approx(times)
    assert model.capacity is None


def test_call_that_wakes_the_worker_is_dearer(simulated: Callable[..., Simulated]):
    """Where the worker is faster than the loop, a call is timed as it is there: with the waking."""
    model = simulated(2, 1, wake_s=3).fit(n=100)

    assert model.t1 == pytest.approx(5)
    assert model.t2 == pytest.approx(1)


def test_worker_that_is_hardly_faster_falls_asleep_as_well(simulated: Callable[..., Simulated]):
    """However little faster than the loop the worker is, each call has to wake it."""
    assert simulated(5, 4.5, wake_s=0.2).fit(n=100).t1 == pytest.approx(5.2)


def test_slow_worker_is_never_asleep(simulated: Callable[..., Simulated]):
    """Where the worker is slower than the loop only the first call has to wake it, which does not count."""
    model = simulated(2, 9, wake_s=3).fit(n=100)

    assert model.t1 == pytest.approx(2)
    assert model.t2 == pytest.approx(9)


@pytest.mark.parametrize(("t2", "shared", "t1"), [(3, 1, 5), (8, 1, 10), (8, 0.6, 9.2), (100, 1, 2), (100, 10, 2)])
def test_lock_that_both_need_is_laid_on_the_frontend(
    simulated: Callable[..., Simulated], t2: float, shared: float, t1: float
):
    """Where a call keeps the worker from its work, live operations follow each other by the sum of both times.

    It is laid on the frontend unless a call is short beside an operation: then memory may be the cause as well.
    """
    pipe = simulated(2, t2)
    pipe.shared = shared

    def blocker() -> None:
        pipe.shared = 0  # a long operation needs no lock
        pipe.issue(1000)

    def wait() -> None:
        Simulated.wait(pipe)
        pipe.shared = shared

    pipe.blocker, pipe.wait = blocker, wait
    model = pipe.fit(n=100)

    assert model.t2 == pytest.approx(t2)
    assert model.t1 == pytest.approx(t1, rel=0.02)


def test_frontend_that_slows_the_blocker_down_is_not_charged_to_operations(simulated: Callable[..., Simulated]):
    """Where both share a core the blocker takes longer beside a busy frontend, with operations or without."""
    pipe = simulated(1, 3)
    pipe.shared = 0.5

    assert pipe.fit().t2 == pytest.approx(3)


def test_first_call_does_not_count(simulated: Callable[..., Simulated]):
    """What the first call has to prepare is left to the warm-up."""
    assert simulated(1, 3, first_s=50).fit(repeats=1).t2 == pytest.approx(3)


def test_disturbed_round_does_not_count(simulated: Callable[..., Simulated]):
    """One round of five that was held up leaves the medians alone."""
    pipe = simulated(1, 3)
    calm, calls = pipe.blocker, iter(range(10_000))

    def disturbed() -> None:
        calm()
        if next(calls) == 5:  # in the first round that counts, after the five of the warm-up
            pipe.free_s += 500

    pipe.blocker = disturbed

    assert pipe.fit().t2 == pytest.approx(3)


def test_loop_that_outlasts_the_blocker_is_halved(simulated: Callable[..., Simulated]):
    """A loop is halved until the worker is still busy when it ends."""
    pipe = simulated(1, 3, blocker_s=70)
    model = pipe.fit(n=200)

    assert model.t2 == pytest.approx(3)
    assert model.t1 == pytest.approx(1)


def test_loop_is_halved_as_often_as_its_pace_demands(simulated: Callable[..., Simulated]):
    """A loop that is far too long is not tried at each half."""
    pipe = simulated(1, 3, blocker_s=20)
    calls = itertools.count()
    pipe.blocker = lambda: (next(calls), pipe.issue(20))
    pipe.fit(n=1280, repeats=1)

    # In the warm-up five, in the round that was too long two, and two in the one that was not.
    assert next(calls) == 9


def test_live_loop_is_not_halved(simulated: Callable[..., Simulated]):
    """The loop that no blocker has to outlast is as long as asked for: waking the first few times may be dearer."""
    pipe = simulated(2, 1, blocker_s=100)
    pipe.fit(n=300)

    assert pipe.longest == 300


@pytest.mark.parametrize("enabled", [True, False])
def test_collector_of_garbage_waits(simulated: Callable[..., Simulated], enabled: bool):
    """While times are taken no garbage is collected; afterwards all is as before, after an error too."""
    pipe = simulated(1, 3)
    seen: set[bool] = set()
    operation = pipe.operation
    pipe.operation = lambda: (operation(), seen.add(gc.isenabled()))
    (gc.enable if enabled else gc.disable)()
    try:
        pipe.fit()
        after = gc.isenabled()
        with pytest.raises(FittingError):
            simulated(1, 3, blocker_s=1).fit()
        after_error = gc.isenabled()
    finally:
        gc.enable()

    assert seen == {False}
    assert after is after_error is enabled


def test_loop_is_as_long_as_asked_for(simulated: Callable[..., Simulated]):
    """A loop has as many operations as were asked for if the blocker is long enough."""
    pipe = simulated(1, 3)
    pipe.fit(n=123)

    assert pipe.longest == 123


@pytest.mark.parametrize("n", [64, 200])
def test_loop_has_room_in_the_queue(simulated: Callable[..., Simulated], n: int):
    """With a capacity fewer operations than that are issued at once."""
    pipe = simulated(1, 3)
    model = pipe.fit(n=n, capacity=64)

    assert pipe.longest == 63
    assert model == PipelineModel(model.t1, model.t2, model.t3, 64)


def test_time_of_an_answer_is_not_negative(simulated: Callable[..., Simulated]):
    """If a waited call takes less than the other two times together, nothing is left for the third."""
    assert simulated(1, 3, wake_s=-0.5).fit().t3 == 0


def test_time_of_an_operation_is_not_negative(simulated: Callable[..., Simulated]):
    """If blockers happen to be shorter with operations behind them, these take no time."""
    pipe = simulated(1, 3)
    lengths = itertools.cycle([2000, 1000])  # a round begins after five of the warm-up
    pipe.blocker = lambda: pipe.issue(next(lengths))

    assert pipe.fit().t2 == 0


def test_short_blocker_is_refused(simulated: Callable[..., Simulated]):
    """A blocker that does not outlast ten operations is too short, and the error says what helps."""
    with pytest.raises(FittingError, match=r"(?s)outlasts at least 10 .*Take a larger blocker"):
        simulated(1, 3, blocker_s=10).fit()


def test_small_queue_is_refused(simulated: Callable[..., Simulated]):
    """A queue without room for ten operations behind the blocker cannot be fitted."""
    with pytest.raises(FittingError, match=r"(?s)capacity of the queue is 10 .*larger queue"):
        simulated(1, 3).fit(capacity=10)

    assert simulated(1, 3).fit(capacity=11).t2 == pytest.approx(3)


def test_frontend_that_computes_itself_is_no_pipeline():
    """Where a blocker is done when its call returns, the error says that there is no pipeline, and what has one."""
    with pytest.raises(FittingError, match=NOTHING_LEFT):
        PipelineModel.fit(lambda: None, blocker=lambda: time.sleep(0.01), wait=lambda: None, repeats=1)


@pytest.mark.parametrize("wait_s", [0, 0.5, 5])
def test_frontend_that_computes_itself_needs_no_larger_blocker(simulated: Callable[..., Simulated], wait_s: float):
    """With a blocker as small as the operation the missing pipeline is told first, however dear an idle wait is."""
    pipe = simulated(1, 0)
    pipe.wait = lambda: pipe.keep_busy(wait_s)
    pipe.blocker = pipe.operation = lambda: pipe.keep_busy(2)

    with pytest.raises(FittingError, match=NOTHING_LEFT):
        pipe.fit()


def test_wait_for_another_backend_is_told(simulated: Callable[..., Simulated]):
    """Where the wait does not wait for the blocker, the error asks for the right one."""
    pipe = simulated(1, 3)
    pipe.wait = lambda: pipe.keep_busy(0.5)

    with pytest.raises(FittingError, match=r"(?s)Does `wait` wait for this backend\? .*wait=engine\.wait_all"):
        pipe.fit()


def test_engine_is_not_waited_for_by_default(engine: Engine):
    """An engine of ours, fitted without its own wait, is refused."""
    with pytest.raises(FittingError, match=NOTHING_LEFT):
        PipelineModel.fit(
            lambda: engine.submit(time.sleep, 0), blocker=lambda: engine.submit(time.sleep, 0.01), n=20, repeats=1
        )


def test_short_blocker_of_a_pipeline_is_too_short_only(simulated: Callable[..., Simulated]):
    """Where a pipeline is waited for, an operation for a blocker is too short, and nothing else."""
    pipe = simulated(1, 3)
    pipe.blocker = pipe.operation

    with pytest.raises(FittingError, match="Take a larger blocker"):
        pipe.fit()


def test_blocker_with_a_dear_call_will_do(simulated: Callable[..., Simulated]):
    """A call may take some of the blocker's time, as long as the rest of it outlasts the loop."""
    pipe = simulated(1, 3)

    def blocker() -> None:
        pipe.now_s += 1000
        pipe.issue(1000)

    pipe.blocker = blocker

    assert pipe.fit().t2 == pytest.approx(3)


@pytest.mark.parametrize("options", [{"n": 9}, {"n": -1}, {"repeats": 0}])
def test_fit_refuses_numbers(options: dict[str, int]):
    """Loops have at least ten operations, and there is at least one round."""
    with pytest.raises(InvalidNumberError, match=r"PipelineModel\.fit: .*allowed"):
        PipelineModel.fit(lambda: None, blocker=lambda: None, **options)


@pytest.mark.parametrize("options", [{"n": 20.0}, {"n": True}, {"repeats": "5"}, {"repeats": None}])
def test_fit_refuses_what_is_no_number(options: dict[str, object]):
    """Numbers of operations and of rounds are integers."""
    with pytest.raises(UnsupportedValueError, match=r"PipelineModel\.fit: .*integer"):
        PipelineModel.fit(lambda: None, blocker=lambda: None, **options)


def test_fit_refuses_a_capacity():
    """A capacity is an integer of at least 1, or none."""
    with pytest.raises(InvalidCapacityError, match=r"PipelineModel\.fit: the capacity is 0"):
        PipelineModel.fit(lambda: None, blocker=lambda: None, capacity=0)


def test_error_of_an_operation_comes_through():
    """What an operation raises is not hidden; and a fitting error is one of the package."""
    with pytest.raises(ZeroDivisionError):
        PipelineModel.fit(lambda: 1 / 0, blocker=lambda: None)
    assert issubclass(FittingError, AsynclabError)


@pytest.fixture
def engine() -> Iterator[Engine]:
    """An engine, which ends after its test."""
    with Engine() as engine:
        yield engine


@pytest.mark.alone
@pytest.mark.parametrize(("t1", "t2"), [(0.0005, 0.003), (0.003, 0.0005)])
def test_fit_of_an_engine_that_sleeps(engine: Engine, t1: float, t2: float):
    """On a real queue with a real worker the times are found, and what the model predicts is measured."""

    def operation() -> None:
        time.sleep(t1)
        engine.submit(time.sleep, t2)

    def wait() -> None:
        engine.wait_all()
        time.sleep(0.001)

    model = PipelineModel.fit(operation, blocker=lambda: engine.submit(time.sleep, 0.2), wait=wait, n=20, repeats=3)
    start = time.perf_counter()
    for _ in range(50):
        operation()
    wait()
    measured_s = time.perf_counter() - start

    assert model.regime == ("backend-bound" if t2 > t1 else "frontend-bound")
    assert model.t1 == pytest.approx(t1, rel=0.5)
    assert model.t2 == pytest.approx(t2, rel=0.5)
    assert 0.0008 < model.t3 < 0.003
    assert model.async_total(50) == pytest.approx(measured_s, rel=0.25)
