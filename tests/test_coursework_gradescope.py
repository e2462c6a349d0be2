"""The archive for Gradescope, set up and run in a tree that stands in for its container."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest

from coursework import assign, drawing, percent
from coursework.exercise import Exercise, Places, load
from coursework.export import gradescope

REPOSITORY = Path(__file__).parents[1]
PLACES = Places(REPOSITORY / "exercises")
SLUG, FRAMEWORK = "bound-the-queue", "pytorch"
SYSTEM_PYTHON = "/usr/bin/python3.11"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="Gradescope runs it as root, which changes to another user")


@pytest.fixture(scope="module")
def exercise() -> Exercise:
    """The exercise that is exported."""
    return load(SLUG, PLACES)


@pytest.fixture(scope="module")
def container(exercise: Exercise) -> Iterator[Path]:
    """What Gradescope's container holds after its set-up; any user may pass, as there."""
    root = Path(tempfile.mkdtemp(prefix="gradescope-"))
    root.chmod(0o755)
    drawing.course(root / "course", make=True)
    archive = gradescope(SLUG, FRAMEWORK, root / "exported", root / "course", PLACES)
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(root / "autograder" / "source")
    done = subprocess.run(
        ["bash", root / "autograder/source/setup.sh"], env=environment(root), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    shutil.copy(root / "autograder/source/run_autograder", root / "autograder/run_autograder").chmod(0o755)
    yield root
    shutil.rmtree(root)


def environment(root: Path) -> dict[str, str]:
    """Where things are in the stand-in; an interpreter that every user can read."""
    uv = os.environ.get("UV") or shutil.which("uv") or str(REPOSITORY / ".venv-uv/bin/uv")
    places = {"AUTOGRADER": str(root / "autograder"), "PREFIX": str(root / "opt"), "UV": uv, "PYTHON": SYSTEM_PYTHON}
    return {**os.environ, **places}


@pytest.fixture
def run(container: Path, exercise: Exercise) -> Callable[..., dict[str, object]]:
    """Hand a notebook in with some answers, and give what ``results.json`` says."""

    def hand_in(
        answers: dict[str, str] | None, name: str = "anything.ipynb", cell: str = "", more: str = ""
    ) -> dict[str, object]:
        autograder = container / "autograder"
        for folder in ("submission", "results"):
            shutil.rmtree(autograder / folder, ignore_errors=True)
            (autograder / folder).mkdir()
        if answers is not None:
            offering = drawing.offering(exercise, FRAMEWORK, drawing.course(container / "course").seed)
            notebook = percent.submission(assign.notebook(exercise, FRAMEWORK, offering), answers)
            if cell:
                notebook.cells.insert(2, nbformat.v4.new_code_cell(cell))
            for path, content in ((name, nbformat.writes(notebook)), *([(more, "{}")] if more else [])):
                (autograder / "submission" / path).parent.mkdir(exist_ok=True)
                (autograder / "submission" / path).write_text(content, "utf8")
        done = subprocess.run(
            [autograder / "run_autograder"], cwd=autograder, env=environment(container), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads((autograder / "results" / "results.json").read_text("utf8"))

    return hand_in


def test_archive_holds_what_gradescope_asks_for(container: Path):
    """``setup.sh`` and ``run_autograder`` stand at its top and can be run."""
    with zipfile.ZipFile(next((container / "exported").glob("*.zip"))) as archive:
        modes = {info.filename: info.external_attr >> 16 & 0o777 for info in archive.infolist()}

    assert modes["setup.sh"] == modes["run_autograder"] == 0o755
    assert modes["exercises/bound-the-queue/teacher/checks.py"] == 0o644


def test_right_answers_get_all_points(run: Callable[..., dict[str, object]], exercise: Exercise):
    """The solution, under any name, gets full points, in the documented form of a result."""
    found = run(percent.solution(exercise, FRAMEWORK))

    assert found["score"] == exercise.points
    assert {test["status"] for test in found["tests"]} == {"passed"}
    assert set(found) <= {"score", "execution_time", "output", "output_format", "stdout_visibility", "tests"}
    keys = {"name", "score", "max_score", "output", "output_format", "visibility", "status"}
    assert all(set(test) <= keys for test in found["tests"])


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("week1/queue.ipynb", "week2/notes.ipynb"),
        ("hw_2_3_final.ipynb", "2026_01_15_notes.ipynb"),
        ("Ann Lee_12_assignsubmission_file_x.ipynb", ".git/HEAD"),
    ],
)
def test_no_name_hides_what_was_handed_in(
    run: Callable[..., dict[str, object]], exercise: Exercise, name: str, more: str
):
    """Folders, and names like a platform's, do not matter: all that is there is the one student's."""
    assert run(percent.solution(exercise, FRAMEWORK), name, more=more)["score"] == exercise.points


def test_wrong_answers_get_their_points(run: Callable[..., dict[str, object]], exercise: Exercise):
    """A known wrong answer gets there what it gets here."""
    wrong = percent.wrong(exercise, FRAMEWORK)[0]

    assert run(dict(wrong.answers))["score"] == wrong.points


def test_nothing_handed_in_is_told(run: Callable[..., dict[str, object]]):
    """An empty hand-in gets a result all the same, with a sentence."""
    found = run(None)

    assert found["score"] == 0
    assert "No notebook of this assignment" in str(found["output"])


def test_submission_can_read_no_secret_and_write_no_result(
    run: Callable[..., dict[str, object]], exercise: Exercise, container: Path
):
    """The student's code runs as another user: neither questions nor seed can be read, nor results written."""
    autograder = container / "autograder"
    secret = [f"source/exercises/{SLUG}/teacher/checks.py", "source/course/offering.toml", "source/assignment.txt"]
    attack = f"""# answer: train
import os
got = []
for path, mode in {[*((name, "r") for name in secret), ("results/results.json", "w"), ("source/new", "w")]}:
    try:
        open(os.path.join({str(autograder)!r}, path), mode)
        got.append(path)
    except PermissionError:
        pass
raise ValueError(f"user {{os.getuid() > 0}}, got {{got}}")
"""
    found = run({"train": attack})

    told = json.dumps(found)
    assert found["score"] == 0
    assert "ValueError: user True, got []" in told


def test_stand_in_is_made_by_the_project_alone():
    """The interpreter that the stand-in needs is there; without it these tests would prove nothing."""
    assert Path(SYSTEM_PYTHON).exists() or sys.version_info[:2] != (3, 11)
