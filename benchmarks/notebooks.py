"""Run every exported notebook of the built site from top to bottom on bare machines, as a reader does.

A machine is an environment that resembles a hosted one, such as Colab's, or a bare one. Its home is its own, so that
the first cell sets it up for real; only what the installers have loaded before is shared. No run of the site is reused.
The wheel of asynclab is the built site's, also where the notebooks name the address at which it will be published. The
exit status is 1 if a cell fails, a check does not run, or a package that was there has changed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from coursework.assign import write
from coursework.exercise import Places, slugs
from polybook.lock import machine_lock

REPOSITORY = Path(__file__).resolve().parents[1]
UV = os.environ.get("UV") or shutil.which("uv") or str(REPOSITORY / ".venv-uv" / "bin" / "uv")
HOSTED = ("torch", "torchvision", "numpy>=2", "pandas", "matplotlib", "scipy", "requests", "ipykernel")
#: The Python that MXNet's environment is made with: a machine without a network cannot be asked to load one.
ELSEWHERE = "3.11"
CELL_TIMEOUT_S = 1800
# What would lead a kernel, or an installer in it, out of its machine.
INHERITED_NOT = re.compile(r"VIRTUAL_ENV|PYTHON.*|PYENV_.*|XDG_.*|JUPYTER_.*|IPYTHON.*|CONDA_.*|POLYBOOK_.*|MPL.*|UV")


@dataclass(frozen=True)
class Image:
    """A kind of machine.

    Attributes:
        python: The version of its Python.
        packages: What is installed there, besides pip.
        has_uv: Whether it has uv, as Colab has.
        frameworks: Whose notebooks are opened on it.
    """

    python: str
    packages: tuple[str, ...]
    has_uv: bool
    frameworks: tuple[str, ...]


IMAGES = {
    "3.12": Image("3.12", HOSTED, True, ("pytorch", "mxnet")),
    "3.13": Image("3.13", HOSTED, False, ("pytorch", "mxnet")),
    "3.11": Image("3.11", ("ipykernel",), True, ("pytorch", "mxnet")),
}


@dataclass(frozen=True)
class Row:
    """What one notebook did.

    Attributes:
        subject: The image, the framework and the page.
        cells: The number of code cells.
        elapsed_s: Seconds, first cell included.
        changed: Packages whose version is another than before, or that are gone.
        added: How many packages came.
        holds: The claims that hold.
        fails: The claims that do not.
        wrong: What went wrong; empty if nothing did.
    """

    subject: tuple[str, str, str]
    cells: int
    elapsed_s: float
    changed: list[str]
    added: int
    holds: list[str]
    fails: list[str]
    wrong: str


def run(*command: str | Path, **variables: str) -> str:
    """Run a command and return what it printed; one that fails ends this script."""
    environment = {**os.environ, **variables}
    done = subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command[:4]))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def find_python(version: str) -> str:
    """Find an interpreter of this version on this machine."""
    pyenv = shutil.which("pyenv")
    # pyenv's stand-ins on the path start only the versions that are switched on.
    switched_on = {"PYENV_VERSION": ":".join(run(pyenv, "versions", "--bare").split())} if pyenv else {}
    return run(UV, "python", "find", "--no-project", "--system", version, **switched_on)


def make_machine(image: Image, folder: Path) -> dict[str, str]:
    """Make a machine; return the variables of its kernels."""
    run(UV, "venv", "--quiet", "--no-project", "--seed", "--python", find_python(image.python), folder / "env")
    python = folder / "env" / "bin" / "python"
    # The site's pins, where they fit: what has been loaded for the site need not be loaded again.
    pins = ("-c", REPOSITORY / "requirements" / "pytorch.txt")
    run(UV, "pip", "install", "--quiet", "--python", python, *pins, *image.packages)
    programs = folder / "bin"
    programs.mkdir()
    (programs / f"python{ELSEWHERE}").symlink_to(find_python(ELSEWHERE))
    if image.has_uv:
        (programs / "uv").write_text(f'#!/bin/sh\nexec "{UV}" "$@"\n', "utf8")
        (programs / "uv").chmod(0o755)
    (folder / "home").mkdir()
    kept = {name: value for name, value in os.environ.items() if not INHERITED_NOT.fullmatch(name)}
    path = os.pathsep.join((str(python.parent), str(programs), "/usr/bin", "/bin"))
    caches = {"UV_CACHE_DIR": run(UV, "cache", "dir"), "PIP_CACHE_DIR": str(REPOSITORY / ".polybook" / "pip")}
    return {**kept, **caches, "PATH": path, "HOME": str(folder / "home"), "UV_PYTHON_DOWNLOADS": "never"}


def kernel_manager(folder: Path, sockets: str) -> AsyncKernelManager:
    """Make a manager of kernels of a machine's own Python; their sockets need a short path."""
    spec = folder / "kernels" / "machine"
    spec.mkdir(parents=True, exist_ok=True)
    argv = [str(folder / "env" / "bin" / "python"), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(
        json.dumps({"argv": argv, "display_name": "machine", "language": "python"}), "utf8"
    )
    specs = KernelSpecManager(kernel_dirs=[str(spec.parent)], ensure_native_kernel=False)
    return AsyncKernelManager(kernel_name="machine", kernel_spec_manager=specs, transport="ipc", ip=f"{sockets}/k")


def freeze(folder: Path) -> dict[str, str]:
    """Tell every package of a machine with its version."""
    listed = json.loads(run(UV, "pip", "list", "--format", "json", "--python", folder / "env" / "bin" / "python"))
    return {package["name"]: package["version"] for package in listed}


def open_notebook(path: Path, site: Path) -> nbformat.NotebookNode:
    """Read a notebook; the wheel's address becomes that of the wheel in the built site."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            wheels = str(site / "wheels")
            cell.source = re.sub(r"https?://[^\s\"]*/wheels(/asynclab-[^\s\"/]*\.whl)", rf"{wheels}\1", cell.source)
    return notebook


def checks(notebook: nbformat.NotebookNode) -> tuple[int, int, list[str], list[str]]:
    """Tell how many checks the cells make, how many ran, and which claims were found to hold and not to hold."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code" and "asynclab.check(" in cell.source]
    made = sum(len(re.findall(r"^asynclab\.check\(", cell.source, re.MULTILINE)) for cell in cells)
    outputs = (output.get("text", "") for cell in cells for output in cell.outputs)
    verdicts = re.findall(r"^([\u2713\u2717\u2013]) (\w+)", "\n".join(outputs), re.MULTILINE)
    holds = [name for mark, name in verdicts if mark == "\u2713"]
    return made, len(verdicts), holds, [name for mark, name in verdicts if mark == "\u2717"]


def run_notebook(path: Path, site: Path, folder: Path, variables: dict[str, str]) -> tuple[nbformat.NotebookNode, str]:
    """Run a notebook on a machine; return it with its outputs, and what went wrong."""
    notebook = open_notebook(path, site)
    place = {"metadata": {"path": str(path.parent)}}
    with tempfile.TemporaryDirectory() as sockets:
        manager = kernel_manager(folder, sockets)
        try:
            # A kernel whose manager is passed in is not ended otherwise.
            client = NotebookClient(notebook, timeout=CELL_TIMEOUT_S, km=manager, resources=place)
            client.execute(env=variables, cleanup_kc=True)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            return notebook, str(error).strip()
    made, ran, *_ = checks(notebook)
    wrong = "" if ran == made else f"{ran} of {made} checks ran"
    return notebook, wrong


def run_machine(name: str, framework: str, pages: list[Path], site: Path, keep: Path | None) -> list[Row]:
    """Make a machine and run a framework's notebooks there, one after another."""
    rows = []
    scratch = REPOSITORY / ".polybook"
    scratch.mkdir(exist_ok=True)
    # On the disk of the checkout: uv links what it has loaded, which it can on one disk only.
    with tempfile.TemporaryDirectory(prefix="machine-", dir=scratch) as text:
        folder = Path(text)
        variables = make_machine(IMAGES[name], folder)
        before = freeze(folder)
        for path in pages:
            page = path.relative_to(site / "notebooks" / framework).with_suffix("").as_posix()
            with machine_lock(f"running {page} on {name}", print):
                began = time.monotonic()
                notebook, wrong = run_notebook(path, site, folder, variables)
                elapsed_s = time.monotonic() - began
            after = freeze(folder)
            changed = [
                f"{each} {before[each]} -> {after.get(each)}" for each in before if after.get(each) != before[each]
            ]
            count = sum(cell.cell_type == "code" for cell in notebook.cells)
            *_, holds, fails = checks(notebook)
            subject = (name, framework, page)
            rows.append(Row(subject, count, elapsed_s, changed, len(after.keys() - before.keys()), holds, fails, wrong))
            show(rows[-1])
            if keep:
                kept = keep / name / framework / f"{page}.ipynb"
                kept.parent.mkdir(parents=True, exist_ok=True)
                nbformat.write(notebook, kept)
    return rows


def show(row: Row) -> None:
    """Print a line of the table, and below it what is wrong."""
    image, framework, page = row.subject
    figures = f"{row.cells:5} {row.elapsed_s:7.0f} {len(row.changed):7} {row.added:5} {len(row.holds):5}"
    print(f"{image:5} {framework:8} {page:32} {figures}  {', '.join(row.fails) or '-'}", flush=True)
    for line in [*row.changed, *row.wrong.splitlines()[-12:]]:
        print(f"      {line}", flush=True)


def main() -> int:
    """Run what was asked for and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--image", action="append", choices=IMAGES, help="only this machine (may be repeated)")
    parser.add_argument("--framework", action="append", help="only this framework's notebooks (may be repeated)")
    parser.add_argument("--page", action="append", help="only this page, such as chapters/waiting (may be repeated)")
    parser.add_argument("--site", type=Path, default=REPOSITORY / "_build" / "html", help="the built site")
    parser.add_argument("--keep", type=Path, help="a folder for the notebooks with their outputs")
    parser.add_argument("--assigned", action="store_true", help="students' notebooks of all exercises instead")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        site = hand_out(given.site.resolve(), Path(scratch)) if given.assigned else given.site.resolve()
        return run_all(site, given)


def hand_out(site: Path, folder: Path) -> Path:
    """Make all exercises' notebooks as students get them, where a site would have its own."""
    (folder / "wheels").symlink_to(site / "wheels")
    places = Places(REPOSITORY / "exercises")
    for framework in ("pytorch", "mxnet"):
        for slug in slugs(places):
            # A folder each: a student has one notebook, and `pack` looks for it.
            out = folder / "notebooks" / framework / slug
            write([slug], framework, out, folder / "course", places, site="https://course.invalid")
    return folder


def run_all(site: Path, given: argparse.Namespace) -> int:
    """Run the notebooks of a site; give the exit status."""
    rows = []
    print(
        "image framework page                             cells seconds changed added holds  does not hold", flush=True
    )
    for name, image in IMAGES.items():
        for framework in image.frameworks:
            root = site / "notebooks" / framework
            pages = [path for path in sorted(root.rglob("*.ipynb")) if _wanted(path, root, given.page)]
            if pages and name in (given.image or IMAGES) and framework in (given.framework or image.frameworks):
                rows += run_machine(name, framework, pages, site, given.keep)
    if not rows:
        sys.exit(f"There is no such notebook below {site / 'notebooks'}. Run `make book`, or correct the options.")
    bad = [row for row in rows if row.wrong or row.changed]
    print(
        f"{len(rows)} notebooks ran, {len(bad)} of them not as they should."
        if bad
        else f"All {len(rows)} notebooks ran."
    )
    return bool(bad)


def _wanted(path: Path, root: Path, pages: list[str] | None) -> bool:
    return not pages or path.relative_to(root).with_suffix("").as_posix() in pages


if __name__ == "__main__":
    sys.exit(main())
