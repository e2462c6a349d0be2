"""What workflows call besides make's own work: notebooks go to their branch, are run, and an issue tells if they fail.

The scripts run as they are, with a remote, a ``gh``, a ``docker`` and a Python of the test's own.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

import nbformat
import pytest
from books import Built, run
from clones import Clone, make_clone

NOTEBOOK = '{"cells": [], "source": "https://course.invalid/wheels/tool-1-py3-none-any.whl"}\n'
TITLE = "Notebooks no longer run as published"
#: What `needs` holds when all went well.
GREEN: dict[str, dict[str, object]] = {
    "build": {"result": "success", "outputs": {}},
    "colab": {"result": "success", "outputs": {"about": "image@sha256:1", "failed": ""}},
    "newest": {"result": "success", "outputs": {"about": "Python 3.15.0", "failed": ""}},
}
FAILED = {**GREEN, "colab": {"result": "failure", "outputs": {"about": "image@sha256:2", "failed": "a.ipynb b.ipynb"}}}


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    """A clone with a built site, and a ``gh`` that is logged in."""
    made = make_clone(tmp_path, monkeypatch)
    made.program("gh")
    for name in ("notebooks/alpha/one.ipynb", "notebooks/alpha/part/two.ipynb", "notebooks/beta/one.ipynb"):
        built(made, name, NOTEBOOK)
    for name in ("notebooks/alpha.zip", "wheels/tool-1-py3-none-any.whl", "index.html"):
        built(made, name, name)
    return made


def built(clone: Clone, name: str, text: str) -> Path:
    """Put a file into the built site."""
    path = clone.root / "_build" / "html" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf8")
    return path


def published(clone: Clone) -> list[str]:
    """The files on the branch."""
    return clone.git("ls-tree", "-r", "--name-only", "notebooks", cwd=clone.remote).split()


def commits(clone: Clone) -> list[str]:
    """The commits of the branch, newest first."""
    return clone.git("rev-list", "notebooks", cwd=clone.remote).split()


def test_first_publication_makes_the_branch(clone: Clone):
    """Notebooks and wheels, whatever git ignores here, are put on a branch that has only a page about them besides."""
    (clone.root / ".git" / "info" / "exclude").write_text("*.whl\n", "utf8")
    before = clone.git("status", "--porcelain", "--ignored")

    done = clone.make("publish-notebooks")

    assert done.status == 0, done.output
    assert published(clone) == [
        "README.md",
        "notebooks/alpha/one.ipynb",
        "notebooks/alpha/part/two.ipynb",
        "notebooks/beta/one.ipynb",
        "wheels/tool-1-py3-none-any.whl",
    ]
    assert clone.git("show", "notebooks:notebooks/beta/one.ipynb", cwd=clone.remote) == NOTEBOOK
    assert "make publish-notebooks" in clone.git("show", "notebooks:README.md", cwd=clone.remote)
    assert len(commits(clone)) == 1
    assert clone.git("status", "--porcelain", "--ignored") == before


def test_nothing_is_published_twice(clone: Clone):
    """If the branch has the same already there is no new commit, and that is said."""
    clone.make("publish-notebooks")
    before = commits(clone)

    again = clone.make("publish-notebooks")

    assert (again.status, commits(clone)) == (0, before)
    assert "has these notebooks already" in again.output


def test_a_change_is_a_commit_on_top(clone: Clone, tmp_path: Path):
    """From another shallow clone, what changed and what is gone is one commit whose parent is what was there."""
    clone.make("publish-notebooks")
    (before,) = commits(clone)
    clone.git("clone", "--quiet", "--depth=1", clone.remote.as_uri(), str(tmp_path / "other"), cwd=tmp_path)
    other = Clone(tmp_path / "other", clone.remote, clone.programs)
    for name in ("notebooks/alpha/one.ipynb", "notebooks/new.ipynb", "wheels/tool-2-py3-none-any.whl"):
        built(other, name, "new\n")

    done = other.make("publish-notebooks")

    assert done.status == 0, done.output
    assert published(clone) == [
        *("README.md", "notebooks/alpha/one.ipynb", "notebooks/new.ipynb", "wheels/tool-2-py3-none-any.whl"),
    ]
    assert commits(clone)[1:] == [before]
    commit = clone.git("rev-parse", "--short=10", "main", cwd=clone.remote).strip()
    assert clone.git("log", "-1", "--format=%s", "notebooks", cwd=clone.remote).strip() == f"Notebooks of {commit}"


def test_a_branch_with_other_things_is_left_alone(clone: Clone):
    """A branch of that name that holds what the script does not know is refused, and what is on it is named."""
    clone.git("branch", "notebooks", "main", cwd=clone.remote)
    before = commits(clone)

    refused = clone.make("publish-notebooks")

    assert (refused.status != 0, commits(clone)) == (True, before)
    assert "holds what this did not put there" in refused.output
    assert "Makefile" in refused.output


def test_what_somebody_else_published_is_never_lost(clone: Clone):
    """If the branch moves while this runs, the push is refused: history is only added to."""
    clone.make("publish-notebooks")
    git = (clone.programs / "git").resolve()
    theirs = clone.git("commit-tree", "-m", "theirs", "notebooks^{tree}", "-p", "notebooks", cwd=clone.remote).strip()
    move = f"{git} --git-dir='{clone.remote}' update-ref refs/heads/notebooks {theirs}"
    clone.program("git", f'"{git}" "$@" || exit\ncase " $* " in *" fetch "*) {move} ;; esac')
    built(clone, "notebooks/new.ipynb", NOTEBOOK)

    refused = clone.make("publish-notebooks")

    assert refused.status != 0
    assert "run it again" in refused.output
    assert commits(clone)[0] == theirs


def test_notebooks_that_cannot_install_are_not_published(clone: Clone):
    """A notebook that was built without knowing the site's address looks for wheels beside itself: it is named."""
    built(clone, "notebooks/beta/one.ipynb", '{"source": "../../wheels/tool-1-py3-none-any.whl"}\n')

    refused = clone.make("publish-notebooks")

    assert (refused.status != 0, clone.branches()) == (True, [])
    assert "_build/html/notebooks/beta/one.ipynb" in refused.output
    assert "alpha" not in refused.output
    assert "POLYBOOK_SITE" in refused.output


def test_a_site_that_is_not_built_is_told(clone: Clone):
    """Without a built site the command fails and says what to run."""
    clone.make("clean")

    refused = clone.make("publish-notebooks")

    assert (refused.status != 0, clone.branches()) == (True, [])
    assert "make site" in refused.output


def test_a_remote_that_does_not_answer_is_a_failure(clone: Clone, tmp_path: Path):
    """An unreachable remote is not taken for one that has no such branch."""
    clone.remote.rename(tmp_path / "away")

    refused = clone.make("publish-notebooks")

    assert refused.status != 0
    assert "does not say whether it has a branch notebooks" in refused.output


@pytest.mark.parametrize("missing", ["git", "gh"])
def test_a_missing_program_is_named(clone: Clone, missing: str):
    """Without git or gh the command fails and names it."""
    (clone.programs / missing).unlink()

    refused = clone.make("publish-notebooks")

    assert refused.status != 0
    assert f"needs {missing}, which is missing" in refused.output


def test_somebody_who_is_not_logged_in_publishes_nothing(clone: Clone):
    """Without a login nothing is pushed, and the command says how to log in."""
    clone.program("gh", '[ "$1" != auth ]')

    refused = clone.make("publish-notebooks")

    assert (refused.status != 0, clone.branches()) == (True, [])
    assert "gh auth login" in refused.output


def report(clone: Clone, monkeypatch: pytest.MonkeyPatch, needs: object, issues: object, fails: str = "-") -> Built:
    """Tell what jobs came to, where ``gh`` knows these open issues and fails for one subcommand."""
    clone.program("gh", f"[ \"$2\" != {fails} ] || exit 1\n[ \"$2\" != list ] || printf '%s' '{json.dumps(issues)}'")
    settings = {"SERVER_URL": "https://host.invalid", "REPOSITORY": "owner/name", "RUN_ID": "7"}
    for name, value in {f"GITHUB_{name}": value for name, value in settings.items()}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NEEDS", json.dumps(needs))
    return run(str(clone.root / ".ci" / "report-notebooks"), cwd=clone.root)


def test_nothing_is_reported_where_all_run(clone: Clone, monkeypatch: pytest.MonkeyPatch):
    """If every notebook ran and no issue is open, issues are looked at and nothing else is done."""
    other = {"number": 3, "title": f"{TITLE}, or so somebody says"}

    done = report(clone, monkeypatch, GREEN, [other])

    assert done.status == 0, done.output
    assert [call[:2] for call in clone.calls("gh")] == [["issue", "list"]]


def test_a_failure_opens_an_issue(clone: Clone, monkeypatch: pytest.MonkeyPatch):
    """The issue names the notebooks that failed, where they did, what they ran in, and where the logs are."""
    done = report(clone, monkeypatch, FAILED, [{"number": 3, "title": "Another"}])

    assert done.status == 0, done.output
    _, call = clone.calls("gh")
    assert call[:4] == ["issue", "create", "--title", TITLE]
    assert call[call.index("--body") + 1 :] == [
        "- Writing the notebooks: ran",
        "- In Colab's image (image@sha256:2): failed",
        "  - `a.ipynb`",
        "  - `b.ipynb`",
        "- In the newest Python (Python 3.15.0): ran",
        "",
        "The logs: https://host.invalid/owner/name/actions/runs/7",
    ]


def test_a_further_failure_is_a_comment(clone: Clone, monkeypatch: pytest.MonkeyPatch):
    """While the issue is open no second one is opened."""
    done = report(clone, monkeypatch, FAILED, [{"number": 3, "title": "Another"}, {"number": 8, "title": TITLE}])

    assert done.status == 0, done.output
    _, call = clone.calls("gh")
    assert call[:4] == ["issue", "comment", "8", "--body"]
    assert "  - `a.ipynb`" in call


def test_the_issue_is_closed_when_all_run_again(clone: Clone, monkeypatch: pytest.MonkeyPatch):
    """When every notebook runs the issue is closed, with the run that shows it."""
    done = report(clone, monkeypatch, GREEN, [{"number": 8, "title": TITLE}])

    assert done.status == 0, done.output
    _, call = clone.calls("gh")
    assert call[:5] == ["issue", "close", "8", "--comment", "They run again."]
    assert "The logs: https://host.invalid/owner/name/actions/runs/7" in call


@pytest.mark.parametrize(("result", "said"), [("cancelled", "took longer than it may"), ("skipped", "was not tried")])
def test_what_did_not_run_is_a_failure(clone: Clone, monkeypatch: pytest.MonkeyPatch, result: str, said: str):
    """A job that ended in no success, for whatever reason, keeps the issue open."""
    needs = {**GREEN, "newest": {"result": result, "outputs": {}}}

    done = report(clone, monkeypatch, needs, [{"number": 8, "title": TITLE}])

    assert done.status == 0, done.output
    assert clone.calls("gh")[1][:2] == ["issue", "comment"]
    assert said in "\n".join(clone.calls("gh")[1])


@pytest.mark.parametrize("fails", ["list", "create"])
def test_a_report_that_fails_is_a_failure(clone: Clone, monkeypatch: pytest.MonkeyPatch, fails: str):
    """If gh fails so does the job: nobody would learn of the notebooks otherwise."""
    done = report(clone, monkeypatch, FAILED, [], fails)

    assert done.status != 0
    assert f"`gh issue {fails}` failed" in done.output


def write_notebook(folder: Path, name: str, source: str) -> None:
    """Write a notebook of one cell."""
    path = folder / "notebooks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)]), path)


@pytest.fixture
def notebooks(clone: Clone) -> Path:
    """A folder of notebooks: one reads what lies beside it and writes a file, the other fails."""
    folder = clone.root / "_build" / "notebooks"
    (folder / "wheels").mkdir(parents=True)
    (folder / "wheels" / "tool.whl").write_text("found\n")
    good = "assert open('../../wheels/tool.whl').read() == 'found\\n'\nopen('left', 'w').close()"
    write_notebook(folder, "alpha/good.ipynb", good)
    write_notebook(folder, "alpha/bad.ipynb", "print('so far')\n1 / 0")
    return folder


@pytest.fixture
def python(clone: Clone) -> str:
    """A Python that makes environments without loading anything: theirs is the one that runs the tests."""
    clone.program("inner", f'[ "$2" = pip ] || exec "{sys.executable}" "$@"')
    clone.program(
        "python",
        f'case "$1" in --version) echo "Python 3.99" ;; esac\n'
        f'[ "$2" != venv ] || {{ "{sys.executable}" -c "import os, sys; os.makedirs(sys.argv[1] + \'/bin\'); '
        f'os.symlink(sys.argv[2], sys.argv[1] + \'/bin/python\')" "$3" "{clone.programs / "inner"}"; }}',
    )
    return str(clone.programs / "python")


def test_notebooks_run_in_a_fresh_environment(clone: Clone, notebooks: Path, python: str, tmp_path: Path):
    """Each runs where it lies in a copy of the folder; what failed is named, with its error, and to the workflow."""
    before = sorted(notebooks.rglob("*"))

    done = clone.make("run-notebooks", f"PYTHON={python}", f"GITHUB_OUTPUT={tmp_path / 'outputs'}")

    assert done.status != 0
    assert "notebooks/alpha/good.ipynb: ran" in done.output
    assert "notebooks/alpha/bad.ipynb: failed" in done.output
    assert "ZeroDivisionError" in done.output
    assert "Failed: notebooks/alpha/bad.ipynb\n" in done.output
    assert (tmp_path / "outputs").read_text() == "about=Python 3.99\nfailed=notebooks/alpha/bad.ipynb\n"
    assert sorted(notebooks.rglob("*")) == before
    environment = clone.calls("python")[-1][-1]
    assert clone.calls("python") == [["--version"], ["-m", "venv", environment]]
    assert clone.calls("inner")[0][:3] == ["-m", "pip", "install"]
    assert not Path(environment).exists()


def test_notebooks_that_all_run_are_a_success(clone: Clone, notebooks: Path, python: str, tmp_path: Path):
    """If none fails the command succeeds, and tells the workflow that none did."""
    (notebooks / "notebooks" / "alpha" / "bad.ipynb").unlink()

    done = clone.make("run-notebooks", f"PYTHON={python}", f"GITHUB_OUTPUT={tmp_path / 'outputs'}")

    assert done.status == 0, done.output
    assert "All 1 ran." in done.output
    assert (tmp_path / "outputs").read_text() == "about=Python 3.99\nfailed=\n"


def test_each_notebook_gets_a_container_of_its_own(clone: Clone, notebooks: Path, monkeypatch: pytest.MonkeyPatch):
    """With an image, its newest version is loaded, and each notebook runs in it, unable to write to the checkout."""
    answer = '[ "$1" != image ] || echo image@sha256:1\n[ "$1" != run ] || [[ "${*: -1}" != *bad* ]]'
    clone.program("docker", answer)
    clone.program("sudo")
    monkeypatch.setenv("IMAGE", "place.invalid/image:latest")

    done = clone.make("run-notebooks")

    pull, inspect, *runs = clone.calls("docker")
    assert (pull[0], inspect[:2]) == ("pull", ["image", "inspect"])
    assert pull[-1] == inspect[-1] == "place.invalid/image:latest"
    assert [call[-4:] for call in runs] == [
        ["place.invalid/image:latest", "/ci/run_notebook.py", "/book", f"notebooks/alpha/{name}.ipynb"]
        for name in ("bad", "good")
    ]
    mounts = [value for call in runs for option, value in itertools.pairwise(call) if option == "--volume"]
    assert mounts == [f"{notebooks}:/book:ro", f"{clone.root / '.ci'}:/ci:ro"] * 2
    assert all({"--rm", "python3", "--entrypoint"} <= set(call) for call in runs)
    assert "In image@sha256:1:" in done.output
    assert "Failed: notebooks/alpha/bad.ipynb\n" in done.output
    assert done.status != 0
    assert not clone.called("sudo")


def test_room_is_made_on_machines_of_github_only(clone: Clone, notebooks: Path, monkeypatch: pytest.MonkeyPatch):
    """What is removed to make room for the image is removed from a machine that GitHub throws away afterwards."""
    clone.program("docker")
    clone.program("sudo")
    monkeypatch.setenv("IMAGE", "place.invalid/image:latest")
    monkeypatch.setenv("RUNNER_ENVIRONMENT", "github-hosted")

    assert clone.make("run-notebooks").status == 0
    assert clone.calls("sudo")[0][:2] == ["rm", "-rf"]


def test_an_image_that_cannot_be_had_is_a_failure(clone: Clone, notebooks: Path, monkeypatch: pytest.MonkeyPatch):
    """If the image cannot be loaded nothing is said to have run."""
    clone.program("docker", '[ "$1" != pull ]')
    monkeypatch.setenv("IMAGE", "place.invalid/image:latest")

    done = clone.make("run-notebooks")

    assert done.status != 0
    assert len(clone.calls("docker")) == 1


def test_a_folder_without_notebooks_is_told(clone: Clone):
    """Where there is nothing to run the command fails: none is not all."""
    done = clone.make("run-notebooks", "IN=_build/nowhere")

    assert done.status != 0
    assert "no notebooks in _build/nowhere/notebooks. Run: make notebooks" in done.output
