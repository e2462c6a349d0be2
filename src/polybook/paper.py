"""Turn the article of a built page into what can be printed: one framework's panels, nothing to click, all opened.

A part of ``printed.py``. Knows the HTML that sphinx-design, MyST-NB and sphinx-togglebutton write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bs4 import BeautifulSoup, Tag

from polybook.mathml import mathml

#: The sync group of the frameworks' tabs, as ``tabs.py`` names it; that module takes Sphinx to import.
_GROUP = "framework"
#: What works in a browser only, or belongs to another run than the one that is shown first.
_DROPPED = (
    "script, style, template, button, a.headerlink, link, "
    ".polybook-notebooks, .polybook-switch, .polybook-alone, .toctree-wrapper, .sd-summary-state-marker"
)
_DEEPEST = 6


def keep_framework(article: Tag, framework: str, others: Mapping[str, str]) -> None:
    """Put one framework's panel in place of each tab set of frameworks; other tab sets become all of their panels.

    Args:
        article: What its author wrote of a page; it is changed.
        framework: The framework's name.
        others: How the other frameworks are called, by name; a table of runs loses the rows of theirs.
    """
    for found in article.select(_DROPPED):
        found.decompose()
    for instead in article.find_all("noscript"):
        # Nothing runs on paper.
        instead.unwrap()
    for tab_set in article.select(".sd-tab-set"):
        for label, panel in _panels(tab_set):
            if label.get("data-sync-group") != _GROUP:
                tab_set.insert_before(label)
                label.name = "p"
                label.attrs = {"class": "printed-label"}
            elif label.get("data-sync-id") != framework:
                continue
            tab_set.insert_before(panel)
            panel["class"] = "printed-panel"
        tab_set.decompose()
    for name in others:
        for card in article.select(f".polybook-card.polybook-of-{name}"):
            card.decompose()
    for row in article.select("table.polybook-runs tbody tr"):
        if any(cell.get_text(strip=True) in others.values() for cell in row.find_all("td")):
            row.decompose()


def _panels(tab_set: Tag) -> Iterator[tuple[Tag, Tag]]:
    labels = tab_set.find_all("label", class_="sd-tab-label", recursive=False)
    panels = tab_set.find_all("div", class_="sd-tab-content", recursive=False)
    yield from zip(labels, panels, strict=True)


def settle(article: Tag) -> None:
    """Open what is folded, and draw formulas that wait for a script."""
    for details in article.find_all("details"):
        summary = details.find("summary", recursive=False)
        if isinstance(summary, Tag):
            # A cell that MyST-NB hides says only that it can be shown.
            if "hide" in _classes(details):
                summary.decompose()
            else:
                summary.name = "p"
                summary["class"] = "printed-summary"
        details.name = "div"
        details["class"] = " ".join([*_classes(details), "printed-details"])
        details.attrs.pop("open", None)
    for formula in article.select("span.math, div.math"):
        if formula.find("math") is None:
            _draw(formula)
    for image in article.find_all("img"):
        # Chromium may print before it has what is to be loaded late.
        image.attrs.pop("loading", None)


def _draw(formula: Tag) -> None:
    """Put MathML in place of what MathJax would draw; a formula that cannot be drawn stays as it was typed."""
    number = formula.find("span", class_="eqno")
    if isinstance(number, Tag):
        number.extract()
    block = formula.name == "div"
    text = formula.get_text().strip()
    for opening, closing in ((r"\(", r"\)"), (r"\[", r"\]")):
        text = text.removeprefix(opening).removesuffix(closing)
    try:
        drawn = BeautifulSoup(mathml(text, block=block), "html.parser")
    except ValueError:
        return
    formula.clear()
    formula.extend([*([number] if isinstance(number, Tag) else []), *list(drawn.contents)])


def shift_headings(article: Tag, depth: int) -> None:
    """Make headings as deep as they are in the document, and mark which they were on the page."""
    marks = {"h1": "printed-title", "h2": "printed-section", "h3": "printed-subsection"}
    for level in range(_DEEPEST, 0, -1):
        for heading in article.find_all(f"h{level}"):
            mark = marks.get(f"h{level}", "printed-deeper")
            heading["class"] = " ".join([*_classes(heading), mark])
            heading.name = f"h{min(_DEEPEST, level + depth)}"


def _classes(element: Tag) -> list[str]:
    value = element.get("class") or ""
    return value.split() if isinstance(value, str) else list(value)
