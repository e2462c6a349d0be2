"""Find the pages of a book in the order in which they are read, with their parts and how deep they stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from polybook.errors import ConfigError

if TYPE_CHECKING:
    from sphinx_external_toc.api import SiteMap


@dataclass(frozen=True)
class Chapter:
    """A page in its place.

    Attributes:
        docname: Its name: its source's path without the ending.
        part: The title of the part that it stands in; empty for none.
        depth: How much deeper its title stands than a part's; 0 for a page that stands in none.
    """

    docname: str
    part: str
    depth: int


def reading_order(toc: Path, pages: Path) -> list[Chapter]:
    """List a book's pages.

    Args:
        toc: The table of contents, ``_toc.yml``.
        pages: The folder of the built pages, among which patterns of the table of contents choose.

    Raises:
        ConfigError: If the table of contents cannot be read.
    """
    import yaml
    from sphinx_external_toc.parsing import MalformedError, parse_toc_yaml

    try:
        site = parse_toc_yaml(toc)
    except (OSError, MalformedError, yaml.YAMLError) as error:
        raise ConfigError(f"{toc}: {getattr(error, 'strerror', None) or error}.\nCorrect it.") from error
    built = sorted(path.relative_to(pages).with_suffix("").as_posix() for path in pages.rglob("*.html"))
    root = _name(site.root.docname)
    found = {root: Chapter(root, "", 0)}
    for chapter in _below(site, site.root.docname, "", 0, built):
        found.setdefault(chapter.docname, chapter)
    return list(found.values())


def _below(site: SiteMap, docname: str, part: str, depth: int, built: list[str]) -> Iterator[Chapter]:
    from sphinx_external_toc.api import FileItem, GlobItem

    for tree in site[docname].subtrees if docname in site else ():
        # Only the first level has parts; further below a caption is no more than a label.
        own = part or (tree.caption or "" if depth == 0 else "")
        deeper = depth + 1 if own and depth == 0 else depth
        for item in tree.items:
            names = [str(item)] if isinstance(item, FileItem) else []
            if isinstance(item, GlobItem):
                names = [name for name in built if fnmatchcase(name, _name(str(item)))]
            for name in names:
                yield Chapter(_name(name), own, deeper)
                yield from _below(site, name, own, deeper + 1, built)


def _name(item: str) -> str:
    return item.removesuffix(".md").removesuffix(".ipynb").removesuffix(".rst")
