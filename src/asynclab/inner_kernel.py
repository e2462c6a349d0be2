"""Run code in a kernel of another interpreter, interrupt it, end it.

Between ``elsewhere.py``, which knows the notebook, and ``inner_start.py``, which makes such kernels. Speaks Jupyter's
protocol through ``jupyter_client.session`` alone: the library's blocking client goes its own way through the running
event loop in each major version, and an interrupt could strike it anywhere.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

from asynclab.errors import ElsewhereError

if TYPE_CHECKING:
    import zmq
    from jupyter_client.session import Session

Message = dict[str, Any]

POLL_MS = 100  # how soon an end of the process is noticed
_PATIENCE_S = 2  # for what a kernel does as it ends
#: Options of a request that shows and remembers nothing.
SILENTLY: Message = {"silent": True, "store_history": False, "allow_stdin": False}


@dataclass(frozen=True)
class InnerKernel:
    """A kernel that runs, and the sockets to it."""

    python: str
    process: subprocess.Popen[bytes]
    session: Session
    context: zmq.Context[zmq.Socket[bytes]]
    shell: zmq.Socket[bytes]
    iopub: zmq.Socket[bytes]
    stdin: zmq.Socket[bytes]
    control: zmq.Socket[bytes]


def execute(
    inner: InnerKernel,
    code: str,
    output: Callable[[Message], None] = lambda _: None,
    answer: Callable[[Message], None] = lambda _: None,
    *,
    before: str = "",
    **options: Any,
) -> Message:
    """Run code; an interrupt of this process interrupts that code instead.

    Args:
        inner: The kernel.
        code: Source of a cell, magics included.
        output: Given each message of output, in order; those too that background threads sent since the last call.
        answer: Given each request for input.
        before: Code that is run silently before.
        **options: Further content of the request, such as ``silent=True``.

    Returns:
        The content of the kernel's reply.

    Raises:
        ElsewhereError: If the kernel ends, or has ended.
    """
    if not is_alive(inner):
        raise ElsewhereError(farewell(inner))
    with on_interrupt(lambda *_: interrupt(inner)):
        if before:
            _send(inner, "execute_request", _request(before, **SILENTLY))
        request = _send(inner, "execute_request", _request(code, **options))
        for message in _messages(inner):
            if message["msg_type"] == "input_request":
                answer(message)
            elif _is_idle(message) and message["parent_header"].get("msg_id") == request:
                return _reply(inner, request)
            else:
                output(message)
    raise ElsewhereError(farewell(inner))


def complete(inner: InnerKernel, code: str) -> Message:
    """Ask a kernel that runs nothing what could follow after this code; gives the content of its reply."""
    request = _send(inner, "complete_request", {"code": code, "cursor_pos": len(code)})
    return _reply(inner, request)


def pending(inner: InnerKernel) -> Iterator[Message]:
    """Yield the messages of output that are there, without waiting."""
    while inner.iopub.poll(0):
        yield _received(inner, inner.iopub)


def is_alive(inner: InnerKernel) -> bool:
    """Say whether the kernel's process runs."""
    return inner.process.poll() is None


def interrupt(inner: InnerKernel) -> None:
    """Interrupt what the kernel runs, and the processes that it has started, as Jupyter does."""
    if sys.platform == "win32":
        from jupyter_client.win_interrupt import send_interrupt

        send_interrupt(inner.process.win32_interrupt_event)
    elif is_alive(inner):
        os.killpg(inner.process.pid, signal.SIGINT)


def stop(inner: InnerKernel, patience_s: float = _PATIENCE_S) -> None:
    """End the kernel and its process group.

    Args:
        inner: The kernel; may have ended.
        patience_s: Seconds that it may take to end by itself.
    """
    import zmq

    if inner.context.closed:
        return
    if patience_s and is_alive(inner):
        with contextlib.suppress(subprocess.TimeoutExpired, zmq.Again):
            inner.session.send(inner.control, "shutdown_request", {"restart": False})
            inner.process.wait(patience_s)
    if is_alive(inner):
        inner.process.kill() if sys.platform == "win32" else os.killpg(inner.process.pid, signal.SIGKILL)
        inner.process.wait()
    inner.context.destroy(linger=0)


def farewell(inner: InnerKernel) -> str:
    """Wait until a kernel that ends has ended; says how, and what a reader can do."""
    return (
        f"The kernel that ran this notebook's cells ({inner.python}) {end(inner)}. "
        "Run the notebook's first cell again to start another, then the cells that you need."
    )


def end(inner: InnerKernel) -> str:
    """Wait until a kernel that ends has ended, and say how."""
    status = inner.process.wait()
    if status == -getattr(signal, "SIGKILL", 0):
        return "was killed by SIGKILL, most likely because memory ran out"
    if status < 0:
        return f"was killed by {signal.Signals(-status).name}"
    return f"ended with status {status}"


@contextlib.contextmanager
def on_interrupt(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Call this at an interrupt; without it ``KeyboardInterrupt`` is raised, between any two lines of ours."""
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _messages(inner: InnerKernel) -> Iterator[Message]:
    """Yield what comes, until the kernel ends and all is read."""
    import zmq

    poller = zmq.Poller()
    poller.register(inner.iopub, zmq.POLLIN)
    poller.register(inner.stdin, zmq.POLLIN)
    while True:
        # Looked at before: what the kernel has sent by its end is here by then.
        alive = is_alive(inner)
        ready = dict(poller.poll(POLL_MS))
        if inner.stdin in ready:
            yield from _just_before(inner)
            yield _received(inner, inner.stdin)
        elif ready:
            yield _received(inner, inner.iopub)
        elif not alive:
            return


def _just_before(inner: InnerKernel) -> Iterator[Message]:
    """Yield the output that belongs before a question, which may overtake it: they come through different sockets."""
    deadline_s = time.monotonic() + POLL_MS / 1000
    while inner.iopub.poll(max(0, int(1000 * (deadline_s - time.monotonic())))):
        yield _received(inner, inner.iopub)
        if time.monotonic() > deadline_s:  # a thread prints on and on
            return


def _received(inner: InnerKernel, socket: zmq.Socket[bytes]) -> Any:
    """Return the next message of a socket; ``None`` if there is none."""
    return inner.session.recv(socket)[1]


def _is_idle(message: Message) -> bool:
    return bool(message["msg_type"] == "status" and message["content"]["execution_state"] == "idle")


def _request(code: str, **options: Any) -> Message:
    # Without `stop_on_error`: what is sent shortly after a failure would be thrown away.
    return {"code": code, "stop_on_error": False, "user_expressions": {}, **options}


def _send(inner: InnerKernel, kind: str, content: Message) -> str:
    """Send a request and return its id."""
    import zmq

    message = inner.session.msg(kind, content)
    try:
        inner.session.send(inner.shell, message)
    except zmq.Again:
        raise ElsewhereError(farewell(inner)) from None
    return str(message["header"]["msg_id"])


def _reply(inner: InnerKernel, request: str) -> Message:
    """Wait for the reply to a request and return its content; those that nobody waited for are passed over."""
    while inner.shell.poll(POLL_MS) or is_alive(inner):
        message = _received(inner, inner.shell)
        if message and message["parent_header"].get("msg_id") == request:
            content: Message = message["content"]
            return content
    raise ElsewhereError(farewell(inner))
