"""Find out which packages a notebook lacks, and add them without changing one that is there.

Below ``preparing``, for the notebook's own environment; ``mxnet_environment`` runs uv by the same means.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shutil
import site
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from asynclab.errors import PreparationError

#: Packages that are installed without what they ask for: d2l 1.0.3 pins releases of 2023 that its code does not need.
ALONE = frozenset({"d2l==1.0.3"})

#: What a big package and what it needs weigh, in words; all others are small.
_WEIGHTS = {"torch": "a few gigabytes", "scipy": "some ten megabytes", "pandas": "some ten megabytes"}
_LIMIT_S = 1800  # a few gigabytes by a slow line

# A version as https://packaging.python.org/en/latest/specifications/version-specifiers/ has it: an installer refuses
# the whole file of constraints if one is malformed, and old packages have such versions.
_VERSION = re.compile(
    r"(\d+!)?\d+(\.\d+)*([-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?\d*)?(-\d+|[-_.]?(post|rev|r)[-_.]?\d*)?"
    r"([-_.]?dev[-_.]?\d*)?(\+[a-z0-9]+([-_.][a-z0-9]+)*)?",
    re.IGNORECASE,
)
_OFFLINE = re.compile(
    r"name resolution|resolving DNS|dns error|failed to resolve|connection refused|failed to establish|unreachable"
    r"|tunnel error|proxyerror|timed out|timeout|connection-failed|failed to connect|client error \(connect\)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Installer:
    """A program that installs packages into the environment of this Python.

    Attributes:
        install: Its command, up to where packages are named.
        index: Its option that names a package index.
    """

    install: tuple[str, ...]
    index: str


def missing(modules: Mapping[str, str]) -> list[str]:
    """Tell which modules cannot be imported, by the packages that bring them.

    Args:
        modules: The package for each top-level module.
    """
    return [package for module, package in modules.items() if not importable(module)]


def importable(module: str) -> bool:
    """Say whether a top-level module is there, without importing it; a mere folder of that name is none."""
    if sys.modules.get(module) is not None:
        return True
    spec = importlib.util.find_spec(module)
    return spec is not None and spec.origin is not None


def installed() -> dict[str, str]:
    """Map every installed package, by its normalised name, to its version; of two the one that is imported."""
    found: dict[str, str] = {}
    for distribution in distributions():
        # Not its `metadata`: that is slow for hundreds of packages, and differs among Pythons where the file is broken.
        text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
        name, version = (re.search(rf"^{key}:\s*(\S+)", text, re.MULTILINE) for key in ("Name", "Version"))
        if name and version:
            found.setdefault(re.sub(r"[-_.]+", "-", name[1]).lower(), version[1])
    return found


def constraints(versions: Mapping[str, str]) -> str:
    """Write the lines that hold every package at its version."""
    return "".join(f"{name}=={version}\n" for name, version in sorted(versions.items()) if _VERSION.fullmatch(version))


def add(packages: Sequence[str], *, mirror: str = "") -> None:
    """Add packages, and what they need in turn, to this environment; whatever is there keeps its version.

    Args:
        packages: What to add, as an installer takes it.
        mirror: Address of the package index to use; the installer's own setting if empty.

    Raises:
        PreparationError: If that is not possible.
    """
    before, installer = installed(), find_installer()
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder, "installed.txt")
        pins.write_text(constraints(before), "utf8")
        options = ["--constraint", str(pins), "--only-binary", ":all:"]
        options += [installer.index, mirror] if mirror else []
        for names, more in (
            ([name for name in packages if name not in ALONE], ()),
            ([name for name in packages if name in ALONE], ("--no-deps",)),
        ):
            if names:
                run([*installer.install, *options, *more, *names], f"{_listed(names)} could not be installed")
    _see_user_packages()
    importlib.invalidate_caches()
    _compare(before, installed())


def weight(packages: Iterable[str]) -> str:
    """Say in words about how much has to be loaded."""
    return next((_WEIGHTS[name] for name in _WEIGHTS if name in packages), "a few megabytes")


def find_installer() -> Installer:
    """Find uv or pip for this environment.

    Raises:
        PreparationError: If there is neither, or if this environment is not the user's to change.
    """
    uv, pip, ours = find_uv(), importable("pip"), _is_writable()
    if uv and ours:
        return Installer((uv, "pip", "install", "--quiet", "--python", sys.executable), "--default-index")
    # Where the environment is somebody else's, pip turns to the user's own packages by itself; uv does not.
    if pip and (ours or site.ENABLE_USER_SITE):
        return Installer((sys.executable, "-m", "pip", "install", "-qq"), "--index-url")
    if uv or pip:
        raise PreparationError(_foreign("you may not write to"))
    raise PreparationError(
        "Neither uv nor pip was found for this notebook's Python: "
        f"add pip with `{sys.executable} -m ensurepip`, and run this cell again."
    )


def find_uv() -> str:
    """Give the path of uv, on the search path or installed as a package; an empty string if there is none."""
    found = shutil.which("uv")
    if found or not importable("uv"):
        return found or ""
    try:
        return str(importlib.import_module("uv").find_uv_bin())
    except FileNotFoundError:
        return ""


def run(command: Sequence[str], failure: str) -> None:
    """Run a command that installs something.

    Args:
        command: The command.
        failure: How the sentence begins if it fails, such as ``"d2l could not be installed"``.

    Raises:
        PreparationError: If it fails or takes too long: with one sentence, and one line of what the command said.
    """
    environment = {"PIP_RETRIES": "2", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", **os.environ}
    try:
        done = subprocess.run(  # noqa: S603 - the command is ours, without a shell
            command, env=environment, capture_output=True, text=True, errors="replace", timeout=_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        message = f"{failure} within {_LIMIT_S // 60} minutes: run this cell again where the connection is faster."
        raise PreparationError(message) from None
    except OSError as error:
        raise PreparationError(f"{failure}: {command[0]} does not start.", str(error)) from None
    if done.returncode:
        raise _explained(failure, f"{done.stderr}\n{done.stdout}")


def _explained(failure: str, output: str) -> PreparationError:
    reason = _reason(output)
    if re.search("externally.managed", output):
        return PreparationError(_foreign("the operating system manages"))
    if re.search("permission denied|read-only file system", output, re.IGNORECASE):
        return PreparationError(_foreign("you may not write to"), reason)
    if _OFFLINE.search(output):
        return PreparationError(
            f"{failure}, because the network does not answer: check the connection, and run this cell again.", reason
        )
    return PreparationError(f"{failure} beside the packages that are here, none of which this cell changes.", reason)


def _reason(output: str) -> str:
    """The one line that says most: the first error, with its last cause."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"error\b|\u00d7|\w+Error\b", line, re.IGNORECASE)] or lines[-1:]
    causes = [line for line in lines if re.match(r"cause|caused by|\u2570|hint", line, re.IGNORECASE)]
    return " ".join([*errors[:1], *causes[-1:]])


def _foreign(whose: str) -> str:
    return (
        f"Packages cannot be added to this notebook's Python ({sys.executable}), which {whose}: make an environment "
        "with `python3 -m venv course`, install ipykernel in it, and choose it as this notebook's kernel."
    )


def _is_writable() -> bool:
    return os.access(sysconfig.get_path("purelib"), os.W_OK)


def _see_user_packages() -> None:
    # Python looks for the folder of the user's packages only when it starts, and pip may just have made it.
    folder = site.getusersitepackages()
    if site.ENABLE_USER_SITE and folder not in sys.path and Path(folder).is_dir():
        site.addsitedir(folder)


def _compare(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    changed = [
        f"{name} {before[name]} -> {after.get(name, 'none')}" for name in before if after.get(name) != before[name]
    ]
    if changed:
        raise PreparationError(
            f"Setting up changed packages that were here ({', '.join(changed)}), which it must not: "
            "restart the kernel, and install the earlier versions again."
        )


def _listed(names: Sequence[str]) -> str:
    plain = [name.partition("==")[0] for name in names]
    return " and ".join(filter(None, [", ".join(plain[:-1]), plain[-1]]))
