"""Measure and understand asynchronous computation in deep learning frameworks.

What the chapters and the exercises import. Loads only the standard library: a framework takes part
once the program itself has imported it.
"""

from asynclab.errors import (
    AsynclabError,
    InvalidNameError,
    InvalidNumberError,
    UnsupportedTargetError,
    UnsupportedValueError,
)
from asynclab.sync import synchronize
from asynclab.timing import Benchmark
from asynclab.values import claim, record

__all__ = [
    "AsynclabError",
    "Benchmark",
    "InvalidNameError",
    "InvalidNumberError",
    "UnsupportedTargetError",
    "UnsupportedValueError",
    "claim",
    "record",
    "synchronize",
]
