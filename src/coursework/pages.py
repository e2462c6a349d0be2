"""Render the templates: every text in them is escaped, whoever wrote it."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import jinja2


def render(name: str, **values: Any) -> str:
    """Render a template.

    Args:
        name: Such as ``feedback.html``.
        values: What it shows.
    """
    return _environment().get_template(name).render(points=points, **values)


@functools.cache
def _environment() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    return jinja2.Environment(autoescape=True, loader=loader, undefined=jinja2.StrictUndefined, trim_blocks=True)


def points(value: float) -> str:
    """Write points as people do: without needless zeros."""
    return f"{round(value, 2):g}"
