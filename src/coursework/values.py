"""What passes between the trusted process and the student's: plain JSON, arrays, and handles of objects outside."""

from __future__ import annotations

import math
from collections.abc import Sequence
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

    An ``int`` is taken where a ``float`` is expected, never the other way round, and ``bool`` is no number. A tuple
    that is expected is replied as a list. NaN agrees with nothing. Never raises, whatever was replied.

    Args:
        got: The reply.
        expected: What the reference gives.
        relative: Tolerance of floating-point numbers, relative to the larger.
        absolute: Tolerance of floating-point numbers near zero.
    """
    # Not recursive, and no pair is looked at twice: nesting can neither end it nor make it last.
    pairs, seen = [(got, expected)], set()
    while pairs:
        pair = pairs.pop()
        if (id(pair[0]), id(pair[1])) in seen:
            continue
        seen.add((id(pair[0]), id(pair[1])))
        parts = _parts(*pair)
        if parts is None:
            if not _equal(*pair, relative, absolute):
                return False
        elif len(parts[0]) != len(parts[1]):
            return False
        else:
            pairs.extend(zip(*parts, strict=True))
    return True


def _parts(got: Any, expected: Any) -> tuple[Sequence[Any], Sequence[Any]] | None:
    """Give what has to agree in turn; None if both are to be compared as they are."""
    if type(expected) in (list, tuple) and type(got) in (list, type(expected)):
        return got, expected
    if type(expected) is dict and type(got) is dict and got.keys() == expected.keys():
        return [got[key] for key in expected], list(expected.values())
    if type(expected) is Array and type(got) is Array and (got.shape, got.dtype) == (expected.shape, expected.dtype):
        if "float" in expected.dtype:
            return got.values, [float(value) for value in expected.values]
        return got.values, expected.values
    return None


def _equal(got: Any, expected: Any, relative: float, absolute: float) -> bool:
    if type(expected) is float:
        if type(got) not in (int, float):
            return False
        try:
            return got == expected or math.isclose(got, expected, rel_tol=relative, abs_tol=absolute)
        except OverflowError:  # an int beyond all floats
            return False
    return type(got) is type(expected) and type(got) in (int, bool, str, type(None)) and bool(got == expected)
