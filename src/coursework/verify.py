"""Prove that exercises are sound: what other graders leave to hope.

The solution passes everything, the untouched notebook nothing, each known wrong answer gets exactly what it deserves,
and no line of a teacher's part stands in anything that students or readers can get.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from coursework import leaks, percent, submission, teacher
from coursework.assign import notebook
from coursework.drawing import offering as drawn
from coursework.errors import ExerciseError
from coursework.exercise import Exercise, Places, load, questions
from coursework.jail import Jail
from coursework.judge import judge
from coursework.model import Offering, Outcome, Question, Verdict, WrittenQuestion

#: Leaks that are told one by one.
_TOLD = 5


@dataclass(frozen=True)
class Check:
    """One thing that was verified.

    Attributes:
        subject: What of: ``bound-the-queue [pytorch] solution``.
        wrong: What is wrong with it; empty if nothing is.
        told: What there is to say of it then.
    """

    subject: str
    wrong: str = ""
    told: str = "as it should be"


def verify(
    slugs: Sequence[str],
    places: Places,
    jails: Mapping[str, Jail],
    *,
    seed: str,
    artefacts: Sequence[Path] = (),
) -> Iterator[Check]:
    """Verify exercises, each check given as soon as it is done.

    Args:
        slugs: Which.
        places: Where they are.
        jails: Where the answers of each framework run; exercises are verified for these frameworks.
        seed: What is drawn from.
        artefacts: Files and folders that others can get, such as the built site.
    """
    for slug in slugs:
        try:
            exercise = load(slug, places)
            found = [name for name in exercise.frameworks if name in jails]
        except ExerciseError as error:
            yield Check(slug, str(error))
            continue
        for framework in found:
            yield from answers_of(exercise, framework, jails[framework], seed=seed)
        yield leaks_of(exercise, found, seed, artefacts)


def answers_of(exercise: Exercise, framework: str, jail: Jail, *, seed: str) -> Iterator[Check]:
    """Grade the solution, the stub and each known wrong answer of an exercise, as they would be handed in.

    Args:
        exercise: The exercise.
        framework: For which framework.
        jail: Where they run.
        seed: What is drawn from.
    """
    subject = f"{exercise.slug} [{framework}]"
    try:
        offering = drawn(exercise, framework, seed)
        asked = questions(exercise, offering)
        # A header says what the author's points give; an overlay gives others.
        worth = teacher.worth(exercise, offering)
        solution = percent.solution(exercise, framework)
        wrong = percent.wrong(exercise, framework)
    except ExerciseError as error:
        yield Check(subject, str(error))
        return
    automatic = sum(worth[question.name] for question in asked if isinstance(question, Question))
    missed = _missed(_graded(exercise, asked, offering, solution, jail))
    yield Check(f"{subject} solution", f"it does not pass everything: {missed}" if missed else "")
    given = _graded(exercise, asked, offering, {}, jail)
    earned = [question.name for question, verdict in given if verdict.outcome is Outcome.PASSED]
    yield Check(f"{subject} stub", f"it passes {', '.join(earned)} with nothing written" if earned else "")
    if automatic and not wrong:
        yield Check(f"{subject} wrong answers", f"there is none in {exercise.teacher / 'wrong'}: add some, with points")
    for each in wrong:
        verdicts = _graded(exercise, asked, offering, each.answers, jail)
        points = sum(worth[question.name] for question, verdict in verdicts if verdict.outcome is Outcome.PASSED)
        told = f"it gets {points:g} points, not {each.points:g} as its header says: {_missed(verdicts) or 'all passed'}"
        full = f"it gets all {automatic:g} points" if each.points >= automatic > 0 else ""
        yield Check(f"{subject} wrong/{each.path.name}", full or (told if points != each.points else ""))


def leaks_of(exercise: Exercise, frameworks: Iterable[str], seed: str, artefacts: Sequence[Path]) -> Check:
    """Look for lines of the teacher's part in the notebooks of an exercise, and in what else others can get.

    Args:
        exercise: The exercise.
        frameworks: Whose notebooks are looked at.
        seed: What is drawn from.
        artefacts: Files and folders that others can get.
    """
    secret = leaks.secrets(
        exercise, leaks.public_texts(exercise.book) if exercise.book else [exercise.path.read_text("utf8")]
    )
    with tempfile.TemporaryDirectory() as folder:
        for framework in frameworks:
            made = notebook(exercise, framework, drawn(exercise, framework, seed))
            Path(folder, f"{exercise.slug}.{framework}.ipynb").write_text(json.dumps(made), "utf8")
        found = list(leaks.leaks([Path(folder), *artefacts], secret))
    listed = "".join(f"\n  {leak.place} holds {leak.source}: {leak.line}" for leak in found[:_TOLD])
    more = f"\n  and {len(found) - _TOLD} more" if len(found) > _TOLD else ""
    return Check(
        f"{exercise.slug} secrecy ({len(secret)} lines)",
        f"lines of the teacher's part can be read:{listed}{more}" if found else "",
        "as it should be"
        if secret
        else "nothing to compare: the teacher's part has no line that is long and not public",
    )


_Verdicts = list[tuple[Question, Verdict]]


def _graded(
    exercise: Exercise,
    asked: Sequence[Question | WrittenQuestion],
    offering: Offering,
    answers: Mapping[str, str],
    jail: Jail,
) -> _Verdicts:
    """Grade answers as a notebook that was handed in; the written questions are left to people."""
    framework = offering.framework
    handed_in = percent.submission(notebook(exercise, framework, offering), answers)
    stubs = {name: cell.source for name, cell in exercise.answers(framework).items()}
    written = {name for name, cell in exercise.answers(framework).items() if cell.kind != "code"}
    found = submission.answers(submission.read(json.dumps(handed_in).encode()), stubs, written)
    judged = judge(asked, found.code, framework, exercise.limits, jail)
    return [(question, verdict) for question, verdict, _ in judged.verdicts if isinstance(question, Question)]


def _missed(verdicts: _Verdicts) -> str:
    return "; ".join(
        f"{question.name} {verdict.outcome}: {verdict.message} {verdict.private}".strip()
        for question, verdict in verdicts
        if verdict.outcome is not Outcome.PASSED
    )
