"""What students' notebooks call: checks that say what happened, and the file to hand in, from every front end."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from books import REPOSITORY
from outer_kernels import Kernel, environment, running

from asynclab import exercises
from asynclab.errors import CheckFailed, PackError

INNER = REPOSITORY / ".venv-mxnet" / "bin" / "python"
STAMP = "# coursework: the-total · mxnet · version 1 · offering 0123abcd"
PACK = f"{STAMP}\nfrom asynclab import exercises\nexercises.pack()"
ANSWER = "# answer: total\ndef total(n):\n    return 2 * n"
STUB = "# answer: total\ndef total(n):\n    raise NotImplementedError"


# Checks


def total(n: int, t: float = 1.0) -> float:
    """An answer to try."""
    return n * t


def refused(function: Callable[..., object], *args: object, **kwargs: object) -> list[str]:
    """The lines of a check that fails."""
    with pytest.raises(CheckFailed) as caught:
        exercises.check(function, *args, **kwargs)
    return caught.value._render_traceback_()


def test_a_right_answer_is_shown_as_a_call(capsys: pytest.CaptureFixture[str]):
    """A check that holds prints the call with its arguments and what it gave."""
    exercises.check(total, 10, t=3.3, gives=33.0)

    assert capsys.readouterr().out == "✓ total(10, t=3.3) = 33.0\n"


def test_a_wrong_answer_is_shown_with_what_was_expected():
    """A check that does not hold gives the call, the result and the expectation, below each other."""
    assert refused(total, 2, gives=3.0) == ["✗ total(2)", "  gave      2.0", "  expected  3.0"]


def test_an_unwritten_answer_raises_nothing(capsys: pytest.CaptureFixture[str]):
    """A stub is not written yet, and the notebook runs on."""

    def stub() -> None:
        raise NotImplementedError

    exercises.check(stub, gives=1)

    assert capsys.readouterr().out == "\N{EN DASH} stub is not written yet\n"


def test_an_answer_that_raises_is_shown_with_its_line():
    """The exception, the student's own line that it went through, and the expectation."""

    def inverse(n: float) -> float:
        return 1 / n

    call, raised, line, expected = refused(inverse, 0, gives=1.0)
    assert (call, raised, expected) == (
        "✗ inverse(0)",
        "  raised    ZeroDivisionError: division by zero",
        "  expected  1.0",
    )
    assert line.startswith("  in        line ")
    assert line.endswith(": return 1 / n")


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (2, 2),
        (2, 2.0),
        (1 / 3, 0.3333333333),
        (0.0, 1e-12),
        (float("nan"), float("nan")),
        (float("inf"), float("inf")),
        ("x", "x"),
        (None, None),
        (True, True),
        ([1, [2, 3]], [1, [2.0, 3]]),
        ({"a": [1]}, {"a": [1.0]}),
        ((1, "x"), (1, "x")),
        (10**400, 10**400),
    ],
)
def test_what_agrees(got: object, expected: object):
    """The exact type, numbers within the tolerance, an int where a float is expected."""
    exercises.check(lambda: got, gives=expected)


class Equal(list):
    """Says of everything that it is equal."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None


class Torn:
    """Cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError


LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("got", "expected", "told"),
    [
        (2.0, 2, "2 (type int, not float)"),
        (True, 1, "1 (type int, not bool)"),
        (True, 1.0, "1.0 (type float, not bool)"),
        ("2", 2, "2 (type int, not str)"),
        ((1,), [1], "[1] (type list, not tuple)"),
        (None, [1], "[1] (type list, not NoneType)"),
        (Equal(), [1], "[1] (type list, not Equal)"),
        (Torn(), 1, "1 (type int, not Torn)"),
        ([1, 2], [1], "[1]"),
        ([1, 2.0], [1, 2], "[1, 2]"),
        ([True], [1], "[1]"),
        ({"a": 1}, {"b": 1}, "{'b': 1}"),
        (float("nan"), 1.0, "1.0"),
        (10**400, 1.0, "1.0 (comparing them raised OverflowError)"),
        ([LOOP], LOOP, "[[...]] (comparing them raised RecursionError)"),
    ],
)
def test_what_does_not_agree(got: object, expected: object, told: str):
    """Another type, other elements or keys; what compares oddly is told and never counts as right."""
    assert refused(lambda: got, gives=expected)[-1] == f"  expected  {told}"


def test_a_long_value_is_cut_and_its_first_difference_named():
    """A reader sees where two long lists differ, not pages of numbers."""
    gave, expected = refused(lambda: [*range(500), 7.5], gives=[*range(500), 8.5])[1:]

    assert len(gave) < 300
    assert expected.endswith("(at [500]: 8.5, not 7.5)")


class FakeArray:
    """What a check needs of a framework's array."""

    __module__ = "torch"

    def __init__(self, elements: object) -> None:
        self.elements = elements

    def __repr__(self) -> str:
        return f"tensor({self.elements})"

    def reshape(self) -> None: ...

    def tolist(self) -> object:
        return self.elements


def test_an_array_is_compared_with_nested_lists(capsys: pytest.CaptureFixture[str]):
    """A framework's array counts where a list is expected, by its elements; an int may stand for a float there."""
    exercises.check(lambda: FakeArray([[1.0, 2.0]]), gives=[[1, 2.0]])

    assert capsys.readouterr().out == "✓ <lambda>() = tensor([[1.0, 2.0]])\n"
    assert refused(lambda: FakeArray([1.0]), gives=[1.5])[1:] == ["  gave      tensor([1.0])", "  expected  [1.5]"]
    assert refused(lambda: FakeArray(2.0), gives=2.0)[-1] == "  expected  2.0 (type float, not FakeArray)"


def test_numbers_of_numpy_are_numbers(monkeypatch: pytest.MonkeyPatch):
    """As when the answer is graded, a number that NumPy made counts as one; a class of one's own does not."""

    class Generic:
        def item(self) -> float:
            return 2.0

    class Own(float):
        pass

    monkeypatch.setitem(sys.modules, "numpy", types.SimpleNamespace(generic=Generic))

    exercises.check(Generic, gives=2.0)
    exercises.check(lambda: [Generic()], gives=[2.0])
    assert refused(lambda: Own(2), gives=2.0)[-1] == "  expected  2.0 (type float, not Own)"


@pytest.mark.parametrize("framework", ["pytorch", "mxnet"])
def test_arrays_of_the_real_frameworks(framework: str):
    """Arrays of PyTorch, and both kinds of MXNet's, are compared by their elements."""
    make = {
        "pytorch": "import torch; arrays = [torch.ones(2, 1)]",
        "mxnet": "import mxnet as mx; mx.npx.set_np(); arrays = [mx.np.ones((2, 1)), mx.nd.ones((2, 1))]",
    }
    code = (
        f"{make[framework]}\nfrom asynclab import exercises\nfor array in arrays:\n"
        "    exercises.check(lambda: array, gives=[[1.0], [1.0]])\n    print('-')"
    )
    python = REPOSITORY / f".venv-{framework}" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"no environment for {framework} here")

    variables = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
    done = subprocess.run([python, "-W", "ignore", "-c", code], env=variables, capture_output=True, text=True)

    assert [text.strip()[:1] for text in done.stdout.split("-\n")[:-1]] == ["✓"] * {"pytorch": 1, "mxnet": 2}[framework]


# Packing


def cell(source: str, kind: str = "code", **metadata: object) -> dict[str, Any]:
    """A cell that has been run."""
    made: dict[str, Any] = {
        "id": "c",
        "cell_type": kind,
        "metadata": metadata,
        "source": source.splitlines(keepends=True),
    }
    return made | ({"outputs": [{"output_type": "stream"}], "execution_count": 3} if kind == "code" else {})


def notebook(path: Path, *cells: dict[str, Any], **metadata: object) -> Path:
    """Write a notebook that ends with the cell that packs."""
    content = {"cells": [*cells, cell(PACK)], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(content), "utf8")
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, without anything that a front end says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    return tmp_path


def test_the_notebook_without_outputs_is_written(folder: Path, capsys: pytest.CaptureFixture[str]):
    """Sources and metadata stay; outputs, numbers, widgets, and what names the student are left out."""
    private = {"executionInfo": {"user": {"displayName": "Ada"}}, "outputId": "x", "tags": ["answer"]}
    notebook(folder / "n.ipynb", cell(ANSWER, **private), cell("Text", "markdown"), widgets={"w": 1}, kept=1)

    exercises.pack("n.ipynb")

    packed = json.loads((folder / "hand-in-the-total-mxnet.ipynb").read_text("utf8"))
    assert [(c["source"][0], c.get("outputs"), c.get("execution_count")) for c in packed["cells"]] == [
        ("# answer: total\n", [], None),
        ("Text", None, None),
        (STAMP + "\n", [], None),
    ]
    assert (packed["metadata"], packed["cells"][0]["metadata"]) == ({"kept": 1}, {"tags": ["answer"]})
    assert re.fullmatch(
        r"Wrote hand-in-the-total-mxnet\.ipynb from n\.ipynb as it was saved at \d\d:\d\d:\d\d\. Hand in this file\.\n",
        capsys.readouterr().out,
    )


def test_unwritten_answers_are_named(folder: Path, capsys: pytest.CaptureFixture[str]):
    """Stubs are known by what they raise, by the line to replace, and by the digest in the metadata."""
    predictions = "# answer: predictions\nwaits = {'a': None}"
    digest = hashlib.sha256(predictions.encode()).hexdigest()[:16]
    stubs = {"predictions": digest, "total": "another", "lost": "x"}
    why = "<!-- answer: why -->\n*Write here, in place of this line.*"
    cells = [cell(STUB), cell(predictions + "\n"), cell(why, "markdown"), cell("<!-- answer: how -->\nSo.", "markdown")]
    notebook(folder / "n.ipynb", *cells, coursework={"stubs": stubs})

    exercises.pack("n.ipynb")

    assert capsys.readouterr().out.splitlines()[1:] == [
        "! Not written yet: total, predictions, why.",
        "! Not in the file, or without its first line `answer: ...`: lost.",
    ]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "n.ipynb cannot be read: No such file or directory."),
        ("{", "n.ipynb is no notebook of Jupyter's format 4."),
        ('{"worksheets": [], "nbformat": 3}', "n.ipynb is no notebook of Jupyter's format 4."),
        (
            '{"cells": [{"source": "1"}], "nbformat": 4}',
            r"n.ipynb as it was saved at [\d:]+ is no notebook of an exercise: "
            r"no cell in it has a line `# coursework: ...`.",
        ),
    ],
)
def test_a_file_that_is_no_exercise_is_refused(folder: Path, content: str | None, told: str):
    """The message says what was found and what to do, in place of a traceback."""
    if content is not None:
        (folder / "n.ipynb").write_text(content, "utf8")

    with pytest.raises(PackError) as caught:
        exercises.pack("n.ipynb")
    lines = caught.value._render_traceback_()
    assert re.fullmatch(told.replace("...", r"\.\.\."), lines[0])
    assert lines[1] == 'Save the notebook and give its name: exercises.pack("name.ipynb").'


def test_without_a_front_end_the_only_stamped_notebook_is_taken(folder: Path, capsys: pytest.CaptureFixture[str]):
    """Files to hand in, broken ones and other notebooks do not count."""
    notebook(folder / "mine.ipynb", cell(ANSWER))
    notebook(folder / "hand-in-other-mxnet.ipynb")
    (folder / "broken.ipynb").write_text("{")
    (folder / "other.ipynb").write_text('{"cells": [], "nbformat": 4}')

    exercises.pack()

    assert "from mine.ipynb as" in capsys.readouterr().out


def test_two_notebooks_are_one_too_many(folder: Path):
    """Which is meant is for the student to say; both are named."""
    notebook(folder / "a.ipynb")
    notebook(folder / "b.ipynb")

    with pytest.raises(PackError, match=r"not one alone of the notebooks .* \(a\.ipynb, b\.ipynb\)"):
        exercises.pack()


def test_jupyter_says_which_notebook_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """Jupyter's variable decides between two, and the file is written beside that notebook."""
    notebook(folder / "a.ipynb")
    (folder / "below").mkdir()
    monkeypatch.setenv("JPY_SESSION_NAME", str(notebook(folder / "below" / "b.ipynb")))

    exercises.pack()

    assert (folder / "below" / "hand-in-the-total-mxnet.ipynb").exists()


def test_colab_gives_the_notebook_and_gets_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """In Colab the browser is asked for the notebook as it is, and the file is downloaded."""
    content = json.loads(notebook(folder / "x.ipynb", cell(ANSWER)).read_text("utf8"))
    (folder / "x.ipynb").unlink()
    downloaded: list[str] = []
    colab(monkeypatch, {"ipynb": content}, downloaded)

    exercises.pack()

    assert downloaded == [str(folder / "hand-in-the-total-mxnet.ipynb")]
    assert "from this notebook. Hand in this file." in capsys.readouterr().out


def test_colab_that_says_nothing_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """A browser that does not answer gives a message with another way."""
    colab(monkeypatch, None, [])

    with pytest.raises(PackError, match="Colab did not say what is in this notebook"):
        exercises.pack()


def colab(monkeypatch: pytest.MonkeyPatch, reply: object, downloaded: list[str]) -> None:
    """Stand in for Colab's library."""

    def blocking_request(name: str, timeout_sec: int) -> object:
        assert name == "get_ipynb"
        return reply

    message = types.SimpleNamespace(blocking_request=blocking_request)
    files = types.SimpleNamespace(download=downloaded.append)
    for name, module in {
        "google.colab": message,
        "google.colab._message": message,
        "google.colab.files": files,
    }.items():
        monkeypatch.setitem(sys.modules, name, module)  # type: ignore[arg-type]


def test_a_place_that_cannot_be_written_is_told(folder: Path):
    """A folder in the place of the file gives a message that says what to do."""
    notebook(folder / "n.ipynb")
    (folder / "hand-in-the-total-mxnet.ipynb").mkdir()

    with pytest.raises(PackError, match=r"cannot be written: Is a directory\.\nHand in the notebook itself"):
        exercises.pack("n.ipynb")


# In a kernel


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """An ordinary kernel, as Jupyter starts it for `mine.ipynb`."""
    path = tmp_path_factory.mktemp("notebook") / "mine.ipynb"
    with running(Path(sys.executable), JPY_SESSION_NAME=str(path), MINE=str(path)) as kernel:
        kernel.run("from asynclab import exercises")
        yield kernel


def saved(kernel: Kernel, *cells: str) -> Path:
    """Save the kernel's notebook with these cells."""
    path = Path(kernel.run("import os\nprint(os.environ['MINE'], end='')").text)
    return notebook(path, *map(cell, cells))


def test_a_notebook_shows_a_failed_check_in_three_lines(kernel: Kernel):
    """No traceback of ours; the line in the student's cell is shown by its number there."""
    kernel.run("# answer: broken\ndef broken(n):\n    m = n - n\n    return 1 / m")
    ran = kernel.run("exercises.check(broken, 3, gives=1.0)")

    assert ran.outputs[-1].traceback == [
        "✗ broken(3)",
        "  raised    ZeroDivisionError: division by zero",
        "  in        line 4 of broken's cell: return 1 / m",
        "  expected  1.0",
    ]


def test_the_running_notebook_is_packed(kernel: Kernel):
    """The cell alone finds its notebook."""
    path = saved(kernel, ANSWER)
    kernel.run(ANSWER)
    ran = kernel.run(PACK)

    assert ran.text.startswith("Wrote hand-in-the-total-mxnet.ipynb from mine.ipynb as it was saved")
    assert len(ran.text.splitlines()) == 1
    assert path.with_name("hand-in-the-total-mxnet.ipynb").exists()


def test_what_was_run_but_not_saved_is_told(kernel: Kernel):
    """An answer that was run last with another text than the file has is named."""
    saved(kernel, STUB)
    kernel.run(ANSWER)
    ran = kernel.run(PACK)

    assert ran.text.splitlines()[1:] == [
        "! total in the file is not what you ran last: "
        "save the notebook first, or run that cell again; then pack again.",
        "! Not written yet: total.",
    ]


def test_another_exercises_notebook_is_refused(kernel: Kernel):
    """A name that leads to another notebook than the cell's own is an error, not a wrong file."""
    path = saved(kernel, ANSWER)
    ran = kernel.run(PACK.replace("the-total", "the-other").replace("pack()", f"pack({str(path)!r})"))

    assert (
        ran.outputs[-1]
        .traceback[0]
        .endswith(f"is another notebook: it says `{STAMP}`, and this cell `{STAMP.replace('the-total', 'the-other')}`.")
    )


def test_visual_studio_code_says_which_notebook_it_is(kernel: Kernel, tmp_path: Path):
    """Its variable in the user's namespace is looked at first."""
    other = notebook(tmp_path / "other.ipynb", cell(ANSWER))
    ran = kernel.run(f"__vsc_ipynb_file__ = {str(other)!r}\n{PACK}\ndel __vsc_ipynb_file__")

    assert "from other.ipynb as" in ran.text


def test_cells_that_run_elsewhere_are_packed_all_the_same(tmp_path: Path):
    """Where MXNet's cells run in another kernel, checks run there, and the cell that packs in the notebook's own."""
    path = notebook(tmp_path / "mine.ipynb", cell(STUB))
    set_up = f"from asynclab.elsewhere import run_cells_elsewhere\nrun_cells_elsewhere({str(INNER)!r})"
    with running(environment("3.13", "ipykernel")) as kernel:
        kernel.run(set_up)
        kernel.run(f"from asynclab import exercises\nimport sys\n{ANSWER}".replace("# answer", "# no answer"))
        checked = kernel.run("exercises.check(total, 3, gives=6)\nprint(sys.version_info[1])").text
        wrong = kernel.run("exercises.check(total, 3, gives=7)")
        kernel.run(ANSWER)
        # Visual Studio Code tells the outer kernel alone, in which a cell runs that names this function.
        kernel.run(f"# run_cells_elsewhere\n__vsc_ipynb_file__ = {str(path)!r}")
        named = kernel.run(PACK)

    assert checked == "✓ total(3) = 6\n11\n"
    assert wrong.outputs[-1].traceback == ["✗ total(3)", "  gave      6", "  expected  7"]
    assert "from mine.ipynb as" in named.text
    assert "! total in the file is not what you ran last" in named.text


def test_a_helper_of_the_check_is_not_what_is_unwritten(capsys: pytest.CaptureFixture[str]):
    """Where a check's own function calls the answer, the answer is named, and functions are shown by their names."""

    def train(steps: int) -> int:
        raise NotImplementedError

    def steps_of(function: Callable[[int], int]) -> int:
        return function(3)

    exercises.check(steps_of, train, gives=3)
    exercises.check(steps_of, lambda steps: steps, gives=3)

    assert capsys.readouterr().out.splitlines() == ["\N{EN DASH} train is not written yet", "✓ steps_of(<lambda>) = 3"]
