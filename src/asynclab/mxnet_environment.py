"""Make the environment that MXNet 1.9.1 needs, with a Python 3.11 of its own, in the user's cache.

It has the exact pins of the site. It is made in a folder beside its place and renamed when it works, so that an
interrupted one is never used, and of two notebooks that make it at the same time one takes the other's.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from asynclab.errors import PreparationError
from asynclab.packages import find_uv, importable, run

#: MXNet 1.9.1 asks for NumPy 1.23, which works on no later one.
PYTHON_VERSION = "3.11"
PACKAGE = Path(__file__).parent
PINS = PACKAGE / "mxnet-pins.txt"

# The machines for which MXNet 1.9.1, its last release, comes as a wheel.
_MACHINES = {("Linux", "x86_64"), ("Linux", "aarch64"), ("Darwin", "x86_64")}
_LEFT_OVER_S = 24 * 3600
_CHECK_S = 300
_ENVIRONMENT_FAILED = "The environment for MXNet could not be made"


def mxnet_python(*, mirror: str = "", say: Callable[[str], None] = print) -> Path:
    """Give the Python of an environment with MXNet and this asynclab; one that was made before is used again.

    Args:
        mirror: Address of the package index to use; the installers' own setting if empty.
        say: Told before something that takes long.

    Raises:
        PreparationError: If it cannot be made.
    """
    place = cache_folder() / f"mxnet-{_digest()}"
    try:
        if not python_of(place).exists():
            _check_platform()
            place.parent.mkdir(parents=True, exist_ok=True)
            with _alone(place.parent):
                _make(place, mirror, say)
        _bring_asynclab(place)
    except OSError as error:
        raise PreparationError(
            f"The folder {place.parent}, where the environment for MXNet goes, cannot be written: set "
            "XDG_CACHE_HOME to one that can before the kernel starts, and run this cell again.",
            str(error),
        ) from None
    return python_of(place)


def cache_folder() -> Path:
    """Give the folder where this user's environments are kept; it may not exist."""
    default = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or default) / "asynclab"


def python_of(environment: Path) -> Path:
    """Give the path of an environment's Python."""
    return environment / "bin" / "python"


def _digest() -> str:
    # A home folder may be shared by machines of several kinds.
    made_from = "\0".join((PYTHON_VERSION, platform.system(), platform.machine(), PINS.read_text("utf8")))
    return hashlib.sha256(made_from.encode()).hexdigest()[:12]


def _check_platform() -> None:
    system, machine = platform.system(), platform.machine()
    libc = platform.libc_ver()[0]
    if (system, machine) not in _MACHINES or (system == "Linux" and libc != "glibc"):
        found = f"{system} on {machine}" + (" without glibc" if system == "Linux" and libc != "glibc" else "")
        raise PreparationError(
            f"MXNet 1.9.1 was never built for this machine ({found}): open this notebook in Colab or on a Linux "
            "machine with glibc, or take the chapter's PyTorch notebook."
        )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other notebooks of this user waiting, so that nothing is loaded twice; a killed kernel keeps nobody."""
    import fcntl  # not there on Windows, which has no MXNet either

    with (folder / ".lock").open("w") as file:
        # A file system without locks loses no more than a second download: what is made is renamed into its place.
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(place: Path, mirror: str, say: Callable[[str], None]) -> None:
    """Make an environment in its place, unless somebody else was quicker."""
    if python_of(place).exists():
        return
    uv = find_uv() or _own_uv(mirror, say)
    say(
        f"Making an environment with MXNet 1.9.1 and Python {PYTHON_VERSION} beside this notebook's: a few hundred "
        "megabytes, only once on this machine ..."
    )
    _sweep(place.parent)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=place.parent) as folder:
        made = Path(folder, "environment")
        # Relocatable, since it is moved. Its packages' builds would fail by pages where a wheel is missing.
        run(
            [uv, "venv", "--quiet", "--no-project", "--relocatable", "--python", PYTHON_VERSION, str(made)],
            f"Python {PYTHON_VERSION}, which MXNet needs, could not be had",
        )
        index = ["--default-index", mirror] if mirror else []
        pins = [*(["appnope"] if sys.platform == "darwin" else []), "--requirements", str(PINS)]
        install = [uv, "pip", "install", "--quiet", "--no-deps", "--no-build", "--python", str(python_of(made))]
        run([*install, *index, *pins], _ENVIRONMENT_FAILED)
        _check(made)
        _move(made, place)


def _check(made: Path) -> None:
    """Load MXNet once, as the kernel will: a shared library may be missing on this machine."""
    command = [str(python_of(made)), "-I", "-c", "import mxnet, ipykernel"]
    try:
        subprocess.run(command, capture_output=True, text=True, timeout=_CHECK_S, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError) as error:
        output = error.stderr if isinstance(error, subprocess.CalledProcessError) else str(error)
        raise PreparationError("MXNet does not load on this machine.", output.strip().splitlines()[-1]) from None


def _move(made: Path, place: Path) -> None:
    # One whose Python is gone, such as after an upgrade of the system, cannot be mended.
    if place.exists() and not python_of(place).exists():
        shutil.rmtree(place, ignore_errors=True)
    try:
        made.rename(place)
    except OSError:
        if not python_of(place).exists():
            raise


def _sweep(folder: Path) -> None:
    """Remove what a killed kernel left behind; what is younger may still be in the making."""
    for left in folder.glob(".making-*"):
        if time.time() - left.stat().st_mtime > _LEFT_OVER_S:
            shutil.rmtree(left, ignore_errors=True)


def _own_uv(mirror: str, say: Callable[[str], None]) -> str:
    """Load uv into the cache, so that not even a package is added to the notebook's environment."""
    place = cache_folder() / "uv"
    program = place / "bin" / "uv"
    if program.exists():
        return str(program)
    if not importable("pip"):
        raise PreparationError(
            "Neither uv nor pip was found for this notebook's Python: "
            f"add pip with `{sys.executable} -m ensurepip`, and run this cell again."
        )
    say("Loading uv, which makes environments (some ten megabytes) ...")
    with tempfile.TemporaryDirectory(prefix=".making-", dir=place.parent) as folder:
        made = Path(folder, "uv")
        index = ["--index-url", mirror] if mirror else []
        options = ["-qq", "--only-binary", ":all:", "--target", str(made), *index]
        run([sys.executable, "-m", "pip", "install", *options, "uv"], "uv could not be installed")
        try:
            made.rename(place)
        except OSError:
            if not program.exists():
                raise
    return str(program)


def _bring_asynclab(environment: Path) -> None:
    """Copy this asynclab into an environment, unless the same one is there."""
    packages = environment / "lib" / f"python{PYTHON_VERSION}" / "site-packages"
    there = packages / PACKAGE.name
    if _files(there) == _files(PACKAGE):
        return
    with _alone(environment.parent), tempfile.TemporaryDirectory(prefix=".making-", dir=packages) as folder:
        copy = shutil.copytree(PACKAGE, Path(folder, "new"), ignore=shutil.ignore_patterns("__pycache__"))
        if there.exists():
            there.rename(Path(folder, "old"))
        copy.rename(there)


def _files(package: Path) -> dict[str, bytes]:
    paths = (path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(package).as_posix(): path.read_bytes() for path in paths}
