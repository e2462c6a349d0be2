"""Measure and understand asynchronous computation in deep learning frameworks.

What the chapters and the exercises import. Loads only the standard library: a framework takes part
once the program itself has imported it.
"""

from asynclab.checking import check
from asynclab.conditions import conditions
from asynclab.engine import Engine, Future
from asynclab.errors import (
    AsynclabError,
    DeadlockError,
    EngineClosedError,
    FittingError,
    InvalidCapacityError,
    InvalidNameError,
    InvalidNumberError,
    NewProcessError,
    TracingError,
    UndescribedDrawingError,
    UnsupportedTargetError,
    UnsupportedValueError,
)
from asynclab.figures import Drawing, bars, drawing, lines
from asynclab.peak import peak_flop_per_s
from asynclab.pipeline import Operation, PipelineModel, crossover
from asynclab.processes import in_new_process
from asynclab.profilers import Span
from asynclab.repeating import Repeated, repeat
from asynclab.sync import synchronize
from asynclab.timeline import Timeline, TracedEngine, mark, trace
from asynclab.timing import Benchmark
from asynclab.values import claim, record
from asynclab.waits import BlockingCall, Waits, waits

__all__ = [
    "AsynclabError",
    "Benchmark",
    "BlockingCall",
    "DeadlockError",
    "Drawing",
    "Engine",
    "EngineClosedError",
    "FittingError",
    "Future",
    "InvalidCapacityError",
    "InvalidNameError",
    "InvalidNumberError",
    "NewProcessError",
    "Operation",
    "PipelineModel",
    "Repeated",
    "Span",
    "Timeline",
    "TracedEngine",
    "TracingError",
    "UndescribedDrawingError",
    "UnsupportedTargetError",
    "UnsupportedValueError",
    "Waits",
    "bars",
    "check",
    "claim",
    "conditions",
    "crossover",
    "drawing",
    "in_new_process",
    "lines",
    "mark",
    "peak_flop_per_s",
    "record",
    "repeat",
    "synchronize",
    "trace",
    "waits",
]
