"""The site's search, in a browser and opened as a file: names of code, every heading, excerpts that say something."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import empty_page, served
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, Page, expect
from sites import pages_of

RESULTS = """() => [...document.querySelectorAll(".polybook-results > li")].map(item => ({
    link: item.querySelector("a").getAttribute("href"),
    title: item.querySelector("a").textContent,
    excerpt: item.querySelector("p")?.textContent ?? "",
    marked: [...item.querySelectorAll("mark")].map(mark => mark.textContent),
}))"""

# For each query the links of its first results; typing all of them would take a minute.
FIRST = """queries => {
    const field = document.querySelector("#main-content input[name=q]");
    return queries.map(query => {
        field.value = query;
        field.dispatchEvent(new Event("input"));
        const links = [...document.querySelectorAll(".polybook-results > li a")];
        return links.slice(0, 15).map(link => link.getAttribute("href"));
    });
}"""


@pytest.fixture
def page(browser: Browser, site: Path) -> Iterator[Page]:
    """The search page, opened as a file."""
    with empty_page(browser, site.as_uri()) as page:
        page.goto((site / "search.html").as_uri())
        yield page


def found(page: Page, query: str) -> list[dict[str, str]]:
    """What a reader is shown who types this."""
    page.locator("#main-content input[name=q]").fill(query)
    return page.evaluate(RESULTS)


def headings(site: Path) -> list[tuple[str, str]]:
    """Every heading of every page but those that Sphinx makes: its text, and the address of its section."""
    made = {"search.html", "genindex.html", "404.html"}
    listed = []
    for path in set(pages_of(site)) - made:
        article = BeautifulSoup((site / path).read_text("utf8"), "html.parser").find("article")
        for heading in article.select("section > :is(h1, h2, h3, h4)"):
            for link in heading.select(".headerlink"):
                link.decompose()
            text = " ".join(heading.get_text().split())
            listed.append((text, f"{path}#{heading.find_parent('section')['id']}"))
    return sorted(listed)


def where(link: str) -> str:
    """A result's page and section, without the choice of a framework."""
    return re.sub(r"\?[^#]*", "", link).removeprefix("./")


@pytest.mark.parametrize("name", ["wait_to_read", "torch.cuda.synchronize"])
def test_names_of_code_are_found(page: Page, name: str):
    """A name is found as a whole, and each excerpt shows it."""
    results = found(page, name)

    assert len(results) > 1
    assert all(name in {text.lower() for text in result["marked"]} for result in results)


def test_every_heading_is_found(page: Page, site: Path):
    """Typing a heading lists its section, by its own title, among the first."""
    listed = headings(site)
    first = page.evaluate(FIRST, [text for text, _ in listed])
    missed = [
        (text, address, links[:3])
        for (text, address), links in zip(listed, first, strict=True)
        if address not in map(where, links)
    ]

    assert len(listed) > 50
    assert missed == []


def test_search_behind_a_server_finds_the_same(page: Page, browser: Browser, site: Path):
    """A file and a server give the same results, and the address says what was sought."""
    results = found(page, "wait_to_read")

    with served(site) as address, empty_page(browser, address) as other:
        other.goto("/search.html?q=wait_to_read")
        assert other.evaluate(RESULTS) == results


def test_no_section_is_listed_twice(page: Page):
    """A section is one result, however many of its tabs have the word."""
    for query in ["synchronize", "wait", "benchmark"]:
        links = [where(result["link"]) for result in found(page, query)]
        assert len(links) == len({*links}) > 3


def test_no_text_is_kept_twice(site: Path):
    """What two tabs of a section have in common is there once, as neither's."""
    texts = json.loads((site / "polybook-search-texts.js").read_text("utf8").partition(" = ")[2].rstrip(";\n"))
    twice = []
    for entry in (section for page in texts["pages"] for section in page["sections"]):
        blocks = [text for _, text in entry["blocks"]]
        twice += [text for text in {*blocks} if blocks.count(text) > 1]

    assert twice == []


def test_excerpts_differ(page: Page):
    """Of ten results each says something of its own."""
    excerpts = [result["excerpt"] for result in found(page, "wait")[:10]]

    assert len({*excerpts}) == 10
    assert all(20 < len(excerpt) < 600 for excerpt in excerpts)


def test_result_of_one_framework_opens_its_tab(page: Page):
    """Words that stand in one framework's tab only are shown when the link is followed."""
    results = found(page, "torch.cuda.synchronize")
    links = [result["link"] for result in results if "framework=pytorch" in result["link"]]
    assert links

    page.locator(f".polybook-results a[href='{links[0]}']").click()

    expect(page.locator("label[data-sync-id=pytorch]").first).to_be_visible()
    boxes = page.locator(".polybook-tabs:not(.polybook-only) > input:nth-of-type(1)").all()
    assert all(box.is_checked() for box in boxes)


def test_forms_of_a_word_find_each_other(page: Page):
    """A plain word is found in its other forms too, a name of code is not bent."""
    plain, other = ({where(result["link"]) for result in found(page, word)} for word in ("waiting", "waits"))

    assert plain == other
    assert found(page, "wait_to_reads") == []


def test_what_is_nowhere_is_told(page: Page):
    """A reader who finds nothing is told so, also by a screen reader."""
    assert found(page, "zebra crossing") == []

    expect(page.locator("#search-results").get_by_role("status")).to_have_text(re.compile("^No section"))
