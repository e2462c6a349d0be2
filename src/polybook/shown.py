"""What pages show: which runs, and what those recorded and claim. Kept on Sphinx's environment from build to build."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polybook.errors import Failure
from polybook.facts import Claim, facts_of
from polybook.obtain import Runner
from polybook.provenance import run_line
from polybook.run import Offer, named_identity, run_label
from polybook.variant import Cell, Variant

if TYPE_CHECKING:
    from sphinx.environment import BuildEnvironment

#: Where Sphinx's environment keeps what we know of its pages; raise the number when its shape changes. (Sphinx's own
#: ``env_version`` is written into the search index, and a book without frameworks must not change by a byte.)
_KEY = "polybook_7"


@dataclass(frozen=True)
class ShownRun:
    """What is kept of a run that a page shows, or could show if its code had not changed.

    Attributes:
        identity: The digest of the run's content.
        state: ``fresh`` if it was made here, ``recorded``, or ``stale``.
        source: The folder of recorded runs that it comes from; empty if it was made here.
        started: When it was made, ISO 8601 in UTC.
        elapsed_s: Seconds that it took.
        cells: How many cells it has.
        machine: The machine in a few words.
        provides: What the machine had that a variant may need.
        noisy: Whether something disturbed it.
        values: How its recorded values read, by name.
        claims: What it claims.
        line: Framework and version, machine and date, in one line.
    """

    identity: str
    state: str
    source: str
    started: str
    elapsed_s: float
    cells: int
    machine: str
    provides: tuple[str, ...]
    noisy: bool
    values: Mapping[str, str]
    claims: tuple[Claim, ...]
    line: str = ""

    @property
    def label(self) -> str:
        """What a reader chooses it by."""
        return run_label(self.source)

    @property
    def claims_by_name(self) -> dict[str, Claim]:
        """The claims by their names."""
        return {claim.name: claim for claim in self.claims}


@dataclass(frozen=True)
class ShownVariant:
    """What a page shows of one framework.

    Attributes:
        path: The page's source file, relative to the book.
        code: The digest of the variant's code.
        needs: What the variant needs, or an empty text.
        cells: How many cells it has.
        runs: The runs that the page shows, the first one first; empty if none was made.
        stale: Recorded runs of the page that are of other code.
    """

    path: str
    code: str
    needs: str
    cells: int
    runs: tuple[ShownRun, ...]
    stale: tuple[ShownRun, ...] = ()

    @property
    def identities(self) -> tuple[str, ...]:
        """What tells the runs from others."""
        return tuple(named_identity(run.source, run.identity) for run in self.runs)

    @property
    def is_met(self) -> bool:
        """Whether the run that is shown first has what the variant needs."""
        return not self.needs or (bool(self.runs) and self.needs in self.runs[0].provides)


#: By page and framework.
ShownRuns = dict[str, dict[str, ShownVariant]]
#: By page: the digest of each file that it was made from, by its path relative to the page's folder.
PageSources = dict[str, dict[str, str]]


@dataclass
class Kept:
    """What Sphinx's environment keeps for us, each by page.

    Attributes:
        shown: What each page shows, by framework.
        sources: The digests of the files that a page was made from.
        failures: What was found wrong with a page while it was read.
        unusable: The pages whose settings or cells could not be used.
        cells: What each framework's kernel runs.
    """

    shown: ShownRuns = dataclasses.field(default_factory=dict)
    sources: PageSources = dataclasses.field(default_factory=dict)
    failures: dict[str, list[Failure]] = dataclasses.field(default_factory=dict)
    unusable: set[str] = dataclasses.field(default_factory=set)
    cells: dict[str, dict[str, tuple[Cell, ...]]] = dataclasses.field(default_factory=dict)

    def forget(self, docname: str) -> None:
        """Forget a page."""
        self.shown.pop(docname, None)
        self.sources.pop(docname, None)
        self.failures.pop(docname, None)
        self.unusable.discard(docname)
        self.cells.pop(docname, None)

    def take(self, other: Kept, docnames: Iterable[str]) -> None:
        """Take pages over that another process has read."""
        for docname in docnames:
            if docname in other.shown:
                self.shown[docname] = other.shown[docname]
            if docname in other.sources:
                self.sources[docname] = other.sources[docname]
            if docname in other.failures:
                self.failures[docname] = other.failures[docname]
            if docname in other.unusable:
                self.unusable.add(docname)
            if docname in other.cells:
                self.cells[docname] = other.cells[docname]


def has_kept(env: BuildEnvironment) -> bool:
    """Tell whether the environment keeps anything: a new one does not, nor one of a version with another shape."""
    return _KEY in env.__dict__


def kept(env: BuildEnvironment) -> Kept:
    """Return what the environment keeps, to be read and changed."""
    found: Kept = env.__dict__.setdefault(_KEY, Kept())
    return found


#: Where a page's metadata name the pages whose glued values it shows.
GLUE_KEY = "polybook_glue_sources"


def pages_with_glue(env: BuildEnvironment) -> dict[str, list[str]]:
    """Give, for each page that shows other pages' glued values, those pages."""
    return {docname: list(values[GLUE_KEY]) for docname, values in env.metadata.items() if GLUE_KEY in values}


def shown_runs(env: BuildEnvironment) -> ShownRuns:
    """Return what the environment keeps of the runs that pages show, to be read and changed."""
    return kept(env).shown


def shown_variant(runner: Runner, variant: Variant, offers: Iterable[Offer]) -> ShownVariant:
    """Reduce what is shown of a variant to what is kept of it."""
    title = runner.options.frameworks[variant.framework].title
    stale = runner.stale(variant.docname, variant.framework, variant.code)
    return ShownVariant(
        path=variant.path,
        code=variant.code,
        needs=variant.needs,
        cells=len(variant.cells),
        runs=tuple(_shown_run(offer, title) for offer in offers),
        stale=tuple(_shown_run(Offer(item.run, item.identity, item.name), title, "stale") for item in stale),
    )


def _shown_run(offer: Offer, title: str, state: str = "") -> ShownRun:
    """Reduce a run to what is kept of it."""
    run, facts = offer.run, facts_of(offer.run.cells)
    return ShownRun(
        identity=offer.identity,
        state=state or ("recorded" if offer.source else "fresh"),
        source=offer.source,
        started=run.started,
        elapsed_s=run.elapsed_s,
        cells=len(run.cells),
        machine=run.machine.get("summary", ""),
        # Sorted: what is kept is compared from build to build.
        provides=tuple(sorted(run.provides)),
        noisy=bool(run.noise),
        values={value.name: value.text for value in facts.values.values()},
        claims=tuple(facts.claims.values()),
        line=run_line(title, offer),
    )
