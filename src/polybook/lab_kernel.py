"""A kernel for pages of several frameworks: it runs its own framework's cells, and says which ones it leaves out.

Run as a script by a framework's interpreter, for ``polybook lab``. Standard library only, apart from ``ipykernel``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ipykernel.ipkernel import IPythonKernel

#: The framework whose cells a kernel runs, and the titles of all of them as JSON, in its environment.
FRAMEWORK, TITLES = "POLYBOOK_FRAMEWORK", "POLYBOOK_TITLES"
_SKIP_TAG = "skip-execution"


def why_skipped(tags: object, framework: str, titles: Mapping[str, str]) -> str:
    """Say why a cell is left out, as a build would leave it out.

    Args:
        tags: The cell's tags; anything but texts has no meaning.
        framework: Whose kernel this is.
        titles: The frameworks' titles by name.

    Returns:
        One sentence; empty if the cell is to be run.
    """
    found = [tags] if isinstance(tags, str) else list(tags) if isinstance(tags, (list, tuple)) else []
    if _SKIP_TAG in found:
        return f"A cell that is never run: it is tagged {_SKIP_TAG}."
    owners = [name for name in titles if name in found]
    if not owners or framework in owners:
        return ""
    return f"A cell of {' and '.join(titles[name] for name in owners)}; this kernel runs {titles[framework]}'s."


class PageKernel(IPythonKernel):
    """An IPython kernel that looks at a cell's tags, which JupyterLab sends with each request."""

    async def do_execute(
        self, code: str, silent: bool, *rest: Any, cell_meta: Any = None, cell_id: Any = None, **more: Any
    ) -> Any:
        """Run a cell, or say in one line why not.

        ``ipykernel`` hands the request's metadata to whoever names ``cell_meta``.
        """
        tags = cell_meta.get("tags") if isinstance(cell_meta, dict) else None
        why = why_skipped(tags, os.environ[FRAMEWORK], json.loads(os.environ[TITLES]))
        if why:
            self.send_response(self.iopub_socket, "stream", {"name": "stdout", "text": f"{why}\n"})
            # Something has to run: JupyterLab shows a cell as running until it has a number.
            code = "pass"
        return await super().do_execute(code, silent, *rest, cell_meta=cell_meta, cell_id=cell_id, **more)


if __name__ == "__main__":
    # A script's own folder comes first on sys.path, where this package's modules would shadow the world's.
    sys.path[0] = str(Path(__file__).parents[1])
    from polybook.launch import die_with_parent

    del sys.path[0]
    die_with_parent(int(os.environ["JPY_PARENT_PID"]))
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance(kernel_class=PageKernel)
