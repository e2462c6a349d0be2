"""Put an exercise's questions to a submission and say how each ended. The heart of grading.

The questions run here, in the trusted process; only the submission's own cells and functions run in the jail.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from coursework import measure
from coursework.errors import CourseworkError
from coursework.jail import Jail
from coursework.lines import unwritten
from coursework.model import (
    Failed,
    Limits,
    NotAttempted,
    Outcome,
    Question,
    StudentError,
    TooNoisy,
    Verdict,
    WrittenQuestion,
)
from coursework.student import Submission

#: How often a question is asked whose times vary too much, before that is the outcome.
ATTEMPTS = 3
_NOT_OURS = "This question could not be judged; your instructor can see why."


class Judged(NamedTuple):
    """What came of a submission.

    Attributes:
        verdicts: Each question in its order, its verdict, and the seconds that the submission's own code took for it.
        output: What it printed, cut.
    """

    verdicts: list[tuple[Question | WrittenQuestion, Verdict, float]]
    output: str


def judge(  # noqa: PLR0913, PLR0917 - what a submission is graded with
    questions: Sequence[Question | WrittenQuestion],
    answers: Mapping[str, str],
    framework: str,
    limits: Limits | None = None,
    jail: Jail | None = None,
    time_factor: float = 1.0,
) -> Judged:
    """Grade a submission.

    Args:
        questions: What is asked, in order; a written one is left to be marked.
        answers: The source of each of its cells by name, in their order: answers, and any other cells of code.
        framework: ``pytorch`` or ``mxnet``.
        limits: What it may use.
        jail: Where it runs.
        time_factor: What its time limits are multiplied by.

    Raises:
        JailError: If the jail does not work on this machine.
    """
    written = {question.name for question in questions if isinstance(question, WrittenQuestion)}
    cells = {name: source for name, source in answers.items() if name not in written}
    submission = Submission(jail or Jail(), limits or Limits(), framework, cells, time_factor=time_factor)
    verdicts = []
    try:
        for question in questions:
            before = submission.budget.used_s
            verdict = _signed(_verdict(question, submission, answers))
            verdicts.append((question, verdict, submission.budget.used_s - before))
    finally:
        submission.end()
    return Judged(verdicts, submission.output.text())


def _verdict(question: Question | WrittenQuestion, submission: Submission, answers: Mapping[str, str]) -> Verdict:
    if isinstance(question, WrittenQuestion):
        return Verdict(Outcome.TO_BE_MARKED)
    name = question.answer or question.name
    if not answers.get(name, "").strip():
        return Verdict(Outcome.NOT_ATTEMPTED, f"There is no answer cell `{name}`, or it is empty.")
    for _ in range(ATTEMPTS):
        submission.renew()
        verdict = _asked(question, submission)
        if verdict.outcome is not Outcome.TOO_NOISY:
            break
    bad = submission.bad.get(name)
    if bad and verdict.outcome is not Outcome.PASSED:
        return Verdict(bad.outcome, str(bad))
    if verdict.outcome is Outcome.NOT_ATTEMPTED and unwritten(answers[name]):
        # Where the stub raised its error tells nobody anything.
        return replace(verdict, message="Not written.")
    return verdict


def _asked(question: Question, submission: Submission) -> Verdict:  # noqa: PLR0911 - one an outcome
    """Ask once."""
    try:
        with measure.turn(alone=question.timed):
            verdict = question.ask(submission)
    except Failed as error:
        return error.verdict
    except NotAttempted as error:
        return Verdict(Outcome.NOT_ATTEMPTED, f"Not written yet: {error}.")
    except StudentError as error:
        return Verdict(error.outcome, str(error))
    except TooNoisy as error:
        return Verdict(Outcome.TOO_NOISY, "The machine was too busy to measure; this will be graded again.", str(error))
    except CourseworkError:
        raise
    except Exception:
        # One question of one submission: it must not stop the others. A reply of an unexpected kind may be the cause.
        return Verdict(Outcome.ERROR, _NOT_OURS, f"The question's own code failed:\n{traceback.format_exc(limit=-4)}")
    if not isinstance(verdict, Verdict):
        return Verdict(Outcome.ERROR, _NOT_OURS, f"The question's own code gave {verdict!r:.200}, which is no verdict.")
    return verdict


def _signed(verdict: Verdict) -> Verdict:
    """Give a verdict with a sign, if it can have one: the same for what went wrong in the same way."""
    if verdict.sign or verdict.outcome not in (Outcome.FAILED, Outcome.ERROR, Outcome.TIMEOUT, Outcome.CRASHED):
        return verdict
    text = f"{verdict.outcome}\0{verdict.private or verdict.message}"
    return replace(verdict, sign=hashlib.sha256(text.encode("utf8", errors="replace")).hexdigest()[:16])
