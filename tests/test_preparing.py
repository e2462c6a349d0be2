"""The first cell of a reader's notebook: what it says, adds and never changes, seen on real bare machines."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from readers import (
    CLOSED,
    OFFLINE,
    TEMPLATE,
    add_frameworks,
    first_cell,
    make_environment,
    make_wheel,
    run_cell,
    seen,
    start_cell,
    uv,
    versions,
)

from asynclab import preparing
from asynclab.errors import PreparationError
from asynclab.preparing import prepare
from asynclab.values import KEPT_VARIABLE


class Machine:
    """A stand-in for a reader's machine: what it lacks, and what was done to it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.missing: list[str] = []
        self.added: list[list[str]] = []
        self.elsewhere: list[tuple[Path, str]] = []
        self.failure: PreparationError | None = None
        self._monkeypatch = monkeypatch
        monkeypatch.setattr(preparing, "missing", lambda _: self.missing)
        monkeypatch.setattr(preparing, "add", self.add)
        monkeypatch.setattr(preparing, "mxnet_python", lambda **_: Path("/cache/mxnet/bin/python"))
        monkeypatch.setattr(preparing, "_compare_versions", lambda *_: None)
        kernels = ModuleType("asynclab.elsewhere")
        kernels.run_cells_elsewhere = lambda python, first="": self.elsewhere.append((python, first))  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "asynclab.elsewhere", kernels)
        self.load("torch", gpu=False)

    def add(self, packages: list[str], **_: str) -> None:
        """Note what is added, or fail as told."""
        self.added.append(packages)
        if self.failure:
            raise self.failure

    def load(self, name: str, *, gpu: bool) -> None:
        """Put a framework there that finds a GPU or none."""
        module = ModuleType(name)
        module.__version__ = "2.9.0"  # type: ignore[attr-defined]
        module.cuda = SimpleNamespace(is_available=lambda: gpu)  # type: ignore[attr-defined]
        module.context = SimpleNamespace(num_gpus=lambda: int(gpu))  # type: ignore[attr-defined]
        self._monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture(autouse=True)
def _shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin, and leave, with a process that shows what it records."""
    monkeypatch.setenv(KEPT_VARIABLE, "")
    monkeypatch.delenv(KEPT_VARIABLE)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with a PyTorch that finds no GPU."""
    return Machine(monkeypatch)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of asynclab."""
    return make_wheel(tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="session")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Make a Python with pip, a PyTorch, and old packages that newer ones would like to replace; one a version."""
    numpy = {"3.12": "1.26.4", "3.13": "2.1.0"}

    @cache
    def make(version: str) -> Path:
        heavy = (f"numpy=={numpy[version]}", "pandas", "scipy", "pillow", "requests", "pyparsing==2.4.7")
        python = make_environment(tmp_path_factory.mktemp("hosted") / "env", version, *heavy)
        add_frameworks(python)
        return python

    return make


def run_uv(command: str, python: Path, *arguments: str) -> None:
    """Run one of uv's commands on an environment."""
    subprocess.run([uv(), "pip", command, "--quiet", "--python", str(python), *arguments], check=True)


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines that were printed."""
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("framework", ["pytorch", "mxnet"])
def test_template_makes_a_short_cell(framework: str):
    """The template, filled in, is Python without a magic, folds in Colab, and fits on a screen."""
    cell = first_cell(framework, title="PyTorch", wheel="../../../wheels/asynclab-0.1.0-py3-none-any.whl")

    ast.parse(cell)
    assert cell.startswith("#@title ")
    assert cell.splitlines()[0].endswith('{ display-mode: "form" }')
    assert "$" not in cell
    assert len(cell.splitlines()) <= 30
    assert max(len(line) for line in TEMPLATE.read_text("utf8").splitlines()) <= 120


def test_all_there_is_one_line(machine: Machine, capsys: pytest.CaptureFixture[str]):
    """Where nothing is missing nothing is added, and one line says on what the notebook runs."""
    prepare("pytorch")

    (line,) = printed(capsys)
    assert line.startswith(f"Ready: PyTorch 2.9.0 on Python {sys.version_info[0]}.{sys.version_info[1]} · ")
    assert line.endswith(" · no GPU in use")
    assert machine.added == []


@pytest.mark.usefixtures("machine")
def test_what_is_recorded_is_kept_and_not_shown():
    """From its first cell on a reader's notebook leaves no outputs behind that only a book can read."""
    prepare("pytorch")

    assert KEPT_VARIABLE in os.environ


def test_what_is_missing_is_said_before_it_is_added(machine: Machine, capsys: pytest.CaptureFixture[str]):
    """A line says what is added and about how much that is."""
    machine.missing = ["torch", "d2l==1.0.3"]

    prepare("pytorch")

    assert printed(capsys)[0] == "Adding torch, d2l (a few gigabytes) ..."
    assert machine.added == [["torch", "d2l==1.0.3"]]


def test_chapter_that_wants_a_gpu_says_how_to_get_one(machine: Machine, capsys: pytest.CaptureFixture[str]):
    """Without a GPU one sentence tells how to get one, in Colab and elsewhere; with one nothing is said."""
    prepare("pytorch", needs="gpu")
    without = printed(capsys)
    machine.load("torch", gpu=True)
    prepare("pytorch", needs="gpu")

    assert len(without) == 2
    assert "For a GPU choose Runtime > Change runtime type in Colab, or another machine." in without[1]
    assert len(printed(capsys)) == 1


def test_chapter_that_wants_no_gpu_asks_for_none(machine: Machine, capsys: pytest.CaptureFixture[str]):
    """Where a chapter needs no GPU nothing is said of getting one."""
    prepare("pytorch", needs="")

    assert len(printed(capsys)) == 1


def test_missing_necessity_stops_the_notebook(machine: Machine):
    """Without a package that cells import the notebook does not go on."""
    machine.missing, machine.failure = ["d2l==1.0.3", "threadpoolctl"], PreparationError("d2l is not to be had.")

    with pytest.raises(PreparationError, match="d2l is not to be had"):
        prepare("pytorch")


def test_missing_nicety_does_not_stop_the_notebook(machine: Machine, capsys: pytest.CaptureFixture[str]):
    """Offline, a machine that lacks only what tells threads goes on with a line about it."""
    machine.missing, machine.failure = ["threadpoolctl"], PreparationError("threadpoolctl is not to be had.")

    prepare("pytorch")

    lines = printed(capsys)
    assert lines[1] == "threadpoolctl is not to be had. The notebook works without."
    assert lines[2].startswith("Ready: ")


def test_framework_that_does_not_load_is_one_sentence(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    """A PyTorch that is there but broken ends in a sentence and Python's own line."""
    monkeypatch.setitem(sys.modules, "torch", None)

    with pytest.raises(PreparationError, match="PyTorch is installed but does not load: restart") as caught:
        prepare("pytorch")
    assert caught.value.reason.startswith("ModuleNotFoundError: ")


def test_unknown_framework_is_one_sentence(machine: Machine):
    """A framework that the package does not know is named, with those that it knows."""
    with pytest.raises(PreparationError, match=r"no framework 'jax' \(known: pytorch, mxnet\)"):
        prepare("jax")


def test_mxnet_gets_a_kernel_of_its_own(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Where MXNet cannot be imported cells run elsewhere, and the line is about that kernel."""
    monkeypatch.setattr(preparing, "importable", lambda _: False)
    monkeypatch.setattr(preparing.platform, "python_version_tuple", lambda: ("3", "13", "1"))

    prepare("mxnet")

    (line,) = printed(capsys)
    assert line.startswith("Ready: MXNet 1.9.1 on Python 3.11 beside this notebook's 3.13 · ")
    assert machine.elsewhere == [(Path("/cache/mxnet/bin/python"), "import asynclab")]
    assert machine.added == []


@pytest.mark.parametrize(
    ("python", "numpy", "here"),
    [((3, 11), "1.23.5", True), ((3, 11), "2.4.0", False), ((3, 12), "1.23.5", False)],
)
def test_mxnet_that_is_here_is_taken(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, python: tuple[int, int], numpy: str, here: bool
):
    """An installed MXNet is used where it can work: up to Python 3.11, and with the NumPy that it needs."""
    machine.load("mxnet", gpu=False)
    monkeypatch.setattr(preparing, "sys", SimpleNamespace(version_info=python))
    monkeypatch.setattr(preparing, "version", lambda _: numpy)

    prepare("mxnet")

    assert bool(machine.elsewhere) is not here


def test_other_asynclab_stays(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Another version of asynclab is left alone, and one line has the command that changes it."""
    monkeypatch.setattr(preparing, "version", lambda _: "0.0.9")

    preparing._compare_versions("https://course.example/asynclab.whl", "0.1.0")
    preparing._compare_versions("https://course.example/asynclab.whl", "0.0.9")

    assert printed(capsys) == [
        "asynclab 0.0.9 is installed and stays; this notebook was made with 0.1.0. To have that one: "
        "%pip install --no-deps --upgrade https://course.example/asynclab.whl and restart the kernel."
    ]


@pytest.mark.parametrize(("installer", "version"), [("pip", "3.12"), ("uv", "3.13")])
def test_nothing_that_is_there_changes(
    hosted: Callable[[str], Path], wheel: Path, tmp_path: Path, installer: str, version: str
):
    """On a bare machine all is added, no package changes, a name is left, and the second time nothing is started."""
    alone = {"PATH": str(tmp_path), "PIP_NO_COMPILE": "1"} if installer == "pip" else {}
    python = hosted(version)
    before = versions(python)
    cell = first_cell(wheel=str(wheel), needs="gpu")

    status, first, watched = run_cell(python, cell, tmp_path / "first", **alone)
    again, second, watched_again = run_cell(python, cell, tmp_path / "second", **alone)

    after = versions(python)
    assert (status, again) == (0, 0), first + second
    assert [line.partition(":")[0].partition(",")[0] for line in second] == [
        "Ready",
        "PyTorch finds no GPU here",
    ]
    assert (first[0][:7], first[1:]) == ("Adding ", second)
    assert watched["left"] == watched_again["left"] == ["asynclab"]
    assert [name for name in before if after.get(name) != before[name]] == []
    assert {"d2l": "1.0.3", "pyparsing": "2.4.7", "torch": "2.9.0+here"}.items() <= after.items()
    assert {"asynclab", "d2l", "matplotlib", "threadpoolctl"} <= after.keys() - before.keys()
    assert any(installer in " ".join(command) for command in watched["started"])
    assert [command for command in watched_again["started"] if {"install", "pip"} & set(command)] == []


@pytest.mark.parametrize("installer", ["pip", "uv"])
@pytest.mark.parametrize("there", [False, True])
def test_offline_is_one_sentence(
    hosted: Callable[[str], Path], wheel: Path, tmp_path: Path, installer: str, there: bool
):
    """Where no index answers the cell stops with a sentence and the installer's own line, and nothing else."""
    alone = {"PATH": str(tmp_path)} if installer == "pip" else {}
    python = hosted("3.12")
    run_uv("uninstall", python, "asynclab", "d2l")
    if there:
        run_uv("install", python, "--no-deps", str(wheel))

    cell = first_cell(wheel=f"{CLOSED}/asynclab-0.1.0-py3-none-any.whl")
    status, lines, watched = run_cell(python, cell, tmp_path / "offline", **alone, **OFFLINE)

    told = lines[1:] if there else lines
    assert (status, watched) == (1, {})
    assert len(told) == 2, lines
    assert "check the connection" in told[0]
    assert told[0].endswith("and run this cell again.")
    assert "error" in told[1].lower()


@pytest.mark.parametrize(("there", "told"), [(False, "Unpack all of the zip"), (True, "may packages be added")])
def test_a_wheel_beside_it_needs_no_connection(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: bool, told: str):
    """Where the notebook came without the wheel, or its Python takes none, the connection is not to blame."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=1, stderr="error: no\n"))
    if there:
        (tmp_path / "a.whl").touch()

    with pytest.raises(Exception, match=told) as caught:
        exec(first_cell(wheel="a.whl"), {})

    assert "connection" not in str(caught.value)
    assert str(caught.value).splitlines()[0].endswith("and run this cell again.")


def test_mxnet_on_a_current_python(hosted: Callable[[str], Path], wheel: Path, tmp_path: Path):
    """Two MXNet notebooks that are opened at once both get the one environment, in which MXNet works."""
    kernel = hosted("3.12")
    run_uv("install", kernel, "--no-deps", "--reinstall", str(wheel))
    before = versions(kernel)
    stub = (
        "import sys, types\n"
        "stub = sys.modules['asynclab.elsewhere'] = types.ModuleType('asynclab.elsewhere')\n"
        "stub.run_cells_elsewhere = lambda python, first: print('ELSEWHERE', python)\n"
    )
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    started = [
        start_cell(kernel, first_cell("mxnet", wheel=str(wheel)), tmp_path / name, stub, **cache)
        for name in ("first", "second")
    ]

    results = [seen(process) for process in started]

    assert [status for status, *_ in results] == [0, 0], results
    (python,) = {line.split()[1] for _, lines, _ in results for line in lines if line.startswith("ELSEWHERE")}
    assert sum("only once on this machine" in line for _, lines, _ in results for line in lines) >= 1
    code = "import mxnet, asynclab, asynclab.preparing; print(int(mxnet.np.ones(3).sum()))"
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True)
    assert done.stdout == "3\n", done.stderr
    assert len([path for path in (tmp_path / "cache" / "asynclab").iterdir() if path.name != ".lock"]) == 1
    assert versions(kernel) == before
