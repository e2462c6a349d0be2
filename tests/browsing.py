"""A browser for tests, which reaches nothing but this machine, and a site for it to look at."""

from __future__ import annotations

import contextlib
import functools
import re
import shutil
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

BROWSERS = ("chromium", "google-chrome")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
ELSEWHERE = re.compile(r"^https?://(?!127\.0\.0\.1[:/])")

#: Errors that Jupyter Book's own parts put into the console of every page, also of a book without polybook.
KNOWN_ERRORS = {
    # sphinx-thebe 0.3.1: its constants are declared in two equal scripts; the second is refused, to no harm.
    "Identifier 'THEBE_JS_URL' has already been declared",
    # pydata-sphinx-theme 0.17.1, on a reader's first page only, unless `html_context` has a `default_mode`.
    "Got invalid theme mode: . Resetting to auto.",
}


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_: Any) -> None:
        """Leave the terminal to the tests."""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder; gives its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@contextlib.contextmanager
def launched() -> Iterator[Browser]:
    """Run Debian's Chromium, or Chrome."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.fail(f"no browser found (looked for: {', '.join(BROWSERS)}).\nInstall Debian's package chromium.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@contextlib.contextmanager
def empty_page(browser: Browser, address: str) -> Iterator[Page]:
    """Open a page in a context of its own, whose storage is empty."""
    with browser.new_context(base_url=address) as context:
        context.set_default_timeout(5_000)
        context.route(ELSEWHERE, lambda route: route.abort())
        yield context.new_page()


def errors_of(page: Page, path: str) -> list[str]:
    """Open a page and list the errors it makes, but for files that it could not get from elsewhere."""
    errors: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and not ELSEWHERE.match(message.location["url"]):
            errors.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: errors.append(error.message))
    page.goto(path)
    return errors
