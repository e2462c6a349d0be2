"""Submissions that try to cheat, to break out or to hold up grading, and what each deserves; see `main`."""

# ruff: noqa: E501 - a line of a submission is a line

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coursework import Question, Remote, Student, Verdict, agree, failed, passed
from coursework.jail import Jail
from coursework.judge import judge
from coursework.model import Limits

LIMITS = Limits(call_s=1.5, total_s=15, memory_mb=256, reply_kb=256, output_kb=16, processes=24)
SECRET = "the-answer-is-fortytwo"

# Each says in which process namespace it lived, so that one can look whether anything is left in it.
_PRELUDE = """
import os
print("namespace", os.readlink("/proc/self/ns/pid"))
"""
_HONEST = "def g(x):\n    return 3 * x"
# Finds the pipe by which replies leave: what every submission is assumed to be able to.
_CHANNEL = """
import gc, os, json
def reply(line):
    for thing in gc.get_objects():
        if type(thing).__name__ == "Confined":
            os.write(thing._replies, line)
            return thing._now
"""


@dataclass(frozen=True)
class Case:
    """A submission.

    Attributes:
        name: What it does.
        source: Its cell ``f``; an honest one ``g`` follows.
        f: The outcomes that question f, which wants ``f(2) == 4``, may have.
        g: The same for question g, which is answered honestly.
        says: What the message of question f says.
    """

    name: str
    source: str
    f: tuple[str, ...]
    g: tuple[str, ...] = ("passed",)
    says: str = ""

    @property
    def call_s(self) -> float:
        """Its time limit for a call: what no clock has to end gets time for it, also beside other tests."""
        return LIMITS.call_s if "timeout" in self.f else 4 * LIMITS.call_s


def _f(*lines: str, before: str = "") -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f"{before}\ndef f(x):\n{body}\n"


def _raw(expression: str, after: str = "return 4") -> str:
    return _f(f"reply({expression})", after, before=_CHANNEL)


CASES = [
    Case("right", _f("return 2 * x"), ("passed",)),
    Case("wrong", _f("return 2.0 * x"), ("failed",)),
    Case("sleeps_on_load", "import time\ntime.sleep(60)\n" + _f("return 4"), ("timeout",)),
    Case("loops", _f("while True:", "    pass"), ("timeout",)),
    Case(
        "ignores_signals",
        _f(
            "for n in range(1, 60):",
            "    try:",
            "        signal.signal(n, signal.SIG_IGN)",
            "    except (OSError, ValueError):",
            "        pass",
            "while True:",
            "    try:",
            "        time.sleep(60)",
            "    except BaseException:",
            "        pass",
            before="import signal, time",
        ),
        ("timeout",),
    ),
    Case("ends_at_once", _f("os._exit(0)", before="import os"), ("crashed",)),
    Case("ends_on_load", "import os\nos._exit(0)\n" + _f("return 4"), ("crashed",)),
    Case("exits", _f("sys.exit(0)", before="import sys"), ("error",), says="ended the program"),
    Case("exits_on_load", "exit()\n" + _f("return 4"), ("error",), says="ended the program"),
    Case("segfaults", _f("ctypes.string_at(0)", before="import ctypes"), ("crashed",)),
    Case("recurses", _f("return f(x)"), ("error",), says="RecursionError"),
    Case(
        "recurses_without_limit",
        _f("return f(x)", before="import sys\nsys.setrecursionlimit(10**9)"),
        ("error", "crashed", "timeout"),
    ),
    Case(
        "fork_bomb",
        _f(
            "while True:",
            "    try:",
            "        os.fork()",
            "    except OSError:",
            "        pass",
            before="import os",
        ),
        ("timeout", "crashed", "error"),
    ),
    Case(
        "daemon",
        _f(
            "if os.fork() == 0:",
            "    os.setsid()",
            "    if os.fork() == 0:",
            "        for fd in range(3): os.close(fd)",
            "        while True: time.sleep(60)",
            "    os._exit(0)",
            "return 4",
            before="import os, time",
        ),
        ("passed",),
    ),
    Case(
        "child_holds_the_pipe",
        _f("if os.fork() == 0:", "    time.sleep(60)", "os._exit(0)", before="import os, time"),
        ("crashed",),
    ),
    Case("both_return_from_fork", _f("os.fork()", "return 4", before="import os"), ("passed",)),
    Case("stops_itself", _f("os.kill(os.getpid(), signal.SIGSTOP)", before="import os, signal"), ("timeout", "failed")),
    Case(
        "closes_everything",
        _f("os.closerange(0, 256)", "return 4", before="import os"),
        ("crashed", "error", "timeout"),
    ),
    Case(
        "thread_left",
        _f("threading.Thread(target=time.sleep, args=(60,)).start()", "return 4", before="import threading, time"),
        ("passed",),
    ),
    Case(
        "busy_threads_left",
        _f(
            "for _ in range(3): threading.Thread(target=spin, daemon=True).start()",
            "return 4",
            before="import threading\ndef spin():\n    while True: pass",
        ),
        ("passed",),
    ),
    Case("asks_for_input", _f("return int(input('4? '))"), ("error",), says="EOFError"),
    Case(
        "kills_its_parent",
        _f("os.kill(os.getppid(), 9)", "return 4", before="import os"),
        ("passed", "crashed", "error"),
    ),
    Case("kills_all", _f("os.kill(-1, 9)", "os.kill(0, 15)", "return 4", before="import os"), ("crashed", "error")),
    Case("huge_line", _raw("b'x' * (1 << 20) + b'\\n'"), ("error",), says="longer than"),
    Case("endless_line", _f("while True: reply(b'x' * 5000)", before=_CHANNEL), ("error", "timeout")),
    Case("half_a_line", _raw("b'{\"id\": 1'", "import time; time.sleep(60)"), ("timeout",)),
    Case("torn_line", _raw("b'{\"id\": 1'"), ("error",), says="no JSON"),
    Case("deep_json", _raw("b'{\"id\":5,\"gave\":' + b'['*100000 + b']'*100000 + b'}\\n'"), ("error",), says="no JSON"),
    Case("nan", _raw('b\'{"id":5,"gave":NaN}\\n\''), ("error",), says="no JSON"),
    Case("infinity", _raw('b\'{"id":5,"gave":1e999}\\n\''), ("error",), says="no JSON"),
    Case("key_twice", _raw('b\'{"id":5,"gave":3,"gave":4}\\n\''), ("error",), says="no JSON"),
    Case("forged_id", _raw('b\'{"id":99,"gave":4}\\n\''), ("error",), says="nobody had asked"),
    Case("forged_message", _raw("b'[1, 2]\\n'"), ("error",), says="no message"),
    Case("forged_kind", _raw("b'\\xff\\xfe\\n'"), ("error",), says="no JSON"),
    Case(
        "surrogate",
        _raw("json.dumps({'id': reply(b''), 'gave': '\\ud800'}).encode() + b'\\n'"),
        ("error",),
        says="half a character",
    ),
    Case(
        "digits",
        _raw("json.dumps({'id': reply(b''), 'gave': 0}).encode()[:-2] + b'9' * 5000 + b'}\\n'"),
        ("error",),
        says="digits",
    ),
    Case(
        "forged_array",
        _raw("json.dumps({'id': reply(b''), 'gave': {'$array': [[10**30], 'float32', [1.0]]}}).encode() + b'\\n'"),
        ("error",),
        says="array",
    ),
    Case(
        "forged_error",
        _raw("json.dumps({'id': reply(b''), 'raised': ['passed', 'x' * 50000 + '\\x00\\ud800']}).encode() + b'\\n'"),
        ("error",),
        ("error",),
    ),
    Case(
        "calls_what_it_was_not_given",
        _raw("json.dumps({'id': reply(b''), 'remote': [0, '__init__'], 'args': [], 'kwargs': {}}).encode() + b'\\n'"),
        ("error",),
        says="not given",
    ),
    Case("nan_replied", _f("return float('nan')"), ("error",), says="finite"),
    Case("huge_reply", _f("return [4] * 10**6"), ("error",), says="more than"),
    Case("long_text", _f("return 'x' * 10**7"), ("error",), says="longer than"),
    Case("deep_reply", _f("y = x", "for _ in range(5000): y = [y]", "return y"), ("error",), says="nested"),
    Case("round_reply", _f("y = []", "y.append(y)", "return y"), ("error",), says="nested"),
    Case("big_number", _f("return 10 ** 5000"), ("error",), says="digits"),
    Case("surrogate_replied", _f("return '\\ud800'"), ("error",), says="half a character"),
    Case(
        "always_equal",
        _f("return Always()", before="class Always:\n    def __eq__(self, other): return True\n    __hash__ = None"),
        ("error",),
        says="Always",
    ),
    Case(
        "number_of_its_own",
        _f("return Mine(5)", before="class Mine(int):\n    def __eq__(self, other): return True\n    __hash__ = None"),
        ("error",),
        says="Mine",
    ),
    Case(
        "text_of_its_own",
        _f("return Mine('4')", before="class Mine(str):\n    def __eq__(self, o): return True"),
        ("error",),
    ),
    Case(
        "false_class",
        _f("return Mine()", before="class Mine:\n    __class__ = int\n    def __index__(self): return 4"),
        ("error",),
    ),
    Case("pickle", _f("return pickle.dumps(4)", before="import pickle"), ("error",), says="bytes"),
    Case(
        "error_that_hangs",
        _f("raise Bad()", before="class Bad(Exception):\n    def __str__(self):\n        while True: pass"),
        ("timeout",),
    ),
    Case(
        "error_that_raises",
        _f("raise Bad()", before="class Bad(Exception):\n    def __str__(self): raise Bad()"),
        ("error",),
        says="Bad",
    ),
    Case("long_error", _f("raise ValueError('x' * 10**7)"), ("error",)),
    Case("marks_in_error", _f("raise ValueError('\\x00\\x1b[31m\\ud800<script>')"), ("error",)),
    Case(
        "patches_the_worker",
        _f("return 5", before="import json, builtins\njson.dumps = lambda *a, **k: 'x'\njson.loads = lambda *a: 4"),
        ("error", "crashed"),
        ("error", "crashed", "timeout", "passed"),
    ),
    Case("prints_much", _f("for _ in range(60): print('x' * 10**6)", "return 4"), ("passed",)),
    Case("writes_much_at_once", _f("sys.stderr.write('y' * 10**8)", "return 4", before="import sys"), ("passed",)),
    Case(
        "noise",
        _f("print('\\x00\\ud800', file=sys.stderr)", "warnings.warn('w')", "return 4", before="import sys, warnings"),
        ("passed",),
    ),
    Case(
        "fills_the_folder",
        _f(
            "for folder in ('/tmp', '/dev/shm', '/', '/dev', '/var/tmp', os.getcwd()):",
            "    try:",
            "        for number in range(8):",
            "            with open(f'{folder}/fill{number}', 'wb') as file:",
            "                for _ in range(50): file.write(bytes(1 << 20))",
            "        return 'no limit in ' + folder",
            "    except OSError:",
            "        pass",
            "return 4",
            before="import os",
        ),
        ("passed",),
    ),
    Case(
        "opens_many_files",
        _f(
            "kept = []",
            "try:",
            "    while True: kept.append(open('/dev/null'))",
            "except OSError:",
            "    return 4 if len(kept) < 256 else len(kept)",
        ),
        ("passed",),
    ),
    Case(
        "starts_many_processes",
        _f(
            "for count in range(100):",
            "    try:",
            "        if os.fork() == 0: time.sleep(60)",
            "    except OSError:",
            "        return 4 if count < 24 else count",
            "return count",
            before="import os, time",
        ),
        ("passed",),
    ),
    Case("takes_memory", _f("y = []", "while True: y.append(bytearray(1 << 24))"), ("error", "crashed"), says="memory"),
    Case(
        "takes_memory_by_children",
        _f(
            "for _ in range(8):",
            "    if os.fork() == 0:",
            "        y = bytearray(b'x') * (100 << 20)",
            "        time.sleep(60)",
            "time.sleep(60)",
            before="import os, time",
        ),
        ("crashed",),
        says="memory",
    ),
    Case(
        "raises_its_limits",
        _f(
            "r.setrlimit(r.RLIMIT_AS, (r.getrlimit(r.RLIMIT_AS)[1],) * 2)",
            "y = bytearray(b'x') * (1 << 30)",
            "time.sleep(60)",
            before="import resource as r, time",
        ),
        ("crashed",),
        says="memory",
    ),
    Case(
        "takes_what_no_limit_counts",
        _f(
            "libc = ctypes.CDLL(None, use_errno=True)",
            "if libc.unshare(0x10020000) == 0: return 'a namespace of its own'",
            "if libc.memfd_create(b'x', 0) >= 0: return 'a file in memory'",
            "if libc.shmget(0, 1 << 28, 0o1600) >= 0: return 'shared memory'",
            "if libc.ptrace(16, 1, 0, 0) == 0: return 'ptrace'",
            "if libc.mount(b'x', b'/tmp', b'tmpfs', 0, 0) == 0: return 'mount'",
            "if libc.setuid(0) == 0 and os.getuid(): return 'root'",
            "one, other = socket.socketpair()",
            "one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)",
            "if one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) > 1 << 20: return 'large buffers'",
            "try: return str(socket.socket())",
            "except OSError: return 4",
            before="import ctypes, os, socket",
        ),
        ("passed",),
    ),
    Case(
        "writes_into_the_first_process",
        _f(
            "if os.getpid() == 1: return 4",
            "for name in ('mem', 'environ', 'syscall', 'root/tmp', 'fd/0'):",
            "    try:",
            "        os.close(os.open('/proc/1/' + name, os.O_RDWR if name == 'mem' else os.O_RDONLY))",
            "        return name",
            "    except OSError: pass",
            "return 4",
            before="import os",
        ),
        ("passed",),
    ),
    Case(
        "seeks_the_network",
        _f(
            "for family, address in ((socket.AF_INET, ('127.0.0.1', PORT)), (socket.AF_INET, ('8.8.8.8', 53)), (40, (2, 1))):",
            "    try:",
            "        s = socket.socket(family, socket.SOCK_STREAM)",
            "        s.settimeout(0.2)",
            "        s.connect(address)",
            "        return 'reached'",
            "    except OSError:",
            "        pass",
            "names = [name for _, name in socket.if_nameindex()]",
            "return 4 if names in ([], ['lo']) else names",
            before="import socket",
        ),
        ("passed",),
    ),
    Case(
        "reads_what_is_not_its_own",
        _f(
            "found = []",
            "for top in ('/', '/proc/1/root', '/proc/self/root'):",
            "    for folder, folders, files in os.walk(top):",
            "        folders[:] = [d for d in folders if d not in ('usr', 'proc', 'sys', 'lib', 'lib64', 'bin') and '.venv' not in d and 'site-packages' not in d and not d.startswith('3.')]",
            "        found += [os.path.join(folder, n) for n in files if n in ('planted.txt', 'checks.py', 'judge.py', 'shadow')]",
            "for pid in [n for n in os.listdir('/proc') if n.isdigit()]:",
            "    for name in ('environ', 'cmdline', 'maps'):",
            "        try:",
            "            if SECRET in open(f'/proc/{pid}/{name}', 'rb').read().decode(errors='replace'): found.append(pid + name)",
            "        except OSError: pass",
            "    try:",
            "        if pid not in ('1', str(os.getpid())): open(f'/proc/{pid}/mem', 'r+b'); found.append(pid + 'mem')",
            "    except OSError: pass",
            "found += [name for name, value in os.environ.items() if SECRET in value]",
            "for place in (PLANTED, '/tmp/link'):",
            "    try:",
            "        if place == '/tmp/link': os.symlink(PLANTED, place)",
            "        found.append(open(place).read())",
            "    except OSError: pass",
            "return found or 4",
            before="import os",
        ),
        ("passed",),
    ),
    Case("reads_the_tests", "from coursework import judge\n" + _f("return 4"), ("error",), says="ModuleNotFoundError"),
    Case(
        "changes_its_program",
        _f(
            "for path in ('/jail/worker.py', '/jail/packages/asynclab/__init__.py', os.__file__, '/etc/passwd', sys.executable):",
            "    try:",
            "        open(path, 'a').close()",
            "        return path",
            "    except OSError:",
            "        pass",
            "return 4",
            before="import os, sys",
        ),
        ("passed",),
    ),
    Case(
        "reads_ours_by_a_descriptor",
        _f(
            "import os",
            "return 4 if all(not os.path.exists(f'/proc/{p}/fd/{n}/../../etc/shadow') for p in (1, os.getpid()) for n in range(64)) else 'read'",
        ),
        ("passed",),
    ),
]


class Counter:
    """An object that stays outside."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, by: int = 1) -> int:
        """Count."""
        self.count += by
        return self.count


def ask_f(student: Student) -> Verdict:
    """Ask f."""
    gave = student.call("f", 2)
    return passed() if agree(gave, 4) else failed("not 4", private=repr(gave)[:200])


def ask_g(student: Student) -> Verdict:
    """Ask g, with an object outside besides."""
    student.define("def with_counter(counter):\n    return counter.add() + counter.add(by=2)")
    counter = Counter()
    total = student.call("with_counter", Remote(counter, ("add",)))
    right = agree(student.call("g", 3), 9) and agree(total, 4) and counter.count == 3
    return passed() if right else failed("not 9")


QUESTIONS = [Question("f", "Doubles", 1, ask_f), Question("g", "Trebles", 1, ask_g)]


def run(case: Case, python: Path, kind: str, port: int, planted: Path) -> dict[str, Any]:
    """Grade a case; tell what came of it and what is left of it."""
    source = f"PORT, PLANTED, SECRET = {port}, {str(planted)!r}, {SECRET[::-1]!r}[::-1]\n{case.source}"
    answers = {"prelude": _PRELUDE, "f": source, "g": _HONEST}
    judged = judge(QUESTIONS, answers, "pytorch", replace(LIMITS, call_s=case.call_s), Jail(python, kind))
    (_, f, f_s), (_, g, _) = judged.verdicts
    return {
        "f": f.outcome,
        "g": g.outcome,
        "message": f.message,
        "g_message": g.message,
        "private": f.private,
        "seconds": f_s,
        "output": judged.output,
        "ended": time.clock_gettime(time.CLOCK_BOOTTIME),
    }


def run_all(python: Path, kind: str = "bubblewrap", *, cases: list[Case] = CASES) -> dict[str, Any]:
    """Grade all cases, several at a time; tell besides what reached the network, and what is left of them."""
    reached = []
    os.environ["COURSE_SECRET"] = SECRET

    def accept() -> None:
        with contextlib.suppress(OSError):  # closed at the end
            reached.append(server.accept())

    with socket.create_server(("127.0.0.1", 0)) as server, tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        planted = Path(folder, "planted.txt")
        planted.write_text(SECRET)
        threading.Thread(target=accept, daemon=True).start()
        port = server.getsockname()[1]
        with ThreadPoolExecutor(4) as pool:
            results = pool.map(lambda case: run(case, python, kind, port, planted), cases)
            found = dict(zip([case.name for case in cases], results, strict=True))
        left = _left(list(found.values()))
        return {"cases": found, "reached": len(reached), "left": left}


def _left(results: list[dict[str, Any]]) -> list[str]:
    """Give the processes that are left in the namespaces in which submissions lived."""
    namespaces = {
        line.split()[1]: result["ended"]
        for result in results
        for line in result["output"].splitlines()
        if line.startswith("namespace pid:")
    }
    until = time.monotonic() + 10
    while (left := _living_in(namespaces)) and time.monotonic() < until:
        time.sleep(0.1)
    return left


def _living_in(namespaces: dict[str, float]) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            ended = namespaces.get(str((process / "ns" / "pid").readlink()), 0.0)
            began = int((process / "stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        except OSError:
            continue
        # The number of a namespace that is gone is used again, by jails of other tests, whose processes began later.
        if began <= ended:
            found.append(process.name)
    return found


def main() -> None:
    """Grade all cases with the interpreter that the argument names, and print what came of it as JSON."""
    print(json.dumps(run_all(Path(sys.argv[1]))))


if __name__ == "__main__":
    main()
