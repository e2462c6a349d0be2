"""What known wrong answers tell: their signs, once judged like hand-ins, name the misconception behind an answer."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coursework.assignment import Assignment
from coursework.course import Course
from coursework.files import write_whole
from coursework.model import Outcome
from coursework.results import QuestionResult, Result, with_questions
from coursework.running import Job, Judged

#: No student is called so, see `files.safe_name`.
_FILE = "_wrong.json"
#: That nothing came back in time, or at all, shows no misconception.
_TELLING = (Outcome.FAILED, Outcome.ERROR)


def known_jobs(course: Course, assignment: Assignment) -> list[Job]:
    """Give the jobs of judging those known wrong answers whose signs are not kept."""
    kept = _kept(course, assignment)
    return [Job(assignment, one.name, one.code) for one in assignment.known if one.name not in kept]


def keep_known(course: Course, job: Job, judged: Judged) -> None:
    """Keep the signs of a known wrong answer, unless the machine was too busy to tell."""
    verdicts = {question.name: verdict for question, verdict, _ in judged[0]}
    if any(verdict.outcome is Outcome.TOO_NOISY for verdict in verdicts.values()):
        return
    misconception = next(one.misconception for one in job.assignment.known if one.name == job.name)
    signs = {name: verdict.sign for name, verdict in verdicts.items() if verdict.sign and verdict.outcome in _TELLING}
    kept = {**_kept(course, job.assignment), job.name: {"misconception": misconception, "signs": signs}}
    content = {"fingerprint": job.assignment.fingerprint, "wrong": kept}
    write_whole(_path(course, job.assignment), json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def with_misconceptions(course: Course, assignment: Assignment, results: Iterable[Result]) -> list[Result]:
    """Name at each question that went wrong the misconceptions that known wrong answers with its sign show.

    A known wrong answer shows nothing where the submission is right in a question about the answers that it changes,
    though it itself is wrong there: of two possible replies one is always wrong in the same way. Where several show
    something, those count that explain most of the submission's wrong questions, and of these the ones that say least
    beyond them.
    """
    kept, about = _kept(course, assignment), {one.name: assignment.about(one) for one in assignment.known}
    tells = [_Telling(kept[name]["misconception"], kept[name]["signs"], about[name]) for name in kept if name in about]
    return [with_questions(result, _explained(result, tells)) for result in results]


@dataclass(frozen=True)
class _Telling:
    """A known wrong answer: its misconception, its signs by question, and the questions about its own answers."""

    misconception: str
    signs: Mapping[str, str]
    about: Collection[str]

    def weight(self, wrong: Mapping[str, str], right: Collection[str]) -> tuple[int, float]:
        """Say how much it explains of a submission: how many wrong questions, and how much of itself that is."""
        if any(name in right for name in self.signs if name in self.about):
            return (0, 0.0)
        same = sum(self.signs.get(name) == sign for name, sign in wrong.items())
        return (same, same / max(1, len(self.signs)))


def _explained(result: Result, tells: Sequence[_Telling]) -> list[QuestionResult]:
    wrong = {one.name: one.sign for one in result.questions if one.sign and one.outcome in _TELLING}
    right = {one.name for one in result.questions if one.outcome is Outcome.PASSED}
    weights = [(known.weight(wrong, right), known) for known in tells]

    def shown(name: str) -> tuple[str, ...]:
        same = [(weight, known) for weight, known in weights if known.signs.get(name) == wrong.get(name, "")]
        best = max((weight for weight, _ in same), default=(0, 0.0))
        return tuple(dict.fromkeys(known.misconception for weight, known in same if weight == best and weight[0]))

    return [replace(one, misconceptions=shown(one.name)) for one in result.questions]


def _kept(course: Course, assignment: Assignment) -> dict[str, dict[str, Any]]:
    try:
        content = json.loads(_path(course, assignment).read_text("utf8"))
        return dict(content["wrong"]) if content["fingerprint"] == assignment.fingerprint else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def _path(course: Course, assignment: Assignment) -> Path:
    return course.graded(assignment.slug, assignment.framework) / _FILE
