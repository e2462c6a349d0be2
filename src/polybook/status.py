"""Say of each page and framework which runs there are, fresh, stale and why, or missing; and what they claim."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from polybook.book import Book
from polybook.commands import local_time
from polybook.errors import Failure
from polybook.facts import facts_of
from polybook.notices import unmet_needs
from polybook.obtain import Lookup, Runner
from polybook.page import Page
from polybook.run import Offer, Run
from polybook.shown import shown_variant
from polybook.split import split
from polybook.variant import Variant

_HEADINGS = ("page", "framework", "state", "made", "seconds", "cells", "recorded")
_CLAIM_HEADINGS = ("page", "framework", "claim", "holds", "must", "run")


def status_table(book: Book, found: Iterable[Page]) -> str:
    """Make a table for people, a line a page and framework.

    Args:
        book: The book.
        found: Its pages.

    Returns:
        The table, columns aligned.
    """
    runner = _runner(book)
    latest: dict[tuple[str, str], Run] = {}
    for run in runner.store.entries():
        key = (run.page, run.framework)
        if key not in latest or run.started > latest[key].started:
            latest[key] = run
    rows = []
    for variant in _variants(found):
        lookup = runner.look_up(variant.framework, variant.code) if variant.cells else Lookup("nothing to run")
        state, made, seconds = _cells(lookup, latest.get((variant.docname, variant.framework)))
        recorded = [item.name for item in runner.recorded.of_code(variant.framework, variant.code)]
        recorded += [f"{item.name} (stale)" for item in runner.stale(variant.docname, variant.framework, variant.code)]
        rows.append(
            (variant.docname, variant.framework, state, made, seconds, str(len(variant.cells)), ", ".join(recorded))
        )
    return _aligned([_HEADINGS, *rows])


def claims_table(book: Book, found: Iterable[Page]) -> str:
    """Make a table of every claim in every run that a page would show now, a line a claim and run."""
    runner = _runner(book)
    rows = []
    for variant in _variants(found):
        for offer in _offers(runner, variant):
            for claim in facts_of(offer.run.cells).claims.values():
                must = "yes" if claim.must else "no"
                rows.append((variant.docname, variant.framework, claim.name, claim.answer, must, offer.label))
    return _aligned([_CLAIM_HEADINGS, *rows])


def needs_unmet(book: Book, found: Iterable[Page]) -> list[Failure]:
    """List the variants that need what neither this machine's run nor a recorded one has."""
    runner = _runner(book)
    shown = {
        page.docname: {
            variant.framework: shown_variant(runner, variant, _offers(runner, variant)) for variant in _variants([page])
        }
        for page in found
    }
    return unmet_needs(shown, book.options.runs.relative_to(book.root).as_posix())


def _runner(book: Book) -> Runner:
    return Runner(book.options, say=_nothing, warn=lambda text: print(f"warning: {text}", file=sys.stderr), live=None)


def _variants(found: Iterable[Page]) -> Iterator[Variant]:
    for page in found:
        yield from (split(page, name) for name in page.frameworks)


def _offers(runner: Runner, variant: Variant) -> list[Offer]:
    found = runner.look_up(variant.framework, variant.code)
    live = (found.identity, found.run) if found.state == "fresh" and found.run else None
    return runner.offers(variant.docname, variant.framework, variant.code, variant.needs, live)


def _cells(lookup: Lookup, latest: Run | None) -> tuple[str, str, str]:
    if lookup.state == "missing" and latest:
        return "stale: its code changed", local_time(latest.started), f"{latest.elapsed_s:.1f}"
    state = f"{lookup.state}: {', '.join(lookup.reasons)}" if lookup.reasons else lookup.state
    if lookup.run:
        state += " (noisy)" if lookup.run.noise else ""
        return state, local_time(lookup.run.started), f"{lookup.run.elapsed_s:.1f}"
    return state, "-", "-"


def _aligned(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _nothing(text: str) -> None:
    """Say nothing: a table is all that is wanted."""
