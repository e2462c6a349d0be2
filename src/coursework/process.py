"""One process of a submission in its jail: calls out, replies in, and limits on everything. `student` makes more of it.

Whoever waits for a reply takes what is printed meanwhile and looks at the clock, a thread watches memory, and another
does what objects outside are asked for, so that nothing the other side does, leaves undone or has done can hold up more
than the call's own time limit.
"""

from __future__ import annotations

import os
import re
import select
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from coursework import jail as jails
from coursework import protocol
from coursework.aside import TOO_LONG, Aside
from coursework.bubblewrap import TEMPORARY_FOLDERS
from coursework.errors import CourseworkError, JailError
from coursework.model import Failed, Limits, NotAttempted, Outcome, StudentError, TooNoisy
from coursework.usage import Kept, kept, usage
from coursework.values import Remote

#: How many calls of objects outside one call of a function may make.
REMOTE_CALLS = 20_000
#: What the kernel keeps in its own memory for a jail, about 1 kB and up to 0.5 MB each; no course comes near.
FILES, SOCKETS = 100_000, 256
#: What takes long to import; done before the student's code runs, and not charged to it.
_SLOW = re.compile(
    r"^[ \t]*(?:import|from)[ \t]+((?:torch|torchvision|mxnet|d2l|numpy|scipy|matplotlib|pandas)\b[\w.]*)"
    r"(?:[ \t]+import[ \t]+(torch|mxnet)\b)?",
    re.MULTILINE,
)
_FRAMEWORK = {"pytorch": "torch", "mxnet": "mxnet"}
_TICK_S = 0.1
_PIECE = 65536
_LONGEST_MESSAGE = 2000
# What ends the question, wherever it is raised; all else that an object outside raises is told to its caller.
_OURS = (Failed, TooNoisy, StudentError, CourseworkError)


@dataclass
class Output:
    """What the cells of a submission printed, cut.

    Attributes:
        limit: How many bytes are kept.
        kept: They.
        total: How many came.
        begins: Where in them what a later process printed begins: it runs the same cells again.
        is_kept: Whether what comes is kept; what functions print when hidden questions call them would tell inputs.
    """

    limit: int
    kept: bytearray = field(default_factory=bytearray)
    total: int = 0
    begins: list[int] = field(default_factory=list)
    is_kept: bool = True

    def add(self, piece: bytes) -> None:
        """Take what was printed."""
        if not self.is_kept:
            return
        self.kept += piece[: max(0, self.limit - len(self.kept))]
        self.total += len(piece)

    def begin(self) -> None:
        """Note that another process prints from here on, and first its cells."""
        self.is_kept = True
        self.begins.append(len(self.kept))

    def text(self) -> str:
        """Give it to show: characters that cannot be shown are replaced, and where it was cut is said.

        What later processes printed like the first is shown once.
        """
        places = [*(self.begins or [0]), len(self.kept)]
        first, *later = [bytes(self.kept[start:end]) for start, end in pairwise(places)]
        parts = [first, *(_without_beginning(part, first) for part in later)]
        shown = printable(b"".join(parts).decode("utf8", errors="replace"), lines=True)
        cut = self.total - len(self.kept)
        return shown + (f"\n… (cut: {cut} more bytes were printed)" if cut else "")


class Process:
    """One process in its jail, good until it breaks a limit."""

    def __init__(self, jail: jails.Jail, limits: Limits, framework: str, output: Output, cpu_s: float) -> None:
        """Start it and wait until it listens.

        Args:
            jail: Where.
            limits: What it may use.
            framework: Whose tensors it makes.
            output: Takes what it prints.
            cpu_s: Seconds of processor time after which the kernel ends it.

        Raises:
            JailError: If the jail does not work here.
        """
        self._limits, self._framework, self._output = limits, framework, output
        self._loaded: set[str] = set()
        self._inmate = jails.start(jail, limits, framework, cpu_s=cpu_s)
        self._coming = bytearray()
        self._number = 0
        self._remotes: dict[int, Remote] = {}
        self._numbers: dict[int, int] = {}
        self.ended = False
        self._why = ""
        self._aside: Aside | None = None
        self._listens = False
        self._stop = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        self._poll = select.poll()
        for descriptor in (self._inmate.replies, self._inmate.output):
            self._poll.register(descriptor, select.POLLIN)
        self._death = os.pidfd_open(self._inmate.process.pid)
        self._poll.register(self._death, select.POLLIN)
        try:
            self._exchange({"do": "import", "names": []}, limits.import_s)
        except StudentError as error:
            why = f"{error}; {output.text().strip()[-500:]}"
            raise JailError(f"The jail does not work here ({why}). See `python -m coursework doctor`.") from None
        self._listens = True

    def prepare(self, pay: Callable[[Callable[[float], None]], None], *sources: str, arrays: bool = False) -> None:
        """Import what these sources will import and takes long, and the framework if tensors will be made.

        Args:
            pay: Has it done, giving it the seconds that it may take; not asked if all is there.
            sources: Cells.
            arrays: Whether tensors will be made.
        """
        found = {pair for source in sources for pair in _SLOW.findall(source)}
        names = {f"{module}.{part}" if part else module for module, part in found}
        if arrays and self._framework in _FRAMEWORK:
            names.add(_FRAMEWORK[self._framework])
        if missing := sorted(names - self._loaded):
            self._loaded |= names
            pay(lambda limit_s: self._exchange({"do": "import", "names": missing}, limit_s))

    def cell(self, name: str, source: str, limit_s: float) -> None:
        """Run a cell of the submission."""
        self._exchange({"do": "cell", "name": name, "source": source}, limit_s)

    def define(self, source: str, limit_s: float) -> None:
        """Run the question's own code."""
        self._exchange({"do": "define", "source": source}, limit_s)

    def call(self, function: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], limit_s: float) -> Any:
        """Call a function and give its reply."""
        self._remotes.clear()
        self._numbers.clear()
        request = {
            "do": "call",
            "function": function,
            "args": [protocol.tree(item, self._keep) for item in args],
            "kwargs": {key: protocol.tree(item, self._keep) for key, item in kwargs.items()},
        }
        return self._exchange(request, limit_s)

    def loaded(self) -> None:
        """Let nothing be kept of what is printed from here on: all cells have been run."""
        # What they printed lies in the pipe already, for each reply comes after it.
        with suppress(OSError):
            self._print()
        self._output.is_kept = False

    def dies_with_us(self) -> bool:
        """Tell whether it would not outlive us, by trying; nothing may be asked of it afterwards."""
        return jails.dies_with_us(self._inmate)

    def end(self) -> None:
        """End it, and all that it started; once more does nothing."""
        if not self.ended:
            self.ended = True
            self._stop.set()
            self._watcher.join()
            if self._aside:
                self._aside.end()
            # The death of the jail closes the pipe's other end: what was printed last is still there to be read.
            with suppress(OSError):
                self._print()
            os.close(self._death)
            jails.end(self._inmate)

    def _keep(self, remote: Remote) -> int:
        """Give the number of an object's handle; the same object has the same."""
        number = self._numbers.setdefault(id(remote.target), len(self._remotes))
        self._remotes[number] = remote
        return number

    def _exchange(self, request: dict[str, Any], limit_s: float) -> Any:
        """Send a request and give the reply's value; whatever breaks a rule ends the process."""
        self._number += 1
        until = time.monotonic() + limit_s
        remote = REMOTE_CALLS if request["do"] == "call" else 0
        self._send({"id": self._number, **request}, until)
        try:
            while True:
                reply = protocol.read(self._line(until))
                if reply.get("id") != self._number:
                    raise protocol.Refused("a reply came that nobody had asked for")
                if "remote" not in reply:
                    return self._reply(reply)
                remote -= 1
                if remote < 0:
                    raise protocol.Refused("it called the objects that it was given too often")
                self._send(self._outside(reply, until), until)
        except protocol.Refused as error:
            self.end()
            raise StudentError(Outcome.ERROR, f"It was stopped: {error}.") from None
        except _OURS as error:
            # A function that is still running, and an object outside that will not be answered.
            if not getattr(error, "complete", False):
                self.end()
            raise

    def _reply(self, reply: dict[str, Any]) -> Any:
        if reply.keys() == {"id", "gave"}:
            return protocol.value(reply["gave"])
        raised = reply.get("raised")
        if type(raised) is not list or [type(part) for part in raised] != [str, str]:
            raise protocol.Refused("the reply is no message")
        message = printable(raised[1])[:_LONGEST_MESSAGE]
        error = NotAttempted(message) if raised[0] == "not attempted" else StudentError(Outcome.ERROR, message)
        error.complete = True  # type: ignore[attr-defined]
        raise error

    def _outside(self, reply: dict[str, Any], until: float) -> dict[str, Any]:
        """Call the method of an object outside that the student's code asks for; give the message that answers.

        It may sleep, or compute, for as long as the student's code makes it: the call's time limit holds for it, too.
        """
        method, args, kwargs = self._asked(reply)
        self._aside = self._aside or Aside()
        try:
            return {"result": protocol.tree(self._aside.do(lambda: method(*args, **kwargs), until), self._keep)}
        except _OURS:
            raise
        except Exception as error:
            return {"raise": [type(error).__name__, str(error)[:_LONGEST_MESSAGE]]}

    def _asked(self, reply: dict[str, Any]) -> tuple[Callable[..., Any], list[Any], dict[str, Any]]:
        asked, args, kwargs = reply["remote"], reply.get("args"), reply.get("kwargs")
        if type(asked) is not list or [type(part) for part in asked] != [int, str]:
            raise protocol.Refused("the reply is no message")
        if type(args) is not list or type(kwargs) is not dict:
            raise protocol.Refused("the reply is no message")
        remote = self._remotes.get(asked[0])
        if remote is None or asked[1] not in remote.methods:
            raise protocol.Refused("it called what it was not given")
        given = [protocol.value(item, self._target) for item in args]
        return getattr(remote.target, asked[1]), given, {k: protocol.value(v, self._target) for k, v in kwargs.items()}

    def _target(self, number: int) -> Any:
        return self._remotes[number].target

    def _send(self, message: dict[str, Any], until: float) -> None:
        """Write a message, though the other side may not read."""
        left = memoryview(protocol.write(message))
        writable = select.poll()
        writable.register(self._inmate.requests, select.POLLOUT)
        while left:
            try:
                left = left[os.write(self._inmate.requests, left) :]
            except BlockingIOError:
                self._wait(until)
                writable.poll(1)
            except BrokenPipeError:
                self._died()

    def _line(self, until: float) -> bytes:
        """Wait for the next line from the other side."""
        while True:
            place = self._coming.find(b"\n")
            if place >= 0:
                line = bytes(self._coming[:place])
                del self._coming[: place + 1]
                return line
            if len(self._coming) > self._limits.reply_kb * 1024:
                raise protocol.Refused(f"the reply is longer than {self._limits.reply_kb} kB")
            self._wait(until)

    def _wait(self, until: float) -> None:
        """Wait a moment for what comes; take it; look after the limits."""
        left = until - time.monotonic()
        if left <= 0:
            self.end()
            raise StudentError(Outcome.TIMEOUT, TOO_LONG)
        ready = {descriptor for descriptor, _ in self._poll.poll(min(_TICK_S, left) * 1000)}
        if self._inmate.output in ready:
            self._print()
        if self._inmate.replies in ready and self._take():
            return
        if self._death in ready:
            self._died()

    def _take(self) -> bool:
        """Take a piece of a reply; tell whether one came."""
        try:
            piece = os.read(self._inmate.replies, _PIECE)
        except BlockingIOError:
            return False
        if not piece:
            # Closed: no reply can come, but its time or its life may still end; the poll would return at once.
            self._poll.unregister(self._inmate.replies)
        self._coming += piece
        return bool(piece)

    def _print(self) -> None:
        for _ in range(64):  # not for ever: the time limit has to be looked at
            try:
                piece = os.read(self._inmate.output, _PIECE)
            except BlockingIOError:
                return
            if not piece:
                with suppress(KeyError):
                    self._poll.unregister(self._inmate.output)
                return
            self._output.add(piece)

    def _watch(self) -> None:
        """Have it ended as soon as its processes together use more than they may, also while nobody waits for it."""
        while not self._stop.wait(_TICK_S):
            self._why = self._too_much()
            if self._why:
                jails.kill(self._inmate)
                return

    def _too_much(self) -> str:
        """Say what its processes use more of than they may."""
        found = usage(self._inmate.process.pid, self._limits.memory_mb)
        if found.memory_mb > self._limits.memory_mb:
            return f"It used more than {self._limits.memory_mb} MB of memory."
        if found.processes > 2 * self._limits.processes:
            return f"It started more than {self._limits.processes} processes."
        # Before it listens, its folders may still be those of this machine.
        apart = self._listens and self._inmate.first > 0
        inside = kept(self._inmate.first, TEMPORARY_FOLDERS) if apart else Kept()
        if inside.files > FILES:
            return f"It made more than {FILES} files."
        return f"It opened more than {SOCKETS} sockets." if inside.sockets > SOCKETS else ""

    def _died(self) -> None:
        self.end()
        raise StudentError(Outcome.CRASHED, self._why or "Its process ended before it replied.")


def _without_beginning(text: bytes, other: bytes) -> bytes:
    """Leave out the lines that a text begins with as another does."""
    lines, others = text.splitlines(keepends=True), other.splitlines(keepends=True)
    same = 0
    while same < min(len(lines), len(others)) and lines[same] == others[same]:
        same += 1
    return b"".join(lines[same:])


def printable(text: str, *, lines: bool = False) -> str:
    """Give a text whose every character can be shown.

    Args:
        text: From a submission.
        lines: Whether it may have several lines.
    """
    allowed = "\n\t" if lines else ""
    return "".join(c if c.isprintable() or c in allowed else "\N{REPLACEMENT CHARACTER}" for c in text)
