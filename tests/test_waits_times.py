"""How long waits are said to take, measured behind a queue of products in MXNet."""

from __future__ import annotations

from typing import Any

import pytest
from planted import told_by

#: Times are taken here: nothing else may run beside.
pytestmark = pytest.mark.alone

PROGRAM = """\
import json
import time

import numpy
from mxnet import np, npx

from asynclab import waits

npx.set_np()
numbers, v, one = numpy.ones((4, 4), dtype="float32"), np.ones(4), np.ones((1, 1))
x, mask = np.ones((4, 4)), np.ones((4, 4)) > 0
large, factor = np.ones((4000, 4000)), np.ones((700, 700))
npx.waitall()


def block():
    for _ in range(3):
        np.dot(factor, factor)


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


barriers = {
    "array()": lambda: np.array(numbers),
    "x[...] = y": lambda: x.__setitem__(slice(None), numbers),
    "x[mask]": lambda: x[mask],
    "unique()": lambda: np.unique(v),
    "nonzero()": lambda: np.nonzero(v),
    "bool(x)": lambda: bool(one > 0),
    "float(x)": lambda: float(one + 1),
    "item()": lambda: (one + 1).item(),
    "asnumpy()": lambda: (v + 1).asnumpy(),
    "tolist()": lambda: (v + 1).tolist(),
    "print(x)": lambda: str(np.dot(x, x)),
    "wait_to_read()": lambda: [v + 1 for _ in range(40)][0].wait_to_read(),
    "waitall()": npx.waitall,
    "x[y]": lambda: x[[0, 1]],
    "copy or pickle of x": lambda: (v + 1).__reduce__(),
}
facts = {"barriers": {}, "ready": {}}
block(), npx.waitall()
facts["blocker"] = min(seconds(lambda: (block(), npx.waitall())) for _ in range(3))
for name, call in barriers.items():
    npx.waitall()
    block()
    with waits() as found:
        call()
    facts["barriers"][name] = [[each.call, each.waited, each.waited_s] for each in found.calls]
npx.waitall()
y = np.dot(x, x)
y.wait_to_read()
for name, call in {"print(x)": lambda: str(y), "waitall()": npx.waitall, "asnumpy()": large.asnumpy}.items():
    with waits() as found:
        taken = seconds(lambda: [call() for _ in range(5)])
    facts["ready"][name] = [[each.call, each.count, each.ready, each.waited_s / taken] for each in found.calls]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the program measured."""
    return told_by("mxnet", tmp_path_factory.mktemp("times"), PROGRAM)


def test_behind_a_queue_each_barrier_is_said_to_have_waited_for_it(facts):
    """Each of them is found alone, and its time is at least half of what the queue took."""
    assert facts["blocker"] > 0.005
    for name, found in facts["barriers"].items():
        assert [(call, waited) for call, waited, _ in found] == [(name, True)]
        assert found[0][2] >= facts["blocker"] / 2, name


def test_what_was_ready_did_not_wait(facts):
    """It is listed with as many calls that found it ready, and the copying itself is no waiting."""
    for name, found in facts["ready"].items():
        assert [tuple(each[:3]) for each in found] == [(name, 5, 5)]
        assert found[0][3] == 0
