"""Show what a long run is doing: a live line on a terminal, one line a variant elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO


class Progress:
    """Reports the run of one variant.

    Args:
        label: Page and framework.
        total: How many cells there are.
        say: Prints a line that stays.
        live: A terminal to draw on, or None.
    """

    def __init__(self, label: str, total: int, say: Callable[[str], None], live: TextIO | None) -> None:
        """Start the clock."""
        self._label = label
        self._total = total
        self._say = say
        self._live = live if live is not None and live.isatty() else None
        self._start = time.monotonic()
        self._cell = 0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def cell(self, number: int) -> None:
        """Note that cell ``number`` (from 1) starts."""
        self._cell = number
        self.tick()

    def tick(self) -> None:
        """Draw the live line again, so that its seconds move while a cell is busy."""
        if self._live:
            at = f"cell {self._cell} of {self._total}" if self._cell else "starting its kernel"
            self._live.write(f"\r\x1b[K{self._label}: {at}, {self.elapsed_s:.0f} s")
            self._live.flush()

    def clear(self) -> None:
        """Take the live line away, so that something else can be printed."""
        if self._live:
            self._live.write("\r\x1b[K")
            self._live.flush()

    def note(self, text: str) -> None:
        """Print a line about this variant that stays."""
        self.clear()
        self._say(f"{self._label}: {text}")

    def done(self) -> None:
        """Print the line that stays of a variant that ran."""
        self.note(f"ran {self._total} cell{'s' * (self._total != 1)} in {self.elapsed_s:.1f} s")
