"""A benchmark on simulated devices, each of which shows one mistake; the true time is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from asynclab.simulated import VirtualDevice
from coursework import Offering, Question, Remote, Student, Verdict, agree, failed, passed
from coursework.cases import fingerprint
from coursework.simulation import offered

_OPERATION = "product"
#: More runs than that, beyond the rounds, are no warm-up any more.
_WARM_UP = 10
#: No operation here takes a year; a longer time need not even be a number that divides.
_NO_TIME_S = 3e7


@dataclass(frozen=True)
class Trial:
    """A device and how many rounds are asked for.

    Attributes:
        times: Of the device: t1, t2, t3 in seconds.
        rounds: How many times the benchmark has to take.
        leftover: Seconds of other work in the queue.
        cold: How many times longer the first run takes.
        unsteady: Whether of five runs one is slow and one is fast.
    """

    times: tuple[float, float, float]
    rounds: int
    leftover: float = 0.0
    cold: float = 1.0
    unsteady: bool = False

    def device(self) -> VirtualDevice:
        """Make the device."""
        return VirtualDevice(*self.times, leftover=self.leftover, duration=self._duration)

    def _duration(self, run: int) -> float:
        factor = {2: 11.0, 4: 0.6}.get(run % 5, 1.0) if self.unsteady else 1.0
        return self.times[1] * (factor if run else self.cold)


def _asks(trials: Sequence[Trial], mistake: str) -> Callable[[Student], Verdict]:
    def ask(student: Student) -> Verdict:
        ratios = []
        for trial in trials:
            device = trial.device()
            device_there = offered(device, "submit", "wait", "wait_all")
            gave = student.call("benchmark", device_there, Remote(device.clock, ("now",)), _OPERATION, trial.rounds)
            verdict = _unfit(gave, device, trial)
            if verdict:
                return verdict
            ratios.append(gave / sum(trial.times))
        if all(agree(ratio, 1.0) for ratio in ratios):
            return passed()
        worst = max(ratios, key=lambda ratio: max(ratio, 1 / ratio) if ratio > 0 else float("inf"))
        return failed(
            f"{mistake} The figure was {worst:.2f} times the true time.",
            private=f"figures in true times: {[round(each, 4) for each in ratios]}",
            sign=fingerprint([round(each, 4) for each in ratios]),
        )

    return ask


def _unfit(gave: Any, device: VirtualDevice, trial: Trial) -> Verdict | None:
    """Say what is wrong beside the figure itself."""
    if type(gave) not in (int, float):
        return failed(
            f"benchmark returned a value of type {type(gave).__name__}, not a number of seconds.", sign="no number"
        )
    if not abs(gave) < _NO_TIME_S:
        return failed("benchmark returned no time at all, but a number beyond measure.", sign="beyond measure")
    if len(device.runs) < trial.rounds:
        return failed("benchmark ran the operation less often than `rounds` says.", sign="too few runs")
    if len(device.runs) > trial.rounds + _WARM_UP:
        return failed("benchmark ran the operation far more often than `rounds` says.", sign="too many runs")
    if any(run.operation != _OPERATION for run in device.runs):
        return failed("benchmark submitted something else than the operation.", sign="another operation")
    return None


def _times(draw: Random) -> tuple[float, float, float]:
    return draw.uniform(1e-3, 2e-3), draw.uniform(6e-3, 9e-3), draw.uniform(1e-3, 2e-3)


def questions(offering: Offering) -> list[Question]:
    """Make a question of each mistake, and one of all together."""
    draw = offering.draw("devices")
    leftover, cold, many = draw.uniform(0.03, 0.09), draw.uniform(8, 15), 2 * draw.randint(8, 14) + 1
    together = [
        Trial(_times(draw), 1, leftover, cold),
        Trial(_times(draw), many + 2, leftover, cold, unsteady=True),
    ]
    return [
        Question(
            "has_it",
            "The clock stops when the result is there",
            2,
            _asks([Trial(_times(draw), rounds) for rounds in (5, 8)], "The device was well-behaved."),
            "What submit gives back is there before the operation has run. Each round holds one run and its answer.",
            "benchmark",
        ),
        Question(
            "empty_queue",
            "The clock starts with an empty queue",
            2,
            _asks([Trial(_times(draw), 1, leftover)], "Work of others was in the queue."),
            "Wait before the clock starts, for everything.",
            "benchmark",
        ),
        Question(
            "warm",
            "The first run does not count",
            2,
            _asks([Trial(_times(draw), 1, cold=cold)], "The first run of the operation was slow."),
            "Run the operation before the clock starts, and wait for that run.",
            "benchmark",
        ),
        Question(
            "median",
            "The middle one",
            2,
            _asks([Trial(_times(draw), many, unsteady=True)], "A few runs were slow, and a few fast."),
            "A few figures may be far off, to both sides. Which of them does nobody move?",
            "benchmark",
        ),
        Question(
            "together",
            "All at once",
            2,
            _asks(together, "Work of others was in the queue, the first run was slow, and later ones were unsteady."),
            "Each of the four other questions shows one of the mistakes alone; look at those first.",
            "benchmark",
        ),
    ]
