"""Sort what students handed in into one folder a student, and say of every file what became of it.

``incoming.py`` says which files there are, the stamp in a notebook decides what it is: a right notebook under a wrong
name is right. Every file has its row in ``submissions.csv``; nothing that is handed in can stop the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from coursework import drawing, newest
from coursework.course import Course
from coursework.exercise import Exercise
from coursework.files import write_whole
from coursework.incoming import Found, incoming
from coursework.looking import STRANGER, Expected, looked_at, sentence, timed
from coursework.moving import follow
from coursework.nested import taken
from coursework.opened import Refused
from coursework.owners import Key, Owner, owners, whose
from coursework.roster import Roster
from coursework.rows import Row, Status, read_rows, write_rows
from coursework.settled import clear_results, collected_rightly, missing, unsettled, without

DOUBLED = newest.DOUBLED
#: What was said of somebody whom the roster did not know.
_STRANGER = re.compile(rf" ?{re.escape(STRANGER)}(?:; the name is nearly that of \S+?)?\.(?= |$)")


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


def collect(
    course: Course, sources: Iterable[Path], expected: Expected, roster: Roster, student: str = ""
) -> list[Row]:
    """Sort hand-ins in.

    Args:
        course: Where to.
        sources: Zips, folders or notebooks. What was collected before stays, unless the same student handed in
            something newer; it moves if the roster has another pseudonym for its owner now.
        expected: What is collected.
        roster: Who takes part.
        student: Whose everything is, if that is known; then no name in a source means anything.

    Returns:
        All rows of this exercise, also those of earlier calls; they are in ``submissions.csv`` then.

    Raises:
        CourseError: If a source does not exist, or an earlier table cannot be read.
    """
    before, sources = read_rows(course), list(sources)
    ours = {_same(row): row for row in before if row.slug == expected.slug and row.status != Status.MISSING}
    downloads = [incoming(source, expected.slug, roster, student) for source in sources]
    found = [(source, one) for source, download in zip(sources, downloads, strict=True) for one in download]
    owned = owners(downloads, roster, ours.values(), expected.slug)
    moves = _moves(ours.values(), [one for _, one in found], owned)
    ours = {_same(one): one for one in (moves.get(key, row) for key, row in ours.items())}
    readers = _taken_out(course, moves)
    now: dict[tuple[str, str, str], Row] = {}
    for source, one in found:
        looked = looked_at(one, owned[whose(one)], source, expected)
        home = looked.stamped if looked.stamped in expected.exercises else expected.home.get(source, expected.slug)
        if home != expected.slug:
            continue
        key = _same(looked.row)
        old = ours.pop(key, None)
        kept = now.pop(key, None) or old
        earlier = kept.submitted_at if kept else ""
        row = looked.row
        now[key] = timed(row, one, expected, roster, earlier) if row.status is Status.COLLECTED else row
        readers[key] = partial(_content, one)
    known = unsettled(ours.values(), list(now.values()), {source.name for source in sources})
    rows = newest.decided([*newest.not_replaced(known, now.values()), *now.values()])
    rows = [_stored(course, row, readers) if row.status is Status.COLLECTED else row for row in rows]
    follow(course, expected.slug, _successors(moves, {row.student for row in rows}))
    rows = _without_other_work(rows)
    rows += missing(rows, expected.slug, roster) if _is_asked(expected, before) else []
    rows = sorted(rows, key=lambda row: (row.student, row.status != Status.COLLECTED, row.original))
    _written(course, before, rows, expected, roster)
    return rows


def _content(one: Found) -> bytes:
    return taken(one.item.content(), one.item.path)


def _is_asked(expected: Expected, before: Iterable[Row]) -> bool:
    """Whether an exercise is collected, not only found among what was handed in for another one."""
    homes = expected.home.values()
    return not homes or expected.slug in homes or any(row.slug == expected.slug for row in before)


def _written(course: Course, before: Iterable[Row], rows: list[Row], expected: Expected, roster: Roster) -> None:
    """Write the table, without lines that mean nothing any more now that their files are right elsewhere."""
    before = list(before)
    others = [row for row in before if row.slug != expected.slug]
    unwanted = {*collected_rightly(others, rows), *collected_rightly(rows, others)}
    kept = without([*others, *rows], unwanted, roster)
    kept = sorted(kept, key=lambda row: row.slug == expected.slug)
    write_rows(course, kept)
    clear_results(course, before, kept)


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


def _moves(rows: Iterable[Row], found: Iterable[Found], owned: Mapping[Key, Owner]) -> dict[tuple[str, str, str], Row]:
    """Find earlier rows whose owner has another pseudonym now: the roster was corrected.

    Its name in the download says whose a row is; if it is not in this one, a platform's number does.

    Returns:
        By what told the row from others before, the row with the new pseudonym.
    """
    numbers = {key[:2]: owner.student for key, owner in owned.items() if key[1]}
    names = {one.item.path: owned[whose(one)].student for one in found}
    moves = {}
    for row in rows:
        now = names.get(row.original) or (numbers.get((row.kind, row.identity)) if row.identity else "")
        if now and row.student and now != row.student:
            moves[_same(row)] = replace(row, student=now, message=_STRANGER.sub("", row.message).strip())
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


def _same(row: Row) -> tuple[str, str, str]:
    return (row.student, row.original, row.digest)


def _stored(course: Course, row: Row, readers: Mapping[tuple[str, str, str], Callable[[], bytes]]) -> Row:
    if _same(row) not in readers:
        return row
    try:
        content = readers[_same(row)]()
    except Refused as error:
        return replace(row, status=Status.UNREADABLE, file="", message=sentence(str(error)))
    folder = course.submissions / row.student
    for old in folder.glob(f"{row.slug}.*.ipynb"):
        old.unlink()
    write_whole(course.submission(row.student, row.slug, row.framework), content)
    return row


def _without_other_work(rows: Iterable[Row]) -> list[Row]:
    """Leave out what else lies in a repository whose owner handed in the right notebook there."""
    rows = list(rows)
    fine = {row.student for row in rows if row.status is Status.COLLECTED and row.kind == "repository"}
    right = (Status.COLLECTED, Status.DUPLICATE)
    return [row for row in rows if row.kind != "repository" or row.student not in fine or row.status in right]
