"""Timelines: what profilers and the teaching engine tell, sorted into lanes, drawn and described."""

from __future__ import annotations

import json
import operator
import sys
import threading
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from interpreters import run_in

from asynclab import AsynclabError, Span, Timeline, TracedEngine, TracingError, mark, trace
from asynclab.lanes import described
from asynclab.profilers import Lanes, read_mxnet, read_torch, uppermost

#: Times are taken here: nothing else may run beside.
pytestmark = pytest.mark.alone

WORKER, OTHER_WORKER, CALLER = 8074, 9533, 3946

#: What programs below print of a timeline: for each lane, its names in order.
NAMES = (
    "import json; names = lambda t: json.dumps({lane: [s.name for s in spans] for lane, spans in t.lanes.items()})\n"
)


@pytest.fixture
def engine() -> Iterator[TracedEngine]:
    """An engine that can be traced, which ends after its test."""
    with TracedEngine() as engine:
        yield engine


def torch_event(cat: str, name: str, ts: float, dur: float, external: int = 0, **args: int) -> dict[str, Any]:
    """An event as PyTorch exports it; times in microseconds."""
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "args": {"External id": external, **args}}


def mxnet_event(cat: str, name: str, times: tuple[int, int], thread: int, phases: str) -> list[dict[str, Any]]:
    """An event as MXNet dumps it, in two parts; times in microseconds."""
    return [
        {"name": name, "cat": cat, "ph": phase, "ts": ts, "pid": 0, "tid": thread}
        for phase, ts in zip(phases, times, strict=True)
    ]


def operator_of(name: str, start: int, end: int, thread: int = WORKER) -> list[dict[str, Any]]:
    """An operator as MXNet dumps it: for its device and, a moment shorter, once more."""
    twice = mxnet_event("operator", name, (start, end - 1), thread, "be")
    return mxnet_event("operator", name, (start, end), thread, "BE") + twice


def call(name: str, start: int, end: int) -> list[dict[str, Any]]:
    """A call of MXNet's interface as MXNet dumps it."""
    counter = {"name": "MXNet C API Calls", "cat": "MXNET_C_API", "ph": "C", "ts": start, "tid": CALLER, "args": {}}
    return [counter, *mxnet_event("MXNET_C_API", name, (start, end), CALLER, "be")]


def dumped(*events: list[dict[str, Any]], first: bool = True) -> str:
    """What MXNet has written after a dump that was not the last: the end is missing, later also the start."""
    head = '{\n    "traceEvents": [\n' + json.dumps({"ph": "M", "args": {"name": "cpu/0"}, "name": "process_name"})
    return (head if first else "") + "".join(f",\n\n{json.dumps(part)}" for event in events for part in event) + "\n"


def rounded(lanes: Lanes) -> dict[str, list[tuple[str, int, int]]]:
    """Lanes with times in whole microseconds."""
    return {
        lane: [(span.name, round(1e6 * span.start_s), round(1e6 * span.end_s)) for span in spans]
        for lane, spans in lanes.items()
    }


def names(timeline: Timeline) -> dict[str, list[str]]:
    """The names of the spans of each lane, in order."""
    return {lane: [span.name for span in spans] for lane, spans in timeline.lanes.items()}


# --- what the profilers say ---------------------------------------------------------------------


def test_spans_within_another_are_left_out():
    """Of an operator that is made of others, only the whole is shown; what merely touches or overlaps stays."""
    whole, part, end = Span("linear", 0, 5), Span("t", 0, 1), Span("addmm", 4, 5)
    after, across = Span("relu", 5, 7), Span("sum", 6, 8)

    assert uppermost([end, across, part, after, whole]) == [whole, after, across]


def test_pytorch_on_a_cpu_has_one_lane():
    """Without kernels the frontend computes itself: operators without their parts, and what the program annotated."""
    events = [
        {"ph": "M", "name": "process_name", "args": {"name": "python"}},
        torch_event("Trace", "PyTorch Profiler (0)", 900, 500),
        torch_event("cpu_op", "aten::matmul", 1000, 50),
        torch_event("cpu_op", "aten::mm", 1010, 30),
        torch_event("user_annotation", "Optimizer.step#SGD.step", 1060, 9),
        torch_event("cpu_op", "autograd::engine::evaluate_function: MmBackward0", 1070, 10),
        torch_event("cpu_op", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 1090, 5),
    ]

    lanes = read_torch({"baseTimeNanoseconds": 2_000_000, "traceEvents": events}, zero_ns=3_000_000)

    assert rounded(lanes) == {
        "frontend and backend": [
            ("matmul", 0, 50),
            ("Optimizer.step#SGD.step", 60, 69),
            ("MmBackward0", 70, 80),
            ("AccumulateGrad", 90, 95),
        ]
    }


def test_pytorch_on_a_gpu_has_a_lane_of_kernels():
    """A kernel has the name of the operator that Python called; a synchronisation is a wait."""
    events = [
        torch_event("cpu_op", "aten::matmul", 0, 20, 1),
        torch_event("cpu_op", "aten::mm", 5, 14, 2),
        torch_event("cuda_runtime", "cudaLaunchKernel", 10, 5, 2, correlation=7),
        torch_event("cuda_runtime", "cudaDeviceSynchronize", 30, 1000, 0, correlation=8),
        torch_event("gpu_user_annotation", "step", 40, 900),
        torch_event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 35, 5, 99, device=0, stream=7),
        torch_event("kernel", "void at::native::vectorized<4, float>(int)", 990, 10, 98, device=0, stream=7),
        torch_event("kernel", "void cutlass::Kernel2<sgemm>(Params)", 50, 900, 2, device=0, stream=7),
    ]

    lanes = read_torch({"traceEvents": events})

    assert rounded(lanes) == {
        "frontend": [("matmul", 0, 20), ("wait", 30, 1030)],
        "backend": [("Memcpy HtoD", 35, 40), ("matmul", 50, 950), ("vectorized", 990, 1000)],
    }


@pytest.mark.parametrize(
    ("places", "lanes"),
    [
        ([(0, 13), (0, 7)], ["backend, stream 13", "backend, stream 7"]),
        ([(0, 7), (1, 7)], ["backend, device 0, stream 7", "backend, device 1, stream 7"]),
    ],
)
def test_each_stream_has_a_lane(places: list[tuple[int, int]], lanes: list[str]):
    """In the order in which they began to work; the device is named where there are several."""
    kernels = [
        torch_event("kernel", "k", 10 * index, 5, device=device, stream=stream)
        for index, (device, stream) in enumerate(places)
    ]

    assert list(read_torch({"traceEvents": kernels[::-1]})) == ["frontend", *lanes]


@pytest.mark.parametrize("first", [True, False])
def test_mxnet_has_a_lane_of_calls_and_one_of_operators(first: bool):
    """Housekeeping and questions are left out, and operators are not counted twice, whichever dump it is."""
    dump = dumped(
        operator_of("_np_dot", 1050, 1950),
        operator_of("DeleteVariable", 1955, 1957),
        operator_of("WaitForVar", 1958, 1960),
        operator_of("_npi_add_scalar", 1960, 1980),
        call("MXImperativeInvokeEx", 1000, 1040),
        call("MXNDArrayFree", 1041, 1042),
        call("MXAutogradBackwardEx", 1043, 1044),
        call("MXNDArrayWaitToRead", 1045, 1990),
        call("MXNDArraySyncCopyToCPU", 1991, 1995),
        operator_of("DeleteVariable", 1996, 1998, CALLER),
        first=first,
    )

    assert rounded(read_mxnet(dump, zero_ns=1_000_000)) == {
        "frontend": [("call", 0, 40), ("backward", 43, 44), ("wait", 45, 990), ("wait", 991, 995)],
        "backend": [("dot", 50, 950), ("add_scalar", 960, 980)],
    }


def test_each_worker_of_mxnet_has_a_lane():
    """They are numbered in the order in which they began to work."""
    dump = dumped(
        operator_of("exp", 1020, 1030, OTHER_WORKER),
        operator_of("_np_dot", 1010, 1050, WORKER),
        call("MXImperativeInvokeEx", 1000, 1005),
    )

    assert rounded(read_mxnet(dump, zero_ns=1_000_000)) == {
        "frontend": [("call", 0, 5)],
        "backend, worker 1": [("dot", 10, 50)],
        "backend, worker 2": [("exp", 20, 30)],
    }


def test_mxnet_without_a_worker_has_one_lane():
    """With NaiveEngine the thread that calls computes: its operators are shown instead of the calls around them."""
    dump = dumped(
        operator_of("_np_dot", 1010, 1090, CALLER),
        call("MXImperativeInvokeEx", 1000, 1100),
        call("MXNDArrayWaitAll", 1110, 1111),
    )

    (lane,) = read_mxnet(dump, zero_ns=1_000_000).items()

    assert (lane[0], sorted(span.name for span in lane[1])) == ("frontend and backend", ["dot", "wait"])


def test_calls_of_mxnet_within_calls_end_first():
    """Each end belongs to the last beginning of its thread."""
    outer, inner = call("MXImperativeInvokeEx", 1000, 1100), call("MXNDArrayWaitAll", 1010, 1090)

    lanes = read_mxnet(dumped(outer[:2], inner, outer[2:]), zero_ns=1_000_000)

    assert rounded(lanes) == {"frontend": [("wait", 10, 90), ("call", 0, 100)]}


def test_dump_without_events_is_a_timeline_of_nothing():
    """A function that does nothing has a lane all the same."""
    assert read_mxnet(dumped()) == {"frontend": []}


# --- real traces --------------------------------------------------------------------------------


def test_real_trace_of_pytorch_on_a_cpu():
    """One lane of operators in order; a mark stands between them, and the profiler writes nothing to the terminal."""
    printed = run_in(
        "pytorch",
        NAMES
        + """
import time, torch
from asynclab import mark, trace

a = torch.ones(300, 300)
def work():
    b = a @ a
    with mark("host work"):
        time.sleep(0.02)
    (b + 1).sum()

for _ in range(2):
    timeline = trace(work)
    print(names(timeline))
(lane,) = timeline.lanes.values()
assert lane[0].start_s == 0
assert all(a.start_s < a.end_s <= b.start_s for a, b in zip(lane, lane[1:]))
assert 0.02 <= lane[1].end_s - lane[1].start_s < 5
assert timeline.duration_s == lane[-1].end_s
""",
        CUDA_VISIBLE_DEVICES="",
    )

    lanes = {"frontend and backend": ["matmul", "host work", "add", "sum"]}
    assert [json.loads(line) for line in printed.splitlines()] == [lanes, lanes]


def test_real_trace_of_mxnet():
    """Calls return while operators wait; the frontend's last wait ends after the backend's last operator."""
    printed = run_in(
        "mxnet",
        NAMES
        + """
from mxnet import np, npx
from asynclab import trace

npx.set_np()
a = np.ones((1000, 1000))
def work():
    for _ in range(3):
        b = np.dot(a, a)
    b.wait_to_read()

work()
for _ in range(2):
    timeline = trace(work)
    print(names(timeline))
frontend, backend = timeline.lanes.values()
assert frontend[2].end_s < backend[-1].start_s, "three calls have returned before the third product began"
assert frontend[0].start_s == 0 < backend[0].start_s
assert frontend[3].end_s >= backend[-1].end_s
assert all(a.end_s <= b.start_s for a, b in zip(backend, backend[1:]))
""",
    )

    for line in printed.splitlines():
        lanes = json.loads(line)
        assert list(lanes) == ["frontend", "backend"]
        assert lanes["frontend"][:4] == ["call", "call", "call", "wait"]
        assert set(lanes["frontend"][4:]) <= {"wait"}
        assert lanes["backend"] == ["dot"] * 3


def test_real_trace_of_mxnet_without_a_worker():
    """The control: one lane, as on a CPU in PyTorch."""
    printed = run_in(
        "mxnet",
        NAMES
        + """
import os, sys
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # MXNet says which engine it starts
from mxnet import np, npx
from asynclab import trace

npx.set_np()
a = np.ones((100, 100))
print(names(trace(lambda: [np.dot(a, a), a + 1, npx.waitall()])))
""",
        MXNET_ENGINE_TYPE="NaiveEngine",
    )

    (lane,) = json.loads(printed).items()
    assert (lane[0], [name for name in lane[1] if name != "wait"]) == ("frontend and backend", ["dot", "add_scalar"])


def test_mxnet_can_be_traced_again_after_an_error():
    """The profiler stops whatever the function raises, and what it saw until then is not in the next trace."""
    printed = run_in(
        "mxnet",
        NAMES
        + """
from mxnet import np, npx, profiler
from asynclab import TracingError, trace

npx.set_np()
a = np.ones((100, 100))
try:
    trace(lambda: [np.dot(a, a), 1 / 0])
except ZeroDivisionError:
    print(names(trace(lambda: a + 1)))
profiler.dump()
try:
    trace(lambda: a + 1)
except TracingError as error:
    print(str(error).splitlines()[0])
""",
    )

    lanes, error = printed.splitlines()
    assert json.loads(lanes)["backend"] == ["add_scalar"]
    assert error == "MXNet's profiler takes no other file after its last dump."


# --- the teaching engine, marks and choices -----------------------------------------------------


def test_trace_of_the_teaching_engine(engine: TracedEngine):
    """Calls and waits in the frontend's lane, operations in the backend's, all of them by their names."""

    def work() -> None:
        x = engine.submit(pow, 2, 3)
        y = engine.submit(operator.add, x, 1)
        with mark("host work"):
            time.sleep(0.02)
        assert y.wait() == 9

    work()
    timeline = trace(work, framework=engine)

    assert names(timeline) == {
        "frontend": ["pow", "add", "host work", "wait", "wait"],
        "backend": ["pow", "add"],
    }
    frontend, backend = timeline.lanes.values()
    assert frontend[0].start_s == 0
    assert frontend[0].start_s <= backend[0].start_s <= backend[1].start_s
    assert frontend[2].end_s - frontend[2].start_s >= 0.02


def test_trace_shows_back_pressure():
    """With a full queue the call itself takes until there is room."""
    gate = threading.Event()

    def hold() -> None:
        gate.wait(20)

    with TracedEngine(capacity=1) as engine:

        def work() -> None:
            threading.Timer(0.5, gate.set).start()
            for _ in range(3):
                engine.submit(hold)

        third = trace(work, framework=engine).lanes["frontend"][2]

    assert (third.name, third.end_s - third.start_s > 0.1) == ("hold", True)


def test_traced_engine_is_an_engine(engine: TracedEngine):
    """Errors come where they are waited for, and go to what depends on them; no name is needed."""
    failed = engine.submit(lambda: 1 / 0)
    far = engine.submit(operator.add, failed, 1)

    for future in (failed, far):
        with pytest.raises(ZeroDivisionError):
            future.wait()
        assert future.done()
    engine.wait_all()


def test_trace_takes_no_note_of_what_was_before(engine: TracedEngine):
    """What is pending when a trace begins is waited for first."""
    engine.submit(time.sleep, 0.05)

    assert names(trace(lambda: engine.submit(pow, 2, 3), framework=engine)) == {
        "frontend": ["pow", "wait"],
        "backend": ["pow"],
    }


def test_mark_outside_of_a_trace_does_nothing():
    """A program with marks runs as it did without."""
    with mark("host work"):
        done = True

    assert done


@pytest.mark.parametrize(
    ("modules", "framework", "found"),
    [
        ([], None, r"the framework is None \(loaded: none\)"),
        (["torch", "mxnet"], None, r"the framework is None \(loaded: pytorch, mxnet\)"),
        (["torch"], "mxnet", r"the framework is 'mxnet' \(loaded: pytorch\)"),
        (["torch"], "torch", r"the framework is 'torch' \(loaded: pytorch\)"),
    ],
)
def test_trace_does_not_guess(monkeypatch: pytest.MonkeyPatch, modules: list[str], framework: str | None, found: str):
    """No framework, or two of which none is named, is an error, and the function does not run."""
    for name in ("torch", "mxnet"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name) if name in modules else None)

    with pytest.raises(TracingError, match=f"{found}.\nImport a framework first"):
        trace(pytest.fail, framework=framework)

    assert issubclass(TracingError, AsynclabError)


# --- the drawing and its description ------------------------------------------------------------


def test_drawing_is_described_from_its_data():
    """How long, which lanes, and what took the time in each; six names a lane are enough."""
    lanes = {
        "frontend": [Span("mm", 0, 1e-4), Span("mm", 1e-4, 2e-4), Span("wait", 2e-4, 0.05)],
        "backend": [Span(name, i * 0.001, (i + 1) * 0.001) for i, name in enumerate("abcdefgh")],
        "idle": [],
    }

    assert described(lanes, "Two products") == (
        "Two products, 50 ms long. In the lane frontend: wait once, 49.8 ms; mm 2 times, 0.2 ms. In the lane backend: "
        "a once, 1 ms; b once, 1 ms; c once, 1 ms; d once, 1 ms; e once, 1 ms; f once, 1 ms; 2 more names. "
        "In the lane idle: nothing."
    )


def test_drawing_of_a_timeline():
    """Lanes, names that fit, a key for those that do not, and time in milliseconds; of thousands of spans, few bars."""
    printed = run_in(
        "pytorch",
        """
        import json
        from asynclab import Span, Timeline

        def svg(lanes, title=None):
            spans = {lane: tuple(Span(*each) for each in lanes[lane]) for lane in lanes}
            return Timeline(spans).figure(title).svg

        products = [("mm", i * 0.01, (i + 1) * 0.01) for i in range(5)]
        short = {"backend": [("add", i * 1e-5, i * 1e-5 + 4e-6) for i in range(10_000)]}
        print(json.dumps({
            "usual": svg({"frontend": [("call", 0, 1e-5), ("wait", 1e-5, 0.05)], "backend": products}, "A title"),
            "short": svg(short),
            "empty": svg({"frontend": []}),
            "again": svg(short),
        }))
        """,
    )

    drawings = json.loads(printed)
    usual = drawings["usual"]
    assert all(f">{text}</text>" in usual for text in ("A title", "frontend", "backend", "call", "wait", "time in ms"))
    assert usual.count(">mm</text>") == 5
    assert usual.count(">call</text>") == 1
    assert len(drawings["short"]) < 10_000
    assert drawings["short"].count(">add</text>") == 1
    assert drawings["short"] == drawings["again"]
    assert ">frontend</text>" in drawings["empty"]
