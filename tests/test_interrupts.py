"""Builds that are interrupted, terminated or killed, and builds that meet: no kernel stays, nothing is half-written."""

from __future__ import annotations

import itertools
import signal
import subprocess
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from books import Book, cell, page_text
from ending import gone_within

from polybook.store import Store

#: Times are taken here: nothing else may run beside.
pytestmark = pytest.mark.alone

MakeBook = Callable[..., Book]

SLEEPING = "import time\ntime.sleep(100)"
#: ``PyDLL`` keeps the GIL during a call: no other thread of the kernel can run.
HOLDING_THE_GIL = "import ctypes\nctypes.PyDLL(None).sleep(100)"


@pytest.fixture(params=[SLEEPING, HOLDING_THE_GIL], ids=["sleeping", "holding the GIL"])
def busy(request: pytest.FixtureRequest, make_book: MakeBook) -> Book:
    """A book whose second variant tells its process and then is busy for a long time."""
    code = f"import os, pathlib\npathlib.Path('pid').write_text(str(os.getpid()))\n{request.param}"
    return make_book(page=page_text(cell("'alpha is done'", "alpha"), cell(code, "beta")))


def log(book: Book) -> Path:
    """Where a build that was started here prints to."""
    return book.root.with_suffix(".log")


def start(book: Book, *command: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start a build; return it and its kernel's process once the long cell runs."""
    with log(book).open("wb") as output:
        process = subprocess.Popen(command or book.command(), cwd=book.root, stdout=output, stderr=output)
    mark = book.root / "pid"
    deadline = time.monotonic() + 60
    while not (mark.exists() and mark.read_text()):
        assert process.poll() is None, log(book).read_text()
        assert time.monotonic() < deadline, "the long cell never started"
        time.sleep(0.05)
    time.sleep(0.3)
    return process, int(mark.read_text())


def assert_nothing_is_half_written(book: Book) -> None:
    """The store holds whole entries only, and no page was written."""
    store = Store(book.root / ".polybook")
    files = book.store_files()
    assert [path.parent.name for path in files] == ["alpha"]
    assert store.get("alpha", files[0].stem) is not None
    assert not book.has_html()


def private_folders(pid: int) -> list[Path]:
    """The temporary folders of a build."""
    return [path for path in Path("/tmp").glob(f"polybook-{pid}-*")]


@pytest.mark.parametrize(("signum", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signal_ends_the_build_and_its_kernel(busy: Book, signum: int, status: int):
    """Ctrl-C ends a build with 130, a termination with 143; the kernel and its folder are gone with it."""
    process, kernel = start(busy)

    process.send_signal(signum)

    assert process.wait(timeout=5) == status
    assert gone_within(kernel, 1)
    assert private_folders(process.pid) == []
    assert "Traceback" not in log(busy).read_text()
    assert_nothing_is_half_written(busy)


def test_kill_takes_the_kernel_along_and_loses_nothing(busy: Book):
    """After ``kill -9`` no kernel is alive 5 s later; the rebuild recalls what was done and cleans up."""
    process, kernel = start(busy)

    process.kill()
    process.wait()

    assert gone_within(kernel, 5)
    assert_nothing_is_half_written(busy)

    text = busy.read("page")
    busy.write("page", text.replace("sleep(100)", "sleep(0)"))
    rebuilt = busy.build()
    assert (rebuilt.status, rebuilt.ran()) == (0, [("page", "beta")])
    assert private_folders(process.pid) == []


def test_interrupted_command_line_ends_with_130(busy: Book):
    """``python -m polybook run`` ends the same way."""
    import sys

    process, kernel = start(busy, sys.executable, "-m", "polybook", "run")

    process.send_signal(signal.SIGINT)

    assert process.wait(timeout=5) == 130
    assert gone_within(kernel, 1)
    assert_nothing_is_half_written(busy)


def test_two_builds_take_turns(make_book: MakeBook):
    """Kernels of two checkouts never overlap, by their recorded times, and who waits is told for whom."""
    pages = page_text(cell("import time\ntime.sleep(1.5)", "alpha"), cell("import time\ntime.sleep(1.5)", "beta"))
    books = [make_book(name="one", page=pages), make_book(name="two", page=pages)]

    builds = [
        subprocess.Popen(book.command(), cwd=book.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for book in books
    ]
    outputs = [build.communicate(timeout=120)[0].decode() for build in builds]

    assert [build.returncode for build in builds] == [0, 0], outputs
    spans = sorted(
        (datetime.fromisoformat(run.started), datetime.fromisoformat(run.ended))
        for book in books
        for run in Store(book.root / ".polybook").entries()
    )
    assert len(spans) == 4
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
    assert any("waiting for the kernel of page [" in output for output in outputs)


def test_interrupt_while_waiting_for_the_lock(make_book: MakeBook, tmp_path: Path):
    """A build that only waits for its turn ends at once as well."""
    long = page_text(cell(f"open({str(tmp_path / 'on')!r}, 'w').close()\n{SLEEPING}", "alpha"), cell("1", "beta"))
    first = make_book(name="first", page=long)
    second = make_book(name="second", page=page_text(cell("1", "alpha"), cell("2", "beta")))
    waiting = holder = subprocess.Popen(
        first.command(), cwd=first.root, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
    )
    try:
        while not (tmp_path / "on").exists():
            assert holder.poll() is None
            time.sleep(0.05)
        with log(second).open("wb") as output:
            waiting = subprocess.Popen(second.command(), cwd=second.root, stdout=output, stderr=output)
        while "waiting for the kernel of page [alpha]" not in log(second).read_text():
            assert waiting.poll() is None, log(second).read_text()
            time.sleep(0.05)

        waiting.send_signal(signal.SIGINT)

        assert waiting.wait(timeout=5) == 130
        assert second.store_files() == []
    finally:
        for process in (holder, waiting):
            process.terminate()
            process.wait(timeout=10)
