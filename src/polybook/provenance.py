"""Say where and when outputs were made: a line below each panel, and a card a framework at the end of the page.

Pure: a run in, text out. The words about the machine come from the record that the book's probe took in the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from polybook.run import Run


def run_line(title: str, run: Run) -> str:
    """Give the one quiet line: framework and version, machine, date."""
    version = run.machine.get("version", "")
    parts = [f"{title} {version}".strip(), run.machine.get("summary", ""), _date(run.started)]
    return " · ".join(part for part in parts if part)


def run_card(title: str, run: Run) -> str:
    """Give the whole record as MyST: collapsed, a line a fact.

    A literal block, not a table: Sphinx walks every node of every page on each build, and a table has a hundred.
    """
    facts = [(name, " ".join(value.split())) for name, value in _facts(run)]
    width = max(len(name) for name, _ in facts) + 2
    lines = "".join(f"{name.ljust(width)}{value}\n" for name, value in facts)
    return f"`````{{dropdown}} How the outputs in {title} were made\n````text\n{lines}````\n`````\n"


def _facts(run: Run) -> Iterable[tuple[str, str]]:
    for entry in run.machine.get("entries", []):
        yield entry["title"], entry["text"]
    yield "Load before and after", f"{run.load[0]:.2f}, {run.load[1]:.2f}"
    yield "Made", f"{_date(run.started)}, {_moment(run.started):%H:%M} UTC"
    if run.commit:
        yield "Commit", run.commit
    yield "Kernel", f"{run.elapsed_s:.1f} s from start to end, {len(run.cells)} cells"
    yield "Seconds of each cell", ", ".join(f"{cell['elapsed_s']:.2f}" for cell in run.cells)


def _moment(iso: str) -> datetime:
    return datetime.fromisoformat(iso).astimezone(UTC)


def _date(iso: str) -> str:
    moment = _moment(iso)
    return f"{moment.day} {moment:%b %Y}"
