"""Say where and when outputs were made: a line below each panel, and a card a framework at the end of the page.

Pure: a run in, text out. The words about the machine come from the record that the book's probe took in the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from polybook.run import Offer


def run_line(title: str, offer: Offer) -> str:
    """Give the one quiet line: framework and version, machine, date, and whether it was recorded or noisy."""
    run = offer.run
    version = run.machine.get("version", "")
    marks = ["recorded"] * bool(offer.source) + ["noisy"] * bool(run.noise)
    parts = [f"{title} {version}".strip(), run.machine.get("summary", ""), _date(run.started), *marks]
    return " · ".join(part for part in parts if part)


def run_card(title: str, offer: Offer, alone: bool = True) -> str:
    """Give the whole record as MyST: collapsed, a line a fact.

    A literal block, not a table: Sphinx walks every node of every page on each build, and a table has a hundred.

    Args:
        title: The framework's title.
        offer: The run.
        alone: Whether it is the only run of its framework on the page.
    """
    facts = [(name, " ".join(value.split())) for name, value in _facts(offer)]
    width = max(len(name) for name, _ in facts) + 2
    lines = "".join(f"{name.ljust(width)}{value}\n" for name, value in facts)
    which = "" if alone else f": {offer.label}"
    classes = f"polybook-card polybook-of-{offer.run.framework}"
    head = f"`````{{dropdown}} How the outputs in {title} were made{which}\n:class-container: {classes}\n"
    return f"{head}````text\n{lines}````\n`````\n"


def _facts(offer: Offer) -> Iterable[tuple[str, str]]:
    run = offer.run
    for entry in run.machine.get("entries", []):
        yield entry["title"], entry["text"]
    yield "Load before and after", f"{run.load[0]:.2f}, {run.load[1]:.2f}"
    yield "Made", f"{_date(run.started)}, {_moment(run.started):%H:%M} UTC"
    if offer.source:
        yield "Recorded as", offer.source
    if run.commit:
        yield "Commit", run.commit
    if run.differs:
        yield "Differs from the pins", ", ".join(run.differs)
    if offer.changed:
        yield "Since then", ", ".join(offer.changed)
    if run.noise:
        yield "Noisy", "; ".join(run.noise)
    if run.dropped:
        yield "Dropped as noisy", "; then ".join(run.dropped)
    yield "Kernel", f"{run.elapsed_s:.1f} s from start to end, {len(run.cells)} cells"
    yield "Seconds of each cell", ", ".join(f"{cell['elapsed_s']:.2f}" for cell in run.cells)


def _moment(iso: str) -> datetime:
    return datetime.fromisoformat(iso).astimezone(UTC)


def _date(iso: str) -> str:
    moment = _moment(iso)
    return f"{moment.day} {moment:%b %Y}"
