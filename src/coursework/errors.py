"""Everything that coursework itself raises, below one class. What students' programs do is no error of ours."""

from __future__ import annotations


class CourseworkError(Exception):
    """Base of all errors: a sentence that says where, what, what is allowed and what to do."""


class ExerciseError(CourseworkError):
    """An exercise's files are not as the format wants them; begins with file and line."""


class CourseError(CourseworkError):
    """The course's folder, roster, marks or seed is missing or wrong."""


class JailError(CourseworkError):
    """The jail does not work on this machine; says why and what mends it."""
