"""A device that computes nothing and keeps time: what waiting costs, seen on every machine and always alike.

Rests on ``quantities`` and on ``timeline`` to draw. Exercises use it twice: in the notebook, to try an answer, and
where the answer is graded, behind messages. With a `VirtualClock` no time passes but the device's own; with a
`WallClock` it sleeps, so that a real clock sees the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from asynclab.errors import InvalidNumberError
from asynclab.profilers import BACKEND, FRONTEND, WAIT, Span
from asynclab.quantities import checked_size
from asynclab.timeline import Timeline

_HOST = "host"


class Clock(Protocol):
    """What a simulation takes its time from."""

    def now(self) -> float:
        """Tell the time, in seconds since some moment."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        ...


@dataclass
class VirtualClock:
    """A clock that stands still until somebody spends time.

    Attributes:
        time_s: What it shows, in seconds.
    """

    time_s: float = 0.0

    def now(self) -> float:
        """Tell the time, in seconds; reading the clock takes none."""
        return self.time_s

    def sleep(self, seconds: float) -> None:
        """Move the clock forward."""
        self.time_s += checked_size("VirtualClock.sleep", seconds)


class WallClock:
    """The clock on the wall, on which sleeping takes as long as it says, or a little longer."""

    def now(self) -> float:
        """Tell the time, in seconds since some moment."""
        return time.perf_counter()

    def sleep(self, seconds: float) -> None:
        """Sleep."""
        if seconds > 0:
            time.sleep(seconds)


@dataclass(frozen=True)
class Run:
    """One operation of a device.

    Attributes:
        operation: What was submitted.
        issued_s: When the call of ``submit`` returned, in seconds.
        start_s: When the device began with it, in seconds.
        end_s: When it was done, in seconds.
    """

    operation: Any
    issued_s: float
    start_s: float
    end_s: float


@dataclass(eq=False, repr=False)
class VirtualDevice:
    """A device that runs operations one after another, in the order in which they were submitted.

    The frontend spends ``t1`` on each call of ``submit``. An operation takes ``t2``. A frontend that had to wait has
    its answer ``t3`` after the end of the work; where the work was done before, ``wait`` returns at once.

    Attributes:
        t1: Seconds in which the frontend issues one operation.
        t2: Seconds in which the device computes it.
        t3: Seconds from the end of the work until a waiting frontend has its answer.
        compute: Gives an operation's result; by default what was submitted.
        duration: If given, the seconds of the operation with this number, counted from 0, in place of ``t2``.
        leftover: Seconds of other work that is in the queue from the beginning.
        clock: What keeps the time; by default a `VirtualClock` of its own.
        runs: What was submitted so far.
        calls: What the frontend did meanwhile, for `timeline`.
    """

    t1: float
    t2: float
    t3: float
    compute: Callable[[Any], Any] = lambda operation: operation
    duration: Callable[[int], float] | None = None
    leftover: float = 0.0
    clock: Clock = field(default_factory=VirtualClock)
    runs: list[Run] = field(default_factory=list, init=False)
    calls: list[Span] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        """Check the times and note when the device begins.

        Raises:
            UnsupportedValueError: If a time is no number (a ``TypeError``).
            InvalidNumberError: If a time is negative or not finite (a ``ValueError``).
        """
        for name in ("t1", "t2", "t3", "leftover"):
            setattr(self, name, checked_size(f"VirtualDevice: {name}", getattr(self, name)))
        self._begin_s = self.clock.now()
        self._free_s = self._begin_s + self.leftover

    def submit(self, operation: Any) -> int:
        """Queue an operation and return at once.

        Args:
            operation: What to compute, such as a batch.

        Returns:
            The operation's number, which `wait` takes.
        """
        began_s = self.clock.now()
        self.clock.sleep(self.t1)
        issued_s = self.clock.now()
        start_s = max(issued_s, self._free_s)
        self._free_s = start_s + (self.duration(len(self.runs)) if self.duration else self.t2)
        self.runs.append(Run(operation, issued_s, start_s, self._free_s))
        self._note("submit", began_s)
        return len(self.runs) - 1

    def wait(self, number: int) -> Any:
        """Wait until an operation has been computed.

        Args:
            number: What `submit` returned for it.

        Returns:
            The operation's result.

        Raises:
            InvalidNumberError: If no operation has that number (a ``ValueError``).
        """
        if type(number) is not int or not 0 <= number < len(self.runs):
            raise InvalidNumberError(
                f"wait was given {number!r:.80} (allowed: a number that submit has returned; there were "
                f"{len(self.runs)}).\nKeep what submit returns, and hand it to wait."
            )
        self._wait_until(self.runs[number].end_s)
        return self.compute(self.runs[number].operation)

    def wait_all(self) -> None:
        """Wait until everything that is queued has been computed."""
        self._wait_until(self._free_s)

    def in_flight(self) -> int:
        """Count the operations that are issued and not done by now."""
        return sum(run.end_s > self.clock.now() for run in self.runs)

    def most_in_flight(self) -> int:
        """Say how many operations were issued and not done at the same time, at most."""
        most = done = 0
        for issued, latest in enumerate(self.runs, start=1):  # the number grows at the end of a call only
            while done < issued and self.runs[done].end_s <= latest.issued_s:
                done += 1
            most = max(most, issued - done)
        return most

    def timeline(self) -> Timeline:
        """Lay out what frontend and device did, to be drawn."""
        work = tuple(Span("operation", run.start_s - self._begin_s, run.end_s - self._begin_s) for run in self.runs)
        return Timeline({FRONTEND: tuple(self.calls), BACKEND: work})

    def __repr__(self) -> str:
        """Tell what was submitted, and for how long the device has been there."""
        return f"<{type(self).__name__}: {len(self.runs)} submitted, {self.clock.now() - self._begin_s:.4f} s>"

    def _wait_until(self, end_s: float) -> None:
        began_s = self.clock.now()
        if end_s > began_s:
            self.clock.sleep(end_s + self.t3 - began_s)
            self._note(WAIT, began_s)

    def _note(self, name: str, began_s: float) -> None:
        self.calls.append(Span(name, began_s - self._begin_s, self.clock.now() - self._begin_s))


@dataclass(eq=False, repr=False)
class VirtualHost:
    """Work that the frontend does itself: it takes its time while a device goes on with what is queued.

    Attributes:
        device: Whose clock it spends, and in whose timeline its work is drawn.
        seconds: How long it works on one result.
        work: Gives the outcome for a result.
        spans: When it worked so far; pairs of seconds.
    """

    device: VirtualDevice
    seconds: float
    work: Callable[[Any], Any] = lambda result: result
    spans: list[tuple[float, float]] = field(default_factory=list, init=False)

    def use(self, result: Any) -> Any:
        """Work on a result.

        Args:
            result: What the device's ``wait`` returned.

        Returns:
            The outcome.
        """
        began_s = self.device.clock.now()
        self.device.clock.sleep(self.seconds)
        self.spans.append((began_s, self.device.clock.now()))
        self.device._note(_HOST, began_s)
        return self.work(result)

    def __repr__(self) -> str:
        """Tell how often it worked."""
        return f"<{type(self).__name__}: {len(self.spans)} used>"

    def overlapped_s(self) -> float:
        """Say for how many seconds of its work the device was at work, too."""
        return sum(
            max(0.0, min(run.end_s, end_s) - max(run.start_s, began_s))
            for began_s, end_s in self.spans
            for run in self.device.runs
        )
