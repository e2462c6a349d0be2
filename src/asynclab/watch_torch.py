"""Watch PyTorch at the methods of its tensors; with a GPU, let its debug mode tell of the other calls that wait.

On a CPU nothing waits. What is noted there is what would wait if the tensors were on a GPU, as far as that can be seen:
only calls of the program itself, because PyTorch keeps numbers of its own on the CPU everywhere and may read them
freely; not ``to``, which may have nothing to move; and not `print`.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from asynclab.places import package_of
from asynclab.watching import (
    NUMBER,
    ON_PURPOSE,
    SHAPE,
    TEXT,
    TO_DEVICE,
    TO_HOST,
    Function,
    Kind,
    Replacement,
    Watch,
    replaced,
)

_OTHER = Kind(
    "other",
    "waits, as PyTorch's debug mode says",
    "Look for a copy, or a number that is needed, in that line.",
)
_WARNING = "called a synchronizing CUDA operation"
_PROTOTYPE = "Synchronization debug mode is a prototype feature"

_OURS = __name__.partition(".")[0]

_NUMBERS = {
    **{f"__{name}__": f"{name}(x)" for name in ("bool", "float", "int", "complex")},
    "__index__": "int(x)",
    "item": "item()",
    "tolist": "tolist()",
}
_COPIES = {"numpy": "numpy()", "__array__": "numpy()", "cpu": "cpu()"}
_COMPARISONS = ("equal", "allclose", "is_nonzero")
_SHAPED_BY_NUMBERS = ("nonzero", "argwhere", "masked_select", "unique", "unique_consecutive", "bincount")


@contextlib.contextmanager
def watch_torch(watch: Watch) -> Iterator[None]:
    """Watch PyTorch, which must be loaded, for as long as the block runs."""
    torch: Any = sys.modules["torch"]
    with contextlib.ExitStack() as stack:
        if torch.cuda.is_available() or torch.backends.mps.is_available():
            stack.enter_context(replaced(_reading(watch, torch, _on_device) + _with_device(watch, torch)))
        else:
            stack.enter_context(replaced(_reading(watch, torch, _called_by_program, elsewhere=True)))
        if torch.cuda.is_available():
            stack.enter_context(_debug_mode(watch, torch))
        yield


def _reading(watch: Watch, torch: Any, counts: Function, *, elsewhere: bool = False) -> list[Replacement]:
    """Calls that need the numbers of a tensor."""
    timed_call = partial(watch.timed, elsewhere=elsewhere)

    def methods(kind: Kind, calls: dict[str, str]) -> list[Replacement]:
        return [Replacement(torch.Tensor, name, timed_call(kind, call, counts)) for name, call in calls.items()]

    def functions(kind: Kind, names: tuple[str, ...]) -> list[Replacement]:
        timed = {name: timed_call(kind, f"{name}()", counts) for name in names}
        return [
            replacement
            for name, make in timed.items()
            for replacement in (
                Replacement(torch.Tensor, name, make),
                Replacement(torch, name, partial(_unless_compiling, torch, make)),
            )
        ]

    def masks(x: Any, index: object) -> bool:
        return _is_mask(torch, index) and counts(x)

    def only_condition(*args: Any, **named: Any) -> bool:
        return len(args) + len(named) == 1 and counts(*(args or named.values()))

    masked = timed_call(SHAPE, "x[mask]", masks)
    where = timed_call(SHAPE, "where()", only_condition)

    def writes_number(x: Any, _: object) -> bool:
        return bool(x.dim() == 0 and counts(x))

    return [
        *methods(NUMBER, _NUMBERS),
        *methods(TO_HOST, _COPIES),
        *functions(NUMBER, _COMPARISONS),
        *functions(SHAPE, _SHAPED_BY_NUMBERS),
        Replacement(torch.Tensor, "__getitem__", lambda call: _quick_unless_mask(call, masked(call))),
        Replacement(torch.Tensor, "__format__", timed_call(TEXT, "format(x)", writes_number)),
        Replacement(torch, "where", partial(_unless_compiling, torch, where)),
    ]


def _with_device(watch: Watch, torch: Any) -> list[Replacement]:
    """Calls that exist, or wait, only where there is a GPU."""
    explicit = [
        (torch.cuda, "torch.cuda.synchronize()"),
        (torch.mps, "torch.mps.synchronize()"),
        (torch.accelerator, "torch.accelerator.synchronize()"),
        (torch.cuda.Stream, "stream.synchronize()"),
        (torch.cuda.Event, "event.synchronize()"),
    ]

    def over(x: Any) -> bool:
        return bool(x.query())

    marks = (torch.cuda.Stream, torch.cuda.Event)
    return [
        *(
            Replacement(owner, "synchronize", watch.timed(ON_PURPOSE, call, ready=over if owner in marks else None))
            for owner, call in explicit
        ),
        Replacement(torch.Tensor, "to", watch.timed(TO_HOST, "to()", _moves_to_cpu)),
        Replacement(torch.Tensor, "cuda", watch.timed(TO_DEVICE, "cuda()", _moves_from_cpu)),
        Replacement(torch.Tensor, "__repr__", watch.timed(TEXT, "print(x)", _on_device)),
    ]


def _on_device(x: Any = None, *_: object, **named: Any) -> bool:
    x = named.get("input") if x is None else x
    device = getattr(x, "device", None)
    return device is not None and device.type not in ("cpu", "meta")


def _called_by_program(*_: object, **__: object) -> bool:
    """Whether a function that was replaced was called from outside of PyTorch."""
    frame: Any = sys._getframe(1)
    while frame is not None and package_of(frame) == _OURS:
        frame = frame.f_back
    return frame is None or package_of(frame) != "torch"


def _quick_unless_mask(plain: Function, masked: Function) -> Function:
    """Programs index all the time, and nearly always in ways that take no time to tell from a mask."""

    @functools.wraps(plain)
    def getitem(x: Any, index: Any) -> Any:
        return (plain if type(index) in (int, slice) else masked)(x, index)

    return getitem


def _unless_compiling(torch: Any, make: Callable[[Function], Function], original: Function) -> Function:
    """PyTorch's compiler goes into the functions of a program, where it has to find those of PyTorch themselves."""
    compiling, watched = torch.compiler.is_compiling, make(original)

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        return original(*args, **kwargs) if compiling() else watched(*args, **kwargs)

    return function


def _is_mask(torch: Any, index: object) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, torch.Tensor) and part.dtype in (torch.bool, torch.uint8) for part in parts)


def _moves_to_cpu(x: Any, *args: Any, **named: Any) -> bool:
    target = named.get("device", named.get("other", args[0] if args else None))
    target = getattr(target, "device", target)  # another tensor, to whose device it goes
    return _on_device(x) and str(target).partition(":")[0] == "cpu" and not _non_blocking(args, named)


def _moves_from_cpu(x: Any, *args: Any, **named: Any) -> bool:
    return not _on_device(x) and not _non_blocking(args, named)


def _non_blocking(args: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Whether a copy need not wait: by name, or else by the first truth value among the arguments."""
    return bool(named.get("non_blocking", next((each for each in args if isinstance(each, bool)), False)))


@contextlib.contextmanager
def _debug_mode(watch: Watch, torch: Any) -> Iterator[None]:
    """Take note of what PyTorch's debug mode warns of, unless a replaced function does."""
    with warnings.catch_warnings():
        warnings.filterwarnings("always", message=_WARNING)
        warnings.filterwarnings("ignore", message=_PROTOTYPE)
        show = warnings.showwarning

        def tell(message: Any, *args: Any, **named: Any) -> None:
            if not str(message).startswith(_WARNING):
                show(message, *args, **named)
            elif not watch.inside:
                watch.note(_OTHER, "a CUDA operation", None)

        warnings.showwarning = tell
        with _sync_debug_mode_set(torch):
            yield


@contextlib.contextmanager
def _sync_debug_mode_set(torch: Any) -> Iterator[None]:
    """Set PyTorch's debug mode as soon as CUDA is in use: to set it earlier would begin to use CUDA."""
    active = [True]
    before: list[int] = []

    def begin() -> None:
        if active:
            before.append(torch.cuda.get_sync_debug_mode())
            torch.cuda.set_sync_debug_mode("warn")

    # Calls at once what it is given, or else when CUDA starts in this process.
    torch.cuda._lazy_call(begin)
    try:
        yield
    finally:
        active.clear()
        if before:
            torch.cuda.set_sync_debug_mode(before[0])
