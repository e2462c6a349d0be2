"""The chapters as readers need them: the same in both tabs, in good order, and true where a run says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from books import REPOSITORY

from polybook.book import open_book, pages
from polybook.page import Page, cell_tags
from polybook.split import split

FRAMEWORKS = ("pytorch", "mxnet")
#: Every page with cells: the chapters, and the exercises to hand in.
PAGES = tuple(page.docname for page in pages(open_book(REPOSITORY)) if isinstance(page, Page))
CHAPTERS = tuple(page for page in PAGES if page.startswith("chapters/"))
#: Words by which code or prose of one framework would speak of the other.
OTHERS = {"pytorch": ("mxnet", "npx", "waitall", "asnumpy"), "mxnet": ("torch", "cuda", "synchronize(device)")}


@pytest.fixture(scope="module")
def chapters() -> dict[str, Page]:
    """The chapters, read."""
    found = {page.docname: page for page in pages(open_book(REPOSITORY), PAGES) if isinstance(page, Page)}
    assert set(found) == set(PAGES)
    return found


def text_of(chapter: str) -> str:
    """The source of a chapter."""
    return Path(REPOSITORY, f"{chapter}.md").read_text("utf8")


def panels(text: str) -> Iterator[dict[str, str]]:
    """The tab sets that are written in prose: each framework's text."""
    for found in re.finditer(r"^(:{4,})\{tab-set\}\n(.*?)^\1$", text, re.DOTALL | re.MULTILINE):
        items = re.findall(
            r"^:+\{tab-item\} \w+\n:sync: (\w+)\n(.*?)(?=^:+\{tab-item\}|\Z)", found[2], re.DOTALL | re.M
        )
        yield dict(items)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_each_experiment_stands_in_both_tabs(chapters: dict[str, Page], chapter: str):
    """Between two pieces of prose one framework has as many cells as the other."""
    count = dict.fromkeys(FRAMEWORKS, 0)
    for cell in chapters[chapter].notebook.cells:
        if cell.cell_type == "code":
            for name in FRAMEWORKS:
                count[name] += name in cell_tags(cell)
        else:
            assert count["pytorch"] == count["mxnet"], cell.source[:80]
    assert count["pytorch"] == count["mxnet"] > 5


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_both_tabs_make_the_same_claims(chapters: dict[str, Page], chapter: str):
    """Values and claims that running text names are made in both frameworks."""
    made = {
        name: set(
            re.findall(
                r"(?:claim|record)\(\"(\w+)\"", "\n".join(c.source for c in split(chapters[chapter], name).cells)
            )
        )
        for name in FRAMEWORKS
    }

    assert made["pytorch"] == made["mxnet"]
    assert len(made["pytorch"]) > 4


@pytest.mark.parametrize("chapter", PAGES)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_no_tab_speaks_of_the_other_framework(chapters: dict[str, Page], chapter: str, framework: str):
    """Cells and prose of a tab name only their own framework."""
    own = [c.source for c in chapters[chapter].notebook.cells if c.cell_type == "code" and framework in cell_tags(c)]
    own += [items[framework] for items in panels(text_of(chapter)) if framework in items]

    wrong = [(word, text[:60]) for text in own for word in OTHERS[framework] if word in text.lower()]
    assert wrong == []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_cells_are_short(chapters: dict[str, Page], chapter: str):
    """A cell has at most 24 lines, and a framework at most 14 cells a chapter."""
    for name in FRAMEWORKS:
        cells = split(chapters[chapter], name).cells
        assert len(cells) <= 14
        assert max(len(cell.source.splitlines()) for cell in cells) <= 24


@pytest.mark.parametrize(
    ("chapter", "said", "done", "times"),
    [
        ("cost-model", "made up, {given}`1 ms`, {given}`3 ms` and {given}`1 ms`", "(t1=0.001, t2=0.003, t3=0.001)", 1),
        ("cost-model", "Test it: {given}`200 µs` more Python", "end = time.perf_counter() + 200e-6", 2),
        ("overlap-and-memory", "which a sleep of {given}`40 ms` stands for", "time.sleep(0.04)", 1),
        ("overlap-and-memory", "twelve operations of {given}`20 ms`", "worker.submit(time.sleep, 0.02)", 1),
    ],
)
def test_times_that_were_chosen_are_those_of_the_code(chapter: str, said: str, done: str, times: int):
    """A time that is given and not measured is what the cells do with, once a framework or in common."""
    text = text_of(f"chapters/{chapter}")

    assert " ".join(said.split()) in " ".join(text.split())
    assert text.count(done) == times


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_chapter_has_the_form_of_one(chapter: str):
    """What a reader needs and will be able to do, a summary, labelled exercises with a hint each."""
    text = text_of(chapter)

    assert re.match(r"---\n.*?\n---\n\n\([a-z-]+\)=\n# ", text, re.DOTALL)
    assert "{admonition} Before you start" in text
    assert re.search(r"Allow \d+ minutes\. Afterwards you can", text.replace("\n", " "))
    assert text.index("## Summary") < text.index("## Exercises")
    exercises = re.findall(r"^```\{exercise\}.*?^```$", text, re.DOTALL | re.MULTILINE)
    assert len(exercises) == 3
    assert all(re.search(r"^:label: ex-", exercise, re.MULTILINE) for exercise in exercises)
    assert all("{dropdown} Hint" in exercise for exercise in exercises)


@pytest.mark.parametrize("chapter", PAGES)
def test_every_drawing_is_described(chapter: str):
    """Each figure has an alternative text that is a sentence."""
    figures = re.findall(r"^```\{figure\}.*?^```$", text_of(chapter), re.DOTALL | re.MULTILINE)

    assert all(re.search(r"^:alt: .{20,}\.$", figure, re.MULTILINE) for figure in figures)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_exercises_have_solutions(chapter: str):
    """Each exercise is answered in a page of its own, which is no page of the book."""
    labels = set(re.findall(r"^:label: (ex-[a-z-]+)$", text_of(chapter), re.MULTILINE))
    solutions = Path(REPOSITORY, "solutions", f"{Path(chapter).name}.md").read_text("utf8")

    assert set(re.findall(r"\{solution(?:-start)?\} (ex-[a-z-]+)", solutions)) == labels
    assert "solutions" not in Path(REPOSITORY, "_toc.yml").read_text("utf8")
