"""Programs in which waits are planted: each line says itself, behind ``#:``, what has to be found there."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

from interpreters import run_in

_PLANTED = re.compile(r"(.+?)(?: x (\d+))?(?:; |$)")

_TOLD = """
import json
print(json.dumps([[each.line, each.call, each.count] for each in found.calls if each.file == __file__]))
"""


def planted(program: str) -> list[tuple[int, str, int]]:
    """The line, the call and the count of each wait that a program says it has."""
    return sorted(
        (number, call, int(count or 1))
        for number, line in enumerate(program.splitlines(), 1)
        for call, count in _PLANTED.findall(line.partition("#: ")[2])
    )


def found_in(framework: str, folder: Path, program: str) -> list[tuple[int, str, int]]:
    """Run a program that calls what it finds ``found``; gives that as `planted` does."""
    return sorted(map(tuple, told_by(framework, folder, program + _TOLD)))


def told_by(framework: str, folder: Path, program: str) -> Any:
    """Run a program as a file, in a framework's environment; gives the data in the last line that it prints."""
    file = folder / "program.py"
    file.write_text(textwrap.dedent(program))
    text = run_in(framework, f"import runpy; runpy.run_path({str(file)!r}, run_name='__main__')")
    return json.loads(text.splitlines()[-1])
