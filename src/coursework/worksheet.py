"""Read from Moodle's offline grading worksheet when hand-ins came: its downloads do not say it.

The worksheet knows people by ``Identifier`` (``Participant 12345``), whose number is in the download's names as well,
and says under ``Last modified (submission)`` when and under ``Status`` whether late, as ``mod/assign``'s grading table
writes it in English.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from coursework.errors import CourseError
from coursework.roster import moment
from coursework.sheet import read_sheet

#: The column that tells people apart, and the one that says when.
IDENTIFIER, WHEN = "Identifier", "Last modified (submission)"
_MONTHS = {
    name[:3]: number
    for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), start=1)  # noqa: SIM905
}
#: "Saturday, 12 December 2026, 9:14 PM", also without the day's name, with the month first, or with 24 hours.
_SPOKEN = re.compile(
    r"(?:[a-z]+day,? )?"
    r"(?:(?P<day>\d{1,2}) (?P<month>[a-z]{3,9})|(?P<month_first>[a-z]{3,9}) (?P<second_day>\d{1,2})),? "
    r"(?P<year>\d{4}),? (?P<hour>\d{1,2}):(?P<minute>\d\d) ?(?P<half>[ap]m)?",
    re.IGNORECASE,
)
_NOTHING = {"", "-"}
_NOON = 12


@dataclass(frozen=True)
class Submitted:
    """What Moodle says of a hand-in.

    Attributes:
        moment: When it was last changed; ``None`` if that cannot be read.
        late: Whether Moodle calls it late.
        draft: Whether it is only a draft, which its owner never handed in.
    """

    moment: datetime | None = None
    late: bool = False
    draft: bool = False


@dataclass(frozen=True)
class Worksheet:
    """A grading worksheet.

    Attributes:
        submitted: What it says, by Moodle's number of the participant.
        unread: What could not be read; a sentence, empty if all could.
    """

    submitted: Mapping[str, Submitted] = field(default_factory=dict)
    unread: str = ""


def read_worksheet(path: Path) -> Worksheet:
    """Read when hand-ins came.

    Raises:
        CourseError: If it is no grading worksheet of Moodle's in English.
    """
    sheet = read_sheet(path)
    missing = [name for name in (IDENTIFIER, WHEN) if name not in sheet.header]
    if missing:
        raise CourseError(
            f"{path}:1: there is no column {missing[0]!r}; found: {', '.join(sheet.header) or 'nothing'}. It has to be "
            "Moodle's grading worksheet, downloaded in English, with the columns Identifier, Status and "
            "Last modified (submission). Canvas's zip itself says what came late."
        )
    submitted, unread = {}, []
    for record in sheet.records():
        number = re.search(r"\d+$", record[IDENTIFIER])
        when = spoken(record[WHEN])
        if when is None and record[WHEN] not in _NOTHING:
            unread.append((record.line, record[WHEN]))
        if number:
            status = record["Status"].casefold()
            late = re.search(r"\blate\b", status) is not None
            submitted[number[0]] = Submitted(when, late, status.startswith("draft"))
    told = ""
    if unread:
        line, text = unread[0]
        told = (
            f"{path}:{line}: {text!r} is no time that can be read, and so it is in {len(unread)} "
            f"line{'' if len(unread) == 1 else 's'}: when these came is not known. It has to look like "
            "'Saturday, 12 December 2026, 9:14 PM' or 2026-12-12 21:14."
        )
    return Worksheet(submitted, told)


def spoken(text: str) -> datetime | None:
    """Read a time as Moodle writes it in English, or in ISO 8601, in this machine's zone; ``None`` if it is none."""
    found = _SPOKEN.fullmatch(" ".join(text.split()))
    try:
        if not found:
            return moment(text)
        hour, half = int(found["hour"]), (found["half"] or "").casefold()
        if half:
            hour = hour % _NOON + (_NOON if half == "pm" else 0)
        month = _MONTHS[(found["month"] or found["month_first"])[:3].casefold()]
        day = int(found["day"] or found["second_day"])
        return datetime(int(found["year"]), month, day, hour, int(found["minute"])).astimezone()
    except (KeyError, ValueError, OverflowError, OSError):
        return None
