"""asynclab waits for what is pending, without importing any framework.

Frameworks are small fakes that note every wait, so these tests need neither PyTorch nor MXNet.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fakes import Device, Event, MpsEvent, NDArray, Stream, Tensor, fake_mxnet, fake_torch

import asynclab
from asynclab import AsynclabError, UnsupportedTargetError, synchronize

#: Times are taken here: nothing else may run beside.
pytestmark = [pytest.mark.alone, pytest.mark.usefixtures("no_framework")]


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
