"""Sort what students handed in into one folder a student, and say of every file what became of it.

``incoming.py`` says which files there are, the stamp in a notebook decides what it is: a right notebook under a wrong
name is right. Every file has its row in ``submissions.csv``; nothing that is handed in can stop the others.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from coursework import drawing
from coursework.course import Course
from coursework.exercise import Exercise
from coursework.files import safe_name, write_whole
from coursework.incoming import Found, incoming
from coursework.moving import follow
from coursework.opened import Refused
from coursework.roster import Roster, late_days
from coursework.rows import Row, Status, read_rows, write_rows
from coursework.stamp import read as read_stamp
from coursework.submission import Notebook, Unreadable, read

#: How a message begins that names another file.
DOUBLED = "The student handed in several: "
_STRANGER = "Not in roster.csv."
#: How much of what a stamp says is told, in characters: a student may have written it.
_CUT = 60


@dataclass(frozen=True)
class Expected:
    """What is collected.

    Attributes:
        slug: The exercise.
        frameworks: Those that are taken.
        version: The exercise's.
        compatible_with: Earlier versions that are still graded.
        offering: The course's own mark of this exercise; empty if nothing was handed out yet.
        names: The exercise's answers, by which a notebook without a stamp is known.
        due: When it is due for those of whom the roster does not say.
    """

    slug: str
    frameworks: tuple[str, ...]
    version: int
    compatible_with: tuple[int, ...]
    offering: str
    names: Collection[str]
    due: datetime | None = None


def expected(exercise: Exercise, course: Course, framework: str | None, due: datetime | None) -> Expected:
    """Say what is collected of an exercise.

    Args:
        exercise: The exercise.
        course: Whose notebooks; if it has no seed yet, those of any offering are taken.
        framework: The only one that is taken; ``None`` for all.
        due: When it is due for those of whom the roster does not say.
    """
    seeded = (course.root / drawing.FILE).is_file()
    offering = drawing.identity(drawing.course(course.root).seed, exercise.slug) if seeded else ""
    frameworks = (framework,) if framework else exercise.frameworks
    names = {name for each in frameworks for name in exercise.answers(each)}
    versions = exercise.compatible_with
    return Expected(exercise.slug, frameworks, exercise.version, versions, offering, names, due)


def collect(course: Course, sources: Iterable[Path], expected: Expected, roster: Roster) -> list[Row]:
    """Sort hand-ins in.

    Args:
        course: Where to.
        sources: Zips, folders or notebooks. What was collected before stays, unless the same student handed in
            something newer; it moves if the roster has another pseudonym for its owner now.
        expected: What is collected.
        roster: Who takes part.

    Returns:
        All rows of this exercise, also those of earlier calls; they are in ``submissions.csv`` then.

    Raises:
        CourseError: If a source does not exist, or an earlier table cannot be read.
    """
    before = read_rows(course)
    ours = {_same(row): row for row in before if row.slug == expected.slug and row.status != Status.MISSING}
    found = [one for source in sources for one in incoming(source, expected.slug)]
    owners = _owners(found, roster, ours.values())
    moves = _moves(ours.values(), found, owners)
    ours = {_same(one): one for one in (moves.get(key, row) for key, row in ours.items())}
    readers = _taken_out(course, moves)
    for one in found:
        row = _looked_at(one, owners[_whose(one)], expected, roster)
        ours.pop(_same(row), None)
        ours[_same(row)] = row
        readers[_same(row)] = one.item.content
    rows = _decided(ours.values())
    for row in rows:
        if row.status is Status.COLLECTED and _same(row) in readers:
            _stored(course, row, readers[_same(row)]())
    follow(course, expected.slug, _successors(moves, {row.student for row in rows}))
    rows = _without_other_work(rows) + _missing(rows, expected, roster)
    rows = sorted(rows, key=lambda row: (row.student, row.status != Status.COLLECTED, row.original))
    write_rows(course, [*(row for row in before if row.slug != expected.slug), *rows])
    return rows


def unmatched(course: Course, rows: Iterable[Row], roster: Roster) -> str:
    """Say in one sentence how hand-ins are matched, if most of them are of nobody in the roster; else nothing."""
    handed_in = [row for row in rows if row.status is not Status.MISSING]
    strangers = [row for row in handed_in if row.student not in roster.students]
    if len(strangers) * 2 <= len(handed_in):
        return ""
    such = [f" (such as {row.kind}_id {row.identity})" for row in strangers if row.kind in ("canvas", "moodle")]
    real = (
        "; folders and results have the names that the platform shows, which may be people's real ones"
        if len(strangers) == len(handed_in)
        else ""
    )
    return (
        f"{len(strangers)} of {len(handed_in)} hand-ins are of nobody in {course.roster}: a hand-in is matched by the "
        f"column `name`, which has to be what the platform shows, by `canvas_id` or `moodle_id`{''.join(such[:1])}, "
        f"or by `student`, if its folder or file is called so; correct the roster and collect again{real}."
    )


def most_frequent(sources: Iterable[Path]) -> str:
    """Name the exercise that most notebooks in some downloads are of; empty if none says so."""
    found: Counter[str] = Counter()
    for one in (one for source in sources for one in incoming(source, "")):
        try:
            stamp = None if one.item.problem else read_stamp(read(one.item.content()).document)
        except (Refused, Unreadable):
            continue
        found.update([stamp.slug] if stamp else [])
    return max(sorted(found), key=found.__getitem__, default="")


def _whose(one: Found) -> tuple[str, str, str]:
    return (one.kind if one.identity else "", one.identity, "" if one.identity else one.name)


def _owners(found: Iterable[Found], roster: Roster, before: Iterable[Row]) -> dict[tuple[str, str, str], str]:
    """Give each owner a pseudonym: the roster's, the one from before, or one made of the name; never one for two."""
    known = {(row.kind, row.identity): row.student for row in before if row.identity}
    people = {_whose(one): one for one in found}
    wanted: dict[tuple[str, str, str], str] = {}
    for key, one in people.items():
        ids = {"canvas_id": one.identity} if one.kind == "canvas" else {"moodle_id": one.identity}
        participant = roster.find(one.name, **(ids if one.identity else {}))
        if participant:
            wanted[key] = participant.student
        else:
            wanted[key] = known.get((one.kind, one.identity)) or safe_name(one.name.casefold())
    strangers = [name for key, name in wanted.items() if name not in roster.students and key[:2] not in known]
    taken = set(known.values())
    for key, name in wanted.items():
        clash = key[1] and key[:2] not in known and (strangers.count(name) > 1 or name in taken)
        if name not in roster.students and (clash or (not name and key[1])):
            wanted[key] = safe_name(f"{name}-{key[1]}")
    return wanted


def _moves(
    rows: Iterable[Row], found: Iterable[Found], owners: Mapping[tuple[str, str, str], str]
) -> dict[tuple[str, str, str], Row]:
    """Find earlier rows whose owner has another pseudonym now: the roster was corrected.

    A platform's number says whose a row is; without one its name in the download does.

    Returns:
        By what told the row from others before, the row with the new pseudonym.
    """
    numbers = {key[:2]: student for key, student in owners.items() if key[1]}
    names = {one.item.path: owners[_whose(one)] for one in found if not one.identity}
    moves = {}
    for row in rows:
        now = numbers.get((row.kind, row.identity)) if row.identity else names.get(row.original)
        if now and row.student and now != row.student:
            moves[_same(row)] = replace(row, student=now, message=row.message.replace(_STRANGER, "").strip())
    return moves


def _successors(moves: Mapping[tuple[str, str, str], Row], still: Collection[str]) -> dict[str, str]:
    """Say whose the results of an old pseudonym are now: of who had the notebook that counted, or of who left it."""
    left = {key[0]: row.student for key, row in moves.items() if key[0] not in still}
    return left | {key[0]: row.student for key, row in moves.items() if row.status is Status.COLLECTED}


def _taken_out(
    course: Course, moves: Mapping[tuple[str, str, str], Row]
) -> dict[tuple[str, str, str], Callable[[], bytes]]:
    """Take the notebooks of rows that move out of their old folders; gives what reads each."""
    readers: dict[tuple[str, str, str], Callable[[], bytes]] = {}
    for row in moves.values():
        path = course.submissions / row.file
        if row.file and path.is_file():
            content = path.read_bytes()
            readers[_same(row)] = partial(bytes, content)
            path.unlink()
    return readers


def _looked_at(one: Found, student: str, expected: Expected, roster: Roster) -> Row:
    row = Row(
        student,
        expected.slug,
        original=one.item.path,
        kind=one.kind,
        identity=one.identity,
        order=one.order,
        submitted_at=one.moment.isoformat(timespec="seconds") if one.moment else "",
    )
    if one.item.problem:
        return replace(row, message=_sentence(one.item.problem))
    try:
        content = one.item.content()
        row = replace(row, digest=hashlib.sha256(content).hexdigest()[:16])
        notebook = read(content)
    except (Refused, Unreadable) as error:
        return replace(row, message=_sentence(str(error)))
    row = _judged(row, notebook, one, expected)
    if not student:
        told = f"Nothing says whose it is: rename it to STUDENT.ipynb, such as p01.ipynb. {row.message}"
        return replace(row, status=Status.UNREADABLE, message=told.strip())
    return _timed(row, one, expected, roster) if row.status is Status.COLLECTED else row


def _judged(row: Row, notebook: Notebook, one: Found, expected: Expected) -> Row:
    """Say what a notebook is, by its stamp, or by its answers if it has lost that."""
    stamp = read_stamp(notebook.document)
    if stamp is None:
        return _unstamped(row, notebook, one, expected)
    row = replace(row, framework=stamp.framework if stamp.slug == expected.slug else "")
    if stamp.slug != expected.slug:
        what = f"It is the notebook of another exercise, {stamp.slug[:_CUT]}; collected here is {expected.slug}."
        return replace(row, status=Status.WRONG, message=what)
    if stamp.framework not in expected.frameworks:
        what = f"It is the notebook for {stamp.framework[:_CUT]}; collected here is {' or '.join(expected.frameworks)}."
        return replace(row, status=Status.WRONG, message=what)
    if expected.offering and stamp.offering != expected.offering:
        what = f"It is from another course or year (offering {stamp.offering[:_CUT]}, here {expected.offering})."
        return replace(row, status=Status.WRONG, message=what)
    if stamp.version != expected.version and stamp.version not in expected.compatible_with:
        what = f"It is version {stamp.version} of the exercise; version {expected.version} is graded."
        return replace(row, status=Status.OLD, message=what)
    older = f"It is version {stamp.version}, which is graded like {expected.version}."
    return replace(row, status=Status.COLLECTED, message="" if stamp.version == expected.version else older)


def _unstamped(row: Row, notebook: Notebook, one: Found, expected: Expected) -> Row:
    named = [name for name in expected.frameworks if name in one.item.path.lower()]
    framework = named[0] if len(named) == 1 else expected.frameworks[0]
    if notebook.names & set(expected.names):
        sure = len(named) == 1 or len(expected.frameworks) == 1
        told = "Its stamp is gone; it was known by its answers." + (
            "" if sure else f" Taken for {framework}; collect with --framework if it is another."
        )
        return replace(row, framework=framework, status=Status.COLLECTED, message=told)
    what = f"It has no stamp and none of the answers of {expected.slug}: another notebook."
    return replace(row, status=Status.WRONG, message=what)


def _timed(row: Row, one: Found, expected: Expected, roster: Roster) -> Row:
    participant = roster.students.get(row.student)
    due = (participant.due_for(expected.slug) if participant else None) or expected.due
    late = late_days(one.moment, due)
    messages = [row.message]
    if one.late and not late:
        late = 1
        messages.append("Canvas says that it came late; by how much, its zip does not tell.")
    if roster.students and participant is None:
        messages.append(_STRANGER)
    return replace(row, late_days=late, message=" ".join(filter(None, messages)))


def _same(row: Row) -> tuple[str, str, str]:
    return (row.student, row.original, row.digest)


def _decided(rows: Iterable[Row]) -> list[Row]:
    """Let one file a student count, the newest of those that are right; the others are duplicates."""
    ready = [replace(row, status=Status.COLLECTED) if row.status is Status.DUPLICATE else row for row in rows]
    newest: dict[str, Row] = {}
    for row in ready:
        if row.status is Status.COLLECTED:
            best = newest.get(row.student)
            newest[row.student] = row if best is None or _age(row) >= _age(best) else best
    return [_told(row, newest[row.student]) if row.status is Status.COLLECTED else row for row in ready]


def _age(row: Row) -> tuple[int, float, int]:
    stamped = 0 if row.message.startswith("Its stamp is gone") else 1
    return (stamped, datetime.fromisoformat(row.submitted_at).timestamp() if row.submitted_at else 0.0, row.order)


def _told(row: Row, best: Row) -> Row:
    if row is best:
        return replace(row, file=f"{row.student}/{row.slug}.{row.framework}.ipynb", message=_undoubled(row.message))
    told = f"{DOUBLED}{best.original} counts."
    return replace(row, status=Status.DUPLICATE, file="", message=f"{_undoubled(row.message)} {told}".strip())


def _undoubled(message: str) -> str:
    return message.partition(DOUBLED)[0].strip()


def _stored(course: Course, row: Row, content: bytes) -> None:
    folder = course.submissions / row.student
    for old in folder.glob(f"{row.slug}.*.ipynb"):
        old.unlink()
    write_whole(course.submission(row.student, row.slug, row.framework), content)


def _without_other_work(rows: Iterable[Row]) -> list[Row]:
    """Leave out what else lies in a repository whose owner handed in the right notebook there."""
    rows = list(rows)
    fine = {row.student for row in rows if row.status is Status.COLLECTED and row.kind == "repository"}
    right = (Status.COLLECTED, Status.DUPLICATE)
    return [row for row in rows if row.kind != "repository" or row.student not in fine or row.status in right]


def _missing(rows: Iterable[Row], expected: Expected, roster: Roster) -> list[Row]:
    here = {row.student for row in rows}
    return [
        Row(student, expected.slug, status=Status.MISSING, message="Nothing was handed in.")
        for student in roster.students
        if student not in here
    ]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def counted(rows: Iterable[Row]) -> Mapping[Status, int]:
    """Count rows by status, in the statuses' order."""
    rows = list(rows)
    return {status: count for status in Status if (count := sum(row.status is status for row in rows))}
