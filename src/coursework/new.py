"""Begin an exercise: a folder that is valid, runs in the book and can be assigned, for its author to change."""

from __future__ import annotations

import re
from pathlib import Path

from coursework.errors import ExerciseError
from coursework.exercise import Exercise, Places, load
from coursework.teacher import validate

#: What to tell whoever makes an exercise without a folder for teachers' parts.
PUBLIC = (
    "Its teacher's part, with the solution, lies beside it and is as public as it is. To keep that part to yourself, "
    "move it to a folder of your own, such as {to}, and give `--teacher {folder}`."
)
_SLUG = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")

_EXERCISE = """\
---
file_format: mystnb
polybook:
  frameworks: [pytorch, mxnet]
exercise:
  title: {title}
  page: {page}
  kind: code
  points: 4
  minutes: 20
  version: 1
  solution: teacher
  constants:
    every: {{choices: [3, 5, 8]}}
myst:
  substitutions: {{every: 3}}
---
# {title}

Say here what to do, and what counts as done. A loop of $n$ operations waits after every {{{{ every }}}} of them: how
often is that?

:::{{hint}}
:class: dropdown
What if $n$ is no multiple of it?
:::

```{{code-cell}}
from asynclab import exercises

every = 3  # constant: every
```

```{{code-cell}}
:tags: [answer]
# answer: number_of_waits
def number_of_waits(n: int) -> int:
    \"\"\"Give the number of waits of a loop of n operations.\"\"\"
    raise NotImplementedError
```

```{{code-cell}}
:tags: [check]
exercises.check(number_of_waits, 2 * every, gives=2)
```

Say in a sentence or two why the loop should not wait more often.

:::{{admonition}} Your answer
:name: answer-why
*Write here, in place of this line.*
:::
"""

_CHECKS = '''\
"""The questions. Runs outside of the student's process, which it only talks to; nothing here is handed out."""

from pathlib import Path

from coursework import Offering, Question, Student, Verdict, WrittenQuestion, agree, failed, passed


def questions(offering: Offering) -> list[Question | WrittenQuestion]:
    """Give the questions of an offering."""
    every = offering.constants["every"]

    def number_of_waits(student: Student) -> Verdict:
        numbers = offering.draw("number_of_waits")
        for n in (numbers.randrange(1, every), *(numbers.randrange(every, 1000) for _ in range(5))):
            got = student.call("number_of_waits", n)
            if not agree(got, n // every):
                told = f"number_of_waits({n}) gave {got!r}, expected {n // every}"
                sign = "one too many" if got == n // every + 1 else ""
                return failed("A number of waits is not right.", private=told, sign=sign)
        return passed()

    rubric = Path(__file__).with_name("rubric.md").read_text("utf8")
    return [
        Question("number_of_waits", "The number of waits", 3, number_of_waits, hint="Try an n below the constant."),
        WrittenQuestion("why", "Why not more often", 1, rubric),
    ]
'''

_SOLUTION = """\
# %%
# answer: number_of_waits
def number_of_waits(n: int) -> int:
    return n // every


# %% [markdown]
# <!-- answer: why -->
# Each wait leaves the backend without work until the frontend has issued more.
"""

_WRONG = """\
# ---
# coursework:
#   points: 0
#   misconception: thinks that a wait begins the loop as well
# ---

# %%
# answer: number_of_waits
def number_of_waits(n: int) -> int:
    return n // every + 1
"""

_RUBRIC = """\
1 point: names what stands idle while the frontend waits, or what cannot overlap any more.
"""


def new(slug: str, places: Places, *, title: str = "", page: str = "") -> list[Path]:
    """Write a new exercise with a small example of each of its parts.

    Args:
        slug: Its name.
        places: Where exercises are.
        title: Its name for readers; made of the slug if empty.
        page: The chapter it belongs to.

    Returns:
        The files.

    Raises:
        ExerciseError: If the name cannot be one, or there is such an exercise.
    """
    if not _SLUG.fullmatch(slug):
        raise ExerciseError(
            f"{slug!r} is no name of an exercise (allowed: small letters, digits, and `-` between).\n"
            "  Take for example `bound-the-queue`."
        )
    folder = places.exercises / slug
    teacher = places.teacher / slug if places.teacher else folder / "teacher"
    for path in (folder, teacher):
        if path.exists():
            raise ExerciseError(f"{path}: it is there already.\n  Take another name, or remove it.")
    title = " ".join(title.split()) or slug.replace("-", " ").capitalize()
    text = _EXERCISE.format(title=title, page=page or _some_page(places))
    files = {
        folder / "exercise.md": text.replace(f"title: {title}\n", f"title: {_quoted(title)}\n", 1),
        teacher / "checks.py": _CHECKS,
        teacher / "solution.py": _SOLUTION,
        teacher / "wrong" / "one-too-many.py": _WRONG,
        teacher / "rubric.md": _RUBRIC,
    }
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf8")
    validate(_loaded(slug, places))
    return list(files)


def about_public(slug: str, places: Places) -> str:
    """Say where a new exercise's teacher's part is, if others can read it there; empty if it is kept apart."""
    return "" if places.teacher else PUBLIC.format(to=f"../private/{slug}", folder="../private")


def _loaded(slug: str, places: Places) -> Exercise:
    # An overlay is for another course's exercises.
    return load(slug, Places(places.exercises, places.teacher))


def _some_page(places: Places) -> str:
    """Name a chapter that is there, for the author to correct."""
    found = sorted((places.exercises.resolve().parent / "chapters").glob("*.md"))
    return f"chapters/{found[0].stem}" if found else "chapters/the-chapter"


def _quoted(title: str) -> str:
    """Quote what YAML would take for something else."""
    plain = re.fullmatch(r"[A-Za-z][\w ,()'-]*", title) and title.lower() not in ("yes", "no", "true", "false", "null")
    return title if plain else "'" + title.replace("'", "''") + "'"
