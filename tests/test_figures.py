"""Drawings: the same each time, described, read on light and on dark, in both frameworks' environments."""

from __future__ import annotations

import base64
import itertools
import json
import re
import sys
from types import ModuleType, SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from interpreters import FRAMEWORKS, run_in
from playwright.sync_api import Browser, Page

from asynclab import AsynclabError, Drawing, UndescribedDrawingError
from asynclab.figures import GREY, INK, INK_ON_DARK, PALETTE, readable
from asynclab.lanes import TEXT_ON

LIGHT_PAGE = "#ffffff"
DARK_PAGES = ("#121212", "#14181e")
#: The least contrast of text, and of lines and areas (WCAG 2.2, 1.4.3 and 1.4.11).
TEXT, SHAPE = 4.5, 3.0

SVG = "{http://www.w3.org/2000/svg}"

#: Draws one of each, twice, and prints them by name.
DRAW = """
import json
import warnings
from asynclab import Drawing, bars, drawing, lines

warnings.simplefilter("error")

def own(height=1.5):
    figure, axes = drawing(width=3, height=height)
    axes.plot([0, 1], [0, 1], label="diagonal")
    axes.axhline(0.5, color="%s", linewidth=6, linestyle="-")
    axes.set_title("A title in black")
    axes.legend()
    return Drawing(figure, "A thick line crosses a <thin> one & a title.")

def draw():
    return {
        "bars": bars(["NumPy", "waited for"], [314.159, 12345.6], "ms", alt="One bar is longer."),
        "stacked": bars(["a", "b"], [(1, 2), (3, 4)], "s", stacked=["random numbers", "product"], alt="Two bars."),
        "lines": lines(
            {"measured": ([1, 10, 1000], [9, 5, 4]), "model": (list(range(1, 1000)), [4] * 999)},
            xlabel="operations", ylabel="time in ms", log=(True, False), marks={"crossover": 30}, alt="A line falls.",
        ),
        "logarithmic": lines(
            {"falls to nothing": ([1, 10, 100], [30, 0, 90])},
            xlabel="numbers", ylabel="µs", log=(True, True), alt="A line has a gap.",
        ),
        "line": lines({"memory": ([1, 2], [1, 2])}, xlabel="depth", ylabel="MiB", alt="A line rises."),
        "own": own(),
    }

once, again = draw(), draw()
assert once["own"]._repr_svg_() == once["own"].svg == once["own"].svg
data, metadata = once["own"]._repr_mimebundle_(include=None, exclude=None)
print(json.dumps({
    "once": {name: each.svg for name, each in once.items()},
    "again": {name: each.svg for name, each in again.items()},
    "data": data, "metadata": metadata,
}))
"""


@pytest.fixture(scope="module", params=FRAMEWORKS)
def drawn(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What the program above prints in each environment; they have different releases of Matplotlib."""
    return {"framework": request.param, **json.loads(run_in(request.param, DRAW % INK, PYTHONHASHSEED="1"))}


@pytest.fixture
def page(browser: Browser) -> Page:
    """An empty page of a browser whose system is light."""
    return browser.new_page(color_scheme="light")


def luminance(color: str) -> float:
    """The relative luminance of a color (WCAG 2.2)."""
    channels = (int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * channel for weight, channel in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """The contrast between two colors (WCAG 2.2)."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def texts(svg: str) -> list[str]:
    """The texts of a drawing."""
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


# --- colours ------------------------------------------------------------------------------------


def test_no_grey_would_do_on_both_pages():
    """Why there are two inks: whatever is 4.5 times as light as the dark page is too light for the white one."""
    assert all(contrast(LIGHT_PAGE, dark) < TEXT**2 for dark in DARK_PAGES)


def test_ink_is_read_on_its_page_and_seen_on_the_other():
    """Text meets the contrast of text; a browser that chooses wrongly still shows it with that of shapes."""
    assert contrast(INK, LIGHT_PAGE) >= TEXT
    assert all(contrast(INK_ON_DARK, dark) >= TEXT for dark in DARK_PAGES)
    assert all(contrast(INK, dark) >= SHAPE for dark in DARK_PAGES)
    assert contrast(INK_ON_DARK, LIGHT_PAGE) >= SHAPE


@pytest.mark.parametrize("page_color", [LIGHT_PAGE, *DARK_PAGES])
@pytest.mark.parametrize("color", [*PALETTE, GREY])
def test_colors_of_data_stand_out_from_every_page(color: str, page_color: str):
    """The same colours serve light and dark."""
    assert contrast(color, page_color) >= SHAPE


@pytest.mark.parametrize("color", [*PALETTE, GREY])
def test_text_is_read_on_the_colors_of_data(color: str):
    """A name within a bar is black or white."""
    assert contrast(TEXT_ON[color], color) >= TEXT


#: How a protanope, a deuteranope and a tritanope see (Machado, Oliveira and Fernandes 2009, severity 1), in linear RGB.
VISIONS = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def lab(color: str, vision: str) -> tuple[float, float, float]:
    """Where a color lies in CIELAB, as somebody sees it."""
    channels = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    r, g, b = (
        min(1.0, max(0.0, sum(weight * channel for weight, channel in zip(row, linear, strict=True))))
        for row in VISIONS[vision]
    )
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (c ** (1 / 3) if c > 0.008856 else 7.787 * c + 16 / 116 for c in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("vision", VISIONS)
def test_colors_of_data_are_told_apart(vision: str):
    """Any two of them are far apart (about 2 is the least that is seen), whatever colours somebody sees."""
    places = [lab(color, vision) for color in PALETTE]

    distances = [
        sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5
        for one, other in itertools.combinations(places, 2)
    ]
    assert min(distances) > 15


# --- the image ----------------------------------------------------------------------------------


def test_drawing_is_the_same_each_time(drawn: dict[str, Any]):
    """Nothing in the image depends on the moment or on chance, so a rebuilt page does not change."""
    other_process = json.loads(run_in(drawn["framework"], DRAW % INK, PYTHONHASHSEED="2"))

    assert drawn["once"] == drawn["again"] == other_process["once"]


def test_drawing_is_small_and_complete_in_itself(drawn: dict[str, Any]):
    """Text is text, in an SVG element that a page can hold; no date, no name of a program, nothing from outside."""
    for svg in drawn["once"].values():
        assert len(svg) < 25_000
        assert svg.startswith("<svg ")
        assert not re.search(r"<metadata|<image|<script|url\(http|Matplotlib|\b20\d\d-\d\d-\d\d", svg)
        assert texts(svg)


def test_drawing_has_no_background_and_no_black(drawn: dict[str, Any]):
    """What shines through is the page; what is not data has the ink of the page, also what a chapter adds itself."""
    svg = drawn["once"]["own"]

    filled = re.findall(r"fill: (#\w+)", svg)
    assert not {"#000000", "#ffffff"} & set(filled)
    assert INK not in svg.replace(f"svg:root{{color:{INK}}}", "")
    assert all("currentColor" in element.attrib["style"] for element in ElementTree.fromstring(svg).iter(f"{SVG}text"))


def test_drawing_shows_itself_with_its_description(drawn: dict[str, Any]):
    """A notebook gets the image and, for those who do not see it, the sentence; so does a reader of the image."""
    sentence = "A thick line crosses a <thin> one & a title."
    root = ElementTree.fromstring(drawn["once"]["own"])

    assert drawn["data"] == {"image/svg+xml": drawn["once"]["own"], "text/plain": sentence}
    assert drawn["metadata"] == {"image/svg+xml": {"alt": sentence}}
    assert (root.attrib["role"], root.attrib["aria-label"]) == ("img", sentence)


@pytest.mark.parametrize("alt", ["", "   ", "figure", "a plot of time", None, 3])
def test_drawing_without_a_sentence_is_refused(alt: Any):
    """The error shows what a description is like."""
    with pytest.raises(
        UndescribedDrawingError, match=r"\(allowed: a sentence, with its full stop\)\.\nSay what it shows"
    ):
        Drawing(object(), alt)

    assert issubclass(UndescribedDrawingError, AsynclabError)
    assert issubclass(UndescribedDrawingError, ValueError)


def test_figure_of_pyplot_is_not_shown_a_second_time(monkeypatch: pytest.MonkeyPatch):
    """A notebook shows what pyplot has open at the end of a cell, so a drawing takes its figure from there."""
    closed: list[object] = []
    pyplot = ModuleType("matplotlib.pyplot")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", pyplot)
    monkeypatch.setattr(pyplot, "close", closed.append, raising=False)
    figure = SimpleNamespace()

    Drawing(figure, "It shows nothing.")

    assert closed == [figure]


# --- what the helpers draw ----------------------------------------------------------------------


def test_bars_have_their_values_beside_them(drawn: dict[str, Any]):
    """Three digits, or whole numbers in groups, and the unit; stacked ones have their sum and a key to their parts."""
    assert texts(drawn["once"]["bars"]) == ["NumPy", "waited for", "314 ms", "12\N{NARROW NO-BREAK SPACE}346 ms"]
    assert texts(drawn["once"]["stacked"]) == ["a", "b", "3 s", "7 s", "random numbers", "product"]


def test_lines_have_names_axes_and_marks(drawn: dict[str, Any]):
    """Several lines have a key and one has none; few points are marked, many are not."""
    several, one = drawn["once"]["lines"], drawn["once"]["line"]

    assert {"operations", "time in ms", "measured", "model", "crossover", "1", "10", "100"} <= set(texts(several))
    assert "memory" not in texts(one)
    assert several.count("<use ") < 20


def test_logarithmic_axis_leaves_nothing_out_but_what_it_has_no_place_for(drawn: dict[str, Any]):
    """A value of 0 is a gap in the line, which stays in the picture; the axis has labels within a decade as well."""
    svg = drawn["once"]["logarithmic"]
    height = float(ElementTree.fromstring(svg).attrib["viewBox"].split()[3])
    points = [float(y) for y in re.findall(r'<use[^>]* y="([-\d.]+)"', svg)]

    assert {"30", "50"} <= set(texts(svg))
    assert 0 <= min(points) <= max(points) <= height


@pytest.mark.parametrize(
    "call",
    [
        "bars(['a'], [1, 2], 's', alt='A bar.')",
        "bars(['a', 'b'], [1], 's', alt='A bar.')",
        "bars(['a'], [(1, 2)], 's', stacked=['part'], alt='A bar.')",
        "bars(['a', 'b'], [(1, 2), (3,)], 's', stacked=['part', 'other'], alt='A bar.')",
    ],
)
def test_bars_that_do_not_fit_together_are_refused(call: str):
    """A value without a label, or a part without a name, is not dropped silently."""
    printed = run_in(
        "pytorch",
        f"""
        from asynclab import bars
        try:
            {call}
        except ValueError:
            print("refused")
        """,
    )

    assert printed == "refused\n"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (0.01234, "0.0123"), (12.34, "12.3"), (999.4, "999"), (999.6, "1'000"), (1234567, "1'234'567")],
)
def test_numbers_in_a_figure(number: float, text: str):
    """Three digits, and no power of ten that a reader has to resolve."""
    assert readable(number).replace("\N{NARROW NO-BREAK SPACE}", "'") == text


# --- in a browser -------------------------------------------------------------------------------


def pixels(page: Page, svg: str, scheme: str) -> set[str]:
    """The colours of a drawing as an image on a page of a scheme."""
    address = "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
    page.set_content(f"<body style='color-scheme:{scheme};background:#010203'><img src='{address}'>")
    shot = base64.b64encode(page.locator("img").screenshot()).decode()
    found: list[str] = page.evaluate(
        """async shot => {
            const image = new Image()
            image.src = 'data:image/png;base64,' + shot
            await image.decode()
            const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d')
            canvas.drawImage(image, 0, 0)
            const {data} = canvas.getImageData(0, 0, image.width, image.height)
            const hex = start => [...data.slice(start, start + 3)].map(c => c.toString(16).padStart(2, '0')).join('')
            return [...new Set(Array.from({length: data.length / 4}, (_, index) => '#' + hex(4 * index)))]
        }""",
        shot,
    )
    return set(found)


def test_ink_of_an_image_follows_the_page(page: Page, drawn: dict[str, Any]):
    """A reader switches the page without the system knowing: its own scheme counts, and the page shines through."""
    light, dark = (pixels(page, drawn["once"]["own"], scheme) for scheme in ("light", "dark"))

    assert (INK in light, INK_ON_DARK in light) == (True, False)
    assert (INK in dark, INK_ON_DARK in dark) == (False, True)
    assert "#010203" in light & dark


def test_ink_within_a_page_is_that_of_its_text(page: Page, drawn: dict[str, Any]):
    """A notebook puts the image into its page, whose other text keeps its colour."""
    page.set_content(f"<body style='color:#0a141e'><p>text</p>{drawn['once']['own']}")

    text, paragraph = page.evaluate(
        """() => {
            const style = name => getComputedStyle(document.querySelector(name))
            return [style('svg text').fill, style('p').color]
        }"""
    )

    assert (text, paragraph) == ("rgb(10, 20, 30)", "rgb(10, 20, 30)")
