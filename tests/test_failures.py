"""Every way in which a build can fail: what it says, that it lists all of it, and that nothing is published."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from books import BOTH, Book, Built, cell, page_text

MakeBook = Callable[..., Book]

OK = cell("1", "alpha") + cell("2", "beta")

#: Faulty pages: text, and what a build has to say of each (place, framework, and what to do).
FAULTS = {
    "raises": (
        page_text(cell("1", "alpha"), cell("x = 1\n\ny = x / 0", "beta")),
        ["raises.md:18: [beta] cell 1 of 1 raised ZeroDivisionError: division by zero", "raises-exception"],
    ),
    "syntax": (
        page_text(cell("1", "alpha") + cell("x = (", "beta")),
        ["syntax.md:16: [beta] cell 1 of 1 raised SyntaxError"],
    ),
    "dies": (
        page_text(cell("1", "alpha"), cell("2", "beta"), cell("import os\nos.kill(os.getpid(), 9)", "beta")),
        ["dies.md:21: [beta] the kernel died in cell 2 of 2"],
    ),
    "slow": (
        BOTH.replace("beta]", "beta]\n  timeout: 0.5")
        + "# Slow\n\n"
        + cell("import time\ntime.sleep(60)", "alpha")
        + cell("2", "beta"),
        ["slow.md:12: [alpha] cell 1 of 1 took longer than 0.5 s and was stopped", "polybook: {timeout: seconds}"],
    ),
    "lacks": (
        page_text(cell("import torch_of_the_future", "alpha"), cell("2", "beta")),
        ["lacks.md:11: [alpha] cell 1 of 1 raised ModuleNotFoundError", "python -m polybook env alpha"],
    ),
    "typo": (
        page_text(cell("1", "alhpa"), OK),
        ["typo.md:9: tag 'alhpa' is unknown (known: alpha, beta", "polybook_tags"],
    ),
    "key": (
        page_text(OK).replace("  frameworks:", "  framewroks: [alpha]\n  frameworks:"),
        ["key.md:4: unknown front-matter key `polybook: framewroks` (known: frameworks, needs, timeout)"],
    ),
    "unknown": (
        page_text(OK).replace("[alpha, beta]", "[alpha, beta, jaxx]"),
        ["unknown.md:4: framework 'jaxx' is unknown (known: alpha, beta)", "polybook_frameworks"],
    ),
    "nested": (
        page_text(OK, ":::{note}\n", cell("3", "alpha").strip(), "\n:::\n"),
        ["nested.md:20: this code cell would be dropped", "top level"],
    ),
    "without": (
        page_text(cell("1", "alpha")),
        ["without.md:4: [beta] framework 'beta' is declared, but no cell is tagged with it"],
    ),
    "nonotebook": (
        page_text(OK).replace("file_format: mystnb\n", ""),
        ["nonotebook.md:1: the page has `polybook` settings but is no MyST-NB notebook", "file_format: mystnb"],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def broken(environments: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Book, Built, Built]:
    """A book in which every page but one is faulty, and its first and second build."""
    from books import copy_minibook

    pages = {name: text for name, (text, _) in FAULTS.items()}
    book = copy_minibook(
        tmp_path_factory.mktemp("broken") / "book",
        environments,
        {**pages, "good": page_text(cell("'good'", "alpha"), cell("'good too'", "beta"))},
    )
    return book, book.build(), book.build()


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("build", [1, 2], ids=["first build", "second build"])
def test_fault_is_told_with_page_line_framework_and_remedy(broken: tuple[Book, Built, Built], name: str, build: int):
    """Each build tells each page's fault: where, what, and what to do."""
    output = broken[build].output

    for piece in FAULTS[name][1]:
        assert piece in output


def test_all_failures_are_told_in_one_build(broken: tuple[Book, Built, Built]):
    """One build is enough to learn of every faulty page, and of nothing else."""
    _, first, second = broken
    told = [line for line in first.output.splitlines() if line.startswith("ERROR: ")]

    assert sorted({line.removeprefix("ERROR: ").partition(".md")[0] for line in told}) == sorted(FAULTS)
    assert f"polybook: {len(told)} failures, no page was written" in first.output
    assert [line for line in second.output.splitlines() if line.startswith("ERROR: ")] == told


def test_both_builds_fail_without_a_page_or_a_traceback(broken: tuple[Book, Built, Built]):
    """The exit status is 1 each time, no page is published and the author is shown no traceback of ours."""
    book, first, second = broken

    assert (first.status, second.status) == (1, 1)
    assert not book.has_html()
    assert "Traceback" not in first.output + second.output


def test_good_page_of_a_broken_book_is_not_lost(broken: tuple[Book, Built, Built]):
    """What succeeded in a failed build is stored, and not run again."""
    _, first, second = broken

    assert ("good", "alpha") in first.ran()
    assert [variant for variant in second.ran() if variant[0] == "good"] == []
    assert "runs recalled" in second.output


def test_command_line_tells_the_same_failures(broken: tuple[Book, Built, Built]):
    """``python -m polybook run`` says what a build says, and exits with 1."""
    done = broken[0].polybook("run")

    assert done.status == 1
    for _, pieces in FAULTS.values():
        assert pieces[0] in done.output


def test_repaired_book_builds(make_book: MakeBook):
    """Once the fault is mended, the next build publishes, and runs only what had failed."""
    book = make_book(page=page_text(cell("1", "alpha"), cell("1 / 0", "beta")), other=page_text(OK))
    failed = book.build()
    book.replace("page", "1 / 0", "1 / 1")

    repaired = book.build()

    assert failed.status == 1
    assert (repaired.status, repaired.ran()) == (0, [("page", "beta")])
    assert book.has_html()


def test_page_that_breaks_later_fails_every_build(make_book: MakeBook):
    """A book that was published before fails as well, each time, and its old pages stay as they were."""
    book = make_book(page=page_text(OK))
    assert book.build().status == 0
    before = (book.root / "_build/html/page.html").read_bytes()
    book.replace("page", "\n2\n", "\n2 / 0\n")

    statuses = [book.build().status for _ in range(2)]

    assert statuses == [1, 1]
    assert (book.root / "_build/html/page.html").read_bytes() == before


def test_failures_are_told_when_warnings_are_errors(make_book: MakeBook):
    """With ``-W`` a warning elsewhere does not hide the failures, and the status is not 0."""
    book = make_book(page=page_text(cell("1", "alpha"), cell("2 / 0", "beta"), "{unknown-role}`x`\n"))

    built = book.build("-W")

    assert built.status != 0
    assert "page.md:16: [beta] cell 1 of 1 raised ZeroDivisionError" in built.output
    assert not book.has_html()


def test_no_environment(make_book: MakeBook):
    """A framework whose environment was never made is told with the command that makes it."""
    book = make_book(page=page_text(OK))
    (book.root / ".venv-beta").unlink()

    builds = [book.build(), book.build()]

    for built in builds:
        assert built.status == 1
        assert "page.md:16: [beta] there is no environment at .venv-beta." in built.output
        assert "python -m polybook env beta" in built.output


def test_environment_without_ipykernel(make_book: MakeBook, environments: dict[str, Path]):
    """An environment that cannot start a kernel is told so, not as a time-out."""
    book = make_book(page=page_text(OK))
    link = book.root / ".venv-beta"
    link.unlink()
    shutil.copytree(environments["beta"], link, symlinks=True)
    for path in link.glob("lib/python*/site-packages/ipykernel"):
        shutil.rmtree(path)

    built = book.build()

    assert built.status == 1
    assert "page.md:16: [beta] its kernel did not start" in built.output
    assert "ipykernel" in built.output


def test_wrong_configuration_stops_the_build(make_book: MakeBook):
    """A wrong option ends the build with its name and what is allowed."""
    book = make_book(page=page_text(OK))
    config = book.root / "_config.yml"
    config.write_text(config.read_text().replace("{title: Beta, environment: .venv-beta}", "{titel: Beta}"))

    built = book.build()
    listed = book.polybook("status")

    assert built.status != 0
    assert "`polybook_frameworks: beta` needs a `title` and an `environment`" in built.output
    assert listed.status == 2
    assert "`polybook_frameworks: beta` needs a `title` and an `environment`" in listed.output
