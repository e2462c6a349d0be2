"""What is done outside of the jail on a submission's behalf, with an end to the waiting for it. Used by `process`."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from coursework.model import Outcome, StudentError

TOO_LONG = "It took longer than the time limit."


class Aside:
    """A thread that does what nobody may wait for longer than until a moment; one that is late is left alone."""

    def __init__(self) -> None:
        """Start it."""
        self._asked: queue.SimpleQueue[Callable[[], Any] | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[Any, Exception | None]] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def do(self, work: Callable[[], Any], until: float) -> Any:
        """Have something done and give what came of it, or raise what it raised.

        Args:
            work: What to do.
            until: When it has to be done, by the clock of ``time.monotonic``.

        Raises:
            StudentError: If it takes longer; nothing else may be asked for then.
        """
        self._asked.put(work)
        try:
            gave, error = self._done.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            raise StudentError(Outcome.TIMEOUT, TOO_LONG) from None
        if error:
            raise error
        return gave

    def end(self) -> None:
        """Let it end after what it is at."""
        self._asked.put(None)

    def _work(self) -> None:
        while work := self._asked.get():
            try:
                done: tuple[Any, Exception | None] = work(), None
            except Exception as error:
                done = None, error
            self._done.put(done)
