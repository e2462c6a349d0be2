"""The local store of runs: one file a variant's code, outside ``_build``.

A file is written whole or not at all, and carries a digest of its content, so that a damaged one is noticed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from polybook.errors import StoreEntryUnreadable
from polybook.files import write_whole
from polybook.run import Run, run_from_json


class Store:
    """Runs by framework and code digest.

    Attributes:
        folder: Where the files are; made when the first run is stored.
    """

    def __init__(self, folder: Path) -> None:
        """Open a store; nothing is read or written yet."""
        self.folder = folder

    def path(self, framework: str, code: str) -> Path:
        """Return the file in which a run of this code would be."""
        return self.folder / framework / f"{code}.json"

    def get(self, framework: str, code: str) -> tuple[str, Run] | None:
        """Look a run up.

        Returns:
            The digest of the entry's content and the run; None if there is no entry, or one of another version.

        Raises:
            StoreEntryUnreadable: If there is an entry that cannot be used.
        """
        path = self.path(framework, code)
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreEntryUnreadable(f"{path}: {error.strerror}") from error
        return _decode(path, raw)

    def put(self, run: Run) -> str:
        """Store a run in place of an earlier one of the same code; return the digest of its content."""
        body = json.dumps(run.as_json(), sort_keys=True, ensure_ascii=False).encode()
        digest = hashlib.sha256(body).hexdigest()
        write_whole(self.path(run.framework, run.code), digest.encode() + b"\n" + body + b"\n")
        return digest

    def entries(self) -> Iterator[Run]:
        """Yield every readable run, in a stable order."""
        for path in sorted(self.folder.glob("*/*.json")):
            with contextlib.suppress(OSError, StoreEntryUnreadable):
                found = _decode(path, path.read_bytes())
                if found:
                    yield found[1]


def _decode(path: Path, raw: bytes) -> tuple[str, Run] | None:
    digest, _, body = raw.partition(b"\n")
    body = body.removesuffix(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise StoreEntryUnreadable(f"{path}: the content is not what was written")
    try:
        run = run_from_json(json.loads(body))
    except (ValueError, StoreEntryUnreadable) as error:
        raise StoreEntryUnreadable(f"{path}: {error}") from error
    if run is None:
        return None
    if (run.framework, run.code) != (path.parent.name, path.stem):
        raise StoreEntryUnreadable(f"{path}: the content belongs to another entry")
    return digest.decode(), run
