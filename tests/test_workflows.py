"""The workflows of GitHub Actions: sound by schema, by a security linter and by our own rules, each seen to refuse.

No workflow runs in a test; what they call does: the Makefile's targets, and the script that opens a pull request, with
a remote and a ``gh`` of the test's own. The scripts for notebooks have tests of their own (``test_publishing.py``).
"""

from __future__ import annotations

import os
import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from books import BIN, REPOSITORY, Built, run
from clones import Clone, make_clone

from polybook.notebook_options import REPOSITORY_VARIABLE, SITE_VARIABLE
from polybook.options import config_file_options

GITHUB = REPOSITORY / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").iterdir())
CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1"

MAKE = re.compile(r"make ([a-z-]+)")
#: One sentence for the page of a workflow's run, with nothing in it that a shell would act on.
NOTE = re.compile(r'echo "::notice title=[\w ]+::[\w ,.\'()]+"')
SCRIPT = re.compile(r"\.ci/[a-z-]+")
#: What speaks to GitHub, and what a job that calls it may therefore write.
MAY_WRITE = {
    "make propose": {("contents", "write"), ("pull-requests", "write")},
    "make publish-notebooks": {("contents", "write")},
    ".ci/report-notebooks": {("issues", "write")},
}
DEPLOYMENT = {("pages", "write"), ("id-token", "write")}
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
USES = re.compile(r"^\s*(?:- )?uses:\s*(.*)$", re.MULTILINE)
VERSION = re.compile(r"\S+ # v\d+\.\d+\.\d+")

#: Ways to break a workflow, for each gate: the workflow, what to replace, and by what.
MISTAKES = {
    "key": ("test", "    runs-on:", "    run-on:"),
    "value": ("record", "contents: write", "contents: push"),
    "event": ("publish", "  workflow_dispatch:", "  by_hand:"),
}
HOLES = {
    "template-injection": ("record", "run: make record", "run: make record RUN=${{ inputs.run }}"),
    "unpinned-uses": ("test", CHECKOUT, "actions/checkout@v7"),
    "unpinned-images": ("test", "@sha256:", ":"),
    "artipacked": ("record", "persist-credentials: false", "clean: true"),
    "excessive-permissions": ("publish", "permissions: {}", "permissions: write-all"),
    "unsound-condition": ("notebooks", "if: always() &&", "if: |\n      ${{ always() }} &&"),
    "dangerous-triggers": ("test", "  pull_request:", "  pull_request_target:"),
}
BREACHES = [
    ("no target sight", "publish", "run: make site", "run: make sight"),
    ("not one call", "publish", "run: make site", "run: make site | tee log"),
    ("not one call", "publish", "run: make site", "run: make site || true"),
    ("not one call", "publish", "run: make site", "run: make site; true"),
    ("not one call", "publish", "run: make site", "run: |\n          make site\n          true"),
    ("not one call", "record", "run: make record", "run: make record RUN=${{ inputs.run }}"),
    ("not one call", "record", "names no runner", "names $(make record)"),
    ("not one call", "test", "run: .ci/run", "run: pytest"),
    ("not one call", "notebooks", "run: make run-notebooks", "run: make run-notebooks IMAGE=${{ inputs.image }}"),
    ("no script", "test", "run: .ci/run", "run: .ci/run-it"),
    ("sees the token", "publish", "          POLYBOOK_SITE:", "          GH_TOKEN: ${{ github.token }}\n          X:"),
    (
        "sees the token",
        "record",
        "    env:\n      # Make",
        "    env:\n      GH_TOKEN: ${{ github.token }}\n      # Make",
    ),
    ("may write contents", "publish", "contents: read # to check", "contents: write # to check"),
    ("may write issues", "publish", "pages: read # to ask", "issues: write # to ask"),
    ("may write pages", "notebooks", "contents: read # to check", "pages: write # to check"),
    ("not pinned", "test", CHECKOUT, "actions/checkout@v7 # v7.0.1"),
    ("not pinned", "test", CHECKOUT, "actions/checkout@3d3c42e # v7.0.1"),
    ("no version", "test", CHECKOUT, CHECKOUT.partition(" #")[0]),
    ("no timeout-minutes", "test", "    timeout-minutes: 60\n", ""),
    ("not the shell by name", "test", "    shell: bash\n", "    shell: sh\n"),
    ("shell is set", "test", "run: .ci/run", "run: .ci/run\n        shell: sh"),
    ("continue-on-error is set", "test", "run: .ci/run", "run: .ci/run\n        continue-on-error: true"),
]


def schema(*paths: Path, name: str = "github-workflows") -> Built:
    """Check files by a schema that comes with check-jsonschema."""
    return run(str(BIN / "check-jsonschema"), "--builtin-schema", f"vendor.{name}", *map(str, paths), cwd=REPOSITORY)


def zizmor(path: Path) -> Built:
    """Look for what an attacker could use, with every rule there is, and without looking anything up."""
    options = ("--offline", "--no-config", "--no-progress", "--strict-collection", "--persona", "auditor")
    return run(str(BIN / "zizmor"), *options, str(path), cwd=REPOSITORY)


def mappings(node: Any) -> Iterator[dict[Any, Any]]:
    """Every mapping in a document, from the outside in."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    for child in node if isinstance(node, list) else ():
        yield from mappings(child)


def wrong_command(command: str) -> str | None:
    """What is wrong with a step's command: it has to be one that people run as well, and nothing around it."""
    called = MAKE.fullmatch(command)
    if called:
        targets = re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text("utf8"), re.MULTILINE)
        return None if called[1] in targets else f"the Makefile has no target {called[1]}"
    if SCRIPT.fullmatch(command):
        return None if os.access(REPOSITORY / command, os.X_OK) else f"there is no script {command}"
    return None if NOTE.fullmatch(command) else f"{command!r} is not one call of make"


def wrong_trust(name: str, job: dict[str, Any]) -> list[str]:
    """What is wrong with whom a job trusts: only what speaks to GitHub sees a token, only a job with that may write."""
    speaks = [step for step in job["steps"] if step.get("run") in MAY_WRITE]
    sees = [step for step in job["steps"] if "github.token" in str(step.get("env"))]
    found = [f"{step.get('run')} of {name} sees the token" for step in sees if step not in speaks]
    found += [f"the whole of {name} sees the token"] * ("github.token" in str(job.get("env")))
    asked = {(scope, access) for scope, access in job.get("permissions", {}).items() if access == "write"}
    allowed = {grant for step in speaks for grant in MAY_WRITE[step["run"]]} | (
        DEPLOYMENT if uses(job, "deploy-pages") else set()
    )
    return found + [f"{name} may write {scope} for nothing" for scope, _ in sorted(asked - allowed)]


def uses(job: dict[str, Any], action: str) -> bool:
    """Whether a job uses an action of GitHub's."""
    return any(str(step.get("uses")).startswith(f"actions/{action}@") for step in job["steps"])


def problems(path: Path) -> list[str]:
    """What our own rules find wrong with a workflow."""
    text = path.read_text("utf8")
    document = yaml.safe_load(text)
    found = [f"{name} has no timeout-minutes" for name, job in document["jobs"].items() if "timeout-minutes" not in job]
    if document.get("defaults") != {"run": {"shell": "bash"}}:
        found.append("bash is not the shell by name: a failure left of a pipe would pass")
    for name, job in document["jobs"].items():
        found += wrong_trust(name, job)
    for mapping in mappings(document["jobs"]):
        found += [f"{key} is set in a job" for key in ("continue-on-error", "shell", "defaults") if key in mapping]
        if isinstance(mapping.get("run"), str):
            found += filter(None, [wrong_command(mapping["run"])])
        if "uses" in mapping and not PINNED.fullmatch(mapping["uses"]):
            found.append(f"{mapping['uses']} is not pinned to a commit")
    return found + [f"{use} has no version beside it" for use in USES.findall(text) if not VERSION.fullmatch(use)]


@pytest.fixture
def broken(tmp_path: Path) -> Callable[..., Path]:
    """Copy a workflow and replace a piece of it."""

    def copy(name: str, old: str, new: str) -> Path:
        text = (GITHUB / "workflows" / f"{name}.yml").read_text("utf8")
        assert old in text
        path = tmp_path / f"{name}.yml"
        path.write_text(text.replace(old, new, 1), "utf8")
        return path

    return copy


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_keeps_our_rules(path: Path):
    """Every workflow calls make targets only, names its limits and its shell, and hides no failure."""
    assert problems(path) == []


def test_workflows_follow_the_schema():
    """What GitHub reads follows GitHub's schemas."""
    workflows = schema(*WORKFLOWS)
    dependabot = schema(GITHUB / "dependabot.yml", name="dependabot")

    assert workflows.status == 0, workflows.output
    assert dependabot.status == 0, dependabot.output


def test_workflows_give_nothing_away():
    """The strictest security linting finds nothing, and did look at every file."""
    looked = zizmor(GITHUB)

    assert looked.status == 0, looked.output
    assert looked.output.count("completed") == len(WORKFLOWS) + 1


@pytest.mark.parametrize("mistake", MISTAKES)
def test_schema_refuses_a_mistake(broken: Callable[..., Path], mistake: str):
    """A key or a value that GitHub does not know is refused."""
    looked = schema(broken(*MISTAKES[mistake]))

    assert looked.status == 1
    assert "Schema validation errors" in looked.output


@pytest.mark.parametrize("finding", HOLES)
def test_linter_refuses_a_hole(broken: Callable[..., Path], finding: str):
    """What lets others in is refused, by the name of the rule."""
    looked = zizmor(broken(*HOLES[finding]))

    assert looked.status != 0
    assert f"[{finding}]" in looked.output


@pytest.mark.parametrize(("problem", "name", "old", "new"), BREACHES)
def test_our_rules_refuse_a_breach(broken: Callable[..., Path], problem: str, name: str, old: str, new: str):
    """Each of our own rules refuses the workflow that breaks it, and only that rule does."""
    found = problems(broken(name, old, new))

    assert len(found) == 1, found
    assert problem in found[0]


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    """A clone with recorded runs, without any setting of who runs the tests."""
    return make_clone(tmp_path, monkeypatch)


def change_runs(clone: Clone) -> None:
    """Do what a recording does: a run is new, one differs and one is gone."""
    runs = clone.root / "runs" / "gpu"
    (runs / "new.json").write_text("new\n", "utf8")
    (runs / "changed.json").write_text("anew\n", "utf8")
    (runs / "removed.json").unlink()


def test_nothing_is_proposed_when_nothing_changed(clone: Clone):
    """Without a change below runs/ there is no branch and no pull request, and that is said."""
    clone.program("gh")
    (clone.root / "mine").write_text("mine\n", "utf8")

    proposed = clone.make("propose", "RUN=gpu")

    assert (proposed.status, clone.branches()) == (0, [])
    assert "Nothing changed under runs/" in proposed.output
    assert clone.calls("gh") == [["auth", "token"]]


def test_changed_runs_are_proposed(clone: Clone):
    """What changed below runs/ goes to a branch of its own and into a pull request; the work tree stays as it was."""
    clone.program("gh")
    change_runs(clone)
    (clone.root / "mine").write_text("mine\n", "utf8")
    clone.git("add", "mine")
    main, before = clone.git("rev-parse", "main", cwd=clone.remote), clone.git("status", "--porcelain")

    proposed = clone.make("propose", "RUN=gpu")

    assert proposed.status == 0, proposed.output
    (branch,) = clone.branches()
    assert re.fullmatch(r"runs/gpu-\d{4}-\d\d-\d\d-\d{6}", branch)
    changed = clone.git("diff", "--name-status", "main", branch, cwd=clone.remote).split()
    assert changed == ["M", "runs/gpu/changed.json", "A", "runs/gpu/new.json", "D", "runs/gpu/removed.json"]
    assert clone.git("rev-parse", "main", f"{branch}^", cwd=clone.remote) == main * 2
    assert clone.git("status", "--porcelain") == before
    _, call = clone.calls("gh")
    assert call[:6] == ["pr", "create", "--base", "main", "--head", branch]
    assert call[6:9] == ["--title", "Recorded runs: gpu", "--body"]
    assert "D\truns/gpu/removed.json" in call
    assert "GitHub" not in " ".join(call)


def test_a_workflow_says_how_to_start_the_tests(clone: Clone, monkeypatch: pytest.MonkeyPatch):
    """What a workflow opens starts no other workflow, so the pull request says what to do."""
    clone.program("gh")
    change_runs(clone)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")

    assert clone.make("propose", "RUN=gpu").status == 0
    assert "close it and open it again" in clone.calls("gh")[1][-1]


def test_a_pull_request_that_fails_is_a_failure(clone: Clone):
    """If gh opens no pull request the command fails and says where the runs are."""
    clone.program("gh", '[ "$1" != pr ]')
    change_runs(clone)

    proposed = clone.make("propose", "RUN=gpu")

    assert proposed.status != 0
    assert f"The runs are on the branch {clone.branches()[0]}" in proposed.output


def test_a_push_that_fails_is_a_failure(clone: Clone):
    """If the remote refuses the branch the command fails, and asks for no pull request."""
    clone.program("gh")
    change_runs(clone)
    (clone.remote / "hooks" / "pre-receive").write_text("#!/bin/sh\nexit 1\n", "utf8")
    (clone.remote / "hooks" / "pre-receive").chmod(0o755)

    assert clone.make("propose", "RUN=gpu").status != 0
    assert clone.calls("gh") == [["auth", "token"]]


@pytest.mark.parametrize("missing", ["git", "gh"])
def test_a_missing_program_is_named_at_once(clone: Clone, missing: str):
    """Without git or gh the command fails and names it, even if there is nothing to propose."""
    clone.program("gh")
    (clone.programs / missing).unlink()

    proposed = clone.make("propose", "RUN=gpu")

    assert proposed.status != 0
    assert f"needs {missing}, which is missing" in proposed.output


def test_somebody_who_is_not_logged_in_learns_it_at_once(clone: Clone):
    """Without a login nothing is pushed, and the command says how to log in."""
    clone.program("gh", '[ "$1" != auth ]')
    change_runs(clone)

    proposed = clone.make("propose", "RUN=gpu")

    assert (proposed.status != 0, clone.branches()) == (True, [])
    assert "gh auth login" in proposed.output


@pytest.mark.parametrize("target", ["propose", "record"])
@pytest.mark.parametrize(
    "name", ["", "..", "../gpu", "-gpu", "a b", "a..b", "a;touch made", "$(shell touch made)", "`touch made`"]
)
def test_a_name_that_is_no_name_is_refused(clone: Clone, monkeypatch: pytest.MonkeyPatch, target: str, name: str):
    """Neither an empty name nor one that would leave runs/ or run something is taken, and nothing is made first."""
    clone.program("gh")
    monkeypatch.setenv("RUN", name)

    refused = clone.make(target)

    assert refused.status != 0
    assert "RUN must name the folder below runs/" in refused.output
    assert not (clone.root / "made").exists()
    assert not (clone.root / ".venv-book").exists()


def test_record_runs_the_pages_that_need_a_gpu(clone: Clone):
    """`make record` hands its settings over to polybook, once the environments are there."""
    clone.program("python")
    clone.program("uv")
    book = clone.root / ".venv-book"
    (book / "bin").mkdir(parents=True)
    (book / "bin" / "python").symlink_to(clone.programs / "python")
    for path in (clone.root / "requirements" / "book.txt", clone.root / "pyproject.toml", book / ".ready"):
        path.touch()

    recorded = clone.make("record", "RUN=h200.2", "FRAMEWORK=pytorch", "PAGES=one two")

    assert recorded.status == 0, recorded.output
    options = "--record runs/h200.2 --framework pytorch --retries 2 --needing gpu"
    assert clone.calls("python")[-1] == f"-m polybook run {options} one two".split()


def test_site_is_the_strict_book():
    """`make site` is `make book` with every demand on it."""
    planned = run("make", "--dry-run", "site", cwd=REPOSITORY)

    assert planned.status == 0, planned.output
    assert re.search(r"make.* book STRICT=1 REQUIRE_RECORDED=1$", planned.output, re.MULTILINE)


def jobs(name: str) -> dict[str, Any]:
    """The jobs of a workflow."""
    found = yaml.safe_load((GITHUB / "workflows" / f"{name}.yml").read_text("utf8"))["jobs"]
    assert isinstance(found, dict)
    return found


def test_buttons_lead_somewhere():
    """The site is deployed after the notebooks that its buttons open, and those come from the same build."""
    publish = jobs("publish")

    assert publish["deploy"]["needs"] == ["build", "notebooks"]
    assert publish["notebooks"]["needs"] == "build"
    handed, taken = (
        next(step["with"] for name in publish for step in publish[name]["steps"] if f"/{action}@" in str(step))
        for action in ("upload-artifact", "download-artifact")
    )
    assert handed["path"].split() == [f"{taken['path']}/notebooks", f"{taken['path']}/wheels"]
    assert handed["name"] == taken["name"]


def test_site_knows_where_it_is_published():
    """The build is told the site's address, by GitHub itself, and the repository, by the names that polybook reads."""
    steps = jobs("publish")["build"]["steps"]

    told = next(step["env"] for step in steps if step.get("run") == "make site")
    assert told == {
        SITE_VARIABLE: "${{ steps.pages.outputs.base_url }}",
        REPOSITORY_VARIABLE: "https://github.com/${{ github.repository }}",
    }
    asked = next(step for step in steps if step.get("id") == "pages")
    assert asked["uses"].startswith("actions/configure-pages@")


def test_notebooks_go_to_the_branch_that_buttons_name():
    """The script's branch is the book's."""
    notebooks = config_file_options(REPOSITORY).notebooks

    assert notebooks
    assert f"\nbranch={notebooks.branch}\n" in (REPOSITORY / ".ci" / "publish-notebooks").read_text("utf8")


def test_report_knows_every_job():
    """What the issue speaks of are the jobs that it waits for, whatever they came to."""
    found = jobs("notebooks")
    script = runpy.run_path(str(REPOSITORY / ".ci" / "report-notebooks"), run_name="script")

    assert [*found] == [*found["report"]["needs"], "report"]
    assert [*script["WHERE"]] == found["report"]["needs"]
    assert found["report"]["if"].startswith("always()")
