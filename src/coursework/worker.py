"""The program that runs in the jail: loads a submission's cells and calls its functions, as messages ask it to.

Standard library only, and nothing of coursework: it is alone in there with the student's code, which may change or
imitate all of it. Nothing here is trusted; `protocol` and `process` check what comes out.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import json
import linecache
import math
import os
import re
import sys
import threading
import types
from contextlib import suppress

TYPE_CHECKING = False  # as type checkers know it; the real one costs an import in every jail
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MAX_DEPTH = 32
MAX_MESSAGE = 500
MAX_DIGITS = 1000
MAGIC = re.compile(r"[ \t]*(%|!)")
# What a raised error of a call outside may be here; any other is a RuntimeError.
RAISED = (ValueError, TypeError, IndexError, KeyError, RuntimeError, AttributeError, ZeroDivisionError, OverflowError)


class NotPlain(Exception):
    """A value has no form that can be replied."""


class Confined:
    """The student's namespace and the channel to the outside."""

    def __init__(self, requests: int, replies: int, settings: dict[str, Any]) -> None:
        """Take the pipes, by their descriptors, and what else `process` says."""
        # Other names of the same pipes would be passed on to programs that the student starts.
        self._requests = os.fdopen(os.dup(requests), "rb", buffering=65536)
        self._replies = os.dup(replies)
        os.close(requests)
        os.close(replies)
        self._pid = os.getpid()
        self._turn = threading.RLock()
        self._limit = settings["reply_bytes"]
        self._memory_mb = settings["memory_mb"]
        self._framework = settings["framework"]
        self._now: int | None = None  # the call that is being answered
        self._cells: dict[str | None, str] = {}
        self._broken: dict[str, tuple[str, list[str]]] = {}
        # What the student's code takes for the main module, as dataclasses do; this one lives on in its functions.
        main = types.ModuleType("__main__")
        self._own, sys.modules["__main__"] = sys.modules["__main__"], main
        self.namespace = main.__dict__
        self.namespace.update(__builtins__=builtins, display=lambda *_, **__: None)

    def serve(self) -> None:
        """Answer requests until there are no more."""
        answer = {"import": self._import, "cell": self._cell, "define": self._define, "call": self._call}
        while line := self._requests.readline():
            message = json.loads(line)
            self._now = message["id"]
            reply = answer[message["do"]](message)
            with self._turn:  # a thread that was left behind may be waiting for an answer: that comes first
                self._now = None
                self._send({"id": message["id"], **reply})

    def _send(self, message: dict[str, Any]) -> None:
        if os.getpid() != self._pid:
            os._exit(0)  # a copy that the student's code forked and let return
        line = json.dumps(message, allow_nan=False, separators=(",", ":")).encode("ascii")
        if len(line) >= self._limit:
            error = f"The reply is longer than {self._limit // 1024} kB."
            line = json.dumps({"id": message["id"], "raised": ["error", error]}).encode("ascii")
        left = memoryview(line + b"\n")
        while left:
            left = left[os.write(self._replies, left) :]

    def _import(self, message: dict[str, Any]) -> dict[str, Any]:
        room(None)
        for name in message["names"]:
            with suppress(Exception):  # the cell that imports it says so better
                importlib.import_module(name)
        room(self._memory_mb)
        return {"gave": None}

    def _cell(self, message: dict[str, Any]) -> dict[str, Any]:
        name = message["name"]
        error = self._run(name, message["source"])
        for stream in (sys.__stdout__, sys.__stderr__):
            with suppress(Exception):  # closed by the cell
                stream.flush()  # type: ignore[union-attr]
        if error:
            self._broken[name] = message["source"], error
        return {"raised": error} if error else {"gave": None}

    def _define(self, message: dict[str, Any]) -> dict[str, Any]:
        error = self._run("the question's own code", message["source"])
        return {"raised": error} if error else {"gave": None}

    def _run(self, name: str, source: str) -> list[str] | None:
        """Run a cell; give its error."""
        filename = f"<{name}>"
        self._cells[filename] = name
        try:
            code = compiled(source, filename)
            linecache.cache[filename] = len(source), None, source.splitlines(keepends=True), filename
            exec(code, self.namespace)  # noqa: S102
        except BaseException as error:
            return self._told(error)
        return None

    def _call(self, message: dict[str, Any]) -> dict[str, Any]:
        name = message["function"]
        function = self.namespace.get(name)
        if function is None:
            return {"raised": self._missing(name)}
        try:
            args = [self._given(item) for item in message["args"]]
            kwargs = {key: self._given(item) for key, item in message["kwargs"].items()}
            gave = function(*args, **kwargs)
            return {"gave": self._plain(gave, 0, [self._limit])}
        except NotPlain as error:
            return {"raised": ["error", f"`{name}` gave {error}"]}
        except BaseException as error:
            return {"raised": self._told(error)}

    def _missing(self, name: str) -> list[str]:
        # A cell that broke before it came to the function says why the function is not there.
        for source, error in self._broken.values():
            if re.search(rf"\b{re.escape(name)}\b", source):
                return error
        return ["not attempted", f"`{name}` is not there"]

    def _told(self, error: BaseException) -> list[str]:
        """Give the kind of an error and a sentence: what, and where in the student's own cells."""
        kind = "not attempted" if isinstance(error, NotImplementedError) else "error"
        if isinstance(error, SystemExit):
            return [kind, "It ended the program (sys.exit, exit or quit)" + self._where(error)]
        if isinstance(error, MemoryError):
            return [kind, f"It ran out of memory (the limit is {self._memory_mb} MB)" + self._where(error)]
        name = type.__getattribute__(type(error), "__name__")
        if isinstance(error, SyntaxError):
            return [kind, f"{name}: {error.msg}{self._syntax(error)}"]
        try:
            text = str.__str__(str(error))[:MAX_MESSAGE]
        except BaseException:
            text = "(its message cannot be shown)"
        return [kind, (f"{name}: {text}" if text else name) + self._where(error)]

    def _where(self, error: BaseException) -> str:
        place, trace = "", error.__traceback__
        while trace:
            filename = trace.tb_frame.f_code.co_filename
            if filename in self._cells:
                line = linecache.getline(filename, trace.tb_lineno).strip()[:200]
                place = f", in line {trace.tb_lineno} of {self._cells[filename]}: {line}"
            trace = trace.tb_next
        return place

    def _syntax(self, error: SyntaxError) -> str:
        cell = self._cells.get(error.filename)
        line = (error.text or "").strip()[:200] if isinstance(error.text, str) else ""
        magic = " (commands for the notebook, such as %time or !ls, are not Python)" if MAGIC.match(line) else ""
        return (f", in line {error.lineno} of {cell}: {line}" if cell else "") + magic

    def _given(self, tree: Any) -> Any:
        """Give the value that a part of a request stands for."""
        if type(tree) is list:
            return [self._given(item) for item in tree]
        if type(tree) is dict:
            if "$array" in tree:
                return tensor(self._framework, *tree["$array"])
            if "$remote" in tree:
                call = self._now
                return Outside(lambda *asked: self._ask(call, *asked), *tree["$remote"])
            return {key: self._given(item) for key, item in tree.items()}
        return tree

    def _plain(self, value: Any, depth: int, left: list[int]) -> Any:  # noqa: PLR0911
        """Give the JSON form of a value; plain ones by their exact type only."""
        if depth > MAX_DEPTH:
            raise NotPlain(f"something nested more than {MAX_DEPTH} deep")
        left[0] -= 1
        if left[0] < 0:
            raise NotPlain("more than may be replied")
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            if value.bit_length() > MAX_DIGITS * 3.3:
                raise NotPlain(f"a whole number of more than {MAX_DIGITS - 10} digits")
            return value
        if kind is str:
            return text(value, left)
        if kind is float:
            if not math.isfinite(value):
                raise NotPlain(f"{value}, which is not a finite number")
            return value
        if kind is list or kind is tuple:
            return [self._plain(item, depth + 1, left) for item in value]
        if kind is dict:
            return {key_text(key, left): self._plain(item, depth + 1, left) for key, item in value.items()}
        if kind is Outside:
            return {"$remote": object.__getattribute__(value, "_number")}
        return array(value, left)

    def _ask(self, call: int | None, number: int, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Have a method of an object outside called."""
        with self._turn:
            if self._now != call:
                raise RuntimeError("the call that this object was given to is over")
            request = {
                "remote": [number, method],
                "args": [self._plain(item, 0, [self._limit]) for item in args],
                "kwargs": {key: self._plain(item, 0, [self._limit]) for key, item in kwargs.items()},
            }
            self._send({"id": self._now, **request})
            reply = json.loads(self._requests.readline())
        if "raise" in reply:
            name, message = reply["raise"]
            raise {kind.__name__: kind for kind in RAISED}.get(name, RuntimeError)(message)
        return self._given(reply["result"])


class Outside:
    """An object that stays outside; its methods are called there."""

    __slots__ = ("_ask", "_methods", "_number")

    def __init__(self, ask: Callable[..., Any], number: int, methods: list[str]) -> None:
        """Keep how it is asked, the number of its handle, and the methods that it has."""
        self._ask, self._number, self._methods = ask, number, methods

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Give a method."""
        if name not in self._methods:
            raise AttributeError(f"this object has no {name!r}; it has {', '.join(self._methods)}")
        return lambda *args, **kwargs: self._ask(self._number, name, args, kwargs)


def compiled(source: str, filename: str) -> types.CodeType:
    """Compile a cell; whole lines that are commands for the notebook are left out."""
    try:
        return compile(source, filename, "exec", dont_inherit=True)
    except SyntaxError as first:
        lines = source.splitlines()
        kept = ["" if MAGIC.match(line) and not line.startswith("%%") else line for line in lines]
        if kept == lines:
            raise
        try:
            return compile(ast.parse("\n".join(kept), filename), filename, "exec", dont_inherit=True)
        except SyntaxError:
            raise first from None


def text(value: str, left: list[int]) -> str:
    """Give a text, if it is one that can be written."""
    left[0] -= len(value)
    try:
        value.encode("utf8")
    except UnicodeEncodeError:
        raise NotPlain("a text with half a character in it") from None
    return value


def key_text(key: Any, left: list[int]) -> str:
    """Give a dictionary's key, if it may be one."""
    if type(key) is not str:
        raise NotPlain(f"a dictionary with a key of type {type(key).__name__}; keys must be of type str")
    if key.startswith("$"):
        raise NotPlain("a dictionary with a key that begins with $")
    return text(key, left)


def array(value: Any, left: list[int]) -> Any:
    """Give the JSON form of a framework's or NumPy's array or number."""
    torch, mxnet, numpy = (sys.modules.get(name) for name in ("torch", "mxnet", "numpy"))
    if torch and isinstance(value, torch.Tensor):
        value, dtype = value.detach().cpu(), str(value.dtype).removeprefix("torch.")
        size = value.numel()
    elif mxnet and isinstance(value, mxnet.nd.NDArray):
        size, dtype = value.size, importlib.import_module("numpy").dtype(value.dtype).name
        value = value.asnumpy() if size <= left[0] else value
    elif numpy and isinstance(value, numpy.generic):
        return number(value.item(), type(value).__name__)
    elif numpy and isinstance(value, numpy.ndarray):
        size, dtype = value.size, value.dtype.name
    else:
        raise NotPlain(
            f"a {type(value).__name__}; what can be replied is int, float, bool, str, list, dict, None or an array"
        )
    left[0] -= size
    if left[0] < 0:
        raise NotPlain(f"an array of {size} elements, which is more than may be replied")
    return {"$array": [list(value.shape), dtype, [number(item, dtype) for item in value.reshape(-1).tolist()]]}


def number(item: Any, dtype: str) -> Any:
    """Give a plain number, if it is one that JSON has."""
    if type(item) not in (int, float, bool):
        raise NotPlain(f"values of type {dtype}, which cannot be replied")
    if type(item) is float and not math.isfinite(item):
        raise NotPlain(f"an array or number with {item} in it, which is not finite")
    return item


def tensor(framework: str, shape: list[int], dtype: str, values: list[Any]) -> Any:
    """Make the framework's own tensor."""
    if framework == "pytorch":
        import torch  # type: ignore[import-not-found]

        return torch.tensor(values, dtype=getattr(torch, dtype)).reshape(shape)
    import mxnet  # type: ignore[import-not-found]

    return mxnet.np.array(values, dtype=dtype).reshape(tuple(shape))


def room(memory_mb: int | None) -> None:
    """Let address space grow by so much, or by all that may be: a framework's libraries alone map several GB."""
    import resource

    with suppress(ValueError, OSError):  # not every system has the one or the other
        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        if memory_mb is not None:
            with open("/proc/self/statm") as file:  # noqa: PTH123
                used = int(file.read().split()[0]) * resource.getpagesize()
            most = min(used + memory_mb * 1024 * 1024, most) if most >= 0 else most
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def confine(settings: dict[str, Any]) -> None:
    """Give up all rights that were only needed to get here, and set the limits for good."""
    import resource

    if settings["uid"] is not None:
        os.setgroups([])
        os.setresgid(*[settings["uid"]] * 3)
        os.setresuid(*[settings["uid"]] * 3)
    for name, most in settings["rlimits"].items():
        with suppress(ValueError, OSError):  # one that this system does not have, or that is lower already
            resource.setrlimit(getattr(resource, name), (most, most))


def main() -> None:
    """Run in the jail; the settings are the program's argument."""
    settings = json.loads(sys.argv[1])
    sys.argv[1:] = []
    # For what it prints there is always somebody who reads, line by line.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]
    sys.path[:0] = settings["path"]
    confine(settings)
    Confined(settings["requests"], settings["replies"], settings).serve()
    os._exit(0)  # threads that were left behind keep nobody waiting


if __name__ == "__main__":
    main()
