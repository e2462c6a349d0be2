"""Small makers for tests: books on disk that can be built, and notebooks in memory."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import nbformat
from bs4 import BeautifulSoup, Tag
from nbformat import NotebookNode
from nursery import build_in_nursery

from polybook.options import Framework, Options, config_file_options, read_options
from polybook.page import Page, check_page, read_page
from polybook.recorded import write_recorded
from polybook.run import Offer, Run
from polybook.split import merge
from polybook.store import Store
from polybook.variant import Variant

REPOSITORY = Path(__file__).parents[1]
MINIBOOK = REPOSITORY / "tests" / "minibook"
BIN = Path(sys.executable).parent

#: The start of a page that runs in both of the minibook's frameworks.
BOTH = "---\nfile_format: mystnb\npolybook:\n  frameworks: [alpha, beta]\n---\n\n"


def cell(code: str, *tags: str) -> str:
    """Write a code cell as MyST."""
    options = f":tags: [{', '.join(tags)}]\n" if tags else ""
    return f"```{{code-cell}}\n{options}{code}\n```\n\n"


def page_text(*parts: str, title: str = "Page") -> str:
    """Write a page of both frameworks from cells and prose."""
    return BOTH + f"# {title}\n\n" + "".join(parts)


@dataclass(frozen=True)
class Built:
    """What a command left: exit status and everything it printed, without colours."""

    status: int
    output: str

    @property
    def cells_run(self) -> int:
        """How many cells the build says it ran; 0 if it says nothing, having read no page."""
        found = re.search(r"polybook: (\d+) cells? run", self.output)
        return int(found[1]) if found else 0

    def ran(self) -> list[tuple[str, str]]:
        """The variants that were run, as (page, framework), in order."""
        return re.findall(r"^(\S+) \[(\w+)\]: ran ", self.output, re.MULTILINE)


@dataclass(frozen=True)
class Book:
    """A book on disk.

    Attributes:
        root: Its folder.
    """

    root: Path

    def keep_only(self, pages: Mapping[str, str]) -> None:
        """Replace all pages but the index by the given ones."""
        names = "".join(f"  - file: {name}\n" for name in pages)
        (self.root / "_toc.yml").write_text(f"format: jb-book\nroot: index\nchapters:\n{names}")
        for path in self.root.glob("*.md"):
            if path.stem != "index":
                path.unlink()
        for name, text in pages.items():
            self.write(name, text)

    def path(self, page: str) -> Path:
        """The source of a page."""
        return self.root / f"{page}.md"

    def read(self, page: str) -> str:
        """The text of a page."""
        return self.path(page).read_text("utf8")

    def write(self, page: str, text: str) -> None:
        """Change a page."""
        self.path(page).write_text(text, "utf8")

    def replace(self, page: str, old: str, new: str) -> None:
        """Change a piece of a page that must be there."""
        text = self.read(page)
        assert old in text
        self.write(page, text.replace(old, new))

    def command(self, *arguments: str) -> list[str]:
        """The command line that builds this book, with further arguments."""
        return [str(BIN / "jupyter-book"), "build", str(self.root), *arguments]

    def build(self, *arguments: str, timeout: float = 120) -> Built:
        """Build the book as the plain command does."""
        status, output = build_in_nursery(
            self.command(*arguments)[1:], cwd=self.root, environment=plain(), timeout=timeout
        )
        return Built(status, _without_colors(output))

    def polybook(self, *arguments: str) -> Built:
        """Call ``python -m polybook`` in the book."""
        return run(sys.executable, "-m", "polybook", *arguments, cwd=self.root)

    def html(self, page: str) -> BeautifulSoup:
        """The built page."""
        return BeautifulSoup((self.root / "_build" / "html" / f"{page}.html").read_text("utf8"), "html.parser")

    def article(self, page: str) -> Tag:
        """The part of a built page that its author wrote."""
        found = self.html(page).find("article", class_="bd-article")
        assert isinstance(found, Tag)
        return found

    def has_html(self) -> bool:
        """Whether any page was written."""
        return any((self.root / "_build" / "html").glob("*.html"))

    def store_files(self) -> list[Path]:
        """Everything in the local store."""
        return sorted(path for path in (self.root / ".polybook").rglob("*") if path.is_file())


def copy_minibook(root: Path, environments: Mapping[str, Path], pages: Mapping[str, str] | None = None) -> Book:
    """Copy the minibook, with the environments that were made for the tests; replace its pages if some are given."""
    shutil.copytree(MINIBOOK, root)
    for framework, environment in environments.items():
        (root / f".venv-{framework}").symlink_to(environment)
    book = Book(root)
    if pages:
        book.keep_only(pages)
    return book


def run(*command: str, cwd: Path, timeout: float = 120) -> Built:
    """Run a command and keep what it printed, standard error included."""
    done = subprocess.run(
        command, cwd=cwd, env=plain(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=timeout, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return Built(done.returncode, _without_colors(done.stdout))


def plain() -> dict[str, str]:
    """This process's environment, for a command whose lines are to be read."""
    return {**os.environ, "NO_COLOR": "1", "COLUMNS": "200"}


def _without_colors(printed: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*[mK]", "", printed)


def tabs(article: Tag) -> list[dict[str, Tag]]:
    """The tab sets of a page, in order: panels by their label's text."""
    found = []
    for tab_set in article.find_all("div", class_="sd-tab-set"):
        labels = tab_set.find_all("label", recursive=False)
        panels = tab_set.find_all("div", class_="sd-tab-content", recursive=False)
        found.append({label.get_text(strip=True): panel for label, panel in zip(labels, panels, strict=True)})
    return found


def options(root: Path = Path("/book"), **values: object) -> Options:
    """Options of a book with the frameworks pytorch and mxnet."""
    frameworks = {name: {"title": name.title(), "environment": f".venv-{name}"} for name in ("pytorch", "mxnet")}
    return read_options({"polybook_frameworks": frameworks, **values}, root)


def framework(name: str = "pytorch", root: Path = Path("/book")) -> Framework:
    """One of those frameworks."""
    return options(root).frameworks[name]


def notebook(cells: list[str | NotebookNode]) -> NotebookNode:
    """A notebook of code cells, given as text or made by ``tagged`` and ``prose``."""
    made = [tagged(source) if isinstance(source, str) else source for source in cells]
    return nbformat.v4.new_notebook(cells=made)


def tagged(source: str, *tags: str) -> NotebookNode:
    """A code cell with tags."""
    return nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)} if tags else {})


def prose(text: str) -> NotebookNode:
    """A prose cell."""
    return nbformat.v4.new_markdown_cell(text)


def page(cells: list[str | NotebookNode], frameworks: str = "pytorch, mxnet", **settings: object) -> Page:
    """A checked page made of these cells."""
    lines = "".join(f"  {key}: {value}\n" for key, value in settings.items())
    text = f"---\nfile_format: mystnb\npolybook:\n  frameworks: [{frameworks}]\n{lines}---\n"
    return check_page("page", "page.md", text, notebook(cells), options())


def myst_page(text: str, docname: str = "page", **values: object) -> Page:
    """A checked page, read from its source by MyST-NB itself; ``values`` are configuration."""
    from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
    from myst_parser.config.main import MdParserConfig

    def read(source: str) -> NotebookNode | None:
        if not is_myst_markdown_notebook(source):
            return None
        config = MdParserConfig(enable_extensions={"colon_fence", "dollarmath"})
        return read_myst_markdown_notebook(source, config, add_source_map=True)

    return read_page(docname, f"{docname}.md", text, read, options(**values))


def front_matter(*lines: str) -> str:
    """The front matter of a page, with these lines below ``file_format``."""
    return "\n".join(["---", "file_format: mystnb", *lines, "---", "", ""])


def sources(variant: Variant) -> list[str]:
    """The code of a variant's cells."""
    return [cell.source for cell in variant.cells]


def run_of(variant: Variant, outputs: Mapping[int, list[dict[str, object]]] | None = None, **values: object) -> Run:
    """A run of a variant, as if it had been made; ``outputs`` by the cell's place on the page."""
    found = outputs or {}
    cells = tuple(
        {"outputs": found.get(cell.index, []), "execution_count": count, "started": "", "elapsed_s": 0.5}
        for count, cell in enumerate(variant.cells, start=1)
    )
    fields: dict[str, object] = {
        "page": variant.docname,
        "framework": variant.framework,
        "code": variant.code,
        "circumstances": {"pins": "1"},
        "started": "2026-01-02T03:04:05+00:00",
        "ended": "2026-01-02T03:04:06+00:00",
        "elapsed_s": 1.0,
        "cells": cells,
        "metadata": {"language_info": {"name": "python", "version": "3.11"}},
    }
    return Run(**{**fields, **values})  # type: ignore[arg-type]


def put_together(shown: Page, runs: Mapping[str, Run], titles: Mapping[str, str] | None = None) -> NotebookNode:
    """A page merged with one run of each framework that has one."""
    return merge(shown, {name: [Offer(made, "")] for name, made in runs.items()}, titles)


def fabricate(
    book: Book,
    framework: str,
    text: str,
    *,
    name: str = "h200",
    gpu: bool = True,
    page: str = "page",
    change: Callable[[Run], Run] = lambda made: made,
) -> Path:
    """Record a run as if another machine had made it; what its cells print reads ``text``.

    Only tests may do that: the book needs a stored run of the page's present code.
    """
    options = config_file_options(book.root)
    made = next(run for run in Store(options.store).entries() if (run.page, run.framework) == (page, framework))
    cells = tuple(
        {**cell, "outputs": [{**output, "text": f"{text}\n"} if "text" in output else output for output in outputs]}
        for cell, outputs in ((cell, cell["outputs"]) for cell in made.cells)
    )
    machine = {"summary": "A machine of the tests", "version": "9", "entries": [], "provides": ["gpu"] * gpu}
    elsewhen = "2026-01-02T03:04:05+00:00"
    made = change(dataclasses.replace(made, cells=cells, machine=machine, noise=(), started=elsewhen))
    return write_recorded(made, options.runs / name)[0]


def printed(text: str, stream: str = "stdout") -> dict[str, object]:
    """An output that was printed."""
    return {"output_type": "stream", "name": stream, "text": text}


def displayed(data: Mapping[str, object], **metadata: object) -> dict[str, object]:
    """An output that was displayed."""
    return {"output_type": "display_data", "data": dict(data), "metadata": metadata}


def glued(name: str, text: str, visible: bool = False) -> dict[str, object]:
    """A value as MyST-NB's ``glue`` keeps it."""
    prefix = "" if visible else "application/papermill.record/"
    return displayed({f"{prefix}text/plain": text}, scrapbook={"name": name, "mime_prefix": prefix})
