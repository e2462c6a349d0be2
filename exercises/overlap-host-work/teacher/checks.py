"""A loop over a device and a host that really take their time, outside of the jail; a real clock sees what overlaps."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from asynclab.simulated import Clock, VirtualClock, VirtualDevice, VirtualHost, WallClock
from coursework import Offering, Question, Student, TooNoisy, Verdict, agree, failed, passed
from coursework.cases import fingerprint
from coursework.simulation import bounded, check_submitted, hidden_shares

_DEVICE_S, _HOST_S = 0.05, 0.02
#: What disturbs only makes the share smaller, so of each piece of work the best of several runs counts.
_RUNS = 5
#: The share of the host's work that has to be hidden. All of it is, if the next batch is always in the queue; if
#: batches are taken in pairs, at most 4 of 7 pieces are. So near to the gate nothing is decided.
_GATE, _TOO_CLOSE = 0.69, 0.05
_MOST_IN_FLIGHT = 2

_Seen = tuple[VirtualDevice, VirtualHost, Any]


def _run(student: Student, batches: Sequence[int], clock: Clock) -> _Seen:
    device = VirtualDevice(0.0, _DEVICE_S, 0.0, compute=lambda batch: 7 * batch + 3, clock=clock)
    host = VirtualHost(device, _HOST_S, work=lambda result: result * result)
    outcomes = student.call("process", *bounded(device, host, len(batches)), list(batches))
    check_submitted(device, batches)
    return device, host, outcomes


def _outcomes(runs: Sequence[Sequence[int]]) -> Callable[[Student], Verdict]:
    def ask(student: Student) -> Verdict:
        for batches in runs:
            outcomes = _run(student, batches, VirtualClock())[2]
            if type(outcomes) is not list:
                return failed(
                    f"process returned a value of type {type(outcomes).__name__}, not a list.", sign="no list"
                )
            if not agree(outcomes, [(7 * batch + 3) ** 2 for batch in batches]):
                return failed(
                    f"For {_counted(batches)} process returned {len(outcomes)} outcomes, not all right and in order.",
                    private=f"{outcomes!r:.300}",
                    sign=fingerprint(len(outcomes) - len(batches), _counted(batches)),
                )
        return passed()

    return ask


def _counted(batches: Sequence[int]) -> str:
    return {0: "no batch", 1: "one batch"}.get(len(batches), "several batches")


def _bounded(batches: Sequence[int]) -> Callable[[Student], Verdict]:
    def ask(student: Student) -> Verdict:
        most = _run(student, batches, VirtualClock())[0].most_in_flight()
        if most <= _MOST_IN_FLIGHT:
            return passed()
        return failed(
            f"Up to {most} batches were in flight at once; two are allowed.", sign=fingerprint(most == len(batches))
        )

    return ask


def _overlapped(batches: Sequence[int]) -> Callable[[Student], Verdict]:
    def ask(student: Student) -> Verdict:
        best = [0.0] * (len(batches) - 1)
        for _ in range(_RUNS):
            device, host, _ = _run(student, batches, WallClock())
            if len(host.spans) != len(batches):
                return failed("The host did not work once on each result.", sign="not all results")
            best = [max(pair) for pair in zip(best, hidden_shares(host), strict=True)]
            share = statistics.mean(best)
            if share > _GATE + _TOO_CLOSE:
                return passed("While the host worked on one result, the device computed the next.")
        private = f"best shares, by piece of work: {[round(each, 3) for each in best]}"
        if share > _GATE - _TOO_CLOSE:
            raise TooNoisy(private)
        return failed(
            f"While the host worked, the device computed for {share:.0%} of that time only. It could compute for all "
            "of it, except during the work on the last result.",
            private=private,
            sign=fingerprint("some" if share > _GATE / 3 else "nothing", device.runs[1].issued_s < host.spans[0][0]),
        )

    return ask


def questions(offering: Offering) -> list[Question]:
    """Make the questions; only the last one takes its time."""
    draw = offering.draw("batches")
    batches = draw.sample(range(1000), offering.constants["rounds"])
    return [
        Question(
            "outcomes",
            "All outcomes, in order",
            2,
            _outcomes([batches, batches[:1], [], batches[:2]]),
            "Try one batch, and none: the first and the last batch are the ones that a loop easily loses.",
            "process",
        ),
        Question(
            "bounded",
            "Two in flight",
            2,
            _bounded(batches),
            "Only the next batch has to be in the queue while the host works, not all of them.",
            "process",
        ),
        Question(
            "overlapped",
            "Side by side",
            6,
            _overlapped(batches),
            "Follow device and host line by line: what does the device have to do at the moment when the host begins?",
            "process",
            timed=True,
        ),
    ]
