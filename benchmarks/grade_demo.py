"""Grade a class of thirty that hands in everything that can go wrong, three times, and compare with what each deserves.

By the commands that an instructor gives. The exit status is 1 if a row is missing, a score is not the one deserved or
differs between rounds, a process is left, or anything outside the course's folder was written.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from demo_class import Student, students

from coursework import drawing, percent
from coursework.exercise import Places, load, questions

REPOSITORY = Path(__file__).resolve().parents[1]
SLUG, FRAMEWORK = "cost-model-as-a-function", "pytorch"


def coursework(*arguments: str, course: Path) -> str:
    """Give a command as an instructor does."""
    command = [sys.executable, "-m", "coursework", *arguments, "--course", str(course)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def hand_in(course: Path, folder: Path) -> list[Student]:
    """Let the class hand in, a folder each."""
    coursework("assign", SLUG, "--framework", FRAMEWORK, course=course)
    assigned = json.loads((course / "assigned" / f"{SLUG}.{FRAMEWORK}.ipynb").read_text("utf8"))
    exercise = load(SLUG, Places(REPOSITORY / "exercises"))
    wrong = {each.name: (each.points, each.answers) for each in percent.wrong(exercise, FRAMEWORK)}
    offering = drawing.offering(exercise, FRAMEWORK, drawing.course(course).seed)
    worth = {question.answer or question.name: question.points for question in questions(exercise, offering)}
    found = list(students(assigned, percent.solution(exercise, FRAMEWORK), wrong, worth))
    roster = ["student,name,due,time_factor", *(f"{one.name},,," for one in found)]
    (course / "roster.csv").write_text("\n".join(roster) + "\n", "utf8")
    for one in found:
        (folder / one.name).mkdir(parents=True)
        if one.content is not None:
            (folder / one.name / one.file).write_bytes(one.content)
    return found


def scores(course: Path) -> dict[str, float]:
    """Read what was given."""
    with (course / "grades" / "grades.csv").open(encoding="utf8", newline="") as file:
        return {row["student"]: float(row["points"] or 0) for row in csv.DictReader(file)}


def inmates() -> list[str]:
    """Name the processes of this machine that came from a submission's: children keep the worker's command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"/jail/worker.py" in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def main() -> int:
    """Run the demonstration; give the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        course, folder = Path(place, "course"), Path(place, "handed-in")
        course.mkdir()
        found = hand_in(course, folder)
        coursework("collect", str(folder), course=course)
        rounds, seconds, left = [], [], []
        for _ in range(options.rounds):
            start = time.monotonic()
            coursework("grade", "-j", str(options.jobs), "--regrade", course=course)
            seconds.append(time.monotonic() - start)
            left += inmates()
            rounds.append(scores(course))
        return told(found, rounds, seconds, left)


def told(found: list[Student], rounds: list[dict[str, float]], seconds: list[float], left: list[str]) -> int:
    """Print a row a student, and what is wrong; give the exit status."""
    faults = 0
    print(f"{'student':<28}{'deserved':>10}  given, round by round")
    for one in found:
        given = [scores.get(one.name) for scores in rounds]
        fine = all(points == one.points for points in given)
        faults += not fine
        shown = "  ".join("missing" if points is None else f"{points:g}" for points in given)
        print(f"{one.name:<28}{one.points:>10g}  {shown}{'' if fine else '   WRONG'}")
    rows = {len(scores) for scores in rounds}
    print(f"\n{len(found)} handed in, rows by round: {sorted(rows)}; {len(left)} processes left")
    print(f"a round took {statistics.median(seconds):.1f} s (median of {len(seconds)})")
    return int(bool(faults or left or rows != {len(found)}))


if __name__ == "__main__":
    sys.exit(main())
