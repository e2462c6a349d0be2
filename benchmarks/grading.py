"""How long grading takes: one submission without a framework, what a framework's import adds, one jail against two.

A submission is three answers with a question each, called four times. The middle of several is reported; with `--check`
the exit status is 1 if a submission takes longer than LIMIT_S, and always if a jail does not work.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from coursework import Question, Student, Verdict, agree, failed, passed
from coursework.errors import JailError
from coursework.jail import Jail, interpreter
from coursework.judge import judge

REPOSITORY = Path(__file__).resolve().parents[1]
#: Seconds for a submission, the framework's import aside.
LIMIT_S = 0.25
CALLS = 4
PLAIN = "def {name}(n, t):\n    return n * t"
IMPORTS = {
    "pytorch": "import torch\n" + PLAIN,
    "mxnet": "from mxnet import np, npx\nnpx.set_np()\n" + PLAIN,
}


def asked(name: str) -> Question:
    """Give a question of several calls."""

    def ask(student: Student) -> Verdict:
        right = all(agree(student.call(name, n, 0.5), n * 0.5) for n in range(CALLS))
        return passed() if right else failed("not n times t")

    return Question(name, name, 1, ask)


NAMES = ("total", "longest", "shortest")
QUESTIONS = [asked(name) for name in NAMES]


def graded(source: str, framework: str, jail: Jail) -> float:
    """Grade a submission; give the seconds.

    Raises:
        SystemExit: If it does not pass, since its time would say nothing.
    """
    began = time.perf_counter()
    done = judge(QUESTIONS, {name: source.format(name=name) for name in NAMES}, framework, jail=jail)
    elapsed_s = time.perf_counter() - began
    if wrong := [verdict for _, verdict, _ in done.verdicts if verdict.outcome != "passed"]:
        raise SystemExit(f"{framework}: the submission did not pass: {wrong[0]}")
    return elapsed_s


def median_s(once: Callable[[], float], count: int) -> float:
    """Give the middle of several times, after one that is not counted."""
    once()
    return statistics.median(once() for _ in range(count))


def batch_s(jail: Jail, count: int, jobs: int) -> float:
    """Give the seconds for a number of submissions, so many of them at a time."""
    began = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        for _ in pool.map(lambda _: graded(PLAIN, "pytorch", jail), range(count)):
            pass
    return time.perf_counter() - began


def row(what: str, elapsed_s: float, note: str = "") -> None:
    """Print a line of the table."""
    print(f"{what:<44} {elapsed_s:8.3f} s  {note}", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and check if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a submission takes too long")
    parser.add_argument("--count", type=int, default=20, help="how many submissions are timed")
    parser.add_argument("--import-count", type=int, default=3, help="the same with a framework's import")
    given = parser.parse_args(argv)
    jails = {name: Jail(interpreter(name, REPOSITORY)) for name in IMPORTS}
    found = {name: jail for name, jail in jails.items() if jail.python.exists()} or {"pytorch": Jail()}
    slow = []
    try:
        for name, jail in found.items():
            plain_s = median_s(lambda jail=jail, name=name: graded(PLAIN, name, jail), given.count)
            row(f"{name}: a submission", plain_s, f"at most {LIMIT_S} s")
            slow += [name] if plain_s > LIMIT_S else []
            if name in jails and jail is jails[name]:
                whole_s = median_s(lambda jail=jail, name=name: graded(IMPORTS[name], name, jail), given.import_count)
                row(f"{name}: what its import adds", whole_s - plain_s)
        first = next(iter(found.values()))
        one_s, two_s = (batch_s(first, given.count, jobs) for jobs in (1, 2))
    except JailError as error:
        print(error)
        return 1
    row(f"{given.count} submissions, -j 1", one_s)
    row(f"{given.count} submissions, -j 2", two_s, f"{one_s / two_s:.2f} times as many a second")
    return int(given.check and bool(slow))


if __name__ == "__main__":
    sys.exit(main())
