"""Put a watch on the calls by which a frontend waits, for as long as a block runs.

The layer below ``waits``. This and the two modules beside it, ``watch_mxnet`` and ``watch_torch``, are the one place
that changes other packages: functions are replaced by ones that tell when they are called, and put back afterwards.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from asynclab.engine import Engine, Future


@dataclass(frozen=True)
class Kind:
    """A way of waiting.

    Attributes:
        why: Why such a call waits.
        advice: What to do about it.
    """

    why: str
    advice: str


ON_PURPOSE = Kind("waits on purpose", "Keep one a minibatch, after the optimiser's step; drop the others.")
NUMBER = Kind(
    "needs a number",
    "Add up on the device and read once an epoch, or read the number of a few batches ago. Choose with where() "
    "instead of if.",
)
TO_HOST = Kind(
    "copies to NumPy or to the CPU",
    "Leave the array where it is until the end; or queue the next batches first, then copy.",
)
FROM_HOST = Kind("copies from Python or NumPy", "Make such arrays before the loop, or take their memory over.")
SHAPE = Kind(
    "gives a shape that depends on numbers",
    "Keep the shape: multiply by the mask, or choose with where(condition, x, y).",
)
TEXT = Kind("writes numbers", "Write every so many batches, and what has been computed by then.")


class Note(Protocol):
    """Takes note of a call that may wait, in the thread and from the frame of the call."""

    def __call__(self, kind: Kind, call: str | None, seconds: float | None, *, ready: bool = False) -> None:
        """Take note.

        Args:
            kind: How the call waits.
            call: What the program wrote; ``None`` if the framework's function on the stack has to tell.
            seconds: How long it waited; ``None`` if nobody knows.
            ready: Whether it found ready what it needed.
        """


Function = Callable[..., Any]


@dataclass(frozen=True)
class Replacement:
    """A function to replace.

    Attributes:
        owner: The object that holds the function.
        name: Its name there.
        make: Makes what replaces it from the function.
    """

    owner: Any
    name: str
    make: Callable[[Function], Function]


@contextlib.contextmanager
def replaced(replacements: Sequence[Replacement]) -> Iterator[None]:
    """Replace functions for as long as the block runs; leave alone what the block has put in their place itself."""
    with contextlib.ExitStack() as stack:
        for each in replacements:
            inherited, original = each.name not in vars(each.owner), getattr(each.owner, each.name)
            replacement = each.make(original)
            setattr(each.owner, each.name, replacement)
            stack.callback(_put_back, each, replacement, None if inherited else original)
        yield


def _put_back(each: Replacement, replacement: Function, original: Function | None) -> None:
    if vars(each.owner).get(each.name) is not replacement:
        return
    if original is None:
        delattr(each.owner, each.name)
    else:
        setattr(each.owner, each.name, original)


class Watch:
    """Hands on what is seen to one who takes note; of calls within each other only the outermost."""

    def __init__(self, note: Note) -> None:
        """Begin outside of any call."""
        self.note = note
        self._thread = threading.local()

    @property
    def inside(self) -> bool:
        """Whether this thread is within a call that will be noted."""
        return getattr(self._thread, "inside", False)

    def timed(
        self, kind: Kind, call: str, counts: Function | None = None, ready: Function | None = None
    ) -> Callable[[Function], Function]:
        """Make what replaces a function: it calls the function, and notes how long that took.

        Args:
            kind: How the function waits.
            call: What the program wrote.
            counts: Says of the arguments whether the call may wait; by default each may.
            ready: Says of the arguments whether what the call needs is there; by default it is not.

        Returns:
            What makes the replacement.
        """

        def make(original: Function) -> Function:
            @functools.wraps(original)
            def timed(*args: Any, **kwargs: Any) -> Any:
                if self.inside or (counts and not counts(*args, **kwargs)):
                    return original(*args, **kwargs)
                there = bool(ready and ready(*args, **kwargs))
                self._thread.inside, start = True, time.perf_counter()
                try:
                    return original(*args, **kwargs)
                finally:
                    seconds = time.perf_counter() - start
                    self._thread.inside = False
                    self.note(kind, call, seconds, ready=there)

            return timed

        return make


def engine_calls(watch: Watch) -> list[Replacement]:
    """The waits of the teaching engine."""

    def done(future: Future) -> bool:
        return future.done()

    def idle(engine: Engine, *_: object) -> bool:
        return not engine._queue.unfinished_tasks

    return [
        Replacement(Future, "wait", watch.timed(ON_PURPOSE, "Future.wait()", ready=done)),
        Replacement(Engine, "wait_all", watch.timed(ON_PURPOSE, "Engine.wait_all()", ready=idle)),
        *(
            Replacement(Engine, name, watch.timed(ON_PURPOSE, "Engine.close()", ready=idle))
            for name in ("close", "__exit__")
        ),
    ]
