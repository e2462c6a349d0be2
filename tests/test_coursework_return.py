"""Giving grades and feedback back in a platform's own forms, and forgetting a person."""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import zipfile
from pathlib import Path

import nbformat
import pytest
from handins import RIGHT, SLUG, graded, handin, roster, sort_in, written, zipped

from coursework.alone import alone
from coursework.course import Course
from coursework.errors import CourseError
from coursework.forget import forget, holds, whom
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
    assert any(line.endswith("sheet.csv:7: nothing was collected from this person.") for line in done.left)
    assert [word for word in ("Doe", "Lee", "Nobody", "Test") if word in str(done.left)] == []


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


GERMAN = (
    '\ufeffID,"Vollständiger Name",E-Mail-Adresse,Status,Bewertung,Bestwertung,"Bewertung kann geändert werden",'
    '"Zuletzt geändert (Abgabe)","Zuletzt geändert (Bewertung)","Feedback-Kommentare"\n'
    'Teilnehmer/in12,"Jane Doe",j@x,"Zur Bewertung abgegeben",,"10,00",Ja,"Montag, 5. Mai 2026, 17:00",-,"so, ja"\n'
    'Teilnehmer/in13,"Ann_B Lee",a@x,"Zur Bewertung abgegeben","2,00","10,00",Ja,-,-,\n'
    'Teilnehmer/in14,"Nora Nobody",n@x,"Keine Abgabe",,"10,00",Ja,-,-,\n'
)


@pytest.mark.parametrize("column", ["", "Bewertung"])
def test_a_moodle_sheet_of_another_language_is_filled(moodle: Course, column: str):
    """Participants are found by the number at the end, the other columns by their place; no other byte changes."""
    text, done = returned(moodle, GERMAN, column=column)

    filled = GERMAN.replace('abgegeben",,"10,00"', 'abgegeben","6,00","10,00"').replace('"2,00"', '"10,00"')
    assert text == filled
    assert (done.filled, done.unsure) == (2, [])
    with zipfile.ZipFile(done.files[1]) as archive:
        assert "Jane Doe_12_assignsubmission_file_/feedback.html" in archive.namelist()


def test_a_marking_workflow_has_a_column_more(moodle: Course):
    """Its state stands between the most that can be reached and whether the grade can be changed."""
    states = iter(["Bewertung läuft", "Nicht bewertet", "Fertig"])
    lines = GERMAN.replace("Bestwertung,", "Bestwertung,Status,").splitlines(keepends=True)
    sheet = "".join(lines[:1] + [line.replace("Ja,", f"{next(states)},Ja,", 1) for line in lines[1:]])

    text, done = returned(moodle, sheet)

    assert (done.filled, '"6,00","10,00",Bewertung läuft' in text) == (2, True)


@pytest.mark.parametrize(
    ("change", "column"),
    [
        (("Ja,", "10,"), ""),  # nothing tells which column the grade is
        (("Ja,", "10,"), "Bewertung"),  # nor how many points there can be
        (('"Ann_B Lee",a@x,"Zur Bewertung abgegeben","2,00","10,00"', '"Ann_B Lee",a@x,x,"2,00","20,00"'), ""),
        (("Teilnehmer/in13", "Gast"), ""),
        (("Teilnehmer/in13", "Gast"), "Bewertung"),
    ],
)
def test_an_uncertain_sheet_of_another_language_is_refused(moodle: Course, change: tuple[str, str], column: str):
    """What cannot be understood is not filled; it is said how to get one that can."""
    with pytest.raises(CourseError, match="set Moodle to English for the download"):
        returned(moodle, GERMAN.replace(*change), column=column)


def test_grades_that_change_are_told(moodle: Course):
    """One that stood there is told with what replaces it; one that is the same is counted alone."""
    held = MOODLE.replace('Submitted,,"10,00"', 'Submitted,"6,0","10,00"').replace("2.00,10.00,No", "7.00,10.00,Yes")

    _, done = returned(moodle, held)

    assert done.changed == ["ann-b-lee: 7.00 -> 10.00 (line 3)"]
    assert (done.filled, done.same) == (2, 1)


def test_an_empty_cell_is_no_change(moodle: Course):
    """Neither nothing nor Moodle's dash is a grade that is replaced."""
    _, done = returned(moodle, MOODLE.replace("2.00,10.00,No", "-,10.00,Yes"))

    assert (done.filled, done.changed, done.same) == (2, [], 0)


def test_nothing_graded_is_said(tmp_path: Path):
    """Returning before grading is an error that says what to do."""
    with pytest.raises(CourseError, match="Grade it first"):
        give_back(Course(tmp_path), Wish(SLUG), None, tmp_path)


@pytest.fixture
def folders(tmp_path: Path) -> Course:
    """A graded course of hand-ins in folders; Ada has all points, Alan fewer, Nora handed in nothing."""
    course = Course(tmp_path / "course")
    roster(course, "s01,Ada Lovelace", "s02,Alan Turing", "s07,Nora Neu", header="student,name")
    files = {"s01/x.ipynb": handin(), "s02/x.ipynb": handin(WRONG)}
    sort_in(course, written(tmp_path / "in.zip", zipped(files)))
    return marked(course, "s01,sum-up,why,5,", "s02,sum-up,why,4,")


def gradebook(*lines: str) -> str:
    """Canvas's sheet, with rows of name, number, user id, login and points."""
    return "\n".join(["Student,ID,SIS User ID,SIS Login ID,Sum up (9)", "Points Possible,,,,10", *lines]) + "\n"


WORKSHEET = (
    "Identifier,Full name,Grade,Maximum Grade\nParticipant 6,Alan Turing,,10.00\nParticipant 5,Ada Lovelace,,10.00\n"
)
ADA, ALAN = '"Lovelace, Ada",101,u1,lovelace,', '"Turing, Alan",102,u2,turing,'


def points_in(text: str) -> list[str]:
    """What a filled gradebook says of its students, row by row."""
    return [line.rpartition(",")[2] for line in text.splitlines()[2:]]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('"Neu, Nora",103,u3,s01,', "s07: missing"),
        ('"Neu, Nora",103,s01,nora,', "s07: missing"),
        ('"Stranger, Sue",103,u3,s01,', "pseudonym of s01, who has another name in the roster"),
        ('"Stranger, Sue",103,s02,s01,', "login and name fit s01 and s02"),
        ("s01,103,u3,sue,", "sheet.csv:5: nothing was collected"),
    ],
)
def test_a_login_like_somebody_elses_pseudonym_gets_nothing(folders: Course, line: str, told: str):
    """Names and numbers come first, and a login that they contradict is nobody's."""
    text, done = returned(folders, gradebook(ADA, ALAN, line))

    assert points_in(text) == ["10", "6", ""]
    assert any(told in one for one in done.left)
    assert (done.filled, done.unsure) == (2, [])


def test_a_declared_login_comes_before_the_name(folders: Course):
    """Somebody who calls herself like Ada has the name; Ada has the login that the roster gives."""
    header, lines = "student,name,sis_login_id", ("s01,Ada Lovelace,ada1", "s02,Alan Turing,alan1")
    roster(folders, *lines, header=header)

    text, done = returned(folders, gradebook('"Lovelace, Ada",7,,eve,', '"L., Ada",8,,ada1,', ALAN))

    assert points_in(text) == ["", "10", "6"]
    assert any("fits s01, whose row is line 4" in one for one in done.left)


def test_a_pseudonym_as_login_is_filled_and_told(tmp_path: Path):
    """Where the roster has no names, folders named by logins lead to their rows; it is said that nothing else does."""
    course = Course(tmp_path / "course")
    roster(course, "jdoe", "alee", header="student")
    sort_in(course, written(tmp_path / "in.zip", zipped({"jdoe/x.ipynb": handin(), "alee/x.ipynb": handin(WRONG)})))
    marked(course, "jdoe,sum-up,why,5,", "alee,sum-up,why,5,")

    text, done = returned(course, gradebook('"Doe, Jane",101,s1,JDoe,', '"Lee, Ann",102,s2,alee,'))

    assert points_in(text) == ["10", "7"]
    assert done.unsure == ["jdoe", "alee"]


def test_a_name_that_belongs_to_another_contradicts_a_login(tmp_path: Path):
    """Bo's login is a nameless student's pseudonym, but his name is in the roster twice: he gets nobody's points."""
    course = Course(tmp_path / "course")
    roster(course, "s01,", "s02,Bo Kay", "s03,Bo Kay", header="student,name")
    sort_in(course, written(tmp_path / "in.zip", zipped({"s01/x.ipynb": handin()})))
    marked(course, "s01,sum-up,why,5,")

    text, done = returned(course, gradebook('"Kay, Bo",103,u3,s01,'))

    assert points_in(text) == [""]
    assert any("somebody else has this name" in one for one in done.left)


def test_of_two_rows_for_one_student_none_is_guessed(folders: Course):
    """Both cells stay as they are, both lines are named, and the student is not said to have no row at all."""
    text, done = returned(folders, gradebook(ADA, '"Lovelace, Ada",555,u9,eve,', ALAN))

    assert points_in(text) == ["", "", "6"]
    assert sum("fits s01, and so does line" in one for one in done.left) == 2


def test_of_two_rows_the_one_with_the_number_is_filled(canvas: Course):
    """Who handed in under a number is that number; a second row of the number, or of the name, is told."""
    jane = '"Doe, Jane",101,s1,jdoe,'
    roster(canvas, "p01,,,101,,Jane Doe")

    text, done = returned(canvas, gradebook('"Doe, Jane",,,x,', jane, jane))

    assert points_in(text) == ["", "6", ""]
    assert [one.partition(": fits p01, whose row is line 4")[2] != "" for one in done.left[:2]] == [True, True]


def test_a_name_under_another_number_is_somebody_else(canvas: Course):
    """Whoever takes Jane's name in Canvas has not handed in under Jane's number."""
    roster(canvas, "p01,,,101,,Jane Doe")

    text, done = returned(canvas, gradebook('"Doe, Jane",666,s9,eve,'))

    assert points_in(text) == [""]
    assert any("the name or login fits p01, who is number 101 there" in one for one in done.left)


def test_a_login_in_two_lines_of_the_roster_is_nobodys(folders: Course):
    """Which of two students is meant cannot be told."""
    header, lines = "student,name,sis_login_id", ("s01,Ada Lovelace,same", "s02,Alan Turing,same")
    roster(folders, *lines, header=header)

    text, done = returned(folders, gradebook('"X, Y",7,,same,'))

    assert points_in(text) == [""]
    assert any("its sis_login_id stands in the roster's lines of s01 and s02" in one for one in done.left)


def test_feedback_goes_where_the_grade_goes(folders: Course):
    """A row of Moodle's sheet that fits somebody else's pseudonym gets no page of theirs."""
    sheet = (
        "Identifier,Full name,SIS Login ID,Grade,Maximum Grade\n"
        "Participant 5,Ada Lovelace,,,10.00\nParticipant 6,Sue Stranger,s01,,10.00\n"
    )

    text, done = returned(folders, sheet)

    assert text.splitlines()[1:] == [
        "Participant 5,Ada Lovelace,,10.00,10.00",
        "Participant 6,Sue Stranger,s01,,10.00",
    ]
    with zipfile.ZipFile(done.files[1]) as archive:
        assert archive.namelist() == ["Ada Lovelace_5_assignsubmission_file_/feedback.html"]


def test_moodle_numbers_people_anew_in_every_assignment(folders: Course, tmp_path: Path):
    """Neither the number of another assignment's hand-in nor one in the roster contradicts a name."""
    roster(folders, "s01,Ada Lovelace,99", "s02,Alan Turing,98", header="student,name,moodle_id")
    name = "Ada Lovelace_77_assignsubmission_file_/x.ipynb"
    other = zipped({name: handin(slug="other")})
    sort_in(folders, written(tmp_path / "other.zip", other), slug="other")

    text, _ = returned(folders, WORKSHEET)

    assert text == WORKSHEET.replace("Turing,", "Turing,6.00").replace("Lovelace,", "Lovelace,10.00")


@pytest.mark.parametrize(
    "change",
    [
        {"answers": 5},
        {"answers": {"total": 5}},
        {"late_days": "two"},
        {"max_points": "10"},
        {"max_points": float("nan")},
        {"message": None},
        {"output": ["x"]},
        {"version": 10**400, "max_points": 10**400},
        {"questions": [{"name": 1, "title": "", "points": 0, "max_points": 1, "outcome": "failed"}]},
        {"questions": 5},
        {"status": ["graded"]},
    ],
)
def test_a_result_of_another_form_is_told_and_stops_nobody(folders: Course, change: dict[str, object]):
    """Whatever a result file says, others are returned, and it is said which one to make again."""
    path = folders.result(SLUG, "pytorch", "s01")
    data = json.loads(path.read_text("utf8"))
    written(path, json.dumps({**data, **change}))

    text, done = returned(folders, gradebook(ADA, ALAN))

    assert points_in(text) == ["", "6"]
    assert any("s01.json: this result is damaged" in one for one in done.left)


def test_a_result_too_deep_to_read_is_none(folders: Course):
    """A thousand brackets are no result, and no crash."""
    written(folders.result(SLUG, "pytorch", "s01"), "[" * 100_000)

    assert returned(folders, gradebook(ALAN))[1].filled == 1


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

    done = forget(canvas, "p01")

    left = everything(canvas)
    assert [word for word in ("p01", "doejane", "Doe, Jane", "101") if word in left] == []
    assert "leeann" in left
    assert "Lee, Ann" in left
    assert (len(done.said), done.faults, done.others) == (11, [], [])
    assert canvas.overrides.read_text() == "student,slug,question,points,reason\nleeann,sum-up,total,1,y\n"


def test_what_forgetting_changes_is_listed(moodle: Course):
    """The returned sheet, the zip of feedback and the overview are named before anything is done."""
    from coursework.forget import changes

    _, done = returned(moodle, MOODLE)

    assert sorted(changes(moodle, "p01")) == sorted([*done.files, moodle.grades / "overview.html"])
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


def test_a_full_name_of_one_line_is_a_pseudonym(folders: Course):
    """What the roster calls somebody leads to the pseudonym; so does that itself."""
    assert [whom(folders, name) for name in ("Ada Lovelace", "s01")] == ["s01", "s01"]

    forget(folders, "Ada Lovelace")

    assert [word for word in ("s01", "Lovelace") if word in everything(folders)] == []


@pytest.mark.parametrize("name", ["ada lovelace", "Ada", "Ada Lovelace ", "Lovelace, Ada", ""])
def test_a_name_that_nearly_fits_is_nobody(folders: Course, name: str):
    """Nothing is deleted for a name that is not the roster's, letter by letter."""
    with pytest.raises(CourseError, match=r"exactly the name in roster\.csv"):
        whom(folders, name)


def test_of_several_with_a_name_none_is_forgotten(folders: Course):
    """Their pseudonyms are named; somebody whose pseudonym is that name goes before."""
    roster(folders, "s01,Ada", "s02,Ada", "s03,s01", header="student,name")
    before = everything(folders)

    with pytest.raises(CourseError, match=r"roster\.csv: 2 lines have the name 'Ada', those of s01 and s02\."):
        forget(folders, "Ada")
    assert everything(folders) == before
    assert whom(folders, "s01") == "s01"


def test_forgetting_reaches_a_sheet_of_another_language(moodle: Course):
    """Its rows go, and what was packed with it; a table that cannot be understood is listed."""
    returned(moodle, GERMAN)
    notes = written(moodle.root / "notes.csv", "who,what\nJane Doe,ill\n")

    done = forget(moodle, "p01")

    notes.unlink()
    left = everything(moodle)
    assert [word for word in ("p01", "Jane", "in12", "_12_") if word in left] == []
    assert "Teilnehmer/in13" in left
    assert (done.faults, done.others) == ([], [notes])


def test_what_the_overview_lacks_until_grading_is_said(folders: Course):
    """After forgetting it has the answers, but neither how to mark them nor which are the same."""
    done = forget(folders, "s02")

    (told,) = [line for line in done.said if "overview.html" in line]
    assert told.endswith("how to mark written answers, and which answers are the same, `grade` adds again")
    page = (folders.grades / "overview.html").read_text("utf8")
    assert ("Because." in page, "1 point a reason" in page) == (True, False)
    graded(folders)
    assert "1 point a reason" in (folders.grades / "overview.html").read_text("utf8")


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


@pytest.mark.parametrize("name", ["a.zip", "zz.zip", "a.csv"])
def test_what_cannot_be_read_stops_no_forgetting(folders: Course, name: str):
    """A damaged zip or table is told; everything else of the person goes, also what only the sheet's number tells."""
    returned(folders, WORKSHEET)
    odd = written(folders.returned / name, b"\x81\x8d\x00PK")

    done = forget(folders, "s02")

    assert [str(odd) in fault for fault in done.faults] == [True]
    odd.unlink()
    left = everything(folders)
    assert [word for word in ("s02", "Turing", "_6_", "Participant 6") if word in left] == []
    assert "Ada Lovelace_5_" in left


@pytest.mark.parametrize("after", range(12))
def test_forgetting_that_was_interrupted_can_be_done_again(
    folders: Course, monkeypatch: pytest.MonkeyPatch, after: int
):
    """Wherever it broke off, the same command again leaves nothing, however long the person's sheet is gone."""
    from coursework import forget as module

    returned(folders, WORKSHEET)
    written(folders.root / "download.zip", zipped({"Alan Turing_6_assignsubmission_file_/x.ipynb": b""}))
    take, count = module._take, iter(range(100))

    def breaking(step: module._Step, done: module.Forgotten) -> None:
        if next(count) == after:
            raise KeyboardInterrupt
        take(step, done)

    with monkeypatch.context() as patched:
        patched.setattr(module, "_take", breaking)
        with contextlib.suppress(KeyboardInterrupt):
            forget(folders, "s02")
    if holds(folders, "s02"):
        forget(folders, "s02")

    left = everything(folders)
    assert [word for word in ("s02", "Turing", "_6_", "Participant 6") if word in left] == []


def test_forgetting_reaches_downloads_in_the_courses_folder(moodle: Course):
    """The platform's zip and its worksheet, which lie beside the course's own files, lose the person as well."""
    files = {
        "Jane Doe_12_assignsubmission_file_/hand-in.ipynb": b"Jane",
        "Ann B Lee_13_assignsubmission_file_/x": b"Ann",
    }
    written(moodle.root / "submissions.zip", zipped(files))
    written(moodle.root / "sheets" / "worksheet.csv", MOODLE)

    done = forget(moodle, "p01")

    left = everything(moodle)
    assert [word for word in ("Jane", "p01", "Participant 12") if word in left] == []
    assert "Ann B Lee_13_" in left
    assert "Participant 13" in left
    assert (done.faults, done.others) == ([], [])


def test_forgetting_reaches_downloads_of_canvas_and_of_folders(canvas: Course, folders: Course):
    """A second file under Canvas's number goes, and a folder within a folder; nobody else's does."""
    names = ["doejane_LATE_101_9_y.pdf", "leeann_102_101_5_x.ipynb", "wrapped/leeann_102_9002_x.ipynb"]
    written(canvas.root / "old.zip", zipped(dict.fromkeys(names, b"")))
    names = ["all/s01/x.ipynb", "all/s02/x.ipynb", "s01b/x.ipynb", "s02/s01/x.ipynb"]
    written(folders.root / "in.zip", zipped(dict.fromkeys(names, b"")))

    forget(canvas, "p01")
    forget(folders, "s01")

    with zipfile.ZipFile(canvas.root / "old.zip") as archive:
        assert archive.namelist() == ["leeann_102_101_5_x.ipynb", "wrapped/leeann_102_9002_x.ipynb"]
    with zipfile.ZipFile(folders.root / "in.zip") as archive:
        assert "all/s01/x.ipynb" not in archive.namelist()
        assert {"all/s02/x.ipynb", "s01b/x.ipynb"} <= set(archive.namelist())


def test_what_was_not_looked_into_is_listed(folders: Course, tmp_path: Path):
    """Notes and unpacked downloads are the instructor's to look at; leftovers of a kill go; seed and lock are ours."""
    notes, unpacked = written(folders.root / "notes.txt", "s02"), written(folders.root / "unpacked" / "x.pdf", "s02")
    written(folders.root / "offering.toml", "seed")
    for place in (folders.root, folders.grades, folders.returned, folders.submissions):
        written(place / ".writing-abc", "s02,secret")
    (folders.root / "link.csv").symlink_to(written(tmp_path / "far.csv", "student\ns02\n"))

    done = forget(folders, "s02")

    assert done.others == [folders.root / "link.csv", notes, unpacked.parent]
    assert list(folders.root.rglob(".writing-*")) == []
    assert (tmp_path / "far.csv").read_text() == "student\ns02\n"


def test_a_zip_with_a_damaged_entry_stays_and_is_told(folders: Course):
    """What cannot be copied is not lost: the zip stays as it was, and it is said to delete it by hand."""
    content = zipped({"s02/x.ipynb": b"mine", "s01/x.ipynb": b"a" * 1000 + os.urandom(100)})
    damaged = bytearray(content)
    damaged[damaged.rindex(b"s01/x.ipynb", 0, damaged.index(b"PK\x01\x02")) + 30] ^= 0xFF
    path = written(folders.root / "in.zip", bytes(damaged))

    done = forget(folders, "s02")

    assert [str(path) in fault for fault in done.faults] == [True]
    assert path.read_bytes() == bytes(damaged)
    assert not holds(folders, "s02")


def test_a_corrected_roster_reaches_what_was_returned(tmp_path: Path):
    """Feedback under a name that the roster has replaced goes, whatever the platform's naming; others' stays."""
    course = Course(tmp_path / "course")
    files = {"ada-lovelace/x.ipynb": handin(), "bob/x.ipynb": handin(WRONG)}
    source = written(tmp_path / "in.zip", zipped(files))
    sort_in(course, source)
    marked(course, "ada-lovelace,sum-up,why,5,", "bob,sum-up,why,5,")
    returned(course)
    returned(course, WORKSHEET)
    roster(course, "s01,Ada Lovelace", "bob,", header="student,name")

    sort_in(course, source)

    left = "".join(line for line in everything(course).splitlines(keepends=True) if "in.zip" not in line)
    assert "feedback for ada-lovelace" not in left
    assert "ada-lovelace/feedback" not in left
    assert "bob/feedback.html" in left


def hold(root: Path, command: str, ready: object, end: object) -> None:
    """Hold a course until told to end."""
    with alone(Course(root), command):
        ready.set()  # type: ignore[attr-defined]
        end.wait(30)  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", ["collect", "grade", "return", "forget"])
def test_one_command_at_a_time(folders: Course, command: str):
    """Who comes meanwhile changes nothing and reads who is at work; a killed holder leaves nothing locked."""
    context = multiprocessing.get_context("spawn")
    ready, end = context.Event(), context.Event()
    holder = context.Process(target=hold, args=(folders.root, command, ready, end))
    holder.start()
    assert ready.wait(30)
    before = everything(folders)

    told = []
    for start in (lambda: forget(folders, "s02"), lambda: returned(folders), lambda: graded(folders)):
        with pytest.raises(CourseError) as caught:
            start()
        told.append(str(caught.value))

    assert everything(folders) == before
    assert all(f"coursework {command}: process {holder.pid} on " in one and "Wait until" in one for one in told)
    holder.kill()
    holder.join()
    assert forget(folders, "s02").faults == []


def test_nothing_is_made_where_no_course_is(tmp_path: Path):
    """A wrong folder's name makes no folder."""
    with pytest.raises(CourseError, match="exactly"):
        forget(Course(tmp_path / "curse"), "s01")

    assert list(tmp_path.iterdir()) == []
