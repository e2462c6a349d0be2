"""Find answers that are the same but for names, comments and spaces: a reason to ask, never a proof."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from coursework.assignment import Assignment
from coursework.course import Course
from coursework.lines import normalised
from coursework.results import Result
from coursework.submission import Unreadable, read, untouched

#: Answers with fewer words than this are alike by themselves.
_SHORT = 25
_PAIR = 2


def alike(course: Course, results: Iterable[Result], assignment: Assignment) -> list[dict[str, Any]]:
    """Group students whose answers are the same.

    Returns:
        For each group of students the names of the answers that they share; those that share most come first.
    """
    written = assignment.written
    kept = [name for name in assignment.stubs if name not in written]
    owners: dict[tuple[str, str], list[str]] = {}
    for result in results:
        path = course.submission(result.student, result.slug, result.framework)
        try:
            found = assignment.answers(read(path.read_bytes()))
        except (OSError, Unreadable):
            continue
        for name, source in {**found.code, **found.written}.items():
            if name in assignment.stubs and not untouched(source, assignment.stubs[name]):
                same = " ".join(source.split()).casefold() if name in written else normalised(source, kept)
                owners.setdefault((name, same), []).append(result.student)
    shared: dict[tuple[str, ...], list[str]] = {}
    for (name, same), students in owners.items():
        if len(students) >= _PAIR and len(same.split()) >= _SHORT:
            shared.setdefault(tuple(sorted(students)), []).append(name)
    groups = [{"students": list(students), "names": names} for students, names in shared.items()]
    return sorted(groups, key=lambda one: (-len(one["names"]), one["students"]))
