"""Say in one line under which conditions the loaded libraries compute: types, threads, devices.

Two timings can be compared only if these agree. Never loads a framework; ``machine`` keeps the full record.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

from asynclab.peak import mxnet_workers

# What MXNet takes unless its variable names another one:
# https://mxnet.apache.org/versions/1.9.1/api/faq/env_var (MXNET_ENGINE_TYPE).
_DEFAULT_ENGINE = "ThreadedEnginePerDevice"

_BLAS_NAMES = {"openblas": "OpenBLAS", "mkl": "MKL", "blis": "BLIS", "flexiblas": "FlexiBLAS"}


def conditions() -> str:
    """Say with which types, threads and devices NumPy and the loaded frameworks compute.

    Threads and kernel of a BLAS are told where threadpoolctl can be imported. MXNet reads its variables when it is
    imported: one that was set later is told here, but has no effect.

    Returns:
        A line such as ``"NumPy 2.4: float64, 2 threads, OpenBLAS SkylakeX · PyTorch 2.14: float32, 2 threads, CPU
        only"``, with a part for each library that the program has loaded.
    """
    parts = [f"{title} {_version(module)}: {', '.join(tell(module))}" for title, module, tell in _loaded()]
    return " · ".join(parts) or "neither NumPy nor PyTorch nor MXNet is loaded"


def _loaded() -> list[tuple[str, Any, Callable[[Any], list[str]]]]:
    known = (("NumPy", "numpy", _numpy), ("PyTorch", "torch", _torch), ("MXNet", "mxnet", _mxnet))
    return [(title, sys.modules[name], tell) for title, name, tell in known if sys.modules.get(name)]


def _version(module: Any) -> str:
    return ".".join(str(module.__version__).split(".")[:2])


def _numpy(numpy: Any) -> list[str]:
    pools = _blas_pools()
    # A NumPy that was not installed from a wheel takes its BLAS from elsewhere.
    return ["float64", *_blas(_pools_of(numpy, pools) or (pools if len(pools) == 1 else []))]


def _torch(torch: Any) -> list[str]:
    dtype = str(torch.get_default_dtype()).removeprefix("torch.")
    return [dtype, _counted(torch.get_num_threads(), "thread"), _torch_devices(torch)]


def _torch_devices(torch: Any) -> str:
    # Some drivers make PyTorch warn, when it looks for a GPU, that there is none to use.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if torch.cuda.is_available():
            return _counted(torch.cuda.device_count(), "GPU")
    return "MPS" if torch.backends.mps.is_available() else "CPU only"


def _mxnet(mxnet: Any) -> list[str]:
    # Only MXNet 2 lets NumPy's default type be chosen; before, it is always float32.
    double = getattr(mxnet.util, "is_np_default_dtype", lambda: False)()
    engine = os.environ.get("MXNET_ENGINE_TYPE") or _DEFAULT_ENGINE
    # The naive engine computes in the calling thread.
    workers = "" if engine == "NaiveEngine" else f" with {_counted(mxnet_workers(), 'worker')}"
    count = mxnet.context.num_gpus()
    return [
        "float64" if double else "float32",
        *_blas(_pools_of(mxnet, _blas_pools())),
        f"{engine}{workers}",
        _counted(count, "GPU") if count else "CPU only",
    ]


def _blas_pools() -> list[dict[str, Any]]:
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return []
    return [pool for pool in threadpool_info() if pool["user_api"] == "blas"]


def _pools_of(module: Any, pools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those in a package's own folder, or in the folder beside it where wheels keep libraries."""
    folder = os.path.dirname(module.__file__)  # noqa: PTH120
    own = (f"{folder}{os.sep}", f"{folder}.libs{os.sep}")
    return [pool for pool in pools if pool["filepath"].startswith(own)]


def _blas(pools: list[dict[str, Any]]) -> list[str]:
    return [text for pool in pools for text in (_counted(pool["num_threads"], "thread"), _blas_name(pool))]


def _blas_name(pool: dict[str, Any]) -> str:
    name = _BLAS_NAMES.get(pool["internal_api"], pool["internal_api"])
    return f"{name} {pool.get('architecture') or ''}".strip()


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
