"""A small asynchronous engine in plain Python, made to be read: one queue, one worker, futures.

It shows on every machine what the engines inside the frameworks do. It belongs to none of them, and makes nothing
faster by itself. `Future` and `Engine` are shown on a page as they stand here, so they are kept short.
"""

from __future__ import annotations

import atexit
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any, Self

from asynclab.errors import DeadlockError, EngineClosedError
from asynclab.quantities import check_capacity

#: How long the end of the program waits for the running operation of an engine that nobody closed.
_PATIENCE_S = 2.0


class Future:
    """Stands for the result of an operation that may not have run yet."""

    def __init__(self, worker: threading.Thread) -> None:
        """Begin without a result, which ``worker`` will bring."""
        self._worker = worker
        self._done = threading.Event()
        self._result: Any = None
        self._error: BaseException | None = None
        self._waited_for = False

    def done(self) -> bool:
        """Say whether the operation has run; do not wait for it."""
        return self._done.is_set()

    def wait(self) -> Any:
        """Wait until the operation has run; return its result or raise its error."""
        if not self.done():
            _refuse_inside(self._worker, "wait")
        self._done.wait()
        self._waited_for = True
        return self._outcome()

    def _outcome(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._result


class Engine:
    """Runs operations one after another in a thread of its own, while its caller goes on.

    At most ``capacity`` operations wait in the queue, besides the one that runs; by default any
    number. Submit from one thread, and leave the engine by ``with`` or `close` it.
    """

    def __init__(self, capacity: int | None = None) -> None:
        """Make an empty queue and start the worker."""
        check_capacity("Engine", capacity)
        self._queue: queue.Queue[Any] = queue.Queue(capacity or 0)  # where 0 stands for any number
        self._failed: list[Future] = []
        self._closed = False
        self._worker = threading.Thread(target=self._work, daemon=True)
        self._worker.start()
        atexit.register(_abandon, self._queue, self._worker)

    def submit(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
        """Queue an operation; wait only for room. A future in its arguments stands for its result."""
        if self._closed:
            raise EngineClosedError(_CLOSED)
        future = Future(self._worker)
        # Only the worker makes room: were it to wait for room itself, it would wait for ever.
        may_wait = threading.current_thread() is not self._worker
        try:
            self._queue.put((future, function, args, kwargs), block=may_wait)
        except queue.Full:
            raise DeadlockError(_FULL) from None
        return future

    def wait_all(self) -> None:
        """Wait until everything has run; raise the first error that nobody has waited for."""
        _refuse_inside(self._worker, "wait_all")
        self._queue.join()
        known = {id(future._error) for future in self._failed if future._waited_for}
        for future in self._failed:
            if id(future._error) not in known:
                future.wait()

    def close(self) -> None:
        """Let the worker finish what is queued, then stop it."""
        _refuse_inside(self._worker, "close")
        if not self._closed:
            self._closed = True
            self._queue.put(None)
        self._worker.join()

    def _work(self) -> None:
        while (operation := self._queue.get()) is not None:
            self._run(*operation)
            del operation  # else its inputs would stay in memory until the next one comes
            self._queue.task_done()
        self._queue.task_done()

    def _run(self, future: Future, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        try:
            inputs = [_value(x) for x in args]
            named = {name: _value(x) for name, x in kwargs.items()}
            future._result = function(*inputs, **named)
        except BaseException as error:
            future._error = error
            self._failed.append(future)
        future._done.set()

    def __enter__(self) -> Self:
        """Give the engine to the block."""
        return self

    def __exit__(self, exc_type: object, *_: object) -> None:
        """Close the engine; raise what nobody has waited for, unless the block raised itself."""
        self.close()
        if exc_type is None:
            self.wait_all()

    def __repr__(self) -> str:
        """Tell how many operations have not run to their end."""
        closed = ", closed" if self._closed else ""
        return f"<{type(self).__name__}: {self._queue.unfinished_tasks} pending{closed}>"


def _value(argument: object) -> object:
    """What an operation is given for an argument: for a future its result, or else its error is raised."""
    if not isinstance(argument, Future):
        return argument
    argument._done.wait()  # it is done, unless another engine runs it: those of one engine run in order
    return argument._outcome()


def _refuse_inside(worker: threading.Thread, call: str) -> None:
    if threading.current_thread() is worker:
        raise DeadlockError(
            f"{call}() was called by an operation, which the same engine runs: its only worker would wait for itself.\n"
            f"Call {call}() from the frontend, or hand the future to submit() as an argument."
        )


def _abandon(pending: queue.Queue[Any], worker: threading.Thread) -> None:
    """Stop a worker at the end of the program: drop what is queued and let the running operation end.

    A daemon thread alone would not do. If Python ends while such a thread is inside of C++, as in a product of
    PyTorch, the thread is unwound through code that forbids it and the process aborts.
    """
    with contextlib.suppress(queue.Empty):
        while True:
            pending.get_nowait()
    pending.put(None)
    worker.join(_PATIENCE_S)


_CLOSED = "submit() was called after the engine was closed, so nobody would run the operation.\nMake a new Engine()."
_FULL = (
    "submit() was called by an operation while the queue was full: its engine's only worker would wait for itself.\n"
    "Submit from the frontend, or make the engine without a capacity."
)
