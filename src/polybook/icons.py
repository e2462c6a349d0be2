"""Keep those of Font Awesome's two thousand icons that a site shows. Pure: texts in, text out.

Used by ``lean.py``. In the theme's style sheet a rule gives each icon its character, and some rules of the theme's own
(an admonition's bell) name characters too; ``fonts.py`` cuts the fonts down to these.
"""

from __future__ import annotations

import re
from collections.abc import Collection

#: Font Awesome's short and long names for its three free styles.
STYLES = {"fas": "fas", "fa-solid": "fas", "far": "far", "fa-regular": "far", "fab": "fab", "fa-brands": "fab"}
_ELEMENT = re.compile(r"<(?:i|span)\b[^>]*\bclass=\"([^\"]*\bfa-[^\"]*)\"")
_FACE = re.compile(r"@font-face\{[^}]*Font ?Awesome[^}]*\}")
_RULE = re.compile(r"""(?P<selectors>(?:\.fa-[\w-]+:before,?)+)\{content:"(?P<character>[^"]*)"\}""")
_ESCAPE = re.compile(r"\\([0-9a-f]{1,4}) ?(?![0-9a-f])", re.IGNORECASE)
#: Where Font Awesome, like every font of icons, has characters of its own.
_OWN = re.compile("[\ue000-\uf8ff]")


def icons_in(page: str) -> set[tuple[str, str]]:
    """Find the icons of an HTML page, as pairs of style (`fas`) and class (`fa-arrow-up`)."""
    found = set()
    for classes in _ELEMENT.findall(page):
        names = classes.split()
        style = next((STYLES[name] for name in names if name in STYLES), None)
        if style:
            found |= {(style, name) for name in names if name.startswith("fa-") and name not in STYLES}
    return found


def only_icons(sheet: str, names: Collection[str]) -> str:
    """Leave out of a style sheet Font Awesome's fonts and the characters of all icons but some.

    How icons are sized and placed stays. A screen reader would read the characters, and is given an empty text instead.
    """

    def kept(rule: re.Match[str]) -> str:
        selectors = rule["selectors"].rstrip(",").split(",")
        wanted = [one for one in selectors if one.removeprefix(".").removesuffix(":before") in names]
        character = f'"{rule["character"]}"'
        return f"{','.join(wanted)}{{content:{character};content:{character}/''}}" if wanted else ""

    return _RULE.sub(kept, _FACE.sub("", sheet))


def characters_of(sheet: str, names: Collection[str]) -> set[str]:
    """Give the characters of some icons by the rules of a style sheet."""
    return {
        _unescaped(rule["character"])
        for rule in _RULE.finditer(sheet)
        if any(f".{name}:before" in rule["selectors"].split(",") for name in names)
    }


def own_characters(sheet: str) -> set[str]:
    """Give the characters of icons that other rules name."""
    return {*_OWN.findall(_unescaped(_RULE.sub("", sheet)))}


def undrawn(sheet: str, names: Collection[str]) -> list[str]:
    """List the icons that no rule of a style sheet is about."""
    return sorted(name for name in names if not re.search(rf"\.{re.escape(name)}(?![\w-])", sheet))


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
