"""Let each warning through once in a build: references are resolved once more for each notebook of a page."""

from __future__ import annotations

import logging

from docutils import nodes
from sphinx.util.logging import NAMESPACE, WarningStreamHandler, get_node_location


class ToldOnce(logging.Filter):
    """Drops a warning that has been told of the same place."""

    def __init__(self) -> None:
        """Begin with nothing told."""
        super().__init__()
        self._told: set[tuple[str, str]] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether it is a new one; one without a place always is."""
        where = getattr(record, "location", None)
        place = get_node_location(where) if isinstance(where, nodes.Node) else where
        told = (str(place), str(record.msg % record.args if record.args else record.msg))
        is_new = not place or told not in self._told
        self._told.add(told)
        return is_new


def tell_once() -> None:
    """Set the filter up for the build whose application was made last."""
    for handler in logging.getLogger(NAMESPACE).handlers:
        if isinstance(handler, WarningStreamHandler):
            # First: those that come after it count what they let through, and make errors of it.
            handler.filters.insert(0, ToldOnce())
