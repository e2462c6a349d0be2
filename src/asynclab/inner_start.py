"""Start a kernel of another interpreter, over sockets that nobody else can reach, and leave nothing behind.

Makes what ``inner_kernel.py`` works with. ``inner_launch.py`` is the other end.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any

from asynclab.errors import ElsewhereError
from asynclab.inner_kernel import POLL_MS, InnerKernel, end, is_alive, on_interrupt, stop

_LONGEST_START_S = 180
#: Longer bases leave too little of the hundred bytes that a socket's path may have (unix(7)).
_LONGEST_BASE = 60
#: Variables of the outer Python that must not leak into another environment's. ipykernel sets MPLBACKEND itself.
_LEAKING = (
    *("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONOPTIMIZE", "PYTHONWARNINGS", "PYTHONINSPECT"),
    *("PYTHONEXECUTABLE", "PYTHONPLATLIBDIR", "VIRTUAL_ENV", "MPLBACKEND", "__PYVENV_LAUNCHER__"),
)


def start(python: str) -> InnerKernel:
    """Start a kernel and wait until it is ready.

    Args:
        python: Path of the interpreter, whose environment has ``ipykernel``.

    Returns:
        The kernel, with every socket connected.

    Raises:
        ElsewhereError: If the kernel ended, or was not ready in three minutes.
        KeyboardInterrupt: If the start was interrupted; nothing is left of it then.
    """
    interrupted = threading.Event()
    # Once every socket is connected nobody needs the files of sockets: they are gone whatever happens later.
    with (
        tempfile.TemporaryDirectory(prefix="asynclab-", dir=_base()) as folder,
        tempfile.TemporaryFile() as errors,
        on_interrupt(lambda *_: interrupted.set()),
    ):
        inner = _launch(python, Path(folder), errors)
        try:
            _wait_until_ready(inner, partial(_check, inner, errors, interrupted, time.monotonic()))
        except BaseException:
            stop(inner, patience_s=0)
            raise
    return inner


def _base() -> str:
    base = tempfile.gettempdir()
    return base if len(base) <= _LONGEST_BASE or sys.platform == "win32" else "/tmp"  # noqa: S108


def _launch(python: str, folder: Path, errors: IO[bytes]) -> InnerKernel:
    """Connect sockets to where the kernel is going to be, and start its process."""
    from jupyter_client.connect import write_connection_file
    from jupyter_client.launcher import launch_kernel
    from jupyter_client.session import Session

    transport, ip = ("tcp", "") if sys.platform == "win32" else ("ipc", str(folder / "k"))
    key = secrets.token_hex().encode()
    file, connection = write_connection_file(str(folder / "connection.json"), ip=ip, key=key, transport=transport)
    session = Session(key=key, signature_scheme=connection["signature_scheme"])
    context, *sockets = _sockets(dict(connection), session.bsession)
    script = str(Path(__file__).with_name("inner_launch.py"))
    process = launch_kernel(
        # The outer kernel writes the history of cells; they need not stand there twice.
        [python, script, "-f", file, "--HistoryManager.hist_file=:memory:"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors.fileno(),
        env={name: value for name, value in os.environ.items() if name not in _LEAKING},
        cwd=str(Path.cwd()),
    )
    return InnerKernel(python, process, session, context, *sockets)


def _sockets(connection: dict[str, Any], identity: bytes) -> list[Any]:
    """Make a ZeroMQ context and its sockets for shell, output, input and control."""
    import zmq

    context = zmq.Context()
    # At its limit ZeroMQ drops output without a word.
    context.setsockopt(zmq.RCVHWM, 0)
    # Can be written to only while it is connected: so we learn when it is. Never wait long for a kernel that is gone.
    context.setsockopt(zmq.IMMEDIATE, 1)
    context.setsockopt(zmq.SNDTIMEO, 1000)
    made = []
    for channel in ("shell", "iopub", "stdin", "control"):
        socket = context.socket(zmq.SUB if channel == "iopub" else zmq.DEALER)
        if channel == "iopub":
            socket.setsockopt(zmq.SUBSCRIBE, b"")
        else:
            # A kernel sends requests for input to whoever sent the cell, by this name.
            socket.setsockopt(zmq.IDENTITY, identity)
        port = connection[f"{channel}_port"]
        address = f"{connection['ip']}:{port}" if connection["transport"] == "tcp" else f"{connection['ip']}-{port}"
        socket.connect(f"{connection['transport']}://{address}")
        made.append(socket)
    return [context, *made]


def _wait_until_ready(inner: InnerKernel, check: Callable[[], None]) -> None:
    import zmq

    for socket in (inner.shell, inner.stdin, inner.control):
        while not socket.poll(POLL_MS, zmq.POLLOUT):
            check()
    # A subscription takes effect late, and what was sent before is lost: make the kernel speak until it is heard.
    while not inner.iopub.poll(POLL_MS):
        check()
        inner.session.send(inner.shell, "kernel_info_request")


def _check(inner: InnerKernel, errors: IO[bytes], interrupted: threading.Event, begun_s: float) -> None:
    """Look whether a kernel is still to be waited for."""
    if interrupted.is_set():
        raise KeyboardInterrupt
    waited_s = time.monotonic() - begun_s
    if is_alive(inner) and waited_s < _LONGEST_START_S:
        return
    found = f"is not ready after {waited_s:.0f} s" if is_alive(inner) else f"did not start: it {end(inner)}"
    errors.seek(0)
    lines = errors.read().decode("utf8", "replace").strip().splitlines()
    raise ElsewhereError(
        f"run_cells_elsewhere: the kernel of {inner.python} {found}. It said: {lines[-1] if lines else 'nothing'}\n"
        "Its environment has to have ipykernel, and an interpreter that works on this machine."
    )
