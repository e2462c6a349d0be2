"""A page's grammar: every fault is found at its line before a kernel starts, and nothing else is called one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from books import cell, front_matter, myst_page, notebook, options, prose, tagged
from nbformat import NotebookNode

from polybook.errors import Failure, PageFailed
from polybook.page import cell_tags, check_page, declares_frameworks, page_settings

BOTH = front_matter("polybook:", "  frameworks: [pytorch, mxnet]")  # six lines and an empty one
FAIR = cell("a = 1", "pytorch") + cell("b = 1", "mxnet")


def faults(text: str, **values: object) -> list[Failure]:
    """What is wrong with a page; nothing if it is fine."""
    try:
        myst_page(text, **values)
    except PageFailed as failed:
        return list(failed.failures)
    return []


def lines_of(text: str, pattern: str) -> list[int]:
    """The 1-based lines of a text that hold a pattern."""
    return [number for number, line in enumerate(text.split("\n"), start=1) if pattern in line]


# What a good page gives


def test_settings_are_read():
    """Frameworks keep the order of the front matter; needs and timeout come along."""
    page = myst_page(
        front_matter("polybook:", "  frameworks: [mxnet, pytorch]", "  needs: {pytorch: gpu}", "  timeout: 1.5") + FAIR
    )

    assert (page.frameworks, page.needs, page.timeout_s) == (("mxnet", "pytorch"), {"pytorch": "gpu"}, 1.5)
    assert (page.docname, page.path) == ("page", "page.md")


@pytest.mark.parametrize(
    "matter",
    [
        "---\nfile_format: mystnb\npolybook: {frameworks: [pytorch, mxnet]}\n---\n",
        "---\n{file_format: mystnb, polybook: {frameworks: [pytorch, mxnet]}}\n---\n",
        '---\nfile_format: mystnb\n"polybook":\n  "frameworks":\n  - pytorch\n  - mxnet\n---\n',
        "---  \nfile_format: mystnb\npolybook:\n    frameworks: [pytorch, mxnet]\n...\n",
        "----\nfile_format: mystnb\npolybook:\n  frameworks: [pytorch, mxnet]\n----\n",
        "---\r\nfile_format: mystnb\r\npolybook:\r\n  frameworks: [pytorch, mxnet]\r\n---\r\n",
    ],
    ids=["flow", "all flow", "quoted", "dots", "four dashes", "carriage returns"],
)
def test_front_matter_may_be_written_in_any_way(matter: str):
    """Whatever MyST takes for front matter, we take too."""
    assert declares_frameworks(matter)
    assert myst_page(matter + FAIR).frameworks == ("pytorch", "mxnet")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# polybook:\n",
        "---\nfile_format: mystnb\n---\n\npolybook:\n",
        "---\n# polybook: x\nfile_format: mystnb\n---\n",
        "---\n- polybook\n---\n",
        "---\nother: {polybook: 1}\n---\n",
        "---\npolybook: {frameworks: [pytorch]}\n",
        "\n---\npolybook: {frameworks: [pytorch]}\n---\n",
        "---\nnot: [valid\n---\n",
    ],
)
def test_page_without_the_key_is_not_ours(text: str):
    """Only a `polybook` key at the top of the front matter makes a page ours."""
    assert page_settings(text) is None
    assert not declares_frameworks(text)


def test_cells_know_the_lines_of_their_code():
    """A cell's line is that of its first line of code: below fence, options and blank lines."""
    text = (
        f"{BOTH}# Title\n\n```{{code-cell}}\na = 1\n```\n\n"
        "```{code-cell} ipython3\n:tags: [pytorch]\n\nb = 1\nc = 2\n```\n\n"
        "```{code-cell}\n---\ntags: [mxnet]\nmystnb:\n  image: {alt: x}\n---\nd = 1\n```\n\nProse.\n"
    )

    page = myst_page(text)

    code = {cell.source.strip().split("\n")[0]: page.lines[i] for i, cell in enumerate(page.notebook.cells)}
    assert code == {line: lines_of(text, line)[0] for line in ("# Title", "a = 1", "b = 1", "d = 1", "Prose.")}


def test_equal_cells_have_lines_of_their_own():
    """The same code in two cells is told apart by its place."""
    text = BOTH + FAIR + cell("c = 1") * 2

    assert list(myst_page(text).lines[-2:]) == lines_of(text, "c = 1")


@pytest.mark.parametrize("code", ["", "\n", "if a:\n\tb = 'ä€😀'", "%%time\nb = 1", "# only a comment"])
def test_odd_cells_are_fine(code: str):
    """Empty cells, tabs, magics and any script of the world are no faults."""
    text = f"{BOTH}{FAIR}{cell(code, 'pytorch')}"

    page = myst_page(text)

    assert page.notebook.cells[-1].source.strip() == code.strip()
    assert page.lines[-1] - lines_of(text, "```{code-cell}")[-1] == (2 if code.strip() else 0)


def test_page_with_carriage_returns():
    """Lines that end as on Windows count as lines."""
    text = f"{BOTH}{FAIR}{cell('c = 1', 'pytroch')}"

    assert [fault.line for fault in faults(text.replace("\n", "\r\n"))] == lines_of(text, "```{code-cell}")[2:]


def test_untagged_cells_serve_every_framework():
    """A page without a tag is fine: every framework runs every cell."""
    assert faults(BOTH + cell("a = 1")) == []


def test_known_tags_are_fine():
    """Tags of MyST-NB, of the theme and of the book's own list are allowed, frameworks among them."""
    text = BOTH + FAIR + cell("c = 1", "pytorch", "mxnet", "hide-input", "margin", "mine")

    assert faults(text, polybook_tags=["mine"]) == []
    assert [fault.what.split(" is")[0] for fault in faults(text)] == ["tag 'mine'"]


def test_one_tag_may_stand_for_a_list():
    """A single tag that is not in a list, as a notebook's metadata may hold it, is one tag."""
    made = tagged("a = 1")

    for written, meant in (("pytorch", ["pytorch"]), (["a", "b"], ["a", "b"]), (None, []), ([], []), ([1], ["1"])):
        made.metadata["tags"] = written
        assert cell_tags(made) == meant


# Faults of the front matter


@pytest.mark.parametrize(
    ("settings", "line", "what"),
    [
        (["polybook:"], 3, "`polybook: frameworks` is None"),
        (["polybook: []"], 3, "`polybook` is [], but has to be a mapping (known keys: frameworks, needs, timeout)"),
        (["polybook: pytorch"], 3, "`polybook` is 'pytorch', but has to be a mapping"),
        (["polybook:", "  timeout: 5"], 3, "`polybook: frameworks` is None"),
        (["polybook:", "  frameworks: pytorch"], 4, "is 'pytorch', but has to be a list"),
        (["polybook:", "  frameworks: []"], 4, "is [], but has to be a list"),
        (["polybook:", "  frameworks: [pytorch, pytorch]"], 4, "has to be a list of different frameworks"),
        (["polybook:", "  frameworks: [[pytorch]]"], 4, "has to be a list of different frameworks"),
        (["polybook:", "  frameworks: [{pytorch: gpu}]"], 4, "has to be a list of different frameworks"),
        (["polybook:", "  timeout: 9", "  frameworks: [pytorch, pytroch]"], 5, "framework 'pytroch' is unknown"),
        (["polybook: {frameworks: [pytorch, pytroch]}"], 3, "framework 'pytroch' is unknown"),
        (["polybook:", "  frameworks: [pytorch]", "  frameworkz: 1"], 5, "unknown front-matter key"),
        (["polybook:", "  frameworks: [pytorch]", "  1: 1"], 5, "unknown front-matter key `polybook: 1`"),
        (["polybook:", "  frameworks: [pytorch]", "  needs: gpu"], 5, "`polybook: needs` is 'gpu'"),
        (["polybook:", "  frameworks: [pytorch]", "  needs:"], 5, "`polybook: needs` is None"),
        (["polybook:", "  frameworks: [pytorch]", "  needs: {mxnet: gpu}"], 5, "has to map the page's frameworks"),
        (["polybook:", "  frameworks: [pytorch]", "  needs: {pytorch: tpu}"], 5, "to cpu or gpu"),
        (["polybook:", "  frameworks: [pytorch]", "  needs: {pytorch: [gpu]}"], 5, "to cpu or gpu"),
        (["polybook:", "  frameworks: [pytorch]", "  timeout: soon"], 5, "`polybook: timeout` is 'soon'"),
        (["polybook:", "  frameworks: [pytorch]", "  timeout: 0"], 5, "has to be a positive number"),
        (["polybook:", "  frameworks: [pytorch]", "  timeout: -1"], 5, "has to be a positive number"),
        (["polybook:", "  frameworks: [pytorch]", "  timeout: true"], 5, "has to be a positive number"),
        (["polybook:", "  frameworks: [pytorch]", "  timeout: .inf"], 5, "has to be a positive number"),
        (["polybook:", "  frameworks: [pytorch]", "  timeout: .nan"], 5, "has to be a positive number"),
        (["o: {x: 1}", "p:", "  timeout: 1", "polybook:", "  frameworks: [mxnet]", "  timeout: x"], 8, "is 'x'"),
    ],
)
def test_wrong_setting_is_told_at_its_line(settings: list[str], line: int, what: str):
    """A wrong setting gives one fault, at the line of its key and with what is allowed."""
    found = faults(front_matter(*settings) + cell("a = 1"))

    assert [(fault.path, fault.line) for fault in found] == [("page.md", line)]
    assert what in found[0].what
    assert found[0].remedy


def test_unknown_framework_names_the_known_ones():
    """The message is the one that STYLE.md gives as its example."""
    (fault,) = faults(front_matter("polybook:", "  frameworks: [pytroch]") + cell("a = 1"))

    assert str(fault) == (
        "page.md:4: framework 'pytroch' is unknown (known: mxnet, pytorch).\n"
        "Correct the name, or add the framework to `polybook_frameworks` in _config.yml."
    )


@pytest.mark.parametrize(
    ("broken", "line"), [("  frameworks: [pytorch", 5), ("\tframeworks: [pytorch]", 4), ("  x: 'y", 5)]
)
def test_front_matter_that_is_no_yaml_is_a_fault(broken: str, line: int):
    """Broken front matter that names polybook stops the build: MyST-Parser would publish the page without cells."""
    (fault,) = faults(front_matter("polybook:", broken) + FAIR)

    assert (fault.line, fault.what.split(":")[0]) == (line, "the front matter is not valid YAML")


def test_page_that_is_no_notebook():
    """Settings without `file_format: mystnb` would run nothing, and are a fault."""
    (fault,) = faults("---\npolybook: {frameworks: [pytorch]}\n---\n\n" + cell("a = 1"))

    assert (fault.line, fault.remedy) == (1, "Add `file_format: mystnb` to its front matter.")


# Faults of cells


def test_unknown_tag_is_told_at_its_cell():
    """A tag that nobody knows is a fault at the line of the cell's fence."""
    text = BOTH + "# Title\n\n" + FAIR + cell("c = 1", "pytorch", "pytroch")

    (fault,) = faults(text)

    assert fault.line == lines_of(text, "```{code-cell}")[-1]
    assert fault.what == "tag 'pytroch' is unknown (known: mxnet, pytorch, and the tags of MyST-NB and the theme)."


def test_tag_of_an_undeclared_framework():
    """A framework that the book knows and the page does not declare is told apart from an unknown tag."""
    text = front_matter("polybook:", "  frameworks: [pytorch]") + FAIR

    (fault,) = faults(text)

    assert (fault.line, fault.framework) == (lines_of(text, "```{code-cell}")[1], "mxnet")
    assert "a framework that this page does not declare" in fault.what


@pytest.mark.parametrize("cells", ["", "# Only prose\n", cell("a = 1", "pytorch"), cell("a = 1", "pytorch") * 2])
def test_framework_without_a_cell(cells: str):
    """A framework that is declared and has no cell is a fault, on a page of other cells and on an empty one."""
    found = faults(BOTH + cells)

    assert [(fault.line, fault.framework) for fault in found][-1] == (4, "mxnet")
    assert len(found) == (1 if "pytorch" in cells else 2)


@pytest.mark.parametrize(
    "options_text",
    [":tags: pytorch", ":tags: pytorch, mxnet", ":tags: 5", ":tags: [pytorch", ":tags: [mxnet, mxnet]", ":load: no.py"],
)
def test_cell_that_cannot_be_read(options_text: str):
    """Options that MyST-NB cannot read are a fault at their cell, not a traceback."""
    text = f"{BOTH}{FAIR}```{{code-cell}}\n{options_text}\nc = 1\n```\n\n{cell('d = 1')}"

    (fault,) = faults(text)

    assert fault.line == lines_of(text, "```{code-cell}")[2]
    assert fault.what.startswith("MyST-NB cannot read this cell: ")


def test_prose_that_cannot_be_read():
    """Unreadable metadata of prose is told too, if without a line of its own."""
    (fault,) = faults(BOTH + FAIR + '+++ {"tags": 5}\n\nProse.\n')

    assert fault.what.startswith("MyST-NB cannot read ")


@pytest.mark.parametrize("character", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_character_at_which_a_line_would_be_cut(character: str):
    """A character that MyST-NB takes for a line's end shifts all prose below it, and is a fault at its line."""
    text = f"{BOTH}One{character}two.\n\n{FAIR}"

    (fault,) = faults(text)

    assert (fault.line, repr(character) in fault.what) == (7, True)


NESTED = {
    "directive": "```{note}\n```{code-cell}\nx\n```\n```\n",
    "longer directive": "````{note}\n```{code-cell}\nx\n```\n````\n",
    "colon directive": ":::{note}\n```{code-cell}\nx\n```\n:::\n",
    "tab": "::::{tab-set}\n\n:::{tab-item} A\n```{code-cell}\nx\n```\n:::\n::::\n",
    "colon cell": ":::{code-cell}\nx\n:::\n",
    "tilde in a directive": "~~~{note}\n```{code-cell}\nx\n```\n~~~\n",
    "list": "- item\n\n  ```{code-cell}\n  x\n  ```\n",
    "list, same line": "- ```{code-cell}\n  x\n  ```\n",
    "numbered list": "1. ```{code-cell}\n   x\n   ```\n",
    "list in a list": "- - ```{code-cell}\n    x\n    ```\n",
    "blockquote": "> ```{code-cell}\n> x\n> ```\n",
    "quote in a list": "- > ```{code-cell}\n  > x\n  > ```\n",
    "raw cell": ":::{note}\n```{raw-cell}\nx\n```\n:::\n",
    "after an example": "````md\n```{code-cell}\n```\n````\n\n> ```{code-cell}\n> x\n> ```\n",
    "after a comment": "<!-- a -->\n\n> ```{code-cell}\n> x\n> ```\n",
}


@pytest.mark.parametrize("nested", NESTED.values(), ids=NESTED)
def test_nested_cell_would_be_dropped(nested: str):
    """A cell that is not at top level, or not fenced with backticks, is a fault at its line."""
    text = BOTH + FAIR + nested

    (fault,) = faults(text)

    last = [*lines_of(text, "{code-cell}"), *lines_of(text, "{raw-cell}")][-1]
    assert (fault.line, fault.what.split(":")[0]) == (last, "this code cell would be dropped")


def test_space_before_the_name_of_a_cell():
    """MyST-NB takes no cell with a space after its backticks, so that is a fault."""
    text = BOTH + FAIR + "```  {code-cell}\nx\n```\n"

    assert [fault.line for fault in faults(text)] == [lines_of(text, "{code-cell}")[-1]]


EXAMPLES = {
    "longer fence": "````md\n```{code-cell}\nx\n```\n````\n",
    "tilde fence": "~~~\n```{code-cell}\nx\n```\n~~~\n",
    "other marks": "~~~\n```\n```{code-cell}\nx\n```\n~~~\n",
    "code-block": "````{code-block} md\n:caption: c\n```{code-cell}\nx\n```\n````\n",
    "colon code-block": ":::{code-block} md\n```{code-cell}\nx\n```\n:::\n",
    "in a directive": "`````{note}\n````md\n```{code-cell}\nx\n```\n````\n`````\n",
    "inline": "Write ```{code-cell}``` so.\n\n```{code-cell}```\n",
    "in a cell": "````{code-cell}\n:tags: [mxnet]\ns = '''\n```{code-cell}\n```\n'''\n````\n",
    "myst comment": "% ```{code-cell}\n% x\n% ```\n",
    "html comment": "<!--\n```{code-cell}\nx\n```\n-->\n",
    "no cell": "```{code-cells}\nx\n```\n\n```python\nx\n```\n",
}


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_cell_in_a_literal_block_is_an_example(example: str):
    """What is only shown, or commented out, is no cell and no fault."""
    assert faults(BOTH + FAIR + example + cell("z = 1")) == []


def test_all_faults_of_a_page_are_told():
    """Every fault is reported, not the first one only."""
    text = front_matter("polybook:", "  frameworks: [pytorch, mxnet, jax]", "  timeout: x", "  nedes: 1")
    text += cell("a = 1", "pytroch") + "- ```{code-cell}\n  x\n  ```\n\n" + cell("b = 1", "hide-inputs", "mxnet")

    found = faults(text)

    first, nested, last = lines_of(text, "{code-cell}")
    assert sorted(fault.line for fault in found) == sorted([4, 5, 6, 4, first, nested, last])
    assert "pytorch" in {fault.framework for fault in found}


def test_notebook_without_a_source_map():
    """A notebook that tells no lines is checked all the same; its cells are at line 0."""
    text = BOTH + "x\n"
    made = notebook([tagged("a = 1", "pytorch"), tagged("b = 1", "mxnet"), prose("c")])

    page = check_page("page", "page.md", text, made, options())

    assert page.lines[:2] == (0, 0)


def test_reader_is_asked_once_for_a_good_page(monkeypatch: pytest.MonkeyPatch):
    """Looking for the cell to blame is left to pages that cannot be read."""
    import myst_nb.core.read

    original: Callable[..., NotebookNode] = myst_nb.core.read.read_myst_markdown_notebook
    asked: list[str] = []
    monkeypatch.setattr(
        myst_nb.core.read,
        "read_myst_markdown_notebook",
        lambda text, *rest, **named: asked.append(text) or original(text, *rest, **named),
    )

    myst_page(BOTH + FAIR)

    assert len(asked) == 1
