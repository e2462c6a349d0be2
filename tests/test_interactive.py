"""The cost model to play with: in a browser it agrees with `PipelineModel`, and serves readers however they read.

The section of the real chapter stands in a small book, with the minibook's frameworks in place of the real ones and
made-up values in place of fitted ones. Its page is opened from a file, as from a USB stick.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
import yaml
from books import BOTH, REPOSITORY, cell, copy_minibook
from browsing import ELSEWHERE, KNOWN_ERRORS, errors_of
from playwright.sync_api import Browser, Locator, Page, expect
from test_drawings import contrast
from test_exported import FIRST, LAB, PROJECT, SETTINGS
from test_pipeline import simulate

from asynclab import PipelineModel

STILL = REPOSITORY / "chapters" / "figures" / "full-queue.svg"
TIMES = "\N{NO-BREAK SPACE}\N{MULTIPLICATION SIGN}\N{NO-BREAK SPACE}"
#: What stands for the fitted times, by framework, and what the presets have to make of it in microseconds.
FITTED = {
    "alpha": (["19.6", "3.42", "34.1", "10.2", "155", "20.1", "16.1", "436", "25.4"], [16.1, 436, 25.4]),
    "beta": (["8.85", "3.43", "0", "24.3", "905", "31", "21", "14\u202f000", f"1.20{TIMES}10⁻⁴"], [21, 14_000, 1.2e-4]),
}
NAMES = [f"{name}_{term}" for name in ("tiny", "product", "million") for term in ("t1", "t2", "t3")]
SECTION = re.compile(r"^\(model-to-play-with\)=\n.*?(?=^## A Wait)", re.DOTALL | re.MULTILINE)
MINIBOOKS = {"pytorch": "alpha", "PyTorch": "Alpha", "mxnet": "beta", "MXNet": "Beta"}
MILLION, QUEUE = "a million numbers, added", "A queue of 1024"
UNITS = {"µs": 1.0, "ms": 1e3, "s": 1e6}

Inputs = dict[str, float | int | None]
Open = Callable[..., Page]


def recorded(framework: str) -> str:
    """A cell that records made-up times."""
    texts = {name: f"{text}\u00a0µs" for name, text in zip(NAMES, FITTED[framework][0], strict=True)}
    return cell(f"for name, text in {texts!r}.items():\n    record(name, text)", framework)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, environments: dict[str, Path]) -> Path:
    """The folder of a site with the section in it, built once with warnings as errors, notebooks included."""
    book = copy_minibook(tmp_path_factory.mktemp("interactive") / "book", environments)
    (book.root / "chapters" / "figures").mkdir(parents=True)
    shutil.copy(STILL, book.root / "chapters" / "figures")
    found = SECTION.search((REPOSITORY / "chapters" / "cost-model.md").read_text("utf8"))
    assert found
    section = re.sub("|".join(MINIBOOKS), lambda name: MINIBOOKS[name[0]], found[0])
    cells = cell("from lab import record") + recorded("alpha") + recorded("beta")
    book.keep_only({"chapters/page": f"{BOTH}# Page\n\n{cells}{section}"})
    with (book.root / "_config.yml").open("a", encoding="utf8") as config:
        config.write(SETTINGS)
    files = {"pyproject.toml": PROJECT, "LICENSE": "Free.\n", "first.py": FIRST, "lab/__init__.py": LAB}
    for name, text in files.items():
        (book.root / name).write_text(text, "utf8")
    shutil.copytree(book.root / "lab", book.root / "chapters" / "lab")  # where the page's kernels look
    made = book.build("-W", "--keep-going")
    assert made.status == 0, made.output
    # Only now: Jupyter Book loads on every page what is in `_static`, unless the configuration keeps it from that.
    html = book.root / "_build" / "html"
    shutil.copytree(REPOSITORY / "_static" / "cost-model", html / "_static" / "cost-model")
    return html


@pytest.fixture
def opened(browser: Browser, built: Path) -> Iterator[Open]:
    """Open the page from its file, in a context of its own with the given options; no error may come of it."""
    contexts, errors = [], []

    def opened(**options: object) -> Page:
        context = browser.new_context(**options)  # type: ignore[arg-type]
        contexts.append(context)
        context.set_default_timeout(5_000)
        context.route(ELSEWHERE, lambda route: route.abort())
        page = context.new_page()
        errors.append(errors_of(page, (built / "chapters" / "page.html").as_uri()))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert set(itertools.chain(*errors)) <= KNOWN_ERRORS


@pytest.fixture
def page(opened: Open) -> Page:
    """The page, on a desktop."""
    return opened()


def slider(page: Page, name: str) -> Locator:
    """The slider with this label."""
    return page.get_by_role("slider", name=name, exact=True)


def preset(page: Page, name: str) -> Locator:
    """The button of a preset."""
    return page.get_by_role("button", name=name, exact=True)


def told(page: Page) -> Locator:
    """What says in words what the drawing shows."""
    return page.locator(".cost-model-told")


def values(page: Page) -> list[float]:
    """The exact values in the fields: n, t1, t2, t3 and the capacity, though that may not count."""
    return page.locator(".cost-model input[type=number]").evaluate_all("all => all.map(field => field.valueAsNumber)")


def random_inputs(seed: int, count: int) -> list[Inputs]:
    """Numbers of all sizes that the sliders have, equal and zero ones among them; times in microseconds."""
    chance = random.Random(seed)

    def time() -> float:
        return chance.choice([0.0, 2.5, *[10 ** chance.uniform(-1, 5)] * 6])

    def whole(least: int, digits: float) -> int:
        return max(least, round(10 ** chance.uniform(0, digits)))

    return [
        {"n": whole(1, 2.7), "t1": time(), "t2": time(), "t3": time(), "capacity": chance.choice([None, whole(1, 3)])}
        for _ in range(count)
    ]


def model_of(inputs: Inputs) -> tuple[PipelineModel, int]:
    """The model of these inputs, and the number of operations."""
    n, *times, capacity = inputs.values()
    return PipelineModel(*times, capacity), n  # type: ignore[arg-type,return-value]


def test_model_agrees_with_that_of_asynclab(page: Page):
    """For 200 random inputs all predictions are those of `PipelineModel`, to the last bit."""
    inputs = random_inputs(1, 200)
    expected = []
    for model, n in map(model_of, inputs):
        totals = {"syncTotal": model.sync_total(n), "asyncTotal": model.async_total(n)}
        more = {"issueTime": model.issue_time(n), "pending": model.pending(n), "regime": model.regime}
        expected.append({**totals, **more})

    keys = json.dumps(list(expected[0]))
    found = page.evaluate(
        f"all => all.map(each => {{ const all = costModel.predict(each); return {keys}.map(key => [key, all[key]]) }})",
        inputs,
    )

    assert [dict(each) for each in found] == expected


def test_page_shows_what_the_model_of_asynclab_says(page: Page):
    """Typed into the fields, 200 random inputs give the totals, to three digits, and the regime of `PipelineModel`."""
    inputs = random_inputs(2, 200)

    found = page.evaluate(
        """all => all.map(inputs => {
            const unlimited = document.querySelector(".cost-model [type=checkbox]")
            if (unlimited.checked !== (inputs.capacity === null)) unlimited.click()
            for (const [name, value] of Object.entries(inputs)) {
                if (value === null) continue
                const field = document.getElementById(`cost-model-0-${name}-exact`)
                field.value = value
                field.dispatchEvent(new Event("input"))
            }
            const shown = [...document.querySelectorAll(".cost-model-total output")].map(each => each.textContent)
            return [...shown, document.querySelector(".cost-model-regime strong").textContent]
        })""",
        inputs,
    )

    for each, (*shown, regime) in zip(inputs, found, strict=True):
        model, n = model_of(each)
        us = [float(number) * UNITS[unit] for number, unit in (text.split("\u00a0") for text in shown)]
        assert us == pytest.approx([model.sync_total(n), model.async_total(n)], rel=0.006, abs=0.006), each
        assert regime == model.regime


def test_drawn_operations_are_those_of_a_simulation(page: Page):
    """When each operation is issued and runs, and how long the queue is at any moment, is what events bring about."""
    chance = random.Random(3)
    for _ in range(60):
        t1, t2, t3 = (chance.randint(0, 6) for _ in range(3))
        capacity, n = chance.choice([None, 1, 2, 5]), chance.randint(1, 30)
        inputs = {"n": n, "t1": t1, "t2": t2, "t3": t3, "capacity": capacity}
        events = simulate(PipelineModel(t1, t2, t3, capacity), n)
        waiting = [
            sum(time <= now for time in events.issued) - sum(time <= now for time in events.started)
            for now in range(events.now + 1)
        ]

        once, steps, longest = page.evaluate(
            "each => { const p = costModel.predict(each); return [p.operations, p.lengths, p.longestQueue] }", inputs
        )
        lengths = [next(length for time, length in reversed(steps) if time <= now) for now in range(events.now + 1)]
        each = simulate(PipelineModel(t1, t2, t3, capacity), n, 1)
        waits = page.evaluate("each => costModel.scheduleOfWaits(each)", inputs)

        found = [[one[key] for one in once] for key in ("issue", "issued", "start", "end")]
        assert found == [events.begun, events.issued, events.started, events.ended], inputs
        assert (lengths, longest) == (waiting, max(waiting)), inputs
        found = [[one[key] for one in waits] for key in ("issue", "start", "end")]
        assert found == [each.begun, each.started, each.ended], inputs


def test_drawing_without_sliders_is_true():
    """The blocks of the drawing are where `PipelineModel` has the calls, the waits in the queue and the operations."""
    rectangles = [each.attrib for each in ElementTree.parse(STILL).iter("{http://www.w3.org/2000/svg}rect")]

    def blocks(height: str) -> list[tuple[float, float]]:
        chosen = [each for each in rectangles if each["rx"] == "4" and each["height"] == height]
        return [((float(r["x"]) - 131) / 20, (float(r["x"]) + float(r["width"]) - 129) / 20) for r in chosen]

    operations = PipelineModel(1, 3, 1, 2).schedule(8)

    calls = [(each.issue_s, each.issue_s + 1) for each in operations]
    assert blocks("40") == calls + [(each.start_s, each.end_s) for each in operations]
    assert blocks("32") == [(each.issued_s, each.start_s) for each in operations if each.start_s > each.issued_s]


def test_page_begins_with_the_drawing_that_it_replaces(page: Page):
    """With JavaScript the sliders stand in the drawing's place and show the same numbers."""
    expect(page.locator(".cost-model-still")).to_be_hidden()
    assert values(page) == [8, 1000, 3000, 1000, 2]
    expect(preset(page, "Made-up times")).to_have_attribute("aria-pressed", "true")


def test_without_javascript_there_is_the_drawing(opened: Open):
    """A reader without JavaScript sees the drawing and its caption, and nothing that would not work."""
    page = opened(java_script_enabled=False)

    expect(page.locator(".cost-model-still img")).to_be_visible()
    assert page.locator(".cost-model-still img").evaluate("image => image.naturalWidth") > 0
    assert page.locator(".cost-model").inner_text() == ""


def test_presets_come_from_the_run_and_follow_the_tab(page: Page):
    """A preset has the values that the open tab quotes from its run, and changes with the tab."""
    preset(page, MILLION).click()
    assert values(page)[1:4] == FITTED["alpha"][1]
    expect(page.locator(".cost-model-presets > span")).to_contain_text("(Alpha)")

    page.locator("label.sd-tab-label", has_text="Beta").last.click()

    expect(page.locator(".cost-model-presets > span")).to_contain_text("(Beta)")
    assert values(page)[1:4] == FITTED["beta"][1]
    preset(page, "two numbers, added").click()
    assert values(page)[1:4] == [8.85, 3.43, 0]


def test_tab_leaves_what_the_reader_has_set(page: Page):
    """Once a slider was moved, another tab changes no number."""
    preset(page, MILLION).click()
    slider(page, "n operations").press("ArrowRight")
    before = values(page)

    page.locator("label.sd-tab-label", has_text="Beta").last.click()

    expect(page.locator(".cost-model-presets > span")).to_contain_text("(Beta)")
    assert values(page) == before
    assert page.locator(".cost-model-presets [aria-pressed=true]").count() == 0


def test_queue_of_1024_fills(page: Page):
    """The last preset shows a whole run in which the frontend has to wait for room."""
    preset(page, QUEUE).click()

    assert values(page)[4] == 1024
    expect(page.get_by_role("radio", name="the whole run")).to_be_checked()
    expect(told(page)).to_contain_text("for room in the queue, which is full")


def test_keyboard_alone_does_everything(page: Page):
    """Tab reaches presets, sliders, fields and choices in order, each with a ring; arrow keys move a slider."""
    preset(page, "Made-up times").focus()
    reached = []
    for _ in range(18):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("""() => {
                const { type, tagName } = document.activeElement
                const ring = getComputedStyle(document.activeElement).outlineStyle
                return [type || tagName, ring]
            }""")
        )

    assert [ring for _, ring in reached[:16]] == ["solid"] * 16
    fields = ["range", "number"] * 5
    assert [kind for kind, _ in reached[:16]] == ["button"] * 4 + [*fields, "checkbox", "radio"]
    slider(page, "t2 to compute one").focus()
    page.keyboard.press("ArrowRight")
    assert slider(page, "t2 to compute one").get_attribute("aria-valuetext") == "3.5\u00a0ms"
    assert values(page)[2] == 3500


@pytest.mark.parametrize(
    ("label", "typed", "allowed"),
    [
        ("n operations", "2.5", "a whole number, 1 to 10\u202f000"),
        ("t1 to issue one", "-3", "0 to 100\u202f000\u202f000 µs"),
    ],
)
def test_wrong_number_is_refused_with_a_reason(page: Page, label: str, typed: str, allowed: str):
    """A field says what is allowed; what is shown stays, and the field gets it back."""
    before = values(page)
    field = page.get_by_role("spinbutton", name=label)

    field.fill(typed)

    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(f"Allowed: {allowed}.")
    field.press("Tab")
    expect(field).to_have_attribute("aria-invalid", "false")
    assert values(page) == before


def test_screen_reader_has_a_name_for_everything_and_one_account(page: Page):
    """Each control has a name, sliders tell value and unit, and words that follow the numbers describe the drawing."""
    for name, text in {"n operations": "8", "t1 to issue one": "1\u00a0ms", "room in the queue": "2"}.items():
        expect(slider(page, name)).to_have_attribute("aria-valuetext", text)
    for name in ("n operations, exactly", "t3 to answer, exactly, in microseconds", "room in the queue, exactly"):
        expect(page.get_by_role("spinbutton", name=name, exact=True)).to_be_visible()
    drawing = page.get_by_role("img", name="Frontend, queue and backend over time")
    expect(drawing).to_have_accessible_description(re.compile(r"8 operations, backend-bound: .* one wait 26\sms\."))
    expect(told(page)).to_have_attribute("aria-live", "polite")


def test_dragging_is_told_once(page: Page):
    """While a slider moves nothing is announced, and afterwards once."""
    page.evaluate("""() => {
        window.announced = 0
        new MutationObserver(() => window.announced++).observe(
            document.querySelector(".cost-model-told"), { childList: true })
    }""")
    for _ in range(10):
        slider(page, "n operations").press("ArrowRight")
    assert page.evaluate("announced") == 0

    expect(told(page)).not_to_contain_text("8 operations,")
    assert page.evaluate("announced") == 1


def test_nothing_scrolls_sideways(page: Page):
    """From the smallest telephone to a desktop the page is as wide as the window, and all stays inside of it."""
    for width, name in itertools.product([320, 390, 768, 1280], [MILLION, QUEUE]):
        page.set_viewport_size({"width": width, "height": 800})
        preset(page, name).click()
        expect(page.locator(".cost-model-drawing svg")).to_have_attribute(
            "viewBox", re.compile(rf"0 0 {page.locator('.cost-model-drawing').evaluate('box => box.clientWidth')} ")
        )

        assert page.evaluate("document.documentElement.scrollWidth") <= width
        outside = """box => [...box.querySelectorAll("*")].filter(each => {
            const [inner, outer] = [each.getBoundingClientRect(), box.getBoundingClientRect()]
            return inner.width && (inner.left < outer.left - 1 || inner.right > outer.right + 1)
        }).map(each => each.outerHTML.slice(0, 80))"""
        assert page.locator(".cost-model").evaluate(outside) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_stand_out_in_both_themes(opened: Open, scheme: str):
    """Bars differ from the page and numbers from their bars as much as WCAG asks."""
    page = opened(color_scheme=scheme)
    ground = page.locator("html").evaluate("root => getComputedStyle(root).getPropertyValue('--pst-color-background')")
    fill = "each => getComputedStyle(each).fill"

    def colour(found: str) -> str:
        digits = re.findall(r"\d+", found)
        return "#" + "".join(f"{int(each):02x}" for each in digits) if "(" in found else found

    page_colour = colour(ground if len(ground) > 4 else f"#{ground[1:] * 2}")
    number = colour(page.locator(".cost-model-number").first.evaluate(fill))
    for kind in ("call", "queue", "work"):
        shape = colour(page.locator(f"rect.cost-model-{kind}").first.evaluate(fill))
        assert contrast(shape, page_colour) >= 3
        assert contrast(number, shape) >= 4.5


def test_nothing_moves_where_that_is_not_wanted(opened: Open):
    """A reader who prefers reduced motion sees bars jump to their length."""
    moving = "part => getComputedStyle(part).transitionDuration"

    assert opened().locator(".cost-model-part").first.evaluate(moving) == "0.15s"
    assert opened(reduced_motion="reduce").locator(".cost-model-part").first.evaluate(moving) == "0s"


def test_only_the_chapter_loads_the_scripts():
    """The configuration takes the scripts off all pages, where they would run twice or for nothing."""
    config = yaml.safe_load((REPOSITORY / "_config.yml").read_text("utf8"))["sphinx"]["config"]

    assert config["polybook_needed_by"]["cost-model/*"] == []


def test_notebook_has_the_drawing_and_no_trace_of_the_sliders(built: Path):
    """In an exported notebook stand the table, the drawing and a link to the page, and no HTML of the sliders."""
    notebook = nbformat.read(built / "notebooks" / "beta" / "chapters" / "page.ipynb", 4)
    text = "\n".join(each.source for each in notebook.cells if each.cell_type == "markdown")

    assert re.search(r"\| two numbers, added +\| 8\.85", text)
    assert re.search(r"!\[Three lanes[^\]]*\]\([^)]*full-queue\.svg\)", text)
    assert not re.search(r"<script|<link|<div|_static|cost-model/", text)
