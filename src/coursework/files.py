"""Files written whole or not at all, and names that are safe for files. Below everything else; standard library."""

from __future__ import annotations

import io
import os
import re
import tempfile
import unicodedata
import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

#: What files begin with while they are written; one that is left over was interrupted and means nothing.
WRITING = ".writing-"
#: The longest name, in characters and, as file systems count, in bytes; an ending still fits behind it.
_LONGEST, _LONGEST_BYTES = 80, 240
#: The first moment that an archive can name.
_MOMENT = (1980, 1, 1, 0, 0, 0)
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
    with replacing(path) as file:
        file.write(content.encode("utf8", "replace") if isinstance(content, str) else content)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a new file that takes the place of another once it is whole, or leaves no trace."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=WRITING)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
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


def packed(members: Mapping[str, bytes], executable: Collection[str] = ()) -> bytes:
    """Make a zip whose bytes depend on its members alone.

    Args:
        members: Contents by name.
        executable: The members that are programs.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members):
            entry = zipfile.ZipInfo(name, _MOMENT)
            entry.create_system, entry.external_attr = 3, (0o755 if name in executable else 0o644) << 16
            archive.writestr(entry, members[name], zipfile.ZIP_DEFLATED)
    return content.getvalue()


def safe_name(text: str) -> str:
    """Give the name of a file or a folder for a text that somebody else chose; empty if nothing usable is left.

    It holds letters with their marks, digits, ``.``, ``-`` and ``_`` only, and begins with a letter or a digit, so that
    no spreadsheet takes it for a formula and no file system for a folder above.
    """
    letters = (letter if letter in ".-_" or of_word(letter) else " " for letter in unicodedata.normalize("NFC", text))
    text = re.sub(" +", "-", "".join(letters))
    while text and not text[0].isalnum():
        text = text[1:]
    text = text[:_LONGEST].encode("utf8")[:_LONGEST_BYTES].decode("utf8", "ignore").rstrip("-._")
    return f"{text}-" if _DEVICES.fullmatch(text) else text


def of_word(letter: str) -> bool:
    """Whether a letter is part of a word: a letter, a digit, or a mark such as the vowel signs of Indian scripts."""
    # `\w` leaves marks out (https://bugs.python.org/issue1693050), and names of people differ by them alone.
    return letter.isalnum() or unicodedata.category(letter).startswith("M")
