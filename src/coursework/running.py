"""Judge several submissions at a time, in threads that do not outlive Ctrl-C: each waits for processes, none computes.

Knows nothing of files; ``batch.py`` says what to judge and keeps what comes of it.
"""

from __future__ import annotations

import contextlib
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType

from coursework.assignment import Assignment
from coursework.errors import JailError
from coursework.model import Question, Verdict, WrittenQuestion
from coursework.rows import Row
from coursework.submission import Answers

#: What judging gives: each question with its verdict and the seconds it took, and what was printed.
Judged = tuple[Sequence[tuple[Question | WrittenQuestion, Verdict, float]], str]
#: Puts an assignment's questions to code, with a factor of its time limits.
Judge = Callable[[Assignment, Mapping[str, str], float], Judged]
#: Seconds that running submissions get after Ctrl-C.
_GRACE_S = 3.0
#: How often the main thread looks for Ctrl-C, in seconds: a wait without an end cannot be interrupted everywhere.
_LOOK_S = 0.5
_KNOWN = "the known wrong answer"
#: How often it is told how far everything is, in seconds.
TELL_S = 10.0


@dataclass(frozen=True)
class Job:
    """One submission to judge, or one known wrong answer if there is no row."""

    assignment: Assignment
    name: str
    code: Mapping[str, str]
    time_factor: float = 1.0
    row: Row | None = None
    answers: Answers = field(default_factory=lambda: Answers({}))
    digest: str = ""


@dataclass(frozen=True)
class Done:
    """A job, what came of it, and how many seconds it took."""

    job: Job
    judged: Judged | Exception
    seconds: float


@dataclass
class Progress:
    """How far everything is: known wrong answers are named while they run, but only submissions are counted.

    Attributes:
        jobs: What is to be judged.
        tell: Gets a line every `TELL_S` seconds.
    """

    jobs: Sequence[Job]
    tell: Callable[[str], None]
    _done: int = 0
    _running: dict[int, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _told_s: float = field(default_factory=time.monotonic)

    def begin(self, job: Job) -> None:
        """Note that a job runs now; called by the thread that runs it."""
        with self._lock:
            self._running[id(job)] = job.name if job.row else f"{_KNOWN} {job.name}"

    def end(self, job: Job) -> None:
        """Note that a job is done."""
        with self._lock:
            self._running.pop(id(job), None)
            self._done += job.row is not None

    def look(self) -> None:
        """Tell how far everything is, if it is time."""
        now = time.monotonic()
        if now - self._told_s < TELL_S:
            return
        self._told_s = now
        with self._lock:
            done, names = self._done, list(self._running.values())
        total = sum(job.row is not None for job in self.jobs)
        first = " (known wrong answers come first: by them misconceptions are recognised)"
        known = first if any(name.startswith(_KNOWN) for name in names) else ""
        self.tell(f"{done} of {total} done, {len(names)} running{': ' if names else ''}{', '.join(names)}{known}")


def _quiet(_text: str) -> None:
    pass


def run(
    jobs: Sequence[Job],
    judge: Judge,
    threads: int,
    take: Callable[[Done], None],
    tell: Callable[[str], None] = _quiet,
) -> None:
    """Judge, handing on each result as soon as it is there.

    Args:
        jobs: What to judge.
        judge: Does it.
        threads: How many at a time.
        take: Gets each result, always in this thread.
        tell: Gets a line on how far everything is, now and then, always in this thread.

    Raises:
        JailError: If the jail does not work: then nothing else is judged.
    """
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    done: queue.SimpleQueue[Done] = queue.SimpleQueue()
    stop, progress = threading.Event(), Progress(jobs, tell)
    for job in jobs:
        waiting.put(job)
    workers = [
        threading.Thread(target=_work, args=(waiting, done, stop, judge, progress), daemon=True)
        for _ in range(min(max(1, threads), len(jobs)))
    ]
    for worker in workers:
        worker.start()
    try:
        with _held_back() as interrupted:
            for _ in jobs:
                one = _next(done, interrupted, progress)
                if isinstance(one.judged, JailError):
                    raise one.judged
                take(one)
    finally:
        stop.set()
        end = time.monotonic() + _GRACE_S
        for worker in workers:
            worker.join(max(0.0, end - time.monotonic()))
        # What was judged before Ctrl-C, or in its grace, is not lost.
        while not done.empty():
            one = done.get_nowait()
            if not isinstance(one.judged, Exception):
                take(one)


def _next(done: queue.SimpleQueue[Done], interrupted: threading.Event, progress: Progress) -> Done:
    while not interrupted.is_set():
        progress.look()
        with contextlib.suppress(queue.Empty):
            return done.get(timeout=_LOOK_S)
    raise KeyboardInterrupt


@contextlib.contextmanager
def _held_back() -> Iterator[threading.Event]:
    """Let Ctrl-C wait until a result is written; a second one does not wait."""
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return

    def hold(_number: int, _frame: FrameType | None) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()

    before = signal.signal(signal.SIGINT, hold)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def _work(
    waiting: queue.SimpleQueue[Job],
    done: queue.SimpleQueue[Done],
    stop: threading.Event,
    judge: Judge,
    progress: Progress,
) -> None:
    while not stop.is_set():
        try:
            job = waiting.get_nowait()
        except queue.Empty:
            return
        begun = time.monotonic()
        progress.begin(job)
        try:
            judged: Judged | Exception = judge(job.assignment, job.code, job.time_factor)
        except Exception as error:  # told in the main thread, where results are kept
            judged = error
        progress.end(job)
        done.put(Done(job, judged, time.monotonic() - begun))
