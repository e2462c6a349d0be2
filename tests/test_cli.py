"""The command line: what it prints, what it stores, and with which status it ends."""

from __future__ import annotations

import json
import re
import shutil
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from books import REPOSITORY, Book, cell, copy_minibook, front_matter, page_text

from polybook.__main__ import main
from polybook.circumstances import REASONS
from polybook.lock import machine_lock
from polybook.store import Store

SHARED = cell("import lab; x = 1")
GOOD = page_text("Words.\n\n", SHARED, cell("print('alpha')", "alpha"), cell("print('beta')", "beta"))
OTHER = front_matter("polybook:", "  frameworks: [alpha]", "  timeout: 9", "  needs: {alpha: cpu}") + cell("y = 1")
BAD = page_text(cell("1 / 0", "alpha"), cell("b = 1", "beta"))
BROKEN = page_text(cell("a = 1", "alpha"), cell("b = 1", "beta"), cell("c = 1", "gama"))

Call = Callable[..., tuple[int, str, str]]


def told(output: str) -> list[str]:
    """The lines of an output, but for those about what else the machine does just now."""
    elsewhere = (": waiting for the kernel of ", ": noisy (")
    return [line for line in output.splitlines() if not any(words in line for words in elsewhere)]


@pytest.fixture(scope="module")
def filled(environments: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Book:
    """A book of two pages whose store was filled by `python -m polybook run`; for copying."""
    root = tmp_path_factory.mktemp("cli") / "book"
    book = copy_minibook(root, environments)
    (root / "part").mkdir()
    book.keep_only({"one": GOOD, "part/two": OTHER})
    done = book.polybook("run")
    assert done.status == 0, done.output
    assert [line.partition(" in ")[0] for line in told(done.output)] == [
        "one [alpha]: ran 2 cells", "one [beta]: ran 2 cells", "part/two [alpha]: ran 1 cell",
    ]  # fmt: skip
    return book


@pytest.fixture
def book(filled: Book, tmp_path: Path) -> Book:
    """A copy of that book, its store filled."""
    shutil.copytree(filled.root, tmp_path / "book", symlinks=True)
    return Book(tmp_path / "book")


@pytest.fixture
def call(book: Book, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Call the command line in the book's folder; gives status, output and errors."""
    monkeypatch.chdir(book.root)

    def command(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main(arguments)
        out, err = capsys.readouterr()
        return status, out, err

    return command


def states(output: str) -> dict[tuple[str, str], str]:
    """The states in a table that `status` printed, by page and framework."""
    rows = [re.split(r"  +", line) for line in output.splitlines()]
    assert rows[0] == ["page", "framework", "state", "made", "seconds", "cells", "recorded"]
    return {(row[0], row[1]): row[2].removesuffix(" (noisy)") for row in rows[1:]}


FRESH = {("one", "alpha"): "fresh", ("one", "beta"): "fresh", ("part/two", "alpha"): "fresh"}


# run


def test_run_of_what_is_fresh_runs_nothing(book: Book, call: Call):
    """A fresh run is told with its date, and its entry is left alone."""
    before = {path: path.stat().st_mtime_ns for path in book.store_files()}

    status, out, err = call("run")

    assert (status, err) == (0, "")
    assert [re.sub(r"\d", "0", line) for line in out.splitlines()] == [
        f"{name}: fresh, of 0000-00-00 00:00:00" for name in ("one [alpha]", "one [beta]", "part/two [alpha]")
    ]
    assert {path: path.stat().st_mtime_ns for path in book.store_files()} == before


def test_build_after_a_run_runs_nothing(book: Book):
    """What `run` stored is what the build recalls: it runs no cell and shows their outputs."""
    built = book.build()

    assert (built.status, built.cells_run) == (0, 0), built.output
    assert "0 cells run in 0 variants, 3 runs recalled" in built.output
    assert "beta" in book.article("one").get_text()


def test_force_runs_one_framework_again(book: Book, call: Call):
    """`--force` runs what is fresh, `--framework` nothing but that framework, a page's path nothing but that page."""
    status, out, _ = call("run", "--force", "--framework", "beta", "one.md")

    assert status == 0
    assert [re.sub(r"[\d.]+ s", "N s", line) for line in told(out)] == ["one [beta]: ran 2 cells in N s"]


def test_run_of_what_is_stale_runs_it_again(book: Book, call: Call):
    """A run that other pins made is not recalled; once it ran again it is fresh."""
    edit_pins(book)

    status, out, _ = call("run", "part/two")

    assert (status, [line.partition(" in ")[0] for line in told(out)]) == (0, ["part/two [alpha]: ran 1 cell"])
    assert states(call("status", "part/two")[1]) == {("part/two", "alpha"): "fresh"}


def test_waiting_is_no_part_of_a_run(book: Book, call: Call):
    """A run that waits for another build's kernel says so, and the time that it took is its own."""
    holding = threading.Event()

    def hold() -> None:
        with machine_lock("another page [beta]", print):
            holding.set()
            time.sleep(1.5)

    holder = threading.Thread(target=hold)
    holder.start()
    holding.wait(60)
    status, out, _ = call("run", "--force", "part/two")
    holder.join()

    assert (status, "part/two [alpha]: waiting for the kernel of another page [beta] (process " in out) == (0, True)
    (run,) = (run for run in Store(book.root / ".polybook").entries() if run.page == "part/two")
    between = datetime.fromisoformat(run.ended) - datetime.fromisoformat(run.started)
    assert run.elapsed_s == pytest.approx(between.total_seconds(), abs=0.5)


def test_framework_that_a_page_lacks(call: Call):
    """A page without the framework is passed over, and where nothing is left that is said."""
    expected = "nothing to run: no page has cells of that kind\n"

    assert call("run", "--framework", "beta", "part/two") == (0, expected, "")


def test_failure_does_not_stop_the_rest(book: Book, call: Call):
    """A cell that raises gives status 1 and its place; the other framework and the other pages run all the same."""
    book.write("one", BAD)

    status, out, err = call("run", "one", "part/two")

    assert status == 1
    assert [line.partition(":")[0] for line in told(out)] == ["one [beta]", "part/two [alpha]"]
    line = book.read("one").splitlines().index("1 / 0") + 1
    assert err.splitlines()[0] == f"one.md:{line}: [alpha] cell 1 of 1 raised ZeroDivisionError: division by zero"
    assert len(list((book.root / ".polybook" / "alpha").iterdir())) == 2


def test_execution_that_is_off_is_told(book: Book, call: Call):
    """Where the book says that nothing may run, `run` says so, and `--force` overrules it."""
    config = book.root / "_config.yml"
    config.write_text(config.read_text().replace("timeout: 60", "timeout: 60\n  execute_notebooks: 'off'"))
    book.replace("part/two", "y = 1", "y = 2")

    status, out, _ = call("run", "part/two")

    assert (status, out) == (0, "part/two [alpha]: not run, since _config.yml says `execute_notebooks: off`\n")
    assert states(call("status", "part/two")[1]) == {("part/two", "alpha"): "stale: its code changed"}


@pytest.mark.parametrize("command", ["run", "status", "plan"])
def test_faulty_page_is_told_and_the_rest_is_done(book: Book, call: Call, command: str):
    """Every command tells a page's faults, does the rest and ends with status 1."""
    book.write("one", BROKEN)

    status, out, err = call(command)

    assert status == 1
    line = book.read("one").splitlines().index(":tags: [gama]")
    assert err.startswith(f"one.md:{line}: tag 'gama' is unknown")
    assert "part/two" in out
    assert "one [" not in out


# Pages by name


@pytest.mark.parametrize("name", ["part/two", "part/two.md", "./part/two.md"])
def test_page_may_be_named_by_docname_or_path(call: Call, name: str):
    """A page is found by its docname and by its path from here."""
    assert list(states(call("status", name)[1])) == [("part/two", "alpha")]


def test_book_may_be_elsewhere(book: Book, call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """With `--book` the command works from any folder; pages are named by docname or by path."""
    monkeypatch.chdir(tmp_path)

    assert states(call("--book", "book", "status")[1]) == FRESH
    for name in ("one", "book/one.md", str(book.path("one"))):
        assert len(states(call("--book", "book", "status", name)[1])) == 2


@pytest.mark.parametrize("command", ["run", "status", "plan"])
def test_unknown_page(call: Call, command: str):
    """A name that is no page of the book gives status 2, nothing on standard output, and the names there are."""
    status, out, err = call(command, "tow")

    assert (status, out) == (2, "")
    assert err == "tow is no page of this book.\nName one that stands in _toc.yml: index, one, part/two.\n"


def test_unknown_framework(call: Call):
    """A framework that the book does not know gives status 2 and the names there are."""
    for arguments in (("run", "--framework", "gama"), ("env", "gama")):
        status, out, err = call(*arguments)
        assert (status, out) == (2, "")
        assert err == "framework 'gama' is unknown (known: alpha, beta).\nCorrect the name.\n"


def test_wrong_call(call: Call):
    """A command that there is not, or none at all, gives status 2."""
    for arguments in (("biuld",), (), ("status", "--force")):
        with pytest.raises(SystemExit) as caught:
            call(*arguments)
        assert caught.value.code == 2


# status


def test_status_of_what_is_fresh(call: Call):
    """A table tells of each page and framework its state, when it was made, how long it took, how many cells."""
    status, out, err = call("status")

    assert (status, err) == (0, "")
    assert states(out) == FRESH
    rows = [re.split(r"  +", line) for line in out.splitlines()[1:]]
    assert [row[5] for row in rows] == ["2", "2", "1"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", row[3]) and float(row[4]) > 0 for row in rows)


def edit_package(book: Book) -> None:
    """Edit the project's own package."""
    with (book.root / "lab" / "__init__.py").open("a") as file:
        file.write("a = 1\n")


def edit_both(book: Book) -> None:
    """Edit the package and Alpha's pins."""
    edit_package(book)
    edit_pins(book)


def edit_pins(book: Book) -> None:
    """Edit Alpha's file of pins."""
    with (book.root / "requirements" / "alpha.txt").open("a") as file:
        file.write("six==1.17.0\n")


STALE: dict[str, tuple[Callable[[Book], None], dict[tuple[str, str], str]]] = {
    "tagged cell": (
        lambda book: book.replace("one", "print('beta')", "print('BETA')"),
        {("one", "beta"): "stale: its code changed"},
    ),
    "untagged cell": (
        lambda book: book.replace("one", "x = 1", "x = 2"),
        {("one", "alpha"): "stale: its code changed", ("one", "beta"): "stale: its code changed"},
    ),
    "prose": (lambda book: book.replace("one", "Words.", "Other words."), {}),
    "package": (edit_package, dict.fromkeys(FRESH, f"stale: {REASONS['packages']}")),
    "pins": (
        edit_pins,
        {key: f"stale: {REASONS['pins']}" for key in FRESH if key[1] == "alpha"},
    ),
    "pins and package": (
        edit_both,
        {
            ("one", "alpha"): f"stale: {REASONS['pins']}, {REASONS['packages']}",
            ("one", "beta"): f"stale: {REASONS['packages']}",
            ("part/two", "alpha"): f"stale: {REASONS['pins']}, {REASONS['packages']}",
        },
    ),
}


@pytest.mark.parametrize(("edit", "changed"), STALE.values(), ids=STALE)
def test_status_tells_why_a_run_is_stale(
    book: Book, call: Call, edit: Callable[[Book], None], changed: dict[tuple[str, str], str]
):
    """An edit makes stale what depends on it, with the reason, and nothing else."""
    edit(book)

    assert states(call("status")[1]) == {**FRESH, **changed}


def test_status_of_what_was_never_run(book: Book, call: Call):
    """Without a store every run is missing; asking makes none."""
    shutil.rmtree(book.root / ".polybook")

    assert set(states(call("status")[1]).values()) == {"missing"}
    assert not (book.root / ".polybook").exists()


def test_status_of_a_damaged_entry(book: Book, call: Call):
    """A damaged entry is told as unreadable."""
    (path,) = (book.root / ".polybook" / "beta").iterdir()
    path.write_bytes(b"x")

    assert states(call("status")[1])[("one", "beta")].startswith("unreadable: ")


# plan


def test_plan_is_what_the_store_is_named_after(book: Book, call: Call):
    """The plan is JSON with every variant, in order; the digest of its code is the name of its run's file."""
    status, out, err = call("plan")
    plan = json.loads(out)

    assert (status, err, plan["schema"]) == (0, "", 2)
    variants = plan["variants"]
    assert [(v["page"], v["framework"]) for v in variants] == list(FRESH)
    assert sorted(f"{v['framework']}/{v['code']}.json" for v in variants) == [
        path.relative_to(book.root / ".polybook").as_posix() for path in book.store_files()
    ]
    assert all(
        set(v) == {"page", "path", "framework", "code", "needs", "timeout_s", "folder", "cells"} for v in variants
    )
    assert [(v["needs"], v["timeout_s"]) for v in variants] == [("", None), ("", None), ("cpu", 9.0)]


def test_plan_holds_the_code_and_its_lines(book: Book, call: Call):
    """Each cell of the plan stands in the page at the line that the plan says."""
    lines = book.read("one").splitlines()

    (alpha, beta) = json.loads(call("plan", "one")[1])["variants"]

    assert [c["source"] for c in alpha["cells"]] == ["import lab; x = 1", "print('alpha')"]
    assert [c["source"] for c in beta["cells"]] == ["import lab; x = 1", "print('beta')"]
    assert [lines[c["line"] - 1] for c in alpha["cells"]] == [c["source"] for c in alpha["cells"]]


def test_plan_keeps_every_script(book: Book, call: Call):
    """Code beyond ASCII is written as it is."""
    book.write("one", page_text(cell("é = '😀'")))

    out = call("plan", "one")[1]

    assert "é = '😀'" in out
    assert json.loads(out)["variants"][0]["cells"][0]["source"] == "é = '😀'"


# env


def test_env_makes_what_is_named(book: Book, call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """`env` says what it made; when there is nothing to do it says nothing."""
    uv = tmp_path / "uv"
    uv.write_text("#!/bin/sh\nexit 0\n")
    uv.chmod(0o755)
    monkeypatch.setenv("UV", str(uv))
    environment = book.root / ".venv-alpha"
    environment.unlink()
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").touch()

    made = (
        "making the environment of Alpha in .venv-alpha (packages may have to be loaded)\nenvironment of alpha: made\n"
    )
    assert call("env", "alpha") == (0, made, "")
    assert call("env", "alpha") == (0, "", "")


def test_env_that_fails(book: Book, call: Call, monkeypatch: pytest.MonkeyPatch):
    """An environment that cannot be made gives status 1 and the reason."""
    (book.root / ".venv-alpha").unlink()
    monkeypatch.setenv("UV", "/nowhere/uv")

    status, out, err = call("env", "alpha")

    assert (status, out[:31]) == (1, "making the environment of Alpha")
    assert err.startswith("The environment of Alpha could not be made: /nowhere/uv: No such file or directory.")


# Books that are none


def test_folder_without_a_book(call: Call, tmp_path: Path):
    """Every command ends with status 2 where there is no book."""
    (tmp_path / "empty").mkdir()

    for command in ("run", "status", "plan", "env"):
        status, out, err = call("--book", str(tmp_path / "empty"), command)
        assert (status, out) == (2, "")
        assert "_config.yml: No such file or directory." in err


@pytest.mark.parametrize("text", [None, "- a\n", "format: jb-book\n", "a: [\n"])
def test_table_of_contents_that_is_none(book: Book, call: Call, text: str | None):
    """A table of contents that is missing or wrong is told, with status 2."""
    path = book.root / "_toc.yml"
    path.write_text(text) if text else path.unlink()

    status, out, err = call("status")

    assert (status, out) == (2, "")
    assert err.startswith(f"{path}: ")


def test_build_tells_pages_that_cannot_be_read(book: Book):
    """A page that MyST-NB cannot read, or whose front matter is no YAML, ends the build with its line, in order."""
    book.write("one", page_text(cell("a = 1", "alpha"), "```{code-cell}\n:tags: beta\nb = 1\n```\n"))
    book.replace("part/two", "[alpha]", "[alpha")

    built = book.build()

    line = book.read("one").splitlines().index(":tags: beta")
    assert (built.status, book.has_html()) == (1, False)
    assert f"ERROR: one.md:{line}: MyST-NB cannot read this cell: 'beta' is not of type 'array'." in built.output
    assert "ERROR: part/two.md:5: the front matter is not valid YAML: " in built.output
    assert "polybook: 2 failures, no page was written" in built.output
    assert "Traceback" not in built.output.partition("no page was written")[0]


def test_page_with_a_byte_order_mark(book: Book, call: Call):
    """A byte order mark, as some editors write, changes nothing: Sphinx does not see it either."""
    book.path("one").write_bytes(b"\xef\xbb\xbf" + book.path("one").read_bytes().replace(b"\n", b"\r\n"))

    assert states(call("status")[1]) == FRESH


def test_page_of_the_contents_that_is_missing(book: Book, call: Call):
    """A file that stands in the contents and is not there is left for Jupyter Book to tell."""
    book.path("one").unlink()

    status, out, _ = call("status")

    assert (status, list(states(out))) == (0, [("part/two", "alpha")])


# prose, claims


def test_prose_finds_what_was_typed(book: Book, call: Call):
    """A timing in any page's prose is named with its line; a page that was chosen is looked at alone."""
    before = call("prose")
    book.write("index", "# Index\n\nIt took 0.31 s. See 1000 by 1000, free since 3.14.\n")

    status, out, err = call("prose")

    assert before == (0, "", "")
    assert (status, out) == (1, "")
    assert err.startswith("index.md:3: `0.31 s` looks like a measurement typed by hand.")
    assert call("prose", "one") == (0, "", "")


def test_claims_are_listed_without_building(book: Book, call: Call):
    """A line for each claim of each run that a page would show."""
    shutil.copytree(REPOSITORY / "src" / "asynclab", book.root / "asynclab")
    claims = "import asynclab\nasynclab.claim('holds', True)\nasynclab.claim('does_not', False, must=True)"
    book.write("one", page_text(cell(claims, "alpha"), cell("b = 1", "beta")))
    call("run", "one")

    status, out, err = call("claims")

    assert (status, err) == (0, "")
    assert [re.split(r"  +", line) for line in out.splitlines()] == [
        ["page", "framework", "claim", "holds", "must", "run"],
        ["one", "alpha", "holds", "yes", "no", "this build"],
        ["one", "alpha", "does_not", "no", "yes", "this build"],
    ]
