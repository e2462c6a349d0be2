"""Count, name and time the blocking calls that a block of code makes, and the lines that made them.

Rests on ``watching`` and the modules beside it, which know the calls; on ``places``, which finds the lines; and on
``blocking``, which shows what was found.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from asynclab.blocking import BlockingCall, advice, table
from asynclab.importing import when_imported
from asynclab.places import Place, find_caller
from asynclab.watch_mxnet import watch_mxnet
from asynclab.watch_torch import watch_torch
from asynclab.watching import INSIDE, SHAPE, TEXT, TO_HOST, Kind, Note, Watch, engine_calls, replaced

_FRAMEWORKS: dict[str, Callable[[Watch], AbstractContextManager[None]]] = {
    "mxnet": watch_mxnet,
    "torch": watch_torch,
}

#: What a program writes to call such a function of a framework, and how that waits if it says more than the hook knows.
_WRITTEN: dict[str, tuple[str, Kind | None]] = {
    "__array__": ("numpy(x)", TO_HOST),
    "__bool__": ("bool(x)", None),
    "__contains__": ("y in x", None),
    "__float__": ("float(x)", None),
    "__format__": ("format(x)", TEXT),
    "__getitem__": ("x[y]", None),
    "__index__": ("int(x)", None),
    "__int__": ("int(x)", None),
    "__iter__": ("for ... in x", INSIDE),
    "__next__": ("for ... in x", INSIDE),
    "__reduce__": ("copy or pickle of x", TO_HOST),
    "__repr__": ("print(x)", TEXT),
    "__setitem__": ("x[...] = y", None),
    "__str__": ("print(x)", TEXT),
    "asnumpy": ("asnumpy()", TO_HOST),
}

_Key = tuple[str, Kind, Place, Place | None, bool]

#: Functions that wait because of what they are for; another one in whose name something waits does so inside.
_FOR_THAT = {
    *("waitall", "wait_to_read", "wait_to_write", "item", "asscalar", "tolist", "array", "save", "save_parameters"),
    *("unique", "nonzero", "flatnonzero", "argwhere", "where", "delete", "bincount", "boolean_mask"),
}


@dataclass(repr=False)
class Waits:
    """The blocking calls of a block; shows itself as a table, the most expensive first."""

    _found: dict[_Key, list[float]] = field(default_factory=dict, init=False)
    _lock: Any = field(default_factory=threading.RLock, init=False)
    _thread: int = field(default_factory=threading.get_ident, init=False)
    _process: int = field(default_factory=os.getpid, init=False)

    @property
    def calls(self) -> tuple[BlockingCall, ...]:
        """What was found, the most expensive first."""
        with self._lock:
            found = [
                BlockingCall(*key, count=int(count), ready=int(ready), waited_s=seconds)
                for key, (count, ready, seconds) in self._found.items()
            ]
        return tuple(sorted(found, key=lambda each: (-each.waited_s, -each.count, each.place, each.call)))

    @property
    def count(self) -> int:
        """How many blocking calls were made, whether they waited or not."""
        return sum(each.count for each in self.calls)

    @property
    def waited_s(self) -> float:
        """How long they waited in all, in seconds; of calls in several threads the sum."""
        return sum(each.waited_s for each in self.calls)

    def __iter__(self) -> Iterator[BlockingCall]:
        """Go through what was found, the most expensive first."""
        return iter(self.calls)

    def __len__(self) -> int:
        """Count the calls that were found, each line once."""
        return len(self.calls)

    def __str__(self) -> str:
        """Tell what waited, where, how often and how long."""
        return table(self.calls)

    __repr__ = __str__

    def advice(self) -> str:
        """Say for each kind of wait that was found what to do about it, the most expensive first."""
        return advice(self.calls)

    def _note(
        self, kind: Kind, call: str | None, seconds: float | None, *, ready: bool = False, elsewhere: bool = False
    ) -> None:
        if os.getpid() != self._process:  # a child made by a fork, which takes the watch along
            return
        caller = find_caller()
        if call is None:
            call, known = _written(caller.function, kind)
            kind = known or kind
        if threading.get_ident() != self._thread:
            call = f"{call} in {threading.current_thread().name}"
        with self._lock:
            entry = self._found.setdefault((call, kind, caller.place, caller.program, elsewhere), [0, 0, 0.0])
            entry[0] += 1
            entry[1] += ready
            entry[2] += 0.0 if ready or elsewhere else seconds or 0.0


def _written(function: str, kind: Kind) -> tuple[str, Kind | None]:
    if kind is SHAPE and function == "__getitem__":
        return "x[mask]", None
    return _WRITTEN.get(function, (f"{function}()", None if function in _FOR_THAT else INSIDE))


@contextlib.contextmanager
def waits() -> Iterator[Waits]:
    """Find the blocking calls that a block makes: which, how often, how long, and the lines that made them.

    For example, ``with waits() as found: train()``, and then ``print(found)`` and ``print(found.advice())``;
    ``for each in found`` gives every `BlockingCall`.

    MXNet is watched where Python calls its library; all its waits are found but those inside of a hybridized network.
    Of PyTorch, on a GPU the calls are found which its tensors, ``torch.cuda`` and its debug mode tell of (copies from
    ordinary memory with ``non_blocking`` escape it). On a CPU, where nothing waits, what would wait on a GPU is found
    as far as it can be seen: ``item``, ``bool``, ``float``, ``int``, ``tolist``, ``format`` of a number, ``numpy``,
    ``cpu``, ``equal``, ``allclose``, ``nonzero``, ``argwhere``, ``where`` of a condition, ``unique``, ``bincount``,
    ``masked_select`` and ``x[mask]``, if the program itself calls them; `print` and copies to a device are not. The
    teaching engine is watched as well, and a framework that the block imports.

    A framework is slowed down by less than a microsecond an operation. Waits of threads that the block starts are found
    too, and named after their thread; those of other processes are not. A program can tell that it is watched only by
    comparing functions: it finds others in their place, which ``torch.jit.script`` cannot compile if called by name.

    Yields:
        What was found so far; complete when the block is left.
    """
    found = Waits()
    with _WATCHED.telling(found._note):
        yield found


class _Watched:
    """Keeps the watch for as long as any block wants it: blocks of several threads end in any order."""

    def __init__(self) -> None:
        # May be entered again in the same thread: collecting garbage can end a block at any moment.
        self._lock = threading.RLock()
        self._notes: tuple[Note, ...] = ()
        self._watch = Watch(self._tell)
        self._watching = contextlib.ExitStack()

    @contextlib.contextmanager
    def telling(self, note: Note) -> Iterator[None]:
        with self._lock:
            if not self._notes:
                self._begin()
            self._notes = (*self._notes, note)
        try:
            yield
        finally:
            with self._lock:
                self._notes = tuple(each for each in self._notes if each is not note)
                if not self._notes:
                    self._watching.close()

    def _tell(self, kind: Kind, call: str | None, seconds: float | None, **facts: bool) -> None:
        for note in self._notes:
            note(kind, call, seconds, **facts)

    def _begin(self) -> None:
        with contextlib.ExitStack() as stack:
            stack.enter_context(replaced(engine_calls(self._watch)))
            for module, watching in _FRAMEWORKS.items():
                if sys.modules.get(module):
                    stack.enter_context(watching(self._watch))
                else:
                    stack.enter_context(when_imported(module, partial(self._add, watching)))
            self._watching = stack.pop_all()

    def _add(self, watching: Callable[[Watch], AbstractContextManager[None]]) -> None:
        with self._lock:
            if self._notes:
                self._watching.enter_context(watching(self._watch))


_WATCHED = _Watched()
