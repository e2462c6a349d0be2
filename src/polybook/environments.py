"""Make each framework's environment from its file of exact pins, with uv.

An environment that is up to date is left alone in no time: a stamp inside it holds the digest of what it was made from.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

from polybook.errors import ConfigError, EnvironmentFailed
from polybook.options import Framework, Options

#: The Python that environments are made with; MXNet 1.9.1 works on no later one.
PYTHON_VERSION = "3.11"
_STAMP = ".polybook-made-from"


def make_environments(
    options: Options, names: Iterable[str] = (), say: Callable[[str], None] = lambda _: None
) -> list[str]:
    """Bring environments up to date.

    Args:
        options: The book's settings.
        names: Frameworks; all of them if there are none.
        say: Told before an environment is made, which can take minutes.

    Returns:
        The names of the environments that were made or changed.

    Raises:
        ConfigError: If a name is no framework.
        EnvironmentFailed: If one or more could not be made; the others are made all the same.
    """
    wanted = list(names) or list(options.frameworks)
    for name in wanted:
        if name not in options.frameworks:
            raise ConfigError(
                f"framework {name!r} is unknown (known: {', '.join(options.frameworks)}).\nCorrect the name."
            )
    changed, broken = [], {}
    for name in wanted:
        try:
            if make_environment(options.frameworks[name], options.root, say):
                changed.append(name)
        except EnvironmentFailed as error:
            broken[name] = str(error)
    if broken:
        raise EnvironmentFailed(_summary(options, broken))
    return changed


def make_environment(framework: Framework, root: Path, say: Callable[[str], None] = lambda _: None) -> bool:
    """Bring one environment up to date.

    Args:
        framework: Whose environment.
        root: The book's folder.
        say: Told before there is something to do.

    Returns:
        Whether there was anything to do.

    Raises:
        EnvironmentFailed: If it could not be made, with uv's own words.
    """
    if framework.environment.is_file():
        return False
    digest = _made_from(framework, root)
    stamp = framework.environment / _STAMP
    if stamp.is_file() and stamp.read_text("utf8") == digest and framework.python.exists():
        return False
    stamp.unlink(missing_ok=True)
    uv = _find_uv(root)
    say(f"making the environment of {framework.title} in {framework.environment.name} (packages may have to be loaded)")
    if not framework.python.exists():
        # Only what is an environment may be cleared: a wrong path in _config.yml would empty that folder.
        clear = ("--clear",) if (framework.environment / "pyvenv.cfg").is_file() else ()
        _run(uv, "venv", "--quiet", *clear, "--python", PYTHON_VERSION, str(framework.environment))
    target = ("--quiet", "--python", str(framework.python))
    # Compiled once, here: otherwise the first kernel pays for it, or, where Python may not write bytecode, each one.
    _run(uv, "pip", "sync", *target, "--compile-bytecode", str(framework.requirements))
    if (root / "pyproject.toml").is_file():
        _run(uv, "pip", "install", *target, "--no-deps", "--editable", str(root))
    stamp.write_text(digest, "utf8")
    return True


def _made_from(framework: Framework, root: Path) -> str:
    """Digest what an environment is made from; the root is part of it, since the project is installed by path."""
    if not framework.requirements.is_file():
        raise EnvironmentFailed(
            f"there is no file {framework.requirements} to make it from.\n"
            f"Write what it needs into requirements/{framework.name}.in and run `make pins`."
        )
    project = root / "pyproject.toml"
    parts = [PYTHON_VERSION, str(root), framework.requirements.read_text("utf8")]
    parts += [project.read_text("utf8")] if project.is_file() else []
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _find_uv(root: Path) -> str:
    # The last is where the Makefile puts one, if there is none.
    own = root / ".venv-uv" / "bin" / "uv"
    found = os.environ.get("UV") or shutil.which("uv") or (str(own) if own.exists() else "")
    if not found:
        raise EnvironmentFailed("uv is not installed.\nRun `make environments`, which brings it, or install it.")
    return found


def _run(*command: str) -> None:
    # VIRTUAL_ENV would send uv to the book's own environment.
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    try:
        done = subprocess.run(  # noqa: S603 - the command is ours, without a shell
            command, env=environment, stderr=subprocess.PIPE, text=True, check=False
        )
    except OSError as error:
        raise EnvironmentFailed(f"{command[0]}: {error.strerror}.\nCorrect $UV, or unset it.") from error
    if done.returncode:
        raise EnvironmentFailed(f"`{Path(command[0]).name} {' '.join(command[1:3])}` said:\n{done.stderr.strip()}")


def _summary(options: Options, broken: dict[str, str]) -> str:
    working = [
        name
        for name, fw in options.frameworks.items()
        if name not in broken and (fw.environment.is_file() or (fw.environment / _STAMP).exists())
    ]
    lines = []
    for name, why in broken.items():
        lines.append(f"The environment of {options.frameworks[name].title} could not be made: {why}")
    if working:
        lines.append(
            f"What still works: {', '.join(working)}. Run its cells with "
            + " or ".join(f"`python -m polybook run --framework {name}`" for name in working)
            + ". Pages that show a framework without an environment cannot be built on this machine."
        )
    if any("wheel" in why or "platform" in why for why in broken.values()):
        lines.append("A package without a wheel for this machine's platform can only be had on another machine.")
    return "\n".join(lines)
