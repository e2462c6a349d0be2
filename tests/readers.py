"""Readers' machines for tests: bare environments of several Pythons, and the first cell of a notebook run in one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import textwrap
import zipfile
from collections.abc import Mapping
from pathlib import Path
from string import Template

import pytest
from books import REPOSITORY

TEMPLATE = REPOSITORY / "notebooks" / "first-cell.py"
#: An address at which nobody listens.
CLOSED = "http://127.0.0.1:9"
#: Settings under which no index answers, and no installer tries for long.
OFFLINE = {
    **dict.fromkeys(("UV_DEFAULT_INDEX", "PIP_INDEX_URL"), f"{CLOSED}/simple"),
    **dict.fromkeys(("UV_INDEX", "UV_EXTRA_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_FIND_LINKS", "PIP_FIND_LINKS"), ""),
    "UV_HTTP_RETRIES": "0",
    "UV_NO_CACHE": "1",
    "PIP_RETRIES": "1",
}
# Prints, after the cell, which names it left and which programs it started.
_WATCHED = """\
import sys as _sys
_started = []
_sys.addaudithook(lambda event, given: _started.append([str(each) for each in given[1]])
                  if event == "subprocess.Popen" else None)
_names = set(globals())
{cell}
_left = sorted(set(globals()) - _names - {{"_names"}})
print("SEEN " + __import__("json").dumps({{"left": _left, "started": _started}}))
"""


def uv() -> str:
    """The uv that the Makefile found, or one on the path."""
    return os.environ.get("UV") or shutil.which("uv") or str(REPOSITORY / ".venv-uv" / "bin" / "uv")


def find_python(version: str) -> str:
    """Find an interpreter of this version, or skip the test."""
    pyenv = shutil.which("pyenv")
    environment = dict(os.environ)
    if pyenv:
        # Its stand-ins on the path start only those that are switched on.
        listed = subprocess.run([pyenv, "versions", "--bare"], capture_output=True, text=True).stdout
        environment["PYENV_VERSION"] = ":".join(listed.split())
    command = [uv(), "python", "find", "--no-python-downloads", "--no-project", "--system", version]
    found = subprocess.run(command, capture_output=True, text=True, env=environment)
    if found.returncode:
        pytest.skip(f"this machine has no Python {version}")
    return found.stdout.strip()


def make_environment(folder: Path, version: str, *packages: str) -> Path:
    """Make an environment with pip, IPython and these packages; gives its Python."""
    quiet = {"capture_output": True, "text": True, "check": True}
    subprocess.run([uv(), "venv", "--no-project", "--seed", "--python", find_python(version), str(folder)], **quiet)
    python = folder / "bin" / "python"
    subprocess.run([uv(), "pip", "install", "--python", str(python), "ipykernel", *packages], **quiet)
    return python


def add_stand_in(python: Path, name: str, version: str, code: str = "") -> None:
    """Add a package to an environment that only looks like one."""
    folder = next((python.parents[1] / "lib").glob("python*/site-packages"))
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(f"__version__ = {version!r}\n{code}", "utf8")
    metadata = folder / f"{name}-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "utf8")
    (metadata / "INSTALLER").write_text("test\n", "utf8")
    (metadata / "RECORD").write_text("", "utf8")


def add_frameworks(python: Path) -> None:
    """Add what looks like a PyTorch without a GPU, of a release that no index has."""
    add_stand_in(python, "torch", "2.9.0+here", "class cuda:\n    is_available = staticmethod(lambda: False)\n")
    add_stand_in(python, "torchvision", "0.24.0+here")


def make_wheel(folder: Path) -> Path:
    """Write a wheel of asynclab as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / "asynclab-0.1.0-py3-none-any.whl"
    source = REPOSITORY / "src"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in sorted((source / "asynclab").rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                archive.write(path, path.relative_to(source).as_posix())
        about = "asynclab-0.1.0.dist-info"
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: asynclab\nVersion: 0.1.0\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return wheel


def first_cell(framework: str = "pytorch", **settings: str) -> str:
    """Fill in the template of a notebook's first cell."""
    values = {"title": framework, "needs": "", "wheel": "", "mirror": "", "version": "0.1.0", **settings}
    return Template(TEMPLATE.read_text("utf8")).substitute(values, framework=framework)


def start_cell(python: Path, cell: str, folder: Path, before: str = "", **variables: str) -> subprocess.Popen[str]:
    """Start IPython on a cell, as a reader of that Python would."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "cell.py"
    program.write_text(before + _WATCHED.format(cell=cell), "utf8")
    command = [str(python), "-P", "-m", "IPython", "--no-banner", "--colors=nocolor", str(program)]
    path = f"{Path(uv()).parent}{os.pathsep}{os.environ['PATH']}"
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment = {**own, "PATH": path, "IPYTHONDIR": str(folder / "ipython"), **variables}
    return subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def run_cell(python: Path, cell: str, folder: Path, **variables: str) -> tuple[int, list[str], Mapping[str, list]]:
    """Run a cell; gives the exit status, what it printed, and which names it left and programs it started."""
    return seen(start_cell(python, cell, folder, **variables))


def seen(process: subprocess.Popen[str]) -> tuple[int, list[str], Mapping[str, list]]:
    """Wait for a cell that was started."""
    output, _ = process.communicate(timeout=120)
    found = re.search(r"^SEEN (.*)\n", output, re.MULTILINE)
    printed = [line for line in output.replace(found[0] if found else "", "").splitlines() if line.strip()]
    return process.returncode, printed, json.loads(found[1]) if found else {}


def versions(python: Path) -> dict[str, str]:
    """Every package of an environment with its version."""
    code = textwrap.dedent("""\
        import json, importlib.metadata as m
        print(json.dumps({each.metadata["Name"]: each.version for each in m.distributions()}))
    """)
    return json.loads(subprocess.run([str(python), "-I", "-c", code], capture_output=True, text=True).stdout)
