"""Kernels: in their own environment, untouched by the build's, and gone without a trace."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from books import Book, cell, front_matter, myst_page, page_text

from polybook.errors import PageFailed
from polybook.execute import execute
from polybook.kernel import private_folder
from polybook.options import config_file_options, read_options
from polybook.progress import Progress
from polybook.split import split

LAUNCH = Path(__file__).parents[1] / "src" / "polybook" / "launch.py"

#: What a build's own Python may have set, and a kernel of another environment must not see.
LEAKS = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "MPLBACKEND", "__PYVENV_LAUNCHER__")

REPORT = """
import importlib.util, json, os, pathlib, sys
from IPython import get_ipython

connection = json.load(open(get_ipython().kernel.config["IPKernelApp"]["connection_file"]))
pathlib.Path("report.json").write_text(json.dumps({
    "transport": connection["transport"],
    "path": sys.path,
    "prefix": sys.prefix,
    "environment": dict(os.environ),
    "found": {n: getattr(importlib.util.find_spec(n), "origin", None) for n in NAMES},
    "pid": os.getpid(),
    "cwd": os.getcwd(),
    "history": get_ipython().history_manager.hist_file,
    "connection": get_ipython().kernel.config["IPKernelApp"]["connection_file"],
}))
"""
NAMES = ("store", "split", "lock", "page", "options", "book", "launch", "polybook", "tabulate", "numpy")


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary folder of our own, with a path as short as sockets need."""
    folder = Path(tempfile.mkdtemp(prefix="k", dir="/tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    shutil.rmtree(folder)


def dead_process() -> int:
    """The id of a process that was and is no more."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


# The private folder


def test_private_folder_is_private_and_goes(base: Path):
    """The folder is there for its block only, with all that is in it, and for its owner only."""
    with private_folder() as folder:
        (folder / "deep").mkdir()
        (folder / "deep" / "file").touch()
        mode = stat.S_IMODE(folder.stat().st_mode)
        inside = folder.parent

    assert (mode, inside, list(base.iterdir())) == (0o700, base, [])


def test_private_folder_goes_after_a_failure(base: Path):
    """The folder is removed however its block ends."""
    with pytest.raises(KeyboardInterrupt), private_folder():
        raise KeyboardInterrupt

    assert list(base.iterdir()) == []


def test_abandoned_folders_are_removed(base: Path):
    """What a killed build left is removed by the next one; what a living one uses is not, nor what is not ours."""
    abandoned = base / f"polybook-{dead_process()}-abc"
    (abandoned / "ipython").mkdir(parents=True)
    names = [f"polybook-{os.getpid()}-x", f"polybook-{os.getppid()}-x", "polybook-1-x", "polybook-1x-y", "polybook-x"]
    names += ["other-1-x", "polybook.lock", f"polybook-{10**30}-x"]
    for name in names:
        (base / name).mkdir()

    with private_folder() as folder:
        left = {path.name for path in base.iterdir()}

    assert left == {*names, folder.name}


def test_two_private_folders_are_two(base: Path):
    """Two kernels of one process do not share a folder, and the second does not remove the first's."""
    with private_folder() as first, private_folder() as second:
        assert (first != second, first.is_dir(), second.is_dir()) == (True, True, True)


def test_socket_paths_stay_short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A long `TMPDIR` is not used: a socket's path may have about a hundred bytes."""
    deep = tmp_path / ("x" * 60)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))

    with private_folder() as folder:
        assert folder.parent == Path("/tmp")
        assert len(str(folder / "k-5")) < 100


# A real kernel


def run_cells(root: Path, text: str, framework: str = "alpha") -> list[dict[str, Any]]:
    """Run one framework's cells of a page in a book, and return what each gave."""
    options = config_file_options(root)
    names = {name: {"title": name, "environment": str(fw.environment)} for name, fw in options.frameworks.items()}
    page = myst_page(text, "chapters/page", polybook_frameworks=names)
    progress = Progress("page", 1, lambda _: None, None)
    variant = split(page, framework)
    return list(execute(variant, options.frameworks[framework], options, {"pins": "1"}, progress).cells)


ALPHA = front_matter("polybook: {frameworks: [alpha]}")


@pytest.fixture(scope="module")
def kernel(environments: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a kernel of Alpha sees, started from a build whose own environment is full of traps."""
    book = Book(tmp_path_factory.mktemp("kernel") / "book")
    chapters = book.root / "chapters"
    chapters.mkdir(parents=True)
    (book.root / "_config.yml").write_text(
        "sphinx: {config: {polybook_frameworks: {alpha: {title: Alpha, environment: .venv-alpha}}}}\n"
    )
    (book.root / ".venv-alpha").symlink_to(environments["alpha"])
    (chapters / "store.py").write_text("")
    traps = book.root / "traps"
    traps.mkdir()
    (traps / "numpy.py").write_text("raise RuntimeError('leaked')\n")
    startup = traps / "startup.py"
    startup.write_text(f"open({str(traps / 'started')!r}, 'w')\n")
    with pytest.MonkeyPatch.context() as patch:
        for name in LEAKS:
            patch.setenv(name, str(startup if name == "PYTHONSTARTUP" else traps))
        patch.setenv("KEPT", "yes")
        _, second = run_cells(book.root, ALPHA + cell(f"NAMES = {NAMES}\n{REPORT}") + cell("print(input)"))
    # In a file, not as output: paths are taken out of outputs.
    report = json.loads((chapters / "report.json").read_text())
    assert "input" in second["outputs"][0]["text"]
    return {"book": book.root, "started": (traps / "started").exists(), **report}


def test_kernel_runs_in_its_own_environment(kernel: dict[str, Any], environments: dict[str, Path]):
    """Interpreter and packages are those of the framework's environment."""
    assert Path(kernel["prefix"]).resolve() == environments["alpha"].resolve()
    assert Path(kernel["found"]["tabulate"]).resolve().is_relative_to(environments["alpha"].resolve())


def test_builds_environment_does_not_leak(kernel: dict[str, Any]):
    """No variable of the build's own Python reaches a kernel; every other one does."""
    assert [name for name in LEAKS if kernel["environment"].get(name, "").startswith(str(kernel["book"]))] == []
    assert kernel["environment"]["KEPT"] == "yes"
    assert (kernel["found"]["numpy"], kernel["started"]) == (None, False)


def test_our_modules_shadow_nothing(kernel: dict[str, Any]):
    """No folder of polybook is on a kernel's path: `import split` finds what it would find without us."""
    ours = LAUNCH.parent
    assert [entry for entry in kernel["path"] if Path(entry).is_relative_to(ours.parent)] == []
    assert {name for name, origin in kernel["found"].items() if origin} == {"store", "tabulate"}


def test_cells_run_in_the_pages_folder(kernel: dict[str, Any]):
    """A page's own files are found from its folder, as in a notebook."""
    assert Path(kernel["cwd"]) == kernel["book"] / "chapters"
    assert Path(kernel["found"]["store"]) == kernel["book"] / "chapters" / "store.py"


def test_kernel_is_not_reached_over_the_network(kernel: dict[str, Any]):
    """Kernels talk over sockets in a private folder, which other users of the machine cannot open."""
    assert kernel["transport"] == "ipc"


def test_kernel_leaves_nothing_behind(kernel: dict[str, Any]):
    """The process, its sockets and its files are gone, and no profile of the user's was touched."""
    folder = Path(kernel["connection"]).parent

    assert folder.name.startswith(f"polybook-{os.getpid()}-")
    assert not folder.exists()
    assert Path(kernel["environment"]["IPYTHONDIR"]).parent == folder
    assert kernel["history"] == ":memory:"
    with pytest.raises(ProcessLookupError):
        os.kill(kernel["pid"], 0)


def failed(root: Path, environment: str) -> str:
    """What is said when a kernel of this environment is asked for."""
    names = {"alpha": {"title": "Alpha", "environment": environment}}
    options = read_options({"polybook_frameworks": names}, root)
    variant = split(myst_page(ALPHA + cell("a = 1"), polybook_frameworks=names), "alpha")
    with pytest.raises(PageFailed) as caught:
        execute(variant, options.frameworks["alpha"], options, {}, Progress("page", 1, lambda _: None, None))
    return str(caught.value)


def test_missing_environment_is_told(tmp_path: Path):
    """Where there is no environment the page's first cell is named, and the command that makes one."""
    assert failed(tmp_path, ".venv-alpha") == (
        "page.md:7: [alpha] there is no environment at .venv-alpha.\n"
        "Make it: `python -m polybook env alpha` (`make book` does that too)."
    )


def test_environment_without_ipykernel_is_told(tmp_path: Path):
    """An environment that lacks ipykernel is told apart from one that is not there."""
    venv.create(tmp_path / "bare", symlinks=True)

    assert failed(tmp_path, "bare") == (
        "page.md:7: [alpha] its kernel did not start: ModuleNotFoundError: No module named 'ipykernel'\n"
        "Add ipykernel to the requirements of alpha, and make its environment again."
    )


def test_interpreter_that_cannot_be_started_is_told(tmp_path: Path):
    """A file that is no program is told with the system's words."""
    (tmp_path / "python").write_text("no program")

    assert "its kernel did not start: [Errno 13] Permission denied" in failed(tmp_path, "python")


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG is Linux's")
def test_orphan_does_not_start():
    """A kernel whose build is gone before it starts ends at once."""
    environment = {**os.environ, "POLYBOOK_PARENT": str(dead_process())}

    done = subprocess.run([sys.executable, str(LAUNCH)], env=environment, capture_output=True, text=True, timeout=60)

    assert (done.returncode, done.stderr) == (1, "the build that started this kernel is gone\n")


@pytest.mark.parametrize(
    "code",
    [
        "from IPython.display import display\ndisplay({'application/x-foo': {'a': 1}}, raw=True)",
        "from IPython.display import display\ndisplay({'text/plain': 3}, raw=True)",
    ],
)
def test_output_that_no_notebook_can_hold_is_a_failure(make_book: Callable[..., Book], code: str):
    """A cell that displays what is no output is named with its line, without a traceback."""
    book = make_book(page=page_text(cell(code, "alpha"), cell("1", "beta")))

    done = book.polybook("run")

    assert done.status == 1
    assert "page.md:11: [alpha] cell 1 of 1 displayed what is no output of a notebook" in done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    "record",
    [
        "{'summary': 's', 'version': 'v', 'entries': [], 'provides': None}",
        "{'summary': 's', 'version': 'v', 'entries': [], 'provides': 'gpu'}",
        "{'summary': 's', 'version': 'v', 'entries': [{'title': 't'}]}",
        "{'summary': 1, 'version': 'v', 'entries': []}",
        "[]",
    ],
)
def test_probe_that_returns_no_record_is_a_failure(make_book: Callable[..., Book], record: str):
    """What the probe returns is checked where it comes in."""
    book = make_book(page=page_text(cell("1", "alpha"), cell("1", "beta")))
    (book.root / "lab" / "__init__.py").write_text(f"def probe(framework):\n    return {record}\n")
    config = book.root / "_config.yml"
    config.write_text(f"{config.read_text()}    polybook_probe: lab:probe\n")

    done = book.polybook("run")

    assert done.status == 1
    assert "`polybook_probe` 'lab:probe' failed in the kernel: it returned" in done.output
    assert "Traceback" not in done.output
