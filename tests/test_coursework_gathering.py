"""What is collected together is told apart by stamps, and lines whose trouble is over leave the table."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from handins import SLUG, expected, handin, roster, sort_in, written, zipped

from coursework.__main__ import main
from coursework.collect import collect
from coursework.course import Course
from coursework.gathering import gathered
from coursework.roster import read_roster
from coursework.rows import Row, Status, read_rows

OTHER = "take-away"
KNOWN = (SLUG, OTHER)


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course of two students."""
    course = Course(tmp_path / "course")
    roster(course, "ann,,,,,", "bob,,,,,")
    return course


def mixed(course: Course, *sources: Path) -> dict[tuple[str, str], Row]:
    """Collect without an exercise's name; rows by exercise and student."""
    found = gathered([str(path) for path in sources], KNOWN)
    for slug in found.sources:
        wanted = expected(slug=slug, exercises=list(found.sources), home=found.home)
        collect(course, found.sources[slug], wanted, read_roster(course))
    return table(course)


def table(course: Course) -> dict[tuple[str, str], Row]:
    """The rows of the table, by exercise and student."""
    return {(row.slug, row.student): row for row in read_rows(course)}


def states(rows: dict[tuple[str, str], Row]) -> dict[tuple[str, str], str]:
    """What became of each."""
    return {key: row.status.value for key, row in rows.items()}


def both(tmp_path: Path) -> list[Path]:
    """A zip of each exercise; one file cannot be read."""
    first = written(tmp_path / "first.zip", zipped({"ann.ipynb": handin(), "bob.ipynb": handin()}))
    second = {"ann.ipynb": handin(slug=OTHER), "bob.ipynb": b"{"}
    return [first, written(tmp_path / "second.zip", zipped(second))]


def test_zips_of_two_exercises_are_told_apart(course: Course, tmp_path: Path):
    """Each notebook goes where its stamp says, and what has none to the exercise of its zip."""
    rows = mixed(course, *both(tmp_path))

    assert states(rows) == {
        (SLUG, "ann"): "collected",
        (SLUG, "bob"): "collected",
        (OTHER, "ann"): "collected",
        (OTHER, "bob"): "unreadable",
    }


def test_a_stray_notebook_makes_nobody_missing(course: Course, tmp_path: Path):
    """One notebook of an exercise that was not collected yet is taken, and says nothing of the others."""
    source = written(
        tmp_path / "in.zip", zipped({"ann.ipynb": handin(slug=OTHER), "bob.ipynb": handin(), "bob2.ipynb": handin()})
    )

    rows = mixed(course, source)

    assert states(rows) == {
        (SLUG, "ann"): "missing",
        (SLUG, "bob"): "collected",
        (SLUG, "bob2"): "collected",
        (OTHER, "ann"): "collected",
    }


def test_a_mistyped_exercise_leaves_nothing(course: Course, tmp_path: Path):
    """What was collected as another exercise's is gone from there once it is collected rightly."""
    source, _ = both(tmp_path)
    wrong = sort_in(course, source, slug=OTHER)
    left = written(course.grades / f"{OTHER}.pytorch" / "ann.json", "{}")

    sort_in(course, source)

    assert {row.status for row in wrong.values()} == {Status.WRONG}
    assert states(table(course)) == {(SLUG, "ann"): "collected", (SLUG, "bob"): "collected"}
    assert not left.exists()


def test_a_mistyped_exercise_after_the_right_one_leaves_nothing(course: Course, tmp_path: Path):
    """It is told, and not kept: nobody is missing in an exercise that was never collected."""
    source, _ = both(tmp_path)
    sort_in(course, source)
    before = course.collected.read_bytes()

    told = sort_in(course, source, slug=OTHER)

    assert {row.status for row in told.values()} == {Status.WRONG}
    assert course.collected.read_bytes() == before


def test_a_renamed_or_removed_file_of_a_folder_leaves_no_line(course: Course, tmp_path: Path):
    """Collecting a source again replaces the lines of what was wrong in it."""
    nameless = written(tmp_path / "in" / f"{SLUG}.pytorch.ipynb", handin())
    written(tmp_path / "in" / "notes.txt", "no notebook")
    first = sort_in(course, tmp_path / "in")
    nameless.rename(nameless.with_name("ann.ipynb"))
    (tmp_path / "in" / "notes.txt").unlink()

    sort_in(course, tmp_path / "in")

    assert sum(row.status is Status.UNREADABLE for row in first.values()) == 2
    assert states(table(course)) == {(SLUG, "ann"): "collected", (SLUG, "bob"): "missing"}
    assert {row.source for row in read_rows(course) if row.original} == {"in"}


def test_a_good_hand_in_ends_earlier_trouble(course: Course, tmp_path: Path):
    """Whoever hands in the right notebook later is not reminded of the broken one; others still are."""
    sort_in(course, written(tmp_path / "1.zip", zipped({"ann.ipynb": b"{", "bob.ipynb": b"{"})))

    sort_in(course, written(tmp_path / "2.zip", zipped({"ann.ipynb": handin()})))

    assert states(table(course)) == {(SLUG, "ann"): "collected", (SLUG, "bob"): "unreadable"}
    assert len(read_rows(course)) == 2


def test_another_download_of_a_platform_takes_nobody_s_line(course: Course, tmp_path: Path):
    """Canvas calls every download alike: who is not in this one is not forgotten."""
    path = tmp_path / "submissions.zip"
    roster(course, "ann,,,1,,", "bob,,,2,,")
    sort_in(course, written(path, zipped({"ann_1_11_x.ipynb": b"{"})))

    sort_in(course, written(path, zipped({"bob_2_12_x.ipynb": handin()})))

    assert states(table(course)) == {(SLUG, "ann"): "unreadable", (SLUG, "bob"): "collected"}


@pytest.mark.parametrize(
    ("words", "told", "not_told"),
    [
        (["/tmp/nosuch.zip"], "there is no such file or folder.", "Exercises"),
        (["take-awy", "in.zip"], f"no such exercise, file or folder. Exercises: {SLUG}, {OTHER}", "stamp"),
        ([SLUG], f"collect {SLUG} SOURCE", "no such"),
        (["none.zip"], "no notebook that `coursework assign` made", "stamp"),
    ],
)
def test_what_cannot_be_collected_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], told: str, not_told: str
):
    """A path that is not there, a mistyped exercise, and files that say nothing are three different things."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "none.zip", zipped({"ann.ipynb": b"{"}))

    with pytest.raises(click.UsageError) as caught:
        gathered(words, KNOWN)

    assert told in str(caught.value)
    assert not_told not in str(caught.value)


def test_the_command_sorts_two_exercises_and_says_what_it_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Each exercise has its line; a course without a seed, and times that nobody told, are said once."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exercises").mkdir()
    for slug in KNOWN:
        assert main(["new", slug]) == 0
    sources = [written(Path(f"{slug}.zip"), zipped({"ann.ipynb": handin(slug=slug)})) for slug in KNOWN]
    capsys.readouterr()

    status = main(["collect", *map(str, sources)])
    told = capsys.readouterr()

    assert status == 0
    for slug in KNOWN:
        assert f"{slug}: 1 collected; when they came is not known" in told.out.splitlines()
    assert told.err.count("offering.toml: there is no such file, so notebooks of any course or year were taken") == 1
