"""``polybook lab``: open a page as a notebook in JupyterLab, with one framework's kernel behind it.

Chooses framework and page, writes down the kernels, and becomes the server (``lab_server.py``), which has an
environment of its own. Nothing is written into the user's home.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from polybook.errors import ConfigError, EnvironmentFailed
from polybook.files import write_whole
from polybook.lab_kernel import FRAMEWORK, TITLES
from polybook.options import Framework, Options, config_file_options
from polybook.page import page_settings

#: The environment of JupyterLab, in the book's folder.
ENVIRONMENT = ".venv-lab"
#: Where a browser can be shown; on other systems than Linux it always can.
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def lab(arguments: argparse.Namespace) -> int:
    """Become JupyterLab on a page; returns only if that cannot be.

    Raises:
        ConfigError: If there is no such framework or page, or the page has no cells of the framework.
        EnvironmentFailed: If JupyterLab or the framework is not installed.
    """
    options = config_file_options(arguments.book)
    framework = choose_framework(options, arguments.framework)
    page = choose_page(options, framework, arguments.page)
    python = options.root / ENVIRONMENT / "bin" / "python"
    for needed, what in ((framework.python, framework.title), (python, "JupyterLab")):
        if not needed.exists():
            raise EnvironmentFailed(f"there is no environment of {what}: {needed} is missing.\nRun `make lab`.")
    folder = options.store / "lab"
    write_kernels(options, folder)
    # Pages that were open the last time would start kernels of their own.
    shutil.rmtree(folder / "config" / "lab" / "workspaces", ignore_errors=True)
    command = [str(python), "-m", "polybook.lab_server", "--book", str(options.root), "--folder", str(folder)]
    command += ["--page", page, "--kernel", framework.name]
    if arguments.no_browser or (sys.platform == "linux" and not any(map(os.environ.get, _SCREENS))):
        command.append("--no-browser")
    print(f"{page} as a notebook, with the kernel of {framework.title}. Ctrl-C ends it.", flush=True)
    # Nothing stays in between: signals reach the server itself.
    os.execve(command[0], command, environment(folder))  # noqa: S606 - without a shell


def choose_framework(options: Options, name: str | None) -> Framework:
    """Find a framework by its name; the book's first one by default."""
    known = list(options.frameworks)
    if not known:
        raise ConfigError("_config.yml names no framework.\nWrite one below `polybook_frameworks`.")
    if name and name not in known:
        raise ConfigError(f"framework {name!r} is unknown (known: {', '.join(known)}).\nCorrect the name.")
    return options.frameworks[name or known[0]]


def choose_page(options: Options, framework: Framework, name: str | None) -> str:
    """Find a page by its docname or path; by default the first of the book with the framework.

    Pages that are not in the table of contents, such as solutions, can be named as well.

    Returns:
        Its path, relative to the book.
    """
    from polybook.book import Book, sources

    declared = {
        path.relative_to(options.root).as_posix(): _frameworks(path)
        for path in sources(Book(options.root, options, {}))
    }
    usable = [path for path, frameworks in declared.items() if framework.name in frameworks]
    remedy = f"Name one that declares {framework.name}: {', '.join(usable) or 'there is none yet'}."
    if not name:
        if not usable:
            raise ConfigError(f"no page of this book declares {framework.name!r}.\nName the framework in one.")
        return usable[0]
    found = _find(options.root, name)
    if found is None:
        raise ConfigError(f"{name} is no page of this book.\n{remedy}")
    frameworks = _frameworks(options.root / found)
    if framework.name not in frameworks:
        has = f"only {', '.join(frameworks)}" if frameworks else "no framework"
        raise ConfigError(f"{found} declares {has}, so there is nothing of {framework.name!r} to run.\n{remedy}")
    return found


def _find(root: Path, name: str) -> str | None:
    """Find a page's file, named from the book's folder or from this one; None if it is not there."""
    for base in (root, Path.cwd()):
        path = (base / f"{name.removesuffix('.md')}.md").resolve()
        if path.is_file() and path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return None


def _frameworks(path: Path) -> list[str]:
    """The frameworks that a page declares; whatever else is wrong with it can be mended in the notebook."""
    settings = page_settings(path.read_text("utf-8-sig"))
    found = settings.get("frameworks") if isinstance(settings, Mapping) else None
    return [str(name) for name in found] if isinstance(found, list) else []


def write_kernels(options: Options, folder: Path) -> None:
    """Write a kernel's description for each framework that has an environment."""
    for framework in options.frameworks.values():
        path = folder / "data" / "kernels" / framework.name / "kernel.json"
        if framework.python.exists():
            write_whole(path, json.dumps(_kernel(options, framework, folder), indent=2).encode())
        else:
            path.unlink(missing_ok=True)


# A server that ends interrupts its kernels first, which one that is still importing would answer with a traceback.
# What a shell ignores stays ignored in the program that it becomes, until ipykernel listens for itself.
_DEAF_START = ("sh", "-c", 'trap "" INT; exec "$0" "$@"') if os.name == "posix" else ()


def _kernel(options: Options, framework: Framework, folder: Path) -> dict[str, object]:
    script = str(Path(__file__).with_name("lab_kernel.py"))
    titles = {name: each.title for name, each in options.frameworks.items()}
    return {
        "argv": [
            *_DEAF_START,
            str(framework.python),
            script,
            "-f",
            "{connection_file}",
            "--HistoryManager.hist_file=:memory:",
        ],
        "display_name": framework.title,
        "language": "python",
        # Else everything that cells and outputs hold goes unencrypted through a port of this machine.
        "metadata": {"supported_encryption": "curve", "version": _version(framework.python)},
        "env": {
            FRAMEWORK: framework.name,
            TITLES: json.dumps(titles),
            "IPYTHONDIR": str(folder / "ipython"),
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        },
    }


def _version(python: Path) -> str:
    command = [str(python), "-c", "import platform; print(platform.python_version())"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603 - no shell


def environment(folder: Path) -> dict[str, str]:
    """The environment of the server: no folder of the user's, and nothing that belongs to the book's own Python."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTHON") and name not in ("VIRTUAL_ENV", "MPLBACKEND", "JUPYTER_CONFIG_PATH")
    }
    return {
        **kept,
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        # Looked through first: no kernel of the same name elsewhere comes before ours.
        "JUPYTER_PATH": str(folder / "data"),
        # Where Jupyter would look first otherwise, if it runs in a virtual environment.
        "JUPYTER_PREFER_ENV_PATH": "0",
    }
