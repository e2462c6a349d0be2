"""Time a block of code that may leave work behind.

Rests on ``sync``, which knows how to wait; chapters and exercises use `Benchmark` directly.
"""

import time
from types import TracebackType
from typing import Self

from asynclab.sync import Wait, synchronize, waiter

TWO_DIGITS_FROM_S = 0.001  # below, d2l's four decimals show a single digit or none
MILLISECONDS_FROM_S = 0.0001  # below, microseconds read better


class Benchmark:
    """Time a ``with`` block and print one line; a drop-in for ``d2l.Benchmark``.

    Before the clock starts it waits for all pending work, so that a block never pays for the one
    before it. Before the clock stops it waits only if told to: a block without ``sync`` shows how
    long the *calls* took, a block with ``sync`` how long the *work* took. A benchmark inside
    another waits in the same way at its entry, which then counts in the outer one.

    Attributes:
        description: What the printed line begins with.
        seconds: Duration of the block in seconds; ``None`` until it is done, and if it raised.
    """

    def __init__(self, description: str = "Done", sync: object = None) -> None:
        """Prepare a measurement.

        Args:
            description: What the printed line begins with.
            sync: What to wait for before the clock stops: anything that `synchronize` takes, or a
                function that is called without arguments. By default nothing. A result that the
                block has yet to make cannot be named here: give a function, or a list that the
                block fills.

        Raises:
            UnsupportedTargetError: If ``sync`` is nothing that can be waited for.
        """
        self.description = description
        self.seconds: float | None = None
        self._wait = _find_wait(sync)
        self._start = 0.0

    def __enter__(self) -> Self:
        """Wait for all pending work, then start the clock."""
        self.seconds = None
        synchronize()
        self._start = time.perf_counter()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait if told to, stop the clock and print; do nothing if the block raised."""
        if exc_type is not None:
            return
        if self._wait is not None:
            self._wait()
        self.seconds = time.perf_counter() - self._start
        print(f"{self.description}: {_readable(self.seconds)}")


def _find_wait(sync: object) -> Wait | None:
    if sync is None:
        return None
    return sync if callable(sync) else waiter(sync)


def _readable(seconds: float) -> str:
    """Write a duration as d2l does, with a finer unit beside it where that says too little.

    Args:
        seconds: Duration in seconds.

    Returns:
        ``"0.1234 sec"``; below two significant digits ``"0.0004 sec (0.412 ms)"`` or
        ``"0.0000 sec (3.21 µs)"``.
    """
    text = f"{seconds:.4f}"
    if float(text) >= TWO_DIGITS_FROM_S:
        return f"{text} sec"
    if seconds >= MILLISECONDS_FROM_S:
        return f"{text} sec ({seconds * 1e3:.3g} ms)"
    return f"{text} sec ({seconds * 1e6:.3g} µs)"
