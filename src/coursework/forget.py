"""Delete everything that the course's folder holds of one person, and say what that was."""

from __future__ import annotations

import io
import shutil
import zipfile
from pathlib import Path, PurePosixPath

from coursework.course import Course
from coursework.errors import CourseError
from coursework.files import write_whole
from coursework.overview import overview
from coursework.results import all_results
from coursework.returning import People, number_of, people
from coursework.roster import read_roster
from coursework.rows import Row, read_rows
from coursework.sheet import read_sheet


def holds(course: Course, student: str) -> list[Path]:
    """List the files that hold something of a student; the name has to be exactly the pseudonym."""
    found = [course.submissions / student] if _folder(course, student) else []
    found += [path for path in course.grades.glob(f"*/{_escaped(student)}.*") if path.stem == student]
    for path in _tables(course):
        if path.is_file() and read_sheet(path).without(lambda record: record["student"] == student)[1]:
            found.append(path)
    return found


def changes(course: Course, student: str) -> list[Path]:
    """List what is written anew without a student: returned sheets and zips of feedback, and the overview."""
    rows = [row for row in read_rows(course) if row.student == student]
    who = people(read_roster(course), rows, [])
    found = [path for path in _sheets(course) if _rows_of(path, student, who)[1]]
    marks = _marks(course, student, rows, who)
    found += [path for path in _zips(course) if _entries_of(path, student, rows, marks)]
    page = course.grades / "overview.html"
    return [*found, *([page] if page.is_file() else [])]


def forget(course: Course, student: str) -> list[str]:
    """Delete a student's data.

    Returns:
        What was deleted, a line each.

    Raises:
        CourseError: If the course holds nothing of a student of exactly this name.
    """
    if not holds(course, student):
        raise CourseError(
            f"{course.root}: there is nothing of a student {student!r}. The name has to be exactly the one in "
            f"{course.roster.name} or {course.collected.name}."
        )
    rows = [row for row in read_rows(course) if row.student == student]
    who = people(read_roster(course), rows, [])
    said = _from_returned(course, student, rows, who)
    if _folder(course, student):
        shutil.rmtree(course.submissions / student)
        said.append(f"{course.submissions / student}: deleted")
    for path in sorted(course.grades.glob(f"*/{_escaped(student)}.*")):
        if path.stem == student:
            path.unlink()
            said.append(f"{path}: deleted")
    for path in _tables(course):
        if path.is_file():
            sheet = read_sheet(path)
            kept, count = sheet.without(lambda record: record["student"] == student)
            if count:
                write_whole(path, sheet.encoded(kept))
                said.append(f"{path}: {count} {'row' if count == 1 else 'rows'} deleted")
    page = course.grades / "overview.html"
    if page.is_file():
        write_whole(page, overview(course, all_results(course), []))
        said.append(f"{page}: written anew; `grade` adds the answers that are the same")
    return said


def _tables(course: Course) -> list[Path]:
    return [course.roster, course.collected, course.marks, course.overrides, course.grades / "grades.csv"]


def _folder(course: Course, student: str) -> bool:
    # Exactly: neither a link nor, where letters' case does not count, somebody else's.
    return course.submissions.is_dir() and student in {path.name for path in course.submissions.iterdir()}


def _escaped(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _sheets(course: Course) -> list[Path]:
    return sorted(course.returned.rglob("*.csv"))


def _zips(course: Course) -> list[Path]:
    return sorted(course.returned.rglob("*.zip"))


def _rows_of(path: Path, student: str, who: People) -> tuple[str, int]:
    """Give a returned sheet without a student's rows, and how many those are."""
    return read_sheet(path).without(lambda record: who.find(record) == student)


def _marks(course: Course, student: str, rows: list[Row], who: People) -> tuple[str, ...]:
    """Give what Moodle's folders of a student have in their names, by the numbers in downloads and in sheets."""
    numbers = {row.identity for row in rows if row.kind == "moodle"}
    for path in _sheets(course):
        found = [one for one in read_sheet(path).records() if one["Identifier"] and who.find(one) == student]
        numbers |= {number_of(one) for one in found}
    return tuple(f"_{number}_assignsubmission_" for number in sorted(numbers - {""}))


def _from_returned(course: Course, student: str, rows: list[Row], who: People) -> list[str]:
    said = []
    # Sheets tell which entries of a zip are theirs: look first, delete then.
    marks = _marks(course, student, rows, who)
    for path in _sheets(course):
        kept, count = _rows_of(path, student, who)
        if count:
            write_whole(path, read_sheet(path).encoded(kept))
            said.append(f"{path}: {count} {'row' if count == 1 else 'rows'} deleted")
    for path in _zips(course):
        unwanted = _entries_of(path, student, rows, marks)
        if unwanted:
            _without_entries(path, unwanted)
            said.append(f"{path}: {len(unwanted)} {'entry' if len(unwanted) == 1 else 'entries'} deleted")
    return said


def _entries_of(path: Path, student: str, rows: list[Row], marks: tuple[str, ...]) -> list[str]:
    names = {PurePosixPath(row.original).name for row in rows if row.kind == "canvas"}
    with zipfile.ZipFile(path) as archive:
        return [
            name
            for name in archive.namelist()
            if name in names or name.startswith(f"{student}/") or any(mark in name for mark in marks)
        ]


def _without_entries(path: Path, unwanted: list[str]) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            if entry.filename not in unwanted:
                new.writestr(entry, old.read(entry), zipfile.ZIP_DEFLATED)
    write_whole(path, content.getvalue())
