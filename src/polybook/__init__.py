"""Jupyter Book pages whose tabs run in different kernels.

As a Sphinx extension (``extra_extensions: [polybook]``) it runs each framework's cells of a page in that framework's
own environment and shows them in synchronised tabs; ``python -m polybook`` runs them without building.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__version__ = "0.1.0"


def setup(app: Sphinx) -> dict[str, Any]:
    """Set the extension up; Sphinx calls this."""
    from polybook.ext import setup as setup_extension

    return {**setup_extension(app), "version": __version__}
