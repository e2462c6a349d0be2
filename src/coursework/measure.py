"""Take times of a submission so that a busy machine does not decide: ratios, medians, and a gate far from both sides.

Never absolute times. A ratio is taken from outside the student's process, by the messages to and from it, seven times
over; a question asks for a large effect, and its gate stands midway between the right answer and the nearest wrong one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coursework.errors import CourseError
from coursework.model import Student, TooNoisy

ROUNDS = 7
#: How many of the rounds may lie on the other side of the gate.
STRAYS = 1

_TWO_STEPS = """
def _course_begin(name, *args, **kwargs):
    global _course_kept
    _course_kept = None
    _course_kept = globals()[name](*args, **kwargs)

def _course_finish():
    import sys
    def wait(value):
        if isinstance(value, (list, tuple)):
            for item in value:
                wait(item)
        elif isinstance(value, dict):
            wait(list(value.values()))
        elif "mxnet" in sys.modules and hasattr(value, "wait_to_read"):
            value.wait_to_read()
        elif hasattr(value, "result"):
            value.result()
    wait(_course_kept)
    if "mxnet" in sys.modules:
        sys.modules["mxnet"].nd.waitall()
    if "torch" in sys.modules and sys.modules["torch"].cuda.is_available():
        sys.modules["torch"].cuda.synchronize()

def _course_value():
    return _course_kept
"""


@dataclass(frozen=True)
class Measured:
    """A ratio, taken several times.

    Attributes:
        ratios: One a round.
    """

    ratios: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.ratios)

    def below(self, gate: float) -> bool:
        """Tell on which side of a gate it is.

        Args:
            gate: Midway between a right answer's ratio and the nearest wrong one's.

        Raises:
            TooNoisy: If more rounds than `STRAYS` lie on the other side.
        """
        under = sum(ratio < gate for ratio in self.ratios)
        if min(under, len(self.ratios) - under) > STRAYS:
            raise TooNoisy(f"{under} of {len(self.ratios)} rounds lie below {gate:g}: {self}")
        return self.median < gate

    def __str__(self) -> str:
        """Give all of them, for the instructor."""
        return "median {:.3g} of {}".format(self.median, ", ".join(f"{ratio:.3g}" for ratio in sorted(self.ratios)))


def timed(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, float]:
    """Call a function; give what it gave and the seconds that took, on this side.

    Args:
        function: Such as the ``call`` of a `Student`.
        args: Its arguments.
        kwargs: The same, by name.
    """
    began = time.perf_counter()
    gave = function(*args, **kwargs)
    return gave, time.perf_counter() - began


def dispatch_share(student: Student, function: str, *args: Any, rounds: int = ROUNDS, **kwargs: Any) -> Measured:
    """Measure which part of the whole time passes before a function returns: 1 if it waits, near 0 if it only queues.

    What it returns stays in the student's process, where it is waited for, until `kept_value` asks for it.

    Args:
        student: Whose function.
        function: Its name; its work should take 20 to 50 ms.
        args: Its arguments, which must be the student's process's own: a tensor among them is made anew each time, and
            counts. Prepare large ones by ``define``.
        rounds: How many times, after one that is not counted.
        kwargs: Arguments by name.

    Raises:
        StudentError: If a call fails.
    """
    student.define(_TWO_STEPS)
    ratios = []
    for turn in range(rounds + 1):
        _, dispatch_s = timed(student.call, "_course_begin", function, *args, **kwargs)
        _, rest_s = timed(student.call, "_course_finish")
        if turn:
            ratios.append(dispatch_s / (dispatch_s + rest_s))
    return Measured(tuple(ratios))


def kept_value(student: Student) -> Any:
    """Give what the function of the last `dispatch_share` returned, to be compared outside."""
    return student.call("_course_value")


def interleaved(first: Callable[[], Any], second: Callable[[], Any], *, rounds: int = ROUNDS) -> Measured:
    """Measure how much longer one thing takes than another, both in turn, so that what slows one slows the other.

    Args:
        first: What is measured.
        second: What it is measured against, such as the reference solution ``beside`` the submission.
        rounds: How many times, after one that is not counted; in each the other begins.

    Raises:
        StudentError: If a call fails.
    """
    ratios = []
    for turn in range(rounds + 1):
        if turn % 2:
            (_, first_s), (_, second_s) = timed(first), timed(second)
        else:
            (_, second_s), (_, first_s) = timed(second), timed(first)
        if turn:
            ratios.append(first_s / second_s)
    return Measured(tuple(ratios))


@contextlib.contextmanager
def turn(*, alone: bool) -> Iterator[None]:
    """Wait for one's turn on this machine: a question that takes times runs beside no other question.

    Args:
        alone: Whether this one takes times; those that do not run beside each other.

    Raises:
        CourseError: If the lock's file cannot be made.
    """
    folder = _folder()
    with (folder / "door").open("w") as door, (folder / "room").open("w") as room:
        # Whoever wants to be alone waits in the door, and lets nobody else in until the room is empty.
        fcntl.flock(door, fcntl.LOCK_EX)
        if alone:
            fcntl.flock(room, fcntl.LOCK_EX)
        else:
            fcntl.flock(room, fcntl.LOCK_SH)
            fcntl.flock(door, fcntl.LOCK_UN)
        yield


def _folder() -> Path:
    """Give this user's folder for locks: those of other users could not be opened."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    usable = bool(runtime) and os.access(runtime, os.W_OK)
    folder = Path(runtime, "coursework") if usable else Path(tempfile.gettempdir(), f"coursework-{os.geteuid()}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise CourseError(f"{folder}: {error.strerror}. It is needed so that measurements take turns.") from None
    if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
        raise CourseError(f"{folder}: belongs to somebody else. Remove it: measurements take turns by it.")
    return folder
