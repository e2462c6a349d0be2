"""What a notebook lacks, and how it is added without changing what is there."""

from __future__ import annotations

import ast
import re
import site
import subprocess
import sys
from pathlib import Path

import pytest
from books import REPOSITORY

from asynclab import packages
from asynclab.errors import PreparationError
from asynclab.packages import add, constraints, find_installer, importable, installed, missing, run, weight
from asynclab.preparing import needed

# What d2l imports only inside a function that no chapter calls, and what every kernel has.
NOT_OURS = {"gym", "IPython"}


class Machine:
    """A stand-in for a machine with installers: notes their commands and answers as told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, modules: set[str]) -> None:
        self.commands: list[list[str]] = []
        self.constraints = ""
        self.output, self.status = "", 0
        monkeypatch.setattr(packages, "importable", modules.__contains__)
        monkeypatch.setattr(packages.subprocess, "run", self.run)
        monkeypatch.setattr(packages.shutil, "which", lambda name: f"/bin/{name}" if name in modules else None)
        monkeypatch.setattr(packages, "_is_writable", lambda: True)

    def run(self, command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        """Note a command."""
        self.commands.append(list(command))
        if "--constraint" in command:
            self.constraints = Path(command[command.index("--constraint") + 1]).read_text("utf8")
        return subprocess.CompletedProcess(command, self.status, "", self.output)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with uv and pip."""
    return Machine(monkeypatch, {"uv", "pip"})


def add_metadata(folder: Path, name: str, *lines: str) -> None:
    """Write the metadata of a package that is installed."""
    (folder / f"{name}.dist-info").mkdir(parents=True)
    (folder / f"{name}.dist-info" / "METADATA").write_text("\n".join(lines) + "\n", "utf8")


def imports(source: str) -> set[str]:
    """The top-level packages outside of the standard library that code imports."""
    nodes = list(ast.walk(ast.parse(source)))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names


@pytest.mark.parametrize(("framework", "module"), [("pytorch", "torch"), ("mxnet", "mxnet")])
def test_all_that_d2l_imports_is_looked_for(framework: str, module: str):
    """Each module that the installed d2l imports is one that the set-up looks for."""
    (path,) = (REPOSITORY / f".venv-{framework}").glob(f"lib/*/site-packages/d2l/{module}.py")

    assert imports(path.read_text("utf8")) - NOT_OURS <= set(needed(framework)) | {"mxnet"}


@pytest.mark.parametrize("framework", ["pytorch", "mxnet"])
def test_all_that_chapters_import_is_looked_for(framework: str):
    """Each module that a cell of the chapters imports is one that the set-up looks for, or asynclab."""
    pages = [path.read_text("utf8") for path in sorted((REPOSITORY / "chapters").glob("*.md"))]
    other = {"pytorch": "mxnet", "mxnet": "pytorch"}[framework]
    cells = [code for page in pages for code in re.findall(r"^```\{code-cell\}\n(.*?)^```", page, re.M | re.S)]
    ours = [re.sub(r"\A(:.*\n|\n)+", "", code) for code in cells if f":tags: [{other}" not in code.partition("\n")[0]]
    found = {name for code in ours for name in imports(re.sub(r"^\s*%.*", "", code, flags=re.M))}

    assert {"numpy", "psutil"} <= found
    assert found - NOT_OURS - {"asynclab"} <= set(needed(framework)) | {"mxnet"}


def test_what_is_missing_is_told_by_its_package():
    """A module that cannot be imported is told by the package that brings it; one that can is not, in any version."""
    assert missing({"json": "json-package", "no_such_module": "a-package"}) == ["a-package"]


def test_folder_of_the_name_is_no_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A mere folder beside the notebook, such as a clone of d2l's repository, does not count as the package."""
    (tmp_path / "d2l_like" / "notebooks").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path)

    assert not importable("d2l_like")


def test_first_of_two_versions_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Where a package is there twice the one that Python imports is held; what has no readable name is left out."""
    add_metadata(tmp_path / "first", "Some_Package-2.0", "Name: Some_Package", "Version: 2.0")
    add_metadata(tmp_path / "second", "some.package-1.0", "Name: some.package", "Version: 1.0")
    add_metadata(tmp_path / "second", "broken-1.0", "Version: 1.0")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "first"), str(tmp_path / "second")])

    assert installed() == {"some-package": "2.0"}


def test_constraints_hold_every_version():
    """Each package is held at its version, a local one included; a version that no installer reads is left out."""
    held = constraints({"torch": "2.9.0+cu128", "numpy": "1.26.4", "old": "2004d-custom build", "pre": "1.0rc1.post2"})

    assert held == "numpy==1.26.4\npre==1.0rc1.post2\ntorch==2.9.0+cu128\n"


def test_d2l_comes_without_its_pins(machine: Machine):
    """Packages are added under constraints, d2l without what it asks for."""
    add(["scipy", "d2l==1.0.3"])

    with_needs, alone = machine.commands
    assert with_needs[:6] == ["/bin/uv", "pip", "install", "--quiet", "--python", sys.executable]
    assert (with_needs[-1], "--no-deps" in with_needs) == ("scipy", False)
    assert alone[-2:] == ["--no-deps", "d2l==1.0.3"]
    assert f"pytest=={pytest.__version__}\n" in machine.constraints


@pytest.mark.parametrize(("modules", "option"), [({"uv"}, "--default-index"), ({"pip"}, "--index-url")])
def test_mirror_is_named_as_the_installer_wants_it(monkeypatch: pytest.MonkeyPatch, modules: set[str], option: str):
    """A course's own index goes to whichever installer there is; without one nothing is said of indices."""
    machine = Machine(monkeypatch, modules)

    add(["scipy"], mirror="https://mirror.example/simple")
    add(["scipy"])

    first, second = machine.commands
    assert first[first.index(option) + 1] == "https://mirror.example/simple"
    assert not any("index" in word for word in second)


def test_someone_elses_environment_gets_the_users_own_packages(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    """Where the environment cannot be written, pip is taken: it turns to the user's folder, which uv does not."""
    monkeypatch.setattr(packages, "_is_writable", lambda: False)
    monkeypatch.setattr(site, "ENABLE_USER_SITE", True)

    assert find_installer().install[:3] == (sys.executable, "-m", "pip")


def test_environment_that_cannot_be_written_is_one_sentence(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    """Where not even the user's own folder counts, one sentence says what to do, and nothing is started."""
    monkeypatch.setattr(packages, "_is_writable", lambda: False)
    monkeypatch.setattr(site, "ENABLE_USER_SITE", False)

    with pytest.raises(PreparationError, match="which you may not write to: make an environment with `python3 -m venv"):
        add(["scipy"])
    assert machine.commands == []


def test_no_installer_is_one_sentence(monkeypatch: pytest.MonkeyPatch):
    """Without uv and pip one sentence names the command that brings pip."""
    Machine(monkeypatch, set())

    with pytest.raises(PreparationError, match=r"Neither uv nor pip was found .* -m ensurepip`, and run this cell"):
        add(["scipy"])


@pytest.mark.parametrize(
    ("output", "sentence", "reason"),
    [
        (
            "error: Request failed after 3 retries\n  cause: Failed to fetch: x\n  cause: dns error\n",
            "because the network does not answer: check the connection",
            "error: Request failed after 3 retries cause: dns error",
        ),
        (
            "WARNING: Retrying after connection broken by NewConnectionError: Failed to establish a new connection\n"
            "ERROR: No matching distribution found for x\n",
            "because the network does not answer: check the connection",
            "ERROR: No matching distribution found for x",
        ),
        (
            "error: externally-managed-environment\n\n\u00d7 This environment is externally managed\n\u2570> lines",
            "which the operating system manages: make an environment",
            "",
        ),
        (
            "error: No solution found when resolving dependencies\n  cause: Because x needs numpy>=2\n",
            "beside the packages that are here, none of which this cell changes",
            "error: No solution found when resolving dependencies cause: Because x needs numpy>=2",
        ),
        ("error: failed to create file\n  cause: Permission denied (os error 13)\n", "may not write to", "Permission"),
        ("something went\nwrong\n", "beside the packages that are here", "wrong"),
    ],
)
def test_failure_is_one_sentence_with_its_reason(machine: Machine, output: str, sentence: str, reason: str):
    """What an installer writes becomes one sentence that says what to do, and one line of the installer's own."""
    machine.output, machine.status = output, 1

    with pytest.raises(PreparationError) as caught:
        add(["x"])
    shown = caught.value._render_traceback_()
    assert sentence in shown[0]
    assert "\n" not in "".join(shown)
    assert (len(shown), reason in shown[-1]) == (2 if reason else 1, True)


def test_installer_that_does_not_start_is_one_sentence():
    """A program that is named but not there ends in a sentence as well."""
    with pytest.raises(PreparationError, match="x could not be installed: /no/such/uv does not start"):
        run(["/no/such/uv"], "x could not be installed")


def test_installer_that_takes_forever_is_ended(monkeypatch: pytest.MonkeyPatch):
    """An installer that hangs is ended, and a sentence says so."""
    monkeypatch.setattr(packages, "_LIMIT_S", 0.2)

    with pytest.raises(PreparationError, match=r"x could not be installed within .* minutes"):
        run([sys.executable, "-c", "import time; time.sleep(60)"], "x could not be installed")


def test_change_is_found_out(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    """Should an installer change a package all the same, the notebook stops and says which."""
    seen = iter([{"numpy": "1.26.4", "six": "1.16"}, {"numpy": "2.4.0", "scipy": "1.17"}])
    monkeypatch.setattr(packages, "installed", lambda: next(seen))

    with pytest.raises(PreparationError, match=r"numpy 1\.26\.4 -> 2\.4\.0, six 1\.16 -> none"):
        add(["scipy"])


def test_weight_is_that_of_the_biggest():
    """How much has to be loaded is said in words."""
    assert weight(["d2l==1.0.3", "torch", "scipy"]) == "a few gigabytes"
    assert weight(["d2l==1.0.3"]) == "a few megabytes"
