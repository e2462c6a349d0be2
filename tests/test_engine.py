"""The teaching engine: a queue, a worker and futures, which come to an end whatever happens."""

from __future__ import annotations

import gc
import operator
import threading
import time
import weakref
from collections.abc import Callable, Iterator

import pytest
from interpreters import run_in

from asynclab import AsynclabError, DeadlockError, Engine, EngineClosedError, Future, InvalidCapacityError

#: Times are taken here: nothing else may run beside.
pytestmark = pytest.mark.alone

#: How long to wait for what must happen, and to watch for what must not, in seconds.
PATIENCE_S, GLANCE_S = 20, 0.1


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Holds up operations that wait for it; opened at the latest when the test ends."""
    gate = threading.Event()
    yield gate
    gate.set()


@pytest.fixture
def engine(gate: threading.Event) -> Iterator[Engine]:
    """An engine, which ends after its test."""
    engine = Engine()
    yield engine
    gate.set()
    engine.close()


def fail(message: str) -> None:
    """An operation that fails."""
    raise ValueError(message)


def held_up(gate: threading.Event, **options: int) -> Engine:
    """An engine whose worker runs an operation that waits for the gate."""
    engine, running = Engine(**options), threading.Event()
    engine.submit(lambda: (running.set(), gate.wait(PATIENCE_S)))
    assert running.wait(PATIENCE_S)
    return engine


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether a condition comes true."""
    end = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


# --- operations and results ---------------------------------------------------------------------


def test_operations_run_in_the_order_of_their_submission(engine: Engine):
    """One worker takes from one queue."""
    noted: list[int] = []
    for number in range(100):
        engine.submit(noted.append, number)

    engine.wait_all()

    assert noted == list(range(100))


def test_operations_run_in_one_thread_that_is_not_the_callers(engine: Engine):
    """The frontend does not compute."""
    threads = {engine.submit(threading.get_ident).wait() for _ in range(3)}

    assert len(threads) == 1
    assert threads != {threading.get_ident()}


def test_submit_returns_before_the_operation_has_run(engine: Engine, gate: threading.Event):
    """The caller goes on and may ask, without waiting, whether the result is there."""
    future = engine.submit(gate.wait, PATIENCE_S)

    assert not future.done()

    gate.set()

    assert future.wait() is True
    assert future.done()


def test_result_can_be_waited_for_again(engine: Engine):
    """A wait takes nothing away."""
    future = engine.submit(pow, 2, exp=10)

    assert (future.wait(), future.wait()) == (1024, 1024)


def test_future_stands_for_its_result_in_what_depends_on_it(engine: Engine, gate: threading.Event):
    """``z = x * y + 2`` is queued as a whole before anything of it has been computed."""
    x = engine.submit(lambda: gate.wait(PATIENCE_S) and 3)
    product = engine.submit(operator.mul, x, 4)
    z = engine.submit(operator.add, product, 2)
    text = engine.submit("{z}".format, z=z)

    assert [each.done() for each in (x, product, z, text)] == [False] * 4

    gate.set()

    assert (z.wait(), text.wait()) == (14, "14")


def test_future_of_another_engine_is_waited_for(engine: Engine, gate: threading.Event):
    """Between two engines, as between two streams, the one that needs a result waits for it."""
    with Engine() as other:
        x = other.submit(lambda: gate.wait(PATIENCE_S) and 3)
        y = engine.submit(operator.add, x, 1)

        time.sleep(GLANCE_S)
        assert not y.done()

        gate.set()

        assert y.wait() == 4


def test_operation_may_submit_another(engine: Engine):
    """Without a capacity there is always room."""
    inner = engine.submit(engine.submit, pow, 2, 3).wait()

    assert inner.wait() == 8


def test_inputs_are_let_go_when_the_operation_has_run(engine: Engine):
    """The queue holds inputs; an idle worker does not."""

    class Large:
        """Stands for an array."""

    large = Large()
    alive = weakref.ref(large)

    engine.submit(id, large).wait()
    del large

    assert eventually(lambda: gc.collect() >= 0 and alive() is None)


# --- errors -------------------------------------------------------------------------------------


def test_error_shows_where_it_is_waited_for(engine: Engine):
    """The call returns a future as always; every wait for it raises."""
    future = engine.submit(fail, "late")

    for _ in range(2):
        with pytest.raises(ValueError, match="late"):
            future.wait()


def test_error_of_an_input_is_the_error_of_what_depends_on_it(engine: Engine):
    """What depends on a failed operation does not run, however far away; what does not, does."""
    noted: list[object] = []
    failed = engine.submit(fail, "early")
    near = engine.submit(noted.append, failed)
    far = engine.submit(noted.append, near)
    engine.submit(noted.append, "independent")

    with pytest.raises(ValueError, match="early"):
        far.wait()

    engine.wait_all()
    assert noted == ["independent"]


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_worker_survives_every_error(engine: Engine, error: type[BaseException]):
    """Also one that would end a thread or a program."""
    future = engine.submit(lambda: (_ for _ in ()).throw(error("stop")))

    with pytest.raises(error, match="stop"):
        future.wait()

    assert engine.submit(pow, 2, 3).wait() == 8


def test_wait_all_waits_until_everything_has_run(gate: threading.Event):
    """It returns no sooner than the last operation has."""
    engine = held_up(gate)
    last = engine.submit(pow, 2, 3)
    waiting = threading.Thread(target=engine.wait_all)
    waiting.start()

    waiting.join(GLANCE_S)
    assert waiting.is_alive()

    gate.set()
    waiting.join(PATIENCE_S)

    assert (waiting.is_alive(), last.done()) == (False, True)
    engine.close()


def test_wait_all_raises_the_errors_that_nobody_has_waited_for(engine: Engine):
    """The first one first; each of them once."""
    engine.submit(fail, "first")
    seen = engine.submit(fail, "seen")
    engine.submit(fail, "third")
    with pytest.raises(ValueError, match="seen"):
        seen.wait()

    for message in ("first", "third"):
        with pytest.raises(ValueError, match=message):
            engine.wait_all()

    engine.wait_all()


@pytest.mark.parametrize("waited_for", ["cause", "consequence"])
def test_wait_all_does_not_raise_an_error_again_that_was_waited_for_elsewhere(engine: Engine, waited_for: str):
    """One error of two operations, of which one depends on the other, is known once either was waited for."""
    cause = engine.submit(fail, "known")
    consequence = engine.submit(operator.add, cause, 1)

    with pytest.raises(ValueError, match="known"):
        {"cause": cause, "consequence": consequence}[waited_for].wait()

    engine.wait_all()


# --- capacity -----------------------------------------------------------------------------------


def test_submit_waits_for_room(gate: threading.Event):
    """Four operations wait behind the one that runs; the fifth has to wait outside, and so has its caller."""
    engine = held_up(gate, capacity=4)
    for _ in range(4):
        engine.submit(pow, 2, 3)
    fifth = threading.Thread(target=engine.submit, args=(pow, 2, 3))
    fifth.start()

    fifth.join(GLANCE_S)
    assert fifth.is_alive()

    gate.set()
    fifth.join(PATIENCE_S)

    assert not fifth.is_alive()
    engine.close()


def test_submit_never_waits_without_a_capacity(gate: threading.Event):
    """The queue grows as long as nobody empties it."""
    engine = held_up(gate)
    for _ in range(1000):
        engine.submit(pow, 2, 3)

    assert repr(engine) == "<Engine: 1001 pending>"

    gate.set()
    engine.close()

    assert repr(engine) == "<Engine: 0 pending, closed>"


@pytest.mark.parametrize("capacity", [0, -1, 2.5, True, "4"])
def test_capacity_without_room_is_refused(capacity: object):
    """A queue of Python would take 0 and less for any number."""
    with pytest.raises(
        InvalidCapacityError, match=rf"the capacity is {capacity!r} \(allowed: an integer of at least 1"
    ):
        Engine(capacity)  # type: ignore[arg-type]


# --- deadlocks ----------------------------------------------------------------------------------


def test_operation_is_refused_to_wait_for_room(gate: threading.Event):
    """The worker that would wait for room is the only one who makes room."""
    engine = Engine(capacity=1)

    def overfill() -> None:
        gate.wait(PATIENCE_S)
        engine.submit(pow, 2, 3)

    future = engine.submit(overfill)
    engine.submit(pow, 2, 3)
    gate.set()

    with pytest.raises(DeadlockError, match=r"^submit\(\) was called by an operation while the queue was full"):
        future.wait()
    engine.close()


@pytest.mark.parametrize("call", ["wait", "wait_all", "close"])
def test_operation_is_refused_to_wait_for_its_own_worker(engine: Engine, gate: threading.Event, call: str):
    """What stands behind an operation in the queue cannot run before it has ended."""
    behind: list[Future] = []

    def wait_inside() -> None:
        gate.wait(PATIENCE_S)
        {"wait": behind[0].wait, "wait_all": engine.wait_all, "close": engine.close}[call]()

    future = engine.submit(wait_inside)
    behind.append(engine.submit(pow, 2, 3))
    gate.set()

    with pytest.raises(DeadlockError, match=rf"^{call}\(\) was called by an operation"):
        future.wait()
    assert behind[0].wait() == 8


def test_operation_may_wait_for_what_has_run(engine: Engine):
    """That is no wait at all."""
    x = engine.submit(pow, 2, 3)

    assert engine.submit(x.wait).wait() == 8


# --- the end ------------------------------------------------------------------------------------


def test_close_finishes_what_is_queued(gate: threading.Event):
    """Nothing that was submitted is lost, and no thread is left; closing again does nothing."""
    threads = set(threading.enumerate())
    engine = held_up(gate, capacity=2)
    noted: list[int] = []
    for number in range(2):
        engine.submit(noted.append, number)

    gate.set()
    engine.close()
    engine.close()

    assert noted == [0, 1]
    assert set(threading.enumerate()) <= threads


def test_closed_engine_takes_no_more_operations():
    """The error says what to do; waiting for what was is still possible."""
    with Engine() as engine:
        future = engine.submit(pow, 2, 3)

    with pytest.raises(EngineClosedError, match=r"nobody would run the operation\.\nMake a new Engine\(\)"):
        engine.submit(pow, 2, 3)

    engine.wait_all()
    assert future.wait() == 8


def test_block_raises_what_nobody_has_waited_for():
    """An error is not lost because the engine is left; the thread has ended all the same."""
    threads = set(threading.enumerate())

    with pytest.raises(ValueError, match="late"), Engine() as engine:
        engine.submit(fail, "late")

    assert set(threading.enumerate()) <= threads


def test_block_that_raises_keeps_its_own_error():
    """What else went wrong does not hide it, and no thread is left."""
    threads = set(threading.enumerate())

    def leave_early() -> None:
        with Engine() as engine:
            engine.submit(fail, "late")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        leave_early()

    assert set(threading.enumerate()) <= threads


def test_abandoned_engine_does_not_keep_the_program_alive():
    """A program ends though an operation still runs and another is queued; what is queued is dropped."""
    printed = run_in(
        "pytorch",
        """
        import time
        from asynclab import Engine
        engine = Engine(capacity=1)
        engine.submit(time.sleep, 1000)
        engine.submit(print, "never")
        print("the end")
        """,
        timeout_s=100,
    )

    assert printed == "the end\n"


def test_abandoned_products_do_not_abort_the_program():
    """A daemon thread that is inside of PyTorch when Python ends would take the process with it."""
    printed = run_in(
        "pytorch",
        """
        import time, torch
        from asynclab import Engine
        a = torch.randn(1000, 1000)
        engine = Engine()
        for _ in range(500):
            engine.submit(torch.mm, a, a)
        time.sleep(0.2)
        print("the end")
        """,
    )

    assert printed == "the end\n"


# --- what it is for -----------------------------------------------------------------------------


def test_products_are_submitted_long_before_they_are_done():
    """The picture that a GPU gives, on any machine: asking takes a small part of the time of getting."""
    printed = run_in(
        "pytorch",
        """
        import time, torch
        from asynclab import Engine
        a = torch.randn(1000, 1000)
        with Engine() as engine:
            engine.submit(torch.mm, a, a).wait()
            start = time.perf_counter()
            products = [engine.submit(torch.mm, a, a) for _ in range(10)]
            submitted = time.perf_counter()
            engine.wait_all()
            done = time.perf_counter()
        assert torch.equal(products[-1].wait(), torch.mm(a, a))
        print((done - start) / (submitted - start))
        """,
    )

    assert float(printed) > 3


def test_errors_are_ours_and_pythons():
    """Each error can be caught as asynclab's and as what Python itself would raise."""
    assert all(issubclass(error, AsynclabError) for error in (DeadlockError, EngineClosedError, InvalidCapacityError))
    assert issubclass(DeadlockError, RuntimeError)
    assert issubclass(EngineClosedError, RuntimeError)
    assert issubclass(InvalidCapacityError, ValueError)
