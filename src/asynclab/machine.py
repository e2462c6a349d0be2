"""Say which machine and which software made a number, as a record that can be stored beside it.

Called in a kernel when its last cell has run. Every value is in ``FIELDS`` with its type and unit; there are no user
names, no host names and no paths.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

#: Raised when the shape of a record changes.
SCHEMA = 2

#: The module that a framework's name stands for, where the two differ.
MODULES = {"pytorch": "torch"}

#: Variables that change how fast the frameworks compute; a star stands for any ending.
VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_*", "MXNET_*", "CUDA_VISIBLE_DEVICES")

#: Where Linux tells the limits of this process's control group; those of a container stand at the top.
CGROUPS = "/sys/fs/cgroup"

#: How to ask a module whether it can use a GPU in this process.
_GPU_QUESTIONS: dict[str, Callable[[Any], bool]] = {
    "torch": lambda torch: torch.cuda.is_available(),
    "mxnet": lambda mxnet: mxnet.context.num_gpus() > 0,
}

_NVIDIA_SMI_S = 20


@dataclass(frozen=True)
class Field:
    """One thing that a record may hold.

    Attributes:
        name: The key in the record.
        title: What a reader sees.
        type: The type of the value.
        unit: Its unit as stored; empty if it has none.
        format: Turns a value into what a reader sees.
    """

    name: str
    title: str
    type: type
    unit: str = ""
    format: Callable[[Any], str] = str


def _gibibytes(value: int) -> str:
    return f"{value / 2**30:.1f} GiB"


def _in_cores(value: float) -> str:
    return f"{round(value, 2)} cores"


def _pairs(value: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value[name]}" for name in sorted(value)) or "none set"


def _libraries(value: list[dict[str, Any]]) -> str:
    return "; ".join(" ".join(str(part) for part in _library_parts(library)) for library in value)


def _library_parts(library: Mapping[str, Any]) -> list[str]:
    threads = library["threads"]
    parts = [library["name"], library["version"], library["kernel"], f"{threads} thread{'s' * (threads != 1)}"]
    return [part for part in parts if part]


FIELDS = (
    Field("processor", "Processor", str),
    Field("cores_allowed", "Cores allowed", int),
    Field("cpu_quota", "CPU quota", float, "cores", _in_cores),
    Field("memory_bytes", "Memory", int, "B", _gibibytes),
    Field("system", "Operating system", str),
    Field("gpu", "GPU", str),
    Field("gpu_count", "GPUs", int),
    Field("gpu_memory_bytes", "Memory of a GPU", int, "B", _gibibytes),
    Field("gpu_driver", "GPU driver", str),
    Field("python", "Python", str),
    Field("framework", "Framework", str),
    Field("numpy", "NumPy", str),
    Field("libraries", "Threaded libraries", list, "", _libraries),
    Field("variables", "Environment variables", dict, "", _pairs),
)


def record(framework: str) -> dict[str, Any]:
    """Take the record of this process and its machine.

    Args:
        framework: The framework's name, such as ``pytorch``; its version is that of the module if it is loaded.

    Returns:
        ``{schema, summary, version, provides, entries}``: the machine in a few words; the framework's version (empty
        if it is not loaded); what the framework can use in this process, ``["gpu"]`` or ``[]``; and an entry
        ``{name, title, type, unit, value, text}`` for each field with something to say. The entries name a GPU that
        the machine has; the summary, which stands beside timings, only one that the framework can use.
    """
    module = MODULES.get(framework, framework)
    version = _version(module)
    provides = _provides(module)
    values: dict[str, Any] = {
        "processor": _processor(),
        "cores_allowed": _cores(),
        "cpu_quota": _cpu_quota(),
        "memory_bytes": _memory_bytes(),
        "system": _system(),
        **_gpu(),
        "python": platform.python_version(),
        "framework": f"{module} {version}" if version else "",
        "numpy": _version("numpy"),
        "libraries": _thread_pools(),
        "variables": _variables(os.environ),
    }
    return {
        "schema": SCHEMA,
        "summary": _summary(values, provides),
        "version": version,
        "provides": provides,
        "entries": entries(values),
    }


def entries(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Describe values by the registry, in its order; what is empty is left out, but not a number 0.

    Raises:
        TypeError: If a value is not of the type that its field states.
        KeyError: If a value has no field.
    """
    known = {field.name for field in FIELDS}
    for name in values:
        if name not in known:
            raise KeyError(f"no field {name!r} (known: {', '.join(sorted(known))}); add it to FIELDS")
    found = []
    for field in FIELDS:
        value = values.get(field.name)
        if value is None or (value in ("", [], {}) and field.type is not int):
            continue
        if not isinstance(value, field.type):
            raise TypeError(f"{field.name} is {value!r}, but has to be of type {field.type.__name__}")
        found.append(
            {
                "name": field.name,
                "title": field.title,
                "type": field.type.__name__,
                "unit": field.unit,
                "value": value,
                "text": field.format(value),
            }
        )
    return found


def _summary(values: Mapping[str, Any], provides: list[str]) -> str:
    cores = values["cores_allowed"]
    parts = [f"{values['processor']}, {cores} core{'s' * (cores != 1)}"]
    if values.get("gpu") and "gpu" in provides:
        count = values["gpu_count"]
        parts.append(values["gpu"] if count == 1 else f"{count} x {values['gpu']}")
    return " · ".join(parts)


def _version(module: str) -> str:
    """The version of a module that is loaded; never loads one."""
    return str(getattr(sys.modules.get(module), "__version__", ""))


def _provides(module: str) -> list[str]:
    """What a module that is loaded can use; never loads one, and never raises."""
    loaded, question = sys.modules.get(module), _GPU_QUESTIONS.get(module)
    if loaded is None or question is None:
        return []
    # A GPU that the driver sees may be hidden by CUDA_VISIBLE_DEVICES, or the build be for CPUs only: PyTorch then
    # answers False, some drivers with a warning among a cell's output; MXNet may raise an error of CUDA.
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ["gpu"] if question(loaded) else []
    except Exception:
        return []


def _processor() -> str:
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return " ".join(line.partition(":")[2].replace("(R)", "").replace("(TM)", "").split())
    return platform.processor() or platform.machine()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cpu_quota() -> float | None:
    """The computing time that a container may use, in cores; ``None`` without a limit.

    The files are those of https://docs.kernel.org/admin-guide/cgroup-v2.html (``cpu.max``) and, for version 1, of
    https://docs.kernel.org/scheduler/sched-bwc.html.
    """
    version_1 = [*_lines(f"{CGROUPS}/cpu/cpu.cfs_quota_us"), *_lines(f"{CGROUPS}/cpu/cpu.cfs_period_us")]
    try:
        quota, period = map(int, " ".join(_lines(f"{CGROUPS}/cpu.max") or version_1).split())
    except ValueError:  # no such file, or "max"
        return None
    return quota / period if quota > 0 and period > 0 else None


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None


def _system() -> str:
    pretty = [
        line.partition("=")[2].strip('"') for line in _lines("/etc/os-release") if line.startswith("PRETTY_NAME=")
    ]
    kernel = f"{platform.system()} {platform.release()} {platform.machine()}"
    return f"{pretty[0]}, {kernel}" if pretty else kernel


def _gpu() -> dict[str, Any]:
    """What NVIDIA's own tool says; nothing where there is none."""
    tool = shutil.which("nvidia-smi")
    if not tool:
        return {}
    query = [tool, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, check=True, timeout=_NVIDIA_SMI_S)  # noqa: S603
        rows = [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines() if line.strip()]
        name, memory_mebibytes, driver = rows[0]
        return {
            "gpu": name,
            "gpu_count": len(rows),
            "gpu_memory_bytes": int(memory_mebibytes) * 2**20,
            "gpu_driver": driver,
        }
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return {}


def _thread_pools() -> list[dict[str, Any]]:
    """The BLAS and OpenMP libraries that are loaded: name, version, the kernel chosen for this processor, threads."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return []
    found = {
        (pool["internal_api"], pool.get("version") or "", pool.get("architecture") or "", pool["num_threads"])
        for pool in threadpool_info()
    }
    return [dict(zip(("name", "version", "kernel", "threads"), pool, strict=True)) for pool in sorted(found)]


def _variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that matter; one that holds a path is said to be set, and no more."""
    exact = {name for name in VARIABLES if not name.endswith("*")}
    prefixes = tuple(name.removesuffix("*") for name in VARIABLES if name.endswith("*"))
    return {
        name: "(a path)" if os.sep in value else value
        for name, value in environment.items()
        if name in exact or name.startswith(prefixes)
    }


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf8", errors="replace") as file:  # noqa: PTH123
            return file.read().splitlines()
    except OSError:
        return []
