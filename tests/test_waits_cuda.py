"""What waits on a GPU: shown with a module that looks like PyTorch where there is one, since tests have none."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from fakes import Device, Event, Stream

from asynclab import Waits, waits

SYNCHRONIZING = "called a synchronizing CUDA operation (Triggered internally at CUDAFunctions.cpp:227.)"
PROTOTYPE = "Synchronization debug mode is a prototype feature and does not yet detect all synchronizing operations"


class Cuda:
    """Stands for ``torch.cuda``: warns in debug mode, may only have its mode set when it has started."""

    def __init__(self, *, available: bool, started: bool) -> None:
        """Begin as in a process that has used CUDA or has not."""
        self.available, self.started, self.mode = available, started, 0
        self.queued: list[Callable[[], None]] = []
        methods = {"synchronize": nothing, "query": lambda mark: getattr(mark, "over", False)}
        self.Stream, self.Event = (type(name, (), methods) for name in ("Stream", "Event"))
        self.synchronize: Callable[..., None] = nothing

    def is_available(self) -> bool:
        return self.available

    def _lazy_call(self, call: Callable[[], None]) -> None:
        if self.started:
            call()
        else:
            self.queued.append(call)

    def start(self) -> None:
        self.started = True
        for call in self.queued:
            call()

    def get_sync_debug_mode(self) -> int:
        assert self.started, "asking for the mode would start CUDA"
        return self.mode

    def set_sync_debug_mode(self, mode: int | str) -> None:
        assert self.started, "setting the mode would start CUDA"
        warnings.warn(PROTOTYPE, stacklevel=1)
        self.mode = {"default": 0, "warn": 1, "error": 2}.get(mode, mode)  # type: ignore[call-overload]


def nothing(*_: object, **__: object) -> None:
    """Wait for nothing."""


def fake_torch(*, available: bool = True, started: bool = True, mps: bool = False) -> Any:
    """A module that looks like PyTorch on such a machine."""
    torch: Any = ModuleType("torch")
    torch.cuda = Cuda(available=available, started=started)

    def synchronizes(name: str) -> Callable[..., Any]:
        def method(x: Any, *_: object, **__: object) -> Any:
            if x.device.type == "cuda" and torch.cuda.mode:
                warnings.warn(SYNCHRONIZING, stacklevel=2)
            return f"{name} of {x.device.type}"

        return method

    numbers = ("bool", "float", "int", "complex", "index", "array", "format", "getitem", "repr")
    functions = ("equal", "allclose", "is_nonzero", "nonzero", "argwhere", "masked_select")
    functions += ("unique", "unique_consecutive", "bincount")
    names = ("item", "tolist", "numpy", "cpu", "to", "cuda", *functions, *(f"__{number}__" for number in numbers))
    methods = {name: synchronizes(name) for name in names}
    methods.update(__bool__=lambda x: bool(synchronizes("bool")(x)), __repr__=lambda x: str(synchronizes("repr")(x)))

    def make(self: Any, device: str = "cuda", dtype: str = "float32", dimensions: int = 0) -> None:
        self.device, self.dtype, self.dim = Device(device), dtype, lambda: dimensions

    torch.Tensor = type("Tensor", (), {"__init__": make, "other": synchronizes("other"), **methods})
    for name in functions:
        setattr(torch, name, methods[name])
    torch.where = synchronizes("where")
    torch.bool, torch.uint8, torch.Stream, torch.Event = "bool", "uint8", Stream, Event
    torch.mps, torch.accelerator = SimpleNamespace(synchronize=nothing), SimpleNamespace(synchronize=nothing)
    torch.backends = SimpleNamespace(mps=SimpleNamespace(is_available=lambda: mps))
    torch.compiler = SimpleNamespace(is_compiling=lambda: False)
    return torch


@pytest.fixture
def torch(load: Callable[..., None], no_framework: None) -> Any:
    """PyTorch on a machine with a GPU that is in use."""
    module = fake_torch()
    load(module)
    return module


@pytest.fixture(autouse=True)
def warnings_as_before() -> Iterator[None]:
    """Whatever a test does, it leaves the warnings as they were."""
    show, filters = warnings.showwarning, list(warnings.filters)
    yield
    assert warnings.showwarning is show
    assert warnings.filters == filters


def calls(found: Waits) -> list[tuple[str, int]]:
    """What was found: each call and how often it was made."""
    return sorted((each.call, each.count) for each in found.calls)


def run(code: str, torch: Any) -> None:
    """Run code that uses tensors on the device, as if it stood in this file."""
    eval(compile(code, __file__, "eval"), {"torch": torch, "x": torch.Tensor(), "y": torch.Tensor(), "Named": Named})


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("torch.cuda.synchronize()", "torch.cuda.synchronize()"),
        ("torch.accelerator.synchronize()", "torch.accelerator.synchronize()"),
        ("torch.cuda.Stream().synchronize()", "stream.synchronize()"),
        ("torch.cuda.Event().synchronize()", "event.synchronize()"),
        ("x.item()", "item()"),
        ("bool(x)", "bool(x)"),
        ("x.numpy()", "numpy()"),
        ("x.cpu()", "cpu()"),
        ('x.to("cpu")', "to()"),
        ('x.to("cpu:0")', "to()"),
        ('x.to(device=Named("cpu"))', "to()"),
        ('x.to("cpu", "float32", False, True)', "to()"),
        ('x.to("cpu", non_blocking=False)', "to()"),
        ('torch.Tensor("cpu").cuda()', "cuda()"),
        ("str(x)", "print(x)"),
        ("repr(x)", "print(x)"),
        ('x[torch.Tensor(dtype="bool")]', "x[mask]"),
        ('x[1, torch.Tensor(dtype="uint8")]', "x[mask]"),
        ("torch.nonzero(x)", "nonzero()"),
        ("x.nonzero()", "nonzero()"),
        ("torch.where(x)", "where()"),
        ("x.other()", "a CUDA operation"),
    ],
)
def test_what_waits_for_the_device_is_found_once(torch, call, name):
    """Each is named; the debug mode, which tells of most of them too, doubles none and adds the others."""
    with waits() as found:
        run(call, torch)

    assert calls(found) == [(name, 1)]
    assert found.calls[0].file == __file__
    assert found.calls[0].program is None


def test_an_event_that_is_over_does_not_wait(torch):
    """It was reached before it was waited for."""
    event = torch.cuda.Event()
    with waits() as found:
        event.synchronize()
        event.over = True
        event.synchronize()

    assert [(each.count, each.ready) for each in found] == [(1, 0), (1, 1)]


def test_where_with_three_arguments_keeps_the_shape(torch):
    """Its result has the shape of its arguments, so it need not wait to know it."""
    torch.where = lambda *_: None
    with waits() as found:
        run("torch.where(x, x, x)", torch)

    assert len(found) == 0


class Named:
    """A device as PyTorch's own, of which the text is the name."""

    def __init__(self, name: str) -> None:
        """Take the name."""
        self.name = name

    def __str__(self) -> str:
        """Give the name."""
        return self.name


@pytest.mark.parametrize(
    "call",
    [
        'torch.Tensor("cpu").item()',
        'torch.nonzero(torch.Tensor("cpu"))',
        'torch.Tensor("cpu").to("cuda")',
        'str(torch.Tensor("cpu"))',
        'torch.Tensor("cpu").cuda(0, True)',
        'torch.Tensor("cpu").cuda(non_blocking=True)',
    ],
)
def test_a_tensor_on_the_cpu_waits_for_no_device(torch, call):
    """Where there is a GPU only what is on it counts."""
    with waits() as found:
        run(call, torch)

    assert calls(found) == []


@pytest.mark.parametrize(
    "call",
    [
        'x.to("cpu", non_blocking=True)',
        'x.to("cpu", "float32", True)',
        'x.to("float64")',
        "x.to(y)",
        'x.to("cuda")',
    ],
)
def test_a_move_that_need_not_wait_is_not_noted_as_one(torch, call):
    """Such as one that is asked not to block, and one that stays where it is; the tensors themselves are not asked."""
    torch.cuda.set_sync_debug_mode = nothing
    with waits() as found:
        run(call, torch)

    assert calls(found) == []


def test_one_line_of_several_waits_is_counted_in_full(torch):
    """The debug mode's warning counts each time, though Python shows the same warning of a line once only."""
    x = torch.Tensor()
    with waits() as found:
        for _ in range(3):
            x.other()

    assert calls(found) == [("a CUDA operation", 3)]


def test_other_warnings_are_still_shown(torch):
    """What has nothing to do with waiting is shown as before."""
    with pytest.warns(UserWarning, match="mind the gap"), waits() as found:
        warnings.warn("mind the gap", stacklevel=1)

    assert calls(found) == []


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_the_debug_mode_is_put_back(torch, mode):
    """Whatever the program had set is set again, after an error too."""
    torch.cuda.mode = mode
    before = dict(vars(torch)), dict(vars(torch.Tensor)), dict(vars(torch.cuda))
    with contextlib.suppress(ZeroDivisionError), waits():
        within = torch.cuda.mode
        1 / 0  # noqa: B018 - what fails

    assert (within, torch.cuda.mode) == (1, mode)
    assert (dict(vars(torch)), dict(vars(torch.Tensor)), dict(vars(torch.cuda))) == before


def test_overlapping_blocks_put_the_debug_mode_back(torch):
    """The mode stays set until the last of several blocks has ended, in whichever order they do."""
    first, second = waits(), waits()
    first.__enter__()
    found = second.__enter__()
    first.__exit__(None, None, None)
    torch.Tensor().other()
    second.__exit__(None, None, None)

    assert calls(found) == [("a CUDA operation", 1)]
    assert torch.cuda.mode == 0


def test_a_process_that_never_starts_cuda_is_left_alone(load, no_framework):
    """To watch is no reason to start CUDA; neither is what was prepared for the case, when the block has ended."""
    torch = fake_torch(started=False)
    load(torch)
    with waits() as found:
        torch.Tensor("cpu").item()

    assert not torch.cuda.started
    torch.cuda.start()
    assert torch.cuda.mode == 0
    assert calls(found) == []


def test_cuda_may_start_within_the_block(load, no_framework):
    """From then on its debug mode is set, and put back afterwards."""
    torch = fake_torch(started=False)
    load(torch)
    with waits() as found:
        torch.cuda.start()
        torch.Tensor().other()

    assert calls(found) == [("a CUDA operation", 1)]
    assert torch.cuda.mode == 0


def test_apples_gpu_has_no_debug_mode(load, no_framework):
    """On a Mac the tensors' own calls are found, and CUDA is left alone."""
    torch = fake_torch(available=False, started=False, mps=True)
    load(torch)
    with waits() as found:
        torch.Tensor("mps").item()
        torch.mps.synchronize()
        torch.Tensor("cpu").item()

    assert calls(found) == [("item()", 1), ("torch.mps.synchronize()", 1)]
    assert torch.cuda.queued == []
