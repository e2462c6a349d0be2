"""Change an exercise's text or points without a fork: ``<slug>.yml`` and ``<slug>.md`` in an overlay folder.

The first holds keys of ``exercise:``, the second replaces the text. Questions, and so the answers' names, stay.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from coursework.drawing import sample
from coursework.errors import ExerciseError
from coursework.exercise import Exercise, Places, slugs
from coursework.matter import settings
from coursework.source import Faults, Source, read, read_text, read_yaml
from coursework.teacher import questions, total
from coursework.wording import check_text

_ENDINGS = (".yml", ".md")


def overlaid(exercise: Exercise, folder: Path) -> Exercise:
    """Give an exercise as an overlay folder changes it; itself if that has no file for it.

    Args:
        exercise: The exercise, checked.
        folder: The overlay folder.

    Raises:
        ExerciseError: If the folder is missing, or with everything that is wrong with its files.
    """
    if not folder.is_dir():
        raise ExerciseError(f"{folder}: there is no such overlay folder.\n  Make it, or correct `--overlay`.")
    _check_names(folder, slugs(Places(exercise.path.parents[1])))
    changed = _with_settings(exercise, folder / f"{exercise.slug}.yml")
    changed = _with_text(changed, folder / f"{exercise.slug}.md")
    if not changed.settings.weights:
        return changed
    # Only the questions themselves know what the others are worth.
    points = total(questions(changed, sample(changed, changed.frameworks[0])))
    return replace(changed, settings=replace(changed.settings, points=points))


def _check_names(folder: Path, known: list[str]) -> None:
    """See that each file is about an exercise: one that is not would change nothing, without a word."""
    for path in sorted(folder.iterdir()):
        if path.suffix == ".yaml":
            raise ExerciseError(f"{path}:1: an overlay's settings end in .yml.\n  Rename it to {path.stem}.yml.")
        if path.suffix in _ENDINGS and path.stem not in known and path.stem.casefold() != "readme":
            raise ExerciseError(
                f"{path}:1: there is no exercise {path.stem!r} (there are: {', '.join(known)}).\n"
                "  Rename the file, or take it away."
            )


def _with_settings(exercise: Exercise, path: Path) -> Exercise:
    if not path.is_file():
        return exercise
    faults = Faults(path)
    changes, lines = read_yaml(read_text(path), path)
    below = Source(path, {}, {("exercise", *keys): line for keys, line in lines.items()}, ())
    weights = changes.get("points") if isinstance(changes.get("points"), dict) else None
    own: dict[str, Any] = {key: value for key, value in changes.items() if key != "points" or weights is None}
    before = exercise.source.matter
    matter = {**before, "exercise": {**before["exercise"], **own}}
    found = settings(matter, faults, below.line_of, weights)
    faults.settle()
    changed = replace(exercise, settings=found, own_constants="constants" in changes)
    if "constants" in changes:
        _check_constants(changed, faults)
    faults.settle()
    return changed


def _check_constants(exercise: Exercise, faults: Faults) -> None:
    missing = sorted(set(exercise.constants) - set(exercise.settings.constants))
    if missing:
        faults.add(1, f"`constants` lacks {missing[0]!r}, which the text shows.", "Give its values as well.")


def _with_text(exercise: Exercise, path: Path) -> Exercise:
    if not path.is_file():
        return exercise
    faults = Faults(path)
    source = read(path, faults, text_only=True)
    if source.matter:
        faults.add(1, "an overlay's text has front matter.", f"Move it to {exercise.slug}.yml, without `exercise:`.")
    faults.settle()
    # Its front matter is still the exercise's own.
    merged = Source(path, exercise.source.matter, {}, source.cells)
    changed = check_text(replace(exercise, cells=source.cells, source=merged), faults)
    for framework in exercise.frameworks:
        before, after = exercise.answers(framework), changed.answers(framework)
        kinds = {name: cell.kind for name, cell in after.items()}
        if kinds != {name: cell.kind for name, cell in before.items()}:
            what = (
                f"the answers for {framework} are {', '.join(after) or 'none'}, but the exercise's {', '.join(before)}"
            )
            faults.add(1, f"{what}.", "Keep the same answers, code or written as they are.")
    faults.settle()
    return changed
