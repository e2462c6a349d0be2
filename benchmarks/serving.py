"""Measure how long an author waits from a save to the page that shows it, in a browser, with ``polybook serve``.

On a copy of this book with its stored runs. Each round edits a sentence of the longest chapter; the time ends when the
reloaded page shows it. With ``--check`` the exit status is 1 if the median is above the limit. Wants Chromium.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = "chapters/cost-model"
LIMIT_S = 3.0
#: Seconds that the first build may take: where stored runs are of other code, all cells run.
FIRST_S = 1800
#: Seconds from a page that has come to the next save.
PAUSE_S = 8
MARK = "Round {number} of the measurement."


def copy_book(root: Path) -> None:
    """Copy the book and its runs; environments are linked."""
    root.mkdir()
    for path in REPOSITORY.iterdir():
        if path.name.startswith(".venv-"):
            (root / path.name).symlink_to(path)
        elif path.name == ".polybook":
            # Not what tests keep there.
            ignored = shutil.ignore_patterns("test-*", "lab")
            shutil.copytree(path, root / path.name, ignore=ignored)
        elif path.is_dir() and not path.name.startswith((".", "_build")):
            shutil.copytree(path, root / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif path.is_file():
            shutil.copy2(path, root / path.name)


@contextlib.contextmanager
def serving(root: Path) -> Iterator[str]:
    """Serve the book and give its address once it is built."""
    process = subprocess.Popen(
        [sys.executable, "-m", "polybook", "serve", "--port", "0"],
        cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    lines: list[str] = []
    threading.Thread(target=lambda: lines.extend(process.stdout or ()), daemon=True).start()
    try:
        end = time.monotonic() + FIRST_S
        while not any("polybook: built in" in line for line in lines):
            if (
                process.poll() is not None
                or time.monotonic() > end
                or any("the build failed" in line for line in lines)
            ):
                raise SystemExit("the first build failed:\n" + "".join(lines[-40:]))
            time.sleep(0.1)
        yield next(found[1] for line in lines if (found := re.search(r"(http://\S+/) shows the book", line)))
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


@contextlib.contextmanager
def window(address: str) -> Iterator[Page]:
    """Open a browser on the page."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise SystemExit("no browser found. Install Debian's package chromium.")
    flags = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=flags)
        page = browser.new_page()
        page.goto(f"{address}{PAGE}.html")
        yield page
        browser.close()


def one_round(root: Path, page: Page, number: int) -> float:
    """Save an edit, wait until it is shown, and give the seconds."""
    source = root / f"{PAGE}.md"
    text = source.read_text("utf8")
    marked = re.sub(rf"\n{MARK.format(number=r'[0-9]+')}\n", "", text) + f"\n{MARK.format(number=number)}\n"
    start = time.perf_counter()
    source.write_text(marked, "utf8")
    page.get_by_text(MARK.format(number=number)).wait_for(state="attached", timeout=60_000)
    elapsed_s = time.perf_counter() - start
    # As an author, who reads and writes a little before the next save.
    time.sleep(PAUSE_S)
    return elapsed_s


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "book"
        copy_book(root)
        with serving(root) as address, window(address) as page:
            time.sleep(PAUSE_S)
            seconds = [one_round(root, page, number) for number in range(arguments.rounds)]
    median_s = statistics.median(seconds)
    print(f"prose edit to reloaded page, {PAGE}: " + ", ".join(f"{value:.2f}" for value in seconds) + " s")
    print(f"median of {len(seconds)}: {median_s:.2f} s (limit {LIMIT_S:.1f} s)")
    sys.exit(1 if arguments.check and median_s > LIMIT_S else 0)


if __name__ == "__main__":
    main()
