"""The words that every part of coursework speaks: questions, verdicts, limits, the student's process from outside.

Pure data and protocols. ``teacher/checks.py`` of an exercise is written in them.
"""

from __future__ import annotations

import hashlib
import hmac
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


class Outcome(StrEnum):
    """How a question of a submission ended."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    TOO_NOISY = "too noisy"
    NOT_ATTEMPTED = "not attempted"
    TO_BE_MARKED = "to be marked"
    MARKED = "marked"


@dataclass(frozen=True)
class Verdict:
    """The outcome of one question.

    Attributes:
        outcome: How it ended.
        message: For the student. Never names a hidden input or an expected value.
        private: For the instructor: the call, the reply and what was expected.
        sign: The same text for every answer that is wrong in the same way. A known wrong answer with this sign
            tells which misconception it shows.
    """

    outcome: Outcome
    message: str = ""
    private: str = ""
    sign: str = ""


def passed(message: str = "") -> Verdict:
    """Give the verdict of a right answer."""
    return Verdict(Outcome.PASSED, message)


def failed(message: str, *, private: str = "", sign: str = "") -> Verdict:
    """Give the verdict of a wrong answer; see `Verdict` for what each text may say."""
    return Verdict(Outcome.FAILED, message, private, sign)


class Failed(Exception):
    """What a question may raise, deep in its own functions, instead of returning a verdict."""

    def __init__(self, message: str, *, private: str = "", sign: str = "") -> None:
        """Keep the verdict's texts."""
        super().__init__(message)
        self.verdict = failed(message, private=private, sign=sign)


class TooNoisy(Exception):
    """The machine was too busy to measure: graded again, never zero."""


class StudentError(Exception):
    """The student's process did not give a usable reply.

    Attributes:
        outcome: ``error`` (it raised, or the reply has no form that is allowed), ``timeout`` or ``crashed``.
    """

    def __init__(self, outcome: Outcome, message: str) -> None:
        """Keep the outcome; the message is for the student."""
        super().__init__(message)
        self.outcome = outcome


class NotAttempted(StudentError):
    """The function is missing, or raised ``NotImplementedError``."""

    def __init__(self, message: str) -> None:
        """Keep the message."""
        super().__init__(Outcome.NOT_ATTEMPTED, message)


@dataclass(frozen=True)
class Limits:
    """What a submission may use.

    Attributes:
        call_s: Seconds for one call, and for loading the answers. Times the student's time factor.
        total_s: Seconds for the whole submission, framework's import aside.
        memory_mb: Memory of all its processes together, in MB, the framework's included; also the address space of
            each, beyond what the framework's libraries map, and the size of its temporary folder.
        reply_kb: Length of one reply, in kB of JSON.
        output_kb: How much of what it prints is kept, in kB.
        processes: How many processes and threads it may have.
        import_s: Seconds for the framework's import, apart from the others.
    """

    call_s: float = 10.0
    total_s: float = 60.0
    memory_mb: int = 2048
    reply_kb: int = 1024
    output_kb: int = 64
    processes: int = 64
    import_s: float = 120.0


class Student(Protocol):
    """The submission's own process, in its jail, as a question sees it from outside."""

    def call(self, function: str, /, *args: Any, **kwargs: Any) -> Any:
        """Call a function of the submission and wait for its reply.

        Args:
            function: Its name: the student's own, or one that `define` brought.
            args: JSON values, `Array` (becomes a tensor of the framework there) and `Remote` (its methods run
                here, outside, each call a message).
            kwargs: The same, by name.

        Returns:
            ``int``, ``float``, ``bool``, ``str``, ``list``, ``dict``, ``None`` or `Array`. Nothing else can come.

        Raises:
            NotAttempted: If there is no such function, or it raised ``NotImplementedError``.
            StudentError: If it raised, took too long, died, or replied what may not be replied.
        """
        ...

    def define(self, source: str) -> None:
        """Run the teacher's own helper code in the submission's process. Nothing in it is secret there."""
        ...

    def beside(self, source: str) -> Student:
        """Start another process, apart from the submission's, such as with the solution to measure against.

        Args:
            source: The cell that it loads. The submission cannot see it.
        """
        ...


@dataclass(frozen=True)
class Question:
    """A question that is graded by running the submission.

    Attributes:
        name: Such as ``async_total``; also that of its answer cell, unless `answer` says another.
        title: A line for feedback pages.
        points: What it is worth, all or nothing.
        ask: Puts the question to the student's process and judges. Runs outside the jail. `Failed`, `StudentError`
            and `TooNoisy` may leave it; anything else is a fault of the exercise, not of the student.
        hint: What to think of, where the answer is not right.
        answer: The answer cell that it asks about, if it has another name.
        timed: Whether it takes times, so that no other submission may run meanwhile.
    """

    name: str
    title: str
    points: float
    ask: Callable[[Student], Verdict]
    hint: str = ""
    answer: str = ""
    timed: bool = False


@dataclass(frozen=True)
class WrittenQuestion:
    """A question that a person marks, by ``marks.csv``.

    Attributes:
        name: That of its answer cell, a Markdown cell.
        title: A line for feedback pages.
        points: The most it is worth.
        rubric: How to mark, in Markdown, for the instructor alone.
    """

    name: str
    title: str
    points: float
    rubric: str


@dataclass(frozen=True)
class Offering:
    """What an exercise is asked with this time.

    Attributes:
        slug: The exercise's name.
        framework: ``pytorch`` or ``mxnet``.
        seed: The instructor's secret.
        constants: The values drawn for the names under ``constants`` in the exercise's front matter.
    """

    slug: str
    framework: str
    seed: str = field(repr=False)
    constants: Mapping[str, Any]

    def draw(self, name: str) -> random.Random:
        """Give a source of random numbers that is the same for everyone in this offering and secret outside it.

        Args:
            name: What is drawn; another name gives other numbers.
        """
        return secret_draw(self.seed, self.slug, name)


def secret_draw(seed: str, slug: str, name: str) -> random.Random:
    """Give the random numbers of a seed, an exercise and a name."""
    return random.Random(hmac.new(seed.encode(), f"{slug}\0{name}".encode(), hashlib.sha256).digest())  # noqa: S311
