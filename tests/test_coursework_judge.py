"""Judging: what a question sees of a submission, and how each ends."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coursework import (
    Array,
    Failed,
    Outcome,
    Question,
    Remote,
    Student,
    StudentError,
    TooNoisy,
    Verdict,
    WrittenQuestion,
    failed,
    judge,
    passed,
)
from coursework.errors import CourseworkError
from coursework.jail import Jail
from coursework.judge import ATTEMPTS
from coursework.model import Limits

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
judged = judge.judge
JAIL = Jail(Path(sys.executable))
QUICK = Limits(call_s=0.7, total_s=10)


def calling(function: str, *args: Any, gives: Any = 4) -> Question:
    """A question that calls a function."""

    def ask(student: Student) -> Verdict:
        gave = student.call(function, *args)
        return passed() if gave == gives else failed("not that", private=f"gave {gave!r}")

    return Question(function, function, 1, ask)


def asking(ask: Callable[[Student], Any]) -> Question:
    """A question about f."""
    return Question("f", "f", 1, ask)


def verdict(question: Question, source: str, **more: Any) -> Verdict:
    """How one question ends for a submission of one cell, f."""
    return judged([question], {"f": source}, "pytorch", jail=JAIL, **more).verdicts[0][1]


def outcomes(questions: list[Any], answers: dict[str, str], **more: Any) -> list[str]:
    """How all end."""
    return [str(v.outcome) for _, v, _ in judged(questions, answers, "pytorch", jail=JAIL, **more).verdicts]


def test_cells_share_one_namespace_in_their_order():
    """An answer may use what an earlier cell, or one of the student's own, made."""
    answers = {"cell 1": "import math\nk = 2", "f": "def f(x):\n    return g(x)", "g": "def g(x):\n    return k * x"}

    assert outcomes([calling("f", 2), calling("g", 2)], answers) == ["passed", "passed"]


def test_cell_that_raises_costs_only_its_own_question():
    """The message names the error and the student's own line."""
    answers = {"f": "x = 1\nraise ValueError('no')\ndef f(x): return 4", "g": "def g(x):\n    return 4"}
    done = judged([calling("f", 2), calling("g", 2)], answers, "pytorch", jail=JAIL)

    assert [v.outcome for _, v, _ in done.verdicts] == ["error", "passed"]
    assert done.verdicts[0][1].message == "ValueError: no, in line 2 of f: raise ValueError('no')"


def test_cell_that_hangs_or_ends_the_process_costs_only_its_own_question():
    """The others are loaded once more without it."""
    answers = {"f": "while True: pass", "g": "def g():\n    return 4", "h": "import os\nos._exit(0)"}
    questions = [calling("g"), calling("f"), calling("h")]

    assert outcomes(questions, answers, limits=QUICK) == ["passed", "timeout", "crashed"]


def test_nothing_is_asked_of_an_answer_that_is_not_there():
    """Missing, empty, the stub, and a function by another name."""
    answers = {"g": "  \n", "h": "def h():\n    raise NotImplementedError", "i": "def other(): return 4"}
    questions = [calling(name) for name in "fghi"]

    assert outcomes(questions, answers) == ["not attempted"] * 4


def test_written_answers_are_left_to_be_marked_and_never_run():
    """Their text is no program."""
    questions = [WrittenQuestion("why", "Why", 3, "rubric"), calling("f")]

    assert outcomes(questions, {"why": "exit()", "f": "def f(): return 4"}) == ["to be marked", "passed"]


def test_fresh_process_follows_a_timeout():
    """What the process had done before its time was up earns nothing later."""
    source = "n = []\ndef f():\n    n.append(1)\n    while len(n) == 1: pass\n    return 4"

    assert outcomes([calling("f"), calling("f")], {"f": source}, limits=QUICK) == ["timeout", "timeout"]


def test_second_call_after_a_timeout_is_not_made():
    """A question that catches the error cannot have points out of a process that broke its limit."""

    def ask(student: Student) -> Verdict:
        with pytest.raises(StudentError):
            student.call("f")
        student.call("g")
        return passed()

    found = verdict(asking(ask), "def f():\n    while True: pass\ndef g(): return 1", limits=QUICK)

    assert found.outcome is Outcome.TIMEOUT


def test_total_time_is_limited_and_multiplied_by_the_time_factor():
    """A submission that is slow everywhere ends, later for those who are granted more time."""
    source = "import time\ndef f():\n    time.sleep(0.3)\n    return 4"
    limits = Limits(call_s=1, total_s=0.7)
    many = [calling("f")] * 4

    assert outcomes(many, {"f": source}, limits=limits) == ["passed", "passed", "timeout", "timeout"]
    assert outcomes(many, {"f": source}, limits=limits, time_factor=3) == ["passed"] * 4


def test_helper_code_of_the_question_runs_there():
    """`define` brings it into the student's process."""

    def ask(student: Student) -> Verdict:
        student.define("def twice(name, x):\n    return [globals()[name](x), globals()[name](x)]")
        return passed() if student.call("twice", "f", 2) == [4, 4] else failed("no")

    assert verdict(asking(ask), "def f(x): return 2 * x").outcome is Outcome.PASSED


class Device:
    """An object that stays outside; it hands out others."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def submit(self, cost: float, *, after: Any = None) -> Remote:
        """Take an operation; give its handle."""
        self.calls.append(("submit", cost, after))
        return Remote(Handle(len(self.calls)), ("wait",))

    def refuse(self) -> None:
        """Raise what the student's code may catch."""
        raise ValueError("the queue is full")

    def judge(self) -> None:
        """End the question."""
        raise Failed("It asked for too much.", sign="too much")


class Handle:
    """What a device hands out."""

    def __init__(self, number: int) -> None:
        self.number = number

    def wait(self) -> int:
        """Wait."""
        return self.number


DEVICE = ("submit", "refuse", "judge")


def test_objects_outside_are_called_by_messages_and_come_back_as_themselves():
    """Handles that one call gave are arguments of the next, and what happened is known outside."""
    device = Device()
    source = (
        "def f(device):\n    a = device.submit(1.5)\n    b = device.submit(2, after=a)\n"
        "    try:\n        device.refuse()\n"
        "    except ValueError as error:\n        return [a.wait(), b.wait(), str(error)]"
    )

    def ask(student: Student) -> Verdict:
        gave = student.call("f", Remote(device, DEVICE))
        return passed() if gave == [1, 2, "the queue is full"] else failed("no", private=repr(gave))

    assert verdict(asking(ask), source) == passed()
    assert device.calls[0] == ("submit", 1.5, None)
    assert isinstance(device.calls[1][2], Handle)


@pytest.mark.parametrize(
    ("body", "outcome", "says"),
    [
        ("device.judge()", "failed", "too much"),
        ("device.missing()", "error", "has no 'missing'"),
        ("device.submit(object())", "error", "object"),
        ("device.submit(1, 2, 3)", "error", "TypeError"),
        ("device.refuse()", "error", "ValueError: the queue is full, in line 3 of f"),
        ("while True: device.submit(1)", "error", "too often"),
        ("return device", "error", "handle|begins with"),
        (
            "threading.Thread(target=lambda: [device.submit(1) for _ in range(50)]).start()",
            "passed",
            "",
        ),
    ],
)
def test_misuse_of_an_object_outside_ends_one_question(body: str, outcome: str, says: str):
    """Each has its own message; the next question begins afresh."""
    ask = asking(lambda student: student.call("f", Remote(Device(), DEVICE)) or passed())
    done = judged(
        [ask, calling("g")],
        {"f": f"import threading\ndef f(device):\n    {body}", "g": "def g(): return 4"},
        "mxnet",
        jail=JAIL,
    )

    (_, first, _), (_, second, _) = done.verdicts
    assert first.outcome == outcome, first
    assert any(part in first.message for part in says.split("|")), first
    assert second.outcome == "passed"


def test_fault_of_a_question_is_told_to_the_instructor_and_stops_nothing():
    """A reply of an unexpected kind may be its cause: no submission may stop a batch that way."""
    faulty = asking(lambda student: student.call("f") + 1)
    no_verdict = asking(lambda _student: True)
    done = judged([faulty, no_verdict, calling("f", gives="x")], {"f": "def f(): return 'x'"}, "pytorch", jail=JAIL)

    assert [v.outcome for _, v, _ in done.verdicts] == ["error", "error", "passed"]
    assert "TypeError" in done.verdicts[0][1].private
    assert "TypeError" not in done.verdicts[0][1].message


def test_too_noisy_is_asked_again_and_never_zero():
    """Three times; then it is said."""
    asked = []

    def ask(student: Student) -> Verdict:
        asked.append(1)
        raise TooNoisy("4 of 7")

    assert verdict(asking(ask), "def f(): return 4").outcome is Outcome.TOO_NOISY
    assert len(asked) == ATTEMPTS


def test_same_mistake_has_the_same_sign():
    """So that a known wrong answer tells which misconception a submission shows."""
    one = verdict(calling("f"), "def f(): return 5")
    same = verdict(calling("f"), "def f():\n    y = 5\n    return y")
    other = verdict(calling("f"), "def f(): return 6")

    assert one.sign == same.sign != other.sign
    assert (
        verdict(calling("f"), "def f(): return 4").sign
        == verdict(calling("f"), "def f(): raise NotImplementedError").sign
        == ""
    )


def test_printing_is_kept_apart_from_replies():
    """What goes to stdout and stderr is shown, and changes no reply."""
    done = judged(
        [calling("f")],
        {"f": "import sys\ndef f():\n    print('out')\n    print('err', file=sys.stderr)\n    return 4"},
        "pytorch",
        jail=JAIL,
    )

    assert done.verdicts[0][1].outcome == "passed"
    assert done.output == "out\nerr\n"


@pytest.mark.parametrize(
    ("source", "outcome", "says"),
    [
        ("%matplotlib inline\n!ls\ndef f(): return 4", "passed", ""),
        ("%%time\ndef f(): return 4", "error", "commands for the notebook"),
        ("x = [7\n % 4]\ndef f(): return x[0] + 1", "passed", ""),
        ("def f(:\n    pass", "error", "SyntaxError: invalid syntax, in line 1 of f: def f(:"),
        (
            "display(1)\nfrom dataclasses import dataclass\n@dataclass\nclass A:\n    x: 'int'\ndef f(): return A(4).x",
            "passed",
            "",
        ),
        ("from asynclab import PipelineModel\ndef f(): return 4", "passed", ""),
        ("def f(): return (4,)[0] if __name__ == '__main__' else 0", "passed", ""),
    ],
)
def test_cells_are_taken_as_a_notebook_takes_them(source: str, outcome: str, says: str):
    """Commands on lines of their own are dropped; what cannot be run says why."""
    found = verdict(calling("f"), source)

    assert found.outcome == outcome, found
    assert says in found.message


def test_process_beside_runs_the_reference_apart():
    """The submission sees neither it nor what it does, and it ends with the question."""

    def ask(student: Student) -> Verdict:
        reference = student.beside("def f(): return 4")
        return passed() if student.call("f") == reference.call("f") else failed("no")

    assert outcomes([asking(ask)] * 2, {"f": "def f(): return 4"}) == ["passed", "passed"]


def test_values_that_cannot_be_passed_are_the_questions_fault():
    """An array of a framework that this interpreter has not is told as an import's error."""
    nan = asking(lambda student: student.call("f", float("nan")))
    array = asking(lambda student: student.call("f", Array((1,), "float32", (1.0,))))

    assert "cannot be passed" in verdict(nan, "def f(x): return 4").private
    assert "No module named 'torch'" in verdict(array, "def f(x): return 4").message


def test_judging_ends_where_there_is_no_jail():
    """That is no student's mistake: the batch stops."""
    with pytest.raises(CourseworkError):
        judged([calling("f")], {"f": "def f(): return 4"}, "pytorch", jail=Jail(Path("/nowhere/python")))
