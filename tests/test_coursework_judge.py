"""Judging: what a question sees of a submission, and how each ends."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
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
    student,
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


def test_submission_that_ends_its_process_again_and_again_is_ended(monkeypatch: pytest.MonkeyPatch):
    """Each start takes seconds that are not the submission's own; some are for everybody, endlessly many for nobody."""
    monkeypatch.setattr(student, "STARTS", 4)
    bad = {f"cell {n}": f"import os\nos._exit({n})" for n in range(9)}
    f = {"f": "def f():\n    return 4"}
    some, many = dict(list(bad.items())[:3]), bad
    found = judged([calling("f")] * 2, {**many, **f}, "pytorch", jail=JAIL).verdicts

    assert outcomes([calling("f")], {**some, **f}) == ["passed"]
    assert [verdict.outcome for _, verdict, _ in found] == ["crashed", "crashed"]
    assert "4 times; it is not started again" in found[0][1].message


def test_imports_have_seconds_of_their_own_and_no_more():
    """A submission that lets them hang is told so, and does not hold up the others for each question once more."""
    source = "import importlib, time\nimportlib.import_module = lambda _name: time.sleep(60)\ndef f(x):\n    return 4"
    questions = [calling("f", Array((1,), "float32", (1.0,)))] * 8
    began = time.monotonic()
    done = judged(questions, {"f": source}, "pytorch", Limits(import_s=2), JAIL)
    elapsed_s = time.monotonic() - began

    messages = [verdict.message for _, verdict, _ in done.verdicts]
    assert {verdict.outcome for _, verdict, _ in done.verdicts} == {Outcome.TIMEOUT}
    assert messages[0] == "It took longer than the time limit of 2 seconds for imports."
    assert messages[-1] == "The 3 seconds for starting its process and for imports were used up before."
    assert elapsed_s < 6


@pytest.fixture
def slow_python(tmp_path: Path) -> Path:
    """An interpreter whose framework takes long to import."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    (packages,) = (tmp_path / "env" / "lib").glob("python3*/site-packages")
    (packages / "torch.py").write_text("import time\ntime.sleep(0.7)")
    return tmp_path / "env" / "bin" / "python"


def test_slow_imports_cost_an_ordinary_submission_nothing(slow_python: Path):
    """Not even if answers end its process, so that it imports again: its own time does not pay for it."""
    answers = {
        "set-up": "import torch",
        "g": "import os\ndef g():\n    os._exit(0)",
        "h": "def h():\n    while True: pass",
        "f": "def f(): return 4",
    }
    questions = [calling(name) for name in "fgfhf"]
    done = judged(questions, answers, "pytorch", Limits(call_s=0.5, total_s=2), Jail(slow_python))

    outcomes = [str(verdict.outcome) for _, verdict, _ in done.verdicts]
    assert outcomes == ["passed", "crashed", "passed", "timeout", "passed"]


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


class Sleeper:
    """An object that takes as long as the student's code says."""

    def sleep(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)


def test_time_limit_holds_for_what_an_object_outside_does():
    """A submission cannot have the grader itself sleep, and the next question begins afresh."""
    ask = asking(lambda student: student.call("f", Remote(Sleeper(), ("sleep",))) or passed())
    answers = {"f": "def f(sleeper):\n    sleeper.sleep(0.1)\n    sleeper.sleep(5)", "g": "def g(): return 4"}
    (_, first, first_s), (_, second, _) = judged([ask, calling("g")], answers, "mxnet", QUICK, JAIL).verdicts

    assert (first.outcome, second.outcome) == ("timeout", "passed")
    assert first.message == "It took longer than the time limit of 0.7 seconds."
    assert first_s < 3


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
    """What goes to stdout and stderr changes no reply, and is shown if a cell printed it, without a line's end, too."""
    source = "import sys\nprint('out')\nprint('err', file=sys.stderr)\ndef f(): return 4\nprint('end', end='')"

    done = judged([calling("f")], {"f": source}, "pytorch", jail=JAIL)

    assert done.verdicts[0][1].outcome == "passed"
    assert done.output == "out\nerr\nend"


def test_what_functions_print_when_questions_call_them_is_not_shown():
    """It would carry hidden inputs to the student's own page; what cells print in a process begun anew is kept."""
    cells = {
        "f": "import os\nprint('cell f')\ndef f(x): print('hidden input', x, flush=True); return 4",
        "g": "print('cell g')\ndef g(x): print('hidden', x, flush=True); os._exit(1)",
    }

    done = judged([calling("f", 17), calling("g", 18), calling("f", 19)], cells, "pytorch", jail=JAIL)

    assert "hidden" not in done.output
    assert done.output.startswith("cell f\ncell g\n")


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
