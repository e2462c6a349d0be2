"""The command line from end to end, on an exercise that it made itself, in the real jail where there is one."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from handins import Run, command_line, written, zipped

from coursework.alone import alone
from coursework.course import Course
from coursework.errors import CourseError
from coursework.forget import forget
from coursework.overview import Notes

SLUG = "wait-less-often"


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in an empty folder; gives status, output and errors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exercises").mkdir()
    return command_line(capsys)


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
    assert "doejane  3/4 so far, to be marked" in graded[1]
    assert "3 graded, 0 unchanged, 3 results in all, 1 of them to be marked\n1 answer waits for points" in graded[1]
    assert "3 unchanged, 3 results in all\n" in again[1]
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


def test_forget_takes_a_full_name(made: Run, tmp_path: Path):
    """It says which pseudonym that is before it asks, and asks for that."""
    written(Path("course/roster.csv"), "student,name\ns03,Emmy Noether\n")
    written(tmp_path / "in.zip", zipped({"s03.ipynb": answered()}))
    made("collect", "in.zip")

    asked = made("forget", "Emmy Noether")
    done = made("forget", "Emmy Noether", "--yes")

    assert (asked[0], asked[1].splitlines()[0]) == (1, "course/roster.csv: by this name it is s03")
    assert "Delete all of s03 for good" in asked[1]
    assert (done[0], done[2]) == (0, "")
    assert Path("course/roster.csv").read_text("utf8") == "student,name\n"


def test_return_tells_what_changes(made: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Each grade that is replaced has a line; where nothing was filled in, the status is 1. No name is shown."""
    monkeypatch.setattr("coursework.judge.judge", lambda *_: ([], ""))
    written(Path("course/roster.csv"), "student,name\ns01,Ada Lovelace\ns02,Alan Turing\ns03,Emmy Noether\n")
    written(tmp_path / "in.zip", zipped({f"s0{n}.ipynb": answered() for n in (1, 2, 3)}))
    made("collect", "in.zip")
    made("grade", "--python", f"pytorch={sys.executable}")
    head = "Identifier,Full name,Grade,Maximum Grade\n"
    lines = "Participant 5,Ada Lovelace,7.00,4.00\nParticipant 6,Alan Turing,0.00,4.00\nParticipant 7,Emmy Noether,,4\n"
    written(tmp_path / "sheet.csv", head + lines + "Participant 8,Sue Stranger,,4.00\n")
    written(tmp_path / "other.csv", f"{head}Participant 9,Sue Stranger,,4.00\n")

    status, out, err = made("return", SLUG, "--sheet", "sheet.csv")
    nothing = made("return", SLUG, "--sheet", "other.csv")

    assert status == 0
    assert "s01: 7.00 -> 0.00 (line 2)\n3 grades filled in: 1 new, 1 changed, 1 unchanged\n" in out
    assert (nothing[0], "0 grades filled in\n" in nothing[1]) == (1, True)
    names = ("Lovelace", "Turing", "Noether", "Stranger")
    assert [name for name in names if name in out + err + nothing[1] + nothing[2]] == []


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


def test_commands_take_turns(made: Run, tmp_path: Path):
    """While a course is being graded, every command that would change its folder says so and does nothing."""
    written(tmp_path / "in.zip", zipped({"ann.ipynb": answered()}))
    made("collect", "in.zip")
    before = sorted(Path("course").rglob("*"))

    with alone(Course(Path("course")), "grade"):
        told = [
            made(*words)
            for words in (
                ["collect", SLUG, "in.zip"],
                ["grade", f"--python=pytorch={sys.executable}"],
                ["return", SLUG],
                ["forget", "ann", "--yes"],
            )
        ]

    assert [(status, out) for status, out, _ in told] == [(1, "")] * 4
    assert all(f"being graded already (coursework grade: process {os.getpid()} on" in err for _, _, err in told)
    assert sorted(Path("course").rglob("*")) == before


def test_grading_keeps_its_turn_until_all_is_written(made: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Nobody is forgotten between the last result and the tables, which would name the person again."""
    monkeypatch.setattr("coursework.judge.judge", lambda *_: ([], ""))
    written(tmp_path / "in.zip", zipped({"ann.ipynb": answered()}))
    made("collect", "in.zip")
    told: list[str] = []

    def meanwhile(*_: object) -> tuple[list[object], Notes]:
        with pytest.raises(CourseError) as caught:
            forget(Course(Path("course")), "ann")
        told.append(str(caught.value))
        return [], Notes([], 0)

    monkeypatch.setattr("coursework.overview.finish", meanwhile)

    assert made("grade", "--python", f"pytorch={sys.executable}")[0] == 0
    assert ["being graded already" in one for one in told] == [True]


def test_forget_says_what_it_did_not_look_into(made: Run, tmp_path: Path):
    """Notes beside the course's files are named; a download that cannot be read makes the status 1."""
    written(tmp_path / "in.zip", zipped({"ann.ipynb": answered(), "bob.ipynb": answered()}))
    made("collect", "in.zip")
    written(Path("course/notes.txt"), "ann")

    first = made("forget", "ann", "--yes")
    written(Path("course/submissions.zip"), "PK")
    second = made("forget", "bob", "--yes")

    assert (first[0], first[2]) == (0, "")
    assert "course/notes.txt: is not the course's own" in first[1]
    assert "course/assigned" not in first[1]
    assert (second[0], "course/submissions.zip: cannot be looked into" in second[2]) == (1, True)
    assert not Path("course/submissions/bob").exists()


def test_return_says_whom_it_found_by_pseudonym(made: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """One line names those whose login alone led to their row."""
    monkeypatch.setattr("coursework.judge.judge", lambda *_: ([], ""))
    written(tmp_path / "in.zip", zipped({"ann.ipynb": answered()}))
    made("collect", "in.zip")
    made("grade", "--python", f"pytorch={sys.executable}")
    written(tmp_path / "sheet.csv", f'Student,ID,SIS Login ID,{SLUG} (5)\n"Lee, A.",2,ann,\n')

    status, out, err = made("return", SLUG, "--sheet", "sheet.csv")

    assert (status, "1 grade filled in: 1 new" in out) == (0, True)
    assert "sheet.csv: found by the pseudonym alone, which is their login or name there: ann." in err


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
    "command", ["", "new", "assign", "roster", "collect", "grade", "return", "forget", "verify", "export", "doctor"]
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
