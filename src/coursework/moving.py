"""Clear up after students whose hand-ins have got other pseudonyms: see ``collect.py``.

Results are made again by `grade`, feedback by `return`; what people decided goes along.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from coursework import zips
from coursework.course import Course
from coursework.files import write_whole
from coursework.sheet import read_sheet


def follow(course: Course, slug: str, successors: Mapping[str, str]) -> None:
    """Leave nothing of an exercise under old pseudonyms.

    Args:
        course: The course.
        slug: The exercise.
        successors: For each old pseudonym the new one, which gets its marks and corrections.

    Raises:
        CourseError: If ``marks.csv`` or ``overrides.csv`` is no table.
    """
    for old in successors:
        folder = course.submissions / old
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
        for graded in course.grades.glob(f"{slug}.*"):
            for ending in (".json", ".html"):
                (graded / f"{old}{ending}").unlink(missing_ok=True)
    _out_of_feedback(course, slug, successors)
    for path in (course.marks, course.overrides):
        if path.is_file() and successors:
            sheet = read_sheet(path).needs("student", "slug")
            column = sheet.header.index("student")
            theirs = [one for one in sheet.records() if one["slug"] == slug and one["student"] in successors]
            if theirs:
                # All at once: two may have changed places.
                filled = sheet.filled({(one.index, column): successors[one["student"]] for one in theirs})
                write_whole(path, sheet.encoded(filled))


def _out_of_feedback(course: Course, slug: str, successors: Mapping[str, str]) -> None:
    """Take feedback under old pseudonyms out of what `return` packed: those may be people's real names."""
    for path in sorted(course.returned.rglob(f"feedback-{slug}.*.zip")) if successors else []:
        # One that cannot be read stops nobody's collecting; `forget` tells of it.
        with contextlib.suppress(*zips.BAD):
            unwanted = zips.entries(path, lambda entry: any(zips.is_of(entry, old) for old in successors))
            if unwanted:
                zips.without(path, unwanted)
