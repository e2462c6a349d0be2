"""Collecting: every file has its row, the right notebook of each student is sorted in, nothing stops the others."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import time
import zipfile
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from handins import RIGHT, SLUG, cells, document, graded, handin, roster, sort_in, written, zipped

from coursework.course import Course
from coursework.errors import CourseError
from coursework.incoming import cleaned, owner
from coursework.opened import Item, Refused
from coursework.roster import late_days, moment, read_roster
from coursework.rows import Status, read_rows
from coursework.sheet import defused, number, plain, read_sheet


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """An empty course."""
    return Course(tmp_path / "course")


def stored(course: Course) -> dict[str, list[str]]:
    """The files that were sorted in, by student."""
    return {folder.name: sorted(path.name for path in folder.iterdir()) for folder in course.submissions.iterdir()}


def test_canvas_names_lead_to_the_roster(course: Course, tmp_path: Path):
    """Canvas's user number is looked up in the roster; who is not there goes by the name in the file's name."""
    roster(course, "p01,,,101,,", "p02,,,,,Sam Stub")
    source = written(
        tmp_path / "canvas.zip",
        zipped(
            {
                "doejane_101_9001_hand-in.ipynb": handin(),
                "stubsam_LATE_102_9002_other name-1.ipynb": handin(),
                "strangerann_103_9003_x.ipynb": handin(),
                "LATE_anon_x1y2z_9004_x.ipynb": handin(),
                "doejane_101_text.html": b"<p>typed</p>",
            }
        ),
    )

    rows = sort_in(course, source)

    assert {name: (row.student, row.status) for name, row in rows.items()} == {
        "doejane_101_9001_hand-in.ipynb": ("p01", Status.COLLECTED),
        "stubsam_LATE_102_9002_other name-1.ipynb": ("p02", Status.COLLECTED),
        "strangerann_103_9003_x.ipynb": ("strangerann", Status.COLLECTED),
        "LATE_anon_x1y2z_9004_x.ipynb": ("x1y2z", Status.COLLECTED),
        "doejane_101_text.html": ("p01", Status.UNREADABLE),
    }
    assert rows["stubsam_LATE_102_9002_other name-1.ipynb"].late_days == 1
    assert "Not in roster.csv." in rows["strangerann_103_9003_x.ipynb"].message
    assert stored(course)["p01"] == ["sum-up.pytorch.ipynb"]


def test_canvas_attachments_tell_which_is_newer(course: Course, tmp_path: Path):
    """Times in Canvas's zip are those of its making; the larger number is the later file."""
    files = {"doejane_1_9002_b.ipynb": handin({**RIGHT, "half": "# newer"}), "doejane_1_9001_a.ipynb": handin()}

    rows = sort_in(course, written(tmp_path / "c.zip", zipped(files)))

    assert rows["doejane_1_9001_a.ipynb"].status is Status.DUPLICATE
    assert "doejane_1_9002_b.ipynb counts" in rows["doejane_1_9001_a.ipynb"].message
    assert b"# newer" in (course.submissions / rows["doejane_1_9002_b.ipynb"].file).read_bytes()


def test_moodle_names_lead_to_the_roster(course: Course, tmp_path: Path):
    """Moodle's participant number is looked up; two people of one name stay two, also unnamed participants."""
    roster(course, "p01,2026-01-08,,,12,")
    folder = "_assignsubmission_file_"
    files = {
        f"Jane Doe_12{folder}/a/hand-in.ipynb": handin(),
        f"Ann Lee_13{folder}/x.ipynb": handin(),
        f"Ann Lee_14{folder}/x.ipynb": handin(),
        f"Participant_15{folder}x.ipynb": handin(),
        "Ann Lee_13_assignsubmission_onlinetext_/onlinetext.html": b"hello",
    }

    rows = sort_in(course, written(tmp_path / "moodle.zip", zipped(files)))

    assert {row.student for row in rows.values()} == {"p01", "ann-lee-13", "ann-lee-14", "participant"}
    assert rows[f"Jane Doe_12{folder}/a/hand-in.ipynb"].late_days is None
    assert rows[f"Jane Doe_12{folder}/a/hand-in.ipynb"].submitted_at == ""
    assert rows["Ann Lee_13_assignsubmission_onlinetext_/onlinetext.html"].status is Status.UNREADABLE


def test_a_later_download_keeps_pseudonyms(course: Course, tmp_path: Path):
    """Somebody without a line in the roster has the same pseudonym when more is collected."""
    name = "{}_{}_assignsubmission_file_/x.ipynb"
    ann, other, poe = (name.format(*who) for who in (("Ann Lee", 13), ("Ann Lee", 14), ("Poe Sam", 15)))
    sort_in(course, written(tmp_path / "1.zip", zipped({ann: handin(), other: handin(), poe: handin()})))

    sort_in(course, written(tmp_path / "2.zip", zipped({ann: handin({}), name.format("Poe Sam", 16): handin()})))

    assert {(row.identity, row.student) for row in read_rows(course)} == {
        ("13", "ann-lee-13"),
        ("14", "ann-lee-14"),
        ("15", "poe-sam"),
        ("16", "poe-sam-16"),
    }


OLDER = "It is version 1, which is graded like 3."
ANN, SAM = (f"{name}_assignsubmission_file_/x.ipynb" for name in ("Ann Lee_13", "Sam Poe_14"))


def everywhere(course: Course, student: str) -> list[str]:
    """Where a pseudonym stands: files and folders called so, and lines of lists."""
    paths = [path for path in sorted(course.root.rglob("*")) if student in path.name]
    lists = [course.collected, course.marks, course.overrides, course.grades / "grades.csv"]
    lines = [line for path in lists if path.is_file() for line in path.read_text("utf8").splitlines()]
    return [*map(str, paths), *(line for line in lines if line.startswith(f"{student},"))]


def test_a_corrected_roster_moves_hand_ins(course: Course, tmp_path: Path):
    """Collected again, what a person handed in, got and was marked stands under the new pseudonym alone."""
    source = written(tmp_path / "in.zip", zipped({ANN: handin(), SAM: b"{"}))
    roster(course, "p02,,,,,Somebody Else")
    sort_in(course, source)
    graded(course)
    written(course.marks, course.marks.read_text("utf8").replace("why,,", "why,4,"))
    graded(course)
    roster(course, "p01,,,,,Ann Lee", "p02,,,,,Sam Poe")

    rows = sort_in(course, source)
    graded(course)

    assert {name: (row.student, row.message) for name, row in rows.items() if "Ann" in name} == {ANN: ("p01", OLDER)}
    assert (len(rows), rows[SAM].student) == (2, "p02")
    assert everywhere(course, "ann-lee") == everywhere(course, "sam-poe") == []
    assert "p01,sum-up,pytorch,9,10," in (course.grades / "grades.csv").read_text("utf8")


def test_a_corrected_roster_moves_files_without_numbers(course: Course, tmp_path: Path):
    """A folder's or a file's name says whose it is; also what is not in this download any more stays a person's."""
    folder = tmp_path / "in"
    written(folder / "Ann Lee" / "a.ipynb", handin(), datetime(2026, 1, 2))
    written(folder / "Ann Lee" / "b.ipynb", handin({}), datetime(2026, 1, 1))
    sort_in(course, folder)
    roster(course, "p01,,,,,Ann Lee")

    rows = sort_in(course, folder)

    assert {(row.student, row.status.value) for row in rows.values()} == {("p01", "collected"), ("p01", "duplicate")}
    assert stored(course) == {"p01": ["sum-up.pytorch.ipynb"]}


def test_an_older_download_moves_its_newer_notebook(course: Course, tmp_path: Path):
    """The notebook that counts goes along, even if only an older one is collected again."""
    old, new = (tmp_path / f"{name}.zip" for name in ("old", "new"))
    written(old, zipped({ANN: handin()}, datetime(2026, 1, 1)))
    written(new, zipped({ANN.replace("/x", "/y"): handin({"total": "# newer"})}, datetime(2026, 1, 2)))
    for source in (old, new):
        sort_in(course, source)
    roster(course, "p01,,,,,Ann Lee")

    rows = sort_in(course, old)

    assert {row.student for row in rows.values()} == {"p01"}
    assert b"# newer" in course.submission("p01", SLUG, "pytorch").read_bytes()
    assert stored(course) == {"p01": ["sum-up.pytorch.ipynb"]}


def test_two_who_were_exchanged_change_places(course: Course, tmp_path: Path):
    """Notebooks and marks both go to the other one."""
    source = written(tmp_path / "in.zip", zipped({ANN: handin({"total": "# ann"}), SAM: handin({"total": "# sam"})}))
    roster(course, "p01,,,,,Sam Poe", "p02,,,,,Ann Lee")
    sort_in(course, source)
    written(course.marks, "student,slug,question,points,comment\np01,sum-up,why,1,sam\np02,sum-up,why,2,ann\n")
    roster(course, "p01,,,,,Ann Lee", "p02,,,,,Sam Poe")

    sort_in(course, source)

    assert b"# ann" in course.submission("p01", SLUG, "pytorch").read_bytes()
    assert b"# sam" in course.submission("p02", SLUG, "pytorch").read_bytes()
    assert course.marks.read_text("utf8").splitlines()[1:] == ["p02,sum-up,why,1,sam", "p01,sum-up,why,2,ann"]


@pytest.mark.parametrize(
    ("lines", "begins", "real"),
    [([], "2 of 2", True), (["p01,,,,,Ann Lee"], "", False), (["p01,,,,,Ann Lee", "p02,,,,,Sam Poe"], "", False)],
)
def test_most_hand_ins_of_nobody_are_told(course: Course, tmp_path: Path, lines: list[str], begins: str, real: bool):
    """One sentence says how they are matched, and that folders may have real names; half of them is no reason."""
    from coursework.collect import unmatched

    roster(course, *lines)
    rows = sort_in(course, written(tmp_path / "in.zip", zipped({ANN: handin(), SAM: handin()})))

    told = unmatched(course, rows.values(), read_roster(course))

    assert told.startswith(begins)
    assert bool(told) is bool(begins)
    assert ("people's real ones" in told) is real
    assert told == "" or ("`name`" in told and "(such as moodle_id 13)" in told)


def test_folders_and_drive_names_tell_the_student(course: Course, tmp_path: Path):
    """A file or a folder a student, with what copying does to names; a name that says nothing is asked for."""
    folder = tmp_path / "drive"
    for name in ("alice.ipynb", "Copy of bob (1).ipynb", "carl/anything at all.ipynb", "dora.ipynb.txt"):
        written(folder / name, handin())
    written(folder / f"hand-in-{SLUG}-pytorch (3).ipynb", handin())
    written(folder / f"eve_{SLUG}.pytorch.ipynb", handin())
    written(folder / ".DS_Store", "clutter")

    rows = sort_in(course, folder)

    assert sorted(stored(course)) == ["alice", "bob", "carl", "dora", "eve"]
    assert "rename it to STUDENT.ipynb" in rows[f"hand-in-{SLUG}-pytorch (3).ipynb"].message
    assert len(rows) == 6


def test_names_lose_what_copying_adds():
    """Endings, counters and languages of "copy" go; the exercise's own name is no student."""
    assert [cleaned(name) for name in ("Copy of Copy of a (2).ipynb", "Kopie von b.ipynb.json", "c - Copy.ipynb")] == [
        "a",
        "b",
        "c",
    ]
    assert owner("hand-in-sum-up-mxnet-zoe", SLUG) == "zoe"
    assert owner("sum-up-zoe", SLUG) == "zoe"
    assert owner("sum-up.pytorch", SLUG) == ""


def test_a_zip_of_a_folder_is_the_folder(course: Course, tmp_path: Path):
    """The one folder that a program wrapped around everything is no student."""
    files = {"all/alice/x.ipynb": handin(), "all/bob/x.ipynb": handin(), "__MACOSX/all/._x": b"clutter"}

    sort_in(course, written(tmp_path / "all.zip", zipped(files)))

    assert sorted(stored(course)) == ["alice", "bob"]


def test_the_newest_of_several_counts(course: Course, tmp_path: Path):
    """Of a student's files the newest counts, whatever it is called and whenever it is collected."""
    old, new = datetime(2026, 1, 1), datetime(2026, 1, 2)
    written(tmp_path / "in" / "alice" / "z.ipynb", handin({"total": "# old"}), old)
    written(tmp_path / "in" / "alice" / "a.ipynb", handin({"total": "# new"}), new)
    first = sort_in(course, tmp_path / "in")
    written(tmp_path / "late" / "alice.ipynb", handin({"total": "# older"}), old - timedelta(days=1))

    second = sort_in(course, tmp_path / "late")

    assert [first[name].status for name in ("alice/z.ipynb", "alice/a.ipynb")] == [Status.DUPLICATE, Status.COLLECTED]
    assert second["alice.ipynb"].status is Status.DUPLICATE
    assert b"# new" in course.submission("alice", SLUG, "pytorch").read_bytes()


def test_collecting_again_changes_nothing(course: Course, tmp_path: Path):
    """The same download collected twice gives the same table, byte for byte."""
    source = written(
        tmp_path / "in.zip", zipped({"alice/1.ipynb": handin(), "alice/2.ipynb": handin({}), "b.txt": b"x"})
    )
    sort_in(course, source)
    before = course.collected.read_bytes()

    sort_in(course, source)

    assert course.collected.read_bytes() == before


def test_the_stamp_decides_what_a_notebook_is(course: Course, tmp_path: Path):
    """Another exercise, framework, offering or version is said; a compatible version and a lost stamp are taken."""
    bare = document([one for one in cells() if "coursework:" not in one["source"]])
    files = {
        "right.ipynb": handin(version=3),
        "compatible.ipynb": handin(version=1),
        "old.ipynb": handin(version=2),
        "other.ipynb": handin(slug="another-one"),
        "mxnet.ipynb": handin(framework="mxnet"),
        "year.ipynb": handin(offering="00000000"),
        "bare.ipynb": bare,
        "strange.ipynb": document([]),
        "broken.ipynb": b"{",
    }

    rows = sort_in(course, written(tmp_path / "in.zip", zipped(files)), frameworks=("pytorch",))

    assert {name: row.status.value for name, row in rows.items()} == {
        "right.ipynb": "collected",
        "compatible.ipynb": "collected",
        "old.ipynb": "old version",
        "other.ipynb": "wrong assignment",
        "mxnet.ipynb": "wrong assignment",
        "year.ipynb": "wrong assignment",
        "bare.ipynb": "collected",
        "strange.ipynb": "wrong assignment",
        "broken.ipynb": "unreadable",
    }
    assert all(row.message for name, row in rows.items() if name != "right.ipynb")


def test_a_stamped_notebook_beats_one_that_lost_its_stamp(course: Course, tmp_path: Path):
    """The newest that has a stamp counts, even if one without is newer."""
    written(tmp_path / "in/alice/a.ipynb", handin(), datetime(2026, 1, 1))
    bare = document([one for one in cells() if "coursework:" not in one["source"]])
    written(tmp_path / "in/alice/b.ipynb", bare, datetime(2026, 1, 2))

    rows = sort_in(course, tmp_path / "in")

    assert rows["alice/a.ipynb"].status is Status.COLLECTED
    assert rows["alice/b.ipynb"].status is Status.DUPLICATE


def test_who_handed_in_nothing_has_a_row(course: Course, tmp_path: Path):
    """Everyone in the roster is in the table; the row goes once something is handed in."""
    roster(course, "alice,,,,,", "bob,,,,,")
    first = sort_in(course, written(tmp_path / "alice.ipynb", handin()))

    second = sort_in(course, written(tmp_path / "bob.ipynb", handin()))

    assert first["bob"].status is Status.MISSING
    assert {row.status for row in second.values()} == {Status.COLLECTED}


def link_in_zip() -> zipfile.ZipInfo:
    """The entry of a symbolic link."""
    entry = zipfile.ZipInfo("dave.ipynb")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


def test_hostile_zips_are_refused_file_by_file(course: Course, tmp_path: Path):
    """Paths that lead out, links, bombs, lies and damage have their rows; the good file beside them is collected."""
    source = tmp_path / "bad.zip"
    with zipfile.ZipFile(source, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../evil.ipynb", handin())
        archive.writestr("/etc/evil.ipynb", handin())
        archive.writestr("C:\\evil.ipynb", handin())
        archive.writestr("a\\..\\..\\evil.ipynb", handin())
        archive.writestr(link_in_zip(), handin())
        archive.writestr("bomb.ipynb", b" " * 25_000_000)
        archive.writestr("good.ipynb", handin())
        archive.writestr("damaged.ipynb", handin({"total": "x" * 5000}))
        entry = archive.getinfo("damaged.ipynb")
    content = bytearray(source.read_bytes())
    content[entry.header_offset + 60 : entry.header_offset + 90] = b"\xff" * 30
    source.write_bytes(content)

    rows = sort_in(course, source)

    assert [row.student for row in rows.values() if row.status is Status.COLLECTED] == ["good"]
    assert {row.status for name, row in rows.items() if name != "good.ipynb"} == {Status.UNREADABLE}
    assert len(rows) == 8
    assert not list(tmp_path.rglob("evil*"))


def test_a_lie_about_the_size_is_seen(course: Course, tmp_path: Path):
    """An entry that says it is small is read no further than the limit."""
    content = zipped({"bomb.ipynb": b" " * 25_000_000})
    lie = content.replace((25_000_000).to_bytes(4, "little"), (1000).to_bytes(4, "little"))

    rows = sort_in(course, written(tmp_path / "lie.zip", lie))

    assert rows["bomb.ipynb"].status is Status.UNREADABLE


def test_a_zip_of_many_files_takes_no_minutes(course: Course, tmp_path: Path):
    """Thousands of files are listed in seconds; an absurd name is refused."""
    files = {f"s{number}.ipynb": b"{" for number in range(3_000)} | {"a" + " " * 60_000 + "b.ipynb": handin()}
    begun = time.process_time()

    rows = sort_in(course, written(tmp_path / "many.zip", zipped(files)))

    assert len(rows) == 3_001
    assert time.process_time() - begun < 10


def test_a_damaged_zip_has_a_row(course: Course, tmp_path: Path):
    """A download that broke off is said, not raised."""
    rows = sort_in(course, written(tmp_path / "half.zip", zipped({"a.ipynb": handin()})[:50]))

    assert rows["half.zip"].message == "It is a damaged zip file."


def test_links_and_pipes_in_folders_are_refused(course: Course, tmp_path: Path):
    """Nothing outside of the folder is read through it, and a pipe does not block."""
    folder = tmp_path / "in"
    written(folder / "good.ipynb", handin())
    (folder / "link.ipynb").symlink_to(written(tmp_path / "secret.ipynb", handin()))
    (folder / "far").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.ipynb")

    rows = sort_in(course, folder)

    assert {name: row.status.value for name, row in rows.items()} == {
        "good.ipynb": "collected",
        "link.ipynb": "unreadable",
        "far": "unreadable",
        "pipe.ipynb": "unreadable",
    }


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_of_a_repository_the_matching_notebook_counts(course: Course, tmp_path: Path):
    """A clone's times are those of cloning: commits tell; the other notebooks in it are no wrong hand-ins."""
    home = tmp_path / "clones" / "sum-up-alice"
    written(home / "work" / "mine.ipynb", handin())
    written(home / "lecture.ipynb", document([]))
    evil = tmp_path / "ran"
    git = ["git", "-C", str(home), "-c", "user.name=a", "-c", "user.email=a@b"]
    date = {**os.environ, "GIT_COMMITTER_DATE": "2026-01-05T10:00:00+00:00", "HOME": str(tmp_path)}
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *command], check=True, env=date)
    program = written(tmp_path / "gpg", f"#!/bin/sh\ntouch {evil}\n")
    program.chmod(0o755)
    for key, value in (("log.showSignature", "true"), ("gpg.program", str(program)), ("core.fsmonitor", str(program))):
        subprocess.run([*git, "config", key, value], check=True)
    commit = subprocess.run([*git, "cat-file", "commit", "HEAD"], check=True, capture_output=True, text=True).stdout
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ\n -----END PGP SIGNATURE-----\n\n"
    signed = subprocess.run(
        [*git, "hash-object", "-t", "commit", "-w", "--stdin"],
        input=commit.replace("\n\n", f"\n{signature}", 1),
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    subprocess.run([*git, "update-ref", "HEAD", signed], check=True)

    alone = sort_in(Course(tmp_path / "other"), home)
    rows = sort_in(course, tmp_path / "clones")

    assert {name: replace(row, source="") for name, row in rows.items()} == {
        name: replace(row, source="") for name, row in alone.items()
    }
    assert list(rows) == ["sum-up-alice/work/mine.ipynb"]
    row = rows["sum-up-alice/work/mine.ipynb"]
    assert (row.student, moment(row.submitted_at)) == ("alice", moment("2026-01-05T10:00:00+00:00"))
    assert not evil.exists()


def test_names_cannot_lead_anywhere(course: Course, tmp_path: Path):
    """A student's name is made harmless for files and for spreadsheets before anything is written."""
    files = {"=cmd|calc_7_9_x.ipynb": handin(), "con_8_9_x.ipynb": handin(), ".._9_9_x.ipynb": handin()}

    rows = sort_in(course, written(tmp_path / "in.zip", zipped(files)))

    assert {row.student for row in rows.values()} == {"cmd-calc", "con-", "9"}
    assert "'=cmd|calc_7_9_x.ipynb" in course.collected.read_text("utf8")
    assert read_rows(course)[0].original in files


def test_late_days_are_begun_days():
    """A minute after the due date is a day; before it, or without one, nothing is."""
    due = moment("2026-01-10T12:00+00:00")

    assert [late_days(due + timedelta(hours=hours), due) for hours in (-1, 0, 0.1, 24, 25)] == [0, 0, 1, 1, 2]
    assert late_days(None, due) is late_days(due, None) is None
    assert moment("2026-01-10").hour == 23


def test_due_dates_can_differ_by_exercise(course: Course):
    """A column `due:<slug>` goes before the column `due`."""
    roster(course, "alice,2026-01-01,2026-02-01,1.5", header=f"student,due,due:{SLUG},time_factor")

    alice = read_roster(course).students["alice"]

    assert (alice.due_for(SLUG), alice.due_for("x")) == (moment("2026-02-01"), moment("2026-01-01"))
    assert alice.time_factor == 1.5


def test_the_roster_is_read_as_spreadsheets_leave_it(course: Course):
    """Semicolons, a byte order mark, decimal commas, Windows's letters and extra columns are understood."""
    written(course.roster, "\ufeffstudent;due;time_factor;name\r\np01;;1,5;Zoë\r\n;;;\r\n")
    assert read_roster(course).students["p01"].time_factor == 1.5

    written(course.roster, "student,name\r\np01,Zo\u00eb\r\n".encode("cp1252"))
    assert read_roster(course).students["p01"].ids == {"name": "Zoë"}


def test_every_wrong_line_of_the_roster_is_named(course: Course):
    """All mistakes are told at once, each with its line."""
    roster(course, "a/b,,,,,", "p01,tomorrow,,,,", "p02,,0.5,,,", "p03,,,,,", "p03,,,,,")

    with pytest.raises(CourseError) as caught:
        read_roster(course)

    lines = str(caught.value).splitlines()
    assert [line.partition(": ")[0].rpartition(":")[2] for line in lines] == ["2", "3", "4", "6"]


def test_sheets_keep_every_other_byte(tmp_path: Path):
    """A filled cell, a removed row and an added one leave quotes, separators and line ends alone."""
    text = 'a;b;"c ""x"""\r\n1;"two\r\nlines";3\r\n\r\n4;5\r\n'
    sheet = read_sheet(written(tmp_path / "x.csv", text.encode("utf-8-sig")))

    assert sheet.header == ["a", "b", 'c "x"']
    assert [record.line for record in sheet.records()] == [2, 5]
    assert sheet.filled({(1, 2): "9", (2, 2): "a;b"}) == text.replace(";3", ";9").replace("4;5", '4;5;"a;b"')
    assert sheet.without(lambda record: record["a"] == "1") == (text.replace('1;"two\r\nlines";3\r\n', ""), 1)
    assert sheet.extended([{"a": "7", "b": ""}]) == f"{text}7;;\r\n"
    assert sheet.encoded(text).startswith(b"\xef\xbb\xbf")


def test_formulas_are_defused():
    """Nothing that a student wrote starts a formula; numbers stay numbers, and ours can be read back."""
    assert [defused(text) for text in ("=1", "+1", "-1", "@x", "x", -1.5)] == ["'=1", "'+1", "'-1", "'@x", "x", "-1.5"]
    texts = ["=1", "'=1", "''-1", "'", "''", "'a", "a", " a", "a ", "' a", "'a ", "\n=1", ""]
    assert [plain(defused(text)) for text in texts] == texts
    assert defused("\0=1") == "'=1"
    assert [number(text) for text in ("1,5", "1.5", ".5", "", "nan", "1e9", "x")] == [
        1.5,
        1.5,
        0.5,
        None,
        None,
        None,
        None,
    ]


def test_an_edited_table_is_refused_with_its_line(course: Course, tmp_path: Path):
    """The table of what was collected is ours; an unknown status in it is named, not guessed."""
    sort_in(course, written(tmp_path / "alice.ipynb", handin()))
    course.collected.write_text(course.collected.read_text().replace("collected", "fine"))

    with pytest.raises(CourseError, match=r"submissions.csv:2: 'fine'"):
        read_rows(course)


def test_what_is_not_there_is_said(course: Course, tmp_path: Path):
    """A source that does not exist is an error of the caller's."""
    with pytest.raises(CourseError, match="there is no such file"):
        sort_in(course, tmp_path / "nowhere.zip")


def test_metadata_alone_still_stamps(course: Course, tmp_path: Path):
    """A notebook whose stamped cells were deleted is known by its metadata."""
    content = json.loads(document([one for one in cells() if "coursework:" not in one["source"]]))
    content["metadata"] = {"coursework": {"slug": SLUG, "framework": "mxnet", "version": 3, "offering": "3f2a9c1d"}}

    rows = sort_in(course, written(tmp_path / "alice.ipynb", json.dumps(content)))

    assert (rows["alice.ipynb"].framework, rows["alice.ipynb"].message) == ("mxnet", "")


@pytest.mark.parametrize("fault", [TypeError, MemoryError, RecursionError])
def test_an_unforeseen_failure_is_one_file_s(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: type[Exception]
):
    """Whatever fails with one student's file has its row; the others are collected."""

    def failing(document: dict[str, object]) -> None:
        if "# bad" in str(document):
            raise fault("nobody thought of it")

    monkeypatch.setattr("coursework.looking.read_stamp", failing)
    files = {"alice.ipynb": handin(), "bob.ipynb": handin({"total": "# bad"})}

    rows = sort_in(course, written(tmp_path / "in.zip", zipped(files)))

    assert [rows[name].status for name in files] == [Status.COLLECTED, Status.UNREADABLE]
    assert fault.__name__ in rows["bob.ipynb"].message


def test_a_file_that_goes_while_it_is_collected_has_its_row(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """What can be looked at and not be read a second time stops nobody else's."""
    reads = iter([handin()])

    def content() -> bytes:
        for read in reads:
            return read
        raise Refused("it cannot be read")

    monkeypatch.setattr(
        "coursework.incoming.items", lambda _: [Item("bob.ipynb", content), Item("alice.ipynb", handin)]
    )

    rows = sort_in(course, tmp_path)

    assert {name: row.status.value for name, row in rows.items()} == {
        "alice.ipynb": "collected",
        "bob.ipynb": "unreadable",
    }


def test_zips_that_python_cannot_read_through_have_rows(course: Course, tmp_path: Path):
    """An entry without a name, and damage in one packed by LZMA, keep nothing else from being collected."""
    source = tmp_path / "odd.zip"
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("good.ipynb", handin(version=3))
        archive.writestr("Zx", handin())
        archive.writestr("damaged.ipynb", handin(), zipfile.ZIP_LZMA)
        begin = archive.getinfo("damaged.ipynb").header_offset + 30 + len("damaged.ipynb")
    content = bytearray(source.read_bytes())
    content[begin + 4 : begin + 9] = b"\xff" * 5
    source.write_bytes(content.replace(b"Zx", b"\0x"))

    rows = sort_in(course, source)

    assert {name: (row.status.value, row.message) for name, row in rows.items()} == {
        "good.ipynb": ("collected", ""),
        "?": ("unreadable", "Refused: it has no name."),
        "damaged.ipynb": ("unreadable", "Its entry in the zip is damaged."),
    }


@pytest.mark.parametrize("text", ["9999-12-31", "9999-12-31T23:59:59-12:00", "0001-01-01", "0001-01-01T00:00+14:00"])
@pytest.mark.parametrize("zone", ["UTC-14", "UTC+12"])
def test_the_first_and_the_last_day_are_dates(monkeypatch: pytest.MonkeyPatch, text: str, zone: str):
    """A due date so far away that it is no day of the calendar elsewhere can still be compared."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        due = moment(text)
    finally:
        monkeypatch.undo()
        time.tzset()

    assert ((late_days(moment("2026-01-01"), due) or 0) > 0) is text.startswith("0001")


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_a_commit_of_no_day_of_ours_stops_nothing(course: Course, tmp_path: Path):
    """A student can write any date into a commit, also one that is past the calendar's end elsewhere."""
    path = written(tmp_path / "in" / "alice" / "a.ipynb", handin(), datetime(2026, 1, 2))
    git = ["git", "-C", str(path.parent), "-c", "user.name=a", "-c", "user.email=a@b"]
    date = {**os.environ, "GIT_COMMITTER_DATE": "@253402340000 -1200"}
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *command], check=True, env=date)

    rows = sort_in(course, tmp_path / "in")

    assert rows["alice/a.ipynb"].status is Status.COLLECTED
    assert (rows["alice/a.ipynb"].submitted_at, rows["alice/a.ipynb"].late_days) == ("", None)


def test_names_survive_the_table(course: Course, tmp_path: Path):
    """Quotes, signs and spaces around a name are read back as they were, so nothing counts as handed in twice."""
    names = ["'=x", "=x", "''=x", " lead", "trail ", "'", "'a", "-=c", "' "]
    files = {f"{name}/h{name}.ipynb": handin({"total": name}) for name in names} | {" h.ipynb": handin()}
    source = written(tmp_path / "in.zip", zipped(files))
    sort_in(course, source)
    before = course.collected.read_bytes()

    rows = sort_in(course, source)

    assert rows.keys() == files.keys()
    assert course.collected.read_bytes() == before
    assert [row.original for row in rows.values() if "several" in row.message] == []
