"""Decide the exercises that take times, over and over, on a quiet machine and beside busy processes.

Each answer of the two exercises of kind ``measure`` that is kept, right, half right or wrong, is judged as a submission
is, in the jail. Prints how often each got its points; with ``--check`` the exit status is 1 if one ever got other
points, or was too noisy to decide more often than allowed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from coursework import Outcome, Question, drawing, exercise, judge, percent
from coursework.exercise import Exercise, Places
from coursework.jail import Jail, interpreter

ROOT = Path(__file__).resolve().parents[1]
#: The answers to try: right, half right and wrong.
KEPT = {
    ("remove-the-hidden-wait", "mxnet"): ("solution", "only_the_first", "waits_as_before"),
    ("overlap-host-work", "pytorch"): ("solution", "in_pairs", "one_after_the_other"),
}
#: How many of twenty trials may be too noisy to decide.
MAY_BE_NOISY = 0.1


@dataclass
class Tally:
    """What came of the trials of one answer.

    Attributes:
        right: How many got exactly the points they deserve.
        noisy: How many could not be decided.
        wrong: How many got other points.
        seconds: How long a trial took, in the middle.
    """

    right: int = 0
    noisy: int = 0
    wrong: int = 0
    seconds: float = 0.0


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep so many processes busy meanwhile."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def kept_answers(
    found: Exercise, framework: str, names: tuple[str, ...]
) -> Iterator[tuple[str, dict[str, str], float]]:
    """Give the answers by their names, with the points that they deserve."""
    wrong = {each.name: each for each in percent.wrong(found, framework)}
    for name in names:
        if name == "solution":
            yield name, percent.solution(found, framework), found.points
        else:
            yield name, dict(wrong[name].answers), wrong[name].points


def tried(found: Exercise, framework: str, answers: dict[str, str], deserved: float, trials: int) -> Tally:
    """Judge one answer several times."""
    offering = drawing.sample(found, framework)
    # Only where a measured answer imports a framework does its interpreter have to be there.
    imports = any("import" in cell.source for cell in found.answers(framework).values())
    jail = Jail(interpreter(framework, ROOT)) if imports else Jail()
    tally, began = Tally(), time.perf_counter()
    for _ in range(trials):
        asked = exercise.questions(found, offering)
        verdicts = judge.judge(asked, answers, framework, found.limits, jail).verdicts
        outcomes = [verdict.outcome for _, verdict, _ in verdicts]
        points = sum(q.points for q, v, _ in verdicts if isinstance(q, Question) and v.outcome is Outcome.PASSED)
        if Outcome.TOO_NOISY in outcomes:
            tally.noisy += 1
        elif points == deserved:
            tally.right += 1
        else:
            tally.wrong += 1
            print("\n".join(f"    {q.name}: {v.outcome}: {v.message} {v.private}" for q, v, _ in verdicts))
    tally.seconds = (time.perf_counter() - began) / trials
    return tally


def main() -> int:
    """Print a row for each answer and load."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=20, help="trials of each answer (default: 20)")
    parser.add_argument("--busy", type=int, default=4, help="busy processes of the second half (default: 4)")
    parser.add_argument("--only", default="", help="take the exercises only whose name holds this")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a trial was decided wrongly")
    options = parser.parse_args()
    failed = False
    print(f"{'exercise':24} {'answer':20} {'beside':>7} {'right':>6} {'noisy':>6} {'wrong':>6} {'s a trial':>10}")
    for load in (0, options.busy):
        for (slug, framework), names in KEPT.items():
            if options.only not in slug:
                continue
            found = exercise.load(slug, Places(ROOT / "exercises"))
            for name, answers, deserved in kept_answers(found, framework, names):
                with busy(load):
                    tally = tried(found, framework, answers, deserved, options.trials)
                row = f"{load:7} {tally.right:6} {tally.noisy:6} {tally.wrong:6} {tally.seconds:10.2f}"
                print(f"{slug:24} {name:20} {row}", flush=True)
                failed |= tally.wrong > 0 or tally.noisy > MAY_BE_NOISY * options.trials
    return int(options.check and failed)


if __name__ == "__main__":
    sys.exit(main())
