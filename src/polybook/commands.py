"""``polybook run``: run what has no fresh run, and record runs to be committed.

Works from a book, or from a plan on a machine that has neither Sphinx nor the book's environments.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from polybook.__main__ import tell
from polybook.errors import ConfigError, EnvironmentFailed, Failure, PageFailed, StoreEntryUnreadable
from polybook.obtain import Obtained, Runner
from polybook.options import Options
from polybook.recorded import read_recorded, record_path, recording_name, write_recorded
from polybook.run import Run
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
        # Named from the book's folder, wherever the command is given.
        folder = options.runs / recording_name(options.root / arguments.record, options.runs, str(arguments.record))
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
            failures += _take(variant, result, folder, arguments)
        elif folder and variant.cells:
            failures.append(_not_recorded(variant, "its cells were not run", "Let them run (`execute_notebooks`)."))
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
        return options, _chosen_of_plan(options, variants, arguments)
    if arguments.packages:
        raise ConfigError("--packages goes with --plan: a book's kernels have their own environments.\nLeave it out.")
    from polybook.book import open_book, pages

    book = open_book(arguments.book)
    return book.options, chosen(book, pages(book, arguments.pages), arguments, failures)


def _chosen_of_plan(options: Options, variants: list[Variant], arguments: argparse.Namespace) -> list[Variant]:
    pages = {variant.docname: variant.path for variant in variants}
    names = {docname for docname, path in pages.items() if {docname, path} & set(arguments.pages)}
    for known, wanted, what in (
        (options.frameworks, [arguments.framework] if arguments.framework else [], "framework"),
        ([*pages, *pages.values()], arguments.pages, "page"),
    ):
        for name in wanted:
            if name not in known:
                raise ConfigError(f"the plan has no {what} {name!r} (known: {', '.join(known)}).\nCorrect the name.")
    return [v for v in variants if _is_wanted(v, arguments) and (not names or v.docname in names)]


def _check_host() -> None:
    missing = [name for name in ("ipykernel", "nbclient") if importlib.util.find_spec(name) is None]
    if missing:
        raise EnvironmentFailed(
            f"running a plan needs ipykernel and nbclient, and this Python lacks {' and '.join(missing)}.\n"
            "Install them, or carry them along (`make carry`) and name their folder with --packages."
        )


def _take(variant: Variant, result: Obtained, folder: Path | None, arguments: argparse.Namespace) -> list[Failure]:
    """Say what was done, and record it if that is asked for and makes nothing worse."""
    label = f"{variant.docname} [{variant.framework}]"
    if not result.cells_run:
        print(f"{label}: fresh, of {local_time(result.run.started)}")
    if not folder:
        return []
    # Two pages of the same code have one run in the store, and each a record of its own.
    run = dataclasses.replace(result.run, page=variant.docname)
    if (
        variant.needs
        and variant.needs not in run.provides
        and (arguments.needing or _would_spoil(variant, run, folder))
    ):
        what = f"this machine has no {variant.needs.upper()} that {variant.framework} can use"
        return [_not_recorded(variant, what, "Run this on a machine that has one; see that its driver works.")]
    try:
        path, changed = write_recorded(run, folder)
    except (OSError, StoreEntryUnreadable) as error:
        return [_not_recorded(variant, f"it could not be written: {error}", "See that there is room, and try again.")]
    print(f"{label}: {'recorded in' if changed else 'unchanged in'} {os.path.relpath(path)}")
    if variant.needs and variant.needs not in run.provides:
        print(f"{label}: made without a {variant.needs.upper()}, so that pages offer it as a second choice only")
    return []


def _would_spoil(variant: Variant, run: Run, folder: Path) -> bool:
    """Tell whether a record that has what the variant needs would be replaced by one that has not."""
    try:
        before = read_recorded(record_path(run, folder), folder.name).run
    except StoreEntryUnreadable:
        return False
    return before.code == run.code and variant.needs in before.provides


def _not_recorded(variant: Variant, what: str, remedy: str) -> Failure:
    return Failure(variant.path, 0, variant.framework, f"not recorded: {what}.", remedy)


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr)


def local_time(iso: str) -> str:
    """Give an ISO 8601 time as local date and time to the second."""
    return datetime.fromisoformat(iso).astimezone().strftime("%Y-%m-%d %H:%M:%S")
