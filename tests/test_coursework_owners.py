"""Whose a hand-in is: no name that a student chose makes it another's, and no two people become one."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from handins import SLUG, handin, roster, sort_in, written, zipped

from coursework.course import Course
from coursework.files import safe_name
from coursework.roster import Participant, Roster
from coursework.rows import Row, Status, read_rows, write_rows

MOODLE = "{}_{}_assignsubmission_file_{}".format


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """An empty course."""
    return Course(tmp_path / "course")


def stored(course: Course) -> set[str]:
    """The students whose notebooks were sorted in."""
    return {folder.name for folder in course.submissions.iterdir() if any(folder.iterdir())}


def digest(content: bytes) -> str:
    """What the table keeps of a file's bytes."""
    return hashlib.sha256(content).hexdigest()[:16]


def who(rows: dict[str, Row]) -> dict[str, str]:
    """Whose each file is, by its original name; those of whom there is none are left out."""
    return {name: row.student for name, row in rows.items() if row.original}


@pytest.mark.parametrize("date", ["2026_01_15", "2026_11_15", "2026-01-15", "15_11_2026", "15.01.2026", "11_15_2026"])
def test_a_date_in_a_name_is_nobodys_number(course: Course, tmp_path: Path, date: str):
    """A folder says whose it is whatever lies in it, and a name with a date is not one of Canvas's."""
    roster(course, *(f"{name},,,,," for name in ("p01", "p02", "ada", "bob")))
    folders = {f"p0{number}/{date}_queue.ipynb": handin() for number in (1, 2)}
    flat = {f"{name}_{date}.ipynb": handin() for name in ("ada", "bob")}

    first = sort_in(course, written(tmp_path / "folders.zip", zipped(folders)))
    rows = sort_in(course, written(tmp_path / "flat.zip", zipped(flat)))

    assert {row.student for row in first.values() if row.status is Status.COLLECTED} == {"p01", "p02"}
    assert {row.student for row in rows.values() if row.status is Status.COLLECTED} == {"p01", "p02", "ada", "bob"}
    assert len(rows) == 4


def test_numbers_that_two_names_share_are_not_canvas_s(course: Course, tmp_path: Path):
    """What looks like a number of Canvas's is none if it stands in two people's names."""
    rows = sort_in(
        course, written(tmp_path / "in.zip", zipped({f"{name}_hw_2_3_end.ipynb": handin() for name in ("ada", "bob")}))
    )

    assert {(row.kind, row.identity) for row in rows.values()} == {("file", "")}
    assert stored(course) == {"ada_hw_2_3_end", "bob_hw_2_3_end"}


def test_a_download_is_canvas_s_if_nearly_all_its_names_are(course: Course, tmp_path: Path):
    """A name that is not like most others is told, and is read like that of a file in a shared folder."""
    roster(course, "vic,,,777,,", "ada,,,101,,", "bob,,,102,,", "cy,,,103,,")
    canvas = {f"{name}_{number}_9{number}_x.ipynb": handin() for name, number in (("a", 101), ("b", 102), ("c", 103))}
    drive = {"ada.ipynb": handin(), "bob.ipynb": handin(), "x_777_1_y.ipynb": handin()}

    first = sort_in(course, written(tmp_path / "canvas.zip", zipped({**canvas, "vic.ipynb": handin()})))
    second = sort_in(Course(tmp_path / "other"), written(tmp_path / "drive.zip", zipped(drive)))

    assert who(first) == dict(zip([*canvas, "vic.ipynb"], ["ada", "bob", "cy", "vic"], strict=True))
    assert [name for name, row in first.items() if "Unlike most here" in row.message] == ["vic.ipynb"]
    assert who(second) == {"ada.ipynb": "ada", "bob.ipynb": "bob", "x_777_1_y.ipynb": "x_777_1_y"}
    assert [name for name, row in second.items() if "looks like one of Canvas's" in row.message] == ["x_777_1_y.ipynb"]


PLANTED = MOODLE("Eve Evil", 666, MOODLE("x", 777, "y.ipynb"))


@pytest.mark.parametrize("there", [True, False], ids=["victim handed in", "victim did not"])
@pytest.mark.parametrize(
    ("evil", "victim", "cloned"),
    [
        (PLANTED, MOODLE("Victor Vic", 777, "x.ipynb"), False),
        (MOODLE("Eve Evil", 666, "/") + MOODLE("Vic", 777, "y.ipynb"), MOODLE("Vic", 777, "/x.ipynb"), False),
        ("evileve_666_8_vicvictor_777_9_y.ipynb", "vicvictor_777_1_x.ipynb", False),
        ("evil/vic_777_9_y.ipynb", "vic/hand-in.ipynb", False),
        ("evil/work/vic_777_9_y.ipynb", "vic/hand-in.ipynb", False),
        (MOODLE("evil/Victor Vic", 777, "y.ipynb"), "vic/hand-in.ipynb", False),
        ("evil/vic_777_9_y.ipynb", "vic/hand-in.ipynb", True),
    ],
)
def test_no_file_s_name_makes_it_somebody_else_s(tmp_path: Path, evil: str, victim: str, cloned: bool, there: bool):
    """What a student can choose of a path neither replaces another's hand-in nor counts for who gave none."""
    course = Course(tmp_path / "course")
    roster(course, "vic,,,777,777,Victor Vic", "evil,,,666,666,Eve Evil")
    for path in [evil, victim][: 1 + there]:
        written(tmp_path / "in" / path, handin({"total": path}), datetime(2026, 1, 1 + (path == evil)))
        if cloned:
            (tmp_path / "in" / path).with_name(".git").mkdir()

    rows = sort_in(course, tmp_path / "in")

    assert {row.student: row.status.value for row in rows.values()} == {
        "evil": "collected",
        "vic": "collected" if there else "missing",
    }


def test_what_was_once_taken_for_another_s_goes_back(course: Course, tmp_path: Path):
    """Collected again, a file that an earlier version gave to the wrong student leaves no trace there."""
    roster(course, "vic,,,,777,Victor Vic", "evil,,,,666,Eve Evil", "ada,,,,,")
    for student, path, kind, identity in (
        ("vic", PLANTED, "moodle", "777"),
        ("2026", "ada_2026_01_15.ipynb", "canvas", "2026"),
    ):
        content = handin({"total": path})
        row = Row(student, SLUG, "pytorch", f"{student}/{SLUG}.pytorch.ipynb", "2026-01-09T12:00:00+00:00")
        row = replace(row, status=Status.COLLECTED, original=path, kind=kind, identity=identity)
        write_rows(course, [*read_rows(course), replace(row, digest=digest(content))])
        written(course.submissions / row.file, content)
    moodle = {MOODLE("Victor Vic", 777, "x.ipynb"): handin(), PLANTED: handin({"total": PLANTED})}
    drive = {"ada_2026_01_15.ipynb": handin({"total": "ada_2026_01_15.ipynb"})}

    rows = sort_in(course, written(tmp_path / "m.zip", zipped(moodle)), written(tmp_path / "d.zip", zipped(drive)))

    assert who(rows) == dict(zip([*moodle, *drive], ["vic", "evil", "ada"], strict=True))
    assert {row.status for row in rows.values()} == {Status.COLLECTED}
    assert stored(course) == {"vic", "evil", "ada"}


@pytest.mark.parametrize("listed", [True, False], ids=["in the roster", "not in the roster"])
@pytest.mark.parametrize("how", ["clones", "the clone", "a zip of clones", "a zip of the clone"])
def test_a_clone_with_several_folders_is_one_student_s(course: Course, tmp_path: Path, how: str, listed: bool):
    """Folders within a repository are no students, however it is handed over."""
    roster(course, *(["p07,,,,,"] if listed else []))
    clone = tmp_path / "in" / "p07"
    for path in ("week1/a.ipynb", "week2/b.ipynb", ".git/HEAD"):
        written(clone / path, handin({"total": path}))
    where = tmp_path / "in" if "clones" in how else clone
    source = where
    if "zip" in how:
        files = {path.relative_to(where).as_posix(): path.read_bytes() for path in where.rglob("*") if path.is_file()}
        source = written(tmp_path / "p07.zip", zipped(files))

    rows = sort_in(course, source)

    assert {(row.student, row.kind) for row in rows.values()} == {("p07", "repository")}
    assert sorted(row.status for row in rows.values()) == ["collected", "duplicate"]


def test_a_folder_called_as_a_student_wraps_nobody_else(course: Course, tmp_path: Path):
    """The roster tells a student's only folder from one that a program put around everything."""
    roster(course, "p07,,,,,Ann Lee", "p08,,,,,", "p09,,,,,")
    own = {"Lee, Ann/week1/a.ipynb": handin(), "Lee, Ann/week2/b.ipynb": handin({})}
    drive = {"all/p08.ipynb": handin(), "all/p09.ipynb": handin()}

    first = sort_in(course, written(tmp_path / "own.zip", zipped(own)))
    rows = sort_in(course, written(tmp_path / "drive.zip", zipped(drive)))

    assert set(who(first).values()) == {"p07"}
    assert {row.student for row in rows.values() if row.status is Status.COLLECTED} == {"p07", "p08", "p09"}


def test_names_that_differ_by_marks_are_two(course: Course, tmp_path: Path):
    """Vowel signs, which Unicode counts as marks, tell people of one script from each other."""
    roster(course, "s1,,,,,रीना शर्मा")
    folders = {"रीना/h.ipynb": handin(), "रानी/h.ipynb": handin({})}
    moodle = {MOODLE(name, number, "/x.ipynb"): handin() for name, number in (("रीना शर्मा", 11), ("रानी शर्मा", 12))}

    first = sort_in(course, written(tmp_path / "folders.zip", zipped(folders)))
    rows = sort_in(course, written(tmp_path / "moodle.zip", zipped(moodle)))

    assert {row.student: row.status for row in first.values() if row.original} == {
        "रीना": Status.COLLECTED,
        "रानी": Status.COLLECTED,
    }
    assert [rows[name].student for name in moodle] == ["s1", "रानी-शर्मा"]


@pytest.mark.parametrize(
    "before",
    [{"रीना": "र-न", "रानी": "र-न"}, {"Ann B": "ann-b", "ann-b": "ann-b"}, {"Zoé": "zoé", "Ann Lee": "ann-lee"}],
)
def test_pseudonyms_from_before_stay_unless_two_share_one(course: Course, tmp_path: Path, before: dict[str, str]):
    """A course that was collected by an earlier version keeps its pseudonyms, and two who were one become two."""
    files = {f"{name}/h.ipynb": handin({"total": name}) for name in before}
    for (name, content), student in zip(files.items(), before.values(), strict=True):
        row = Row(student, SLUG, "pytorch", status=Status.DUPLICATE, original=name, kind="folder")
        write_rows(course, [*read_rows(course), replace(row, digest=digest(content))])
    source = written(tmp_path / "in.zip", zipped(files))

    rows = sort_in(course, source)
    first = course.collected.read_bytes()
    sort_in(course, source)

    assert {row.status for row in rows.values()} == {Status.COLLECTED}
    assert set(before.values()) <= stored(course)
    assert len(stored(course)) == 2
    assert course.collected.read_bytes() == first


def test_names_of_one_download_that_are_nearly_alike_are_two(course: Course, tmp_path: Path):
    """Capitals, spaces and what is behind the longest name tell two folders apart; which is which stays the same."""
    long = "n" * 90
    names = ["Ann B", "ann-b", "ANN_B", "Ann  B", f"{long}1", f"{long}2"]
    source = written(tmp_path / "in.zip", zipped({f"{name}/h.ipynb": handin({"total": name}) for name in names}))

    rows = sort_in(course, source)
    before = course.collected.read_bytes()
    sort_in(course, source)

    assert {row.status for row in rows.values()} == {Status.COLLECTED}
    assert rows["ann-b/h.ipynb"].student == "ann-b"
    assert "nearly the same as 'Ann B'" in rows["Ann B/h.ipynb"].message
    assert len(stored(course)) == len(names)
    assert course.collected.read_bytes() == before


def test_a_file_called_as_a_pseudonym_is_that_student_s(course: Course, tmp_path: Path):
    """What is handed in later can be named by the pseudonym that the table shows."""
    sort_in(course, written(tmp_path / "in.zip", zipped({"Ann B/h.ipynb": handin()})))

    rows = sort_in(course, written(tmp_path / "ann-b.ipynb", handin({}), datetime(2026, 2, 1)))

    assert who(rows) == {"Ann B/h.ipynb": "ann-b", "ann-b.ipynb": "ann-b"}


@pytest.mark.parametrize("ids", [{}, {"moodle_id": "12"}])
def test_nobody_becomes_another_by_a_name_on_a_platform(ids: dict[str, str]):
    """What the platform shows is looked up among names; a pseudonym is one only where the roster tells no name."""
    people = (Participant("s01", ids={"name": "Ada Lovelace"}), Participant("s07", ids={"name": "Nora Neu", **ids}))
    everyone = Roster({one.student: one for one in (*people, Participant("doejane"))})

    found = {
        name: everyone.on_platform(name, moodle_id="12" if name == "s01" else "")
        for name in ("s01", "Lovelace, Ada", "Doe, Jane", "s07")
    }

    assert {name: one.student if one else "" for name, one in found.items()} == {
        "s01": "s07" if ids else "",
        "Lovelace, Ada": "s01",
        "Doe, Jane": "doejane",
        "s07": "",
    }


@pytest.mark.parametrize("name", ["s01", "Ada Lovelace"])
def test_two_of_one_name_on_a_platform_are_not_guessed(course: Course, tmp_path: Path, name: str):
    """A second person who calls herself as somebody does is never taken for her, and both are told apart by number."""
    roster(course, "s01,,,,,Ada Lovelace")
    files = {MOODLE("Ada Lovelace", 11, "/x.ipynb"): handin(), MOODLE(name, 12, "/x.ipynb"): handin({})}
    source = written(tmp_path / "in.zip", zipped(files))

    rows = sort_in(course, source)
    roster(course, "s01,,,,11,Ada Lovelace")
    mended = sort_in(course, source)

    students = [rows[path].student for path in files]
    assert len(set(students)) == 2
    assert students[1] != "s01"
    assert all("column moodle_id" in rows[path].message for path in files) is (name == "Ada Lovelace")
    assert [mended[path].student for path in files] == ["s01", students[1]]


def test_names_become_files_that_every_system_takes():
    """Letters keep their marks, a mark never begins a name, and what is left fits into a folder's entry."""
    names = {"रीना शर्मा": "रीना-शर्मा", "\u0301a": "a", "e\u0301": "é", "..x_": "x", "a / b": "a-b", "con": "con-"}

    assert {name: safe_name(name) for name in names} == names
    assert len(safe_name("\U00020000" * 90).encode() + b".json") <= 255


def test_two_lines_of_one_name_are_told(course: Course, tmp_path: Path):
    """Neither line is taken; the hand-in's line says which they are, and what tells them apart."""
    roster(course, "p01,,,,,Ann Lee", "p02,,,,,Ann Lee")

    rows = sort_in(course, written(tmp_path / "in.zip", zipped({MOODLE("Ann Lee", 13, "/x.ipynb"): handin()})))

    told = rows[MOODLE("Ann Lee", 13, "/x.ipynb")].message
    assert "2 lines of roster.csv have this name, p01 and p02: give their moodle_id (this one is 13)" in told


@pytest.mark.parametrize(("name", "near"), [("Kurt Godel", "p01"), ("Kurt Gödl", "p01"), ("Ada Byron", "")])
def test_a_name_that_is_nearly_in_the_roster_is_told(course: Course, tmp_path: Path, name: str, near: str):
    """The pseudonym is enough to look it up: the table shows nobody's name from the roster."""
    roster(course, "p01,,,,,Kurt Gödel", "p02,,,,,Emmy Noether")
    source = written(tmp_path / "in.zip", zipped({MOODLE(name, 13, "/x.ipynb"): handin()}))

    rows = sort_in(course, source)
    first = rows[MOODLE(name, 13, "/x.ipynb")].message
    roster(course, f"p01,,,,,{name}")
    second = sort_in(course, source)[MOODLE(name, 13, "/x.ipynb")].message

    assert ("Not in roster.csv" in first, "nearly that of p01" in first) == (True, bool(near))
    assert "Not in roster.csv" not in second
