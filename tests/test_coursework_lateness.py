"""When hand-ins came: only what can be trusted says it, and of several files the one that counts is told or doubted."""

from __future__ import annotations

import csv
from datetime import datetime
from pathlib import Path

import pytest
from handins import SLUG, graded, handin, roster, sort_in, written, zipped

from coursework.course import Course
from coursework.errors import CourseError
from coursework.gathering import summary
from coursework.rows import Status, read_rows
from coursework.worksheet import Submitted, read_worksheet, spoken

ANN, BOB, CY = (f"{name}_assignsubmission_file_/x.ipynb" for name in ("Ann Lee_11", "Bob Poe_12", "Cy Roe_13"))
OLDER = "It is version 1, which is graded like 3."
HEADER = "Identifier,Full name,Status,Grade,Last modified (submission)\n"


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course in which everything was due on the tenth."""
    course = Course(tmp_path / "course")
    roster(course, *(f"{name},2026-12-10,,,,{name}" for name in ("Ann-Lee", "Bob-Poe", "Cy-Roe")))
    return course


def moodle(tmp_path: Path, moment: datetime = datetime(2026, 12, 20)) -> Path:
    """A download of Moodle's: the times in it are those of the download."""
    return written(tmp_path / "moodle.zip", zipped({name: handin() for name in (ANN, BOB, CY)}, moment))


def worksheet(tmp_path: Path, *lines: str) -> Path:
    """A grading worksheet."""
    return written(tmp_path / "worksheet.csv", HEADER + "".join(f"{line}\n" for line in lines))


def test_moodle_s_download_does_not_say_who_was_late(course: Course, tmp_path: Path):
    """Its times are those of downloading: nobody is late or in time, in the table, the results and the pages."""
    rows = sort_in(course, moodle(tmp_path))
    graded(course)

    assert {(row.late_days, row.submitted_at) for row in rows.values()} == {(None, "")}
    assert {row.late_days for row in read_rows(course)} == {None}
    with (course.grades / "grades.csv").open(encoding="utf8") as file:
        assert {row["late_days"] for row in csv.DictReader(file)} == {""}
    pages = [path.read_text("utf8") for path in course.grades.rglob("*.html")]
    assert not any("after the due date" in page or "d late" in page for page in pages)
    assert summary(rows.values()).startswith("3 collected; when they came is not known; Moodle's grading worksheet")


def test_a_folder_and_another_zip_do_not_say_it_either(course: Course, tmp_path: Path):
    """Copying and packing change times."""
    folder = written(tmp_path / "in" / "Ann-Lee.ipynb", handin(), datetime(2026, 12, 20)).parent
    source = written(tmp_path / "in.zip", zipped({"Bob-Poe.ipynb": handin()}, datetime(2026, 12, 20)))

    rows = sort_in(course, folder, source)

    assert [rows[name].late_days for name in ("Ann-Lee.ipynb", "Bob-Poe.ipynb")] == [None, None]
    assert summary(rows.values()) == "2 collected, 1 missing; when they came is not known"


def test_moodle_s_worksheet_says_it(course: Course, tmp_path: Path):
    """Times and the mark of lateness are taken from it; what cannot be read is unknown, and told once."""
    path = worksheet(
        tmp_path,
        'Participant 11,Ann Lee,Submitted for grading,-,"Saturday, 12 December 2026, 9:14 PM"',
        'Participant 12,Bob Poe,Submitted for grading - 2 days late,-,"samedi 12, 21:14"',
        'Participant 13,Cy Roe,Draft (not submitted),-,"samedi 13, 21:14"',
    )
    sheet = read_worksheet(path)

    rows = sort_in(course, moodle(tmp_path), submitted=sheet.submitted)

    assert [rows[name].late_days for name in (ANN, BOB, CY)] == [2, 1, None]
    assert rows[ANN].submitted_at.startswith("2026-12-12T21:14:00")
    assert "Moodle says that it came late" in rows[BOB].message
    assert "a draft" in rows[CY].message
    assert (sheet.unread.count("samedi"), "in 2 lines" in sheet.unread, ":3:" in sheet.unread) == (1, True, True)
    assert summary(rows.values(), sheet=True) == "3 collected, 2 late; when 1 of them came is not known"


def test_collecting_again_without_the_worksheet_keeps_what_it_said(course: Course, tmp_path: Path):
    """A corrected roster is no reason to forget when something came."""
    said = {"11": Submitted(datetime(2026, 12, 12).astimezone())}
    sort_in(course, moodle(tmp_path), submitted=said)

    rows = sort_in(course, moodle(tmp_path))

    assert (rows[ANN].late_days, rows[BOB].late_days) == (2, None)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Saturday, 12 December 2026, 9:14 PM", datetime(2026, 12, 12, 21, 14)),
        ("Saturday, December 12, 2026, 12:05 AM", datetime(2026, 12, 12, 0, 5)),
        ("12 Dec 2026, 12:05 pm", datetime(2026, 12, 12, 12, 5)),
        ("12 December 2026, 21:14", datetime(2026, 12, 12, 21, 14)),
        ("2026-12-12 21:14", datetime(2026, 12, 12, 21, 14)),
        ("31 February 2026, 9:14", None),
        ("12/12/2026 9:14", None),
        ("-", None),
    ],
)
def test_moodle_s_times_are_read(text: str, wanted: datetime | None):
    """As its English pages write them, or in ISO 8601; nothing is guessed."""
    assert spoken(text) == (wanted.astimezone() if wanted else None)


def test_another_table_is_no_worksheet(tmp_path: Path):
    """What is looked for, and where it comes from, is said."""
    with pytest.raises(CourseError, match=r"gradebook.csv:1: there is no column 'Identifier'.*in English"):
        read_worksheet(written(tmp_path / "gradebook.csv", "Student,ID\nx,1\n"))


def test_a_copy_s_number_tells_what_is_newer(course: Course, tmp_path: Path):
    """Where times are the same, browsers', Moodle's and Drive's own counting says which file came last."""
    folder = ANN.rpartition("/")[0]
    files = {
        f"{folder}/z.ipynb": handin({}),
        f"{folder}/a (2).ipynb": handin(),
        f"{folder}/b (1).ipynb": handin({"half": "# b"}),
    }

    rows = sort_in(course, written(tmp_path / "in.zip", zipped(files)))

    assert rows[f"{folder}/a (2).ipynb"].status is Status.COLLECTED
    assert "nothing tells" not in "".join(row.message for row in rows.values())


def test_of_two_of_moodle_s_downloads_the_later_has_what_is_newer(course: Course, tmp_path: Path):
    """What is new in it was handed in after the earlier one; times within a download say nothing."""
    folder = ANN.rpartition("/")[0]
    early = written(tmp_path / "1.zip", zipped({f"{folder}/z.ipynb": handin({})}, datetime(2026, 12, 1)))
    late = written(tmp_path / "2.zip", zipped({f"{folder}/a.ipynb": handin()}, datetime(2026, 12, 2)))
    one = tmp_path / "3" / folder
    written(one / "c.ipynb", handin(), datetime(2026, 12, 3, 1, 1, 1))
    written(one / "d.ipynb", handin({}), datetime(2026, 12, 3, 1, 1, 3))

    rows = sort_in(course, late, early)
    unsure = sort_in(Course(tmp_path / "other"), tmp_path / "3")

    assert rows[f"{folder}/a.ipynb"].status is Status.COLLECTED
    assert "nothing tells which is the newest" in "".join(row.message for row in unsure.values())


def test_it_is_said_when_nothing_tells_which_is_newest(course: Course, tmp_path: Path):
    """One is taken, the same one in whatever order they come; the same bytes twice are no question."""
    folder = ANN.rpartition("/")[0]
    files = {f"{folder}/a.ipynb": handin({}), f"{folder}/b.ipynb": handin()}
    other = Course(tmp_path / "other")
    same = {"Ann-Lee/a.ipynb": handin(), "Ann-Lee/b.ipynb": handin()}

    rows = sort_in(course, written(tmp_path / "in.zip", zipped(files)))
    turned = sort_in(other, written(tmp_path / "turned.zip", zipped(dict(reversed(files.items())))))
    equal = sort_in(Course(tmp_path / "third"), written(tmp_path / "same.zip", zipped(same)))

    counted = [next(name for name, row in each.items() if row.status is Status.COLLECTED) for each in (rows, turned)]
    assert counted[0] == counted[1]
    assert "nothing tells which is the newest" in rows[counted[0]].message
    assert "nothing tells" not in "".join(row.message for row in equal.values())


@pytest.mark.parametrize("words", [("one", "two"), ("two", "one")])
def test_a_file_that_changed_within_a_second_is_no_second_one(course: Course, tmp_path: Path, words: tuple[str, str]):
    """Where a file holds something else than when it was collected before, that counts."""
    for word in words:
        path = written(tmp_path / "in" / "Ann-Lee.ipynb", handin({"total": f"# {word}"}), datetime(2026, 12, 1))
        rows = sort_in(course, path.parent)

    assert [row.message for row in rows.values() if row.student == "Ann-Lee"] == [OLDER]
    assert f"# {words[-1]}".encode() in course.submission("Ann-Lee", SLUG, "pytorch").read_bytes()


def test_a_due_date_of_the_exercise_goes_before_the_general_one(tmp_path: Path):
    """One student has several due dates: a column a exercise wins, and the course's own counts where both are empty."""
    course = Course(tmp_path / "course")
    header = f"student,due,due:{SLUG},moodle_id"
    roster(course, "ann,2026-12-01,2026-12-12,11", "bob,2026-12-11,,12", "cy,,,13", header=header)
    said = {number: Submitted(datetime(2026, 12, 12, 12).astimezone()) for number in ("11", "12", "13")}

    rows = sort_in(course, moodle(tmp_path), submitted=said, due=datetime(2026, 12, 10, 12).astimezone())

    assert [rows[name].late_days for name in (ANN, BOB, CY)] == [0, 1, 2]
