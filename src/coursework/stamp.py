"""Say in a notebook, visibly, what was handed out: exercise, framework, version, offering. Read it back from anything.

Editors drop metadata; a line in two of the cells stays. Where both are there the line counts: a reader sees it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

#: The key of a notebook's and a cell's metadata that is ours.
KEY = "coursework"
_SLUG = r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*"
_LINE = re.compile(
    rf"^#[ \t]*coursework:[ \t]*(?P<slug>{_SLUG})[ \t]*·[ \t]*(?P<framework>[a-z]+)[ \t]*·[ \t]*version[ \t]+"
    r"(?P<version>\d{1,6})[ \t]*·[ \t]*offering[ \t]+(?P<offering>[0-9a-f]{8})[ \t\r]*$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Stamp:
    """What a notebook was handed out as.

    Attributes:
        slug: The exercise.
        framework: ``pytorch`` or ``mxnet``.
        version: The exercise's version.
        offering: What `drawing.identity` gives.
    """

    slug: str
    framework: str
    version: int
    offering: str

    @property
    def line(self) -> str:
        """The line that cells show."""
        return f"# coursework: {self.text}"

    @property
    def text(self) -> str:
        """The same for prose."""
        return f"{self.slug} · {self.framework} · version {self.version} · offering {self.offering}"

    @property
    def metadata(self) -> dict[str, Any]:
        """The same for a notebook's metadata."""
        return asdict(self)


def read(notebook: Mapping[str, Any]) -> Stamp | None:
    """Find the stamp of a notebook, whatever editors did to it; None if it has none.

    Args:
        notebook: A notebook, or what JSON gave for one.
    """
    for source in _sources(notebook):
        found = of_source(source)
        if found:
            return found
    return _of_metadata(notebook.get("metadata"))


def of_source(source: str) -> Stamp | None:
    """Find the stamp in a cell's source; a cell that has one is ours, not the student's."""
    match = _LINE.search(source)
    return Stamp(match["slug"], match["framework"], int(match["version"]), match["offering"]) if match else None


def _sources(notebook: Mapping[str, Any]) -> Iterator[str]:
    """Give the cells' sources, the last first: the cell that packs is the one nobody edits."""
    cells = notebook.get("cells")
    for cell in reversed(cells) if isinstance(cells, list) else ():
        source = cell.get("source", "") if isinstance(cell, Mapping) else ""
        parts = source if isinstance(source, list) else [source]
        yield "".join(part for part in parts if isinstance(part, str))


def _of_metadata(metadata: object) -> Stamp | None:
    found = metadata.get(KEY) if isinstance(metadata, Mapping) else None
    if not isinstance(found, Mapping) or type(found.get("version")) is not int:
        return None
    words = [found.get(name) for name in ("slug", "framework", "offering")]
    line = "# coursework: {} · {} · version {} · offering {}".format(*words[:2], found["version"], words[2])
    return of_source(line) if all(isinstance(word, str) for word in words) else None
