"""Put notebooks, the wheel that they install and an archive for offline use into a site, as a part of its build.

Connected to Sphinx's events by ``ext.py``. A page's notebooks are written whenever the page is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from sphinx.application import Sphinx

from polybook.archive import FOLDER, WHEELS, archive_path, write_archive
from polybook.exported import settle_exported
from polybook.facts import FACT_KEY
from polybook.files import write_if_other
from polybook.markdown import SITE
from polybook.notebook_options import NotebookOptions
from polybook.notebooks import Subject, make_notebook, notebook_path
from polybook.obtain import Runner
from polybook.options import Options
from polybook.shown import kept, shown_runs
from polybook.told_once import tell_once
from polybook.wheel import build_wheel, read_project

#: Builders that write a site, or notebooks alone.
BUILDERS = ("html", "dirhtml", "notebooks")
_GLUE = "application/papermill.record/"


class Exporter:
    """Writes the notebooks of one build.

    Args:
        app: Sphinx's application.
        options: The book's settings.
        notebooks: How notebooks are exported.
        runner: Recalls runs, for notebooks that keep their outputs.
    """

    def __init__(self, app: Sphinx, options: Options, notebooks: NotebookOptions, runner: Runner) -> None:
        """Connect to nothing yet."""
        tell_once()
        self._app = app
        self._options = options
        self.notebooks = notebooks
        self._runner = runner
        self._resolving = False
        self._wheel: Path | None = None

    def page_resolved(self, _: Sphinx, _doctree: nodes.document, docname: str) -> None:
        """Write a page's notebooks, for ``doctree-resolved``."""
        self.write_page(self._app, docname)

    def write_page(self, _: Sphinx, docname: str) -> None:
        """Write a page's notebooks, unless that is just being done."""
        if self._resolving or docname not in shown_runs(self._app.env):
            return
        # References are resolved once more for each notebook, and that says that a tree was resolved.
        self._resolving = True
        try:
            for framework in shown_runs(self._app.env)[docname]:
                self._write(self._subject(docname, framework))
        finally:
            self._resolving = False

    def finish(self, _: Sphinx, error: Exception | None) -> None:
        """Write the archives, and remove what is no longer wanted, for ``build-finished``."""
        folder = self._out / FOLDER
        if error is not None or not (shown_runs(self._app.env) or folder.is_dir()):
            return
        wheel = self.wheel()
        expected = {path for docname, found in shown_runs(self._app.env).items() for path in _paths(docname, found)}
        for path in sorted(folder.rglob("*.ipynb")):
            if path.relative_to(self._out).as_posix() not in expected:
                path.unlink()
        for name, framework in self._options.frameworks.items():
            write_archive(self._out, name, framework.title, self._title, self.notebooks.site)
        beside = {archive_path(name) for name in self._options.frameworks}
        settle_exported(self._app, expected | beside | ({f"{WHEELS}/{wheel.name}"} if wheel else set()))

    def missing(self, docname: str) -> bool:
        """Tell whether a notebook of a page is not there."""
        found = shown_runs(self._app.env).get(docname, {})
        return not all((self._out / path).is_file() for path in _paths(docname, found))

    def identity(self) -> str:
        """Digest what all notebooks depend on besides their pages."""
        template = self.notebooks.first_cell.read_text("utf8") if self.notebooks.first_cell else ""
        return hashlib.sha256(f"{self.notebooks}\0{template}\0{self._version()}".encode()).hexdigest()

    def wheel(self) -> Path | None:
        """Build the wheel that readers install, once a build; None if the book has none."""
        if self.notebooks.package and self._wheel is None:
            project = read_project(self._options.root)
            self._wheel = build_wheel(self.notebooks.package, project, self._out / WHEELS)
        return self._wheel

    @property
    def _out(self) -> Path:
        return Path(self._app.outdir)

    @property
    def _title(self) -> str:
        # Jupyter Book's `title` becomes this one; Sphinx's own name for a book is `project`.
        return str(self._app.config.html_title or self._app.config.project)

    def _version(self) -> str:
        return read_project(self._options.root).version if self.notebooks.package else ""

    def _subject(self, docname: str, framework: str) -> Subject:
        wheel = self.wheel()
        return Subject(
            docname=docname,
            framework=self._options.frameworks[framework],
            title=self._title,
            shown=shown_runs(self._app.env)[docname][framework],
            cells=kept(self._app.env).cells[docname][framework],
            wheel=f"{WHEELS}/{wheel.name}" if wheel else "",
            version=self._version(),
        )

    def _write(self, subject: Subject) -> None:
        env = self._app.env
        made = make_notebook(env.get_doctree(subject.docname), subject, env, self._app.builder, self.notebooks)
        if self.notebooks.outputs:
            self._add_outputs(made, subject)
        for cell in made["cells"]:
            cell["metadata"].pop("place", None)
            cell["source"] = placed(cell["source"], address_of_site(subject.path, self.notebooks))
        write_if_other(self._out / subject.path, notebook_bytes(made))

    def _add_outputs(self, made: Mapping[str, Any], subject: Subject) -> None:
        """Give each cell what it gave on the site, in the run that the page shows first."""
        found = self._runner.look_up(subject.framework.name, subject.shown.code)
        live = (found.identity, found.run) if found.state == "fresh" and found.run else None
        offers = self._runner.offers(
            subject.docname, subject.framework.name, subject.shown.code, subject.shown.needs, live
        )
        if not offers:
            return
        results = {cell.index: result for cell, result in zip(subject.cells, offers[0].run.cells, strict=True)}
        for cell in made["cells"]:
            result = results.get(cell["metadata"].get("place", -1))
            if result:
                cell["outputs"] = [_shown(output) for output in result["outputs"] if not _is_record(output)]
                cell["execution_count"] = result["execution_count"]


def address_of_site(path: str, options: NotebookOptions) -> str:
    """Give the address of the site's top folder, as a notebook at a path in it has to write it."""
    return options.site or "../" * path.count("/")


def placed(source: str, site: str) -> str:
    """Make addresses of the links within the site."""
    return source.replace(SITE, site)


def notebook_bytes(notebook: Mapping[str, Any]) -> bytes:
    """Write a notebook as JSON, as Jupyter does.

    Raises:
        nbformat.ValidationError: If it is no notebook.
    """
    node = nbformat.from_dict(notebook)
    nbformat.validate(node)
    text: str = nbformat.writes(node)
    return (text.rstrip("\n") + "\n").encode()


def _paths(docname: str, frameworks: Mapping[str, object]) -> list[str]:
    return [notebook_path(docname, framework) for framework in frameworks]


def _is_record(output: Mapping[str, Any]) -> bool:
    return bool(output.get("data")) and all(mime.startswith(_GLUE) for mime in output["data"])


def _shown(output: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {key: value for key, value in output.get("metadata", {}).items() if key not in (FACT_KEY, "scrapbook")}
    return {**output, "metadata": metadata} if "metadata" in output else dict(output)
