"""asynclab waits for what is pending and times it honestly, without importing any framework.

Frameworks are small fakes that note every wait, so these tests need neither PyTorch nor MXNet.
"""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import asynclab
from asynclab import AsynclabError, Benchmark, UnsupportedTargetError, synchronize, timing


class Waitable:
    """A stream or an event: something with a ``synchronize`` of its own."""

    def __init__(self, waits: list[object], name: str) -> None:
        """Remember where to note a wait, and under which name."""
        self.synchronize = lambda: waits.append(name)


class Stream(Waitable):
    """Stands for ``torch.Stream``."""


class Event(Waitable):
    """Stands for ``torch.Event``."""


class MpsEvent(Waitable):
    """Stands for ``torch.mps.event.Event``, which is no ``torch.Event``."""


class Device:
    """Stands for ``torch.device``."""

    def __init__(self, name: str) -> None:
        """Take a device string apart as PyTorch does, and refuse as it does."""
        self.type = name.partition(":")[0]
        self.name = name
        if self.type not in {"cpu", "cuda", "mps", "meta"}:
            raise RuntimeError(f"Expected one of cpu, cuda, ... at start of device string: {name}")


class Tensor:
    """Stands for ``torch.Tensor``."""

    def __init__(self, device: str) -> None:
        """Put the tensor on a device."""
        self.device = Device(device)


class NDArray:
    """Stands for an MXNet array; its text must never be asked for, since that waits."""

    def __init__(self, waits: list[object], name: str = "array") -> None:
        """Remember where to note a wait, and under which name."""
        self.wait_to_read = lambda: waits.append(name)

    def __repr__(self) -> str:
        """Fail: the text of an array is a hidden barrier."""
        raise AssertionError("the array was computed just to be shown")


def fake_torch(waits, *, cuda_devices=0, cuda_used=None, mps=False):
    """Make a module that looks like PyTorch on a machine with these devices."""
    torch = ModuleType("torch")
    torch.device, torch.Tensor, torch.Stream, torch.Event = Device, Tensor, Stream, Event
    torch.cuda = SimpleNamespace(
        is_initialized=lambda: cuda_devices > 0 if cuda_used is None else cuda_used,
        device_count=lambda: cuda_devices,
        synchronize=lambda device: (
            waits.append(f"cuda:{device}") if isinstance(device, int) else waits.append(device.name)
        ),
    )
    torch.mps = SimpleNamespace(synchronize=lambda: waits.append("mps"), event=SimpleNamespace(Event=MpsEvent))
    torch.backends = SimpleNamespace(mps=SimpleNamespace(is_available=lambda: mps))
    return torch


def fake_mxnet(waits):
    """Make a module that looks like MXNet."""
    mxnet = ModuleType("mxnet")
    mxnet.nd = SimpleNamespace(NDArray=NDArray, waitall=lambda: waits.append("waitall"))
    return mxnet


@pytest.fixture
def waits():
    """The waits that the fakes have noted, in order."""
    return []


@pytest.fixture(autouse=True)
def _no_framework(monkeypatch):
    """Begin every test as if the program had imported no framework."""
    for name in ("torch", "mxnet"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.fixture
def load(monkeypatch):
    """Load these modules, as if the program had imported them."""

    def load(*modules):
        for module in modules:
            monkeypatch.setitem(sys.modules, module.__name__, module)

    return load


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until the test moves it."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    return clock


# --- the package ------------------------------------------------------------------------------


def test_import_loads_only_the_standard_library():
    """A fresh process that imports asynclab has loaded nothing but it and the standard library."""
    code = (
        "import sys; before = set(sys.modules); import asynclab; "
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}; "
        "print(sorted(new - sys.stdlib_module_names - {'asynclab'}))"
    )

    source = Path(asynclab.__file__).parents[1]
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        check=True,
        text=True,
    )

    assert (result.stdout.strip(), result.stderr) == ("[]", "")


def test_every_public_name_exists():
    """What ``__all__`` promises is there."""
    assert all(hasattr(asynclab, name) for name in asynclab.__all__)


# --- synchronize ------------------------------------------------------------------------------


def test_synchronize_without_a_framework_does_nothing():
    """With nothing loaded nothing is pending, and no framework gets imported."""
    synchronize()

    assert not {"torch", "mxnet"} & set(sys.modules)


def test_synchronize_waits_for_everything_in_every_loaded_framework(load, waits):
    """Without an argument all CUDA devices, MPS and MXNet's queue are waited for."""
    load(fake_torch(waits, cuda_devices=2, mps=True), fake_mxnet(waits))

    synchronize()

    assert waits == ["cuda:0", "cuda:1", "mps", "waitall"]


def test_synchronize_leaves_unused_cuda_alone(load, waits):
    """A process that never touched CUDA has nothing pending there and gets no context."""
    load(fake_torch(waits, cuda_devices=2, cuda_used=False))

    synchronize()

    assert waits == []


def test_synchronize_skips_a_framework_whose_import_is_blocked(monkeypatch):
    """``None`` in ``sys.modules`` means that the framework is not there."""
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "mxnet", None)

    synchronize()


@pytest.mark.parametrize("name", ["cuda:1", "mps"])
@pytest.mark.parametrize("make", [Device, Tensor, str])
def test_synchronize_waits_for_the_device(load, waits, make, name):
    """A device, a tensor on it and the device's string all wait for that device only."""
    load(fake_torch(waits, cuda_devices=2, mps=True), fake_mxnet(waits))

    synchronize(make(name))

    assert waits == [name]


@pytest.mark.parametrize("make", [Device, Tensor, str])
def test_synchronize_has_nothing_to_wait_for_on_a_cpu(load, waits, make):
    """PyTorch computes on a CPU before it returns."""
    load(fake_torch(waits, cuda_devices=1, mps=True))

    synchronize(make("cpu"))

    assert waits == []


@pytest.mark.parametrize("kind", [Stream, Event, MpsEvent])
def test_synchronize_waits_for_a_stream_or_an_event(load, waits, kind):
    """Streams and events know themselves how to wait."""
    load(fake_torch(waits))

    synchronize(kind(waits, "it"))

    assert waits == ["it"]


def test_synchronize_waits_for_an_mxnet_array(load, waits):
    """One array is waited for, not the whole queue."""
    load(fake_mxnet(waits))

    synchronize(NDArray(waits))

    assert waits == ["array"]


@pytest.mark.parametrize("collect", [list, tuple])
def test_synchronize_waits_for_each_item(load, waits, collect):
    """A list or tuple is waited for item by item, nested ones too, from both frameworks."""
    load(fake_torch(waits), fake_mxnet(waits))

    synchronize(collect([Tensor("cuda:0"), [NDArray(waits, "a"), NDArray(waits, "b")]]))

    assert waits == ["cuda:0", "a", "b"]


@pytest.mark.parametrize("empty", [[], ()])
def test_synchronize_accepts_an_empty_collection(load, waits, empty):
    """Nothing to wait for is not the same as everything."""
    load(fake_torch(waits, cuda_devices=1), fake_mxnet(waits))

    synchronize(empty)

    assert waits == []


@pytest.mark.parametrize(
    ("target", "found"),
    [
        (3, "an object of type int"),
        ({}, "an object of type dict"),
        (print, "an object of type builtin_function_or_method"),
        ("gpu", "the string 'gpu'"),
        ("meta", "the string 'meta'"),
        (Tensor("meta"), "an object of type Tensor"),
    ],
)
def test_synchronize_refuses_what_it_does_not_know(load, waits, target, found):
    """The error is a TypeError that says what was found, what is allowed and what to do."""
    load(fake_torch(waits), fake_mxnet(waits))

    with pytest.raises(UnsupportedTargetError) as caught:
        synchronize(target)

    message = str(caught.value)
    assert f"cannot wait for {found} (frameworks loaded: torch, mxnet)" in message
    assert "Allowed: a PyTorch device" in message
    assert "call synchronize() without an argument" in message
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, AsynclabError)


def test_synchronize_refuses_an_unknown_item_of_a_list(load, waits):
    """An unknown item in a list is an error, not skipped."""
    load(fake_torch(waits))

    with pytest.raises(UnsupportedTargetError, match="type int"):
        synchronize([Tensor("cuda:0"), 3])


def test_synchronize_refuses_a_device_string_without_pytorch(load, waits):
    """A device string means nothing to MXNet, and the error tells what is loaded."""
    load(fake_mxnet(waits))

    with pytest.raises(UnsupportedTargetError, match=r"'cpu' \(frameworks loaded: mxnet\)"):
        synchronize("cpu")


def test_synchronize_never_asks_for_the_text_of_an_array(waits):
    """An array that cannot be waited for is named by its type, since its text is a barrier."""
    with pytest.raises(UnsupportedTargetError, match=r"NDArray \(frameworks loaded: none\)"):
        synchronize(NDArray(waits))


# --- Benchmark --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "line"),
    [
        (12.34567, "Done: 12.3457 sec"),
        (0.5, "Done: 0.5000 sec"),
        (0.001, "Done: 0.0010 sec"),
        (0.00096, "Done: 0.0010 sec"),
        (0.000912, "Done: 0.0009 sec (0.912 ms)"),
        (0.000412, "Done: 0.0004 sec (0.412 ms)"),
        (0.0000321, "Done: 0.0000 sec (32.1 µs)"),
        (0.00000024, "Done: 0.0000 sec (0.24 µs)"),
        (0.0, "Done: 0.0000 sec (0 µs)"),
    ],
)
def test_benchmark_prints_one_readable_line(clock, capsys, seconds, line):
    """The line is d2l's, with a finer unit beside it below two significant digits."""
    clock.now = 0.0

    with Benchmark():
        clock.now += seconds

    assert capsys.readouterr().out == line + "\n"


def test_benchmark_takes_the_description_by_position(clock, capsys):
    """``Benchmark("x")`` works as with d2l."""
    with Benchmark("ten products") as benchmark:
        clock.now += 2

    assert capsys.readouterr().out == "ten products: 2.0000 sec\n"
    assert benchmark.description == "ten products"


def test_benchmark_keeps_its_seconds(clock):
    """The figure is there after the block and not before."""
    benchmark = Benchmark()
    before = benchmark.seconds

    with benchmark as entered:
        inside = benchmark.seconds
        clock.now += 2

    assert entered is benchmark
    assert (before, inside, benchmark.seconds) == (None, None, 2.0)


def test_benchmark_waits_for_everything_before_its_clock_starts(load, clock):
    """What an earlier block left behind is not charged to this one."""
    mxnet = fake_mxnet([])
    mxnet.nd.waitall = lambda: setattr(clock, "now", clock.now + 50)
    load(mxnet)

    with Benchmark() as benchmark:
        clock.now += 2

    assert (benchmark.seconds, clock.now) == (2.0, 152.0)


def test_benchmark_does_not_wait_at_its_end_unless_told_to(load, waits):
    """Without ``sync`` only the entry waits."""
    load(fake_mxnet(waits))

    with Benchmark():
        waits.clear()

    assert waits == []


def test_benchmark_waits_for_a_target_before_its_clock_stops(load, waits):
    """``sync`` takes what ``synchronize`` takes."""
    load(fake_torch(waits, cuda_devices=2))

    with Benchmark("x", "cuda:1"):
        waits.clear()

    assert waits == ["cuda:1"]


def test_benchmark_calls_a_function_before_its_clock_stops(clock):
    """``sync`` may be a function without arguments, and its time counts."""
    with Benchmark(sync=lambda: setattr(clock, "now", clock.now + 5)) as benchmark:
        clock.now += 2

    assert (benchmark.seconds, clock.now) == (7.0, 107.0)


def test_benchmark_waits_for_a_list_filled_in_its_block(load, waits):
    """The items of a list are looked up at the end of the block."""
    load(fake_mxnet(waits))
    results = []

    with Benchmark(sync=results):
        waits.clear()
        results.append(NDArray(waits, "late"))

    assert waits == ["late"]


def test_benchmark_refuses_an_unknown_target_before_the_block():
    """A wrong ``sync`` is reported at once, not after minutes of work."""
    with pytest.raises(UnsupportedTargetError, match="type int"):
        Benchmark(sync=3)


def test_benchmark_nests(clock, capsys):
    """An inner benchmark prints first, and both keep their own time."""
    with Benchmark("outer") as outer:
        clock.now += 1
        with Benchmark("inner") as inner:
            clock.now += 2

    assert capsys.readouterr().out == "inner: 2.0000 sec\nouter: 3.0000 sec\n"
    assert (outer.seconds, inner.seconds) == (3.0, 2.0)


def test_benchmark_has_no_figure_for_a_block_that_raised(waits, capsys):
    """The exception goes on; nothing is printed, nothing is kept, nothing is waited for."""
    benchmark = Benchmark(sync=lambda: waits.append("end"))

    with pytest.raises(ZeroDivisionError), benchmark:
        raise ZeroDivisionError

    assert (benchmark.seconds, waits, capsys.readouterr().out) == (None, [], "")


def test_benchmark_has_no_figure_if_its_wait_raised(capsys):
    """An operation that failed in the backend shows at the wait, and is no measurement either."""

    def fail():
        raise RuntimeError("late error")

    benchmark = Benchmark(sync=fail)

    with pytest.raises(RuntimeError, match="late error"), benchmark:
        pass

    assert (benchmark.seconds, capsys.readouterr().out) == (None, "")


def test_benchmark_forgets_its_figure_when_it_is_used_again(clock):
    """A second use that raises does not leave the first figure behind."""
    benchmark = Benchmark()
    with benchmark:
        clock.now += 2

    with pytest.raises(ZeroDivisionError), benchmark:
        raise ZeroDivisionError

    assert benchmark.seconds is None
