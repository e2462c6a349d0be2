"""Notebooks that came back: answers are found whatever an editor did to the file."""

from __future__ import annotations

import gzip
import json
import time
from typing import Any

import pytest
from handins import RIGHT, STUBS, cell, cells, document, handin

from coursework.lines import normalised, without_calls
from coursework.submission import Answers, Unreadable, answers, read, untouched


def found(made: list[dict[str, Any]]) -> Answers:
    """The answers in a notebook with these cells."""
    return answers(read(document(made)), STUBS, {"why"})


def test_answers_and_the_students_other_cells_stand_in_order():
    """Answers and extra cells are kept in the notebook's order; set-up, check and pack cells are left out."""
    made = cells()
    made.insert(4, cell("def helper():\n    return 1"))

    got = found(made)

    assert list(got.code) == ["cell 3", "total", "cell 5", "half"]
    assert got.code["total"] == RIGHT["total"]
    assert got.code["cell 5"] == "def helper():\n    return 1"
    assert got.written == {"why": "Because."}
    assert got.messages == ()


def test_the_comment_is_enough():
    """Without metadata, ids and tags every answer is found by its first line."""
    made = [{**one, "metadata": {}, "id": f"c{number}"} for number, one in enumerate(cells())]

    got, whole = found(made), found(cells())
    assert {name: got.code[name] for name in whole.code} == whole.code
    assert (got.written, got.messages) == (whole.written, whole.messages)


@pytest.mark.parametrize("kept", ["metadata", "id"])
def test_metadata_or_the_id_is_enough(kept: str):
    """An answer whose comment was deleted is found by its metadata, or by its id."""
    made = cells()
    made[3]["source"] = "def total(n):\n    return 0"
    made[3] |= {"id": "x1"} if kept == "metadata" else {"metadata": {}}

    assert found(made).code["total"] == "def total(n):\n    return 0"


def test_of_copies_the_last_changed_one_counts():
    """The stub that was copied back behind an answer does not undo it, and the student is told which cell counts."""
    made = [*cells(), cell(STUBS["total"], "total")]

    got = found(made)

    assert got.code["total"] == RIGHT["total"]
    assert list(got.code).count("total") == 1
    assert got.messages == ("total stands in 2 cells: the one that counts is cell 4.",)


def test_of_two_changed_copies_the_last_counts():
    """A second attempt below the first is the answer."""
    got = found([*cells(), cell("# answer: total\ndef total(n):\n    return 1", "total")])

    assert got.code["total"].endswith("return 1")


def test_a_cell_that_was_split_is_still_one_answer():
    """An editor gives both halves the metadata; the half with the comment is the answer, the other still runs."""
    made = cells()
    made.insert(4, cell("print(total(3))", "total"))

    got = found(made)

    assert got.code["total"] == RIGHT["total"]
    assert got.code["cell 5"] == "print(total(3))"
    assert got.messages == ()


@pytest.mark.parametrize("source", [RIGHT["total"], f"```python\n{RIGHT['total']}\n```"])
@pytest.mark.parametrize("kind", ["markdown", "raw"])
def test_code_that_became_text_counts(source: str, kind: str):
    """An answer cell turned into text is read as the code that it holds, with a message."""
    made = cells()
    made[3] = cell(source, "total", kind=kind)

    got = found(made)

    assert got.code["total"] == RIGHT["total"]
    assert "read as code" in got.messages[0]


def test_a_written_answer_that_became_code_counts():
    """A written answer in a code cell is read as text, and is not run."""
    made = cells()
    made[5] = cell(RIGHT["why"], "why", kind="code")

    got = found(made)

    assert got.written == {"why": "Because."}
    assert "why" not in got.code
    assert "read as text" in got.messages[0]


def test_a_deleted_answer_is_said():
    """An answer whose cell is gone is in no list, and the student is told."""
    got = found([one for number, one in enumerate(cells()) if number != 3])

    assert "total" not in got.code
    assert got.messages == ("The cell of total is gone: not attempted.",)


def test_an_unknown_name_is_said_and_still_runs():
    """A cell that names an answer which the exercise has not is an ordinary cell of the student's."""
    got = found([*cells(), cell("# answer: totl\ndef totl(): pass")])

    assert got.code["cell 9"].endswith("def totl(): pass")
    assert "'totl'" in got.messages[0]


def test_checks_within_an_answer_are_left_out():
    """Calls of the course's own checks are taken out of answers; lines keep their numbers."""
    made = cells()
    made[3]["source"] = "# answer: total\nexercises.check(\n    1)\ndef total(n):\n    return 1"

    assert found(made).code["total"] == "# answer: total\n\n\ndef total(n):\n    return 1"


def test_text_is_read_in_any_encoding():
    """A notebook in UTF-8 with a mark, in UTF-16 with or without one, or packed, is the same notebook."""
    plain = handin().decode()

    for content in (
        plain.encode("utf-8-sig"),
        plain.encode("utf-16"),
        plain.encode("utf-16-le"),
        gzip.compress(plain.encode()),
    ):
        assert read(content).names == set(STUBS)


def test_format_three_is_read():
    """The notebook format of 2013, with sheets and inputs, still gives its answers."""
    old = [{"cell_type": "code", "input": RIGHT["total"].splitlines(keepends=True)}, {"cell_type": "heading"}]

    assert read(json.dumps({"worksheets": [{"cells": old}], "nbformat": 3}).encode()).names == {"total"}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (b"\0\0", "empty"),
        (b"print(1)", "no notebook"),
        (b"{", "damaged"),
        (b"[]", "no cells"),
        (b'{"cells": 3}', "no cells"),
        *((b'{"worksheets": [{"cells": %s}]}' % odd, "no cells") for odd in (b"5", b"true", b"1.5", b'"x"', b"{}")),
        (b'{"worksheets": [5, {"cells": true}]}', "no cells"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"PK\x03\x04...", "zip archive"),
        (b"%PDF-1.7", "PDF"),
        (b'{"cells": ' + b"[" * 100_000, "nested"),
        (b'{"cells": [' + b"9" * 10_000 + b"]}", "damaged"),
        (b"\x1f\x8b\x08garbage", "gzip"),
        (gzip.compress(b" " * 21_000_000), "larger"),
        (b" " * 20_000_001, "larger"),
        (b"\xff\xfe\x00", "no notebook"),
        (b'{"cells": [' + b"{}," * 5_000 + b"{}]}", "more than 5000 cells"),
        (document([cell("x" * 1_000_001)]), "longer than a million"),
    ],
)
def test_what_is_no_notebook_says_so(content: bytes, why: str):
    """Whatever was handed in instead of a notebook is refused in a sentence."""
    with pytest.raises(Unreadable, match=why):
        read(content)


def test_nothing_but_a_sentence_comes_of_an_unforeseen_file(monkeypatch: pytest.MonkeyPatch):
    """A failure of ours within one file is that file's, with a reason that can be looked for."""

    def failing(*_: object) -> None:
        raise KeyError("nobody thought of it")

    monkeypatch.setattr("coursework.submission._document", failing)

    with pytest.raises(Unreadable, match="KeyError"):
        read(handin())


def test_odd_cells_are_read_as_far_as_possible():
    """Cells without keys, of unknown kinds, with lone surrogates or of no form at all stop nothing."""
    odd = [{}, None, 3, {"cell_type": "code", "source": None, "metadata": []}, {"source": ["a", 1, "b"], "id": 5}]
    made = [*odd, {"cell_type": "code", "source": "x = '\ud800'", "metadata": {"tags": 1, "coursework": "total"}}]

    got = read(json.dumps({"cells": made, "metadata": None}).encode())

    assert [one.source for one in got.cells] == ["", "", "ab", "x = '?'"]
    assert found([]).code == {}


def test_the_stub_is_no_answer():
    """A stub is known whatever was done to its comments, docstring and spaces."""
    assert untouched("def total(n):\n\n    # hm\n    raise NotImplementedError", STUBS["total"])
    assert untouched("*Write here, in place of this line.*", STUBS["why"])
    assert not untouched(RIGHT["total"], STUBS["total"])


def test_normalised_copies_are_equal():
    """Other names, comments, docstrings and spaces do not hide a copy; another program is another text."""
    first = 'def total(n):\n    """Add."""\n    s = 0\n    for i in range(n):\n        s += i\n    return s\n'
    copy = "# mine\ndef total(count):\n  result=0\n  for k in range(count):\n     result+=k # add\n  return result"

    assert normalised(first, {"total"}) == normalised(copy, {"total"})
    assert normalised(first, {"total"}) != normalised(first.replace("+=", "-="), {"total"})
    assert normalised(first, {"total"}) != normalised(first.replace("s += i", "s += i\n        s += 1"), {"total"})


@pytest.mark.parametrize(
    "source", ["(" * 90_000, "x = " + "-" * 90_000 + "1", "'''", "\0", "  a\n b", "\ud800", "a" * 300_000]
)
def test_hostile_source_stops_nothing(source: str):
    """Source that crashes compilers is only ever looked at token by token."""
    assert isinstance(normalised(source, ()), str)
    assert without_calls(f"{source}\nexercises.check(1)", "exercises") is not None


def test_large_pictures_in_text_are_no_reason_to_refuse():
    """Colab puts pictures into text cells; only code and answers are limited."""
    assert read(document([cell(f"![](data:image/png;base64,{'A' * 3_000_000})", kind="markdown")])).cells


@pytest.mark.parametrize(
    "source", ["`" * 900_000, "```" + " \n" * 400_000 + "x", "\n" * 900_000, "# answer: " + "a" * 900_000 + "!"]
)
def test_patterns_take_no_time_on_hostile_text(source: str):
    """No expression that looks for names and fences can be made to search for minutes."""
    begun = time.process_time()

    found([*cells(), cell(source, kind="raw"), cell(source, "total", kind="raw")])

    assert time.process_time() - begun < 5
