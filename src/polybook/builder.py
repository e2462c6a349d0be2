"""A Sphinx builder that writes the notebooks of a book, the wheel they install and the archives, and no pages.

``jupyter-book build --builder custom --custom-builder notebooks``. What it writes lies as it does in the site.
"""

from __future__ import annotations

from collections.abc import Iterator

from docutils import nodes
from sphinx.builders.html import StandaloneHTMLBuilder


class NotebooksBuilder(StandaloneHTMLBuilder):
    """Resolves every page as the builder of the site does, which makes its notebooks, and writes nothing else."""

    name = "notebooks"
    epilog = "The notebooks are in %(outdir)s/notebooks."

    def write_doc(self, docname: str, doctree: nodes.document) -> None:
        """Write no page: its notebooks were written when it was resolved."""

    def write_doc_serialized(self, docname: str, doctree: nodes.document) -> None:
        """Index no page, but note its pictures."""
        self.post_process_images(doctree)

    def finish(self) -> None:
        """Write no index, style or script, only the pictures that notebooks show."""
        self.copy_image_files()

    def get_outdated_docs(self) -> Iterator[str]:
        """List no page: whose notebooks are behind, polybook knows by itself (``written.py``)."""
        return iter(())
