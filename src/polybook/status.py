"""Say of each page and framework whether its run is fresh, stale and why, or missing; when, and how long it took."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from polybook.book import Book
from polybook.obtain import Lookup, Runner
from polybook.page import Page
from polybook.run import Run
from polybook.split import split

_HEADINGS = ("page", "framework", "state", "made", "seconds", "cells")


def status_table(book: Book, found: Iterable[Page]) -> str:
    """Make a table for people, a line a page and framework.

    Args:
        book: The book.
        found: Its pages.

    Returns:
        The table, columns aligned.
    """
    runner = Runner(book.options, say=_nothing, warn=_nothing, live=None)
    latest: dict[tuple[str, str], Run] = {}
    for run in runner.store.entries():
        key = (run.page, run.framework)
        if key not in latest or run.started > latest[key].started:
            latest[key] = run
    rows = [_HEADINGS]
    for page in found:
        for name in page.frameworks:
            variant = split(page, name)
            lookup = runner.look_up(name, variant.code) if variant.cells else Lookup("nothing to run")
            rows.append(
                (page.docname, name, *_cells(lookup, latest.get((page.docname, name))), str(len(variant.cells)))
            )
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _cells(lookup: Lookup, latest: Run | None) -> tuple[str, str, str]:
    if lookup.state == "missing" and latest:
        return "stale: its code changed", local_time(latest.started), f"{latest.elapsed_s:.1f}"
    state = f"{lookup.state}: {', '.join(lookup.reasons)}" if lookup.reasons else lookup.state
    if lookup.run:
        return state, local_time(lookup.run.started), f"{lookup.run.elapsed_s:.1f}"
    return state, "-", "-"


def local_time(iso: str) -> str:
    """Give an ISO 8601 time as local date and time to the second."""
    return datetime.fromisoformat(iso).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _nothing(text: str) -> None:
    """Say nothing: a table is all that is wanted."""
