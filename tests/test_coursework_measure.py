"""Times taken from outside: ratios, gates, and who may measure when."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from asynclab.simulated import VirtualDevice, VirtualHost, WallClock
from coursework import Failed, Student, TooNoisy, Verdict, failed, measure, passed
from coursework.errors import CourseError
from coursework.jail import Jail
from coursework.judge import ATTEMPTS
from coursework.measure import Measured
from coursework.model import Limits
from coursework.simulation import bounded
from coursework.student import Submission

# A queue on a thread: its operations sleep, so that other work on the machine hardly changes what they take.
QUEUE = """
import time
from concurrent.futures import ThreadPoolExecutor
queue = ThreadPoolExecutor(1)
def queued():
    return [queue.submit(time.sleep, 0.02) for _ in range(3)]
def waits_in_the_middle():
    first = queue.submit(time.sleep, 0.04)
    first.result()
    return [first, queue.submit(time.sleep, 0.02)]
def waits():
    kept = queued()
    for each in kept:
        each.result()
    return kept
def slow():
    time.sleep(0.06)
def quick():
    time.sleep(0.03)
"""


@pytest.fixture
def student() -> Iterator[Submission]:
    """A submission with a queue."""
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    submission = Submission(Jail(Path(sys.executable)), Limits(), "pytorch", {"cell": QUEUE})
    yield submission
    submission.end()


@pytest.fixture
def busy() -> Iterator[None]:
    """Four busy processes beside the test."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    yield
    for other in others:
        other.kill()
        other.wait()


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for locks of the test's own."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def decided(measurement: Callable[[], Measured], gate: float) -> bool:
    """On which side of a gate it is, measured again if the machine was too busy, as judging does."""
    for _ in range(ATTEMPTS):
        with contextlib.suppress(TooNoisy):
            return measurement().below(gate)
    return measurement().below(gate)


@pytest.mark.parametrize(
    ("ratios", "below"),
    [((0.1,) * 7, True), ((0.9,) * 7, False), ((0.1,) * 6 + (5.0,), True), ((0.9,) * 6 + (0.01,), False)],
)
def test_gate_is_decided_if_all_rounds_but_one_agree(ratios: tuple[float, ...], below: bool):
    """One round may have been disturbed."""
    assert Measured(ratios).below(0.5) is below


def test_gate_is_not_decided_if_two_rounds_disagree():
    """The machine was too busy: asked again, never a wrong mark."""
    with pytest.raises(TooNoisy, match="5 of 7 rounds lie below"):
        Measured((0.1,) * 5 + (0.9,) * 2).below(0.5)


@pytest.mark.alone
def test_dispatch_share_tells_queueing_from_waiting_beside_busy_processes(student: Submission, busy: None):
    """A function that only queues, one that waits half-way and one that waits."""
    below = {
        name: decided(lambda name=name: measure.dispatch_share(student, name), 0.33)
        for name in ("queued", "waits_in_the_middle", "waits")
    }

    assert below == {"queued": True, "waits_in_the_middle": False, "waits": False}


@pytest.mark.alone
def test_interleaved_ratio_holds_beside_busy_processes(student: Submission, busy: None):
    """Twice the time is twice the time, whatever else runs."""
    assert not decided(lambda: measure.interleaved(lambda: student.call("slow"), lambda: student.call("quick")), 1.4)


def test_value_that_was_kept_is_compared_outside(student: Submission):
    """What the measured function returned is asked for afterwards."""
    student.define("def made():\n    return [1, 2]")
    measure.dispatch_share(student, "made", rounds=1)

    assert measure.kept_value(student) == [1, 2]


def test_those_who_take_times_are_alone(runtime: Path):
    """While one measures nobody else is asked; others are asked side by side."""
    inside, most, alone = [], [], []

    def asked(timed: bool) -> None:
        with measure.turn(alone=timed):
            inside.append(timed)
            time.sleep(0.02)
            (alone if timed else most).append(len(inside))
            inside.pop()

    threads = [threading.Thread(target=asked, args=(number % 4 == 0,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert alone == [1, 1, 1]
    assert max(most) > 1


def test_one_who_measures_is_not_starved_by_the_others(runtime: Path):
    """However many are asked side by side all the time."""
    stop = threading.Event()

    def ask_again() -> None:
        while not stop.is_set():
            with measure.turn(alone=False):
                time.sleep(0.05)

    threads = [threading.Thread(target=ask_again) for _ in range(12)]
    for thread in threads:
        thread.start()
    # Were one starved, the test would end all the same.
    threading.Timer(3, stop.set).start()
    began = time.monotonic()
    with measure.turn(alone=True):
        waited_s = time.monotonic() - began
    stop.set()
    for thread in threads:
        thread.join()

    assert waited_s < 2


def test_lock_is_this_users_own(runtime: Path, monkeypatch: pytest.MonkeyPatch):
    """Nobody else can hold it, or stand in its place."""
    with measure.turn(alone=True):
        folder = runtime / "coursework"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700

    monkeypatch.setattr(measure.os, "geteuid", lambda: 12345)
    with pytest.raises(CourseError, match="somebody else"), measure.turn(alone=True):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
def test_lock_of_another_user_blocks_nobody(monkeypatch: pytest.MonkeyPatch):
    """Each user has a folder of his own below the folder for temporary files."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "from coursework import measure\nwith measure.turn(alone=True): print('alone')"
    )
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    sources = str(Path(__file__).parents[1] / "src")
    if (
        python is None
        or subprocess.run([python, "-c", "import os, sys; os.listdir(sys.argv[1])", sources], user=65534).returncode
    ):
        pytest.skip("an ordinary user cannot read the sources here")
    with measure.turn(alone=True):
        done = subprocess.run(
            [python, "-B", "-c", code, sources],
            user=65534,
            group=65534,
            extra_groups=[],
            capture_output=True,
            timeout=20,
        )

    assert done.stdout == b"alone\n", done.stderr


def test_question_may_use_both(student: Student):
    """As a question of an exercise does: the share decides, and the verdict says what was seen."""

    def ask(asked: Student) -> Verdict:
        share = measure.dispatch_share(asked, "waits", rounds=3)
        return passed() if share.below(0.5) else failed("It returned after its work was done.", private=str(share))

    assert ask(student).message == "It returned after its work was done."


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("[device.submit(0) for _ in range(700)]", "submitted twice"),
        ("[host.use(device.wait(device.submit(0))), *map(host.use, range(700))]", "once on each result"),
    ],
)
def test_device_on_the_wall_does_no_more_than_it_has_to(student: Submission, body: str, says: str):
    """What a submission asks for takes time outside, while nobody else may measure."""
    device = VirtualDevice(0.0, 0.05, 0.0, clock=WallClock())
    host = VirtualHost(device, 0.02)
    student.define(f"def process(device, host):\n    return {body}")
    began = time.monotonic()
    with pytest.raises(Failed, match=says):
        student.call("process", *bounded(device, host, 3))

    assert time.monotonic() - began < 2
    assert len(device.runs) <= 3
