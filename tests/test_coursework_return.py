"""Giving grades and feedback back in a platform's own forms, and forgetting a person."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import nbformat
import pytest
from handins import RIGHT, SLUG, graded, handin, roster, sort_in, written, zipped

from coursework.course import Course
from coursework.errors import CourseError
from coursework.forget import forget, holds
from coursework.returning import Returned, Wish, give_back

WRONG = {**RIGHT, "total": "# answer: total\ndef total(n):\n    return sum(range(n))"}
CANVAS = (
    'Student,ID,SIS User ID,SIS Login ID,Section,"Sum up (777)",Other (8),Current Score\r\n'
    ",,,,,Manual Posting,,\r\n"
    "    Points Possible,,,,,10.0,5,(read only)\r\n"
    '"Doe, Jane",101,s1,jdoe,"Sec ""A""",,3,\r\n'
    '"Lee, Ann",102,s2,alee,B,1.0,,\r\n'
    '"Nobody, Nora",103,s3,nora,B,,,\r\n'
    '"Student, Test",999,,,A,,,\r\n'
)
MOODLE = (
    '\ufeffIdentifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed",'
    '"Last modified (submission)","Last modified (grade)","Feedback comments"\n'
    'Participant 12,"Jane Doe",j@x,Submitted,,"10,00",Yes,"Monday, 5 January 2026, 5:00 PM",-,"keep, this"\n'
    'Participant 13,"Ann_B Lee",a@x,Submitted,2.00,10.00,No,-,-,\n'
    "Participant 14,Nora Nobody,n@x,No submission,,10.00,Yes,-,-,\n"
)


@pytest.fixture
def canvas(tmp_path: Path) -> Course:
    """A graded course whose hand-ins came from Canvas; Jane is p01, Ann is on no roster, Nora handed in nothing."""
    course = Course(tmp_path / "course")
    roster(course, "p01,,,101,,", "p03,,,103,,")
    files = {"doejane_101_9001_hand-in.ipynb": handin(WRONG), "leeann_102_9002_x.ipynb": handin()}
    sort_in(course, written(tmp_path / "canvas.zip", zipped(files)))
    return marked(course, "p01,sum-up,why,4,", "leeann,sum-up,why,5,")


@pytest.fixture
def moodle(tmp_path: Path) -> Course:
    """The same from Moodle."""
    course = Course(tmp_path / "course")
    roster(course, "p01,,,,12,", "p03,,,,14,")
    end = "_assignsubmission_file_/hand-in.ipynb"
    files = {f"Jane Doe_12{end}": handin(WRONG), f"Ann B Lee_13{end}": handin()}
    sort_in(course, written(tmp_path / "moodle.zip", zipped(files)))
    return marked(course, "p01,sum-up,why,4,", "ann-b-lee,sum-up,why,5,")


def marked(course: Course, *lines: str) -> Course:
    """The course, graded, with marks."""
    written(course.marks, "\n".join(["student,slug,question,points,comment", *lines]) + "\n")
    graded(course)
    return course


def returned(course: Course, sheet: str | None = None, **wish: object) -> tuple[str, Returned]:
    """Give back, and give the filled sheet's text."""
    given = written(course.root.parent / "sheet.csv", sheet) if sheet else None
    out = course.returned / SLUG
    done = give_back(course, Wish(SLUG, "Sum up", **wish), given, out)  # type: ignore[arg-type]
    return ((out / "sheet.csv").read_bytes().decode() if sheet else ""), done


def test_canvas_sheet_is_filled_and_nothing_else_changes(canvas: Course):
    """The exercise's column gets the points by Canvas's number; every other byte is Canvas's own."""
    text, done = returned(canvas, CANVAS)

    assert text == CANVAS.replace('"Sec ""A""",,3', '"Sec ""A""",6,3').replace("B,1.0,,", "B,10,,")
    assert done.filled == 2
    assert [line.partition(":")[0] for line in done.left if "p03" in line] == ["p03"]
    assert any("Student, Test" in line for line in done.left)


def test_zeros_are_given_only_when_asked(canvas: Course):
    """Whoever handed in nothing keeps an empty cell, or gets a zero with `zero`."""
    text, _ = returned(canvas, CANVAS, zero=True)

    assert '"Nobody, Nora",103,s3,nora,B,0,,' in text


def correct(course: Course, *lines: str) -> None:
    """Write corrections, and grade."""
    written(course.overrides, "\n".join(["student,slug,question,points,reason", *lines]) + "\n")
    graded(course)


@pytest.mark.parametrize("zero", [False, True])
def test_a_correction_is_returned_in_any_case(canvas: Course, zero: bool):
    """Points that a person gave to who handed in nothing are filled in, with `zero` and without."""
    correct(canvas, "p03,sum-up,total,3,ill")

    text, done = returned(canvas, CANVAS, zero=zero)

    assert '"Nobody, Nora",103,s3,nora,B,3,,' in text
    assert done.filled == 3


def test_a_correction_without_a_hand_in_has_feedback(moodle: Course):
    """Moodle's sheet names a folder for it; the page says why."""
    correct(moodle, "p03,sum-up,total,3,ill")

    text, done = returned(moodle, MOODLE)

    assert "No submission,3.00,10.00" in text
    with zipfile.ZipFile(done.files[1]) as archive:
        page = archive.read("Nora Nobody_14_assignsubmission_file_/feedback.html").decode()
    assert "3 of 10 points" in page
    forget(moodle, "p03")
    assert "_14_" not in everything(moodle)


def test_unmarked_answers_are_not_returned(canvas: Course):
    """Points that are not final stay here."""
    canvas.marks.unlink()
    graded(canvas)

    text, done = returned(canvas, CANVAS)

    assert text == CANVAS
    assert any("p01: why still to be marked" in line for line in done.left)


def test_canvas_students_are_found_by_login_and_name(canvas: Course):
    """Without a number, a row is matched by login or by name as Canvas writes it into file names."""
    text, _ = returned(canvas, CANVAS.replace(",102,s2,alee,", ",,,,").replace(",101,s1,jdoe,", ",,,p01,"))

    assert '"Lee, Ann",,,,B,10,,' in text
    assert '"Doe, Jane",,,p01,"Sec ""A""",6,3' in text


def test_other_maxima_are_scaled_only_when_asked(canvas: Course):
    """Where Canvas gives 20 points for what is worth 10 here, nothing is guessed."""
    twenty = CANVAS.replace("10.0,5", "20.0,5")

    with pytest.raises(CourseError, match=r"20.0 points, here 10.*--scale"):
        returned(canvas, twenty)
    assert "B,20,," in returned(canvas, twenty, scale=True)[0]


@pytest.mark.parametrize(
    ("sheet", "column", "why"),
    [
        (CANVAS.replace("Sum up", "Homework 1"), "", "no column for 'Sum up'|no column for Sum up"),
        (CANVAS.replace("Other (8)", "Sum up (9)"), "", "more than one column"),
        ("a,b\n1,2\n", "", "neither Canvas's gradebook"),
        (CANVAS, "Homework", "no column"),
    ],
)
def test_a_column_that_cannot_be_told_is_asked_for(canvas: Course, sheet: str, column: str, why: str):
    """The sheet's columns are named, and how to choose one."""
    with pytest.raises(CourseError, match=why):
        returned(canvas, sheet, column=column)


def test_a_column_can_be_named(canvas: Course):
    """An assignment with another title is named by the instructor, with or without Canvas's number."""
    other = CANVAS.replace("Sum up", "Homework 1")

    assert returned(canvas, other, column="Homework 1")[1].filled == 2
    assert returned(canvas, other, column="Homework 1 (777)")[1].filled == 2


def test_canvas_feedback_keeps_names_and_opens(canvas: Course):
    """Canvas takes a file back under the hand-in's own name and shows it as such: it is a notebook, then."""
    _, done = returned(canvas)

    (path,) = done.files
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["doejane_101_9001_hand-in.ipynb", "leeann_102_9002_x.ipynb"]
        made = nbformat.reads(archive.read("doejane_101_9001_hand-in.ipynb").decode(), as_version=4)
    nbformat.validate(made)
    assert "6 of 10 points" in made.cells[0].source
    assert "secret" not in json.dumps(made)


def test_moodle_sheet_is_filled_and_nothing_else_changes(moodle: Course):
    """The grade gets two decimals, with a comma where Moodle writes one; a locked grade stays."""
    text, done = returned(moodle, MOODLE)

    assert text == MOODLE.replace('Submitted,,"10,00"', 'Submitted,"6,00","10,00"')
    assert done.filled == 1
    assert any("locked" in line for line in done.left)


def test_moodle_feedback_is_named_as_moodle_takes_it_apart(moodle: Course):
    """The importer splits a folder's name at underscores: name, number, plugin; a name has none, therefore."""
    _, done = returned(moodle, MOODLE)

    with zipfile.ZipFile(done.files[1]) as archive:
        names = archive.namelist()
    assert names == [
        "Ann B Lee_13_assignsubmission_file_/feedback.html",
        "Jane Doe_12_assignsubmission_file_/feedback.html",
    ]
    assert all(name.split("_", 4)[1:4] in (["12", *_PLUGIN], ["13", *_PLUGIN]) for name in names)


_PLUGIN = ["assignsubmission", "file"]


def test_moodle_feedback_works_without_the_sheet(moodle: Course):
    """The names come from the download then."""
    _, done = returned(moodle)

    with zipfile.ZipFile(done.files[0]) as archive:
        assert "Jane Doe_12_assignsubmission_file_/feedback.html" in archive.namelist()


def test_returning_twice_gives_the_same_bytes(canvas: Course):
    """Nothing of the moment is in what is returned."""
    first = [path.read_bytes() for path in returned(canvas, CANVAS)[1].files]

    assert [path.read_bytes() for path in returned(canvas, CANVAS)[1].files] == first


def test_the_instructors_own_sheet_is_never_replaced(canvas: Course, tmp_path: Path):
    """Filling in place is refused."""
    sheet = written(tmp_path / "sheet.csv", CANVAS)

    with pytest.raises(CourseError, match="would replace this one"):
        give_back(canvas, Wish(SLUG, "Sum up"), sheet, tmp_path)


def test_nothing_graded_is_said(tmp_path: Path):
    """Returning before grading is an error that says what to do."""
    with pytest.raises(CourseError, match="Grade it first"):
        give_back(Course(tmp_path), Wish(SLUG), None, tmp_path)


def everything(course: Course) -> str:
    """All that the course's folder holds, names of files included, zips unpacked."""
    found = io.StringIO()
    for path in sorted(course.root.rglob("*")):
        print(path.relative_to(course.root), file=found)
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    print(name, archive.read(name).decode(), file=found)
        elif path.is_file():
            print(path.read_text("utf8"), file=found)
    return found.getvalue()


def test_forgetting_leaves_nothing(canvas: Course):
    """Neither pseudonym nor name nor number of the person is anywhere in the course's folder; others keep theirs."""
    written(canvas.overrides, "student,slug,question,points,reason\np01,sum-up,total,1,x\nleeann,sum-up,total,1,y\n")
    graded(canvas)
    returned(canvas, CANVAS)

    said = forget(canvas, "p01")

    left = everything(canvas)
    assert [word for word in ("p01", "doejane", "Doe, Jane", "101") if word in left] == []
    assert "leeann" in left
    assert "Lee, Ann" in left
    assert len(said) == 11
    assert canvas.overrides.read_text() == "student,slug,question,points,reason\nleeann,sum-up,total,1,y\n"


def test_what_forgetting_changes_is_listed(moodle: Course):
    """The returned sheet, the zip of feedback and the overview are named before anything is done."""
    from coursework.forget import changes

    _, done = returned(moodle, MOODLE)

    assert changes(moodle, "p01") == [*done.files, moodle.grades / "overview.html"]
    assert changes(moodle, "nobody") == [moodle.grades / "overview.html"]


def test_forgetting_a_moodle_student_leaves_nothing(moodle: Course):
    """The same with Moodle's sheet and folders."""
    returned(moodle, MOODLE)

    forget(moodle, "p01")

    left = everything(moodle)
    assert [word for word in ("p01", "Jane", "Participant 12") if word in left] == []
    assert "Ann_B Lee" in left


@pytest.mark.parametrize("name", ["p0", "P01", "p*", "p01 ", "", ".", "..", "../course"])
def test_only_an_exact_name_is_forgotten(canvas: Course, name: str):
    """Nothing is deleted for a name that nearly fits."""
    before = everything(canvas)

    assert holds(canvas, name) == []
    with pytest.raises(CourseError, match="exactly"):
        forget(canvas, name)
    assert everything(canvas) == before


def test_a_longer_name_is_somebody_else(canvas: Course):
    """A pseudonym that goes on after a point keeps its files."""
    other = written(canvas.result(SLUG, "pytorch", "p01.b"), "{}")

    assert other not in holds(canvas, "p01")
    forget(canvas, "p01")
    assert other.exists()


def test_who_was_forgotten_can_hand_in_again(canvas: Course, tmp_path: Path):
    """After forgetting, grading goes on for all others."""
    forget(canvas, "p01")

    assert graded(canvas).faults == []
    assert "p01" not in (canvas.grades / "grades.csv").read_text()
