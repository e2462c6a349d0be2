"""The real environments of the frameworks, for tests that need a framework or Matplotlib."""

from __future__ import annotations

import os
import subprocess
import textwrap

from books import REPOSITORY

FRAMEWORKS = ("pytorch", "mxnet")


def run_in(framework: str, code: str, *, timeout_s: float = 120, **variables: str) -> str:
    """Run a program in a framework's environment; gives what it prints and fails if it complains of anything."""
    python = REPOSITORY / f".venv-{framework}" / "bin" / "python"
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src"), **variables}
    done = subprocess.run(
        [str(python), "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True, timeout=timeout_s
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout
