"""Tell what `collect` was given on the command line: an exercise's name or none, downloads, Moodle's worksheet.

`collect` of ``collect.py`` takes one exercise at a time; what lies together is told apart here, by stamps.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import click

from coursework import drawing
from coursework.collect import collect, expected, unmatched
from coursework.course import Course
from coursework.exercise import Exercise
from coursework.incoming import incoming
from coursework.nested import taken
from coursework.roster import read_roster
from coursework.rows import Row, Status
from coursework.stamp import read as read_stamp
from coursework.submission import read
from coursework.worksheet import Worksheet, read_worksheet

_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True)
class Gathered:
    """What is to be collected.

    Attributes:
        sources: The downloads and folders of each exercise, by its slug.
        home: To which exercise the files of a source belong whose stamp names none; empty if one exercise was named.
    """

    sources: Mapping[str, Sequence[Path]]
    home: Mapping[Path, str] = field(default_factory=dict)


def gathered(arguments: Sequence[str], known: Collection[str]) -> Gathered:
    """Tell an exercise from the files and folders to collect; without one, see which exercises the notebooks are of.

    Args:
        arguments: The command's.
        known: All exercises.

    Raises:
        click.UsageError: If something is neither, or nothing tells which exercise it is.
    """
    named = arguments[0] in known and len(arguments) > 1
    sources = [Path(name) for name in arguments[1 if named else 0 :]]
    absent = next((path for path in sources if not path.exists()), None)
    if absent:
        raise click.UsageError(_absent(str(absent), absent is sources[0] and not named, known))
    if named:
        return Gathered({arguments[0]: sources})
    found = {source: _exercises(source, known) for source in sources}
    usual = _most(sum(found.values(), Counter[str]()))
    if not usual:
        raise click.UsageError(
            "There is no notebook that `coursework assign` made of these exercises in there; say which exercise it "
            "is: collect SLUG SOURCE"
        )
    home = {source: _most(counts) or usual for source, counts in found.items()}
    slugs = sorted({slug for counts in found.values() for slug in counts} | set(home.values()))
    return Gathered({slug: [one for one in sources if found[one][slug] or home[one] == slug] for slug in slugs}, home)


def sort_in(
    course: Course,
    found: Gathered,
    exercises: Iterable[tuple[Exercise, str | None, datetime | None]],
    sheet: Path | None,
    tell: Callable[[str], None],
) -> list[str]:
    """Collect each exercise, and say what became of it.

    Args:
        course: Where to.
        found: What `gathered` gave.
        exercises: Those exercises, each with the only framework that is taken, if any, and when it is due.
        sheet: Moodle's grading worksheet, if there is one.
        tell: Is told what became of the files.

    Returns:
        What could not be told or compared.
    """
    roster, moodle = read_roster(course), read_worksheet(sheet) if sheet else Worksheet()
    everything: list[Row] = []
    for exercise, framework, due in exercises:
        wanted = replace(
            expected(exercise, course, framework, due),
            submitted=moodle.submitted,
            exercises=list(found.sources) if found.home else (),
            home=found.home,
        )
        rows = collect(course, found.sources[exercise.slug], wanted, roster)
        everything += rows
        for row in rows:
            if row.status is not Status.COLLECTED or row.message:
                tell(f"{row.student or '?'}: {row.status}: {row.message} {f'[{row.original}]' if row.original else ''}")
        tell(f"{exercise.slug}: {summary(rows, sheet=sheet is not None)}")
    tell(str(course.collected))
    if strangers := unmatched(course, everything, roster):
        tell(strangers)
    seed = course.root / drawing.FILE
    unseeded = (
        f"{seed}: there is no such file, so notebooks of any course or year were taken. Say where the course is: "
        "--course DIR; `assign` makes the file."
    )
    return [*filter(None, [moodle.unread]), *([] if seed.is_file() else [unseeded])]


def summary(rows: Iterable[Row], *, sheet: bool = False) -> str:
    """Say in a line what became of everything that was handed in, and how much of it was late.

    Args:
        rows: Those of an exercise.
        sheet: Whether Moodle's worksheet was given.
    """
    rows = list(rows)
    counts = {status: sum(row.status is status for row in rows) for status in Status}
    right = [row for row in rows if row.status is Status.COLLECTED]
    late = sum(bool(row.late_days) for row in right)
    parts = [f"{count} {status}" for status, count in counts.items() if count]
    if late:
        parts.insert(1, f"{late} late")
    unknown = [row for row in right if row.late_days is None and not row.submitted_at]
    told = ", ".join(parts) or "nothing found"
    if not unknown:
        return told
    what = "they" if len(unknown) == len(right) else f"{len(unknown)} of them"
    helps = not sheet and any(row.kind == "moodle" for row in unknown)
    how = "; Moodle's grading worksheet tells: --sheet FILE" if helps else ""
    return f"{told}; when {what} came is not known{how}"


def _absent(name: str, first: bool, known: Collection[str]) -> str:
    if first and name in known:
        return f"{name}: that is an exercise; say what to collect as well: collect {name} SOURCE"
    if first and _SLUG.fullmatch(name):
        return f"{name}: there is no such exercise, file or folder. Exercises: {', '.join(sorted(known))}."
    return f"{name}: there is no such file or folder."


def _exercises(source: Path, known: Collection[str]) -> Counter[str]:
    """Count the notebooks of each exercise."""
    found: Counter[str] = Counter()
    for one in incoming(source, ""):
        # What is wrong with a file is told by `collect`.
        with suppress(Exception):
            content = b"" if one.item.problem else taken(one.item.content(), one.item.path)
            stamp = read_stamp(read(content).document)
            found.update([stamp.slug] if stamp and stamp.slug in known else [])
    return found


def _most(counts: Counter[str]) -> str:
    return max(sorted(counts), key=counts.__getitem__, default="")
