"""Grading a class: what is graded, what is kept, what people decided, and what pages show."""

from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from handins import (
    RIGHT,
    SLUG,
    STUBS,
    assignment,
    cells,
    document,
    graded,
    handin,
    judge,
    roster,
    sort_in,
    written,
    zipped,
)

from coursework import feedback
from coursework.course import Course
from coursework.errors import CourseError, ExerciseError, JailError
from coursework.model import Outcome
from coursework.results import Result, all_results, cut, gradescope, read_result
from coursework.rows import Status

WRONG = {**RIGHT, "total": "# answer: total\ndef total(n):\n    return sum(range(n))"}


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course to which three students handed in, one right, one wrong, one nothing usable; a fourth nothing."""
    made = Course(tmp_path / "course")
    roster(made, "ann,,,,,", "bob,,2,,,", "cyd,,,,,", "dan,,,,,")
    files = {"ann.ipynb": handin(), "bob.ipynb": handin(WRONG), "cyd.ipynb": b"{"}
    sort_in(made, written(tmp_path / "in.zip", zipped(files)))
    return made


def result(course: Course, student: str, framework: str = "pytorch") -> Result:
    """A student's result."""
    found = read_result(course.result(SLUG, framework, student))
    assert found is not None
    return found


def table(path: Path) -> list[dict[str, str]]:
    """A table's rows."""
    with path.open(encoding="utf8", newline="") as file:
        return list(csv.DictReader(file))


def outcomes(one: Result) -> dict[str, str]:
    """How each question ended."""
    return {question.name: question.outcome.value for question in one.questions}


def test_everyone_has_a_result(course: Course):
    """Right, wrong, unreadable and missing hand-ins each have a row with the points they deserve."""
    report = graded(course)

    assert report.graded == 2
    assert report.faults == []
    rows = {row["student"]: row for row in table(course.grades / "grades.csv")}
    assert {name: (row["points"], row["status"]) for name, row in rows.items()} == {
        "ann": ("5", "graded"),
        "bob": ("2", "graded"),
        "cyd": ("0", "unreadable"),
        "dan": ("0", "missing"),
    }
    assert rows["ann"][f"{SLUG}/why"] == ""
    assert outcomes(result(course, "bob")) == {"total": "failed", "half": "passed", "why": "to be marked"}


def test_the_time_factor_reaches_the_judge(course: Course):
    """A student with more time has it."""
    factors = {}

    def noting(one: Any, code: Mapping[str, str], time_factor: float) -> Any:
        factors[code.get("total", "")] = time_factor
        return judge(one, code, time_factor)

    graded(course, judge=noting)

    assert factors[WRONG["total"]] == 2.0
    assert factors[RIGHT["total"]] == 1.0


def test_what_is_unchanged_is_not_graded_again(course: Course, tmp_path: Path):
    """Only a changed answer, other checks or another time factor are a reason to grade again."""
    graded(course)
    again = graded(course)
    sort_in(course, written(tmp_path / "ann.ipynb", handin({**RIGHT, "half": "# answer: half\nreturn 1"})))
    changed = graded(course)
    roster(course, "ann,,,,,", "bob,,3,,,", "cyd,,,,,", "dan,,,,,")
    slower = graded(course)
    others = graded(course, assignment(fingerprint="g"))

    assert [(one.graded, one.kept) for one in (again, changed, slower, others)] == [(0, 2), (1, 1), (1, 1), (2, 0)]


def test_regrade_and_only_choose(course: Course):
    """Everything can be graded again, or one student alone; the others' results stay."""
    graded(course)

    assert graded(course, regrade=True).graded == 2
    assert graded(course, regrade=True, only=["ann"]).graded == 1
    assert len(all_results(course)) == 4


def test_too_noisy_is_never_zero_and_tried_again(course: Course, tmp_path: Path):
    """A question that could not be measured leaves the row to be graded again; the next run does that."""
    sort_in(course, written(tmp_path / "ann.ipynb", handin({**RIGHT, "half": "# answer: half\nnoisy"})))
    first = graded(course)
    kept = result(course, "ann")

    second = graded(course)

    assert kept.status is Status.AGAIN
    assert (first.graded, second.graded) == (2, 1)
    assert "too noisy" in first.faults[0]
    assert {row["student"]: row for row in table(course.grades / "grades.csv")}["ann"][f"{SLUG}/half"] == ""


def test_a_fault_of_the_exercise_is_told_and_stops_nobody(course: Course):
    """If judging one submission fails, the others are graded, and it is graded again once that is mended."""

    def failing(one: Any, code: Mapping[str, str], time_factor: float) -> Any:
        if code.get("total") == RIGHT["total"]:
            raise ExerciseError("checks.py:3: broken")
        return judge(one, code, time_factor)

    report = graded(course, judge=failing)
    mended = graded(course)

    assert report.graded == 1
    assert re.search(r"ann could not be graded.*checks.py:3", report.faults[0])
    assert (mended.graded, result(course, "ann").points) == (1, 5)


def test_a_jail_that_does_not_work_stops_everything(course: Course):
    """Nothing is graded outside of the jail."""

    def broken(one: Any, code: Mapping[str, str], time_factor: float) -> Any:
        raise JailError("no bubblewrap")

    with pytest.raises(JailError):
        graded(course, judge=broken)


def test_several_are_graded_at_a_time(course: Course, tmp_path: Path):
    """With two jobs, two submissions run at the same moment, and results are the same."""
    met = threading.Barrier(2, timeout=10)

    def together(one: Any, code: Mapping[str, str], time_factor: float) -> Any:
        met.wait()
        return judge(one, code, time_factor)

    graded(course, judge=together, jobs=2)

    assert [result(course, name).points for name in ("ann", "bob")] == [5, 2]


def test_results_are_kept_as_they_come(course: Course):
    """When a run breaks off, what was graded before is on disk and is not graded again."""
    seen = []

    def breaking(one: Any, code: Mapping[str, str], time_factor: float) -> Any:
        seen.append(code)
        if len(seen) == 4:  # two known wrong answers and one submission come before
            raise JailError("gone")
        return judge(one, code, time_factor)

    with pytest.raises(JailError):
        graded(course, judge=breaking)

    assert (graded(course).graded, graded(course).kept) == (1, 2)


def test_two_runs_at_a_time_are_refused(course: Course):
    """Somebody who starts grading twice is told so."""

    def nested(one: Any, code: Mapping[str, str], time_factor: float) -> Any:
        with pytest.raises(CourseError, match="being graded already"):
            graded(course)
        return judge(one, code, time_factor)

    assert graded(course, judge=nested).graded == 2


def test_another_framework_replaces_the_result(course: Course, tmp_path: Path):
    """Whoever hands in the same exercise in the other framework has one result, not two."""
    both = (assignment(), assignment(framework="mxnet"))
    graded(course, *both)
    sort_in(course, written(tmp_path / "new" / "ann.ipynb", handin(framework="mxnet")))

    graded(course, *both)

    assert [(one.student, one.framework) for one in all_results(course) if one.student == "ann"] == [("ann", "mxnet")]


def test_marks_are_asked_for_and_counted(course: Course):
    """Every written answer gets a row to fill in; its points count, a decimal comma and all."""
    graded(course)
    asked = course.marks.read_text("utf8")
    written(course.marks, asked.replace("ann,sum-up,why,,", 'ann,sum-up,why,"4,5",good'))

    graded(course)

    assert asked.splitlines() == ["student,slug,question,points,comment", "ann,sum-up,why,,", "bob,sum-up,why,,"]
    ann = result(course, "ann")
    assert (ann.points, ann.questions[2].outcome, ann.questions[2].comment) == (9.5, Outcome.MARKED, "good")


def test_marks_and_corrections_survive_a_regrade(course: Course):
    """Corrections go last, and both are laid over whatever is graded again."""
    written(course.marks, "student,slug,question,points,comment\nann,sum-up,why,5,\n")
    written(
        course.overrides, "student,slug,question,points,reason\nbob,sum-up,total,1.5,close\nann,sum-up,why,1,late\n"
    )
    graded(course)

    graded(course, regrade=True)

    assert (result(course, "ann").points, result(course, "bob").points) == (6, 3.5)
    assert "close" in result(course, "bob").questions[0].comment
    course.overrides.unlink()
    graded(course)
    assert (result(course, "ann").points, result(course, "bob").points) == (10, 2)


def test_marks_keep_what_a_spreadsheet_left(course: Course):
    """Semicolons, a byte order mark, extra columns and old rows stay, byte for byte; new rows follow in that form."""
    old = "\ufeffstudent;slug;question;points;comment;by\r\nann;sum-up;why;3;fine;me\r\nold;other;q;1;;\r\n"
    written(course.marks, old)

    report = graded(course)

    assert course.marks.read_text("utf8") == f"{old}bob;sum-up;why;;;\n".replace("\r\n", "\n")
    assert course.marks.read_bytes() == f"{old}bob;sum-up;why;;;\r\n".encode()
    assert report.faults == []
    assert result(course, "ann").points == 8


def test_mistakes_in_marks_are_named_and_nothing_is_lost(course: Course):
    """What cannot be understood is told with its line; every other row counts; the file stays."""
    text = (
        "student,slug,question,points,comment\nann,sum-up,why,lots,\nbob,sum-up,why,2,\nbob,sum-up,why,3,\n"
        "ann,sum-up,total,1,\nnobody,sum-up,why,1,\nx,other-exercise,q,1,\n"
    )
    written(course.marks, text)
    written(course.overrides, "student,slug,question,points,reason\nann,sum-up,half,9,\n")

    faults = graded(course).faults

    assert [re.search(r"(\w+\.csv:\d+)", fault)[1] for fault in faults] == [
        "marks.csv:2",
        "marks.csv:4",
        "marks.csv:5",
        "marks.csv:6",
        "overrides.csv:2",
    ]
    assert course.marks.read_text("utf8") == text
    assert (result(course, "bob").points, result(course, "ann").points) == (4, 5)


def test_a_table_without_its_columns_is_refused(course: Course):
    """A file that is something else is not guessed at."""
    written(course.marks, "name,mark\nann,3\n")

    with pytest.raises(CourseError, match=r"marks.csv:1: there is no column 'student'"):
        graded(course)


def test_an_untouched_written_answer_waits_for_nobody(course: Course, tmp_path: Path):
    """Who wrote nothing gets nothing, without a row to mark."""
    sort_in(course, written(tmp_path / "ann.ipynb", handin({**RIGHT, "why": STUBS["why"]})))

    graded(course)

    assert outcomes(result(course, "ann"))["why"] == "not attempted"
    assert [row["student"] for row in table(course.marks)] == ["bob"]


def test_misconceptions_are_found_by_sign(course: Course, tmp_path: Path):
    """A wrong answer with a known one's sign shows its misconception; a timeout shows none."""
    sort_in(course, written(tmp_path / "ann.ipynb", handin({**RIGHT, "total": "# answer: total\nsleep"})))

    graded(course)

    assert result(course, "bob").questions[0].misconceptions == ("thinks that n is left out",)
    assert result(course, "ann").questions[0].misconceptions == ()
    assert "1 of 2: thinks that n is left out" in (course.grades / "overview.html").read_text("utf8")


def test_known_wrong_answers_are_judged_once(course: Course):
    """Their signs are kept until the exercise changes."""
    judged = []

    def noting(one: Any, code: Mapping[str, str], time_factor: float) -> Any:
        judged.append(code)
        return judge(one, code, time_factor)

    for fingerprint, wanted in (("f", 4), ("f", 0), ("g", 4)):
        judged.clear()
        graded(course, assignment(fingerprint=fingerprint), judge=noting)
        assert len(judged) == wanted


def test_feedback_shows_what_is_public(course: Course):
    """A student sees titles, points, outcomes, messages, hints and comments, and nothing that is private."""
    written(course.overrides, "student,slug,question,points,reason\nbob,sum-up,total,1,close\n")
    graded(course)

    page = course.result(SLUG, "pytorch", "bob").with_suffix(".html").read_text("utf8")

    for public in ("Sum up", "The total", "failed!", "Think of Gauss.", "close", "printed", "3 of 10 points, so far"):
        assert public in page
    for private in ("secret of", "thinks that", "Think of Gauss." * 2, "failed total", "1 point a reason", "ann"):
        assert private not in page
    assert "secret of" not in feedback.text(result(course, "bob"))
    assert "secret of" not in json.dumps(gradescope(result(course, "bob")))


class Outside(HTMLParser):
    """Collects what a page would fetch from elsewhere, and its scripts."""

    def __init__(self) -> None:
        """Nothing yet."""
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what leads out."""
        self.found += [tag] if tag in ("script", "link", "img", "iframe", "b") else []
        self.found += [value or "" for name, value in attrs if name in ("src", "href", "onerror")]


def test_pages_stand_alone_and_escape_everything(course: Course, tmp_path: Path):
    """What students write is text on every page, and no page fetches or runs anything."""
    evil = "<b><script>alert(1)</script><img src=x onerror=y>"
    sort_in(course, written(tmp_path / "ann.ipynb", handin({**RIGHT, "why": f"<!-- answer: why -->\n{evil}"})))

    def printing(one: Any, code: Mapping[str, str], time_factor: float) -> Any:
        return judge(one, code, time_factor)[0], f"{evil}\x1b[31m\x00"

    graded(course, judge=printing)

    for path in course.grades.rglob("*.html"):
        outside = Outside()
        outside.feed(path.read_text("utf8"))
        assert outside.found == [], path
    assert "&lt;script&gt;" in (course.grades / "overview.html").read_text("utf8")


def test_the_same_answers_are_listed(course: Course, tmp_path: Path):
    """Copies with other names are listed with a warning; short answers and stubs are not."""
    long = (
        "# answer: total\ndef total(n):\n    s = 0\n    for i in range(n + 1):\n        s = s + i * 2 - i\n    return s"
    )
    other = long.replace("s =", "result =").replace("s +", "result +").replace("return s", "return result  # mine")
    files = {"eve.ipynb": handin({**RIGHT, "total": long}), "fay.ipynb": handin({**RIGHT, "total": other})}
    sort_in(course, written(tmp_path / "more.zip", zipped(files)))

    graded(course)

    page = (course.grades / "overview.html").read_text("utf8")
    assert "<li>eve, fay: total</li>" in page
    assert "no proof" in page
    assert page.count("<li>") == 2


def test_gradescope_has_its_own_shape(course: Course):
    """Scores, outputs and visibility are where Gradescope looks for them."""
    graded(course)

    got = gradescope(result(course, "bob"))

    assert (got["score"], [test["score"] for test in got["tests"]]) == (2, [0, 2, 0])
    assert [test.get("status") for test in got["tests"]] == ["failed", "passed", None]
    assert all(type(test["max_score"]) in (int, float) for test in got["tests"])


def test_what_is_printed_is_cut():
    """A megabyte of output keeps its beginning and its end, and no control characters."""
    short = cut("a" * 1_000_000 + "\x1b[0m end")

    assert len(short) < 5_000
    assert short.startswith("aaa")
    assert short.endswith("[0m end")


def test_a_broken_result_is_graded_again(course: Course):
    """A result that is no JSON, or of another form, counts as none."""
    graded(course)
    for text in ("{", "[]", '{"status": "graded"}'):
        written(course.result(SLUG, "pytorch", "ann"), text)

        assert graded(course).graded == 1


SLOW = """
import sys, time
from pathlib import Path
sys.path[:0] = {paths!r}
import click
from handins import assignment, judge
from coursework.__main__ import cli
from coursework.batch import Batch, grade
from coursework.course import Course
from coursework import __main__ as front

def slow(one, code, factor):
    if "range" in code.get("total", ""):
        print("waiting", flush=True)
        time.sleep(60)
    return judge(one, code, factor)

@cli.command()
def slowly():
    grade(Batch(Course(Path({root!r})), [assignment(known=())], slow))

sys.exit(front.main(["slowly"]))
"""


def test_ctrl_c_ends_at_once_and_keeps_results(course: Course):
    """Ctrl-C gives 130 within seconds; what was graded stays valid, and the next run goes on from there."""
    program = SLOW.format(paths=[str(Path(__file__).parent)], root=str(course.root))
    running = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout is not None
    assert running.stdout.readline() == b"waiting\n"
    begun = time.monotonic()

    running.send_signal(signal.SIGINT)
    running.communicate(timeout=30)

    assert running.returncode == 130
    assert time.monotonic() - begun < 8
    assert (result(course, "ann").points, read_result(course.result(SLUG, "pytorch", "bob"))) == (5, None)
    assert [(one.graded, one.kept) for one in [graded(course)]] == [(1, 1)]


def test_a_notebook_without_answers_is_graded(course: Course, tmp_path: Path):
    """Deleting every answer cell is not an error, but no points, with a message for each."""
    bare = document([one for one in cells() if not one["id"].startswith("answer")])
    sort_in(course, written(tmp_path / "ann.ipynb", bare))

    graded(course)

    ann = result(course, "ann")
    assert (ann.points, ann.status, ann.message.count("is gone")) == (0, Status.GRADED, 3)
