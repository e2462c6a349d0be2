"""Measure how fast this machine can compute at most: what claims to be faster has only been asked for.

Rests on ``sync``. NumPy is loaded when it is needed, a framework takes part once the program has loaded it. ``timing``
asks after its clock has stopped.
"""

from __future__ import annotations

import functools
import importlib
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from asynclab.digits import three_digits
from asynclab.sync import synchronize

#: How far a rate must lie above the measured peak to be impossible. The peak is that of square products, and other
#: shapes may suit the machine a little better; what nobody has waited for lies above it by far more.
MARGIN = 1.5

# Small products fit between the interruptions of a busy machine, large ones keep many cores or a GPU busy.
_SIZES = (256, 512, 1024, 2048, 4096)
_FULL_SIZE = 1024  # from here on a product that takes long will not become more efficient
_LONG_S, _TOO_LONG_S = 0.005, 0.04
_BUDGET_S = 0.03  # at each size
_FEWEST = 2

#: Before a rate is called impossible, the peak is measured with this many times the budget.
_THOROUGH = 3

# Threads of a BLAS look for their next task in a busy loop (OpenBLAS's for about a tenth of a second) and would slow
# down whatever is timed next.
_SETTLE_STEP_S, _SETTLE_STEPS, _SETTLED_BELOW = 0.01, 30, 0.2

#: Multiplies square matrices, waits for the result and returns how many products that were.
Multiply = Callable[[], int]
#: Makes such a function for matrices of this many rows.
MakeMultiply = Callable[[int], Multiply]


def peak_flop_per_s() -> float:
    """Measure how many floating-point operations a second this machine reaches with matrix products.

    The processor's peak is the best of NumPy's products in float32 and, where the program has loaded them, of
    PyTorch's in float32 and bfloat16 and of MXNet's in float32. For each GPU that PyTorch uses its best in float32
    and float16 is added, since a program may use all at once. Takes some tenths of a second at the first call, and
    again when a framework or a GPU has joined; otherwise the first figure is returned. Not to be called while a clock
    is running.

    Returns:
        Floating-point operations a second. Infinite where nobody can say: without NumPy, with a GPU that MXNet uses,
        or if a product failed.
    """
    return _remembered(_computers())


def peak_exceeded_by(flop_per_s: float) -> float | None:
    """Say whether a rate is higher than anything that this machine can compute.

    Before a rate is called impossible, the peak is measured anew and more thoroughly: the first figure may come from
    a moment when other work had the processor.

    Args:
        flop_per_s: Floating-point operations a second.

    Returns:
        The peak that the rate exceeds by more than `MARGIN`; ``None`` if the rate may be real.
    """
    peak = peak_flop_per_s()
    if flop_per_s > MARGIN * peak:
        peak = max(peak, _measured(_computers(), _THOROUGH * _BUDGET_S))
    return peak if flop_per_s > MARGIN * peak else None


def mxnet_workers() -> int:
    """Say how many workers MXNet computes with on the CPU: what its variable says, or one."""
    value = os.environ.get("MXNET_CPU_WORKER_NTHREADS", "")
    return max(1, int(value)) if value.isdecimal() else 1


def readable_rate(flop_per_s: float) -> str:
    """Write a rate with three digits.

    Args:
        flop_per_s: Floating-point operations a second.

    Returns:
        Such as ``"0.25 MFLOP/s"``, ``"162 GFLOP/s"`` or ``"1170 TFLOP/s"``.
    """
    rounded = float(f"{flop_per_s:.3g}")
    unit, size = next(((unit, size) for unit, size in (("T", 1e12), ("G", 1e9)) if rounded >= size), ("M", 1e6))
    return f"{three_digits(rounded / size)} {unit}FLOP/s"


@functools.cache
def _remembered(computers: tuple[tuple[str, str], ...]) -> float:
    return _measured(computers, _BUDGET_S)


def _computers() -> tuple[tuple[str, str], ...]:
    """What can compute now, each as module and device; a GPU that the program has not used stays untouched."""
    found = [("numpy", "cpu")]
    if torch := sys.modules.get("torch"):
        found.append(("torch", "cpu"))
        if torch.cuda.is_initialized():
            found += [("torch", f"cuda:{index}") for index in range(torch.cuda.device_count())]
        if torch.backends.mps.is_available():
            found.append(("torch", "mps"))
    if mxnet := sys.modules.get("mxnet"):
        found.append(("mxnet", "gpu" if mxnet.context.num_gpus() else "cpu"))
    return tuple(found)


def _measured(computers: tuple[tuple[str, str], ...], budget_s: float) -> float:
    # Work in front of a product would count in its time, and its errors are none of the product's.
    synchronize()
    best: dict[str, float] = {}
    try:
        for module, device in computers:
            for make in _products(module, device):
                best[device] = max(best.get(device, 0.0), _best_rate(make, budget_s))
                _settle()
    except (ImportError, RuntimeError, MemoryError):
        # No NumPy, or a framework that refuses, for want of memory for example: the block itself was fine.
        return math.inf
    return sum(best.values())


def _products(module: str, device: str) -> Iterator[MakeMultiply]:
    if module == "numpy":
        yield _numpy_multiply
    if module == "mxnet":
        yield _mxnet_multiply
    if module == "torch":
        torch: Any = sys.modules["torch"]
        # The faster of the two on recent processors and on GPUs.
        half = torch.bfloat16 if device == "cpu" else torch.float16
        yield from (functools.partial(_torch_multiply, torch, device, dtype) for dtype in (torch.float32, half))


def _numpy_multiply(size: int) -> Multiply:
    numpy: Any = importlib.import_module("numpy")
    a = numpy.ones((size, size), numpy.float32)
    product = numpy.empty_like(a)

    def multiply() -> int:
        numpy.matmul(a, a, out=product)
        return 1

    return multiply


def _torch_multiply(torch: Any, device: str, dtype: Any, size: int) -> Multiply:
    a = torch.ones((size, size), dtype=dtype, device=device)
    product = torch.empty_like(a)

    def multiply() -> int:
        torch.mm(a, a, out=product)
        if device.startswith("cuda"):
            torch.cuda.synchronize(device)
        elif device == "mps":
            torch.mps.synchronize()
        return 1

    return multiply


def _mxnet_multiply(size: int) -> Multiply:
    mxnet: Any = sys.modules["mxnet"]
    if mxnet.context.num_gpus():
        raise RuntimeError("products on a GPU of MXNet are not measured")
    a = mxnet.nd.ones((size, size), ctx=mxnet.cpu())
    workers = range(mxnet_workers())

    def multiply() -> int:
        # One product for each worker. Not dot: this computes with oneDNN, several times as fast as the BLAS behind dot.
        products = [mxnet.nd.FullyConnected(a, a, num_hidden=size, no_bias=True) for _ in workers]
        for product in products:
            product.wait_to_read()
        return len(workers)

    return multiply


def _best_rate(make: MakeMultiply, budget_s: float) -> float:
    best = 0.0
    for size in _SIZES:
        multiply = make(size)
        multiply()
        shortest_s, runs, begin = math.inf, 0, time.perf_counter()
        while runs < _FEWEST or time.perf_counter() - begin < budget_s:
            start = time.perf_counter()
            products = multiply()
            elapsed_s = time.perf_counter() - start
            shortest_s, runs = min(shortest_s, elapsed_s), runs + 1
            best = max(best, products * 2 * size**3 / elapsed_s)
        if shortest_s > (_LONG_S if size >= _FULL_SIZE else _TOO_LONG_S):
            break
    return best


def _settle() -> None:
    """Wait until this process has come to rest, or for a third of a second if it does not."""
    for _ in range(_SETTLE_STEPS):
        used_s, start = time.process_time(), time.perf_counter()
        time.sleep(_SETTLE_STEP_S)
        if time.process_time() - used_s < _SETTLED_BELOW * (time.perf_counter() - start):
            return
