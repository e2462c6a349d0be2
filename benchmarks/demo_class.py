"""A class of thirty for `grade_demo.py` and the tests: what each hands in, and the points that it deserves.

All hand in `cost-model-as-a-function`. Whoever attacks the grader deserves what the rest of the notebook is worth, and
nothing for the attack.
"""

from __future__ import annotations

import copy
import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Notebook = dict[str, Any]

#: Does what a friend's grader on the web would do: succeeds only if the network, or the file, can be reached.
_NETWORK = """
import socket
for address in (("1.1.1.1", 53), ("127.0.0.1", 22), ("169.254.169.254", 80)):
    try:
        socket.create_connection(address, timeout=0.5)
        print("CONNECTED", address)
    except OSError as error:
        print("no network:", error)
"""
_READING = """
import os
for folder, _, names in os.walk("/"):
    if folder.startswith(("/proc", "/sys")):
        continue
    for name in names:
        if name in ("checks.py", "offering.toml", "rubric.md", "roster.csv") or name.startswith("solution."):
            try:
                print("FOUND", folder, name, open(os.path.join(folder, name)).read()[:100])
            except OSError as error:
                print("FOUND", folder, name, error)
"""
_FORGING = """
import gc, inspect, json, os, sys
for number in range(3, 64):
    for message in ({"reply": 1, "value": 60.0}, {"outcome": "passed", "points": 100}):
        try:
            os.write(number, (json.dumps(message) + "\\n").encode())
        except OSError:
            pass
for frame in inspect.stack():
    frame.frame.f_globals["verdict"] = "passed"
for module in list(sys.modules.values()):
    for name in ("agree", "passed", "judge"):
        if hasattr(module, name):
            setattr(module, name, lambda *args, **kwargs: True)
for path in ("results.json", "/tmp/results.json", "../grades.csv"):
    try:
        open(path, "w").write('{"score": 100}')
    except OSError:
        pass
"""
_EQUAL = """
class Anything(float):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __sub__(self, other): return 0.0
    __rsub__ = __add__ = __radd__ = __abs__ = __sub__
def {name}(*args, **kwargs): return Anything(0)
"""
_PICKLE = """
import pickle
class Reduced:
    def __reduce__(self): return (eval, ("__import__('os').system('touch /tmp/broken')",))
def {name}(*args, **kwargs): return {reply}
"""
_HUGE = """
def {name}(*args, **kwargs): return {reply}
"""
_DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            time.sleep(1)
    os._exit(0)
"""
_BOMB = """
import os
for _ in range(100_000):
    try:
        os.fork()
    except OSError:
        pass
"""
_HOG = "hoard = []\nwhile True: hoard.append(bytearray(64 << 20))"
_PRINTS = "line = 'x' * 999_999\nfor _ in range(1000): print(line)"
_WARNS = "import sys, warnings\nwarnings.warn('this is deprecated')\nprint('noise', file=sys.stderr)"
_NOISE = "print('{\"reply\": 1, \"value\": 42}')\nprint('\\x00\\x1b[2J' * 50)"


@dataclass(frozen=True)
class Student:
    """One of the class.

    Attributes:
        name: The pseudonym, which says what the hand-in is.
        points: What it deserves.
        content: The file's bytes; None if nothing was handed in.
        file: The file's name.
    """

    name: str
    points: float
    content: bytes | None
    file: str


class Desk:
    """Makes hand-ins from the notebook that was handed out."""

    def __init__(self, assigned: Notebook, solution: Mapping[str, str]) -> None:
        """Keep the notebook and the right answers."""
        self.assigned = assigned
        self.solution = solution
        self.names = list(solution)

    def with_answers(self, answers: Mapping[str, str]) -> Notebook:
        """The notebook with some answers written."""
        made = copy.deepcopy(self.assigned)
        for cell in made["cells"]:
            name = cell["metadata"].get("coursework", {}).get("answer")
            if name in answers:
                cell["source"] = answers[name]
        return made

    def right(self) -> Notebook:
        """The notebook with all answers right."""
        return self.with_answers(self.solution)

    def right_but(self, **answers: str) -> Notebook:
        """All answers right but these."""
        return self.with_answers({**self.solution, **{k: f"# answer: {k}\n{v}" for k, v in answers.items()}})

    def all_as(self, code: str, **values: str) -> Notebook:
        """Every answer replaced by one piece of code that is told its function's name."""
        return self.with_answers({name: f"# answer: {name}\n{code.format(name=name, **values)}" for name in self.names})

    def begun_with(self, code: str) -> Notebook:
        """All answers right, after a cell of the student's own."""
        made = self.right()
        made["cells"].insert(2, code_cell(code))
        return made

    def in_front(self, code: str) -> Notebook:
        """No answer right: code in front of each stub."""
        return self.with_answers({name: f"# answer: {name}\n{code}\n" for name in self.names})


def code_cell(source: str) -> dict[str, Any]:
    """A cell that a student adds."""
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": [], "execution_count": None}


def students(
    assigned: Notebook,
    solution: Mapping[str, str],
    wrong: Mapping[str, tuple[float, Mapping[str, str]]],
    worth: Mapping[str, float],
) -> Iterator[Student]:
    """Give the whole class.

    Args:
        assigned: The notebook that was handed out.
        solution: The right answers.
        wrong: Known wrong answers by name: points and answers.
        worth: The points of each answer.
    """
    desk = Desk(assigned, solution)
    full, less = sum(worth.values()), sum(worth.values()) - worth["regime"]

    def file(notebook: Any, name: str = "") -> tuple[bytes, str]:
        return json.dumps(notebook).encode(), name or "cost-model-as-a-function.pytorch.ipynb"

    yield Student("right", full, *file(desk.right()))
    yield Student("right-with-own-helper", full, *file(_with_helper(desk)))
    for name, (points, answers) in sorted(wrong.items())[:3]:
        yield Student(f"wrong-{name.replace('_', '-')}", points, *file(desk.with_answers(answers)))
    yield Student("all-wrong", 0, *file(desk.all_as("def {name}(*args, **kwargs): return -1.0")))
    yield Student("untouched", 0, *file(assigned))
    yield Student("raising", less, *file(desk.right_but(regime="def regime(t1, t2): return 1 / 0")))
    yield Student("raising-on-load", less, *file(desk.right_but(regime="raise SystemExit(0)")))
    yield Student("syntax-error", less, *file(desk.right_but(regime="def regime(t1, t2) return 'backend-bound'")))
    yield Student("hanging-in-a-call", less, *file(desk.right_but(regime="def regime(t1, t2):\n    while True: pass")))
    yield Student("hanging-on-load", less, *file(desk.right_but(regime="import time\ntime.sleep(3600)")))
    yield Student(
        "memory-hungry",
        less,
        *file(desk.right_but(regime=f"def regime(t1, t2):\n{textwrap.indent(_HOG, '    ')}")),
    )
    yield Student("printing-a-gigabyte", full, *file(desk.begun_with(_PRINTS)))
    yield Student("forking", 0, *file(desk.in_front(_BOMB)))
    yield Student("leaving-a-daemon", full, *file(desk.begun_with(_DAEMON)))
    yield Student("network-seeking", full, *file(desk.begun_with(_NETWORK)))
    yield Student("test-reading", full, *file(desk.begun_with(_READING)))
    yield Student("grade-forging", 0, *file(desk.in_front(_FORGING)))
    yield Student("always-equal", 0, *file(desk.all_as(_EQUAL)))
    yield Student("pickles", 0, *file(desk.all_as(_PICKLE, reply="pickle.dumps(Reduced())")))
    yield Student("objects", 0, *file(desk.all_as(_PICKLE, reply="Reduced()")))
    yield Student("huge-replies", 0, *file(desk.all_as(_HUGE, reply="[0.0] * 100_000_000")))
    yield Student("noise-on-stdout", full, *file(desk.begun_with(_NOISE)))
    yield Student("warnings-on-stderr", full, *file(desk.begun_with(_WARNS)))
    yield Student("cell-deleted", less, *file(_without(desk.right(), "regime")))
    yield Student("cell-doubled", full, *file(_doubled(desk.right(), assigned, "regime")))
    yield Student("turned-into-markdown", full, *file(_turned(desk.right(), "regime")))
    yield Student("no-metadata", full, *file(_bare(desk.right()), "Copy of my homework (1).ipynb"))
    yield Student("no-notebook", 0, b"%PDF-1.4 not a notebook", "cost-model-as-a-function.pytorch.ipynb")


def _with_helper(desk: Desk) -> Notebook:
    made = desk.right_but(regime="def regime(t1, t2): return _named(t2 >= t1)")
    made["cells"].insert(2, code_cell("def _named(backend): return 'backend-bound' if backend else 'frontend-bound'"))
    return made


def _is(cell: Mapping[str, Any], name: str) -> bool:
    return bool(cell["metadata"].get("coursework", {}).get("answer") == name)


def _without(notebook: Notebook, name: str) -> Notebook:
    return {**notebook, "cells": [cell for cell in notebook["cells"] if not _is(cell, name)]}


def _doubled(notebook: Notebook, assigned: Notebook, name: str) -> Notebook:
    """A copy of the untouched cell stands after the answer, as if pasted there by mistake."""
    stub = next(cell for cell in assigned["cells"] if _is(cell, name))
    cells = [copy for cell in notebook["cells"] for copy in ([cell, stub] if _is(cell, name) else [cell])]
    return {**notebook, "cells": cells}


def _turned(notebook: Notebook, name: str) -> Notebook:
    made = copy.deepcopy(notebook)
    for cell in made["cells"]:
        if _is(cell, name):
            cell["cell_type"] = "markdown"
            cell.pop("outputs", None), cell.pop("execution_count", None)
    return made


def _bare(notebook: Notebook) -> Notebook:
    """What is left when an editor drops all metadata, tags and cells' names."""
    cells = [
        {key: value for key, value in cell.items() if key != "id"} | {"metadata": {}} for cell in notebook["cells"]
    ]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
