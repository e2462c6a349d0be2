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
from coursework.returning import People, people
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


def _from_returned(course: Course, student: str, rows: list[Row], who: People) -> list[str]:
    said = []
    for path in sorted(course.returned.rglob("*.csv")):
        sheet = read_sheet(path)
        kept, count = sheet.without(lambda record: who.find(record) == student)
        if count:
            write_whole(path, sheet.encoded(kept))
            said.append(f"{path}: {count} {'row' if count == 1 else 'rows'} deleted")
    for path in sorted(course.returned.rglob("*.zip")):
        count = _from_zip(path, student, rows)
        if count:
            said.append(f"{path}: {count} {'entry' if count == 1 else 'entries'} deleted")
    return said


def _from_zip(path: Path, student: str, rows: list[Row]) -> int:
    names = {PurePosixPath(row.original).name for row in rows if row.kind == "canvas"}
    marks = tuple(f"_{row.identity}_assignsubmission_" for row in rows if row.kind == "moodle")

    def theirs(name: str) -> bool:
        return name in names or name.startswith(f"{student}/") or any(mark in name for mark in marks)

    content = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as new:
        unwanted = [entry for entry in old.infolist() if theirs(entry.filename)]
        for entry in old.infolist():
            if entry not in unwanted:
                new.writestr(entry, old.read(entry), zipfile.ZIP_DEFLATED)
    if unwanted:
        write_whole(path, content.getvalue())
    return len(unwanted)
