"""What a student's notebook calls: ``check`` tries an answer, ``pack`` writes the file to hand in.

Standard library only, like all of asynclab. What finds and writes the notebook is in ``handing_in.py``.
"""

from __future__ import annotations

import linecache
import math
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from asynclab.errors import CheckFailed, PackError

__all__ = ["CheckFailed", "PackError", "check", "pack"]

#: Characters that a value may take before its middle is left out.
_LONGEST = 240
_ABSOLUTE = 1e-9
#: Packages whose arrays are compared by their elements.
_ARRAYS = ("torch", "mxnet", "numpy")


def check(function: Callable[..., Any], /, *args: Any, gives: Any, relative: float = 1e-6, **kwargs: Any) -> None:
    """Call an answer, and print the call with its result if it is what it should be.

    An answer that raises ``NotImplementedError`` is not written yet; the check says so and goes on. The type has to be
    the expected one, but an ``int`` is taken where a ``float`` is expected. An array of a framework is compared with
    nested lists by its elements.

    Args:
        function: The answer.
        args: What to call it with.
        gives: What it should give.
        relative: How far a floating-point number may be off, relative to the larger.
        kwargs: What to call it with, by name.

    Raises:
        CheckFailed: If it gives something else, or raises. A notebook shows the call, what it gave and what was
            expected.
    """
    call = _call(function, args, kwargs)
    try:
        got = function(*args, **kwargs)
        unlike = _difference(got, gives, relative)
        shown = told(got)
    except NotImplementedError as error:
        print(f"\N{EN DASH} {_unwritten(error, function)} is not written yet")
        return
    except Exception as error:
        # Without our own frames below it: the reader sees the line in the cell.
        raise CheckFailed(call, [*_raised(error, function), ("expected", told(gives))]) from None
    if unlike is not None:
        raise CheckFailed(call, [("gave", shown), ("expected", told(gives) + unlike)])
    print(f"✓ {call} = {shown}")


def pack(path: str | Path | None = None) -> None:
    """Write the file to hand in, ``hand-in-<exercise>-<framework>.ipynb``: this notebook without its outputs.

    Args:
        path: The notebook; by default the one that this is called in.

    Raises:
        PackError: If it is not clear which notebook to take, or it cannot be read.
    """
    from asynclab.handing_in import hand_in

    hand_in(path)


def told(value: Any) -> str:
    """Write a value so that a reader can take it in: on one line, and not too long; a function by its name."""
    if isinstance(value, FunctionType):
        return value.__name__
    try:
        text = " ".join(repr(value).split())
    except Exception as error:
        text = f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"
    if len(text) <= _LONGEST:
        return text
    half = _LONGEST // 2
    return f"{text[:half]} ... {text[-half:]} ({len(text)} characters)"


def _unwritten(error: NotImplementedError, function: Callable[..., Any]) -> str:
    """Name the function that is not written: a check's own helper may call it."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    name = frames[-1].f_code.co_name if len(frames) > 1 else ""
    return name if name.isidentifier() else _name(function)


def _difference(got: Any, expected: Any, relative: float) -> str | None:
    """Give what to say about a result besides the two values; None if it is right."""
    of_array = isinstance(expected, list) and _is_array(got)
    plain = _elements(got) if of_array else _unwrapped(got)
    if not _same_type(plain, expected, of_array):
        return f" (type {type(expected).__name__}, not {type(got).__name__})"
    try:
        path = _first_difference(plain, expected, relative, of_array)
    except Exception as error:
        return f" (comparing them raised {type(error).__name__})"
    # Where the values are short a reader sees it.
    return path and (f" ({path})" if len(repr(expected)) > _LONGEST else "")


def _first_difference(got: Any, expected: Any, relative: float, of_array: bool) -> str | None:
    """Give where two values differ first, in words; None if they agree."""
    got = _unwrapped(got)
    if not _same_type(got, expected, of_array):
        return f"{told(expected)}, not {told(got)}"
    if isinstance(expected, list | tuple):
        pairs: Any = enumerate(zip(got, expected, strict=False))
        if len(got) != len(expected):
            return f"{len(expected)} elements, not {len(got)}"
    elif isinstance(expected, dict):
        if got.keys() != expected.keys():
            return f"the keys {told(list(expected))}, not {told(list(got))}"
        pairs = ((key, (got[key], expected[key])) for key in expected)
    else:
        return None if _agree(got, expected, relative) else f"{told(expected)}, not {told(got)}"
    for place, (one, other) in pairs:
        found = _first_difference(one, other, relative, of_array)
        if found:
            return f"at [{place!r}]: {found}" if not found.startswith("at ") else f"at [{place!r}]{found[3:]}"
    return None


def _agree(got: Any, expected: Any, relative: float) -> bool:
    if isinstance(expected, float) or isinstance(got, float):
        same = got == expected or (math.isnan(expected) and math.isnan(got))
        return same or math.isclose(got, expected, rel_tol=relative, abs_tol=_ABSOLUTE)
    if _is_array(expected):
        return _first_difference(_elements(got), _elements(expected), relative, True) is None
    return bool(got == expected)


def _same_type(got: Any, expected: Any, of_array: bool) -> bool:
    numbers = [type(value) in (int, float) for value in (got, expected)]
    if isinstance(expected, float) or (of_array and numbers[1]):
        return numbers[0]
    return type(got) is type(expected)


def _unwrapped(value: Any) -> Any:
    """Give a number of NumPy's, which is as good, as one of Python's."""
    numpy = sys.modules.get("numpy")
    return value.item() if numpy and isinstance(value, numpy.generic) else value


def _is_array(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] in _ARRAYS and callable(getattr(value, "reshape", None))


def _elements(array: Any) -> Any:
    # MXNet's older arrays know no `tolist`.
    return array.tolist() if callable(getattr(array, "tolist", None)) else array.asnumpy().tolist()


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", None) or told(function))


def _call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    parts = [*map(told, args), *(f"{name}={told(value)}" for name, value in kwargs.items())]
    return f"{_name(function)}({', '.join(parts)})"


def _raised(error: Exception, function: Any) -> list[tuple[str, str]]:
    """Tell an exception, and the student's own line that it went through last."""
    said = traceback.format_exception_only(error)[-1].strip()
    frames = traceback.extract_tb(error.__traceback__)
    file = getattr(getattr(function, "__code__", None), "co_filename", "")
    own = [frame for frame in frames if frame.filename == file or _is_cell(frame.filename)]
    if not own:
        return [("raised", said)]
    line = (own[-1].line or linecache.getline(own[-1].filename, own[-1].lineno or 0)).strip()
    where = f"line {own[-1].lineno} of {own[-1].name}'s cell" if own[-1].name != "<module>" else "the cell"
    return [("raised", said), ("in", f"{where}: {line}")]


def _is_cell(filename: str) -> bool:
    """Whether IPython made this name for a cell: ``<ipython-input-1-...>``, or a file that is only named."""
    return filename.startswith("<ipython-input") or "ipykernel_" in filename
