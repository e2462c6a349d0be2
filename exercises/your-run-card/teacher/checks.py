"""Three questions about the student's own run card, which a person marks."""

from __future__ import annotations

import re
from pathlib import Path

from coursework import Offering, WrittenQuestion

_TITLES = {
    "machine": ("The machine", 3),
    "figures": ("The three figures", 4),
    "comparison": ("What the card does not say", 3),
}


def questions(offering: Offering) -> list[WrittenQuestion]:  # noqa: ARG001 - nothing is drawn
    """Make the questions, each with its part of the rubric."""
    parts = re.split(r"^## (\S+)\n", (Path(__file__).parent / "rubric.md").read_text("utf8"), flags=re.MULTILINE)
    rubrics = dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))
    return [WrittenQuestion(name, title, points, rubrics[name]) for name, (title, points) in _TITLES.items()]
