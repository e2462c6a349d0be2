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


#: Names of machines and accounts that give nothing away.
_PLAIN = frozenset(
    {"admin", "data", "debian", "docker", "home", "jovyan", "localhost", "root", "runner", "ubuntu", "user"}
)
#: Encodings of pictures and documents: no text, and too long to search.
_BASE64 = ("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf")
_ANSI = re.compile(r"(\x1b\[[0-9;]*m)")


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
    return dict(sorted({**paths, **_names()}.items(), key=lambda item: -len(item[0])))


def scrub(output: Mapping[str, Any], paths: Mapping[str, str]) -> dict[str, Any]:
    """Replace private paths and names in everything of an output that is text; encoded pictures are left alone."""
    cleaned = dict(output)
    for key in ("text", "ename", "evalue", "traceback"):
        if key in cleaned:
            cleaned[key] = _replace(cleaned[key], paths)
    if "data" in cleaned:
        cleaned["data"] = {
            mime: value if mime in _BASE64 else _replace(value, paths) for mime, value in cleaned["data"].items()
        }
    if "metadata" in cleaned:
        # The names of recorded values are no names of people.
        cleaned["metadata"] = {
            key: value if key in ("polybook", "scrapbook") else _replace(value, paths)
            for key, value in cleaned["metadata"].items()
        }
    return cleaned


def scrub_metadata(metadata: Mapping[str, Any], paths: Mapping[str, str]) -> dict[str, Any]:
    """Replace private paths and names in a notebook's metadata, where widgets keep their state."""
    return {key: _replace(value, paths) for key, value in metadata.items()}


def _names() -> dict[str, str]:
    """What is put in place of the names of machine and user, by the form in which they are one beyond doubt.

    A word of its own says nothing: accounts are called ``max`` and machines ``titan``.
    """
    names: dict[str, str] = {}
    # Not for a user whom the system does not know.
    with contextlib.suppress(KeyError, OSError, ImportError):
        user = getpass.getuser()
        if user not in _PLAIN:
            names |= {f"/{user}/": "/[user]/", f"{user}@": "[user]@"}
    host = socket.gethostname()
    short = host.partition(".")[0]
    if short not in _PLAIN:
        names |= {f"@{host}": "@[host]", f"@{short}": "@[host]"}
        if re.search(r"[\d.-]", host):
            names |= {host: "[host]", short: "[host]"}
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
    # Colours stand directly before what they colour, and would hide where it begins.
    pieces = _ANSI.split(_CELL_FILE.sub("[cell]", text))
    return "".join(piece if n % 2 else _replace_piece(piece, paths) for n, piece in enumerate(pieces))


def _replace_piece(text: str, paths: Mapping[str, str]) -> str:
    for path, shown in paths.items():
        # A path may follow a flag, `-I/srv/include`; a host's domain goes with it.
        before = r"(?:(?<![\w.\-])|(?<=-[A-Z]))" if path[0] == "/" and path[-1] != "/" else r"(?<![\w.\-])"
        if path[0] == "@" or path[-1] == "/":
            before = ""
        after = r"(?:\.[\w\-]+)*(?![\w\-])" if shown.endswith("[host]") else r"(?![\w\-]|\.\w)"
        if path[-1] in "@/":
            after = ""
        # In pieces, so that what is shown in its place is never taken for a pattern.
        text = shown.join(re.split(f"{before}{re.escape(path)}{after}", text))
    return text
