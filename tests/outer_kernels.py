"""Jupyter kernels of several Pythons and libraries, for tests of what runs in a reader's notebook."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Empty
from typing import Any

import nbformat
import pytest
from books import REPOSITORY
from jupyter_client import BlockingKernelClient, KernelManager
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from nbclient import NotebookClient
from nbformat import NotebookNode

from polybook.kernel import private_folder

#: Where kernels' environments are kept from one run of the tests to the next.
ENVIRONMENTS = REPOSITORY / ".polybook" / "test-environments"


def environment(version: str, *packages: str) -> Path:
    """The interpreter of an environment with these packages; made once, and skips where there is no such Python."""
    base = sys.executable if version == f"{sys.version_info[0]}.{sys.version_info[1]}" else _find(version)
    made_from = "\n".join([base, *packages])
    folder = ENVIRONMENTS / hashlib.sha256(made_from.encode()).hexdigest()[:16]
    ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
    with (ENVIRONMENTS / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        python = folder / "bin" / "python"
        if not (folder / "ready").exists():
            _uv("venv", "--quiet", "--clear", "--python", base, str(folder))
            _uv("pip", "install", "--quiet", "--compile-bytecode", "--python", str(python), *packages)
            (folder / "ready").touch()
    return python


def _find(version: str) -> str:
    found = _uv("python", "find", "--no-python-downloads", "--no-project", "--system", version, check=False)
    if not found:
        pytest.skip(f"uv finds no Python {version} on this machine")
    return found


def _uv(*command: str, check: bool = True) -> str:
    variables = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    if shutil.which("pyenv"):
        # What pyenv puts on the path answers only for versions that are named here.
        listed = subprocess.run(["pyenv", "versions", "--bare"], capture_output=True, text=True, check=True)
        variables["PYENV_VERSION"] = ":".join(listed.stdout.split())
    done = subprocess.run([os.environ.get("UV", "uv"), *command], env=variables, capture_output=True, text=True)
    assert done.returncode == 0 or not check, done.stderr
    return done.stdout.strip() if done.returncode == 0 else ""


class _OneSpec(KernelSpecManager):
    """Knows one kernel, started as Jupyter does it."""

    python: Path

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        argv = [str(self.python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name=kernel_name, language="python")


@dataclass(frozen=True)
class Ran:
    """What a cell left: its outputs as a notebook holds them, and the kernel's reply."""

    outputs: list[NotebookNode]
    reply: dict[str, Any]

    @property
    def text(self) -> str:
        """All that was printed."""
        return "".join(output.text for output in self.outputs if output.output_type == "stream")

    @property
    def error(self) -> str:
        """The last error's own words; empty if there is none."""
        return next((output.evalue for output in reversed(self.outputs) if output.output_type == "error"), "")


@dataclass(frozen=True)
class Kernel:
    """A kernel that runs, and a client of it."""

    manager: KernelManager
    client: BlockingKernelClient

    def notebook(self, cells: list[str]) -> list[NotebookNode]:
        """Run cells as nbclient runs a notebook, on over errors; gives the cells with their outputs."""
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        client = NotebookClient(notebook, km=self.manager, allow_errors=True, timeout=60)
        client.execute()
        client.kc.stop_channels()
        return list(notebook.cells)

    def run(
        self, code: str, *, answers: Iterable[str | None] = (), at: str = "", act: Callable[[], object] = lambda: None
    ) -> Ran:
        """Run a cell; whenever this text is printed, act. Questions get the answers, or none where that is ``None``."""
        outputs, left = [], iter(answers)

        def note(message: dict[str, Any]) -> None:
            if message["msg_type"] in ("stream", "display_data", "execute_result", "error"):
                # Not by nbformat's own function: it validates each, and takes seconds for thousands.
                outputs.append(nbformat.from_dict({"output_type": message["msg_type"], **message["content"]}))
            if at and at in message["content"].get("text", ""):
                act()

        def answer(message: dict[str, Any]) -> None:
            # A reader sees what was printed before; this client asks for input first.
            with contextlib.suppress(Empty):
                while True:
                    note(self.client.get_iopub_msg(timeout=0.3))
            outputs.append(nbformat.from_dict({"output_type": "stream", "text": message["content"]["prompt"]}))
            text = next(left)
            if text is not None:
                self.client.input(text)

        # Without `stop_on_error`: a kernel throws away the cell that comes at once after a failure.
        options = {"allow_stdin": True, "stop_on_error": False, "timeout": 30}
        reply = self.client.execute_interactive(code, output_hook=note, stdin_hook=answer, **options)
        return Ran(outputs, reply["content"])

    def printed_later(self) -> tuple[str, str]:
        """The next text that comes without a cell being run, and the id of the request that it belongs to."""
        with contextlib.suppress(Empty):
            while True:
                message = self.client.get_iopub_msg(timeout=10)
                if message["msg_type"] == "stream":
                    return message["content"]["text"], message["parent_header"]["msg_id"]
        return "", ""


@contextlib.contextmanager
def running(python: Path, **variables: str) -> Iterator[Kernel]:
    """Run a kernel of an interpreter, in which asynclab can be imported, for the length of a ``with`` block."""
    specs = _OneSpec()
    specs.python = python
    with private_folder() as folder:
        manager = KernelManager(
            kernel_name="python",
            kernel_spec_manager=specs,
            transport="ipc",
            ip=str(folder / "k"),
            connection_file=str(folder / "connection.json"),
        )
        path = {"PYTHONPATH": str(REPOSITORY / "src"), "IPYTHONDIR": str(folder / "ipython")}
        with (folder / "errors").open("wb") as errors:
            manager.start_kernel(cwd=str(folder), env={**os.environ, **path, **variables}, stderr=errors)
        client = manager.blocking_client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=60)
            yield Kernel(manager, client)
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
