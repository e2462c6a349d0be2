"""Look at pages with axe-core, each as one of eight readers: a theme, a framework, and a wide or a narrow window."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from browsing import ELSEWHERE
from playwright.sync_api import Browser, Page

#: WCAG 2.2 at level AA, and what else is good practice, such as an order of headings.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
OPTIONS = {"runOnly": {"type": "tag", "values": TAGS}, "resultTypes": ["violations"]}
HEIGHT = 900


@dataclass(frozen=True)
class Reader:
    """How a page is looked at.

    Attributes:
        theme: Light or dark.
        framework: The one that was chosen.
        width: Of the window, in CSS pixels.
    """

    theme: str
    framework: str
    width: int

    def __str__(self) -> str:
        return f"{self.theme}, {self.framework}, {self.width} px"


READERS = [Reader(*each) for each in itertools.product(["light", "dark"], ["pytorch", "mxnet"], [1280, 390])]


@contextmanager
def opened(browser: Browser, address: str, reader: Reader) -> Iterator[Page]:
    """Open an empty page for a reader, who has made these choices before and wants nothing to move."""
    chosen = {"mode": reader.theme, "theme": reader.theme, "sphinx-design-tab-id-framework": reader.framework}
    script = "".join(f"localStorage.setItem({name!r}, {value!r});" for name, value in chosen.items())
    with browser.new_context(
        base_url=address,
        viewport={"width": reader.width, "height": HEIGHT},
        color_scheme=reader.theme,
        reduced_motion="reduce",
    ) as context:
        context.set_default_timeout(10_000)
        context.route(ELSEWHERE, lambda route: route.abort())
        context.add_init_script(script)
        yield context.new_page()


def violations(page: Page, path: str) -> list[str]:
    """Open a page, with all that folds unfolded, and list what is wrong with it.

    A heading that is a formula is not: axe takes MathML for nothing, and screen readers read it.
    """
    page.goto(path)
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    page.evaluate(AXE_SCRIPT)
    found: dict[str, Any] = page.evaluate("options => axe.run(document, options)", OPTIONS)
    return [
        f"{rule['id']}: {node['target']} {node['html'][:150]} {_why(node)}"
        for rule in found["violations"]
        for node in rule["nodes"]
        if not (rule["id"] == "empty-table-header" and "<math" in node["html"])
    ]


def _why(node: dict[str, Any]) -> str:
    return "; ".join(check["message"] for check in [*node["any"], *node["all"], *node["none"]])
