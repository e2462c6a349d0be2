"""Read Moodle's grading worksheet in whatever language it was downloaded: by where its columns stand.

Moodle translates the header and the word in front of a participant's number, and no more than that: the first column
is the participant, the next the name, and the most that can be reached stands between the grade and whether it can be
changed (Moodle, ``mod/assign/gradingtable.php``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from coursework.sheet import Sheet, number

_NO_GRADE = ("", "-")
#: What the columns that are found are called in English; the rest of the package knows these alone.
_FIRST, _NAME, _LOGIN = "Identifier", "Full name", "Email address"
_GRADE = ("Grade", "Maximum Grade")
#: Yes and no.
_CHOICES = 2


def in_english(sheet: Sheet, grade: str = "") -> Sheet:
    """Give a worksheet with English names for its columns; any sheet that is not certainly one is left as it is.

    Its text stays: what is filled in or taken out changes the sheet in its own language.

    Args:
        sheet: What the platform gave.
        grade: The name of the grade's column, if somebody said so.
    """
    header = sheet.header
    columns = [[_cell(sheet, row, n) for row in range(1, len(sheet.rows))] for n in range(len(header))]
    known = {"Identifier", "student"} & set(header) or {"Student", "ID"} <= set(header)
    if known or not columns or not _are_participants(columns[0]):
        return sheet
    fitting = [n for n in range(2, len(header) - 3) if _is_grade(*columns[n : n + 4])]
    fitting = [n for n in fitting if not grade or header[n] == grade]
    if len(fitting) != 1:
        return sheet
    names = {0: _FIRST, 1: _NAME} | dict(enumerate(_GRADE, fitting[0]))
    names |= {n: _LOGIN for n in range(1, fitting[0]) if _are_addresses(columns[n])}
    first, *rest = sheet.rows
    cells = tuple(replace(cell, value=names.get(n, cell.value)) for n, cell in enumerate(first.cells))
    return replace(sheet, rows=(replace(first, cells=cells), *rest))


def is_no_grade(text: str) -> bool:
    """Whether a cell says that there is no grade yet."""
    return text in _NO_GRADE


def _cell(sheet: Sheet, row: int, column: int) -> str:
    cells = sheet.rows[row].cells
    return cells[column].value.strip() if column < len(cells) else ""


def _are_participants(values: Sequence[str]) -> bool:
    """Whether all are one word, in any language, with a number at its end; a letter alone is no word."""
    found = [re.fullmatch(r"([^\W\d]{2}\D*)\d+", value) for value in values]
    return all(found) and len({one[1] for one in found if one}) == 1


def _is_grade(grades: Sequence[str], most: Sequence[str], after: Sequence[str], next_but_one: Sequence[str]) -> bool:
    """Whether columns are the grade, the most there can be, the same for everyone, and whether it can be changed.

    With a marking workflow, its state stands in front of the last.
    """
    top = number(most[0]) if len(set(most)) == 1 else None
    if not top:
        return False
    values = [number(one) for one in grades if not is_no_grade(one)]
    return (
        all(value is not None and value <= top for value in values)
        and _are_words(after)
        and (_is_choice(after) or _is_choice(next_but_one))
    )


def _is_choice(values: Sequence[str]) -> bool:
    return len(set(values)) <= _CHOICES and _are_words(values)


def _are_words(values: Sequence[str]) -> bool:
    return all(one and not re.search(r"\d", one) for one in values)


def _are_addresses(values: Sequence[str]) -> bool:
    return any(values) and all("@" in one for one in values if one)
