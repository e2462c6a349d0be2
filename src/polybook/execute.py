"""Run a variant in a kernel of its own and return what it produced.

Stage 3 of a build (see ``ext.py``). nbclient talks to the kernel; failures come back as data that name
page, line and framework. Needs ipykernel on the other side, and neither Sphinx nor MyST-NB on this one.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import json
import logging
import os
import signal
import tempfile
import threading
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import nbformat
from jupyter_client import AsyncKernelManager
from jupyter_client.client import KernelClient
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode, ValidationError

from polybook.blame import OUTPUT_S, Blame
from polybook.circumstances import commit
from polybook.errors import STOP_SIGNALS, Interrupted
from polybook.facts import facts_of
from polybook.kernel import KernelStartFailed, kernel_errors, private_folder, running_kernel
from polybook.noise import disturbances, usage
from polybook.options import Framework, Options
from polybook.progress import Progress
from polybook.run import Run
from polybook.scrub import private_paths, scrub, scrub_metadata
from polybook.variant import Cell, Variant

_STARTUP_S = 120
_TICK_S = 1.0


def execute(
    variant: Variant,
    framework: Framework,
    options: Options,
    circumstances: Mapping[str, str],
    progress: Progress,
) -> Run:
    """Run every cell of a variant, in order, in a fresh kernel.

    Args:
        variant: What to run.
        framework: Whose interpreter runs it.
        options: The book's settings.
        circumstances: The digests to keep with the run.
        progress: Told about each cell.

    Returns:
        The run; every cell of it succeeded, or was allowed to raise.

    Raises:
        PageFailed: If there is no environment, the kernel does not start or dies, or a cell raises or takes too long.
        Interrupted: If a signal asked the build to stop; the kernel is gone by then.
    """
    job = _Job(variant, framework, options, circumstances, progress)
    if not framework.python.exists():
        raise Blame(variant, framework).environment(f"there is no environment at {framework.environment.name}.")
    with private_folder() as folder, _working_folder(variant, options) as cwd:
        try:
            return asyncio.run(_until_signal(_run_cells(job, folder, cwd)))
        finally:
            progress.clear()


@dataclass(frozen=True)
class _Job:
    """The arguments of ``execute``."""

    variant: Variant
    framework: Framework
    options: Options
    circumstances: Mapping[str, str]
    progress: Progress


async def _run_cells(job: _Job, folder: Path, cwd: Path) -> Run:
    variant, framework, progress = job.variant, job.framework, job.progress
    failure = Blame(variant, framework)
    started, load_before, usage_before = _now(), os.getloadavg()[0], usage()
    paths = private_paths(framework, job.options.root, cwd, folder)
    notebook = nbformat.v4.new_notebook(cells=[_new_cell(cell) for cell in variant.cells])
    ticking = asyncio.create_task(_tick(progress))
    timeout = variant.timeout_s or job.options.timeout_s
    try:
        async with running_kernel(framework.python, cwd, folder, job.options.kernel_path) as manager:
            client = NotebookClient(
                notebook,
                km=manager,
                # A function, because the setting itself takes whole seconds only.
                timeout_func=lambda _: timeout,
                # Output may arrive long after the cell has ended; what does not arrive is a failure, not a detail.
                iopub_timeout=OUTPUT_S,
                raise_on_iopub_timeout=True,
                startup_timeout=_STARTUP_S,
                record_timing=True,
                log=_quiet_log(),
            )
            kernel_client = await _connect(client, folder)
            try:
                for index, cell in enumerate(variant.cells):
                    progress.cell(index + 1)
                    try:
                        await client.async_execute_cell(notebook.cells[index], index)
                    except (CellExecutionError, CellTimeoutError, DeadKernelError, ValidationError) as error:
                        raise failure.cell(cell, index, notebook.cells[index], error, timeout) from error
                client.set_widgets_metadata()
                usage_after = usage(_process(manager))
                machine = await _probe(client, kernel_client, job)
            finally:
                kernel_client.stop_channels()
    except ProbeFailed as error:
        raise failure.probe(job.options.probe, str(error)) from error
    except KernelStartFailed as error:
        what = f"its kernel did not start: {error}"
        raise failure.environment(what, "ipykernel" in str(error)) from error
    finally:
        ticking.cancel()
    cells = tuple(_result(cell, paths) for cell in notebook.cells)
    return Run(
        page=variant.docname,
        framework=variant.framework,
        code=variant.code,
        circumstances=dict(job.circumstances),
        started=started,
        ended=_now(),
        elapsed_s=round(progress.elapsed_s, 3),
        cells=cells,
        metadata=scrub_metadata(notebook.metadata, paths),
        machine=machine,
        load=(round(load_before, 2), round(os.getloadavg()[0], 2)),
        commit=job.options.commit or commit(job.options.root, job.options.runs),
        noise=tuple(disturbances(usage_before, usage_after, facts_of(cells).values.values())),
    )


def _process(manager: AsyncKernelManager) -> int | None:
    """The kernel's process."""
    provisioner = manager.provisioner
    return provisioner.pid if isinstance(provisioner, LocalProvisioner) else None


async def _connect(client: NotebookClient, folder: Path) -> KernelClient:
    """Wait until the kernel answers, and keep what it says about its language."""
    try:
        kernel_client = await client.async_start_new_kernel_client()
        reply = await client.async_wait_for_reply(kernel_client.kernel_info())
    except (RuntimeError, DeadKernelError) as error:
        raise KernelStartFailed(kernel_errors(folder) or str(error)) from error
    if reply is None:
        raise KernelStartFailed("it did not answer")
    client.nb.metadata["language_info"] = reply["content"]["language_info"]
    return kernel_client


class ProbeFailed(Exception):
    """The book's probe raised, or returned what is no record."""


async def _probe(client: NotebookClient, kernel_client: KernelClient, job: _Job) -> dict[str, Any]:
    """Call the book's probe in the kernel, without a trace among its cells."""
    if not job.options.probe:
        return {}
    module, _, function = job.options.probe.partition(":")
    call = f"__import__('importlib').import_module({module!r}).{function}({job.framework.name!r})"
    expressions = {"record": f"__import__('json').dumps({call})"}
    message = kernel_client.execute("", silent=True, store_history=False, user_expressions=expressions)
    reply = await client.async_wait_for_reply(message)
    answer = (reply or {"content": {}})["content"].get("user_expressions", {}).get("record", {})
    if answer.get("status") != "ok":
        raise ProbeFailed(f"{answer.get('ename', 'no answer')}: {answer.get('evalue', '')}")
    record = json.loads(ast.literal_eval(answer["data"]["text/plain"]))
    if not _is_record(record):
        raise ProbeFailed(
            f"it returned {record!r:.80}, but has to return a mapping of summary and version (texts), entries (a list "
            "of mappings with title and text) and, if it likes, provides (a list of texts)"
        )
    return cast(dict[str, Any], record)


def _is_record(record: object) -> bool:
    if not isinstance(record, dict) or not {"summary", "version", "entries"} <= set(record):
        return False
    provides = record.setdefault("provides", [])
    return (
        isinstance(record["summary"], str)
        and isinstance(record["version"], str)
        and isinstance(record["entries"], list)
        and all(
            isinstance(entry, dict) and isinstance(entry.get("title"), str) and isinstance(entry.get("text"), str)
            for entry in record["entries"]
        )
        and isinstance(provides, list)
        and all(isinstance(item, str) for item in provides)
    )


async def _until_signal(job: Coroutine[Any, Any, Run]) -> Run:
    """Await a job; on SIGINT, SIGTERM or SIGHUP cancel it, let it clean up, and raise ``Interrupted``.

    nbclient turns a cancellation into ``DeadKernelError``, so that what happened is remembered here.
    """
    task = asyncio.ensure_future(job)
    received: list[int] = []

    def stop(signum: int) -> None:
        received.append(signum)
        task.cancel()

    with _signals(stop):
        try:
            return await task
        except BaseException:
            if received:
                raise Interrupted(received[0]) from None
            raise


@contextlib.contextmanager
def _signals(stop: Any) -> Iterator[None]:
    """Send SIGINT, SIGTERM and SIGHUP to ``stop``; only a main thread can, and elsewhere signals are not ours."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {signum: signal.getsignal(signum) for signum in STOP_SIGNALS}
    for signum in before:
        loop.add_signal_handler(signum, stop, signum)
    try:
        yield
    finally:
        for signum, handler in before.items():
            loop.remove_signal_handler(signum)
            signal.signal(signum, handler or signal.SIG_DFL)


async def _tick(progress: Progress) -> None:
    while True:
        await asyncio.sleep(_TICK_S)
        progress.tick()


@contextlib.contextmanager
def _working_folder(variant: Variant, options: Options) -> Iterator[Path]:
    if not options.in_temp:
        yield (options.root / variant.path).parent
        return
    # A process that a cell left behind may still write there.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _new_cell(cell: Cell) -> NotebookNode:
    return cast(NotebookNode, nbformat.v4.new_code_cell(cell.source, metadata={"tags": list(cell.tags)}))


def _result(cell: NotebookNode, paths: Mapping[str, str]) -> dict[str, Any]:
    """What a run keeps of an executed cell; times are the kernel's own."""
    times = cell.metadata["execution"]
    begin, end = times["iopub.status.busy"], times["shell.execute_reply"]
    seconds = (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()
    return {
        "outputs": [scrub(output, paths) for output in _join_streams(cell.outputs)],
        "execution_count": cell.execution_count,
        "started": begin,
        "elapsed_s": round(seconds, 6),
    }


def _join_streams(outputs: list[NotebookNode]) -> list[dict[str, Any]]:
    """Join neighbouring pieces of one stream: where a kernel cuts its text is an accident of timing."""
    joined: list[dict[str, Any]] = []
    for output in outputs:
        last = joined[-1] if joined else {}
        if output.output_type == "stream" and last.get("name") == output.name:
            last["text"] += output.text
        else:
            joined.append(dict(output))
    return joined


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _quiet_log() -> logging.Logger:
    """Silence nbclient, which logs each failure on its own; ours are collected and told once."""
    log = logging.getLogger("polybook.nbclient")
    log.propagate = False
    log.addHandler(logging.NullHandler())
    return log
