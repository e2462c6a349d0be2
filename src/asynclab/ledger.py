"""Keep what this process has recorded and claimed, so that it can be compared with what was measured elsewhere.

Filled by ``values.record`` and ``values.claim``, read by ``checking.check``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from asynclab.errors import InvalidNameError

_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Ledger:
    """What was recorded and claimed last under each name.

    Attributes:
        values: How the values read, unit included.
        claims: Whether the claims hold; None for what was not tried.
    """

    values: dict[str, str] = field(default_factory=dict)
    claims: dict[str, bool | None] = field(default_factory=dict)


#: This process's own: a cell that checks stands far from the one that records, and shares nothing else with it.
LEDGER = Ledger()


def check_name(name: object, function: str, kind: str, example: str) -> None:
    """See that a value or claim has a name that prose can quote.

    Raises:
        InvalidNameError: If it has not.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidNameError(
            f"{function}: {told(name)} is no name for a {kind} (allowed: lower-case letters, digits and "
            f"underscores, a letter first).\nWrite for example {example}."
        )


def told(value: object) -> str:
    """Say in a few words what was given."""
    # Never the text of an array: it would be computed just to be shown, and is long.
    if value is None or isinstance(value, bool | int | float | complex | str):
        return f"{value!r:.80}"
    return f"an object of type {type(value).__name__}"
