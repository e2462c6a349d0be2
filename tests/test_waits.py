"""The waits of real programs: each is found, at its line, as often as it was made; and nothing else is.

What needs a GPU is in ``test_waits_cuda``, what takes times in ``test_waits_times``.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from typing import Any

import pytest
from books import REPOSITORY
from interpreters import FRAMEWORKS
from planted import found_in, planted, told_by

from asynclab import Engine, Future, TracedEngine, waits
from asynclab.importing import when_imported

MXNET = """\
import pickle

import numpy
from mxnet import gluon, np, npx

from asynclab import waits

npx.set_np()
numbers, x, v = numpy.ones((4, 4), dtype="float32"), np.ones((4, 4)), np.ones(4)
mask = x > 0
network = gluon.nn.Dense(2)
network.initialize()
network(x)


def several():
    for each in v:
        yield each.item()  #: item() x 4


with waits() as found:
    np.array(numbers)  #: array()
    x[:] = numbers  #: x[...] = y
    x[mask]  #: x[mask]
    np.unique(v)  #: unique()
    np.nonzero(v)  #: nonzero()
    np.where(mask)  #: where()
    np.delete(v, 1)  #: delete()
    if x[0, 0] > 0:  #: bool(x)
        float(v[0])  #: float(x)
    v[0].item()  #: item()
    x.asnumpy()  #: asnumpy()
    v.tolist()  #: tolist()
    f"{v[0]:.2f}"  #: format(x)
    print(np.dot(x, x))  #: print(x)
    results = [x + 1 for _ in range(40)]
    results[0].wait_to_read()  #: wait_to_read()
    npx.waitall()  #: waitall()
    x[[0, 1]]  #: x[y] x 2
    list(several())
    sum(float(each) for each in v)  #: float(x) x 4
    np.allclose(v, v)  #: allclose() x 2
    network.save_parameters("/dev/null")  #: save_parameters()
    pickle.dumps(v)  #: copy or pickle of x
    network.hybridize()
    network(x)
    x.astype("float64")
    x.reshape(2, 8)
    np.zeros((2, 2))
    x + 1
    x[0]
    x[:] = 1
    x[0] = v
    np.where(mask, x, x)
    repr(network)
"""

PYTORCH = """\
import copy

import numpy
import torch

from asynclab import waits


class Told(torch.Tensor):
    names = []

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        cls.names.append(function.__name__)
        return super().__torch_function__(function, types, args, kwargs or {})


class Loud(torch.Tensor):
    def item(self):
        return super().item()  #: item()


@torch.compile(backend="eager", fullgraph=True)
def compiled(x):
    return torch.nonzero(x[0]) * x[..., :1].sum()


x, v = torch.ones(4, 4), torch.ones(4)
mask = x > 0
network = torch.nn.Linear(4, 2)
optimizer = torch.optim.Adam(network.parameters())
data = torch.utils.data.TensorDataset(x, v)

with waits() as found:
    v[0].item()  #: item()
    if v[0] > 0:  #: bool(x)
        float(v[0])  #: float(x)
    int(v[0])  #: int(x)
    range(v[0].int())  #: int(x)
    v.tolist()  #: tolist()
    f"{v[0]:.2f} {v[1]}"  #: format(x) x 2
    v.numpy()  #: numpy()
    numpy.asarray(v)  #: numpy()
    v.cpu()  #: cpu()
    torch.equal(v, v), v.equal(v)  #: equal() x 2
    torch.allclose(v, v), v.allclose(v)  #: allclose() x 2
    torch.nonzero(v), v.nonzero(), torch.nonzero(input=v)  #: nonzero() x 3
    torch.argwhere(v), v.argwhere()  #: argwhere() x 2
    torch.unique(v), x.unique(dim=0)  #: unique() x 2
    torch.unique_consecutive(v), torch.bincount(v.int())  #: unique_consecutive(); bincount()
    torch.where(mask), torch.where(condition=mask)  #: where() x 2
    torch.where(mask, x, x)
    torch.masked_select(x, mask), x.masked_select(mask)  #: masked_select() x 2
    x[mask], x[0, mask[0]]  #: x[mask] x 2
    sum(each.item() for each in v)  #: item() x 4
    v[0].as_subclass(Loud).item()
    v.as_subclass(Told)[0].tolist()  #: tolist()
    assert Told.names[:2] == ["__getitem__", "tolist"], Told.names
    print(v), f"{v}"
    x[0], x[0, 1:], x[..., 0], x[[0, 1]], x[torch.tensor([0, 1])]
    v.to("cpu"), x.to(v), x.to(torch.float64)
    network(x).sum().backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()
    list(torch.utils.data.DataLoader(data, shuffle=True, batch_size=2))
    copy.deepcopy(network)
    repr(network)
    compiled(x)
"""

#: The same for both frameworks. No function of Python's own lies between a line that reads and the framework.
FACTS = """\
import contextlib
import json
import operator
import sys
import threading
import traceback

from asynclab import waits

facts = {}
if sys.prefix.endswith("pytorch"):
    import torch
    from d2l import torch as d2l

    v, read = torch.ones(4), operator.methodcaller("tolist")
    owners = torch.Tensor, torch, torch._C.TensorBase

    def failing():
        torch.ones(2).item()

    scores, labels = torch.ones(2, 2), torch.ones(2)
else:
    import mxnet
    from d2l import mxnet as d2l
    from mxnet import np, npx

    npx.set_np()
    v, read = np.ones(4), operator.methodcaller("tolist")
    owners = (mxnet.base._LIB, mxnet.nd.NDArray, np.ndarray)

    def failing():
        x = np.random.normal(0, -1, (2, 2))
        y = x + 1
        y.asnumpy()

    scores, labels = np.ones((2, 2)), np.ones(2)

d2l_accuracy = lambda: d2l.Accumulator(1).add(scores.sum() > 0)
told = lambda found: [[each.line, each.call, each.count] for each in found.calls]
state = lambda: [dict(vars(owner)) for owner in owners]


def failure():
    try:
        failing()
    except Exception as error:
        at = [step.lineno for step in traceback.extract_tb(error.__traceback__) if step.filename == __file__]
        return [type(error).__name__, str(error).splitlines()[-1][:60], at]


failure(), read(v)
before = state()
with waits() as outer:
    with waits() as inner:
        read(v)
    read(v)
facts["nested"] = [told(outer), told(inner)]
facts["restored"] = [before == state()]

with contextlib.suppress(ZeroDivisionError), waits() as found:
    read(v)
    1 / 0
facts["restored"].append(before == state())

unwatched = failure()
with waits() as found:
    watched = failure()
facts["failures"] = [unwatched, watched, len(found.calls)]

with waits() as found:
    thread = threading.Thread(target=lambda: read(v), name="helper")
    thread.start(), thread.join()
facts["threads"] = told(found)

first, second = waits(), waits()
one = first.__enter__()
other = second.__enter__()
first.__exit__(None, None, None)
read(v)
second.__exit__(None, None, None)
facts["overlapping"] = [told(one), told(other), before == state()]


def suspended():
    with waits() as found:
        yield found


generator = suspended()
found = next(generator)
with waits():
    read(v)
del generator
facts["generator"] = [told(found), before == state()]


def deep(levels):
    return deep(levels - 1) if levels else read(v)


with waits() as found:
    deep(200)
facts["recursion"] = told(found)

with waits() as found:
    d2l_accuracy()
facts["package"] = [[str(each.place).rpartition(":")[0], each.call, each.program.line] for each in found.calls]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module", params=FRAMEWORKS)
def facts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a program with a framework found out about itself."""
    return told_by(request.param, tmp_path_factory.mktemp("facts"), FACTS)


def line_of(part: str, number: int = 1) -> int:
    """The line of the program above in which something stands for that time."""
    return [line for line, text in enumerate(FACTS.splitlines(), 1) if part in text][number - 1]


@pytest.mark.parametrize(("framework", "program"), [("mxnet", MXNET), ("pytorch", PYTORCH)])
def test_each_planted_wait_is_found_and_nothing_else(framework, program, tmp_path):
    """In MXNet all that waits is found; in PyTorch on a CPU the documented calls, if the program makes them."""
    assert found_in(framework, tmp_path, program) == planted(program)


def test_of_nested_blocks_each_sees_what_happens_in_it_once(facts):
    """A block within a block takes nothing away from it."""
    inside, after = line_of("        read(v)"), line_of("    read(v)", 2)

    outer, inner = facts["nested"]
    assert sorted(outer) == [[inside, "tolist()", 1], [after, "tolist()", 1]]
    assert inner == [[inside, "tolist()", 1]]


def test_everything_is_put_back(facts):
    """The frameworks are as they were after a block, also after one that fails."""
    assert facts["restored"] == [True, True]


def test_a_failing_operation_fails_as_it_does_unwatched(facts):
    """The error is the same, and comes at the same line; the call that raised it was noted."""
    unwatched, watched, calls = facts["failures"]

    assert unwatched is not None
    assert watched[:2] == unwatched[:2]
    assert watched[2][1:] == unwatched[2][1:]
    assert calls == 1


def test_waits_of_other_threads_are_named_after_them(facts):
    """A call of a thread that the block starts is found and says which thread made it."""
    assert facts["threads"] == [[line_of('name="helper"'), "tolist() in helper", 1]]


def test_blocks_may_overlap(facts):
    """Blocks that end in another order than they began see what is theirs, and everything is put back."""
    assert facts["overlapping"] == [[], [[line_of("read(v)", 6), "tolist()", 1]], True]


def test_a_block_in_a_generator_ends_with_it(facts):
    """A block that is suspended goes on watching; when it is dropped everything is put back."""
    assert facts["generator"] == [[[line_of("read(v)", 7), "tolist()", 1]], True]


def test_recursion_counts_once(facts):
    """A call from the depth of a recursion is one call, of the line that made it."""
    assert facts["recursion"] == [[line_of("def deep") + 1, "tolist()", 1]]


def test_a_place_in_a_package_names_the_line_of_the_program_as_well(facts):
    """d2l's Accumulator calls float: that is where it waits, and the program's own line is told."""
    assert len(facts["package"]) == 1
    place, call, line = facts["package"][0]
    assert place.startswith("d2l/")
    assert call == "float(x)"
    assert line == line_of("d2l_accuracy = ")


@pytest.mark.parametrize(
    ("framework", "module", "statement"),
    [("mxnet", "mxnet", "mxnet.np.ones(2).tolist()"), ("pytorch", "torch", "torch.ones(2).tolist()")],
)
def test_a_framework_that_the_block_imports_is_watched(framework, module, statement, tmp_path):
    """Its import may come late, by whatever way; its loader is as it was, and a second import adds nothing."""
    program = f"""\
import importlib, importlib.util, json, sys
from asynclab import waits
before = list(sys.meta_path)
with waits() as outer, waits() as found:
    importlib.util.find_spec({module!r})
    import {module}
    {statement}
facts = [[each.line, each.call] for each in found.calls]
print(json.dumps([facts, outer.count, "exec_module" in vars({module}.__loader__), before == sys.meta_path]))
"""
    assert told_by(framework, tmp_path, program) == [[[7, "tolist()"]], 1, False, True]


def test_an_import_that_fails_is_tried_again(tmp_path, monkeypatch):
    """What is done when a module has been imported is done once, after the import that succeeds."""
    done: list[str] = []
    (tmp_path / "fickle.py").write_text("import os\nif 'FICKLE' in os.environ:\n    raise RuntimeError('not yet')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("FICKLE", "1")
    with when_imported("fickle", lambda: done.append("fickle")):
        with pytest.raises(RuntimeError, match="not yet"):
            import fickle
        monkeypatch.delenv("FICKLE")
        import fickle
    del sys.modules["fickle"]
    import fickle  # noqa: F401

    assert done == ["fickle"]


def test_an_import_that_outlasts_the_block_changes_nothing(tmp_path, monkeypatch):
    """What comes after an import is not done for a block that is over by then."""
    done: list[str] = []
    block = contextlib.ExitStack()
    (tmp_path / "slow.py").write_text("import block\nblock.close()\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "block", block)
    block.enter_context(when_imported("slow", lambda: done.append("slow")))
    import slow  # noqa: F401

    assert done == []


@pytest.mark.parametrize("make", [Engine, TracedEngine])
def test_the_teaching_engine_is_watched(make):
    """Its waits are found, each of them once; those that found everything done say so."""
    gate = threading.Event()
    before = [dict(vars(owner)) for owner in (Future, Engine)]
    with waits() as found:
        with make() as engine:
            future = engine.submit(gate.wait)
            threading.Timer(0.05, gate.set).start()
            future.wait()
            future.wait()
            engine.submit(threading.Event().wait, 0.05)
            engine.wait_all()
            engine.submit(threading.Event().wait, 0.05)
        with make():
            pass

    assert [(each.call, each.count, each.ready) for each in sorted(found.calls, key=lambda each: each.line)] == [
        ("Engine.close()", 1, 0),
        ("Future.wait()", 1, 0),
        ("Future.wait()", 1, 1),
        ("Engine.wait_all()", 1, 0),
        ("Engine.close()", 1, 1),
    ]
    assert found.waited_s > 0.1
    assert [dict(vars(owner)) for owner in (Future, Engine)] == before


def test_what_the_program_replaces_itself_is_left_to_it(monkeypatch):
    """A function that it puts in the place of a watched one stays there after the block."""
    monkeypatch.setattr(Future, "wait", Future.wait)
    with waits():
        Future.wait = mine = Future.done

    assert vars(Future)["wait"] is mine


def test_a_thread_that_runs_nothing_of_the_program_is_told_as_well():
    """Where no line of the program is on the stack the innermost line outside of the frameworks has to do."""
    with Engine() as engine:
        future = engine.submit(int)
        future.wait()
        with waits() as found:
            thread = threading.Thread(target=future.wait, name="bare")
            thread.start()
            thread.join()

    assert [(each.call, each.file, each.program) for each in found.calls] == [
        ("Future.wait() in bare", threading.__file__, None)
    ]
    assert str(found.calls[0].place).startswith("threading.py:")


def test_waits_at_once_in_many_threads_are_all_counted():
    """Nothing is lost when threads note at the same time, while other blocks come and go."""
    with Engine() as engine:
        future = engine.submit(int)
        future.wait()

        def wait_often():
            for _ in range(300):
                with waits():
                    future.wait()

        before = dict(vars(Future))
        with waits() as found:
            threads = [threading.Thread(target=wait_often) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    assert found.count == 1200
    assert dict(vars(Future)) == before


def test_a_forked_child_notes_nothing():
    """It takes the watch along, but what it does is its own: it must not even wait for the lock of a lost thread."""
    with Engine() as engine:
        future = engine.submit(int)
        future.wait()
        with waits() as found:
            if (child := os.fork()) == 0:
                future.wait()
                os._exit(found.count)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            future.wait()

    assert (status, found.count) == (0, 1)


def test_in_a_notebook_the_cell_is_named():
    """The cell that runs is not named, another one is by its number."""
    program = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("from asynclab import Engine, waits\\nengine = Engine()", store_history=True)
shell.run_cell("def work():\\n    engine.submit(int).wait()", store_history=True)
shell.run_cell("with waits() as found:\\n    work()\\n    engine.wait_all()\\n"
               "print(sorted((each.call, str(each.place)) for each in found.calls))", store_history=True)
shell.run_cell("print(sorted((each.call, str(each.place)) for each in found.calls))", store_history=True)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=REPOSITORY)

    assert done.stdout.splitlines() == [
        "[('Engine.wait_all()', 'line 3'), ('Future.wait()', 'In[2], line 2')]",
        "[('Engine.wait_all()', 'In[3], line 3'), ('Future.wait()', 'In[2], line 2')]",
    ], done.stderr


def test_the_table_and_the_advice_say_what_was_found(monkeypatch, tmp_path):
    """Both name the call; the table the place and the line as well; without calls it says so."""
    with Engine() as engine, waits() as found:
        engine.submit(threading.Event().wait, 0.02).wait()
    with waits() as nothing:
        pass

    assert "Future.wait()" in str(found)
    assert "engine.submit(threading" in str(found)
    assert "test_waits.py:" in str(found)
    assert found.advice().startswith("Future.wait(): waits on purpose.\n    Keep one")
    assert (str(nothing), nothing.advice()) == ("no blocking calls", "")


def test_what_would_wait_elsewhere_is_told_apart(tmp_path):
    """Without a GPU a call of PyTorch is a barrier that did not wait; one of the engine is one that did."""
    told = told_by(
        "pytorch",
        tmp_path,
        """
        import json, time
        import torch
        from asynclab import Engine, waits
        with Engine() as engine, waits() as found:
            torch.ones(2).sum().item()
            engine.submit(time.sleep, 0.02).wait()
        print(json.dumps([[e.call, e.elsewhere, e.waited, e.is_barrier, e.waited_s > 0] for e in found]))
        """,
    )

    assert told == [["Future.wait()", False, True, True, True], ["item()", True, False, True, False]]


def test_a_wait_inside_of_a_framework_is_told_apart(tmp_path):
    """Who calls a function of the framework that waits inside is not told to drop a barrier of their own."""
    told = told_by(
        "mxnet",
        tmp_path,
        """
        import json
        from mxnet import gluon, np, npx
        from asynclab import waits
        npx.set_np()
        with waits() as found:
            gluon.data.ArrayDataset(np.ones(2))
            np.ones(2).sum().item()
        print(json.dumps(sorted({(e.call, e.kind.name) for e in found})))
        """,
    )

    assert ["ArrayDataset()", "inside"] in told
    assert ["item()", "number"] in told


def test_a_line_of_a_package_names_its_function(tmp_path):
    """Its file and number say little to a reader, its function more."""
    program = """
    import torch
    from d2l import torch as d2l
    from asynclab import waits
    with waits() as found:
        d2l.accuracy(torch.ones(2, 2), torch.ones(2))
    import json
    print(json.dumps(str(found)))
    """

    assert "accuracy: re" in told_by("pytorch", tmp_path, program)


def test_what_was_found_can_be_gone_through():
    """It has a length and gives each call, the most expensive first."""
    with Engine() as engine, waits() as found:
        for seconds in (0, 0.02):
            engine.submit(threading.Event().wait, seconds).wait()
        engine.wait_all()

    assert len(found) == 2
    assert [each.call for each in found] == ["Future.wait()", "Engine.wait_all()"]
