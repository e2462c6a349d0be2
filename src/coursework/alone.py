"""One command at a time in a course's folder: two that change it would undo each other's work.

The kernel holds the lock, so it is free again the moment its holder is gone, however it went. The file tells the
others whom they wait for.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
from collections.abc import Iterator
from datetime import datetime

from coursework.course import Course
from coursework.errors import CourseError

#: The lock, in the course's folder.
FILE = ".lock"
#: What each command that changes a course's folder is doing, for those who come meanwhile. No student is named.
_DOES = {
    "roster": "the roster is being written here already",
    "collect": "hand-ins are being collected here already",
    "grade": "this course is being graded already",
    "return": "grades are being returned from here already",
    "forget": "the data of a student are being deleted here already",
}
_LONGEST = 300


@contextlib.contextmanager
def alone(course: Course, command: str) -> Iterator[None]:
    """Let no other command change a course's folder meanwhile.

    Args:
        course: The course; where there is no folder yet, nothing can be changed, and nothing is locked.
        command: ``collect``, ``grade``, ``return`` or ``forget``.

    Raises:
        CourseError: If another command is at work there, or the folder's file system knows no locks.
    """
    if not course.root.is_dir():
        yield
        return
    # Nobody removes the file: whoever locked a removed one would be alone with it.
    lock = os.open(course.root / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _take(lock, course)
        now = datetime.now().astimezone().isoformat(" ", "minutes")
        what = f"{_DOES[command]} (coursework {command}: process {os.getpid()} on {platform.node()}, since {now})"
        os.ftruncate(lock, 0)
        os.pwrite(lock, what.encode("utf8", "replace"), 0)
        try:
            yield
        finally:
            # Only a holder may: the next one would lose its name.
            os.ftruncate(lock, 0)
    finally:
        os.close(lock)


def _take(lock: int, course: Course) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(lock, _LONGEST, 0).decode("utf8", "replace")
        told = "".join(letter for letter in text if letter.isprintable()) or "another command is at work here already"
        raise CourseError(
            f"{course.root}: {told}. Nothing was done. Wait until that ends, then give this command again; if it "
            "hangs, end it with Ctrl-C where it runs."
        ) from None
    except OSError as error:
        raise CourseError(
            f"{course.root / FILE}: {error.strerror}. Commands take turns by a lock on this file. Move the course's "
            "folder to a disk of this machine."
        ) from None
