"""Name what a cell measured, and what follows from it, so that prose quotes the run and nobody's memory.

Emits hidden display messages, which MyST-NB's ``glue`` and the engine of a book read; outside of a notebook the
arguments are checked and nothing else happens.
"""

from __future__ import annotations

import math
import numbers
import operator
import os
import sys
from typing import Any, SupportsFloat, SupportsIndex

from asynclab.errors import InvalidNumberError, UnsupportedValueError
from asynclab.ledger import LEDGER, check_name, told

Number = SupportsFloat | SupportsIndex

_HIDDEN = "application/papermill.record/"
#: Set where only the notebook itself asks for what was recorded (``checking``): some editors show a notice in the place
#: of each output whose type they do not know.
KEPT_VARIABLE = "ASYNCLAB_RECORDS_ARE_KEPT"
_SAID = {True: "holds", False: "does not hold", None: "was not tried"}

_NO_BREAK = "\N{NO-BREAK SPACE}"
_THOUSANDS = "\N{NARROW NO-BREAK SPACE}"
_MINUS = "\N{MINUS SIGN}"
_TIMES = f"{_NO_BREAK}\N{MULTIPLICATION SIGN}{_NO_BREAK}"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_GROUPED_FROM = 10_000  # four digits are read at a glance
_PLAIN_FROM, _PLAIN_BELOW = 0.001, 1e6  # outside of these, zeros have to be counted

# What NumPy, PyTorch and MXNet raise when an array has not exactly one element or is not of numbers. An operation that
# failed after its call had returned may show up here too, so the error raised instead names it as its cause.
_CONVERSION_ERRORS = (TypeError, ValueError, RuntimeError, OverflowError)


def record(name: str, value: Number, unit: str = "", *, spread: Number | None = None) -> None:
    """Record a named value; nothing is shown where it is recorded.

    Of several values with the same name in one process the last one counts.

    Args:
        name: Lower-case letters, digits and underscores; prose quotes it with the framework in front, such as
            ``{value}`` of ``mxnet.speedup``.
        value: A finite number, or an array or tensor of one. An integer is shown exactly, any other number with
            three significant digits.
        unit: Its unit, such as ``ms``, ``%`` or ``times``; empty if it has none.
        spread: How far repeated measurements lay apart, relative to the value: 0.12 for 12 %; ``None`` if the
            measurement was not repeated.

    Raises:
        InvalidNameError: If the name is not of that form (a ``ValueError``).
        InvalidNumberError: If a number is not finite, or the spread is negative (a ``ValueError``).
        UnsupportedValueError: If value or spread is no number, or the unit no text (a ``TypeError``).
    """
    check_name(name, "record", "value", "record('speedup', 3.2)")
    number = _number(value, f"record({name!r}): the value")
    relative = None if spread is None else _spread(spread, name)
    if not isinstance(unit, str):
        raise UnsupportedValueError(
            f"record({name!r}): the unit is {told(unit)} (allowed: a text, such as 'ms', '%' or '').\n"
            f"The spread has to be named: record({name!r}, 3.2, 'times', spread=0.12)."
        )
    text = _readable(number) + (f"{_NO_BREAK}{unit}" if unit else "")
    LEDGER.values[name] = text
    described = {"kind": "value", "name": name, "value": number, "unit": unit, "text": text, "spread": relative}
    _emit(text, {"scrapbook": {"name": name, "mime_prefix": _HIDDEN}, "polybook": described})


def claim(name: str, condition: object, *, must: bool = False) -> None:
    """Say whether a named statement about the values of this run holds; nothing is shown where it is said.

    The words stand in the prose of the page, once for the case that the statement holds and once for the other.
    Of several claims with the same name in one process the last one counts.

    Args:
        name: Of the same form as for `record`.
        condition: ``True`` or ``False``, or an array or tensor of one element that says so, as a comparison of
            tensors returns. MXNet's older arrays compare to 1.0 and 0.0. ``None`` if it was not tried, because this
            machine lacks what it takes; the page then shows the words of the other case.
        must: Whether the page is wrong, not just different, where the statement does not hold.

    Raises:
        InvalidNameError: If the name is not of that form (a ``ValueError``).
        UnsupportedValueError: If the condition is no truth value, such as a ratio that was never compared, or if
            what must hold was not tried (a ``TypeError``).
    """
    check_name(name, "claim", "claim", "claim('faster', ratio > 1)")
    if must and condition is None:
        raise UnsupportedValueError(
            f"claim({name!r}, must=True): the condition is None, which says that it was not tried (allowed: True or "
            "False).\nTry on every machine what must hold, or leave must out."
        )
    holds = None if condition is None else _truth(condition, name)
    LEDGER.claims[name] = holds
    described = {"kind": "claim", "name": name, "holds": holds, "must": bool(must)}
    _emit(_SAID[holds], {"polybook": described})


def _emit(text: str, metadata: dict[str, Any]) -> None:
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None or KEPT_VARIABLE in os.environ:
        return
    # No front end shows this type: what is recorded stands in prose, not below the cell.
    ipython.display.display({f"{_HIDDEN}text/plain": text}, metadata=metadata, raw=True)


def _number(value: object, where: str) -> int | float:
    """The finite number that a value is or holds; an integer stays one."""
    number, cause = None, None
    try:
        number = _converted(value)
    except _CONVERSION_ERRORS as error:
        cause = error
    if number is None:
        raise UnsupportedValueError(
            f"{where} is {told(value)} (allowed: an integer or float, or an array or tensor of one number).\n"
            "Reduce it to one number first, such as x.mean(); say what is true or false with claim()."
        ) from cause
    # math.isfinite would overflow for a very large integer.
    if isinstance(number, float) and not math.isfinite(number):
        raise InvalidNumberError(
            f"{where} is {number} (allowed: a finite number).\n"
            "Look for a division by zero, or an average of nothing, before this line."
        )
    return number


def _converted(value: object) -> int | float | None:
    plain = _plain(value)
    # Both would convert, but neither was measured.
    if isinstance(plain, bool | str | bytes | bytearray):
        return None
    try:
        return operator.index(plain)  # type: ignore[arg-type]
    except TypeError:
        return float(plain)  # type: ignore[arg-type]


def _plain(value: object) -> object:
    """What Python itself has for a NumPy scalar, or an array or tensor of one element."""
    # NumPy warns when float() is asked of an array with a dimension, and MXNet's older arrays refuse to answer it.
    for method in ("item", "asscalar"):
        extract = getattr(value, method, None)
        if callable(extract):
            return extract()
    return value


def _spread(spread: object, name: str) -> float:
    relative = float(_number(spread, f"record({name!r}): the spread"))
    if relative < 0:
        raise InvalidNumberError(
            f"record({name!r}): the spread is {relative} (allowed: 0 or more).\n"
            "Divide the distance between the measurements by the size of the value: 0.12 stands for 12 %."
        )
    return relative


def _truth(condition: object, name: str) -> bool:
    if isinstance(condition, bool):
        return condition
    # A ratio that was never compared is not zero, and so would always "hold". NumPy's truth value is no number to
    # Python, but its numbers are; a tensor that was compared holds a truth value, or 1.0 or 0.0.
    is_array = getattr(condition, "dtype", None) is not None and not isinstance(condition, numbers.Number)
    truth, cause = None, None
    try:
        truth = float(_plain(condition)) if is_array else None  # type: ignore[arg-type]
    except _CONVERSION_ERRORS as error:
        cause = error
    if truth not in (0, 1):
        raise UnsupportedValueError(
            f"claim({name!r}): the condition is {told(condition)} (allowed: True or False, an array or tensor of one "
            "element that is true or false, or None for what was not tried).\n"
            f"Compare the number, for example claim({name!r}, ratio > 1)."
        ) from cause
    return bool(truth)


def _readable(number: int | float) -> str:
    """Write a number for prose: an integer exactly, any other with three significant digits; no line breaks in it."""
    size = abs(number)
    digits = _grouped(f"{size:,}", size) if isinstance(size, int) else _three_digits(size)
    return f"{_MINUS}{digits}" if number < 0 else digits


def _three_digits(size: float) -> str:
    if size == 0:
        return "0"
    mantissa, _, written = f"{size:.2e}".partition("e")
    exponent = int(written)
    if not _PLAIN_FROM <= size < _PLAIN_BELOW:
        return f"{mantissa}{_TIMES}10{str(exponent).translate(_SUPERSCRIPTS)}"
    rounded = float(f"{mantissa}e{exponent}")
    return _grouped(f"{rounded:,.{max(0, 2 - exponent)}f}", rounded)


def _grouped(digits: str, size: float) -> str:
    return digits.replace(",", _THOUSANDS if size >= _GROUPED_FROM else "")
