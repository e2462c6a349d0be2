"""Measure and understand asynchronous computation in deep learning frameworks.

What the chapters and the exercises import. Loads only the standard library: a framework takes part
once the program itself has imported it.
"""

from asynclab.errors import AsynclabError, UnsupportedTargetError
from asynclab.sync import synchronize
from asynclab.timing import Benchmark
from asynclab.values import record

__all__ = ["AsynclabError", "Benchmark", "UnsupportedTargetError", "record", "synchronize"]
