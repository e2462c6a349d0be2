"""Files written whole or not at all, and names that are safe for files. Below everything else; standard library."""

from __future__ import annotations

import os
import re
import tempfile
import unicodedata
from pathlib import Path

#: What files begin with while they are written; one that is left over was interrupted and means nothing.
WRITING = ".writing-"
_LONGEST = 80
#: Names that Windows keeps for devices.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def write_whole(path: Path, content: bytes | str) -> None:
    """Put a file in place of another in one step, so that nobody ever reads a part of it.

    The file can be read by its owner alone: grades and hand-ins are nobody else's business.

    Args:
        path: The file; its folder is made.
        content: Bytes, or text, which is written as UTF-8.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=WRITING)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode("utf8", "replace") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_if_other(path: Path, content: bytes | str) -> bool:
    """Put a file in place unless it is there with the same content; tells whether it was not."""
    content = content.encode("utf8", "replace") if isinstance(content, str) else content
    if path.is_file() and path.read_bytes() == content:
        return False
    write_whole(path, content)
    return True


def tidy(folder: Path) -> None:
    """Remove what an interrupted run left half-written in a folder."""
    for path in folder.glob(f"{WRITING}*"):
        path.unlink(missing_ok=True)


def safe_name(text: str) -> str:
    """Give the name of a file or a folder for a text that somebody else chose; empty if nothing usable is left.

    It holds letters, digits, ``.``, ``-`` and ``_`` only, and begins with a letter or a digit, so that no spreadsheet
    takes it for a formula and no file system for a folder above.
    """
    text = re.sub(r"[^\w.-]+", "-", unicodedata.normalize("NFC", text))
    text = text.strip("-._")[:_LONGEST].strip("-._")
    return f"{text}-" if _DEVICES.fullmatch(text) else text
