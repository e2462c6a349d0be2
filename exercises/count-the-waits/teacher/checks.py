"""The waits of five loops, asked about drawn lengths."""

from __future__ import annotations

from typing import Any

from coursework import Offering, Question
from coursework.cases import asking


def _waits_a(n: int, k: int) -> int:
    return -(-n // k) + 1


def _waits_b(n: int) -> int:  # noqa: ARG001 - however many losses there are
    return 1


def _waits_c(n: int) -> int:
    return n


def _waits_d(epochs: int, n: int, k: int) -> int:
    return epochs * (n // k + 1)


def _waits_e(n: int) -> int:
    return n + 1


def _whole(reply: Any) -> str:
    return "It returned a float: use // for a number that is whole." if type(reply) is float else ""


def questions(offering: Offering) -> list[Question]:
    """Make a question of each loop."""
    draw = offering.draw("lengths")
    k = draw.randint(3, 9)
    divides, longer = k * draw.randint(3, 40), draw.randint(2, k - 1)
    between = divides + draw.randint(1, k - 1)
    lengths = {
        "k divides n": (divides, k),
        "k does not divide n": (between, k),
        "k is 1": (between, 1),
        "k is larger than n": (longer, k),
    }
    counts: dict[str, list[tuple[int, ...]]] = {"n is 1": [(1,)], "n is larger": [(between,), (divides,)]}
    epochs = draw.randint(2, 9)
    return [
        Question(
            "waits_a",
            "A line now and then",
            2,
            asking("waits_a", {kind: [each] for kind, each in lengths.items()}, _waits_a, finds=_whole),
            "The condition holds at 0, k, 2k and so on, below n. And what does the last line of loop_a need?",
        ),
        Question(
            "waits_b",
            "All at the end",
            2,
            asking("waits_b", counts, _waits_b, finds=_whole),
            "A list holds arrays that are still to come; only at the end somebody asks for numbers, for all at once.",
        ),
        Question(
            "waits_c",
            "Only what is positive",
            2,
            asking("waits_c", counts, _waits_c, finds=_whole),
            "A mask decides how long its result is, so its numbers are needed. Choosing between two keeps the shape.",
        ),
        Question(
            "waits_d",
            "Epochs",
            2,
            asking("waits_d", {kind: [(epochs, *each)] for kind, each in lengths.items()}, _waits_d, finds=_whole),
            "In an epoch the condition holds at the k-th step, the 2k-th and so on; and there is the line after it.",
        ),
        Question(
            "waits_e",
            "Until it is good enough",
            2,
            asking("waits_e", counts, _waits_e, finds=_whole),
            "How often is the condition asked, the last time included, and what does each asking need?",
        ),
    ]
