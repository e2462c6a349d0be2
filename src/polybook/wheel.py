"""Build the wheel of one of the project's own packages, for readers' notebooks to install.

A part of every build of the site: a wheel that still holds what it should is left alone, which takes a few
milliseconds. Standard library, and uv_build's PEP 517 hook in a process of its own, since it finds its program by the
path and builds what it is started in.
"""

from __future__ import annotations

import email
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from polybook.errors import ConfigError, WheelFailed
from polybook.files import write_if_other

# Not `uv build`: it builds with whichever uv the machine has and names it in the wheel, loads a backend from an index
# where that one does not suit, and puts a .gitignore beside the wheel, which would be published.
_HOOK = "import sys, uv_build; uv_build.build_wheel(sys.argv[1])"


@dataclass(frozen=True)
class Project:
    """What a wheel says of the project that its package is a part of.

    Attributes:
        version: Such as ``0.1.0``.
        requires_python: Such as ``>=3.11``.
        license: An SPDX expression, such as ``MIT``.
        license_files: The text of each licence, by its path in the project.
    """

    version: str
    requires_python: str
    license: str
    license_files: Mapping[str, bytes]


def read_project(root: Path) -> Project:
    """Read what goes into a wheel's metadata from the book's ``pyproject.toml``.

    Args:
        root: The book's folder.

    Raises:
        ConfigError: If the file is missing or no TOML, or lacks one of the four.
    """
    path = root / "pyproject.toml"
    try:
        table = tomllib.loads(path.read_text("utf8")).get("project", {})
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}.\nWrite one: a wheel takes its version from there.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}\nCorrect it.") from error
    return Project(
        version=_text(table, "version", "0.1.0"),
        requires_python=_text(table, "requires-python", ">=3.11"),
        license=_text(table, "license", "MIT"),
        license_files=_license_files(table, root),
    )


def build_wheel(package: Path, project: Project, out: Path) -> Path:
    """Build a package's wheel, or leave the one that is there if it holds the same.

    Args:
        package: The package's folder, which gives the wheel its name; caches and hidden files in it are left out.
        project: What the wheel says of it.
        out: The folder that gets the wheel; other wheels of the package are removed from it.

    Returns:
        The wheel.

    Raises:
        ConfigError: If the folder is no package.
        WheelFailed: If it cannot be built, in the backend's words.
    """
    if not package.name.isidentifier() or not (package / "__init__.py").is_file():
        raise ConfigError(
            f"{package} is no package: it needs a name that Python can import, and an __init__.py.\nCorrect the folder."
        )
    files = _package_files(package)
    # A wheel's name has the package's in small letters, and one underscore for several.
    there = sorted(out.glob(f"{re.sub('_+', '_', package.name).lower()}-*.whl"))
    if len(there) == 1 and _holds(there[0], package.name, files, project):
        return there[0]
    name, content = _built(package.name, files, project)
    wheel = out / name
    write_if_other(wheel, content)
    for old in there:
        if old != wheel:
            old.unlink(missing_ok=True)
    return wheel


def _text(table: Mapping[str, Any], key: str, such_as: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise ConfigError(
            f"pyproject.toml: `[project] {key}` is {'missing' if value is None else repr(value)}, but a wheel needs it "
            f"as a text.\nWrite it, such as `{key} = {json.dumps(such_as)}`."
        )
    return value


def _license_files(table: Mapping[str, Any], root: Path) -> dict[str, bytes]:
    patterns = table.get("license-files")
    if not isinstance(patterns, list) or not patterns or not all(isinstance(item, str) and item for item in patterns):
        raise ConfigError(
            f"pyproject.toml: `[project] license-files` is {'missing' if patterns is None else repr(patterns)}, but a "
            'wheel needs the text of its licence.\nName the file, such as `license-files = ["LICENSE"]`.'
        )
    found = {}
    for pattern in patterns:
        inside = not pattern.startswith("/") and ".." not in PurePosixPath(pattern).parts
        matching = sorted(path for path in root.glob(pattern) if path.is_file()) if inside else []
        if not matching:
            raise ConfigError(
                f"pyproject.toml: `[project] license-files` names {pattern!r}, but there is no such file in the book's "
                "folder.\nCorrect it."
            )
        found.update({path.relative_to(root).as_posix(): path.read_bytes() for path in matching})
    return found


def _package_files(package: Path) -> dict[str, bytes]:
    """Read what goes into the wheel, by its path in the package, in order."""
    found = {}
    for path in sorted(package.rglob("*")):
        inner = path.relative_to(package)
        aside = any(part.startswith(".") or part == "__pycache__" for part in inner.parts)
        if path.is_file() and not aside and path.suffix not in (".pyc", ".pyo"):
            found[inner.as_posix()] = path.read_bytes()
    return found


def _holds(wheel: Path, package: str, files: Mapping[str, bytes], project: Project) -> bool:
    """Tell whether a wheel is the one that would be built; where that is in doubt it is not."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            held = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
        by_whom = importlib.metadata.version("uv-build")
    except (OSError, zipfile.BadZipFile, zlib.error, importlib.metadata.PackageNotFoundError):
        return False
    about = f"{'-'.join(wheel.name.split('-')[:2])}.dist-info"
    _, metadata, kind = (held.pop(f"{about}/{name}", b"") for name in ("RECORD", "METADATA", "WHEEL"))
    expected = {f"{package}/{path}": content for path, content in files.items()}
    expected |= {f"{about}/licenses/{path}": content for path, content in project.license_files.items()}
    return (
        held == expected and email.message_from_bytes(kind)["Generator"] == f"uv {by_whom}" and _says(metadata, project)
    )


def _says(metadata: bytes, project: Project) -> bool:
    """Tell whether a wheel's metadata are those of the project."""
    said = [item for item in email.message_from_bytes(metadata).items() if item[0] not in ("Metadata-Version", "Name")]
    return sorted(said) == sorted(
        [
            ("Version", project.version),
            ("Requires-Python", project.requires_python),
            ("License-Expression", project.license),
            *(("License-File", path) for path in project.license_files),
        ]
    )


def _built(package: str, files: Mapping[str, bytes], project: Project) -> tuple[str, bytes]:
    """Build a wheel in a folder of its own, where nothing but the package can get into it.

    Returns:
        The wheel's name and content.
    """
    try:
        backend = importlib.metadata.version("uv-build")
    except importlib.metadata.PackageNotFoundError as error:
        raise WheelFailed(
            f"the wheel of {package} needs uv-build, which is not installed.\nAdd it to requirements/book.in, and run "
            "`make pins environments`."
        ) from error
    with tempfile.TemporaryDirectory(prefix="wheel-") as folder:
        root, out = Path(folder, "project"), Path(folder, "out")
        staged = {f"src/{package}/{path}": content for path, content in files.items()} | dict(project.license_files)
        for path, content in {**staged, "pyproject.toml": _pyproject(package, project, backend)}.items():
            target = root / PurePosixPath(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            # New files are nobody's programs: the modes of the checkout's do not get into the wheel.
            target.write_bytes(content)
        out.mkdir()
        _call_hook(package, root, out)
        (wheel,) = out.iterdir()
        return wheel.name, wheel.read_bytes()


def _pyproject(package: str, project: Project, backend: str) -> bytes:
    # A string of JSON is one of TOML.
    words = {
        "name": package,
        "version": project.version,
        "requires-python": project.requires_python,
        "license": project.license,
        "license-files": list(project.license_files),
    }
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in words.items()]
    return "\n".join(
        [
            *("[build-system]", f'requires = ["uv_build=={backend}"]', 'build-backend = "uv_build"'),
            *("[project]", *lines),
            *("[tool.uv.build-backend]", f"module-name = {json.dumps(package)}", ""),
        ]
    ).encode()


def _call_hook(package: str, root: Path, out: Path) -> None:
    # The environment need not be active: its programs are put on the path.
    path = os.pathsep.join(filter(None, [sysconfig.get_path("scripts"), os.environ.get("PATH")]))
    done = subprocess.run(  # noqa: S603 - the command is ours, without a shell
        [sys.executable, "-I", "-c", _HOOK, str(out)],
        cwd=root,
        env={**os.environ, "PATH": path, "RUST_BACKTRACE": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise WheelFailed(
            f"the wheel of {package} could not be built. The backend said:\n{done.stderr.strip()}\n"
            "Correct what it names: `[project]` in pyproject.toml, or the package."
        )
