"""The real book's notebooks: what each file may and may not hold, and that every link and button leads somewhere.

The book is built twice, with and without knowing where it will be published; no cell runs for it.
"""

from __future__ import annotations

import ast
import functools
import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from books import REPOSITORY
from browsing import empty_page, served
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, Page, expect
from sites import ADDRESS
from test_chapters import FRAMEWORKS, OTHERS, PAGES

from polybook.archive import archive_path
from polybook.book import open_book, pages
from polybook.page import Page as SourcePage
from polybook.split import split

CASES = [(framework, chapter) for framework in FRAMEWORKS for chapter in PAGES]
#: A link or a picture in Markdown, and one in HTML.
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:href|src)=[\"']([^\"']+)")
ROLE = re.compile(r"\{[\w:.+-]+\}`")


@pytest.fixture(scope="module", params=["site", "published"], ids=["local", "published"])
def each_site(request: pytest.FixtureRequest) -> Path:
    """Both, one after the other."""
    found: Path = request.getfixturevalue(request.param)
    return found


def notebook(site: Path, framework: str, chapter: str) -> dict[str, Any]:
    """A notebook, as Jupyter reads it."""
    made: dict[str, Any] = nbformat.read(site / f"notebooks/{framework}/{chapter}.ipynb", as_version=4)
    return made


def sources(site: Path, framework: str, chapter: str, kind: str) -> list[str]:
    """The sources of a notebook's cells of one kind."""
    return [cell["source"] for cell in notebook(site, framework, chapter)["cells"] if cell["cell_type"] == kind]


@functools.cache
def html_of(path: Path) -> BeautifulSoup:
    """A page of a built site."""
    return BeautifulSoup(path.read_text("utf8"), "html.parser")


def links(text: str) -> Iterator[str]:
    """Every address in a piece of Markdown, but for those in code."""
    prose = re.sub(r"(`+).+?\1", "", text, flags=re.DOTALL)
    yield from (found[0] or found[1] for found in LINK.findall(prose))


def is_dead(site: Path, folder: Path, address: str) -> bool:
    """Tell whether a link from a folder of the site leads to no file of it, or to no place in that file."""
    if address.startswith(ADDRESS):
        folder, address = site, address.removeprefix(ADDRESS)
    parts = urlsplit(address)
    if parts.scheme:
        return False  # another site's, which no test can ask
    target = (folder / unquote(parts.path)).resolve()
    if not target.is_file() or not target.is_relative_to(site.resolve()):
        return True
    return bool(parts.fragment) and html_of(target).find(id=unquote(parts.fragment)) is None


@pytest.mark.parametrize(("framework", "chapter"), CASES)
def test_every_notebook_is_valid_and_without_outputs(site: Path, framework: str, chapter: str):
    """Each file is what nbformat takes for a notebook, its cells have names of their own, and nothing was run."""
    path = site / f"notebooks/{framework}/{chapter}.ipynb"
    made = json.loads(path.read_text("utf8"))

    nbformat.validate(made)
    names = [cell["id"] for cell in made["cells"]]
    assert len(set(names)) == len(names)
    assert [cell for cell in made["cells"] if cell.get("outputs") or cell.get("execution_count")] == []


@pytest.mark.parametrize(("framework", "chapter"), CASES)
def test_a_notebook_runs_what_the_site_ran(site: Path, framework: str, chapter: str):
    """Between the first cell and the checks stand the cells of the framework, in order, and no other."""
    page = next(page for page in pages(open_book(REPOSITORY), [chapter]) if isinstance(page, SourcePage))
    expected = [cell.source.strip("\n") for cell in split(page, framework).cells]

    first, *found = sources(site, framework, chapter, "code")
    assert "asynclab.preparing.prepare(" in first
    assert [source for source in found if not source.startswith(("asynclab.check(", "# Your answer"))] == expected


@pytest.mark.parametrize(("framework", "chapter"), CASES)
def test_no_notebook_shows_how_it_was_written(each_site: Path, framework: str, chapter: str):
    """No role, directive, fence of colons or word of MyST; nothing that only a build can import; no open address."""
    text = "\n".join(cell["source"] for cell in notebook(each_site, framework, chapter)["cells"])

    assert ROLE.findall(text) == []
    assert [word for word in (":::", "myst", "polybook", "{code-cell}", "(not run)") if word in text.lower()] == []


@pytest.mark.parametrize(("framework", "chapter"), CASES)
def test_prose_speaks_of_nothing_that_a_notebook_lacks(site: Path, framework: str, chapter: str):
    """No tab to choose, nothing to click, and no build that the reader could mean to be this one."""
    text = "\n".join(sources(site, framework, chapter, "markdown"))

    assert re.findall(r"(?i)\b(?:tabs?|click|this (?:build|site))\b", text) == []


@pytest.mark.parametrize(("framework", "chapter"), CASES)
def test_no_code_names_the_other_framework(site: Path, framework: str, chapter: str):
    """The code of a notebook is that of its framework, and parses."""
    for source in sources(site, framework, chapter, "code"):
        assert [word for word in OTHERS[framework] if word in source.lower()] == []
        ast.parse(source)


@pytest.mark.parametrize(("framework", "chapter"), CASES)
def test_every_heading_of_the_page_is_there(site: Path, framework: str, chapter: str):
    """The headings are those of the page, in the same order and depth."""
    article = html_of(site / f"{chapter}.html").find("article", class_="bd-article")
    found = [
        (len(line) - len(line.lstrip("#")), line.lstrip("# "))
        for source in sources(site, framework, chapter, "markdown")
        for line in source.splitlines()[:1]
        if line.startswith("#")
    ]

    expected = [(int(tag.name[1]), tag.get_text().removesuffix("#")) for tag in article.find_all(re.compile("h[1-6]"))]
    assert [(depth, re.sub(r"[`\\*$]", "", text)) for depth, text in found] == [
        (depth, re.sub(r"\\[()]", "", text)) for depth, text in expected
    ]


@pytest.mark.parametrize(("framework", "chapter"), CASES)
def test_every_link_of_a_notebook_leads_somewhere(each_site: Path, framework: str, chapter: str):
    """Links and pictures are files of the built site, and the places that links name exist in them."""
    folder = (each_site / f"notebooks/{framework}/{chapter}.ipynb").parent
    found = [address for text in sources(each_site, framework, chapter, "markdown") for address in links(text)]

    assert len(found) > 1
    assert [address for address in found if is_dead(each_site, folder, address)] == []


def test_a_dead_link_is_noticed(site: Path):
    """The judge of links knows a wrong file, a wrong place and a way out of the site."""
    folder = site / "notebooks/pytorch/chapters"

    assert not is_dead(site, folder, "../../../chapters/glossary.html?framework=mxnet#term-kernel")
    assert is_dead(site, folder, "../../../chapters/glossary.html#term-colonel")
    assert is_dead(site, folder, "../../../chapters/glosary.html")
    assert is_dead(site, folder, "../../../../nothing.html")
    assert is_dead(site, folder, f"{ADDRESS}nothing.html")


def test_a_published_notebook_can_be_read_anywhere(published: Path):
    """Where the address of the site is known, every link within the site has it."""
    found = [
        address
        for framework, chapter in CASES
        for text in sources(published, framework, chapter, "markdown")
        for address in links(text)
    ]

    assert len([address for address in found if address.startswith(ADDRESS)]) > 50
    assert [address for address in found if not re.match("https?://", address)] == []


@pytest.mark.parametrize(("framework", "chapter"), CASES)
def test_claims_are_visible_checks(site: Path, framework: str, chapter: str):
    """Each claim of the page's prose is one call of `check` that names it, after both of its readings."""
    claimed = re.findall(r"\{claim\} (?:\w+\.)?(\w+)", (REPOSITORY / f"{chapter}.md").read_text("utf8"))
    calls = [source for source in sources(site, framework, chapter, "code") if source.startswith("asynclab.check(")]
    names = [ast.parse(call).body[0].value.args[0].value for call in calls]

    assert set(names) <= set(claimed)
    assert len(set(names)) >= len(set(claimed)) // 2
    readings = "\n".join(sources(site, framework, chapter, "markdown"))
    assert readings.count("Where it holds:") + readings.count("Where it does not hold:") == len(calls)


def test_only_notebooks_that_want_a_gpu_ask_for_one(site: Path):
    """`accelerator` stands in the metadata of those whose page says so, and in no other."""
    for framework, chapter in CASES:
        wants = framework == "pytorch" and "needs: {pytorch: gpu}" in (REPOSITORY / f"{chapter}.md").read_text("utf8")
        assert notebook(site, framework, chapter)["metadata"].get("accelerator") == ("GPU" if wants else None)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_archive_holds_all_that_its_notebooks_link_to(each_site: Path, tmp_path: Path, framework: str):
    """Unpacked anywhere, links between notebooks, pictures and the wheel are there; the rest is on the site."""
    with zipfile.ZipFile(io.BytesIO((each_site / archive_path(framework)).read_bytes())) as archive:
        archive.extractall(tmp_path)
    (root,) = tmp_path.iterdir()
    unpacked = sorted(root.rglob("*.ipynb"))

    assert [path.relative_to(root).with_suffix("").as_posix() for path in unpacked] == sorted(PAGES)
    for path in unpacked:
        for cell in nbformat.read(path, as_version=4)["cells"]:
            addresses = list(links(cell["source"])) if cell["cell_type"] == "markdown" else []
            addresses += re.findall(r"[\w./]*wheels/[\w.-]+\.whl", cell["source"])
            inside = [address for address in addresses if not address.startswith("http")]
            assert [address for address in inside if not (path.parent / urlsplit(address).path).is_file()] == []


def test_page_sources_are_not_published(site: Path):
    """No copy of a page's source, and no button that leads to one."""
    assert not (site / "_sources").exists()
    buttons = html_of(site / "chapters/waiting.html").select(".article-header-buttons a")
    assert [button.get("href") for button in buttons if ".md" in button.get("href", "")] == []


@pytest.fixture
def page(published: Path, browser: Browser) -> Iterator[Page]:
    """A browser on the published site."""
    with served(published) as address, empty_page(browser, address) as opened:
        yield opened


def visible_links(page: Page) -> dict[str, str]:
    """The buttons below the title that a reader sees: their addresses by their text."""
    found = page.locator(".polybook-notebooks a:visible").all()
    return {link.inner_text(): link.get_attribute("href") or "" for link in found}


def test_buttons_follow_the_tabs_and_outlive_a_reload(page: Page):
    """Choosing MXNet in a tab of the text turns every button to MXNet's notebook; so it is after a reload."""
    page.goto("chapters/waiting.html")
    before = visible_links(page)
    page.locator(".sd-tab-label[data-sync-id=mxnet]").last.click()
    after = visible_links(page)
    page.reload()
    expect(page.locator(".polybook-notebooks a:visible").first).to_be_visible()

    assert list(before) == ["Colab", "Kaggle", "Studio Lab", "Download", "Open locally", "All as zip"]
    assert [link for link in before.values() if "mxnet" in link or "pytorch" not in link] == []
    assert [link for link in after.values() if "pytorch" in link or "mxnet" not in link] == []
    assert visible_links(page) == after


def test_every_button_leads_to_a_file_of_the_site(published: Path):
    """Also those of services: the path behind repository and branch is that of a notebook in the site."""
    found = [
        (chapter, str(link["href"]))
        for chapter in PAGES
        for link in html_of(published / f"{chapter}.html").select(".polybook-notebooks a")
    ]

    assert len(found) == 6 * len(CASES)
    for chapter, address in found:
        behind = re.search(r"/some/course/blob/notebooks/(.*)", address)
        target = behind[1] if behind else address
        assert not is_dead(published, published if behind else (published / chapter).parent, target), address


def test_without_an_address_no_dead_button_is_drawn(site: Path):
    """A book that does not know its repository offers what needs none."""
    texts = [link.get_text() for link in html_of(site / "chapters/waiting.html").select(".polybook-notebooks a")]

    assert texts == 2 * ["Download", "Open locally", "All as zip"]


def test_a_page_without_code_offers_no_notebook(site: Path):
    """There is none for it."""
    assert html_of(site / "chapters/glossary.html").select(".polybook-notebooks") == []


@pytest.mark.parametrize("width", [390, 1280])
def test_buttons_fit_the_page(page: Page, width: int):
    """Nothing has to be scrolled sideways for them."""
    page.set_viewport_size({"width": width, "height": 800})
    page.goto("chapters/cost-model.html?framework=mxnet")

    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
