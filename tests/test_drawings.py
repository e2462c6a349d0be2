"""The drawings of the chapters: read on white and on dark, at any width, and complete in themselves."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from books import REPOSITORY
from playwright.sync_api import Browser

DRAWINGS = sorted((REPOSITORY / "chapters" / "figures").glob("*.svg"))
TWO_THREADS = REPOSITORY / "chapters" / "figures" / "two-threads.svg"
SVG = "{http://www.w3.org/2000/svg}"

#: The pages of the light and the dark theme. A reader switches between them without the system knowing.
PAGES = ("#ffffff", "#121212")
#: The least contrast of text, and of lines and shapes (WCAG 2.2, 1.4.3 and 1.4.11).
TEXT, SHAPE = 4.5, 3.0
#: The width of a drawing on a phone, and the least size of a letter there, in pixels.
PHONE, LETTER = 340, 9

ELEMENTS = {"svg", "title", "desc", "defs", "marker", "g", "path", "rect", "circle", "text", "tspan"}
FRAMEWORKS = re.compile(
    r"torch|mxnet|gluon|tensorflow|keras|jax|paddle|mindspore|caffe|theano|numpy|cuda", re.IGNORECASE
)

#: A text's box that is not inside any one filled shape; the texts come back.
LOOSE_TEXTS = """() => {
    const shapes = [...document.querySelectorAll('rect, circle')].filter(each => getComputedStyle(each).fill !== 'none')
    return [...document.querySelectorAll('text')].filter(text => {
        const {x, y, width, height} = text.getBBox()
        const corners = [[x, y], [x + width, y], [x, y + height], [x + width, y + height]]
        const holds = shape => corners.every(([x, y]) => shape.isPointInFill(new DOMPoint(x, y)))
        return !shapes.some(holds)
    }).map(text => text.textContent)
}"""

every_drawing = pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: path.stem)

Attributes = dict[str, str]


def parsed(path: Path) -> ElementTree.Element:
    """A drawing's root."""
    return ElementTree.fromstring(path.read_text("utf8"))


def drawn(element: ElementTree.Element, inherited: Attributes | None = None) -> Iterator[tuple[str, Attributes]]:
    """Each element's name and attributes, with those of the elements around it, in the order of drawing."""
    attributes = {**(inherited or {}), **element.attrib}
    yield element.tag.removeprefix(SVG), attributes
    for child in element:
        yield from drawn(child, attributes)


def luminance(colour: str) -> float:
    """A colour's relative luminance (WCAG 2.2), from 0 to 1."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, from 1 to 21."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def holds(name: str, shape: Attributes, x: float, y: float) -> bool:
    """Whether a point lies in a rectangle or circle."""
    if name == "rect":
        left, top, width, height = (float(shape[key]) for key in ("x", "y", "width", "height"))
        return left <= x <= left + width and top <= y <= top + height
    return (x - float(shape["cx"])) ** 2 + (y - float(shape["cy"])) ** 2 <= float(shape["r"]) ** 2


def place(name: str, attributes: Attributes) -> tuple[float, float]:
    """A point of a text, shape or line."""
    if name == "path":
        x, y = re.findall(r"[\d.]+", attributes["d"])[:2]
    elif name == "circle":
        x, y = attributes["cx"], attributes["cy"]
    else:
        x, y = attributes["x"], attributes["y"]
    return float(x), float(y)


def poor_contrasts(root: ElementTree.Element) -> list[str]:
    """What is hard to see on the filled shape below it, or on either page if there is none."""
    filled: list[tuple[str, Attributes]] = []
    poor = []
    for name, attributes in drawn(root):
        if name not in ("text", "tspan", "rect", "circle", "path"):
            continue
        colours = {attributes.get("fill", "#000000"), attributes.get("stroke", "none")} - {"none"}
        point = place(name, attributes)
        below = next((shape["fill"] for kind, shape in reversed(filled) if holds(kind, shape, *point)), None)
        least = TEXT if name in ("text", "tspan") else SHAPE
        for colour, ground in itertools.product(sorted(colours), [below] if below else PAGES):
            if contrast(colour, ground) < least:
                poor.append(f"{name} at {point[0]:g}, {point[1]:g}: {colour} on {ground}")
        if name in ("rect", "circle") and attributes.get("fill") != "none":
            filled.append((name, attributes))
    return poor


def picture(content: str) -> str:
    """Make a drawing."""
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">{content}</svg>'


def lane(y: int) -> list[tuple[float, float]]:
    """Start and end of each block of a lane of the two threads, from time 0; a block is drawn 1 inside of both."""
    rectangles = [attributes for name, attributes in drawn(parsed(TWO_THREADS)) if name == "rect"]
    blocks = [each for each in rectangles if float(each["y"]) == y and each["rx"] == "4"]
    ends = sorted((float(each["x"]) - 1, float(each["x"]) + float(each["width"]) + 1) for each in blocks)
    return [(start - 130, end - 130) for start, end in ends]


def test_chapter_has_its_three_drawings():
    """The frontends and the backend, the dependency graph and the two threads are there."""
    assert {"frontend-backend", "dependency-graph", "two-threads"} <= {path.stem for path in DRAWINGS}


@every_drawing
def test_drawing_says_what_it_shows(path: Path):
    """A title, a description and a size come with each drawing."""
    root = parsed(path)

    assert re.fullmatch(r"0 0 \d+ \d+", root.get("viewBox", ""))
    assert root.findtext(f"{SVG}title", "").strip()
    assert len(root.findtext(f"{SVG}desc", "").split()) > 20


@every_drawing
def test_drawing_needs_nothing_but_itself(path: Path):
    """There is no script, no style, no picture, no editor's trace and no reference to anything outside."""
    root = parsed(path)
    attributes = [pair for element in root.iter() for pair in element.attrib.items()]
    addresses = [target for _, value in attributes for target in re.findall(r"url\((.*?)\)", value)]

    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= ELEMENTS
    assert [name for name, _ in attributes if re.match(r"\{|on|href|style|class|transform", name)] == []
    assert [value for _, value in attributes if "//" in value] == []
    assert [target for target in addresses if not target.startswith("#")] == []
    assert root.get("font-family") == "system-ui, sans-serif"


@every_drawing
def test_drawing_is_small_and_names_no_framework(path: Path):
    """A drawing has less than 8 kB and serves the readers of every framework."""
    text = path.read_text("utf8")

    assert len(text.encode()) < 8000
    assert FRAMEWORKS.findall(text) == []


@every_drawing
def test_drawing_is_seen_on_both_pages(path: Path):
    """Text, shapes and lines stand out from what is below them, on the light and on the dark page."""
    assert poor_contrasts(parsed(path)) == []


@every_drawing
def test_drawing_is_legible_on_a_phone(path: Path):
    """No letter gets too small where the drawing has the width of a phone."""
    root = parsed(path)
    scale = PHONE / float(root.get("viewBox", "").split()[2])
    sizes = {float(element.get("font-size", "inf")) for element in root.iter()}

    assert min(sizes) * scale >= LETTER


@every_drawing
def test_every_text_stays_inside_its_shape(path: Path, browser: Browser):
    """In a browser, with the fonts of this machine, no text sticks out of the shape that it stands on."""
    with browser.new_context() as context:
        page = context.new_page()
        page.set_content(path.read_text("utf8"))

        assert page.evaluate("document.querySelectorAll('text').length") > 5
        assert page.evaluate(LOOSE_TEXTS) == []


def test_text_beside_its_shape_is_noticed(browser: Browser):
    """The browser's measuring sees a text that is wider than its shape."""
    content = '<rect x="0" y="0" width="30" height="30"/><text x="2" y="20" font-size="10">much too long</text>'
    with browser.new_context() as context:
        page = context.new_page()
        page.set_content(picture(content))

        assert page.evaluate(LOOSE_TEXTS) == ["much too long"]


@pytest.mark.parametrize(
    ("content", "poor"),
    [
        ('<text x="5" y="5" fill="#7b828c">z</text>', ["#7b828c on #ffffff"]),
        ('<text x="5" y="5">z</text>', ["#000000 on #121212"]),
        ('<path d="M5 5H9" fill="none" stroke="#ffff00"/>', ["#ffff00 on #ffffff"]),
        ('<rect x="0" y="0" width="9" height="9" fill="#2f6db3"/><text x="5" y="5" fill="#ffffff">z</text>', []),
        (
            '<circle cx="5" cy="5" r="4" fill="#7b828c"/><g fill="#ffffff"><text x="5" y="5">z</text></g>',
            ["#ffffff on #7b828c"],
        ),
    ],
)
def test_poor_contrast_is_noticed(content: str, poor: list[str]):
    """A colour is compared with the shape below it, or with both pages where there is none."""
    assert [found.partition(": ")[2] for found in poor_contrasts(ElementTree.fromstring(picture(content)))] == poor


def test_waiting_each_time_adds_up():
    """Above, the blocks of the three operations follow one another without a gap: n (t1 + t2 + t3)."""
    frontend, backend = lane(66), lane(146)
    (_, t1), (_, t1_t2), (_, total_of_one) = frontend[0], backend[0], frontend[1]

    assert frontend == [
        block
        for start in (0, total_of_one, 2 * total_of_one)
        for block in ((start, start + t1), (start + t1_t2, start + total_of_one))
    ]
    assert backend == [(each * total_of_one + t1, each * total_of_one + t1_t2) for each in range(3)]


def test_waiting_once_overlaps():
    """Below, with the same t1, t2 and t3, the backend computes without a pause: n t2 + t1 + t3."""
    t1 = lane(66)[0][1]
    t2 = lane(146)[0][1] - t1
    t3 = lane(66)[1][1] - t1 - t2
    frontend, backend = lane(332), lane(412)

    assert t2 > t1
    assert frontend == [*((each * t1, (each + 1) * t1) for each in range(3)), (t1 + 3 * t2, 3 * t2 + t1 + t3)]
    assert backend == [(t1 + each * t2, t1 + (each + 1) * t2) for each in range(3)]
