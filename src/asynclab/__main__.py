"""``python -m asynclab waits train.py``: run a script, or with ``-m`` a module, and say where it waited."""

from __future__ import annotations

import argparse
import atexit
import builtins
import contextlib
import os
import runpy
import shutil
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType

from asynclab.blocking import WIDTH, table
from asynclab.waits import Waits, waits

_INTERRUPTED = 130  # what shells make of an interrupt
_UNUSABLE = 2
_WIDE = 200
_WATCHING = ("asynclab.watching", "asynclab.watch_mxnet", "asynclab.watch_torch")  # whose functions stand in for others


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: By default those of this process.

    Returns:
        The exit status: that of the script.
    """
    options = _parser().parse_args(arguments)
    options.script, *options.arguments = options.script[options.script[0] == "--" :]
    try:
        source = b"" if options.module else Path(options.script).read_bytes()
        if options.report:
            options.report = Path(options.report).absolute()  # the script may change directory
            options.report.touch()  # better refused now than after hours of training
    except OSError as error:
        print(f"asynclab waits: cannot use {error.filename}: {error.strerror}.", file=sys.stderr)
        print("Name a Python script, and with --report a file that can be written.", file=sys.stderr)
        return _UNUSABLE
    try:
        program = compile(source, str(Path(options.script).absolute()), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        traceback.print_exception(error.with_traceback(None))
        return 1
    return _watch(program, options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m asynclab", description="Look at asynchronous programs.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser(
        "waits",
        help="run a script and say where it waited for its backend",
        description="Run a Python script as it is, and say afterwards which lines waited for the backend, how often, "
        "how long, and what to do about it. For that some functions of the frameworks are replaced, which "
        "torch.jit.script cannot compile if a function calls them by name.",
    )
    command.add_argument("-m", dest="module", action="store_true", help="run a module, named instead of the script")
    command.add_argument("--report", metavar="FILE", help="write there instead of to standard error")
    # Unlike a positional argument of its own, this leaves a "--" among those of the script where it is.
    command.add_argument("script", nargs=argparse.PARSER, help="the script and its own arguments")
    return parser


def _watch(program: object, options: argparse.Namespace) -> int:
    process, start, watching = os.getpid(), time.perf_counter(), contextlib.ExitStack()
    found, outcome = watching.enter_context(waits()), _Outcome()

    def end() -> None:
        # A child that the script forked comes by here as well. What it saw is its own.
        if os.getpid() == process:
            watching.close()
            _tell(_report(found, time.perf_counter() - start, outcome, options), options.report)

    # Python calls it when the script's threads have ended, and after whatever the script has registered itself.
    atexit.register(end)
    with _as_python_does(outcome):
        _run_module(options) if options.module else _run_script(program, options)
    return outcome.status


@dataclass
class _Outcome:
    """How a program ended: its exit status, and the error that nobody caught."""

    status: int = 0
    error: BaseException | None = None


@contextlib.contextmanager
def _as_python_does(outcome: _Outcome) -> Iterator[None]:
    """End a program as Python does."""
    try:
        yield
    except SystemExit as stop:
        outcome.status = _status(stop.code)
    except BaseException as error:
        outcome.error = error
        outcome.status = _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
        _show(error)


def _run_module(options: argparse.Namespace) -> None:
    sys.argv = [options.script, *options.arguments]
    runpy.run_module(options.script, run_name="__main__", alter_sys=True)


def _run_script(program: object, options: argparse.Namespace) -> None:
    script, module = options.script, ModuleType("__main__")
    module.__dict__.update(__file__=str(Path(script).absolute()), __builtins__=builtins, __spec__=None, __cached__=None)
    # Whoever looks for the main module, such as pickle or a process that is spawned, has to find the script.
    sys.modules["__main__"] = module
    sys.argv = [script, *options.arguments]
    if not sys.flags.safe_path:
        sys.path[0] = str(Path(script).resolve().parent)
    exec(program, module.__dict__)  # type: ignore[arg-type]  # noqa: S102 - that is what the command is for


def _show(error: BaseException) -> None:
    """Show an uncaught error as Python would: without this module, and without the functions that keep watch."""
    while error.__traceback__ and error.__traceback__.tb_frame.f_code.co_filename == __file__:
        error.__traceback__ = error.__traceback__.tb_next
    chain: BaseException | None = error
    while chain:
        chain.__traceback__ = _unwatched(chain.__traceback__)
        chain = chain.__cause__ or chain.__context__
    sys.excepthook(type(error), error, error.__traceback__)


def _unwatched(trace: TracebackType | None) -> TracebackType | None:
    kept: TracebackType | None = None
    for each in reversed(list(_steps(trace))):
        if each.tb_frame.f_globals.get("__name__") not in _WATCHING:
            each.tb_next, kept = kept, each
    return kept


def _steps(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace:
        yield trace
        trace = trace.tb_next


def _status(code: object) -> int:
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=sys.stderr)
    return 1


def _report(found: Waits, seconds: float, outcome: _Outcome, options: argparse.Namespace) -> str:
    ended = f", which ended with {type(outcome.error).__name__}" if outcome.error else ""
    waited = f"{found.waited_s:.2f} s ({100 * found.waited_s / seconds:.0f} %) of them waiting"
    elsewhere = sum(each.count for each in found if each.elsewhere)
    would = f"{elsewhere} calls would wait on a GPU" if elsewhere else ""
    parts = [waited if found.waited_s or not would else "", would]
    head = f"{options.script}{ended}: {'; '.join(filter(None, [f'{seconds:.2f} s with all imports', *parts]))}"
    return "\n\n".join(filter(None, (head, table(found.calls, _width(options.report)), found.advice())))


def _width(file: Path | None) -> int:
    """The width of a table: on a terminal all of it has, elsewhere that of a page, in a file enough for all lines."""
    if file:
        return _WIDE
    return shutil.get_terminal_size().columns if sys.stderr and sys.stderr.isatty() else WIDTH


def _tell(report: str, file: Path | None) -> None:
    if file:
        file.write_text(f"{report}\n", "utf8")
        return
    # What the script wrote stands before the report, unless the script has closed it or its reader is gone.
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stdout.flush()
    with contextlib.suppress(OSError, ValueError):
        print(f"\n{report}", file=sys.stderr or sys.__stderr__)


if __name__ == "__main__":
    sys.exit(main())
