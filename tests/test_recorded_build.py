"""Recorded runs in a build: shown while the code is the same, told when it is not, required for publishing."""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from books import Book, cell, fabricate, page_text, tabs

from polybook.__main__ import main

MakeBook = Callable[..., Book]

ALPHA, BETA = cell("print('made here by alpha')", "alpha"), cell("print('made here by beta')", "beta")
NEEDY = page_text(ALPHA, BETA, "Words.\n").replace("polybook:\n", "polybook:\n  needs: {alpha: gpu}\n")
REQUIRED = "POLYBOOK_REQUIRE_RECORDED"


@pytest.fixture
def book(make_book: MakeBook) -> Book:
    """A book of one page that needs a GPU in one framework, its cells run here."""
    book = make_book(page=NEEDY)
    done = book.polybook("run")
    assert done.status == 0, done.output
    return book


def panel(book: Book, title: str = "Alpha") -> list[tuple[bool, str]]:
    """The outputs and lines in a framework's panel, in order: whether it starts out hidden, and its text."""
    (panels,) = tabs(book.article("page"))
    found = panels[title].select(".cell_output, .polybook-run-line")
    hidden = [bool(item.find_parent("template")) for item in found]
    # What is in a template is no text of the page, and so not of `get_text`.
    texts = [" ".join("".join(map(str, item.find_all(string=True))).split()) for item in found]
    return list(zip(hidden, texts, strict=True))


def plain(text: str) -> str:
    """A text in which every date reads the same."""
    return re.sub(r"\d+ \w{3} \d{4}", "DATE", text)


def test_recorded_run_is_shown_where_the_variant_needs_it(book: Book):
    """It comes first and says that it was recorded; what this machine made is there to choose."""
    fabricate(book, "alpha", "recorded on a GPU")

    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    assert "WARNING" not in built.output
    assert [(hidden, plain(text)) for hidden, text in panel(book)] == [
        (False, "recorded on a GPU"),
        (True, "made here by alpha"),
        (False, "Alpha 9 · A machine of the tests · DATE · recorded"),
        (True, panel(book)[3][1] and plain(panel(book)[3][1])),
    ]
    assert plain(panel(book)[3][1]).startswith("Alpha · DATE")
    assert panel(book, "Beta")[0][1] == "made here by beta"
    switch = tabs(book.article("page"))[0]["Alpha"].select(".polybook-switch .polybook-choice")
    assert [choice.get_text() for choice in switch] == ["recorded (h200)", "this build"]


def test_cards_tell_the_runs_apart(book: Book):
    """Each run has a card of its own, that of the recorded one says where it was recorded."""
    fabricate(book, "alpha", "recorded on a GPU")

    book.build()

    cards = [summary.get_text(" ", strip=True) for summary in book.article("page").select("summary")]
    assert cards == [
        "How the outputs in Alpha were made: recorded (h200)",
        "How the outputs in Alpha were made: this build",
        "How the outputs in Beta were made",
    ]
    assert re.search(r"Recorded as\s+h200", book.article("page").get_text())


def test_prose_edit_keeps_it(book: Book):
    """Only code makes a recorded run stale."""
    fabricate(book, "alpha", "recorded on a GPU")
    book.build()
    book.replace("page", "Words.", "Other words.")

    built = book.build()

    assert (built.status, built.cells_run) == (0, 0)
    assert panel(book)[0] == (False, "recorded on a GPU")


def test_code_edit_makes_it_stale(book: Book):
    """After an edit it is not shown; the build says which run is stale and names the command that mends it."""
    fabricate(book, "alpha", "recorded on a GPU")
    book.build()
    book.replace("page", "made here by alpha", "made anew by alpha")

    built = [book.build() for _ in range(2)]

    for once in built:
        assert once.status == 0, once.output
        assert once.output.count("the recorded run (h200) is stale, since the code of its cells has changed") == 1
        assert "`python -m polybook run --record runs/h200 page --framework alpha`" in once.output
    assert panel(book)[0] == (False, "made anew by alpha")
    assert "recorded on a GPU" not in book.article("page").get_text()


def test_missing_run_is_told_once_and_does_not_fail(book: Book):
    """Without a recorded run the page shows this machine's, and the build says that it wants one, a strict one too."""
    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    assert built.output.count("it needs a machine with a GPU, and no run of one is recorded") == 1
    assert panel(book)[0] == (False, "made here by alpha")


def test_notice_can_be_silenced(book: Book):
    """As every warning it has a type and a subtype."""
    config = book.root / "_config.yml"
    config.write_text(f"{config.read_text()}    suppress_warnings: [polybook.recorded]\n")

    assert "recorded" not in book.build().output


@pytest.mark.parametrize("state", ["missing", "stale", "of a machine without a GPU"])
def test_required_run_that_is_not_there_fails_the_build(book: Book, monkeypatch: pytest.MonkeyPatch, state: str):
    """For publishing a stale or missing GPU run is an error with page and framework, each time."""
    if state == "stale":
        fabricate(book, "alpha", "recorded on a GPU")
        book.replace("page", "made here by alpha", "made anew by alpha")
    if state == "of a machine without a GPU":
        fabricate(book, "alpha", "recorded", gpu=False)
    monkeypatch.setenv(REQUIRED, "1")

    built = [book.build() for _ in range(2)]

    for once in built:
        assert once.status == 1
        assert "page.md: [alpha] it needs a machine with a GPU" in once.output
        assert "polybook: 1 failure, no page was written" in once.output
    assert not book.has_html()


def test_required_run_that_is_there_passes(book: Book, monkeypatch: pytest.MonkeyPatch):
    """A fresh recorded run is all that publishing asks for."""
    fabricate(book, "alpha", "recorded on a GPU")
    monkeypatch.setenv(REQUIRED, "1")

    assert book.build("-W", "--keep-going").status == 0


def test_command_line_requires_recorded_runs(book: Book, monkeypatch: pytest.MonkeyPatch):
    """`build` and `status` take `--require-recorded`, with the same answer."""
    before = [book.polybook(command, "--require-recorded") for command in ("build", "status")]
    fabricate(book, "alpha", "recorded on a GPU")

    after = [book.polybook(command, "--require-recorded") for command in ("build", "status")]

    assert [done.status for done in before] == [1, 1]
    assert all("page.md: [alpha] it needs a machine with a GPU" in done.output for done in before)
    assert [done.status for done in after] == [0, 0], after
    assert re.search(r"page +alpha +fresh.* h200", after[1].output)


@pytest.mark.parametrize("damage", ["truncated", "edited", "merged"])
def test_damaged_file_is_told_and_the_live_run_shown(book: Book, damage: str):
    """A file that cannot be used is named with what to do; the page shows what this machine made."""
    path = fabricate(book, "alpha", "recorded on a GPU")
    text = path.read_text()
    path.write_text(
        {
            "truncated": text[:200],
            "edited": text.replace("on a GPU", "on a TPU"),
            "merged": f"<<<<<<< HEAD\n{text}",
        }[damage]
    )

    built = book.build()

    assert built.status == 0, built.output
    assert built.output.count("the recorded run runs/h200/page.alpha.json cannot be used and is ignored") == 1
    assert panel(book)[0] == (False, "made here by alpha")


def test_run_that_is_recorded_later_is_shown_by_the_next_build(book: Book):
    """No source has changed, but the page shows another run; when that is gone again, so is it from the page."""
    book.build()
    before = panel(book)[0]
    path = fabricate(book, "alpha", "recorded on a GPU")
    book.build()
    between = panel(book)[0]
    path.unlink()

    built = book.build()

    assert [before, between, panel(book)[0]] == [
        (False, "made here by alpha"),
        (False, "recorded on a GPU"),
        (False, "made here by alpha"),
    ]
    assert built.cells_run == 0


def test_without_a_need_this_build_comes_first(make_book: MakeBook):
    """Where nothing special is needed the recorded run is the other choice, and no warning speaks of it."""
    book = make_book(page=page_text(ALPHA, BETA))
    book.polybook("run")
    fabricate(book, "beta", "recorded elsewhere", name="laptop", gpu=False)

    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    assert [item[1] for item in panel(book, "Beta")][:2] == ["made here by beta", "recorded elsewhere"]
    assert panel(book, "Beta")[1][0]


def test_recorded_run_is_enough_where_nothing_runs(book: Book):
    """With execution off a page shows what was recorded, and the second build changes nothing."""
    fabricate(book, "alpha", "recorded on a GPU")
    shutil.rmtree(book.root / ".polybook")
    config = book.root / "_config.yml"
    config.write_text(config.read_text().replace("  timeout: 60", "  execute_notebooks: 'off'"))

    book.build()
    again = book.build()

    assert panel(book)[0][1] == "recorded on a GPU"
    assert "0 added, 0 changed, 0 removed" in again.output


def test_table_of_runs_lists_what_is_recorded_and_what_is_stale(book: Book):
    """Every run that a page shows has a row, and so has a stale one."""
    book.write("index", "# Index\n\n```{polybook-runs}\n```\n")
    fabricate(book, "alpha", "recorded on a GPU")
    fabricate(book, "beta", "recorded", name="laptop", gpu=False)
    book.replace("page", "made here by beta", "made anew by beta")

    book.build()

    table = book.article("index").find("table")
    assert table is not None
    rows = [[entry.get_text(strip=True) for entry in row.find_all("td")] for row in table.find_all("tr")][1:]
    assert [[row[1], row[2].removesuffix(", noisy")] for row in rows] == [
        ["Alpha", "recorded (h200)"],
        ["Alpha", "fresh"],
        ["Beta", "fresh"],
        ["Beta", "stale (laptop)"],
    ]


def test_other_formats_show_the_first_run_only(book: Book):
    """Where nobody can choose there is nothing to choose from."""
    fabricate(book, "alpha", "recorded on a GPU")
    # MyST-NB's table on the minibook's own index is nothing that the text builder can write.
    book.write("index", "# Index\n")

    built = book.build("--builder", "custom", "--custom-builder", "text")

    assert built.status == 0, built.output
    text = (book.root / "_build" / "text" / "page.txt").read_text()
    assert "recorded on a GPU" in text
    assert "made here by alpha" not in text.replace("print('made here by alpha')", "")


def test_run_is_recorded_and_shown_elsewhere(book: Book, make_book: MakeBook):
    """What `run --record` writes is all that another checkout needs to show it."""
    done = book.polybook("run", "--record", "runs/laptop", "--framework", "beta")
    again = book.polybook("run", "--record", "runs/laptop", "--framework", "beta")
    elsewhere = make_book("elsewhere", page=NEEDY)
    shutil.copytree(book.root / "runs", elsewhere.root / "runs")

    built = elsewhere.build()

    assert done.status == again.status == 0, done.output
    assert "page [beta]: recorded in runs/laptop/page.beta.json" in done.output
    assert "page [beta]: unchanged in runs/laptop/page.beta.json" in again.output
    assert [path.name for path in (book.root / "runs" / "laptop").iterdir()] == ["page.beta.json"]
    assert built.status == 0, built.output
    assert [text for _, text in panel(elsewhere, "Beta")][:2] == ["made here by beta"] * 2


def test_only_what_needs_a_machine_is_chosen(book: Book):
    """`--needing gpu` leaves everything else out of a plan."""
    plan = book.polybook("plan", "--needing", "gpu")

    assert plan.output.count('"page": "page"') == 1


def test_machine_without_a_gpu_records_nothing_that_needs_one(book: Book):
    """A driver that does not work must not put a run of the CPU in a GPU's place."""
    path = fabricate(book, "alpha", "recorded on a GPU")
    before = path.read_bytes()

    chosen = book.polybook("run", "--needing", "gpu", "--record", "runs/other")
    spoilt = book.polybook("run", "--framework", "alpha", "--record", "runs/h200")

    for done in (chosen, spoilt):
        assert done.status == 1
        assert "page.md: [alpha] not recorded: this machine has no GPU that alpha can use." in done.output
    assert path.read_bytes() == before
    assert not (book.root / "runs" / "other").exists()


def test_pages_of_the_same_code_have_a_record_each(make_book: MakeBook):
    """What is recorded for one page does not go when another one of the same code changes."""
    text = page_text(ALPHA, BETA)
    book = make_book(one=text, two=text)
    book.polybook("run", "--record", "runs/laptop")
    book.replace("one", "made here by alpha", "made anew by alpha")
    book.polybook("run", "--record", "runs/laptop", "one")

    book.build()

    assert sorted(path.name for path in (book.root / "runs" / "laptop").iterdir()) == [
        "one.alpha.json", "one.beta.json", "two.alpha.json", "two.beta.json",
    ]  # fmt: skip
    assert "stale" not in book.polybook("status").output


def test_run_that_was_recorded_here_is_no_second_choice(book: Book):
    """On the machine that recorded it a reader would choose between a run and itself."""
    book.polybook("run", "--record", "runs/laptop", "--framework", "beta")

    book.build()

    assert tabs(book.article("page"))[0]["Beta"].select(".polybook-choice") == []


def test_renamed_folder_is_noticed(book: Book):
    """A run goes by the name of its folder: when that changes, so does the page."""
    fabricate(book, "alpha", "recorded on a GPU")
    book.build()
    (book.root / "runs" / "h200").rename(book.root / "runs" / "b200")

    book.build()

    choices = tabs(book.article("page"))[0]["Alpha"].select(".polybook-choice")
    assert [choice.get_text() for choice in choices] == ["recorded (b200)", "this build"]


def test_epub_shows_the_first_run_only(book: Book):
    """An EPUB is HTML, but nothing can be chosen in it; our style sheet is packed."""
    fabricate(book, "alpha", "recorded on a GPU")
    book.write("index", "# Index\n")

    built = book.build("--builder", "custom", "--custom-builder", "epub")

    assert built.status == 0, built.output
    with zipfile.ZipFile(next((book.root / "_build" / "epub").glob("*.epub"))) as packed:
        names = packed.namelist()
        text = packed.read(next(name for name in names if name.endswith("page.xhtml"))).decode()
    assert "recorded on a GPU" in text
    assert text.count("made here by alpha") == 1
    assert "polybook-switch" not in text
    assert any(name.endswith("polybook.css") for name in names)


def test_tables_follow_recorded_runs_where_nothing_runs(book: Book):
    """Also with execution off a page with a table is written again when a record comes."""
    book.write("index", "# Index\n\n```{polybook-runs}\n```\n")
    config = book.root / "_config.yml"
    text = config.read_text()
    fabricate(book, "alpha", "recorded on a GPU")
    moved = (book.root / "runs").rename(book.root / "aside")
    config.write_text(text.replace("  timeout: 60", "  execute_notebooks: 'off'"))
    shutil.rmtree(book.root / ".polybook")
    book.build()
    before = book.article("index").get_text()
    moved.rename(book.root / "runs")

    book.build()

    assert "recorded (h200)" not in before
    assert "recorded (h200)" in book.article("index").get_text()


def test_switch_that_is_neither_on_nor_off_is_refused(book: Book, monkeypatch: pytest.MonkeyPatch):
    """A typo in the variable must not publish what it was to stop."""
    monkeypatch.setenv(REQUIRED, "ture")

    built = book.build()

    assert built.status != 0
    allowed = "1, yes, true, on or 0, no, false, off"
    assert f"the environment variable {REQUIRED} is 'ture', but has to be {allowed}." in built.output


def test_nothing_recorded_is_an_error(book: Book):
    """`run --record` where nothing may run says so instead of doing nothing."""
    shutil.rmtree(book.root / ".polybook")
    config = book.root / "_config.yml"
    config.write_text(config.read_text().replace("  timeout: 60", "  execute_notebooks: 'off'"))

    done = book.polybook("run", "--record", "runs/laptop")

    assert done.status == 1
    assert "not recorded: its cells were not run." in done.output


def test_recording_elsewhere_than_in_runs_is_refused(book: Book, capsys: pytest.CaptureFixture[str]):
    """A folder that no build looks into is refused before anything runs."""
    status = main(["--book", str(book.root), "run", "--record", str(book.root / "elsewhere")])

    assert status == 2
    assert "runs are recorded into a folder of runs/" in capsys.readouterr().err
    assert not Path(book.root, "elsewhere").exists()
