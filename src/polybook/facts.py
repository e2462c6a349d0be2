"""What the cells of a run have recorded for the page's prose: named values, and claims that hold or do not.

Pure: a run in, data out. A cell records by a display message whose metadata hold, under ``polybook``, one of

    {"kind": "value", "name": ..., "value": ..., "unit": ..., "text": ..., "spread": ...}
    {"kind": "claim", "name": ..., "holds": ..., "must": ...}

where ``holds`` is true, false, or null for what was not tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

#: Under which key of an output's metadata a fact stands.
FACT_KEY = "polybook"


@dataclass(frozen=True)
class Value:
    """A number that a cell recorded.

    Attributes:
        name: What prose quotes it by.
        text: How it reads, unit included.
        spread: Relative spread of repeated measurements; None if there was one only.
    """

    name: str
    text: str
    spread: float | None = None


@dataclass(frozen=True)
class Claim:
    """A statement about a run's values.

    Attributes:
        name: What prose names it by.
        holds: Whether it is true of this run; None if it was not tried.
        must: Whether a strict build fails if it is not.
    """

    name: str
    holds: bool | None
    must: bool = False

    @property
    def answer(self) -> str:
        """Whether it holds, for a table."""
        return {True: "yes", False: "no", None: "not tried"}[self.holds]


@dataclass(frozen=True)
class Facts:
    """Everything that the cells of a run recorded, by name; what was recorded twice is what it was last.

    Attributes:
        values: The values.
        claims: The claims.
    """

    values: Mapping[str, Value]
    claims: Mapping[str, Claim]


def facts_of(cells: Iterable[Mapping[str, Any]]) -> Facts:
    """Collect what the cells of a run have recorded."""
    values: dict[str, Value] = {}
    claims: dict[str, Claim] = {}
    for fact in _facts(cells):
        name = fact.get("name")
        if not isinstance(name, str):
            continue
        if fact.get("kind") == "value":
            values[name] = Value(name, str(fact.get("text", "")), _spread(fact.get("spread")))
        elif fact.get("kind") == "claim":
            holds = None if fact.get("holds", False) is None else fact.get("holds") is True
            claims[name] = Claim(name, holds, fact.get("must") is True)
    return Facts(values, claims)


def is_claim(output: Mapping[str, Any]) -> bool:
    """Tell whether an output is a claim's message, which nothing is shown of."""
    fact = output.get("metadata", {}).get(FACT_KEY)
    return isinstance(fact, Mapping) and fact.get("kind") == "claim"


def _facts(cells: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for cell in cells:
        for output in cell["outputs"]:
            fact = output.get("metadata", {}).get(FACT_KEY)
            if isinstance(fact, Mapping):
                yield fact


def _spread(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
