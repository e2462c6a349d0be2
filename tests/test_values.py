"""Named values and claims: recorded in a cell, told in prose."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from books import REPOSITORY, Book, cell, page_text

from asynclab import AsynclabError, InvalidNameError, InvalidNumberError, UnsupportedValueError, claim, record
from asynclab.ledger import LEDGER
from asynclab.values import KEPT_VARIABLE

HIDDEN = "application/papermill.record/"
NO_BREAK = "\N{NO-BREAK SPACE}"
THOUSANDS = "\N{NARROW NO-BREAK SPACE}"

#: Stands for the signs of a value's text as one writes them in a test.
PLAIN = str.maketrans({NO_BREAK: " ", THOUSANDS: "'", "\N{MINUS SIGN}": "-", "\N{MULTIPLICATION SIGN}": "x"})

Message = dict[str, Any]


@pytest.fixture(name="shown")
def make_shown(monkeypatch: pytest.MonkeyPatch) -> list[Message]:
    """The display messages of a notebook's kernel, in order."""
    messages: list[Message] = []

    def display(data: Message, *, metadata: Message, raw: bool) -> None:
        assert raw
        messages.append({"data": data, "metadata": metadata})

    monkeypatch.delenv(KEPT_VARIABLE, raising=False)
    kernel = SimpleNamespace(get_ipython=object, display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    return messages


def array(content: object, dtype: str = "float32", method: str = "item") -> SimpleNamespace:
    """An array of one element; ``item`` is how NumPy, PyTorch and MXNet hand it out, ``asscalar`` how MXNet did."""
    return SimpleNamespace(dtype=dtype, **{method: lambda: content})


def array_that_raises(error: type[Exception]) -> SimpleNamespace:
    """An array that is not one number, as one of several elements, and says so in its framework's way."""

    def item() -> None:
        raise error("more than one element")

    return SimpleNamespace(dtype="float32", item=item)


def text_of(shown: list[Message]) -> str:
    """The text of the only message, in plain signs."""
    (message,) = shown
    (text,) = message["data"].values()
    return text.translate(PLAIN)


def test_value_is_one_hidden_message(shown: list[Message]):
    """A value is emitted for MyST-NB's glue and, with all that is known of it, for the engine of the book."""
    record("speedup", 3.214, "times", spread=0.12)

    text = f"3.21{NO_BREAK}times"
    described = {
        "kind": "value", "name": "speedup", "value": 3.214, "unit": "times", "text": text, "spread": 0.12,
    }  # fmt: skip
    assert shown == [
        {
            "data": {f"{HIDDEN}text/plain": text},
            "metadata": {"scrapbook": {"name": "speedup", "mime_prefix": HIDDEN}, "polybook": described},
        }
    ]


def test_a_notebook_that_asks_for_itself_shows_nothing(shown: list[Message], monkeypatch: pytest.MonkeyPatch):
    """Where only checks ask for what was recorded, no editor gets an output of a type that it may not know."""
    monkeypatch.setenv(KEPT_VARIABLE, "1")

    record("speedup", 3.214, "times")
    claim("faster", True)

    assert shown == []
    assert (LEDGER.values["speedup"], LEDGER.claims["faster"]) == (f"3.21{NO_BREAK}times", True)


def test_value_measured_once_has_no_spread(shown: list[Message]):
    """Without repetitions the spread is unknown, which is not zero."""
    record("speedup", 3.2)

    assert shown[0]["metadata"]["polybook"]["spread"] is None


def test_name_may_be_recorded_again(shown: list[Message]):
    """Every value of the same name is emitted, in order, so that the last one counts."""
    record("speedup", 2)
    record("speedup", 3)

    assert [message["metadata"]["polybook"]["value"] for message in shown] == [2, 3]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (7, "7"),
        (-7, "-7"),
        (9999, "9999"),
        (10_000, "10'000"),
        (-1_234_567, "-1'234'567"),
        (10**18 + 1, "1'000'000'000'000'000'001"),
    ],
)
def test_integers_are_shown_exactly(shown: list[Message], value: int, text: str):
    """An integer keeps all its digits, in groups from five digits on."""
    record("count", value)

    assert text_of(shown) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (2.0, "2.00"),
        (42.123, "42.1"),
        (-0.5, "-0.500"),
        (0.0123, "0.0123"),
        (0.001, "0.00100"),
        (0.9999, "1.00"),
        (999.6, "1000"),
        (1234.5, "1230"),
        (9996.0, "10'000"),
        (123_456.0, "123'000"),
        (999_999.0, "1'000'000"),
        (1e6, "1.00 x 10⁶"),
        (-3.4e12, "-3.40 x 10¹²"),
        (0.000999, "9.99 x 10⁻⁴"),
        (1.234e-5, "1.23 x 10⁻⁵"),
    ],
)
def test_other_numbers_have_three_significant_digits(shown: list[Message], value: float, text: str):
    """A measured number is shown with three digits that count, and with an exponent only far from 1."""
    record("elapsed", value)

    assert text_of(shown) == text


def test_no_line_breaks_inside_a_value(shown: list[Message]):
    """Number and unit stay together, and so do the parts of a number, written in signs of the printer."""
    record("elapsed", -1.5e-7, "s")
    record("share", 1_234_567, "%")

    texts = [text for message in shown for text in message["data"].values()]
    times = "\N{MULTIPLICATION SIGN}"
    assert texts == [
        f"\N{MINUS SIGN}1.50{NO_BREAK}{times}{NO_BREAK}10⁻⁷{NO_BREAK}s",
        f"1{THOUSANDS}234{THOUSANDS}567{NO_BREAK}%",
    ]


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (array(3, "int64"), 3),
        (array(2.5), 2.5),
        (array(2.5, method="asscalar"), 2.5),
        (Fraction(1, 4), 0.25),
    ],
)
def test_numbers_of_other_libraries_become_pythons(shown: list[Message], value: Any, stored: float):
    """What is stored is a plain number, an integer if it was one."""
    record("answer", value)

    found = shown[0]["metadata"]["polybook"]["value"]
    assert (found, type(found)) == (stored, type(stored))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), array(float("nan"))])
def test_number_that_is_not_finite_is_refused(shown: list[Message], number: Any):
    """NaN and infinity are the results of a mistake, as value and as spread."""
    with pytest.raises(InvalidNumberError, match=r"record\('x'\): the value is -?(nan|inf) \(allowed: a finite number"):
        record("x", number)
    with pytest.raises(InvalidNumberError, match=r"record\('x'\): the spread is -?(nan|inf)"):
        record("x", 1.0, spread=number)

    assert shown == []


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (True, "True"),
        ("3.2", "'3.2'"),
        (None, "None"),
        (1 + 2j, r"\(1\+2j\)"),
        (b"3", "an object of type bytes"),
        ([1.0], "an object of type list"),
        (array(True, "bool"), "an object of type SimpleNamespace"),
        (array_that_raises(ValueError), "an object of type SimpleNamespace"),
        (array_that_raises(RuntimeError), "an object of type SimpleNamespace"),
    ],
)
def test_what_is_no_number_is_refused(shown: list[Message], value: Any, told: str):
    """The message says what was found instead of one number, but never the contents of an array."""
    with pytest.raises(UnsupportedValueError, match=rf"record\('x'\): the value is {told} \(allowed: .*number"):
        record("x", value)

    assert shown == []


def test_failed_operation_is_named_as_the_cause():
    """An operation that failed after its call had returned is not hidden behind our own error."""
    failed = array_that_raises(RuntimeError)

    with pytest.raises(UnsupportedValueError) as of_value:
        record("x", failed)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedValueError) as of_condition:
        claim("x", failed)

    assert [type(found.value.__cause__) for found in (of_value, of_condition)] == [RuntimeError, RuntimeError]


def test_negative_spread_is_refused():
    """A spread is a distance."""
    with pytest.raises(InvalidNumberError, match=r"the spread is -0.1 \(allowed: 0 or more\)"):
        record("x", 1.0, spread=-0.1)


def test_spread_has_to_be_named():
    """A number in the place of the unit is a forgotten ``spread=``, and the message says so."""
    with pytest.raises(UnsupportedValueError, match=r"the unit is 0.12 .*\n.*spread=0.12"):
        record("x", 3.2, 0.12)  # type: ignore[arg-type]


@pytest.mark.parametrize(("holds", "text"), [(True, "holds"), (False, "does not hold"), (None, "was not tried")])
def test_claim_is_one_hidden_message(shown: list[Message], holds: bool | None, text: str):
    """A claim is emitted for the engine of the book only, not for glue."""
    claim("faster", holds)

    described = {"kind": "claim", "name": "faster", "holds": holds, "must": False}
    assert shown == [{"data": {f"{HIDDEN}text/plain": text}, "metadata": {"polybook": described}}]


def test_claim_may_have_to_hold(shown: list[Message]):
    """A claim says whether the page is wrong without it."""
    claim("same_result", True, must=True)

    assert shown[0]["metadata"]["polybook"]["must"] is True


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (array(True, "bool"), True),
        (array(False, "bool"), False),
        (array(1.0, method="asscalar"), True),
        (array(0.0, method="asscalar"), False),
    ],
)
def test_comparison_of_arrays_is_a_condition(shown: list[Message], condition: object, holds: bool):
    """An array of one truth value will do, and so does 1.0 or 0.0, to which MXNet's older arrays compare."""
    claim("faster", condition)

    assert shown[0]["metadata"]["polybook"]["holds"] is holds


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        (2.31, "2.31"),
        (1, "1"),
        ("yes", "'yes'"),
        ([], "an object of type list"),
        (lambda: True, "an object of type function"),
        (array(2.31), "an object of type SimpleNamespace"),
        (array(float("nan")), "an object of type SimpleNamespace"),
        (array_that_raises(ValueError), "an object of type SimpleNamespace"),
        (array_that_raises(RuntimeError), "an object of type SimpleNamespace"),
    ],
)
def test_what_is_no_truth_value_is_refused(shown: list[Message], condition: object, told: str):
    """A ratio that was never compared would always hold; the message shows a comparison."""
    with pytest.raises(
        UnsupportedValueError, match=rf"the condition is {told} \(allowed: .*\n.*claim\('x', ratio > 1\)"
    ):
        claim("x", condition)

    assert shown == []


def test_what_must_hold_has_to_be_tried(shown: list[Message]):
    """A page that is wrong without it cannot leave it open."""
    with pytest.raises(UnsupportedValueError, match=r"claim\('x', must=True\): the condition is None.*\nTry on every"):
        claim("x", None, must=True)

    assert shown == []


def test_number_of_numpy_is_no_condition():
    """A NumPy number has a dtype as arrays have, but is a number like any other."""

    class Float64(float):
        dtype = "float64"

    with pytest.raises(UnsupportedValueError, match=r"the condition is 1\.0"):
        claim("x", Float64(1.0))


@pytest.mark.parametrize("name", ["", "Speed", "speed-up", "1st", "_x", "pytorch.speedup", "a b", "a\n", 3.2, None])
def test_odd_names_are_refused(name: Any):
    """A name is one that prose can quote, of a value as of a claim."""
    with pytest.raises(InvalidNameError, match=r"^record: .* is no name for a value"):
        record(name, 1.0)
    with pytest.raises(InvalidNameError, match=r"^claim: .* is no name for a claim"):
        claim(name, True)


def test_errors_are_ours_and_pythons():
    """Each error can be caught as asynclab's and as what Python itself would raise."""
    assert issubclass(InvalidNameError, AsynclabError)
    assert issubclass(InvalidNameError, ValueError)
    assert issubclass(InvalidNumberError, AsynclabError)
    assert issubclass(InvalidNumberError, ValueError)
    assert issubclass(UnsupportedValueError, AsynclabError)
    assert issubclass(UnsupportedValueError, TypeError)


@pytest.mark.parametrize("ipython", [None, SimpleNamespace(get_ipython=lambda: None)])
def test_outside_of_a_notebook_nothing_happens(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, ipython: object
):
    """A script that records runs as it is and prints nothing, even if something has loaded IPython."""
    monkeypatch.setitem(sys.modules, "IPython", ipython)

    record("speedup", 2.0)
    claim("faster", True)

    assert capsys.readouterr() == ("", "")


def test_mistakes_show_outside_of_a_notebook_too(monkeypatch: pytest.MonkeyPatch):
    """What a script may record is what a notebook may."""
    monkeypatch.setitem(sys.modules, "IPython", None)

    with pytest.raises(UnsupportedValueError):
        record("speedup", "fast")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedValueError):
        claim("faster", 2.0)


def test_prose_quotes_each_frameworks_value(make_book: Callable[..., Book]):
    """The same name in two frameworks is two values; the cell itself shows nothing."""
    book = make_book(
        page=page_text(
            cell("from asynclab import record"),
            cell("record('answer', 42.123, 'ms')", "alpha"),
            cell("record('answer', 7)", "beta"),
            "Alpha took {glue:text}`alpha.answer`, Beta {glue:text}`beta.answer`.\n",
        )
    )
    shutil.copytree(REPOSITORY / "src" / "asynclab", book.root / "asynclab")

    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    assert f"Alpha took 42.1{NO_BREAK}ms, Beta 7." in book.article("page").get_text().replace("'", "")
    assert book.article("page").select(".cell_output") == []
