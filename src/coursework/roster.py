"""Who takes part: ``roster.csv`` with pseudonym, due date and time factor, and how a platform's names lead to it."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import SequenceMatcher
from functools import lru_cache

from coursework.course import Course
from coursework.errors import CourseError
from coursework.files import of_word, safe_name
from coursework.sheet import Record, number, read_sheet

_MOST_TIME = 10.0
_DUE_FOR = "due:"
#: From which likeness on one name may be another, mistyped: a letter in eight.
_NEARLY = 0.88


@dataclass(frozen=True)
class Participant:
    """A line of the roster.

    Attributes:
        student: The pseudonym, which also names files.
        due: When hand-ins are due, by exercise; under the empty name what holds for all others.
        time_factor: What time limits are multiplied by.
        ids: What platforms call the student: further columns such as ``canvas_id``, ``moodle_id`` or ``name``.
    """

    student: str
    due: Mapping[str, datetime] = field(default_factory=dict)
    time_factor: float = 1.0
    ids: Mapping[str, str] = field(default_factory=dict)

    def due_for(self, slug: str) -> datetime | None:
        """Give when an exercise is due; ``None`` if nothing says so."""
        return self.due.get(slug) or self.due.get("")


@dataclass(frozen=True)
class Roster:
    """Everyone who takes part, by pseudonym; empty if the course has no roster."""

    students: Mapping[str, Participant] = field(default_factory=dict)

    def find(self, name: str, **ids: str) -> Participant | None:
        """Find who is meant.

        Args:
            name: A pseudonym, or a person's name as platforms write it into file names.
            ids: What a platform calls the person, by the roster's column.
        """
        known = self.by_ids(**ids)
        if known or name in self.students:
            return known or self.students[name]
        return _only(one for one in self.students.values() if _called(name, one.student, one.ids.get("name", "")))

    def on_platform(self, name: str, **ids: str) -> Participant | None:
        """Find whom a platform means.

        There everyone chooses a name or a login, which may be what is somebody else's pseudonym here. So a pseudonym
        is taken for a name only where the roster does not say what the platform calls its owner.

        Args:
            name: What the platform shows.
            ids: What else it calls the person, by the roster's column; this counts before the name.
        """
        known = self.by_ids(**ids)
        # Of Canvas's numbers each person has one; of Moodle's one in every assignment.
        number = ids.get("canvas_id", "")
        others = [one for one in self.students.values() if not number or one.ids.get("canvas_id", number) == number]
        named = [one for one in others if _called(name, one.ids.get("name", ""))]
        if known or named:
            return known or _only(named)
        silent = [one for one in others if "name" not in one.ids]
        exact = [one for one in silent if one.student == name]
        return _only(exact or [one for one in silent if _called(name, one.student)])

    def by_ids(self, **ids: str) -> Participant | None:
        """Find whom a platform means by what it calls the person, by the roster's column."""
        for column, identity in ids.items():
            for participant in self.students.values():
                if identity and participant.ids.get(column) == identity:
                    return participant
        return None

    def called(self, name: str) -> list[str]:
        """Give the pseudonyms of all whose name this is."""
        return [one.student for one in self.students.values() if _called(name, one.ids.get("name", ""))]

    def nearly(self, name: str) -> str:
        """Give the pseudonym of the only one whose name is nearly this; empty if nobody or several could be meant."""
        wanted = _folded(name)
        near = {
            one.student
            for one in self.students.values()
            for own in _keys([one.ids.get("name", "")])
            if wanted and SequenceMatcher(None, wanted, _folded(own)).ratio() >= _NEARLY
        }
        return near.pop() if len(near) == 1 else ""

    def time_factor(self, student: str) -> float:
        """Give the factor of time limits; 1 for somebody unknown."""
        return self.students[student].time_factor if student in self.students else 1.0


def read_roster(course: Course) -> Roster:
    """Read the roster; nobody is on it if the file does not exist.

    Raises:
        CourseError: If a line cannot be understood; names all such lines.
    """
    if not course.roster.is_file():
        return Roster()
    sheet = read_sheet(course.roster).needs("student")
    students: dict[str, Participant] = {}
    faults: list[str] = []
    for record in sheet.records():
        try:
            participant = _participant(record)
            if participant.student in students:
                raise ValueError(f"{participant.student!r} stands here a second time; keep one line a student")
            students[participant.student] = participant
        except ValueError as error:
            faults.append(f"{course.roster}:{record.line}: {error}.")
    if faults:
        raise CourseError("\n".join(faults))
    return Roster(students)


def late_days(submitted: datetime | None, due: datetime | None) -> int | None:
    """Give how many days after the due date something came, a begun day as a whole one; ``None`` if nothing tells."""
    if submitted is None or due is None:
        return None
    if submitted <= due:
        return 0
    return math.ceil((submitted - due).total_seconds() / 86_400)


def moment(text: str) -> datetime:
    """Read a point in time; without an offset it is this machine's time, without a time the end of that day.

    Raises:
        ValueError: If it is none.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no date; write it like 2026-01-31T23:59 or 2026-01-31T23:59+01:00") from None
    if re.fullmatch(r"\d{4}-?\d\d-?\d\d", text):
        found = found.replace(hour=23, minute=59, second=59)
    try:
        return found.astimezone()
    except (ValueError, OverflowError, OSError):
        # Elsewhere on earth it would be the year 0 or 10000, which no calendar here has.
        return found if found.tzinfo else found.replace(tzinfo=UTC)


def _participant(record: Record) -> Participant:
    student = record["student"]
    if not student or safe_name(student) != student:
        told = safe_name(student) or "p01"
        raise ValueError(
            f"{student!r} cannot name a file; a pseudonym has letters, digits, '.', '-' and '_' and begins with a "
            f"letter or a digit, such as {told!r}"
        )
    due = {
        name.removeprefix(_DUE_FOR).strip() if name != "due" else "": moment(text)
        for name, text in record.cells.items()
        if text and (name == "due" or name.startswith(_DUE_FOR))
    }
    factor = number(record["time_factor"]) if record["time_factor"] else 1.0
    if factor is None or not 1.0 <= factor <= _MOST_TIME:
        raise ValueError(f"the time factor {record['time_factor']!r} is no number from 1 to {_MOST_TIME:g}")
    known = {"student", "due", "time_factor"}
    ids = {name: text for name, text in record.cells.items() if text and name not in known}
    return Participant(student, due, factor, ids)


def _only(fitting: Iterable[Participant]) -> Participant | None:
    found = list(fitting)
    return found[0] if len(found) == 1 else None


def _folded(name: str) -> str:
    """Give the letters of a name without their marks."""
    return "".join(letter for letter in unicodedata.normalize("NFD", _key(name)) if not unicodedata.combining(letter))


def _called(name: str, *names: str) -> bool:
    """Whether a name as platforms write it is one of these."""
    wanted = _key(name)
    return bool(wanted) and wanted in _keys(names)


def _keys(given: Iterable[str]) -> set[str]:
    names = set(given)
    for name in list(names):
        first, _, last = name.rpartition(" ")
        # Canvas turns "Last, First" into "lastfirst".
        names |= {f"{last} {first}", " ".join(reversed(name.split(",")))}
    return {_key(name) for name in names} - {""}


@lru_cache(maxsize=10_000)
def _key(name: str) -> str:
    # Folding may take a letter apart, which then has to be put together again.
    # Of a capital I with a dot it leaves a dot that few people write.
    folded = unicodedata.normalize("NFC", name).casefold().replace("i\u0307", "i")
    folded = unicodedata.normalize("NFC", folded)
    return "".join(letter for letter in folded if of_word(letter))
