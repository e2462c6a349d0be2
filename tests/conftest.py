"""Fixtures: a copy of the minibook with light stand-in environments that really differ."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from books import MINIBOOK, Book, copy_minibook
from browsing import launched
from playwright.sync_api import Browser
from sites import PUBLISHED, made_once, site_of

from polybook.environments import make_environments
from polybook.lock import LOCK_VARIABLE
from polybook.options import config_file_options


def pytest_configure() -> None:
    """Let tests beside each other not wait for each other's kernels; those that take times run by themselves."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker:
        os.environ[LOCK_VARIABLE] = f"{tempfile.gettempdir()}/polybook-tests-{worker}.lock"


@pytest.fixture(scope="session")
def environments(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The environments of the minibook's frameworks by name, made as an author's are."""
    with made_once(tmp_path_factory, "environments") as (root, is_made):
        if not is_made:
            shutil.copytree(MINIBOOK, root)
            make_environments(config_file_options(root))
    return {name: framework.environment for name, framework in config_file_options(root).frameworks.items()}


@pytest.fixture(scope="session")
def minibook(tmp_path_factory: pytest.TempPathFactory, environments: dict[str, Path]) -> Book:
    """The minibook, built once with warnings as errors; for looking at, not for changing."""
    with made_once(tmp_path_factory, "minibook") as (root, is_made):
        if not is_made:
            built = copy_minibook(root, environments).build("-W", "--keep-going")
            assert built.status == 0, built.output
    return Book(root)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real book's site, which does not know where it will be published; for looking at."""
    return site_of(tmp_path_factory, "local")


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real book's site, which knows its address and its repository; for looking at."""
    return site_of(tmp_path_factory, "published", **PUBLISHED)


@pytest.fixture
def make_book(tmp_path: Path, environments: dict[str, Path]) -> Callable[..., Book]:
    """Make a book: the minibook, or only the given pages of it or of the test's own (``name=text``)."""

    def make(name: str = "book", **pages: str) -> Book:
        return copy_minibook(tmp_path / name, environments, pages)

    return make


# Not for the session: while Playwright runs, `asyncio.run` is refused in this thread, and other tests may need it.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser."""
    with launched() as browser:
        yield browser


@pytest.fixture
def waits() -> list[object]:
    """The waits that stand-ins for frameworks have noted, in order."""
    return []


@pytest.fixture
def no_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin as if the program had imported no framework."""
    for name in ("torch", "mxnet"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Load these modules, as if the program had imported them."""

    def load(*modules: ModuleType) -> None:
        for module in modules:
            monkeypatch.setitem(sys.modules, module.__name__, module)

    return load
