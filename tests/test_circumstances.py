"""What makes a stored run stale, each circumstance by itself, and what does not."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from polybook import circumstances as module
from polybook.circumstances import REASONS, circumstances, differences
from polybook.options import Options, read_options


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A book with pins, an environment that only looks like one, and a package."""
    files = {
        "requirements/alpha.txt": "numpy==1.0  # why\nx @ https://h/x.whl#sha256=a\n",
        "env/bin/python": "interpreter",
        "env/pyvenv.cfg": "home = /usr\nversion_info = 3.11.7\n",
        "env/lib/python3.11/site-packages/six-1.17.0.dist-info/METADATA": "",
        "lab/__init__.py": "a = 1\n",
        "lab/deep/data.txt": "1\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def options(root: Path, environment: str = "env") -> Options:
    """The options of that book."""
    frameworks = {"alpha": {"title": "Alpha", "environment": environment}}
    return read_options({"polybook_frameworks": frameworks, "polybook_packages": ["lab"]}, root)


def now(root: Path, environment: str = "env") -> dict[str, str]:
    """Today's circumstances."""
    found = options(root, environment)
    return circumstances(found.frameworks["alpha"], found)


def append(path: str, text: str) -> Callable[[Path], None]:
    """A change: text at the end of a file."""

    def change(root: Path) -> None:
        with (root / path).open("a") as file:
            file.write(text)

    return change


def write_pins(root: Path, *lines: str) -> None:
    """Write a file of pins anew."""
    (root / "requirements/alpha.txt").write_text("\n".join(lines))


CHANGES = {
    "pin": (append("requirements/alpha.txt", "torch==2.0\n"), "pins"),
    "hash in an address": (lambda root: write_pins(root, "numpy==1.0", "x @ https://h/x.whl#sha256=b"), "pins"),
    "pins gone": (lambda root: (root / "requirements/alpha.txt").unlink(), "pins"),
    "package installed": (
        lambda root: (root / "env/lib/python3.11/site-packages/d2l-1.0.3.dist-info").mkdir(),
        "environment",
    ),
    "package removed": (
        lambda root: shutil.rmtree(root / "env/lib/python3.11/site-packages/six-1.17.0.dist-info"),
        "environment",
    ),
    "interpreter": (append("env/bin/python", "!"), "interpreter"),
    "interpreter's version": (append("env/pyvenv.cfg", "version_info = 3.11.8\n"), "interpreter"),
    "package edited": (append("lab/__init__.py", "b = 2\n"), "packages"),
    "package's data edited": (append("lab/deep/data.txt", "2\n"), "packages"),
    "module added": (lambda root: (root / "lab/more.py").touch(), "packages"),
    "module renamed": (lambda root: (root / "lab/__init__.py").rename(root / "lab/__main__.py"), "packages"),
}


@pytest.mark.parametrize(("change", "name"), CHANGES.values(), ids=CHANGES)
def test_each_change_is_told_apart(root: Path, change: Callable[[Path], None], name: str):
    """A change makes exactly one circumstance differ, and is told in its words."""
    before = now(root)

    change(root)

    assert differences(before, now(root)) == [REASONS[name]]


UNCHANGED = {
    "comment": append("requirements/alpha.txt", "# a comment\n\n   # another\n"),
    "order of pins": lambda root: write_pins(root, "x @ https://h/x.whl#sha256=a", "numpy==1.0"),
    "home": append("env/pyvenv.cfg", "prompt = x\n"),
    "bytecode": lambda root: [(root / "lab/__pycache__").mkdir(), (root / "lab/__pycache__/a.pyc").touch()],
    "time of a file": lambda root: os.utime(root / "lab/__init__.py", (0, 0)),
    "empty folder": lambda root: (root / "lab/empty").mkdir(),
    "page": lambda root: (root / "page.md").write_text("# Page\n"),
}


@pytest.mark.parametrize("change", UNCHANGED.values(), ids=UNCHANGED)
def test_what_changes_no_run(root: Path, change: Callable[[Path], object]):
    """Comments, order, bytecode, times and pages are no circumstances of a run."""
    before = now(root)

    change(root)

    assert differences(before, now(root)) == []


@pytest.mark.parametrize("part", ["_processor", "_cores", "_memory"])
def test_another_machine_is_told(root: Path, part: str, monkeypatch: pytest.MonkeyPatch):
    """Another processor, another number of cores or another memory is another machine."""
    before = now(root)

    monkeypatch.setattr(module, part, lambda: "other")

    assert differences(before, now(root)) == [REASONS["machine"]]


def test_interpreter_in_place_of_an_environment(root: Path):
    """Where an interpreter is configured, the packages and the version around it still count."""
    before = now(root, "env/bin/python")

    (root / "env/lib/python3.11/site-packages/d2l-1.0.3.dist-info").mkdir()
    append("env/pyvenv.cfg", "version_info = 3.12.0\n")(root)

    assert differences(before, now(root, "env/bin/python")) == [REASONS["environment"], REASONS["interpreter"]]


def test_book_may_move(root: Path, tmp_path_factory: pytest.TempPathFactory):
    """Moving a book changes the interpreter's path and nothing else."""
    moved = tmp_path_factory.mktemp("elsewhere") / "book"
    shutil.copytree(root, moved)

    assert differences(now(root), now(moved)) == [REASONS["interpreter"]]


def test_missing_environment_has_circumstances(tmp_path: Path):
    """Asking about an environment that is not made yet is no error."""
    (tmp_path / "lab").mkdir()

    assert set(now(tmp_path, "missing")) == set(REASONS)


def test_circumstances_give_nothing_away(root: Path):
    """Only short digests are kept: no path, no host, no user."""
    found = now(root)

    assert set(found) == set(REASONS)
    assert all(re.fullmatch("[0-9a-f]{16}", digest) for digest in found.values())
    assert socket.gethostname() not in str(module._machine())


def test_circumstances_are_stable(root: Path):
    """Asking twice gives the same."""
    assert now(root) == now(root)


def test_differences_are_told_in_order():
    """All that differs is told, in one order; what one side lacks differs."""
    assert differences({}, {}) == []
    assert differences({"pins": "1", "other": "1"}, {"pins": "1", "other": "2"}) == []
    assert differences({"machine": "1", "pins": "1"}, {"pins": "2"}) == [REASONS["pins"], REASONS["machine"]]
