"""Check the numbers that a model of time is made of (durations, counts, the capacity of a queue), and write durations.

The lowest layer below ``engine``, ``fitting`` and ``pipeline``.
"""

from __future__ import annotations

import math
import numbers
import operator

from asynclab.errors import InvalidCapacityError, InvalidNumberError, UnsupportedValueError

#: Units of time, by how many of it make a second.
_UNITS = {"s": 1.0, "ms": 1e3, "µs": 1e6}


def checked_size(name: str, value: object) -> float:
    """Check a duration or another size that cannot be negative.

    Args:
        name: Whose it is and what, for the error.
        value: The number; in seconds if it is a duration.

    Returns:
        The number.

    Raises:
        UnsupportedValueError: If it is no number (a ``TypeError``).
        InvalidNumberError: If it is negative or not finite (a ``ValueError``).
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise UnsupportedValueError(
            f"{name} is {value!r:.80} (allowed: a finite number of at least 0).\n"
            "Give plain numbers, and times in seconds: 25e-6 for 25 microseconds."
        )
    try:
        number = float(value)
    except OverflowError:  # an integer of hundreds of digits
        number = math.inf
    if not (math.isfinite(number) and number >= 0):
        raise InvalidNumberError(
            f"{name} is {number} (allowed: a finite number of at least 0).\n"
            "A time that came out negative was too short to be measured: give 0."
        )
    return number


def checked_count(name: str, value: object, least: int = 1) -> int:
    """Check a number of operations or repetitions.

    Args:
        name: Whose it is and what, for the error.
        value: The number.
        least: The least that is allowed.

    Returns:
        The number.

    Raises:
        UnsupportedValueError: If it is no integer (a ``TypeError``).
        InvalidNumberError: If it is less than ``least`` (a ``ValueError``).
    """
    allowed = f"(allowed: an integer of at least {least}).\nGive a whole number, such as {max(100, least)}."
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise UnsupportedValueError(f"{name} is {value!r:.80} {allowed}")
    if value < least:
        raise InvalidNumberError(f"{name} is {value!r:.80} {allowed}")
    return operator.index(value)


def check_capacity(name: str, capacity: object) -> None:
    """Check how many operations may wait in a queue.

    Args:
        name: Whose capacity it is, for the error.
        capacity: An integer of at least 1, or ``None`` for any number.

    Raises:
        InvalidCapacityError: If it is neither (a ``ValueError``).
    """
    if capacity is None:
        return
    if isinstance(capacity, bool) or not isinstance(capacity, int) or capacity < 1:
        raise InvalidCapacityError(
            f"{name}: the capacity is {capacity!r:.80} (allowed: an integer of at least 1, or None for any number).\n"
            f"Write for example capacity=4."
        )


def told_time(seconds: float) -> str:
    """Write a duration with two digits, or as a whole number, in the unit that suits it.

    Args:
        seconds: Duration in seconds; at least 0.

    Returns:
        Such as ``"3.9 µs"``, ``"139 µs"`` or ``"17 ms"``; 0 is ``"0 µs"``.
    """
    unit, factor = next(((unit, factor) for unit, factor in _UNITS.items() if factor * seconds >= 1), ("µs", 1e6))
    number = factor * seconds
    return f"{number:.0f} {unit}" if number >= 10 else f"{number:.2g} {unit}"  # noqa: PLR2004
