"""Honest noise: what disturbed a run is found, told and, if asked, run again; nothing is dropped in silence."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from books import Book, cell, page, page_text, run_of, tabs

from polybook import obtain
from polybook.facts import Value
from polybook.noise import Usage, disturbances, usage
from polybook.obtain import Runner
from polybook.options import config_file_options
from polybook.provenance import run_card, run_line
from polybook.run import Offer, Run
from polybook.split import split
from polybook.variant import Variant

#: Times are taken here: nothing else may run beside.
pytestmark = pytest.mark.alone

MakeBook = Callable[..., Book]


def fake_proc(folder: Path, cores: str, **processes: str) -> Path:
    """A /proc with these lines for cores, and these lines for processes (``p7="..."`` for process 7)."""
    folder.mkdir()
    (folder / "stat").write_text(cores)
    for name, line in processes.items():
        (folder / name.removeprefix("p")).mkdir()
        (folder / name.removeprefix("p") / "stat").write_text(line)
    return folder


def moment(at_s: float, busy_s: float, own_s: float, cores: int = 2) -> Usage:
    """A usage."""
    return Usage(at_s, cores, busy_s, own_s)


def test_work_of_others_is_what_nobody_here_did():
    """Cores that worked for somebody else make a run noisy."""
    found = disturbances(moment(0, 100, 5), moment(10, 114, 11), [])

    assert found == ["other work took 40% of the cores"]


@pytest.mark.parametrize(
    ("busy_s", "own_s", "seconds"),
    [(10.0, 10.0, 5.0), (11.5, 10.0, 10.0), (0.4, 0.0, 1.0), (3.0, 4.0, 2.0)],
    ids=["all ours", "chores of the system", "too short to tell", "counted askew"],
)
def test_own_work_is_no_noise(busy_s: float, own_s: float, seconds: float):
    """Our own kernel may use all cores, and the system has its chores."""
    assert disturbances(moment(0, 100, 0), moment(seconds, 100 + busy_s, own_s), []) == []


def test_measurement_that_spread_too_far_is_noise():
    """A figure that did not repeat within a quarter is named; one that was not repeated says nothing."""
    values = [Value("steady", "1", 0.1), Value("shaky", "2", 0.4), Value("single", "3")]

    assert disturbances(None, None, values) == ["the value shaky spread by 40%"]


def test_cores_and_processes_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Only cores that this process may use count, waiting does not; a kernel's children are its own."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 3}, raising=False)
    monkeypatch.setattr(os, "sysconf", lambda _: 100)
    cores = "".join(f"cpu{n} {n}00 {n}0 {n} 9999 9999 1 2 3 0 0\n" for n in range(4))
    proc = fake_proc(
        tmp_path / "proc", f"cpu 9 9 9 9 9 9 9 9 9 9\n{cores}intr 1\n",
        p7="7 (a) b) S 1 7 7 0 -1 0 0 0 0 0 100 20 3 0 20 0", p8="8 (child) S 7 7 7 0 -1 0 0 0 0 0 1000 0 0 0 20 0",
        p9="9 (other) S 1 9 9 0 -1 0 0 0 0 0 77777 0 0 0 20 0", pself="none",
        p10="10 (orphan) S 1 10 7 0 -1 0 0 0 0 0 200 0 0 0 20 0",
    )  # fmt: skip
    own = sum(os.times()[:4])

    found = usage(7, proc)

    assert found is not None
    assert found.cores == 2
    assert found.busy_s == pytest.approx((100 + 10 + 1 + 6 + 300 + 30 + 3 + 6) / 100)
    assert found.own_s - own == pytest.approx((100 + 20 + 3 + 1000 + 200) / 100, abs=0.5)


def test_system_that_does_not_tell_makes_no_noise(tmp_path: Path):
    """Without /proc there is nothing to say, and no error."""
    assert usage(None, tmp_path) is None
    assert disturbances(None, None, []) == []


def burn() -> None:
    """Keep a core busy."""
    while True:
        pass


@pytest.fixture
def busy_neighbour() -> Iterator[None]:
    """Another program that uses a core the whole time, in a session of its own, below another parent than a build."""
    process = multiprocessing.get_context("fork").Process(target=burn, daemon=True)
    process.start()
    yield
    process.kill()
    process.join()


def test_busy_neighbour_is_noticed(make_book: MakeBook, busy_neighbour: None):
    """A real build beside a real program says so: on its line, in its card and in the table."""
    book = make_book(page=page_text(cell("import time; time.sleep(2); print('x')", "alpha"), cell("1", "beta")))

    built = book.build()

    assert built.status == 0, built.output
    assert "page [alpha]: noisy (other work took " in built.output
    line = tabs(book.article("page"))[0]["Alpha"].select_one(".polybook-run-line")
    assert line is not None
    assert line.get_text().endswith(" · noisy")
    assert "Noisy" in book.article("page").get_text()


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    """A runner whose kernel is a list of noises, one a run; what it says is kept in ``said``."""
    (tmp_path / "_config.yml").write_text(
        "sphinx: {config: {polybook_frameworks: {pytorch: {title: P, environment: .venv-p}}}}\n"
    )
    said: list[str] = []
    made = Runner(config_file_options(tmp_path), say=said.append, warn=said.append)
    made.said = said  # type: ignore[attr-defined]
    made.coming = []  # type: ignore[attr-defined]

    def run(variant: Variant, _framework: object) -> Run:
        return dataclasses.replace(run_of(variant), noise=made.coming.pop(0))  # type: ignore[attr-defined]

    monkeypatch.setattr(made, "_run", run)
    monkeypatch.setattr(obtain, "environment_differences", lambda _: [])
    monkeypatch.setattr(made, "_circumstances", lambda _: {"pins": "1"})
    return made


VARIANT = split(page(["1"], frameworks="pytorch"), "pytorch")


def test_noisy_run_is_made_again(runner: Runner):
    """The first quiet run is kept; what was dropped is told, and stays on its card."""
    runner.coming += [("a",), ("b",), ()]  # type: ignore[attr-defined]

    result = runner.obtain(VARIANT, retries=3)

    assert result is not None
    assert (result.run.noise, result.run.dropped) == ((), ("a", "b"))
    assert [text for text in runner.said if "dropped, and run again" in text] == [  # type: ignore[attr-defined]
        "page [pytorch]: noisy (a); dropped, and run again",
        "page [pytorch]: noisy (b); dropped, and run again",
    ]
    assert "Dropped as noisy" in run_card("P", Offer(result.run, ""))
    assert "noisy" not in run_line("P", Offer(result.run, ""))


def test_run_that_stays_noisy_is_kept_and_says_so(runner: Runner):
    """After the last retry there is a run all the same, marked."""
    runner.coming += [("a",), ("b",)]  # type: ignore[attr-defined]

    result = runner.obtain(VARIANT, retries=1)

    assert result is not None
    assert (result.run.noise, result.run.dropped) == (("b",), ("a",))
    assert run_line("P", Offer(result.run, "")).endswith("noisy")


def test_without_retries_a_noisy_run_is_shown(runner: Runner):
    """A build does not run twice on its own; the noisy run is fresh for the next one."""
    runner.coming += [("a",)]  # type: ignore[attr-defined]
    runner.obtain(VARIANT)

    again = runner.obtain(VARIANT)

    assert again is not None
    assert (again.run.noise, again.cells_run) == (("a",), 0)


def test_retries_do_not_take_a_stored_noisy_run(runner: Runner):
    """Asked for quiet runs, what is stored and noisy is run again; what is stored and quiet is not."""
    runner.coming += [("a",), ()]  # type: ignore[attr-defined]
    runner.obtain(VARIANT)

    again = runner.obtain(VARIANT, retries=1)
    quiet = runner.obtain(VARIANT, retries=1)

    assert again is not None
    assert quiet is not None
    assert (again.run.noise, again.run.dropped, quiet.cells_run) == ((), ("a",), 0)


def test_neighbour_is_not_ours():
    """The test's own idea of a neighbour holds: a second program's work is not counted as this one's."""
    context = multiprocessing.get_context("fork")
    process = context.Process(target=burn, daemon=True)
    process.start()
    before = usage()
    time.sleep(1)
    after = usage()
    process.kill()
    process.join()

    assert before is not None
    assert after is not None
    assert after.busy_s - before.busy_s - (after.own_s - before.own_s) > 0.5
