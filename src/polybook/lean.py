"""A theme that loads only what a page uses: sphinx-book-theme with one style sheet, small fonts and deferred scripts.

An extension of its own (``polybook.lean``), chosen by ``html_theme: polybook``. Templates of the theme leave out what
the themes below load on every page; style sheets are joined by ``stylesheets.py``, icons and fonts cut down by
``icons.py`` and ``fonts.py``, and search is that of ``searching.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.util import logging

from polybook.files import write_if_other
from polybook.fonts import ICON_FONTS, MATH_FAMILY, characters_in_formulas, cut, face, inline, math_font
from polybook.icons import characters_of, icons_in, only_icons, own_characters, undrawn
from polybook.pictures import wait_for_reader
from polybook.stylesheets import bundle, bundle_name, joined_from

logger = logging.getLogger(__name__)

THEME = "polybook"
_FOLDER = Path(__file__).parent / "theme"
#: What pydata-sphinx-theme's template, which the theme's own stands for, would load before all others.
_FIRST_SHEETS = ("basic.css", "styles/pydata-sphinx-theme.css")
#: What our own parts look like; other sheets may say more of it.
_OWN_SHEET = "polybook-theme.css"
_ICON_FONTS = "vendor/fontawesome/webfonts"
_MATH_FONT = "polybook-math.woff"
_BUNDLES = "polybook-*.bundle.css"
#: Inline scripts use what it declares.
_AT_ONCE = "documentation_options.js"
#: Which files work on elements of some classes only; a book adds its own in ``polybook_needed_by``.
_NEEDED_BY = {
    "clipboard.min.js": ["highlight"],
    "copybutton.js": ["highlight"],
    "design-tabs.js": ["sd-tab-set"],
    # The selector that Jupyter Book sets.
    "togglebutton.js": ["toggle", "dropdown"],
}
#: Runs cells in a reader's browser by a server elsewhere; a book that wants it says so in its launch buttons.
_THEBE = ("sphinx-thebe.js", "sphinx-thebe.css")
_THEBE_SETTINGS = "const THEBE_JS_URL"
_CLASSES = re.compile(r'\bclass="([^"]*)"')


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the theme and the events."""
    from polybook.searching import collect_texts, write_texts

    # Patterns of files below `_static`, which Jupyter Book loads on every page, to classes of the pages that use them.
    app.add_config_value("polybook_needed_by", {}, "html")
    app.add_html_theme(THEME, str(_FOLDER))
    # Last: every extension has had its say about what a page loads.
    app.connect("html-page-context", trim_page, priority=950)
    app.connect("html-page-context", collect_texts)
    app.connect("html-page-context", mark_pictures)
    # After pydata-sphinx-theme (500) has written pygments.css anew.
    app.connect("build-finished", finish_bundles, priority=900)
    app.connect("build-finished", write_texts, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def builder_of(app: Sphinx) -> StandaloneHTMLBuilder | None:
    """Give the builder if it writes a site in this theme."""
    builder = app.builder
    if isinstance(builder, StandaloneHTMLBuilder) and builder.name != "epub" and builder.theme.name == THEME:
        return builder
    return None


def trim_page(app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Leave out what this page does not use; join its style sheets, and have its scripts wait for it to be read."""
    builder = builder_of(app)
    if builder is None:
        return
    classes = {name for names in _CLASSES.findall(context.get("body") or "") for name in names.split()}
    used = partial(
        _is_used, classes=classes, needed_by={**_NEEDED_BY, **app.config.polybook_needed_by}, thebe=_has_thebe(context)
    )
    # In place: what Sphinx sorts and writes are these lists.
    context["script_files"][:] = [_deferred(script) for script in _once(context["script_files"]) if used(script)]
    sheets = [sheet for sheet in sorted(_once(context["css_files"]), key=lambda sheet: sheet.priority) if used(sheet)]
    own = [sheet for sheet in sheets if _is_own_sheet(sheet)]
    context["css_files"][:] = [sheet for sheet in sheets if sheet not in own]
    paths = [*_FIRST_SHEETS, _OWN_SHEET, *(_path(sheet) for sheet in own)]
    # By what an author changes: a reader's browser then keeps no older one. The rest comes from pinned packages.
    name = bundle_name(paths, _texts(paths, [Path(app.srcdir, folder) for folder in app.config.html_static_path]))
    target = Path(builder.outdir) / "_static" / name
    if not target.is_file():
        # Complete at the end of the build, when all parts are there; until then it says what they are.
        write_if_other(target, bundle(dict.fromkeys(paths, "")).encode())
    # For the theme's own template, which puts it before all others.
    context["polybook_bundle"] = f"_static/{name}"


def mark_pictures(app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Have pictures wait until a reader comes near them."""
    builder = builder_of(app)
    if builder is not None and context.get("body"):
        files = {name: Path(builder.srcdir, source) for source, name in builder.images.items()}
        context["body"] = wait_for_reader(context["body"], files)


def finish_bundles(app: Sphinx, error: Exception | None) -> None:
    """Make all bundles anew from their parts, also where no page was written, with the fonts that all pages need."""
    builder = builder_of(app)
    if error is not None or builder is None:
        return
    out, kept = Path(builder.outdir), Path(app.doctreedir) / "fonts"
    static = out / "_static"
    pages = [page.read_text("utf8") for page in sorted(out.rglob("*.html")) if static not in page.parents]
    icons = set().union(*map(icons_in, pages))
    formulas = set().union(*map(characters_in_formulas, pages))
    if formulas:
        write_if_other(static / _MATH_FONT, cut(math_font(), formulas, kept))
    for path in sorted(static.glob(_BUNDLES)):
        if not any(path.name in page for page in pages):
            # Of an earlier build.
            path.unlink()
            continue
        paths = joined_from(path.read_text("utf8"))
        whole = bundle({**dict.fromkeys(paths, ""), **_texts(paths, [static])})
        faces = _icon_faces(static, whole, icons, kept)
        faces += [face(MATH_FAMILY, 400, f'url("{_MATH_FONT}") format("woff")')] if formulas else []
        names = {name for _, name in icons}
        # After the line that says what it was joined from.
        head, _, rest = only_icons(whole, names).partition("\n")
        write_if_other(path, "\n".join([head, *faces, rest]).encode())
        for name in undrawn(whole, names):
            logger.warning("no icon is called %s; Font Awesome 6 lists its own", name, type="polybook", subtype="icon")


def _icon_faces(static: Path, sheet: str, icons: set[tuple[str, str]], kept: Path) -> list[str]:
    """Write the fonts of the icons that pages show and of those that the style sheet itself does."""
    faces = []
    for style, (file, family, weight) in ICON_FONTS.items():
        wanted = characters_of(sheet, {name for of, name in icons if of == style})
        # The theme's own are solid ones, and two of brands.
        wanted |= own_characters(sheet) if style in ("fas", "fab") else set()
        if wanted:
            faces.append(face(family, weight, inline(cut(static / _ICON_FONTS / file, wanted, kept))))
    return faces


def _texts(paths: Iterable[str], folders: Iterable[Path]) -> dict[str, str]:
    """Read those of some files that lie in some folders."""
    found = ((path, folder / path) for path in paths for folder in folders)
    return {path: file.read_text("utf8") for path, file in found if file.is_file()}


def _once(assets: Iterable[Any]) -> list[Any]:
    """Drop what is there a second time: extensions that are set up for each build add their settings again."""
    return list(dict.fromkeys(assets))


def _path(asset: Any) -> str:
    """Give a file's path below ``_static``; empty for an inline script."""
    return str(asset.filename or "").partition("?")[0].removeprefix("_static/")


def _has_thebe(context: dict[str, Any]) -> bool:
    launched = context.get("theme_launch_buttons")
    return isinstance(launched, dict) and bool(launched.get("thebe"))


def _is_used(asset: Any, *, classes: set[str], needed_by: dict[str, list[str]], thebe: bool) -> bool:
    path = _path(asset)
    if not thebe and (path in _THEBE or str(asset.attributes.get("body", "")).startswith(_THEBE_SETTINGS)):
        return False
    needs = [set(names) for pattern, names in needed_by.items() if fnmatchcase(path, pattern)]
    return not needs or any(names & classes for names in needs)


def _is_own_sheet(sheet: Any) -> bool:
    """Tell whether a style sheet can be joined with others: of the site, and for every medium."""
    unconditional = {"rel", "type"} >= {*sheet.attributes} and sheet.attributes["rel"] == "stylesheet"
    return unconditional and "://" not in str(sheet.filename)


def _deferred(script: Any) -> Any:
    """Let a script run when the page has been read, as those of these themes and extensions expect; in their order."""
    if not script.filename or _path(script) == _AT_ONCE or {"async", "type"} & {*script.attributes}:
        return script
    return type(script)(script.filename, priority=script.priority, **{**script.attributes, "defer": "defer"})
