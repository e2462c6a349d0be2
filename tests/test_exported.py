"""Notebooks of a small book: what of each kind of content they hold, and when their files are written."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from books import Book, cell, copy_minibook, page_text

SETTINGS = "    polybook_notebooks: {first_cell: first.py, package: lab, check: lab.check, launch: [colab]}\n"
PROJECT = """[project]
name = "book"
version = "0.2.0"
requires-python = ">=3.11"
license = "MIT"
license-files = ["LICENSE"]
"""
FIRST = 'set_up("$framework", "$title", "$needs", "$wheel", "$mirror", "$version")\n'
#: Records a value and makes a claim, as asynclab does.
LAB = """from IPython.display import display


def record(name, text):
    data = {"application/papermill.record/text/plain": text}
    glue = {"name": name, "mime_prefix": "application/papermill.record/"}
    fact = {"kind": "value", "name": name, "text": text}
    display(data, metadata={"scrapbook": glue, "polybook": fact}, raw=True)


def claim(name, holds):
    data = {"application/papermill.record/text/plain": name}
    display(data, metadata={"polybook": {"kind": "claim", "name": name, "holds": holds}}, raw=True)
"""
CLAIM = """::::{claim} alpha.fast
Alpha took {value}`speed`.

:::{otherwise}
Alpha took too long: {value}`speed`.
:::
::::

"""
RICH = r"""## Text with *marks* and `code|x`

Five \$ or six_seven\*eight &lt;b> and \[brackets\]; see {ref}`the other page <other>` and
[a heading](#a-table). The formula $a_1 |x|$, and

$$
a = b
$$ (eq-one)

as in {eq}`eq-one`.

```{note}
A **note**.
```

```{admonition} A box
With a list:

* one
* two
```

(a-table)=
## A table

| a | b |
|---|---|
| `x\|y` | $z$ |

```{image} dot.png
:alt: A dot [red]
```

```python
shown_only = 1
```

:::{dropdown} More
Hidden *text*.
:::

::::{tab-set}
:::{tab-item} Left
Leftmost.
:::
::::

Alpha is {value}`alpha.speed` fast.

"""
CELLS = (
    cell("from lab import claim, record\nbase = 1"),
    cell("record('speed', '3 ms')\nclaim('fast', True)", "alpha"),
    cell("beta_only = base", "beta"),
    cell("removed = 2", "alpha", "remove-cell"),
    cell("print(removed)", "alpha"),
    cell("raise RuntimeError('never')", "skip-execution"),
    cell("1 / 0", "raises-exception"),
)


VARIABLES = ("POLYBOOK_SITE", "POLYBOOK_REPOSITORY", "POLYBOOK_OUTPUTS")


@pytest.fixture(autouse=True)
def unpublished(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable says where the book is published."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, environments: dict[str, Path]) -> Book:
    """A book of a page that holds everything and of another one, built once; for looking at."""
    pages = {"page": page_text(*CELLS, RICH, CLAIM), "other": "(other)=\n# The Other Page\n\nText.\n"}
    book = copy_minibook(tmp_path_factory.mktemp("exported") / "book", environments, pages)
    config = book.root / "_config.yml"
    config.write_text(config.read_text("utf8") + SETTINGS, "utf8")
    for name, text in {"pyproject.toml": PROJECT, "LICENSE": "Free.\n", "first.py": FIRST}.items():
        (book.root / name).write_text(text, "utf8")
    (book.root / "lab" / "__init__.py").write_text(LAB, "utf8")
    (book.root / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.MonkeyPatch.context() as patch:
        for name in VARIABLES:
            patch.delenv(name, raising=False)
        made = book.build("-W", "--keep-going")
    assert made.status == 0, made.output
    return book


@pytest.fixture
def book(built: Book, tmp_path: Path) -> Iterator[Book]:
    """The same for changing; put back afterwards, for Sphinx reads every page of a book that has moved."""
    aside = tmp_path / "aside"
    shutil.copytree(built.root, aside, symlinks=True)
    yield built
    shutil.rmtree(built.root)
    shutil.copytree(aside, built.root, symlinks=True)


def exported(book: Book, framework: str = "alpha", folder: str = "html") -> dict[str, Any]:
    """A notebook of the built book."""
    path = book.root / "_build" / folder / "notebooks" / framework / "page.ipynb"
    made: dict[str, Any] = nbformat.read(path, as_version=4)
    nbformat.validate(made)
    return made


def sources(made: dict[str, Any], kind: str) -> list[str]:
    """The sources of the cells of one kind."""
    return [cell["source"] for cell in made["cells"] if cell["cell_type"] == kind]


def files(book: Book) -> dict[str, tuple[int, bytes]]:
    """Everything that is exported: when it was written, and its content."""
    site = book.root / "_build" / "html"
    found = [path for name in ("notebooks", "wheels") for path in (site / name).rglob("*") if path.is_file()]
    return {path.relative_to(site).as_posix(): (path.stat().st_mtime_ns, path.read_bytes()) for path in found}


def test_a_notebook_holds_its_frameworks_cells_and_all_prose(built: Book):
    """Hidden cells too, since later ones need them; what is never run is shown; each kind of content reads well."""
    made = exported(built)

    wheel = "../../wheels/lab-0.2.0-py3-none-any.whl"
    code = sources(made, "code")
    assert code[0] == f'set_up("alpha", "Alpha", "", "{wheel}", "", "0.2.0")'
    assert code[1:] == [
        "from lab import claim, record\nbase = 1",
        "record('speed', '3 ms')\nclaim('fast', True)",
        "removed = 2",
        "print(removed)",
        "1 / 0",
        'lab.check("fast", site_holds=True, site={"speed": "3 ms"})',
    ]
    raising = next(cell for cell in made["cells"] if cell["source"] == "1 / 0")
    assert raising["metadata"]["tags"] == ["raises-exception"]
    text = "\n".join(sources(made, "markdown"))
    for expected in (
        "```python\nraise RuntimeError('never')\n```",
        "## Text with *marks* and `code|x`",
        r"Five \$ or six\_seven\*eight &lt;b> and \[brackets\]",
        "[the other page](../../other.html?framework=alpha#other)",
        "[a heading](../../page.html?framework=alpha#a-table)",
        "The formula $a_1 |x|$, and",
        "$$\na = b \\tag{1}\n$$",
        "> **Note**\n>\n> A **note**.",
        "> **A box**\n>\n> With a list:\n>\n> * one\n> * two",
        r"`x\|y`",
        r"![A dot \[red\]](../../_images/dot.png)",
        "```python\nshown_only = 1\n```",
        "<details>\n<summary>More</summary>\n\nHidden *text*.\n\n</details>",
        "**Left**\n\nLeftmost.",
        "Alpha is 3 ms (on the site) fast.",
        "**It holds on the site.** Alpha took 3 ms.",
        "**Where it does not hold:** Alpha took too long: `speed`.",
    ):
        assert expected in text, expected
    assert "beta_only" not in text + "".join(code)
    assert not [word for word in ("{value}", "{claim}", ":::", "Set-up") if word in text]


def test_the_other_framework_has_its_own(built: Book):
    """Its cells and the untagged ones; of the first one's claim the text alone, since its figures are not there."""
    code = sources(exported(built, "beta"), "code")

    assert code[1:] == ["from lab import claim, record\nbase = 1", "beta_only = base", "1 / 0"]


def test_a_claim_that_does_not_hold_is_read_the_other_way(book: Book):
    """The explanation has the site's figures, the claim's own text the names of the reader's."""
    book.replace("page", "claim('fast', True)", "claim('fast', False)")
    assert book.build().status == 0
    made = exported(book)
    text = "\n".join(sources(made, "markdown"))

    assert "**It does not hold on the site.** Alpha took too long: 3 ms." in text
    assert "**Where it holds:** Alpha took `speed`." in text
    assert sources(made, "code")[-1] == 'lab.check("fast", site_holds=False, site={"speed": "3 ms"})'


def test_files_change_only_when_they_have_to(book: Book):
    """Built again nothing is written; an edit leaves other cells' names alone; what was deleted comes back."""
    before, names = files(book), {cell["source"]: cell["id"] for cell in exported(book)["cells"]}
    assert book.build().status == 0
    assert files(book) == before

    (book.root / "_build/html/notebooks/beta/page.ipynb").unlink()
    assert book.build().status == 0
    assert {name: content for name, (_, content) in files(book).items()} == {
        name: content for name, (_, content) in before.items()
    }

    book.replace("page", "Leftmost.", "Rightmost.")
    assert book.build().status == 0
    after = {cell["source"]: cell["id"] for cell in exported(book)["cells"]}
    kept = set(names) & set(after)
    assert len(kept) >= len(names) - 1
    assert {names[source] for source in kept} == {after[source] for source in kept}


def test_files_do_not_depend_on_hashes(book: Book, monkeypatch: pytest.MonkeyPatch):
    """The order of sets differs from process to process, and shows in no file."""
    contents = []
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        shutil.rmtree(book.root / "_build")
        assert book.build().status == 0
        contents.append({name: content for name, (_, content) in files(book).items()})

    assert len(contents[0]) > 2
    assert contents[0] == contents[1]


def test_settings_and_template_reach_files_that_are_there(book: Book, monkeypatch: pytest.MonkeyPatch):
    """A change of either writes notebooks anew, though no page has changed."""
    (book.root / "first.py").write_text("other($framework)\n", "utf8")
    assert book.build().status == 0
    assert sources(exported(book), "code")[0] == "other(alpha)"

    monkeypatch.setenv("POLYBOOK_SITE", "https://some.example/book")
    monkeypatch.setenv("POLYBOOK_REPOSITORY", "https://github.com/some/course")
    assert book.build().status == 0
    text = "\n".join(sources(exported(book), "markdown"))
    assert "[the other page](https://some.example/book/other.html?framework=alpha#other)" in text
    assert "colab.research.google.com/github/some/course/blob/notebooks/notebooks/beta/page.ipynb" in str(
        book.html("page")
    )


def test_outputs_are_kept_on_request(book: Book, monkeypatch: pytest.MonkeyPatch):
    """What a reader of the page sees, and nothing of what is recorded for its prose; without it there is none."""
    assert [cell for cell in exported(book)["cells"] if cell.get("outputs")] == []

    monkeypatch.setenv("POLYBOOK_OUTPUTS", "1")
    assert book.build().status == 0
    outputs = {cell["source"]: cell["outputs"] for cell in exported(book)["cells"] if cell.get("outputs")}
    assert set(outputs) == {"print(removed)", "1 / 0"}
    assert outputs["print(removed)"][0]["text"] == "2\n"


def test_a_notebook_goes_with_its_page(book: Book):
    """What is left of a page that is gone would be offered for ever."""
    book.keep_only({"other": page_text(cell("x = 1"), title="Other")})
    assert book.build().status == 0
    found = [path for path in files(book) if path.endswith(".ipynb")]

    assert sorted(found) == ["notebooks/alpha/other.ipynb", "notebooks/beta/other.ipynb"]


def test_notebooks_alone_are_those_of_the_site(book: Book):
    """The builder of that name writes the same files, what they show and install, and no page."""
    made = book.build("-W", "--builder", "custom", "--custom-builder", "notebooks")
    assert made.status == 0, made.output
    root = book.root / "_build" / "notebooks"

    assert [path for path in root.rglob("*.html")] == []
    assert (root / "_images/dot.png").is_file()
    for name, (_, content) in files(book).items():
        assert (root / name).read_bytes() == content


def test_an_archive_is_whole_and_always_the_same(book: Book):
    """Notebook, picture and wheel, linked to each other; the page that is on the site only is named, not linked."""
    path = book.root / "_build/html/notebooks/alpha.zip"
    first = path.read_bytes()
    path.unlink()
    assert book.build().status == 0
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        made = nbformat.reads(archive.read("notebooks-alpha/page.ipynb").decode(), as_version=4)

    assert path.read_bytes() == first
    assert names == [
        f"notebooks-alpha/{name}"
        for name in ("README.txt", "figures/dot.png", "page.ipynb", "wheels/lab-0.2.0-py3-none-any.whl")
    ]
    text = "\n".join(sources(made, "markdown"))
    assert r"![A dot \[red\]](figures/dot.png)" in text
    assert "see the other page and a heading. The formula" in text
    assert '"wheels/lab-0.2.0-py3-none-any.whl"' in sources(made, "code")[0]


def test_a_book_that_asks_for_none_gets_none(make_book: Callable[..., Book]):
    """No notebook, no wheel, no button."""
    book = make_book(page=page_text(cell("x = 1")))
    assert book.build().status == 0

    assert files(book) == {}
    assert book.html("page").select(".polybook-notebooks") == []


def test_a_setting_that_is_gone_takes_its_files_along(book: Book):
    """Nothing would keep them up to date; what somebody else has put there stays, and what is asked for again comes."""
    before = set(files(book))
    config, mine = book.root / "_config.yml", book.root / "_build/html/notebooks/mine.txt"
    mine.write_text("Mine.\n", "utf8")
    text = config.read_text("utf8")
    config.write_text(text.replace(SETTINGS, ""), "utf8")
    assert book.build().status == 0
    assert list(files(book)) == ["notebooks/mine.txt"]

    config.write_text(text, "utf8")
    assert book.build().status == 0
    assert set(files(book)) == before | {"notebooks/mine.txt"}


@pytest.mark.parametrize("builder", ["latex", "epub"])
def test_other_builders_know_no_buttons(book: Book, builder: str):
    """A printed book offers nothing to open."""
    made = book.build("--builder", "custom", "--custom-builder", builder)
    assert made.status == 0, made.output
    written = [path for path in (book.root / "_build" / builder).rglob("*") if path.suffix in (".tex", ".xhtml")]

    assert written
    assert [path for path in written if "All as zip" in path.read_text("utf8")] == []
