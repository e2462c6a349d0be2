"""The built book in a browser: one choice of framework, kept everywhere, by mouse and by keyboard.

One book is built for all of these tests. Each opens pages in a browser context of its own, whose storage is empty,
and which reaches nothing but this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from books import Book
from browsing import KNOWN_ERRORS, empty_page, errors_of, served
from playwright.sync_api import Browser, Locator, Page, expect

#: What the tab sets of the minibook's two pages show, in order: each page has one tab set with a single framework.
FIRST = {
    "alpha": ["Alpha", "Alpha", "Alpha", "Beta"],
    "beta": ["Beta", "Beta", "Beta", "Beta"],
}
FEATURES = {
    "alpha": ["Alpha"] * 8,
    "beta": ["Beta", "Beta", "Beta", "Alpha", "Beta", "Beta", "Beta", "Beta"],
}
#: Where they stand on first.html.
PROSE, UNTAGGED, LONE = 1, 2, 3
#: The prose there; Sphinx makes its apostrophe a typographical one.
PROSE_OF = "{}\N{RIGHT SINGLE QUOTATION MARK}s own prose."

# For every tab set the titles of the panels that can be seen, joined by a plus if there is more than one.
SHOWN = """() => [...document.querySelectorAll(".sd-tab-set")].map(set =>
    [...set.children]
        .filter(child => child.matches(".sd-tab-content") && child.checkVisibility() && child.offsetHeight > 0)
        .map(panel => panel.previousElementSibling.textContent.trim())
        .join("+"))"""

Choose = Callable[[Page, int, str], None]


@pytest.fixture(scope="session")
def html(minibook: Book) -> Path:
    """The folder of the minibook's pages."""
    return minibook.root / "_build" / "html"


@pytest.fixture(scope="session")
def address(html: Path) -> Iterator[str]:
    """Where that folder is served."""
    with served(html) as address:
        yield address


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """An empty page with a storage of its own."""
    with empty_page(browser, address) as page:
        yield page


def tab_set(page: Page, number: int) -> Locator:
    """One of a page's tab sets, counted from 0."""
    return page.locator(".sd-tab-set").nth(number)


def tab(page: Page, number: int, title: str) -> Locator:
    """The label of a tab of that tab set."""
    return tab_set(page, number).locator("> label").get_by_text(title, exact=True)


def shown(page: Page) -> list[str]:
    """The title of the panel that each tab set shows; empty for none, several if it shows several."""
    return page.evaluate(SHOWN)


def focus(page: Page, number: int) -> Locator:
    """Press Tab until the focus is in the head of that tab set, and return what has it."""
    focused = tab_set(page, number).locator("> :focus")
    for _ in range(100):
        page.keyboard.press("Tab")
        if focused.count():
            return focused
    raise AssertionError(f"the Tab key never reaches tab set {number}")


def by_mouse(page: Page, number: int, title: str) -> None:
    """Click on a tab."""
    tab(page, number, title).click()


def by_keyboard(page: Page, number: int, title: str) -> None:
    """Tab to a tab set, then press the right arrow until that tab is chosen."""
    focused = focus(page, number)
    for _ in range(tab_set(page, number).locator("> label").count()):
        if focused.evaluate("radio => radio.labels[0].textContent.trim()") == title:
            return
        page.keyboard.press("ArrowRight")
    assert focused.evaluate("radio => radio.labels[0].textContent.trim()") == title


@pytest.fixture(params=[by_mouse, by_keyboard], ids=["mouse", "keyboard"])
def choose(request: pytest.FixtureRequest) -> Choose:
    """A way to choose a tab, called with the page, the tab set's number and the tab's title."""
    return request.param


def test_without_a_choice_each_page_shows_its_first_framework(page: Page):
    """A reader who has chosen nothing sees, in each tab set, the framework that the page names first."""
    page.goto("/first.html")
    assert shown(page) == FIRST["alpha"]

    page.goto("/features.html")
    assert shown(page) == FEATURES["beta"]


def test_choice_in_one_tab_set_switches_all(page: Page, choose: Choose):
    """A choice in any tab set, also in one of prose by sphinx-design, is followed by all, there and back."""
    page.goto("/first.html")

    for number in [0, PROSE, UNTAGGED]:
        choose(page, number, "Beta")
        assert shown(page) == FIRST["beta"]
        choose(page, number, "Alpha")
        assert shown(page) == FIRST["alpha"]


def test_choice_shows_what_belongs_to_it_and_nothing_else(page: Page):
    """After a choice, code, output and prose of that framework can be seen, and those of the other cannot."""
    page.goto("/first.html")

    by_mouse(page, 0, "Beta")

    for text in ["beta runs 0.10.0", PROSE_OF.format("Beta"), "untagged 0.10.0"]:
        expect(page.get_by_text(text, exact=True)).to_be_visible()
    for text in ["alpha runs 0.9.0", PROSE_OF.format("Alpha"), "untagged 0.9.0"]:
        expect(page.get_by_text(text, exact=True)).to_be_hidden()


def test_choice_is_kept_after_reload(page: Page, choose: Choose):
    """A page that is loaded anew shows what was chosen before."""
    page.goto("/first.html")
    choose(page, 0, "Beta")

    page.reload()

    assert shown(page) == FIRST["beta"]


def test_choice_is_kept_on_another_page(page: Page, choose: Choose):
    """A page whose tabs stand in the other order shows the framework that was chosen, not the tab's place."""
    page.goto("/first.html")
    choose(page, 0, "Beta")
    choose(page, 0, "Alpha")

    page.get_by_role("link", name="Features").first.click()
    page.wait_for_url("**/features.html")

    assert shown(page) == FEATURES["alpha"]


def test_url_chooses_and_is_remembered(page: Page):
    """A framework named in the URL is shown, and is the reader's choice from then on."""
    page.goto("/first.html?framework=beta")
    assert shown(page) == FIRST["beta"]

    page.goto("/first.html")
    assert shown(page) == FIRST["beta"]

    page.goto("/features.html?framework=alpha")
    assert shown(page) == FEATURES["alpha"]

    page.goto("/first.html")
    assert shown(page) == FIRST["alpha"]


def test_url_overrides_an_earlier_choice(page: Page):
    """A framework named in the URL wins over the one chosen before, and replaces it."""
    page.goto("/first.html")
    by_mouse(page, 0, "Beta")

    page.goto("/first.html?framework=alpha")
    assert shown(page) == FIRST["alpha"]

    page.goto("/features.html")
    assert shown(page) == FEATURES["alpha"]


def test_unknown_framework_in_url_hides_nothing(page: Page):
    """With an unknown framework in the URL every tab set shows its first tab, and the tabs work as always."""
    page.goto("/features.html?framework=nope")
    assert shown(page) == FEATURES["beta"]
    page.goto("/first.html?framework=nope")
    assert shown(page) == FIRST["alpha"]

    by_mouse(page, 0, "Beta")
    page.goto("/features.html")

    assert shown(page) == FEATURES["beta"]


def test_arrow_keys_switch_and_keep_a_visible_focus(page: Page):
    """Each arrow key goes to the other tab, also round the end, and the focus moves along and can be seen."""
    page.goto("/first.html")
    focused = focus(page, 0)
    expect(focused).to_have_role("radio")

    for key in ["ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp"]:
        for name in ["beta", "alpha"]:
            page.keyboard.press(key)
            label = tab(page, 0, name.title())
            assert shown(page) == FIRST[name]
            expect(focused).to_have_accessible_name(name.title())
            expect(focused).to_be_checked()
            expect(label).to_be_in_viewport()
            expect(label).not_to_have_css("outline-style", "none")
            expect(label).not_to_have_css("outline-width", "0px")


def test_tab_key_stops_once_at_each_tab_set(page: Page):
    """The Tab key goes from tab set to tab set, to the tab that is chosen, and passes over the others."""
    page.goto("/first.html?framework=beta")
    stops = [focus(page, 0).get_attribute("id")]
    for _ in range(100):
        page.keyboard.press("Tab")
        stops += page.locator(".sd-tab-set > :focus").evaluate_all("found => found.map(radio => radio.id)")
        if stops.count(stops[0]) == 2:
            break

    chosen = page.locator(".sd-tab-set > :checked").evaluate_all("found => found.map(radio => radio.id)")
    assert stops == [*chosen, chosen[0]]


def test_tab_set_of_one_framework_stays_visible(page: Page, choose: Choose):
    """A cell that only one framework has is seen with its label, whichever framework is chosen."""
    page.goto("/first.html")

    for title in ["Beta", "Alpha"]:
        choose(page, 0, title)
        expect(tab(page, LONE, "Beta")).to_be_visible()
        expect(tab_set(page, LONE).locator("> label")).to_have_count(1)
        expect(tab_set(page, LONE).get_by_text("only beta", exact=True)).to_be_visible()


@pytest.mark.parametrize("chosen", ["alpha", "beta"])
def test_link_to_a_label_of_a_tab_set_shows_the_chosen_panel(page: Page, chosen: str):
    """A link to a label above a cell goes to the tab set, which keeps the reader's choice."""
    page.goto(f"/features.html?framework={chosen}#labelled")

    expect(page.locator("#labelled")).to_be_in_viewport()
    expect(page.locator("#labelled").get_by_text(f"hide-input {chosen}", exact=True)).to_be_visible()
    assert shown(page) == FEATURES[chosen]


@pytest.mark.parametrize(("chosen", "figure"), [("alpha", "fig-dot"), ("beta", "fig-dot-alpha")])
def test_link_from_elsewhere_opens_the_panel_of_a_figure(page: Page, chosen: str, figure: str):
    """A link to a figure of the framework that is not chosen opens its panel and goes there."""
    page.goto(f"/first.html?framework={chosen}")

    page.goto(f"/features.html#{figure}")

    expect(page.locator(f"#{figure} img")).to_be_in_viewport()


def test_link_on_the_page_opens_the_panel_of_a_figure(page: Page):
    """A click on a reference to a figure opens its panel and goes there, from one framework to the other and back."""
    page.goto("/features.html")

    for figure in ["fig-dot-alpha", "fig-dot"]:
        page.locator(f"a.reference[href='#{figure}']").click()
        expect(page.locator(f"#{figure} img")).to_be_in_viewport()


def test_page_without_frameworks_works(page: Page):
    """A page's own tabs neither follow the choice of framework nor change it."""
    page.goto("/first.html?framework=beta")

    page.goto("/plain.html?framework=beta")
    assert shown(page) == ["One"]
    by_mouse(page, 0, "Two")
    assert shown(page) == ["Two"]

    page.goto("/first.html")
    assert shown(page) == FIRST["beta"]


@pytest.mark.parametrize("path", ["/first.html", "/features.html"])
def test_narrow_page_does_not_scroll_sideways(page: Page, path: str):
    """On a telephone of 390 pixels a page fits whichever framework it shows, and wide code scrolls by itself."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(path)

    for title in ["Alpha", "Beta"]:
        by_mouse(page, 0, title)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert page.evaluate("() => { scrollTo(500, scrollY); return scrollX }") == 0
        for label in page.locator(".sd-tab-set > label").all():
            expect(label).to_be_visible()
            box = label.bounding_box()
            assert box is not None
            assert 0 <= box["x"] < box["x"] + box["width"] <= 390


def test_tabs_work_from_a_file(page: Page, choose: Choose, html: Path):
    """A book that is opened as a file, without a server, switches all of its tab sets."""
    page.goto((html / "first.html").as_uri())
    assert shown(page) == FIRST["alpha"]

    choose(page, 0, "Beta")

    assert shown(page) == FIRST["beta"]


@pytest.mark.parametrize("path", ["index", "first", "features", "plain", "notebook"])
def test_page_makes_no_error(page: Page, path: str):
    """No page makes an error in the console, besides those that every Jupyter Book makes."""
    errors = errors_of(page, f"/{path}.html")

    assert [error for error in errors if error not in KNOWN_ERRORS] == []


def test_unknown_framework_in_url_leaves_an_earlier_choice(page: Page):
    """A URL with an unknown framework does not make the book forget what the reader chose."""
    page.goto("/first.html")
    by_mouse(page, 0, "Beta")
    page.goto("/first.html?framework=nope")

    page.goto("/first.html")

    assert shown(page) == FIRST["beta"]


def test_choice_after_one_by_url_is_kept_after_reload(page: Page):
    """A reader who came by a URL that names a framework, and then chose another, finds that one after a reload."""
    page.goto("/first.html?framework=beta")
    by_mouse(page, 0, "Alpha")

    page.reload()

    assert shown(page) == FIRST["alpha"]


def test_choice_is_kept_on_the_way_back(page: Page):
    """A reader who goes back to a page finds there what was chosen on the next one."""
    page.goto("/first.html")
    by_mouse(page, 0, "Beta")
    page.goto("/features.html")
    by_mouse(page, 0, "Alpha")

    page.go_back()

    assert shown(page) == FIRST["alpha"]


def test_choice_by_url_of_a_page_without_tabs_is_kept(page: Page):
    """A link to the front page can name the framework for the whole book."""
    page.goto("/index.html?framework=beta")

    page.goto("/first.html")

    assert shown(page) == FIRST["beta"]
    assert "framework" not in page.url


def test_other_window_follows(page: Page):
    """A page that is open in another window shows the latest choice as well."""
    page.goto("/first.html")
    other = page.context.new_page()
    other.goto(page.url)
    by_mouse(page, 0, "Beta")

    other.wait_for_function(
        "document.querySelectorAll('[data-sync-id=beta]').length && "
        "document.getElementById(document.querySelector('[data-sync-id=beta]').htmlFor).checked"
    )

    assert shown(other) == FIRST["beta"]


def test_link_into_a_tab_opens_it_each_time(page: Page):
    """The same link, followed again after another choice, opens its panel again."""
    page.goto("/features.html")
    link = page.get_by_role("link", name="Fig. 2")
    figure = page.locator("#fig-dot-alpha")
    link.click()
    expect(figure).to_be_visible()
    by_mouse(page, 0, "Alpha")
    by_mouse(page, 0, "Beta")
    expect(figure).to_be_hidden()

    link.click()

    expect(figure).to_be_visible()


def test_block_of_one_framework_says_so_to_who_chose_the_other(page: Page):
    """A note stands in it for a reader of the other framework, at once and after a reload, and for no other."""
    note = tab_set(page, LONE).get_by_text("This is about Beta alone.")
    page.goto("/first.html?framework=beta")
    expect(note).to_have_count(0)

    by_mouse(page, 0, "Alpha")
    expect(note).to_be_visible()
    page.reload()
    expect(note).to_be_visible()
    by_mouse(page, 0, "Beta")
    expect(note).to_have_count(0)
