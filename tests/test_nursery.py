"""The nursery of builds: what comes out of it is what the plain command gives."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from books import Book, Built, cell, page_text, plain, run
from ending import gone_within
from nursery import build_in_nursery

ODD = page_text(cell("print(1)"), "# Another Title\n\n{nothing}`x`\n")


def pages_of(book: Book) -> dict[str, bytes]:
    """All that a build wrote for readers."""
    site = book.root / "_build" / "html"
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*.html")}


def lines_of(built: Built) -> list[str]:
    """The lines that a build printed, without times and without MyST's settings, among which are sets."""
    return [re.sub(r"\d+ms|[\d.]+ s\b", "", line) for line in built.output.splitlines() if "MdParserConfig" not in line]


def test_a_build_is_that_of_the_command(make_book: Callable[..., Book]):
    """Status, lines and pages are those of the plain command, and so they are for a second build."""
    book = make_book(odd=ODD)
    assert book.build().status == 0
    shutil.rmtree(book.root / "_build")
    commanded = run(*book.command("--all"), cwd=book.root)
    written = pages_of(book)

    for _ in range(2):
        shutil.rmtree(book.root / "_build")
        built = book.build("--all")

        assert (built.status, pages_of(book)) == (commanded.status, written)
        assert lines_of(built) == lines_of(commanded)
    assert (commanded.status, "WARNING" in commanded.output, sorted(written)[-1]) == (0, True, "search.html")
    assert book.build("--all", "-W").status == 1


def test_books_do_not_share_their_modules(make_book: Callable[..., Book]):
    """A module that a book brings is that book's own, under a name that another book uses as well."""
    told = []
    for name in ("one", "two"):
        book = make_book(name, page=page_text("Prose.\n"))
        (book.root / "own.py").write_text(f"def setup(app):\n    print('this is {name}')\n")
        configuration = book.root / "_config.yml"
        configuration.write_text(
            configuration.read_text().replace("[polybook]", "[polybook, own]\n  local_extensions: {own: .}")
        )
        told.append(re.findall("this is .*", book.build().output))

    assert told == [["this is one"], ["this is two"]]


def test_build_that_takes_too_long_is_ended(make_book: Callable[..., Book]):
    """After its time a build is killed, and the next one is served."""
    book = make_book(page=page_text(cell("1")))
    with pytest.raises(subprocess.TimeoutExpired):
        book.build(timeout=0.05)

    assert book.build().status == 0


def test_build_gets_its_environment(tmp_path: Path):
    """A build has the variables that it is given, and no others."""
    configuration = "title: T\nsphinx: {local_extensions: {own: .}}\nexecute: {execute_notebooks: off}\n"
    (tmp_path / "_config.yml").write_text(configuration)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: index\n")
    (tmp_path / "index.md").write_text("# T\n")
    told = "print('it has', os.environ.get('GIVEN'), 'PWD' in os.environ)"
    (tmp_path / "own.py").write_text(f"import os\ndef setup(app):\n    {told}\n")
    environment = {name: value for name, value in plain().items() if name != "PWD"}

    status, output = build_in_nursery(
        ["build", "."], cwd=tmp_path, environment={**environment, "GIVEN": "this"}, timeout=60
    )

    assert (status, "it has this False" in output) == (0, True)


def test_nursery_ends_with_its_process():
    """Even a process that is killed leaves no nursery behind."""
    code = """
import os, nursery
from pathlib import Path
nursery.build_in_nursery(["--version"], cwd=Path("."), environment=dict(os.environ), timeout=60)
print(Path(f"/proc/self/task/{os.getpid()}/children").read_text(), flush=True)
os.kill(os.getpid(), 9)
"""
    ended = run(sys.executable, "-c", code, cwd=Path(__file__).parent, timeout=60)
    (child,) = map(int, ended.output.split()[-1:])

    assert gone_within(child, 20)
