"""``polybook run``: run what has no fresh run, and record runs to be committed.

Works from a book, or from a plan on a machine that has neither Sphinx nor the book's environments.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from polybook.__main__ import tell
from polybook.errors import ConfigError, EnvironmentFailed, Failure, PageFailed
from polybook.obtain import Obtained, Runner
from polybook.options import Options
from polybook.recorded import recording_name, write_recorded
from polybook.variant import Variant

if TYPE_CHECKING:
    from polybook.book import Book
    from polybook.page import Page


def run(arguments: argparse.Namespace) -> int:
    """Run variants, and record their runs if that is asked for.

    Returns:
        The exit status: 1 if anything failed; the rest was run all the same.
    """
    failures: list[Failure] = []
    options, variants = _work(arguments, failures)
    folder = None
    if arguments.record:
        folder = options.runs / recording_name(arguments.record, options.runs)
    runner = Runner(options, say=print, warn=_warn, live=sys.stderr)
    count = 0
    for variant in variants:
        count += 1
        try:
            result = runner.obtain(variant, force=arguments.force, retries=arguments.retries)
        except PageFailed as failed:
            failures += failed.failures
            continue
        if result:
            _say_what_was_done(variant, result, folder)
    if not count and not failures:
        print("nothing to run: no page has cells of that kind")
    return tell(failures)


def chosen(
    book: Book, found: Iterable[Page | PageFailed], arguments: argparse.Namespace, failures: list[Failure]
) -> Iterator[Variant]:
    """Yield the variants that the arguments choose; what is wrong with a page goes to ``failures``."""
    from polybook.split import split

    if arguments.framework and arguments.framework not in book.options.frameworks:
        known = ", ".join(book.options.frameworks)
        raise ConfigError(f"framework {arguments.framework!r} is unknown (known: {known}).\nCorrect the name.")
    for page in found:
        if isinstance(page, PageFailed):
            failures += page.failures
            continue
        variants = (split(page, name) for name in page.frameworks)
        yield from (variant for variant in variants if _is_wanted(variant, arguments))


def _is_wanted(variant: Variant, arguments: argparse.Namespace) -> bool:
    return arguments.framework in (None, variant.framework) and arguments.needing in (None, variant.needs)


def _work(arguments: argparse.Namespace, failures: list[Failure]) -> tuple[Options, Iterable[Variant]]:
    """Find out what is to be run, from a plan or from a book."""
    if arguments.plan:
        from polybook.plan import read_plan

        # Last, as in the kernels: what this interpreter has itself comes first.
        sys.path += [str(folder.resolve()) for folder in arguments.packages]
        options, variants = read_plan(arguments.plan, arguments.book, arguments.packages)
        _check_host()
        names = set(arguments.pages)
        return options, [v for v in variants if _is_wanted(v, arguments) and (not names or v.docname in names)]
    if arguments.packages:
        raise ConfigError("--packages goes with --plan: a book's kernels have their own environments.\nLeave it out.")
    from polybook.book import open_book, pages

    book = open_book(arguments.book)
    return book.options, chosen(book, pages(book, arguments.pages), arguments, failures)


def _check_host() -> None:
    missing = [name for name in ("ipykernel", "nbclient") if importlib.util.find_spec(name) is None]
    if missing:
        raise EnvironmentFailed(
            f"running a plan needs ipykernel and nbclient, and this Python lacks {' and '.join(missing)}.\n"
            "Install them, or carry them along (`make carry`) and name their folder with --packages."
        )


def _say_what_was_done(variant: Variant, result: Obtained, folder: Path | None) -> None:
    label = f"{variant.docname} [{variant.framework}]"
    if not result.cells_run:
        print(f"{label}: fresh, of {local_time(result.run.started)}")
    if folder:
        path, changed = write_recorded(result.run, folder)
        print(f"{label}: {'recorded in' if changed else 'unchanged in'} {os.path.relpath(path)}")


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr)


def local_time(iso: str) -> str:
    """Give an ISO 8601 time as local date and time to the second."""
    return datetime.fromisoformat(iso).astimezone().strftime("%Y-%m-%d %H:%M:%S")
