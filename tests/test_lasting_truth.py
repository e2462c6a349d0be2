"""What a page shows stays true: across builders, failed builds, other folders, other files, floods of output."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from books import BIN, Book, cell, options, page, page_text, run, tabs

from polybook.circumstances import circumstances
from polybook.errors import LockUnusable
from polybook.lock import machine_lock
from polybook.scrub import scrub
from polybook.split import split

MakeBook = Callable[..., Book]


def outputs(book: Book, name: str = "page") -> list[str]:
    """What every panel of a page shows as output, in order."""
    return [output.get_text().strip() for output in book.article(name).select(".cell_output")]


def test_pages_are_right_after_another_builder(make_book: MakeBook):
    """A run that changed while another builder was at work is shown by the next build of this one."""
    book = make_book(page=page_text(cell("import lab\nprint(lab.value)", "alpha"), cell("print('beta')", "beta")))
    package = book.root / "lab" / "__init__.py"
    package.write_text("value = 'old'\n")
    book.build()
    package.write_text("value = 'new'\n")
    book.build("--builder", "singlehtml")

    built = book.build()

    assert (built.status, built.cells_run) == (0, 0)
    assert outputs(book) == ["new", "beta"]
    assert "0 added, 0 changed" in book.build().output


def test_pages_are_right_after_a_build_that_ended_while_writing(make_book: MakeBook):
    """A build that breaks off while it writes pages leaves none behind for good."""
    book = make_book(page=page_text(cell("import lab\nprint(lab.value)", "alpha"), cell("print('beta')", "beta")))
    package = book.root / "lab" / "__init__.py"
    package.write_text("value = 'old'\n")
    book.build()
    package.write_text("value = 'new'\n")
    extension = book.root / "breaks.py"
    extension.write_text(
        "def setup(app):\n    app.connect('html-page-context', stop, priority=1)\n"
        "def stop(*_):\n    import pathlib\n    if pathlib.Path('stop').exists():\n        raise KeyboardInterrupt\n"
    )
    config = book.root / "_config.yml"
    config.write_text(config.read_text().replace("sphinx:\n", "sphinx:\n  local_extensions: {breaks: .}\n"))
    (book.root / "stop").touch()
    broken = book.build()
    (book.root / "stop").unlink()

    built = book.build()

    assert broken.status != 0
    assert built.status == 0, built.output
    assert outputs(book) == ["new", "beta"]


def test_failed_build_does_not_spoil_later_ones(make_book: MakeBook):
    """Pages that were read in a failed build are read again, whatever makes Sphinx write them."""
    book = make_book(page=page_text(cell("print('alpha')", "alpha"), cell("print('beta')", "beta")))
    book.build()
    link = book.root / ".venv-beta"
    target = link.readlink()
    link.unlink()
    failed = book.build()
    link.symlink_to(target)
    book.build()
    config = book.root / "_config.yml"
    config.write_text(config.read_text() + "html: {extra_footer: changed}\n")

    built = book.build()

    assert failed.status == 1
    assert (built.status, built.cells_run) == (0, 0)
    assert outputs(book) == ["alpha", "beta"]


def test_same_code_in_two_folders_is_two_runs(make_book: MakeBook):
    """Cells open files of their page's folder, so that the folder is part of what runs."""
    text = page_text(cell("print(open('data.txt').read())", "alpha"), cell("'beta'", "beta"))
    book = make_book(page=text)
    for name in "ab":
        (book.root / name).mkdir()
        (book.root / name / "data.txt").write_text(f"data of {name}")
        book.write(f"{name}/page", text)
    toc = book.root / "_toc.yml"
    toc.write_text(toc.read_text().replace("  - file: page\n", "  - file: a/page\n  - file: b/page\n"))

    assert book.build().status == 0

    assert outputs(book, "a/page")[0] == "data of a"
    assert outputs(book, "b/page")[0] == "data of b"


def test_folder_is_no_part_of_a_run_in_a_temporary_one():
    """With `run_in_temp` a page may move, and its run stays."""
    here = split(page(["1"]), "pytorch")

    assert here.folder == "."
    assert here.as_json()["folder"] == "."


def test_no_output_is_lost(make_book: MakeBook):
    """A flood of output arrives whole: nothing in its middle is dropped, nothing at its end cut."""
    count = 12_000
    shown = f"from IPython.display import display\nfor n in range({count}): display(n)"
    printed = f"import sys\nfor n in range({count}):\n    print(n, file=sys.stderr); sys.stderr.flush()"
    book = make_book(page=page_text(cell(shown, "alpha"), cell(printed, "beta")))

    done = book.polybook("run")

    assert done.status == 0, done.output
    stored = {path.parent.name: path.read_text() for path in book.store_files()}
    assert stored["alpha"].count('"display_data"') == count
    assert re.search(rf'"text": "0\\n1\\n2\\n.*\\n{count - 2}\\n{count - 1}\\n"', stored["beta"])


def gluing(value: str) -> str:
    """Code that glues the value of an expression under the name `v`."""
    return (
        "from IPython.display import display\n"
        "kind = 'application/papermill.record/'\n"
        f"display({{kind + 'text/plain': {value}}}, raw=True,\n"
        "        metadata={'scrapbook': {'name': 'v', 'mime_prefix': kind}})"
    )


def test_glued_value_on_another_page_is_refreshed(make_book: MakeBook):
    """A page that quotes a value of another one is written again when that one is read."""
    book = make_book(
        page=page_text(cell(gluing("'value 1'"), "alpha"), cell("1", "beta")),
        quoting="# Quoting\n\n```{glue:any} alpha.v\n:doc: page.md\n```\n",
    )
    book.build()
    before = book.article("quoting").get_text()
    book.replace("page", "value 1", "value 2")

    book.build()

    assert "value 1" in before
    assert "value 2" in book.article("quoting").get_text()


def test_quoting_page_is_right_after_another_builder(make_book: MakeBook):
    """A page that quotes another one's value, and one with a table, follow a run that changed meanwhile."""
    book = make_book(
        page=page_text(cell("import lab\n" + gluing("lab.value"), "alpha"), cell("1", "beta")),
        quoting="# Quoting\n\n```{glue:any} alpha.v\n:doc: page.md\n```\n",
        table="# Table\n\n```{polybook-runs}\n```\n",
    )
    package = book.root / "lab" / "__init__.py"
    package.write_text("value = 'old'\n")
    book.build()
    package.write_text("value = 'new'\n")
    book.build("--builder", "singlehtml")

    built = book.build()

    assert "new" in book.article("quoting").get_text()
    written = set(re.findall(r"writing output\.\.\. \[ *\d+%\] (\S+)", built.output))
    assert written >= {"page", "quoting", "table"}
    assert "writing output... [" not in book.build().output


def test_loaded_code_is_watched(make_book: MakeBook):
    """An edit of the file that `:load:` reads runs the cell again."""
    book = make_book(page=page_text("```{code-cell}\n:tags: [alpha]\n:load: code.py\n```\n\n", cell("1", "beta")))
    code = book.root / "code.py"
    code.write_text("print('one')\n")
    book.build()
    before = outputs(book)
    code.write_text("print('two')\n")

    built = book.build()

    assert built.ran() == [("page", "alpha")]
    assert (before[0], outputs(book)[0]) == ("one", "two")


def test_page_with_an_older_time_stamp_is_noticed(make_book: MakeBook):
    """A page that is replaced by an older file is another page all the same."""
    book = make_book(page=page_text(cell("print('one')", "alpha"), cell("1", "beta")))
    book.build()
    book.replace("page", "one", "two")
    os.utime(book.path("page"), (1, 1))

    built = book.build()

    assert built.ran() == [("page", "alpha")]
    assert outputs(book)[0] == "two"


def test_named_variables_are_part_of_a_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A variable that the book names makes runs stale; any other does not."""
    chosen = options(tmp_path, polybook_variables=["OMP_*"])
    before = circumstances(chosen.frameworks["mxnet"], chosen)
    monkeypatch.setenv("OTHER_THREADS", "1")
    other = circumstances(chosen.frameworks["mxnet"], chosen)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")

    after = circumstances(chosen.frameworks["mxnet"], chosen)

    assert before == other
    assert {name for name in after if after[name] != before[name]} == {"variables"}


@pytest.mark.parametrize("name", [".__init__.py.swp", "__init__.py~", "#x#", ".hidden/x.py"])
def test_what_editors_leave_makes_no_run_stale(tmp_path: Path, name: str):
    """A file that is no part of a package changes nothing."""
    package = tmp_path / "lab"
    package.mkdir()
    (package / "__init__.py").write_text("")
    chosen = options(tmp_path, polybook_packages=["lab"])
    before = circumstances(chosen.frameworks["mxnet"], chosen)
    (package / name).parent.mkdir(exist_ok=True)
    (package / name).write_text("x")

    assert circumstances(chosen.frameworks["mxnet"], chosen) == before


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/ann", "~"),
        ("in /home/ann.", "in ~."),
        ("/home/anned", "/home/anned"),
        ("/home/ann-2/x", "/home/ann-2/x"),
        ("/mnt/home/ann", "/mnt/home/ann"),
        ("file:///home/ann/x", "file://~/x"),
        (
            '<img src="data:image/png;base64,AAAA/home/ann/BBBB">/home/ann',
            '<img src="data:image/png;base64,AAAA/home/ann/BBBB">~',
        ),
    ],
)
def test_only_whole_paths_are_replaced(text: str, shown: str):
    """A path is replaced where it stands, not where its letters happen to."""
    assert scrub({"text": text}, {"/home/ann": "~"})["text"] == shown


def test_process_that_is_left_behind_costs_no_run(make_book: MakeBook):
    """In a temporary folder a child may still write when the kernel is gone; the run is kept."""
    code = (
        "import subprocess, sys\n"
        "write = \"import time\\nfor n in range(300): open(f'f{n}', 'w').close(); time.sleep(0.01)\"\n"
        "child = subprocess.Popen([sys.executable, '-c', write], start_new_session=True)"
    )
    book = make_book(page=page_text(cell(code, "alpha"), cell("1", "beta")))
    config = book.root / "_config.yml"
    config.write_text(config.read_text().replace("  timeout: 60", "  timeout: 60\n  run_in_temp: true"))

    done = book.polybook("run")

    assert done.status == 0, done.output
    assert len(book.store_files()) == 2


def test_run_that_cannot_be_stored_is_shown(make_book: MakeBook):
    """Without room for the store the page is built all the same, with a warning a variant."""
    book = make_book(page=page_text(cell("print('alpha')", "alpha"), cell("print('beta')", "beta")))
    (book.root / ".polybook").write_text("in the way")

    built = book.build()

    assert built.status == 0, built.output
    assert built.output.count("could not be stored") == 2
    assert outputs(book) == ["alpha", "beta"]


def test_unusable_lock_is_told(tmp_path: Path):
    """What is in the lock's place is named, with what to do."""
    for path in (tmp_path, tmp_path / "missing" / "lock"):
        with pytest.raises(LockUnusable, match="Remove what is there"), machine_lock("x", print, path):
            pass


def test_settings_without_effect_are_refused(make_book: MakeBook):
    """MyST-NB's own settings of how a page runs do nothing here, and the author is told."""
    text = page_text(cell("1", "alpha"), cell("2", "beta")).replace(
        "polybook:", "mystnb: {execution_timeout: 1}\npolybook:"
    )
    book = make_book(page=text)

    done = book.polybook("status")

    assert done.status == 1
    assert "page.md:1: `mystnb: execution_timeout` has no effect on a page with frameworks." in done.output


def test_cell_of_an_included_file_is_a_failure(make_book: MakeBook):
    """A code cell that comes in with another file would be dropped: that is an error here, not a warning."""
    book = make_book(page=page_text(cell("1", "alpha"), cell("2", "beta"), "```{include} other.txt\n```\n"))
    (book.root / "other.txt").write_text("Words.\n\n" + cell("3", "alpha"))

    built = book.build()

    assert built.status == 1
    assert "this code cell would be dropped: it is not at the top level of the page itself." in built.output
    assert "other.txt" in built.output


def test_clean_build_leaves_nothing_to_write(make_book: MakeBook):
    """After a build of everything, `jupyter-book clean` and a build show the same outputs without a kernel."""
    book = make_book(page=page_text(cell("print('alpha')", "alpha"), cell("print('beta')", "beta")))
    book.build()
    run(str(BIN / "jupyter-book"), "clean", ".", cwd=book.root)
    shutil.rmtree(book.root / "_build", ignore_errors=True)

    built = book.build()

    assert (built.status, built.cells_run) == (0, 0)
    assert [list(tab_set) for tab_set in tabs(book.article("page"))] == [["Alpha", "Beta"]]
