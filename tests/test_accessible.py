"""No page keeps anybody out: axe-core over all of them, and the keyboard where axe cannot look.

Each page is looked at as one of the eight readers here, so that all pages and all readers have their turn;
``benchmarks/accessible.py`` looks at each page as each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from accessibility import READERS, Reader, opened, violations
from browsing import empty_page, served
from playwright.sync_api import Browser, expect
from sites import pages_of

CORE = "chapters/async-computation.html"
#: Whether what has the focus is seen to have it: by a line around it or around the label of a tab.
OUTLINED = """() => {
    const focused = document.activeElement;
    const seen = focused.matches(".sd-tab-set > input") ? focused.labels[0] : focused;
    const { outlineStyle, outlineWidth } = getComputedStyle(seen);
    return outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
}"""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""
    with served(site) as address:
        yield address


@pytest.mark.parametrize("reader", READERS, ids=str)
def test_axe_finds_nothing(browser: Browser, address: str, site: Path, reader: Reader):
    """Every eighth page, as this reader sees it, violates no rule of WCAG 2.2 AA."""
    found = {}
    with opened(browser, address, reader) as page:
        for path in pages_of(site)[READERS.index(reader) :: len(READERS)]:
            found[path] = violations(page, path)

    assert {path: wrong for path, wrong in found.items() if wrong} == {}


def test_axe_would_find_something(browser: Browser, address: str):
    """A picture without a text and grey words on white are found: the checks above can fail."""
    with opened(browser, address, READERS[0]) as page:
        page.route("**/bad.html", lambda route: route.fulfill(content_type="text/html", body=BAD))
        found = {line.partition(":")[0] for line in violations(page, "bad.html")}

    assert {"image-alt", "color-contrast", "heading-order"} <= found


BAD = """<!doctype html><html lang="en"><title>Bad</title><main><h1>One</h1><h3>Three</h3>
<img src="x.png"><p style="color: #aaa; background: #fff">grey</p></main></html>"""


def test_keyboard_goes_to_the_text_and_sees_where_it_is(browser: Browser, address: str):
    """The first Tab offers to skip to the text; of the next stops each is seen, and the text's first is the choice."""
    with empty_page(browser, address) as page:
        page.goto(CORE)
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to main content")).to_be_focused()
        page.keyboard.press("Enter")
        unseen = []
        for _ in range(25):
            page.keyboard.press("Tab")
            if not page.evaluate(OUTLINED):
                unseen.append(page.evaluate("document.activeElement.outerHTML.slice(0, 120)"))

    assert unseen == []


def test_tabs_are_radio_buttons_of_a_named_group(browser: Browser, address: str):
    """A screen reader is told of the choice at the top what it chooses, and of each tab whether it is chosen."""
    with empty_page(browser, address) as page:
        page.goto(CORE)
        choice = page.get_by_role("group", name="Framework").first

        expect(choice.get_by_role("radio", name="PyTorch")).to_be_checked()
        choice.get_by_role("radio", name="PyTorch").press("ArrowRight")
        expect(choice.get_by_role("radio", name="MXNet")).to_be_checked()


def test_nothing_moves_for_who_wants_it_still(browser: Browser, address: str):
    """With less motion asked for, nothing on a page takes time to change."""
    with opened(browser, address, READERS[0]) as page:
        page.goto(CORE)
        moving = page.evaluate(
            """() => [...document.querySelectorAll("*")].filter(element => {
                const { transitionDuration, animationDuration, animationName, scrollBehavior } =
                    getComputedStyle(element);
                const lasts = (text) => text.split(",").some((each) => parseFloat(each) > 0.01);
                return lasts(transitionDuration) || (animationName !== "none" && lasts(animationDuration))
                    || scrollBehavior === "smooth";
            }).map(element => element.outerHTML.slice(0, 100))"""
        )

    assert moving == []
