"""``python -m asynclab waits``: a script runs as it does under Python itself, and a report follows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from books import REPOSITORY

#: Makes one blocking call, for which no framework is needed.
WAIT = "from asynclab import Engine\nengine = Engine()\nengine.submit(int).wait()\n"
HEAD = " s with all imports"

Done = subprocess.CompletedProcess
Run = Callable[..., "Done[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run the command, or Python itself, on a script with this text."""

    def run(
        text: str | bytes, *arguments: str, watched: bool = True, before: tuple[str, ...] = (), framework: str = "dev"
    ) -> Done[str]:
        script = tmp_path / "scripts" / "script.py"
        script.parent.mkdir(exist_ok=True)
        script.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())
        python = sys.executable if framework == "dev" else str(REPOSITORY / f".venv-{framework}/bin/python")
        command = [python, *(("-m", "asynclab", "waits", *before) if watched else ()), "scripts/script.py", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=120)

    return run


def script_part(done: Done[str]) -> str:
    """What stands before the report on standard error; fails unless there is exactly one report."""
    before = re.split(r"\nscripts/script\.py(?:, which ended with \w+)?: ", done.stderr)[0]
    assert done.stderr.count(HEAD) == 1, done.stderr
    return before


#: Scripts that must not notice: each prints what it sees of itself.
ORDINARY = {
    "names and arguments": """
        import sys, __main__
        print(__name__, __file__, sys.argv, sys.path[0], __doc__, __package__, __spec__)
        print(__main__.__file__ == __file__, sorted(name for name in globals() if name != '__annotations__'))
    """,
    "a neighbour": """
        import pathlib, sys
        pathlib.Path(__file__).with_name("neighbour.py").write_text("value = 7")
        from neighbour import value
        print(value)
    """,
    "its docstring and future": '''
        """What it is."""
        from __future__ import annotations
        def f(x: int) -> 1 / 0: ...
        print(__doc__, f.__annotations__)
    ''',
    "no future of ours": "def f(x: int): ...\nprint(f.__annotations__)",
    "pickle": """
        import pickle
        class Mine: ...
        print(type(pickle.loads(pickle.dumps(Mine()))) is Mine)
    """,
    "another folder": "import os\nos.chdir('/')\nprint(os.getcwd())",
    "exit": "import sys\nprint('before')\nsys.exit()",
    "exit 3": "import sys\nsys.exit(3)",
    "exit true": "import sys\nsys.exit(True)",
    "exit -1": "import sys\nsys.exit(-1)",
    "exit text": "import sys\nsys.exit('what a pity')",
    "error": "def f():\n    1 / 0\nf()",
    "chained error": "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise KeyError('x') from error",
    "error in a group": "raise ExceptionGroup('both', [ValueError(1), TypeError(2)])",
    "deep recursion": "def f(): f()\nf()",
    "excepthook": "import sys\nsys.excepthook = lambda *error: print('mine', error[0])\n1 / 0",
    "closed stdout": "import sys\nprint('x')\nsys.stdout.close()",
    "no stdout": "import sys\nprint('x', flush=True)\nsys.stdout = None",
    "syntax error": "def f(:\n    pass",
    "warning": "import warnings\nwarnings.warn('mind the gap')",
    "at exit": "import atexit\natexit.register(print, 'last')\nprint('first')",
    "thread": """
        import threading, time
        def work():
            time.sleep(0.2)
            print('thread')
        threading.Thread(target=work).start()
        print('script')
    """,
    "pool that nobody closes": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(2)
        print(pool.submit(int).result())
    """,
    "child by os": """
        import os, sys
        if (child := os.fork()) == 0:
            print('child', flush=True)
            sys.exit(5)
        print('parent', os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """,
    "children by multiprocessing": """
        import multiprocessing
        def work(x): return x + 1
        if __name__ == '__main__':
            for method in 'fork', 'spawn':
                with multiprocessing.get_context(method).Pool(1) as pool:
                    print(method, pool.map(work, [1, 2]))
    """,
}
NO_REPORT = ("syntax error",)


@pytest.mark.parametrize("text", ORDINARY.values(), ids=ORDINARY)
def test_a_script_does_not_notice(run, text, request):
    """It prints, fails and ends as under Python itself; after it comes one report."""
    plain, watched = run(text, "--report", "x", watched=False), run(text, "--report", "x")

    assert (watched.returncode, watched.stdout) == (plain.returncode, plain.stdout)
    if request.node.callspec.id in NO_REPORT:
        assert watched.stderr == plain.stderr
    else:
        assert told(script_part(watched)) == told(plain.stderr)


def told(text: str) -> str:
    """A traceback without the one thing that has to differ: how many calls were left for a recursion."""
    return re.sub(r"repeated \d+ more times", "repeated", text)


def test_what_is_no_text_is_refused_as_python_does(run):
    """A script with a null byte fails without a traceback of ours, and without a report."""
    done = run("x = 1\n\0")

    assert done.returncode == 1
    assert done.stderr.startswith("SyntaxError: source code")


@pytest.mark.parametrize(
    "arguments", [(), ("--", "a"), ("a", "--", "-h"), ("--report", "x"), ("-x=1", "", "a b", "--help")]
)
def test_all_arguments_behind_the_script_are_its_own(run, arguments):
    """Whatever they look like they arrive as they were given; so they do behind a "--" that ends ours."""
    expected = f"{list(arguments)}\n"

    assert run("import sys; print(sys.argv[1:])", *arguments).stdout == expected
    assert run("import sys; print(sys.argv[1:])", *arguments, before=("--",)).stdout == expected


@pytest.mark.parametrize("text", [b"\xef\xbb\xbfprint('\xc3\xa4')", b"# coding: latin-1\nprint('\xe4')"])
def test_a_script_may_have_a_mark_or_a_coding(run, text):
    """Both ways to say how a file is written are understood."""
    assert run(text).stdout == "ä\n"


def test_the_report_tells_the_wait(run):
    """The line, the call and the advice stand on standard error; standard output is the script's."""
    done = run(WAIT + "print('mine')")

    assert done.stdout == "mine\n"
    assert "scripts/script.py:3" in done.stderr
    assert "engine.submit(int).wait()" in done.stderr
    assert "Future.wait()" in done.stderr
    assert script_part(done) == ""


@pytest.mark.parametrize("end", ["sys.exit(3)", "sys.exit('text')", "1 / 0", "raise KeyboardInterrupt"])
def test_the_report_follows_whatever_the_end(run, end):
    """An exit, an error and an interrupt do not lose what was found before."""
    done = run(f"{WAIT}import sys\n{end}")

    assert "Future.wait()" in done.stderr
    assert done.stderr.count(HEAD) == 1


def test_an_interrupt_ends_with_what_shells_make_of_it(run):
    """The status is 130, after Python's own traceback."""
    done = run("raise KeyboardInterrupt")

    assert done.returncode == 130
    assert script_part(done) == run("raise KeyboardInterrupt", watched=False).stderr


def test_threads_and_what_is_registered_belong_to_the_script(run):
    """What they wait for after the last line of the script is found as well."""
    done = run(f"""\
import atexit, threading, time
{WAIT}
def later():
    time.sleep(0.2)
    engine.submit(int).wait()
threading.Thread(target=later, name='slow').start()
atexit.register(lambda: engine.submit(int).wait())
""")

    assert "scripts/script.py:8" in done.stderr
    assert "Future.wait() in slow" in done.stderr
    assert "scripts/script.py:10" in done.stderr


def test_what_a_forked_child_waits_for_is_its_own(run):
    """The child's calls are not in the report, and it writes none."""
    done = run(f"""\
import os, sys
{WAIT}
if (child := os.fork()) == 0:
    from asynclab import Engine
    with Engine() as own:
        own.submit(int).wait()
    sys.exit()
os.waitpid(child, 0)
""")

    assert done.returncode == 0
    assert script_part(done) == ""
    assert "script.py:4" in done.stderr
    assert "script.py:9" not in done.stderr


LOADERS = {
    "pytorch": """
        import torch

        class Data(torch.utils.data.Dataset):
            def __len__(self): return 8
            def __getitem__(self, i): return torch.tensor(float(torch.ones(1).item()))

        print(len([x for x in torch.utils.data.DataLoader(Data(), batch_size=4, num_workers=2)]))
        torch.ones(1).item()
    """,
    "mxnet": """
        from mxnet import gluon, np, npx
        npx.set_np()

        class Data(gluon.data.Dataset):
            def __len__(self): return 8
            def __getitem__(self, i): return float(np.ones(1).item())

        print(len([x for x in gluon.data.DataLoader(Data(), batch_size=4, num_workers=2)]))
        np.ones(1).item()
    """,
}


@pytest.mark.parametrize("framework", LOADERS)
def test_workers_that_load_data_make_no_report(run, framework):
    """They are processes of their own: one report is written, without their calls."""
    done = run(LOADERS[framework], framework=framework)

    assert (done.returncode, done.stdout) == (0, "2\n")
    assert script_part(done) == ""
    assert "script.py:9" in done.stderr
    assert "script.py:6" not in done.stderr


def test_an_error_inside_of_a_watched_call_shows_none_of_our_functions(run):
    """The traceback is that of Python itself, though the call that failed was being watched."""
    text = "import torch\ntry:\n    torch.ones(2).item()\nexcept RuntimeError:\n    bool(torch.ones(2) > 0)"

    assert script_part(run(text, framework="pytorch")) == run(text, framework="pytorch", watched=False).stderr


def test_the_report_may_go_to_a_file(run, tmp_path):
    """The file is the one that was named, wherever the script went since; standard error stays the script's."""
    done = run(WAIT + "import os\nos.chdir('/')", "--report", "mine", before=("--report", "found.txt"))

    assert (done.returncode, done.stderr) == (0, "")
    assert "Future.wait()" in (tmp_path / "found.txt").read_text("utf8")
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("nowhere.py",), "nowhere.py: No such file"),
        ((".",), "Is a directory"),
        (("--report", "no/such/folder", "scripts/script.py"), "folder: No such file"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_runs(run, tmp_path, arguments, complaint):
    """The message names it and says what to do; the status is 2."""
    run("", watched=False)  # writes the script
    (tmp_path / "scripts" / "script.py").write_text("print('ran')")
    command = [sys.executable, "-m", "asynclab", "waits", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert "Name a Python script" in done.stderr


def test_a_module_runs_as_python_runs_one(run, tmp_path):
    """With -m it has its package, its arguments and a report."""
    run("", watched=False)
    (tmp_path / "scripts" / "numbers_.py").write_text("N = 3")
    (tmp_path / "scripts" / "train.py").write_text(
        "import sys\nfrom .numbers_ import N\nfrom asynclab import Engine\nengine = Engine()\n"
        "engine.submit(int).wait()\nprint(N, sys.argv[1:], __name__, __package__)\n"
    )
    command = [sys.executable, "-m", "asynclab", "waits", "-m", "scripts.train", "-m", "x"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    assert done.stdout == "3 ['-m', 'x'] __main__ scripts\n"
    assert "scripts/train.py:5" in done.stderr
    assert (done.returncode, done.stderr.count(HEAD)) == (0, 1)


def test_a_module_that_is_missing_is_named(tmp_path):
    """As under Python itself the status is 1."""
    command = [sys.executable, "-m", "asynclab", "waits", "-m", "no_such_module"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    assert done.returncode == 1
    assert "No module named no_such_module" in done.stderr


def test_the_report_says_how_the_script_ended(run):
    """An error that nobody caught is named in the first line, so that an empty report is understood."""
    assert "scripts/script.py, which ended with ZeroDivisionError: " in run("1 / 0").stderr
    assert "scripts/script.py: " in run("raise SystemExit(1)").stderr


def test_a_script_that_waits_for_nothing_here_is_told_what_would_wait(run):
    """On a machine without a GPU the first line counts the calls of PyTorch that would wait on one."""
    done = run("import torch\nfor _ in range(3): torch.ones(2).sum().item()", framework="pytorch")

    assert f"{HEAD}; 3 calls would wait on a GPU\n" in done.stderr
    assert "(0 %)" not in done.stderr


def test_without_a_script_the_usage_is_told():
    """To name none is a mistake that is answered in a few lines."""
    done = subprocess.run([sys.executable, "-m", "asynclab", "waits"], capture_output=True, text=True)

    assert done.returncode == 2
    assert done.stderr.endswith("error: the following arguments are required: script\n")


def test_a_reader_who_leaves_does_not_cost_the_report(run, tmp_path):
    """Where standard output is a broken pipe the report comes all the same."""
    run("print('x' * 10)", watched=False)
    command = f"{sys.executable} -m asynclab waits scripts/script.py | true"
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
    done = subprocess.run(command, shell=True, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment)

    assert done.stderr.count(HEAD) == 1
