"""Four predictions, each a question, and an explanation that a person marks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from coursework import Offering, Question, Student, Verdict, WrittenQuestion, failed, passed
from coursework.cases import fingerprint

_WAITS = {"A": "right", "B": "left", "C": "right", "D": "left"}

_TITLES = {"A": "The end of an epoch", "B": "Without what is negative", "C": "Stopping early", "D": "Somewhere else"}

_HINTS = {
    "A": "The shape of an array is known when its operation is asked for. What does print need of the array itself?",
    "B": "How long is the result? Which of the two has to see numbers to know that?",
    "C": "Whose length is asked for on the left: that of a list in Python, or of an array?",
    "D": "One of the two leaves the backend's side, or comes from there: what has to be done before it can return?",
}


def _asks(pair: str) -> Callable[[Student], Verdict]:
    def ask(student: Student) -> Verdict:
        reply = student.call("which_waits")
        if type(reply) is not dict:
            return failed(
                f"which_waits gave a value of type {type(reply).__name__} where a dictionary is wanted.",
                sign="no dictionary",
            )
        side = reply.get(pair)
        if side not in ("left", "right"):
            return failed(f'Pair {pair} has no prediction: "left" or "right" is wanted.', sign="no prediction")
        if side == _WAITS[pair]:
            return passed()
        return failed(f"In pair {pair} the {side} program does not wait.", sign=fingerprint(pair, side))

    return ask


def questions(offering: Offering) -> list[Question | WrittenQuestion]:  # noqa: ARG001 - nothing is drawn
    """Make the questions."""
    rubric = (Path(__file__).parent / "rubric.md").read_text("utf8")
    predictions = [
        Question(
            f"prediction_{pair.lower()}", f"Pair {pair}: {_TITLES[pair]}", 2, _asks(pair), _HINTS[pair], "which_waits"
        )
        for pair in _WAITS
    ]
    return [*predictions, WrittenQuestion("pair-b", "Explain pair B", 4, rubric)]
