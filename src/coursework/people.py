"""Find whose a row of a platform's sheet is, so that nobody ever gets what belongs to somebody else.

What the platform itself says comes first: its number. People choose their names, and sometimes their logins; so these
count only where nothing contradicts them, and a row that fits somebody who has a better one stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum

from coursework.files import safe_name
from coursework.results import Result
from coursework.roster import Participant, Roster
from coursework.rows import Row
from coursework.sheet import Record, Sheet

#: Columns in which platforms say how somebody logs in; in the roster ``sis_user_id`` and so on.
_LOGINS = ("SIS User ID", "SIS Login ID", "Email address")
_POSSIBLE = "points possible"


class By(IntEnum):
    """By what a row was found, the most certain first."""

    COLLECTED = 1
    NUMBER = 2
    LOGIN = 3
    NAME = 4
    PSEUDONYM = 5
    NOTHING = 6


@dataclass(frozen=True)
class Match:
    """Whose a row is.

    Attributes:
        student: The pseudonym; empty if nobody fits.
        by: By what.
        why: Why somebody who nearly fits is not meant; the end of a sentence.
    """

    student: str = ""
    by: By = By.NOTHING
    why: str = ""


@dataclass(frozen=True)
class People:
    """What is known of who is who.

    Attributes:
        roster: Everyone, also those who are on no roster.
        by_identity: Who handed in under a platform's number, by platform and number.
        numbers: The numbers that are known of a student on a platform; no other can be theirs.
        named: Those whose name is known, by that name alone.
        unnamed: The others, whose pseudonym may be made of their name.
    """

    roster: Roster
    by_identity: Mapping[tuple[str, str], str]
    numbers: Mapping[tuple[str, str], Collection[str]]
    named: Roster
    unnamed: Roster

    def match(self, record: Record) -> Match:
        """Find the student of a row: by the platform's number, by login, by name, and last by the pseudonym."""
        kind, number = _kind(record), number_of(record)
        if number and (kind, number) in self.by_identity:
            return Match(self.by_identity[kind, number], By.COLLECTED)
        wanted = [(f"{kind}_id", number, By.NUMBER), *((_word(n), record[n], By.LOGIN) for n in _LOGINS)]
        for column, value, by in wanted:
            found = [one.student for one in self.roster.students.values() if value and one.ids.get(column) == value]
            if len(found) > 1:
                # Logins often are people's names, which no message repeats.
                return Match(why=f"its {column} stands in the roster's lines of {' and '.join(found)}")
            if found:
                return self._unless_other_number(Match(found[0], by), kind, number)
        called = self.named.find(name_of(record))
        match = Match(_whose(called), By.NAME) if called else self._by_pseudonym(record)
        return self._unless_other_number(match, kind, number)

    def _by_pseudonym(self, record: Record) -> Match:
        name = name_of(record)
        logins = {record[column] for column in _LOGINS[:2]} - {""}
        fitting = {student for student in self.roster.students for login in logins if _same(login, student)}
        called = self.unnamed.find(name)
        fitting |= {called.student} if called else set()
        if len(fitting) != 1:
            return Match(why=f"login and name fit {' and '.join(sorted(fitting))}") if fitting else Match()
        (student,) = fitting
        own = self.roster.students[student]
        if name and own.ids.get("name") and not _is_called(own, name):
            return Match(why=f"the login is the pseudonym of {student}, who has another name in the roster")
        if name and any(one is not own and _is_called(one, name) for one in self.roster.students.values()):
            return Match(why=f"the login is the pseudonym of {student}, but somebody else has this name in the roster")
        return Match(student, By.PSEUDONYM)

    def _unless_other_number(self, match: Match, kind: str, number: str) -> Match:
        known = self.numbers.get((match.student, kind), ())
        if match.by is By.NUMBER or not number or not known or number in known:
            return match
        what = "login" if match.by is By.LOGIN else "name or login"
        return Match(why=f"the {what} fits {match.student}, who is number {' or '.join(sorted(known))} there")


@dataclass(frozen=True)
class Matches:
    """Whose the rows of a sheet are.

    Attributes:
        students: By the row's index; nobody stands here twice.
        left: Why a row that fits somebody is yet not theirs, by its index; a sentence.
        unsure: Those who were found by nothing but their pseudonym.
    """

    students: dict[int, str] = field(default_factory=dict)
    left: dict[int, str] = field(default_factory=dict)
    unsure: list[str] = field(default_factory=list)


def people(roster: Roster, rows: Iterable[Row], results: Iterable[Result], slug: str = "") -> People:
    """Put together what is known of who is who, also of students that are on no roster.

    Args:
        roster: Who takes part.
        rows: What was collected.
        results: What was graded.
        slug: The exercise that a sheet is about: Moodle numbers people anew in every assignment.
    """
    # Those of this exercise last: they count, should an earlier one still have an old pseudonym.
    rows = sorted((row for row in rows if row.student), key=lambda row: row.slug == slug)
    names = {one.student for one in results} | {row.student for row in rows} | set(roster.students)
    everyone = {name: roster.students.get(name, Participant(name)) for name in sorted(names)}
    numbers: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        if row.identity and (row.kind == "canvas" or row.slug == slug):
            numbers.setdefault((row.student, row.kind), set()).add(row.identity)
    for one in roster.students.values():
        if one.ids.get("canvas_id"):
            numbers.setdefault((one.student, "canvas"), set()).add(one.ids["canvas_id"])
    return People(
        Roster(everyone),
        {(row.kind, row.identity): row.student for row in rows if row.identity},
        numbers,
        # The names' own roster knows no pseudonyms: people may call themselves like somebody else's.
        Roster({f"\0{name}": _nameless(one) for name, one in everyone.items() if one.ids.get("name")}),
        Roster({name: one for name, one in everyone.items() if not one.ids.get("name")}),
    )


def matched(sheet: Sheet, who: People) -> Matches:
    """Say whose each row of a sheet is; of several that fit one student, at most the most certain is theirs."""
    found = Matches()
    fitting: dict[str, list[tuple[Record, By]]] = {}
    for record in sheet.records():
        match = Match() if is_nobody(record) else who.match(record)
        if match.student:
            fitting.setdefault(match.student, []).append((record, match.by))
        elif match.why:
            number = f" put {number_of(record)} into its {_kind(record)}_id" if number_of(record) else " name them so"
            found.left[record.index] = (
                f"{where(sheet, record)}: {match.why}; the cell stays as it is. If they are one person, correct the "
                f"line in roster.csv:{number}."
            )
    for student, rows in fitting.items():
        _decide(sheet, student, rows, found)
    return found


def _decide(sheet: Sheet, student: str, rows: list[tuple[Record, By]], found: Matches) -> None:
    best = min(by for _, by in rows)
    first, *more = [record for record, by in rows if by is best]
    certain = not more or best in (By.COLLECTED, By.NUMBER)
    if certain:
        found.students[first.index] = student
        found.unsure.extend([student] if best is By.PSEUDONYM else [])
    for record, _ in rows:
        others = [str(other.line) for other, _ in rows if other is not record]
        if certain and record is not first:
            found.left[record.index] = (
                f"{where(sheet, record)}: fits {student}, whose row is line {first.line}; this cell stays as it is."
            )
        elif not certain:
            found.left[record.index] = (
                f"{where(sheet, record)}: fits {student}, and so does line {', '.join(others)}; these cells stay as "
                f"they are. Keep one of the rows, or put the right number into {_kind(record)}_id in roster.csv."
            )


def is_nobody(record: Record) -> bool:
    """Whether a row is one of Canvas's own: what is possible, and what is posted by hand."""
    return not record["Identifier"] and (_POSSIBLE in record["Student"].casefold() or not record["Student"])


def number_of(record: Record) -> str:
    """Give the number by which a platform knows the student of a row."""
    if record["Identifier"]:
        found = re.search(r"\d+$", record["Identifier"])
        return found[0] if found else ""
    return record["ID"]


def name_of(record: Record) -> str:
    """Give the name that a platform shows in a row."""
    return record["Full name"] or record["Student"]


def where(sheet: Sheet, record: Record) -> str:
    """Say which row is meant, for a message: by its line, as the terminal shows no names."""
    return f"{sheet.path}:{record.line}"


def _kind(record: Record) -> str:
    return "moodle" if record["Identifier"] else "canvas"


def _word(name: str) -> str:
    return name.casefold().replace(" ", "_")


def _same(login: str, student: str) -> bool:
    # Folders and files named by logins have become pseudonyms in this way.
    return login == student or safe_name(login.casefold()) == student.casefold()


def _nameless(one: Participant) -> Participant:
    """Give a person without the pseudonym, which is no name; `_whose` has it."""
    return replace(one, student="", ids={"name": one.ids["name"], "": one.student})


def _whose(one: Participant) -> str:
    return one.ids[""]


def _is_called(one: Participant, name: str) -> bool:
    """Whether the roster gives somebody this name."""
    return bool(one.ids.get("name")) and Roster({"\0": _nameless(one)}).find(name) is not None
