"""A clone of the repository as a workflow has it, for tests of what workflows call."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from books import REPOSITORY, Built, run

#: What scripts and the Makefile may find on the path; a test takes from it what is to be missing.
PROGRAMS = ("bash", "cat", "date", "dirname", "env", "find", "git", "grep", "make", "mktemp", "rm", "sort")
#: What whoever runs the tests may have set, and what would change what scripts do.
SETTINGS = (
    *("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "RUN", "FRAMEWORK", "PAGES", "RETRIES", "IN", "IMAGE", "PYTHON"),
    *("GITHUB_ACTIONS", "GITHUB_OUTPUT", "RUNNER_ENVIRONMENT"),
)


@dataclass(frozen=True)
class Clone:
    """A clone as a workflow has it: shallow, and on no branch.

    Attributes:
        root: The clone.
        remote: What it was cloned from, without a work tree.
        programs: All that the path holds.
    """

    root: Path
    remote: Path
    programs: Path

    def make(self, *arguments: str) -> Built:
        """Call make in the clone."""
        return run("make", *arguments, cwd=self.root)

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        """Ask git."""
        asked = run("git", *arguments, cwd=cwd or self.root)
        assert asked.status == 0, asked.output
        return asked.output

    def program(self, name: str, line: str = "") -> None:
        """Put a program on the path that notes how it is called, and then runs a line of shell."""
        log, path = self.programs.with_name(name), self.programs / name
        # A link to the real one: written through, it would be lost.
        path.unlink(missing_ok=True)
        path.write_text(f"#!/usr/bin/env bash\nprintf '%s\\n' \"$@\" $'\\f' >> '{log}'\n{line}\n", "utf8")
        path.chmod(0o755)

    def calls(self, name: str) -> list[list[str]]:
        """How that program was called: the lines of its arguments, call by call."""
        return [
            call.strip("\n").split("\n") for call in self.programs.with_name(name).read_text("utf8").split("\f")[:-1]
        ]

    def called(self, name: str) -> bool:
        """Whether that program was called at all."""
        return self.programs.with_name(name).exists()

    def branches(self) -> list[str]:
        """The branches of the remote other than main."""
        found = self.git("for-each-ref", "--format=%(refname:short)", "refs/heads", cwd=self.remote).split()
        return [name for name in found if name != "main"]


def make_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    """Make a clone with recorded runs, and take every setting of who runs the tests away."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in PROGRAMS:
        (programs / name).symlink_to(shutil.which(name) or f"no {name}")
    (programs / "python3").symlink_to(sys.executable)
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    person = {f"GIT_{role}_{key}": "tests@invalid" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
    settings = {"PATH": str(programs), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    for name, value in (settings | person).items():
        monkeypatch.setenv(name, value)

    origin, found = tmp_path / "origin", Clone(tmp_path / "clone", tmp_path / "remote", programs)
    (origin / "runs" / "gpu").mkdir(parents=True)
    for name in ("kept", "changed", "removed"):
        (origin / "runs" / "gpu" / f"{name}.json").write_text(f"{name}\n", "utf8")
    (origin / "requirements").mkdir()
    for name in ("Makefile", "requirements/uv.txt", ".gitignore"):
        shutil.copy(REPOSITORY / name, origin / name)
    shutil.copytree(REPOSITORY / ".ci", origin / ".ci", ignore=shutil.ignore_patterns("__pycache__"))
    found.git("init", "--quiet", "--initial-branch=main", cwd=origin)
    found.git("add", ".", cwd=origin)
    found.git("commit", "--quiet", "--message=First", cwd=origin)
    found.git("commit", "--quiet", "--message=Second", "--allow-empty", cwd=origin)
    found.git("clone", "--quiet", "--bare", str(origin), str(found.remote), cwd=tmp_path)
    found.git("clone", "--quiet", "--depth=1", found.remote.as_uri(), str(found.root), cwd=tmp_path)
    found.git("checkout", "--quiet", "--detach")
    return found
