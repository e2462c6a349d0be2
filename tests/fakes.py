"""Small stand-ins for PyTorch and MXNet that note every wait, so that tests need neither."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace


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


def fake_torch(waits, *, cuda_devices=0, cuda_used=None, busy=(), mps=False):
    """Make a module that looks like PyTorch on a machine with these devices, some of whose streams are busy."""
    torch = ModuleType("torch")
    torch.device, torch.Tensor, torch.Stream, torch.Event = Device, Tensor, Stream, Event
    torch.cuda = SimpleNamespace(
        is_initialized=lambda: cuda_devices > 0 if cuda_used is None else cuda_used,
        device_count=lambda: cuda_devices,
        current_stream=lambda device: SimpleNamespace(query=lambda: device not in busy),
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
