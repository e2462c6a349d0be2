"""Take the building machine's paths and names out of outputs: they say nothing to a reader, and too much of the author.

Pure: an output in, an output out.
"""

from __future__ import annotations

import contextlib
import getpass
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polybook.options import Framework

#: Encoded data inside of text, as in the source of a picture.
_ENCODED = re.compile(r"(;base64,[A-Za-z0-9+/=\s]+)")
#: The file name that ipykernel gives to a cell: it holds the temporary folder and the process's number.
_CELL_FILE = re.compile(r"[^\s\"'(<]*ipykernel_\d+/\d+\.py")


#: Names of machines and accounts that give nothing away, and that a cell may well mean otherwise.
_PLAIN = frozenset(
    {
        *("admin", "app", "build", "ci", "cpu", "data", "debian", "desktop", "dev", "docker", "gpu", "home", "host"),
        *("jovyan", "laptop", "localhost", "main", "node", "nobody", "python", "root", "runner", "server", "test"),
        *("tests", "ubuntu", "user", "users", "vm", "work", "worker", "workspace"),
    }
)
_SHORTEST_NAME = 3


def private_paths(framework: Framework, root: Path, cwd: Path, folder: Path) -> dict[str, str]:
    """Say what is put in place of each path, and of the names of machine and user; the longest first.

    Args:
        framework: Whose environment the kernel runs in.
        root: The book's folder.
        cwd: The kernel's working folder.
        folder: The kernel's private folder.

    Returns:
        A replacement for each path and name.
    """
    python = framework.python.resolve().parent.parent
    named = [
        (framework.environment, framework.environment.name),
        (framework.environment.resolve(), framework.environment.name),
        (root, "."),
        (cwd, "."),
        (folder, "[kernel]"),
        (python, "[python]"),
        *((home, "~") for home in _home()),
    ]
    paths = {str(path): shown for path, shown in reversed(named) if path != Path(path.anchor)}
    paths |= {name: shown for name, shown in _names() if len(name) >= _SHORTEST_NAME and name.lower() not in _PLAIN}
    return dict(sorted(paths.items(), key=lambda item: -len(item[0])))


def scrub(output: Mapping[str, Any], paths: Mapping[str, str]) -> dict[str, Any]:
    """Replace private paths in everything of an output that is text; images and other encoded data are left alone."""
    cleaned = dict(output)
    for key in ("text", "ename", "evalue", "traceback", "metadata"):
        if key in cleaned:
            cleaned[key] = _replace(cleaned[key], paths)
    if "data" in cleaned:
        cleaned["data"] = {
            mime: _replace(value, paths) if _is_text(mime) else value for mime, value in cleaned["data"].items()
        }
    return cleaned


def _is_text(mime: str) -> bool:
    return (
        mime.partition("/")[0] == "text" or mime.endswith(("json", "xml")) or mime.startswith("application/papermill")
    )


def _names() -> list[tuple[str, str]]:
    host = socket.gethostname()
    names = [(host, "[host]"), (host.partition(".")[0], "[host]")]
    # Not for a user whom the system does not know.
    with contextlib.suppress(KeyError, OSError, ImportError):
        names.append((getpass.getuser(), "[user]"))
    return names


def _home() -> list[Path]:
    """The user's folder; none for a user whom the system does not know, as in some containers."""
    try:
        return [Path.home()]
    except RuntimeError:
        return []


def _replace(value: Any, paths: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        # Encoded pictures inside of HTML are no text: the odd pieces are what the pattern found.
        pieces = _ENCODED.split(value)
        return "".join(piece if n % 2 else _replace_text(piece, paths) for n, piece in enumerate(pieces))
    if isinstance(value, list):
        return [_replace(item, paths) for item in value]
    if isinstance(value, dict):
        return {key: _replace(item, paths) for key, item in value.items()}
    return value


def _replace_text(text: str, paths: Mapping[str, str]) -> str:
    """Replace whole paths and names: ``/home/ann`` does not begin ``/home/anna``, nor end ``/mnt/home/ann``."""
    text = _CELL_FILE.sub("[cell]", text)
    for path, shown in paths.items():
        # In pieces, so that what is shown in its place is never taken for a pattern.
        text = shown.join(re.split(rf"(?<![\w.\-]){re.escape(path)}(?![\w\-]|\.\w)", text))
    return text
