"""A Jupyter Book seen without building it: its configuration, its pages, its variants. For the command line.

The configuration is Jupyter Book's own reading of ``_config.yml``, so that a page is cut into the same cells here
as in a build.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from nbformat import NotebookNode

from polybook.errors import ConfigError, PageFailed
from polybook.options import Options, config_file_options, read_options
from polybook.page import Page, declares_frameworks, read_page


@dataclass(frozen=True)
class Book:
    """A book's folder and settings.

    Attributes:
        root: The folder that holds ``_config.yml`` and ``_toc.yml``.
        options: The settings for polybook.
        config: Every Sphinx configuration value, by name.
    """

    root: Path
    options: Options
    config: dict[str, Any]


def open_book(root: Path) -> Book:
    """Read a book's configuration as Jupyter Book does.

    Raises:
        ConfigError: If there is none, or polybook's part of it is wrong.
    """
    config_file_options(root)
    from jupyter_book.config import get_final_config

    # Jupyter Book takes this one key out of what its command line would give.
    cli_config = {"latex_individualpages": False}
    config, _ = get_final_config(user_yaml=root / "_config.yml", cli_config=cli_config, sourcedir=root)
    return Book(root.resolve(), read_options(config, root), config)


def pages(book: Book, names: Iterable[str] = ()) -> Iterator[Page | PageFailed]:
    """Yield the pages that declare frameworks, in the order of the table of contents.

    Args:
        book: The book.
        names: Docnames or paths to keep; all of them if there are none.

    Yields:
        Each page, or what is wrong with it.

    Raises:
        ConfigError: If a name is no page of the book.
    """
    found = _all_sources(book)
    for docname in _chosen(book, found, names):
        path = found[docname]
        # As Sphinx does: an editor's byte order mark is no part of the page.
        text = path.read_text("utf-8-sig")
        if declares_frameworks(text):
            try:
                yield read_page(
                    docname,
                    path.relative_to(book.root).as_posix(),
                    text,
                    functools.partial(_read, book, path),
                    book.options,
                )
            except PageFailed as failed:
                yield failed


def sources(book: Book, names: Iterable[str] = ()) -> list[Path]:
    """List the source files of all pages in MyST, in the order of the table of contents.

    Args:
        book: The book.
        names: Docnames or paths to keep; all of them if there are none.

    Raises:
        ConfigError: If a name is no page of the book.
    """
    found = _all_sources(book)
    return [found[docname] for docname in _chosen(book, found, names)]


def _all_sources(book: Book) -> dict[str, Path]:
    from sphinx_external_toc.parsing import MalformedError, parse_toc_yaml

    path = book.root / "_toc.yml"
    try:
        site = parse_toc_yaml(path)
    except (OSError, MalformedError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: {getattr(error, 'strerror', None) or error}.\nCorrect it.") from error
    named = {docname: book.root / f"{docname}.md" for docname in (doc.removesuffix(".md") for doc in site)}
    return {docname: path for docname, path in named.items() if path.is_file()}


def _chosen(book: Book, sources: dict[str, Path], names: Iterable[str]) -> list[str]:
    wanted = []
    for name in names:
        path = Path(name).resolve()
        inside = path.relative_to(book.root).as_posix() if path.is_relative_to(book.root) else name
        docname = name if name in sources else inside.removesuffix(".md")
        if docname not in sources:
            raise ConfigError(
                f"{name} is no page of this book.\nName one that stands in _toc.yml: {', '.join(sources)}."
            )
        wanted.append(docname)
    return wanted or list(sources)


def _read(book: Book, path: Path, text: str) -> NotebookNode | None:
    from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
    from myst_parser.config.main import MdParserConfig

    if not is_myst_markdown_notebook(text):
        return None
    names = {name for name, _, _ in MdParserConfig().as_triple()}
    values = {name: book.config[f"myst_{name}"] for name in names if f"myst_{name}" in book.config}
    notebook: NotebookNode = read_myst_markdown_notebook(text, MdParserConfig(**values), add_source_map=True, path=path)
    return notebook
