"""Write a file whole or not at all. Standard library only."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Put a file in place of another in one step, so that nobody ever reads a part of it.

    Raises:
        OSError: If it cannot be written; what was there before still is.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        # As readable as other files of the checkout: mkstemp's are the owner's alone.
        os.fchmod(handle, 0o644)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_if_other(path: Path, content: bytes) -> bool:
    """Put a file in place unless it is there with the same content; tells whether it was not.

    Raises:
        OSError: If it cannot be written.
    """
    if path.is_file() and path.read_bytes() == content:
        return False
    write_whole(path, content)
    return True
