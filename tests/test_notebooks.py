"""Notebooks of a page that makes it hard: claims wherever they can stand, exercises with cells, what it leaves out."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import nbformat
import pytest
import yaml
from books import BIN, Book, cell, copy_minibook, fabricate, page_text, run
from test_exported import FIRST, LAB, PROJECT, SETTINGS

from polybook.run import Run

RECORDS = (
    cell("from lab import claim, record"),
    cell("record('speed', '3 ms')\nclaim('fast', True)\nclaim('slow', False)\nclaim('beside', None)", "alpha"),
    cell("record('speed', '7 ms')\nclaim('fast', False)", "beta"),
)
CLAIMS = """::::{claim} fast
Both may say this: {value}`speed`.

:::{otherwise}
Both may say the other: {value}`speed`.
:::
::::

:::::{claim} alpha.slow
Outer text {value}`speed`, and {ref}`a label <far>`.

::::{otherwise}
Outer explanation {value}`speed`, Beta needed {value}`beta.speed`.

:::{claim} alpha.fast
Inner text {value}`speed`.

```{otherwise}
Inner explanation.
```
:::
::::
:::::

* An item.

  :::{claim} alpha.fast
  In a list.

  ```{otherwise}
  Not in a list.
  ```
  :::

* Another item.

::::{admonition} A box
:::{claim} alpha.fast
In a box.

```{otherwise}
Not in a box.
```
:::
::::

::::{dropdown} What the numbers say
:::{claim} beta.fast
Beta is fast.

```{otherwise}
Beta is not, {value}`speed`.
```
:::
::::

:::{tab-set}
:sync-group: framework

```{tab-item} Beta
:sync: beta

Words for Beta.
```
:::

"""
EXERCISES = """```{exercise-start} A *gated* one
:label: gated
```

Begin with this.

```{code-cell}
:tags: [alpha]
given = 1
```

Then go on.

```{exercise-end}
```

````{exercise}
:label: plain-exercise

Say why.

:::{claim} alpha.fast
In an exercise.

```{otherwise}
Not in an exercise.
```
:::
````

```{solution-start} gated
```

Spoiler.

```{code-cell}
:tags: [alpha]
spoiler = given
```

```{solution-end}
```

```{only} html
Only on the site.
```

```{only} latex
Only in print.
```

See {ref}`gated`.

"""
FAR = "(far)=\n## Far\n\nThe end.\n"
UNTRIED = "::::{claim} alpha.beside\nIt took {value}`stream`.\n\n:::{otherwise}\nNothing to try.\n:::\n::::\n"
PAGE = page_text(*RECORDS, CLAIMS, EXERCISES, FAR, "\n", UNTRIED)
VARIABLES = ("POLYBOOK_SITE", "POLYBOOK_REPOSITORY", "POLYBOOK_OUTPUTS")


def exporting(root: Path, environments: Mapping[str, Path], page: str) -> Book:
    """Make a book of one page that exports notebooks and has exercises."""
    book = copy_minibook(root, environments, {"page": page})
    config = book.root / "_config.yml"
    text = config.read_text("utf8").replace("[polybook]", "[polybook, sphinx_exercise]")
    config.write_text(text + SETTINGS, "utf8")
    for name, content in {"pyproject.toml": PROJECT, "LICENSE": "Free.\n", "first.py": FIRST}.items():
        (book.root / name).write_text(content, "utf8")
    (book.root / "lab" / "__init__.py").write_text(LAB, "utf8")
    return book


@pytest.fixture(autouse=True)
def unpublished(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable says where the book is published."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def hard(tmp_path_factory: pytest.TempPathFactory, environments: dict[str, Path]) -> Book:
    """The hard page, built once with warnings as errors; for looking at."""
    book = exporting(tmp_path_factory.mktemp("hard") / "book", environments, PAGE)
    with pytest.MonkeyPatch.context() as patch:
        for name in VARIABLES:
            patch.delenv(name, raising=False)
        built = book.build("-W", "--keep-going")
    assert built.status == 0, built.output
    return book


def cells(book: Book, framework: str = "alpha", folder: str = "html") -> list[tuple[str, str]]:
    """A notebook's cells below its first one, as kind and source."""
    path = book.root / "_build" / folder / "notebooks" / framework / "page.ipynb"
    made = nbformat.read(path, as_version=4)
    return [(cell["cell_type"], cell["source"]) for cell in made["cells"][1:]]


def text_of(book: Book, framework: str = "alpha") -> str:
    """All prose of a notebook."""
    return "\n\n".join(source for kind, source in cells(book, framework) if kind == "markdown")


def test_every_claim_has_both_texts_and_its_check(hard: Book):
    """In running text, in each other, in a list, a box, a dropdown and an exercise."""
    found = cells(hard)

    # After the title, the link, and two cells.
    assert found[3:] == [
        (
            "markdown",
            "**It holds on the site.** Both may say this: 3 ms.\n\n"
            "**Where it does not hold:** Both may say the other: `speed`.",
        ),
        ("code", 'lab.check("fast", site_holds=True, site={"speed": "3 ms"})'),
        (
            "markdown",
            "**It does not hold on the site.** Outer explanation 3 ms, Beta needed 7 ms.\n\n"
            "**It holds on the site.** Inner text 3 ms.\n\n**Where it does not hold:** Inner explanation.",
        ),
        ("code", 'lab.check("fast", site_holds=True)'),
        (
            "markdown",
            "**Where it holds:** Outer text `speed`, and [a label](../../page.html?framework=alpha#far).",
        ),
        ("code", 'lab.check("slow", site_holds=False, site={"speed": "3 ms"})'),
        (
            "markdown",
            "* An item.\n\n  **It holds on the site.** In a list.\n\n"
            "  **Where it does not hold:** Not in a list.\n* Another item.",
        ),
        ("code", 'lab.check("fast", site_holds=True)'),
        (
            "markdown",
            "> **A box**\n>\n> **It holds on the site.** In a box.\n>\n> **Where it does not hold:** Not in a box.",
        ),
        ("code", 'lab.check("fast", site_holds=True)'),
        (
            "markdown",
            "<details>\n<summary>What the numbers say</summary>\n\n"
            "**It does not hold on the site.** Beta is not, 7 ms.\n\n"
            "**Where it holds:** Beta is fast.\n\n</details>\n\n"
            "**Exercise 1 (A gated one)**\n\nBegin with this.",
        ),
        ("code", "given = 1"),
        ("markdown", "Then go on."),
        ("code", "# Your answer"),
        (
            "markdown",
            "**Exercise 2**\n\nSay why.\n\n**It holds on the site.** In an exercise.\n\n"
            "**Where it does not hold:** Not in an exercise.",
        ),
        ("code", 'lab.check("fast", site_holds=True)'),
        ("code", "# Your answer"),
        ("markdown", "Only on the site.\n\nSee [Exercise 1](../../page.html?framework=alpha#gated)."),
        (
            "markdown",
            "## Far\n\nThe end.\n\n**It was not tried on the site.** Nothing to try.\n\n"
            "**Where it holds:** It took `stream`.",
        ),
        ("code", 'lab.check("beside", site_holds=None, site={"stream": "none"})'),
    ]


def test_a_claim_of_another_framework_is_prose_only(hard: Book):
    """Its figures are not measured here, and its values go by their framework's name."""
    text = text_of(hard, "beta")
    checks = [source for kind, source in cells(hard, "beta") if "check" in source]

    assert "**Where it holds:** Outer text `alpha.speed`" in text
    assert "**It holds on the site.** In a list." in text
    assert "Words for Beta." in text
    assert checks == ['lab.check("fast", site_holds=False, site={"speed": "7 ms"})'] * 2


def test_a_solution_is_left_out_with_its_cells(hard: Book):
    """Nobody who opens the notebook has read it then; the page shows it."""
    made = "".join(source for _, source in cells(hard))

    assert [word for word in ("Spoiler", "spoiler", "Only in print") if word in made] == []
    assert "Spoiler" in hard.article("page").get_text()


def copied(hard: Book, root: Path) -> Book:
    """The hard book with its runs, not built."""
    shutil.copytree(hard.root, root, symlinks=True, ignore=shutil.ignore_patterns("_build"))
    return Book(root)


def exported(site: Path) -> dict[str, bytes]:
    """What is exported of the page."""
    found = [path for path in (site / "notebooks").rglob("page.ipynb")]
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in found}


def test_notebooks_alone_are_those_of_the_site(hard: Book, tmp_path: Path):
    """The builder of that name takes what is meant for HTML only, too, and reads no page again."""
    book = copied(hard, tmp_path / "book")

    built = book.build("-W", "--builder", "custom", "--custom-builder", "notebooks")

    assert (built.status, built.cells_run) == (0, 0), built.output
    expected = exported(hard.root / "_build" / "html")
    assert len(expected) == 2
    assert exported(book.root / "_build" / "notebooks") == expected


def test_two_processes_give_the_same_notebooks(hard: Book, tmp_path: Path):
    """What they have read is put together before notebooks are written."""
    book = copied(hard, tmp_path / "book")
    config = yaml.safe_load((book.root / "_config.yml").read_text("utf8"))["sphinx"]["config"]
    # Sphinx reads fewer pages in one process, and so it does where an extension may not be split up.
    pages = {name: f"# {name}\n\nText.\n" for name in "abcdef"} | {"page": page_text(*RECORDS, CLAIMS, FAR)}
    settings = config | {
        "extensions": ["polybook"], "exclude_patterns": [".venv*", "_build"], "root_doc": "index",
        "myst_enable_extensions": ["colon_fence"],
    }  # fmt: skip
    (book.root / "conf.py").write_text("".join(f"{name} = {value!r}\n" for name, value in settings.items()), "utf8")
    book.keep_only({**pages, "index": "# Index\n\n```{toctree}\n" + "\n".join(pages) + "\n```\n"})
    (book.root / "_config.yml").unlink()

    outs = [book.root / "_build" / jobs for jobs in ("1", "2")]
    built = [
        run(
            str(BIN / "python"), "-m", "sphinx", "-j", out.name, "-W", "-d", f"{out}-read", ".", str(out),
            cwd=book.root,
        )
        for out in outs
    ]  # fmt: skip

    assert [once.status for once in built] == [0, 0], built
    assert ["a .. " in once.output for once in built] == [False, True], "pages were not read in parallel"
    assert len(exported(outs[0])) == 2
    assert exported(outs[0]) == exported(outs[1])


def test_the_page_is_the_same_without_notebooks(hard: Book, tmp_path: Path):
    """Resolving references once more for each notebook changes nothing on it but the links to them."""
    book = copied(hard, tmp_path / "book")
    config = book.root / "_config.yml"
    config.write_text(config.read_text("utf8").replace(SETTINGS, ""), "utf8")

    built = book.build("-W", "--keep-going")

    assert (built.status, built.cells_run) == (0, 0), built.output
    pages = [hard.html("page"), book.html("page")]
    for page in pages:
        for links in page.select(".polybook-notebooks"):
            links.decompose()
    looks = [re.sub(r"sd-tab-(item|set)-\d+|\s+", " ", str(page)) for page in pages]
    assert looks[0] == looks[1]


def test_only_the_first_run_has_its_say(hard: Book, tmp_path: Path):
    """A recorded run that comes before this build's gives the figures, without a cell being run again."""
    book = copied(hard, tmp_path / "book")
    book.replace("page", "polybook:\n", "polybook:\n  needs: {alpha: gpu}\n")
    assert book.build().status == 0
    before = text_of(book)

    def faster(made: Run) -> Run:
        return dataclasses.replace(made, cells=json.loads(json.dumps(made.cells).replace("3 ms", "1 ms")))

    fabricate(book, "alpha", "", change=faster)
    built = book.build("-W", "--keep-going")

    assert (built.status, built.cells_run) == (0, 0), built.output
    after = text_of(book)
    assert "Both may say this: 3 ms." in before
    assert "Both may say this: 1 ms." in after
    assert [word for word in ("3 ms", "this build") if word in after] == []
    assert "recorded" in after.split("The site's figures:")[1].splitlines()[0]
    path = book.root / "_build" / "html" / "notebooks" / "alpha" / "page.ipynb"
    assert nbformat.read(path, as_version=4)["metadata"]["accelerator"] == "GPU"


def test_a_reference_that_leads_nowhere_is_told_once(hard: Book, tmp_path: Path):
    """Also one in the text of a claim that is not shown: it is in the notebooks, and may be on the page next time."""
    book = copied(hard, tmp_path / "book")
    hidden = "::::{claim} alpha.fast\nShown.\n\n:::{otherwise}\n{ref}`gone-hidden`\n:::\n::::\n"
    book.replace("page", "The end.\n", f"The end, {{ref}}`gone-shown`.\n\n{hidden}")

    built = book.build()

    assert built.status == 0
    assert [built.output.count(f"undefined label: '{name}'") for name in ("gone-shown", "gone-hidden")] == [1, 1]
    assert "2 warnings" in built.output


def test_the_last_notebook_goes_with_its_page(hard: Book, tmp_path: Path):
    """A book whose only page of frameworks has gone offers nothing any more."""
    book = copied(hard, tmp_path / "book")
    assert book.build().status == 0
    book.keep_only({"plain": "# Plain\n\nText.\n"})

    assert book.build().status == 0

    folder = book.root / "_build" / "html" / "notebooks"
    assert [path for path in folder.rglob("*") if path.is_file()] == []
