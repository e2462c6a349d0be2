"""All pages of the real site in a browser: nothing from elsewhere, nothing missing, nothing that no longer works.

The same is tried of the site behind a server and of the offline copy, opened as files.
"""

from __future__ import annotations

import base64
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import empty_page, errors_of, served
from bs4 import BeautifulSoup
from fontTools.ttLib import TTFont
from playwright.sync_api import Browser, Page, Request, expect
from sites import pages_of

from polybook.icons import characters_of, icons_in, own_characters
from polybook.offline import members, pack

CORE = "chapters/async-computation.html"
FORMULAS = "chapters/cheat-sheet.html"

# Icons whose place is seen, and which take none.
UNSEEN = """() => [...document.querySelectorAll("i[class*='fa-']")].filter(icon => icon.checkVisibility()
    && (getComputedStyle(icon, "::before").content === "none" || icon.getBoundingClientRect().width === 0))
    .map(icon => icon.className)"""
# The width and the height of each formula that is part of what is seen.
FORMULA_BOXES = """() => [...document.querySelectorAll("math")].filter(math => math.checkVisibility())
    .map(math => [math.getBoundingClientRect().width, math.getBoundingClientRect().height])"""


@pytest.fixture(scope="module")
def unzipped(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The offline copy, unzipped."""
    folder = tmp_path_factory.mktemp("offline")
    pack(site, folder / "course.zip")
    with zipfile.ZipFile(folder / "course.zip") as archive:
        archive.extractall(folder)
    return folder / "course"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""
    with served(site) as address:
        yield address


@pytest.fixture(params=["served", "files"])
def base(request: pytest.FixtureRequest, address: str, unzipped: Path) -> str:
    """Where pages are: behind a server, or in the unzipped copy."""
    return address if request.param == "served" else unzipped.as_uri()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """An empty page with a storage of its own, of a reader who chose no theme."""
    with empty_page(browser, address) as page:
        yield page


def _is_given_up(made: Request) -> bool:
    return made.failure == "net::ERR_ABORTED" and made.url.endswith("/_static/favicon.svg")


def test_no_page_asks_anybody_else(page: Page, base: str, site: Path, unzipped: Path):
    """Every request of every page goes to where the site is, and is answered; no page makes an error."""
    elsewhere, unanswered, errors = [], [], []
    page.on("request", lambda made: None if made.url.startswith((base, "data:")) else elsewhere.append(made.url))
    # Chromium gives a favicon up when the next page is opened; that it is there is seen below. Nothing else may fail.
    page.on("requestfailed", lambda made: None if _is_given_up(made) else unanswered.append(made.url))
    page.on("response", lambda got: unanswered.append(got.url) if got.status >= 400 else None)
    for path in pages_of(unzipped if base.startswith("file:") else site):
        # A file that is missing is told below, by its address.
        errors += [error for error in errors_of(page, f"{base}/{path}") if "Failed to load resource" not in error]

    assert (elsewhere, unanswered, errors) == ([], [], [])
    assert (site / "_static" / "favicon.svg").is_file()


def test_no_page_would_load_anything_from_elsewhere(site: Path):
    """No script, style sheet or picture is named by an address elsewhere, also where it is loaded only on demand."""
    # The canonical address names the page itself and is not loaded.
    loading = re.compile(
        r"<(?:script|img|iframe|source|video|audio|link(?![^>]*\brel=\"canonical\"))\b[^>]*(?:src|href)=\"(?:https?:)?//[^>]*>"
    )
    inline = re.compile(r"<script\b(?![^>]*ld\+json)[^>]*>[^<]*https?://[^<]*</script>")
    found = [(path, load) for path in pages_of(site) for load in loading.findall((site / path).read_text("utf8"))]
    found += [(path, load) for path in pages_of(site) for load in inline.findall((site / path).read_text("utf8"))]

    assert found == []


def test_fonts_have_every_icon(site: Path):
    """Each icon that a page or the style sheet shows is in the small fonts that come with the site."""
    sheet = next((site / "_static").glob("polybook-*.bundle.css")).read_text("utf8")
    fonts = re.findall(r"url\(\"data:font/woff;base64,([^\"]*)\"\)", sheet)
    there = {chr(code) for font in fonts for code in TTFont(io.BytesIO(base64.b64decode(font))).getBestCmap()}
    shown = {name for path in pages_of(site) for _, name in icons_in((site / path).read_text("utf8"))}
    before = (site / "_static" / "styles" / "pydata-sphinx-theme.css").read_text("utf8")

    assert {"fa-sun", "fa-arrow-up", "fa-list", "fa-expand"} <= shown
    assert characters_of(before, shown) | own_characters(before) <= there


def test_icons_take_their_place(page: Page, address: str):
    """Each icon of a page that is seen has a character of some width, in the font that came with the site."""
    page.goto(f"{address}/{CORE}")

    assert page.evaluate(UNSEEN) == []
    assert page.evaluate("document.fonts.check('900 16px \"Font Awesome 6 Free\"', '\\uf0f3')")


def test_formulas_are_drawn(page: Page, base: str):
    """Each formula is MathML that the browser lays out, and none is left as LaTeX."""
    page.goto(f"{base}/{FORMULAS}")
    boxes = page.evaluate(FORMULA_BOXES)

    assert len(boxes) >= 10
    assert all(width > 3 and height > 5 for width, height in boxes)
    assert not re.search(r"\\[a-z(\[]", page.locator("article").inner_text())


def test_tabs_work(page: Page, base: str):
    """A choice in one tab set is followed by all of the page."""
    page.goto(f"{base}/{CORE}")
    page.locator(".polybook-tabs > label").get_by_text("MXNet", exact=True).nth(1).click()

    for box in page.locator(".polybook-tabs:not(.polybook-only) > input:nth-of-type(2)").all():
        expect(box).to_be_checked()


def test_theme_switch_works(page: Page, address: str):
    """The button goes from the system's theme to the two others and back, and says so to the style sheet."""
    page.goto(f"{address}/{CORE}")
    modes = []
    for _ in range(3):
        page.locator(".theme-switch-button:visible").first.click()
        modes.append(page.evaluate("document.documentElement.dataset.mode"))

    assert sorted(modes) == ["auto", "dark", "light"]


def test_sidebars_open_on_a_telephone(page: Page, address: str):
    """Both buttons open their sidebar, which can be closed again."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{address}/{CORE}")

    for name in ["primary", "secondary"]:
        bar = page.locator(f"#pst-{name}-sidebar-modal")
        page.locator(f".{name}-toggle:visible").first.click()
        expect(bar).to_be_visible()
        page.keyboard.press("Escape")
        expect(bar).to_be_hidden()


def test_code_can_be_copied(page: Page, address: str):
    """A cell's button hands its code over."""
    page.goto(f"{address}/{CORE}")
    cell = page.locator(".cell_input").first
    cell.hover()
    button = cell.locator("button.copybtn")

    expect(button).to_be_visible()
    assert button.get_attribute("data-clipboard-target")


def test_search_dialog_leads_to_the_results(page: Page, base: str):
    """What is typed into a page's search field is found on the search page."""
    page.goto(f"{base}/{CORE}")
    page.keyboard.press("Control+k")
    page.locator("#pst-search-dialog input").fill("wait_to_read")
    page.keyboard.press("Enter")

    expect(page.locator("#search-results mark").first).to_have_text("wait_to_read")


def test_what_a_page_loads_is_what_it_uses(page: Page, address: str):
    """A chapter loads neither Font Awesome's script and fonts, nor thebe, nor MathJax, nor Sphinx's index."""
    loaded = []
    page.on("request", lambda made: loaded.append(made.url))
    page.goto(f"{address}/{CORE}")

    assert not re.search("fontawesome|fa-solid|thebe|mathjax|searchindex|searchtools|MathJax", " ".join(loaded))
    assert sum(url.partition("?")[0].endswith(".css") for url in loaded) == 1


@pytest.mark.parametrize(
    ("works_on", "script"),
    [
        (".toggle, .admonition.dropdown", "togglebutton.js"),
        ("div.highlight pre", "copybutton.js"),
        ("div.highlight pre", "clipboard.min.js"),
        (".sd-tab-set", "design-tabs.js"),
        (".cost-model", "cost-model/model.js"),
    ],
)
def test_pages_load_each_script_that_they_need(site: Path, works_on: str, script: str):
    """A page that has what a script works on loads it, and no other page does."""
    for path in pages_of(site):
        page = BeautifulSoup((site / path).read_text("utf8"), "html.parser")
        loaded = [tag["src"] for tag in page.select("script[src]")]
        assert any(script in source for source in loaded) == bool(page.select(works_on)), path


def test_archive_depends_on_content_alone(site: Path, tmp_path: Path):
    """Two archives of one site are equal to the byte, whenever its files were written."""
    pack(site, tmp_path / "a.zip")
    first = (tmp_path / "a.zip").read_bytes()
    (site / "index.html").touch()

    pack(site, tmp_path / "a.zip")

    assert (tmp_path / "a.zip").read_bytes() == first
    assert {"index.html", CORE, "search.html"} <= {*members(site)}
