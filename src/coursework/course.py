"""Where everything of one course stands: the folder that never goes into a public repository."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Course:
    """The course's folder.

    Attributes:
        root: The folder itself.
    """

    root: Path

    @property
    def roster(self) -> Path:
        """Who takes part, until when, with how much time."""
        return self.root / "roster.csv"

    @property
    def submissions(self) -> Path:
        """What `collect` sorted in, one folder a student."""
        return self.root / "submissions"

    @property
    def collected(self) -> Path:
        """What `collect` found, one row a file."""
        return self.root / "submissions.csv"

    @property
    def grades(self) -> Path:
        """What `grade` gives."""
        return self.root / "grades"

    @property
    def marks(self) -> Path:
        """The points that people gave for written answers."""
        return self.root / "marks.csv"

    @property
    def overrides(self) -> Path:
        """The instructor's corrections."""
        return self.root / "overrides.csv"

    @property
    def returned(self) -> Path:
        """What `return` fills and packs, unless told otherwise."""
        return self.root / "returned"

    def submission(self, student: str, slug: str, framework: str) -> Path:
        """Give the place of a student's notebook."""
        return self.submissions / student / f"{slug}.{framework}.ipynb"

    def graded(self, slug: str, framework: str) -> Path:
        """Give the folder of an assignment's results."""
        return self.grades / f"{slug}.{framework}"

    def result(self, slug: str, framework: str, student: str) -> Path:
        """Give the place of a student's result; its feedback page stands beside it, ending in ``.html``."""
        return self.graded(slug, framework) / f"{student}.json"
