"""The one place that touches MyST-NB: hand it a page whose outputs are already there.

MyST-NB reads a page with ``create_nb_reader`` and runs it with ``create_client``. For a page that declares
frameworks the reader is wrapped while that page is parsed, so that it returns the merged notebook, and running
is switched off for it; everything after that is MyST-NB's own. Guarded by ``tests/test_myst_nb.py``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Protocol

from docutils import nodes
from myst_nb import sphinx_
from myst_nb.core.execute import ExecutionResult
from myst_nb.core.read import NbReader, UnexpectedCellDirective
from myst_nb.ext.glue.utils import PendingGlueReference
from nbformat import NotebookNode
from sphinx.environment import BuildEnvironment

from polybook.page import SETTINGS_KEY, declares_frameworks

Read = Callable[[str], NotebookNode]


class Merged(Protocol):
    """Gives the notebook to show for a page (see ``session.py``)."""

    def merged(self, env: BuildEnvironment, docname: str, text: str, read: Read | None) -> NotebookNode:
        """Return the notebook with outputs, its own settings removed."""

    def report_dropped_cell(self, env: BuildEnvironment, docname: str, path: str, line: int) -> None:
        """Note a code cell that MyST-NB drops."""

    def execution_data(self, docname: str) -> ExecutionResult | None:
        """Return what MyST-NB's execution table shows of a page."""


class Parser(sphinx_.Parser):  # type: ignore[misc]
    """MyST-NB's parser, with pages that declare frameworks merged from their runs.

    Attributes:
        session: Set on a subclass made for one Sphinx application.
    """

    session: ClassVar[Merged]

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Parse a page; one without polybook settings goes to MyST-NB untouched."""
        if not declares_frameworks(inputstring):
            super().parse(inputstring, document)
            return
        env = document.settings.env
        with _wrapped_reader(lambda text, read: self.session.merged(env, env.docname, text, read)):
            super().parse(inputstring, document)
        data = self.session.execution_data(env.docname)
        if data:
            sphinx_.NbMetadataCollector.set_exec_data(env, env.docname, data)


class DroppedCell(UnexpectedCellDirective):  # type: ignore[misc]
    """What MyST-NB makes of a code cell that is not one of the page's own; on a page with frameworks it is a failure.

    Attributes:
        session: Set on a subclass made for one Sphinx application.
    """

    session: ClassVar[Merged]

    def run(self) -> list[nodes.Node]:
        """Report the cell; MyST-NB warns and drops it."""
        env = self.state.document.settings.env
        source, line = self.state_machine.get_source_and_line(self.lineno)
        path = os.path.relpath(source or env.doc2path(env.docname), env.srcdir)
        self.session.report_dropped_cell(env, env.docname, path, line or 0)
        found: list[nodes.Node] = super().run()
        return found


def glue_sources(doctree: nodes.document) -> list[str]:
    """List the pages whose glued values a page shows."""
    return sorted({node.refdoc for node in doctree.findall(PendingGlueReference)})


@contextlib.contextmanager
def _wrapped_reader(merged: Callable[[str, Read | None], NotebookNode]) -> Iterator[None]:
    """Put a reader in place of MyST-NB's for as long as one page is parsed."""
    original = sphinx_.create_nb_reader

    def create_nb_reader(path: str, md_config: Any, nb_config: Any, content: Any) -> NbReader | None:
        reader = original(path, md_config, nb_config, content)
        if reader is None:
            merged(content, None)
            return None

        def read(text: str) -> NotebookNode:
            notebook = merged(text, reader.read)
            notebook.metadata.pop(SETTINGS_KEY, None)
            own = notebook.metadata.setdefault(nb_config.metadata_key, NotebookNode())
            own["execution_mode"] = "off"
            return notebook

        return dataclasses.replace(reader, read=read)

    sphinx_.create_nb_reader = create_nb_reader
    try:
        yield
    finally:
        sphinx_.create_nb_reader = original
