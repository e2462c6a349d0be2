"""The book's settings: what is allowed, what it means, and how a mistake is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from books import options

from polybook.errors import ConfigError
from polybook.options import config_file_options, read_options

ALPHA = {"title": "Alpha", "environment": ".venv-alpha"}


def config(tmp_path: Path, text: str) -> Path:
    """Write a configuration and return its folder."""
    (tmp_path / "_config.yml").write_text(text, "utf8")
    return tmp_path


def test_nothing_set_is_fine():
    """A book that sets nothing has no frameworks, no packages and the usual store."""
    found = read_options({}, Path("/book"))

    assert (dict(found.frameworks), found.packages, found.store) == ({}, (), Path("/book/.polybook"))
    assert (found.timeout_s, found.execute, found.force, found.in_temp) == (30.0, True, False, False)


def test_frameworks_keep_their_order():
    """Frameworks come in the order of the configuration, not of the alphabet."""
    found = read_options({"polybook_frameworks": {"zeta": ALPHA, "alpha": ALPHA}}, Path("/book"))

    assert list(found.frameworks) == ["zeta", "alpha"]


def test_one_entry_is_enough_for_a_framework():
    """Title and environment are enough; the file of pins is where it always is."""
    found = read_options({"polybook_frameworks": {"alpha": ALPHA}}, Path("/book")).frameworks["alpha"]

    assert (found.name, found.title) == ("alpha", "Alpha")
    assert found.environment == Path("/book/.venv-alpha")
    assert found.requirements == Path("/book/requirements/alpha.txt")


def test_file_of_pins_can_be_named():
    """A framework may keep its pins elsewhere; absolute paths stay as they are."""
    entry = {"title": "Alpha", "environment": "/opt/alpha", "requirements": "pins/a.txt"}

    found = read_options({"polybook_frameworks": {"alpha": entry}}, Path("/book")).frameworks["alpha"]

    assert (found.environment, found.requirements) == (Path("/opt/alpha"), Path("/book/pins/a.txt"))


def test_interpreter_of_an_environment(tmp_path: Path):
    """An environment is a folder, there or not yet, whose interpreter is used, or an interpreter itself."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "python3").touch()
    environments = {name: {"title": "T", "environment": name} for name in ("folder", "missing", "python3")}

    found = read_options({"polybook_frameworks": environments}, tmp_path).frameworks

    assert found["folder"].python == tmp_path / "folder" / "bin" / "python"
    assert found["missing"].python == tmp_path / "missing" / "bin" / "python"
    assert found["python3"].python == tmp_path / "python3"


def test_own_tags_are_allowed_besides_the_known_ones():
    """`polybook_tags` adds to the tags of MyST-NB and the theme."""
    tags = options(polybook_tags=["exercise"]).tags

    assert {"exercise", "hide-input", "remove_cell", "raises-exception", "margin", "full-width"} <= tags
    assert "pytroch" not in tags


def test_packages_must_be_folders(tmp_path: Path):
    """A package that is there is found; one that is not stops the build and is named."""
    (tmp_path / "lab").mkdir()

    assert read_options({"polybook_packages": ["lab"]}, tmp_path).packages == (tmp_path / "lab",)
    with pytest.raises(ConfigError, match="`polybook_packages` names 'bal', which is no folder"):
        read_options({"polybook_packages": ["bal"]}, tmp_path)


@pytest.mark.parametrize(
    ("value", "seconds"), [(60, 60.0), (0.5, 0.5), (0, None), (-1, None), (None, None)], ids=lambda value: f"{value}"
)
def test_timeout_that_is_no_limit(value: float | None, seconds: float | None):
    """A timeout of none, zero or less is no limit, as for MyST-NB."""
    assert options(nb_execution_timeout=value).timeout_s == seconds


@pytest.mark.parametrize(
    ("mode", "execute", "force"),
    [("auto", True, False), ("cache", True, False), ("force", True, True), ("off", False, False)],
)
def test_execution_mode(mode: str, execute: bool, force: bool):
    """Jupyter Book's own switch says whether cells run, and whether fresh ones run again."""
    found = options(nb_execution_mode=mode)

    assert (found.execute, found.force) == (execute, force)


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("polybook_frameworks", ["alpha"], "has to be a mapping"),
        ("polybook_frameworks", None, "has to be a mapping"),
        ("polybook_frameworks", {"Alpha": ALPHA}, "is no name for a framework"),
        ("polybook_frameworks", {"al pha": ALPHA}, "is no name for a framework"),
        ("polybook_frameworks", {"é": ALPHA}, "is no name for a framework"),
        ("polybook_frameworks", {"": ALPHA}, "is no name for a framework"),
        ("polybook_frameworks", {1: ALPHA}, "is no name for a framework"),
        ("polybook_frameworks", {"alpha\n": ALPHA}, "is no name for a framework"),
        ("polybook_frameworks", {"hide-input": ALPHA}, "is no name for a framework"),
        ("polybook_frameworks", {"margin": ALPHA}, "is no name for a framework"),
        ("polybook_frameworks", {"alpha": None}, "needs a `title` and an `environment`"),
        ("polybook_frameworks", {"alpha": {"title": "Alpha"}}, "needs a `title` and an `environment`"),
        ("polybook_frameworks", {"alpha": {**ALPHA, "enviroment": 1}}, "unknown key 'enviroment'"),
        ("polybook_frameworks", {"alpha": {**ALPHA, "title": 2}}, "title` is 2, but has to be a text"),
        ("polybook_frameworks", {"alpha": {**ALPHA, "environment": ""}}, "environment` is '', but has to be a text"),
        ("polybook_tags", "exercise", "has to be a list of texts"),
        ("polybook_tags", [1], "has to be a list of texts"),
        ("polybook_packages", None, "has to be a list of texts"),
        ("polybook_store", None, "has to be a text"),
        ("nb_execution_timeout", "a minute", "has to be a number of seconds"),
    ],
)
def test_wrong_option_stops_the_build(name: str, value: object, what: str):
    """A setting of the wrong shape is an error that says where, what is allowed and what to do."""
    with pytest.raises(ConfigError, match=what) as caught:
        read_options({name: value}, Path("/book"))

    first, remedy = str(caught.value).split("\n", maxsplit=1)
    assert first.startswith("_config.yml: `")
    assert remedy.endswith(".")


def test_command_line_reads_the_same_configuration(tmp_path: Path):
    """Settings are read from below `sphinx: config` of `_config.yml`."""
    root = config(tmp_path, "sphinx:\n  config:\n    polybook_store: runs\n")

    assert config_file_options(root).store == tmp_path / "runs"


@pytest.mark.parametrize("text", ["", "title: T\n", "sphinx:\n", "sphinx:\n  config:\n", "# only a comment\n"])
def test_configuration_without_polybook(tmp_path: Path, text: str):
    """A configuration that does not mention polybook is one without frameworks."""
    assert not config_file_options(config(tmp_path, text)).frameworks


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a: [1\n", "is not valid YAML"),
        ("- a\n", "have to be mappings"),
        ("sphinx: [a]\n", "have to be mappings"),
        ("sphinx: {config: [a]}\n", "has to be a mapping"),
    ],
)
def test_broken_configuration_is_told(tmp_path: Path, text: str, what: str):
    """A configuration that is no mapping, or no YAML, is told with its path."""
    with pytest.raises(ConfigError, match=what) as caught:
        config_file_options(config(tmp_path, text))

    assert str(tmp_path / "_config.yml") in str(caught.value)


def test_folder_without_a_book_is_told(tmp_path: Path):
    """Where there is no `_config.yml`, the message says how to name a book."""
    with pytest.raises(ConfigError, match=r"No such file.*\n.*--book"):
        config_file_options(tmp_path)


def test_setting_in_the_wrong_place_is_told(tmp_path: Path):
    """A setting at the top of `_config.yml` would be read by nobody."""
    (tmp_path / "_config.yml").write_text("polybook_tags: [x]\n")

    with pytest.raises(ConfigError, match="`polybook_tags` stands at the top"):
        config_file_options(tmp_path)


def test_misspelt_setting_is_told(tmp_path: Path):
    """A setting that does not exist is an error, with those that do."""
    (tmp_path / "_config.yml").write_text("sphinx: {config: {polybook_tagz: [x]}}\n")

    with pytest.raises(ConfigError, match=r"polybook_tagz` is unknown \(known: .*polybook_tags"):
        config_file_options(tmp_path)
