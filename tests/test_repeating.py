"""A repeated measurement says its median, and how far its times agree."""

from __future__ import annotations

import sys
import time
from dataclasses import FrozenInstanceError
from types import SimpleNamespace
from typing import Any

import pytest
from fakes import NDArray, fake_mxnet

from asynclab import (
    AsynclabError,
    InvalidNumberError,
    Repeated,
    UnsupportedTargetError,
    UnsupportedValueError,
    repeat,
    repeating,
)

#: Times are taken here: nothing else may run beside.
pytestmark = pytest.mark.alone

EVEN = tuple(0.01 + 0.0001 * number for number in range(9))  # quartiles 0.0102 and 0.0106


def scattered(spread: float, median: float = 0.01) -> Repeated:
    """Nine times whose quartiles lie so far apart, relative to their median."""
    return Repeated(tuple(median * (1 + spread * (number - 4) / 4) for number in range(9)))


@pytest.fixture(autouse=True)
def _no_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin every test as if the program had imported no framework."""
    for name in ("torch", "mxnet"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A clock that stands still until the test moves it."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(repeating, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    return clock


def test_function_is_measured_nine_times_after_a_call_without_a_clock(clock: Any):
    """The first call, which also pays for loading, does not count."""
    durations = iter([50.0, *EVEN])

    def work() -> None:
        clock.now += next(durations)

    repeated = repeat(work)

    assert repeated.seconds == pytest.approx(EVEN)


@pytest.mark.parametrize(("warmup", "repeats"), [(0, 3), (2, 5)])
def test_numbers_of_calls_can_be_chosen(warmup: int, repeats: int):
    """Warming up and measuring each have their number."""
    calls: list[None] = []

    repeated = repeat(lambda: calls.append(None), warmup=warmup, repeats=repeats)

    assert (len(repeated.seconds), len(calls)) == (repeats, warmup + repeats)


def test_pending_work_is_awaited_before_each_start(monkeypatch: pytest.MonkeyPatch, clock: Any):
    """Without ``sync`` the times are those of the calls, and no repetition pays for the one before."""
    pending = [7.0]
    mxnet = fake_mxnet([])

    def waitall() -> None:
        clock.now += sum(pending)
        pending.clear()

    def work() -> None:
        clock.now += 1
        pending.append(5)

    mxnet.nd.waitall = waitall
    monkeypatch.setitem(sys.modules, "mxnet", mxnet)

    assert repeat(work, warmup=0, repeats=3).seconds == (1, 1, 1)


def test_sync_is_awaited_before_each_stop(clock: Any):
    """With ``sync`` the times are those of the work."""

    def wait() -> None:
        clock.now += 5

    assert repeat(lambda: None, sync=wait, repeats=3).seconds == (5, 5, 5)


def test_sync_takes_what_benchmark_takes(monkeypatch: pytest.MonkeyPatch):
    """An array, for example, and a list that the function fills."""
    waits: list[object] = []
    monkeypatch.setitem(sys.modules, "mxnet", fake_mxnet(waits))
    results: list[object] = []

    def work() -> None:
        results[:] = [NDArray(waits, "result")]

    repeat(work, sync=results, warmup=1, repeats=3)

    assert waits == ["waitall", "result"] * 4


def test_error_of_the_function_goes_on():
    """A function that fails has no times."""
    with pytest.raises(ZeroDivisionError):
        repeat(lambda: 1 / 0)


@pytest.mark.parametrize(
    ("arguments", "error", "found"),
    [
        ({"repeats": 2}, InvalidNumberError, r"repeats is 2 \(allowed: an integer from 3\)"),
        ({"warmup": -1}, InvalidNumberError, r"warmup is -1 \(allowed: an integer from 0\)"),
        ({"repeats": 9.0}, UnsupportedValueError, "repeats is an object of type float"),
        ({"warmup": True}, UnsupportedValueError, "warmup is an object of type bool"),
        ({"sync": 3}, UnsupportedTargetError, "type int"),
    ],
)
def test_wrong_arguments_are_refused_before_any_call(arguments: Any, error: type[Exception], found: str):
    """A mistake shows at once, with what is allowed."""
    with pytest.raises(error, match=found) as caught:
        repeat(lambda: pytest.fail("was called"), **arguments)

    assert isinstance(caught.value, AsynclabError)


def test_result_instead_of_a_function_is_refused():
    """Who forgets the ``lambda`` is told about it."""
    with pytest.raises(UnsupportedValueError, match=r"an object of type int .*\n.*repeat\(lambda: a @ a\)"):
        repeat(3)  # type: ignore[arg-type]


def test_options_have_to_be_named():
    """A number in the second place could mean anything."""
    with pytest.raises(TypeError):
        repeat(lambda: None, 5)  # type: ignore[misc]


def test_median_and_quartiles_are_those_of_the_times():
    """Their order does not matter."""
    repeated = Repeated((0.4, 0.1, 0.3, 0.5, 0.2))

    assert repeated.median_s == 0.3
    assert repeated.quartiles_s == pytest.approx((0.2, 0.4))
    assert repeated.spread == pytest.approx(2 / 3)


def test_times_cannot_be_changed():
    """What was measured stays."""
    with pytest.raises(FrozenInstanceError):
        Repeated(EVEN).seconds = ()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("spread", "steady", "is_figure"),
    [(0.0, True, True), (0.099, True, True), (0.11, False, True), (0.249, False, True), (0.26, False, False)],
)
def test_spread_decides_what_the_times_are_worth(spread: float, steady: bool, is_figure: bool):
    """Up to 10 % they agree; above 25 % the median is no figure."""
    repeated = scattered(spread)

    assert repeated.spread == pytest.approx(spread)
    assert (repeated.steady, repeated.is_figure) == (steady, is_figure)


@pytest.mark.parametrize(
    ("repeated", "line"),
    [
        (Repeated(EVEN), "0.0104 s (median of 9, half of them between 0.0102 and 0.0106 s)"),
        (
            scattered(0.14),
            "0.0100 s (median of 9, half of them between 0.0093 and 0.0107 s); spread 14 %: read it with care",
        ),
        (scattered(0.4), "no figure: 9 repetitions spread by 40 % (0.0060 to 0.0140 s)"),
        (scattered(0.02, 12.3456), "12.3456 s (median of 9, half of them between 12.2221 and 12.4691 s)"),
        (scattered(0.02, 0.00234), "2.34 ms (median of 9, half of them between 2.32 and 2.36 ms)"),
        (scattered(0.02, 0.000234), "0.234 ms (median of 9, half of them between 0.232 and 0.236 ms)"),
        (scattered(0.02, 0.0000234), "23.4 µs (median of 9, half of them between 23.2 and 23.6 µs)"),
        (Repeated((0.0, 0.0, 0.0)), "no figure: 3 repetitions spread by inf % (0 to 0 µs)"),
    ],
)
def test_line_says_how_far_the_times_agree(repeated: Repeated, line: str):
    """A notebook shows the same line as print does."""
    assert (str(repeated), repr(repeated)) == (line, line)


@pytest.mark.parametrize(
    ("median", "recorded"), [(0.5, (0.5, "s")), (0.00234, (2.34, "ms")), (0.0000234, (23.4, "µs"))]
)
def test_median_is_recorded_with_its_spread(monkeypatch: pytest.MonkeyPatch, median: float, recorded: Any):
    """Prose can quote it in the unit that suits it, and knows how far to trust it."""
    calls: list[Any] = []
    monkeypatch.setattr(repeating, "record", lambda *args, **named: calls.append((args, named)))

    scattered(0.12, median).record("product")

    (name, value, unit), named = calls[0]
    assert (name, value, unit) == ("product", pytest.approx(recorded[0]), recorded[1])
    assert named == {"spread": pytest.approx(0.12)}


def test_real_clock_is_used():
    """Sleeping takes as long as it should."""
    assert repeat(lambda: time.sleep(0.01), warmup=0, repeats=3).median_s >= 0.01
