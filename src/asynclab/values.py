"""Give a number of a cell a name, so that prose quotes what was measured instead of what somebody remembers.

Emits the display message that MyST-NB's ``glue`` reads; outside of a notebook nothing happens.
"""

from __future__ import annotations

import re
import sys

_HIDDEN = "application/papermill.record/"
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def record(name: str, value: float, unit: str = "") -> None:
    """Record a named value; nothing is shown where it is recorded.

    Args:
        name: Lower-case letters, digits and underscores; prose quotes it with the framework in front, such as
            ``{glue:text}`` of ``mxnet.speedup``.
        value: The number.
        unit: Its unit, such as ``ms``; empty for a ratio.

    Raises:
        ValueError: If the name is not of that form.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} is no name for a value (allowed: lower-case letters, digits and underscores).\n"
            "Write for example record('speedup', 3.2)."
        )
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        return
    text = f"{value:.3g} {unit}".strip()
    ipython.display.display(
        {f"{_HIDDEN}text/plain": text},
        metadata={"scrapbook": {"name": name, "mime_prefix": _HIDDEN}, "asynclab": {"value": value, "unit": unit}},
        raw=True,
    )
