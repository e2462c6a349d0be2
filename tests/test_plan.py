"""A plan is run where neither Sphinx nor the book's environments are, and what comes back is shown by the book."""

from __future__ import annotations

import getpass
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from books import REPOSITORY, Book, cell, page_text, run, tabs

from polybook.__main__ import main
from polybook.circumstances import environment_differences, pinned_versions
from polybook.errors import ConfigError
from polybook.options import Framework
from polybook.plan import read_plan

MakeBook = Callable[..., Book]

#: What a recording host has to have besides Python, by name; the pins say which release.
CARRIED = ("ipykernel", "nbclient")
CODE = "import os, sys, lab\nprint(lab.NAME, os.getcwd(), sys.executable, __file__ if '__file__' in globals() else '')"


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages that are carried to a recording host, without what only the chapters import."""
    folder = tmp_path_factory.mktemp("carried")
    uv = os.environ.get("UV") or shutil.which("uv") or str(REPOSITORY / ".venv-uv" / "bin" / "uv")
    constraints = str(REPOSITORY / "requirements" / "recorder.txt")
    subprocess.run(
        [uv, "pip", "install", "-q", "--python", sys.executable, "--target", str(folder), "-c", constraints, *CARRIED],
        check=True,
    )  # fmt: skip
    return folder


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter whose environment holds nothing at all."""
    folder = tmp_path_factory.mktemp("bare") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin" / "python"


@pytest.fixture
def book(make_book: MakeBook) -> Book:
    """A book whose cells import its own package and print paths."""
    book = make_book(page=page_text(cell(CODE, "alpha"), cell("print('b')", "beta")))
    (book.root / "lab" / "__init__.py").write_text("NAME = 'lab'\n")
    return book


@pytest.fixture
def host(book: Book, tmp_path: Path) -> Path:
    """A folder on the recording host: the plan, polybook and the book's package, nothing else of the book."""
    folder = tmp_path / "host"
    shutil.copytree(REPOSITORY / "src" / "polybook", folder / "src" / "polybook")
    shutil.copytree(book.root / "lab", folder / "lab")
    (folder / "plan.json").write_text(book.polybook("plan").output, "utf8")
    return folder


def record(host: Path, python: Path, packages: Path, *arguments: str):
    """Run the plan there, in a process that inherits nothing."""
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(host), "PYTHONPATH": "src", "LOGNAME": "annabell"}
    command = [
        str(python), "-m", "polybook", "run", "--plan", "plan.json", "--packages", str(packages),
        "--record", "runs/bare", *arguments,
    ]  # fmt: skip
    return run("/usr/bin/env", "-i", *(f"{key}={value}" for key, value in clean.items()), *command, cwd=host)


def test_plan_is_recorded_on_a_bare_host_and_shown_by_the_book(
    book: Book, host: Path, bare_python: Path, packages: Path
):
    """Python and the few carried packages are enough; the book shows what came back, and labels it."""
    done = record(host, bare_python, packages)
    assert done.status == 0, done.output
    shutil.copytree(host / "runs", book.root / "runs")

    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    choices = tabs(book.article("page"))[0]["Alpha"].select(".polybook-choice")
    assert [choice.get_text() for choice in choices] == ["this build", "recorded (bare)"]
    card = book.article("page").get_text()
    assert re.search(r"Differs from the pins .*tabulate is missing", card)


def test_recorded_files_hold_no_path_user_or_host(book: Book, host: Path, bare_python: Path, packages: Path):
    """What the cells printed of paths is scrubbed, and the record has none, nor a name of user or machine."""
    done = record(host, bare_python, packages)
    assert done.status == 0, done.output

    text = "\n".join(path.read_text() for path in sorted((host / "runs").rglob("*.json")))
    private = [str(host), str(bare_python.parent), str(packages), str(Path.home()), "annabell", "/tmp/"]
    private += [name for name in (getpass.getuser(), socket.gethostname()) if len(name) > 4]
    assert [name for name in private if name in text] == []
    assert "lab . " in text


def test_second_call_recalls_what_was_run(host: Path, bare_python: Path, packages: Path):
    """After a failure or a lost connection nothing is run twice."""
    record(host, bare_python, packages)

    again = record(host, bare_python, packages)

    assert again.status == 0
    assert "page [alpha]: fresh" in again.output
    assert "page [alpha]: unchanged in runs/bare/page.alpha.json" in again.output


def test_part_of_a_plan_can_be_run(host: Path, bare_python: Path, packages: Path):
    """Page and framework choose as they do in a book."""
    done = record(host, bare_python, packages, "--framework", "beta", "page")

    assert done.status == 0, done.output
    assert [path.name for path in (host / "runs" / "bare").iterdir()] == ["page.beta.json"]


def test_cell_that_fails_there_names_page_and_line(book: Book, host: Path, bare_python: Path, packages: Path):
    """A failure on the host reads as it does at home; nothing is recorded of that variant."""
    book.write("page", page_text(cell("1 / 0", "alpha"), cell("print('b')", "beta")))
    (host / "plan.json").write_text(book.polybook("plan").output, "utf8")

    done = record(host, bare_python, packages)

    assert done.status == 1
    assert "page.md:11: [alpha] cell 1 of 1 raised ZeroDivisionError" in done.output
    assert [path.name for path in (host / "runs" / "bare").iterdir()] == ["page.beta.json"]


def test_host_without_the_packages_is_told(host: Path, bare_python: Path, tmp_path: Path):
    """Without nbclient and ipykernel there is one sentence, no traceback."""
    (tmp_path / "nothing").mkdir()

    done = record(host, bare_python, tmp_path / "nothing")

    assert done.status == 1
    assert "Traceback" not in done.output
    assert "needs ipykernel and nbclient" in done.output


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda plan: {**plan, "schema": 1}, "it is of version 1, this program reads version"),
        (lambda plan: {"schema": plan["schema"]}, "is no plan that can be run"),
        (lambda _: [], "is no plan that can be run"),
        (lambda plan: {**plan, "packages": ["elsewhere"]}, "needs the folder"),
        (lambda plan: {**plan, "variables": "OMP_*"}, "its variables is 'OMP_"),
        (lambda plan: {**plan, "variables": [1]}, "its variables is"),
        (lambda plan: {**plan, "in_temp": "false"}, "its in_temp is 'false'"),
        (lambda plan: {**plan, "timeout_s": "soon"}, "its timeout_s is 'soon'"),
        (lambda plan: {**plan, "probe": 5}, "its probe is 5"),
        (lambda plan: {**plan, "frameworks": {}}, "its frameworks lack alpha, beta"),
        (
            lambda plan: {**plan, "variants": [{**plan["variants"][0], "cells": []}]},
            "was changed after the plan was made",
        ),
    ],
)
def test_odd_plan_is_refused(host: Path, damage: Callable[[dict], object], message: str):
    """A plan of another version, torn or edited, or without what it needs, is refused before anything runs."""
    plan = json.loads((host / "plan.json").read_text())
    (host / "plan.json").write_text(json.dumps(damage(plan)))

    with pytest.raises(ConfigError, match=message):
        read_plan(host / "plan.json", host, [])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--framework", "gamma"), "the plan has no framework 'gamma' (known: alpha, beta)."),
        (("pege",), "the plan has no page 'pege' (known: page, page.md)."),
    ],
)
def test_part_that_a_plan_lacks_is_refused(
    host: Path, bare_python: Path, packages: Path, arguments: tuple[str, ...], message: str
):
    """A typo runs nothing and says so."""
    done = record(host, bare_python, packages, *arguments)

    assert done.status == 2
    assert message in done.output


def test_missing_plan_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """A plan that is not there is named, with how to write one."""
    status = main(["--book", str(tmp_path), "run", "--plan", str(tmp_path / "plan.json"), "--record", "runs/x"])

    assert status == 2
    assert "plan.json: No such file or directory.\nWrite a plan with" in capsys.readouterr().err


def test_packages_go_with_a_plan(book: Book, capsys: pytest.CaptureFixture[str]):
    """In a book every kernel has an environment of its own."""
    assert main(["--book", str(book.root), "run", "--packages", "x"]) == 2
    assert "--packages goes with --plan" in capsys.readouterr().err


def test_pins_are_read_by_their_normalised_names(tmp_path: Path):
    """Names compare as packaging compares them; what is pinned for some platforms only cannot be judged here."""
    pins = tmp_path / "pins.txt"
    pins.write_text("Foo_Bar==1.0  # why\nbaz[extra]==2.0\nwin==3 ; sys_platform == 'win32'\n-e .\n# x==1\n")

    assert pinned_versions(pins) == {"foo-bar": "1.0", "baz": "2.0"}


def test_differences_from_the_pins_are_words(tmp_path: Path):
    """Another release and a missing package are told; what is there besides is nobody's business."""
    site = tmp_path / "venv" / "lib" / "python3.11" / "site-packages"
    for name, version in (("Foo_Bar", "1.1"), ("baz", "2.0"), ("more", "9")):
        info = site / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    pins = tmp_path / "pins.txt"
    pins.write_text("foo-bar==1.0\nbaz==2.0\nqux==3.0\n")

    found = environment_differences(Framework("f", "F", tmp_path / "venv", pins))

    assert found == ["foo-bar 1.1 instead of 1.0", "qux is missing"]
