"""One kernel at a time on a machine, and those who wait know whom they wait for."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from polybook import lock as module
from polybook.lock import LOCK_FILE, LOCK_VARIABLE, machine_lock

#: Times are taken here: nothing else may run beside.
pytestmark = pytest.mark.alone

HOLDER = """
import sys, time
from pathlib import Path
from polybook.lock import machine_lock
with machine_lock("another build", print, Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock file that is not there yet, and little patience."""
    monkeypatch.setattr(module, "_PATIENCE_S", 0.05)
    monkeypatch.setattr(module, "_POLL_S", 0.01)
    return tmp_path / "lock"


class Waiter(threading.Thread):
    """Wants the lock, and lets it go again once it is told to."""

    def __init__(self, path: Path, name: str = "waiter") -> None:
        super().__init__(daemon=True)
        self.path = path
        self.purpose = name
        self.told: list[str] = []
        self.heard = threading.Event()
        self.has_it = threading.Event()
        self.may_go = threading.Event()
        self.start()

    def run(self) -> None:
        with machine_lock(self.purpose, self._hear, self.path):
            self.has_it.set()
            self.may_go.wait(10)

    def _hear(self, text: str) -> None:
        self.told.append(text)
        self.heard.set()

    def finish(self) -> None:
        """Let the lock go, and see that the thread ends."""
        self.may_go.set()
        self.join(10)
        assert not self.is_alive()


def nothing(text: str) -> None:
    """Hear nothing."""


def is_free(path: Path) -> bool:
    """Whether the lock can be had at once."""
    waiter = Waiter(path)
    free = waiter.has_it.wait(0.5)
    waiter.may_go.set()
    return free


def test_free_lock_is_taken_in_silence(path: Path):
    """A lock that nobody holds is taken at once; the file tells who has it, and forgets it afterwards."""
    told: list[str] = []

    with machine_lock("page [pytorch]", told.append, path):
        held = path.read_text()

    assert held == f"page [pytorch] (process {os.getpid()})"
    assert (told, path.read_text()) == ([], "")


def test_only_one_holds_it(path: Path):
    """While one holds the lock, another waits; it goes on the moment that the first is done."""
    with machine_lock("first", nothing, path):
        waiter = Waiter(path)
        assert not waiter.has_it.wait(0.2)

    assert waiter.has_it.wait(10)
    waiter.finish()


def test_waiter_is_told_once_whom_it_waits_for(path: Path):
    """Who waits for longer than a moment is told the holder's purpose, once."""
    with machine_lock("page [mxnet]", nothing, path):
        waiter = Waiter(path)
        assert waiter.heard.wait(10)
        time.sleep(0.1)

    waiter.finish()
    holder = f"page [mxnet] (process {os.getpid()})"
    assert waiter.told == [f"waiting for the kernel of {holder}: one kernel at a time on a machine"]


def test_short_wait_is_silent(path: Path, monkeypatch: pytest.MonkeyPatch):
    """A wait shorter than our patience is not worth a line."""
    monkeypatch.setattr(module, "_PATIENCE_S", 30)

    with machine_lock("first", nothing, path):
        waiter = Waiter(path)
        waiter.has_it.wait(0.1)

    waiter.finish()
    assert waiter.told == []


def test_waiter_is_told_of_the_next_holder(path: Path):
    """When another one gets the lock first, the waiter is told whom it waits for now."""
    with machine_lock("first", nothing, path):
        waiter = Waiter(path)
        assert waiter.heard.wait(10)
        waiter.heard.clear()
        path.write_text("second (process 2)")
        assert waiter.heard.wait(10)

    waiter.finish()
    assert ["first" in waiter.told[0], "second" in waiter.told[1]] == [True, True]


def test_one_who_gives_up_does_not_hide_the_holder(path: Path):
    """A waiter that is interrupted leaves the holder's name for those who come after it."""

    def give_up(text: str) -> None:
        raise KeyboardInterrupt

    with machine_lock("holder", nothing, path):
        with pytest.raises(KeyboardInterrupt), machine_lock("impatient", give_up, path):
            pass
        waiter = Waiter(path)
        assert waiter.heard.wait(10)

    waiter.finish()
    assert "holder" in waiter.told[0]


def test_failure_frees_the_lock(path: Path):
    """However the holder's block ends, the lock is free again."""
    with pytest.raises(ZeroDivisionError), machine_lock("first", nothing, path):
        raise ZeroDivisionError

    assert is_free(path)


def test_killed_holder_frees_the_lock(path: Path):
    """A holder that is killed holds nothing, whatever it left in the file."""
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    with holder.stdout:
        assert holder.stdout.readline() == "held\n"
        assert not is_free(path)

        holder.kill()
        holder.wait(10)

    assert is_free(path)


def test_children_do_not_keep_the_lock(path: Path):
    """A program that was started by a holder, and outlives it, does not hold the lock."""
    with machine_lock("first", nothing, path):
        child = subprocess.Popen(["sleep", "30"], close_fds=False)

    try:
        assert is_free(path)
    finally:
        child.kill()
        child.wait(10)


def test_any_user_may_lock(path: Path):
    """The file may be written by everyone, whatever the umask of the one who made it."""
    before = os.umask(0o077)
    try:
        with machine_lock("first", nothing, path):
            pass
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.stat().st_mode) == 0o666


def test_longer_name_leaves_no_rest(path: Path):
    """What an earlier, killed holder left in the file is not mixed with the next holder's name."""
    path.write_text("x" * 500)

    with machine_lock("next", nothing, path):
        assert path.read_text() == f"next (process {os.getpid()})"


def test_machine_has_one_lock(monkeypatch: pytest.MonkeyPatch):
    """The lock is the same for every user and every `TMPDIR`."""
    monkeypatch.setenv("TMPDIR", "/nowhere")

    assert Path("/tmp/polybook.lock") == LOCK_FILE


def test_lock_can_be_another_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Who needs no turns with the rest of the machine names a file of their own."""
    monkeypatch.setenv(LOCK_VARIABLE, str(tmp_path / "own.lock"))

    with machine_lock("elsewhere", nothing):
        assert (tmp_path / "own.lock").read_text() == f"elsewhere (process {os.getpid()})"
