"""Ask a function about many cases, and say in which kind of case it goes wrong without giving a case away.

What the checks of most exercises are made of; rests on ``model`` and ``values``. A ``teacher/checks.py`` imports it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from coursework.model import Student, Verdict, failed, passed
from coursework.values import agree

_SIGNIFICANT = 6
#: Inputs have few digits, so that results are often right between two rounded ones. This moves them away from there.
_ASIDE = 1 + 1.23e-9


def asking(
    function: str,
    cases: Mapping[str, Sequence[tuple[Any, ...]]],
    reference: Callable[..., Any],
    *,
    relative: float = 1e-6,
    finds: Callable[[Any], str] = lambda _: "",
) -> Callable[[Student], Verdict]:
    """Make the question that compares a function with a reference.

    Args:
        function: The student's function.
        cases: Its arguments, by what the cases have in common, such as "where the backend is faster". These words
            stand in the feedback; the arguments do not.
        reference: Gives the right answer; runs here.
        relative: Tolerance of floating-point numbers.
        finds: Looks at a wrong reply and says more, for the student, or says nothing.

    Returns:
        What a `Question` takes for ``ask``. The same wrong function gives the same sign.
    """

    def ask(student: Student) -> Verdict:
        replies = {kind: [student.call(function, *args) for args in each] for kind, each in cases.items()}
        wrong = {kind: _wrong(replies[kind], each, reference, relative) for kind, each in cases.items()}
        if not any(wrong.values()):
            return passed()
        lines = [f"- {kind}: {len(cases[kind]) - len(bad)} of {len(cases[kind])} right" for kind, bad in wrong.items()]
        first = next(bad[0] for bad in wrong.values() if bad)
        more = finds(first[1]) or _told_type(first[1], first[2])
        return failed(
            "\n".join(filter(None, [f"{function} was asked about cases of {_counted(len(cases))}:", *lines, more])),
            private=f"{function}{first[0]!r} gave {first[1]!r:.200}, expected {first[2]!r:.200}",
            sign=fingerprint(function, replies),
        )

    return ask


def _counted(kinds: int) -> str:
    return f"{kinds} kind{'s' * (kinds != 1)}"


def fingerprint(*parts: Any) -> str:
    """Give a short text that is the same for the same replies, up to rounding errors.

    Args:
        parts: Replies, and whatever else belongs to the sign.
    """
    text = json.dumps(_rounded(parts), sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf8", "replace")).hexdigest()[:16]


def _wrong(
    replies: Sequence[Any], cases: Sequence[tuple[Any, ...]], reference: Callable[..., Any], relative: float
) -> list[tuple[tuple[Any, ...], Any, Any]]:
    pairs = [(args, reply, reference(*args)) for args, reply in zip(cases, replies, strict=True)]
    return [pair for pair in pairs if not agree(pair[1], pair[2], relative=relative)]


def _told_type(got: Any, expected: Any) -> str:
    number = type(expected) is float and type(got) is int
    if type(got) is type(expected) or number:
        return ""
    return f"It returned {_named(got)} where {_named(expected)} is wanted."


def _named(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value * _ASIDE:.{_SIGNIFICANT}g}"
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _rounded(each) for key, each in value.items()}
    return value if isinstance(value, int | str | None) else repr(value)
