"""Have a browser load pictures only when a reader comes near them, without text that moves when they come.

A part of the theme (``lean.py``). A picture of a known size keeps its place free, and so may wait. The first one of a
page does not, for it is most likely seen at once; nor does one of an unknown size, which would push the text aside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import unquote

from sphinx.util.images import get_image_size

_PICTURE = re.compile(r"<img\b[^>]*>")
_SOURCE = re.compile(r'\bsrc="([^"]*)"')
#: Whoever wrote one of these has decided already.
_DECIDED = re.compile(r'\s(?:loading|width|height)="|\sstyle="[^"]*\b(?:width|height)\b')


def wait_for_reader(body: str, files: Mapping[str, Path]) -> str:
    """Mark those pictures of a page that may wait, with their sizes in CSS pixels.

    Args:
        body: The page's HTML.
        files: The pictures' files by the names that they have in the site.
    """
    return _PICTURE.sub(_marker(files), body)


def _marker(files: Mapping[str, Path]) -> Callable[[re.Match[str]], str]:
    is_first = True

    def mark(found: re.Match[str]) -> str:
        nonlocal is_first
        tag, was_first, is_first = found[0], is_first, False
        source = _SOURCE.search(tag)
        file = files.get(unquote(source[1]).rpartition("/")[2]) if source else None
        if was_first or file is None or _DECIDED.search(tag):
            return tag
        width, height = get_image_size(str(file)) or (0, 0)
        if width <= 0 or height <= 0:
            return tag
        return f'<img loading="lazy" width="{width}" height="{height}"{tag[len("<img") :]}'

    return mark
