"""From a page's tree to the Markdown of a notebook: each construct in, what every front end renders alike out."""

from __future__ import annotations

import base64
import io
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import nbformat
import pytest
from books import options
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from polybook.marks import code_span, escaped, fence_for, quoted
from polybook.notebook_options import NotebookOptions
from polybook.notebooks import Subject, check_call, make_notebook
from polybook.onepage import Check, one_page
from polybook.quotes import READING_KEY, ClaimNode, OtherwiseNode, QuotedValue, Reading
from polybook.shown import ShownVariant
from polybook.told_once import ToldOnce

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SITE = "polybook-site:/"
OTHER = f"{SITE}other.html?framework=mxnet"
FRAMEWORKS = {name: {"title": name, "environment": f".venv-{name}"} for name in ("pytorch", "mxnet")}

#: By the name of the page: what stands on it, and what is to be in the notebook.
TEXT = {
    "dollar": ("It costs \\$5 or \\$6.", r"It costs \$5 or \$6."),
    "underscore": ("one_two_three and _so_", r"one\_two\_three and *so*"),
    "asterisk": (r"2 \* 3 \* 4", r"2 \* 3 \* 4"),
    "backslash": (r"back\\slash", r"back\\slash"),
    "less": ("&lt;tag&gt; and a < b", "&lt;tag> and a &lt; b"),
    "entity": ("&amp;copy; and R&D", "&amp;copy; and R&D"),
    "brackets": (r"\[x\](y)", r"\[x\](y)"),
    "tilde": (r"~5 ms, \~~not struck\~~", r"\~5 ms, \~\~not struck\~\~"),
    "heading-sign": ("\\# no heading\n\n\\#hash", "\\# no heading\n\n#hash"),
    "number-sign": ("1\\. no list\n\n2\\) none\n\n3.5 is one", "1\\. no list\n\n2\\) none\n\n3.5 is one"),
    "plus": ("\\+ no list", r"\+ no list"),
    "minus": ("\\- no list\n\n-5 is a number", "\\- no list\n\n-5 is a number"),
    "quotation-sign": ("\\> no quotation", r"\> no quotation"),
    "break": ("one\\\n\\# two", "one<br /># two"),
    "code": ("`a_b*c$d<e`, `` x`y `` and `` `z` ``", "`a_b*c$d<e`, ``x`y`` and `` `z` ``"),
    "emphasis": ("*a `b`*(*c*), **d *e* f**", "*a `b`*(*c*), **d *e* f**"),
    "raised": ("H{sub}`2`O, x{sup}`3`", "H<sub>2</sub>O, x<sup>3</sup>"),
    "roles": (
        "{kbd}`Ctrl`, {guilabel}`Open`, {abbr}`API (an interface)`, {given}`50 ms`, {bdg}`new`",
        "`Ctrl`, Open, API (an interface), 50 ms, new",
    ),
    "raw": ('Some <b>raw</b> words.\n\n<div class="x">raw</div>', 'Some <b>raw</b> words.\n\n<div class="x">raw</div>'),
    "substitution": ("{{ word }} stands.", "*substituted* stands."),
    "comment": ("% nobody sees this\n\nBut this.", "But this."),
}
LINKS = {
    "ref": ("{ref}`other`, {ref}`words <other>`", f"[Other]({OTHER}#other), [words]({OTHER}#other)"),
    "doc": ("{doc}`other`", f"[Other]({OTHER})"),
    "page-link": ("[page](other.md), [code `x`](other.md)", f"[page]({OTHER}), [code `x`]({OTHER})"),
    "label-link": ("[part](#the-part)", f"[part]({OTHER}#the-part)"),
    "same-page": (
        "(here)=\n## Here\n\n[up](#here)",
        f"## Here\n\n[up]({SITE}same-page.html?framework=mxnet#here)",
    ),
    "term": ("{term}`Queue`", f"[Queue]({OTHER}#term-Queue)"),
    "external": (
        "[x](https://x.example/a_(b)), https://x.example/a_b",
        r"[x](https://x.example/a_%28b%29), [https://x.example/a\_b](https://x.example/a_b)",
    ),
    "mail": ("<mailto:a@x.example>", "[mailto:a@x.example](mailto:a@x.example)"),
    "deep/down": ("[up](../other.md)", f"[up]({OTHER})"),
    "picture": ("![A *b* [c] d](dot.png) here", rf"![A b \[c\] d]({SITE}_images/dot.png) here"),
    "linked-picture": (
        "[![x](dot.png)](other.md)",
        f"[![x]({SITE}_images/dot.png)]({OTHER})",
    ),
    "block-picture": ("```{image} dot.png\n:alt: A $d [b]\n```", rf"![A \$d \[b\]]({SITE}_images/dot.png)"),
}
NUMBERED = {
    "figure": (
        "```{figure} dot.png\n:name: fig\n:alt: Alt\nA *c* of `d`.\n```\n\n{numref}`fig`",
        f"![Alt]({SITE}_images/dot.png)\n\n_Fig. 1 A *c* of `d`._\n\n[Fig. 1]({SITE}figure.html?framework=mxnet#fig)",
    ),
    "table": (
        "```{list-table} Its title\n:name: tab\n* - `a|b`\n  - c \\| d\n* - $|x|$\n  - [o|p](other.md)\n```\n\n"
        "{numref}`tab`",
        "**Table 1 Its title**\n\n"
        f"| `a\\|b` | c \\| d |\n| $\\vert x\\vert$ | [o\\|p]({OTHER}) |\n\n"
        f"[Table 1]({SITE}table.html?framework=mxnet#tab)",
    ),
    "code-in-table": (
        "```{list-table}\n* - A\n* - ~~~python\n    x = 1\n    y = `2`\n    ~~~\n```",
        "| A |\n| `x = 1`<br/>`` y = `2` `` |",
    ),
    "equation": (
        "$$\na = b\n$$ (eq)\n\nSee {eq}`eq`, $x\n= y$.",
        f"$$\na = b \\tag{{1}}\n$$\n\nSee [(1)]({SITE}equation.html?framework=mxnet#equation-eq), $x = y$.",
    ),
    "lines-of-equations": (
        "$$\na &= b \\\\\nc &= d\n$$",
        "$$\n\\begin{split}a &= b \\\\\nc &= d\\end{split}\n$$",
    ),
    "own-environment": (
        "\\begin{align}\na &= b\n\\end{align}",
        "$$\n\\begin{align}\na &= b\n\\end{align}\n$$",
    ),
    "exercise": (
        "```{exercise} A $5 name\n:label: ex\nDo it.\n```\n\n```{solution} ex\nSpoiler.\n```\n\n{ref}`ex`",
        f"**Exercise 1 (A \\$5 name)**\n\nDo it.\n\n[Exercise 1]({SITE}exercise.html?framework=mxnet#ex)",
    ),
    "listing": ("```{code-block} python\n:caption: A *c*\nx = 1\n```", "_Listing 1 A *c*_\n\n```python\nx = 1\n```"),
}
BLOCKS = {
    "list": (
        "- a\n  - b\n\n    ~~~python\n    x = 1\n    ~~~\n\n- c\n\n  more",
        "- a\n  - b\n\n    ```python\n    x = 1\n    ```\n- c\n\n  more",
    ),
    "numbers": ("3. c\n4. d", "3. c\n4. d"),
    "definitions": ("Term\n: One.\n\n  Two.", "**Term**\n\n> One.\n>\n> Two."),
    "quotation": ("> One.\n>\n> - two", "> One.\n>\n> - two"),
    "epigraph": ("```{epigraph}\nWords.\n\n-- Someone\n```", "> Words.\n>\n> — Someone"),
    "footnote": ("Word[^n].\n\n[^n]: A *note*.", "Word<sup>1</sup>.\n\n---\n\n<sup>1</sup> A *note*."),
    "rule": ("a\n\n---\n\nb", "a\n\n---\n\nb"),
    "fence": ("`````python\nx = '```'\n`````", "````python\nx = '```'\n````"),
    "plain-fence": ("```\nx\n\n  y\n```", "```\nx\n\n  y\n```"),
    "titled": ("```{admonition} A *title*\n:class: tip\nText.\n```", "> **A *title***\n>\n> Text."),
    "titled-strong": ("```{admonition} A **b** c\nText.\n```", "> __A **b** c__\n>\n> Text."),
    "dropdown": (
        ":::{dropdown} R&D <x>\n**Text**\n\n~~~\ny\n~~~\n:::",
        "<details>\n<summary>R&amp;D &lt;x></summary>\n\n**Text**\n\n```\ny\n```\n\n</details>",
    ),
    "sidebar": ("```{sidebar} Side\nText.\n```", "> **Side**\n>\n> Text."),
    "rubric": ("```{rubric} Rubric\n```", "**Rubric**"),
    "version": ("```{versionadded} 1.0\nNew.\n```", "> Added in version 1.0: New."),
    "card": (":::{card} Title\nBody.\n:::", "Title\n\nBody."),
    "grid": ("::::{grid} 2\n:::{grid-item}\nOne\n:::\n:::{grid-item}\nTwo\n:::\n::::", "One\n\nTwo"),
    "tabs": (
        "::::{tab-set}\n:::{tab-item} Left\nl\n:::\n:::{tab-item} Right\nr\n:::\n::::",
        "**Left**\n\nl\n\n**Right**\n\nr",
    ),
    "panels": (
        "::::{tab-set}\n:sync-group: framework\n\n:::{tab-item} M\n:sync: mxnet\nOurs.\n:::\n"
        ":::{tab-item} P\n:sync: pytorch\nTheirs.\n:::\n::::",
        "Ours.",
    ),
    "no-panel": (
        "Before.\n\n::::{tab-set}\n:sync-group: framework\n\n:::{tab-item} P\n:sync: pytorch\nTheirs.\n:::\n::::",
        "Before.",
    ),
    "headings": ("## A `b`\n\n### C *d*\n\ntext\n\n## E", "## A `b`\n\n### C *d*\n\ntext\n\n## E"),
}
KINDS = ("attention", "caution", "danger", "error", "hint", "important", "note", "tip", "warning", "seealso")
BOXES = {
    kind: (f"```{{{kind}}}\nText.\n```", f"> **{'See also' if kind == 'seealso' else kind.title()}**\n>\n> Text.")
    for kind in KINDS
}
CASES = TEXT | LINKS | NUMBERED | BLOCKS | BOXES
OTHER_PAGE = "(other)=\n# Other\n\n(the-part)=\n## The Part\n\n```{glossary}\nQueue\n  A line.\n```\n"


@dataclass(frozen=True)
class Pages:
    """Pages that were read.

    Attributes:
        app: Sphinx's application.
        warnings: What it warned of.
    """

    app: Sphinx
    warnings: str

    def notebook(self, docname: str, framework: str = "mxnet") -> nbformat.NotebookNode:
        """The notebook of a page that has no cells."""
        shown = ShownVariant(f"{docname}.md", "", "", 0, ())
        subject = Subject(docname, options().frameworks[framework], "Book", shown, ())
        env = self.app.env
        made = nbformat.from_dict(
            make_notebook(env.get_doctree(docname), subject, env, self.app.builder, NotebookOptions())
        )
        nbformat.validate(made)
        return made

    def text(self, docname: str) -> str:
        """What stands below the first heading of a notebook, and below the link to the site."""
        cells = [cell["source"] for cell in self.notebook(docname)["cells"] if cell["cell_type"] == "markdown"]
        return "\n\n".join(cells).split("\n\n", 2)[2]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """All of these pages, read once."""
    root = tmp_path_factory.mktemp("pages")
    toc = "\n".join(["other", *CASES])
    texts = {name: f"# T\n\n{source}\n" for name, (source, _) in CASES.items()}
    for name, text in {**texts, "other": OTHER_PAGE, "index": f"# I\n\n```{{toctree}}\n{toc}\n```\n"}.items():
        (root / f"{name}.md").parent.mkdir(exist_ok=True)
        (root / f"{name}.md").write_text(text, "utf8")
    (root / "dot.png").write_bytes(PNG)
    settings = {
        "extensions": ["polybook", "sphinx_exercise"],
        "polybook_frameworks": FRAMEWORKS,
        "numfig": True,
        "nb_execution_mode": "off",
        "myst_enable_extensions": ["colon_fence", "dollarmath", "amsmath", "deflist", "substitution", "linkify"],
        "myst_substitutions": {"word": "*substituted*"},
        "suppress_warnings": ["design.card_legacy"],
    }
    warned = io.StringIO()
    with docutils_namespace():
        app = Sphinx(root, None, root / "_out", root / "_read", "notebooks", settings, status=None, warning=warned)
        app.build()
        yield Pages(app, warned.getvalue())


def test_the_pages_are_read_without_a_warning(pages: Pages):
    """What follows says nothing about pages that Sphinx finds fault with."""
    assert pages.warnings == ""


def narrow(text: str) -> str:
    """A text with its tables as narrow as they can be, without the lines below their heads."""
    lines = [" ".join(line.split()) if line.startswith("|") else line for line in text.split("\n")]
    return "\n".join(line for line in lines if not line.startswith("|-"))


@pytest.mark.parametrize("name", CASES)
def test_construct(pages: Pages, name: str):
    """What is on the page reads the same in a notebook."""
    assert narrow(pages.text(name)) == CASES[name][1]


def test_nothing_of_myst_is_left(pages: Pages):
    """No role, no directive, no fence of colons."""
    text = "".join(pages.text(name) for name in CASES)

    assert [mark for mark in (":::", "{ref}", "```{", "}`", "(here)=") if mark in text] == []


def test_an_exercise_has_a_cell_for_the_answer(pages: Pages):
    """Behind its text; the solution is left out with what it says."""
    made = pages.notebook("exercise")

    assert [cell["source"] for cell in made["cells"] if cell["cell_type"] == "code"] == ["# Your answer"]
    assert "Spoiler" not in str(made)


def test_links_of_the_other_framework_open_its_tab(pages: Pages):
    """Only the query differs."""
    assert f"[Other]({OTHER.replace('mxnet', 'pytorch')})" in str(pages.notebook("doc", "pytorch"))


def document(*content: nodes.Node) -> nodes.document:
    """A tree."""
    from docutils.utils import new_document

    made = new_document("page")
    made += content
    return made


def paragraph(*content: nodes.Node | str) -> nodes.paragraph:
    """A paragraph."""
    return nodes.paragraph("", "", *(nodes.Text(part) if isinstance(part, str) else part for part in content))


def shown_claim(owner: str, *unshown: nodes.Node, holds: bool = True) -> nodes.container:
    """A claim of which one text is shown."""
    made = nodes.container("", paragraph("Shown."))
    made[READING_KEY] = Reading("fast", owner, holds, nodes.container("", *unshown))
    return made


def said(made: nodes.document) -> list[str]:
    """What each paragraph of a tree says."""
    return [part.astext() for part in made.findall(nodes.paragraph)]


def test_a_value_of_another_framework_is_named_with_it():
    """A reader has a value of the same name, which is not meant."""
    claim = shown_claim("pytorch", paragraph("Took ", QuotedValue(name="speed"), "."))

    both = said(one_page(document(claim), "mxnet", {"speed": "7 ms"}))

    assert both == ["It holds on the site. Shown.", "Where it does not hold: Took pytorch.speed."]


def test_a_check_has_the_figures_of_both_texts():
    """Also of one that the text that is not shown names with the framework in front."""
    claim = shown_claim("mxnet", paragraph(QuotedValue(name="mxnet.speed"), QuotedValue(name="left")))

    made = one_page(document(claim), "mxnet", {"speed": "7 ms", "left": "1 s", "unquoted": "2 s"})

    (check,) = (node["check"] for node in made.findall() if isinstance(node, nodes.Element) and "check" in node)
    assert check == Check("fast", True, {"left": "1 s", "speed": "7 ms"})
    assert said(made)[-1] == "Where it does not hold: speedleft"


def test_a_claim_in_a_text_that_is_not_shown_has_both_texts():
    """Nobody knows which one holds there, and its own values are its framework's."""
    inner = ClaimNode("", paragraph("Inner ", QuotedValue(name="speed")), name="pytorch.slow")
    inner += OtherwiseNode("", nodes.bullet_list("", nodes.list_item("", paragraph("Otherwise."))))

    both = said(one_page(document(shown_claim("mxnet", inner, holds=False)), "mxnet", {}))

    assert both == [
        "It does not hold on the site. Shown.",
        "Where it holds:",
        "Where it holds: Inner pytorch.speed",
        "Where it does not hold:",
        "Otherwise.",
    ]


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ({}, 'check("a", site_holds=True)'),
        ({"b": '3\N{NO-BREAK SPACE}"ms"'}, 'check("a", site_holds=True, site={"b": "3 \\"ms\\""})'),
        (
            {"one": "3 ms", "long" * 20: "1"},
            'check(\n    "a",\n    site_holds=True,\n    site={\n        "one": "3 ms",\n'
            f'        "{"long" * 20}": "1",\n    }},\n)',
        ),
    ],
)
def test_call_of_a_check_is_python(figures: Mapping[str, str], expected: str):
    """One line if it fits, else a line a figure."""
    call = check_call("check", Check("a", True, figures))

    assert call == expected
    compile(call, "cell", "exec")


@pytest.mark.parametrize(
    ("text", "expected"), [("x", "`x`"), ("`", "`` ` ``"), ("a``b", "```a``b```"), ("`a", "`` `a ``")]
)
def test_code_has_as_many_backticks_as_it_takes(text: str, expected: str):
    """One more than the longest row of them inside."""
    assert code_span(text) == expected
    assert fence_for("````") == "`````"


def test_addresses_and_words_are_kept_apart_from_markdown():
    """Parentheses end an address, and signs begin emphasis."""
    assert quoted("a (b).png") == "a%20%28b%29.png"
    assert escaped(r"*a* [b] `c` $d$ <e> &amp; \f") == r"\*a\* \[b\] \`c\` \$d\$ &lt;e> &amp;amp; \\f"


def test_a_warning_is_told_once_of_a_place():
    """References are resolved again for each notebook; what has no place is told each time."""
    told = ToldOnce()

    def passes(message: str, location: str | None) -> bool:
        record = logging.LogRecord("sphinx", logging.WARNING, "", 0, "%s is missing", (message,), None)
        record.location = location
        return told.filter(record)

    assert [passes(*one) for one in [("a", "x:1"), ("a", "x:1"), ("b", "x:1"), ("a", "x:2")]] == [
        True,
        False,
        True,
        True,
    ]
    assert [passes("a", None), passes("a", None)] == [True, True]
