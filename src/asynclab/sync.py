"""Wait until pending work is done, in whichever frameworks are loaded.

The lowest layer of asynclab, on which ``timing`` rests. Never imports a framework: what the
program has not imported has no work pending.
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from asynclab.errors import UnsupportedTargetError

Wait = Callable[[], object]


def synchronize(x: object = None) -> None:
    """Wait until pending work is done.

    A PyTorch tensor does not know which stream writes it, so the wait is for its whole device.
    On a CPU PyTorch computes before it returns and there is nothing to wait for; the one exception
    is a CPU tensor that a ``non_blocking`` copy from a GPU still fills: wait for the GPU instead.

    Args:
        x: What to wait for: a PyTorch device, device string (``"cuda:0"``, ``"mps"``, ``"cpu"``),
            tensor, stream or event; an MXNet array; or a list or tuple of these, one after the
            other. By default everything, in every loaded framework.

    Raises:
        UnsupportedTargetError: If ``x`` is none of these (a ``TypeError``).
        Exception: Whatever the framework raises while it waits, such as the error of an operation
            that failed after its call had returned.
    """
    waiter(x)()


def waiter(x: object = None) -> Wait:
    """Find the function that waits for ``x``, without waiting yet.

    Args:
        x: As for `synchronize`. The items of a list are looked up when the wait begins, so a list
            may still be filled after this call.

    Returns:
        A function without arguments that returns when the work is done.

    Raises:
        UnsupportedTargetError: If no loaded framework can wait for ``x``.
    """
    if x is None:
        return _wait_for_everything
    if isinstance(x, (list, tuple)):
        return partial(_wait_for_each, x)
    wait = _torch_waiter(x) or _mxnet_waiter(x)
    if wait is None:
        raise UnsupportedTargetError(_refusal(x))
    return wait


def _wait_for_each(items: Sequence[object]) -> None:
    for item in items:
        synchronize(item)


def _wait_for_everything() -> None:
    if torch := sys.modules.get("torch"):
        # A process that never touched CUDA has nothing pending there, and synchronising it would
        # raise on a machine without a GPU and open a context on one that has.
        if torch.cuda.is_initialized():
            for index in range(torch.cuda.device_count()):
                torch.cuda.synchronize(index)
        if torch.backends.mps.is_available():
            torch.mps.synchronize()
    if mxnet := sys.modules.get("mxnet"):
        mxnet.nd.waitall()  # the same function as npx.waitall


def _torch_waiter(x: object) -> Wait | None:
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return None
    if isinstance(x, (torch.Stream, torch.Event, torch.mps.event.Event)):
        wait: Wait = x.synchronize
        return wait
    device = _torch_device(torch, x)
    waits: dict[str, Wait] = {
        "cuda": partial(torch.cuda.synchronize, device),
        "mps": torch.mps.synchronize,
        "cpu": _nothing_to_wait_for,
    }
    return None if device is None else waits.get(device.type)


def _torch_device(torch: Any, x: object) -> Any:
    if isinstance(x, torch.device):
        return x
    if isinstance(x, torch.Tensor):
        return x.device
    try:
        return torch.device(x) if isinstance(x, str) else None
    except RuntimeError:  # how PyTorch refuses a device string
        return None


def _nothing_to_wait_for() -> None:
    pass


def _mxnet_waiter(x: object) -> Wait | None:
    mxnet: Any = sys.modules.get("mxnet")
    if mxnet is None or not isinstance(x, mxnet.nd.NDArray):
        return None
    wait: Wait = x.wait_to_read
    return wait


def _refusal(x: object) -> str:
    # Never the text of x: an array would be computed just to be shown.
    found = f"the string {x!r}" if isinstance(x, str) else f"an object of type {type(x).__name__}"
    loaded = [name for name in ("torch", "mxnet") if sys.modules.get(name)]
    return (
        f"cannot wait for {found} (frameworks loaded: {', '.join(loaded) or 'none'}). "
        "Allowed: a PyTorch device, device string ('cuda:0', 'mps', 'cpu'), tensor, stream or "
        "event; an MXNet array; a list or tuple of these.\n"
        "Import the framework first, or call synchronize() without an argument to wait for "
        "everything. Benchmark's sync may also be a function that waits."
    )
