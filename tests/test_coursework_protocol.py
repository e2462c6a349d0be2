"""Messages between the trusted process and the jail, and the comparison of what they carry."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from coursework import Array, Remote, agree
from coursework.protocol import MAX_DEPTH, Refused, read, tree, value, write

PLAIN = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False, allow_infinity=False) | some.text(),
    lambda inner: some.lists(inner) | some.dictionaries(some.text().filter(lambda key: not key.startswith("$")), inner),
    max_leaves=10,
)


def nested(depth: int) -> Any:
    """A list in a list in a list."""
    found: Any = 1
    for _ in range(depth):
        found = [found]
    return found


@given(PLAIN)
def test_plain_values_come_back_as_they_went(given: Any):
    """What JSON has passes unchanged, types included."""
    came = value(read(write({"gave": tree(given)}))["gave"])

    assert agree(came, given, relative=0, absolute=0)


def test_arrays_come_back_as_they_went():
    """Shape, kind of number and values."""
    arrays = [Array((2, 1), "float32", (1.0, 2.5)), Array((), "int64", (3,)), Array((0, 4), "bool", ())]

    assert value(read(write({"gave": tree(arrays)}))["gave"]) == arrays


@given(some.binary(max_size=60) | some.text(max_size=60).map(str.encode))
def test_whatever_comes_is_read_or_refused(line: bytes):
    """No line of the other side raises anything else."""
    try:
        message = read(line)
    except Refused:
        return

    assert type(message) is dict


@given(PLAIN | some.fixed_dictionaries({"$array": PLAIN}) | some.fixed_dictionaries({"$remote": PLAIN}))
def test_whatever_is_read_is_a_value_or_refused(found: Any):
    """No message of the other side raises anything else, in whatever place."""
    try:
        value(json.loads(json.dumps([found])), {}.__getitem__)
    except Refused:
        return


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[1]",
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": 1, "a": 2}',
        b'{"a": {"b": 1, "b": 1}}',
        b'{"a": ' + b"9" * 1001 + b"}",
        b'{"a": ' + b"[" * 200_000,
        b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a": "\xc3\xa4"}',
        b'{"a": 1} {"b": 2}',
    ],
)
def test_what_is_no_strict_message_is_refused(line: bytes):
    """Constants and keys that JSON does not have, numbers out of range, nesting beyond measure, half a line."""
    with pytest.raises(Refused):
        read(line)


@pytest.mark.parametrize(
    "found",
    [
        "\ud800",
        ["\udc00"],
        {"\ud800": 1},
        {"$array": 1},
        {"$array": [[1], "float32", [1.0], 0]},
        {"$array": [[2], "float32", [1.0]]},
        {"$array": [[1], "float32", [1]]},
        {"$array": [[1], "int8", [True]]},
        {"$array": [[-1], "float32", []]},
        {"$array": [[True], "float32", [1.0]]},
        {"$array": [[10**30, 0], "complex64", []]},
        {"$array": [[1] * 17, "int8", [1]]},
        {"$array": [[1], ["float32"], [1.0]]},
        {"$remote": 0},
        {"$other": 0},
        nested(MAX_DEPTH + 1),
    ],
)
def test_what_is_no_value_is_refused(found: Any):
    """Half characters, arrays that are none, handles, keys of ours, nesting."""
    with pytest.raises(Refused):
        value(found)


def test_handle_gives_the_object_outside():
    """Only one that was given away, and only where handles may come."""
    target = object()

    assert value([{"$remote": 7}], {7: target}.__getitem__) == [target]
    with pytest.raises(Refused, match="nothing"):
        value({"$remote": 8}, {7: target}.__getitem__)


@pytest.mark.parametrize("given", [math.nan, [math.inf], {1: 2}, {"$a": 1}, object(), {1}, Remote(object(), ())])
def test_what_cannot_be_passed_is_the_teachers_mistake(given: Any):
    """It says so, before anything is sent."""
    with pytest.raises((TypeError, ValueError), match="cannot be passed"):
        tree(given)


class Always:
    """Equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Number(float):
    """A number of its own kind."""


def loop() -> list[Any]:
    """A list in itself."""
    found: list[Any] = []
    found.append(found)
    return found


def broad(depth: int) -> Any:
    """A list whose tree has two to the power of its depth leaves."""
    found: Any = 1
    for _ in range(depth):
        found = [found, found]
    return found


# Without names of their own: a number of 5000 digits has no text.
@pytest.mark.parametrize(
    ("got", "expected", "same"),
    [
        (1.0 + 1e-9, 1.0, True),
        (1, 1.0, True),
        (1.0, 1, False),
        (True, 1, False),
        (True, 1.0, False),
        (1, True, False),
        (10**400, 1.0, False),
        (10**400, 10**400, True),
        (10**5000, 10**5000 + 1, False),
        (math.nan, math.nan, False),
        (math.inf, 1e308, False),
        ("a", "a", True),
        (None, None, True),
        (None, 0, False),
        ([1, [2.0]], [1, [2]], False),
        ([1, [2]], [1, [2.0]], True),
        ([1, 2], (1, 2), True),
        ([1], [1, 2], False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"b": 1}, False),
        ({}, [], False),
        (Always(), 1, False),
        (Always(), 1.0, False),
        (Number(1.0), 1.0, False),
        ([Always()], [Always()], False),
        (nested(100_000), nested(100_000), True),
        (nested(100_000), nested(99_999), False),
        (loop(), loop(), True),
        (broad(200), broad(200), True),
        (Array((1,), "float32", (1.0,)), Array((1,), "float32", (1,)), True),
        (Array((1,), "float32", (1.0,)), Array((1,), "float64", (1.0,)), False),
        (Array((1,), "int8", (1,)), Array((1, 1), "int8", (1,)), False),
        ([1.0], Array((1,), "float32", (1.0,)), False),
    ],
    ids=map(str, range(33)),
)
def test_agreement_is_exact_in_type_and_tolerant_in_value(got: Any, expected: Any, same: bool):
    """Neither huge numbers, nor NaN, nor nesting, nor objects that are equal to everything raise, hang or pass."""
    assert agree(got, expected) is same
