"""A hand-in that a student zipped: the one notebook in it is taken, and otherwise it is said what it holds."""

from __future__ import annotations

import io
import time
import zipfile
from pathlib import Path

import pytest
from handins import SLUG, document, handin, sort_in, written, zipped

from coursework.course import Course
from coursework.nested import taken
from coursework.opened import Refused
from coursework.rows import Status


def test_the_notebook_of_a_zipped_hand_in_is_taken(tmp_path: Path):
    """As it is handed out: with wheels and a text beside it, and in whatever way it comes."""
    inner = zipped(
        {
            "x/hand-in.ipynb": handin(),
            "x/wheels/a.whl": b"w",
            "__MACOSX/x/._hand-in.ipynb": b"c",
            "x/b.ipynb": document([]),
        }
    )
    files = {
        "Ann Lee_11_assignsubmission_file_/hand-in.zip": inner,
        "Bob Poe_12_assignsubmission_file_/x.ipynb": handin(),
    }
    folder = written(tmp_path / "in" / "cy.zip", inner).parent
    course = Course(tmp_path / "course")

    rows = sort_in(course, written(tmp_path / "moodle.zip", zipped(files)), folder)

    assert {row.student: row.status.value for row in rows.values()} == dict.fromkeys(
        ["ann-lee", "bob-poe", "cy"], "collected"
    )
    assert rows["cy.zip"].status is Status.COLLECTED
    assert course.submission("cy", SLUG, "pytorch").read_bytes() == handin()


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, "without a notebook: it is empty"),
        ({"a.py": b"", "b.txt": b"", "c": b"", "d": b""}, "without a notebook: a.py, b.txt, c, 1 more"),
        ({"a.ipynb": handin(), "b.ipynb": handin()}, "2 notebooks, 2 of them made by .*a.ipynb, b.ipynb"),
        ({"a.ipynb": document([]), "b.ipynb": b"{"}, "2 notebooks, none made by"),
        ({"../a.ipynb": handin()}, "leads out of the folder"),
        ({f"{number}.ipynb": b"{" for number in range(11)}, "more than 10 notebooks"),
        ({"a.ipynb": b" " * 25_000_000}, "larger than 20 MB"),
    ],
)
def test_what_another_zip_holds_is_said(files: dict[str, bytes], told: str):
    """It is one sentence, whatever is in there; nothing is unpacked outside of memory or past the limits."""
    content = zipped(files) if files else b"PK\3\4" + zipped({})

    with pytest.raises(Refused, match=told):
        taken(content, "x.zip")


def test_a_damaged_zip_is_said():
    """One that broke off on the way has its sentence."""
    with pytest.raises(Refused, match="damaged zip"):
        taken(zipped({"a.ipynb": handin()})[:60], "x.zip")


def test_a_zip_that_lists_very_many_files_takes_no_time():
    """Its directory is not even read."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("a.ipynb", b"")
    begun = time.process_time()

    with pytest.raises(Refused, match="more than 20000 files"):
        taken(content.getvalue() + b"PK\1\2" + b"\0" * 42 + b"PK\1\2" * 400_000, "x.zip")

    assert time.process_time() - begun < 2


def test_a_zip_in_a_zip_stays_closed(tmp_path: Path):
    """Only one level is looked into."""
    content = zipped({"ann.zip": zipped({"x.zip": zipped({"a.ipynb": handin()})})})

    rows = sort_in(Course(tmp_path / "course"), written(tmp_path / "in.zip", content))

    assert (rows["ann.zip"].status, "without a notebook: x.zip" in rows["ann.zip"].message) == (Status.UNREADABLE, True)
