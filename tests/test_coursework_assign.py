"""Notebooks that are handed out: what is in them, what never is, and that they survive editors."""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import nbformat
import pytest
from books import REPOSITORY
from exercise_folders import CHECKS, SEED, SOLUTION, write_exercise
from outer_kernels import running
from readers import uv

from coursework import assign, drawing, percent
from coursework.errors import CourseError, ExerciseError
from coursework.exercise import Exercise, Places, load, slugs
from coursework.stamp import KEY, Stamp, of_source, read

SLUG = "the-total"
#: Drawn from `SEED`, as eight hexadecimal digits that tell nothing of it.
OFFERING = "caa106bf"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A course without a set-up cell, unless a test makes one."""
    monkeypatch.setattr(assign, "HOME", tmp_path / "nowhere")


def handed_out(root: Path, framework: str = "pytorch", **options: str) -> nbformat.NotebookNode:
    """The notebook of the small exercise."""
    places = Places(root / "exercises") if (root / "exercises").exists() else write_exercise(root)
    exercise = load(SLUG, places)
    return assign.notebook(exercise, framework, drawing.offering(exercise, framework, SEED), **options)


def book(root: Path) -> Path:
    """Make the small exercise's folder a part of a book with this course's set-up cell."""
    write_exercise(root)
    (root / "_config.yml").touch()
    for name in ("notebooks", "chapters"):
        (root / name).mkdir()
    (root / "chapters" / "cost-model.md").touch()
    (root / "pyproject.toml").write_text('[project]\nversion = "7.8"')
    (root / assign.FIRST_CELL).write_text((REPOSITORY / assign.FIRST_CELL).read_text("utf8"), "utf8")
    return root


# What is in a notebook


def test_cells_stand_in_their_order(tmp_path: Path):
    """Title, text, stubs, checks of one framework, and the cell that packs; the answers by name."""
    made = handed_out(tmp_path, "mxnet")

    assert [(cell.id, cell.cell_type, cell.metadata.get("tags")) for cell in made.cells] == [
        ("cell-0", "markdown", None),
        ("cell-1", "code", None),
        ("answer-total", "code", ["answer"]),
        ("cell-3", "code", ["check"]),
        ("answer-loop", "code", ["answer"]),
        ("answer-why", "markdown", ["answer"]),
        ("pack", "code", None),
    ]
    assert [cell.metadata.get(KEY) for cell in made.cells[2:6]] == [
        {"answer": "total"},
        None,
        {"answer": "loop"},
        {"answer": "why"},
    ]
    nbformat.validate(made)


def test_the_title_says_what_it_is(tmp_path: Path):
    """Below the heading stand framework, points, minutes, and the stamp; then the text."""
    text = handed_out(tmp_path).cells[0].source.split("\n")

    assert text[:7] == [
        "# The total of a queue",
        "",
        "PyTorch · 6 points · about 20 minutes",
        "",
        f"<small>the-total · pytorch · version 3 · offering {OFFERING}</small>",
        "",
        "A queue of 8 operations, see the *cost* `model`, $t_1$.",
    ]


def test_answers_keep_a_line_that_names_them(tmp_path: Path):
    """In code and in text the first line says which answer it is, whatever becomes of metadata."""
    cells = {cell.id: cell.source for cell in handed_out(tmp_path).cells}

    assert cells["answer-total"].startswith("# answer: total\ndef total(n: int) -> int:\n")
    assert cells["answer-why"] == "<!-- answer: why -->\n*Write here, in place of this line.*"


def test_drawn_constants_replace_the_books(tmp_path: Path):
    """In text and in cells stand the values of this offering; the lines stay what they are."""
    made = handed_out(tmp_path)

    assert made.cells[1].source == (
        "from asynclab import exercises\ncapacity = 8  # constant: capacity\nsteps = 30  # constant: steps"
    )


def test_a_frameworks_notebook_has_no_word_of_the_other(tmp_path: Path):
    """Cells and tabs of the other framework are left out."""
    pytorch, mxnet = (nbformat.writes(handed_out(tmp_path, name)) for name in ("pytorch", "mxnet"))

    assert ("tensors" in pytorch, "arrays" in pytorch, "mxnet" in pytorch.lower()) == (True, False, False)
    assert ("tensors" in mxnet, "arrays" in mxnet, "torch" in mxnet.lower()) == (False, True, False)


def test_nothing_of_myst_is_left(tmp_path: Path):
    """What a reader would see as markup of another language is gone."""
    text = "".join(cell.source for cell in handed_out(tmp_path).cells if cell.cell_type == "markdown")

    assert [mark for mark in (":::", "{{ capacity", "{hint}", ":class:", ".md") if mark in text] == []
    assert "<summary>Hint</summary>\n\nCode such as `{{ x }}` stays.\n\n</details>" in text


def test_links_lead_to_the_site(tmp_path: Path):
    """With `--site` chapters are linked there, in the notebook's framework."""
    text = handed_out(tmp_path, site="https://course.org/x/").cells[0].source

    assert "[the *cost* `model`](https://course.org/x/chapters/cost-model.html?framework=pytorch#formula)" in text


def test_another_framework_is_refused(tmp_path: Path):
    """The ones that the exercise is for are named."""
    with pytest.raises(ExerciseError, match=r"the-total is not for 'jax' \(it is for: pytorch, mxnet\)"):
        handed_out(tmp_path, "jax")


# The set-up cell


def test_the_set_up_cell_is_the_courses_own(tmp_path: Path):
    """Filled with this exercise's values, its form's title first and the stamp second, folded in Colab."""
    made = handed_out(book(tmp_path), "mxnet", site="https://course.org/x", mirror="https://mirror.org/simple")
    cell = made.cells[1]
    lines = cell.source.split("\n")

    assert lines[0] == '#@title Run this first: it sets the notebook up for MXNet { display-mode: "form" }'
    assert of_source(lines[1]) == Stamp(SLUG, "mxnet", 3, OFFERING)
    assert "https://course.org/x/wheels/asynclab-7.8-py3-none-any.whl" in cell.source
    assert "$" not in cell.source
    assert 'prepare("mxnet", needs="", wheel=' in cell.source
    assert (cell.id, cell.metadata["cellView"]) == ("set-up", "form")
    ast.parse(cell.source)


def test_without_a_site_the_wheel_comes_along(tmp_path: Path):
    """The zip for an LMS holds what the set-up cell installs, as the sources are now, built or not."""
    root = book(tmp_path)
    stale = root / "_build" / "html" / "wheels" / "asynclab-7.8-py3-none-any.whl"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"of another day")
    cell = handed_out(root).cells[1]
    first, second = (
        assign.write([SLUG], "pytorch", root / name, root / "course", Places(root / "exercises"))[1] for name in "ab"
    )

    members = _members(first)
    assert '"wheels/asynclab-7.8-py3-none-any.whl"' in cell.source
    assert zipfile.ZipFile(io.BytesIO(members["wheels/asynclab-7.8-py3-none-any.whl"])).testzip() is None
    assert b"leave the folder wheels where it is" in members["README.txt"]
    assert members == _members(second)


def test_with_a_site_no_wheel_is_needed(tmp_path: Path):
    """The set-up cell installs from there; such a notebook can be opened in Colab."""
    root = book(tmp_path)
    site = {"site": "https://course.org"}

    _, archive = assign.write([SLUG], "pytorch", root / "out", root / "course", Places(root / "exercises"), **site)

    assert sorted(_members(archive)) == ["README.txt", "the-total.pytorch.ipynb"]
    assert b"Colab" in _members(archive)["README.txt"]


def test_the_wheel_can_be_installed_without_an_index(tmp_path: Path):
    """An installer takes it: the package works, and says its version and its licence."""
    root = book(tmp_path / "book")
    for name in ("pyproject.toml", "LICENSE"):
        (root / name).write_bytes((REPOSITORY / name).read_bytes())
    _, archive = assign.write([SLUG], "pytorch", root / "out", root / "course", Places(root / "exercises"))
    zipfile.ZipFile(archive).extractall(tmp_path)
    (wheel,) = (tmp_path / "wheels").iterdir()
    python = tmp_path / "env" / "bin" / "python"
    quiet = {"capture_output": True, "text": True, "check": True}
    subprocess.run([uv(), "venv", "-q", "--no-project", "--python", sys.executable, str(tmp_path / "env")], **quiet)

    install = [uv(), "pip", "install", "--no-index", "--no-deps", "--no-cache", "--python", str(python), str(wheel)]
    subprocess.run(install, **quiet)

    code = (
        "import asynclab, asynclab.preparing, importlib.metadata as m; about = m.metadata('asynclab'); "
        "print(asynclab.__file__, about['Version'], about['License-Expression'], "
        "*sorted(file.name for file in m.files('asynclab') if file.name in ('LICENSE', 'mxnet-pins.txt')))"
    )
    told = subprocess.run([python, "-I", "-c", code], **quiet).stdout.split()
    assert told[0].startswith(str(tmp_path / "env"))
    assert told[1] == wheel.name.split("-")[1]
    assert told[2:] == ["MIT", "LICENSE", "mxnet-pins.txt"]


def test_exercises_kept_elsewhere_get_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A folder of a course's own, outside of any book, has the set-up cell of the book that coursework comes with."""
    monkeypatch.setattr(assign, "HOME", book(tmp_path / "home"))

    assert handed_out(tmp_path, "mxnet").cells[1].id == "set-up"


@pytest.mark.parametrize("site", ["course.org", 'https://x"y', "https://$title", "file:///x"])
def test_an_address_that_would_break_the_cell_is_refused(tmp_path: Path, site: str):
    """It is pasted into a program."""
    with pytest.raises(CourseError, match=r"--site is .* \(allowed: http://\.\.\. or https://\.\.\.\)"):
        handed_out(book(tmp_path), site=site)


# The stamp


@pytest.mark.parametrize("lost", ["nothing", "metadata", "lines", "all but the cell that packs"])
def test_the_stamp_survives_editors(tmp_path: Path, lost: str):
    """It is found in what is left, whichever way sources are written."""
    content: dict[str, Any] = json.loads(nbformat.writes(handed_out(book(tmp_path))))
    if lost == "metadata":
        content["metadata"] = {}
        content["cells"] = [
            {"cell_type": cell["cell_type"], "source": "".join(cell["source"])} for cell in content["cells"]
        ]
    elif lost == "lines":
        content["cells"] = [cell for cell in content["cells"] if "coursework:" not in "".join(cell["source"])]
    elif lost != "nothing":
        content = {"cells": content["cells"][-1:]}

    assert read(content) == Stamp(SLUG, "pytorch", 3, OFFERING)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"cells": None},
        {"cells": [None, 3, {"source": 3}, {"source": [None]}]},
        {"metadata": {"coursework": {"slug": 3, "version": 1}}},
        {"metadata": {"coursework": {"slug": "a\nb", "framework": "x", "version": 1, "offering": "0" * 8}}},
        {"cells": [{"source": "# coursework: ../x · pytorch · version 1 · offering 01234567"}]},
        {"cells": [{"source": "# coursework: x · pytorch · version 99999999 · offering 01234567"}]},
    ],
)
def test_what_is_no_stamp_is_none(content: dict[str, Any]):
    """Whatever a file holds, nothing is raised, and no path comes out of it."""
    assert read(content) is None


def test_a_stamp_with_windows_line_ends_is_read():
    """Editors change them."""
    assert of_source("x\r\n# coursework: x · mxnet · version 2 · offering 01234567\r\ny") == Stamp(
        "x", "mxnet", 2, "01234567"
    )


# What never is in a notebook


def test_nothing_of_the_teachers_part_is_in_it(tmp_path: Path):
    """Neither solution, checks, hints, rubric, nor the seed and what is drawn from it, in any file that is written."""
    places = write_exercise(tmp_path)
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / "offering.toml").write_text(f'seed = "{SEED}"')
    hidden = str(drawing.offering(load(SLUG, places), "pytorch", SEED).draw("HIDDEN draw").getrandbits(64))
    assert "HIDDEN" in CHECKS
    assert "HIDDEN" in SOLUTION

    written = assign.write([SLUG], "pytorch", tmp_path / "out", tmp_path / "course", places)
    contents = [written[0].read_bytes(), *_members(written[1]).values()]
    for content in contents:
        assert [word for word in ("HIDDEN", SEED, SEED[:8], hidden, "teacher") if word.encode() in content] == []


def _members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


COURSE = Places(REPOSITORY / "exercises")


@pytest.mark.parametrize("slug", slugs(COURSE))
def test_no_line_of_the_real_teachers_parts_is_in_a_notebook(slug: str):
    """Of each exercise of the course, no long line that only its teacher's part has comes out."""
    exercise = load(slug, COURSE)
    public = exercise.path.read_text("utf8")
    lines = {
        line.strip()
        for path in exercise.teacher.rglob("*")
        if path.suffix in (".py", ".md")
        for line in path.read_text("utf8").splitlines()
        if len(line.strip()) > 25
    }
    secret = [line for line in lines if line not in public]

    for framework in exercise.frameworks:
        made = assign.notebook(exercise, framework, drawing.offering(exercise, framework, SEED))
        text = "\n".join(cell.source for cell in made.cells)
        assert [line for line in secret if line in text] == []


# Files


def written(root: Path, **options: Any) -> dict[str, bytes]:
    """What assigning writes, by name."""
    places = Places(root / "exercises") if (root / "exercises").exists() else write_exercise(root)
    course = root / "course"
    if not course.exists():
        course.mkdir()
        (course / "offering.toml").write_text(f'seed = "{SEED}"')
    paths = assign.write([SLUG], "mxnet", root / "out", course, places, **options)
    return {path.name: path.read_bytes() for path in paths}


def test_bytes_depend_on_exercise_and_seed_alone(tmp_path: Path):
    """Another folder, another time: the same notebook and the same zip."""
    first, second = written(tmp_path / "a"), written(tmp_path / "b")

    assert first == second
    assert list(first) == ["the-total.mxnet.ipynb", "the-total.mxnet.zip"]


def test_the_zip_holds_the_notebook(tmp_path: Path):
    """With a note how to use it, and times and modes that no machine changes."""
    files = written(tmp_path)
    with zipfile.ZipFile(io.BytesIO(files["the-total.mxnet.zip"])) as archive:
        entries = archive.infolist()
        assert archive.read("the-total.mxnet.ipynb") == files["the-total.mxnet.ipynb"]

    assert [entry.filename for entry in entries] == ["README.txt", "the-total.mxnet.ipynb"]
    assert {(entry.date_time, entry.external_attr >> 16) for entry in entries} == {((1980, 1, 1, 0, 0, 0), 0o644)}


def test_a_changed_notebook_is_not_replaced(tmp_path: Path):
    """What is there with other content stays, and so does all the rest, unless forced; the same content is no fault."""
    files = written(tmp_path)
    changed = tmp_path / "out" / "the-total.mxnet.ipynb"
    changed.write_text("mine")
    (tmp_path / "out" / "the-total.mxnet.zip").unlink()

    with pytest.raises(CourseError, match=r"the-total\.mxnet\.ipynb: it is there already and holds something else"):
        written(tmp_path)
    assert (changed.read_text(), len(list((tmp_path / "out").iterdir()))) == ("mine", 1)
    assert written(tmp_path, force=True) == files
    assert written(tmp_path) == files


def test_a_wrong_exercise_is_not_assigned(tmp_path: Path):
    """Points that do not add up are told before anything is written, and no seed is made."""
    places = write_exercise(tmp_path, ("exercise.md", "points: 6", "points: 7"))

    with pytest.raises(ExerciseError, match="the questions are worth 6 points, but `exercise: points` is 7"):
        assign.write([SLUG], "mxnet", tmp_path / "out", tmp_path / "course", places)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["exercises"]


def test_a_framework_that_the_exercise_lacks_makes_no_seed(tmp_path: Path):
    """What cannot be assigned leaves nothing behind."""
    with pytest.raises(ExerciseError, match="the-total is not for 'jax'"):
        assign.write([SLUG], "jax", tmp_path / "out", tmp_path / "course", write_exercise(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["exercises"]


def test_the_first_assignment_makes_the_seed(tmp_path: Path):
    """Two courses get different ones."""
    places = write_exercise(tmp_path)
    made = [
        assign.write([SLUG], "mxnet", tmp_path / name, tmp_path / f"course {name}", places)[0].read_text("utf8")
        for name in "ab"
    ]

    assert read(json.loads(made[0])) != read(json.loads(made[1]))


# At work


def run(made: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Run a notebook's cells in a kernel that can import asynclab."""
    with running(Path(sys.executable), JPY_SESSION_NAME=os.devnull) as kernel:
        path = Path(kernel.run("import os\nprint(os.getcwd(), end='')").text) / "the-total.pytorch.ipynb"
        path.write_text(nbformat.writes(made), "utf8")
        return kernel.notebook([cell.source for cell in made.cells if cell.cell_type == "code"])


def printed(cells: list[nbformat.NotebookNode]) -> str:
    """All that cells printed; an error fails."""
    outputs = [output for cell in cells for output in cell.outputs]
    assert [output for output in outputs if output.output_type == "error"] == []
    return "".join(output.text for output in outputs if output.output_type == "stream")


def test_the_untouched_notebook_runs(tmp_path: Path):
    """Checks say what is not written; packing says so as well, and still writes the file."""
    text = printed(run(handed_out(tmp_path))).splitlines()

    assert text[0] == "\N{EN DASH} total is not written yet"
    assert text[1].startswith("Wrote hand-in-the-total-pytorch.ipynb from the-total.pytorch.ipynb as it was saved at ")
    assert text[2:] == ["! Not written yet: total, loop, why."]


def test_the_solved_notebook_runs(tmp_path: Path):
    """With the solution in it every check holds, and nothing is missing."""
    exercise = load(SLUG, write_exercise(tmp_path))
    solved = percent.submission(handed_out(tmp_path), percent.solution(exercise, "pytorch"))
    text = printed(run(solved)).splitlines()

    assert text[0] == "✓ total(10) = 20"
    assert len(text) == 2


def test_answers_that_are_not_there_are_refused(tmp_path: Path):
    """A name that the notebook has not is an error of whoever wrote the answers."""
    with pytest.raises(ExerciseError, match=r"the notebook has no answer 'x' \(it has: total, loop, why\)"):
        percent.submission(handed_out(tmp_path), {"x": "1"})


def test_every_exercise_of_the_course_can_be_assigned():
    """Each gives a valid notebook in each of its frameworks, and says so in its stamp."""
    made: list[tuple[Exercise, str, Stamp | None]] = []
    for slug in slugs(COURSE):
        exercise = load(slug, COURSE)
        for framework in exercise.frameworks:
            found = assign.notebook(exercise, framework, drawing.offering(exercise, framework, SEED))
            made.append((exercise, framework, read(found)))

    assert made
    assert all(stamp and (stamp.slug, stamp.framework) == (each.slug, name) for each, name, stamp in made)
