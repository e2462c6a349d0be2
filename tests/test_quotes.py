"""Prose that quotes what was measured: values, and claims that hold in one run and not in another."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable

import pytest
from books import REPOSITORY, Book, cell, page_text, tabs
from bs4 import Tag

MakeBook = Callable[..., Book]

RECORD = cell("from asynclab import claim, record")
MEASURE = (
    RECORD
    + cell("record('speedup', 3.21, 'times')\nclaim('faster', 3.21 > 1)", "alpha")
    + cell("record('speedup', 0.5, 'times')\nclaim('faster', 0.5 > 1)", "beta")
)
CLAIM = """::::{claim} faster
It is {value}`speedup` as fast.

:::{otherwise}
It is **not** faster here: {value}`speedup` as fast.
:::
::::

"""
TABS = """::::::{tab-set}
:sync-group: framework

:::::{tab-item} Alpha
:sync: alpha

ALPHA
:::::
:::::{tab-item} Beta
:sync: beta

BETA
:::::
::::::

"""


@pytest.fixture
def make(make_book: MakeBook) -> MakeBook:
    """Make a book whose cells can import asynclab."""

    def make(**pages: str) -> Book:
        book = make_book(**pages)
        shutil.copytree(REPOSITORY / "src" / "asynclab", book.root / "asynclab")
        return book

    return make


def words(element: Tag) -> str:
    """What a reader reads there, with plain spaces."""
    return re.sub(r"\s+", " ", element.get_text()).strip()


def text_of(book: Book, page: str = "page") -> str:
    """The words of a page."""
    return words(book.article(page))


def test_running_text_quotes_each_framework(make: MakeBook):
    """A value is quoted by its framework's name; a figure that was chosen stands as it is."""
    book = make(page=page_text(MEASURE, "Alpha {value}`alpha.speedup`, Beta {value}`beta.speedup`, {given}`50 ms`.\n"))

    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    assert "Alpha 3.21 times, Beta 0.500 times, 50 ms." in text_of(book)


def test_prose_in_a_tab_quotes_its_own_framework(make: MakeBook):
    """In a reader's tab a value needs no framework in front."""
    prose = TABS.replace("ALPHA", "Here {value}`speedup`.").replace("BETA", "There {value}`speedup`.")
    book = make(page=page_text(MEASURE, prose))

    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    *_, panels = tabs(book.article("page"))
    assert words(panels["Alpha"]) == "Here 3.21 times."
    assert words(panels["Beta"]) == "There 0.500 times."


def test_claim_in_running_text_becomes_a_tab_a_framework(make: MakeBook):
    """What holds in one framework and not in the other says so in each tab, with the numbers of its own run."""
    book = make(page=page_text(MEASURE, CLAIM))

    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    *_, panels = tabs(book.article("page"))
    assert words(panels["Alpha"]) == "It is 3.21 times as fast."
    assert (
        panels["Beta"].get_text(" ", strip=True).replace("\xa0", " ") == "It is not faster here: 0.500 times as fast."
    )


def test_claim_of_a_named_framework_stands_in_running_text(make: MakeBook):
    """With the framework in front a claim is a paragraph like any other."""
    book = make(page=page_text(MEASURE, CLAIM.replace("{claim} faster", "{claim} beta.faster")))

    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    assert len(tabs(book.article("page"))) == 1
    assert "It is not faster here: 0.500 times as fast." in text_of(book)


def test_claim_in_a_tab_is_that_frameworks(make: MakeBook):
    """In a tab a claim needs no name in front, and a value in it neither."""
    book = make(page=page_text(MEASURE, TABS.replace("ALPHA", CLAIM).replace("BETA", "Nothing.")))

    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    assert "It is 3.21 times as fast." in text_of(book)
    assert "not faster" not in text_of(book)


def test_value_on_the_other_side_of_a_claim_need_not_exist(make: MakeBook):
    """What only one kind of machine can measure is quoted where that claim holds, and nowhere else."""
    code = "here = False\nclaim('gpu', here)\nif here:\n    record('stream', 1.0, 'ms')"
    prose = "::::{claim} alpha.gpu\nIt took {value}`stream`.\n\n:::{otherwise}\nNo GPU.\n:::\n::::\n"
    book = make(page=page_text(RECORD, cell(code, "alpha"), cell("1", "beta"), prose))

    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    assert "No GPU." in text_of(book)


def test_claims_can_be_nested(make: MakeBook):
    """A claim inside of another one is settled by the same run."""
    inner = ":::::{claim} faster\nInner.\n\n::::{otherwise}\nInner not.\n::::\n:::::\n"
    outer = f"::::::::{{claim}} beta.faster\nOuter.\n\n:::::::{{otherwise}}\n{inner}:::::::\n::::::::\n"
    book = make(page=page_text(MEASURE, outer))

    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    assert "Inner not." in text_of(book)


def test_prose_follows_a_new_run(make: MakeBook):
    """When a cell measures something else, prose says something else."""
    book = make(page=page_text(MEASURE, CLAIM))
    book.build()
    book.replace("page", "0.5 > 1", "1.5 > 1")
    book.replace("page", "'speedup', 0.5", "'speedup', 1.5")

    book.build()

    *_, panels = tabs(book.article("page"))
    assert words(panels["Beta"]) == "It is 1.50 times as fast."


@pytest.mark.parametrize(
    ("prose", "line", "message"),
    [
        (
            "Words.\n\nIt took {value}`alpha.sped`.\n",
            2,
            "[alpha] no cell records the value 'sped' (recorded: speedup).",
        ),
        (CLAIM.replace("faster\n", "slower\n", 1), 0, "[alpha] no cell records the claim 'slower' (recorded: faster)."),
        ("It took {value}`speedup`.\n", 0, "'speedup' stands in running text, where it is open whose it is."),
        ("It took {value}`gamma.speedup`.\n", 0, "[gamma] 'gamma.speedup' names a framework that this page does not"),
        ("It took {value}`Speed up`.\n", 0, "'Speed up' is no name of a value or claim."),
        ("::::{claim} faster\nIt is.\n::::\n", 0, "claim 'faster' has 0 `{otherwise}`, but has to have one."),
        ("::::{otherwise}\nIt is.\n::::\n", 0, "`{otherwise}` stands outside of a claim."),
    ],
)
def test_name_that_nothing_records_is_an_error(make: MakeBook, prose: str, line: int, message: str):
    """What prose names and no cell records ends the build with page and line, the second time as well."""
    book = make(page=page_text(MEASURE, prose))
    number = book.read("page").split(prose)[0].count("\n") + 1 + line

    built = [book.build() for _ in range(2)]

    for once in built:
        assert once.status == 1
        assert f"page.md:{number}: {message}" in once.output
    assert not book.has_html()


def test_page_without_frameworks_has_nothing_to_quote(make: MakeBook):
    """The role on a plain page is an error that says how to quote from elsewhere."""
    book = make(plain="# Plain\n\nIt took {value}`alpha.speedup`.\n")

    built = book.build()

    assert built.status == 1
    assert "plain.md:3: [alpha] 'alpha.speedup' names a framework that this page does not declare" in built.output


def test_prose_is_whole_where_nothing_runs(make: MakeBook):
    """Without execution a value reads as not run, a claim says nothing, and the build goes on."""
    book = make(page=page_text(MEASURE, "It took {value}`alpha.speedup`.\n\n", CLAIM))
    config = book.root / "_config.yml"
    config.write_text(config.read_text().replace("  timeout: 60", "  execute_notebooks: 'off'"))

    built = book.build()

    assert built.status == 0, built.output
    assert "It took (not run)." in text_of(book)
    assert "as fast" not in text_of(book)


def test_claim_that_must_hold_fails_the_strict_build_each_time(make: MakeBook):
    """A `must` claim that does not hold is a warning, and fails each strict build, also one without a change."""
    book = make(page=page_text(MEASURE.replace("0.5 > 1)", "0.5 > 1, must=True)"), CLAIM))

    plain = book.build()
    strict = [book.build("-W", "--keep-going") for _ in range(2)]

    assert plain.status == 0
    assert plain.output.count("[beta] the claim 'faster' must hold and does not, in this build's run") == 1
    assert [once.status for once in strict] == [1, 1]
    assert all("the claim 'faster' must hold and does not" in once.output for once in strict)


def test_claim_that_must_hold_and_does_passes(make: MakeBook):
    """A strict build says nothing of a `must` claim that holds."""
    book = make(page=page_text(MEASURE.replace("3.21 > 1)", "3.21 > 1, must=True)"), CLAIM))

    assert book.build("-W", "--keep-going").status == 0


def test_report_lists_every_claim(make: MakeBook):
    """The table of claims says of each page, framework and run what holds."""
    book = make(page=page_text(MEASURE, CLAIM), report="# Report\n\n```{polybook-claims}\n```\n")

    book.build()

    table = book.article("report").find("table")
    assert table is not None
    rows = [[entry.get_text(strip=True) for entry in row.find_all("td")] for row in table.find_all("tr")][1:]
    assert [row[:6] for row in rows] == [
        ["Page", "Alpha", "faster", "yes", "no", "this build"],
        ["Page", "Beta", "faster", "no", "no", "this build"],
    ]
