"""Environments: made from their pins, left alone when they are up to date, and what is said when one cannot be made."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from books import MINIBOOK, Book, cell, tabs

from polybook.environments import PYTHON_VERSION, make_environments
from polybook.errors import ConfigError, EnvironmentFailed
from polybook.options import Options, config_file_options

#: Stands for uv: notes its call, makes what a call would make, and fails where a file of pins says so.
FAKE_UV = """#!/bin/sh
echo "${VIRTUAL_ENV-no VIRTUAL_ENV}: $*" >> "$UV_LOG"
for last; do :; done
case "$1 $2" in
  "venv --quiet")
    if [ "$3" != --clear ] && [ -n "$(ls -A "$last" 2>&-)" ]; then echo "a directory already exists" >&2; exit 2; fi
    rm -rf "$last"; mkdir -p "$last/bin"; touch "$last/bin/python" "$last/pyvenv.cfg" ;;
  "pip sync")
    if grep -q no-wheel "$last"; then echo "error: mxnet has no wheels with a matching platform tag" >&2; exit 1; fi ;;
esac
"""


@dataclass(frozen=True)
class Place:
    """A copy of the minibook whose environments are made by a fake uv.

    Attributes:
        root: The book's folder.
        log: Where the fake uv notes its calls.
    """

    root: Path
    log: Path

    @property
    def options(self) -> Options:
        """The book's settings, read anew."""
        return config_file_options(self.root)

    def make(self, *names: str) -> list[str]:
        """Make environments."""
        return make_environments(self.options, names)

    def calls(self) -> list[str]:
        """The calls of uv since the last time, with the book's folder left out."""
        text = self.log.read_text() if self.log.exists() else ""
        self.log.unlink(missing_ok=True)
        return text.replace(f"{self.root}/", "").replace(str(self.root), ".").splitlines()

    def pins(self, name: str) -> Path:
        """A framework's file of pins."""
        return self.root / "requirements" / f"{name}.txt"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A copy of the minibook without environments, and a fake uv in `$UV`."""
    root = tmp_path / "book"
    shutil.copytree(MINIBOOK, root)
    uv = tmp_path / "uv"
    uv.write_text(FAKE_UV)
    uv.chmod(0o755)
    monkeypatch.setenv("UV", str(uv))
    monkeypatch.setenv("UV_LOG", str(tmp_path / "log"))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    return Place(root, tmp_path / "log")


def made(name: str, clear: str = "") -> list[str]:
    """The calls that make one environment."""
    python = f".venv-{name}/bin/python"
    return [
        f"no VIRTUAL_ENV: venv --quiet {clear}--python {PYTHON_VERSION} .venv-{name}",
        f"no VIRTUAL_ENV: pip sync --quiet --python {python} --compile-bytecode requirements/{name}.txt",
    ]


def test_all_environments_are_made(place: Place):
    """Every framework gets an environment of its own, synchronised with its pins."""
    assert place.make() == ["alpha", "beta"]
    assert place.calls() == made("alpha") + made("beta")


def test_only_what_is_named_is_made(place: Place):
    """Naming a framework makes its environment and no other."""
    assert place.make("beta") == ["beta"]
    assert place.calls() == made("beta")


def test_second_time_nothing_is_done(place: Place):
    """An environment that is up to date is left alone: uv is not even called."""
    place.make()
    place.calls()

    assert (place.make(), place.calls()) == ([], [])


def test_changed_pins_are_synchronised(place: Place):
    """A change of the pins changes the environment that is there, and no other."""
    place.make()
    place.calls()
    with place.pins("beta").open("a") as file:
        file.write("six==1.17.0\n")

    assert place.make() == ["beta"]
    assert place.calls() == made("beta")[1:]
    assert place.make() == []


def test_moved_book_is_made_again(place: Place):
    """The project is installed by its path: in another folder an environment is brought up to date."""
    place.make()
    place.calls()
    moved = Place(place.root.rename(place.root.with_name("moved")), place.log)

    assert moved.make() == ["alpha", "beta"]


def test_project_is_installed_without_its_dependencies(place: Place):
    """A book that is a project is installed into each environment, again when its own file changes."""
    project = place.root / "pyproject.toml"
    project.write_text("[project]\n")
    install = "no VIRTUAL_ENV: pip install --quiet --python .venv-alpha/bin/python --no-deps --editable ."

    place.make("alpha")
    first = place.calls()
    project.write_text("[project]\nname = 'x'\n")
    place.make("alpha")

    assert first == [*made("alpha"), install]
    assert place.calls() == [made("alpha")[1], install]


def test_environment_without_its_python_is_made_anew(place: Place):
    """When the Python of an environment is gone, what is left of it is cleared and made again."""
    place.make("alpha")
    place.calls()
    python = place.root / ".venv-alpha" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3.11")

    assert place.make("alpha") == ["alpha"]
    assert place.calls() == made("alpha", clear="--clear ")


def test_folder_that_is_no_environment_is_not_emptied(place: Place):
    """A wrong path in the configuration costs no file: only an environment is cleared."""
    config = place.root / "_config.yml"
    config.write_text(config.read_text().replace("environment: .venv-alpha", "environment: lab"))

    with pytest.raises(EnvironmentFailed, match="a directory already exists"):
        place.make("alpha")

    assert (place.root / "lab" / "__init__.py").is_file()


def test_interpreter_is_left_alone(place: Place):
    """A framework that names an interpreter has its environment from elsewhere."""
    (place.root / ".venv-alpha").touch()

    assert place.make() == ["beta"]
    assert place.calls() == made("beta")


def test_own_environment_does_not_leak(place: Place, monkeypatch: pytest.MonkeyPatch):
    """`VIRTUAL_ENV`, which would send uv to the book's own environment, does not reach it."""
    monkeypatch.setenv("VIRTUAL_ENV", "/book/.venv")

    place.make("alpha")

    assert place.calls() == made("alpha")


def test_one_that_fails_does_not_stop_the_others(place: Place):
    """Where one platform has no wheel, the message has uv's words and tells what still works."""
    place.pins("alpha").write_text("no-wheel==1\n")

    with pytest.raises(EnvironmentFailed) as caught:
        place.make()

    assert str(caught.value) == (
        "The environment of Alpha could not be made: `uv pip sync` said:\n"
        "error: mxnet has no wheels with a matching platform tag\n"
        "What still works: beta. Run its cells with `python -m polybook run --framework beta`."
        " Pages that show a framework without an environment cannot be built on this machine.\n"
        "A package without a wheel for this machine's platform can only be had on another machine."
    )
    assert place.calls() == made("alpha") + made("beta")


def test_what_was_made_before_still_works(place: Place):
    """Frameworks that were not asked for and are there are named among what still works."""
    place.make("beta")
    place.pins("alpha").write_text("no-wheel==1\n")

    with pytest.raises(EnvironmentFailed, match="What still works: beta"):
        place.make("alpha")


def test_configured_interpreter_still_works(place: Place):
    """A framework with an interpreter from elsewhere is named among what still works."""
    (place.root / ".venv-alpha").touch()
    place.pins("beta").write_text("no-wheel==1\n")

    with pytest.raises(EnvironmentFailed, match="What still works: alpha"):
        place.make()


def test_nothing_works(place: Place):
    """Where all fail, all are told and nothing is said to work."""
    for name in ("alpha", "beta"):
        place.pins(name).write_text("no-wheel==1\n")

    with pytest.raises(EnvironmentFailed) as caught:
        place.make()

    assert str(caught.value).count("could not be made") == 2
    assert "still works" not in str(caught.value)


def test_failure_is_not_remembered_as_success(place: Place):
    """An environment that was made, and whose new pins failed, is tried again each time, and healed by good pins."""
    place.make("alpha")
    good = place.pins("alpha").read_text()
    place.pins("alpha").write_text("no-wheel==1\n")

    for _ in range(2):
        place.calls()
        with pytest.raises(EnvironmentFailed):
            place.make("alpha")
        assert place.calls() == made("alpha")[1:]
    place.pins("alpha").write_text(good)

    assert place.make("alpha") == ["alpha"]


def test_missing_pins_are_told(place: Place):
    """Where there is no file of pins, the message says which one is missing and how it comes to be."""
    place.pins("alpha").unlink()

    with pytest.raises(EnvironmentFailed, match=r"no file .*requirements/alpha.txt to make it from.\nWrite what"):
        place.make("alpha")


def test_missing_uv_is_told(place: Place, monkeypatch: pytest.MonkeyPatch):
    """Without uv the message says how to get it."""
    monkeypatch.delenv("UV")
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(EnvironmentFailed, match=r"uv is not installed\.\nRun `make environments`"):
        place.make("alpha")


@pytest.mark.parametrize("uv", ["/nowhere/uv", "/"])
def test_wrong_uv_is_told(place: Place, uv: str, monkeypatch: pytest.MonkeyPatch):
    """A `$UV` that cannot be started is told, not thrown at the author."""
    monkeypatch.setenv("UV", uv)

    with pytest.raises(EnvironmentFailed, match=r"Correct \$UV, or unset it"):
        place.make("alpha")


def test_unknown_name_makes_nothing(place: Place):
    """An unknown framework is told before anything is made."""
    with pytest.raises(ConfigError, match=r"framework 'gama' is unknown \(known: alpha, beta\)"):
        place.make("alpha", "gama")

    assert place.calls() == []


def test_third_framework(tmp_path: Path, environments: dict[str, Path]):
    """A third framework takes one entry of configuration and one file of pins, and is then in its tab."""
    root = tmp_path / "book"
    shutil.copytree(MINIBOOK, root)
    (root / ".venv-alpha").symlink_to(environments["alpha"])
    config = root / "_config.yml"
    beta = "      beta: {title: Beta, environment: .venv-beta}\n"
    gamma = "      gamma: {title: Gamma, environment: .venv-gamma}\n"
    config.write_text(config.read_text().replace(beta, beta + gamma))
    book = Book(root)
    book.keep_only(
        {
            "page": "---\nfile_format: mystnb\npolybook: {frameworks: [alpha, gamma]}\n---\n\n# Page\n\n"
            + cell("import tabulate; print('tabulate', tabulate.__version__)", "alpha")
            + cell("import six; print('six', six.__version__)", "gamma")
        }
    )

    assert make_environments(config_file_options(root), ["gamma"]) == ["gamma"]
    built = book.build()

    assert (built.status, built.cells_run) == (0, 2), built.output
    (panels,) = tabs(book.article("page"))
    assert list(panels) == ["Alpha", "Gamma"]
    assert ["tabulate 0.9.0" in panels["Alpha"].get_text(), "six 1.17.0" in panels["Gamma"].get_text()] == [True, True]
