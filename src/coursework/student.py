"""The student's side of a question: a submission's process, in time limits, and a new one where it broke a limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from coursework.jail import Jail
from coursework.model import Limits, Outcome, StudentError
from coursework.process import Output, Process
from coursework.values import Array

#: How often a submission's process is started: once, and again for each cell or answer that ended it or took too long.
STARTS = 20
#: What all starts together may take, as a multiple of what one import may: the first is slow, from a disk that was not
#: read before, and the others are not.
_STARTING = 1.5
_Gave = TypeVar("_Gave")


@dataclass
class Budget:
    """Seconds that a submission may use altogether.

    Attributes:
        whole_s: How many they are.
        purpose: What they are for, as messages say it.
        used_s: What was used.
    """

    whole_s: float
    purpose: str
    used_s: float = 0.0

    @property
    def left_s(self) -> float:
        """What remains."""
        return self.whole_s - self.used_s

    def spend(self, work: Callable[[float], _Gave], most_s: float, *, on: str = "") -> _Gave:
        """Do something and pay for it.

        Args:
            work: What; gets the seconds that it may take.
            most_s: The most that it may take, even if there is more.
            on: What it is for, as a message says it.

        Raises:
            StudentError: If nothing is left, or it takes longer: says which limit was reached.
        """
        if self.left_s <= 0:
            raise StudentError(Outcome.TIMEOUT, f"The {self.whole_s:g} seconds for {self.purpose} were used up before.")
        began, limit_s = time.monotonic(), min(most_s, self.left_s)
        try:
            return work(limit_s)
        except StudentError as error:
            if error.outcome is not Outcome.TIMEOUT:
                raise
            told = f"It took longer than the time limit of {limit_s:g} seconds{on}."
            if limit_s < most_s:
                told = f"The {self.whole_s:g} seconds for {self.purpose} were used up."
            raise StudentError(Outcome.TIMEOUT, told) from None
        finally:
            self.used_s += time.monotonic() - began


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
        self.budget = Budget(self._limits.total_s, "the whole submission")
        #: For what the submission's own time does not pay: its process's starts, with what it imports.
        self.starting = Budget(_STARTING * limits.import_s, "starting its process and for imports")
        self._starts = 0
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
        process.prepare(self._imported, arrays=arrays)
        return self._charged(lambda limit_s: process.call(function, args, kwargs, limit_s))

    def define(self, source: str) -> None:
        """Run the teacher's own helper code; see `coursework.model.Student`."""
        process = self._ready()
        process.prepare(self._imported, source)
        self._charged(lambda limit_s: process.define(source, limit_s))

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
        process = self._started()
        try:
            process.prepare(self._imported, *cells.values())
        except StudentError:
            process.end()  # though it may live: without the cells nothing may be asked of it
            raise
        for name, source in cells.items():
            try:
                self._charged(lambda limit_s, n=name, s=source: process.cell(n, s, limit_s))  # type: ignore[misc]
            except StudentError as error:
                if process.ended:
                    # Without this cell once more: it must not cost the others.
                    self.bad[name] = StudentError(error.outcome, f"{error} That was when its cell was run.")
                    self._over = None
                    return
        process.loaded()

    def _started(self) -> Process:
        """Start a process, unless that was done too often: each costs seconds that are not the submission's own."""
        if self._starts == STARTS:
            often = f"Cells or answers ended its process, or took too long, {STARTS} times; it is not started again."
            raise StudentError(Outcome.CRASHED, often)
        self._starts += 1
        self.output.begin()
        cpu_s = self._limits.total_s + 2 * self._limits.import_s
        # How long that takes is not in the submission's hands; that it counts bounds how often.
        self._process = process = self.starting.spend(
            lambda _: Process(self._jail, self._limits, self._framework, self.output, cpu_s), self._limits.import_s
        )
        return process

    def _imported(self, work: Callable[[float], None]) -> None:
        """Import what takes long; the submission's own time does not pay for it."""
        self._watched(lambda: self.starting.spend(work, self._limits.import_s, on=" for imports"))

    def _charged(self, work: Callable[[float], _Gave]) -> _Gave:
        """Do what the submission's time pays for."""
        return self._watched(lambda: self.budget.spend(work, self._limits.call_s))

    def _watched(self, work: Callable[[], _Gave]) -> _Gave:
        """Do something, and nothing else in this question if the process does not outlive it."""
        try:
            return work()
        except StudentError as error:
            if self._process is None or self._process.ended or self.budget.left_s <= 0:
                self._over = error
            raise


def _holds_array(given: Any) -> bool:
    if isinstance(given, list | tuple):
        return any(map(_holds_array, given))
    if isinstance(given, Mapping):
        return any(map(_holds_array, given.values()))
    return isinstance(given, Array)
