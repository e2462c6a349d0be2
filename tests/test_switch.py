"""The choice between the runs of a framework, in a browser: outputs, lines and prose change together."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from books import REPOSITORY, cell, copy_minibook, fabricate, page_text
from browsing import KNOWN_ERRORS, empty_page, errors_of, served
from playwright.sync_api import Browser, Page, expect

from polybook.run import Run

RECORDED, LIVE = "recorded (h200)", "this build"
#: On a page: a measurement in each framework, output without a tag, and prose that quotes and claims.
PARTS = (
    cell("from asynclab import claim, record"),
    cell("record('speed', 1.0, 'times')\nclaim('fast', False)\nprint('alpha of this build')", "alpha"),
    cell("print('beta of this build')", "beta"),
    "Alpha is {value}`alpha.speed` as fast.\n\n",
    "::::{claim} alpha.fast\nA claim that holds.\n\n:::{otherwise}\nA claim that does not hold.\n:::\n::::\n\n",
    cell("print('untagged of this build')"),
)


#: Output that works on the page by a script and an id.
SCRIPT = """from IPython.display import HTML
print('x')
HTML("<div id='plot'></div><script>document.getElementById('plot').textContent = 'of this build'</script>")"""


def faster(run: Run) -> Run:
    """The same run on a machine on which everything came out otherwise."""
    for made in run.cells:
        for output in made["outputs"]:
            fact = output.get("metadata", {}).get("polybook", {})
            if "text/html" in output.get("data", {}):
                output["data"]["text/html"] = output["data"]["text/html"].replace("of this build", "of the GPU")
            if fact.get("kind") == "value":
                fact["text"] = "9.00 times"
            if fact.get("kind") == "claim":
                fact["holds"] = True
    return run


@pytest.fixture(scope="module")
def site(environments: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A book of two pages with a recorded run of Alpha beside this build's, and a third page without one."""
    pages = {
        "page": page_text(*PARTS).replace("polybook:\n", "polybook:\n  needs: {alpha: gpu}\n"),
        "second": page_text(*PARTS, "More.\n", cell("pass"), title="Second"),
        "third": page_text(cell("print('third')", "alpha"), cell("2", "beta"), title="Third"),
    }
    pages["script"] = page_text(cell(SCRIPT, "alpha"), cell("2", "beta"), title="Script").replace(
        "polybook:\n", "polybook:\n  needs: {alpha: gpu}\n"
    )
    pages["hidden"] = page_text(
        cell("print('folded of this build')", "alpha", "hide-output"), cell("print(1)", "alpha"), cell("2", "beta")
    ).replace("polybook:\n", "polybook:\n  needs: {alpha: gpu}\n")
    book = copy_minibook(tmp_path_factory.mktemp("switch") / "book", environments, pages)
    shutil.copytree(REPOSITORY / "src" / "asynclab", book.root / "asynclab")
    assert book.polybook("run").status == 0
    for name in ("page", "second", "hidden", "script"):
        fabricate(book, "alpha", "alpha of the GPU", page=name, change=faster)
    built = book.build("-W", "--keep-going")
    assert built.status == 0, built.output
    with served(book.root / "_build" / "html") as address:
        yield address


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    """An empty page with a storage of its own."""
    with empty_page(browser, site) as page:
        yield page


def outputs(page: Page) -> list[str]:
    """The outputs that can be seen, in order."""
    texts = [item.inner_text().strip() for item in page.locator(".cell_output:visible").all()]
    return [text for text in texts if text]


def prose(page: Page) -> str:
    """The words that can be seen."""
    return page.locator("article.bd-article").inner_text().replace("\xa0", " ")


def choose(page: Page, label: str) -> None:
    """Choose a run, by the first of the buttons that can be seen."""
    page.locator(".polybook-switch button:visible").get_by_text(label, exact=True).first.click()


def pressed(page: Page) -> set[str]:
    """The runs that the buttons in sight say are shown."""
    return {item.inner_text() for item in page.locator(".polybook-switch [aria-pressed=true]:visible").all()}


GPU = ["alpha of the GPU", "alpha of the GPU"]
HERE = ["alpha of this build", "untagged of this build"]


def test_needed_run_is_shown_first(page: Page):
    """Where the page needs a GPU a reader sees the recorded run, in outputs, line and prose."""
    errors = errors_of(page, "/page.html")

    assert outputs(page) == GPU
    assert pressed(page) == {RECORDED}
    assert "Alpha is 9.00 times as fast." in prose(page)
    assert "A claim that holds." in prose(page)
    assert "does not hold" not in prose(page)
    expect(page.locator(".polybook-run-line:visible").first).to_contain_text("A machine of the tests")
    assert [error for error in errors if error not in KNOWN_ERRORS] == []


def test_choice_changes_everything_of_that_run(page: Page):
    """The other run's outputs, lines, values and claims are shown, in every tab set of the page, and no others."""
    page.goto("/page.html")

    choose(page, LIVE)

    assert outputs(page) == HERE
    assert pressed(page) == {LIVE}
    assert "Alpha is 1.00 times as fast." in prose(page)
    assert "9.00" not in prose(page)
    assert "A claim that does not hold." in prose(page)
    assert "A claim that holds." not in prose(page)
    for line in page.locator(".polybook-run-line:visible").all():
        assert "A machine of the tests" not in line.inner_text()


def test_choice_can_be_taken_back(page: Page):
    """There and back again shows what was shown before."""
    page.goto("/page.html")
    choose(page, LIVE)

    choose(page, RECORDED)

    assert outputs(page) == GPU
    assert "Alpha is 9.00 times as fast." in prose(page)


def test_other_framework_is_left_alone(page: Page):
    """A choice between Alpha's runs changes nothing of Beta's, which has one run and no choice."""
    page.goto("/page.html")
    choose(page, LIVE)

    page.locator(".sd-tab-set > label").get_by_text("Beta", exact=True).first.click()

    assert outputs(page) == ["beta of this build", "untagged of this build"]
    assert page.locator(".polybook-switch button:visible").count() == 0


def test_choice_is_kept_on_other_pages_and_after_reload(page: Page):
    """A reader chooses once; a page that lacks that run shows what it has."""
    page.goto("/second.html")
    assert outputs(page) == HERE
    choose(page, RECORDED)

    page.reload()
    assert outputs(page) == GPU
    page.goto("/page.html")
    assert outputs(page) == GPU
    page.goto("/third.html")
    assert outputs(page) == ["third"]
    choose_live = page.goto("/page.html")
    assert choose_live is not None
    choose(page, LIVE)
    page.goto("/second.html")
    assert outputs(page) == HERE


def test_choice_by_keyboard(page: Page):
    """The buttons can be reached and pressed without a mouse, and say to a screen reader what they are."""
    page.goto("/page.html")
    button = page.get_by_role("group", name="Which run is shown").first.get_by_role("button", name=LIVE)
    button.focus()

    page.keyboard.press("Enter")

    assert outputs(page) == HERE
    expect(button).to_be_focused()
    expect(button).to_have_attribute("aria-pressed", "true")


def test_run_that_is_hidden_does_nothing(page: Page):
    """Scripts and ids of the other run are no part of the page until it is chosen; then the first one's are gone."""
    errors = errors_of(page, "/script.html")

    before = [page.locator("#plot").count(), page.locator("#plot").inner_text()]
    choose(page, LIVE)

    assert before == [1, "of the GPU"]
    assert (page.locator("#plot").count(), page.locator("#plot").inner_text()) == (1, "of this build")
    assert [error for error in errors if error not in KNOWN_ERRORS] == []


def test_hidden_output_goes_with_its_run(page: Page):
    """Of outputs that start out folded one can be unfolded, that of the run that is shown."""
    page.goto("/hidden.html")

    before = page.locator("details.hide:visible").count()
    choose(page, LIVE)

    assert before == page.locator("details.hide:visible").count() == 1
    page.locator("details.hide summary").click()
    assert "folded of this build" in page.locator("details.hide .cell_output").inner_text()


def test_without_scripts_the_first_run_is_shown(browser: Browser, site: str):
    """Without JavaScript there is no choice, and nothing of the other run."""
    with browser.new_context(base_url=site, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto("/page.html")

        assert outputs(page) == GPU
        assert "1.00" not in prose(page)
        assert page.locator(".polybook-switch:visible").count() == 0


def test_narrow_page_does_not_scroll_sideways(page: Page):
    """On a telephone the choice fits below its line."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/page.html")

    assert page.evaluate("document.documentElement.scrollWidth") == 390
