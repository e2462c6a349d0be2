"""A small exercise with every part that the format knows, for tests to write, change and break."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from coursework.exercise import Places

SEED = "00112233445566778899aabbccddee0c"

EXERCISE = '''\
---
file_format: mystnb
polybook:
  frameworks: [pytorch, mxnet]
exercise:
  title: The total of a queue
  page: chapters/cost-model
  kind: code
  points: 6
  minutes: 20
  version: 3
  compatible_with: [2]
  solution: teacher
  limits: {call_s: 5}
  constants:
    capacity: {choices: [4, 6, 8]}
    steps: {from: 20, to: 60, step: 10}
myst:
  substitutions: {capacity: 4}
---
# The total of a queue

A queue of {{ capacity }} operations, see [the *cost* `model`](../../chapters/cost-model.md#formula), $t_1$.

:::{hint}
:class: dropdown
Code such as `{{ x }}` stays.
:::

::::{tab-set}
:sync-group: framework

:::{tab-item} PyTorch
:sync: pytorch

Words about tensors.
:::

:::{tab-item} MXNet
:sync: mxnet

Words about arrays.
:::
::::

```{code-cell}
from asynclab import exercises
capacity = 4  # constant: capacity
steps = 20  # constant: steps
```

```{code-cell}
:tags: [answer]
# answer: total
def total(n: int) -> int:
    """Give the total."""
    raise NotImplementedError
```

```{code-cell}
:tags: [check]
exercises.check(total, 10, gives=20)
```

```{code-cell}
:tags: [answer, pytorch]
# answer: loop
def tensors():
    raise NotImplementedError
```

```{code-cell}
:tags: [answer, mxnet]
# answer: loop
def arrays():
    raise NotImplementedError
```

:::{admonition} Your answer
:name: answer-why
*Write here, in place of this line.*
:::
'''

CHECKS = '''\
"""HIDDEN docstring."""
from coursework import Offering, Question, WrittenQuestion, passed


def questions(offering: Offering):
    hidden = offering.draw("HIDDEN draw").randrange(100)
    return [
        Question("total", "The total", 3, lambda student: passed(str(hidden)), hint="HIDDEN hint"),
        Question("again", "The total again", 1, lambda student: passed(), answer="total"),
        WrittenQuestion("why", "Why", 2, "HIDDEN rubric"),
    ]
'''

SOLUTION = """\
# %%
# answer: total
def total(n: int) -> int:
    return 2 * n  # HIDDEN solution


# %%
# answer: loop
def tensors():
    return 1


arrays = tensors

# %% [markdown]
# <!-- answer: why -->
# HIDDEN because.
"""

WRONG = """\
# ---
# coursework:
#   points: 0
#   points_mxnet: 1
#   misconception: thinks that HIDDEN
#     it doubles
# ---

# %%
# answer: total
def total(n):
    return n
"""

FILES = {
    "exercise.md": EXERCISE,
    "teacher/checks.py": CHECKS,
    "teacher/solution.py": SOLUTION,
    "teacher/wrong/once.py": WRONG,
}


def write_exercise(
    root: Path, *changes: tuple[str, str, str], slug: str = "the-total", more: Mapping[str, str] | None = None
) -> Places:
    """Write the exercise below a folder.

    Args:
        root: The folder.
        changes: For each a file, a text in it, and what to put in place of its first occurrence.
        slug: The exercise's name.
        more: Further files.
    """
    files = {**FILES, **(more or {})}
    for name, old, new in changes:
        assert old in files[name], old
        files[name] = files[name].replace(old, new, 1)
    for name, text in files.items():
        path = root / "exercises" / slug / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf8")
    return Places(root / "exercises")
