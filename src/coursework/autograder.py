"""Grade one submission inside Gradescope's container: ``run_autograder`` of an exported archive calls this.

Reads ``submission/``, writes ``results/results.json``. The student's code runs in a process of its own, as a user that
can read neither the questions nor the results.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coursework.course import Course
from coursework.exercise import Places, load
from coursework.jail import Jail
from coursework.results import gradescope, read_result

_STUDENT = "submission"


def grade_submission(root: Path, python: Path) -> dict[str, Any]:
    """Grade what was handed in.

    Args:
        root: The folder with ``source/`` and ``submission/``.
        python: The interpreter that runs the student's code.

    Returns:
        What goes into ``results.json``.
    """
    from coursework.assignment import Assignment, assignment
    from coursework.batch import Batch, grade
    from coursework.collect import collect, expected
    from coursework.judge import Judged, judge
    from coursework.roster import Roster

    source = root / "source"
    slug, framework = (source / "assignment.txt").read_text("utf8").split()
    overlay = source / "overlay"
    places = Places(source / "exercises", overlay=overlay if overlay.is_dir() else None)
    exercise = load(slug, places)
    jail = Jail(python, kind="user")
    with tempfile.TemporaryDirectory() as folder:
        course = Course(Path(folder, "course"))
        shutil.copytree(source / "course", course.root)
        # Whatever lies there is the one student's, whatever it is called.
        collect(course, [root / "submission"], expected(exercise, course, framework, None), Roster(), _STUDENT)
        asked = assignment(exercise, framework, course, places)

        def ask(one: Assignment, code: Mapping[str, str], factor: float) -> Judged:
            return judge(one.asked, code, framework, one.limits, jail, factor)

        grade(Batch(course, [asked], ask))
        result = read_result(course.result(slug, framework, _STUDENT))
    if result is None:
        return failure(
            "No notebook of this assignment was found. Hand in the file that the notebook's last cell writes."
        )
    return gradescope(result)


def failure(message: str) -> dict[str, Any]:
    """Give a result without points, with a sentence for the student."""
    return {"score": 0, "output": message, "output_format": "text", "stdout_visibility": "hidden", "tests": []}


def main(environment: Mapping[str, str]) -> int:
    """Grade, and write the result whatever happens.

    Args:
        environment: ``AUTOGRADER`` and ``PREFIX`` name the two folders.
    """
    root = Path(environment["AUTOGRADER"])
    status = 0
    try:
        found = grade_submission(root, Path(environment["PREFIX"]) / "student/bin/python")
    except Exception:
        # Whatever it is: without a file the student would be told nothing.
        traceback.print_exc()
        found, status = failure("Grading failed; it is not your fault. Your instructor can see why."), 1
    path = root / "results" / "results.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1), "utf8")
    return status


if __name__ == "__main__":
    raise SystemExit(main(os.environ))
