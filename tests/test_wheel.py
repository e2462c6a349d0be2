"""The wheel that readers' notebooks install: what is in it, that it is always the same, and that it installs."""

from __future__ import annotations

import dataclasses
import email
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from books import REPOSITORY, run

from polybook import wheel as built_by
from polybook.errors import ConfigError, WheelFailed
from polybook.wheel import Project, build_wheel, read_project

ABOUT = Project("0.1.0", ">=3.11", "MIT", {"LICENSE": b"Do as you like.\n"})
NAME = "tool-0.1.0-py3-none-any.whl"
INFO = "tool-0.1.0.dist-info"

#: Ways to make the wheel that is there the wrong one.
CHANGES: dict[str, Callable[[Path, Path], object]] = {
    "a module": lambda package, _: (package / "__init__.py").write_text("x = 2\n"),
    "a new file": lambda package, _: (package / "more.csv").write_text("1,2\n"),
    "a file that is gone": lambda package, _: (package / "words.txt").unlink(),
    "another file in the wheel": lambda _, wheel: add(wheel, "stray.py", "x = 3\n"),
    "a damaged wheel": lambda _, wheel: wheel.write_bytes(wheel.read_bytes()[:-9]),
    "a damaged file in the wheel": lambda _, wheel: wheel.write_bytes(
        wheel.read_bytes().replace(b"words", b"sword", 1)
    ),
    "a newer wheel beside it": lambda _, wheel: shutil.copy(wheel, wheel.with_name("tool-1.0.0-py3-none-any.whl")),
    "an older wheel beside it": lambda _, wheel: shutil.copy(wheel, wheel.with_name("tool-0.0.9-py3-none-any.whl")),
}
#: What a project's file may lack, the text that is replaced, and what is said about it.
FAULTS = {
    "no version": ('version = "1.2"\n', "", "`[project] version` is missing"),
    "a dynamic version": ('version = "1.2"\n', 'dynamic = ["version"]\n', "`[project] version` is missing"),
    "no Python": ('requires-python = ">=3.11"\n', "", "`[project] requires-python` is missing"),
    "no licence": ('license = "MIT"\n', "", "`[project] license` is missing"),
    "a licence as a table": (
        'license = "MIT"\n',
        'license = {text = "MIT"}\n',
        "`[project] license` is {'text': 'MIT'}",
    ),
    "no licence's text": ('license-files = ["LICENSE"]\n', "", "`[project] license-files` is missing"),
    "a missing file": ('["LICENSE"]', '["COPYING*"]', "names 'COPYING*', but there is no such file"),
    "a file outside": ('["LICENSE"]', '["../LICENSE"]', "names '../LICENSE', but there is no such file"),
    "no TOML": ("[project]", "[project", "is not valid TOML"),
}


def add(wheel: Path, name: str, text: str) -> None:
    """Put one more file into a wheel."""
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr(name, text)


def names(wheel: Path) -> list[str]:
    """The files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return sorted(name for name in archive.namelist() if not name.endswith("/"))


def member(wheel: Path, name: str) -> bytes:
    """One file of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(name)


def write_project(root: Path, old: str = "", new: str = "") -> Path:
    """Write a project with a package; ``old`` in its file replaced by ``new``."""
    root.mkdir()
    root.with_name("LICENSE").write_text("Another project's.\n")
    (root / "LICENSE").write_text("Free.\n")
    text = '[project]\nversion = "1.2"\nrequires-python = ">=3.11"\nlicense = "MIT"\nlicense-files = ["LICENSE"]\n'
    assert old in text
    (root / "pyproject.toml").write_text(text.replace(old, new))
    return root


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with data in it, and with what does not belong into a wheel."""
    folder = tmp_path / "source" / "tool"
    for name in ("__init__.py", "part/__init__.py", "words.txt", "part/data.csv"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"# {name}\n")
    for name in ("__pycache__/a.nbi", "b.pyc", ".DS_Store", ".ipynb_checkpoints/c.py", "part/.words.txt.swp"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("left\n")
    return folder


@pytest.fixture(scope="module")
def asynclab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the real package."""
    out = tmp_path_factory.mktemp("site") / "wheels"
    return build_wheel(REPOSITORY / "src" / "asynclab", read_project(REPOSITORY), out)


def test_wheel_holds_the_package_and_nothing_else(package: Path, tmp_path: Path):
    """Modules and data files are in it, caches and hidden files are not, and beside them is only what describes it."""
    wheel = build_wheel(package, ABOUT, tmp_path / "out")

    assert wheel == tmp_path / "out" / NAME
    described = [f"{INFO}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "licenses/LICENSE")]
    inside = [f"tool/{name}" for name in ("__init__.py", "part/__init__.py", "part/data.csv", "words.txt")]
    assert names(wheel) == described + inside
    assert member(wheel, "tool/words.txt") == b"# words.txt\n"
    assert [path.name for path in wheel.parent.iterdir()] == [NAME]


def test_wheel_says_what_the_project_says(package: Path, tmp_path: Path):
    """Version, Python and licence are the project's, its text included, and any Python of any machine may have it."""
    wheel = build_wheel(package, ABOUT, tmp_path / "out")

    said = email.message_from_bytes(member(wheel, f"{INFO}/METADATA"))
    fields = ("Name", "Version", "Requires-Python", "License-Expression", "License-File")
    assert [said[field] for field in fields] == ["tool", "0.1.0", ">=3.11", "MIT", "LICENSE"]
    assert member(wheel, f"{INFO}/licenses/LICENSE") == b"Do as you like.\n"
    kind = email.message_from_bytes(member(wheel, f"{INFO}/WHEEL"))
    assert (kind["Tag"], kind["Root-Is-Purelib"]) == ("py3-none-any", "true")


def test_same_content_gives_the_same_bytes(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Neither times nor modes, neither the umask nor the folder nor the day show in a wheel."""
    wheel = build_wheel(package, ABOUT, tmp_path / "out")
    other = shutil.copytree(package, tmp_path / "elsewhere" / "tool")
    for path in other.rglob("*"):
        os.utime(path, (1, 1))
        path.chmod(0o700)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1234567890")
    before = os.umask(0o077)
    try:
        again = build_wheel(other, ABOUT, tmp_path / "out-2")
    finally:
        os.umask(before)

    assert again.read_bytes() == wheel.read_bytes()
    assert again.stat().st_mode & 0o777 == wheel.stat().st_mode & 0o777 == 0o644


def test_wheel_names_no_place_of_the_machine(package: Path, tmp_path: Path):
    """No file of a wheel names the folder that it was built from or in."""
    wheel = build_wheel(package, ABOUT, tmp_path / "out")

    places = [str(tmp_path), tempfile.gettempdir(), str(REPOSITORY), str(Path.home())]
    content = [wheel.read_bytes(), *(member(wheel, name) for name in names(wheel))]
    assert [place for place in places for part in content if f"{place}/".encode() in part] == []


def test_a_wheel_that_is_right_is_left_alone(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """If nothing changed nothing is built and nothing is written, whatever the times of the files say."""
    wheel = build_wheel(package, ABOUT, tmp_path / "out")
    before = wheel.stat()
    (package / "words.txt").touch()
    monkeypatch.setattr(built_by.subprocess, "run", lambda *_, **__: pytest.fail("a wheel was built"))

    assert build_wheel(package, ABOUT, tmp_path / "out") == wheel
    assert (wheel.stat().st_mtime_ns, wheel.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


@pytest.mark.parametrize("change", CHANGES)
def test_a_wheel_that_is_wrong_is_built_anew(package: Path, tmp_path: Path, change: str):
    """Whatever differs, in the package or in the wheel, the next build ends with the one right wheel."""
    wheel = build_wheel(package, ABOUT, tmp_path / "out")
    CHANGES[change](package, wheel)

    assert build_wheel(package, ABOUT, tmp_path / "out") == wheel
    assert wheel.read_bytes() == build_wheel(package, ABOUT, tmp_path / "fresh").read_bytes()
    assert [path.name for path in wheel.parent.iterdir()] == [NAME]


@pytest.mark.parametrize(
    "changed",
    [{"version": "0.2.0"}, {"requires_python": ">=3.12"}, {"license": "0BSD"}, {"license_files": {"L": b"l"}}],
)
def test_what_a_wheel_says_follows_the_project(package: Path, tmp_path: Path, changed: dict[str, object]):
    """A change of the project replaces the wheel, and leaves those of other packages in the folder."""
    build_wheel(package, ABOUT, tmp_path / "out")
    other = tmp_path / "out" / "tool_box-0.1.0-py3-none-any.whl"
    other.touch()
    about = dataclasses.replace(ABOUT, **changed)  # type: ignore[arg-type]

    wheel = build_wheel(package, about, tmp_path / "out")

    assert wheel.read_bytes() == build_wheel(package, about, tmp_path / "fresh").read_bytes()
    assert sorted(path.name for path in wheel.parent.iterdir()) == sorted([wheel.name, other.name])


def test_another_backend_builds_anew(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A wheel of another version of the backend, whose name stands in it, is not taken for the right one."""
    build_wheel(package, ABOUT, tmp_path / "out")
    monkeypatch.setattr(built_by.importlib.metadata, "version", lambda _: "99")
    monkeypatch.setattr(built_by, "_built", lambda *_: (NAME, b"anew"))

    assert build_wheel(package, ABOUT, tmp_path / "out").read_bytes() == b"anew"


def test_environment_need_not_be_active(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The backend's program is found without the environment on the path."""
    monkeypatch.setenv("PATH", os.defpath)
    assert shutil.which("uv-build") is None

    assert build_wheel(package, ABOUT, tmp_path / "out").is_file()


def test_a_version_that_is_none_is_told(package: Path, tmp_path: Path):
    """What the backend refuses is told in its words, without its stack, and the wheel that is there stays."""
    wheel = build_wheel(package, ABOUT, tmp_path / "out")
    before = wheel.read_bytes()

    with pytest.raises(WheelFailed) as refused:
        build_wheel(package, dataclasses.replace(ABOUT, version="one"), tmp_path / "out")

    assert "expected version to start with a number" in str(refused.value)
    assert "backtrace" not in str(refused.value).lower()
    assert wheel.read_bytes() == before


def test_a_missing_backend_is_told(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Without uv_build the error names what to install."""
    scripts = Path(sysconfig.get_path("scripts"))
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if not entry.startswith(str(scripts.parent))])

    with pytest.raises(WheelFailed, match="needs uv-build, which is not installed"):
        build_wheel(package, ABOUT, tmp_path / "out")


@pytest.mark.parametrize("name", ["no-name", "empty"])
def test_a_folder_that_is_no_package_is_refused(tmp_path: Path, name: str):
    """A folder that Python cannot import is named, and nothing is written."""
    (tmp_path / name).mkdir()

    with pytest.raises(ConfigError, match=f"{name} is no package"):
        build_wheel(tmp_path / name, ABOUT, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_project_is_read_from_its_file(tmp_path: Path):
    """What the wheel says is what the project's file says."""
    found = read_project(write_project(tmp_path / "project"))

    assert found == Project("1.2", ">=3.11", "MIT", {"LICENSE": b"Free.\n"})


@pytest.mark.parametrize("fault", FAULTS)
def test_what_a_project_lacks_is_told(tmp_path: Path, fault: str):
    """A project's file that lacks what a wheel needs is refused, with what is missing."""
    old, new, said = FAULTS[fault]
    root = write_project(tmp_path / "project", old, new)

    with pytest.raises(ConfigError) as refused:
        read_project(root)
    assert said in str(refused.value)


def test_a_book_without_a_project_is_told(tmp_path: Path):
    """A folder without a project's file is refused, by the path of what is missing."""
    with pytest.raises(ConfigError, match=r"pyproject\.toml: No such file"):
        read_project(tmp_path)


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_wheel_of_asynclab_installs(asynclab: Path, tmp_path: Path, installer: str):
    """In a fresh environment, without an index, pip and uv install it, and Python imports it from there alone."""
    environment = tmp_path / "fresh"
    python = environment / "bin" / "python"
    commands = {
        "pip": [[sys.executable, "-m", "venv", str(environment)], [str(python), "-m", "pip", "install", "--no-index"]],
        "uv": [
            ["uv", "venv", "--quiet", "--no-python-downloads", "--python", sys.executable, str(environment)],
            ["uv", "pip", "install", "--quiet", "--no-index", "--python", str(python)],
        ],
    }
    make, install = commands[installer]
    installed = [run(*make, cwd=tmp_path), run(*install, "--no-deps", str(asynclab), cwd=tmp_path)]
    assert [done.status for done in installed] == [0, 0], installed

    code = "import asynclab, importlib.metadata as m; print(m.version('asynclab'), asynclab.__file__)"
    told = subprocess.run([str(python), "-I", "-c", code], capture_output=True, text=True, timeout=60, check=True)
    version, file = told.stdout.split()
    assert version == read_project(REPOSITORY).version
    assert Path(file).is_relative_to(environment)


def test_wheel_of_asynclab_holds_every_module(asynclab: Path):
    """Every module of the package is in its wheel, and the licence is the repository's."""
    modules = {f"asynclab/{path.name}" for path in (REPOSITORY / "src" / "asynclab").glob("*.py")}

    assert modules <= set(names(asynclab))
    info = asynclab.name.replace("-py3-none-any.whl", ".dist-info")
    assert member(asynclab, f"{info}/licenses/LICENSE") == (REPOSITORY / "LICENSE").read_bytes()
