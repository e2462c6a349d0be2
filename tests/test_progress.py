"""What a run shows of itself: a live line on a terminal, lines that stay everywhere."""

from __future__ import annotations

import io

import pytest

from polybook import progress as module
from polybook.progress import Progress

#: Times are taken here: nothing else may run beside.
pytestmark = pytest.mark.alone


class Terminal(io.StringIO):
    """Stands for a terminal."""

    def isatty(self) -> bool:
        return True

    @property
    def shown(self) -> str:
        """What stands in the line now."""
        return self.getvalue().rpartition("\r\x1b[K")[2]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that goes only when told: its one entry is the time in seconds."""
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_live_line_follows_the_cells(clock: list[float]):
    """On a terminal one line shows page, framework, cell and seconds, and moves with the clock."""
    terminal = Terminal()
    progress = Progress("page [pytorch]", 3, print, terminal)

    progress.tick()
    starting = terminal.shown
    progress.cell(2)
    clock[0] += 61.6
    progress.tick()

    assert starting == "page [pytorch]: starting its kernel, 0 s"
    assert terminal.shown == "page [pytorch]: cell 2 of 3, 62 s"
    assert "\n" not in terminal.getvalue()


def test_line_that_stays_replaces_the_live_one(clock: list[float]):
    """A note is printed where the live line was, not behind it."""
    terminal = Terminal()
    progress = Progress("page", 1, lambda text: terminal.write(f"{text}\n"), terminal)
    progress.cell(1)

    progress.note("waiting")

    assert terminal.shown == "page: waiting\n"


def test_no_terminal_no_live_line(clock: list[float]):
    """In a file, or with nowhere to draw, only lines that stay are written."""
    for live in (io.StringIO(), None):
        said: list[str] = []
        progress = Progress("page", 2, said.append, live)

        progress.tick()
        progress.cell(1)
        progress.clear()
        progress.done()

        assert said == ["page: ran 2 cells in 0.0 s"]
        assert live is None or live.getvalue() == ""


@pytest.mark.parametrize(("total", "text"), [(0, "0 cells"), (1, "1 cell"), (2, "2 cells")])
def test_count_is_in_words(total: int, text: str, clock: list[float]):
    """One cell is a cell, any other number of them are cells; the time is told to a tenth of a second."""
    said: list[str] = []
    progress = Progress("page", total, said.append, None)

    clock[0] += 1.26
    progress.done()

    assert said == [f"page: ran {text} in 1.3 s"]
    assert progress.elapsed_s == pytest.approx(1.26)
