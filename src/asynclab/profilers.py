"""What the frameworks' profilers say, as spans: which call and which operator ran from when to when.

The layer below ``timeline``. `read_torch` and `read_mxnet` are pure: a trace in Chrome's format in, spans by lane out.
`profile_torch` and `profile_mxnet` make such traces.

Each framework stamps frontend and backend by one clock, and both by the system's time (PyTorch reads a counter of the
processor and converts it), so there is nothing to align: all spans begin at the same zero, a time in nanoseconds since
1970 as `time.time_ns` tells it.
"""

from __future__ import annotations

import bisect
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asynclab.errors import TracingError
from asynclab.sync import synchronize

#: The lane of what Python calls, and that of what computes.
FRONTEND, BACKEND = "frontend", "backend"
#: The lane of a frontend that computes itself.
BOTH = f"{FRONTEND} and {BACKEND}"
#: The name of a span in which the frontend waits for the backend.
WAIT = "wait"

Lanes = dict[str, list["Span"]]
Event = Mapping[str, Any]

_KERNELS = ("kernel", "gpu_memcpy", "gpu_memset")
_MXNET_WAITS = re.compile("MXNDArray(Wait|SyncCopy)")
_MXNET_CALLS = {"MXImperativeInvokeEx": "call", "MXInvokeCachedOpEx": "call", "MXAutogradBackwardEx": "backward"}
_MXNET_HOUSEKEEPING = ("Delete", "Resource", "WaitForVar")  # tasks of the engine that compute nothing


@dataclass(frozen=True)
class Span:
    """Something that took time.

    Attributes:
        name: What it was.
        start_s: When it began, in seconds.
        end_s: When it ended, in seconds.
    """

    name: str
    start_s: float
    end_s: float


def uppermost(spans: Iterable[Span]) -> list[Span]:
    """Put spans in order and leave out those within another, such as the operators that an operator is made of."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start_s, -span.end_s)):
        if not kept or span.end_s > kept[-1].end_s:
            kept.append(span)
    return kept


def profile_torch(function: Callable[[], object], zero_ns: int) -> Lanes:
    """Run a function, and the work it leaves behind, under PyTorch's profiler."""
    # Read when the profiler starts for the first time; else it writes to the terminal, a missing GPU as an error.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    torch: Any = sys.modules["torch"]
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities):
        pass  # the first start takes seconds, and slows down the operation after it
    with torch.profiler.profile(activities=activities) as recorded:
        function()
        synchronize()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "trace.json")
        recorded.export_chrome_trace(str(file))
        return read_torch(json.loads(file.read_bytes()), zero_ns)


def read_torch(trace: Mapping[str, Any], zero_ns: int = 0) -> Lanes:
    """Sort PyTorch's events into lanes: what Python calls, and what each CUDA stream runs.

    A kernel gets the name of the outermost operator that launched it. Without kernels the frontend computes itself.
    """
    zero_us = (zero_ns - trace.get("baseTimeNanoseconds", 0)) / 1e3
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    calls = [(_torch_span(event, zero_us), event) for event in events if _is_torch_call(event)]
    kernels = [(_torch_span(event, zero_us), event["args"]) for event in events if event.get("cat") in _KERNELS]
    top = uppermost(span for span, _ in calls)
    ends = [span.end_s for span in top]
    launchers = {event["args"].get("External id"): top[bisect.bisect_left(ends, s.end_s)].name for s, event in calls}
    several = len({args["device"] for _, args in kernels}) > 1
    lanes: Lanes = {}
    for span, args in sorted(kernels, key=lambda kernel: kernel[0].start_s):
        lane = f"device {args['device']}, stream {args['stream']}" if several else f"stream {args['stream']}"
        name = launchers.get(args.get("External id"), span.name)
        lanes.setdefault(lane, []).append(Span(name, span.start_s, span.end_s))
    return {FRONTEND if lanes else BOTH: top, **_backends(lanes)}


def _is_torch_call(event: Event) -> bool:
    if event.get("cat") in ("cuda_runtime", "cuda_driver"):
        return "Synchronize" in event["name"]
    return event.get("cat") in ("cpu_op", "user_annotation")


def _torch_span(event: Event, zero_us: float) -> Span:
    name = event["name"].removeprefix("autograd::engine::evaluate_function: ").removeprefix("void ")
    name = WAIT if "Synchronize" in name else re.split("[<(]", name)[0].rpartition("::")[2].strip()
    start_us = event["ts"] - zero_us
    return Span(name, start_us / 1e6, (start_us + event["dur"]) / 1e6)


def profile_mxnet(function: Callable[[], object], zero_ns: int) -> Lanes:
    """Run a function, and the work it leaves behind, under MXNet's profiler.

    A process has only one, so a file that was set up for it before gets nothing more.
    """
    mxnet: Any = sys.modules["mxnet"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "trace.json")
        options = {"profile_imperative": True, "profile_api": True, "aggregate_stats": False}
        try:
            mxnet.profiler.set_config(filename=str(file), **options)
        except mxnet.base.MXNetError as error:  # seen in 1.9.1
            raise TracingError(
                "MXNet's profiler takes no other file after its last dump.\n"
                "Dump with mxnet.profiler.dump(finished=False) before, or restart the kernel."
            ) from error
        mxnet.profiler.set_state("run")
        try:
            function()
            synchronize()
        finally:
            mxnet.profiler.set_state("stop")
            mxnet.profiler.dump(finished=False)
        return read_mxnet(file.read_text("utf8"), zero_ns)


def read_mxnet(dump: str, zero_ns: int = 0) -> Lanes:
    """Sort MXNet's events into lanes: what Python calls, and what each worker runs.

    The profiler does not say of a call which operator it queues, and the order of calls and operators may differ: a
    call is just a "call". Where the frontend computes itself, as with NaiveEngine, its operators and waits are shown.

    Args:
        dump: All of a trace but its end; from the second trace of a process on, only its events.
        zero_ns: Where time begins.
    """
    body = dump.partition('"traceEvents": [')[2] or dump
    events = json.loads(f"[{body.strip().strip(',')}]")
    calls, runs = _mxnet_spans(events, "MXNET_C_API", "be", zero_ns), _mxnet_spans(events, "operator", "BE", zero_ns)
    called = [span for spans in calls.values() for span in spans]
    if runs and runs.keys() <= calls.keys():
        waits = [span for span in called if span.name == WAIT]
        return {BOTH: [*waits, *(span for spans in runs.values() for span in spans)]}
    workers = sorted(runs.values(), key=lambda spans: spans[0].start_s)
    return {FRONTEND: called, **_backends({f"worker {number}": spans for number, spans in enumerate(workers, 1)})}


def _mxnet_spans(events: Iterable[Event], category: str, phases: str, zero_ns: int) -> dict[int, list[Span]]:
    """The spans of a category by thread. Operators stand in a dump twice: by B and E, and once more by b and e."""
    spans: dict[int, list[Span]] = {}
    begun: dict[int, list[float]] = {}
    for event in events:
        if event.get("cat") != category or event["ph"] not in phases:
            continue
        thread, time_s = event["tid"], (1000 * event["ts"] - zero_ns) / 1e9
        if event["ph"] == phases[0]:
            begun.setdefault(thread, []).append(time_s)
        elif begun.get(thread):
            start_s = begun[thread].pop()
            if name := _mxnet_name(event["name"], category):
                spans.setdefault(thread, []).append(Span(name, start_s, time_s))
    return spans


def _mxnet_name(name: str, category: str) -> str:
    """What a reader sees of a name; nothing if the span is not worth showing."""
    if category == "operator":
        return "" if name.startswith(_MXNET_HOUSEKEEPING) else re.sub("^_((np|npi|npx|contrib)_)?", "", name)
    return WAIT if _MXNET_WAITS.match(name) else _MXNET_CALLS.get(name, "")


def _backends(lanes: Lanes) -> Lanes:
    """Call the only lane of a backend just that."""
    if len(lanes) == 1:
        return {BACKEND: next(iter(lanes.values()))}
    return {f"{BACKEND}, {name}": spans for name, spans in lanes.items()}
