"""Recorded runs: small files that a diff can show, read back whole, and refused once they are not what was written."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from books import displayed, page, printed, run_of

from polybook.errors import ConfigError
from polybook.recorded import RecordedRuns, read_recorded, recording_name, write_recorded
from polybook.run import Run
from polybook.split import split

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SVG = '<svg xmlns="http://www.w3.org/2000/svg">\n<circle r="1"/>\n</svg>\n'


@pytest.fixture
def run() -> Run:
    """A run with text of several lines, pictures and data."""
    outputs = [
        printed("one\r\ntwo\x0cé😀\u2028three"),
        displayed({"image/png": base64.encodebytes(PIXEL).decode(), "text/plain": "<Figure>"}),
        displayed({"image/svg+xml": SVG, "application/json": {"a": ["b"]}, "text/plain": ""}),
        displayed({"image/png": "no-base64!"}),
        displayed({"text/plain": ["in\n", "pieces"]}),
        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["a\nb", "c"]},
    ]
    return run_of(split(page(["x", "y"]), "pytorch"), {0: outputs})


def files(folder: Path) -> list[str]:
    """Every file below a folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_what_is_recorded_is_read_back(run: Run, tmp_path: Path):
    """A run comes back as it was, but for the line breaks inside of an encoded picture."""
    path, changed = write_recorded(run, tmp_path / "runs" / "h200")

    (found,) = RecordedRuns(tmp_path / "runs").found
    assert changed
    assert (found.name, found.path) == ("h200", path)
    back = found.run.cells[0]["outputs"]
    assert base64.b64decode(back[1]["data"].pop("image/png")) == PIXEL
    expected = [dict(output) for output in run.cells[0]["outputs"]]
    expected[1] = displayed({"text/plain": "<Figure>"})
    expected[4] = displayed({"text/plain": "in\npieces"})
    assert back == expected
    assert found.run.cells[1:] == run.cells[1:]
    assert found.run.started == run.started


def test_pictures_lie_beside(run: Run, tmp_path: Path):
    """A picture is a file that one can look at; text stands in the JSON, a line a line."""
    write_recorded(run, tmp_path)

    pictures = ["page.pytorch.pictures/cell-01-1.png", "page.pytorch.pictures/cell-01-2.svg"]
    assert files(tmp_path) == ["page.pytorch.json", *pictures]
    assert (tmp_path / "page.pytorch.pictures" / "cell-01-1.png").read_bytes() == PIXEL
    data = json.loads((tmp_path / "page.pytorch.json").read_text("utf8"))
    assert data["cells"][0]["outputs"][0]["text"] == ["one\r\n", "two\x0cé😀\u2028three"]
    assert data["cells"][0]["outputs"][1]["data"]["image/png"] == {"file": "cell-01-1.png"}


def test_recording_again_changes_nothing(run: Run, tmp_path: Path):
    """The same run gives the same bytes, whether it comes from a kernel or was read back."""
    path, _ = write_recorded(run, tmp_path)
    before = path.read_bytes()

    _, changed = write_recorded(read_recorded(path, "h200").run, tmp_path)

    assert not changed
    assert path.read_bytes() == before


def test_pictures_of_an_earlier_run_are_removed(run: Run, tmp_path: Path):
    """Nothing is left of the run that was replaced."""
    write_recorded(run, tmp_path)

    write_recorded(run_of(split(page(["x", "y"]), "pytorch")), tmp_path)

    assert files(tmp_path) == ["page.pytorch.json"]
    assert not (tmp_path / "page.pytorch.pictures").exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda _: "",
        lambda _: "[]",
        lambda text: text.replace('"one', '"two'),
        lambda text: f"<<<<<<< HEAD\n{text}",
        lambda text: text.replace('"cell-01-1.png"', '"../../secret"'),
        lambda text: text.replace('"outputs": [', '"outputs": [3, '),
        lambda text: text.replace('"elapsed_s": 1.0', '"elapsed_s": 0.1'),
        lambda text: text.replace('"schema": 3', '"schema": 99'),
        lambda text: text.replace('"digest"', '"digits"'),
        lambda _: '{"schema": 3, "cells": [7]}',
    ],
)
def test_damaged_file_is_told_and_ignored(run: Run, tmp_path: Path, damage: Callable[[str], str]):
    """A file that was torn or edited is no run; the message names it and what to do."""
    path, _ = write_recorded(run, tmp_path / "runs" / "h200")
    text = path.read_text("utf8")
    path.write_text(damage(text), "utf8")
    assert path.read_text("utf8") != text

    runs = RecordedRuns(tmp_path / "runs")

    assert runs.found == []
    (problem,) = runs.problems
    assert "runs/h200/page.pytorch.json cannot be used and is ignored" in problem
    assert "git checkout -- runs/h200/page.pytorch.json" in problem


@pytest.mark.parametrize("damage", [b"", b"not a picture"])
def test_damaged_picture_is_told(run: Run, tmp_path: Path, damage: bytes):
    """A picture belongs to the run: another one, or none, is no longer what was recorded."""
    write_recorded(run, tmp_path / "runs" / "h200")
    picture = tmp_path / "runs" / "h200" / "page.pytorch.pictures" / "cell-01-1.png"
    picture.write_bytes(damage)
    changed = RecordedRuns(tmp_path / "runs")
    picture.unlink()
    removed = RecordedRuns(tmp_path / "runs")

    assert "its content is not what was recorded" in changed.problems[0]
    assert "cell-01-1.png: No such file" in removed.problems[0]


def test_folder_of_another_page_is_left_alone(run: Run, tmp_path: Path):
    """A page's pictures and a folder of pages never meet, whatever the pages are called."""
    inner = dataclasses.replace(run, page="page.pytorch/inner")
    write_recorded(inner, tmp_path)

    write_recorded(run_of(split(page(["x", "y"]), "pytorch")), tmp_path)

    assert "page.pytorch/inner.pytorch.json" in files(tmp_path)


def test_runs_are_found_by_code_and_by_page(run: Run, tmp_path: Path):
    """What is shown goes by the code, what is stale by the page."""
    write_recorded(run, tmp_path / "runs" / "h200")
    runs = RecordedRuns(tmp_path / "runs")

    assert [item.name for item in runs.of_code("pytorch", run.code)] == ["h200"]
    assert runs.of_code("mxnet", run.code) == runs.of_code("pytorch", "0") == []
    assert [item.name for item in runs.of_page("page", "pytorch")] == ["h200"]


@pytest.mark.parametrize("folder", ["runs", "runs/a/b", "other/h200", "runs/H 200", "runs/../x"])
def test_runs_are_recorded_where_they_are_looked_for(tmp_path: Path, folder: str):
    """Any other folder would be written and never read."""
    with pytest.raises(ConfigError, match=f"--record {folder}: runs are recorded into a folder of runs/"):
        recording_name(tmp_path / folder, tmp_path / "runs", folder)


def test_recording_has_the_name_of_its_folder(tmp_path: Path):
    """The machine is named by the folder."""
    assert recording_name(tmp_path / "runs" / "h200", tmp_path / "runs", "runs/h200") == "h200"
