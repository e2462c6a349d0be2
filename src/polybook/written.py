"""Remember which runs the files of a site show, and find the pages whose files are behind.

Sphinx decides by the time stamps of sources whether a file is up to date. That misses a page whose run changed while
another builder was at work (builders share doctrees and environment), or while a build ended before it had written
everything.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from sphinx.application import Sphinx

from polybook.exported import site_key
from polybook.exporting import Exporter
from polybook.runs_table import pages_with_table
from polybook.shown import pages_with_glue, shown_runs

_FILE = "polybook-written.json"


def pages_behind(app: Sphinx, exporter: Exporter | None = None) -> list[str]:
    """List the pages whose files do not show the runs that they should, or whose notebooks are not there."""
    written = _load(app).get(site_key(app), {})
    return sorted(
        docname
        for docname, shown in _identities(app, exporter).items()
        if written.get(docname) != shown or (exporter and exporter.missing(docname))
    )


def remember_written(app: Sphinx, error: Exception | None, exporter: Exporter | None = None) -> None:
    """Note what the site's files show, for ``build-finished``; only a build that wrote all of them may."""
    shown = _identities(app, exporter)
    if error is not None or not shown:
        return
    known = _load(app)
    now = {**known, site_key(app): shown}
    if now != known:
        _path(app).write_text(json.dumps(now, indent=1, sort_keys=True), "utf8")


def _identities(app: Sphinx, exporter: Exporter | None) -> dict[str, dict[str, str]]:
    """Give, for each page that shows anything of a run, what it shows: its own, other pages' values, tables of all."""
    notebooks = {"(notebooks)": exporter.identity()} if exporter else {}
    own = {
        docname: {name: " ".join(shown.identities) for name, shown in variants.items()} | notebooks
        for docname, variants in shown_runs(app.env).items()
    }
    everything = hashlib.sha256(repr(sorted(shown_runs(app.env).items())).encode()).hexdigest()
    tables = {docname: {"(tables)": everything} for docname in pages_with_table(app.env)}
    quoted = {
        docname: {f"({source})": " ".join(own.get(source, {}).values()) for source in sources}
        for docname, sources in pages_with_glue(app.env).items()
    }
    pages = {*own, *tables, *quoted}
    return {page: {**own.get(page, {}), **tables.get(page, {}), **quoted.get(page, {})} for page in pages}


def _path(app: Sphinx) -> Path:
    return Path(app.doctreedir) / _FILE


def _load(app: Sphinx) -> dict[str, dict[str, dict[str, str]]]:
    try:
        known = json.loads(_path(app).read_text("utf8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
