"""Take entries out of zip files, as a person's when they are forgotten; everything else in them stays."""

from __future__ import annotations

import copy
import lzma
import shutil
import zipfile
import zlib
from collections.abc import Callable, Collection
from pathlib import Path

from coursework.files import replacing

#: What reading a damaged, encrypted or unknown zip raises.
BAD = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,
    RuntimeError,
    OSError,
    EOFError,
    ValueError,
    IndexError,
)


def entries(path: Path, wanted: Callable[[zipfile.ZipInfo], bool]) -> list[str]:
    """Name the entries of a zip that are wanted, in its order.

    Raises:
        BAD: If it cannot be read.
    """
    with zipfile.ZipFile(path) as archive:
        return [entry.filename for entry in archive.infolist() if wanted(entry)]


def is_of(entry: zipfile.ZipInfo, student: str) -> bool:
    """Whether an entry that `return` packed is a student's: see ``returning.py``."""
    return entry.comment == student.encode() or entry.filename.startswith(f"{student}/")


def without(path: Path, unwanted: Collection[str]) -> None:
    """Take entries out of a zip; one in which nothing is left goes, too.

    Args:
        path: The zip, which is replaced in one step.
        unwanted: The entries' names.

    Raises:
        BAD: If an entry that stays cannot be read; nothing has changed then.
    """
    with zipfile.ZipFile(path) as old:
        kept = [entry for entry in old.infolist() if entry.filename not in unwanted]
        if not kept:
            path.unlink()
            return
        with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
            new.comment = old.comment
            for entry in kept:
                _copy(old, entry, new)


def _copy(old: zipfile.ZipFile, entry: zipfile.ZipInfo, new: zipfile.ZipFile) -> None:
    # Piece by piece: a class's downloads may not fit in memory.
    twin = copy.copy(entry)
    twin.compress_type = zipfile.ZIP_DEFLATED
    with old.open(entry) as source, new.open(twin, "w") as target:
        shutil.copyfileobj(source, target)
