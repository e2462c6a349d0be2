"""Exercises on disk: what is read from them, and every fault told with its file and line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from books import REPOSITORY
from exercise_folders import SEED, write_exercise

from coursework import Question, drawing, exercise, percent, teacher
from coursework.choosing import with_remembered
from coursework.errors import CourseError, CourseworkError, ExerciseError
from coursework.exercise import Exercise, Places, load
from coursework.matter import OPTIONAL, REQUIRED
from coursework.new import about_public, new
from coursework.plain import Reader, markdown
from coursework.source import TAGS

SLUG = "the-total"


def faults(places: Places, whole: bool = False) -> list[str]:
    """What is told of an exercise, a fault a line, without the folder."""

    def check() -> None:
        loaded = load(SLUG, places)
        if whole:
            teacher.validate(loaded)

    with pytest.raises(ExerciseError) as caught:
        check()
    lines = str(caught.value).split("\n")
    assert all(line.startswith("  ") for line in lines[1::2]), lines
    return [line.replace(f"{places.exercises / SLUG}/", "") for line in lines[::2]]


# What is read


def test_an_exercise_is_read(tmp_path: Path):
    """Its settings, its answers by framework, and where each stands."""
    found = load(SLUG, write_exercise(tmp_path))

    assert (found.title, found.kind, found.points, found.version, found.compatible_with) == (
        *("The total of a queue", "code", 6.0, 3),
        (2,),
    )
    assert (found.limits.call_s, found.limits.memory_mb) == (5.0, 2048)
    assert {name: (cell.kind, cell.line) for name, cell in found.answers("pytorch").items()} == {
        "total": ("code", 54),
        "loop": ("code", 67),
        "why": ("markdown", 81),
    }
    assert "def arrays" in found.answers("mxnet")["loop"].source
    teacher.validate(found)


def test_a_fault_tells_what_to_do(tmp_path: Path):
    """Below what was found stands how to mend it."""
    places = write_exercise(tmp_path, ("exercise.md", "kind: code", "kind: essay"))

    with pytest.raises(ExerciseError) as caught:
        load(SLUG, places)
    assert str(caught.value) == (
        f"{tmp_path}/exercises/the-total/exercise.md:8: `exercise: kind` is 'essay' (allowed: code, measure, written)."
        "\n  Take one of these."
    )


def test_all_faults_are_told_at_once_in_order(tmp_path: Path):
    """An author mends everything in one go."""
    places = write_exercise(
        tmp_path,
        ("exercise.md", "minutes: 20", "minutes: 0"),
        ("exercise.md", "[check]", "[tested]"),
        ("exercise.md", "# answer: total", "# reply: total"),
    )

    assert [fault.split(" ")[0] for fault in faults(places)] == [
        "exercise.md:10:",
        "exercise.md:54:",
        "exercise.md:60:",
    ]


FRONT_MATTER = [
    ("---\nfile", "file", 1, "there is no front matter"),
    (
        "title: The",
        "titel: x\n  title: The",
        6,
        r"`exercise: titel` is unknown \(known: compatible_with, constants, kind,",
    ),
    ("  page: chapters/cost-model\n", "", 5, "`exercise` lacks `page`"),
    ("myst:\n", "mist:\n", 18, r"`mist` is unknown \(known: exercise, file_format, myst, polybook\)"),
    (
        "  points: 6",
        "  points: 6\n  points: 7",
        10,
        r"the key `exercise: points` stands here again \(first in line 9\)",
    ),
    ("points: 6", "points: lots", 9, r"`exercise: points` is 'lots' \(allowed: a number from 0.1 to 1000\)"),
    ("points: 6", "points: {total: 6}", 9, "`exercise: points` is {'total': 6}"),
    ("points: 6", "points: .nan", 9, "`exercise: points` is nan"),
    ("points: 6", "points: true", 9, "`exercise: points` is True"),
    ("version: 3", "version: 1.5", 11, r"`exercise: version` is 1.5 \(allowed: a whole number, 1 or more\)"),
    ("[2]", "[3]", 12, r"`exercise: compatible_with` is \[3\], but has to list versions before 3"),
    ("solution: teacher", "solution: hidden", 13, r"`exercise: solution` is 'hidden' \(allowed: public, teacher\)"),
    (
        "call_s: 5",
        "call: 5",
        14,
        r"`exercise: limits: call` is unknown \(known: call_s, memory_mb, output_kb, processes,",
    ),
    ("call_s: 5", "call_s: 5000", 14, r"`exercise: limits: call_s` is 5000 \(allowed: a number from 0.1 to 600\)"),
    ("[4, 6, 8]", "[]", 16, r"`exercise: constants: capacity: choices` is \[\], but has to be a list"),
    ("[4, 6, 8]", "[4, 4]", 16, r"`exercise: constants: capacity: choices` is \[4, 4\]"),
    ("step: 10", "step: 0", 17, "`exercise: constants: steps` goes from 20 to 60 in steps of 0"),
    ("step: 10", "stop: 10", 17, r"`exercise: constants: steps: stop` is unknown \(known: from, step, to\)"),
    ("steps: {", "my-steps: {", 17, "`exercise: constants: my-steps` is no name that Python allows"),
    ("[pytorch, mxnet]", "[pytroch]", 4, r"`polybook: frameworks` names 'pytroch' \(known: mxnet, pytorch\)"),
    ("[pytorch, mxnet]", "pytorch", 4, "`polybook: frameworks` is 'pytorch', but has to be a list"),
    ("mxnet]", "mxnet]\n  needs: {pytorch: tpu}", 5, "`polybook: needs` is {'pytorch': 'tpu'}"),
    ("exercise:\n", "exercise: 1\nother:\n", 5, "`exercise` is 1, but has to be a mapping"),
    ("  title: The", "  title: [The", 7, "it is no valid YAML: "),
    ("capacity: 4}", "capacity: 5}", 19, r"the constant 'capacity' is 5 here \(allowed: 4, 6, 8\)"),
    ("capacity: 4}", "depth: 4}", 19, r"there is no constant 'depth' \(known: capacity, steps\)"),
]


@pytest.mark.parametrize(("old", "new", "line", "told"), FRONT_MATTER)
def test_faults_of_the_front_matter(tmp_path: Path, old: str, new: str, line: int, told: str):
    """Each is told with the line of its key and with what is allowed."""
    places = write_exercise(tmp_path, ("exercise.md", old, new))

    assert re.match(rf"exercise\.md:{line}: {told}", faults(places)[0])


TEXT = [
    (
        "# The total",
        "# A total",
        21,
        "the text begins with '# A total of a queue', but `exercise: title` is 'The total of",
    ),
    ("{{ capacity }}", "{{ size }}", 23, "there is no constant 'size'"),
    ("$t_1$", "${{ capacity }}$", 23, r"a constant stands in a formula: '\${{ capacity }}\$'"),
    ("$t_1$", "{ref}`x`", 23, "the role `{ref}` is not allowed"),
    ("cost-model.md#", "cost.modl#", 23, "the link leads to '../../chapters/cost.modl#formula', which is no page"),
    ("$t_1$", "![x](y.png)", 23, "the picture 'y.png' would not be in a notebook"),
    (
        ":::{hint}",
        ":::{solution}",
        25,
        r"the directive `solution` is not allowed \(allowed: code-cell, tab-set, tab-item, hint,",
    ),
    (":::{hint}", "- :::{hint}", 25, "the directive `hint` is indented, or in a list"),
    (":class:", ":klass:", 25, r"`hint` has the option `klass` \(known: class, name\)"),
    (":sync: mxnet", ":sync: jax", 39, r"this tab has `:sync: jax` \(known: mxnet, pytorch\)"),
    (":::{hint}", ":::{admonition}", 25, "an admonition has no title"),
    ("::::{tab-set}\n:sync-group: framework", "::::{note}", 32, "`tab-item` stands inside of note"),
    (":::\n::::\n", ":::\n", 30, "the fence `::::` is never closed"),
    ("capacity = 4", "capacity = 6", 48, "the constant 'capacity' is 6 here, and 4 elsewhere"),
    ("constant: steps", "constant: setps", 49, r"there is no constant 'setps' \(known: capacity, steps\)"),
    (
        "steps = 20 ",
        "steps = f() ",
        49,
        "the value 'f()' of a constant is no number or text".replace("(", r"\(").replace(")", r"\)"),
    ),
    (
        ":tags: [answer]\n",
        ":tags: [reply]\n",
        52,
        r"the tag 'reply' is unknown \(known: answer, check, mxnet, pytorch, hide-input,",
    ),
    (":tags: [answer]\n", "", 53, "this cell is the answer 'total', but is not tagged so"),
    (":tags: [answer]\n", ":name: x\n:tags: [answer]\n", 52, r"a code cell has the option `name` \(known: tags\)"),
    ("# answer: total\n", "", 54, "the first line of this answer is 'def total"),
    ("# answer: loop", "# answer: total", 67, r"the answer 'total' stands here again for pytorch \(first in line 54\)"),
    ("# answer: loop", "# answer: why", 81, r"the answer 'why' stands here again for pytorch \(first in line 67\)"),
    ("answer-why", "answer-7", 79, "'7' is no name of an answer"),
    ("*Write here, in place of this line.*\n", "", 81, "the answer 'why' holds nothing"),
    (
        "(total, 10",
        "(totl, 10",
        62,
        r"this check names nothing that an answer for \w+ defines \(they define: \w+, total\)",
    ),
    ("gives=20)", "gives=)", 62, "this is not Python: invalid syntax"),
    ("steps = 20", "%time\nsteps = 20", 49, "this is not Python"),
    (
        "raise NotImplementedError\n```\n\n:::{adm",
        "raise NotImplementedError\n\n:::{adm",
        72,
        "the fence ````` is never closed",
    ),
]


@pytest.mark.parametrize(("old", "new", "line", "told"), TEXT)
def test_faults_of_the_text(tmp_path: Path, old: str, new: str, line: int, told: str):
    """Each is told with its line, the same whether one framework or both have it."""
    places = write_exercise(tmp_path, ("exercise.md", old, new))

    found = faults(places)
    assert any(re.match(rf"exercise\.md:{line}: (?:{told})", fault) for fault in found), found
    assert len(set(found)) == len(found)


def test_lines_of_the_text_are_right(tmp_path: Path):
    """Of a selection of faults the lines are those that an editor shows."""
    changes = [
        ("$t_1$", "{ref}`x`"),
        ("Words about", "{{ x }}"),
        ("gives=20)", "gives=)"),
        ("steps = 20 ", "steps = f() "),
    ]
    places = write_exercise(tmp_path, *(("exercise.md", old, new) for old, new in changes))
    lines = (places.exercises / SLUG / "exercise.md").read_text().split("\n")

    shown = [lines[int(fault.split(":")[1]) - 1] for fault in faults(places)]
    assert ["{ref}" in shown[0], "{{ x }}" in shown[1], "f()" in shown[2], "gives=)" in shown[3]] == [True] * 4


def test_an_exercise_of_a_book_knows_its_pages(tmp_path: Path):
    """Where there is a book, the chapter and every page that is linked have to be there."""
    places = write_exercise(tmp_path)
    (tmp_path / "_config.yml").touch()

    assert [fault.split(" ", 1)[1] for fault in faults(places)] == [
        "`page` is 'chapters/cost-model', which is no page (chapters: ).",
        "the link leads to '../../chapters/cost-model.md#formula', which is no page of the book.",
    ]


@pytest.mark.parametrize(
    ("slug", "told"),
    [
        ("nothing", "exercise.md:1: there is no exercise 'nothing' (there are: the-total)."),
        ("../x", "'../x' is no name of an exercise"),
        ("", "'' is no name of an exercise"),
    ],
)
def test_an_exercise_that_is_not_there(tmp_path: Path, slug: str, told: str):
    """The ones that are there are named."""
    with pytest.raises(ExerciseError, match=re.escape(told)):
        load(slug, write_exercise(tmp_path))


def test_what_is_no_text_is_told(tmp_path: Path):
    """A file in another encoding is an error of the exercise, not a traceback."""
    places = write_exercise(tmp_path)
    (places.exercises / SLUG / "exercise.md").write_bytes(b"---\n\xff\xfe")

    assert faults(places) == ["exercise.md:1: it is not UTF-8 (invalid start byte)."]


# Prose


def plain(source: str, framework: str = "mxnet", site: str = "https://site/", told: list[str] | None = None) -> str:
    """Prose as a notebook has it."""
    reader = Reader(framework, {"n": 7}, "exercises/x/exercise", site)
    found: list[str] = []
    text = markdown(source, 1, reader, lambda line, what, _: found.append(f"{line}: {what}"))
    assert found == (told or [])
    return text


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (":::{tip} Look\nA\n\nB\n:::\nC", "> **Look**\n>\n> A\n>\n> B\n\nC"),
        ("```{note}\n:class: dropdown\nA `<b>`\n```", "<details>\n<summary>Note</summary>\n\nA `<b>`\n\n</details>"),
        ("::::{warning}\n:::{hint}\nA\n:::\n::::", "> **Warning**\n>\n> > **Hint**\n> >\n> > A"),
        ("(place)=\n## A\n% comment\ntext\n+++\nmore", "## A\ntext\nmore"),
        ("`{{ n }}` is {{ n }} and ``a ` {{ n }}``", "`{{ n }}` is 7 and ``a ` {{ n }}``"),
        ("```python\n{{ n }}\n% x\n```", "```python\n{{ n }}\n% x\n```"),
        ("- a\n\n      % code {{ n }}", "- a\n\n      % code 7"),
        (
            "[a](https://x.org/y) [b](#c)",
            "[a](https://x.org/y) [b](https://site/exercises/x/exercise.html?framework=mxnet#c)",
        ),
        ("[a\nb](../../chapters/y.md)", "[a\nb](https://site/chapters/y.html?framework=mxnet)"),
        ("[`a[0]`](../y/exercise.md)", "[`a[0]`](https://site/exercises/y/exercise.html?framework=mxnet)"),
        ("| a | b |\n|---|---|\n| {{ n }} | $x$ |", "| a | b |\n|---|---|\n| 7 | $x$ |"),
        ("a ```x``` b\n\nc", "a ```x``` b\n\nc"),
        ("```\na\n\n\nb\n```", "```\na\n\n\nb\n```"),
        ("a\n\n::::{tab-set}\n:::{tab-item} T\n:sync: pytorch\nb\n:::\n::::\n\nc", "a\n\nc"),
        ("a\n\n::::{tab-set}\n:::{tab-item} T\n:sync: mxnet\n\nb\n\n:::\n\n::::\n\nc", "a\n\nb\n\nc"),
    ],
)
def test_prose_becomes_plain_markdown(source: str, expected: str):
    """Boxes, labels, comments, constants and links; code stays as it is."""
    assert plain(source) == expected


def test_only_the_frameworks_own_tab_stays():
    """The other's words are gone, and no tab is left."""
    source = "".join(f":::{{tab-item}} T\n:sync: {name}\n{name} words\n:::\n" for name in ("pytorch", "mxnet"))

    assert plain(f"::::{{tab-set}}\n{source}::::\n") == "mxnet words"


def test_links_without_a_site_are_their_text():
    """Where students cannot reach a site, nothing leads there."""
    assert plain("see [the *x*](../../chapters/y.md), [z](#z), [w](https://w.org)", site="") == (
        "see the *x*, z, [w](https://w.org)"
    )


# The teacher's part


CHECKS = [
    ("def questions", "def ask", 1, r"there is no function `questions\(offering\)` in it"),
    ("return [", "return 1 or [", 1, "`questions` gave a int of nothing"),
    ("hidden = ", "hidden = 1 / 0, ", 6, "it raised ZeroDivisionError: division by zero"),
    ("from coursework", "from corsework", 2, "it raised ModuleNotFoundError"),
    ("def questions(", "def questions((", 5, "it is not Python: "),
    (
        '"The total", 3',
        '"The total", 4',
        1,
        r"the questions are worth 7 points, but `exercise: points` is 6 \(exercise.md, line 9\)",
    ),
    ('"The total", 3', '"The total", -1', 8, "the question 'total' is worth -1 points"),
    (
        'Question("total"',
        'Question("totl"',
        8,
        r"the question 'totl' asks about the answer 'totl' \(for pytorch there are: total, loop, why\)",
    ),
    ('Question("again"', 'Question("total"', 8, "two questions are called 'total'"),
    (
        'answer="total"',
        'answer="why"',
        9,
        "the question 'again' asks about the answer 'why', which a program judges, but it is text",
    ),
    (
        'WrittenQuestion("why"',
        'WrittenQuestion("loop"',
        10,
        "the question 'loop' asks about the answer 'loop', which a person marks",
    ),
]


@pytest.mark.parametrize(("old", "new", "line", "told"), CHECKS)
def test_faults_of_the_questions(tmp_path: Path, old: str, new: str, line: int, told: str):
    """Each is told with its line in checks.py."""
    places = write_exercise(tmp_path, ("teacher/checks.py", old, new))

    found = faults(places, whole=True)
    assert any(re.match(rf"teacher/checks\.py:{line}: {told}", fault) for fault in found), found


RIGHT, ONCE = "teacher/solution.py", "teacher/wrong/once.py"
SCRIPTS = [
    (RIGHT, "answer: loop", "answer: lop", "solution.py:8: there is no answer 'lop' (there are: total, loop, why)."),
    (RIGHT, "answer: loop", "answer: total", "solution.py:2: two cells are the answer 'total'."),
    (RIGHT, "# answer: loop\n", "", "solution.py:8: this cell names no answer (its first line is 'def tensors():')."),
    (RIGHT, "%% [markdown]\n# <!-- answer: why -->", "%%\n# answer: why", "py:16: the answer 'why' has to be text"),
    (ONCE, "answer: total", "answer: totl", "once.py:10: there is no answer 'totl'"),
    (ONCE, "#   points: 0", "#   point: 0", "once.py:3: `point` is unknown (known: misconception, points,"),
    (ONCE, "#   points: 0", "#   points: no", "once.py:1: the header's `points` is False"),
    (ONCE, "points: 0", "points: 5", "once.py:1: it is said to get 5 points, but the automatic questions for pytorch"),
    (
        ONCE,
        "  misconception: thinks that HIDDEN\n#     it d",
        "  # d",
        "once.py:1: the header's `misconception` is None",
    ),
    (ONCE, "# coursework:", "# coursewerk:", "once.py:2: `coursewerk` is unknown (known: coursework)."),
]


@pytest.mark.parametrize(("file", "old", "new", "told"), SCRIPTS)
def test_faults_of_solutions_and_wrong_answers(tmp_path: Path, file: str, old: str, new: str, told: str):
    """Each is told with its file and line."""
    places = write_exercise(tmp_path, (file, old, new))

    assert told in faults(places, whole=True)[0]


def test_a_missing_solution_is_told(tmp_path: Path):
    """Of the whole file, and of one answer."""
    places = write_exercise(
        tmp_path, ("teacher/solution.py", "# answer: loop\ndef tensors():\n    return 1\n\n\narrays = tensors\n", "")
    )
    path = places.exercises / SLUG / "teacher" / "solution.py"

    assert faults(places, whole=True)[0].endswith(
        "solution.py:1: there is no solution for the answer 'loop' of pytorch."
    )
    path.unlink()
    assert (
        "solution.py:1: there is no solution for pytorch (nor a solution.pytorch.py)." in faults(places, whole=True)[0]
    )


def test_the_teachers_part_can_stand_elsewhere(tmp_path: Path):
    """With `--teacher DIR` it is a folder of the same name there; one that is nowhere is told with what to do."""
    places = write_exercise(tmp_path)
    private = tmp_path / "private"
    private.mkdir()
    (places.exercises / SLUG / "teacher").rename(tmp_path / "away")
    found = load(SLUG, Places(places.exercises, teacher=private))

    with pytest.raises(
        ExerciseError, match=r"checks\.py:1: the teacher's part cannot be read .*\n  Say where it is: `--te"
    ):
        exercise.questions(found, drawing.sample(found, "mxnet"))
    (tmp_path / "away").rename(private / SLUG)
    assert [question.name for question in exercise.questions(found, drawing.sample(found, "mxnet"))] == [
        "total",
        "again",
        "why",
    ]


def test_a_private_folder_need_not_have_all_exercises(tmp_path: Path):
    """What is not there stands with the exercise; what is, comes first."""
    places = write_exercise(tmp_path)
    private = tmp_path / "private"
    private.mkdir()

    assert load(SLUG, Places(places.exercises, teacher=private)).teacher == places.exercises / SLUG / "teacher"
    (private / SLUG).mkdir()
    assert load(SLUG, Places(places.exercises, teacher=private)).teacher == private / SLUG


@pytest.mark.parametrize(
    ("folder", "told"),
    [
        ("private", r"private/the-totl: there is no exercise 'the-totl' \(there are: the-total\)"),
        ("none", "no such fold"),
    ],
)
def test_a_slip_in_a_private_folder_is_told(tmp_path: Path, folder: str, told: str):
    """Else the public part would be graded with, and nobody would know."""
    places = write_exercise(tmp_path)
    (tmp_path / "private" / "the-totl").mkdir(parents=True)
    (tmp_path / "private" / "the-totl" / "checks.py").write_text("", "utf8")

    with pytest.raises(ExerciseError, match=told):
        load(SLUG, Places(places.exercises, teacher=tmp_path / folder))


def test_names_of_questions_differ_clearly(tmp_path: Path):
    """People write them into marks.csv and overrides.csv."""
    places = write_exercise(tmp_path, ("teacher/checks.py", '"again"', '"to_tal"'))

    assert "the questions 'to_tal' and 'total' are called nearly the same" in faults(places, whole=True)[0]


def test_wrong_answers_are_the_solution_but_for_their_own(tmp_path: Path):
    """Points by framework, the misconception on one line, and the other answers from the solution."""
    script = "# ---\n# coursework: {points: 1, misconception: m}\n# ---\n# %%\n# answer: loop\n1\n"
    found = load(SLUG, write_exercise(tmp_path, more={"teacher/wrong/tensors.pytorch.py": script}))
    once, tensors = percent.wrong(found, "pytorch")

    assert (once.name, once.points, once.misconception, once.changed) == (
        *("once", 0.0, "thinks that HIDDEN it doubles"),
        ("total",),
    )
    assert once.answers["loop"] == percent.solution(found, "pytorch")["loop"]
    assert (tensors.name, tensors.answers["loop"]) == ("tensors", "# answer: loop\n1")
    assert [(wrong.name, wrong.points) for wrong in percent.wrong(found, "mxnet")] == [("once", 1.0)]


# Overlays


def overlay(tmp_path: Path, **files: str) -> Places:
    """The exercise with an overlay folder: its files by their endings."""
    folder = tmp_path / "overlay"
    folder.mkdir(exist_ok=True)
    for ending, text in files.items():
        (folder / f"{SLUG}.{ending}").write_text(text)
    return Places(write_exercise(tmp_path).exercises, overlay=folder)


def test_an_overlay_changes_settings_and_points(tmp_path: Path):
    """Keys of `exercise:` are replaced; points of one question change the sum."""
    constants = "constants: {capacity: {choices: [100]}, steps: {choices: [1]}}"
    found = load(SLUG, overlay(tmp_path, yml=f"minutes: 45\npoints: {{total: 5, why: 0.5}}\n{constants}"))
    asked = exercise.questions(found, drawing.sample(found, "mxnet"))

    assert (found.minutes, found.points, [question.points for question in asked]) == (45, 6.5, [5.0, 1, 0.5])
    assert drawing.offering(found, "mxnet", SEED).constants == {"capacity": 100, "steps": 1}
    teacher.validate(found)


def test_an_overlay_replaces_the_text(tmp_path: Path):
    """With the same answers, kept as code or text, everything else may be other."""
    cells = "".join(f"```{{code-cell}}\n:tags: [answer]\n# answer: {name}\nx = 1\n```\n" for name in ("total", "loop"))
    why = ":::{admonition} Yours\n:name: answer-why\nHere.\n:::"
    text = f"# The total of a queue\n\nOther words.\n\n{cells}\n{why}"
    found = load(SLUG, overlay(tmp_path, md=text))

    assert found.cells[0].source.endswith("Other words.")
    assert found.points == 6


ONE_ANSWER = "# The total of a queue\n```{code-cell}\n:tags: [answer]\n# answer: x\nx = 1\n```"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"yml": "minute: 4"}, "yml:1: `exercise: minute` is unknown"),
        ({"yml": "\nminutes: -4"}, "yml:2: `exercise: minutes` is -4"),
        ({"yml": "points: {total: 0}"}, "yml:1: `exercise: points` is {'total': 0}, but has to map questions"),
        ({"yml": "points: {sum: 1}"}, "gives points to 'sum', which is no question (there are: total, again, why)"),
        ({"yml": "- 1"}, "yml:1: it is no mapping of keys to values."),
        ({"yml": "constants: {steps: {choices: [1]}}"}, "yml:1: `constants` lacks 'capacity', which the text shows."),
        ({"md": ONE_ANSWER}, "md:1: the answers for pytorch are x, but the exercise's total, loop, why."),
        ({"md": "# Other\n"}, "md:1: the text begins with '# Other'"),
        ({"md": "---\nx: 1\n---\n# The total of a queue\n"}, "md:1: an overlay's text has front matter."),
    ],
)
def test_faults_of_overlays(tmp_path: Path, files: dict[str, str], told: str):
    """Each is told with the overlay's own file."""
    with pytest.raises(ExerciseError, match=re.escape(told)):
        load(SLUG, overlay(tmp_path, **files))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("the-totl.yml", r"the-totl\.yml:1: there is no exercise 'the-totl'"),
        ("the-total.yaml", r"Rename it to the-total\.yml"),
    ],
)
def test_a_slip_in_an_overlays_name_is_told(tmp_path: Path, name: str, told: str):
    """It would change nothing, without a word; a README may lie there."""
    places = overlay(tmp_path, yml="minutes: 45")
    assert places.overlay
    (places.overlay / "README.md").write_text("About ours.", "utf8")
    assert load(SLUG, places).minutes == 45
    (places.overlay / name).write_text("minutes: 50", "utf8")

    with pytest.raises(ExerciseError, match=told):
        load(SLUG, places)


def test_known_wrong_answers_speak_of_the_authors_points(tmp_path: Path):
    """An overlay's points change what questions are worth, but not what a header has to say."""
    found = load(SLUG, overlay(tmp_path, yml="points: {total: 0.5, again: 0.25}"))
    offering = drawing.sample(found, "mxnet")

    assert teacher.worth(found, offering) == {"total": 3, "again": 1, "why": 2}
    assert [question.points for question in exercise.questions(found, offering)] == [0.5, 0.25, 2]
    teacher.validate(found)


def test_a_missing_overlay_is_told(tmp_path: Path):
    """A folder that is not there is a slip, not an overlay without files."""
    places = Places(write_exercise(tmp_path).exercises, overlay=tmp_path / "nowhere")

    with pytest.raises(ExerciseError, match="there is no such overlay folder"):
        load(SLUG, places)


# The seed


def test_a_seed_is_made_once_and_is_secret(tmp_path: Path):
    """Made when asked for, readable by its owner alone, never shown by accident."""
    with pytest.raises(CourseError, match=r"offering\.toml: there is no such file.*\n  Say where the course is"):
        drawing.course(tmp_path / "course")
    made = drawing.course(tmp_path / "course", make=True, name='Autumn "26" ü')

    assert drawing.course(tmp_path / "course", make=True) == made
    assert (tmp_path / "course" / "offering.toml").stat().st_mode & 0o777 == 0o600
    assert (made.name, len(made.seed)) == ('Autumn "26" ü', 32)
    assert made.seed not in repr(made)


@pytest.mark.parametrize(
    "text", ["seed = 'short'", "sead = ''", "seed", "seed = 3", "", f"seed = '{SEED}'\nother = 1", "seed = '\udcff'"]
)
def test_a_broken_seed_is_told_and_not_replaced(tmp_path: Path, text: str):
    """What was handed out depends on it: nobody makes another, and the message does not show it."""
    path = tmp_path / "offering.toml"
    path.write_bytes(text.encode("utf8", "surrogateescape"))

    with pytest.raises(CourseError, match=r"offering\.toml: ") as caught:
        drawing.course(tmp_path, make=True)
    assert SEED not in str(caught.value)
    assert path.read_bytes() == text.encode("utf8", "surrogateescape")


def test_a_seed_that_cannot_be_read_is_told(tmp_path: Path):
    """Something else in its place is no reason for another seed."""
    (tmp_path / "offering.toml").mkdir()

    with pytest.raises(CourseError, match=r"offering\.toml: it cannot be read \(.*Is a directory"):
        drawing.course(tmp_path, make=True)


# The folders that a course remembers


@with_remembered
def places_of(root: Path, teacher: Path | None = None, overlay: Path | None = None) -> Places:
    """What a command of a course gets."""
    assert root
    return Places(Path("exercises"), teacher, overlay)


def test_a_course_remembers_its_own_folders(tmp_path: Path):
    """Said once, relative to the course; what a command is told counts for it; what stood in the file stays."""
    course = tmp_path / "here" / "course"
    seed = drawing.course(course, make=True).seed
    ours, other = tmp_path / "ours", tmp_path / "other"
    ours.mkdir()
    other.mkdir()

    told = drawing.remember(course, {"overlay": ours, "teacher": None})
    again = drawing.remember(course, {"overlay": ours, "teacher": None})
    (tmp_path / "here").rename(tmp_path / "there")
    (tmp_path / "there").rename(tmp_path / "here")

    text = (course / "offering.toml").read_text("utf8")
    assert (len(told), again, text.splitlines()[-1], text[:2]) == (1, [], 'overlay = "../../ours"', "# ")
    assert (course / "offering.toml").stat().st_mode & 0o777 == 0o600
    assert drawing.course(course).seed == seed
    assert places_of(root=course, teacher=None, overlay=None) == Places(Path("exercises"), None, ours)
    assert places_of(root=course, teacher=None, overlay=other).overlay == other
    drawing.remember(course, {"overlay": other, "teacher": ours})
    assert places_of(root=course, teacher=None, overlay=None) == Places(Path("exercises"), ours, other)


def test_a_remembered_folder_that_is_gone_is_told(tmp_path: Path):
    """Grading by the original points instead would be wrong without a word."""
    drawing.course(tmp_path, make=True)
    (tmp_path / "ours").mkdir()
    drawing.remember(tmp_path, {"overlay": tmp_path / "ours"})
    (tmp_path / "ours").rmdir()

    with pytest.raises(CourseError, match=r"offering\.toml: `overlay` is 'ours', and there is no such folder"):
        places_of(root=tmp_path, teacher=None, overlay=None)


def test_no_course_remembers_nothing(tmp_path: Path):
    """Before the first `assign` there is no file, and none is made."""
    assert drawing.remember(tmp_path, {"overlay": tmp_path}) == []
    assert places_of(root=tmp_path, teacher=None, overlay=None) == Places(Path("exercises"))
    assert list(tmp_path.iterdir()) == []


def test_constants_depend_on_the_seed_alone(tmp_path: Path):
    """The same for both frameworks and each time; another seed gives others; all values come up."""
    found = load(SLUG, write_exercise(tmp_path))
    offerings = [drawing.offering(found, "mxnet", f"{number:032x}").constants for number in range(60)]

    assert drawing.offering(found, "pytorch", f"{7:032x}").constants == offerings[7]
    assert {one["capacity"] for one in offerings} == {4, 6, 8}
    assert {one["steps"] for one in offerings} == {20, 30, 40, 50, 60}
    assert drawing.sample(found, "mxnet").constants == {"capacity": 4, "steps": 20}


# New exercises, and what they document


def test_a_new_exercise_is_valid(tmp_path: Path):
    """Everything about it can be loaded at once; there is one of each part."""
    places = Places(tmp_path / "exercises", teacher=tmp_path / "private")
    paths = new("a-new-one", places, title="Who's: first?")
    found = load("a-new-one", places)

    assert [path.relative_to(tmp_path).as_posix() for path in paths] == [
        "exercises/a-new-one/exercise.md",
        "private/a-new-one/checks.py",
        "private/a-new-one/solution.py",
        "private/a-new-one/wrong/one-too-many.py",
        "private/a-new-one/rubric.md",
    ]
    assert found.title == "Who's: first?"
    asked = exercise.questions(found, drawing.sample(found, "mxnet"))
    assert [isinstance(question, Question) for question in asked] == [True, False]


def test_a_new_exercise_asks_what_its_hint_says(tmp_path: Path):
    """An n below the constant is asked for: who always waits at least once is told so."""
    places = Places(tmp_path / "exercises")
    new("a-new-one", places)
    found = load("a-new-one", places)
    question = exercise.questions(found, drawing.sample(found, "mxnet"))[0]

    class Student:
        """Right from the constant on."""

        def call(self, _function: str, n: int) -> int:
            """Answer."""
            return max(1, n // found.constants["every"])

    assert isinstance(question, Question)
    assert question.ask(Student()).outcome == "failed"


def test_a_new_exercise_says_where_its_secrets_are(tmp_path: Path):
    """With the exercise, they are as public as it is; apart, there is nothing to say."""
    assert "is as public as it is" in about_public("a-new-one", Places(tmp_path))
    assert about_public("a-new-one", Places(tmp_path, teacher=tmp_path)) == ""


def test_a_new_exercise_replaces_nothing(tmp_path: Path):
    """Neither an exercise nor what lies in its place is touched, and a name has to be one."""
    places = write_exercise(tmp_path)

    with pytest.raises(ExerciseError, match="it is there already"):
        new(SLUG, places)
    with pytest.raises(ExerciseError, match="is no name of an exercise"):
        new("../x", places)


def test_the_schema_is_documented():
    """Every key and every tag stands in the exercises' README."""
    text = (REPOSITORY / "exercises" / "README.md").read_text("utf8")

    assert [word for word in (*REQUIRED, *OPTIONAL, *TAGS, "call_s", "memory_mb") if f"`{word}`" not in text] == []


def test_every_exercise_of_the_course_is_valid():
    """What is in the repository can be loaded, teacher's part included."""
    places = Places(REPOSITORY / "exercises")
    found: list[Exercise] = []
    for slug in exercise.slugs(places):
        found.append(load(slug, places))
        teacher.validate(found[-1])

    assert found


def test_the_list_of_exercises_says_what_they_say():
    """Kind, points, minutes, chapter and whether there is a solution: as the front matter has them."""
    text = (REPOSITORY / "exercises" / "index.md").read_text("utf8")
    places = Places(REPOSITORY / "exercises")
    listed = re.findall(r"\{doc\}`Read it <([\w-]+)/exercise>` · (.*)", text)

    expected = {}
    for slug in exercise.slugs(places):
        one = load(slug, places)
        worth = f"{one.kind} · {one.points:g} points · about {one.minutes} minutes"
        solution = " · with a solution" if one.solution == "public" else ""
        expected[slug] = f"{worth} · belongs to {{doc}}`../{one.page}`{solution}"
    assert dict(listed) == expected


def test_loading_needs_no_framework_and_no_sphinx():
    """An instructor's machine has neither."""
    code = (
        "import sys, coursework.assign, coursework.new\nfrom coursework.exercise import Places, load, slugs\n"
        f"from pathlib import Path\nplaces = Places(Path({str(REPOSITORY / 'exercises')!r}))\n"
        "[load(slug, places) for slug in slugs(places)]\nprint(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) & {"numpy", "torch", "mxnet", "sphinx", "docutils", "polybook", "myst_nb"} == set()


def test_errors_are_of_one_tree():
    """Whoever calls coursework catches one class."""
    assert issubclass(ExerciseError, CourseworkError)
    assert issubclass(CourseError, CourseworkError)


# A solution that readers see

SHOWN = "\n::::{admonition} Solution\n:class: dropdown solution\n\n```{literalinclude} teacher/solution.py\n```\n::::\n"


def test_a_public_solution_is_in_no_notebook(tmp_path: Path):
    """The box with the solution is the page's alone: no cell of an exercise has it."""
    places = write_exercise(tmp_path, ("exercise.md", "solution: teacher", "solution: public"))
    path = places.exercises / SLUG / "exercise.md"
    path.write_text(path.read_text("utf8") + SHOWN, "utf8")
    found = load(SLUG, places)

    assert found.solution == "public"
    assert [cell for cell in found.cells if "literalinclude" in cell.source] == []


def test_a_page_shows_a_solution_if_and_only_if_it_is_public(tmp_path: Path):
    """A solution that the front matter keeps back is refused in the text, and one that it promises is asked for."""
    places = write_exercise(tmp_path)
    path = places.exercises / SLUG / "exercise.md"
    text = path.read_text("utf8")
    path.write_text(text + SHOWN, "utf8")
    with pytest.raises(ExerciseError, match="this box shows the solution, which readers must not see"):
        load(SLUG, places)
    path.write_text(text.replace("solution: teacher", "solution: public"), "utf8")

    with pytest.raises(ExerciseError, match="'public', but the page does not show it"):
        load(SLUG, places)
