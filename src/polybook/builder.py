"""A Sphinx builder that writes the notebooks of a book, the wheel they install and the archives, and no pages.

``jupyter-book build --builder custom --custom-builder notebooks``. What it writes lies as it does in the site.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from docutils import nodes
from sphinx.builders.html import StandaloneHTMLBuilder

#: Emitted with a page's name for each page whose notebooks are to be written.
WRITE_EVENT = "polybook-write-notebooks"


class NotebooksBuilder(StandaloneHTMLBuilder):
    """Gives pages the addresses that the builder of the site gives them, and writes none."""

    name = "notebooks"
    # Else extensions would put their styles and scripts beside the notebooks.
    format = "notebooks"
    epilog = "The notebooks are in %(outdir)s/notebooks."

    def init(self) -> None:
        """Take what is marked as meant for HTML only, too: the site's notebooks hold it."""
        super().init()
        for tag in ("html", "format_html", "builder_html"):
            self.tags.add(tag)

    def write(
        self, build_docnames: Iterable[str] | None, updated_docnames: Iterable[str], method: str = "update"
    ) -> None:
        """Have the notebooks of pages written, and note their pictures."""
        for docname in sorted({*(build_docnames or ()), *updated_docnames}):
            doctree = self.env.get_doctree(docname)
            for node in [*doctree.findall(nodes.container)]:
                if node.get("nb_element") == "cell_code_output" and node.parent is not None:
                    node.parent.remove(node)
            self.post_process_images(doctree)
            self.events.emit(WRITE_EVENT, docname)

    def finish(self) -> None:
        """Write no index, style or script, only the pictures that notebooks show."""
        self.copy_image_files()

    def get_outdated_docs(self) -> Iterator[str]:
        """List no page: whose notebooks are behind, polybook knows by itself (``written.py``)."""
        return iter(())
