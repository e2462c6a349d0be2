"""Import all that a build of a book takes, wait for a line on standard input, and build; without one, do nothing.

``python -m polybook.spare BOOK``, for ``building.py``.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

#: What Jupyter Book and Sphinx import once they are at work.
_LATER = (
    *("jupyter_book.sphinx", "sphinx.application", "sphinx.builders.html", "sphinx.environment.adapters.toctree"),
    *("sphinx.search.en", "sphinx.util.i18n", "sphinx.transforms.i18n", "myst_nb.core.read", "myst_nb.core.render"),
    *("polybook.exporting", "polybook.markdown", "polybook.written", "polybook.notices", "polybook.parser"),
    *("pygments.lexers.python", "pygments.formatters.html", "latex2mathml.converter", "bs4"),
)


def main(root: Path) -> None:
    """Import, wait, build; exits with the build's status."""
    for name in (*_LATER, *extensions(root)):
        # What is missing or broken the build itself will tell.
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    if not sys.stdin.readline():
        return
    from jupyter_book.cli.main import main as jupyter_book

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
