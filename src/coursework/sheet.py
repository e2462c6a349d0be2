"""Tables as spreadsheet programs and learning platforms leave them: read whatever they wrote, change only what is ours.

A `Sheet` keeps the file's text and knows where each cell stands in it. So a grade can be filled in, a row removed or
added, and every other byte stays: quotes, separators, line ends, encoding.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from coursework.errors import CourseError
from coursework.files import write_whole

#: What a spreadsheet program takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_SEPARATORS = (",", ";", "\t")


@dataclass(frozen=True)
class Cell:
    """A cell: what it says, and where it stands in the text."""

    value: str
    start: int
    end: int


@dataclass(frozen=True)
class Row:
    """A row: the line it begins in, counted from 1, its cells, and where it begins and ends, line end included."""

    line: int
    cells: tuple[Cell, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Record:
    """A row below the header.

    Attributes:
        line: Its line in the file, counted from 1.
        index: Its place among all rows of the sheet.
        cells: What its cells say, without spaces around it unless a quote begins it, by the header's names.
    """

    line: int
    index: int
    cells: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        """Give a cell; empty if the row is too short or has no such column."""
        return self.cells.get(name, "")


@dataclass(frozen=True)
class Sheet:
    """A table and the text it was read from.

    Attributes:
        path: The file, for messages.
        text: All of it.
        encoding: How it was encoded.
        separator: What stands between cells.
        rows: The header and all others; empty lines are left out.
    """

    path: Path
    text: str
    encoding: str
    separator: str
    rows: tuple[Row, ...]

    @property
    def header(self) -> list[str]:
        """The columns' names."""
        return [cell.value.strip() for cell in self.rows[0].cells] if self.rows else []

    def records(self) -> list[Record]:
        """Give the rows below the header in which anything stands."""
        names = self.header
        found = []
        for index, row in enumerate(self.rows[1:], start=1):
            # What `defused` put a quote in front of keeps its spaces.
            values = [cell.value if cell.value.startswith("'") else cell.value.strip() for cell in row.cells]
            if any(values):
                found.append(Record(row.line, index, dict(zip(names, values, strict=False))))
        return found

    def needs(self, *names: str, of: Sequence[str] = ()) -> Sheet:
        """Give the sheet itself.

        Args:
            names: The columns without which it means nothing.
            of: All columns that it should have, if those are more.

        Raises:
            CourseError: If it has no column of one of these names.
        """
        missing = [name for name in names if name not in self.header]
        if missing:
            raise CourseError(
                f"{self.path}:1: there is no column {', '.join(map(repr, missing))}; found: "
                f"{', '.join(self.header) or 'nothing'}. The first line has to name {', '.join(of or names)}."
            )
        return self

    def filled(self, values: Mapping[tuple[int, int], str]) -> str:
        """Give the text with other values in some cells.

        Args:
            values: What to put by row and column, both counted from 0; row 0 is the header.
        """
        changes = []
        for (row, column), value in values.items():
            cells = self.rows[row].cells
            if column < len(cells):
                changes.append((cells[column].start, cells[column].end, self._written(value)))
            else:
                gap = self.separator * (column - len(cells) + 1)
                changes.append((cells[-1].end, cells[-1].end, gap + self._written(value)))
        return _replaced(self.text, changes)

    def without(self, unwanted: Callable[[Record], bool]) -> tuple[str, int]:
        """Give the text without some rows, and how many those are."""
        rows = [self.rows[record.index] for record in self.records() if unwanted(record)]
        return _replaced(self.text, [(row.start, row.end, "") for row in rows]), len(rows)

    def extended(self, records: Iterable[Mapping[str, str]]) -> str:
        """Give the text with more rows at its end."""
        end = "\r\n" if "\r\n" in self.text else "\n"
        lines = [
            self.separator.join(self._written(record.get(name, "")) for name in self.header) + end for record in records
        ]
        gap = end if lines and self.text and not self.text.endswith(("\n", "\r")) else ""
        return self.text + gap + "".join(lines)

    def encoded(self, text: str) -> bytes:
        """Encode a text as the sheet's own was, or as UTF-8 that spreadsheet programs know if that cannot be."""
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError:
            return text.encode("utf-8-sig", "replace")

    def _written(self, value: str) -> str:
        out = io.StringIO()
        csv.writer(out, delimiter=self.separator, lineterminator="").writerow([value])
        return out.getvalue() if value else ""


def read_sheet(path: Path) -> Sheet:
    """Read a table with a header.

    Args:
        path: CSV with commas, semicolons or tabs, in UTF-8, UTF-16 or Windows' western encoding.

    Raises:
        CourseError: If it cannot be read.
    """
    try:
        return parsed(path, path.read_bytes())
    except (OSError, UnicodeError) as error:
        raise CourseError(f"{path}: this table cannot be read ({error}). Save it as CSV in UTF-8.") from None


def parsed(path: Path, content: bytes) -> Sheet:
    """Give what the bytes of a table say.

    Args:
        path: Its file, for messages; it need not be there.
        content: What is in it.

    Raises:
        UnicodeError: If it is no text.
    """
    text, encoding = _decoded(content)
    told = re.match(r"sep=(.)\r?\n", text)  # Excel's own first line
    first = text[told.end() :] if told else text
    separator = told[1] if told else max(_SEPARATORS, key=first.partition("\n")[0].count)
    return Sheet(path, text, encoding, separator, tuple(_rows(text, separator, told.end() if told else 0)))


def write_table(path: Path, names: Sequence[str], records: Iterable[Mapping[str, object]]) -> None:
    """Write a table of ours; a cell that a spreadsheet program would take for a formula is defused."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for record in records:
        writer.writerow([defused(record.get(name)) for name in names])
    write_whole(path, out.getvalue())


def defused(value: object) -> str:
    """Give a cell's text so that no spreadsheet program runs it: a quote in front of what looks like a formula.

    Text with spaces around it gets one, too, and so does what this would have made of another text: `plain` gives
    back exactly what was given.
    """
    text = "" if value is None else str(value).replace("\0", "")
    return f"'{text}" if _guarded(text) and not isinstance(value, int | float) else text


def plain(text: str) -> str:
    """Give back what `defused` was given."""
    return text[1:] if text[:1] == "'" and _guarded(text) else text


def _guarded(text: str) -> bool:
    """Whether a text has a quote in front, or needs one; how many it has already makes no difference."""
    inner = text.lstrip("'")
    return inner.startswith(_FORMULA) or inner != inner.strip()


def number(text: str) -> float | None:
    """Read a number as people write it in tables, with a comma or a point; ``None`` if it is none."""
    if not re.fullmatch(r"[+-]?(\d{1,9}([.,]\d{0,9})?|[.,]\d{1,9})", text):
        return None
    return float(text.replace(",", "."))


def _decoded(content: bytes) -> tuple[str, str]:
    if content.startswith(b"\xef\xbb\xbf"):
        return content.decode("utf-8-sig"), "utf-8-sig"
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16"), "utf-16"
    try:
        return content.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return content.decode("cp1252", "strict"), "cp1252"


def _rows(text: str, separator: str, start: int) -> Iterable[Row]:
    """Cut a text into rows: quoted cells may hold separators, line ends and doubled quotes."""
    inner = re.escape(separator)
    cell = re.compile(rf'"(?P<quoted>(?:[^"]|"")*)"(?P<rest>[^{inner}\r\n]*)|(?P<bare>[^{inner}\r\n]*)')
    position, line = start, 1 + text.count("\n", 0, start)
    while position < len(text):
        begin, cells = position, []
        while True:
            found = cell.match(text, position)
            assert found is not None  # noqa: S101 - the bare form matches nothing, too
            quoted = found["quoted"]
            value = found["bare"] if quoted is None else quoted.replace('""', '"') + found["rest"]
            cells.append(Cell(value, found.start(), found.end()))
            position = found.end()
            if text[position : position + 1] != separator:
                break
            position += 1
        position += 2 if text.startswith("\r\n", position) else 1
        position = min(position, len(text))
        if len(cells) > 1 or cells[0].value.strip():
            yield Row(line, tuple(cells), begin, position)
        line += len(re.findall(r"\r\n|\r|\n", text[begin:position]))


def _replaced(text: str, changes: Iterable[tuple[int, int, str]]) -> str:
    for start, end, value in sorted(changes, reverse=True):
        text = text[:start] + value + text[end:]
    return text
