"""A course's own teachers' parts and overlay, by the command line: said once, they hold for all that follows."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from pathlib import Path

import pytest
from handins import Run, command_line, written, zipped

PUBLIC, PRIVATE = "public-one", "private-one"


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in a folder with two exercises, of which one has its teacher's part apart."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exercises").mkdir()

    command = command_line(capsys)
    assert "is as public as it is" in command("new", PUBLIC)[1]
    status, out, _ = command("new", PRIVATE, "--teacher", "private")
    assert (status, "public as" in out, Path("private", PRIVATE, "checks.py").is_file()) == (0, False, True)
    return command


def points() -> dict[tuple[str, str], tuple[str, str]]:
    """Points and the most of them, by student and exercise."""
    with Path("course/grades/grades.csv").open(encoding="utf8", newline="") as file:
        return {(row["student"], row["slug"]): (row["points"], row["max_points"]) for row in csv.DictReader(file)}


def answered(slug: str) -> bytes:
    """The notebook that was handed out, with the right function in it."""
    notebook = json.loads(Path(f"course/assigned/{slug}.pytorch.ipynb").read_text("utf8"))
    texts = ["".join(cell["source"]) for cell in notebook["cells"]]
    every = next(line for text in texts for line in text.split("\n") if line.startswith("every ="))
    for cell, text in zip(notebook["cells"], texts, strict=True):
        if cell["metadata"].get("coursework", {}).get("answer") == "number_of_waits":
            cell["source"] = f"{text.partition('    raise')[0]}    {every}\n    return n // every\n"
    return json.dumps(notebook).encode()


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="no bubblewrap")
def test_a_mixed_course_is_graded_without_saying_it_again(run: Run, tmp_path: Path):
    """One exercise's questions lie apart, the other's points are the course's own; no later command is told so."""
    written(tmp_path / "ours" / f"{PUBLIC}.yml", "points: {number_of_waits: 7}")
    assigned = run("assign", PUBLIC, PRIVATE, "--framework", "pytorch", "--teacher", "private", "--overlay", "ours")
    for slug in (PUBLIC, PRIVATE):
        run("collect", slug, written(tmp_path / f"{slug}.zip", zipped({"ann.ipynb": answered(slug)})))

    status, _, err = run("grade", "--python", f"pytorch={sys.executable}")
    again = run("grade", "--python", f"pytorch={sys.executable}")

    assert "`--overlay ours` holds for all commands from now on" in assigned[1]
    assert (status, err) == (0, "")
    assert points() == {("ann", PUBLIC): ("7", "8"), ("ann", PRIVATE): ("3", "4")}
    assert "0 graded, 2 unchanged" in again[1]
