"""JupyterLab with a book's pages as notebooks. Run by JupyterLab's own environment, for ``polybook lab``.

Jupytext reads a page and has a notebook view of it; writing is ours (``lab_text.py``), since it must not change a line
that nobody edited. The Jupyter packages are imported inside functions: the book's environment has none of them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polybook.files import write_whole
from polybook.lab_text import Cell, cells_of, rewrite

#: The settings of JupyterLab that a page needs, over its own defaults; an author can still change them.
_SETTINGS: dict[str, dict[str, Any]] = {
    # A page opens as a notebook wherever it is opened from. The name is Jupytext's.
    "@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Jupytext Notebook"}},
    # No question on the first start, and nothing fetched from elsewhere.
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    # Jupytext's new notebooks would be no pages of a book.
    "jupyterlab-jupytext:plugin": {"auto:percent": False, "md:myst": False},
}


def main(argv: Sequence[str] | None = None) -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser()
    for name in ("--book", "--folder"):
        parser.add_argument(name, type=Path, required=True)
    for name in ("--page", "--kernel"):
        parser.add_argument(name, required=True)
    parser.add_argument("--no-browser", action="store_true")
    arguments = parser.parse_args(argv)

    from jupyterlab.labapp import LabApp  # type: ignore[import-not-found]
    from traitlets.config import Config

    content = json.dumps(_SETTINGS, indent=2).encode()
    write_whole(arguments.folder / "config" / "labconfig" / "default_setting_overrides.json", content)
    pages = pages_class(notebook_metadata(arguments.kernel, arguments.folder), arguments.folder / "checkpoints")
    server = LabApp.initialize_server(argv=[], config=Config(configuration(arguments, pages)))
    server.start()


def notebook_metadata(kernel: str, folder: Path) -> dict[str, Any]:
    """Say as a notebook which kernel a page wants, so that JupyterLab does not ask.

    Word for word what the kernel itself will say, or JupyterLab marks the page as changed before anyone changed it.
    """
    spec = json.loads((folder / "data" / "kernels" / kernel / "kernel.json").read_text("utf8"))
    version = spec["metadata"]["version"]
    return {
        "kernelspec": {"name": kernel, "display_name": spec["display_name"], "language": spec["language"]},
        "language_info": {
            "name": "python",
            "version": version,
            "mimetype": "text/x-python",
            "codemirror_mode": {"name": "ipython", "version": 3},
            "pygments_lexer": "ipython3",
            "nbconvert_exporter": "python",
            "file_extension": ".py",
        },
    }


def configuration(arguments: argparse.Namespace, pages: type) -> dict[str, dict[str, Any]]:
    """Configure the server: the page to open, our kernels and no others, and an end without questions."""
    kernels = {path.name for path in (arguments.folder / "data" / "kernels").iterdir()}
    return {
        "Application": {"log_level": "ERROR"},
        "ServerApp": {
            "root_dir": str(arguments.book),
            "contents_manager_class": pages,
            # It would put Jupytext's own manager before ours.
            "jpserver_extensions": {"jupyterlab_jupytext": False},
            # Only this machine can reach it, and only with the token.
            "allow_root": True,
            "answer_yes": True,
            "open_browser": not arguments.no_browser,
        },
        "LabApp": {
            "default_url": f"/lab/tree/{arguments.page}",
            "open_browser": not arguments.no_browser,
            "news_url": None,
        },
        "MappingKernelManager": {"transport_encryption": "auto", "default_kernel_name": arguments.kernel},
        "KernelSpecManager": {"allowed_kernelspecs": kernels, "ensure_native_kernel": False},
    }


def read_page(text: str) -> tuple[list[Cell], list[int], Any]:
    """Read a page with Jupytext.

    Returns:
        Its cells, the line of each of them, and the notebook.
    """
    from jupytext.myst import myst_to_notebook

    notebook = myst_to_notebook(text, add_source_map=True)
    return cells_of(notebook), list(notebook.metadata["source_map"]), notebook


def pages_class(metadata: dict[str, Any], checkpoints: Path) -> type:
    """Make the class of the server's manager of files.

    Args:
        metadata: What every page says of itself as a notebook.
        checkpoints: The folder for the copies to which JupyterLab can revert, which would lie beside the pages.
    """
    from jupyter_server.services.contents.filecheckpoints import AsyncFileCheckpoints  # type: ignore[import-not-found]
    from jupyter_server.services.contents.largefilemanager import (  # type: ignore[import-not-found]
        AsyncLargeFileManager,
    )
    from tornado.web import HTTPError

    class Checkpoints(AsyncFileCheckpoints):  # type: ignore[misc]
        """Keeps them in one place, in folders like the book's."""

        def checkpoint_path(self, checkpoint_id: str, path: str) -> str:
            place = checkpoints / checkpoint_id / path.strip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            return str(place)

    class Pages(AsyncLargeFileManager):  # type: ignore[misc]
        """Gives and takes pages as notebooks, and any other file as it is."""

        def _checkpoints_class_default(self) -> type:
            return Checkpoints

        async def get(
            self,
            path: str,
            content: bool = True,
            type: str | None = None,
            format: str | None = None,
            require_hash: bool = False,
        ) -> Any:
            if type != "notebook" or not path.endswith(".md"):
                return await super().get(path, content, type, format, require_hash)
            model = await super().get(path, content, "file", "text", require_hash)
            model.update(type="notebook", mimetype=None)
            if content:
                model.update(format="json", content=self._notebook(path, model["content"]))
            return model

        def _notebook(self, path: str, text: str) -> Any:
            notebook = self._read(path, text)[2]
            notebook.metadata = metadata
            return notebook

        def _read(self, path: str, text: str) -> tuple[list[Cell], list[int], Any]:
            try:
                return read_page(text.removeprefix("\N{BYTE ORDER MARK}"))
            # Jupytext and YAML raise many kinds; the author sees the words in a dialogue and can open the file as text.
            except Exception as error:
                raise HTTPError(400, f"Jupytext cannot read {path.strip('/')}: {error}") from error

        async def save(self, model: dict[str, Any], path: str = "") -> Any:
            if model.get("type") != "notebook" or not path.endswith(".md"):
                return await super().save(model, path)
            before = (await super().get(path, True, "file", "text"))["content"] if self.exists(path) else ""
            old, starts, _ = self._read(path, before)
            text = rewrite(before, old, starts, cells_of(model["content"]))
            if text == before:
                saved = await self.get(path, content=False)
            else:
                saved = await super().save({"type": "file", "format": "text", "content": text}, path)
            saved["type"] = "notebook"
            return saved

    return Pages


if __name__ == "__main__":
    main()
