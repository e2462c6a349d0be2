"""Run one notebook in the Python that runs this, in a copy of the folder that it lies in; called by ``run-notebooks``.

Standard library, nbformat and nbclient: it also runs where nothing of the project is installed.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

#: Seconds for one cell; the first one may load gigabytes.
CELL_TIMEOUT_S = 1800


def run(folder: Path, name: str) -> str:
    """Run a notebook.

    Args:
        folder: What it may find beside it; copied, so that nothing is left there.
        name: The notebook's path in it.

    Returns:
        What went wrong; empty if nothing did.
    """
    with tempfile.TemporaryDirectory() as scratch:
        path = shutil.copytree(folder, Path(scratch, "book")) / name
        notebook = nbformat.read(path, as_version=4)
        place = {"metadata": {"path": str(path.parent)}}
        try:
            NotebookClient(notebook, timeout=CELL_TIMEOUT_S, kernel_name="python3", resources=place).execute()
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            return str(error)
    return ""


if __name__ == "__main__":
    began = time.monotonic()
    wrong = run(Path(sys.argv[1]), sys.argv[2])
    print(f"{sys.argv[2]}: {'failed' if wrong else 'ran'}, {time.monotonic() - began:.0f} s", wrong, flush=True)
    sys.exit(bool(wrong))
