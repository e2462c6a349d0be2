"""Build a book again and again, each time in a process of its own that has imported everything beforehand.

A part of ``polybook serve``. Of a small edit's build most is Python's importing of Jupyter Book, Sphinx and their
extensions, and making an application of them: so while nothing happens, the process of the next build (``spare.py``)
does that, and waits.
"""

from __future__ import annotations

import contextlib
import enum
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

#: Seconds that a build has to end when it is asked to.
_GRACE_S = 5
#: The endings of what a build reads only once it looks for pages.
_PAGES = (".md", ".ipynb")
#: From here on a build writes what the next one relies on. (Not "writing output": of no translations, it comes first.)
_READING = re.compile(r"^(reading sources|looking for now-outdated)")
_FAULT = re.compile(r"(^|\b)(ERROR|CRITICAL|error|Traceback)\b")
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
#: Lines of a build without an error of its own that are shown as what went wrong.
_LAST_LINES = 40


class Outcome(enum.Enum):
    """What became of a build."""

    BUILT = enum.auto()
    FAILED = enum.auto()
    #: It was stopped, since what it was about to show had changed again.
    GAVE_WAY = enum.auto()


@dataclass(frozen=True)
class Result:
    """A build that has ended.

    Attributes:
        outcome: What became of it.
        fault: What went wrong, in its own words; empty if nothing did.
    """

    outcome: Outcome
    fault: str = ""


class Builds:
    """Builds of one book, one at a time. A context: nothing runs any more when it is left."""

    def __init__(self, root: Path) -> None:
        """Prepare nothing yet."""
        self._root = root
        self._spare: subprocess.Popen[str] | None = None
        self._running: subprocess.Popen[str] | None = None
        self._may_give_way = self._gave_way = False

    def __enter__(self) -> Builds:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop what runs."""
        for process in filter(None, (self._running, self._spare)):
            _stop(process)

    def prepare(self) -> None:
        """Have the next build's process import what it will need."""
        if self._spare is None:
            self._spare = self._start()

    def give_way(self) -> None:
        """Stop the build that runs, if all it has done so far is to run cells; may be called in another thread."""
        process = self._running
        if process is not None and self._may_give_way:
            self._gave_way = True
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)

    def build(self, changed: Collection[Path]) -> Result:
        """Build; what it prints is printed as it comes.

        Args:
            changed: What was saved since the last one.
        """
        if self._spare is not None and any(path.suffix not in _PAGES for path in changed):
            # It may have read what was there before: modules, the configuration, the table of contents.
            _stop(self._spare)
            self._spare = None
        process, self._spare = self._spare or self._start(), None
        self._gave_way, self._may_give_way, self._running = False, True, process
        lines = _run(process, self._note)
        self._may_give_way, self._running = False, None
        if self._gave_way and process.returncode:
            return Result(Outcome.GAVE_WAY)
        if process.returncode:
            return Result(Outcome.FAILED, fault_in(lines))
        return Result(Outcome.BUILT)

    def _note(self, line: str) -> None:
        if _READING.match(line):
            self._may_give_way = False

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "polybook.spare", str(self._root)]
        # In a session of its own: Ctrl-C reaches it through us, in order. As text that is never held back.
        return subprocess.Popen(  # noqa: S603 - without a shell
            command, cwd=self._root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", start_new_session=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip


def _run(process: subprocess.Popen[str], note: Callable[[str], None]) -> list[str]:
    """Let a prepared process build, print what it prints, and give its lines without colours."""
    lines: list[str] = []
    if process.stdin is None or process.stdout is None:
        raise ValueError("a build is started with pipes")
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write("\n")
        process.stdin.close()
    with process.stdout as output:
        for line in output:
            print(line, end="", flush=True)
            plain = _COLOURS.sub("", line).rstrip()
            lines.append(plain)
            note(plain)
    process.wait()
    return lines


def _stop(process: subprocess.Popen[str]) -> None:
    """End a process and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    for pipe in filter(None, (process.stdin, process.stdout)):
        with contextlib.suppress(BrokenPipeError):
            pipe.close()


def fault_in(lines: list[str]) -> str:
    """Find in what a build printed what went wrong: from its first error on, or its end."""
    first = next((number for number, line in enumerate(lines) if _FAULT.search(line)), None)
    found = lines[-_LAST_LINES:] if first is None else lines[first:]
    return "\n".join(found).strip()
