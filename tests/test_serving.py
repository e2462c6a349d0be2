"""``polybook serve``: what is saved is built and shown, what is wrong is told, and neither needs a restart."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from books import Book, cell, page_text
from browsing import empty_page
from playwright.sync_api import Browser, Page, expect

from polybook.building import Builds, Outcome, Result, fault_in
from polybook.serving import counts, folders

PAGE = page_text("Words.\n\n", cell('print("from alpha")', "alpha"), cell('print("from beta")', "beta"))
OVERLAY = "#polybook-live[data-phase=failed]"
#: Milliseconds and seconds that a build may take while other tests run.
PATIENCE_MS, PATIENCE_S = 30_000, 30
#: Seconds in which the next build is surely prepared; if not, the test proves less.
READY_S = 4


@dataclass
class Serving:
    """A book that is served.

    Attributes:
        book: The book.
        process: The server.
        lines: What it printed so far.
    """

    book: Book
    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    def wait_for(self, pattern: str, after: int = 0) -> re.Match[str]:
        """Wait until a line has come, after so many, that holds a pattern."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            for line in self.lines[after:]:
                if found := re.search(pattern, line):
                    return found
            time.sleep(0.02)
        pytest.fail(f"no {pattern!r} in:\n" + "".join(self.lines[after:]))

    @property
    def address(self) -> str:
        """Where it is served."""
        return self.wait_for(r"(http://127\.0\.0\.1:\d+/) shows the book")[1]


@contextlib.contextmanager
def serving(book: Book) -> Iterator[Serving]:
    """Serve a book at any port."""
    process = subprocess.Popen(
        [sys.executable, "-m", "polybook", "serve", "--port", "0"],
        cwd=book.root, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    served = Serving(book, process)
    assert process.stdout is not None
    reader = threading.Thread(target=lambda: served.lines.extend(process.stdout or ()))
    reader.start()
    try:
        yield served
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(10)
        reader.join()
        process.stdout.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, environments: dict[str, Path]) -> Iterator[Serving]:
    """A book of one page, served and built."""
    from books import copy_minibook

    book = copy_minibook(tmp_path_factory.mktemp("served") / "book", environments, {"page": PAGE})
    with serving(book) as found:
        found.wait_for("polybook: built in")
        yield found


@pytest.fixture
def shown(browser: Browser, served: Serving) -> Iterator[Page]:
    """The page in a browser, as it was at first."""
    if served.book.read("page") != PAGE:
        seen = len(served.lines)
        served.book.write("page", PAGE)
        served.wait_for("polybook: built in", seen)
    with empty_page(browser, served.address) as page:
        page.goto("page.html")
        expect(page.locator("article")).to_contain_text("Words.", timeout=PATIENCE_MS)
        expect(page.locator("#polybook-live")).to_have_count(0, timeout=PATIENCE_MS)
        yield page


def test_a_save_reloads_the_page(served: Serving, shown: Page):
    """Prose that is saved is shown by itself, and no cell runs."""
    shown.evaluate("window.before = true")
    seen = len(served.lines)

    served.book.replace("page", "Words.", "Other words.")

    expect(shown.locator("article")).to_contain_text("Other words.", timeout=PATIENCE_MS)
    assert not shown.evaluate("window.before === true")
    served.wait_for("polybook: 0 cells run", seen)
    served.wait_for("polybook: built in", seen)


def test_a_cells_edit_runs_its_framework_only(served: Serving, shown: Page):
    """Of a page with two frameworks, the one runs again whose cell was edited."""
    seen = len(served.lines)

    served.book.replace("page", "from beta", "anew from beta")

    expect(shown.locator("article")).to_contain_text("anew from beta", timeout=PATIENCE_MS)
    ran = [line for line in served.lines[seen:] if ": ran " in line]
    assert len(ran) == 1
    assert "page [beta]" in ran[0]


def test_an_error_is_told_with_its_line_and_mended_without_a_restart(served: Serving, shown: Page):
    """A cell that does not parse is told in browser and terminal; the last good page stays, and mending it shows."""
    seen = len(served.lines)
    line = PAGE.split("\n").index('print("from alpha")') + 1

    served.book.replace("page", 'print("from alpha")', "print(")

    told = shown.locator(OVERLAY)
    expect(told).to_contain_text(f"page.md:{line}: [alpha]", timeout=PATIENCE_MS)
    expect(told).to_contain_text("SyntaxError")
    expect(shown.locator("article")).to_contain_text("from beta")
    served.wait_for(rf"page\.md:{line}: \[alpha\]", seen)
    served.wait_for("the build failed", seen)
    # Who comes now is told as well.
    shown.reload()
    expect(told).to_contain_text("SyntaxError")

    served.book.replace("page", "print(\n", 'print("mended alpha")\n')

    expect(shown.locator("article")).to_contain_text("mended alpha", timeout=PATIENCE_MS)
    expect(told).to_have_count(0)
    assert served.process.poll() is None


def test_a_broken_configuration_is_told_too(served: Serving, shown: Page):
    """What breaks a build before any page is read does not end the server either."""
    config = served.book.root / "_config.yml"
    good = config.read_text("utf8")

    config.write_text(good + "polybook_frameworks: {}\n", "utf8")

    try:
        expect(shown.locator(OVERLAY)).to_contain_text("polybook_frameworks", timeout=PATIENCE_MS)
    finally:
        config.write_text(good, "utf8")
    expect(shown.locator(OVERLAY)).to_have_count(0, timeout=PATIENCE_MS)


@pytest.mark.parametrize("changed", ["_config.yml", "page.md"])
def test_what_was_prepared_knows_nothing_that_is_out_of_date(make_book: Callable[..., Book], changed: str):
    """A build whose application waited all the while shows the text, and the configuration, that are there now."""
    book = make_book(page=PAGE)
    with Builds(book.root) as builds:
        builds.build(set())
        builds.prepare()
        time.sleep(READY_S)
        path = book.root / changed
        path.write_text(path.read_text("utf8").replace("Words", "New").replace(": Minibook", ": New"), "utf8")
        result = builds.build({path})

    assert result == Result(Outcome.BUILT)
    assert "New" in str(book.html("page").title if changed == "_config.yml" else book.article("page"))


def test_a_save_while_cells_run_is_not_kept_waiting(served: Serving, shown: Page):
    """A build that runs cells of an older text is given up for the newer one."""
    slow = PAGE.replace('print("from alpha")', 'import time; time.sleep(300); print("from alpha")')
    served.book.write("page", slow)
    expect(shown.locator("#polybook-live[data-phase=building]")).to_be_visible(timeout=PATIENCE_MS)
    time.sleep(1.5)

    served.book.write("page", PAGE.replace("Words.", "Newer words."))

    expect(shown.locator("article")).to_contain_text("Newer words.", timeout=PATIENCE_MS)


def test_files_are_served_as_they_are(served: Serving):
    """Only what a browser gets has the script; the site's files do not, and nothing is kept by the browser."""
    with urllib.request.urlopen(f"{served.address}page.html", timeout=10) as answer:
        text = answer.read().decode()
        kept = answer.headers["Cache-Control"]

    assert "EventSource" in text
    assert kept == "no-store"
    assert "EventSource" not in (served.book.root / "_build" / "html" / "page.html").read_text("utf8")


def test_ctrl_c_ends_it_at_once(make_book: Callable[..., Book]):
    """Also while cells run, nothing is left and the exit status is that of an ordinary end."""
    book = make_book(page=page_text(cell("import time; time.sleep(300)", "alpha")))
    with serving(book) as served:
        assert "http://127.0.0.1:" in served.address
        served.wait_for("page")
        time.sleep(1)
        start = time.monotonic()
        served.process.send_signal(signal.SIGINT)
        status = served.process.wait(10)

    assert status == 0
    assert time.monotonic() - start < 3
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(book.root) not in running


def test_only_what_can_change_the_book_counts(tmp_path: Path):
    """What editors, builds and environments write is no reason to build."""
    for name in ("chapters", "chapters/figures", ".venv-x/lib", "_build/html", "src/__pycache__"):
        (tmp_path / name).mkdir(parents=True)

    assert [path.relative_to(tmp_path).as_posix() for path in folders(tmp_path)] == [
        ".", "chapters", "chapters/figures", "src",
    ]  # fmt: skip
    ignored = ("_build/html/x.html", ".git/index", "x.md~", ".x.md.swp", "4913", "src/__pycache__/x.pyc")
    assert not any(counts(tmp_path / name, tmp_path) for name in ignored)
    assert all(counts(tmp_path / name, tmp_path) for name in ("x.md", "_config.yml", "src/lab/x.py"))


def test_what_went_wrong_begins_with_the_first_error():
    """What a build prints before its first error is left out; without one, its end is shown."""
    lines = ["reading", "ERROR: page.md:3: no", "Mend it."]

    assert fault_in(lines) == "ERROR: page.md:3: no\nMend it."
    assert fault_in([f"line {number}" for number in range(100)]).startswith("line 60\n")
