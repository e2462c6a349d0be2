"""Find the notebook that a cell stands in, and write it, without outputs, as the file to hand in.

What ``exercises.pack`` does. A kernel is not told which notebook it serves: each front end has its own way of saying
it. Where none does, the notebook is known by the line that was stamped into it when it was assigned. Standard library
only; runs in the notebook's own kernel, also where its other cells run elsewhere.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asynclab.errors import PackError

_STAMP = re.compile(
    r"^#[ \t]*coursework:[ \t]*(?P<slug>[a-z0-9-]+)[ \t]*·[ \t]*(?P<framework>[a-z]+)[ \t]*·.*$", re.MULTILINE
)
_ANSWER = re.compile(
    r"\s*(?:#[ \t]*answer:[ \t]*|<!--[ \t]*answer:[ \t]*)(?P<name>[A-Za-z][\w-]*)[ \t]*(?:-->)?[ \t]*(?:\n|$)"
)
#: What a cell holds that nobody has written in, for notebooks that have lost their metadata.
_UNWRITTEN = (
    re.compile(r"^[ \t]*raise NotImplementedError\b", re.MULTILINE),
    re.compile(r"^\*Write here, .*\*$", re.MULTILINE),
)
#: What front ends keep of a run: of no use to who marks, and some of it names the student.
_PRIVATE = ("ExecuteTime", "execution", "executionInfo", "outputId", "colab")
_HAND_IN = "hand-in-"
_COLAB_S = 30
_REMEDY = 'Save the notebook and give its name: exercises.pack("name.ipynb").'


@dataclass(frozen=True)
class Found:
    """The notebook to hand in.

    Attributes:
        content: What JSON gave for it.
        folder: Where the file to hand in goes.
        origin: Which notebook it is, for the reader.
    """

    content: dict[str, Any]
    folder: Path
    origin: str

    @property
    def stamp(self) -> re.Match[str] | None:
        """The line that says as what it was handed out, from its last cell that has one."""
        matches = (_STAMP.search(source(cell)) for cell in reversed(self.content["cells"]))
        return next((match for match in matches if match), None)


def hand_in(path: str | Path | None) -> Path:
    """Write the file to hand in, and say what is in it.

    Args:
        path: The notebook; None for the one that the running cell stands in.

    Returns:
        The file.

    Raises:
        PackError: If it is not clear which notebook to take, or it cannot be read or written.
    """
    shell = _shell()
    running = _STAMP.search(_running_cell(shell))
    found = _read(Path(path)) if path is not None else _find(shell, running[0] if running else "")
    stamp = found.stamp
    if not stamp:
        raise PackError(
            f"{found.origin} is no notebook of an exercise: no cell in it has a line `# coursework: ...`.\n{_REMEDY}"
        )
    if running and running[0].split() != stamp[0].split():
        raise PackError(
            f"{found.origin} is another notebook: it says `{stamp[0]}`, and this cell `{running[0]}`.\n{_REMEDY}"
        )
    target = found.folder / f"{_HAND_IN}{stamp['slug']}-{stamp['framework']}.ipynb"
    _write(target, _without_outputs(found.content))
    print(f"Wrote {target.name} from {found.origin}. Hand in this file.")
    for line in _remarks(found.content, _last_run(shell)):
        print(line)
    _download(target)
    return target


def source(cell: Any) -> str:
    """Give a cell's source, which a file may hold as a text or as lines."""
    text = cell.get("source", "") if isinstance(cell, dict) else ""
    return "".join(text) if isinstance(text, list) else str(text)


def _shell() -> Any:
    """Give IPython's shell; None in a plain program."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython

    return get_ipython()


def _running_cell(shell: Any) -> str:
    history = shell.history_manager.input_hist_raw if shell else []
    return str(history[-1]) if history else ""


def _last_run(shell: Any) -> dict[str, str]:
    """Give the source of each answer as it was run last."""
    history = shell.history_manager.input_hist_raw if shell else []
    matches = ((_ANSWER.match(text), text) for text in history)
    return {match["name"]: text for match, text in matches if match}


def _find(shell: Any, stamp: str) -> Found:
    """Find the notebook that the running cell stands in."""
    if "google.colab" in sys.modules:
        return _from_colab()
    told = [shell.user_ns.get("__vsc_ipynb_file__") if shell else None, os.environ.get("JPY_SESSION_NAME")]
    for name in told:
        # A name that was true when the kernel started may not be any more.
        if name and str(name).endswith(".ipynb") and Path(name).is_file():
            found = _read(Path(name))
            if _suits(found, stamp):
                return found
    suiting = list(_beside(stamp))
    if len(suiting) == 1:
        return suiting[0]
    what = "none of the notebooks" if not suiting else "not one alone of the notebooks"
    names = ", ".join(found.origin.partition(" ")[0] for found in suiting)
    raise PackError(
        f"It is not clear which notebook this is: {what} in {Path.cwd()} has this cell's line `# coursework: ...`"
        f"{f' ({names})' if names else ''}.\n{_REMEDY}"
    )


def _suits(found: Found, stamp: str) -> bool:
    return bool(found.stamp) and (not stamp or (found.stamp or [""])[0].split() == stamp.split())


def _beside(stamp: str) -> Iterator[Found]:
    for path in sorted(Path.cwd().glob("*.ipynb")):
        if not path.name.startswith(_HAND_IN):
            try:
                found = _read(path)
            except PackError:
                continue
            if _suits(found, stamp):
                yield found


def _from_colab() -> Found:
    """Ask the browser for the notebook as it is now."""
    reply = importlib.import_module("google.colab._message").blocking_request("get_ipynb", timeout_sec=_COLAB_S)
    content = reply.get("ipynb") if isinstance(reply, dict) else None
    if not isinstance(content, dict) or not _is_notebook(content):
        raise PackError(
            "Colab did not say what is in this notebook.\n"
            "Run this cell again; or download the notebook and hand that in."
        )
    return Found(content, Path.cwd(), "this notebook")


def _read(path: Path) -> Found:
    try:
        content = json.loads(path.read_text("utf-8-sig"))
        saved = time.strftime("%H:%M:%S", time.localtime(path.stat().st_mtime))
    except OSError as error:
        raise PackError(f"{path} cannot be read: {error.strerror}.\n{_REMEDY}") from None
    except ValueError:
        content = None
    if not _is_notebook(content):
        raise PackError(f"{path} is no notebook of Jupyter's format 4.\n{_REMEDY}")
    return Found(content, path.resolve().parent, f"{path.name} as it was saved at {saved}")


def _is_notebook(content: Any) -> bool:
    return isinstance(content, dict) and isinstance(content.get("cells"), list) and content.get("nbformat") == 4  # noqa: PLR2004


def _without_outputs(content: dict[str, Any]) -> dict[str, Any]:
    made = {**content, "cells": [_bare(cell) for cell in content["cells"] if isinstance(cell, dict)]}
    # State of widgets: outputs as well.
    made["metadata"] = {key: value for key, value in (content.get("metadata") or {}).items() if key != "widgets"}
    return made


def _bare(cell: dict[str, Any]) -> dict[str, Any]:
    metadata = {key: value for key, value in (cell.get("metadata") or {}).items() if key not in _PRIVATE}
    made = {**cell, "metadata": metadata}
    return {**made, "outputs": [], "execution_count": None} if cell.get("cell_type") == "code" else made


def _write(target: Path, content: dict[str, Any]) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    try:
        # Half a pair of surrogates, which JSON may hold, has no place in UTF-8.
        target.write_text(text, "utf8", errors="replace")
    except OSError as error:
        raise PackError(
            f"{target} cannot be written: {error.strerror}.\nHand in the notebook itself, saved, or free its place."
        ) from None


def _remarks(content: dict[str, Any], last_run: dict[str, str]) -> Iterator[str]:
    """Say what a student may not have meant."""
    matches = ((_ANSWER.match(source(cell)), source(cell)) for cell in content["cells"])
    answers = {match["name"]: text for match, text in matches if match}
    other = [name for name, text in answers.items() if name in last_run and _plain(text) != _plain(last_run[name])]
    if other:
        yield (
            f"! {_listed(other)} in the file is not what you ran last: save the notebook first, or run that cell "
            "again; then pack again."
        )
    stubs = _stubs(content)
    unwritten = [name for name, text in answers.items() if _is_unwritten(text, stubs.get(name))]
    if unwritten:
        yield f"! Not written yet: {_listed(unwritten)}."
    missing = [name for name in stubs if name not in answers]
    if missing:
        yield f"! Not in the file, or without its first line `answer: ...`: {_listed(missing)}."


def _stubs(content: dict[str, Any]) -> dict[str, Any]:
    ours = (content.get("metadata") or {}).get("coursework")
    stubs = ours.get("stubs") if isinstance(ours, dict) else None
    return stubs if isinstance(stubs, dict) else {}


def _is_unwritten(text: str, stub: object) -> bool:
    digest = hashlib.sha256(_plain(text).encode("utf8", "replace")).hexdigest()[:16]
    return digest == stub or any(pattern.search(text) for pattern in _UNWRITTEN)


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().split("\n"))


def _listed(names: list[str]) -> str:
    return ", ".join(names)


def _download(target: Path) -> None:
    if "google.colab" in sys.modules:
        importlib.import_module("google.colab.files").download(str(target))
