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
from urllib.parse import unquote

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

from coursework import feedback, overview
from coursework.course import Course
from coursework.errors import CourseError, ExerciseError, JailError
from coursework.jail import Jail
from coursework.model import Limits, Outcome, StudentError, Verdict
from coursework.overview import finish
from coursework.process import Output
from coursework.results import Result, all_results, cut, gradescope, read_result
from coursework.rows import Status
from coursework.student import Submission

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
        "ann": ("5", "to be marked"),
        "bob": ("2", "to be marked"),
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


def test_what_a_kill_left_half_written_goes(course: Course):
    """Half a list of grades or of hand-ins names students: the next grading removes it, wherever it was written."""
    for folder in (course.root, course.grades, course.graded(SLUG, "pytorch")):
        written(folder / ".writing-abc", "ann,sum-up,5")

    graded(course)

    assert list(course.root.rglob(".writing-*")) == []


def test_a_file_that_nobody_foresaw_stops_nobody(course: Course, monkeypatch: pytest.MonkeyPatch):
    """Whatever looking at one student's notebook raises, it is told with the name, and the others are graded."""
    from coursework import batch

    read = batch.read

    def failing(content: bytes) -> Any:
        if content == handin(WRONG):
            raise TypeError("'int' object is not iterable")
        return read(content)

    monkeypatch.setattr(batch, "read", failing)

    report = graded(course)

    assert report.graded == 1
    assert re.search(r"bob could not be graded.*TypeError: 'int'", report.faults[0])
    assert result(course, "bob").status is Status.AGAIN


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

    for public in ("Sum up", "The total", "Failed!", "Close.", "printed", "3 of 10 points, so far"):
        assert public in page
    for private in ("secret of", "thinks that", "Think of Gauss.", "failed total", "1 point a reason", "ann"):
        assert private not in page
    assert "secret of" not in feedback.text(result(course, "bob"))
    assert "secret of" not in json.dumps(gradescope(result(course, "bob")))


def page_of(course: Course, student: str) -> str:
    """A student's feedback page."""
    return course.result(SLUG, "pytorch", student).with_suffix(".html").read_text("utf8")


def corrected(course: Course, *lines: str) -> None:
    """Write corrections, and grade."""
    written(course.overrides, "\n".join(["student,slug,question,points,reason", *lines]) + "\n")
    graded(course)


def saying(message: str, outcome: Outcome = Outcome.FAILED) -> Any:
    """A judge that says the same of every question."""

    def ask(one: Any, code: Mapping[str, str], time_factor: float) -> Any:
        return [(question, Verdict(outcome, message), 0.1) for question in one.asked], "printed"

    return ask


def test_a_corrected_question_says_so(course: Course):
    """Neither right nor wrong: corrected, the reason a sentence of its own, and no hint any more."""
    corrected(course, "bob,sum-up,total,1,close enough")

    page = page_of(course, "bob")

    assert '<section class="card plain">' in page
    assert "✎ corrected</span> · 1/3" in page
    assert '<p>Corrected by your instructor.</p>\n<p class="told">Close enough.</p>' in page
    assert "Before that: failed. Failed!" in page
    assert "Think of Gauss." not in page
    assert "Corrected by your instructor. Close enough." in feedback.text(result(course, "bob"))


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("total returned `[1] < 2`, no list", "Your <code>total</code> returned <code>[1] &lt; 2</code>, no list"),
        ("a depth of one: <b> too many", "A depth of one: &lt;b&gt; too many"),
        ("n_waits is wrong", "<code>n_waits</code> is wrong"),
        ("f(3) gave 4", "<code>f(3)</code> gave 4"),
        ("a `b", "A `b"),
        ("3.5 is not PyTorch", "3.5 is not PyTorch"),
        ("ValueError: x", "ValueError: x"),
        ("`<script>`", "<code>&lt;script&gt;</code>"),
    ],
)
def test_messages_are_prose(course: Course, message: str, shown: str):
    """They begin as sentences do; only what stands between backticks is code, and all of it is escaped."""
    graded(course, judge=saying(message))

    assert f'<p class="told">{shown}</p>' in page_of(course, "ann")


def test_in_a_notebook_only_harmless_code_is_code(course: Course):
    """There Markdown, HTML and formulas would have a meaning."""
    graded(course, judge=saying("give `[1]`, not `<b>` or `$x$`"))

    assert "Give `[1]`, not \\`\\<b\\>\\` or \\`\\$x\\$\\`" in feedback.text(result(course, "ann"))


def test_a_program_that_never_ends_is_told_once(course: Course):
    """Where every question took too long that is said once, with the limit, and without hints that do not fit."""
    graded(course, judge=saying("It took longer than the time limit of 10 seconds.", Outcome.TIMEOUT))

    page = page_of(course, "ann")

    assert page.count("may never end") == page.count("limit of 10 seconds") == 1
    assert page.count("took too long") == 2
    assert "Think of Gauss." not in page


def test_one_that_took_too_long_gets_no_hint(course: Course, tmp_path: Path):
    """The limit is what helps; that of others is judged as ever."""
    sort_in(course, written(tmp_path / "ann.ipynb", handin({**RIGHT, "total": "# answer: total\nsleep"})))
    graded(course)

    page = page_of(course, "ann")

    assert "Timeout!" in page
    assert "Think of Gauss." not in page
    assert "may never end" not in page


def test_own_answers_stand_at_the_end(course: Course, tmp_path: Path):
    """Folded, escaped, and cut; also in what was graded before and is unchanged."""
    long = {**RIGHT, "total": "# answer: total\n# <b>\nreturn 1\n" + "x" * 30_000}
    sort_in(course, written(tmp_path / "ann.ipynb", handin(long)))
    graded(course)
    place = course.result(SLUG, "pytorch", "bob")
    written(place, json.dumps({**json.loads(place.read_text("utf8")), "answers": {}}))

    again = graded(course)

    page = page_of(course, "ann")
    assert page.index("<details><summary>Your answers</summary>") > page.index("What your cells printed")
    assert "# &lt;b&gt;" in page
    assert (page.count("x") < 21_000, "characters left out" in page) == (True, True)
    assert "return sum(range(n))" in page_of(course, "bob")
    assert again.kept == 2


def test_each_message_begins_as_a_sentence(course: Course, tmp_path: Path):
    """Also of those that are put together, and that begin with an answer's name."""
    doubled = [one for one in cells() if one["id"] in ("answer-total", "answer-half")] + cells()
    sort_in(course, written(tmp_path / "ann.ipynb", document(doubled)))

    graded(course)

    page = page_of(course, "ann")
    assert page.count("Your <code>") == page.count("</code> stands in 2 cells: the one") == 2


def test_nothing_is_said_twice(course: Course):
    """Who handed in nothing is told so once."""
    graded(course)

    assert page_of(course, "dan").count("Nothing was handed in") == 1
    assert feedback.text(result(course, "dan")).count("Nothing was handed in") == 1
    assert "It is no notebook, or a damaged one" in page_of(course, "cyd")


def test_what_several_processes_print_is_shown_once():
    """After a time limit the same cells run again; what their functions print anew is kept."""
    output = Output(1000)
    for more in (b"a call\n", b"another call\n", b""):
        output.begin()
        output.add(b"cell 1\ncell 2\n" + more)

    assert output.text() == "cell 1\ncell 2\na call\nanother call\n"


def test_a_time_limit_says_how_long_it_is(monkeypatch: pytest.MonkeyPatch):
    """That of a call with the student's factor; that of the whole submission where it comes first."""

    class Slow:
        """A process that never replies."""

        ended = False

        def __init__(self, *_: Any) -> None: ...

        def prepare(self, *_: Any, **__: Any) -> None: ...

        def loaded(self) -> None: ...

        def call(self, *_: Any) -> None:
            raise StudentError(Outcome.TIMEOUT, "too late")

    monkeypatch.setattr("coursework.student.Process", Slow)
    told = []
    for limits, factor in ((Limits(call_s=10), 1.5), (Limits(call_s=10, total_s=5), 1)):
        with pytest.raises(StudentError) as caught:
            Submission(Jail(), limits, "pytorch", {}, time_factor=factor).call("f")
        told.append(str(caught.value))

    assert told == [
        "It took longer than the time limit of 15 seconds.",
        "The 5 seconds for the whole submission were used up.",
    ]


def test_corrections_count_without_a_hand_in(course: Course):
    """Points that a person gives to what is missing or unreadable are in the table and on the page."""
    corrected(course, "cyd,sum-up,total,2,seen on paper", "dan,sum-up,half,1,ill")

    rows = {row["student"]: row for row in table(course.grades / "grades.csv")}
    assert {name: (rows[name]["points"], rows[name]["status"]) for name in ("cyd", "dan")} == {
        "cyd": ("2", "unreadable"),
        "dan": ("1", "missing"),
    }
    assert "2 of 10 points" in page_of(course, "cyd")
    assert "Seen on paper." in page_of(course, "cyd")
    assert "1 of 10 points" in page_of(course, "dan")
    assert "1 of 10 points" in feedback.text(result(course, "dan"))


def test_a_correction_ends_what_was_too_noisy(course: Course, tmp_path: Path):
    """The points of a question that could not be measured are final once a person gives some."""
    sort_in(course, written(tmp_path / "ann.ipynb", handin({**RIGHT, "half": "noisy", "why": STUBS["why"]})))
    graded(course)
    before = result(course, "ann").complete

    corrected(course, "ann,sum-up,half,1,")

    assert (before, result(course, "ann").complete) == (False, True)
    assert table(course.grades / "grades.csv")[0][f"{SLUG}/half"] == "1"


def test_overrides_begin_with_their_header(course: Course):
    """The first grading writes it; a table for marks comes only with written questions."""
    graded(course, assignment(questions=assignment().questions[:2]))

    assert course.overrides.read_text("utf8") == "student,slug,question,points,reason\n"
    assert not course.marks.exists()


def test_a_wrong_header_names_all_columns(course: Course):
    """Also the one that may be left out."""
    written(course.overrides, "student,slug,points,reason\n")

    with pytest.raises(CourseError, match="has to name student, slug, question, points, reason"):
        graded(course)


def test_an_empty_reason_is_a_warning(course: Course):
    """It is told with its line and counts; so does one with a reason, without a word."""
    corrected(course, "bob,sum-up,total,1,", "bob,sum-up,half,1,late")

    notes = finish(course, [assignment()])[1]

    assert (len(notes.warnings), "overrides.csv:2: this correction has no reason" in notes.warnings[0]) == (1, True)
    assert notes.faults == []
    assert result(course, "bob").points == 2


def test_a_question_that_is_not_there_says_where_names_are(course: Course):
    """A correction without a question is refused."""
    written(course.overrides, "student,slug,question,points,reason\nbob,sum-up,,1,x\nbob,,total,1,x\n")

    faults = graded(course).faults

    assert "overrides.csv:2: there is no such answer to mark: bob sum-up (empty)" in faults[0]
    assert "stand in grades.csv" in faults[0]
    assert "overrides.csv:3" in faults[1]


def overview_of(course: Course) -> str:
    """The instructor's page."""
    return (course.grades / "overview.html").read_text("utf8")


def test_the_overview_shows_what_is_worth_a_look(course: Course):
    """Timeouts, crashes and what could not be judged have a column and a line of their own."""

    def odd(one: Any, code: Mapping[str, str], time_factor: float) -> Any:
        first = Verdict(Outcome.TIMEOUT if "range" in code.get("total", "") else Outcome.CRASHED)
        second = Verdict(Outcome.ERROR, private="The question's own code failed: x")
        return list(zip(one.asked, (first, second), (0.1, 0.1), strict=True)), ""

    graded(course, judge=odd)

    page = overview_of(course)
    assert "ann (crashed: total; could not be judged: half); bob (timed out: total; could not be judged: half)" in page
    assert '<td class="number">0</td><td class="number bad">2</td><td class="number">0</td>' in page


def test_the_overview_shows_no_name_of_a_file(tmp_path: Path):
    """Platforms put real names there; the line of the list says where they stand."""
    course = Course(tmp_path / "course")
    roster(course, "p01,,,,13,", "p02,,,14,,")
    name = "{}_assignsubmission_file_/{}.ipynb".format
    moodle = zipped({name("Ann Lee_13", "a"): handin({}), name("Ann Lee_13", "b"): handin()})
    canvas = zipped({"PoeSam_LATE_14_9_c.ipynb": handin()})
    sort_in(course, written(tmp_path / "in.zip", moodle), written(tmp_path / "more.zip", canvas))

    graded(course)

    page = overview_of(course)
    assert [word for word in ("Ann", "Sam", "Poe", "assignsubmission") if word in page] == []
    assert "The student handed in several; another one counts." in page
    assert '<td>p02</td><td>collected</td><td class="number">1</td>' in page
    lines = course.collected.read_text("utf8").splitlines()
    (line,) = re.findall(r'another one counts.</td><td class="number">(\d+)</td>', page)
    assert "duplicate" in lines[int(line) - 1]


@pytest.mark.parametrize(
    ("most", "labels"), [(4, ["0", "1", "2", "3", "4"]), (7.5, list("01234567")), (25, ["0-2", "3-5", "24-25"])]
)
def test_the_distribution_has_whole_points(most: float, labels: list[str]):
    """A bar a point, or several whole ones where there are many points."""
    chart = overview._chart([0.0, 0.5, most], most)

    found = [bar["label"].replace("\N{EN DASH}", "-") for bar in chart["bars"]]
    assert (found[: len(labels) - 1], found[-1]) == (labels[:-1], labels[-1])
    assert (chart["bars"][0]["count"], chart["bars"][-1]["count"], len(found) <= 12) == (2, 1, True)


def test_the_overview_shows_corrections(course: Course):
    """In the student's row, with what the tool had given."""
    corrected(course, "bob,sum-up,total,1.5,close", "dan,sum-up,half,1,ill")

    page = overview_of(course)

    assert "<strong>corrected</strong></span>" in page
    assert "total: failed, 0, <strong>corrected</strong> to 1.5" in page
    assert "1 of them has points by correction alone" in page
    assert "Student by student" in page


def test_what_is_told_is_what_stands_in_the_end(course: Course):
    """A line has the points after marks, those that a correction makes of them, and what still waits for marks."""
    written(course.marks, f"student,slug,question,points,comment\nbob,{SLUG},why,4,\n")
    written(course.overrides, f"student,slug,question,points,reason\nbob,{SLUG},total,1.5,close\n")
    told: list[str] = []

    graded(course, tell=told.append)

    lines = [line.partition("  ")[2] for line in told if "  " in line]
    assert lines == ["ann  5/10 so far, to be marked", "bob  6/10, corrected to 7.5"]
    assert {row["student"]: row["points"] for row in table(course.grades / "grades.csv")}["bob"] == "7.5"


def test_a_corrected_noisy_question_is_not_told_as_open(course: Course, tmp_path: Path):
    """Points that a person gave end it: neither a line nor the exit status asks for another grading."""
    sort_in(course, written(tmp_path / "ann.ipynb", handin({**RIGHT, "half": "noisy", "why": STUBS["why"]})))
    written(course.overrides, f"student,slug,question,points,reason\nann,{SLUG},half,1,measured by hand\n")
    told: list[str] = []

    report = graded(course, only=["ann"], tell=told.append)

    assert [line.partition("  ")[2] for line in told if "  " in line] == ["ann  3/10, corrected to 4"]
    assert report.faults == []


def test_progress_is_told(course: Course, monkeypatch: pytest.MonkeyPatch):
    """How many submissions are done, and who runs now; known wrong answers are named but not counted."""
    monkeypatch.setattr("coursework.running.TELL_S", 0.0)
    told: list[str] = []

    def slowly(one: Any, code: Mapping[str, str], time_factor: float) -> Any:
        time.sleep(0.2)
        return judge(one, code, time_factor)

    graded(course, judge=slowly, tell=told.append)

    assert any(line.startswith("0 of 2 done, 1 running: the known wrong answer off-by-one (known") for line in told)
    assert "1 of 2 done, 1 running: bob" in told


class Outside(HTMLParser):
    """Collects what a page would fetch or lead to elsewhere, and its scripts."""

    def __init__(self, page: Path) -> None:
        """Nothing yet.

        Args:
            page: The page; what lies beside or below it is not elsewhere.
        """
        super().__init__()
        self.page, self.found = page, []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what leads out."""
        self.found += [tag] if tag in ("script", "link", "img", "iframe", "b") else []
        self.found += [value or "" for name, value in attrs if name in ("src", "onerror")]
        self.found += [value or "" for name, value in attrs if name == "href" and not self._is_inside(value or "")]

    def _is_inside(self, link: str) -> bool:
        place = (self.page.parent / unquote(link.partition("#")[0])).resolve()
        return ":" not in link and place.exists() and self.page.parent.resolve() in (place, *place.parents)


def test_pages_stand_alone_and_escape_everything(course: Course, tmp_path: Path):
    """What students write is text on every page; no page fetches or runs anything, or leads out of the folder."""
    evil = "<b><script>alert(1)</script><img src=x onerror=y>"
    sort_in(course, written(tmp_path / "ann.ipynb", handin({**RIGHT, "why": f"<!-- answer: why -->\n{evil}"})))

    def printing(one: Any, code: Mapping[str, str], time_factor: float) -> Any:
        return judge(one, code, time_factor)[0], f"{evil}\x1b[31m\x00"

    graded(course, judge=printing)

    for path in course.grades.rglob("*.html"):
        outside = Outside(path)
        outside.feed(path.read_text("utf8"))
        assert [each for each in outside.found if not re.fullmatch(r"sum-up\.pytorch/\w+\.html", each)] == [], path
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
