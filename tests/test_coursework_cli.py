"""The command line from end to end, on an exercise that it made itself, in the real jail where there is one."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from handins import written, zipped

from coursework.__main__ import main

SLUG = "wait-less-often"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in an empty folder; gives status, output and errors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exercises").mkdir()

    def command(*arguments: object) -> tuple[int, str, str]:
        status = main([str(argument) for argument in arguments])
        told = capsys.readouterr()
        return status, told.out, told.err

    return command


@pytest.fixture
def made(run: Run) -> Run:
    """The same, with an exercise that was handed out for PyTorch."""
    assert run("new", SLUG)[0] == 0
    status, out, err = run("assign", SLUG, "--framework", "pytorch")
    assert (status, err) == (0, "")
    assert f"course/assigned/{SLUG}.pytorch.ipynb" in out
    return run


def answered(**answers: str) -> bytes:
    """The notebook that was handed out, with answers in it."""
    notebook = json.loads(Path(f"course/assigned/{SLUG}.pytorch.ipynb").read_text("utf8"))
    for cell in notebook["cells"]:
        name = cell["metadata"].get("coursework", {}).get("answer")
        if name in answers:
            cell["source"] = answers[name]
    return json.dumps(notebook).encode()


def constant() -> int:
    """The value that was drawn for this course."""
    text = Path(f"course/assigned/{SLUG}.pytorch.ipynb").read_text("utf8")
    return int(text.split("every = ")[1].split()[0].rstrip('\\n",'))


def rows(path: str) -> dict[str, dict[str, str]]:
    """A table by student."""
    with Path(path).open(encoding="utf8", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="no bubblewrap")
def test_assign_collect_grade_return_forget(made: Run, tmp_path: Path):
    """An exercise is made, handed out, collected, graded in the jail, marked, returned and forgotten."""
    right = f"# answer: number_of_waits\ndef number_of_waits(n):\n    return n // {constant()}"
    why = "<!-- answer: why -->\nIt need not."
    files = {
        "doejane_1_11_x.ipynb": answered(number_of_waits=right, why=why),
        "leeann_2_12_x.ipynb": answered(number_of_waits=f"{right} + 1"),
        "poesam_3_13_x.ipynb": answered(),
    }
    written(tmp_path / "in.zip", zipped(files))
    python = f"pytorch={sys.executable}"

    collected = made("collect", SLUG, "in.zip")
    graded = made("grade", "-j", 2, "--python", python)
    marks = Path("course/marks.csv").read_text("utf8")
    written(Path("course/marks.csv"), marks.replace("why,,", "why,1,"))
    again = made("grade", "--python", python)
    sheet = f"Student,ID,{SLUG} (5)\nPoints Possible,,\nDoe Jane,1,\nLee Ann,2,\nPoe Sam,3,\n"
    written(tmp_path / "sheet.csv", sheet)
    most = rows("course/grades/grades.csv")["doejane"]["max_points"]
    returned = made("return", SLUG, "--sheet", "sheet.csv")
    forgotten = made("forget", "leeann", "--yes")

    assert (collected[0], collected[1].splitlines()[-3]) == (0, f"{SLUG}: 3 collected")
    assert "3 of 3 hand-ins are of nobody in course/roster.csv" in collected[1].splitlines()[-1]
    assert (graded[0], graded[2]) == (0, "")
    assert "1 answers wait" in graded[1]
    assert "0 graded, 3 unchanged" in again[1]
    assert returned[0] == 0
    assert Path(f"course/returned/{SLUG}/sheet.csv").read_text("utf8").splitlines()[2] == f"Doe Jane,1,{most}"
    assert forgotten[0] == 0
    points = {name: row["points"] for name, row in rows("course/grades/grades.csv").items()}
    assert points == {"doejane": most, "poesam": "0"}
    assert "thinks that a wait begins the loop" in Path("course/grades/wait-less-often.pytorch/_wrong.json").read_text()


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="no bubblewrap")
def test_a_class_that_handed_in_nothing_usable_still_has_rows(made: Run, tmp_path: Path):
    """Everyone has a row with no points, even if not one file can be graded."""
    written(Path("course/roster.csv"), "student\nann\nbob\n")
    written(tmp_path / "in.zip", zipped({"ann.ipynb": b"{"}))
    made("collect", SLUG, "in.zip")

    status, _, err = made("grade", *(f"--python={name}={sys.executable}" for name in ("pytorch", "mxnet")))

    assert (status, err) == (0, "")
    found = {name: (row["status"], row["points"]) for name, row in rows("course/grades/grades.csv").items()}
    assert found == {"ann": ("unreadable", "0"), "bob": ("missing", "0")}


def test_collect_tells_the_exercise_from_the_notebooks(made: Run, tmp_path: Path):
    """Without a name, the exercise is the one that most notebooks are of; without any stamp, it is asked for."""
    written(tmp_path / "in.zip", zipped({"ann.ipynb": answered(), "bob.ipynb": b"{"}))
    written(tmp_path / "none.zip", zipped({"bob.ipynb": b"{"}))

    assert f"{SLUG}: 1 collected, 1 unreadable" in made("collect", "in.zip")[1]
    status, _, err = made("collect", "none.zip")
    assert (status, "say which exercise it is" in err) == (2, True)


def test_forget_asks_first(made: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Without --yes nothing is deleted until somebody says so."""
    written(tmp_path / "in.zip", zipped({"ann.ipynb": answered()}))
    made("collect", "in.zip")

    status, out, _ = made("forget", "ann")

    assert status == 1
    assert "course/submissions/ann" in out
    assert "collecting the same download again brings this person back" in out
    assert Path("course/submissions/ann").is_dir()


def test_assign_says_what_to_hand_out(made: Run):
    """Without a site the zip is what works, and that is said; with one the notebook does."""
    alone = made("assign", SLUG, "--framework", "pytorch", "--force")[1]
    with_site = made("assign", SLUG, "--framework", "pytorch", "--force", "--site", "https://course.org")[1]

    assert alone.splitlines()[-1].startswith("Hand out the zip, not the bare notebook")
    assert "Hand out" not in with_site


def test_a_correction_without_a_reason_is_told_and_counts(made: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It is a warning with its line: the exit status stays 0."""
    monkeypatch.setattr("coursework.judge.judge", lambda *_: ([], ""))
    written(tmp_path / "in.zip", zipped({"ann.ipynb": answered()}))
    made("collect", "in.zip")
    written(Path("course/overrides.csv"), f"student,slug,question,points,reason\nann,{SLUG},number_of_waits,1,\n")

    status, _, err = made("grade", "--python", f"pytorch={sys.executable}")

    assert (status, "overrides.csv:2: this correction has no reason" in err) == (0, True)
    assert rows("course/grades/grades.csv")["ann"]["points"] == "1"


@pytest.mark.parametrize(
    ("arguments", "status", "why"),
    [
        ([], 2, "Usage"),
        (["grade", "--nonsense"], 2, "--nonsense"),
        (["grade", "-j", "0"], 2, "-j"),
        (["assign", SLUG], 2, "--framework"),
        (["collect", SLUG, "nowhere.zip"], 2, "nowhere.zip"),
        (["collect", SLUG, "exercises", "--due", "soon"], 2, "soon"),
        (["grade"], 1, "nothing was collected"),
        (["return", SLUG], 1, "Grade it first"),
        (["return", "no-such-exercise"], 1, "no-such-exercise"),
        (["forget", "nobody"], 1, "nobody"),
        (["new", "Not A Slug"], 1, "Not A Slug"),
        (["collect", SLUG, "exercises", "--framework", "jax"], 2, "jax"),
    ],
)
def test_what_cannot_be_done_is_said(made: Run, arguments: list[str], status: int, why: str):
    """A wrong call ends with 2, what could not be done with 1; both say what it was, without a traceback."""
    got = made(*arguments)

    assert got[0] == status
    assert why in got[1] + got[2]
    assert "Traceback" not in got[2]


def test_a_missing_interpreter_is_said_before_grading(made: Run, tmp_path: Path):
    """No environment for the framework is told with its remedy; a wrong form is a wrong call."""
    written(tmp_path / "in.zip", zipped({"ann.ipynb": answered()}))
    made("collect", "in.zip")

    status, _, err = made("grade")
    wrong = made("grade", "--python", "python3")

    assert (status, "--python pytorch=PATH" in err) == (1, True)
    assert (wrong[0], "FRAMEWORK=PATH" in wrong[2]) == (2, True)


def test_marks_that_cannot_be_read_stop_before_grading(made: Run, tmp_path: Path):
    """An hour of grading is not spent on what a table without columns would undo."""
    written(tmp_path / "in.zip", zipped({"ann.ipynb": answered()}))
    made("collect", "in.zip")
    written(Path("course/marks.csv"), "a,b\n")

    status, _, err = made("grade", "--python", f"pytorch={sys.executable}")

    assert (status, "marks.csv:1" in err) == (1, True)
    assert not Path("course/grades").exists()


@pytest.mark.parametrize(
    "command", ["", "new", "assign", "collect", "grade", "return", "forget", "verify", "export", "doctor"]
)
def test_every_command_explains_itself(run: Run, command: str):
    """Help is there for all commands, in sentences."""
    status, out, _ = run(*filter(None, [command, "-h"]))

    assert status == 0
    assert "Usage: python -m coursework" in out


def test_help_needs_no_more_than_click():
    """Asking for help does not wait for Jupyter's libraries or Jinja."""
    code = (
        "import sys; from coursework.__main__ import main; main(['-h']); "
        "print([n for n in ('nbformat', 'jupytext', 'jinja2') if n in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ), timeout=60
    )

    assert done.stderr.strip() == "[]"
