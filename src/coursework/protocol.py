"""Messages between the trusted process and the jail: one line of strict JSON each.

The trusted side of it (`process` uses it); ``worker.py`` has the other. Whatever comes from the jail may be forged, so
everything is checked here: length, depth, kinds of values, that numbers are finite and text is text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from coursework.values import Array, Remote

#: How deeply lists and dictionaries may stand in each other.
MAX_DEPTH = 32
#: Digits of a whole number; Python itself refuses to print those of more than 4300.
MAX_DIGITS = 1000
#: Axes of an array.
MAX_AXES = 16

_FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
_INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
_ELEMENT = {**dict.fromkeys(_FLOATS, float), **dict.fromkeys(_INTEGERS, int), "bool": bool}


class Refused(Exception):
    """What came from the jail is not what may come; a sentence that the student may read."""


def read(line: bytes) -> dict[str, Any]:
    """Read one message from the jail, not yet its values.

    Args:
        line: It, with or without its line's end.

    Raises:
        Refused: If it is no strict JSON: a constant that JSON does not know, a key twice, a number out of range, half
            a character, or nesting beyond measure.
    """
    try:
        message = json.loads(
            line.decode("ascii"),
            object_pairs_hook=_distinct,
            parse_int=_whole,
            parse_float=_finite,
            parse_constant=_no_number,
        )
    except (ValueError, RecursionError, MemoryError):
        raise Refused("the reply is no JSON") from None
    if type(message) is not dict:
        raise Refused("the reply is no message")
    return message


def value(tree: Any, target: Callable[[int], Any] | None = None) -> Any:
    """Give the value that a part of a message stands for.

    Args:
        tree: As `read` gives it.
        target: Gives the object outside whose handle came back; none may come if not given.

    Raises:
        Refused: If it is none.
    """
    return _value(tree, target, 0)


def write(message: Mapping[str, Any]) -> bytes:
    """Give a message's line."""
    return json.dumps(message, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"


def tree(given: Any, keep: Callable[[Remote], int] | None = None) -> Any:
    """Give the part of a message that stands for a value.

    Args:
        given: What a question passes to the student's process.
        keep: Keeps an object that stays outside, and gives the number of its handle.

    Raises:
        TypeError: If it is nothing that can be passed.
        ValueError: If it is a number that is not finite, or nested too deeply.
    """
    return _tree(given, keep, 0)


def _tree(given: Any, keep: Callable[[Remote], int] | None, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ValueError(f"Values nested more than {MAX_DEPTH} deep cannot be passed to a submission.")
    if given is None or type(given) in (bool, int, str):
        return given
    if type(given) is float:
        if not math.isfinite(given):
            raise ValueError(f"{given} cannot be passed to a submission: only finite numbers can.")
        return given
    if isinstance(given, Array):
        return {"$array": [list(given.shape), given.dtype, list(given.values)]}
    if isinstance(given, Remote) and keep:
        return {"$remote": [keep(given), list(given.methods)]}
    if isinstance(given, list | tuple):
        return [_tree(item, keep, depth + 1) for item in given]
    if isinstance(given, Mapping) and all(type(key) is str and not key.startswith("$") for key in given):
        return {key: _tree(item, keep, depth + 1) for key, item in given.items()}
    raise TypeError(
        f"{type(given).__name__} cannot be passed to a submission: int, float, bool, str, None, list, dict with keys "
        "of text (not beginning with $), Array and Remote can."
    )


def _value(tree: Any, target: Callable[[int], Any] | None, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise Refused(f"the reply is nested more than {MAX_DEPTH} deep")
    if type(tree) is str:
        return _text(tree)
    if type(tree) is list:
        return [_value(item, target, depth + 1) for item in tree]
    if type(tree) is dict:
        if "$array" in tree and len(tree) == 1:
            return _array(tree["$array"])
        if "$remote" in tree and len(tree) == 1 and target:
            return _target(tree["$remote"], target)
        return {_key(key): _value(item, target, depth + 1) for key, item in tree.items()}
    return tree  # JSON has nothing else but numbers, truth values and null


def _array(parts: Any) -> Array:
    if type(parts) is not list or len(parts) != 3:  # noqa: PLR2004
        raise Refused("the reply holds an array without shape, dtype and values")
    shape, dtype, values = parts
    element = _ELEMENT.get(dtype) if type(dtype) is str else None
    if element is None:
        raise Refused("the reply holds an array of a kind of number that is not known")
    if type(shape) is not list or len(shape) > MAX_AXES or any(type(n) is not int or n < 0 for n in shape):
        raise Refused("the reply holds an array without a shape")
    if type(values) is not list or math.prod(shape) != len(values) or any(type(x) is not element for x in values):
        raise Refused("the reply holds an array whose values are not those of its shape and dtype")
    return Array(tuple(shape), dtype, tuple(values))


def _target(handle: Any, target: Callable[[int], Any]) -> Any:
    if type(handle) is not int:
        raise Refused("the reply holds a handle of nothing")
    try:
        return target(handle)
    except LookupError:
        raise Refused("the reply holds a handle of nothing") from None


def _key(key: str) -> str:
    if key.startswith("$"):
        raise Refused("the reply holds a dictionary with a key that begins with $")
    return _text(key)


def _text(text: str) -> str:
    # Half of a surrogate pair cannot be written to any file.
    if not text.isascii():
        try:
            text.encode("utf8")
        except UnicodeEncodeError:
            raise Refused("the reply holds half a character") from None
    return text


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise Refused(f"the reply holds a whole number of more than {MAX_DIGITS} digits")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError
    return number


def _no_number(_name: str) -> NoReturn:
    raise ValueError
