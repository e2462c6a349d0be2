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
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from coursework.course import Course
from coursework.errors import CourseError
from coursework.feedback import notebook, page, text
from coursework.files import write_whole
from coursework.pages import points
from coursework.results import Result, all_results
from coursework.roster import Participant, Roster, read_roster
from coursework.rows import Row, Status, read_rows
from coursework.sheet import Record, Sheet, number, read_sheet

#: The first moment that an archive can name.
_MOMENT = (1980, 1, 1, 0, 0, 0)
_POSSIBLE = "points possible"
_MAXIMUM = ("Maximum Grade", "Maximum grade")


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
    """What was written, and whose cell stayed as it was, a sentence each."""

    files: list[Path] = field(default_factory=list)
    filled: int = 0
    left: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class People:
    """Finds the student of a sheet's row: by what the platform calls them, then by name."""

    roster: Roster
    by_identity: Mapping[tuple[str, str], str]

    def find(self, record: Record) -> str | None:
        """Give the pseudonym of a row's student; ``None`` if nobody fits."""
        identity = number_of(record)
        kind = "moodle" if record["Identifier"] else "canvas"
        known = self.by_identity.get((kind, identity)) if identity else None
        if known:
            return known
        name = record["Full name"] or record["Student"]
        ids = {
            f"{kind}_id": identity,
            **{_word(n): record[n] for n in ("SIS User ID", "SIS Login ID", "Email address")},
        }
        for wanted in (record["SIS Login ID"], record["SIS User ID"], name):
            found = self.roster.find(wanted, **ids) if wanted else None
            if found:
                return found.student
        return None


def people(roster: Roster, rows: Iterable[Row], results: Iterable[Result]) -> People:
    """Put together what is known of who is who, also of students that are on no roster."""
    rows, names = list(rows), {one.student for one in results}
    names |= {row.student for row in rows if row.student}
    everyone = {name: roster.students.get(name, Participant(name)) for name in sorted(names | set(roster.students))}
    identities = {(row.kind, row.identity): row.student for row in rows if row.identity and row.student}
    return People(Roster(everyone), identities)


def fill(sheet: Sheet, wish: Wish, results: Sequence[Result], who: People, returned: Returned) -> str:
    """Fill a platform's sheet: one column, nothing else.

    Args:
        sheet: What the platform gave.
        wish: What is asked for.
        results: Those of the exercise.
        who: Finds students.
        returned: Is told what was filled, and what was not and why.

    Raises:
        CourseError: If the sheet is neither platform's, or its grade column cannot be told.
    """
    column = _column(sheet, wish)
    by_student = {one.student: one for one in results}
    values: dict[tuple[int, int], str] = {}
    seen = set()
    for record in sheet.records():
        if _is_no_student(record):
            continue
        student = who.find(record)
        result = by_student.get(student or "")
        if student is None or result is None:
            name = record["Student"] or record["Full name"] or record["Identifier"]
            returned.left.append(f"{sheet.path}:{record.line}: {name}: nothing was collected from this person.")
            continue
        seen.add(student)
        why = _unready(result, wish) or (
            "Moodle has locked this grade" if record["Grade can be changed"] == "No" else ""
        )
        if why:
            returned.left.append(f"{student}: {why}; the cell stays as it is.")
            continue
        values[record.index, column] = _grade(result, sheet, record, column, wish)
        returned.filled += 1
    missing = sorted(set(by_student) - seen)
    returned.left += [f"{student}: has a result, but no row in {sheet.path}." for student in missing]
    return sheet.filled(values)


def archives(
    wish: Wish, results: Sequence[Result], rows: Iterable[Row], sheet: Sheet | None, who: People
) -> dict[str, bytes]:
    """Make the zips of feedback, one for each way in which hand-ins came, by file name."""
    members: dict[str, dict[str, bytes]] = {}
    rows = [row for row in rows if row.slug == wish.slug]
    folders = _moodle_folders(sheet, who) if sheet else {}
    for result in results:
        own = [row for row in rows if row.student == result.student and row.original]
        if result.corrected and not own and result.student in folders:
            # Who handed in nothing and got points all the same: Moodle's sheet gives a folder, a download did not.
            own = [Row(result.student, wish.slug)]
        counted = [row for row in own if row.status is Status.COLLECTED] or own
        for row in counted[:1]:
            kind = "moodle" if result.student in folders else row.kind if row.kind in ("canvas", "moodle") else "others"
            name, content = _member(kind, row, result, folders.get(result.student, ""))
            members.setdefault(kind, {})[name] = content
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
    rows, everything = read_rows(course), all_results(course)
    results = [one for one in everything if one.slug == wish.slug]
    who = people(read_roster(course), rows, everything)
    if not results:
        raise CourseError(f"{course.grades}: nothing of {wish.slug} was graded yet. Grade it first.")
    returned = Returned()
    read = read_sheet(sheet) if sheet else None
    if read and sheet:
        filled = fill(read, wish, results, who, returned)
        target = out / sheet.name
        if target.resolve() == sheet.resolve():
            raise CourseError(f"{sheet}: the filled sheet would replace this one. Choose another --out.")
        write_whole(target, read.encoded(filled))
        returned.files.append(target)
    for name, content in archives(wish, results, rows, read, who).items():
        write_whole(out / name, content)
        returned.files.append(out / name)
    return returned


def _column(sheet: Sheet, wish: Wish) -> int:
    header = sheet.header
    if wish.column:
        found = [n for n, name in enumerate(header) if wish.column in (name, _untailed(name))]
    elif "Identifier" in header:
        found = [n for n, name in enumerate(header) if name == "Grade"]
    elif "ID" in header and any("Student" in name for name in header):
        wanted = {wish.slug.casefold(), wish.title.casefold()}
        found = [n for n, name in enumerate(header) if _untailed(name).casefold() in wanted]
    else:
        raise CourseError(
            f"{sheet.path}:1: neither Canvas's gradebook (Student, ID, ...) nor Moodle's grading worksheet "
            f"(Identifier, ..., Grade); found: {', '.join(header)}. Export it again, in English, or say --column."
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


def _is_no_student(record: Record) -> bool:
    """Whether a row is one of Canvas's own: what is possible, and what is posted by hand."""
    return not record["Identifier"] and (_POSSIBLE in record["Student"].casefold() or not record["Student"])


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


def number_of(record: Record) -> str:
    """Give the number by which a platform knows the student of a row."""
    if record["Identifier"]:
        found = re.search(r"\d+$", record["Identifier"])
        return found[0] if found else ""
    return record["ID"]


def _word(name: str) -> str:
    return name.casefold().replace(" ", "_")


def _moodle_folders(sheet: Sheet, who: People) -> dict[str, str]:
    """Give the folders of feedback by student, as Moodle's importer takes them apart: name, number, plugin."""
    folders = {}
    for record in sheet.records():
        student = who.find(record) if record["Identifier"] else None
        if student:
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


def _zipped(members: Mapping[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members):
            entry = zipfile.ZipInfo(name, _MOMENT)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, members[name], zipfile.ZIP_DEFLATED)
    return content.getvalue()
