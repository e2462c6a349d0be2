"""The environment that MXNet gets: where it lies, how it is made, and that none is ever half made."""

from __future__ import annotations

import os
import platform
import sys
import time
from pathlib import Path

import pytest
from books import REPOSITORY

from asynclab import mxnet_environment
from asynclab.errors import PreparationError
from asynclab.mxnet_environment import PACKAGE, PINS, mxnet_python


class Uv:
    """A stand-in for uv: makes folders that look like an environment, and can be told to fail."""

    def __init__(self) -> None:
        self.commands: list[list[str]] = []
        self.fails_at = ""

    def run(self, command: list[str], failure: str) -> None:
        """Note a command and do as uv does, as far as it can be seen from outside."""
        self.commands.append([str(word) for word in command])
        if self.fails_at and self.fails_at in command:
            raise PreparationError(failure)
        if "venv" in command:
            python = Path(command[-1], "bin", "python")
            python.parent.mkdir(parents=True)
            python.symlink_to("/bin/true")
            (python.parents[1] / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
        if "--target" in command:
            program = Path(command[command.index("--target") + 1], "bin", "uv")
            program.parent.mkdir(parents=True)
            program.touch()


@pytest.fixture
def uv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Uv:
    """A stand-in for uv, and a cache of its own."""
    uv = Uv()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(mxnet_environment, "run", uv.run)
    monkeypatch.setattr(mxnet_environment, "find_uv", lambda: "/bin/uv")
    return uv


def made(tmp_path: Path) -> list[str]:
    """What lies in the cache, but for the lock."""
    return sorted(path.name for path in (tmp_path / "cache" / "asynclab").iterdir() if path.name != ".lock")


def test_pins_are_those_of_the_site():
    """The package carries the pins that the site's own MXNet has: `make pins` writes them."""
    pinned = (REPOSITORY / "requirements" / "mxnet.txt").read_text("utf8").splitlines()

    assert PINS.read_text("utf8").splitlines() == [line for line in pinned if not line.strip().startswith("#")]


def test_environment_is_made_once(uv: Uv, tmp_path: Path):
    """The second notebook starts no program and says nothing."""
    said: list[str] = []
    first = mxnet_python(say=said.append)
    commands = len(uv.commands)

    assert mxnet_python(say=said.append) == first
    assert first.parent.parent == tmp_path / "cache" / "asynclab" / made(tmp_path)[0]
    assert (commands, len(uv.commands), len(said)) == (2, 2, 1)
    assert "only once on this machine" in said[0]


def test_asynclab_is_brought_again_where_it_differs(uv: Uv):
    """The environment gets the asynclab that runs here, and not the one that an earlier notebook had."""
    there = mxnet_python().parents[1] / "lib" / "python3.11" / "site-packages" / "asynclab"
    (there / "preparing.py").write_text("of another version", "utf8")
    (there / "gone.py").touch()

    mxnet_python()

    assert (there / "preparing.py").read_bytes() == (PACKAGE / "preparing.py").read_bytes()
    assert not (there / "gone.py").exists()
    assert (there / "mxnet-pins.txt").exists()
    assert [path.name for path in there.parent.iterdir()] == ["asynclab"]


def test_mirror_is_used(uv: Uv):
    """A course's own index goes to uv; Python itself does not come from there."""
    mxnet_python(mirror="https://mirror.example/simple")

    venv, install = uv.commands
    assert install[install.index("--default-index") + 1] == "https://mirror.example/simple"
    assert "--default-index" not in venv


@pytest.mark.parametrize(
    ("step", "sentence"),
    [("venv", r"Python 3\.11, which MXNet needs, could not be had"), ("install", "could not be made")],
)
def test_failure_leaves_nothing(uv: Uv, tmp_path: Path, step: str, sentence: str):
    """Where a step fails the sentence says which, and no half environment stays."""
    uv.fails_at = step

    with pytest.raises(PreparationError, match=sentence):
        mxnet_python()
    assert made(tmp_path) == []


def test_environment_that_does_not_load_mxnet_is_not_kept(uv: Uv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """MXNet is loaded once before the environment counts: a library of the system may be missing."""
    monkeypatch.setattr(mxnet_environment, "python_of", lambda _: Path(sys.executable if uv.commands else "/none"))

    with pytest.raises(PreparationError, match="MXNet does not load") as caught:
        mxnet_python()
    assert caught.value.reason == "ModuleNotFoundError: No module named 'mxnet'"
    assert made(tmp_path) == []


def test_interruption_leaves_nothing(uv: Uv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A reader who stops the cell finds no half environment the next time."""
    monkeypatch.setattr(mxnet_environment, "_check", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))

    with pytest.raises(KeyboardInterrupt):
        mxnet_python()
    assert made(tmp_path) == []


def test_left_overs_of_a_killed_kernel_are_swept(uv: Uv, tmp_path: Path):
    """What a kernel left that was killed a day ago is removed; what is younger may be in the making."""
    cache = tmp_path / "cache" / "asynclab"
    for name, age_s in (("old", 2 * 24 * 3600), ("young", 60)):
        (cache / f".making-{name}").mkdir(parents=True)
        os.utime(cache / f".making-{name}", (time.time() - age_s,) * 2)

    mxnet_python()

    assert made(tmp_path)[0] == ".making-young"
    assert len(made(tmp_path)) == 2


def test_other_notebook_was_quicker(uv: Uv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """On a file system without locks two may make the environment: the second takes what the first has made."""

    def check(built: Path) -> None:
        (name,) = uv.names  # type: ignore[attr-defined]
        python = built.parents[1] / name / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.symlink_to("/bin/true")
        (python.parents[1] / "lib" / "python3.11" / "site-packages").mkdir(parents=True)

    uv.names = [f"mxnet-{mxnet_environment._digest()}"]  # type: ignore[attr-defined]
    monkeypatch.setattr(mxnet_environment, "_check", check)

    python = mxnet_python()

    assert python.exists()
    assert made(tmp_path) == uv.names  # type: ignore[attr-defined]


def test_environment_whose_python_is_gone_is_made_again(uv: Uv):
    """After an upgrade of the system an environment may point to a Python that is no more."""
    python = mxnet_python()
    python.unlink()
    python.symlink_to("/no/such/python")

    assert mxnet_python().exists()


def test_cache_that_cannot_be_written_is_one_sentence(uv: Uv, tmp_path: Path):
    """Where the cache's folder cannot be made the sentence names it and the variable."""
    (tmp_path / "cache").write_text("a file", "utf8")

    with pytest.raises(PreparationError, match=r"cache/asynclab, .* cannot be written: set XDG_CACHE_HOME"):
        mxnet_python()
    assert uv.commands == []


@pytest.mark.parametrize(
    ("system", "machine", "libc"),
    [("Darwin", "arm64", ""), ("Windows", "AMD64", ""), ("Linux", "x86_64", "musl"), ("Linux", "riscv64", "glibc")],
)
def test_wrong_platform_is_one_sentence(uv: Uv, monkeypatch: pytest.MonkeyPatch, system: str, machine: str, libc: str):
    """Where no MXNet was ever built the sentence says so and points elsewhere, before anything is loaded."""
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(platform, "libc_ver", lambda: (libc, ""))

    with pytest.raises(PreparationError, match=rf"this machine \({system} on {machine}.*\): open .* PyTorch notebook"):
        mxnet_python()
    assert uv.commands == []


def test_uv_is_loaded_into_the_cache(uv: Uv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Without uv pip loads it once, beside the environment and not into the notebook's own."""
    monkeypatch.setattr(mxnet_environment, "find_uv", lambda: "")
    monkeypatch.setattr(mxnet_environment, "importable", lambda module: module == "pip")

    mxnet_python()

    program = str(tmp_path / "cache" / "asynclab" / "uv" / "bin" / "uv")
    assert [command[0] for command in uv.commands] == [sys.executable, program, program]
    assert "--target" in uv.commands[0]


def test_neither_uv_nor_pip_is_one_sentence(uv: Uv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Without uv and pip one sentence names the command that brings pip."""
    monkeypatch.setattr(mxnet_environment, "find_uv", lambda: "")
    monkeypatch.setattr(mxnet_environment, "importable", lambda _: False)

    with pytest.raises(PreparationError, match="Neither uv nor pip"):
        mxnet_python()
    assert made(tmp_path) == []
