"""Get a build of a book ready, up to its first look at a page, wait for a line on standard input, and build.

``python -m polybook.spare BOOK``, for ``building.py``. Without a line nothing is built.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import unittest.mock
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: What Jupyter Book and Sphinx import once they are at work.
_LATER = (
    *("jupyter_book.sphinx", "sphinx.application", "sphinx.builders.html", "sphinx.environment.adapters.toctree"),
    *("sphinx.search.en", "sphinx.util.i18n", "sphinx.transforms.i18n", "myst_nb.core.read", "myst_nb.core.render"),
    *("polybook.exporting", "polybook.markdown", "polybook.written", "polybook.notices", "polybook.parser"),
    *("pygments.lexers.python", "pygments.formatters.html", "latex2mathml.converter", "bs4"),
)


def main(root: Path) -> None:
    """Import, make Sphinx's application, wait, build; exits with the build's status."""
    for name in (*_LATER, *extensions(root)):
        # What is missing or broken the build itself will tell.
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    from jupyter_book.cli.main import main as jupyter_book
    from sphinx.application import Sphinx

    class Waiting(Sphinx):
        """An application that has its configuration, its extensions and what it knew of the pages, and waits."""

        def build(self, *arguments: Any, **options: Any) -> None:
            """Build once it is told to."""
            if not sys.stdin.readline():
                sys.exit(0)
            super().build(*arguments, **options)

    # Jupyter Book makes its application and has it build in one call.
    with unittest.mock.patch("jupyter_book.sphinx.Sphinx", Waiting):
        jupyter_book(["build", str(root)], prog_name="jupyter-book")


def extensions(root: Path) -> Iterator[str]:
    """Yield the Sphinx extensions that a book loads, as far as its configuration can be read."""
    # A wrong configuration is for the build to tell.
    with contextlib.suppress(Exception):
        from jupyter_book.config import get_final_config

        config, _ = get_final_config(
            user_yaml=root / "_config.yml", cli_config={"latex_individualpages": False}, sourcedir=root
        )
        yield from (str(name) for name in config["extensions"])


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main(Path(sys.argv[1]))
        sys.exit(0)
    sys.exit(130)
