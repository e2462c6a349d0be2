"""The cost model, asked about drawn times in both regimes; PipelineModel is the reference."""

from __future__ import annotations

from itertools import count, islice
from random import Random

from asynclab import PipelineModel
from coursework import Offering, Question
from coursework.cases import asking

_BILLION = 10**9
#: No answer to how seldom is seldom enough may hang on so few per cent.
_TOO_CLOSE = 1e-3


def _times(draw: Random, *, backend_bound: bool) -> tuple[float, float, float]:
    low, high = round(draw.uniform(1, 5), 2), round(draw.uniform(6, 30), 2)
    t1, t2 = (low, high) if backend_bound else (high, low)
    return t1, t2, round(draw.uniform(1, 9), 2)


def _sync_total(n: int, t1: float, t2: float, t3: float) -> float:
    return PipelineModel(t1, t2, t3).sync_total(n)


def _async_total(n: int, t1: float, t2: float, t3: float) -> float:
    return PipelineModel(t1, t2, t3).async_total(n)


def _regime(t1: float, t2: float) -> str:
    return PipelineModel(t1, t2, 0.0).regime


def _total_every(n: int, k: int, t1: float, t2: float, t3: float) -> float:
    return PipelineModel(t1, t2, t3).total(n, wait_every=k)


def _excess(n: int, k: int, t1: float, t2: float, t3: float) -> float:
    """By how many per cent waiting after every k takes longer."""
    return 100 * (_total_every(n, k, t1, t2, t3) / _async_total(n, t1, t2, t3) - 1)


def _seldom_enough(n: int, t1: float, t2: float, t3: float, percent: float) -> int:
    return next(k for k in range(1, n + 1) if _excess(n, k, t1, t2, t3) <= percent)


def _totals(draw: Random) -> dict[str, list[tuple[float, ...]]]:
    counts = [1, draw.randint(2, 40), draw.randint(1000, 9000), draw.randint(_BILLION // 2, _BILLION)]
    backend = [(n, *_times(draw, backend_bound=True)) for n in counts]
    frontend = [(n, *_times(draw, backend_bound=False)) for n in counts]
    return {
        "one operation": [backend[0], frontend[0]],
        "a backend that is slower than the frontend": backend[1:],
        "a backend that is faster than the frontend": frontend[1:],
    }


def _rounds(draw: Random) -> dict[str, list[tuple[float, ...]]]:
    k, rounds = draw.randint(3, 9), draw.randint(4, 50)
    both = [_times(draw, backend_bound=bound) for bound in (True, False)]
    return {
        "k divides n": [(k * rounds, k, *times) for times in both],
        "k does not divide n": [(k * rounds + draw.randint(1, k - 1), k, *times) for times in both],
        "a wait after each": [(draw.randint(5, 99), 1, *times) for times in both],
        "k is larger than n": [(k, k + draw.randint(1, 9), *times) for times in both],
    }


def _clear(case: tuple[float, ...]) -> bool:
    """Whether no rounding error can turn the answer: the figure is nowhere near the limit on the way to it."""
    n, *times, percent = case
    return all(abs(_excess(int(n), k, *times) - percent) > _TOO_CLOSE for k in range(1, _seldom_enough(*case) + 2))


def _telling(case: tuple[float, ...]) -> bool:
    """Whether the answer is another one if what is left over after the last whole round is forgotten."""
    n, *times, percent = case
    most = (1 + percent / 100) * _async_total(int(n), *times)
    return next(k for k in count(1) if n // k * _async_total(k, *times) <= most) != _seldom_enough(*case)


def _limits(draw: Random, percent: float) -> dict[str, list[tuple[float, ...]]]:
    cases = ((draw.randint(30, 300), *_times(draw, backend_bound=True), float(percent)) for _ in count())
    return {
        "a backend that is slower than the frontend": list(islice((c for c in cases if _clear(c) and _telling(c)), 4))
    }


def questions(offering: Offering) -> list[Question]:
    """Make the questions; each function is asked by itself."""
    draw = offering.draw("cases")
    totals, regimes = _totals(draw), [_times(draw, backend_bound=bound)[:2] for bound in (True, False, True, False)]
    equal = round(draw.uniform(1, 9), 2)
    return [
        Question(
            "sync_total",
            "The total with a wait after each",
            1,
            asking("sync_total", totals, _sync_total),
            "Nothing overlaps: which times does each single operation take, one after the other?",
        ),
        Question(
            "async_total",
            "The total with one wait",
            3,
            asking("async_total", totals, _async_total),
            "The slower of the two sets the pace for all operations; the other one is seen once, at the beginning or "
            "at the end. When the last result is there, the answer takes t3 to come back.",
        ),
        Question(
            "regime",
            "Who sets the pace",
            1,
            asking(
                "regime",
                {"unequal times": regimes, "equal times": [(equal, equal)]},
                _regime,
            ),
            "The pace is that of the slower one. The text says what holds for equal times.",
        ),
        Question(
            "total_every",
            "The total with a wait every so many",
            3,
            asking("total_every", _rounds(draw), _total_every),
            "Each round of k is a small asynchronous run of its own, with its beginning, its end and its answer. What "
            "is left over is one more.",
        ),
        Question(
            "seldom_enough",
            "How seldom is seldom enough",
            2,
            asking("seldom_enough", _limits(draw, offering.constants["percent"]), _seldom_enough),
            "Compare your own two totals for k = 1, 2, 3 and so on, and stop at the first that is close enough.",
        ),
    ]
