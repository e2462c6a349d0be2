"""Benchmark times a block honestly: it waits before, looks for what was left after, and says what it found.

Frameworks are small fakes that note every wait, so these tests need neither PyTorch nor MXNet.
"""

import re
import shutil
import subprocess
from types import SimpleNamespace

import pytest
from books import REPOSITORY, cell, page_text
from fakes import NDArray, fake_mxnet, fake_torch

from asynclab import (
    Benchmark,
    InvalidNumberError,
    UnsupportedTargetError,
    UnsupportedValueError,
    synchronize,
    timing,
)

#: Times are taken here: nothing else may run beside.
pytestmark = [pytest.mark.alone, pytest.mark.usefixtures("no_framework")]


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until the test moves it."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    return clock


@pytest.fixture
def backend(load, clock):
    """A loaded MXNet on the test's clock, whose queue takes a while to become empty."""

    def waitall():
        clock.now += backend.pending_s
        backend.pending_s = 0

    mxnet = fake_mxnet([])
    mxnet.nd.waitall = waitall
    load(mxnet)
    backend = SimpleNamespace(pending_s=0)
    return backend


@pytest.fixture
def recorded(monkeypatch):
    """What is recorded for prose."""
    recorded = []
    monkeypatch.setattr(timing, "record", lambda *described: recorded.append(described))
    return recorded


@pytest.fixture
def peak(monkeypatch):
    """A machine that computes 100 GFLOP/s at most."""

    def exceeded_by(flop_per_s):
        return 100e9 if flop_per_s > 150e9 else None

    monkeypatch.setattr(timing, "peak_exceeded_by", exceeded_by)


# --- the clock --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "line"),
    [
        (12.34567, "Done: 12.3457 sec"),
        (0.5, "Done: 0.5000 sec"),
        (0.001, "Done: 0.0010 sec"),
        (0.00096, "Done: 0.0010 sec"),
        (0.000912, "Done: 0.0009 sec (0.912 ms)"),
        (0.000412, "Done: 0.0004 sec (0.412 ms)"),
        (0.0000321, "Done: 0.0000 sec (32.1 µs)"),
        (0.00000024, "Done: 0.0000 sec (0.24 µs)"),
        (0.0, "Done: 0.0000 sec (0 µs)"),
    ],
)
def test_benchmark_prints_one_readable_line(clock, capsys, seconds, line):
    """The line is d2l's, with a finer unit beside it below two significant digits."""
    clock.now = 0.0

    with Benchmark():
        clock.now += seconds

    assert capsys.readouterr().out == line + "\n"


def test_benchmark_takes_the_description_by_position(clock, capsys):
    """``Benchmark("x")`` works as with d2l."""
    with Benchmark("ten products") as benchmark:
        clock.now += 2

    assert capsys.readouterr().out == "ten products: 2.0000 sec\n"
    assert benchmark.description == "ten products"


def test_benchmark_keeps_its_seconds(clock):
    """The figure is there after the block and not before."""
    benchmark = Benchmark()
    before = benchmark.seconds

    with benchmark as entered:
        inside = benchmark.seconds
        clock.now += 2

    assert entered is benchmark
    assert (before, inside, benchmark.seconds) == (None, None, 2.0)


def test_benchmark_waits_for_everything_before_its_clock_starts(backend, clock):
    """What an earlier block left behind is not charged to this one."""
    backend.pending_s = 50

    with Benchmark() as benchmark:
        clock.now += 2

    assert (benchmark.seconds, clock.now) == (2.0, 152.0)


def test_benchmark_does_not_wait_inside_its_clock_unless_told_to(backend, clock):
    """Without ``sync`` the figure is that of the calls."""
    with Benchmark() as benchmark:
        clock.now += 2
        backend.pending_s = 5

    assert (benchmark.seconds, benchmark.left_s) == (2.0, 5.0)


def test_benchmark_waits_for_a_target_before_its_clock_stops(load, waits):
    """``sync`` takes what ``synchronize`` takes."""
    load(fake_torch(waits, cuda_devices=2))

    with Benchmark("x", "cuda:1"):
        waits.clear()

    assert waits == ["cuda:1"]


def test_benchmark_calls_a_function_before_its_clock_stops(clock):
    """``sync`` may be a function without arguments, and its time counts."""
    with Benchmark(sync=lambda: setattr(clock, "now", clock.now + 5)) as benchmark:
        clock.now += 2

    assert (benchmark.seconds, clock.now) == (7.0, 107.0)


def test_benchmark_waits_for_a_list_filled_in_its_block(load, waits):
    """The items of a list are looked up at the end of the block; whether more was left is asked after that."""
    load(fake_mxnet(waits))
    results = []

    with Benchmark(sync=results):
        waits.clear()
        results.append(NDArray(waits, "late"))

    assert waits == ["late", "waitall"]


def test_benchmark_refuses_an_unknown_target_before_the_block():
    """A wrong ``sync`` is reported at once, not after minutes of work."""
    with pytest.raises(UnsupportedTargetError, match="type int"):
        Benchmark(sync=3)


def test_benchmark_nests(clock, capsys):
    """An inner benchmark prints first, and both keep their own time."""
    with Benchmark("outer") as outer:
        clock.now += 1
        with Benchmark("inner") as inner:
            clock.now += 2

    assert capsys.readouterr().out == "inner: 2.0000 sec\nouter: 3.0000 sec\n"
    assert (outer.seconds, inner.seconds) == (3.0, 2.0)


def test_benchmark_has_no_figure_for_a_block_that_raised(waits, capsys):
    """The exception goes on; nothing is printed, nothing is kept, nothing is waited for."""
    benchmark = Benchmark(sync=lambda: waits.append("end"))

    with pytest.raises(ZeroDivisionError), benchmark:
        raise ZeroDivisionError

    assert (benchmark.seconds, waits, capsys.readouterr().out) == (None, [], "")


def test_benchmark_has_no_figure_if_its_wait_raised(capsys):
    """An operation that failed in the backend shows at the wait, and is no measurement either."""

    def fail():
        raise RuntimeError("late error")

    benchmark = Benchmark(sync=fail)

    with pytest.raises(RuntimeError, match="late error"), benchmark:
        pass

    assert (benchmark.seconds, capsys.readouterr().out) == (None, "")


def test_benchmark_forgets_its_figure_when_it_is_used_again(clock):
    """A second use that raises does not leave the first figure behind."""
    benchmark = Benchmark()
    with benchmark:
        clock.now += 2

    with pytest.raises(ZeroDivisionError), benchmark:
        raise ZeroDivisionError

    assert benchmark.seconds is None


# --- work that was left -----------------------------------------------------------------------


def test_benchmark_hints_at_a_missing_wait(backend, clock, capsys):
    """A second line tells how much work the figure lacks, and how to include it."""
    with Benchmark("ten products") as benchmark:
        clock.now += 0.0123
        backend.pending_s = 0.7123

    assert capsys.readouterr().out == (
        "ten products: 0.0123 sec\n"
        "  hint: 0.7123 sec of work was still pending when the clock stopped; wait for it with sync=synchronize\n"
    )
    assert benchmark.left_s == pytest.approx(0.7123)


def test_benchmark_does_what_its_hint_advises(backend, clock, capsys):
    """With ``sync=synchronize`` the work is in the figure, and no hint appears."""
    with Benchmark("ten products", synchronize) as benchmark:
        clock.now += 0.5
        backend.pending_s = 0.25

    assert capsys.readouterr().out == "ten products: 0.7500 sec\n"
    assert benchmark.left_s == 0


@pytest.mark.parametrize(
    ("block", "hint"),
    [
        ((1.0, 0.09), False),
        ((1.0, 0.11), True),
        ((0.001, 0.0015), False),
        ((0.001, 0.0025), True),
        ((0.0, 0.0), False),
    ],
)
def test_benchmark_hints_at_what_matters_only(backend, clock, capsys, block, hint):
    """What is left has to be more than a tenth of the block and than two milliseconds."""
    seconds, left_s = block

    with Benchmark():
        clock.now += seconds
        backend.pending_s = left_s

    assert ("hint" in capsys.readouterr().out) is hint


def test_benchmark_does_not_wait_for_an_idle_gpu(load, waits):
    """A stream is asked, which does not block; where all are idle there is nothing to wait for."""
    load(fake_torch(waits, cuda_devices=2))

    with Benchmark() as benchmark:
        waits.clear()

    assert (waits, benchmark.left_s) == ([], 0.0)


def test_benchmark_waits_for_a_busy_gpu_after_its_clock(load, waits, clock, capsys):
    """If the stream of one device is busy, the rest of its work is waited for and measured."""
    torch = fake_torch(waits, cuda_devices=2, busy=[1])
    load(torch)

    with Benchmark() as benchmark:
        clock.now += 1
        torch.cuda.synchronize = lambda device: setattr(clock, "now", clock.now + 2 * device)

    assert (benchmark.seconds, benchmark.left_s) == (1.0, 2.0)
    assert "hint: 2.0000 sec of work was still pending" in capsys.readouterr().out


def test_benchmark_leaves_unused_gpus_alone(load, waits):
    """Devices that the program has not touched are not asked, since asking would claim memory on them."""
    load(fake_torch(waits, cuda_devices=2, cuda_used=False, busy=[0, 1]))

    with Benchmark() as benchmark:
        waits.clear()

    assert (waits, benchmark.left_s) == ([], 0.0)


def test_benchmark_waits_for_what_cannot_be_asked(load, waits):
    """MPS does not tell whether it is idle, so it is waited for."""
    load(fake_torch(waits, mps=True))

    with Benchmark():
        waits.clear()

    assert waits == ["mps"]


def test_benchmark_looks_for_nothing_where_nothing_can_be_pending(load, waits, clock):
    """NumPy and PyTorch on a CPU leave nothing behind, so not even the clock is read once more."""
    load(fake_torch(waits))
    readings = []
    timing.time.perf_counter = lambda: readings.append(None) or clock.now

    with Benchmark() as benchmark:
        pass

    assert (len(readings), benchmark.left_s) == (2, 0.0)


def test_inner_benchmark_takes_what_it_left_from_the_outer_one(backend, clock, capsys):
    """What an inner benchmark waits for counts in the outer block, which then has nothing left."""
    with Benchmark("outer") as outer:
        with Benchmark("inner") as inner:
            clock.now += 1
            backend.pending_s = 5
        clock.now += 1

    assert (inner.seconds, inner.left_s, outer.seconds, outer.left_s) == (1.0, 5.0, 7.0, 0.0)
    assert capsys.readouterr().out.count("hint") == 1


def test_benchmark_has_no_figure_if_what_was_left_had_failed(load, waits, capsys):
    """The error of an operation of the block shows when the rest is waited for, and there is no measurement."""
    mxnet = fake_mxnet(waits)
    load(mxnet)
    benchmark = Benchmark(flops=1)

    def fail():
        raise RuntimeError("late error")

    with pytest.raises(RuntimeError, match="late error"), benchmark:
        mxnet.nd.waitall = fail

    assert (benchmark.seconds, benchmark.left_s, benchmark.flop_per_s) == (None, None, None)
    assert capsys.readouterr().out == ""


def test_benchmark_forgets_what_was_left_when_it_is_used_again(backend, clock, peak):
    """A second use that raises leaves neither the rest nor the rate of the first."""
    benchmark = Benchmark(flops=1)
    with benchmark:
        backend.pending_s = 5

    with pytest.raises(ZeroDivisionError), benchmark:
        raise ZeroDivisionError

    assert (benchmark.left_s, benchmark.flop_per_s) == (None, None)


# --- the rate ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flops", "rate"),
    [(40e9, "20.0 GFLOP/s"), (1000, "0.000500 MFLOP/s"), (123_456_000, "61.7 MFLOP/s"), (244e9, "122 GFLOP/s")],
)
def test_benchmark_prints_the_rate_behind_the_time(clock, capsys, peak, flops, rate):
    """The rate has three digits and the unit that suits it."""
    with Benchmark("x", flops=flops) as benchmark:
        clock.now += 2

    assert capsys.readouterr().out == f"x: 2.0000 sec, {rate}\n"
    assert benchmark.flop_per_s == flops / 2


def test_benchmark_says_what_cannot_have_been_computed(clock, capsys, peak):
    """A rate beyond the machine's peak gets a second line that names the peak."""
    with Benchmark("ten products", flops=10 * 2 * 1000**3):
        clock.now += 0.002

    assert capsys.readouterr().out == (
        "ten products: 0.0020 sec, 10.0 TFLOP/s\n"
        "  hint: products on this machine reach 100 GFLOP/s at most; "
        "this cannot have been computed when the clock stopped\n"
    )


def test_benchmark_measures_the_peak_when_all_is_done(backend, clock, monkeypatch):
    """The peak is asked for after the clock has stopped and nothing is pending."""
    asked = []
    monkeypatch.setattr(timing, "peak_exceeded_by", lambda _: asked.append((clock.now, backend.pending_s)))

    with Benchmark(flops=1) as benchmark:
        clock.now += 1
        backend.pending_s = 5

    assert (asked, benchmark.seconds) == ([(106.0, 0)], 1.0)


def test_benchmark_measures_no_peak_without_operations(clock, monkeypatch):
    """Who does not ask for a rate does not pay for it."""
    monkeypatch.setattr(timing, "peak_exceeded_by", lambda _: pytest.fail("the peak was measured"))

    with Benchmark() as benchmark:
        clock.now += 1

    assert (benchmark.flops, benchmark.flop_per_s) == (None, None)


def test_block_too_short_for_the_clock_still_has_a_rate(clock, peak):
    """No time at all counts as the clock's tick."""
    with Benchmark(flops=10) as benchmark:
        pass

    assert benchmark.flop_per_s == pytest.approx(10 / 1e-9)


@pytest.mark.parametrize(
    ("flops", "error", "found"),
    [
        (0, InvalidNumberError, r"flops is 0 \(allowed: above 0"),
        (-1.5, InvalidNumberError, r"flops is -1.5 \(allowed: above 0"),
        (float("nan"), InvalidNumberError, "flops is nan"),
        (float("inf"), InvalidNumberError, "flops is inf"),
        (10**400, InvalidNumberError, "flops is 1000"),
        (True, UnsupportedValueError, "flops is an object of type bool"),
        ("2e9", UnsupportedValueError, "flops is an object of type str"),
    ],
)
def test_benchmark_refuses_what_is_no_number_of_operations(flops, error, found):
    """A mistake shows before the block, with what is allowed and an example."""
    with pytest.raises(error, match=found):
        Benchmark(flops=flops)


def test_operations_have_to_be_named():
    """What d2l does not have cannot be given by position."""
    with pytest.raises(TypeError):
        Benchmark("x", None, 1e9)


# --- what is kept for prose -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ("ten products", "ten_products"),
        ("mxnet.np, waited for", "mxnet_np_waited_for"),
        ("  1000 x 1000!", "t_1000_x_1000"),
        ("Größe", "gr_e"),
        (12, "t_12"),
    ],
)
def test_benchmark_records_its_figure(clock, recorded, description, name):
    """Prose can quote the seconds under a name made from the description."""
    with Benchmark(description):
        clock.now += 2

    assert recorded == [(name, 2.0, "s")]


def test_short_figure_is_recorded_in_a_unit_that_reads_well(clock, recorded):
    """Nobody reads powers of ten in a sentence."""
    with Benchmark("short"):
        clock.now += 3e-3

    ((name, value, unit),) = recorded
    assert (name, pytest.approx(3), unit) == ("short", value, "ms")


def test_benchmark_records_its_rate(clock, recorded, peak):
    """Where the operations are told, the rate has a name of its own."""
    with Benchmark("ten products", flops=40e9):
        clock.now += 2

    assert recorded == [("ten_products", 2.0, "s"), ("ten_products_rate", 20.0, "GFLOP/s")]


@pytest.mark.parametrize("description", ["Done", "异步", "..."])
def test_benchmark_records_nothing_without_a_name(clock, recorded, description):
    """The default describes nothing, and without a Latin letter or digit there is no name."""
    with Benchmark(description):
        clock.now += 2

    assert recorded == []


def test_benchmark_records_nothing_for_a_block_that_raised(recorded):
    """What has no figure has none for prose either."""
    with pytest.raises(ZeroDivisionError), Benchmark("x"):
        raise ZeroDivisionError

    assert recorded == []


def test_prose_quotes_a_benchmark(make_book):
    """A page that times a block can quote it without another line."""
    book = make_book(
        page=page_text(
            cell("from asynclab import Benchmark"),
            cell(
                "with Benchmark('a block', flops=1e6):\n    __import__('time').sleep(0.1)",
                "alpha",
            ),
            cell("pass", "beta"),
            "It took {value}`alpha.a_block` at {value}`alpha.a_block_rate`.\n",
        )
    )
    shutil.copytree(REPOSITORY / "src" / "asynclab", book.root / "asynclab")

    built = book.build("-W", "--keep-going")

    assert built.status == 0, built.output
    assert re.search(r"It took 0\.1\d*\ss at \d.*\sGFLOP/s\.", book.article("page").get_text())


# --- the real frameworks ----------------------------------------------------------------------


def script(framework: str, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one of the benchmark scripts in a framework's environment."""
    python = REPOSITORY / f".venv-{framework}" / "bin" / "python"
    command = [str(python), str(REPOSITORY / "benchmarks" / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("framework", ["pytorch", "mxnet"])
def test_hints_are_right_over_real_programs(framework):
    """Each program with a missing wait gets its hint, and none that waited or had nothing to wait for."""
    done = script(framework, "missing_waits.py", "--runs", "1")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n0 of " in done.stdout


@pytest.mark.parametrize("framework", ["pytorch", "mxnet"])
def test_line_is_that_of_the_real_d2l(framework):
    """Both benchmarks print the same for the same durations."""
    done = script(framework, "benchmark_cost.py", "--rounds", "0")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "as those of d2l" in done.stdout
