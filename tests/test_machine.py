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
from pathlib import Path
from types import SimpleNamespace

import pytest

from asynclab import machine


def value(record: dict, name: str) -> object:
    """The value of an entry; None if there is none."""
    return next((entry["value"] for entry in record["entries"] if entry["name"] == name), None)


def test_facts_are_those_that_the_system_tells():
    """Processor, cores, memory and Python agree with what the system's own tools say."""
    found = machine.record("pytorch")
    cpuinfo = Path("/proc/cpuinfo").read_text()
    total_kb = int(re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())[1])

    assert str(value(found, "processor")).split()[0] in cpuinfo
    assert value(found, "cores_allowed") == int(subprocess.check_output(["nproc"]))
    assert value(found, "memory_bytes") == total_kb * 1024
    assert value(found, "python") == platform.python_version()
    assert platform.release() in str(value(found, "system"))


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


def test_gpus_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What NVIDIA's tool says of two GPUs is kept, memory in bytes."""
    monkeypatch.setenv("PATH", fake_tool(tmp_path, "printf 'NVIDIA X, 1024, 580.1\\nNVIDIA X, 1024, 580.1\\n'"))

    found = machine.record("pytorch")

    assert value(found, "gpu") == "NVIDIA X"
    assert value(found, "gpu_count") == 2
    assert value(found, "gpu_memory_bytes") == 2**30
    assert value(found, "gpu_driver") == "580.1"
    assert found["summary"].endswith("2 x NVIDIA X")


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
