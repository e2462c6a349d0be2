"""What a run depends on besides its code.

The pins, the environment, the interpreter, the project's packages, the machine: each is reduced to a digest, so
that a store entry says which of them has changed and gives nothing away.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from polybook.options import Framework, Options

#: How a change of each is told to the author.
REASONS = {
    "pins": "its requirements file changed",
    "environment": "packages in its environment changed",
    "interpreter": "its Python changed",
    "packages": "the project's own packages changed",
    "machine": "it was made on another machine",
    "variables": "environment variables changed",
}


def circumstances(framework: Framework, options: Options) -> dict[str, str]:
    """Take the digests that hold now for one framework.

    Returns:
        A short digest for each name in ``REASONS``.
    """
    return {
        "pins": _digest(_pins(framework.requirements)),
        "environment": _digest(_distributions(framework)),
        "interpreter": _digest(_interpreter(framework)),
        "packages": _digest(_package_files(options.packages)),
        "machine": _digest(_machine()),
        "variables": _digest(_variables(options.variables)),
    }


def commit(root: Path, runs: Path | None = None) -> str:
    """Return a book's commit, short, with a plus sign if files were changed since; empty outside of git.

    Args:
        root: The book's folder.
        runs: The folder of recorded runs, whose changes do not count: recording one page changes nothing of the next.
    """
    git = shutil.which("git")
    if not git:
        return ""
    answers = []
    aside = (".", f":(exclude){runs}") if runs else ()
    for arguments in (
        ("rev-parse", "--short=10", "HEAD"),
        ("status", "--porcelain", "--untracked-files=no", "--", *aside),
    ):
        done = subprocess.run(  # noqa: S603 - the command is ours, without a shell
            [git, "-C", str(root), *arguments], capture_output=True, text=True, check=False
        )
        if done.returncode:
            return ""
        answers.append(done.stdout.strip())
    return answers[0] + "+" * bool(answers[1])


def differences(old: Mapping[str, str], new: Mapping[str, str], names: Iterable[str] = REASONS) -> list[str]:
    """List, in words, what differs between two sets of circumstances, or only in some of them."""
    return [REASONS[name] for name in names if old.get(name) != new.get(name)]


def environment_differences(framework: Framework) -> list[str]:
    """List, in words, how the packages of an environment differ from the pins; what is there besides does not count."""
    installed = _installed(framework)
    found = []
    for name, version in sorted(pinned_versions(framework.requirements).items()):
        there = installed.get(name)
        if there is None:
            found.append(f"{name} is missing")
        elif there != version:
            found.append(f"{name} {there} instead of {version}")
    return found


def pinned_versions(path: Path) -> dict[str, str]:
    """Read the exact versions out of a pin file, by normalised name; those for some platforms only are left out."""
    pins = (re.fullmatch(r"([\w.-]+)(?:\[[^]]*\])?\s*==\s*([^\s;]+)", line) for line in _pins(path))
    return {_normalised(pin[1]): pin[2] for pin in pins if pin}


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _pins(path: Path) -> list[str]:
    """The requirements themselves: comments in a pin file say why a package is there and change nothing."""
    if not path.is_file():
        return []
    # As pip reads it, a comment starts a line or follows a space: the `#` of a URL holds a wheel's hash.
    lines = (re.split(r"(?:^|\s)#", line, maxsplit=1)[0].strip() for line in path.read_text("utf8").splitlines())
    return sorted(line for line in lines if line)


def _distributions(framework: Framework) -> list[str]:
    """Installed distributions, by the names of their metadata folders (name and version)."""
    return sorted(path.name for path in _prefix(framework).glob("lib/python*/site-packages/*.dist-info"))


def _installed(framework: Framework) -> dict[str, str]:
    """The version of every distribution that a kernel of the framework would find, by normalised name."""
    own = framework.python == Path(sys.executable)
    path = sys.path if own else [str(path) for path in _prefix(framework).glob("lib/python*/site-packages")]
    found: dict[str, str] = {}
    for distribution in importlib.metadata.distributions(path=path):
        name = distribution.metadata["Name"]
        if name:
            found.setdefault(_normalised(name), distribution.version)
    return found


def _normalised(name: str) -> str:
    """A distribution's name as the packaging specifications compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _prefix(framework: Framework) -> Path:
    """The folder of the environment, also where an interpreter is configured instead of it."""
    return framework.python.parents[1]


def _interpreter(framework: Framework) -> list[str]:
    """The real interpreter and, for a virtual environment, the version it was made for."""
    config = _prefix(framework) / "pyvenv.cfg"
    version = [line for line in _read_lines(config) if line.startswith(("version", "implementation"))]
    real = framework.python.resolve()
    size = real.stat().st_size if real.exists() else 0
    return [str(real), str(size), *version]


def _package_files(folders: Iterable[Path]) -> list[tuple[str, str, str]]:
    """Every file of the project's packages that kernels import, with its content's digest.

    What editors leave lying about (``.x.swp``, ``x~``) and hidden folders are no part of a package.
    """
    return [
        (folder.name, path.relative_to(folder).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest())
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(_is_aside(part) for part in path.relative_to(folder).parts)
    ]


def _is_aside(name: str) -> bool:
    return name == "__pycache__" or name.startswith((".", "#")) or name.endswith("~")


def _variables(patterns: Iterable[str]) -> list[tuple[str, str]]:
    """The build's environment variables that the book names, with their values."""
    patterns = list(patterns)
    return sorted(
        (name, value) for name, value in os.environ.items() if any(fnmatchcase(name, pattern) for pattern in patterns)
    )


def _machine() -> list[str]:
    """What makes a timing this machine's: processor, cores allowed, memory, system, GPUs. No host or user name."""
    gpus = [
        line
        for path in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
        for line in _read_lines(path)
        if line.startswith(("Model", "GPU UUID"))
    ]
    return [platform.system(), platform.machine(), _processor(), str(_cores()), _memory(), *gpus]


def _processor() -> str:
    models = [line.partition(":")[2].strip() for line in _read_lines(Path("/proc/cpuinfo")) if "model name" in line]
    return models[0] if models else platform.processor()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> str:
    try:
        # To the gibibyte: a kernel update takes a few pages more or less, and is no other machine.
        return str(round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30))
    except (ValueError, OSError):
        return ""


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf8", errors="replace").splitlines()
    except OSError:
        return []
