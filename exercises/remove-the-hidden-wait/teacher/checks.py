"""Two functions that must not wait: values compared outside, and whether they return early.

MXNet is timed: which part of the whole time has passed when the function returns, behind much pending work. PyTorch,
which computes on a CPU before it returns, has no such sign: it gets tensors of the device "meta", on which whatever
needs numbers raises, and ordinary ones, whose reading is noted, so that a function that tells the two apart gains
nothing by it. Both happen in the student's process, which an answer may deceive on purpose, though not by chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

from coursework import Array, Offering, Question, Student, StudentError, Verdict, agree, failed, passed
from coursework.cases import fingerprint
from coursework.measure import dispatch_share

#: A function that returns early has spent next to nothing by then. One that waits, wherever, has waited for the pending
#: work in front of it at least, which is three quarters of all.
_GATE = 0.4

#: No total is larger; an integer may be too large for a float.
_LARGEST = 1e30

_HELPERS = {
    "pytorch": """
import torch

class _Reads(torch.overrides.TorchFunctionMode):
    kinds = {
        "__repr__": "print or str", "__format__": "an f-string or format", "__bool__": "if, and, or, not, min or max",
        "__float__": "float", "__int__": "int", "__index__": "int", "__complex__": "complex", "__contains__": "in",
        "__array__": "numpy", "numpy": "numpy", "tolist": "tolist", "item": "item", "is_nonzero": "is_nonzero",
        "equal": "equal", "allclose": "allclose", "nonzero": "nonzero", "cpu": "cpu",
    }
    found = ""
    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.found = self.found or self.kinds.get(getattr(func, "__name__", ""), "")
        return func(*args, **(kwargs or {}))

def _early(name, make, *more):
    for device in ("cpu", "meta"):
        with _Reads() as reads:
            try:
                result = globals()[name](*make(device), *more)
            except Exception as error:
                return f"{type(error).__name__}: {error}"[:200]
        if reads.found:
            return f"{reads.found} reads the numbers of a tensor"
        if not isinstance(result, torch.Tensor):
            return f"its result is no tensor, but of type {type(result).__name__}"
        if result.device.type != device:
            return f"its result is on the device {result.device}, not on that of what it was given"

def _early_total():
    ones = torch.ones
    return _early("total_loss", lambda d: ([ones(16, 8, device=d) for _ in range(4)], ones(8, 4, device=d)))

def _early_clipped(limit):
    return _early("clipped", lambda d: (torch.ones(8, 4, device=d),), limit)

def _few(limit):
    return [torch.ones(2, 3) for _ in range(3)], torch.ones(3, 2), torch.ones(2, 3), limit
""",
    "mxnet": """
from mxnet import np, npx
npx.set_np()
_rows = 400
_factor = np.random.normal(size=(_rows, _rows)) / _rows**0.5

def _pending():
    result = _factor
    for _ in range(6):
        result = np.dot(result, _factor)
    return result

def _run_total():
    first = _pending()
    return total_loss([first, first + 1], _factor)

def _run_clipped(limit):
    return clipped(_pending(), limit)

def _few(limit):
    return [np.ones((2, 3)) for _ in range(3)], np.ones((3, 2)), np.ones((2, 3)), limit
""",
}
_COUNTING = """
def _counted(name, limit):
    import asynclab
    batches, weights, gradient, limit = _few(limit)
    with asynclab.waits() as found:
        total_loss(batches, weights) if name == "total_loss" else clipped(gradient, limit)
    return {each.call: each.count for each in found}
"""

_Case = tuple[Any, ...]


def _array(draw: Random, rows: int, columns: int, scale: float = 1.0) -> Array:
    values = tuple(round(scale * draw.gauss(0, 1), 3) for _ in range(rows * columns))
    return Array((rows, columns), "float32", values)


def _total(batches: list[Array], weights: Array) -> float:
    return sum(_loss(batch, weights) for batch in batches)


def _loss(batch: Array, weights: Array) -> float:
    (rows, inner), columns = batch.shape, weights.shape[1]
    products = [
        sum(batch.values[r * inner + k] * weights.values[k * columns + c] for k in range(inner))
        for r in range(rows)
        for c in range(columns)
    ]
    return sum(each**2 for each in products) / len(products)


def _clipped(gradient: Array, limit: float) -> list[float]:
    norm = math.sqrt(sum(each**2 for each in gradient.values))
    return [each * min(1.0, limit / norm) for each in gradient.values]


def _right_total(student: Student, cases: list[_Case]) -> Verdict:
    replies = [student.call("total_loss", *case) for case in cases]
    numbers = [_number(reply) for reply in replies]
    if any(number is None for number in numbers):
        return failed(
            "total_loss did not give one number: neither an array of one nor a number of Python.", sign="no number"
        )
    expected = [_total(*case) for case in cases]
    if agree(numbers, expected, relative=1e-3, absolute=1e-4):
        return passed()
    return failed(
        "total_loss gives another value than slow_total.",
        private=f"{numbers} instead of {expected}",
        sign=fingerprint([round(number / right, 2) for number, right in zip(numbers, expected, strict=True)]),
    )


def _number(reply: Any) -> float | None:
    if isinstance(reply, Array) and len(reply.values) == 1:
        reply = reply.values[0]
    return float(reply) if type(reply) in (int, float) and abs(reply) < _LARGEST else None


def _right_clipped(student: Student, cases: list[_Case]) -> Verdict:
    wrong = []
    for gradient, limit in cases:
        reply = student.call("clipped", gradient, limit)
        if not isinstance(reply, Array) or reply.shape != gradient.shape:
            return failed(
                "clipped did not give an array of the gradient's shape.", private=f"{reply!r:.200}", sign="no array"
            )
        wrong.append(not agree(list(reply.values), _clipped(gradient, limit), relative=1e-3, absolute=1e-4))
    if not any(wrong):
        return passed()
    kinds = [kind for kind, bad in zip(("larger than", "smaller than"), wrong, strict=True) if bad]
    return failed(
        f"clipped gives other values than slow_clipped for a norm that is {' or '.join(kinds)} the limit.",
        sign=fingerprint(wrong),
    )


def _returns_early(
    offering: Offering, name: str, right: Callable[[Student], Verdict], args: list[Any]
) -> Callable[[Student], Verdict]:
    limit, short = offering.constants["limit"], name.partition("_")[0]

    def ask(student: Student) -> Verdict:
        values = right(student)
        if values.outcome != "passed":
            return failed(
                f"Whether {name} returns early counts once its values are right.",
                private=values.private,
                sign=f"values: {values.sign}",
            )
        student.define(_HELPERS[offering.framework] + _COUNTING)
        found = _counted(student, name, limit)
        if offering.framework == "pytorch":
            return _on_meta(student, name, f"_early_{short}", args, found)
        return _timed(student, name, f"_run_{short}", args, found)

    return ask


def _counted(student: Student, name: str, limit: float) -> dict[str, int]:
    """What asynclab.waits saw there: told to the reader, never judged, since it is counted in the student's process."""
    try:
        found = student.call("_counted", name, limit)
    except StudentError:
        return {}
    return {call[:40]: count for call, count in found.items() if type(count) is int} if type(found) is dict else {}


def _told(found: dict[str, int]) -> str:
    if not found:
        return "asynclab.waits saw no call in it that waits."
    return f"asynclab.waits saw {', '.join(f'`{call}`' for call in sorted(found))[:200]} in it."


def _on_meta(student: Student, name: str, helper: str, args: list[Any], found: dict[str, int]) -> Verdict:
    problem = student.call(helper, *args)
    if problem is None:
        return passed(
            f"{name} reads no numbers, and works on tensors that have none, so it waits for none. {_told(found)}"
        )
    return failed(
        f"Given tensors with and without numbers, {name} came to this: {problem!s:.200}. So it wants numbers, and on a "
        f"GPU it would wait for them. {_told(found)}",
        sign=fingerprint(name, found),
    )


def _timed(student: Student, name: str, helper: str, args: list[Any], found: dict[str, int]) -> Verdict:
    share = dispatch_share(student, helper, *args)
    if share.below(_GATE):
        return passed(f"{name} returned after {share.median:.0%} of the whole time. {_told(found)}")
    return failed(
        f"When {name} returned, {share.median:.0%} of the whole time had passed: it waits for the backend. "
        f"{_told(found)}",
        private=str(share),
        sign=fingerprint(name, found),
    )


def questions(offering: Offering) -> list[Question]:
    """Make the questions: for each function its values, and whether it returns early."""
    draw, limit = offering.draw("arrays"), offering.constants["limit"]
    totals: list[_Case] = []
    for _ in range(2):
        rows, inner, columns = draw.randint(2, 5), draw.randint(2, 6), draw.randint(2, 4)
        batches = [_array(draw, rows, inner) for _ in range(draw.randint(2, 7))]
        totals.append((batches, _array(draw, inner, columns)))
    gradients: list[_Case] = [(_array(draw, 3, 4, 4 * limit), limit), (_array(draw, 2, 5, 0.05 * limit), limit)]

    def right_total(student: Student) -> Verdict:
        return _right_total(student, totals)

    def right_clipped(student: Student) -> Verdict:
        return _right_clipped(student, gradients)

    timed = offering.framework == "mxnet"
    return [
        Question(
            "total_value",
            "The same total",
            2,
            right_total,
            "Compare with slow_total on batches of your own.",
            "total_loss",
        ),
        Question(
            "total_early",
            "The total returns early",
            3,
            _returns_early(offering, "total_loss", right_total, []),
            "Leave the sum where the losses are made. Whoever needs a number asks for it later, once.",
            "total_loss",
            timed=timed,
        ),
        Question(
            "clipped_value",
            "The same gradient",
            2,
            right_clipped,
            "Try a gradient that is larger than the limit and one that is smaller.",
            "clipped",
        ),
        Question(
            "clipped_early",
            "Clipping returns early",
            3,
            _returns_early(offering, "clipped", right_clipped, [limit]),
            "Scale always, by a factor that is 1 where nothing is to be scaled. The smaller of two numbers can be "
            "taken on the device.",
            "clipped",
            timed=timed,
        ),
    ]
