"""Find in a program's stack who made a call, and name the place for a reader. ``waits`` uses it."""

from __future__ import annotations

import functools
import linecache
import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

#: Packages in whose code a place says nothing to the reader: the frameworks, and what lies between them, us and Python.
_FRAMEWORKS = ("mxnet", "torch")
_PASSED_THROUGH = (*_FRAMEWORKS, "numpy", "asynclab", "importlib", "warnings")


@dataclass(frozen=True, order=True)
class Place:
    """A line of code.

    Attributes:
        file: The file as Python names it; of a notebook's cell a name that only means something to IPython.
        line: The number of the line, from 1.
        function: The function that it belongs to.
    """

    file: str
    line: int
    function: str = ""

    @property
    def text(self) -> str:
        """The line itself; empty if nobody has it."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        """Name the place as briefly as is clear: from here, in its package, or in its cell."""
        if cell := _cell(self.file):
            return f"line {self.line}" if self.file == _file_of_running_cell() else f"{cell}, line {self.line}"
        return f"{_shortened(self.file)}:{self.line}"


@dataclass(frozen=True)
class Caller:
    """Who made a call.

    Attributes:
        place: The innermost line outside of the frameworks.
        program: Where the program itself called, if that line belongs to an installed package.
        function: The function of a framework that was called there; empty if none is on the stack.
    """

    place: Place
    program: Place | None
    function: str


def find_caller() -> Caller:
    """Find who made the call in which this is called."""
    function, place = "", None
    for frame in _frames():
        package, here = package_of(frame), _place(frame)
        if place is None and package in _PASSED_THROUGH:
            function = _called(frame) if package in _FRAMEWORKS else function
        elif package not in _PASSED_THROUGH and not _installed(here.file):
            return Caller(place or here, place and here, function)
        else:
            place = place or here
    return Caller(place or Place("<unknown>", 0), None, function)


def _place(frame: FrameType) -> Place:
    return Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname.partition(".<locals>")[0])


def _called(frame: FrameType) -> str:
    """The name of what was called: of a method that makes or stands for an object, the name of its class."""
    name, arguments = frame.f_code.co_name, frame.f_locals
    if name in ("__init__", "__call__") and "self" in arguments:
        return type(arguments["self"]).__name__
    if name == "__array_function__":  # by which NumPy calls the framework's function of the same name
        return getattr(arguments.get("func"), "__name__", name)
    return name


def package_of(frame: FrameType) -> str:
    """Say to which package the code of a frame belongs; frameworks make some of theirs from text, without a file."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back


_PACKAGES = {"site-packages", "dist-packages"}


@functools.cache
def _libraries() -> tuple[str, ...]:
    """The folders of Python's own modules and of installed packages."""
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple({f"{sysconfig.get_path(name)}{os.sep}" for name in names})


@functools.cache
def _installed(file: str) -> bool:
    return file.startswith((*_libraries(), "<frozen ")) or not _PACKAGES.isdisjoint(Path(file).parts)


def _shortened(file: str) -> str:
    path = Path(file)
    for number, part in enumerate(path.parts):
        if part in _PACKAGES:
            return str(Path(*path.parts[number + 1 :]))
    for library in _libraries():
        if file.startswith(library):
            return file.removeprefix(library)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


#: What IPython 7, which Colab has kept, calls the file of a cell; it has no `format_code_name`.
_OLD_CELL = re.compile(r"<ipython-input-(\d+)-")


def _cell(file: str) -> str:
    """The name of a notebook's cell, such as "In[3]"; empty if the file is none."""
    if old := _OLD_CELL.match(file):
        return f"In[{old[1]}]"
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    named = getattr(shell.compile, "format_code_name", lambda _: None)(file) if shell else None
    return str(named[1]) if named else ""


def _file_of_running_cell() -> str:
    """The file of the cell that is being run in this thread; empty if none is."""
    files = [frame.f_code.co_filename for frame in _frames()]
    return next(filter(_cell, reversed(files)), "")
