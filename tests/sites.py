"""What is made once in a test run: the real book's sites, for tests that look at all of their pages."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from books import BIN, REPOSITORY, run

#: Kept between test runs: what did not change need not be read again.
CACHE = REPOSITORY / ".polybook" / "test-site"
#: Where the published site says that it is.
ADDRESS = "https://course.example/book/"
PUBLISHED = {"POLYBOOK_SITE": ADDRESS, "POLYBOOK_REPOSITORY": "https://github.com/some/course"}


def site_of(factory: pytest.TempPathFactory, name: str, **variables: str) -> Path:
    """Give the real book's site, built with warnings as errors; cells run only if none ran before.

    It is built once in a test run, for looking at, not for changing.

    Args:
        factory: Knows the folder of this test run.
        name: Of the site; one of the same name has the same variables.
        variables: Environment variables of the build, for a book that knows where it will be published.
    """
    kept = CACHE / name
    kept.mkdir(parents=True, exist_ok=True)
    # Other test runs use the cache as well.
    with made_once(factory, f"{name}-of-the-real-book") as (site, is_made), _held(kept / "lock"):
        if not is_made:
            html = kept / "_build" / "html"
            # Nothing of an earlier book: pages that are gone, sheets that nobody loads.
            shutil.rmtree(html, ignore_errors=True)
            _build(kept, variables)
            shutil.copytree(html, site)
    return site


@contextmanager
def made_once(factory: pytest.TempPathFactory, name: str) -> Iterator[tuple[Path, bool]]:
    """Let one of the workers of a test run make what all of them look at.

    Args:
        factory: Knows the folder of this test run.
        name: Of what is made.

    Yields:
        Where it lies, and whether it is made already. If making it fails, what there is of it is removed.
    """
    base = factory.getbasetemp()
    # Workers beside each other have a folder each, below the one of the run.
    path = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with _held(path.with_name(f"{name}.lock")):
        is_made = path.exists()
        try:
            yield path, is_made
        except BaseException:
            if not is_made:
                shutil.rmtree(path, ignore_errors=True)
            raise


@contextmanager
def _held(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(folder: Path, variables: dict[str, str]) -> None:
    command = (str(BIN / "jupyter-book"), "build", str(REPOSITORY), "--path-output", str(folder), "-W", "--keep-going")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("POLYBOOK_SITE", "POLYBOOK_REPOSITORY", "POLYBOOK_OUTPUTS"):
            patch.delenv(name, raising=False)
        for name, value in variables.items():
            patch.setenv(name, value)
        built = run(*command, cwd=REPOSITORY, timeout=900)
    assert built.status == 0, built.output


def pages_of(site: Path) -> list[str]:
    """The paths of a site's pages, in order."""
    return [path.relative_to(site).as_posix() for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
