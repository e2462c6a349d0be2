"""Delete everything that the course's folder holds of one person, and say what that was.

What tells whose something is goes last: a zip's entries by a sheet's numbers, a sheet's rows by the roster's name. So
whoever was interrupted does the same again, and nothing of the person has lost its name meanwhile.
"""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath

from coursework import alone, drawing, zips
from coursework.columns import in_english
from coursework.course import Course
from coursework.errors import CourseError, CourseworkError
from coursework.files import WRITING, write_whole
from coursework.overview import overview
from coursework.people import People, number_of, people
from coursework.results import all_results
from coursework.roster import read_roster
from coursework.rows import Row, read_rows
from coursework.sheet import Record, Sheet, read_sheet

#: What the course makes for everyone, in its folder.
_HANDED_OUT = ("assigned", "exported")


@dataclass(frozen=True)
class Forgotten:
    """What became of a person's data.

    Attributes:
        said: What was deleted, a line each.
        faults: What could not be looked into or changed, and why, a line each.
        others: What lies in the course's folder beside the course's own, and was not looked into.
    """

    said: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    others: list[Path] = field(default_factory=list)


@dataclass(frozen=True)
class _Step:
    """One thing to do: where, what is said of it then if anything, and how; whether the file is written anew."""

    path: Path
    said: str
    do: Callable[[], None]
    anew: bool = True


@dataclass(frozen=True)
class _Person:
    """What tells whose something is.

    Attributes:
        student: The pseudonym.
        rows: What was collected from this person.
        who: Finds the student of a platform's row.
    """

    student: str
    rows: list[Row]
    who: People

    def has(self, record: Record, sheet: Sheet) -> bool:
        """Whether a row is this person's, in a table of ours or of a platform."""
        if "student" in sheet.header and record["student"] == self.student:
            return True
        return _is_a_platforms(sheet) and self.who.match(record).student == self.student


def whom(course: Course, name: str) -> str:
    """Give the pseudonym of who is meant: by the pseudonym, or by the full name if one line of the roster has it.

    Args:
        course: The course.
        name: What was said; it has to be exactly what stands there.

    Raises:
        CourseError: If several have this name, nobody has it, or the roster cannot be read.
    """
    if holds(course, name):
        return name
    named = [one.student for one in read_roster(course).students.values() if name and one.ids.get("name") == name]
    if len(named) > 1:
        raise CourseError(
            f"{course.roster}: {len(named)} lines have the name {name!r}, those of {' and '.join(named)}. Say which of "
            "these pseudonyms is meant."
        )
    if not named:
        raise CourseError(
            f"{course.root}: there is nothing of a student {name!r}. It has to be exactly the pseudonym that stands in "
            f"{course.roster.name} or {course.collected.name}, or exactly the name in {course.roster.name}."
        )
    return named[0]


def holds(course: Course, student: str) -> list[Path]:
    """List the files that hold something of a student; the name has to be exactly the pseudonym."""
    found = [course.submissions / student] if _folder(course, student) else []
    found += _results(course, student)
    for path in _tables(course):
        if path.is_file() and read_sheet(path).without(lambda record: record["student"] == student)[1]:
            found.append(path)
    return found


def changes(course: Course, student: str) -> list[Path]:
    """List what is written anew without a student: sheets and zips, returned and downloaded, and the overview."""
    page = course.grades / "overview.html"
    steps = _elsewhere(course, _person(course, student), Forgotten())
    return [*(step.path for step in steps if step.anew), *([page] if page.is_file() else [])]


def forget(course: Course, student: str) -> Forgotten:
    """Delete a student's data.

    Raises:
        CourseError: If it cannot be told `whom` is meant, if another command is at work in the course's folder, or if a
            table of the course's own cannot be read; nothing is deleted then.
    """
    with alone.alone(course, "forget"):
        student = whom(course, student)
        done = Forgotten(others=_others(course))
        foreign, own = _elsewhere(course, _person(course, student), done), list(_own(course, student))
        for step in foreign:
            try:
                _take(step, done)
            except zips.BAD as error:
                done.faults.append(_fault(step.path, error))
        for step in own:
            # What cannot be done here ends it: the tables at the end are needed to try again.
            _take(step, done)
        return done


def _take(step: _Step, done: Forgotten) -> None:
    step.do()
    done.said.extend([f"{step.path}: {step.said}"] if step.said else [])


def _person(course: Course, student: str) -> _Person:
    rows = read_rows(course)
    return _Person(student, [row for row in rows if row.student == student], people(read_roster(course), rows, []))


def _own(course: Course, student: str) -> Iterator[_Step]:
    """Give what to do to the course's own files: the tables by which a person is known come last."""
    if _folder(course, student):
        folder = course.submissions / student
        yield _Step(folder, "deleted", partial(shutil.rmtree, folder), anew=False)
    for path in _results(course, student):
        yield _Step(path, "deleted", path.unlink, anew=False)
    page = course.grades / "overview.html"
    shown = page.is_file()
    *tables, collected, roster = _tables(course)
    yield from _out_of_tables(tables, student)
    # The page can be made without the person's rows only once they are gone, and must not outlive them.
    yield _Step(page, "", partial(page.unlink, missing_ok=True))
    yield from _out_of_tables([collected], student)
    if shown:
        told = "written anew; how to mark written answers, and which answers are the same, `grade` adds again"
        yield _Step(page, told, lambda: write_whole(page, overview(course, all_results(course), [])))
    yield from _out_of_tables([roster], student)


def _out_of_tables(paths: Iterable[Path], student: str) -> Iterator[_Step]:
    for path in paths:
        if path.is_file():
            yield from _out_of_sheet(path, read_sheet(path), lambda record: record["student"] == student)


def _out_of_sheet(path: Path, sheet: Sheet, unwanted: Callable[[Record], bool]) -> Iterator[_Step]:
    kept, count = sheet.without(unwanted)
    if count:
        said = f"{count} {'row' if count == 1 else 'rows'} deleted"
        yield _Step(path, said, partial(write_whole, path, sheet.encoded(kept)))


def _elsewhere(course: Course, person: _Person, told: Forgotten) -> list[_Step]:
    """Give what to do to what was returned, downloaded or left half-written: first zips, then what tells of them."""
    sheets = {}
    for path in _foreign(course, ".csv"):
        try:
            sheets[path] = in_english(read_sheet(path))
        except CourseworkError as error:
            told.faults.append(f"{error} If it holds this person, delete it by hand.")
    told.others.extend(
        path for path, sheet in sheets.items() if not _is_a_platforms(sheet) and "student" not in sheet.header
    )
    told_of_rest = "left from an interrupted run, deleted"
    steps = [
        _Step(path, told_of_rest, partial(path.unlink, missing_ok=True), anew=False) for path in _half_written(course)
    ]
    numbers = {row.identity for row in person.rows if row.kind == "moodle"}
    for sheet in sheets.values():
        numbers |= {number_of(one) for one in sheet.records() if one["Identifier"] and person.has(one, sheet)}
    wanted = partial(_is_theirs, person, frozenset(numbers - {""}))
    for path in _foreign(course, ".zip"):
        try:
            unwanted = zips.entries(path, wanted)
        except zips.BAD as error:
            told.faults.append(_fault(path, error))
            continue
        if unwanted:
            said = f"{len(unwanted)} {'entry' if len(unwanted) == 1 else 'entries'} deleted"
            steps.append(_Step(path, said, partial(zips.without, path, unwanted)))
    for path, sheet in sheets.items():
        steps += _out_of_sheet(path, sheet, partial(person.has, sheet=sheet))
    return steps


def _is_theirs(person: _Person, numbers: Iterable[str], entry: zipfile.ZipInfo) -> bool:
    """Whether an entry of a zip that was returned or downloaded is a person's."""
    # A download may lie in a folder of its own; what was collected from it has names without that.
    name, inner = entry.filename, entry.filename.partition("/")[2]
    originals = {row.original for row in person.rows if row.original}
    base = PurePosixPath(name).name
    return (
        zips.is_of(entry, person.student)
        or name in originals
        or ("/" in inner and inner in originals)
        or any(f"_{number}_assignsubmission_" in name for number in numbers)
        or any(base == PurePosixPath(row.original).name for row in person.rows if row.kind == "canvas")
        or any(_is_canvas(base, row.identity) for row in person.rows if row.kind == "canvas" and row.identity)
    )


def _is_canvas(name: str, number: str) -> bool:
    # Canvas puts no underscore into a person's own name.
    return re.match(rf"(?:[^_]*_)?(?:LATE_)?(?:anon_)?{re.escape(number)}_(?:\d+_|text\.|link\.)", name) is not None


def _is_a_platforms(sheet: Sheet) -> bool:
    return "Identifier" in sheet.header or {"Student", "ID"} <= set(sheet.header)


def _tables(course: Course) -> list[Path]:
    """Give the course's own tables; those that tell who somebody is are the last."""
    return [course.marks, course.overrides, course.grades / "grades.csv", course.collected, course.roster]


def _folder(course: Course, student: str) -> bool:
    # Exactly: neither a link nor, where letters' case does not count, somebody else's.
    return course.submissions.is_dir() and student in {path.name for path in course.submissions.iterdir()}


def _results(course: Course, student: str) -> list[Path]:
    escaped = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in student)
    return sorted(path for path in course.grades.glob(f"*/{escaped}.*") if path.stem == student)


def _others(course: Course) -> list[Path]:
    """List what people keep in the course's folder, unless it is tables and zips, which are looked into."""
    own = {*_tables(course), course.submissions, course.grades}
    own |= _below(course, alone.FILE, drawing.FILE, *_HANDED_OUT)
    return [path for path in sorted(course.root.iterdir()) if path not in own and _holds_others(path)]


def _holds_others(path: Path) -> bool:
    if path.is_dir() and not path.is_symlink():
        return any(_holds_others(inner) for inner in path.iterdir())
    looked_into = path.suffix.lower() in (".csv", ".zip") or path.name.startswith(WRITING)
    return not looked_into or not _is_plain(path)


def _foreign(course: Course, ending: str) -> list[Path]:
    """List tables or zips that are not the course's own: what was returned, what was downloaded."""
    own = {*_tables(course), course.submissions, course.grades, *_below(course, *_HANDED_OUT)}
    found = (path for path in course.root.rglob("*") if path.suffix.lower() == ending and _is_plain(path))
    return sorted(path for path in found if own.isdisjoint([path, *path.parents]))


def _below(course: Course, *names: str) -> set[Path]:
    return {course.root / name for name in names}


def _half_written(course: Course) -> list[Path]:
    handed_out = _below(course, *_HANDED_OUT)  # `assign` may be writing there
    found = (path for path in course.root.rglob(f"{WRITING}*") if _is_plain(path))
    return sorted(path for path in found if handed_out.isdisjoint(path.parents))


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _fault(path: Path, error: BaseException) -> str:
    what = f"{type(error).__name__}: {error}"
    return f"{path}: cannot be looked into or changed ({what}). If it holds this person, delete it by hand."
