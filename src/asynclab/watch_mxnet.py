"""Watch MXNet where Python calls its library in C: whatever the frontend looks like, nothing escapes there."""

from __future__ import annotations

import contextlib
import ctypes
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from asynclab.watching import (
    FROM_HOST,
    NUMBER,
    ON_PURPOSE,
    SHAPE,
    TO_HOST,
    Function,
    Kind,
    Replacement,
    Watch,
    replaced,
)

#: Asking whether an array's numbers are there takes less than this, in seconds, if they are; otherwise a second thread
#: has to answer, which takes several times as long.
READY_WITHIN_S = 10e-6

# Operators whose result has a shape that depends on numbers, so that their call waits for it. Found by calling the
# operators of MXNet 1.9.1 behind a queue of products.
_SHAPED_BY_NUMBERS = ("_npi_boolean_mask", "_npi_unique", "_npx_nonzero", "_npi_delete", "_npi_bincount")


_FAILED = -1  # the status by which the library says so
_Arrays = Callable[..., Iterable[Any]]


def _first(array: Any, *_: object) -> list[Any]:
    return [array]


def _listed(_file: object, _count: object, arrays: Any, *_: object) -> Iterator[Any]:
    return map(ctypes.c_void_p, arrays)


#: Functions that read arrays: how, and which of their arguments those are.
_READING: dict[str, tuple[Kind, _Arrays]] = {
    "MXNDArraySyncCopyToCPU": (NUMBER, _first),
    "MXNDArraySave": (TO_HOST, _listed),
    "MXNDArraySaveRawBytes": (TO_HOST, _first),
}


@contextlib.contextmanager
def watch_mxnet(watch: Watch) -> Iterator[None]:
    """Watch MXNet, which must be loaded, for as long as the block runs."""
    library: Any = sys.modules["mxnet"].base._LIB
    wait_to_read = library["MXNDArrayWaitToRead"]  # the library's own, whoever else watches it
    explicit = ("MXNDArrayWaitAll", "MXNDArrayWaitToRead", "MXNDArrayWaitToWrite")
    from_host = ("MXNDArraySyncCopyFromCPU", "MXNDArraySyncCopyFromNDArray")
    with replaced(
        [
            *(Replacement(library, name, lambda call: _waits(watch, ON_PURPOSE, call)) for name in explicit),
            *(Replacement(library, name, lambda call: _waits(watch, FROM_HOST, call)) for name in from_host),
            *(
                Replacement(library, name, partial(_reads, watch, wait_to_read, kind, arrays))
                for name, (kind, arrays) in _READING.items()
            ),
            Replacement(library, "MXImperativeInvokeEx", lambda invoke: _invokes(watch, library, invoke)),
        ]
    ):
        yield


def _waits(watch: Watch, kind: Kind, original: Function) -> Function:
    def waits(*args: Any) -> Any:
        sleeps, start = _sleeps(), time.perf_counter()
        status = original(*args)
        seconds = time.perf_counter() - start
        watch.note(kind, None, seconds, ready=kind is ON_PURPOSE and _went_on(sleeps, seconds))
        return status

    return waits


def _reads(watch: Watch, wait_to_read: Function, kind: Kind, arrays: _Arrays, read: Function) -> Function:
    """Wait before the reading, which would wait as well, so that its own time is not taken for a wait."""

    def reads(*args: Any) -> Any:
        sleeps, start = _sleeps(), time.perf_counter()
        failed = any(wait_to_read(array) for array in arrays(*args))
        seconds = time.perf_counter() - start
        watch.note(kind, None, seconds, ready=_went_on(sleeps, seconds))
        # MXNet tells only once that an operation has failed, so the reading would not.
        return _FAILED if failed else read(*args)

    return reads


def _went_on(sleeps: int | None, seconds: float) -> bool:
    """Whether a thread went on, instead of waiting for another: it did not sleep, however busy the machine was."""
    return seconds < READY_WITHIN_S or (sleeps is not None and _sleeps() == sleeps)


def _sleeps() -> int | None:
    """How often this thread has gone to sleep of its own accord; ``None`` where the system counts no threads."""
    if sys.platform != "linux":
        return None
    import resource

    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def _invokes(watch: Watch, library: Any, invoke: Function) -> Function:
    waits = _waits(watch, SHAPE, invoke)
    waiting = {_handle(library, name) for name in _SHAPED_BY_NUMBERS}

    def invokes(operator: Any, *args: Any) -> Any:
        return (waits if operator.value in waiting else invoke)(operator, *args)

    return invokes


def _handle(library: Any, operator: str) -> int | None:
    """The address by which MXNet knows an operator; ``None`` if this version has none of that name."""
    handle = ctypes.c_void_p()
    failed = library.NNGetOpHandle(ctypes.c_char_p(operator.encode()), ctypes.byref(handle))
    return None if failed else handle.value
