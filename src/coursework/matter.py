"""Check an exercise's front matter, key by key. Pure: what YAML gave goes in, settings come out, faults are told.

The one place that knows which keys there are; ``exercises/README.md`` says the same to authors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from coursework.model import Limits
from coursework.source import FRAMEWORKS, Faults

KINDS = ("code", "measure", "written")
SOLUTIONS = ("public", "teacher")
#: The keys at the top of the front matter, and those below each.
TOP = ("exercise", "file_format", "myst", "polybook")
POLYBOOK = ("frameworks", "needs", "timeout")
REQUIRED = ("kind", "minutes", "page", "points", "title", "version")
OPTIONAL = ("compatible_with", "constants", "limits", "solution")

_MOST_POINTS, _MOST_MINUTES, _MOST_VALUES = 1000, 600, 10_000
#: The least and the most of each limit.
_LIMITS = {
    "call_s": (0.1, 600),
    "total_s": (1, 3600),
    "memory_mb": (64, 65536),
    "reply_kb": (1, 10240),
    "output_kb": (1, 1024),
    "processes": (1, 1024),
}


@dataclass(frozen=True)
class Settings:
    """What an exercise's front matter says, checked.

    Attributes:
        title: Its name for readers.
        page: The chapter it belongs to, such as ``chapters/cost-model``.
        kind: One of `KINDS`.
        points: What it is worth.
        weights: Points of single questions that an overlay changes.
        minutes: How long it takes.
        version: Raised whenever its questions change.
        compatible_with: Earlier versions whose hand-ins are still graded.
        solution: ``public`` or ``teacher``: whether readers of the site see it.
        limits: What a submission may use.
        constants: The values that each constant may have.
        frameworks: The frameworks it is for, in order.
        needs: ``gpu`` by framework, where the notebook says so.
        substitutions: The values that the book shows in its text.
    """

    title: str
    page: str
    kind: str
    points: float
    weights: Mapping[str, float]
    minutes: int
    version: int
    compatible_with: tuple[int, ...]
    solution: str
    limits: Limits
    constants: Mapping[str, tuple[Any, ...]]
    frameworks: tuple[str, ...]
    needs: Mapping[str, str]
    substitutions: Mapping[str, Any]


class Matter:
    """Checks one mapping of keys to values.

    Args:
        values: The mapping.
        keys: Where it stands in its file, such as ``("exercise",)``.
        faults: Gets what is wrong.
        line_of: Gives the line of a path of keys.
    """

    def __init__(self, values: object, keys: tuple[str, ...], faults: Faults, line_of: Callable[..., int]) -> None:
        """Take an empty mapping for what is none, and tell it."""
        self.values: Mapping[str, Any] = values if isinstance(values, Mapping) else {}
        self.keys, self.faults, self.line_of = keys, faults, line_of
        if not isinstance(values, Mapping):
            self.fault((), f"is {values!r}, but has to be a mapping", "Write `key: value` lines below it")

    def fault(self, keys: tuple[str, ...], found: str, remedy: str) -> None:
        """Tell what is wrong with a key."""
        path = (*self.keys, *keys)
        self.faults.add(self.line_of(*path), f"`{': '.join(path) or 'the front matter'}` {found}.", f"{remedy}.")

    def only(self, known: tuple[str, ...], required: tuple[str, ...] = ()) -> None:
        """Tell keys that are unknown, and those that are missing."""
        for key in self.values:
            if key not in known:
                self.fault((str(key),), f"is unknown (known: {', '.join(sorted(known))})", "Correct or remove it")
        for key in required:
            if key not in self.values:
                self.fault((), f"lacks `{key}`", f"Add `{key}: ...`")

    def text(self, key: str) -> str:
        """Give a text that is not empty."""
        value = self.values.get(key, "")
        if key in self.values and (not isinstance(value, str) or not value.strip()):
            self.fault((key,), f"is {value!r}, but has to be a text", "Write one")
        return str(value)

    def choice(self, key: str, known: tuple[str, ...], default: str) -> str:
        """Give one of several words."""
        value = self.values.get(key, default)
        if value not in known:
            self.fault((key,), f"is {value!r} (allowed: {', '.join(known)})", "Take one of these")
        return str(value)

    def whole(self, key: str, default: int, most: float = math.inf) -> int:
        """Give a whole number from 1."""
        value = self.values.get(key, default)
        if type(value) is not int or not 1 <= value <= most:
            allowed = "1 or more" if most == math.inf else f"1 to {most}"
            self.fault((key,), f"is {value!r} (allowed: a whole number, {allowed})", "Correct it")
            return default
        return value

    def number(self, key: str, least: float, most: float, default: float) -> float:
        """Give a number within bounds."""
        value = self.values.get(key, default)
        if not is_number(value) or not least <= value <= most:
            self.fault((key,), f"is {value!r} (allowed: a number from {least:g} to {most:g})", "Correct it")
            return default
        return float(value)


def is_number(value: object) -> bool:
    """Whether a value is a finite number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def settings(
    matter: Mapping[str, Any], faults: Faults, line_of: Callable[..., int], weights: object = None
) -> Settings:
    """Check an exercise's front matter.

    Args:
        matter: The front matter, with an overlay's keys in it.
        faults: Gets what is wrong.
        line_of: Gives the line of a path of keys.
        weights: An overlay's points of single questions; None if it has none.
    """
    top = Matter(matter, (), faults, line_of)
    top.only(TOP, ("exercise", "file_format", "polybook"))
    if "file_format" in top.values:
        top.choice("file_format", ("mystnb",), "mystnb")
    book = Matter(top.values.get("polybook", {}), ("polybook",), faults, line_of)
    book.only(POLYBOOK, ("frameworks",))
    own = Matter(top.values.get("exercise", {}), ("exercise",), faults, line_of)
    own.only((*REQUIRED, *OPTIONAL), REQUIRED)
    frameworks = _frameworks(book)
    version = own.whole("version", 1)
    return Settings(
        title=own.text("title"),
        page=own.text("page"),
        kind=own.choice("kind", KINDS, "code"),
        points=own.number("points", 0.1, _MOST_POINTS, 1),
        weights=_weights(weights, own),
        minutes=own.whole("minutes", 1, _MOST_MINUTES),
        version=version,
        compatible_with=_compatible(own, version),
        solution=own.choice("solution", SOLUTIONS, "teacher"),
        limits=_limits(own),
        constants=_constants(own),
        frameworks=frameworks,
        needs=_needs(book, frameworks),
        substitutions=_substitutions(top),
    )


def _frameworks(book: Matter) -> tuple[str, ...]:
    value = book.values.get("frameworks", [])
    known = ", ".join(FRAMEWORKS)
    if not isinstance(value, list) or not value or len(set(map(str, value))) < len(value):
        found = f"is {value!r}, but has to be a list of different frameworks (known: {known})"
        book.fault(("frameworks",), found, "Write for example `frameworks: [pytorch, mxnet]`")
        return ()
    for name in value:
        if name not in FRAMEWORKS:
            book.fault(("frameworks",), f"names {name!r} (known: {known})", "Correct it")
    return tuple(name for name in value if name in FRAMEWORKS)


def _needs(book: Matter, frameworks: tuple[str, ...]) -> dict[str, str]:
    value = book.values.get("needs", {})
    if not isinstance(value, Mapping) or any(k not in frameworks or v not in ("cpu", "gpu") for k, v in value.items()):
        book.fault(("needs",), f"is {value!r}, but has to map its frameworks to cpu or gpu", "Correct or remove it")
        return {}
    return {name: need for name, need in value.items() if need == "gpu"}


def _compatible(own: Matter, version: int) -> tuple[int, ...]:
    value = own.values.get("compatible_with", [])
    if not isinstance(value, list) or any(type(item) is not int or not 0 < item < version for item in value):
        found = f"is {value!r}, but has to list versions before {version}"
        own.fault(("compatible_with",), found, "Write for example `compatible_with: [1]`")
        return ()
    return tuple(sorted(set(value)))


def _limits(own: Matter) -> Limits:
    inner = Matter(own.values.get("limits", {}), (*own.keys, "limits"), own.faults, own.line_of)
    inner.only(tuple(_LIMITS))
    chosen: dict[str, Any] = {}
    for each in fields(Limits):
        if each.name in inner.values and each.name in _LIMITS:
            default: Any = each.default
            value = inner.number(each.name, *_LIMITS[each.name], default=default)
            chosen[each.name] = int(value) if isinstance(default, int) else value
    return Limits(**chosen)


def _constants(own: Matter) -> dict[str, tuple[Any, ...]]:
    outer = Matter(own.values.get("constants", {}), (*own.keys, "constants"), own.faults, own.line_of)
    found = {}
    for name, rule in outer.values.items():
        if not isinstance(name, str) or not name.isidentifier():
            outer.fault((str(name),), "is no name that Python allows", "Rename it")
            continue
        found[name] = _values(Matter(rule, (*outer.keys, name), own.faults, own.line_of))
    return found


def _values(rule: Matter) -> tuple[Any, ...]:
    """Give every value that a constant may have."""
    if "choices" in rule.values:
        rule.only(("choices",))
        value = rule.values["choices"]
        good = isinstance(value, list) and value and all(is_number(v) or isinstance(v, str | bool) for v in value)
        if not good or len({repr(item) for item in value}) < len(value):
            found = f"is {value!r}, but has to be a list of different numbers or texts"
            rule.fault(("choices",), found, "Write for example `choices: [4, 6, 8]`")
            return ()
        return tuple(value)
    rule.only(("from", "to", "step"), ("from", "to"))
    low, high, step = (rule.values.get(key, default) for key, default in (("from", 0), ("to", 0), ("step", 1)))
    if not all(map(is_number, (low, high, step))) or step <= 0 or high < low or (high - low) / step >= _MOST_VALUES:
        found = f"goes from {low!r} to {high!r} in steps of {step!r}"
        rule.fault((), found, f"Give a range upwards of at most {_MOST_VALUES} values, or `choices: [...]`")
        return ()
    count = math.floor((high - low) / step + 1e-9) + 1
    exact = all(isinstance(number, int) for number in (low, step))
    return tuple(low + number * step if exact else round(low + number * step, 12) for number in range(count))


def _substitutions(top: Matter) -> dict[str, Any]:
    myst = Matter(top.values.get("myst", {}), ("myst",), top.faults, top.line_of)
    myst.only(("substitutions",))
    inner = Matter(myst.values.get("substitutions", {}), ("myst", "substitutions"), top.faults, top.line_of)
    return dict(inner.values)


def _weights(value: object, own: Matter) -> dict[str, float]:
    if value is None:
        return {}
    good = isinstance(value, Mapping) and value and all(is_number(v) and 0 < v <= _MOST_POINTS for v in value.values())
    if not good:
        found = f"is {value!r}, but has to map questions to numbers of points above 0"
        own.fault(("points",), found, "Write for example `points: {async_total: 2}`")
        return {}
    return {str(name): float(points) for name, points in value.items()} if isinstance(value, Mapping) else {}
