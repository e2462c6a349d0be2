"""A training loop on a simulated device, judged by what the device saw: the order, what was in flight, the time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from asynclab.simulated import VirtualDevice
from coursework import Offering, Question, Student, Verdict, agree, failed, passed
from coursework.cases import fingerprint
from coursework.simulation import check_submitted, offered

#: The best time that a depth allows may be missed by so much. Emptying the queue whenever it is full costs more.
_SLACK = 1.08


@dataclass(frozen=True)
class Trial:
    """One call of the student's loop: batches, how many may be in flight, and the device's times."""

    batches: tuple[float, ...]
    depth: int
    times: tuple[float, float, float]
    factor: float

    def device(self) -> VirtualDevice:
        """Make the device."""
        return VirtualDevice(*self.times, compute=lambda batch: batch * self.factor)

    def losses(self) -> list[float]:
        """Give what the loop has to return."""
        return [batch * self.factor for batch in self.batches]

    def best_s(self) -> float:
        """Give the time of a loop that waits as late as it may."""
        device, pending = self.device(), deque[int]()
        for batch in self.batches:
            if len(pending) == self.depth:
                device.wait(pending.popleft())
            pending.append(device.submit(batch))
        while pending:
            device.wait(pending.popleft())
        return device.clock.now()


def _run(student: Student, trial: Trial) -> tuple[VirtualDevice, Any]:
    device = trial.device()
    losses = student.call("train", offered(device), list(trial.batches), trial.depth)
    check_submitted(device, trial.batches)
    return device, losses


def _losses(trials: Sequence[Trial]) -> Callable[[Student], Verdict]:
    def ask(student: Student) -> Verdict:
        for trial in trials:
            device, losses = _run(student, trial)
            if type(losses) is not list:
                return failed(f"train returned a value of type {type(losses).__name__}, not a list.", sign="no list")
            if not agree(losses, trial.losses()):
                how = (
                    f"{len(losses)} losses for {len(trial.batches)} batches"
                    if len(losses) != len(trial.batches)
                    else "other losses, or in another order"
                )
                return failed(
                    f"train returned {how}.",
                    private=f"{losses!r:.300}",
                    sign=fingerprint(len(losses) - len(trial.batches), trial.depth),
                )
            if device.in_flight():
                return failed("When train returned, batches were still in flight.", sign="in flight at the end")
        return passed()

    return ask


def _bounded(trials: Sequence[Trial]) -> Callable[[Student], Verdict]:
    def ask(student: Student) -> Verdict:
        excess = [_run(student, trial)[0].most_in_flight() - trial.depth for trial in trials]
        if max(excess) <= 0:
            return passed()
        return failed(
            f"In {sum(each > 0 for each in excess)} of {len(excess)} runs more batches were in flight at once than "
            f"`depth` allows: {max(excess)} too many at the worst.",
            private=f"too many, by run: {excess}",
            sign=fingerprint(excess),
        )

    return ask


def _quick(trials: Sequence[Trial]) -> Callable[[Student], Verdict]:
    def ask(student: Student) -> Verdict:
        ratios = [_run(student, trial)[0].clock.now() / trial.best_s() for trial in trials]
        if max(ratios) <= _SLACK:
            return passed()
        return failed(
            f"The loop took up to {max(ratios):.2f} times as long as the depth makes necessary: the device had "
            "nothing to do while the loop waited.",
            private=f"ratios, by run: {[round(each, 3) for each in ratios]}",
            sign=fingerprint([round(each, 3) for each in ratios]),
        )

    return ask


def _edges(trials: dict[str, Trial]) -> Callable[[Student], Verdict]:
    def ask(student: Student) -> Verdict:
        for name, trial in trials.items():
            device, losses = _run(student, trial)
            if not agree(losses, trial.losses()) or device.in_flight():
                return failed(
                    f"{name}: the losses were not those of all batches.",
                    private=f"{losses!r:.300}",
                    sign=f"losses: {name}",
                )
            if device.most_in_flight() > trial.depth:
                return failed(
                    f"{name}: more batches were in flight than allowed.",
                    sign=fingerprint(name, device.most_in_flight() - trial.depth),
                )
        return passed()

    return ask


def questions(offering: Offering) -> list[Question]:
    """Make the questions; the device of each run is a new one."""
    draw = offering.draw("runs")

    def trial(count: int, depth: int) -> Trial:
        t2 = round(draw.uniform(2, 9), 2)
        times = (t2 * draw.uniform(0.3, 0.45), t2, t2 * draw.uniform(0.4, 0.5))
        return Trial(tuple(draw.sample(range(1000), count)), depth, times, round(draw.uniform(0.1, 2), 2))

    depth = offering.constants["depth"]
    trials = [trial(draw.randint(20, 40), each) for each in (depth, 2, depth + draw.randint(1, 3))]
    edges = {
        "a depth of one": trial(draw.randint(5, 9), 1),
        "fewer batches than the depth": trial(draw.randint(2, 4), draw.randint(6, 9)),
        "as many batches as the depth": trial(depth, depth),
        "no batches": trial(0, depth),
    }
    return [
        Question(
            "losses",
            "All losses, in order",
            2,
            _losses(trials),
            "Each number that submit returns has to be handed to wait once; also those of the last batches.",
            "train",
        ),
        Question(
            "bounded",
            "Never more in flight than allowed",
            3,
            _bounded(trials),
            "Before submit there must be room for one more. Count at the moment when submit has returned.",
            "train",
        ),
        Question(
            "quick",
            "No slower than necessary",
            3,
            _quick(trials),
            "Wait for as little as possible, as late as possible: when there is no room, for the oldest batch alone.",
            "train",
        ),
        Question(
            "edges",
            "At the edges",
            2,
            _edges(edges),
            "Try a depth of one, fewer batches than the depth, and no batch at all.",
            "train",
        ),
    ]
