"""The parts that make a page lean: joined style sheets, drawn icons, formulas as MathML."""

from __future__ import annotations

import io
import re
from pathlib import Path
from types import SimpleNamespace

import pydata_sphinx_theme
import pytest
from bs4 import BeautifulSoup
from fontTools.ttLib import TTFont

from polybook import lean
from polybook.fonts import characters_in_formulas, cut
from polybook.icons import characters_of, icons_in, only_icons, own_characters, undrawn
from polybook.mathml import mathml, plain
from polybook.stylesheets import bundle, bundle_name, joined_from

THEME = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"
SHEET = """.fa-sun:before,.fa-star:before{content:"\\f185"}.fa-lg{font-size:2em}.fa-moon:before{content:"\\f186"}
a{--bell:"\uf0f3"}"""


@pytest.fixture(scope="module")
def theme_sheet() -> str:
    """The theme's own style sheet."""
    return (THEME / "styles" / "pydata-sphinx-theme.css").read_text("utf8")


def test_bundle_keeps_the_order_of_its_sheets():
    """What stood later, and wins, still does."""
    text = bundle({"b.css": "a{color:red}", "a.css": "a{color:blue}"})

    assert text.index("red") < text.index("blue")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("url(../fonts/a.woff2)", "url(fonts/a.woff2)"),
        ('url("b.png")', 'url("styles/b.png")'),
        ("url(data:image/png;base64,AA==)", "url(data:image/png;base64,AA==)"),
        ("url(#part)", "url(#part)"),
        ("url(/root.png)", "url(/root.png)"),
    ],
)
def test_bundle_moves_addresses(written: str, expected: str):
    """A relative address leads where it led from the sheet's own folder; no other is touched."""
    assert f"a{{background:{expected}}}" in bundle({"styles/x.css": f"a{{background:{written}}}"})


def test_bundle_says_what_it_was_joined_from():
    """A bundle can be made anew from itself; another file says nothing."""
    assert joined_from(bundle({"styles/x.css": "", "y.css": ""})) == ["styles/x.css", "y.css"]
    assert joined_from("a{}") == []


def test_bundle_is_named_after_what_it_holds():
    """Other sheets, another order or another text give another name; the same give the same."""
    names = [
        bundle_name(["a.css", "b.css"], {"a.css": "a{}"}),
        bundle_name(["b.css", "a.css"], {"a.css": "a{}"}),
        bundle_name(["a.css", "b.css"], {"a.css": "b{}"}),
    ]

    assert len({*names}) == 3
    assert bundle_name(["a.css", "b.css"], {"a.css": "a{}"}) == names[0]


def test_icons_of_a_page_are_found():
    """An icon is named by its style and its own class; a class that only places it is none."""
    page = (
        '<i class="theme-switch fa-solid fa-sun fa-lg"></i> <span class="fab fa-github"></span> <i class="other"></i>'
    )

    assert icons_in(page) == {("fas", "fa-sun"), ("fas", "fa-lg"), ("fab", "fa-github")}


def test_only_icons_that_are_shown_keep_their_character():
    """Rules of other icons go, sizes and all else stay; a screen reader is given an empty text."""
    kept = only_icons(SHEET, {"fa-sun", "fa-lg"})

    assert kept.startswith(""".fa-sun:before{content:"\\f185";content:"\\f185"/''}""")
    assert "fa-star" not in kept
    assert "fa-moon" not in kept
    assert ".fa-lg{" in kept


def test_theme_loses_nothing_but_its_characters(theme_sheet: str):
    """Of the theme's style sheet go Font Awesome's fonts and characters, and not one other rule."""
    left = only_icons(theme_sheet, set())

    assert "fa-solid-900" not in left
    assert ".fa-arrow-up:before" not in left
    assert theme_sheet.count("{") - left.count("{") == len(
        re.findall(r"(?<!i)\.fa-[\w-]+:before\{content:|@font-face", theme_sheet)
    )
    assert left.count("{") == left.count("}")


def test_characters_are_those_of_the_sheet(theme_sheet: str):
    """An icon's character, and those that the theme's own rules name, are read as the browser reads them."""
    assert characters_of(SHEET, {"fa-star"}) == {"\uf185"}
    assert own_characters(SHEET) == {"\uf0f3"}
    assert characters_of(theme_sheet, {"fa-arrow-up", "fa-lg"}) == {"\uf062"}
    assert "\uf0f3" in own_characters(theme_sheet)


def test_mistyped_icon_is_told():
    """An icon that nothing is said of is named; a size is not."""
    assert undrawn(SHEET, {"fa-snu", "fa-sun", "fa-lg", "fa-su"}) == ["fa-snu", "fa-su"]


def test_font_is_cut_to_what_is_wanted(tmp_path: Path):
    """A cut font has what is wanted, is small, is the same each time, and is cut once."""
    font = THEME / "vendor" / "fontawesome" / "webfonts" / "fa-solid-900.ttf"
    content = cut(font, {"\uf062", "\uf0f3"}, tmp_path)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(b"cut before")

    assert {*TTFont(io.BytesIO(content)).getBestCmap()} == {0xF062, 0xF0F3}
    assert len(content) < 3000
    assert cut(font, {"\uf0f3", "\uf062"}, tmp_path) == b"cut before"


def test_formula_needs_its_letters_slanted():
    """A browser draws a quantity's letter by another character, and text beside a formula is not meant."""
    assert characters_in_formulas("no <math><mi>t</mi><mo>+</mo><mi>h</mi></math> yes") == {
        *"t+h",
        "\U0001d461",
        "\u210e",
    }


def test_changed_sheet_is_shown_though_no_page_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Bundles that pages load are made anew at the end of each build; one that none loads any more goes."""
    static = tmp_path / "_static"
    static.mkdir()
    name = bundle_name(["own.css", "late.css"], {})
    (static / name).write_text(bundle({"own.css": "", "late.css": ""}))
    (static / "polybook-00000000.bundle.css").write_text(bundle({"own.css": ""}))
    (tmp_path / "page.html").write_text(f'<link href="_static/{name}" />')
    (static / "own.css").write_text("a{color:red}")
    monkeypatch.setattr(lean, "builder_of", lambda _: SimpleNamespace(outdir=tmp_path))

    lean.finish_bundles(SimpleNamespace(doctreedir=tmp_path), None)

    assert [path.name for path in static.glob("polybook-*")] == [name]
    assert "a{color:red}" in (static / name).read_text()
    assert joined_from((static / name).read_text()) == ["own.css", "late.css"]


def test_functions_are_set_as_functions():
    """A function's name is upright, close to its arguments, and apart from what it multiplies."""
    drawn = BeautifulSoup(mathml(r"n \max(a, b)"), "html.parser")

    assert [str(tag) for tag in drawn.mrow.find_all(recursive=False)][:4] == [
        "<mi>n</mi>",
        '<mspace width="0.167em"></mspace>',
        '<mi mathvariant="normal">max</mi>',
        "<mo>\u2061</mo>",
    ]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (r"n\,(t_1 + t_2 + t_3)", "n (t1+t2+t3)"),
        (r"t_2 \ge t_1", "t2≥t1"),
        (r"n \max(a, b)", "n max(a,b)"),
        (r"\frac{a}{b}", "ab"),
        (r"\nonsense{x}", r"\nonsense{x}"),
    ],
)
def test_plain_formula_is_what_is_read(formula: str, expected: str):
    """A search finds a formula by its characters; one that cannot be drawn by what was typed."""
    assert plain(formula) == expected


@pytest.mark.parametrize("formula", [r"\nonsense{x}", "x_", r"\begin{align} a"])
def test_what_cannot_be_drawn_is_refused(formula: str):
    """An unknown command, or a formula that ends too early, is an error that says so."""
    with pytest.raises(ValueError, match=r"is unknown|Error"):
        mathml(formula)
