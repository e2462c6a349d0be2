"""Start a framework's kernel in its own environment, over IPC, and leave nothing behind.

No kernelspec is written anywhere: the command line is made here. Uses jupyter_client only.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any

import zmq.asyncio
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager

_PREFIX = "polybook-"
#: Longer bases leave too little of the hundred bytes that a socket's path may have (unix(7)).
_LONGEST_BASE = 40
#: Variables of the build's own Python that must not leak into another environment's.
_LEAKING = (
    *("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONOPTIMIZE", "PYTHONWARNINGS", "PYTHONINSPECT"),
    *("VIRTUAL_ENV", "MPLBACKEND", "__PYVENV_LAUNCHER__"),
)


class KernelStartFailed(Exception):
    """A kernel was not ready in time or ended at once; the message is what it wrote to its standard error."""


class _OneSpec(KernelSpecManager):
    """Knows one kernel: the interpreter that it is given."""

    python: str

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        script = str(Path(__file__).with_name("launch.py"))
        argv = [self.python, script, "-f", "{connection_file}", "--HistoryManager.hist_file=:memory:"]
        return KernelSpec(argv=argv, display_name=kernel_name, language="python")


@contextlib.contextmanager
def private_folder() -> Iterator[Path]:
    """Make a short private folder for sockets and files of one kernel, and remove it afterwards.

    Folders of builds that were killed are removed as well.
    """
    base = Path(tempfile.gettempdir())
    if len(str(base)) > _LONGEST_BASE:
        base = Path("/tmp")  # noqa: S108
    _remove_abandoned(base)
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=base))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(base: Path) -> None:
    for folder in base.glob(f"{_PREFIX}[0-9]*-*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        with contextlib.suppress(OSError, ValueError, OverflowError):
            if folder.stat().st_uid == os.getuid() and not _is_alive(int(pid)):
                shutil.rmtree(folder, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@contextlib.asynccontextmanager
async def running_kernel(
    python: Path, cwd: Path, folder: Path, path: Iterable[Path] = ()
) -> AsyncIterator[AsyncKernelManager]:
    """Run a kernel for the length of a ``with`` block; it is killed at the end, whatever it is doing.

    Args:
        python: The interpreter; its environment must have ``ipykernel``.
        cwd: The kernel's working folder.
        folder: A private folder, for sockets and for what the kernel itself writes.
        path: Folders to import from, after the environment's own.

    Yields:
        The kernel's manager.

    Raises:
        KernelStartFailed: If the interpreter cannot be started.
    """
    specs = _OneSpec()
    specs.python = str(python)
    # A context of our own, to be destroyed whatever happens. No limit on output that waits to be read: at its limit
    # ZeroMQ drops messages without a word.
    context = zmq.asyncio.Context()
    context.rcvhwm = 0
    try:
        manager = AsyncKernelManager(
            kernel_name=python.parent.parent.name.strip(".").lower() or "python",
            kernel_spec_manager=specs,
            context=context,
            transport="ipc",
            ip=str(folder / "k"),
            connection_file=str(folder / "connection.json"),
        )
        try:
            with (folder / "stderr").open("wb") as errors:
                streams = {"stdout": subprocess.DEVNULL, "stderr": errors}
                await manager.start_kernel(cwd=str(cwd), env=_environment(folder, path), **streams)
        except OSError as error:
            raise KernelStartFailed(str(error)) from error
        try:
            yield manager
        finally:
            await manager.shutdown_kernel(now=True)
    finally:
        context.destroy(linger=0)


def kernel_errors(folder: Path) -> str:
    """Return the last line that a kernel wrote to its standard error outside of any cell."""
    lines = (folder / "stderr").read_text("utf8", errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else ""


def _environment(folder: Path, path: Iterable[Path]) -> dict[str, Any]:
    """The build's environment without what belongs to its own Python, and with no profile of the user's."""
    kept = {name: value for name, value in os.environ.items() if name not in _LEAKING}
    return {
        **kept,
        "IPYTHONDIR": str(folder / "ipython"),
        "POLYBOOK_PARENT": str(os.getpid()),
        "POLYBOOK_PATH": os.pathsep.join(map(str, path)),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
