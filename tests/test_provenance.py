"""Where and when outputs were made: the line, the card, and what is taken out of outputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from books import Book, cell, framework, page, page_text, put_together, run_of, tabs, tagged

from polybook.provenance import run_card, run_line
from polybook.run import Offer, Run
from polybook.scrub import private_paths, scrub, scrub_metadata
from polybook.split import split

MACHINE = {
    "summary": "Xeon, 2 cores",
    "version": "2.14.1",
    "entries": [
        {"name": "processor", "title": "Processor", "type": "str", "unit": "", "value": "X", "text": "Xeon | *8*"}
    ],
}


@pytest.fixture
def run() -> Run:
    """A run with a record of its machine."""
    made = run_of(split(page(["1"], frameworks="pytorch"), "pytorch"))
    return dataclasses.replace(
        made, machine=MACHINE, load=(0.5, 1.25), commit="abc123", started="2026-11-29T23:30:00+00:00"
    )


def test_line_names_framework_machine_and_date(run: Run):
    """The line says what a reader has to know about a timing."""
    assert run_line("PyTorch", Offer(run, "")) == "PyTorch 2.14.1 · Xeon, 2 cores · 29 Nov 2026"


def test_line_without_a_record_names_framework_and_date(run: Run):
    """A book without a probe still says when."""
    assert run_line("PyTorch", Offer(dataclasses.replace(run, machine={}), "")) == "PyTorch · 29 Nov 2026"


def test_card_holds_the_whole_record(run: Run):
    """Every entry of the record, the load, the commit and the time of the run stand on the card, as they are."""
    lines = [" ".join(line.split()) for line in run_card("PyTorch", Offer(run, "")).splitlines()]

    assert "Processor Xeon | *8*" in lines
    assert "Load before and after 0.50, 1.25" in lines
    assert "Commit abc123" in lines
    assert "Made 29 Nov 2026, 23:30 UTC" in lines


def test_panels_with_visible_output_have_a_line_and_the_page_a_card(run: Run):
    """A line goes with what a reader sees; the card stands at the end."""
    shown = page([tagged("1", "pytorch"), "y = 1"], frameworks="pytorch")
    made = run_of(split(shown, "pytorch"))
    made.cells[0]["outputs"][:] = [{"output_type": "stream", "name": "stdout", "text": "1\n"}]
    made.cells[1]["outputs"][:] = []

    merged = put_together(shown, {"pytorch": dataclasses.replace(made, machine=MACHINE)}, {"pytorch": "PyTorch"})

    assert "PyTorch 2.14.1" in merged.cells[0].metadata["polybook"]["lines"][0]["text"]
    assert "polybook" not in merged.cells[1].metadata
    assert merged.cells[2].cell_type == "markdown"
    assert "How the outputs in PyTorch were made" in merged.cells[2].source
    assert len(merged.metadata.get("source_map", merged.cells)) == len(merged.cells)


def test_private_paths_are_replaced_the_longest_first(tmp_path: Path):
    """A path inside of another one is named by its own name."""
    root = tmp_path / "secret" / "book"
    paths = private_paths(framework(root=root), root, tmp_path / "cwd", tmp_path / "kernel")
    text = f"{root}/.venv-pytorch/lib/x.py {root}/chapters {tmp_path}/cwd/f {tmp_path}/kernel/k {Path.home()}/data"

    assert scrub({"text": text}, paths)["text"] == ".venv-pytorch/lib/x.py ./chapters ./f [kernel]/k ~/data"


def test_names_of_machine_and_user_are_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Who and where is nobody's business; a word alone may mean anything, and stays."""
    monkeypatch.setattr("socket.gethostname", lambda: "lab-7.example.org")
    monkeypatch.setenv("LOGNAME", "annabell")
    paths = private_paths(framework(root=tmp_path), tmp_path, tmp_path, tmp_path)

    found = scrub({"text": "annabell@lab-7.example.org, lab-7.lan: annabell's lab-70, /mnt/annabell/x"}, paths)

    assert found["text"] == "[user]@[host], [host]: annabell's lab-70, /mnt/[user]/x"


@pytest.mark.parametrize("name", ["root", "max", "titan", "ai"])
def test_names_that_say_nothing_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str):
    """A word that half of all machines are called by is left alone: a cell means something else by it."""
    monkeypatch.setattr("socket.gethostname", lambda: name)
    monkeypatch.setenv("LOGNAME", name)
    paths = private_paths(framework(root=tmp_path), tmp_path, tmp_path, tmp_path)

    shown = {"text": f"the {name} of {name}(1, 2)", "metadata": {"polybook": {"name": name}}}
    assert scrub(shown, paths) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[32m/secret/a\x1b[0m:2", "\x1b[32m./a\x1b[0m:2"),
        ("cc -I/secret/include -L/secret", "cc -I./include -L."),
        ("/mnt/secret/a", "/mnt/secret/a"),
    ],
)
def test_path_is_found_behind_colours_and_flags(text: str, shown: str):
    """What stands directly before a path does not hide it."""
    assert scrub({"text": text}, {"/secret": "."})["text"] == shown


def test_every_kind_of_text_is_scrubbed():
    """Also scripts and what nobody has heard of; only encoded pictures are left alone."""
    data = {"application/javascript": "'/secret/a'", "text/x-new": "/secret/a", "image/png": "/secret/a"}

    found = scrub({"data": data}, {"/secret": "."})["data"]

    assert found == {"application/javascript": "'./a'", "text/x-new": "./a", "image/png": "/secret/a"}


def test_state_of_widgets_is_scrubbed():
    """What a widget holds is shown as well."""
    found = scrub_metadata({"widgets": {"v": {"state": {"1": {"value": "/secret/a"}}}}}, {"/secret": "."})

    assert found["widgets"]["v"]["state"]["1"]["value"] == "./a"


@pytest.mark.parametrize(
    "output",
    [
        {"text": "see /secret/a"},
        {"metadata": {"file": "/secret/a"}},
        {"evalue": "/secret/a", "traceback": ["in /secret/a", "x"]},
        {
            "data": {
                "text/html": "<a>/secret/a</a>",
                "text/plain": ["/secret/a"],
                "application/json": {"p": "/secret/a"},
            }
        },
        {"data": {"image/svg+xml": "<svg>/secret/a</svg>", "application/papermill.record/text/plain": "/secret/a"}},
    ],
)
def test_text_of_every_kind_is_scrubbed(output: dict[str, object]):
    """No textual form of an output keeps the path."""
    assert "/secret" not in str(scrub(output, {"/secret": "~"}))


def test_images_are_left_alone():
    """Encoded data are no text, even where they happen to look like a path."""
    output = {"data": {"image/png": "iVBORw0/secret/KGgo="}}

    assert scrub(output, {"/secret": "~"}) == output


def test_probe_is_asked_in_each_kernel(make_book: Callable[..., Book]):
    """The record comes from the kernel that ran the cells, and leaves no trace among them."""
    book = make_book(page=page_text(cell("1", "alpha"), cell("2", "beta"), cell("import lab\nIn")))
    set_probe(book, "lab.probe:record")
    (book.root / "lab" / "probe.py").write_text(
        "import sys, tabulate\n"
        "def record(framework):\n"
        "    assert 'lab' in sys.modules\n"
        "    return {'summary': framework + '!', 'version': tabulate.__version__, 'entries': []}\n"
    )

    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    panels = tabs(book.article("page"))[0]
    assert "Alpha 0.9.0 · alpha! · " in panels["Alpha"].select_one(".polybook-run-line").get_text()
    assert "Beta 0.10.0 · beta! · " in panels["Beta"].select_one(".polybook-run-line").get_text()
    assert len(book.article("page").select("details")) >= 2


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("def record(framework):\n    raise OSError('no machine')\n", "OSError: no machine"),
        ("def other(framework): ...\n", "AttributeError"),
        ("def record(framework):\n    return 1\n", "it returned 1"),
        ("def record(framework):\n    return {'summary': {1}}\n", "TypeError"),
    ],
    ids=["raises", "missing", "no record", "not JSON"],
)
def test_probe_that_fails_is_told(make_book: Callable[..., Book], source: str, why: str):
    """A probe that gives no record fails the page, with what is wrong and where to correct it."""
    book = make_book(page=page_text(cell("1", "alpha"), cell("2", "beta")))
    set_probe(book, "lab.probe:record")
    (book.root / "lab" / "probe.py").write_text(source)

    done = book.polybook("run", "--framework", "alpha")

    assert done.status == 1
    assert "page.md: [alpha] `polybook_probe` 'lab.probe:record' failed in the kernel" in done.output
    assert why in done.output
    assert "_config.yml" in done.output


def test_outputs_of_a_build_hold_no_path_of_the_machine(make_book: Callable[..., Book], tmp_path: Path):
    """Paths that a cell prints, or that stand in its traceback, are not stored."""
    code = "import os, sys, warnings\nprint(os.getcwd(), sys.prefix, os.environ['HOME'])\nwarnings.warn('here')"
    book = make_book(
        page=page_text(cell(code, "alpha"), cell("import json\njson.loads('{')", "beta", "raises-exception"))
    )

    book.polybook("run")

    stored = "".join(path.read_text() for path in book.store_files())
    assert "JSONDecodeError" in stored
    assert str(tmp_path) not in stored
    assert str(Path.home()) not in stored
    assert "/tmp/" not in stored


def set_probe(book: Book, probe: str) -> None:
    """Name a probe in the book's configuration, and make the book's own package importable in its kernels."""
    config = book.root / "_config.yml"
    config.write_text(config.read_text() + f"    polybook_probe: {probe}\n")
