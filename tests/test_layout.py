"""All pages at all widths: nothing sticks out, and one choice of framework is kept and can be linked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import empty_page, served
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, Page, expect
from sites import pages_of

WIDTHS = [320, 390, 768, 1280, 1920]
CORE, NEXT, LISTED = "chapters/async-computation.html", "chapters/waiting.html", "exercises/index.html"
#: What makes a page wider than its window: nothing that scrolls or is cut inside of something else.
TOO_WIDE = """() => {
    const room = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= room) return [];
    return [...document.querySelectorAll("body *")]
        .filter((element) => element.checkVisibility() && element.getBoundingClientRect().right > room + 1)
        .map((element) => element.outerHTML.slice(0, 120)).slice(0, 5).concat("is too wide");
}"""
#: Lines of code that are longer than the place they have.
CUT = """() => [...document.querySelectorAll(".cell_input pre")]
    .filter((code) => code.checkVisibility() && code.scrollWidth > code.clientWidth)
    .map((code) => code.textContent.split("\\n").sort((a, b) => b.length - a.length)[0])"""
#: Columns that are seen without scrolling, in a window of 1280 pixels.
COLUMNS = 88


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""
    with served(site) as address:
        yield address


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """An empty page with a storage of its own."""
    with empty_page(browser, address) as page:
        yield page


def choice(page: Page, framework: str) -> None:
    """Choose a framework at the top of the page."""
    page.locator("h1 + .polybook-notebooks > label").get_by_text(framework, exact=True).click()


def check_shown(page: Page, framework: str) -> None:
    """See to it that every tab set that has this framework shows it."""
    labels = page.locator(".sd-tab-label[data-sync-group=framework]").get_by_text(framework, exact=True)
    expect(labels.first).to_be_visible()
    for label in labels.all():
        assert label.evaluate("label => document.getElementById(label.htmlFor).checked")


def test_no_page_scrolls_sideways(page: Page, site: Path):
    """At no width is a page wider than its window, with either framework chosen and all that folds unfolded."""
    found = {}
    for number, path in enumerate(pages_of(site)):
        page.goto(f"{path}?framework={['pytorch', 'mxnet'][number % 2]}")
        page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            if wide := page.evaluate(TOO_WIDE):
                found[path, width] = wide

    assert found == {}


def test_code_is_not_cut(page: Page, site: Path):
    """In a window of 1280 pixels lines of up to 88 columns are seen whole."""
    page.set_viewport_size({"width": 1280, "height": 900})
    cut = []
    for path in pages_of(site):
        page.goto(path)
        cut += [line for line in page.evaluate(CUT) if len(line) <= COLUMNS]

    assert cut == []


def test_choice_is_kept_from_page_to_page_and_after_reload(page: Page):
    """What is chosen at the top holds for all tabs of the page, of the next page, and of that page loaded anew."""
    page.goto(CORE)
    choice(page, "MXNet")
    check_shown(page, "MXNet")

    page.goto(NEXT)
    check_shown(page, "MXNet")
    page.reload()
    check_shown(page, "MXNet")


def test_choice_outlives_the_session(browser: Browser, address: str):
    """A browser that was closed and opened again, with what it stored, shows what was chosen before."""
    with empty_page(browser, address) as page:
        page.goto(CORE)
        choice(page, "MXNet")
        kept = page.context.storage_state()
    with browser.new_context(base_url=address, storage_state=kept) as later:
        page = later.new_page()
        page.goto(NEXT)

        check_shown(page, "MXNet")


def test_link_wins_over_what_was_chosen(page: Page):
    """A link that names a framework shows it, and is the choice from then on."""
    page.goto(CORE)
    choice(page, "MXNet")

    page.goto(f"{NEXT}?framework=pytorch")
    check_shown(page, "PyTorch")
    page.goto(CORE)
    check_shown(page, "PyTorch")


def test_page_without_notebooks_of_its_own_has_a_choice_too(page: Page):
    """A list of exercises, each with its own notebooks, has one choice at its top, and all follow."""
    page.goto(LISTED)
    choice(page, "MXNet")

    check_shown(page, "MXNet")


def test_front_page_shows_what_the_chapter_measured(site: Path):
    """The pictures on the front page are those of the chapter, of both frameworks, with a text that says the same."""
    front, chapter = (BeautifulSoup((site / path).read_text("utf8"), "html.parser") for path in ("index.html", CORE))
    shown = {(img["src"].rpartition("/")[2], img["alt"]) for img in front.select(".polybook-outputs img")}
    made = {(img["src"].rpartition("/")[2], img["alt"]) for img in chapter.select(".cell_output img")}

    assert len(shown) >= 2
    assert shown <= made
    assert len(front.select(".polybook-outputs .polybook-run-line")) == 2
