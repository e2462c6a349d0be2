"""The peak of a machine: the best of its products, measured with care, and what lies beyond it.

NumPy and the frameworks are stand-ins that compute at a known rate by a clock of the test's own.
"""

from __future__ import annotations

import math
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from asynclab import peak, peak_flop_per_s
from asynclab.peak import MARGIN, mxnet_workers, peak_exceeded_by, readable_rate

#: Times are taken here: nothing else may run beside.
pytestmark = pytest.mark.alone


class Matrix:
    """A square matrix on a device."""

    def __init__(self, size: int, dtype: str = "float32", device: str = "cpu") -> None:
        """Note what a product takes its time from."""
        self.size, self.dtype, self.device = size, dtype, device


class Machine:
    """A clock, and libraries whose products take time by it.

    Attributes:
        now: What the clock shows.
        rates: Floating-point operations a second of each library, device and type.
        measured: The matrices that were multiplied.
        waits: What was waited for.
        busy: Whether the processor is used while the program sleeps.
        sleeps: How often it has slept.
    """

    def __init__(self) -> None:
        """Start at some time, with slow products."""
        self.now, self.busy, self.sleeps = 100.0, False, 0
        self.rates: dict[tuple[str, ...], float] = {("numpy",): 100e9}
        self.measured: list[Matrix] = []
        self.waits: list[str] = []

    def multiply(self, matrix: Matrix, *by: str) -> None:
        """Let a product take its time."""
        self.measured.append(matrix)
        self.now += 2 * matrix.size**3 / self.rates[by]

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        self.sleeps += 1

    def used(self) -> float:
        """Say how long the program has used the processor."""
        return self.now if self.busy else 0.0

    @property
    def numpy(self) -> Any:
        """NumPy."""
        module: Any = ModuleType("numpy")
        module.float32 = "float32"
        module.ones = lambda shape, dtype: Matrix(shape[0], dtype)
        module.empty_like = lambda like: like
        module.matmul = lambda a, *_, **__: self.multiply(a, "numpy")
        return module

    def torch(self, cuda_devices: int = 0, mps: bool = False) -> Any:
        """PyTorch, whose program has used the GPUs."""
        module: Any = ModuleType("torch")
        module.float32, module.float16, module.bfloat16 = "float32", "float16", "bfloat16"
        module.ones = lambda shape, dtype, device: Matrix(shape[0], dtype, device)
        module.empty_like = lambda like: like
        module.mm = lambda a, *_, **__: self.multiply(a, "torch", a.device, a.dtype)
        module.cuda = SimpleNamespace(
            is_initialized=lambda: cuda_devices > 0,
            device_count=lambda: cuda_devices,
            synchronize=lambda device: self.waits.append(str(device)),
        )
        module.mps = SimpleNamespace(synchronize=lambda: self.waits.append("mps"))
        module.backends = SimpleNamespace(mps=SimpleNamespace(is_available=lambda: mps))
        return module

    def mxnet(self, gpus: int = 0) -> Any:
        """MXNet, whose products are computed when they are waited for."""
        module: Any = ModuleType("mxnet")
        module.cpu = lambda: "cpu"
        module.context = SimpleNamespace(num_gpus=lambda: gpus)
        module.nd = SimpleNamespace(
            waitall=lambda: self.waits.append("waitall"),
            ones=lambda shape, **_: Matrix(shape[0]),
            FullyConnected=lambda a, *_, **__: SimpleNamespace(wait_to_read=lambda: self.multiply(a, "mxnet")),
        )
        return module


def gflops(flop_per_s: float) -> int:
    """Round a rate; pytest's own comparison would ask the stand-in for NumPy."""
    return round(flop_per_s / 1e9)


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Load these modules, as if the program had imported them."""

    def load(*modules: Any) -> None:
        for module in modules:
            monkeypatch.setitem(sys.modules, module.__name__, module)

    return load


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, load: Any) -> Machine:
    """A machine with NumPy and no framework, on which nothing was measured yet."""
    machine = Machine()
    for name in ("torch", "mxnet"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    load(machine.numpy)
    clock = SimpleNamespace(perf_counter=lambda: machine.now, process_time=machine.used, sleep=machine.sleep)
    monkeypatch.setattr(peak, "time", clock)
    peak._remembered.cache_clear()
    return machine


def test_peak_is_the_rate_of_a_product():
    """A machine with NumPy only has the rate of NumPy's products."""
    assert gflops(peak_flop_per_s()) == 100


def test_peak_is_measured_once(machine: Machine):
    """A second question gets the same answer and costs nothing."""
    first, products = peak_flop_per_s(), len(machine.measured)

    assert (peak_flop_per_s(), len(machine.measured)) == (first, products)


def test_measuring_the_peak_takes_tenths_of_a_second(machine: Machine):
    """Nobody waits long for a hint."""
    start = machine.now

    peak_flop_per_s()

    assert 0.05 < machine.now - start < 0.5


def test_peak_of_a_disturbed_machine_is_the_best_product(machine: Machine):
    """The size that disturbance spared counts."""
    matmul, slow = sys.modules["numpy"].matmul, 0.004

    def disturbed(a: Matrix, b: Matrix, out: Matrix) -> None:
        matmul(a, b, out)
        machine.now += slow if a.size != 512 else 0

    sys.modules["numpy"].matmul = disturbed  # type: ignore[attr-defined]

    assert gflops(peak_flop_per_s()) == 100


@pytest.mark.parametrize(("rate", "largest"), [(1e9, 512), (10e9, 1024), (100e9, 1024), (1e12, 2048), (500e12, 4096)])
def test_fast_machines_get_large_products(machine: Machine, rate: float, largest: int):
    """Many cores, or a GPU, show their speed on large matrices only; on a slow machine these would take too long."""
    machine.rates["numpy",] = rate

    peak_flop_per_s()

    assert max(matrix.size for matrix in machine.measured) == largest


def test_fastest_library_makes_the_peak_of_the_processor(machine: Machine, load: Any):
    """One library's product may be much faster than another's, and half precision faster still."""
    machine.rates |= {("torch", "cpu", "float32"): 200e9, ("torch", "cpu", "bfloat16"): 900e9, ("mxnet",): 130e9}
    load(machine.torch(), machine.mxnet())

    assert gflops(peak_flop_per_s()) == 900


def test_gpus_are_added_to_the_processor(machine: Machine, load: Any):
    """A program may use all at once; each GPU is waited for."""
    machine.rates |= {("torch", "cpu", dtype): 50e9 for dtype in ("float32", "bfloat16")}
    machine.rates |= {("torch", f"cuda:{index}", "float32"): 10e12 for index in (0, 1)}
    machine.rates |= {("torch", f"cuda:{index}", "float16"): 80e12 for index in (0, 1)}
    load(machine.torch(cuda_devices=2))

    assert gflops(peak_flop_per_s()) == 100 + 2 * 80_000
    assert {"cuda:0", "cuda:1"} <= set(machine.waits)


def test_mps_is_measured_and_waited_for(machine: Machine, load: Any):
    """Apple's GPU counts as any other."""
    machine.rates |= {("torch", "cpu", dtype): 50e9 for dtype in ("float32", "bfloat16")}
    machine.rates |= {("torch", "mps", dtype): 4e12 for dtype in ("float32", "float16")}
    load(machine.torch(mps=True))

    assert gflops(peak_flop_per_s()) == 100 + 4_000
    assert machine.waits.count("mps") > 10


def test_framework_that_joins_is_measured(machine: Machine, load: Any):
    """A figure from before a faster library was loaded does not count any more."""
    before = peak_flop_per_s()
    machine.rates["mxnet",] = 130e9
    load(machine.mxnet())

    assert (gflops(before), gflops(peak_flop_per_s())) == (100, 130)


def test_every_worker_of_mxnet_gets_a_product(machine: Machine, load: Any, monkeypatch: pytest.MonkeyPatch):
    """Workers compute side by side, so as many products are queued at a time."""
    monkeypatch.setenv("MXNET_CPU_WORKER_NTHREADS", "3")
    machine.rates["mxnet",] = 130e9
    load(machine.mxnet())

    peak_flop_per_s()

    sizes = [matrix.size for matrix in machine.measured[-9:]]
    assert sizes == [1024] * 9


def test_pending_work_is_done_first(machine: Machine, load: Any):
    """What others have queued does not count in the time of a product."""
    machine.rates["mxnet",] = 130e9
    load(machine.mxnet())

    peak_flop_per_s()

    assert machine.waits == ["waitall"]


@pytest.mark.parametrize("error", [RuntimeError, MemoryError])
def test_peak_that_cannot_be_measured_is_no_limit(load: Any, error: type[Exception]):
    """A product that fails says nothing about the block, and nothing is judged."""
    numpy = Machine().numpy

    def fail(a: Matrix, b: Matrix, out: Matrix) -> None:
        raise error

    numpy.matmul = fail
    load(numpy)

    assert peak_flop_per_s() == math.inf


def test_without_numpy_there_is_no_limit(monkeypatch: pytest.MonkeyPatch):
    """A program does not need NumPy for its clock."""
    monkeypatch.setitem(sys.modules, "numpy", None)

    assert (peak_flop_per_s(), peak_exceeded_by(1e30)) == (math.inf, None)


def test_gpu_of_mxnet_is_not_judged(machine: Machine, load: Any):
    """What nobody measured is no limit."""
    load(machine.mxnet(gpus=1))

    assert peak_flop_per_s() == math.inf


def test_rate_below_the_peak_costs_no_second_measurement(machine: Machine):
    """A rate that may be real is let go at once."""
    peak_flop_per_s()
    products = len(machine.measured)

    assert peak_exceeded_by(0.99 * MARGIN * 100e9) is None
    assert len(machine.measured) == products


def test_rate_beyond_the_peak_is_impossible():
    """The peak is returned, to be told."""
    exceeded = peak_exceeded_by(1.01 * MARGIN * 100e9)

    assert exceeded is not None
    assert gflops(exceeded) == 100


def test_peak_is_measured_again_before_a_rate_is_called_impossible(machine: Machine):
    """The first figure may come from a moment when others had the processor."""
    machine.rates["numpy",] = 20e9
    peak_flop_per_s()
    machine.rates["numpy",] = 100e9

    assert peak_exceeded_by(90e9) is None


def test_busy_moment_does_not_lower_the_peak(machine: Machine):
    """Of the two figures the higher one counts."""
    peak_flop_per_s()
    machine.rates["numpy",] = 20e9

    exceeded = peak_exceeded_by(1.01 * MARGIN * 100e9)

    assert exceeded is not None
    assert gflops(exceeded) == 100


@pytest.mark.parametrize(("busy", "least", "most"), [(False, 1, 1), (True, 10, 50)])
def test_processor_is_left_at_rest(machine: Machine, busy: bool, least: int, most: int):
    """Threads that still look for work would slow down what is timed next, so their end is awaited, within reason."""
    machine.busy = busy

    peak_flop_per_s()

    assert least <= machine.sleeps <= most


@pytest.mark.parametrize(("value", "workers"), [("", 1), ("4", 4), ("0", 1), ("many", 1)])
def test_workers_are_what_mxnets_variable_says(monkeypatch: pytest.MonkeyPatch, value: str, workers: int):
    """A number counts; otherwise there is one."""
    monkeypatch.setenv("MXNET_CPU_WORKER_NTHREADS", value)

    assert mxnet_workers() == workers


@pytest.mark.parametrize(
    ("flop_per_s", "text"),
    [
        (162.4e9, "162 GFLOP/s"),
        (6.492e12, "6.49 TFLOP/s"),
        (999.6e9, "1.00 TFLOP/s"),
        (1.234e15, "1230 TFLOP/s"),
        (1e9, "1.00 GFLOP/s"),
        (250e3, "0.250 MFLOP/s"),
        (0, "0 MFLOP/s"),
    ],
)
def test_rate_is_readable(flop_per_s: float, text: str):
    """Three digits and the unit that suits them."""
    assert readable_rate(flop_per_s) == text
