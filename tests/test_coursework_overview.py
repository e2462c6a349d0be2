"""What the pages of a graded class say: nothing that is not known yet, and where to read on."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from books import REPOSITORY
from handins import RIGHT, SLUG, assignment, cell, cells, document, graded, handin, roster, sort_in, written, zipped

from coursework import feedback
from coursework.assign import notebook
from coursework.assignment import Known, silent
from coursework.assignment import assignment as prepared
from coursework.cases import asking
from coursework.course import Course
from coursework.drawing import course as seeded
from coursework.drawing import offering
from coursework.exercise import Places, load
from coursework.judge import judge as real_judge
from coursework.known import keep_known, with_misconceptions
from coursework.lines import unwritten
from coursework.model import Outcome, Question, Verdict, WrittenQuestion
from coursework.pages import told
from coursework.results import QuestionResult, Result, read_result
from coursework.rows import Status
from coursework.running import Job
from coursework.submission import read

BLANK = {name: text for name, text in RIGHT.items() if name != "why"}


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course to which ann and bob handed in all answers, cyd only the program, dan nothing."""
    made = Course(tmp_path / "course")
    roster(made, "ann,,,,,", "bob,,,,,", "cyd,,,,,", "dan,,,,,")
    files = {"ann.ipynb": handin(), "bob.ipynb": handin(), "cyd.ipynb": handin(BLANK)}
    sort_in(made, written(tmp_path / "in.zip", zipped(files)))
    return made


def overview_of(course: Course) -> str:
    """The instructor's page."""
    return (course.grades / "overview.html").read_text("utf8")


def result(course: Course, student: str) -> Result:
    """A student's result."""
    found = read_result(course.result(SLUG, "pytorch", student))
    assert found is not None
    return found


def marked(course: Course, *lines: str) -> None:
    """Give marks, and grade."""
    written(course.marks, "\n".join(["student,slug,question,points,comment", *lines]) + "\n")
    graded(course)


def test_unmarked_work_has_no_mean(course: Course):
    """While answers wait for marks, only the blank one is complete: no average and no chart speak for the class."""
    graded(course)

    page = overview_of(course)

    assert "4 students: 1 complete, 2 to be marked, 1 missing.</p>" in page
    assert ("mean" in page, "<svg" in page) == (False, False)


def test_marked_work_has_a_mean(course: Course):
    """Once all is marked, the average and the chart are there."""
    marked(course, f"ann,{SLUG},why,3,", f"bob,{SLUG},why,5,")

    page = overview_of(course)

    assert "4 students: 3 complete, 1 missing; median 8, mean 7.67 of 10 points.</p>" in page
    assert "<svg" in page


def test_the_table_says_what_is_to_be_marked(course: Course):
    """In grades.csv a submission is graded only when people have marked it, too."""
    marked(course, f"ann,{SLUG},why,3,")

    with (course.grades / "grades.csv").open(encoding="utf8", newline="") as file:
        found = {row["student"]: row["status"] for row in csv.DictReader(file)}
    assert found == {"ann": "graded", "bob": "to be marked", "cyd": "graded", "dan": "missing"}


def test_how_to_mark_stands_above_the_answers(course: Course):
    """The rubric is shown as it is meant, with the name that marks.csv wants; those without points come first."""
    rubric = WrittenQuestion("why", "Why", 5, "One point each:\n\n* the *reason*\n* <b>")
    questions = (*(one for one in assignment().questions if one.name != "why"), rubric)
    written(course.marks, f"student,slug,question,points,comment\nann,{SLUG},why,3,\n")

    graded(course, assignment(questions=questions))

    page = overview_of(course)
    assert "<li>the <em>reason</em></li>\n<li>&lt;b&gt;</li>" in page
    assert "To mark: Why (2 answers, 1 without points)" in page
    assert "<code>why</code>" in page
    assert page.index("<em>reason") < page.index("<h3>bob</h3>") < page.index("<h3>ann</h3>")
    assert page.count("Because.") == 2


def test_everyones_points_lead_to_their_pages(course: Course):
    """A row a student, a column an exercise, each cell a link to a page that is there; unfinished ones are told."""
    marked(course, f"ann,{SLUG},why,3,")

    page = overview_of(course)

    assert '<tr><th scope="row">ann</th><td class="number"><a href="sum-up.pytorch/ann.html">8</a></td></tr>' in page
    assert '<a href="sum-up.pytorch/bob.html">5…</a>' in page
    assert '<a href="sum-up.pytorch/dan.html">missing</a>' in page
    links = set(re.findall(r'href="([^"#]+)"', page))
    assert links
    assert all((course.grades / link).is_file() for link in links)


def test_full_marks_have_no_card(course: Course):
    """With all points and nothing to tell a student is named, no more."""
    marked(course, f"ann,{SLUG},why,5,", f"bob,{SLUG},why,3,")

    page = overview_of(course)

    assert 'All points, and nothing to tell: <a href="sum-up.pytorch/ann.html">ann</a>.' in page
    assert '<section class="card good">' not in page
    assert page.count('<section class="card bad">') == 3


def test_odd_outcomes_have_a_column_only_if_there_are_any(course: Course):
    """The table is as wide as it has to be."""

    def late(one: Any, code: Mapping[str, str], time_factor: float) -> Any:
        return [(question, Verdict(Outcome.TIMEOUT), 0.1) for question in one.asked], ""

    graded(course)
    before = overview_of(course)
    graded(course, judge=late, regrade=True)

    assert (">Look<" in before, ">Look<" in overview_of(course)) == (False, True)


def test_late_and_missing_are_listed_by_exercise(course: Course):
    """Under its title, not by its name in each line."""
    graded(course)

    page = overview_of(course)

    assert '<h3 class="gap">Sum up</h3>' in page.partition("Late, missing")[2]
    assert "<td>dan</td><td>missing</td>" in page


# Misconceptions


def two_ways(one: Any, code: Mapping[str, str], time_factor: float) -> Any:
    """Judge questions with two possible replies, which are always wrong in the same way."""
    text = " ".join(code.values())
    verdicts = [
        Verdict(Outcome.FAILED, "No.", sign=question.name)
        if f"{question.name} turned" in text
        else Verdict(Outcome.NOT_ATTEMPTED if f"{question.name} blank" in text else Outcome.PASSED)
        for question in one.asked
    ]
    return list(zip(one.asked, verdicts, [0.1] * len(verdicts), strict=True)), ""


def misconceptions(course: Course, tmp_path: Path, *known: Known, answer: str) -> list[tuple[str, ...]]:
    """What is found of each question in an answer that says how it is wrong."""
    source = f"# answer: total\ndef total(n):\n    # {answer}\n    return 1"
    sort_in(course, written(tmp_path / "ann.ipynb", handin({**RIGHT, "total": source})))
    graded(course, assignment(known=known, fingerprint=f"{known}"), judge=two_ways, regrade=True)
    return [one.misconceptions for one in result(course, "ann").questions[:2]]


BOTH = Known("all", "turns everything round", {"total": "# total turned, half turned"}, ("total", "half"))
ONE = Known("one", "takes one for the other", {"total": "# total turned"}, ("total",))
WIDE = Known("wide", "thinks otherwise", {"total": "# total turned, half turned"}, ("total",))


def test_one_of_two_ways_shows_no_inversion(course: Course, tmp_path: Path):
    """Who got one pair wrong has not turned all round; who got all wrong has."""
    assert misconceptions(course, tmp_path, BOTH, answer="total turned") == [(), ()]
    assert (
        misconceptions(course, tmp_path, BOTH, answer="total turned, half turned") == [("turns everything round",)] * 2
    )


def test_what_says_least_beyond_the_mistake_counts(course: Course, tmp_path: Path):
    """A known wrong answer with this mistake alone explains it better than one with others as well."""
    found = misconceptions(course, tmp_path, BOTH, ONE, answer="total turned, half blank")
    both = misconceptions(course, tmp_path, ONE, BOTH, answer="total turned, half turned")

    assert found == [("takes one for the other",), ()]
    assert both == [("turns everything round",)] * 2


def test_what_only_follows_from_a_mistake_need_not_be_there(course: Course, tmp_path: Path):
    """Only questions about the answers that a wrong answer has of its own have to be wrong as well."""
    assert misconceptions(course, tmp_path, WIDE, answer="total turned") == [("thinks otherwise",), ()]


class Here:
    """A student whose answers run in this process: only those that we keep ourselves."""

    def __init__(self, code: Mapping[str, str]) -> None:
        """Load the cells."""
        self.namespace: dict[str, Any] = {}
        for source in code.values():
            exec(source, self.namespace)

    def call(self, function: str, *args: Any) -> Any:
        """Answer."""
        return self.namespace[function](*args)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"B": "right"}, {"b": "thinks that where has to see"}),
        ({"B": "right", "D": "right"}, {"b": "thinks that where has to see", "d": "thinks that a change of type"}),
        (
            {"A": "left", "B": "right", "C": "left", "D": "right"},
            dict.fromkeys("abcd", "answers which program does not wait"),
        ),
    ],
)
def test_pairs_are_not_all_turned_round_by_one(tmp_path: Path, changes: dict[str, str], found: dict[str, str]):
    """In the real exercise: one wrong pair shows that pair's misconception, four wrong pairs that all were inverted."""
    slug, places, made = "which-program-waits", Places(REPOSITORY / "exercises"), Course(tmp_path / "course")
    seeded(made.root, make=True)
    one = prepared(load(slug, places), "pytorch", made, places)
    for known in one.known:
        keep_known(made, Job(one, known.name, known.code), ([(q, q.ask(Here(known.code)), 0.1) for q in one.asked], ""))
    pairs = {"A": "right", "B": "left", "C": "right", "D": "left", **changes}
    student = Here({"which_waits": f"def which_waits():\n    return {pairs!r}"})
    verdicts = [(question, question.ask(student)) for question in one.asked]
    questions = [QuestionResult(q.name, q.title, 0, q.points, v.outcome, sign=v.sign) for q, v in verdicts]

    (result,) = with_misconceptions(
        made, one, [Result("s02", slug, "pytorch", Status.GRADED, questions=tuple(questions))]
    )

    told = {each.name[-1]: each.misconceptions for each in result.questions if each.misconceptions}
    assert set(told) == set(found)
    assert all(len(texts) == 1 and texts[0].startswith(found[pair]) for pair, texts in told.items())


# What students read


def test_no_points_yet_is_no_zero(course: Course):
    """A dash stands where points are still to come, on the page and in the notebook."""
    graded(course)

    page = course.result(SLUG, "pytorch", "ann").with_suffix(".html").read_text("utf8")

    assert "to be marked</span> · \N{EN DASH}/5" in page
    assert "Why: to be marked, \N{EN DASH}/5" in feedback.text(result(course, "ann"))
    assert "not attempted, 0/5" in feedback.text(result(course, "cyd"))


def test_kinds_of_cases_are_a_list(course: Course):
    """One line a kind of case, a list on the page and in the notebook."""

    class Student:
        """Answers always the same."""

        def call(self, _function: str, *_: Any) -> None:
            """Answer."""

    verdict = asking("total", {"one": [(1,)], "many": [(5,), (7,)]}, lambda n: n)(Student())

    def ask(one: Any, code: Mapping[str, str], time_factor: float) -> Any:
        return [(question, verdict, 0.1) for question in one.asked], ""

    graded(course, judge=ask)
    assert verdict.message.split("\n") == [
        "total was asked about cases of 2 kinds:",
        "- one: 0 of 1 right",
        "- many: 0 of 2 right",
        "It returned None where a value of type int is wanted.",
    ]
    page = course.result(SLUG, "pytorch", "ann").with_suffix(".html").read_text("utf8")
    assert '<ul><li>one: 0 of 1 right</li><li>many: 0 of 2 right</li></ul>\n<p class="told">It returned None' in page
    assert "kinds:\n\n- one: 0 of 1 right\n- many: 0 of 2 right\n\nIt returned" in feedback.text(result(course, "ann"))


def test_a_message_is_escaped_in_lists_as_well():
    """Whatever stands in a line is text."""
    assert told("a:\n- <b>\n- `<i>`") == (
        '<p class="told">a:</p>\n<ul><li>&lt;b&gt;</li><li><code>&lt;i&gt;</code></li></ul>'
    )


@pytest.mark.parametrize(
    ("source", "empty"),
    [
        ('# answer: f\nimport x\nx.set_up()\n\ndef f(n):\n    """Doc."""\n    raise NotImplementedError', True),
        ("def f(n):\n    raise NotImplementedError  # later", True),
        ("def f(n):\n    if n:\n        return 1\n    raise NotImplementedError", False),
        ("def f(n):\n    x = 1\n    raise NotImplementedError", False),
        ("def f(n:\n    raise", False),
    ],
)
def test_what_is_no_more_than_a_stub_is_unwritten(source: str, empty: bool):
    """A program that was begun is not: there the line where it stops helps."""
    assert unwritten(source) is empty


def test_a_blank_answer_is_told_in_two_words():
    """Not where the stub raised; a program that still raises is told where."""
    stub = "def f():\n    raise NotImplementedError"
    begun = "def f():\n    x = 1\n    raise NotImplementedError"
    question = Question("f", "F", 1, lambda student: student.call("f"))

    messages = [real_judge([question], {"f": source}, "pytorch").verdicts[0][1].message for source in (stub, begun)]

    assert messages[0] == "Not written."
    assert "in line 3 of f" in messages[1]


GIVEN = "k = 2\nprint('of the course')\ndef twice(n):\n    print('twice')\n    return n * k"


def test_unchanged_cells_of_ours_print_nothing():
    """They run, as answers may need them, but what they print is not the student's; a changed or added cell prints."""
    one = assignment(given=frozenset({GIVEN}))
    own = [cell(GIVEN), cell(GIVEN.replace("2", "3")), cell("print('mine')")]

    found = one.answers(read(document([*cells(), *own]))).code

    assert [source for source in found.values() if "print('of the" in source and "redirect" not in source] == [
        GIVEN.replace("2", "3")
    ]
    assert "print('mine')" in found.values()


def test_a_silent_cell_does_what_it_did(capsys: pytest.CaptureFixture[str]):
    """Names stay, functions print when they are called later, and what is no Python stays as it is."""
    names: dict[str, Any] = {}

    exec(silent(GIVEN), names)

    assert capsys.readouterr().out == ""
    assert names["twice"](4) == 8
    assert capsys.readouterr().out == "twice\n"
    assert silent("k = (") == "k = ("
    exec(silent("# nothing"), names)


def test_the_cells_around_answers_are_known(tmp_path: Path):
    """The demonstration of an exercise that was handed out is taken for ours when it comes back."""
    slug, places = "overlap-host-work", Places(REPOSITORY / "exercises")
    made = Course(tmp_path / "course")
    seed = seeded(made.root, make=True).seed
    exercise = load(slug, places)
    one = prepared(exercise, "pytorch", made, places)
    handed_in = read(json.dumps(notebook(exercise, "pytorch", offering(exercise, "pytorch", seed))).encode())

    sources = [source for name, source in one.answers(handed_in).code.items() if name not in one.stubs]
    assert sources
    assert all(source.startswith("with __import__('contextlib').redirect_stdout") for source in sources)
