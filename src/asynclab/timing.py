"""Time a block of code that may leave work behind.

Rests on ``sync``, which knows how to wait, ``peak``, which knows what is impossible, and ``values``, which keeps the
figures for prose; chapters and exercises use `Benchmark` directly.
"""

import math
import numbers
import re
import sys
import time
from types import TracebackType
from typing import Self

from asynclab.digits import time_unit
from asynclab.errors import InvalidNumberError, UnsupportedValueError
from asynclab.peak import peak_exceeded_by, readable_rate
from asynclab.sync import Wait, synchronize, waiter
from asynclab.values import record

TWO_DIGITS_FROM_S = 0.001  # below, d2l's four decimals show a single digit or none
MILLISECONDS_FROM_S = 0.0001  # below, microseconds read better

#: Less work than this left behind is no reason for a hint: asking takes a moment too, and more on a busy machine.
HINT_FROM_S, HINT_FROM_SHARE = 0.002, 0.1

_DEFAULT_DESCRIPTION = "Done"
_TICK_S = 1e-9  # a block that takes less than the clock can tell still has a rate
_MOST_OPERATIONS = 1e30


class Benchmark:
    """Time a ``with`` block and print one line; a drop-in for ``d2l.Benchmark``.

    Before the clock starts it waits for all pending work, so that a block never pays for the one before it. Before the
    clock stops it waits only if told to: a block without ``sync`` shows how long the *calls* took, a block with
    ``sync`` how long the *work* took. When the clock has stopped it looks whether work was left, which takes no time
    where nothing can be pending, and waits for it; if that took long, a second line says so. In PyTorch it looks at
    the current stream of each GPU, not at others.

    With ``flops`` the line ends with the rate of computing, and a second line says so if nothing on this machine
    computes so fast.

    Where a description is given the figures are recorded for prose under a name made from it: ``Benchmark("ten
    products")`` records ``ten_products`` in seconds, and ``ten_products_rate`` in GFLOP/s if there is a rate.

    All of this happens outside of the benchmark's own clock. But an inner benchmark stands inside the clock of the
    outer one: its wait at entry, its wait for what was left, its lines and the measurement of the machine's peak (some
    tenths of a second at the first ``flops`` of a program, unless `peak_flop_per_s` was called before) count there,
    and the outer one finds nothing left of what the inner one has waited for.

    Attributes:
        description: What the printed line begins with.
        flops: Floating-point operations of the block; ``None`` if not told.
        seconds: Duration of the block in seconds; ``None`` until it is done, and if it raised.
        left_s: How long the work that was pending when the clock stopped took, in seconds; 0 if nothing was; ``None``
            until the block is done, and if it raised.
        flop_per_s: Floating-point operations a second; ``None`` without ``flops``, until the block is done, and if it
            raised.
    """

    def __init__(
        self, description: str = _DEFAULT_DESCRIPTION, sync: object = None, *, flops: float | None = None
    ) -> None:
        """Prepare a measurement.

        Args:
            description: What the printed line begins with.
            sync: What to wait for before the clock stops: anything that `synchronize` takes, or a function that is
                called without arguments. By default nothing. A result that the block has yet to make cannot be named
                here: give a function, or a list that the block fills.
            flops: How many floating-point operations the block computes: ``10 * 2 * 1000**3`` for ten products of
                matrices with 1000 rows and columns.

        Raises:
            UnsupportedTargetError: If ``sync`` is nothing that can be waited for.
            UnsupportedValueError: If ``flops`` is no number.
            InvalidNumberError: If ``flops`` is not a number of operations.
        """
        self.description = description
        self.flops = _checked_flops(flops)
        self.seconds: float | None = None
        self.left_s: float | None = None
        self.flop_per_s: float | None = None
        self._wait = find_wait(sync)
        self._start = 0.0

    def __enter__(self) -> Self:
        """Wait for all pending work, then start the clock."""
        self.seconds = self.left_s = self.flop_per_s = None
        synchronize()
        self._start = time.perf_counter()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait if told to, stop the clock, look for what was left and print; do nothing if the block raised."""
        if exc_type is not None:
            return
        if self._wait is not None:
            self._wait()
        seconds = time.perf_counter() - self._start
        # First what was left: it may raise the error of an operation of the block, and then there is no figure.
        left_s = _wait_for_rest()
        self.seconds, self.left_s = seconds, left_s
        if self.flops is None:
            print(f"{self.description}: {_readable(seconds)}")
        else:
            self.flop_per_s = self.flops / max(seconds, _TICK_S)
            print(f"{self.description}: {_readable(seconds)}, {readable_rate(self.flop_per_s)}")
            _hint_at_impossible_rate(self.flop_per_s)
        if left_s > max(HINT_FROM_S, HINT_FROM_SHARE * seconds):
            print(
                f"  hint: {left_s:.4f} sec of work was still pending when the clock stopped; "
                "wait for it with sync=synchronize"
            )
        _record(str(self.description), seconds, self.flop_per_s)


def find_wait(sync: object) -> Wait | None:
    """Find what to call before a clock stops.

    Args:
        sync: What `Benchmark` takes.

    Returns:
        A function without arguments; ``None`` if nothing is to be waited for.

    Raises:
        UnsupportedTargetError: If ``sync`` is nothing that can be waited for.
    """
    if sync is None:
        return None
    return sync if callable(sync) else waiter(sync)


def _checked_flops(flops: object) -> float | None:
    if flops is None:
        return None
    # A truth value is a number to Python, but counts nothing.
    if isinstance(flops, bool) or not isinstance(flops, numbers.Real):
        raise UnsupportedValueError(
            f"Benchmark: flops is an object of type {type(flops).__name__} (allowed: a number of operations).\n"
            "Count them, such as flops=10 * 2 * 1000**3 for ten products of 1000 x 1000 matrices."
        )
    try:
        count = float(flops)
    except OverflowError:  # an integer of hundreds of digits
        count = math.inf
    if not 0 < count <= _MOST_OPERATIONS:
        raise InvalidNumberError(
            f"Benchmark: flops is {flops!r:.40} (allowed: above 0 and at most {_MOST_OPERATIONS:g}).\n"
            "Give the number of operations in the block, not a rate; leave flops out if nobody knows it."
        )
    return count


def _wait_for_rest() -> float:
    """Wait for what is still pending, and return how many seconds that took; 0.0 where nothing can be pending."""
    if not _may_be_pending():
        return 0.0
    start = time.perf_counter()
    synchronize()
    return time.perf_counter() - start


def _may_be_pending() -> bool:
    if sys.modules.get("mxnet"):  # cannot be asked without waiting
        return True
    torch = sys.modules.get("torch")
    if not torch:
        return False
    if torch.backends.mps.is_available():  # the same
        return True
    # query() does not block, so a GPU with nothing to do costs no wait.
    return torch.cuda.is_initialized() and not all(
        torch.cuda.current_stream(index).query() for index in range(torch.cuda.device_count())
    )


def _hint_at_impossible_rate(flop_per_s: float) -> None:
    peak = peak_exceeded_by(flop_per_s)
    if peak is not None:
        print(
            f"  hint: products on this machine reach {readable_rate(peak)} at most; "
            "this cannot have been computed when the clock stopped"
        )


def _record(description: str, seconds: float, flop_per_s: float | None) -> None:
    name = _slug(description)
    # The default describes nothing, and a description without a Latin letter or digit leaves no name.
    if description == _DEFAULT_DESCRIPTION or not name:
        return
    unit, factor = time_unit(seconds)
    record(name, seconds * factor, unit)
    if flop_per_s is not None:
        record(f"{name}_rate", flop_per_s / 1e9, "GFLOP/s")


def _slug(description: str) -> str:
    name = re.sub(r"[^a-z0-9]+", "_", description.lower()).strip("_")
    return f"t_{name}" if name[:1].isdigit() else name


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
