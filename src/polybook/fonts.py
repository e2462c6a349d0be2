"""Cut fonts down to the characters that a site shows: its icons, and the letters and signs of its formulas.

Used by ``lean.py``. Both fonts come from packages: Font Awesome from the theme's, STIX Two Math from ziamath's. Cutting
takes a second, so that what was cut is kept below the doctrees.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import io
import logging
import re
import unicodedata
from collections.abc import Collection
from pathlib import Path

from polybook.files import write_if_other

#: What browsers compress nothing of, and every one of them reads; WOFF2 would need one more package.
FLAVOR = "woff"
#: Font Awesome's fonts in the theme's folder, by style: file, family and weight.
ICON_FONTS = {
    "fas": ("fa-solid-900.ttf", "Font Awesome 6 Free", 900),
    "far": ("fa-regular-400.ttf", "Font Awesome 6 Free", 400),
    "fab": ("fa-brands-400.ttf", "Font Awesome 6 Brands", 400),
}
MATH_FAMILY = "STIX Two Math"
_FORMULA = re.compile(r"<math\b.*?</math>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def cut(font: Path, characters: Collection[str], kept: Path) -> bytes:
    """Give a font that has these characters and what they need, such as the sizes of a bracket.

    Args:
        font: A TrueType font.
        characters: Those that are wanted; what the font lacks is left out.
        kept: A folder for what was cut before.
    """
    wanted = sorted(map(ord, characters))
    key = hashlib.sha256(f"1 {font.name} {font.stat().st_size} {wanted}".encode()).hexdigest()[:16]
    path = kept / f"{font.stem}-{key}.{FLAVOR}"
    if not path.is_file():
        write_if_other(path, _cut(font, wanted))
    return path.read_bytes()


def face(family: str, weight: int, source: str) -> str:
    """Write the rule by which a style sheet names a font."""
    return f'@font-face{{font-family:"{family}";font-weight:{weight};font-display:swap;src:{source}}}'


def inline(content: bytes) -> str:
    """Write a font into a style sheet: a small one costs less there than on a way of its own."""
    return f'url("data:font/{FLAVOR};base64,{base64.b64encode(content).decode()}") format("{FLAVOR}")'


def math_font() -> Path:
    """Find the font for formulas in its package, without loading that.

    Raises:
        FileNotFoundError: If the package is not there, or has it no more.
    """
    found = importlib.util.find_spec("ziamath")
    folders = [Path(folder) for folder in (found.submodule_search_locations or ())] if found else []
    for folder in folders:
        if (folder / "fonts" / "STIXTwoMath-Regular.ttf").is_file():
            return folder / "fonts" / "STIXTwoMath-Regular.ttf"
    raise FileNotFoundError("STIXTwoMath-Regular.ttf: the package ziamath has it, and is not installed.")


def characters_in_formulas(page: str) -> set[str]:
    """Find what the formulas of an HTML page are made of; a letter is drawn upright or slanted, as it stands for."""
    from html import unescape

    found = set(unescape("".join(_TAG.sub("", formula) for formula in _FORMULA.findall(page))))
    return {character for character in found if character.isprintable()} | {_slanted(character) for character in found}


def _slanted(character: str) -> str:
    """Give the mathematical italic letter that a browser draws in place of a quantity's name."""
    if character == "h":
        return "\N{PLANCK CONSTANT}"
    try:
        name = unicodedata.name(character)
        size, _, letter = name.replace("LATIN ", "").replace("GREEK ", "").partition(" LETTER ")
        return unicodedata.lookup(f"MATHEMATICAL ITALIC {size} {letter}")
    except (KeyError, ValueError):
        return character


def _cut(font: Path, wanted: list[int]) -> bytes:
    # Here: it takes a third of a second, and what was cut before needs nothing of it.
    from fontTools import subset
    from fontTools.ttLib import TTFont

    # It tells each table that it cuts, and a build's log shows whatever any library tells.
    logging.getLogger("fontTools").setLevel(logging.WARNING)
    options = subset.Options()
    # Smaller scripts are drawn for their size.
    options.layout_features = ["ssty"]
    options.hinting = False
    options.notdef_outline = True
    with TTFont(font, lazy=True, recalcTimestamp=False) as whole:
        cutter = subset.Subsetter(options)
        cutter.populate(unicodes=wanted)
        cutter.subset(whole)
        whole.flavor = FLAVOR
        content = io.BytesIO()
        whole.save(content)
    return content.getvalue()
