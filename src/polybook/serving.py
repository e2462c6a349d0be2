"""``polybook serve``: show the book in a browser while it is written; build on each save, reload, and tell errors.

The loop: wait for a save, build (``building.py``), and tell the browser (``live.py``). A build that fails is told there
and in the terminal, and the last good pages stay.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import FrameType

from polybook.building import Builds, Outcome
from polybook.errors import ConfigError
from polybook.live import Board, served

#: What editors, systems and builds leave in a book's folder.
_IGNORED_ENDINGS = ("~", ".swp", ".swx", ".tmp", ".pyc", ".crswap")
_IGNORED_NAMES = {"_build", "__pycache__", "node_modules", "4913"}
#: Milliseconds: how long a save may go on, and how soon it is seen once it is over.
_SAVE_MS, _STEP_MS = 300, 30
#: Seconds in which the browser has the machine to itself, before the next build's process takes a core to import.
_RELOAD_S = 0.7


class Saves:
    """What was saved since it was last asked."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._paths: set[Path] = set()
        self._changed = threading.Condition()

    def add(self, paths: Collection[Path]) -> None:
        """Note what was saved."""
        with self._changed:
            self._paths |= set(paths)
            self._changed.notify_all()

    def wait(self, timeout_s: float = math.inf) -> set[Path]:
        """Wait until anything was saved, so long at most, and take it."""
        end = time.monotonic() + timeout_s
        with self._changed:
            while not self._paths and (left_s := end - time.monotonic()) > 0:
                # Without a limit, Python would not hear of Ctrl-C on some systems.
                self._changed.wait(min(1, left_s))
            taken, self._paths = self._paths, set()
            return taken


def serve(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C; the exit status is 0 then, for that is how it ends.

    Raises:
        ConfigError: If this is no book, or the port is taken.
    """
    root = arguments.book.resolve()
    if not (root / "_config.yml").is_file():
        raise ConfigError(f"{root} is no book: it has no _config.yml.\nName the book's folder with --book.")
    board, saves = Board(), Saves()
    with contextlib.suppress(KeyboardInterrupt), _ending_on(signal.SIGTERM), contextlib.ExitStack() as stack:
        address = stack.enter_context(served(root / "_build" / "html", board, arguments.port))
        builds = stack.enter_context(Builds(root))

        def saved(paths: set[Path]) -> None:
            saves.add(paths)
            # What it would show is out of date already.
            builds.give_way()

        stack.enter_context(watched(root, saved))
        _say(f"{address} shows the book and follows each save. Ctrl-C ends it.")
        _loop(builds, board, saves, address)
    _say("stopped.")
    return 0


def _loop(builds: Builds, board: Board, saves: Saves, address: str) -> None:
    paths: set[Path] = set()
    while True:
        board.post_building()
        start = time.perf_counter()
        result = builds.build(paths)
        elapsed_s = time.perf_counter() - start
        if result.outcome is Outcome.BUILT:
            board.post_built()
            _say(f"built in {elapsed_s:.1f} s: {address}")
        elif result.outcome is Outcome.FAILED:
            board.post_failed(result.fault)
            _say(f"the build failed; {address} shows the last good one. Mend it and save.")
        paths = saves.wait(_RELOAD_S)
        if not paths:
            builds.prepare()
            paths = saves.wait()


def _say(text: str) -> None:
    print(f"polybook: {text}", flush=True)


@contextlib.contextmanager
def _ending_on(signum: signal.Signals) -> Iterator[None]:
    """Have a signal end the process as Ctrl-C does."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signum, end)
    try:
        yield
    finally:
        signal.signal(signum, before)


@contextlib.contextmanager
def watched(root: Path, saved: Callable[[set[Path]], None]) -> Iterator[None]:
    """Call a function, in another thread, with what is saved below a folder."""
    stop = threading.Event()
    ready = threading.Event()
    thread = threading.Thread(target=_watch, args=(root, saved, stop, ready), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield
    finally:
        stop.set()


def _watch(root: Path, saved: Callable[[set[Path]], None], stop: threading.Event, ready: threading.Event) -> None:
    from watchfiles import watch

    while not stop.is_set():
        known = list(folders(root))
        # Each by itself: below the whole book lie environments with more folders than a system lets one watch.
        watching = watch(
            *known, recursive=False, watch_filter=None, stop_event=stop, debounce=_SAVE_MS, step=_STEP_MS,
            rust_timeout=500, yield_on_timeout=True, raise_interrupt=False,
        )  # fmt: skip
        for changes in watching:
            # It has begun to look when it first gives anything, if only that nothing changed.
            ready.set()
            paths = {Path(path) for _, path in changes}
            if counted := {path for path in paths if counts(path, root)}:
                saved(counted)
            if any(path.is_dir() for path in paths):
                break


def folders(root: Path) -> Iterator[Path]:
    """Yield the folders of a book that sources can lie in."""
    for folder, names, _ in os.walk(root):
        names[:] = sorted(name for name in names if counts(Path(folder, name), root))
        yield Path(folder)


def counts(path: Path, root: Path) -> bool:
    """Tell whether a change of a path can change the book."""
    parts = path.relative_to(root).parts
    hidden = any(part.startswith((".", "#")) or part in _IGNORED_NAMES for part in parts)
    return not hidden and not path.name.endswith(_IGNORED_ENDINGS)
