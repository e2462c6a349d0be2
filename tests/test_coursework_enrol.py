"""A roster made of a platform's own list: pseudonyms for everyone, and nothing that is there is touched."""

from __future__ import annotations

from pathlib import Path

import pytest
from handins import handin, roster, sort_in, written, zipped

from coursework.__main__ import main
from coursework.course import Course
from coursework.enrol import enrol
from coursework.errors import CourseError
from coursework.roster import read_roster

MOODLE = 'Identifier,"Full name",Status,Grade\nParticipant 11,Kurt Gödel,x,-\nParticipant 12,=Ann Lee,x,-\n'
CANVAS = '﻿Student,ID,Section\nPoints Possible,,\n"Lee, Ann",101,A\n"Poe, Sam",102,A\n"Student, Test",103,A\n'


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """An empty course."""
    return Course(tmp_path / "course")


def test_moodle_s_worksheet_becomes_the_roster(course: Course, tmp_path: Path):
    """Everyone has a pseudonym, a name and Moodle's number, and hand-ins find their lines."""
    done = enrol(course, written(tmp_path / "worksheet.csv", MOODLE))
    rows = sort_in(
        course, written(tmp_path / "in.zip", zipped({"Kurt Gödel_11_assignsubmission_file_/x.ipynb": handin()}))
    )

    assert done.added == ["s01", "s02"]
    assert course.roster.read_text("utf8").splitlines() == [
        "student,name,due,time_factor,moodle_id",
        "s01,Kurt Gödel,,,11",
        "s02,'=Ann Lee,,,12",
    ]
    assert {row.student: row.status.value for row in rows.values()} == {"s01": "collected", "s02": "missing"}


def test_canvas_s_gradebook_adds_to_a_roster(course: Course, tmp_path: Path):
    """Lines that are there keep every byte, missing columns are added, and Canvas's own rows are nobody."""
    written(course.roster, 'student;due\r\ns07;"2026-01-01"\r\np01;\r\n')

    done = enrol(course, written(tmp_path / "gradebook.csv", CANVAS))
    again = enrol(course, tmp_path / "gradebook.csv")

    assert course.roster.read_bytes().decode() == (
        'student;due;name;canvas_id\r\ns07;"2026-01-01"\r\np01;\r\ns08;;Lee, Ann;101\r\ns09;;Poe, Sam;102\r\n'
    )
    assert (done.added, again.added, again.known) == (["s08", "s09"], [], 2)
    assert read_roster(course).find("Ann Lee") is not None


def test_a_name_that_is_there_gets_no_second_line(course: Course, tmp_path: Path):
    """Moodle numbers people anew in every assignment; where two have a name, it is asked which is meant."""
    roster(course, "ann,,,,5,Ann Lee", "one,,,,,Sam Poe", "two,,,,,Sam Poe")
    sheet = "Identifier,Full name\nParticipant 7,Ann Lee\nParticipant 8,Sam Poe\n"
    before = course.roster.read_bytes()

    done = enrol(course, written(tmp_path / "worksheet.csv", sheet))

    assert (done.added, done.known, len(done.left)) == ([], 1, 1)
    assert "worksheet.csv:3: Sam Poe has number 8" in done.left[0]
    assert course.roster.read_bytes() == before


def test_two_of_one_name_get_a_line_each(course: Course, tmp_path: Path):
    """Their numbers tell them apart."""
    enrol(course, written(tmp_path / "w.csv", "Identifier,Full name\nParticipant 7,Ann Lee\nParticipant 8,Ann Lee\n"))

    assert {one.ids["moodle_id"] for one in read_roster(course).students.values()} == {"7", "8"}


def test_another_table_is_refused(course: Course, tmp_path: Path):
    """What was found and what is looked for is said; no roster is made."""
    with pytest.raises(CourseError, match=r"x.csv:1: neither Moodle's .* found: a, b"):
        enrol(course, written(tmp_path / "x.csv", "a,b\n1,2\n"))

    assert not course.roster.exists()


def test_the_command_says_what_it_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Who is new, and who stays."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "worksheet.csv", MOODLE)

    status = main(["roster", "--sheet", "worksheet.csv"])

    assert (status, capsys.readouterr().out) == (
        0,
        "course/roster.csv: 2 new: s01 to s02; 0 had a line already, which stays as it is\n",
    )
