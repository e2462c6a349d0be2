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
        name: A word for it.
        why: Why such a call waits.
        advice: What to do about it.
    """

    name: str
    why: str
    advice: str


ON_PURPOSE = Kind("purpose", "waits on purpose", "Keep one a minibatch, after the optimiser's step; drop the others.")
NUMBER = Kind(
    "number",
    "needs a number",
    "Add up on the device and read once an epoch, or read the number of a few batches ago. Choose with where() "
    "instead of if; look for NaN every so many batches.",
)
TO_HOST = Kind(
    "to host",
    "copies to NumPy or to the CPU",
    "Leave the array where it is until the end; or queue the next batches first, then copy.",
)
FROM_HOST = Kind(
    "from host",
    "copies from Python or NumPy",
    "Make such arrays before the loop, or take the memory of a NumPy array over instead of copying it: "
    "mxnet.nd.from_numpy(x, zero_copy=True).",
)
TO_DEVICE = Kind(
    "to device",
    "copies to the GPU from ordinary memory",
    "Copy from pinned memory and do not wait: x.pin_memory().to(device, non_blocking=True).",
)
SHAPE = Kind(
    "shape",
    "gives a shape that depends on numbers",
    "Keep the shape: multiply by the mask, or choose with where(condition, x, y).",
)
TEXT = Kind("text", "writes numbers", "Write every so many batches, and what has been computed by then.")
INSIDE = Kind(
    "inside",
    "is a function of the framework that waits inside",
    "Call it outside of the loop or less often; see whether it has an option that spares the wait.",
)


class Note(Protocol):
    """Takes note of a call that may wait, in the thread and from the frame of the call."""

    def __call__(
        self, kind: Kind, call: str | None, seconds: float | None, *, ready: bool = False, elsewhere: bool = False
    ) -> None:
        """Take note.

        Args:
            kind: How the call waits.
            call: What the program wrote; ``None`` if the framework's function on the stack has to tell.
            seconds: How long it waited; ``None`` if nobody knows.
            ready: Whether it found ready what it needed.
            elsewhere: Whether it cannot wait on this machine, but would on one with a GPU.
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
        self,
        kind: Kind,
        call: str,
        counts: Function | None = None,
        ready: Function | None = None,
        elsewhere: bool = False,
    ) -> Callable[[Function], Function]:
        """Make what replaces a function: it calls the function, and notes how long that took.

        Args:
            kind: How the function waits.
            call: What the program wrote.
            counts: Says of the arguments whether the call may wait; by default each may.
            ready: Says of the arguments whether what the call needs is there; by default it is not.
            elsewhere: Whether it would wait on a machine with a GPU only.

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
                    self.note(kind, call, seconds, ready=there, elsewhere=elsewhere)

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
