"""The student's side of a question: a submission's process, in time limits, and a new one where it broke a limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from coursework.jail import Jail
from coursework.model import Limits, Outcome, StudentError
from coursework.process import Output, Process
from coursework.values import Array


@dataclass
class Budget:
    """The seconds that a submission may use altogether.

    Attributes:
        left_s: What remains.
        used_s: What was used.
    """

    left_s: float
    used_s: float = 0.0

    def charge(self, elapsed_s: float) -> None:
        """Take seconds from it."""
        self.left_s -= elapsed_s
        self.used_s += elapsed_s


class Submission:
    """The `coursework.model.Student` that questions get: a process, and a new one where it broke a limit."""

    def __init__(
        self, jail: Jail, limits: Limits, framework: str, cells: Mapping[str, str], *, time_factor: float = 1.0
    ) -> None:
        """Keep what is needed; nothing runs yet.

        Args:
            jail: Where it runs.
            limits: What it may use.
            framework: Whose tensors its functions take.
            cells: The source of each cell by its name, in their order.
            time_factor: What its time limits are multiplied by.
        """
        self._jail, self._framework, self._cells = jail, framework, dict(cells)
        self._limits = replace(limits, call_s=limits.call_s * time_factor, total_s=limits.total_s * time_factor)
        self.budget = Budget(self._limits.total_s)
        self.output = Output(limits.output_kb * 1024)
        #: The cells that end the process or do not end themselves, with what happened.
        self.bad: dict[str, StudentError] = {}
        self._process: Process | None = None
        self._over: StudentError | None = None
        self._beside: list[Submission] = []

    def call(self, function: str, /, *args: Any, **kwargs: Any) -> Any:
        """Call a function of the submission; see `coursework.model.Student`."""
        process = self._ready()
        arrays = _holds_array((args, kwargs))
        return self._charged(
            lambda limit_s: process.call(function, args, kwargs, limit_s), lambda: process.prepare(arrays=arrays)
        )

    def define(self, source: str) -> None:
        """Run the teacher's own helper code; see `coursework.model.Student`."""
        process = self._ready()
        self._charged(lambda limit_s: process.define(source, limit_s), lambda: process.prepare(source))

    def beside(self, source: str) -> Submission:
        """Start another process, apart from this one, with this source: see `coursework.model.Student`."""
        other = Submission(self._jail, self._limits, self._framework, {"reference": source})
        self._beside.append(other)
        return other

    def renew(self) -> None:
        """Let the next question begin: after a broken limit with a new process."""
        self._over = None
        for other in self._beside:
            other.end()
        self._beside.clear()

    def end(self) -> None:
        """End all processes."""
        for other in self._beside:
            other.end()
        if self._process:
            self._process.end()

    def _ready(self) -> Process:
        """Give the process with all cells loaded that can be."""
        if self._over:
            raise self._over
        while self._process is None or self._process.ended:
            self._load()
        return self._process

    def _load(self) -> None:
        cells = {name: source for name, source in self._cells.items() if name not in self.bad}
        cpu_s = self._limits.total_s + 2 * self._limits.import_s
        self.output.begin()
        self._process = process = Process(self._jail, self._limits, self._framework, self.output, cpu_s)
        process.prepare(*cells.values())
        for name, source in cells.items():
            try:
                self._charged(lambda limit_s, n=name, s=source: process.cell(n, s, limit_s))  # type: ignore[misc]
            except StudentError as error:
                if process.ended:
                    # Without this cell once more: it must not cost the others.
                    self.bad[name] = StudentError(error.outcome, f"{error} That was when its cell was run.")
                    self._over = None
                    return

    def _charged(self, work: Callable[[float], Any], before: Callable[[], None] = lambda: None) -> Any:
        """Do what the submission's time pays for, after something that it does not pay for."""
        try:
            before()
            if self.budget.left_s <= 0:
                whole = f"The {self._limits.total_s:g} seconds for the whole submission were used up before."
                raise StudentError(Outcome.TIMEOUT, whole)
            began, limit_s = time.monotonic(), min(self._limits.call_s, self.budget.left_s)
            try:
                return work(limit_s)
            except StudentError as error:
                if error.outcome is Outcome.TIMEOUT:
                    raise StudentError(Outcome.TIMEOUT, self._told(limit_s)) from None
                raise
            finally:
                self.budget.charge(time.monotonic() - began)
        except StudentError as error:
            if self._process is None or self._process.ended or self.budget.left_s <= 0:
                self._over = error
            raise

    def _told(self, limit_s: float) -> str:
        """Say which limit was reached."""
        if limit_s < self._limits.call_s:
            return f"The {self._limits.total_s:g} seconds for the whole submission were used up."
        return f"It took longer than the time limit of {limit_s:g} seconds."


def _holds_array(given: Any) -> bool:
    if isinstance(given, list | tuple):
        return any(map(_holds_array, given))
    if isinstance(given, Mapping):
        return any(map(_holds_array, given.values()))
    return isinstance(given, Array)
