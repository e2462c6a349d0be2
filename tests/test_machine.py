"""The record of a machine: true, typed, and without anything private."""

from __future__ import annotations

import getpass
import json
import os
import platform
import re
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest

from asynclab import machine


def value(record: dict, name: str) -> object:
    """The value of an entry; None if there is none."""
    return next((entry["value"] for entry in record["entries"] if entry["name"] == name), None)


def tool(*command: str) -> str:
    """What one of the system's own tools prints, in English; nproc would obey OpenMP's variables."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("OMP_")}
    return subprocess.check_output(command, env={**environment, "LC_ALL": "C"}, text=True)


def torch(gpu: Callable[[], bool]) -> SimpleNamespace:
    """A PyTorch that answers whether it can use a GPU."""
    return SimpleNamespace(__version__="9.9", cuda=SimpleNamespace(is_available=gpu))


def mxnet(gpus: Callable[[], int]) -> SimpleNamespace:
    """An MXNet that answers how many GPUs it can use."""
    return SimpleNamespace(__version__="9.9", context=SimpleNamespace(num_gpus=gpus))


def fail() -> NoReturn:
    """Raise as a driver does that does not answer."""
    raise RuntimeError("CUDA error 999")


def warn() -> bool:
    """Answer as PyTorch does where the driver is too old for it."""
    warnings.warn("CUDA initialization: the NVIDIA driver on your system is too old", stacklevel=1)
    return False


def test_processor_is_the_one_that_lscpu_names():
    """The processor is lscpu's, without the marks of its maker."""
    model = re.search(r"^Model name:\s*(.+)$", tool("lscpu"), re.MULTILINE)[1]

    assert value(machine.record("pytorch"), "processor") == re.sub(r"\((R|TM)\)", "", " ".join(model.split()))


def test_cores_are_those_that_nproc_counts():
    """Cores allowed are those of this process, of which lscpu may know more."""
    online = len(tool("lscpu", "--parse=CPU", "--online").split("# CPU\n")[-1].split())

    allowed = value(machine.record("pytorch"), "cores_allowed")

    assert allowed == int(tool("nproc"))
    assert 1 <= allowed <= online


def test_memory_is_that_of_proc_meminfo():
    """Memory is what the kernel can use, in bytes."""
    total_kb = int(re.search(r"^MemTotal:\s+(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)[1])

    assert value(machine.record("pytorch"), "memory_bytes") == total_kb * 1024


def test_system_and_python_are_those_that_run():
    """The system is that of uname and of Debian's own file; Python is this one."""
    found = machine.record("pytorch")

    assert str(value(found, "system")).endswith(tool("uname", "-srm").strip())
    assert platform.freedesktop_os_release()["PRETTY_NAME"] in str(value(found, "system"))
    assert value(found, "python") == platform.python_version()


@pytest.mark.parametrize(
    ("files", "quota", "text"),
    [
        ({"cpu.max": "200000 100000\n"}, 2.0, "2.0 cores"),
        ({"cpu.max": "25000 100000\n"}, 0.25, "0.25 cores"),
        ({"cpu.max": "max 100000\n"}, None, None),
        ({"cpu/cpu.cfs_quota_us": "150000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1.5, "1.5 cores"),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None, None),
        ({"cpu/cpu.cfs_quota_us": "150000\n"}, None, None),
        ({"cpu.max": "200000 0\n"}, None, None),
        ({"cpu.max": "nonsense\n"}, None, None),
        ({"cpu.max": ""}, None, None),
        ({}, None, None),
    ],
)
def test_quota_of_a_container_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], quota: float | None, text: str | None
):
    """A limit on computing time is told in cores, from either version of Linux's control groups, if there is one."""
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(machine, "CGROUPS", str(tmp_path))

    found = machine.record("pytorch")

    assert value(found, "cpu_quota") == quota
    assert [entry["text"] for entry in found["entries"] if entry["name"] == "cpu_quota"] == ([text] if text else [])


@pytest.mark.parametrize(
    ("framework", "module", "loaded", "provides"),
    [
        ("pytorch", "torch", torch(lambda: True), ["gpu"]),
        ("pytorch", "torch", torch(lambda: False), []),
        ("pytorch", "torch", torch(fail), []),
        ("pytorch", "torch", SimpleNamespace(__version__="9.9"), []),
        ("pytorch", "torch", None, []),
        ("mxnet", "mxnet", mxnet(lambda: 2), ["gpu"]),
        ("mxnet", "mxnet", mxnet(lambda: 0), []),
        ("mxnet", "mxnet", mxnet(fail), []),
        ("mxnet", "torch", torch(lambda: True), []),
        ("pytorch", "mxnet", mxnet(lambda: 2), []),
        ("jax", "jax", SimpleNamespace(__version__="9.9"), []),
    ],
)
def test_record_provides_what_the_framework_can_use(
    monkeypatch: pytest.MonkeyPatch, framework: str, module: str, loaded: SimpleNamespace | None, provides: list[str]
):
    """Only the framework of the record is asked for a GPU, only if it is loaded, and it may fail to answer."""
    monkeypatch.setitem(sys.modules, module, loaded)

    assert machine.record(framework)["provides"] == provides


def test_frameworks_warning_does_not_reach_the_page(monkeypatch: pytest.MonkeyPatch):
    """What a framework has to say about a GPU that it cannot use stays out of the outputs of cells."""
    monkeypatch.setitem(sys.modules, "torch", torch(warn))

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        machine.record("pytorch")

    assert seen == []


def test_framework_is_named_only_if_it_is_loaded(monkeypatch: pytest.MonkeyPatch):
    """A record never loads a framework; it takes the version of the one that is there."""
    before = machine.record("pytorch")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(__version__="9.9"))

    after = machine.record("pytorch")

    assert (before["version"], value(before, "framework")) == ("", None)
    assert (after["version"], value(after, "framework")) == ("9.9", "torch 9.9")


def test_summary_is_short():
    """The summary names the processor and the cores allowed."""
    found = machine.record("mxnet")

    assert found["summary"].startswith(str(value(found, "processor")))
    assert f"{value(found, 'cores_allowed')} core" in found["summary"]


def test_record_is_json_and_private():
    """A record can be stored, and holds no user name, host name or path."""
    os.environ["MXNET_HOME"] = str(Path.home() / "mxnet")
    try:
        text = json.dumps(machine.record("mxnet"))
    finally:
        del os.environ["MXNET_HOME"]

    assert '"MXNET_HOME": "(a path)"' in text
    assert str(Path.home()) not in text
    assert socket.gethostname() not in text
    assert re.search(rf"\b{re.escape(getpass.getuser())}\b", text) is None


def test_only_variables_that_matter_are_kept(monkeypatch: pytest.MonkeyPatch):
    """Variables that change how fast the frameworks compute are kept, no others."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    monkeypatch.setenv("SECRET", "x")

    kept = value(machine.record("mxnet"), "variables")

    assert isinstance(kept, dict)
    assert kept["OMP_NUM_THREADS"] == "1"
    assert kept["OPENBLAS_CORETYPE"] == "Haswell"
    assert "SECRET" not in kept


def fake_tool(folder: Path, script: str) -> str:
    """A folder for PATH that holds an nvidia-smi."""
    tool = folder / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


TWO_GPUS = "printf 'NVIDIA X, 1024, 580.1\\nNVIDIA X, 1024, 580.1\\n'"


def test_gpus_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What NVIDIA's tool says of two GPUs is kept, memory in bytes."""
    monkeypatch.setenv("PATH", fake_tool(tmp_path, TWO_GPUS))

    found = machine.record("pytorch")

    assert value(found, "gpu") == "NVIDIA X"
    assert value(found, "gpu_count") == 2
    assert value(found, "gpu_memory_bytes") == 2**30
    assert value(found, "gpu_driver") == "580.1"


def test_summary_names_a_gpu_that_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Beside timings a GPU stands only if the framework can have used it; the entries tell what the machine has."""
    monkeypatch.setenv("PATH", fake_tool(tmp_path, TWO_GPUS))
    monkeypatch.setitem(sys.modules, "torch", torch(lambda: True))
    used = machine.record("pytorch")
    monkeypatch.setitem(sys.modules, "torch", torch(lambda: False))

    unused = machine.record("pytorch")

    assert used["summary"].endswith(" · 2 x NVIDIA X")
    assert "NVIDIA" not in unused["summary"]
    assert value(unused, "gpu") == "NVIDIA X"


@pytest.mark.parametrize("script", ["exit 9", "echo nonsense", "true", "echo 'a, b, c'"])
def test_gpu_tool_that_fails_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str):
    """Without a GPU, or with a driver that does not answer, there is simply no GPU in the record."""
    monkeypatch.setenv("PATH", fake_tool(tmp_path, script))

    assert value(machine.record("pytorch"), "gpu") is None


def test_every_entry_is_of_its_type():
    """Entries carry the registry's type and unit, and a text for readers."""
    fields = {field.name: field for field in machine.FIELDS}

    for entry in machine.record("pytorch")["entries"]:
        field = fields[entry["name"]]
        assert type(entry["value"]) is field.type
        assert (entry["type"], entry["unit"]) == (field.type.__name__, field.unit)
        assert entry["text"] == field.format(entry["value"])


def test_wrong_type_is_refused():
    """The registry does not let a text pass for a number."""
    with pytest.raises(TypeError, match="memory_bytes is '24 GB', but has to be of type int"):
        machine.entries({"memory_bytes": "24 GB"})


def test_unknown_field_is_refused():
    """What the registry does not know cannot be recorded."""
    with pytest.raises(KeyError, match="no field 'colour'"):
        machine.entries({"colour": "red"})


def test_libraries_read_as_a_list():
    """Threaded libraries are told with version, kernel and threads."""
    libraries = [
        {"name": "openblas", "version": "0.3", "kernel": "Haswell", "threads": 2},
        {"name": "openmp", "version": "", "kernel": "", "threads": 1},
    ]

    (entry,) = machine.entries({"libraries": libraries})

    assert entry["text"] == "openblas 0.3 Haswell 2 threads; openmp 1 thread"
