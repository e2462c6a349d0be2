"""Make the instructor's edition of an exercise: its page with the solution in place of the stubs.

The book runs that page like any other, so its checks and plots are those of the solution. Written into a folder that
is not kept in the repository and never published.
"""

from __future__ import annotations

import re
from pathlib import Path

from coursework import percent
from coursework.exercise import Exercise
from coursework.files import write_whole
from coursework.source import FRAMEWORKS

_TARGET = re.compile(r"^(?:\([\w-]+\)=|:name: .*)\n", re.MULTILINE)
_WRITTEN = re.compile(r"^<!-- answer: [\w-]+ -->\n")


def solution_page(exercise: Exercise) -> str:
    """Give an exercise's page with its solution, in MyST.

    Args:
        exercise: The exercise.

    Raises:
        ExerciseError: If there is no solution, or it does not suit the exercise.
    """
    solutions = {name: percent.solution(exercise, name) for name in exercise.frameworks}
    parts = [_front_matter(exercise)]
    for number, cell in enumerate(exercise.cells):
        if not cell.answer:
            prose = cell.kind != "code"
            parts.append(_prose(cell.source, first=number == 0) if prose else _code(cell.source, cell.tags))
            continue
        of = [name for name in exercise.frameworks if cell.is_for(name)]
        texts = {name: solutions[name][cell.answer] for name in of}
        if cell.kind != "code":
            parts.append(_WRITTEN.sub("", texts[of[0]]))
        elif len(set(texts.values())) == 1:
            parts.append(_code(texts[of[0]], cell.tags))
        else:
            own = [tag for tag in cell.tags if tag not in FRAMEWORKS]
            parts += [_code(text, (name, *own)) for name, text in texts.items()]
    parts.append(_rubric(exercise))
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def write_solution_pages(exercises: list[Exercise], out: Path) -> list[Path]:
    """Write the instructor's pages of exercises, and remove those of exercises that are gone.

    Args:
        exercises: Which.
        out: The folder, ``solutions/exercises`` in the book's.

    Returns:
        The pages, in order.
    """
    out.mkdir(parents=True, exist_ok=True)
    paths = [out / f"{exercise.slug}.md" for exercise in exercises]
    for path in set(out.glob("*.md")) - set(paths):
        path.unlink()
    for path, exercise in zip(paths, exercises, strict=True):
        text = solution_page(exercise)
        # A page with the same bytes is not read again.
        if not path.is_file() or path.read_text("utf8") != text:
            write_whole(path, text)
    return paths


def _front_matter(exercise: Exercise) -> str:
    import yaml

    matter = {key: value for key, value in exercise.source.matter.items() if key != "exercise"}
    return f"---\n{yaml.safe_dump(matter, sort_keys=False)}---"


def _prose(text: str, *, first: bool) -> str:
    """Take targets out, which the exercise's own page has; links to pages lead as far up from here as from there."""
    text = _TARGET.sub("", text).lstrip("\n")
    return text.replace("# ", "# Solution: ", 1) if first else text


def _code(source: str, tags: tuple[str, ...]) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", source)), default=0))
    options = f":tags: [{', '.join(tags)}]\n\n" if tags else ""
    return f"{fence}{{code-cell}}\n{options}{source}\n{fence}"


def _rubric(exercise: Exercise) -> str:
    path = exercise.teacher / "rubric.md"
    if not path.is_file():
        return ""
    return f"## How to Mark\n\n{re.sub('^#', '##', path.read_text('utf8'), flags=re.MULTILINE)}"
