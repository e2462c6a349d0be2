"""Recorded runs: what another machine produced, committed with the book in ``runs/<name>/``.

One JSON file a page and framework, in lines that a diff can show, its pictures in files beside it. A digest of the
whole tells a run from one that was edited by hand or torn by a merge.
"""

from __future__ import annotations

import base64
import binascii
import copy
import hashlib
import json
import mimetypes
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polybook.errors import ConfigError, StoreEntryUnreadable
from polybook.files import write_whole
from polybook.run import Run, run_from_json

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_DIGEST_KEY = "digest"
_FILE_KEY = "file"
#: Pictures that Jupyter messages carry as base64; SVG travels as text.
_ENCODED = ("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf")
_TEXT_PICTURE = "image/svg+xml"


@dataclass(frozen=True)
class Recorded:
    """A recorded run.

    Attributes:
        name: The folder that it lies in, such as ``h200``.
        path: Its file.
        identity: The digest of its content.
        run: The run.
    """

    name: str
    path: Path
    identity: str
    run: Run


class RecordedRuns:
    """All recorded runs of a book, read once.

    Attributes:
        found: The runs, by name of their folder and path.
        problems: What is wrong with each file that cannot be used, ready to be shown.
    """

    def __init__(self, folder: Path) -> None:
        """Read them; a folder that is missing has none."""
        self.found: list[Recorded] = []
        self.problems: list[str] = []
        for path in sorted(folder.glob("*/**/*.json")):
            try:
                self.found.append(read_recorded(path, path.relative_to(folder).parts[0]))
            except StoreEntryUnreadable as error:
                where = path.relative_to(folder.parent).as_posix()
                self.problems.append(
                    f"the recorded run {where} cannot be used and is ignored: {error}.\n"
                    f"Bring it back with `git checkout -- {where}`, or record it again."
                )

    def of_code(self, framework: str, code: str) -> list[Recorded]:
        """Give the runs of this very code."""
        return [item for item in self.found if (item.run.framework, item.run.code) == (framework, code)]

    def of_page(self, page: str, framework: str) -> list[Recorded]:
        """Give the runs of a page, of whatever code."""
        return [item for item in self.found if (item.run.page, item.run.framework) == (page, framework)]


def recording_name(folder: Path, runs: Path, given: str) -> str:
    """Give the name of a folder to record into, such as ``h200`` for ``runs/h200``.

    Args:
        folder: The folder.
        runs: The folder of recorded runs.
        given: How the user named it.

    Raises:
        ConfigError: If it is not a folder directly below ``runs``, or its name is odd.
    """
    folder = folder.resolve()
    if runs.exists() and not runs.is_dir():
        raise ConfigError(f"{runs.name} is no folder.\nRemove what is there in its place.")
    if folder.parent != runs.resolve() or not _NAME.fullmatch(folder.name):
        raise ConfigError(
            f"--record {given}: runs are recorded into a folder of {runs.name}/, named after the machine in "
            f"lower-case letters, digits, `.`, `_` and `-`.\nWrite for example `--record {runs.name}/h200`."
        )
    return folder.name


def record_path(run: Run, folder: Path) -> Path:
    """Give the file that a run is recorded in."""
    return folder / f"{run.page}.{run.framework}.json"


def write_recorded(run: Run, folder: Path) -> tuple[Path, bool]:
    """Write a run into the folder of a machine, in place of an earlier one of its page and framework.

    Returns:
        The file, and whether anything in it changed.

    Raises:
        OSError: If it cannot be written.
        StoreEntryUnreadable: If what was written is not what was to be.
    """
    path = record_path(run, folder)
    pictures: dict[str, bytes] = {}
    data = _without_breaks(run.as_json())
    digest = _digest(data)
    cells = [
        {**cell, "outputs": [_spread_out(output, f"cell-{n:02}-{m}", pictures) for m, output in enumerate(outputs)]}
        for n, (cell, outputs) in enumerate(((cell, cell["outputs"]) for cell in data["cells"]), start=1)
    ]
    text = json.dumps({**data, "cells": cells, _DIGEST_KEY: digest}, indent=1, sort_keys=True, ensure_ascii=False)
    beside = _pictures_of(path)
    for name, content in pictures.items():
        _write_if_changed(beside / name, content)
    changed = _write_if_changed(path, f"{text}\n".encode())
    for old in beside.glob("cell-*") if beside.is_dir() else ():
        if old.name not in pictures:
            old.unlink()
    if beside.is_dir() and not any(beside.iterdir()):
        beside.rmdir()
    # What is said to be recorded can be read.
    read_recorded(path, folder.name)
    return path, changed


def read_recorded(path: Path, name: str) -> Recorded:
    """Read a recorded run.

    Args:
        path: Its file.
        name: The folder of the machine.

    Raises:
        StoreEntryUnreadable: If it is not what was written, or was written by another version.
    """
    try:
        data = json.loads(path.read_text("utf8"))
        if not isinstance(data, dict) or not isinstance(data.get("cells"), list):
            raise StoreEntryUnreadable("it is no run")
        digest = data.pop(_DIGEST_KEY, None)
        beside = _pictures_of(path)
        for cell in data["cells"]:
            cell["outputs"] = [_put_together(output, beside) for output in cell["outputs"]]
        run = run_from_json(data)
    except OSError as error:
        raise StoreEntryUnreadable(f"{error.filename and Path(error.filename).name}: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise StoreEntryUnreadable(f"it is damaged ({error})") from error
    if run is None:
        raise StoreEntryUnreadable("it was recorded by another version of polybook")
    if _digest(run.as_json()) != digest:
        raise StoreEntryUnreadable("its content is not what was recorded")
    return Recorded(name, path, str(digest), run)


def _pictures_of(path: Path) -> Path:
    """The folder of a record's pictures, named so that no page's folder is."""
    return path.with_suffix(".pictures")


def _digest(data: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _write_if_changed(path: Path, content: bytes) -> bool:
    if path.is_file() and path.read_bytes() == content:
        return False
    write_whole(path, content)
    return True


def _without_breaks(data: dict[str, Any]) -> dict[str, Any]:
    """Take the line breaks out of base64, and join texts that came in pieces: what is read back is the same then."""
    data = json.loads(json.dumps(data))
    for cell in data["cells"]:
        for output in cell["outputs"]:
            for mime, value in output.get("data", {}).items():
                text = "".join(value) if isinstance(value, list) and not _is_json(mime) else value
                output["data"][mime] = re.sub(r"\s", "", text) if mime in _ENCODED and isinstance(text, str) else text
            if isinstance(output.get("text"), list):
                output["text"] = "".join(output["text"])
    return data


def _spread_out(output: dict[str, Any], stem: str, pictures: dict[str, bytes]) -> dict[str, Any]:
    """Give an output with texts as lists of lines and pictures by the name of their file."""
    output = copy.deepcopy(output)
    if isinstance(output.get("text"), str):
        output["text"] = _lines(output["text"])
    for mime, value in output.get("data", {}).items():
        if isinstance(value, str) and not _is_json(mime):
            content = _picture(mime, value)
            if content is None:
                output["data"][mime] = _lines(value)
            else:
                name = f"{stem}{mimetypes.guess_extension(mime) or '.bin'}"
                pictures[name] = content
                output["data"][mime] = {_FILE_KEY: name}
    return output


def _put_together(output: dict[str, Any], beside: Path) -> dict[str, Any]:
    if isinstance(output.get("text"), list):
        output["text"] = "".join(output["text"])
    for mime, value in output.get("data", {}).items():
        if _is_json(mime):
            continue
        if isinstance(value, list):
            output["data"][mime] = "".join(value)
        elif isinstance(value, dict):
            output["data"][mime] = _encoded(mime, (beside / Path(value[_FILE_KEY]).name).read_bytes())
    return output


def _is_json(mime: str) -> bool:
    return mime == "application/json" or mime.endswith("+json")


def _picture(mime: str, value: str) -> bytes | None:
    if mime == _TEXT_PICTURE:
        return value.encode()
    if mime not in _ENCODED:
        return None
    try:
        content = base64.b64decode(value, validate=True)
    except binascii.Error:
        return None
    # Only what comes back as it was.
    return content if _encoded(mime, content) == value else None


def _encoded(mime: str, content: bytes) -> str:
    return content.decode() if mime == _TEXT_PICTURE else base64.b64encode(content).decode()


def _lines(text: str) -> list[str]:
    """Cut after each line feed; ``splitlines`` would cut at odd characters as well."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
