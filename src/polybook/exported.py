"""Remember which files a build put into a site besides its pages, so that a later one removes what it no longer wants.

Called when a build has finished (``exporting.py``, ``ext.py``). What lies in a site and is not remembered is somebody
else's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from sphinx.application import Sphinx

_FILE = "polybook-exported.json"


def site_key(app: Sphinx) -> str:
    """Name the files of this build: several builders share doctrees and environment."""
    return f"{app.builder.name} {os.path.relpath(app.outdir, app.doctreedir)}"


def settle_exported(app: Sphinx, files: Iterable[str]) -> None:
    """Remove what earlier builds exported and this one does not, and remember what this one does.

    Args:
        app: Sphinx's application.
        files: What is exported now, as paths in the site.
    """
    known, out = _load(app), Path(app.outdir)
    before, now = known.get(site_key(app), []), sorted(set(files))
    for path in set(before) - set(now):
        (out / path).unlink(missing_ok=True)
        _remove_empty(out, (out / path).parent)
    if before != now:
        _path(app).write_text(json.dumps({**known, site_key(app): now}, indent=1, sort_keys=True), "utf8")


def _remove_empty(out: Path, folder: Path) -> None:
    while folder != out and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _path(app: Sphinx) -> Path:
    return Path(app.doctreedir) / _FILE


def _load(app: Sphinx) -> dict[str, list[str]]:
    try:
        known = json.loads(_path(app).read_text("utf8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
