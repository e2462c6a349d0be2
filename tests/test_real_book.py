"""The real book, built once with warnings as errors: both frameworks' real outputs, each in its own tab."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from books import REPOSITORY, tabs
from bs4 import BeautifulSoup, Tag

from polybook.book import open_book, pages
from polybook.facts import facts_of
from polybook.obtain import Runner
from polybook.page import Page
from polybook.split import split

TITLES = {"pytorch": "PyTorch", "mxnet": "MXNet"}


@pytest.fixture(scope="module")
def article(site: Path) -> Tag:
    """The core chapter."""
    html = BeautifulSoup((site / "chapters/async-computation.html").read_text("utf8"), "html.parser")
    found = html.find("article", class_="bd-article")
    assert isinstance(found, Tag)
    return found


@pytest.fixture(scope="module")
def core() -> Page:
    """The core chapter's source."""
    found = next(pages(open_book(REPOSITORY), ["chapters/async-computation"]))
    assert isinstance(found, Page)
    return found


def outputs_in_tabs(article: Tag, title: str) -> list[str]:
    """The text of every output that a framework's panels show, in order."""
    panels = [tab_set[title] for tab_set in tabs(article) if title in tab_set]
    return [output.get_text() for panel in panels for output in panel.select(".cell_output")]


@pytest.mark.parametrize("framework", TITLES)
def test_each_tab_shows_the_real_outputs_of_its_framework(article: Tag, core: Page, framework: str):
    """What a framework's kernel wrote, and nothing else, stands in that framework's panels."""
    options = open_book(REPOSITORY).options
    found = Runner(options, say=print, warn=print, live=None).look_up(framework, split(core, framework).code)
    assert found.run is not None
    expected = []
    for cell in found.run.cells:
        # What is recorded for prose is hidden, and a drawing is no text.
        shown = [o for o in cell["outputs"] if "text" in o or set(o["data"]) == {"text/plain"}]
        drawn = any("image/svg+xml" in output.get("data", {}) for output in cell["outputs"])
        texts = [output.get("text") or output["data"]["text/plain"] for output in shown]
        expected += ["".join("".join(texts).split())] if texts or drawn else []

    assert ["".join(text.split()) for text in outputs_in_tabs(article, TITLES[framework])] == expected
    assert len(expected) >= 9


@pytest.mark.parametrize("framework", TITLES)
def test_no_two_cells_record_the_same_name(site: Path, framework: str):
    """Of two values with one name prose would quote the last, also where it means the first."""
    book = open_book(REPOSITORY)
    runner, twice = Runner(book.options, say=print, warn=print, live=None), []
    for page in (page for page in pages(book) if isinstance(page, Page)):
        found = runner.look_up(framework, split(page, framework).code)
        assert found.run is not None
        names = [name for cell in found.run.cells for name in {*facts_of([cell]).values, *facts_of([cell]).claims}]
        twice += [(page.docname, name) for name in names if names.count(name) > 1]

    assert twice == []


def figure_of(texts: list[str], label: str) -> float:
    """The seconds that a benchmark line with this label shows."""
    found = re.search(rf"^{re.escape(label)}: ([0-9.]+) sec", "\n".join(texts), re.MULTILINE)
    assert found, f"no line {label!r}"
    return float(found[1])


@pytest.mark.parametrize(
    ("title", "labels"),
    [
        ("PyTorch", ["torch", "device", "numpy"]),
        ("MXNet", ["mxnet.np", "waitall", "wait_to_read", "asnumpy"]),
    ],
)
def test_each_experiment_is_there(article: Tag, title: str, labels: list[str]):
    """Every experiment of the lesson printed its figure in both frameworks."""
    texts = outputs_in_tabs(article, title)

    common = ["numpy", "not waited for", "waited for", "asked for", "item", "print"]
    common += ["waiting each time", "waiting once"]
    assert all(figure_of(texts, label) > 0 for label in labels + common)
    assert "[[3., 3.]]" in "\n".join(texts)


def test_asking_is_not_computing_in_mxnet(article: Tag):
    """The timings are real: without a wait, MXNet's block takes less than a tenth of the time."""
    texts = outputs_in_tabs(article, "MXNet")

    assert 10 * figure_of(texts, "not waited for") < figure_of(texts, "waited for")


def test_no_tab_talks_to_a_kernel_of_the_other(core: Page):
    """A framework's own cells name only that framework."""
    others = {"pytorch": "mxnet", "mxnet": "torch"}

    for framework, other in others.items():
        source = "\n".join(cell.source for cell in split(core, framework).cells)
        assert other not in source


def test_there_is_one_search_field(site: Path):
    """The theme below sphinx-book-theme does not add a second one."""
    html = (site / "chapters/async-computation.html").read_text("utf8")

    assert html.count("search-button-field") == 1


def card_of(article: Tag, title: str) -> dict[str, str]:
    """The record of this build's run on a framework's card, by the names that a reader sees."""
    for card in article.find_all("details"):
        summary = card.find("summary")
        if summary and summary.get_text(" ", strip=True).startswith(f"How the outputs in {title} were made"):
            found = dict(re.split(r" {2,}", line, maxsplit=1) for line in card.get_text().splitlines() if "  " in line)
            if "Recorded as" not in found:
                return found
    raise AssertionError(f"no card of {title}")


def tool(*command: str) -> str:
    """What a tool of the system prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("framework", TITLES)
def test_card_tells_what_the_systems_own_tools_tell(article: Tag, framework: str):
    """Processor, cores, memory, Python and packages on the card are those of lscpu, nproc, meminfo and pip list."""
    card = card_of(article, TITLES[framework])
    model = re.search(r"Model name:\s*(.+)", tool("lscpu"))
    memory = re.search(r"MemTotal:\s*(\d+) kB", Path("/proc/meminfo").read_text("ascii"))
    uv = os.environ.get("UV") or shutil.which("uv") or str(REPOSITORY / ".venv-uv" / "bin" / "uv")
    python = str(REPOSITORY / f".venv-{framework}" / "bin" / "python")
    installed = dict(line.split()[:2] for line in tool(uv, "pip", "list", "--python", python).splitlines()[2:])
    module = {"pytorch": "torch"}.get(framework, framework)

    assert model is not None
    assert memory is not None
    assert card["Processor"] == " ".join(model[1].replace("(R)", "").replace("(TM)", "").split())
    assert card["Cores allowed"] == tool("env", "-u", "OMP_NUM_THREADS", "-u", "OMP_THREAD_LIMIT", "nproc").strip()
    assert card["Memory"] == f"{int(memory[1]) / 2**20:.1f} GiB"
    assert card["Framework"].split("+")[0] == f"{module} {installed[module]}"
    assert card["NumPy"] == installed["numpy"]
    assert card["Python"] == tool(python, "-c", "import platform; print(platform.python_version())").strip()


@pytest.mark.parametrize("title", TITLES.values())
def test_every_panel_with_output_says_where_and_when(article: Tag, title: str):
    """A quiet line below the outputs names framework, machine and day."""
    panels = [tab_set[title] for tab_set in tabs(article) if title in tab_set]
    lines = [panel.select(".polybook-run-line") for panel in panels if panel.select(".cell_output")]

    assert len(lines) > 5
    for found in lines:
        assert re.fullmatch(
            rf"{title} [\w.+]+ · .+, \d+ cores? · .*\d+ \w{{3}} \d{{4}}( · noisy)?", found[0].get_text()
        )
