"""What a student gets back: a page that stands alone, and the same as a notebook where a platform renames files.

Only what is public of a result is shown: of a question its title, points, outcome, message and hint.
"""

from __future__ import annotations

import json
import re
from typing import Any

from coursework.model import Outcome
from coursework.pages import points, render
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


def page(result: Result) -> str:
    """Give a student's feedback page."""
    return render(
        "feedback.html",
        result=result,
        framework=TITLES.get(result.framework, result.framework),
        graded=result.status is Status.GRADED,
        status=_STATUS.get(result.status, result.status),
        questions=[_shown(question) for question in result.questions],
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
        lines += [f"**{_STATUS.get(result.status, result.status)}.**", _plain(result.message)]
        return "\n\n".join(filter(None, lines)) + "\n"
    so_far = ", so far" if result.pending else ""
    lines += [f"**{points(result.points)} of {points(result.max_points)} points{so_far}**", _plain(result.message)]
    for question in result.questions:
        shown = _shown(question)
        worth = f"{points(question.points)}/{points(question.max_points)}"
        lines.append(f"## {_plain(question.title)}: {shown['outcome']}, {worth}")
        lines += [
            _fenced(shown["message"]),
            f"Hint: {shown['hint']}" if shown["hint"] else "",
            _plain(shown["comment"]),
        ]
    if result.output.strip():
        lines += ["## What your cells printed", _fenced(result.output)]
    return "\n\n".join(filter(None, lines)) + "\n"


def _shown(question: QuestionResult) -> dict[str, Any]:
    look, sign = _LOOKS.get(question.outcome, ("bad", "✗"))
    if question.outcome is Outcome.MARKED and not question.points:
        look, sign = "bad", "✗"
    fine = question.outcome in (Outcome.PASSED, Outcome.MARKED, Outcome.TO_BE_MARKED, Outcome.TOO_NOISY)
    return {
        "title": question.title or question.name,
        "points": question.points,
        "max_points": question.max_points,
        "outcome": _WORDS.get(question.outcome, question.outcome.value),
        "message": question.message.strip(),
        "hint": "" if fine else question.hint,
        "comment": question.comment,
        "look": look,
        "sign": sign,
    }


def _plain(text: str) -> str:
    """Take the meaning from Markdown and HTML in a line."""
    return re.sub(r"([\\`*_\[\]<>#$|~])", r"\\\1", " ".join(text.split()))


def _fenced(text: str) -> str:
    if not text.strip():
        return ""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"
