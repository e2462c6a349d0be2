"""The real book's site, for tests that look at all of its pages."""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path

from books import BIN, REPOSITORY, run

#: Kept between tests: what did not change need not be read again.
CACHE = REPOSITORY / ".polybook" / "test-site"


def build_site(target: Path) -> Path:
    """Build the real book with warnings as errors and give a copy of the site; cells run only if none ran before.

    Args:
        target: The folder of the copy, which must not be there.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    html = CACHE / "_build" / "html"
    with (CACHE / "lock").open("w") as lock:
        # Other test files, in other processes, want the same site.
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Nothing of an earlier book: pages that are gone, sheets that nobody loads.
        shutil.rmtree(html, ignore_errors=True)
        command = (
            str(BIN / "jupyter-book"),
            "build",
            str(REPOSITORY),
            "--path-output",
            str(CACHE),
            "-W",
            "--keep-going",
        )
        built = run(*command, cwd=REPOSITORY, timeout=600)
        assert built.status == 0, built.output
        shutil.copytree(html, target)
    return target


def pages_of(site: Path) -> list[str]:
    """The paths of a site's pages, in order."""
    return [path.relative_to(site).as_posix() for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
