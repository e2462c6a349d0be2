"""Run code in a process of its own, for what has to be settled before a framework is imported.

The engine that MXNet takes, or how many workers it has, is read from the environment once, when the library is loaded.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from asynclab.errors import NewProcessError

_LINES_SHOWN = 12  # of what a process that failed has written

# The code is compiled under its own name, by which a traceback finds its lines; Python itself would look for a file.
# It gets a main module of its own, where pickle finds its classes.
_PROGRAM = """\
import json, linecache, sys, traceback, types
path, source = sys.argv[1:]
del sys.argv[1:]
linecache.cache["<new process>"] = (len(source), None, source.splitlines(True), "<new process>")
sys.excepthook = lambda kind, error, trace: traceback.print_exception(kind, error, trace.tb_next)
main = sys.modules["__main__"] = types.ModuleType("__main__")
exec(compile(source, "<new process>", "exec"), vars(main))
with open(path, "w", encoding="utf8") as file:
    json.dump(vars(main).get("result"), file)
"""


def in_new_process(code: str, **variables: object) -> Any:
    """Run Python code in a new process of the same Python and return what it calls ``result``.

    Nothing of this process is there: the code imports what it needs. What it prints is printed here, when it has ended.

    Args:
        code: The code; it may be indented.
        **variables: Environment variables to set for it, such as ``MXNET_ENGINE_TYPE="NaiveEngine"``.

    Returns:
        What the code assigned to ``result``, as JSON brings it over: numbers, texts, lists and dictionaries of these;
        ``None`` if it assigned nothing.

    Raises:
        NewProcessError: If the code failed or ended its process, or if its result is nothing that JSON can bring over.
    """
    environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
    # What can be imported here can be imported there, in whichever way it got here.
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "result.json")
        command = [sys.executable, "-c", _PROGRAM, str(path), textwrap.dedent(code)]
        done = subprocess.run(  # noqa: S603
            command, env=environment, capture_output=True, text=True, errors="replace", check=False
        )
        print(done.stdout, end="")
        if done.returncode or not path.exists():
            told = "\n".join(done.stderr.rstrip().splitlines()[-_LINES_SHOWN:]) or "It wrote nothing to standard error."
            raise NewProcessError(
                f"in_new_process: the process {_end(done.returncode)}:\n{told}\n"
                "Run the code by itself to look closer; what it returns has to be plain data in a variable `result`."
            )
        return json.loads(path.read_text("utf8"))


def _end(status: int) -> str:
    if status < 0:
        return f"was killed by {signal.Signals(-status).name}"
    return f"ended with status {status}" if status else "ended before it came to the end of the code"
