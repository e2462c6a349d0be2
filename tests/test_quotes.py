"""Prose that quotes what was measured: values, and claims that hold in one run and not in another."""

from __future__ import annotations

import base64
import re
import shutil
from collections.abc import Callable

import pytest
from books import REPOSITORY, Book, cell, fabricate, page_text, tabs
from bs4 import Tag

from polybook.run import Run

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


PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def slower(run: Run) -> Run:
    """The same run where the values came out otherwise."""
    for made in run.cells:
        for output in made["outputs"]:
            fact = output.get("metadata", {}).get("polybook", {})
            if fact.get("kind") == "value":
                fact["text"] = "0.10 times"
    return run


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


def test_claim_about_another_framework_is_settled_by_that_one(make: MakeBook):
    """A claim, a value or a tab inside of a claim is that framework's whose name it has."""
    beta = ":::::{claim} beta.faster\nBeta too.\n\n::::{otherwise}\nBeta not: {value}`speedup`.\n::::\n:::::\n\n"
    tab = TABS.replace("ALPHA", "A {value}`speedup`").replace("BETA", "B {value}`speedup`")
    outer = f"::::::::::{{claim}} alpha.faster\n{beta}{tab}\n:::::::::{{otherwise}}\nNo.\n:::::::::\n::::::::::\n"
    book = make(page=page_text(MEASURE, outer))

    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    assert "Beta not: 0.500 times." in text_of(book)
    *_, panels = tabs(book.article("page"))
    assert (words(panels["Alpha"]), words(panels["Beta"])) == ("A 3.21 times", "B 0.500 times")


def test_what_may_stand_once_does(make: MakeBook):
    """Labels, equations, figures and footnotes in a claim that is shown for two frameworks and two runs."""
    claim = (
        "::::{claim} faster\n(lab)=\nSee {ref}`here <lab>` and {eq}`eq-a`.[^note] It is {value}`speedup`.\n\n"
        "```{math}\n:label: eq-a\n1 + 1\n```\n\n```{figure} dot.png\n:name: fig-a\n:alt: a dot\nA dot.\n```\n\n"
        ":::{otherwise}\nNo: {value}`speedup`.\n:::\n::::\n\n[^note]: A note.\n\n"
        "After {numref}`fig-a` and {eq}`eq-a`.\n"
    )
    book = make(page=page_text(MEASURE.replace("0.5 > 1", "0.5 < 1"), claim))
    (book.root / "dot.png").write_bytes(PIXEL)
    book.polybook("run")
    fabricate(book, "alpha", "", change=slower)

    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    ids = [item["id"] for item in book.article("page").select("[id]")]
    assert len(ids) == len(set(ids))
    assert "After Fig. 1 and (1)." in text_of(book)
    assert "[]" not in text_of(book)


def test_value_in_a_heading_is_refused(make: MakeBook):
    """A heading is repeated in contents and titles, where no run can be chosen."""
    book = make(page=page_text(MEASURE, "## It is {value}`alpha.speedup`\n"))

    built = book.build()

    assert built.status == 1
    assert "a value stands in a heading, which is repeated where no run can be chosen." in built.output


def test_reference_to_a_caption_reads_the_first_run(make: MakeBook):
    """A link's text is the caption as it is shown, not the runs one after the other."""
    caption = (
        "```{figure} dot.png\n:name: fig-a\n:alt: a dot\nIt is {value}`alpha.speedup`.\n```\n\nSee {ref}`fig-a`.\n"
    )
    book = make(page=page_text(MEASURE, caption))
    (book.root / "dot.png").write_bytes(PIXEL)
    book.polybook("run")
    fabricate(book, "alpha", "", change=slower)

    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    assert "See It is 3.21 times.." in text_of(book)


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
        ("::::{claim} faster\nIt is.\n::::\n", 0, "claim 'faster' has no `{otherwise}`; it has to have one."),
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
    assert "plain.md:3: 'alpha.speedup' is quoted on a page that declares no frameworks." in built.output


def test_value_of_another_page_is_quoted_as_the_message_says(make: MakeBook):
    """MyST-NB's own role takes a page's name, two colons, the value's name and one colon more."""
    book = make(page=page_text(MEASURE), other="# Other\n\nAlpha took {glue:text}`page.md::alpha.speedup:`.\n")

    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    assert "Alpha took 3.21 times." in text_of(book, "other").replace("'", "")


def test_page_that_cannot_be_used_is_told_once(make: MakeBook):
    """One wrong tag is one error: what the page quotes is not held against it as well."""
    book = make(page=page_text(MEASURE, CLAIM, "{value}`alpha.speedup`\n", cell("1", "alhpa")))

    built = book.build()

    assert built.status == 1
    assert "polybook: 1 failure, no page was written" in built.output


def test_page_that_only_records_can_be_switched(make: MakeBook):
    """Where a page's cells show nothing, prose does, and it says where its values come from and offers the choice."""
    book = make(page=page_text(MEASURE, "It is {value}`alpha.speedup`.\n"))
    book.polybook("run")
    fabricate(book, "alpha", "", change=slower)

    book.build()

    choices = tabs(book.article("page"))[0]["Alpha"].select(".polybook-choice")
    assert [choice.get_text() for choice in choices] == ["this build", "recorded (h200)"]


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


def test_what_was_not_tried_is_explained(make: MakeBook):
    """Where a machine lacks what a claim takes, its explanation stands, and the report says that it was not tried."""
    report = "# Report\n\n```{polybook-claims}\n```\n"
    book = make(page=page_text(MEASURE.replace("0.5 > 1)", "None)"), CLAIM), report=report)

    assert book.build("-W", "--keep-going").status == 0
    assert "It is not faster here" in tabs(book.article("page"))[-1]["Beta"].get_text()
    assert "not tried" in book.article("report").get_text()
    assert re.search(r"beta +faster +not tried +no", book.polybook("claims").output)


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
