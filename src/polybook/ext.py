"""The Sphinx extension: connects the stages of a build to Sphinx's events.

A page travels: read and checked (``page.py``), split into variants (``split.py``), each recalled or run (``obtain.py``,
``execute.py``), merged (``split.py``), handed to MyST-NB (``parser.py``) and put into tabs (``tabs.py``).
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import ConfigError as SphinxConfigError
from sphinx.util import logging
from sphinx.util.console import red, yellow
from sphinx.util.logging import is_suppressed_warning

from polybook.errors import ConfigError, Failure, Interrupted, LockUnusable
from polybook.notebook_options import REPOSITORY_VARIABLE, SITE_VARIABLE
from polybook.obtain import Runner
from polybook.options import DEFAULTS, config_file_options, read_options
from polybook.session import Session
from polybook.shown import GLUE_KEY, kept, shown_runs

if TYPE_CHECKING:
    from polybook.exporting import Exporter

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register configuration, the parser, the transform and the events."""
    from polybook.builder import WRITE_EVENT, NotebooksBuilder
    from polybook.buttons import NotebooksDirective, SiteLink, depart_site_link, visit_site_link
    from polybook.outputs import FillOutputs, OutputsDirective, OutputsNode
    from polybook.quotes import ClaimDirective, FillQuotes, GivenRole, OtherwiseDirective, ValueRole
    from polybook.runs_table import ClaimsTableDirective, FillTables, RunsTableDirective, TableNode
    from polybook.tabs import (
        GroupCells,
        OnlyChoice,
        OtherRun,
        add_assets,
        copy_assets,
        depart_other_run,
        pass_choice,
        skip_choice,
        skip_other_run,
        visit_choice,
        visit_other_run,
    )

    # What has been imported lives as long as the process: no collection need walk through it again.
    gc.freeze()
    app.setup_extension("myst_nb")
    app.setup_extension("sphinx_design")
    app.add_builder(NotebooksBuilder)
    app.add_event(WRITE_EVENT)
    for name, default in DEFAULTS.items():
        app.add_config_value(name, default, "env")
    app.add_transform(GroupCells)
    # An EPUB's translator is that of HTML; other builders that are not named here know no choice either.
    others = ("latex", "text", "man", "texinfo", "xml", "pseudoxml")
    skip_run: dict[str, Any] = dict.fromkeys(others, (skip_other_run, None))
    skip_all: dict[str, Any] = dict.fromkeys(others, (skip_choice, None))
    app.add_node(OtherRun, html=(visit_other_run, depart_other_run), **skip_run)
    app.add_node(OnlyChoice, html=(visit_choice, pass_choice), **skip_all)
    # In a choice, which other builders skip as a whole.
    app.add_node(SiteLink, html=(visit_site_link, depart_site_link))
    app.add_transform(FillQuotes)
    app.add_role("value", ValueRole())
    app.add_role("given", GivenRole())
    app.add_directive("claim", ClaimDirective)
    app.add_directive("otherwise", OtherwiseDirective)
    app.add_node(TableNode)
    app.add_directive("polybook-runs", RunsTableDirective)
    app.add_directive("polybook-claims", ClaimsTableDirective)
    app.add_directive("polybook-notebooks", NotebooksDirective)
    app.add_node(OutputsNode)
    app.add_directive("polybook-outputs", OutputsDirective)
    app.add_post_transform(FillOutputs)
    app.add_post_transform(FillTables)
    app.connect("config-inited", _take_published)
    # After MyST-NB's own handler (500) has made its configuration.
    app.connect("builder-inited", _start, priority=600)
    app.connect("html-page-context", add_assets)
    app.connect("build-finished", copy_assets)
    app.connect("doctree-read", _note_glue)
    return {
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }


def _take_published(_: Sphinx, config: Config) -> None:
    """Take from the environment where the book is published: as configuration, so that Sphinx sees a change of it."""
    if site := os.environ.get(SITE_VARIABLE):
        config.html_baseurl = site
    if config.polybook_notebooks and (repository := os.environ.get(REPOSITORY_VARIABLE)):
        config.polybook_notebooks = {**config.polybook_notebooks, "repository": repository}


def _start(app: Sphinx) -> None:
    """Make a session for this build; a wrong option stops it here."""
    from myst_nb.core.read import create_nb_reader
    from myst_nb.sphinx_ import SphinxEnvType

    from polybook.buttons import AddButtons, FillNotebooks
    from polybook.parser import DroppedCell, Parser
    from polybook.written import remember_written

    try:
        config_file = Path(app.srcdir, "_config.yml")
        if config_file.is_file() and "\npolybook_" in config_file.read_text("utf8"):
            # Something of ours stands at the top, where Jupyter Book passes over it: this tells.
            config_file_options(Path(app.srcdir))
        options = read_options(_values(app), Path(app.srcdir))
    except ConfigError as error:
        raise SphinxConfigError(str(error)) from error
    session = Session(options, Runner(options, say=logger.info, warn=_warn, live=sys.stdout))
    app.add_source_parser(type("PolybookParser", (Parser,), {"session": session}), override=True)
    app.add_directive("code-cell", type("DroppedCell", (DroppedCell,), {"session": session}), override=True)

    def read(path: str, text: str) -> Any:
        env = cast(SphinxEnvType, app.env)
        reader = create_nb_reader(path, env.myst_config, env.mystnb_config, text)
        return reader.read(text) if reader else None

    def before_read(_: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
        try:
            session.prepare(env, docnames, read)
        except KeyboardInterrupt:
            sys.exit(130)
        except Interrupted as stop:
            sys.exit(stop.exit_status)
        except LockUnusable as error:
            print(red(f"\nERROR: {error}"), file=sys.stderr)
            sys.exit(1)

    app.connect("env-get-outdated", lambda _app, env, *_changes: session.outdated(env))
    # Last: the list of pages is final then.
    app.connect("env-before-read-docs", before_read, priority=900)
    app.connect("env-purge-doc", _purge)
    app.connect("env-merge-info", _merge_info)
    # First, before anything works on pages that are broken.
    if options.notebooks:
        app.add_transform(type("AddButtons", (AddButtons,), {"options": options.notebooks}))
        app.add_post_transform(type("FillNotebooks", (FillNotebooks,), {"options": options.notebooks}))
    exporter = _exporter(app, session)
    app.connect("env-updated", lambda app, env: _finish(app, session, env, exporter), priority=100)
    app.connect("build-finished", lambda app, error: remember_written(app, error, exporter))


def _exporter(app: Sphinx, session: Session) -> Exporter | None:
    """Have notebooks written, if the book wants any and the builder makes a site."""
    from polybook.builder import WRITE_EVENT
    from polybook.exported import settle_exported
    from polybook.exporting import BUILDERS, Exporter

    options = session.options
    if app.builder.name not in BUILDERS:
        return None
    if options.notebooks is None:
        app.connect("build-finished", lambda app, error: None if error else settle_exported(app, ()))
        return None
    exporter = Exporter(app, options, options.notebooks, session.runner)
    # Last: by then every extension has had its say.
    app.connect("doctree-resolved", exporter.page_resolved, priority=900)
    app.connect(WRITE_EVENT, exporter.write_page)
    app.connect("build-finished", exporter.finish)
    return exporter


def _values(app: Sphinx) -> dict[str, Any]:
    names = [*DEFAULTS, "nb_execution_mode", "nb_execution_timeout", "nb_execution_in_temp", "html_baseurl"]
    return {name: app.config[name] for name in names}


def _warn(message: str) -> None:
    logger.warning(message, type="polybook", subtype="store")


def _purge(_: Sphinx, env: BuildEnvironment, docname: str) -> None:
    kept(env).forget(docname)


def _merge_info(_: Sphinx, env: BuildEnvironment, docnames: set[str], other: BuildEnvironment) -> None:
    kept(env).take(kept(other), docnames)


def _finish(app: Sphinx, session: Session, env: BuildEnvironment, exporter: Exporter | None) -> list[str]:
    """Tell what was done, and which pages have to be written besides those that were read.

    If anything failed, tell that and end without a page written.

    Exit here, not later: an exception at ``build-finished`` publishes the broken pages, and ``app.statuscode``
    is 0 again on the next build that changes nothing.
    """
    from polybook.notices import broken_claims, stale_recorded, unmet_needs
    from polybook.written import pages_behind

    if shown_runs(env):
        logger.info(
            "polybook: %d cells run in %d variants, %d runs recalled", session.cells_run, session.ran, session.recalled
        )
    folder = session.options.runs.relative_to(session.options.root).as_posix()
    wanted = unmet_needs(shown_runs(env), folder)
    failures = [*session.failures, *(failure for found in kept(env).failures.values() for failure in found)]
    failures += wanted if session.options.require_recorded else []
    if failures:
        failures = sorted(set(failures))
        # Not through Sphinx's logger: it holds messages back while it reads and, with -W, raises at the first one.
        print(file=sys.stderr)
        for failure in failures:
            print(red(f"ERROR: {failure}"), file=sys.stderr)
        plural = "s" * (len(failures) != 1)
        print(red(f"polybook: {len(failures)} failure{plural}, no page was written"), file=sys.stderr, flush=True)
        # What was read now lacks outputs, and Sphinx would take it for up to date once the fault is mended.
        for docname in session.read_pages:
            Path(env.doctreedir, f"{docname}.doctree").unlink(missing_ok=True)
        sys.exit(1)
    _notice(
        app,
        [*wanted, *stale_recorded(shown_runs(env), folder)],
    )
    for broken in broken_claims(shown_runs(env)):
        # On each build, also of one that reads nothing: otherwise the second strict build would pass.
        logger.warning(broken, type="polybook", subtype="claim")
    return pages_behind(app, exporter)


def _notice(app: Sphinx, notices: list[Failure]) -> None:
    """Warn once of recorded runs that are wanted or stale.

    Not through Sphinx's logger, where ``-W`` would make an error of it: on a machine without a GPU a strict build is
    still strict about everything else. ``polybook_require_recorded`` makes it an error.
    """
    if notices and not is_suppressed_warning("polybook", "recorded", app.config.suppress_warnings):
        text = "\n".join(map(str, notices))
        head = "recorded runs are not up to date; what this machine made is shown instead."
        print(yellow(f"\nWARNING: {head}\n{text}"), file=sys.stderr, flush=True)


def _note_glue(app: Sphinx, doctree: nodes.document) -> None:
    """Note which pages' values or outputs a page shows: it is written again whenever one of those is read."""
    from polybook.outputs import output_sources
    from polybook.parser import glue_sources

    sources = sorted({*glue_sources(doctree), *output_sources(doctree)})
    if sources:
        app.env.metadata[app.env.docname][GLUE_KEY] = sources
