"""Cells that run in a kernel of another interpreter: a reader sees what an ordinary kernel would show."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from books import REPOSITORY
from outer_kernels import Kernel, environment, running

from asynclab.elsewhere import run_cells_elsewhere
from asynclab.errors import ElsewhereError

INNER = REPOSITORY / ".venv-mxnet" / "bin" / "python"
SET_UP = f"from asynclab.elsewhere import run_cells_elsewhere\nrun_cells_elsewhere({str(INNER)!r}, first='import json')"

#: Pythons and libraries of readers. The last two are what Colab had and has.
OUTER = {
    "3.11": ("3.11", "ipykernel"),
    "3.12": ("3.12", "ipykernel"),
    "3.13": ("3.13", "ipykernel"),
    "3.12, jupyter_client 6": (
        *("3.12", "ipykernel==6.17.1", "jupyter_client==6.1.12", "ipython==7.34.0", "pyzmq==25.1.2"),
    ),
    "3.12, jupyter_client 7": ("3.12", "ipykernel==6.17.1", "jupyter_client==7.4.9", "ipython==7.34.0"),
}
#: Cells by what they try, in the order in which they run.
CELLS = {
    "state": ["x = 41", "x += 1\nx"],
    "the interpreter": ["import sys\nsys.version_info[:2]"],
    "both streams in order": [
        "for i in range(3):\n    print('out', i, flush=True)\n    print('err', i, file=sys.stderr, flush=True)"
    ],
    "numbers of results": ["_ + (1,)", "sorted(Out)", "In[-2:], len(In)", "_i2"],
    "a silent result": ["x;"],
    "a display": [
        "from IPython.display import HTML, display\nhandle = display(HTML('<b>a'), display_id='d', metadata={'m': 1})",
        "handle.update(HTML('<b>b</b>'))",
        "display({'application/x-a+json': {'n': 1}, 'text/plain': 'p'}, raw=True)",
    ],
    "a cleared output": ["from IPython.display import clear_output\nprint(1)\nclear_output()\nprint(2)"],
    "a figure": ["import matplotlib.pyplot as plt\nplt.plot([1, 2], gid='line');", "plt.get_backend()"],
    "an error": ["def f():\n    return 1 / 0\n\nf()", "print('before')\nraise ValueError('a\\nb')", "%tb"],
    "an error of a class": ["class Own(Exception):\n    pass\n\nraise Own(1, 2)"],
    "an error in a display": ["class Bad:\n    def _repr_html_(self):\n        raise KeyError('k')\n\nBad()"],
    "a group of errors": ["raise ExceptionGroup('g', [ValueError(1)])"],
    "an error that goes on": ["try:\n    1 / 0\nexcept Exception:\n    get_ipython().showtraceback()\nprint('on')"],
    "leaving": ["import sys\nsys.exit(3)", "raise SystemExit"],
    "a syntax error": ["def f(:", "if True:\nx", "'''", "  x\n y"],
    "magics": [
        "%%time\n2",
        "!echo hi",
        "%who_ls int",
        "%nosuch",
        "%%nosuch\n1",
        "%timeit -n1 -r1 pass",
        "x = !echo a\nx",
    ],
    "a cell magic": ["%%capture c\nprint(1)", "c.stdout", "%%writefile /dev/null\nx", "%%elsewhere\n1"],
    "awaiting": ["import asyncio\nawait asyncio.sleep(0.01, 'woke')"],
    "no code": ["# nothing", "", " \n", "\n\n'third line'"],
    "code with prompts": [">>> x = 5\n>>> x\n", "In [1]: 7", "...\n8"],
    "odd characters": ["'\u2028\\x0c\"\"\"' + \"'''\\\\\"", "print('ü 😀 \\x00')", "s = '''\n  %time\n?'''\ns"],
    "help": ["x?", "int.bit_count??", "%time?"],
    "numbers after all that": ["1 / 0", "_ih[-1]"],
}


def scrubbed(value: Any) -> Any:
    """Outputs without what differs from one run to the next."""
    if isinstance(value, dict):
        return {name: scrubbed(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [scrubbed(entry) for entry in value]
    if not isinstance(value, str):
        return value
    value = re.sub(r"ipykernel_\d+|0x[0-9a-f]+", "N", value)
    return re.sub(r"[\d.e+]+ [mnμu]?s\b", "N s", value)


def joined(outputs: list[Any]) -> list[Any]:
    """Outputs in which neighbours of one stream are one: where it is cut is a matter of time."""
    found: list[Any] = []
    for output in outputs:
        if found and output["output_type"] == "stream" and output["name"] == found[-1].get("name"):
            found[-1] = {**found[-1], "text": found[-1]["text"] + output["text"]}
        else:
            found.append(output)
    return found


def by_behaviour(kernel: Kernel, first: str) -> dict[str, Any]:
    """Run the cells of all behaviours after a first one; numbers and outputs by behaviour."""
    cells = iter(kernel.notebook([first, *(cell for cells in CELLS.values() for cell in cells)])[1:])
    return {
        name: [
            (code, cell.execution_count, scrubbed(joined(cell.outputs)))
            for code, cell in zip(tried, cells, strict=False)
        ]
        for name, tried in CELLS.items()
    }


@pytest.fixture(scope="module")
def ordinary() -> dict[str, Any]:
    """What an ordinary kernel of the inner interpreter shows."""
    with running(INNER) as kernel:
        return by_behaviour(kernel, "import json")


@pytest.fixture(scope="module")
def outer(request: pytest.FixtureRequest) -> Iterator[Kernel]:
    """A reader's kernel."""
    with running(environment(*OUTER[request.param]), MPLBACKEND="agg", KEPT="yes") as kernel:
        yield kernel


@pytest.fixture(scope="module")
def shown(outer: Kernel) -> dict[str, Any]:
    """What the reader's kernel shows whose cells run elsewhere; its first cells."""
    return by_behaviour(outer, SET_UP)


@pytest.fixture
def reader(outer: Kernel) -> Kernel:
    """A reader's kernel whose cells run elsewhere."""
    assert outer.run(SET_UP).error == ""
    return outer


EVERY_OUTER = pytest.mark.parametrize("outer", OUTER, indirect=True, scope="module")
NEWEST = pytest.mark.parametrize("outer", ["3.13"], indirect=True, scope="module")
OLDEST = pytest.mark.parametrize("outer", ["3.12, jupyter_client 6"], indirect=True, scope="module")
NEWEST_AND_OLDEST = pytest.mark.parametrize("outer", ["3.13", "3.12, jupyter_client 6"], indirect=True, scope="module")


# As in an ordinary kernel


@EVERY_OUTER
@pytest.mark.parametrize("behaviour", CELLS)
def test_cells_show_what_an_ordinary_kernel_shows(ordinary: dict[str, Any], shown: dict[str, Any], behaviour: str):
    """Every output is the one of an ordinary kernel of the inner interpreter, byte by byte, under the same number."""
    assert shown[behaviour] == ordinary[behaviour]


@EVERY_OUTER
def test_a_figure_is_a_picture(shown: dict[str, Any]):
    """A figure of Matplotlib comes as PNG, whatever the outer kernel was told of backends."""
    (_, _, [output]), (_, _, [backend]) = shown["a figure"]

    assert "image/png" in output["data"]
    assert "inline" in backend["data"]["text/plain"]


@EVERY_OUTER
def test_the_outer_python_does_not_leak(reader: Kernel):
    """Variables of the outer Python stay behind, every other one comes along, and the folder is the same."""
    ran = reader.run(
        "import os; print(os.environ.get('PYTHONPATH'), os.environ['KEPT'], os.path.exists('connection.json'))"
    )

    assert ran.text == "None yes True\n"


@EVERY_OUTER
def test_setting_up_twice_changes_nothing(reader: Kernel):
    """The set-up cell may be run again: variables stay."""
    reader.run("kept = 1")
    again = reader.run(SET_UP)

    assert again.outputs == []
    assert reader.run("print(kept)").text == "1\n"


@EVERY_OUTER
def test_questions_are_asked_and_answered(reader: Kernel):
    """`input` and `getpass` ask through the reader's front end, after what was printed before."""
    ran = reader.run(
        "import getpass\nprint('first')\nname = input('Who? ')\nword = getpass.getpass('Word? ')\nprint(name, word)",
        answers=iter(["Ada", "secret"]),
    )

    assert "|".join(output.text for output in ran.outputs) == "first\n|Who? |Word? |Ada secret\n"


@EVERY_OUTER
def test_an_interrupt_ends_the_cell_and_keeps_the_state(reader: Kernel):
    """An endless loop is interrupted with the traceback of the loop; variables live on."""
    reader.run("kept = 2")
    ran = reader.run(
        "print('begun', flush=True)\nwhile True:\n    pass", at="begun", act=reader.manager.interrupt_kernel
    )

    assert ran.reply["ename"] == ran.outputs[-1].ename == "KeyboardInterrupt"
    assert "pass" in "".join(ran.outputs[-1].traceback)
    assert reader.run("print(kept)").text == "2\n"


@NEWEST_AND_OLDEST
def test_a_question_can_be_interrupted(reader: Kernel):
    """An interrupt while the reader is asked ends the cell; the next question is asked as usual."""

    def silence() -> Iterator[None]:
        reader.manager.interrupt_kernel()
        yield None

    ran = reader.run("input('Well? ')", answers=silence())

    assert ran.outputs[-1].ename == "KeyboardInterrupt"
    assert reader.run("print(input())", answers=iter(["in time"])).text.endswith("in time\n")


@OLDEST
def test_no_display_is_lost(reader: Kernel):
    """Thousands of displays come, in order, though ZeroMQ keeps a thousand."""
    ran = reader.run("from IPython.display import display\nfor i in range(8000):\n    display(i)")

    assert [output.data["text/plain"] for output in ran.outputs] == [str(i) for i in range(8000)]


@NEWEST
def test_output_waits_while_a_question_is_asked(reader: Kernel):
    """What a thread displays while the reader thinks comes afterwards, all of it."""

    def thinking() -> Iterator[str]:
        time.sleep(2)
        yield ""

    ran = reader.run(
        "import threading\nfrom IPython.display import display\n"
        "thread = threading.Thread(target=lambda: [display(i) for i in range(5000)])\n"
        "thread.start()\ninput()\nthread.join();",
        answers=thinking(),
    )

    shown = [output.data["text/plain"] for output in ran.outputs if output.output_type == "display_data"]
    assert shown == [str(i) for i in range(5000)]


@OLDEST
def test_a_long_text_comes_whole(reader: Kernel):
    """A hundred million characters come."""
    assert len(reader.run("print('x' * 10**8)").text) == 10**8 + 1


@NEWEST_AND_OLDEST
def test_threads_print_between_cells(reader: Kernel):
    """What a thread prints after its cell comes at once, and belongs to that cell."""
    reader.run("import threading, time\nprint(end='')")
    ran = reader.run("def late():\n    time.sleep(0.5)\n    print('late')\n\nthreading.Thread(target=late).start()")

    assert ran.outputs == []
    assert reader.printed_later()[0] == "late\n"


@NEWEST_AND_OLDEST
def test_names_are_completed_by_the_inner_kernel(reader: Kernel):
    """Tab completion knows the names, attributes and modules that are there."""
    reader.run("import json as only_there")

    def completed(code: str) -> list[str]:
        return reader.client.complete(code, reply=True, timeout=30)["content"]["matches"]

    assert "only_there" in completed("x = 1\nprint(only_th")
    assert [match.rpartition(".")[2] for match in completed("only_there.du")] == ["dump", "dumps"]


@NEWEST_AND_OLDEST
def test_a_cell_is_complete_or_not_as_ever(reader: Kernel):
    """A console still learns that a cell goes on."""
    reply = reader.client.is_complete("for i in x:")
    answer = reader.client.get_shell_msg(timeout=10)

    assert answer["parent_header"]["msg_id"] == reply
    assert answer["content"]["status"] == "incomplete"


# The end of the inner kernel


@EVERY_OUTER
def test_the_end_of_the_inner_kernel_is_told(reader: Kernel):
    """The cell that ended it and every later one say what happened and what to do; the set-up cell mends it."""
    ended = reader.run("import os, time\nprint('said', flush=True)\ntime.sleep(0.3)\nos._exit(3)")
    later = reader.run("1")

    told = (
        f"The kernel that ran this notebook's cells ({INNER}) ended with status 3. "
        "Run the notebook's first cell again to start another, then the cells that you need."
    )
    assert (ended.text, ended.error, later.error) == ("said\n", told, told)
    assert later.outputs[-1].traceback == [f"ElsewhereError: {told}"]
    assert reader.run(SET_UP).error == ""
    assert reader.run("print('os' in dir(), json.__name__)").text == "False json\n"


@NEWEST_AND_OLDEST
def test_too_little_memory_is_told(reader: Kernel):
    """A kernel that the system killed is told with the likely reason."""
    assert (
        "killed by SIGKILL, most likely because memory ran out."
        in reader.run("import os; os.kill(os.getpid(), 9)").error
    )


@NEWEST_AND_OLDEST
@pytest.mark.parametrize("code", ["exit", "quit()"])
def test_exit_is_told(reader: Kernel, code: str):
    """`exit` ends the inner kernel and says so; the outer one stays."""
    ran = reader.run(code)

    assert "ended with status 0. Run the notebook's first cell again" in ran.text
    assert ran.reply["payload"] == []
    assert "ended with status 0" in reader.run("1").error


@NEWEST_AND_OLDEST
def test_cells_can_run_here_again(reader: Kernel):
    """After `run_cells_here_again` cells run in the outer kernel, and the other process is gone."""
    reader.run("import os\nprint(os.getpid())")
    inner = int(reader.run("print(os.getpid())").text)
    reader.run("from asynclab.elsewhere import run_cells_here_again\nrun_cells_here_again()")
    ran = reader.run("import os\nprint(os.getpid())\nraise ValueError(1)")

    assert (int(ran.text), ran.error) != (inner, "")
    assert not alive(inner)
    assert reader.client.complete("reader", reply=True, timeout=30)["content"]["status"] == "ok"


def alive(pid: int) -> bool:
    """Whether a process is there; waits a moment for its end."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    return True


# Starting and ending


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[Path]:
    """A folder for temporary files, empty and with a short path."""
    folder = Path(tempfile.mkdtemp(prefix="e", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("how", ["shutdown", "kill"])
def test_nothing_outlives_the_outer_kernel(temporary: Path, tmp_path: Path, how: str):
    """The inner kernel ends with the outer one, in order at a restart, at once when that is killed; no file is left."""
    with running(environment(*OUTER["3.11"]), TMPDIR=str(temporary)) as kernel:
        kernel.run(SET_UP)
        pid = int(kernel.run("import os; print(os.getpid())").text)
        kernel.run(f"import atexit, pathlib\natexit.register(pathlib.Path({str(tmp_path)!r}, 'in order').touch)")
        files = list(temporary.iterdir())
        if how == "kill":
            # Holds the GIL: such a kernel cannot notice by itself that the other is gone.
            kernel.client.execute("import ctypes; ctypes.PyDLL(None).sleep(60)")
            time.sleep(0.5)
        kernel.manager.shutdown_kernel(now=how == "kill")

        assert not alive(pid)
        assert (tmp_path / "in order").exists() == (how == "shutdown")
        assert files == list(temporary.iterdir()) == []


def test_an_interrupted_start_leaves_nothing(temporary: Path):
    """An interrupt while the inner kernel starts is a KeyboardInterrupt; no process and no file is left."""
    slow = temporary / "slow"
    slow.write_text(f"#!/bin/sh\necho $$ > {temporary}/pid\nsleep 60\n")
    slow.chmod(0o755)
    with running(environment(*OUTER["3.11"]), TMPDIR=str(temporary)) as kernel:
        ran = kernel.run(
            f"from asynclab.elsewhere import *\nprint('begun', flush=True)\nrun_cells_elsewhere({str(slow)!r})",
            at="begun",
            act=lambda: (time.sleep(1), kernel.manager.interrupt_kernel()),
        )

        assert ran.outputs[-1].ename == "KeyboardInterrupt"
        assert not alive(int((temporary / "pid").read_text()))
        assert {path.name for path in temporary.iterdir()} == {"slow", "pid"}
        assert kernel.run("print('here')").text == "here\n"


def test_what_does_not_start_is_told(tmp_path: Path):
    """A path that is no interpreter, an environment without ipykernel, and code that fails are told apart."""
    venv.create(tmp_path / "bare", symlinks=True)
    with running(environment(*OUTER["3.11"])) as kernel:

        def error(arguments: str) -> str:
            return kernel.run(f"from asynclab.elsewhere import *\nrun_cells_elsewhere({arguments})").error

        assert error("'/no/python'").startswith(
            "run_cells_elsewhere: there is no interpreter at /no/python.\nGive the path"
        )
        assert (
            "did not start: it ended with status 1. It said: ModuleNotFoundError: No module named 'ipykernel'\n"
            in error(repr(str(tmp_path / "bare" / "bin" / "python")))
        )
        assert f"the code to run first failed in {INNER}: ZeroDivisionError: division by zero\n" in error(
            f"{str(INNER)!r}, first='1 / 0'"
        )
        assert kernel.run("print('here')").text == "here\n"


def test_only_notebooks_have_cells_to_run_elsewhere():
    """Out of a Jupyter kernel there is an error, in a terminal's IPython as well."""
    code = f"from asynclab.elsewhere import *; run_cells_elsewhere({sys.executable!r})"
    done = subprocess.run([sys.executable, "-m", "IPython", "-c", code], capture_output=True, text=True, timeout=60)

    assert "ElsewhereError: run_cells_elsewhere: this is no cell of a Jupyter notebook" in done.stdout + done.stderr
    with pytest.raises(ElsewhereError, match="this is no cell of a Jupyter notebook"):
        run_cells_elsewhere(sys.executable)
