"""Code in a process of its own: what comes back, and what is said when nothing does."""

from __future__ import annotations

import textwrap

import pytest

from asynclab import NewProcessError, in_new_process


@pytest.mark.parametrize("result", [1, 0.25, "täxt", True, None, [1, [2]], {"a": {"b": [None]}}])
def test_plain_data_come_back(result):
    """Numbers, texts, truth values, lists and dictionaries come back as they were."""
    assert in_new_process(f"result = {result!r}") == result


def test_code_without_a_result_gives_none():
    """To assign a result is not required."""
    assert in_new_process("x = 1") is None


def test_environment_variables_are_set_in_the_new_process_alone(monkeypatch):
    """They are there from the beginning, as text, beside those of this process; its standard input is not asked."""
    monkeypatch.setenv("KEPT", "kept")
    code = "import os; result = [os.environ[name] for name in ('KEPT', 'WORKERS', 'ENGINE')]"

    assert in_new_process(code, WORKERS=2, ENGINE="NaiveEngine") == ["kept", "2", "NaiveEngine"]
    assert in_new_process("import os; result = 'WORKERS' in os.environ") is False


def test_code_may_be_indented():
    """As it is where a function holds it in a text of several lines."""
    code = """
        def twice(x):
            return 2 * x
        result = twice(4)
    """

    assert in_new_process(code) == 8


def test_what_can_be_imported_here_can_be_imported_there(tmp_path, monkeypatch):
    """However it came to be found: a folder added to the path of this process is on that of the new one."""
    (tmp_path / "neighbour.py").write_text("value = 7")
    monkeypatch.syspath_prepend(tmp_path)

    assert in_new_process("import asynclab, neighbour; result = neighbour.value") == 7


def test_what_it_prints_is_printed_here(capfd):
    """It goes through this process's `print`, so that a notebook shows it; bytes that are no text hurt nobody."""
    in_new_process("import sys; print('one'); sys.stdout.flush(); sys.stdout.buffer.write(bytes([255, 10]))")

    printed = capfd.readouterr().out
    assert printed.startswith("one\n")
    assert printed.endswith("\n")


def test_the_code_is_a_main_program():
    """It finds its own names in its main module, is given no arguments, and nothing that it did not import."""
    code = """
        import pickle, sys, __main__

        class Mine: pass

        same = type(pickle.loads(pickle.dumps(Mine()))) is Mine
        result = [__name__, sys.argv[1:], same, sorted(name for name in vars(__main__) if not name.startswith("_"))]
    """

    assert in_new_process(code) == ["__main__", [], True, ["Mine", "pickle", "same", "sys"]]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("x = 1\n1 / 0", ["ended with status 1", "line 2, in <module>", "1 / 0", "ZeroDivisionError"]),
        ("x = (1\ny = 2", ["ended with status 1", "SyntaxError"]),
        ("result = object()", ["ended with status 1", "object is not JSON serializable"]),
        ("result = {1, 2}", ["set is not JSON serializable"]),
        ("import sys; sys.exit(3)", ["ended with status 3", "It wrote nothing"]),
        ("import sys; sys.exit('what a pity')", ["ended with status 1", "what a pity"]),
        ("import os; os.kill(os.getpid(), 9)", ["was killed by SIGKILL", "It wrote nothing"]),
        ("import os; os.abort()", ["was killed by SIGABRT"]),
        ("result = 1; import sys; sys.exit()", ["ended before it came to the end of the code"]),
        ("import os; os._exit(0)", ["ended before it came to the end of the code"]),
    ],
)
def test_failures_say_what_happened(code, told):
    """The error names how the process ended, the last that it wrote, and what to do."""
    with pytest.raises(NewProcessError) as caught:
        in_new_process(code)

    for part in [*told, "Run the code by itself", "variable `result`"]:
        assert part in str(caught.value)


def test_of_a_long_complaint_the_end_is_shown():
    """The last lines are those that say what went wrong."""
    with pytest.raises(NewProcessError) as caught:
        in_new_process(
            textwrap.dedent("""
            import sys
            for number in range(100):
                print("line", number, file=sys.stderr)
            sys.exit(1)
        """)
        )

    assert "line 88\n" in str(caught.value)
    assert "line 87\n" not in str(caught.value)
