"""Makers of what students hand in, of the course it goes to, and of a judge that runs nothing."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from coursework.__main__ import main
from coursework.assignment import Assignment, Known
from coursework.batch import Batch, Report, grade
from coursework.collect import Expected, collect
from coursework.course import Course
from coursework.model import Outcome, Question, Verdict, WrittenQuestion
from coursework.overview import finish
from coursework.roster import read_roster
from coursework.rows import Row

SLUG = "sum-up"
OFFERING = "3f2a9c1d"
STUBS = {
    "total": '# answer: total\ndef total(n):\n    """Add up."""\n    raise NotImplementedError',
    "half": "# answer: half\ndef half(n):\n    raise NotImplementedError",
    "why": "<!-- answer: why -->\n*Write here, in place of this line.*",
}
RIGHT = {
    "total": "# answer: total\ndef total(n):\n    return n * (n + 1) // 2",
    "half": "# answer: half\ndef half(n):\n    return n / 2",
    "why": "<!-- answer: why -->\nBecause.",
}


def cell(source: str, name: str = "", kind: str = "", **more: Any) -> dict[str, Any]:
    """A cell of a notebook; with a name it is an answer as it is handed out."""
    kind = kind or ("markdown" if name == "why" else "code")
    made: dict[str, Any] = {
        "cell_type": kind,
        "metadata": {},
        "source": source,
        "id": f"answer-{name}" if name else "x",
    }
    if name:
        made["metadata"] = {"coursework": {"answer": name}, "tags": ["answer"]}
    return {**made, **({"outputs": [], "execution_count": None} if kind == "code" else {}), **more}


def stamp(slug: str = SLUG, framework: str = "pytorch", version: int = 1, offering: str = OFFERING) -> str:
    """The line that says what a notebook is."""
    return f"# coursework: {slug} · {framework} · version {version} · offering {offering}"


def cells(answers: Mapping[str, str] = RIGHT, line: str = "") -> list[dict[str, Any]]:
    """The cells of a notebook with answers in it; stubs where there are none."""
    line = line or stamp()
    return [
        cell(f"{line}\nimport asynclab.preparing"),
        cell("# Sum up", kind="markdown"),
        cell("import math\nfrom asynclab import exercises"),
        *(cell(answers.get(name, stub), name) for name, stub in STUBS.items()),
        cell("for n in [3]:\n    exercises.check(total, n, gives=6)", metadata={"tags": ["check"]}),
        cell(f"{line}\nfrom asynclab import exercises\nexercises.pack()"),
    ]


def document(made: list[dict[str, Any]]) -> bytes:
    """The bytes of a notebook with these cells."""
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def handin(answers: Mapping[str, str] = RIGHT, **stamped: Any) -> bytes:
    """The bytes of a notebook with these answers."""
    return document(cells(answers, stamp(**stamped)))


def zipped(files: Mapping[str, bytes], moment: datetime = datetime(2026, 1, 10, 12, 0)) -> bytes:
    """The bytes of a zip with these files, last changed at one moment."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, moment.timetuple()[:6]), data, zipfile.ZIP_DEFLATED)
    return content.getvalue()


def written(path: Path, content: bytes | str, moment: datetime | None = None) -> Path:
    """A file with this content, last changed at a moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    if moment:
        os.utime(path, (moment.timestamp(), moment.timestamp()))
    return path


def expected(**other: Any) -> Expected:
    """What is collected."""
    values = {
        "slug": SLUG,
        "frameworks": ("pytorch", "mxnet"),
        "version": 3,
        "compatible_with": (1,),
        "offering": OFFERING,
        "names": set(STUBS),
    }
    return Expected(**{**values, **other})


def sort_in(course: Course, *sources: Path, **other: Any) -> dict[str, Row]:
    """Collect, and give the rows by original name, or by student where there is no file."""
    rows = collect(course, sources, expected(**other), read_roster(course))
    return {row.original or row.student: row for row in rows}


def roster(course: Course, *lines: str, header: str = "student,due,time_factor,canvas_id,moodle_id,name") -> None:
    """Write the roster."""
    written(course.roster, "\n".join([header, *lines]) + "\n")


def assignment(**other: Any) -> Assignment:
    """An assignment of two automatic questions and a written one, with two known wrong answers."""

    def never(student: Any) -> Verdict:
        raise AssertionError("the fake judge asks nobody")

    questions = (
        Question("total", "The total", 3, never, hint="Think of Gauss."),
        Question("half", "The half", 2, never),
        WrittenQuestion("why", "Why", 5, "1 point a reason"),
    )
    known = (
        Known("off-by-one", "thinks that n is left out", {"total": "return sum(range(n))"}),
        Known("slow", "thinks that time is free", {"total": "sleep"}),
    )
    values = {"slug": SLUG, "framework": "pytorch", "title": "Sum up", "version": 3, "questions": questions}
    return Assignment(**{**values, "stubs": STUBS, "known": known, "fingerprint": "f", **other})


def judge(one: Assignment, code: Mapping[str, str], time_factor: float) -> Any:
    """Judge by words in the source alone."""
    words = {"sum(range(n))": Outcome.FAILED, "sleep": Outcome.TIMEOUT, "noisy": Outcome.TOO_NOISY}
    verdicts = []
    for question in one.asked:
        source = code.get(question.name, "")
        found = [outcome for word, outcome in words.items() if word in source]
        outcome = found[0] if found else Outcome.PASSED if "return" in source else Outcome.NOT_ATTEMPTED
        sign = f"{outcome} {question.name}" if outcome in (Outcome.FAILED, Outcome.TIMEOUT) else ""
        verdicts.append((question, Verdict(outcome, f"{outcome}!", f"secret of {question.name}", sign), 0.1))
    return verdicts, "printed"


def graded(course: Course, *assignments: Assignment, **other: Any) -> Report:
    """Grade with the fake judge, and write tables and pages."""
    chosen = assignments or (assignment(),)
    report = grade(Batch(course, chosen, other.pop("judge", judge), read_roster(course), **other))
    report.faults += finish(course, chosen)[1].faults
    return report


#: Gives a command's exit status, its output and its errors.
Run = Callable[..., tuple[int, str, str]]


def command_line(capsys: pytest.CaptureFixture[str]) -> Run:
    """Give what runs a command of coursework in this process."""

    def command(*arguments: object) -> tuple[int, str, str]:
        status = main([str(argument) for argument in arguments])
        told = capsys.readouterr()
        return status, told.out, told.err

    return command
