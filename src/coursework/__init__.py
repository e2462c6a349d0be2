"""Exercises to notebooks to grades: assign, collect, grade and return what students hand in.

``python -m coursework`` is its front door. What ``teacher/checks.py`` of an exercise imports stands here. Knows
nothing of Sphinx; loads only the standard library, until a command needs more.
"""

from coursework.model import (
    Failed,
    NotAttempted,
    Offering,
    Outcome,
    Question,
    Student,
    StudentError,
    TooNoisy,
    Verdict,
    WrittenQuestion,
    failed,
    passed,
)
from coursework.values import Array, Remote, agree

__all__ = [
    "Array",
    "Failed",
    "NotAttempted",
    "Offering",
    "Outcome",
    "Question",
    "Remote",
    "Student",
    "StudentError",
    "TooNoisy",
    "Verdict",
    "WrittenQuestion",
    "agree",
    "failed",
    "passed",
]
