"""Give grades back the way a platform takes them: its own grade sheet, filled, and a zip of feedback in its naming.

Canvas: the gradebook's export, whose importer knows students by ``ID`` and an assignment by its column;
feedback keeps the name that the hand-in had in Canvas's zip. Moodle: the offline grading worksheet, whose importer
knows students by ``Identifier``; feedback lies in folders named as Moodle's own download names them.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from coursework.alone import alone
from coursework.columns import in_english, is_no_grade
from coursework.course import Course
from coursework.errors import CourseError
from coursework.feedback import notebook, page, text
from coursework.files import write_whole
from coursework.pages import points
from coursework.people import Matches, is_nobody, matched, number_of, people, where
from coursework.results import Result, all_results, broken_results
from coursework.roster import read_roster
from coursework.rows import Row, Status, read_rows
from coursework.sheet import Record, Sheet, number, read_sheet

#: The first moment that an archive can name.
_MOMENT = (1980, 1, 1, 0, 0, 0)
_POSSIBLE = "points possible"
_MAXIMUM = ("Maximum Grade", "Maximum grade")
#: Columns without which nobody can tell whose a row is.
_WHOSE = {"Identifier", "Student", "Full name", "SIS User ID", "SIS Login ID", "Email address"}


@dataclass(frozen=True)
class Wish:
    """What the instructor asked for.

    Attributes:
        slug: The exercise.
        title: Its title, by which Canvas's column is found.
        column: The grade's column, if it has another name.
        scale: Whether to scale points where the platform's maximum is another.
        zero: Whether those who handed in nothing that could be graded get a zero; else their cells stay. A
            correction counts in any case.
    """

    slug: str
    title: str = ""
    column: str = ""
    scale: bool = False
    zero: bool = False


@dataclass
class Returned:
    """What was written.

    Attributes:
        files: The files.
        filled: How many cells of the sheet were filled.
        changed: Which of these held another grade, a line each.
        same: How many of these held that grade already.
        left: Whose cell stayed as it was, and why, a sentence each.
        unsure: Those whose row was found by nothing but their pseudonym.
    """

    files: list[Path] = field(default_factory=list)
    filled: int = 0
    changed: list[str] = field(default_factory=list)
    same: int = 0
    left: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)

    @property
    def summary(self) -> str:
        """How many cells were filled, and what stood there."""
        new = self.filled - len(self.changed) - self.same
        parts = {"new": new, "changed": len(self.changed), "unchanged": self.same}
        told = ", ".join(f"{count} {what}" for what, count in parts.items() if count)
        return f"{self.filled} grade{'' if self.filled == 1 else 's'} filled in{f': {told}' if told else ''}"

    @property
    def doubt(self) -> str:
        """What is to be said of those who are unsure."""
        return (
            f"found by the pseudonym alone, which is their login or name there: {', '.join(self.unsure)}. "
            "See that these are the same people; names or numbers in roster.csv make it sure."
        )


def fill(sheet: Sheet, wish: Wish, results: Sequence[Result], whose: Matches, returned: Returned) -> str:
    """Fill a platform's sheet: one column, nothing else.

    Args:
        sheet: What the platform gave.
        wish: What is asked for.
        results: Those of the exercise.
        whose: Whose the rows are.
        returned: Is told what was filled, and what was not and why.

    Raises:
        CourseError: If the sheet is neither platform's, or its grade column cannot be told.
    """
    column = _column(sheet, wish)
    by_student = {one.student: one for one in results}
    values: dict[tuple[int, int], str] = {}
    for record in sheet.records():
        student = whose.students.get(record.index, "")
        result = by_student.get(student)
        why = _left(sheet, record, result, wish, whose)
        if why:
            returned.left.append(why)
        elif result:
            value = _grade(result, sheet, record, column, wish)
            values[record.index, column] = value
            returned.filled += 1
            _compare(student, sheet, record, column, value, returned)
            returned.unsure += [student] if student in whose.unsure else []
    missing = sorted(set(by_student) - set(whose.students.values()))
    returned.left += [f"{student}: has a result, but no row in {sheet.path} was filled for it." for student in missing]
    return sheet.filled(values)


def _compare(  # noqa: PLR0913, PLR0917
    student: str, sheet: Sheet, record: Record, column: int, new: str, returned: Returned
) -> None:
    """Note whether a cell held a grade already, and which."""
    cells = sheet.rows[record.index].cells
    old = cells[column].value.strip() if column < len(cells) else ""
    before, after = number(old), number(new)
    if old == new or (before is not None and before == after):
        returned.same += 1
    elif not is_no_grade(old):
        returned.changed.append(f"{student}: {old} -> {new} (line {record.line})")


def archives(
    wish: Wish, results: Sequence[Result], rows: Iterable[Row], sheet: Sheet | None, whose: Matches
) -> dict[str, bytes]:
    """Make the zips of feedback, one for each way in which hand-ins came, by file name."""
    members: dict[str, dict[str, tuple[str, bytes]]] = {}
    rows = [row for row in rows if row.slug == wish.slug]
    folders = _moodle_folders(sheet, whose) if sheet else {}
    for result in results:
        own = [row for row in rows if row.student == result.student and row.original]
        if result.corrected and not own and result.student in folders:
            # Who handed in nothing and got points all the same: Moodle's sheet gives a folder, a download did not.
            own = [Row(result.student, wish.slug)]
        counted = [row for row in own if row.status is Status.COLLECTED] or own
        for row in counted[:1]:
            kind = "moodle" if result.student in folders else row.kind if row.kind in ("canvas", "moodle") else "others"
            name, content = _member(kind, row, result, folders.get(result.student, ""))
            members.setdefault(kind, {})[name] = (result.student, content)
    wanted = set(members) if sheet is None else {"moodle" if "Identifier" in sheet.header else "canvas"}
    return {f"feedback-{wish.slug}.{kind}.zip": _zipped(members[kind]) for kind in sorted(wanted & set(members))}


def give_back(course: Course, wish: Wish, sheet: Path | None, out: Path) -> Returned:
    """Write the filled sheet and the zips of feedback.

    Args:
        course: The course.
        wish: What is asked for.
        sheet: The platform's grade sheet; none is filled without.
        out: Where to.

    Raises:
        CourseError: If there is nothing to give back, or the sheet cannot be filled.
    """
    with alone(course, "return"):
        rows, everything = read_rows(course), all_results(course)
        results = [one for one in everything if one.slug == wish.slug]
        if not results:
            raise CourseError(f"{course.grades}: nothing of {wish.slug} was graded yet. Grade it first.")
        broken = broken_results(course, wish.slug)
        returned = Returned(left=[f"{path}: this result is damaged; `grade` makes it again." for path in broken])
        read, whose = None, Matches()
        if sheet:
            read, wish = _understood(read_sheet(sheet), wish)
            whose = matched(read, people(read_roster(course), rows, everything, wish.slug))
            filled = fill(read, wish, results, whose, returned)
            target = out / sheet.name
            if target.resolve() == sheet.resolve():
                raise CourseError(f"{sheet}: the filled sheet would replace this one. Choose another --out.")
            write_whole(target, read.encoded(filled))
            returned.files.append(target)
        for name, content in archives(wish, results, rows, read, whose).items():
            write_whole(out / name, content)
            returned.files.append(out / name)
        return returned


def _understood(sheet: Sheet, wish: Wish) -> tuple[Sheet, Wish]:
    """Give a sheet with the columns' names that are known here, and what is asked for in these."""
    english = in_english(sheet, wish.column)
    return (sheet, wish) if english is sheet else (english, replace(wish, column=""))


def _column(sheet: Sheet, wish: Wish) -> int:
    header = sheet.header
    if wish.column and _WHOSE & set(header):
        found = [n for n, name in enumerate(header) if wish.column in (name, _untailed(name))]
    elif "Identifier" in header:
        found = [n for n, name in enumerate(header) if name == "Grade"]
    elif "ID" in header and any("Student" in name for name in header):
        wanted = {wish.slug.casefold(), wish.title.casefold()}
        found = [n for n, name in enumerate(header) if _untailed(name).casefold() in wanted]
    else:
        raise CourseError(
            f"{sheet.path}:1: neither Canvas's gradebook (Student, ID, ...) nor Moodle's grading worksheet "
            f"(Identifier, ..., Grade); found: {', '.join(header)}. Of Moodle in another language it is not certain "
            "which columns these are: set Moodle to English for the download, and export it again."
        )
    if len(found) != 1:
        raise CourseError(
            f"{sheet.path}:1: {'no' if not found else 'more than one'} column for {wish.title or wish.slug!r}; found: "
            f"{', '.join(header)}. Say which one: --column NAME."
        )
    return found[0]


def _untailed(name: str) -> str:
    """Take Canvas's number off an assignment's name."""
    return re.sub(r"\s*\(\d+\)$", "", name)


def _left(sheet: Sheet, record: Record, result: Result | None, wish: Wish, whose: Matches) -> str:
    """Say why a row's cell stays as it is; nothing if it is filled, or no student's."""
    if is_nobody(record):
        return ""
    if record.index in whose.left:
        return whose.left[record.index]
    if result is None:
        return f"{where(sheet, record)}: nothing was collected from this person."
    why = _unready(result, wish) or ("Moodle has locked this grade" if record["Grade can be changed"] == "No" else "")
    return f"{result.student}: {why}; the cell stays as it is." if why else ""


def _unready(result: Result, wish: Wish) -> str:
    if result.complete and result.counts:
        return ""
    if result.pending:
        return f"{', '.join(result.pending)} still to be marked in marks.csv"
    if result.status is Status.AGAIN:
        return "still to be graded again"
    if result.status is not Status.GRADED and not wish.zero:
        return f"{result.status} (--zero gives such hand-ins 0 points)"
    return ""


def _grade(result: Result, sheet: Sheet, record: Record, column: int, wish: Wish) -> str:
    text_of_most = next((record[name] for name in _MAXIMUM if record[name]), "") or _possible(sheet, column)
    most = number(text_of_most)
    value = result.points
    if most and abs(most - result.max_points) > 1e-6:  # noqa: PLR2004 - floats
        if not wish.scale:
            raise CourseError(
                f"{sheet.path}: there the most is {text_of_most} points, here {points(result.max_points)}. "
                "Change it there and export again, or scale with --scale."
            )
        value = value * most / result.max_points if result.max_points else 0.0
    written = f"{value:.2f}" if record["Identifier"] else points(value)
    return written.replace(".", ",") if "," in text_of_most else written


def _possible(sheet: Sheet, column: int) -> str:
    for row in sheet.rows[1:]:
        if _POSSIBLE in row.cells[0].value.casefold() and column < len(row.cells):
            return row.cells[column].value.strip()
    return ""


def _moodle_folders(sheet: Sheet, whose: Matches) -> dict[str, str]:
    """Give the folders of feedback by student, as Moodle's importer takes them apart: name, number, plugin."""
    folders = {}
    for record in sheet.records():
        student = whose.students.get(record.index)
        if student and record["Identifier"]:
            name = re.sub(r"[_/\\]", " ", record["Full name"]).strip() or "Participant"
            folders[student] = f"{name}_{number_of(record)}_assignsubmission_file_"
    return folders


def _member(kind: str, row: Row, result: Result, folder: str) -> tuple[str, bytes]:
    if kind == "moodle":
        folder = (
            folder
            or f"{PurePosixPath(row.original).parts[0].partition('_assignsubmission_')[0]}_assignsubmission_file_"
        )
        return f"{folder}/feedback.html", page(result).encode()
    if kind == "canvas":
        name = PurePosixPath(row.original).name
        return name, notebook(result) if name.lower().endswith(".ipynb") else text(result).encode()
    return f"{result.student}/feedback.html", page(result).encode()


def _zipped(members: Mapping[str, tuple[str, bytes]]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members):
            entry = zipfile.ZipInfo(name, _MOMENT)
            entry.external_attr = 0o644 << 16
            student, page_of_theirs = members[name]
            # Platforms' names are not ours: by this, an entry is found when its student is forgotten.
            entry.comment = student.encode()
            archive.writestr(entry, page_of_theirs, zipfile.ZIP_DEFLATED)
    return content.getvalue()
