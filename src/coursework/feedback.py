"""What a student gets back: a page that stands alone, and the same as a notebook where a platform renames files.

Only what is public of a result is shown: of a question its title, points, outcome, message and hint.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

from coursework.model import Outcome
from coursework.pages import CODE, ITEM, closed, points, render, sentence, worth
from coursework.results import QuestionResult, Result
from coursework.rows import Status

TITLES = {"pytorch": "PyTorch", "mxnet": "MXNet"}
_LOOKS = {
    Outcome.PASSED: ("good", "✓"),
    Outcome.MARKED: ("good", "✓"),
    Outcome.TO_BE_MARKED: ("open", "…"),
    Outcome.TOO_NOISY: ("open", "…"),
    Outcome.NOT_ATTEMPTED: ("open", "○"),
}
_WORDS = {
    Outcome.TIMEOUT: "took too long",
    Outcome.ERROR: "raised an error",
    Outcome.CRASHED: "crashed",
    Outcome.TOO_NOISY: "will be graded again",
}
_STATUS = {
    Status.AGAIN: "Not graded yet",
    Status.UNREADABLE: "Could not be read: please hand in again",
    Status.WRONG: "Not the notebook of this exercise: please hand in again",
    Status.OLD: "Not the current version of this exercise: please ask your instructor",
    Status.MISSING: "Nothing was handed in",
}


#: Where code may stand as it is in a notebook's text: no letter in it means anything to MathJax or HTML.
_HARMLESS = re.compile(r"[\w .,:;()\[\]{}=+*/%'\"-]+")
_ENDLESS = (
    "None of the questions got an answer in time. Your program may never end: look for a loop whose condition "
    "stays true, or for something that it waits for and that never comes."
)


def page(result: Result) -> str:
    """Give a student's feedback page."""
    return render(
        "feedback.html",
        result=result,
        framework=TITLES.get(result.framework, result.framework),
        graded=result.status is Status.GRADED,
        status=_STATUS.get(result.status, result.status),
        message=_message(result),
        endless=_endless(result),
        questions=_questions(result),
        answers=result.answers,
    )


def notebook(result: Result) -> bytes:
    """Give the same as a notebook with one cell of text.

    Canvas shows a file that comes back under the name of the student's own: a page would not open as ``.ipynb``.
    """
    source = text(result)
    cell = {"cell_type": "markdown", "id": "feedback", "metadata": {}, "source": source.splitlines(keepends=True)}
    content = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode("utf8", "replace")


def text(result: Result) -> str:
    """Give the same in Markdown; what came out of the submission stands in fences, where nothing has a meaning."""
    lines = [f"# {_plain(result.title or result.slug)}: feedback"]
    if result.status is not Status.GRADED:
        lines.append(f"**{_STATUS.get(result.status, result.status)}.**")
    if not result.counts:
        return "\n\n".join(filter(None, [*lines, _prose(_message(result))])) + "\n"
    so_far = "" if result.complete else ", so far"
    lines.append(f"**{points(result.points)} of {points(result.max_points)} points{so_far}**")
    lines += [_prose(_message(result)), _prose(_endless(result))]
    for shown in _questions(result):
        told = worth(shown["points"], shown["max_points"], waiting=shown["sign"] == "…")
        lines.append(f"## {_plain(shown['title'])}: {shown['outcome']}, {told}")
        lines += [
            f"Corrected by your instructor. {_prose(shown['reason'])}".strip() if shown["corrected"] else "",
            _prose(f"Before that: {shown['before']}. {shown['message']}" if shown["before"] else shown["message"]),
            f"Hint: {_prose(shown['hint'])}" if shown["hint"] else "",
            _prose(shown["comment"]),
        ]
    if result.output.strip():
        lines += ["## What your cells printed", _fenced(result.output)]
    return "\n\n".join(filter(None, lines)) + "\n"


def _questions(result: Result) -> list[dict[str, Any]]:
    told = bool(_endless(result))
    shown = [_shown(question, result.answers) for question in result.questions]
    return [{**one, "message": ""} if told and one["late"] else one for one in shown]


def _message(result: Result) -> str:
    """Give what is to be said of the whole hand-in, unless its status says that already."""
    told = _STATUS.get(result.status, "")
    if result.message.rstrip(".") == told:
        return ""
    # Several were put together, and some begin with an answer's name.
    return " ".join(sentence(part, result.answers) for part in re.split(r"(?<=\.) ", result.message))


def _endless(result: Result) -> str:
    """Say once what all questions say, if each that was asked took too long."""
    unasked = (Outcome.NOT_ATTEMPTED, Outcome.TO_BE_MARKED, Outcome.MARKED)
    asked = [one for one in result.questions if one.outcome not in unasked]
    late = all(one.outcome is Outcome.TIMEOUT for one in asked)
    return f"{_ENDLESS} {sentence(asked[0].message)}".strip() if asked and late else ""


def _shown(question: QuestionResult, names: Collection[str]) -> dict[str, Any]:
    """Give what is shown of a question.

    Args:
        question: How it ended.
        names: The submission's own answers.
    """
    look, sign = _LOOKS.get(question.outcome, ("bad", "✗"))
    if question.outcome is Outcome.MARKED and not question.points:
        look, sign = "bad", "✗"
    outcome = _WORDS.get(question.outcome, question.outcome.value)
    fine = question.outcome in (Outcome.PASSED, Outcome.MARKED, Outcome.TO_BE_MARKED, Outcome.TOO_NOISY)
    no_hint = fine or question.corrected or question.outcome is Outcome.TIMEOUT
    comment = closed(sentence(question.comment))
    return {
        "title": question.title or question.name,
        "points": question.points,
        "max_points": question.max_points,
        "outcome": "corrected" if question.corrected else outcome,
        "corrected": question.corrected,
        "before": "" if not question.corrected or question.outcome is Outcome.MARKED else outcome,
        "message": sentence(question.message, names),
        "hint": "" if no_hint else sentence(question.hint),
        "reason": comment if question.corrected else "",
        "comment": "" if question.corrected else comment,
        "late": question.outcome is Outcome.TIMEOUT,
        "look": "plain" if question.corrected else look,
        "sign": "✎" if question.corrected else sign,
    }


def _prose(text: str) -> str:
    """Give a text in Markdown: nothing in it has a meaning but code between backticks, and lists."""
    if f"\n{ITEM}" in text:
        begin, *items = text.split(f"\n{ITEM}")
        last, _, after = items.pop().partition("\n")
        listed = "\n".join(f"- {_prose(item)}" for item in (*items, last))
        return "\n\n".join(filter(None, [_prose(begin), listed, _prose(after)]))
    parts = CODE.split(text)
    return "".join(
        f"`{part}`" if number % 2 and _HARMLESS.fullmatch(part) else _plain(part, number % 2 == 1)
        for number, part in enumerate(parts)
    ).strip()


def _plain(text: str, quoted: bool = False) -> str:
    """Take the meaning from Markdown and HTML in a line."""
    line = re.sub(r"\s+", " ", f"`{text}`" if quoted else text)
    return re.sub(r"([\\`*_\[\]<>#$|~])", r"\\\1", line)


def _fenced(text: str) -> str:
    if not text.strip():
        return ""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"
