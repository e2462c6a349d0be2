"""Run a notebook's cells in a kernel of another interpreter, so that they stay plain Python.

For notebooks whose framework does not work with the Python that they are opened in. What is particular to IPython is
here, the second kernel in ``inner_kernel.py``. Below, "outer" is the notebook's own kernel, "inner" the other one.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from asynclab import inner_kernel
from asynclab.errors import ElsewhereError
from asynclab.inner_kernel import InnerKernel, Message
from asynclab.inner_start import start

#: Cells that name one of these run in the outer kernel: or there would be no way back, or only that kernel knows what
#: they ask for, the notebook.
_OURS = re.compile(r"\b(run_cells_(elsewhere|here_again)|exercises\.pack)\b")
#: What is shown. Of widgets, what code does to them; what a reader does to one does not come back.
_OUTPUT = (
    *("stream", "display_data", "update_display_data", "execute_result", "clear_output"),
    *("comm_open", "comm_msg", "comm_close"),
)
#: Cells keep the numbers that readers see, in tracebacks, `Out` and `In`, although some cells ran in the outer kernel.
_NUMBER = """\
get_ipython().execution_count = {count}
[past.extend([""] * ({count} - len(past))) for past in
 (get_ipython().history_manager.input_hist_parsed, get_ipython().history_manager.input_hist_raw)]
"""


def run_cells_elsewhere(python: str | os.PathLike[str], *, first: str = "") -> None:
    """From the next cell on, run this notebook's cells in a kernel of another interpreter.

    If they already do, and that kernel lives, nothing happens: its variables stay. Magics, figures, errors, input and
    interrupts work as in any kernel. The cell that calls this, and cells that name ``run_cells_elsewhere``,
    ``run_cells_here_again`` or ``exercises.pack``, go on to run in the outer kernel.

    Args:
        python: The interpreter; its environment has to have ``ipykernel``.
        first: Code that runs there at once, before any cell; what it prints is not shown.

    Raises:
        ElsewhereError: If this is no Jupyter kernel, if the other kernel does not start, or if ``first`` fails.
    """
    shell = _shell()
    path = _interpreter(python)
    forwarding = _forwarding(shell)
    if forwarding and forwarding.inner.python == path and inner_kernel.is_alive(forwarding.inner):
        return
    run_cells_here_again()
    inner = start(path)
    atexit.register(inner_kernel.stop, inner)
    try:
        _run_first(inner, first)
    except BaseException:
        inner_kernel.stop(inner)
        raise
    _forward(shell, inner)


def run_cells_here_again() -> None:
    """From the next cell on, run this notebook's cells in its own kernel; the other one ends, with its variables.

    Raises:
        ElsewhereError: If this is no Jupyter kernel.
    """
    shell = _shell()
    forwarding = _forwarding(shell)
    if forwarding:
        shell.input_transformers_cleanup.remove(forwarding)
        shell.Completer.custom_matchers.remove(forwarding.matcher)
        shell.set_custom_exc((), None)
        shell.kernel.io_loop.remove_handler(forwarding.inner.iopub)
        inner_kernel.stop(forwarding.inner)


@dataclass(frozen=True, eq=False)
class _Forwarding:
    """Turns each cell into a call that runs it in the inner kernel: one of IPython's transformers of input."""

    inner: InnerKernel
    set_up: str
    matcher: Callable[[str], list[str]]
    #: IPython then leaves it out when it only asks whether a cell is complete.
    has_side_effects: ClassVar[bool] = True

    def __call__(self, lines: list[str]) -> list[str]:
        """Transform a cell, given as its lines."""
        source = "".join(lines)
        if source.strip() == self.set_up or _OURS.search(source):
            return lines
        # What IPython itself makes of a cell magic. One line, of which no later transformer takes anything for code.
        return [f"get_ipython().run_cell_magic('elsewhere', '', {source!r})\n"]


@dataclass(frozen=True)
class _Relay:
    """Shows in the notebook what the inner kernel sends."""

    shell: Any
    inner: InnerKernel
    #: The outer request behind each inner one: threads of an earlier cell go on to print below that cell.
    parents: dict[str, Message] = field(default_factory=dict)

    def output(self, message: Message) -> None:
        """Publish a message of output as it is."""
        outer = self.shell.kernel
        asked_by = message["parent_header"].get("msg_id", "")
        parent = self.parents.setdefault(asked_by, outer.get_parent("shell").get("header", {}))
        if message["msg_type"] == "error":
            failure = _failure(message["content"])
            self.shell.showtraceback((type(failure), failure, None))
        elif message["msg_type"] in _OUTPUT:
            outer.session.send(
                *(outer.iopub_socket, message["msg_type"], message["content"], parent),
                buffers=message["buffers"],
                metadata=message["metadata"],
            )

    def pending(self, *_: object) -> None:
        """Publish what came in the meantime."""
        for message in inner_kernel.pending(self.inner):
            self.output(message)

    def answer(self, message: Message) -> None:
        """Ask the reader, and send the answer to the code that waits for it."""
        asked = message["content"]
        outer = self.shell.kernel
        try:
            # Waiting for a reader can only be interrupted by an exception.
            with inner_kernel.on_interrupt(signal.default_int_handler):
                value = (outer.getpass if asked["password"] else outer.raw_input)(asked["prompt"])
        except EOFError:
            value = "\x04"  # which is how Jupyter's protocol says it
        except KeyboardInterrupt:
            inner_kernel.interrupt(self.inner)
            return
        self.inner.session.send(self.inner.stdin, "input_reply", {"value": value})


class _CellFailed(Exception):
    """Base of what is raised for a cell that failed elsewhere; its subclasses have the names of the errors there."""

    def __init__(self, value: str, traceback: list[str]) -> None:
        super().__init__(value)
        self.traceback = traceback

    def _render_traceback_(self) -> list[str]:
        return self.traceback


def _failure(content: Message) -> _CellFailed:
    kind: type[_CellFailed] = type(content["ename"], (_CellFailed,), {})
    return kind(content["evalue"], content["traceback"])


def _shell() -> Any:
    try:
        from ipykernel.zmqshell import ZMQInteractiveShell
        from IPython import get_ipython
    except ImportError:
        shell = None
    else:
        shell = get_ipython()
    if shell is None or not isinstance(shell, ZMQInteractiveShell):
        raise ElsewhereError(
            "run_cells_elsewhere: this is no cell of a Jupyter notebook, so there are no cells to run elsewhere.\n"
            "Call it in a notebook, or start a program with the other interpreter itself."
        )
    return shell


def _interpreter(python: str | os.PathLike[str]) -> str:
    # A link is not followed: a virtual environment's interpreter is one, and is told apart by its path.
    path = os.path.abspath(os.path.expanduser(python))  # noqa: PTH100, PTH111
    if not shutil.which(path):
        raise ElsewhereError(
            f"run_cells_elsewhere: there is no interpreter at {path}.\n"
            "Give the path of a Python whose environment has ipykernel, such as `.venv/bin/python`."
        )
    return path


def _forwarding(shell: Any) -> _Forwarding | None:
    return next((each for each in shell.input_transformers_cleanup if isinstance(each, _Forwarding)), None)


def _run_first(inner: InnerKernel, code: str) -> None:
    reply = inner_kernel.execute(inner, code, **inner_kernel.SILENTLY)
    if reply["status"] != "ok":
        raise ElsewhereError(
            f"run_cells_elsewhere: the code to run first failed in {inner.python}: "
            f"{reply.get('ename')}: {reply.get('evalue')}\nCorrect `first`, or what it imports there."
        )


def _forward(shell: Any, inner: InnerKernel) -> None:
    """Hook into IPython, each time where it offers that."""
    import zmq

    def complete(completer: Any, text: str) -> list[str]:
        return _completions(inner, completer.text_until_cursor, text)

    shell.set_custom_completer(complete)
    set_up = shell.kernel.get_parent("shell").get("content", {}).get("code", "").strip()
    forwarding = _Forwarding(inner, set_up, shell.Completer.custom_matchers[0])
    relay = _Relay(shell, inner)
    shell.register_magic_function(lambda _, source: _run(relay, source), "cell", "elsewhere")
    # The traceback stands in the notebook already by the time that the cell is told to have failed.
    shell.set_custom_exc((_CellFailed,), lambda *_, **__: None)
    # First, to get cells as the reader wrote them.
    shell.input_transformers_cleanup.insert(0, forwarding)
    # Threads print between cells as well.
    shell.kernel.io_loop.add_handler(inner.iopub, relay.pending, shell.kernel.io_loop.READ)
    # At its limit ZeroMQ drops output without a word, and what is relayed comes faster than code makes it.
    thread = shell.kernel.iopub_thread
    thread.schedule(partial(thread.socket.setsockopt, zmq.SNDHWM, 0))


def _run(relay: _Relay, source: str) -> None:
    """Run a cell in the inner kernel, as the outer one was asked to run it."""
    shell, inner = relay.shell, relay.inner
    asked = shell.kernel.get_parent("shell").get("content", {})
    options = {name: asked[name] for name in ("silent", "store_history", "allow_stdin") if name in asked}
    sys.stdout.flush()
    sys.stderr.flush()
    # Not `shell.execution_count`, which newer versions of IPython raise before a cell runs.
    number = _NUMBER.format(count=shell.displayhook.prompt_count)
    code = source.removesuffix("\n")  # which IPython appends
    reply = inner_kernel.execute(inner, code, relay.output, relay.answer, before=number, **options)
    for payload in reply.get("payload", []):
        # `exit` ends the inner kernel; a front end that is told of it would end the outer one as well.
        if payload["source"] != "ask_exit":
            shell.payload_manager.write_payload(payload, single=False)
        elif not payload["keepkernel"]:
            print(inner_kernel.farewell(inner))
    relay.pending()
    if reply["status"] != "ok":
        raise _failure(reply)


def _completions(inner: InnerKernel, line: str, token: str) -> list[str]:
    """What the inner kernel would write at the end of a line, each in place of the token there."""
    if not inner_kernel.is_alive(inner):
        return []
    reply = inner_kernel.complete(inner, line)
    kept = line[len(line) - len(token) : reply["cursor_start"]]
    return [kept + match for match in reply["matches"]]
