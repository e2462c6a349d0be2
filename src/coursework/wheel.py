"""Make the wheel of asynclab that a student's notebook installs where no site can be reached: see ``assign.py``.

A package of pure Python needs no build: its files and four texts that say what they are. Standard library; the bytes
depend on the sources and on ``pyproject.toml`` alone.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coursework.errors import CourseError
from coursework.files import packed

_KIND = "Wheel-Version: 1.0\nGenerator: coursework\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def wheel_name(book: Path) -> str:
    """Name the wheel of asynclab that goes with a book."""
    return f"asynclab-{version(book)}-py3-none-any.whl"


def wheel(book: Path) -> bytes:
    """Make the wheel of asynclab that goes with a book.

    Args:
        book: The folder with ``pyproject.toml``, and with ``src/asynclab`` unless the package is elsewhere.

    Raises:
        CourseError: If there is no such package.
    """
    package = _package(book)
    about = f"asynclab-{version(book)}.dist-info"
    files = {
        f"asynclab/{path.relative_to(package).as_posix()}": path.read_bytes()
        for path in sorted(package.rglob("*"))
        if path.is_file() and not _left_out(path.relative_to(package))
    }
    licences = _licences(book)
    files |= {f"{about}/licenses/{name}": content for name, content in licences.items()}
    files |= {f"{about}/METADATA": _metadata(book, licences), f"{about}/WHEEL": _KIND.encode()}
    return packed({**files, f"{about}/RECORD": _record(files, f"{about}/RECORD")})


def version(book: Path) -> str:
    """Give the version of a book."""
    return str(_project(book)["version"])


def _project(book: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((book / "pyproject.toml").read_text("utf8"))["project"]
    return project


def _package(book: Path) -> Path:
    """Find asynclab: the book's own, or the one that is installed here."""
    own = book / "src" / "asynclab"
    if (own / "__init__.py").is_file():
        return own
    found = importlib.util.find_spec("asynclab")
    if found is None or found.origin is None:
        raise CourseError(f"{own}: there is no such package, which students' notebooks need. Assign from the course.")
    return Path(found.origin).parent


def _left_out(path: Path) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in path.parts) or path.suffix in (".pyc", ".pyo")


def _licences(book: Path) -> dict[str, bytes]:
    paths = sorted(path for pattern in _project(book).get("license-files", []) for path in book.glob(pattern))
    return {path.relative_to(book).as_posix(): path.read_bytes() for path in paths if path.is_file()}


def _metadata(book: Path, licences: Mapping[str, bytes]) -> bytes:
    project = _project(book)
    # 2.4 is the first that knows the licence's two fields (PEP 639).
    lines = ["Metadata-Version: 2.4", "Name: asynclab", f"Version: {project['version']}"]
    lines += [
        f"{name}: {project[key]}"
        for name, key in (("Requires-Python", "requires-python"), ("License-Expression", "license"))
        if key in project
    ]
    return "".join(f"{line}\n" for line in [*lines, *(f"License-File: {name}" for name in licences)]).encode()


def _record(files: Mapping[str, bytes], own: str) -> bytes:
    lines = []
    for name in sorted(files):
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(files[name])}")
    return "".join(f"{line}\n" for line in [*lines, f"{own},,"]).encode()
