"""Proofs that exercises are sound, and that each proof can fail."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from coursework import leaks
from coursework.exercise import Places, load
from coursework.instructor import solution_page, write_solution_pages
from coursework.jail import Jail
from coursework.new import new
from coursework.verify import Check, leaks_of, verify

REPOSITORY = Path(__file__).parents[1]
SLUG = "bound-the-queue"
#: Long enough to be a secret, and in the solution alone.
SECRET = "losses.append(device.wait(in_flight.popleft()))"


@pytest.fixture
def exercises(tmp_path: Path) -> Path:
    """A book with one exercise, to plant faults in."""
    for name in ("_config.yml", "pyproject.toml", "notebooks", "chapters", f"exercises/{SLUG}"):
        source, target = REPOSITORY / name, tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    return tmp_path / "exercises"


@pytest.fixture
def wrong(exercises: Path) -> Callable[..., list[Check]]:
    """Verify it, and give the checks that find something."""

    def found(*artefacts: Path) -> list[Check]:
        jails = {"pytorch": Jail(REPOSITORY / ".venv-pytorch/bin/python")}
        checks = list(verify([SLUG], Places(exercises), jails, seed="0" * 32, artefacts=artefacts))
        assert len(checks) > 3
        return [check for check in checks if check.wrong]

    return found


def change(path: Path, old: str, new: str) -> None:
    """Plant a fault."""
    text = path.read_text("utf8")
    assert old in text
    path.write_text(text.replace(old, new), "utf8")


def test_sound_exercise_passes(wrong: Callable[..., list[Check]]):
    """The exercise as it is: nothing is found."""
    assert wrong() == []


def test_broken_solution_is_found(exercises: Path, wrong: Callable[..., list[Check]]):
    """A solution that does not pass its own questions."""
    change(exercises / SLUG / "teacher/solution.py", "def train(", "def other(")

    assert f"{SLUG} [pytorch] solution" in [check.subject for check in wrong()]


def test_solved_stub_is_found(exercises: Path, wrong: Callable[..., list[Check]]):
    """A notebook that is handed out solved."""
    stub = "    raise NotImplementedError\n"
    change(
        exercises / SLUG / "exercise.md", stub, "    return [device.wait(device.submit(batch)) for batch in batches]\n"
    )
    found = {check.subject: check.wrong for check in wrong()}

    assert "it passes losses, bounded" in found[f"{SLUG} [pytorch] stub"]


def test_wrong_answer_that_passes_is_found(exercises: Path, wrong: Callable[..., list[Check]]):
    """A known wrong answer that is right after all, whatever points its header says."""
    solution = (exercises / SLUG / "teacher/solution.py").read_text("utf8")
    header = "# ---\n# coursework:\n#   points: {}\n#   misconception: thinks nothing wrong\n# ---\n"
    (exercises / SLUG / "teacher/wrong/right.py").write_text(header.format(3) + solution, "utf8")
    (exercises / SLUG / "teacher/wrong/full.py").write_text(header.format(10) + solution, "utf8")
    found = {check.subject: check.wrong for check in wrong()}

    assert "gets 10 points, not 3" in found[f"{SLUG} [pytorch] wrong/right.py"]
    assert "gets all 10 points" in found[f"{SLUG} [pytorch] wrong/full.py"]


def test_points_of_an_overlay_make_nothing_wrong(exercises: Path, tmp_path: Path):
    """A header speaks of the author's points, so an instructor's own points need no other headers."""
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / f"{SLUG}.yml").write_text("points: {losses: 1, quick: 7}", "utf8")
    jails = {"pytorch": Jail(REPOSITORY / ".venv-pytorch/bin/python")}

    checks = list(verify([SLUG], Places(exercises, overlay=tmp_path / "ours"), jails, seed="0" * 32))

    assert [check for check in checks if check.wrong] == []
    assert len([check for check in checks if "wrong/" in check.subject]) > 2


def test_nothing_to_compare_is_no_proof(tmp_path: Path):
    """A teacher's part without a line that is long and not public says so, instead of being as it should be."""
    places = Places(tmp_path / "exercises")
    new("a-new-one", places)
    for path in (places.exercises / "a-new-one" / "teacher").rglob("*.*"):
        path.write_text("x = 1\n", "utf8")

    check = leaks_of(load("a-new-one", places), [], "0" * 32, [])

    assert (check.wrong, check.subject) == ("", "a-new-one secrecy (0 lines)")
    assert check.told.startswith("nothing to compare")


def test_wrong_answer_with_other_points_is_found(exercises: Path, wrong: Callable[..., list[Check]]):
    """A known wrong answer whose points are not those of its header."""
    path = exercises / SLUG / "teacher/wrong/waits_each_time.py"
    points = next(line for line in path.read_text("utf8").splitlines() if "points:" in line)
    change(path, points, "#   points: 1")

    assert [check.subject for check in wrong()] == [f"{SLUG} [pytorch] wrong/waits_each_time.py"]


@pytest.mark.parametrize("kind", ["html", "notebook", "zip", "search index"])
def test_planted_line_is_found(exercises: Path, tmp_path: Path, kind: str):
    """A line of the solution anywhere in a site, however it is written there."""
    assert SECRET in (exercises / SLUG / "teacher/solution.py").read_text("utf8")
    site = tmp_path / "site"
    site.mkdir()
    plain = json.dumps({"cells": [{"source": ["x = 1\n", f"    {SECRET}"]}]})
    if kind == "html":
        spans = SECRET.replace("(", '<span class="p">(</span>').replace("device", '<span class="n">device</span>')
        (site / "page.html").write_text(f"<pre>{spans}</pre>", "utf8")
    elif kind == "notebook":
        (site / "page.ipynb").write_text(plain, "utf8")
    elif kind == "search index":
        (site / "searchindex.js").write_text(f"Search.setIndex({{a:{json.dumps(SECRET)}}})", "utf8")
    else:
        with zipfile.ZipFile(site / "all.zip", "w") as archive:
            archive.writestr("inside/page.ipynb", plain)
    found = leaks_of(load(SLUG, Places(exercises)), ["pytorch"], "0" * 32, [site])

    assert SECRET in found.wrong
    assert "solution.py:" in found.wrong


def test_line_of_an_artefact_is_found_with_the_rest(tmp_path: Path, wrong: Callable[..., list[Check]]):
    """Verifying an exercise looks through what is named as well."""
    (tmp_path / "page.html").write_text(f"<pre>{SECRET}</pre>", "utf8")
    found = wrong(tmp_path / "page.html")

    assert [check.subject.split(" (")[0] for check in found] == [f"{SLUG} secrecy"]
    assert SECRET in found[0].wrong


def test_public_line_is_no_secret(exercises: Path):
    """A line that a chapter has as well, however it is indented there, gives nothing away."""
    exercise = load(SLUG, Places(exercises))

    assert any(line == SECRET for _, line in leaks.secrets(exercise, []).values())
    assert not any(line == SECRET for _, line in leaks.secrets(exercise, [f"        {SECRET}\n"]).values())


def test_site_holds_no_secret():
    """The built site, with its notebooks, archives, wheel and search index, holds no line of a teacher's part."""
    site = REPOSITORY / "_build/html"
    assert (site / "exercises/index.html").is_file(), "build the book first: make book"
    places = Places(REPOSITORY / "exercises")
    slugs = sorted(path.parent.name for path in places.exercises.glob("*/exercise.md"))
    public = [*leaks.public_texts(REPOSITORY)]
    secret = {line: where for slug in slugs for line, where in leaks.secrets(load(slug, places), public).items()}

    assert len(secret) > 200
    assert list(leaks.leaks([site], secret)) == []


def test_instructors_page_holds_the_solution(exercises: Path):
    """Stubs are replaced, checks stay, a written answer and how to mark it are shown, and no stub is left."""
    found = load(SLUG, Places(exercises))
    page = solution_page(found)

    assert page.startswith("---\nfile_format: mystnb\n")
    assert "# Solution: Bound the Queue\n" in page
    assert SECRET in page
    assert "raise NotImplementedError" not in page
    assert page.count("exercises.check(") == found.path.read_text("utf8").count("exercises.check(")
    assert "exercise:" not in page.split("---")[1]


def test_instructors_pages_of_gone_exercises_are_removed(exercises: Path, tmp_path: Path):
    """The folder holds the pages of the exercises that there are, and no other; unchanged ones are left alone."""
    out = tmp_path / "solutions"
    out.mkdir()
    (out / "gone.md").write_text("old", "utf8")
    paths = write_solution_pages([load(SLUG, Places(exercises))], out)
    before = paths[0].stat().st_mtime_ns
    write_solution_pages([load(SLUG, Places(exercises))], out)

    assert sorted(out.iterdir()) == paths == [out / f"{SLUG}.md"]
    assert paths[0].stat().st_mtime_ns == before
