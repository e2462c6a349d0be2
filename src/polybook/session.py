"""One build: prepare the pages that Sphinx is about to read, merge them when it reads them, and keep score.

Variants run before reading starts, so that all kernels belong to one process even when pages are read in
parallel, and docutils never stands between a failure and the author.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from myst_nb.core.execute import ExecutionResult
from nbformat import NotebookNode
from sphinx.environment import BuildEnvironment

from polybook.errors import Failure, PageFailed
from polybook.obtain import Obtained, Runner
from polybook.options import Options
from polybook.page import Page, declares_frameworks, read_page
from polybook.parser import Read
from polybook.run import Offer
from polybook.shown import ShownVariant, has_kept, kept, shown_runs, shown_variant
from polybook.split import LANGUAGE, merge, split


@dataclass(frozen=True)
class Prepared:
    """A page, ready to be merged.

    Attributes:
        text: The source that it was made from.
        page: The page; None if it is not usable.
        offers: The runs of each framework, the one to show first at the front.
    """

    text: str
    page: Page | None
    offers: dict[str, list[Offer]]


class Session:
    """What polybook knows during one build.

    Attributes:
        failures: Everything that went wrong, in the order in which it was found.
        cells_run: How many cells were run.
        recalled: How many runs came from the store.
        ran: How many variants were run.
        read_pages: The pages that this build reads.
    """

    def __init__(self, options: Options, runner: Runner) -> None:
        """Start a build."""
        self.options = options
        self.runner = runner
        self.failures: list[Failure] = []
        self.cells_run = 0
        self.recalled = 0
        self.ran = 0
        self.read_pages: set[str] = set()
        self._prepared: dict[str, Prepared] = {}

    def outdated(self, env: BuildEnvironment) -> list[str]:
        """List the pages on which another run would be shown now than the one that is.

        Also those whose files have another content: Sphinx sees neither an older time stamp nor what ``:load:`` reads.
        """
        if not has_kept(env):
            # A new environment, or one of a version that kept something else.
            shown_runs(env)
            return sorted(env.all_docs)
        return sorted(
            docname
            for docname, runs in shown_runs(env).items()
            if any(self._differs(docname, framework, shown) for framework, shown in runs.items())
            or _changed(env, docname)
        )

    def _differs(self, docname: str, framework: str, shown: ShownVariant) -> bool:
        if framework not in self.options.frameworks:
            return True
        stale = [(item.name, item.identity) for item in self.runner.stale(docname, framework, shown.code)]
        return self.runner.expected(docname, framework, shown.code, shown.needs) != shown.identities or stale != [
            (run.source, run.identity) for run in shown.stale
        ]

    def prepare(self, env: BuildEnvironment, docnames: Iterable[str], read: Any) -> None:
        """Run or recall every variant of the pages that are about to be read.

        Args:
            env: Sphinx's environment.
            docnames: The pages.
            read: Turns (path, text) into a notebook, as the parser will.
        """
        docnames = list(docnames)
        self.read_pages |= set(docnames)
        for docname in docnames:
            path = Path(env.doc2path(docname))
            text = path.read_text("utf-8-sig") if path.suffix == ".md" and path.is_file() else ""
            if declares_frameworks(text):
                self.failures += self._prepare(env, docname, text, functools.partial(read, str(path)))

    def _prepare(self, env: BuildEnvironment, docname: str, text: str, read: Read | None) -> list[Failure]:
        """Run or recall the variants of a page; return what is wrong with it."""
        failures: list[Failure] = []
        path = Path(env.doc2path(docname)).resolve().relative_to(self.options.root).as_posix()
        page: Page | None = None
        offers: dict[str, list[Offer]] = {}
        try:
            page = read_page(docname, path, text, read, self.options)
        except PageFailed as failed:
            failures += failed.failures
        for variant in [split(page, framework) for framework in page.frameworks] if page else []:
            try:
                result = self.runner.obtain(variant)
            except PageFailed as failed:
                failures += failed.failures
                continue
            if result:
                self._count(result)
            live = (result.identity, result.run) if result else None
            offers[variant.framework] = self.runner.offers(
                docname, variant.framework, variant.code, variant.needs, live
            )
        self._prepared[docname] = Prepared(text, page, offers)
        return failures

    def _count(self, result: Obtained) -> None:
        self.cells_run += result.cells_run
        self.ran += result.cells_run > 0
        self.recalled += result.cells_run == 0

    def merged(self, env: BuildEnvironment, docname: str, text: str, read: Read | None) -> NotebookNode:
        """Return the notebook to show for a page, and note on the environment which runs it shows.

        A page that is not usable is shown without outputs; the build ends before anyone sees it.
        """
        prepared = self._prepared.get(docname)
        if prepared is None or prepared.text != text:
            # An extension changed the source after it was read from disk. Kept with the page: this may be a process
            # that only reads.
            kept(env).failures.setdefault(docname, []).extend(self._prepare(env, docname, text, read))
            prepared = self._prepared[docname]
        if prepared.page is None:
            kept(env).unusable.add(docname)
            notebook = NotebookNode(metadata=NotebookNode(), cells=[])
            with contextlib.suppress(Exception):
                notebook = read(text) if read else notebook
            notebook.metadata["language_info"] = NotebookNode(LANGUAGE)
            return notebook
        page = prepared.page
        variants = {name: split(page, name) for name in page.frameworks}
        shown_runs(env)[docname] = {
            name: shown_variant(self.runner, variant, prepared.offers.get(name, []))
            for name, variant in variants.items()
        }
        kept(env).cells[docname] = {name: variant.cells for name, variant in variants.items()}
        kept(env).sources[docname] = _digests(env, docname, _loaded(page))
        return merge(page, prepared.offers, {name: self.options.frameworks[name].title for name in page.frameworks})

    def report_dropped_cell(self, env: BuildEnvironment, docname: str, path: str, line: int) -> None:
        """Note a code cell that MyST-NB found where it cannot run one, such as in an included file."""
        prepared = self._prepared.get(docname)
        if prepared and prepared.page:
            what = "this code cell would be dropped: it is not at the top level of the page itself."
            remedy = "Move it there; `:load:` takes a cell's code from another file."
            kept(env).failures.setdefault(docname, []).append(Failure(path, line, "", what, remedy))

    def execution_data(self, docname: str) -> ExecutionResult | None:
        """Return what MyST-NB's execution table shows of a page; None if nothing of it was ever run."""
        prepared = self._prepared.get(docname)
        runs = [found[0].run for found in prepared.offers.values() if found] if prepared else []
        if not runs:
            return None
        return {
            "mtime": max(datetime.fromisoformat(run.ended).timestamp() for run in runs),
            "runtime": sum(run.elapsed_s for run in runs),
            "method": "polybook",
            "succeeded": True,
            "error": None,
            "traceback": None,
        }


def _loaded(page: Page) -> list[str]:
    """The files that a page's cells take their code from."""
    return sorted({str(cell.metadata["load"]) for cell in page.notebook.cells if "load" in cell.metadata})


def _changed(env: BuildEnvironment, docname: str) -> bool:
    """Tell whether a file that a page was made from is another one now."""
    before = kept(env).sources.get(docname, {})
    return _digests(env, docname, list(before)[1:]) != before


def _digests(env: BuildEnvironment, docname: str, others: Iterable[str]) -> dict[str, str]:
    """Digest a page's source and other files that it was made from; one that is missing has an empty digest."""
    source = Path(env.doc2path(docname))
    files = {source.name: source, **{name: source.parent / name for name in others}}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "" for name, path in files.items()
    }
