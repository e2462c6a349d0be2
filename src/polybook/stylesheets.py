"""Join style sheets into one that a page loads in one go. Pure: texts in, text out.

Used by ``lean.py``. A bundle opens with the names of what it was joined from, so that it can be made anew from itself.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Mapping, Sequence

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CHARSET = re.compile(r'@charset "[^"]*";')
_URL = re.compile(r"""url\(\s*(?P<quote>["']?)(?P<target>[^"')]*)(?P=quote)\s*\)""")
_ELSEWHERE = re.compile(r"(?:[a-z][a-z0-9+.-]*:|/|#)", re.IGNORECASE)
_HEAD = "/* polybook: "


def bundle(sheets: Mapping[str, str]) -> str:
    """Join style sheets in order.

    Args:
        sheets: Their texts, by path below the folder in which the bundle lies.
    """
    parts = [f"{_HEAD}{json.dumps([*sheets])} */"]
    parts += [_moved(_stripped(text), posixpath.dirname(path)) for path, text in sheets.items()]
    return "\n".join(filter(None, parts)) + "\n"


def joined_from(text: str) -> list[str]:
    """Read which style sheets a bundle was joined from; none if it is not one."""
    first = text.partition("\n")[0]
    if not first.startswith(_HEAD):
        return []
    names: list[str] = json.loads(first.removeprefix(_HEAD).removesuffix(" */"))
    return names


def bundle_name(paths: Sequence[str], texts: Mapping[str, str]) -> str:
    """Name a bundle after the style sheets that it is joined from, and what some of them say."""
    key = hashlib.sha256(json.dumps([[*paths], texts], sort_keys=True).encode()).hexdigest()[:8]
    return f"polybook-{key}.bundle.css"


def _stripped(text: str) -> str:
    return _CHARSET.sub("", _COMMENT.sub("", text)).strip()


def _moved(text: str, folder: str) -> str:
    """Have relative addresses lead from the bundle's folder to where they led from their own."""

    def moved(found: re.Match[str]) -> str:
        target = found["target"]
        if not folder or not target or _ELSEWHERE.match(target):
            return found[0]
        return f"url({found['quote']}{posixpath.normpath(posixpath.join(folder, target))}{found['quote']})"

    return _URL.sub(moved, text)
