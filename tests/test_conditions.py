"""One line says under which conditions a program computes, so that two timings can be compared."""

from __future__ import annotations

import re
import subprocess
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from books import REPOSITORY

from asynclab import conditions

SITE = "/lib/site-packages"


def pool(folder: str, threads: int, architecture: str | None = None, name: str = "openblas") -> dict[str, Any]:
    """What threadpoolctl tells of a BLAS that is loaded from this folder."""
    described = {"user_api": "blas", "internal_api": name, "num_threads": threads, "filepath": f"{folder}/lib.so"}
    return described if architecture is None else {**described, "architecture": architecture}


def numpy(version: str = "2.4.6") -> Any:
    """NumPy."""
    module: Any = ModuleType("numpy")
    module.__version__, module.__file__ = version, f"{SITE}/numpy/__init__.py"
    return module


def torch(dtype: str = "float32", threads: int = 2, gpus: int = 0, mps: bool = False) -> Any:
    """PyTorch on a machine with these devices."""
    module: Any = ModuleType("torch")
    module.__version__ = "2.14.1+cpu"
    module.get_default_dtype = lambda: f"torch.{dtype}"
    module.get_num_threads = lambda: threads
    module.cuda = SimpleNamespace(is_available=lambda: gpus > 0, device_count=lambda: gpus)
    module.backends = SimpleNamespace(mps=SimpleNamespace(is_available=lambda: mps))
    return module


def mxnet(gpus: int = 0, **util: Any) -> Any:
    """MXNet; only its second version can be asked for NumPy's default type."""
    module: Any = ModuleType("mxnet")
    module.__version__, module.__file__ = "1.9.1", f"{SITE}/mxnet/__init__.py"
    module.context, module.util = SimpleNamespace(num_gpus=lambda: gpus), SimpleNamespace(**util)
    return module


@pytest.fixture(autouse=True)
def pools(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The thread pools that are loaded, in a process without NumPy and frameworks and without their variables."""
    for name in ("numpy", "torch", "mxnet"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for variable in ("MXNET_ENGINE_TYPE", "MXNET_CPU_WORKER_NTHREADS"):
        monkeypatch.delenv(variable, raising=False)
    openmp = {"user_api": "openmp", "internal_api": "openmp", "num_threads": 9, "filepath": f"{SITE}/numpy/omp.so"}
    pools = [openmp]
    threadpoolctl: Any = ModuleType("threadpoolctl")
    threadpoolctl.threadpool_info = lambda: pools
    monkeypatch.setitem(sys.modules, "threadpoolctl", threadpoolctl)
    return pools


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Load these modules, as if the program had imported them."""

    def load(*modules: Any) -> None:
        for module in modules:
            monkeypatch.setitem(sys.modules, module.__name__, module)

    return load


def test_line_has_a_part_for_each_library(load: Any, pools: list[dict[str, Any]]):
    """Type, threads and what computes; each BLAS belongs to the library in whose folder it lies."""
    pools += [pool(f"{SITE}/mxnet", 1, "Prescott"), pool(f"{SITE}/numpy.libs", 2, "SkylakeX")]
    load(numpy(), torch(), mxnet())

    assert conditions() == (
        "NumPy 2.4: float64, 2 threads, OpenBLAS SkylakeX · PyTorch 2.14: float32, 2 threads, CPU only · "
        "MXNet 1.9: float32, 1 thread, OpenBLAS Prescott, ThreadedEnginePerDevice with 1 worker, CPU only"
    )


def test_nothing_is_loaded_to_be_told_of():
    """What the program has not imported stays so, and the line says that there is nothing to tell."""
    assert conditions() == "neither NumPy nor PyTorch nor MXNet is loaded"
    assert not {"numpy", "torch", "mxnet"} & set(sys.modules)


def test_without_threadpoolctl_there_is_no_blas(load: Any, monkeypatch: pytest.MonkeyPatch):
    """What nobody can tell is left out."""
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    load(numpy("1.23.5"))

    assert conditions() == "NumPy 1.23: float64"


def test_blas_from_elsewhere_is_numpys_if_it_is_the_only_one(load: Any, pools: list[dict[str, Any]]):
    """A NumPy that did not come as a wheel shares the BLAS of its system."""
    pools += [pool("/usr/lib", 4, name="mkl")]
    load(numpy())

    assert conditions() == "NumPy 2.4: float64, 4 threads, MKL"


def test_blas_that_could_be_anybodys_is_left_out(load: Any, pools: list[dict[str, Any]]):
    """With several libraries from elsewhere nobody knows which one NumPy uses; a similar name is not enough."""
    pools += [pool(f"{SITE}/numpy.libs_old", 4, name="mkl"), pool(f"{SITE}/numpy_extras", 2, "Haswell")]
    load(numpy())

    assert conditions() == "NumPy 2.4: float64"


@pytest.mark.parametrize(
    ("module", "part"),
    [
        (torch(dtype="float64", threads=1), "PyTorch 2.14: float64, 1 thread, CPU only"),
        (torch(gpus=1), "PyTorch 2.14: float32, 2 threads, 1 GPU"),
        (torch(gpus=8, mps=True), "PyTorch 2.14: float32, 2 threads, 8 GPUs"),
        (torch(mps=True), "PyTorch 2.14: float32, 2 threads, MPS"),
        (mxnet(gpus=2), "MXNet 1.9: float32, ThreadedEnginePerDevice with 1 worker, 2 GPUs"),
        (
            mxnet(is_np_default_dtype=lambda: True),
            "MXNet 1.9: float64, ThreadedEnginePerDevice with 1 worker, CPU only",
        ),
    ],
)
def test_part_tells_types_and_devices(load: Any, module: Any, part: str):
    """What the program chose is told, and the devices that it can use."""
    load(module)

    assert conditions() == part


@pytest.mark.parametrize(
    ("variables", "engine"),
    [
        ({"MXNET_CPU_WORKER_NTHREADS": "2"}, "ThreadedEnginePerDevice with 2 workers"),
        ({"MXNET_ENGINE_TYPE": "ThreadedEngine"}, "ThreadedEngine with 1 worker"),
        ({"MXNET_ENGINE_TYPE": "NaiveEngine", "MXNET_CPU_WORKER_NTHREADS": "2"}, "NaiveEngine"),
    ],
)
def test_engine_is_what_mxnets_variables_say(
    load: Any, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], engine: str
):
    """Type and workers are told; the naive engine has none."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    load(mxnet())

    assert conditions() == f"MXNet 1.9: float32, {engine}, CPU only"


def test_warning_of_a_driver_is_not_shown(load: Any):
    """A GPU that cannot be used may make PyTorch warn, which is nobody's business here."""
    module = torch()

    def warn() -> bool:
        import warnings

        warnings.warn("CUDA initialization: the driver is too old", stacklevel=1)
        return False

    module.cuda.is_available = warn
    load(module)

    assert conditions().endswith("CPU only")


@pytest.mark.parametrize(
    ("framework", "imports", "line"),
    [
        ("pytorch", "torch", r"NumPy \d+\.\d+: float64, .* · PyTorch \d+\.\d+: float32, \d+ threads?, (CPU|\d+ GPU)"),
        (
            "mxnet",
            "mxnet",
            r"NumPy \d+\.\d+: float64, .* · "
            r"MXNet 1\.9: float32, \d+ threads?, OpenBLAS \w+, NaiveEngine, (CPU|\d+ GPU)",
        ),
    ],
)
def test_line_of_a_real_framework(framework: str, imports: str, line: str):
    """The real libraries answer what the stand-ins do."""
    python = REPOSITORY / f".venv-{framework}" / "bin" / "python"
    code = f"import numpy, {imports}, asynclab; print(asynclab.conditions())"
    environment = {"PYTHONPATH": str(REPOSITORY / "src"), "MXNET_ENGINE_TYPE": "NaiveEngine"}

    done = subprocess.run([python, "-c", code], env=environment, capture_output=True, text=True, timeout=120)

    assert re.match(line, done.stdout), done.stdout + done.stderr
