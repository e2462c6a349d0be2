"""Take the one notebook out of a zip that a student made of it: what is handed out is a zip, so many hand in one.

Nothing is unpacked to disk, and a zip in a zip is not opened. See ``opened.py`` for what is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from coursework.incoming import is_clutter
from coursework.opened import Item, Refused, inside
from coursework.stamp import read as read_stamp
from coursework.submission import Unreadable, read

_BEGINNING = b"PK\x03\x04"
#: The most notebooks of one zip that are opened: each may unpack to much.
_MOST = 10
#: How many names are told, and how much of each: a student wrote them.
_TOLD, _CUT = 3, 60


def taken(content: bytes, name: str) -> bytes:
    """Give a notebook: the only one in a zip, or the only one there that `assign` made; any other file as it is.

    Args:
        content: What was handed in.
        name: Its name, for messages.

    Raises:
        Refused: If it is a zip that does not say which notebook is meant.
    """
    if not content.startswith(_BEGINNING):
        return content
    found = [one for one in inside(content, name) if not is_clutter(one.path)]
    notebooks = [one for one in found if ".ipynb" in one.path.rpartition("/")[2].lower()]
    if not notebooks:
        raise Refused(f"it is a zip without a notebook: {_listed(found)}")
    if len(notebooks) > _MOST:
        raise Refused(f"it is a zip with more than {_MOST} notebooks: {_listed(notebooks)}")
    chosen = notebooks if len(notebooks) == 1 else [one for one in notebooks if _is_ours(one)]
    if len(chosen) != 1:
        ours = f"{len(chosen)} of them made by `coursework assign`" if chosen else "none made by `coursework assign`"
        raise Refused(f"it is a zip with {len(notebooks)} notebooks, {ours}, and has to hold one: {_listed(notebooks)}")
    if chosen[0].problem:
        raise Refused(
            f"it is a zip, and of its notebook {chosen[0].path[:_CUT]} it has to be said: {chosen[0].problem}"
        )
    return chosen[0].content()


def _is_ours(one: Item) -> bool:
    try:
        return not one.problem and read_stamp(read(one.content()).document) is not None
    except (Refused, Unreadable):
        return False


def _listed(found: Sequence[Item]) -> str:
    names = [f"{one.path[:_CUT]}{f' ({one.problem})' if one.problem else ''}" for one in found[:_TOLD]]
    more = [f"{len(found) - _TOLD} more"] if len(found) > _TOLD else []
    return ", ".join([*names, *more]) or "it is empty"
