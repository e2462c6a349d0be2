"""Figures typed into prose: what looks measured, what does not, and where prose is."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from itertools import pairwise

import pytest
from books import REPOSITORY

from polybook import page
from polybook.errors import Failure
from polybook.prose import LITERAL, TypedMeasurement, prose_failures, typed_measurements

PAGES = sorted([REPOSITORY / "index.md", REPOSITORY / "runs.md", *(REPOSITORY / "chapters").rglob("*.md")])
CHAPTER = REPOSITORY / "chapters" / "async-computation.md"

NO_BREAK = "\N{NO-BREAK SPACE}"
NARROW = "\N{NARROW NO-BREAK SPACE}"
THIN = "\N{THIN SPACE}"
EN_DASH = "\N{EN DASH}"
TIMES = "\N{MULTIPLICATION SIGN}"
MICRO = "\N{MICRO SIGN}"
MU = "\N{GREEK SMALL LETTER MU}"


def found(text: str) -> list[str]:
    """What is found, without its lines."""
    return [each.found for each in typed_measurements(text)]


def lines(text: str) -> list[int]:
    """The lines of what is found."""
    return [each.line for each in typed_measurements(text)]


def prose_lines(text: str) -> list[int]:
    """The 1-based lines of a page that hold the text of a paragraph or list item, told without the checker."""
    result = []
    code = matter = False
    for number, line in enumerate(text.split("\n"), start=1):
        matter = line == "---" if number == 1 else matter and line != "---"
        code ^= line.startswith("```")
        if (
            not matter
            and not code
            and (line[:1].isalnum() or line[:1] in {"*", "`", " "})
            and not line.startswith("```")
        ):
            result.append(number)
    return result


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("0.31 s", "0.31 s"),
        ("0.31s", "0.31s"),
        ("10 s", "10 s"),
        (".31 s", ".31 s"),
        ("12 ms", "12 ms"),
        (f"3 {MICRO}s", f"3 {MICRO}s"),
        (f"3 {MU}s", f"3 {MU}s"),
        ("3us", "3us"),
        ("4 ns", "4 ns"),
        ("2 secs", "2 secs"),
        ("1 second", "1 second"),
        ("12 Milliseconds", "12 Milliseconds"),
        ("a 50-millisecond wait", "50-millisecond"),
        ("a 50\N{NON-BREAKING HYPHEN}ms wait", "50\N{NON-BREAKING HYPHEN}ms"),
        ("~4 ms", "4 ms"),
        ("\N{ALMOST EQUAL TO}4 ms", "4 ms"),
        ("1,000.5 s", "1,000.5 s"),
        (f"10{NARROW}000{NO_BREAK}s", "10 000 s"),
        (f"0.31{THIN}s", "0.31 s"),
        (f"0.1{EN_DASH}0.3 s", f"0.1{EN_DASH}0.3 s"),
        ("0.1-0.3 s", "0.1-0.3 s"),
        ("between 1 and 2 s", "2 s"),
        ("1 to 2 s", "1 to 2 s"),
        ("0.31 \N{PLUS-MINUS SIGN} 0.02 s", "0.31 \N{PLUS-MINUS SIGN} 0.02 s"),
        ("1e-3 s", "1e-3 s"),
        ("10^-3 s", "10^-3 s"),
        (f"2 {TIMES} 10\N{SUPERSCRIPT MINUS}\N{SUPERSCRIPT THREE} s",) * 2,
        ("five seconds", "five seconds"),
        ("one second", "one second"),
        ("half a second", "half a second"),
        ("a quarter of a second", "quarter of a second"),
        ("a ten-second wait", "ten-second"),
        ("twenty-five milliseconds", "twenty-five milliseconds"),
    ],
)
def test_a_time_is_found(text: str, figure: str):
    """A number with a unit of time looks measured, however it is written."""
    assert found(f"It took {text} here.") == [figure]


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("3 GFLOP/s",) * 2,
        ("3 TFLOPS",) * 2,
        ("2.5 GB/s",) * 2,
        ("30 MiB/s",) * 2,
        ("1.5 Gbps",) * 2,
        ("3 it/s",) * 2,
        ("100 images/s",) * 2,
        ("10 000 small operations per second",) * 2,
        ("5 million samples / s",) * 2,
        ("ten operations a second.", "ten operations a second"),
    ],
)
def test_a_rate_is_found(text: str, figure: str):
    """A number of anything per second looks measured."""
    assert found(f"It does {text}") == [figure]


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        (f"2.3 {TIMES} slower",) * 2,
        ("25x faster",) * 2,
        (f"3{TIMES} as fast",) * 2,
        (f"a 3{TIMES}-faster loop", f"3{TIMES}-faster"),
        ("a 25x speedup", "25x speedup"),
        ("ten times faster",) * 2,
        ("Ten Times Faster",) * 2,
        ("2.3 times as long",) * 2,
        ("a hundred times slower", "hundred times slower"),
        ("ten times as much time",) * 2,
        ("a tenfold speed-up", "tenfold speed-up"),
        ("twice as fast",) * 2,
        ("thrice the speed",) * 2,
        ("half the time",) * 2,
        ("half as long",) * 2,
        ("a third of the time", "third of the time"),
        ("30 % faster",) * 2,
        ("30% less time",) * 2,
        ("40 per cent of the time",) * 2,
        ("an order of magnitude faster",) * 2,
        ("two orders of magnitude slower",) * 2,
        ("faster by a factor of 2.3",) * 2,
        ("slower than NumPy by about 30 %",) * 2,
        ("a speed-up of 2.3", "speed-up of 2.3"),
    ],
)
def test_a_ratio_of_speed_is_found(text: str, figure: str):
    """How many times faster or slower something is looks measured, in figures and in words."""
    assert found(f"It is {text}.") == [figure]


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("**0.31** s", "0.31 s"),
        ("_0.31_ seconds", "0.31 seconds"),
        ("**0.31 s**", "0.31 s"),
        ("__0.31 s__", "0.31 s"),
        ("~~0.31~~ s", "0.31 s"),
        ("*twice* as fast", "twice as fast"),
        ("ten **times** faster", "ten times faster"),
        ("0.31&nbsp;s", "0.31 s"),
        ("0.31&thinsp;&micro;s", f"0.31 {MICRO}s"),
        (r"0\.31 s", "0.31 s"),
        (r"\$5 and 0.31 s and \$6", "0.31 s"),
        (r"\`0.31 s\`", "0.31 s"),
        ("`0.31 s", "0.31 s"),
        ("<b>0.31</b> s", "0.31 s"),
        ("0.31<!-- or so --> s", "0.31 s"),
        ("[0.31](other.md) s", "0.31 s"),
        ("[0.31 s][other]", "0.31 s"),
        ("![a bar of 0.31 s](bar.png)", "0.31 s"),
    ],
)
def test_markup_does_not_hide_a_figure(text: str, figure: str):
    """Emphasis, escapes, entities, links and tags may stand in or around a measurement."""
    assert found(f"It took {text} here.") == [figure]


@pytest.mark.parametrize(
    "text",
    [
        "free since 3.14",
        "Python 3.11 supports it",
        "PyTorch 2.7 says",
        "PEP 703",
        f"1000 {TIMES} 1000",
        "1000 rows and 1000 columns",
        "float32",
        "64 bits",
        "a 64-bit system",
        "10 000 increments",
        "ten thousand times",
        "allow 25 minutes",
        "two hours",
        "the 2 sides",
        "4 steps",
        "2 samples",
        "3 streams",
        "16 products",
        "1990s",
        "the 1980s and 1990s",
        "the 90s",
        "100s of arrays",
        "24 GiB",
        "1 MiB",
        "10 GHz",
        "x_1 s",
        "x2.5 s",
        "twice as many rows",
        "half of the rows",
        "30 % of the rows",
        "ten longer runs",
        "the 2 slower runs",
        "2 second-order methods",
        "ten second chances",
        "compute the 10 products a second time",
        "One barrier a minibatch",
        "a few milliseconds",
        "many times faster",
    ],
)
def test_other_numbers_pass(text: str):
    """A count, a size, a version, a year or a reading time is no measurement."""
    assert found(text) == found(f"It has {text} here.") == []


@pytest.mark.parametrize(
    "text",
    [
        "`10 s`",
        "``10 ` s``",
        "`10\ns`",
        "{given}`0.31 s`",
        "{value}`loop` s",
        "{math}`0.31 s`",
        "$0.31 s$",
        "$$0.31 s$$",
        "{{ '0.31 s' }}",
        "<!-- 0.31 s -->",
        "<!-- 0.31\ns -->",
        '<img alt="0.31 s" src=a.png>',
        "<https://example.org/0.31s>",
        "https://example.org/0.31s",
        "[text](0.31s.png)",
        "[text](<0.31 s.png>)",
        "[text][0.31 s]",
        "[^0.31s]",
        "@key-0.31s",
    ],
)
def test_what_is_no_prose_inside_a_paragraph_passes(text: str):
    """Code, roles, formulas, comments, addresses and labels may hold what they like."""
    assert found(f"It took {text} here.") == []


@pytest.mark.parametrize(
    "around",
    [
        "@",
        "# @",
        "@\n===",
        "- @",
        "1. item\n2. @",
        "- item\n\n  @",
        "10. item\n\n    @",
        "- item\n  - nested\n\n    @",
        "-\n     @",
        "   - item\n    - @",
        "===\n    @",
        "> @",
        "> quote\n@",
        ">    @",
        "> text\n>\n>    @",
        "> <!--\n\n@\n\n-->",
        "> - item\n>   @",
        "| a | b |\n|---|---|\n| @ | c |",
        ":::{note}\n@\n:::",
        ":::\n@\n:::",
        "```{note}\n@\n```",
        "```{note}\n:class: tip\n@\n```",
        "```{note} @\n:class: tip\nbody\n```",
        ":::{admonition} @\nbody\n:::",
        "~~~{tip}\n@\n~~~",
        "  :::{tip}\n     @\n  :::",
        "- item\n  :::{note}\n  @\n  :::",
        "::::{tab-set}\n:::{tab-item} PyTorch\n:sync: pytorch\n\n@\n:::\n::::",
        "````{note}\n```\ncode\n```\n@\n````",
        "```{figure} bar.png\n:alt: words\n\n@\n```",
        "```{figure} bar.png\n:width: 3\n:alt: @\n```",
        "```{figure} bar.png\n---\nalt: |\n  words\n  @\nwidth: 3\n---\n```",
        "```{code-cell}\n---\nmystnb:\n  figure:\n    caption: @\n---\ncode\n```",
        "```{code-block} python\n:caption: @\ncode\n```",
        "[^note]: @",
        "(label)=\n@",
        "% comment\n@",
        "<!-- one\n\ntwo -->\n@",
        "$$\nx\n$$\n@",
        "$$ never closed\n\n@",
        "---\ntitle: A\n---\n@",
        "text\n\n---\n@",
        "paragraph\n    @",
        "<div>\n@\n</div>",
        "```\ncode\n```\n@",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_figure_is_found_in_every_kind_of_prose(around: str, end: str):
    """Wherever a reader sees text, a typed timing is found there, on its line."""
    text = f"{around}\n\nlast\n".replace("\n", end).replace("@", "It took 0.31 s.")
    line = around.partition("@")[0].count("\n") + 1

    assert typed_measurements(text) == [TypedMeasurement(line, "0.31 s")]


@pytest.mark.parametrize(
    "around",
    [
        "---\ntitle: @\n---",
        "```\n@\n```",
        "```python\n@\n```",
        "~~~\n@\n\n```\n@\n~~~",
        "```{code-cell}\n:tags: [x]\n\n@\n```",
        "```{code-cell}\n---\ntags: [x]\nname: @\n---\n@\n```",
        "```{code-block} python\n@\n```",
        "```{math}\n@\n```",
        "```{raw} html\n@\n```",
        ":::{code-block}\n@\n:::",
        "::::{note}\n:::{code-block}\n@\n:::\n::::",
        "```\n```python\n@\n```",
        "- item\n  ```{note}\n  body\nmore\n```\n@\n```",
        "text\n-\n\n    @",
        "- item\n\n  ```\n  @\n  ```",
        "> ```\n> @\n> ```",
        "::::{tab-set}\n:::{tab-item} A\n```\n@\n```\n:::\n::::",
        "```{note}\n:name: @\nbody\n```",
        "```{note}\n---\nname: @\n---\nbody\n```",
        "```{figure} 0.31s.png\ncaption\n```",
        "text\n\n    @",
        "- item\n\n      @",
        "1. item\n\n       @",
        "> text\n>\n>     @",
        "% @",
        "<!--\n@\n\n@\n-->",
        "$$\n@\n\n@\n$$",
        "\\begin{align}\n@\n\\end{align}",
        "<pre>\n@\n\n@\n</pre>",
        "(took-0.31-s)=",
        "[label]: https://example.org/0.31s",
        "[label]: 0.31s 'title'",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_what_is_no_prose_passes(around: str, end: str):
    """Front matter, code, options, formulas, comments and labels are not read, and what follows them is."""
    text = f"{around}\n\nIt took 7 ms.\n".replace("\n", end).replace("@", "It took 0.31 s.")

    assert found(text) == ["7 ms"]


@pytest.mark.parametrize(
    "text",
    [
        "It took 0.31\nseconds.",
        "It took **0.31**\ns.",
        "It took 0.31\\\ns.",
        "- It took 0.31\n  s.",
        "> It took 0.31\n> s.",
        "> It took 0.31\ns.",
        ":::{note}\nIt is ten\ntimes\nfaster.\n:::",
    ],
)
def test_a_figure_may_be_broken_over_lines(text: str):
    """A measurement that is broken inside a paragraph is found on the line of its number."""
    number = 1 + next(n for n, line in enumerate(text.split("\n")) if "0.31" in line or "ten" in line)

    assert lines(f"first\n\n{text}\n") == [number + 2]


@pytest.mark.parametrize(
    "between",
    [
        "\n- item\n  :::{note}\n  3\n",
        "\n\n",
        "\n- ",
        "\n1. ",
        "\n> ",
        "\n# ",
        "\n```\n```\n",
        "\n:::{note}\n",
        "\n***\n",
        "\n---\n",
        "\n% a\n",
        " | ",
    ],
)
def test_separate_blocks_are_not_joined(between: str):
    """A number at the end of one block and a unit at the start of the next are no measurement."""
    assert found(f"There are 3{between}s stands for seconds.\n") == []


def test_all_figures_are_found_in_order():
    """Several figures of a paragraph, and of several paragraphs, come in the order of their lines."""
    text = "One is 5 ms, the other\n7 ms: 30 % slower.\n\n- 9 ms\n"

    assert typed_measurements(text) == [
        TypedMeasurement(1, "5 ms"),
        TypedMeasurement(2, "30 % slower"),
        TypedMeasurement(2, "7 ms"),
        TypedMeasurement(4, "9 ms"),
    ]


def test_a_failure_says_what_to_do():
    """Each finding becomes a failure with its place, the figure and both ways out."""
    assert prose_failures("chapters/a.md", "# A\n\nIt took 0.31 s.\n") == [
        Failure(
            "chapters/a.md",
            3,
            "",
            "`0.31 s` looks like a measurement typed by hand.",
            "Record it in a cell and quote it with {value}; a figure that was chosen, not measured, is written "
            "{given}`0.31 s`.",
        )
    ]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_course_has_no_typed_figure(path):
    """No page of this course has a measurement that was typed by hand."""
    assert prose_failures(path.name, path.read_text("utf8")) == []


def test_a_figure_typed_into_the_chapter_is_found():
    """A timing that is added to any line of the real chapter's prose is found on that line."""
    text = CHAPTER.read_text("utf8")
    places = prose_lines(text)
    missed = []
    for number in places:
        changed = text.split("\n")
        changed[number - 1] += " It took 0.31 s."
        if typed_measurements("\n".join(changed)) != [TypedMeasurement(number, "0.31 s")]:
            missed.append(number)

    assert len(places) > 100
    assert missed == []


def test_a_figure_printed_in_the_chapters_code_passes():
    """A timing that is added to any line of the real chapter's code is none of the checker's business."""
    text = CHAPTER.read_text("utf8")
    code = [chunk for chunk in text.split("```")[1::2] if chunk.startswith("{code-cell}")]
    for chunk in code:
        text = text.replace(chunk, f"{chunk}# took 0.31 s\n")

    assert text.count("0.31 s") >= len(code) > 20
    assert found(text) == []


def test_literal_directives_are_those_of_the_page_grammar():
    """What the page's own grammar holds for code is no prose here."""
    assert page._LITERAL | page._CELLS <= LITERAL


@pytest.mark.parametrize(
    "piece",
    [
        "It took 0.31 s and\n", "1", "1,", "1 ", "1 - ", "one-", "one ", "a_", "`", "` ", "$", "<a ", "<a b='", "<!-- ",
        "](", "[^", "{{", "&", "*", "> ", ">", "- ", "\\", "faster by ", "1 a-", "order of ",
    ],
)  # fmt: skip
def test_time_is_linear(piece: str):
    """Ten times as long a text takes about ten times as long, where a careless pattern takes a hundred times."""
    text = piece * (200_000 // len(piece))

    spent = []
    for part in (text[: len(text) // 10], text):
        start = time.process_time()
        typed_measurements(part)
        spent.append(time.process_time() - start)

    assert spent[1] < 40 * spent[0] + 0.5


def test_what_is_never_closed_is_sought_once():
    """Backticks of every length, a front matter without an end and a line of quote marks take no quadratic time."""
    backticks = " ".join("`" * length for length in range(1, 1000))
    texts = [backticks, "---\r" + "a\r" * 100_000, "---\r\n" + "\r\n" * 100_000, ">" * 1_000_000]

    start = time.process_time()
    for text in texts:
        typed_measurements(text)

    assert time.process_time() - start < 10


@pytest.mark.parametrize("seed", range(20))
def test_any_text_can_be_read(seed: int):
    """Whatever the text, nothing is raised, and findings are in order on lines that exist."""
    pieces = [
        "0.31", " s", "twice as fast", "\n", "\n\n", "\r\n", "\r", "    ", "\t", "- ", "1. ", "> ", "```", "```{note}",
        ":::", ":::{figure} ", ":alt: ", "---\n", "`", "``", "$", "$$", "*", "_", "%", "<!--", "-->", "<pre>", "<a b='",
        "](", "[^", "&#10;", "&#xFFFFFFFFFF;", "\\", "\0", "\f", "\x85", "\u2028", "\ud800", "\N{SUPERSCRIPT TWO}",
        "\\begin{a}", "e-", "^",
    ]  # fmt: skip
    choose = random.Random(seed)
    for _ in range(100):
        text = "".join(choose.choices(pieces, k=choose.randint(0, 40)))
        result = typed_measurements(text)

        assert result == sorted(result)
        assert all(1 <= each.line <= text.count("\n") + text.count("\r") + 1 for each in result)
        assert all(first.line <= second.line for first, second in pairwise(result))


def test_the_checker_loads_nothing_but_the_standard_library():
    """It can run where neither Sphinx nor YAML is installed."""
    code = "import sys, polybook.prose; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)

    assert set(done.stdout.split()) & {"yaml", "nbformat", "sphinx", "docutils", "markdown_it", "asynclab"} == set()
    assert "polybook" in done.stdout
