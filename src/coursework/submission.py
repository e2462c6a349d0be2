"""Read a notebook that came back: find the answers in it, whatever an editor or a student did to the file.

Nothing here runs or compiles what was handed in, and nothing here raises but `Unreadable`, which says why. See
``collect.py`` for who handed it in and ``batch.py`` for what becomes of the answers.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from coursework.lines import normalised, without_calls
from coursework.stamp import of_source

#: The most that a file may hold, in bytes.
LARGEST = 20_000_000
#: The most cells of a notebook, and the most characters of its code and answers: pictures and outputs are not counted.
_MOST_CELLS, _MOST_SOURCE = 5_000, 1_000_000
_KINDS = ("code", "markdown", "raw")
_NAMED = re.compile(
    r"\A\s*(?:#[ \t]*answer:[ \t]*(?P<code>[\w.-]+)[ \t]*$|<!--[ \t]*answer:[ \t]*(?P<text>[\w.-]+)[ \t]*-->)", re.M
)
_FENCES = ("```", "~~~")


class Unreadable(Exception):
    """The file is no notebook that can be graded; the message says why, in the student's words."""


@dataclass(frozen=True)
class Cell:
    """A cell of a notebook that was handed in.

    Attributes:
        number: Its place, counted from 1, as a person would count.
        kind: ``code``, ``markdown`` or ``raw``.
        source: Its text.
        name: The answer that it says it is; empty if it says nothing.
        commented: Whether its first line says so, not only its metadata or its id.
        tags: Its tags.
    """

    number: int
    kind: str
    source: str
    name: str = ""
    commented: bool = False
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Notebook:
    """What a file that was handed in holds.

    Attributes:
        cells: Its cells, in order.
        document: A valid notebook of the current format with the same cells, as plain data.
    """

    cells: tuple[Cell, ...]
    document: dict[str, Any]

    @property
    def names(self) -> set[str]:
        """The answers that its cells say they are."""
        return {cell.name for cell in self.cells if cell.name}


@dataclass(frozen=True)
class Answers:
    """What is graded of a notebook.

    Attributes:
        code: Source by answer, in the notebook's order; the student's other code cells stand between them under
            names like ``cell 7``.
        written: Text by answer, without the line that names it.
        messages: What the student should know about how the answers were found.
    """

    code: Mapping[str, str]
    written: Mapping[str, str] = field(default_factory=dict)
    messages: tuple[str, ...] = ()


def read(content: bytes) -> Notebook:
    """Read a notebook, of format 3 or 4, in any encoding, packed by gzip or not.

    Raises:
        Unreadable: If it is none.
    """
    try:
        return _read(content)
    except Unreadable:
        raise
    except Exception as error:
        # One file must not keep the others from being collected, whatever it holds that nobody thought of.
        raise Unreadable(f"it is no notebook that can be read ({type(error).__name__})") from error


def _read(content: bytes) -> Notebook:
    data = _json(_text(_unpacked(content)))
    cells = _cells(data)
    if len(cells) > _MOST_CELLS:
        raise Unreadable(f"it has more than {_MOST_CELLS} cells")
    found = [_cell(number, cell) for number, cell in enumerate(cells, start=1) if isinstance(cell, dict)]
    if sum(len(cell.source) for cell in found if cell.kind == "code" or cell.name) > _MOST_SOURCE:
        raise Unreadable("its code and answers are longer than a million characters")
    return Notebook(tuple(found), _document(data, [cell for cell in cells if isinstance(cell, dict)], found))


def answers(notebook: Notebook, stubs: Mapping[str, str], written: Collection[str] = ()) -> Answers:
    """Find the answers in a notebook.

    Args:
        notebook: What `read` gave.
        stubs: What stood in each answer's cell when it was handed out, by name.
        written: The answers that are text, not code.

    Returns:
        The answers, and the student's own other code cells in their places; set-up, check and pack cells are left
        out. An answer whose cell is gone is not in it.
    """
    messages: list[str] = []
    chosen = {name: _chosen(notebook, name, stubs[name], messages) for name in stubs}
    places = {cell.number: name for name, cell in chosen.items() if cell is not None}
    code: dict[str, str] = {}
    texts: dict[str, str] = {}
    for cell in notebook.cells:
        if cell.number in places:
            name = places[cell.number]
            _told_kind(cell, name, name in written, messages)
            if name in written:
                texts[name] = _NAMED.sub("", cell.source, count=1).strip()
            else:
                code[name] = without_calls(_unfenced(cell), "exercises")
        elif cell.kind == "code" and not _ours(cell) and not (cell.name in stubs and cell.commented):
            source = without_calls(cell.source, "exercises")
            if source.strip():
                code[f"cell {cell.number}"] = source
            if cell.commented and cell.name not in stubs:
                messages.append(
                    f"Cell {cell.number} names an answer {cell.name!r}, which this exercise does not ask for."
                )
    messages += [f"The cell of {name} is gone: not attempted." for name, cell in chosen.items() if cell is None]
    return Answers(code, texts, tuple(messages))


def untouched(source: str, stub: str) -> bool:
    """Whether an answer is what was handed out, but for comments and white space."""
    source, stub = (_NAMED.sub("", text, count=1).strip() for text in (source, stub))
    return source == stub or normalised(source, ()) == normalised(stub, ())


def _chosen(notebook: Notebook, name: str, stub: str, messages: list[str]) -> Cell | None:
    cells = [cell for cell in notebook.cells if cell.name == name]
    # A cell split in two keeps its metadata in both halves: the one with the comment is the answer then.
    cells = [cell for cell in cells if cell.commented] or cells
    if len(cells) > 1:
        changed = [cell for cell in cells if not untouched(cell.source, stub)]
        cell = (changed or cells)[-1]
        messages.append(f"{name} stands in {len(cells)} cells: the one that counts is cell {cell.number}.")
        return cell
    return cells[0] if cells else None


def _told_kind(cell: Cell, name: str, written: bool, messages: list[str]) -> None:
    if (cell.kind == "code") == written:
        kind, wanted = {"code": "code", "markdown": "text", "raw": "raw text"}[cell.kind], "text" if written else "code"
        messages.append(f"The cell of {name} had become {kind}; it was read as {wanted}.")


def _unfenced(cell: Cell) -> str:
    """Give a cell's code; one turned into Markdown may have got a fence."""
    lines = cell.source.strip().split("\n")
    fenced = (
        cell.kind != "code" and lines[0].startswith(_FENCES) and lines[-1].strip() == lines[0][:3] and len(lines) > 1
    )
    return "\n".join(lines[1:-1]) if fenced else cell.source


def _ours(cell: Cell) -> bool:
    """Whether a code cell came with the notebook and is no part of any answer: set-up, check and pack cells."""
    return of_source(cell.source) is not None or "asynclab.preparing" in cell.source or "check" in cell.tags


def _unpacked(content: bytes) -> bytes:
    if len(content) > LARGEST:
        raise Unreadable(f"it is larger than {LARGEST // 1_000_000} MB")
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.GzipFile(fileobj=io.BytesIO(content)).read(LARGEST + 1)
        except (OSError, EOFError, zlib.error):
            raise Unreadable("it is a damaged gzip file") from None
        if len(content) > LARGEST:
            raise Unreadable(f"unpacked, it is larger than {LARGEST // 1_000_000} MB")
    if not content.strip(b" \t\r\n\0"):
        raise Unreadable("the file is empty")
    return content


def _text(content: bytes) -> str:
    known = {b"PK\x03\x04": "a zip archive", b"%PDF": "a PDF", b"\x89PNG": "a picture", b"\xff\xd8\xff": "a picture"}
    for beginning, kind in known.items():
        if content.startswith(beginning):
            raise Unreadable(f"it is {kind}, not a notebook")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    if content[:2] in (b"{\0", b"\0{"):
        return content.decode("utf-16-le" if content[:1] == b"{" else "utf-16-be", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def _json(text: str) -> dict[str, Any]:
    begin = text.lstrip()[:200].lower()
    if begin.startswith(("<!doctype", "<html")):
        raise Unreadable("it is a web page, not a notebook")
    try:
        data = json.loads(text)
    except RecursionError:
        raise Unreadable("it is no notebook: it is nested too deeply") from None
    except ValueError as error:
        # Python limits how many digits a number may have; that message says nothing to a student.
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise Unreadable(f"it is no notebook, or a damaged one{where}") from None
    if not isinstance(data, dict):
        raise Unreadable("it is no notebook: it holds no cells")
    return data


def _cells(data: Mapping[str, Any]) -> list[Any]:
    cells = data.get("cells")
    if cells is None:
        sheets = data.get("worksheets")
        inner = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)] if isinstance(sheets, list) else []
        lists = [each for each in inner if isinstance(each, list)]
        cells = [cell for each in lists for cell in each] if lists else None
    if not isinstance(cells, list):
        raise Unreadable("it is no notebook: it holds no cells")
    return cells


def _cell(number: int, cell: Mapping[str, Any]) -> Cell:
    kind = cell.get("cell_type")
    # Format 3 had headings, which are text.
    kind = kind if isinstance(kind, str) and kind in _KINDS else ("markdown" if kind else "code")
    source = _joined(cell.get("source", cell.get("input", "")))
    metadata = cell.get("metadata") if isinstance(cell.get("metadata"), dict) else {}
    assert isinstance(metadata, dict)  # noqa: S101 - for the type checker
    tags = metadata.get("tags")
    found = _NAMED.match(source)
    commented = (found["code"] or found["text"]) if found else ""
    return Cell(
        number,
        kind,
        source,
        _by_metadata(metadata) or _by_id(cell.get("id")) or commented,
        bool(commented),
        tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else (),
    )


def _by_metadata(metadata: Mapping[str, Any]) -> str:
    ours = metadata.get("coursework")
    name = ours.get("answer") if isinstance(ours, dict) else None
    return name if isinstance(name, str) else ""


def _by_id(identity: Any) -> str:
    return identity.removeprefix("answer-") if isinstance(identity, str) and identity.startswith("answer-") else ""


def _joined(source: Any) -> str:
    text = "".join(part for part in source if isinstance(part, str)) if isinstance(source, list) else source
    # A lone surrogate can be written in JSON but in no file.
    return text.encode("utf8", "replace").decode("utf8").replace("\r\n", "\n") if isinstance(text, str) else ""


def _document(data: Mapping[str, Any], raw: list[dict[str, Any]], cells: list[Cell]) -> dict[str, Any]:
    made = []
    for old, cell in zip(raw, cells, strict=True):
        metadata = old.get("metadata")
        new: dict[str, Any] = {
            "cell_type": cell.kind,
            "id": f"cell-{cell.number}",
            "metadata": metadata if isinstance(metadata, dict) else {},
            "source": cell.source,
        }
        made.append({**new, "outputs": [], "execution_count": None} if cell.kind == "code" else new)
    metadata = data.get("metadata")
    return {
        "cells": made,
        "metadata": metadata if isinstance(metadata, dict) else {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
