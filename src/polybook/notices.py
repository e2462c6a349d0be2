"""Say which recorded runs are wanted or stale, and which claims that must hold do not.

Pure: what pages show in, text out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping

from polybook.errors import Failure
from polybook.shown import ShownRun, ShownVariant

_Pages = Mapping[str, Mapping[str, ShownVariant]]


def unmet_needs(pages: _Pages, runs: str) -> list[Failure]:
    """List the variants that need what neither this machine has nor the machine of a recorded run.

    Args:
        pages: What each page shows, by framework.
        runs: The folder of recorded runs, as the author writes it.
    """
    return [
        Failure(variant.path, 0, name, _unmet(variant), _remedy(docname, name, variant, runs))
        for docname, name, variant in _variants(pages)
        if variant.cells and not variant.is_met
    ]


def stale_recorded(pages: _Pages, runs: str) -> list[Failure]:
    """List the variants that have a stale recorded run though they need none."""
    return [
        Failure(variant.path, 0, name, f"{_stale(variant)}, and is not shown.", _remedy(docname, name, variant, runs))
        for docname, name, variant in _variants(pages)
        if variant.stale and variant.is_met
    ]


def broken_claims(pages: _Pages) -> Iterator[str]:
    """Yield a line for each claim that must hold and does not, in any run that is shown."""
    for _, name, variant in _variants(pages):
        for run in variant.runs:
            for claim in run.claims:
                if claim.must and not claim.holds:
                    yield (
                        f"{variant.path}: [{name}] the claim {claim.name!r} must hold and does not, in {_which(run)}.\n"
                        "Look at the cell that makes it: either the machine was disturbed, or the page is wrong."
                    )


def _variants(pages: _Pages) -> Iterator[tuple[str, str, ShownVariant]]:
    for docname, variants in sorted(pages.items()):
        for name, variant in variants.items():
            yield docname, name, variant


def _unmet(variant: ShownVariant) -> str:
    wanted = f"it needs a machine with a {variant.needs.upper()}"
    if variant.stale:
        return f"{wanted}, and {_stale(variant)}."
    return f"{wanted}, and no run of one is recorded."


def _stale(variant: ShownVariant) -> str:
    sources = ", ".join(run.source for run in variant.stale)
    return f"the recorded run ({sources}) is stale, since the code of its cells has changed"


def _remedy(docname: str, framework: str, variant: ShownVariant, runs: str) -> str:
    folder = variant.stale[0].source if variant.stale else variant.needs or "name"
    where = f"on a machine with a {variant.needs.upper()}" if variant.needs else "on the machine that it is of"
    command = f"{_python()} -m polybook run --record {runs}/{folder} {docname} --framework {framework}"
    return f"Record it {where}: `{command}`."


def _python() -> str:
    """The interpreter as one would type it here: by its path, if it belongs to this folder."""
    path = os.path.relpath(sys.executable)
    return "python" if path.startswith("..") else path


def _which(run: ShownRun) -> str:
    return f"the {run.label} run on {run.machine}" if run.source else f"this build's run on {run.machine}"
