"""One kernel at a time on the machine: a timing taken while another kernel computes is not real.

A file lock, so that it is free again the moment its holder is gone, however it went. The file tells the
others whom they wait for.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from polybook.errors import STOP_SIGNALS, Interrupted, LockUnusable

#: The same for every user and every ``TMPDIR``, or it would not be one lock a machine.
LOCK_FILE = Path("/tmp/polybook.lock")  # noqa: S108
#: Names another file, for those whose kernels take no timings that matter, such as tests beside each other.
LOCK_VARIABLE = "POLYBOOK_LOCK"

_POLL_S = 0.05
_PATIENCE_S = 0.5


@contextlib.contextmanager
def machine_lock(purpose: str, report: Callable[[str], None], path: Path | None = None) -> Iterator[None]:
    """Hold the machine's kernel lock.

    Args:
        purpose: What the holder does, for those who wait; one line, no path of the holder's in it.
        report: Called with whom we wait for: once if it takes a moment, again whenever the holder changes.
        path: The lock file; the machine's if none is given.
    """
    path = path or Path(os.environ.get(LOCK_VARIABLE) or LOCK_FILE)
    try:
        descriptor = _open(path)
    except OSError as error:
        raise LockUnusable(
            f"{path}: {error.strerror}. It has to be a file that every user may write: kernels take turns by it.\n"
            "Remove what is there in its place, or make it writable."
        ) from error
    try:
        with _interruptible():
            _acquire(descriptor, report)
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{purpose} (process {os.getpid()})".encode(), 0)
            yield
        finally:
            # Only a holder may: one that stops waiting would wipe out the holder's name.
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let a signal end the wait, also where SIGINT was ignored from the start, as in a background job of a shell."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(signum: int, _frame: object) -> None:
        raise Interrupted(signum)

    before = {signum: signal.signal(signum, stop) for signum in STOP_SIGNALS}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler or signal.SIG_DFL)


def _open(path: Path) -> int:
    """Open the lock file; any user may lock it.

    Linux refuses ``O_CREAT`` on another user's file in ``/tmp`` (``fs.protected_regular``): creating comes second.
    """
    while True:
        try:
            # A link that someone planted in /tmp is not followed.
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return descriptor
            os.close(descriptor)
            raise OSError(errno.EINVAL, "not a regular file")
        except FileNotFoundError:
            if not path.parent.is_dir():
                raise
            with contextlib.suppress(FileExistsError):
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
                os.fchmod(descriptor, 0o666)
                return descriptor


def _acquire(descriptor: int, report: Callable[[str], None]) -> None:
    start = time.monotonic()
    told = ""
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            holder = os.pread(descriptor, 500, 0).decode(errors="replace")
            if holder and holder != told and time.monotonic() - start > _PATIENCE_S:
                report(f"waiting for the kernel of {holder}: one kernel at a time on a machine")
                told = holder
            time.sleep(_POLL_S)
