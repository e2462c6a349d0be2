"""Set up a notebook that a reader opened: its first cell calls ``prepare``.

Looks at what is there (``packages``), adds what is missing, and changes nothing. MXNet, which works on no current
Python, gets an environment of its own (``mxnet_environment``) and this notebook's cells run there (``elsewhere``).
"""

from __future__ import annotations

import importlib
import os
import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from asynclab.errors import PreparationError
from asynclab.machine import MODULES, record
from asynclab.mxnet_environment import PINS, PYTHON_VERSION, mxnet_python
from asynclab.packages import ALONE, add, importable, missing, weight
from asynclab.values import KEPT_VARIABLE

# What d2l 1.0.3 and the chapters import, by framework: the package that brings each module.
_NEEDS = {
    "pytorch": {"torch": "torch", "torchvision": "torchvision", "scipy": "scipy"},
    "mxnet": {},
}
_SHARED = {
    "numpy": "numpy",
    "pandas": "pandas",
    "PIL": "pillow",
    "requests": "requests",
    "matplotlib": "matplotlib",
    "matplotlib_inline": "matplotlib-inline",
    "psutil": "psutil",
    "threadpoolctl": "threadpoolctl",
    "d2l": next(iter(ALONE)),
}
# Without these, less is told about the machine.
_OPTIONAL = {"threadpoolctl"}
_TITLES = {"pytorch": "PyTorch", "mxnet": "MXNet"}
_NO_GPU = (
    "{title} finds no GPU here, so this chapter runs on the processor. "
    "For a GPU choose Runtime > Change runtime type in Colab, or another machine."
)


def prepare(framework: str, *, needs: str = "", wheel: str = "", mirror: str = "", made_with: str = "") -> None:
    """Make this notebook ready for a framework, and say in one line on which machine it runs.

    Where everything is there nothing is started. A package that is there is never changed.

    Args:
        framework: ``pytorch`` or ``mxnet``.
        needs: ``gpu`` if the chapter wants one.
        wheel: Where the asynclab that the notebook was made with can be had.
        mirror: Address of the package index to use; the installers' own setting if empty.
        made_with: The version of asynclab that the notebook was made with.

    Raises:
        PreparationError: If something cannot be had. IPython shows its sentence only.
    """
    if framework not in _NEEDS:
        raise PreparationError(f"There is no framework {framework!r} (known: {', '.join(_NEEDS)}): correct this cell.")
    _compare_versions(wheel, made_with)
    # Before a kernel of its own is started, which inherits it.
    os.environ[KEPT_VARIABLE] = "1"
    if framework == "mxnet" and not _mxnet_is_here():
        _prepare_elsewhere(mirror)
        gpu = False
    else:
        _add_missing(needed(framework), mirror)
        gpu = _prepare_here(framework)
    if needs == "gpu" and not gpu:
        print(_NO_GPU.format(title=_TITLES[framework]))


def needed(framework: str) -> dict[str, str]:
    """Map every module that a framework's notebooks import to the package that brings it; not MXNet itself."""
    return _NEEDS[framework] | _SHARED


def _compare_versions(wheel: str, made_with: str) -> None:
    try:
        here = version("asynclab")
    except PackageNotFoundError:  # a folder on the path, such as that of an author
        return
    if made_with and here != made_with:
        print(
            f"asynclab {here} is installed and stays; this notebook was made with {made_with}. "
            f"To have that one: %pip install --no-deps --upgrade {wheel or 'asynclab'} and restart the kernel."
        )


def _mxnet_is_here() -> bool:
    """Whether MXNet can be imported in this kernel: it needs `numpy.bool`, which went with NumPy 1.24."""
    if sys.version_info >= (3, 12) or not importable("mxnet"):
        return False
    try:
        major, minor = version("numpy").split(".")[:2]
    except (PackageNotFoundError, ValueError):
        return True
    return (int(major), int(minor)) < (1, 24)


def _add_missing(modules: dict[str, str], mirror: str) -> None:
    lacking = missing(modules)
    if not lacking:
        return
    needed = [package for package in lacking if package not in _OPTIONAL]
    names = ", ".join(package.partition("==")[0] for package in lacking)
    print(f"Adding {names} ({weight(lacking)}) ...", flush=True)
    try:
        add(lacking, mirror=mirror)
    except PreparationError as error:
        if needed:
            raise
        print(f"{error} The notebook works without.")


def _prepare_here(framework: str) -> bool:
    """Load the framework and say what it computes on; whether that can be a GPU."""
    module = MODULES.get(framework, framework)
    try:
        importlib.import_module(module)
    except Exception as error:
        last = (str(error).strip().splitlines() or [""])[-1]
        raise PreparationError(
            f"{_TITLES[framework]} is installed but does not load: restart the kernel, and install it again if that "
            "does not help.",
            f"{type(error).__name__}: {last}",
        ) from None
    found = record(framework)
    python = ".".join(platform.python_version_tuple()[:2])
    _say_machine(f"{_TITLES[framework]} {found['version']} on Python {python}", found)
    return "gpu" in found["provides"]


def _prepare_elsewhere(mirror: str) -> None:
    from asynclab.elsewhere import run_cells_elsewhere

    python = mxnet_python(mirror=mirror, say=lambda text: print(text, flush=True))
    run_cells_elsewhere(python, first="import asynclab")
    release = re.search(r"^mxnet==(\S+)", PINS.read_text("utf8"), re.MULTILINE)
    here = ".".join(platform.python_version_tuple()[:2])
    what = f"MXNet {release[1] if release else ''} on Python {PYTHON_VERSION} beside this notebook's {here}"
    _say_machine(what, record("mxnet"))


def _say_machine(what: str, found: dict[str, Any]) -> None:
    print(f"Ready: {what} · {found['summary']}{'' if 'gpu' in found['provides'] else ' · no GPU in use'}")
