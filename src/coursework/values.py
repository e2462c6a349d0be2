"""What passes between the trusted process and the student's: plain JSON, arrays, and handles of objects outside."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Array:
    """An array of numbers: a tensor of the framework inside the jail, this outside.

    Attributes:
        shape: Its length along each axis.
        dtype: Such as ``float32``.
        values: Its elements in C order, ``prod(shape)`` of them.
    """

    shape: tuple[int, ...]
    dtype: str
    values: tuple[float | int | bool, ...]


@dataclass(frozen=True)
class Remote:
    """An object that stays outside the jail; the student's process can only call its public methods, by messages.

    What happens in which order is therefore seen here, where no submission can forge it.

    Attributes:
        target: The object.
        methods: The names that may be called.
    """

    target: Any
    methods: tuple[str, ...]


def agree(got: Any, expected: Any, *, relative: float = 1e-6, absolute: float = 1e-9) -> bool:
    """Whether a reply is what was expected: the exact type first, then the tolerance.

    An ``int`` is taken where a ``float`` is expected, never the other way round, and ``bool`` is no number.

    Args:
        got: The reply.
        expected: What the reference gives.
        relative: Tolerance of floating-point numbers, relative to the larger.
        absolute: Tolerance of floating-point numbers near zero.
    """
    tolerance = {"relative": relative, "absolute": absolute}
    if isinstance(expected, float) and not isinstance(expected, bool):
        number = type(got) in (int, float)
        return number and (got == expected or math.isclose(got, expected, rel_tol=relative, abs_tol=absolute))
    if type(got) is not type(expected):
        return False
    if isinstance(expected, list | tuple):
        return len(got) == len(expected) and all(agree(a, b, **tolerance) for a, b in zip(got, expected, strict=True))
    if isinstance(expected, dict):
        return got.keys() == expected.keys() and all(agree(got[key], expected[key], **tolerance) for key in expected)
    if isinstance(expected, Array):
        same = got.shape == expected.shape and got.dtype == expected.dtype
        return same and agree(got.values, expected.values, **tolerance)
    return bool(got == expected)
