"""Builds of books that start with their imports done, for a test suite that builds hundreds of them.

Half of the time of a small build goes into importing Jupyter Book, Sphinx and what they load. The nursery is a process
that has imported it all and does nothing else; each build is a fork of it. ``build_in_nursery`` asks it, and
``python nursery.py DESCRIPTOR`` is the nursery. What Python reads when it starts no fork can change, so an environment
that differs in that gets a nursery of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

#: Variables that are read when Python starts, or when a module is imported.
FIXED = re.compile(
    r"PYTHON.*|LANG|LANGUAGE|LC_.*|TZ|NO_COLOR|FORCE_COLOR|COLUMNS|PATH|HOME|TMPDIR|XDG_.*|JUPYTER_.*|IPYTHON.*"
)
#: Where modules lie that are the same for every book.
_LASTING = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), str(Path(__file__).parents[1] / "src")})


def build_in_nursery(
    arguments: Sequence[str], *, cwd: Path, environment: Mapping[str, str], timeout: float
) -> tuple[int, str]:
    """Run ``jupyter-book`` with these arguments; gives its exit status and all that it printed.

    Args:
        arguments: After the command's name.
        cwd: Where it runs.
        environment: Its environment.
        timeout: In seconds.

    Raises:
        subprocess.TimeoutExpired: It took longer and was ended.
    """
    fixed = {name: value for name, value in environment.items() if FIXED.fullmatch(name)}
    nursery = _nursery(json.dumps(fixed, sort_keys=True))
    asked = {"arguments": list(arguments), "cwd": str(cwd), "environment": dict(environment)}
    answering, theirs = socket.socketpair()
    with answering, tempfile.TemporaryFile() as printed:
        with theirs:
            socket.send_fds(nursery, [json.dumps(asked).encode() + b"\n"], [printed.fileno(), theirs.fileno()])
        with answering.makefile() as answers:
            pid = int(answers.readline())
            answering.settimeout(timeout)
            try:
                status = int(answers.readline())
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(["jupyter-book", *arguments], timeout) from None
        printed.seek(0)
        return status, printed.read().decode("utf8")


@cache
def _nursery(environment: str) -> socket.socket:
    """Start a nursery, once for each fixed part of an environment; it ends with this process, whose end it sees."""
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, __file__, str(theirs.fileno())]
        process = subprocess.Popen(command, env=json.loads(environment), pass_fds=[theirs.fileno()])
    atexit.register(_end, process, ours)
    return ours


def _end(process: subprocess.Popen[bytes], asking: socket.socket) -> None:
    asking.close()
    process.wait()


def _main(asking: socket.socket) -> None:
    """Be the nursery. Returns in each of the builds, which end by themselves."""
    importlib.import_module("jupyter_book.cli.main")
    lessons, teaching = os.pipe()
    with asking, os.fdopen(lessons) as learning:
        while True:
            readable, _, _ = select.select([asking, learning], [], [])
            if learning in readable:
                for name in json.loads(learning.readline()):
                    # Of what cannot be imported by itself the next build will have to import more.
                    with contextlib.suppress(Exception):
                        importlib.import_module(name)
                continue
            asked, (printed, answering) = _received(asking)
            if not os.fork():
                break
            os.close(printed)
            os.close(answering)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
    pid = os.fork()
    if pid:
        _keep(pid, answering)
    os.close(answering)
    _become(asked, printed, teaching)


def _received(asking: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """What is asked for, and the files that came along: one to print into, and one to answer to."""
    line, descriptors, _, _ = socket.recv_fds(asking, 1 << 20, 2)
    while line and not line.endswith(b"\n"):
        line += asking.recv(1 << 20)
    if not line:
        sys.exit(0)
    return json.loads(line), descriptors


def _keep(pid: int, answering: int) -> None:
    """Say which process a build is, wait for it, and say how it ended."""
    os.write(answering, b"%d\n" % pid)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    # Nobody listens after a timeout.
    with contextlib.suppress(BrokenPipeError):
        os.write(answering, b"%d\n" % status)
    os._exit(0)


def _become(asked: dict[str, Any], printed: int, teaching: int) -> None:
    """Be the command, up to its exit."""
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    os.close(printed)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    command = str(Path(sys.executable).with_name("jupyter-book"))
    sys.argv = [command, *asked["arguments"]]
    sys.path[0] = str(Path(command).parent)
    atexit.register(_teach, teaching, os.getpid(), frozenset(sys.modules))
    from jupyter_book.cli.main import main

    sys.exit(main())


def _teach(teaching: int, build: int, known: frozenset[str]) -> None:
    """Tell the nursery what a build had to import, so that the next one has it."""
    imported = sorted(_lasting(sys.modules.keys() - known))
    # Not in processes that the build has forked.
    if imported and os.getpid() == build:
        os.write(teaching, json.dumps(imported).encode() + b"\n")


def _lasting(names: set[str]) -> Iterator[str]:
    """Yield the modules that no book brought with it."""
    for name in names:
        spec = getattr(sys.modules[name], "__spec__", None)
        if spec and spec.name == name and (spec.origin or "").startswith(_LASTING):
            yield name


if __name__ == "__main__":
    _main(socket.socket(fileno=int(sys.argv[1])))
