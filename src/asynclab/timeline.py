"""Trace what the frontend and the backend did when, and draw it: one lane for each, side by side.

Rests on ``profilers`` for what the frameworks say, on ``engine`` for the teaching engine and on ``lanes`` to draw.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from asynclab.engine import Engine, Future
from asynclab.errors import TracingError
from asynclab.figures import Drawing
from asynclab.lanes import draw_lanes
from asynclab.profilers import BACKEND, BOTH, FRONTEND, WAIT, Lanes, Span, profile_mxnet, profile_torch, uppermost
from asynclab.sync import synchronize

#: The marks of the trace that runs.
_MARKS: ContextVar[list[tuple[str, int, int]] | None] = ContextVar("marks", default=None)

_PROFILES: dict[str, tuple[str, Callable[[Callable[[], object], int], Lanes]]] = {
    "pytorch": ("torch", profile_torch),
    "mxnet": ("mxnet", profile_mxnet),
}


@dataclass(frozen=True)
class Timeline:
    """What happened when, in lanes.

    Attributes:
        lanes: Spans by the name of their lane, in order and not one within another; the first begins at 0.
    """

    lanes: Mapping[str, tuple[Span, ...]]

    @property
    def duration_s(self) -> float:
        """When the last span ended, in seconds."""
        return max((span.end_s for spans in self.lanes.values() for span in spans), default=0.0)

    def figure(self, title: str | None = None) -> Drawing:
        """Draw one lane below the other, the time to the right.

        Waiting is an empty bar; how the others are drawn is said at `draw_lanes`.

        Args:
            title: A title above.

        Returns:
            A drawing that describes itself.
        """
        return draw_lanes(self.lanes, title)


class TracedEngine(Engine):
    """An `Engine` for `trace`, which notes when operations were submitted, run and waited for."""

    def __init__(self, capacity: int | None = None) -> None:
        """Start an engine that has noted nothing; the argument is that of `Engine`."""
        self.noted: dict[str, list[tuple[str, int, int]]] = {FRONTEND: [], BACKEND: []}
        super().__init__(capacity)

    def submit(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
        """Do what an engine does, and note how long this takes and when the operation runs."""
        name = getattr(function, "__name__", type(function).__name__)

        def noted(*inputs: object, **named: object) -> object:
            with _noting(self.noted[BACKEND], name):
                return function(*inputs, **named)

        with _noting(self.noted[FRONTEND], name):
            future = super().submit(noted, *args, **kwargs)
        return _TracedFuture(future, self.noted[FRONTEND])

    def wait_all(self) -> None:
        """Do what an engine does, and note how long this takes."""
        with _noting(self.noted[FRONTEND], WAIT):
            super().wait_all()


class _TracedFuture(Future):
    """Hands everything on to a future, and notes when it is waited for."""

    def __init__(self, future: Future, notes: list[tuple[str, int, int]]) -> None:
        super().__init__(future._worker)
        self._done, self._future, self._notes = future._done, future, notes

    def wait(self) -> Any:
        with _noting(self._notes, WAIT):
            return self._future.wait()

    def _outcome(self) -> Any:
        return self._future._outcome()


@contextlib.contextmanager
def mark(name: str) -> Iterator[None]:
    """Show a block of code in the frontend's lane, such as work of Python's own; only `trace` takes note of it."""
    marks = _MARKS.get()
    with contextlib.nullcontext() if marks is None else _noting(marks, name):
        yield


@contextlib.contextmanager
def _noting(notes: list[tuple[str, int, int]], name: str) -> Iterator[None]:
    start_ns = time.time_ns()  # the clock of the frameworks' profilers
    try:
        yield
    finally:
        notes.append((name, start_ns, time.time_ns()))


def trace(function: Callable[[], object], *, framework: str | TracedEngine | None = None) -> Timeline:
    """Run a function once and note what happens when; warm up before.

    Waits for pending work before the function runs, and for what it leaves behind. Tracing takes time of its own,
    some microseconds a call.

    Args:
        function: What to run.
        framework: ``"pytorch"``, ``"mxnet"`` or a `TracedEngine`; by default the framework that is loaded.

    Returns:
        A lane "frontend" of calls, waits and what `mark` marked, and a lane "backend" of operators; several where the
        backend has several streams or workers. Where the frontend computes itself, as PyTorch does on a CPU, the only
        lane is "frontend and backend".

    Raises:
        TracingError: If no such framework is loaded, or two are and none is named.
        Exception: What the function raises.
    """
    profile = _trace_engine(framework) if isinstance(framework, TracedEngine) else _PROFILES[_chosen(framework)][1]
    synchronize()
    marks: list[tuple[str, int, int]] = []
    token, zero_ns = _MARKS.set(marks), time.time_ns()
    try:
        lanes = profile(function, zero_ns)
    finally:
        _MARKS.reset(token)
    lanes[FRONTEND if FRONTEND in lanes else BOTH] += _spans(marks, zero_ns)
    return _timeline(lanes)


def _chosen(framework: str | None) -> str:
    loaded = [name for name, (module, _) in _PROFILES.items() if sys.modules.get(module)]
    if framework in loaded:
        return framework
    if framework is None and len(loaded) == 1:
        return loaded[0]
    raise TracingError(
        f"trace: the framework is {framework!r:.80} (loaded: {', '.join(loaded) or 'none'}).\n"
        "Import a framework first and, of several, name one: framework='pytorch' or 'mxnet'; or give a TracedEngine."
    )


def _trace_engine(engine: TracedEngine) -> Callable[[Callable[[], object], int], Lanes]:
    def profile(function: Callable[[], object], zero_ns: int) -> Lanes:
        engine.wait_all()
        for notes in engine.noted.values():
            notes.clear()
        function()
        engine.wait_all()
        return {lane: _spans(notes, zero_ns) for lane, notes in engine.noted.items()}

    return profile


def _spans(notes: list[tuple[str, int, int]], zero_ns: int) -> list[Span]:
    return [Span(name, (start_ns - zero_ns) / 1e9, (end_ns - zero_ns) / 1e9) for name, start_ns, end_ns in notes]


def _timeline(lanes: Lanes) -> Timeline:
    first_s = min((span.start_s for spans in lanes.values() for span in spans), default=0.0)
    return Timeline(
        {
            lane: tuple(Span(each.name, each.start_s - first_s, each.end_s - first_s) for each in uppermost(spans))
            for lane, spans in lanes.items()
        }
    )
