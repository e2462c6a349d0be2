"""Run chapters several times, each time in fresh kernels, and count how often each of their claims holds.

What a chapter claims should hold on this machine again and again, not just in the run that happens to be shown. Prints
a table of claims and, with ``--value``, what was recorded in each run. The exit status is 1 if a claim that is named
with ``--require`` held less often than ``--least`` says.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

from polybook.book import open_book, pages
from polybook.errors import PageFailed
from polybook.facts import Facts, facts_of
from polybook.obtain import Runner
from polybook.page import Page
from polybook.split import split

REPOSITORY = Path(__file__).resolve().parents[1]
Runs = dict[tuple[str, str], list[Facts]]


def run_all(docnames: list[str], frameworks: list[str], times: int) -> Runs:
    """Run every variant of the pages so many times, and keep what was recorded."""
    book = open_book(REPOSITORY)
    runner = Runner(book.options, say=print, warn=print, live=None)
    found: Runs = defaultdict(list)
    chosen = [page for page in pages(book, tuple(docnames)) if isinstance(page, Page)]
    for _ in range(times):
        for page in chosen:
            for framework in frameworks or page.frameworks:
                try:
                    obtained = runner.obtain(split(page, framework), force=True)
                except PageFailed as failed:
                    sys.exit("\n".join(str(failure) for failure in failed.failures))
                if obtained is None:
                    sys.exit(f"{page.docname} [{framework}] was not run: its cells are switched off.")
                found[page.docname, framework].append(facts_of(obtained.run.cells))
    return found


def told(runs: Runs, values: list[str]) -> None:
    """Print how often each claim held, and the values that were asked for."""
    for (docname, framework), facts in runs.items():
        for name in sorted({name for each in facts for name in each.claims}):
            held = sum(each.claims[name].holds is True for each in facts)
            print(f"{docname:32} {framework:8} {name:28} {held:3} of {len(facts)}")
        for name in values:
            texts = [each.values[name].text for each in facts if name in each.values]
            if texts:
                print(f"{docname:32} {framework:8} {name:28} {' | '.join(texts)}")


def broken(runs: Runs, required: list[str], least: int) -> list[str]:
    """The required claims that held too seldom, and those that nobody makes."""
    wrong = []
    for claim in required:
        framework, _, name = claim.rpartition(".")
        made = [
            (docname, own, sum(each.claims[name].holds is True for each in facts))
            for (docname, own), facts in runs.items()
            if framework in ("", own) and all(name in each.claims for each in facts)
        ]
        wrong += [f"{docname} [{own}] {name} held {held} times only" for docname, own, held in made if held < least]
        wrong += [] if made else [f"nobody claims {claim}"]
    return wrong


def main() -> int:
    """Run, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="+", metavar="PAGE")
    parser.add_argument("--framework", action="append", default=[], help="only this one; may be repeated")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--least", type=int, default=9, help="how often a required claim has to hold")
    parser.add_argument("--require", action="append", default=[], metavar="[FRAMEWORK.]CLAIM")
    parser.add_argument("--value", action="append", default=[], metavar="NAME", help="print this value of each run")
    options = parser.parse_args()
    runs = run_all(options.pages, options.framework, options.runs)
    told(runs, options.value)
    wrong = broken(runs, options.require, options.least)
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
