"""The settings of exported notebooks: what is taken, what is refused, and what publishing may set."""

from __future__ import annotations

from pathlib import Path

import pytest

from polybook.errors import ConfigError
from polybook.notebook_options import NotebookOptions, read_notebook_options

REPOSITORY = "https://github.com/some/course"
PATH = "notebooks/pytorch/x.ipynb"


@pytest.fixture(autouse=True)
def unpublished(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable says where the book is published."""
    for name in ("POLYBOOK_SITE", "POLYBOOK_REPOSITORY", "POLYBOOK_OUTPUTS"):
        monkeypatch.delenv(name, raising=False)


def read(root: Path = Path("/book"), site: str = "", **values: object) -> NotebookOptions:
    """Options of a book that wants notebooks."""
    found = read_notebook_options({"check": "lab.check", **values}, site, root)
    assert found is not None
    return found


@pytest.mark.parametrize("value", [{}, None])
def test_a_book_without_the_setting_exports_nothing(value: object):
    """Notebooks are for books that ask for them."""
    assert read_notebook_options(value, "", Path("/book")) is None


def test_known_services_open_the_notebook_in_the_repository():
    """Each address names owner, repository, branch and path."""
    options = read(repository=f"{REPOSITORY}.git", branch="out", launch=["colab", "kaggle", "studiolab"])

    addresses = [options.launch_address(launch, PATH) for launch in options.launch]
    assert addresses == [
        f"https://colab.research.google.com/github/some/course/blob/out/{PATH}",
        f"https://www.kaggle.com/kernels/welcome?src={REPOSITORY}/blob/out/{PATH}",
        f"https://studiolab.sagemaker.aws/import/github/some/course/blob/out/{PATH}",
    ]


def test_a_service_of_ones_own():
    """A hub has a title and an address with any of the placeholders."""
    hub = {"title": "Our hub", "address": "https://hub.example/git-pull?repo={repository}&branch={branch}&path={path}"}
    options = read(repository=REPOSITORY, launch=[hub])

    assert options.launch[0].title == "Our hub"
    assert options.launch_address(options.launch[0], PATH) == (
        f"https://hub.example/git-pull?repo={REPOSITORY}&branch=notebooks&path={PATH}"
    )


def test_without_a_repository_only_services_that_need_none_are_left():
    """No button leads nowhere."""
    own = {"title": "Hub", "address": "https://hub.example/{path}"}

    assert [launch.title for launch in read(launch=["colab", "kaggle", "studiolab", own]).launch] == ["Hub"]


def test_publishing_says_where_the_book_is(monkeypatch: pytest.MonkeyPatch):
    """The variables stand in for what the configuration leaves open, and go before it."""
    monkeypatch.setenv("POLYBOOK_SITE", "https://some.example/course")
    monkeypatch.setenv("POLYBOOK_REPOSITORY", REPOSITORY)
    monkeypatch.setenv("POLYBOOK_OUTPUTS", "1")
    options = read(site="https://other.example/", launch=["colab"])

    assert (options.site, options.repository, options.outputs) == ("https://some.example/course/", REPOSITORY, True)
    assert len(options.launch) == 1


@pytest.mark.parametrize(
    ("value", "outputs"),
    [
        *dict.fromkeys(("1", "yes", "TRUE", "on"), True).items(),
        *dict.fromkeys(("0", "no", "false", "Off", ""), False).items(),
    ],
)
def test_outputs_are_kept_or_not(monkeypatch: pytest.MonkeyPatch, value: str, outputs: bool):
    """Each way to say yes or no is understood."""
    monkeypatch.setenv("POLYBOOK_OUTPUTS", value)

    assert read().outputs is outputs


def test_a_switch_that_is_neither_on_nor_off_is_refused(monkeypatch: pytest.MonkeyPatch):
    """A typo is told, with all that is allowed."""
    monkeypatch.setenv("POLYBOOK_OUTPUTS", "ture")

    with pytest.raises(
        ConfigError, match="POLYBOOK_OUTPUTS is 'ture', but has to be 1, yes, true, on or 0, no, false, off"
    ):
        read()


def test_the_address_of_the_site_ends_in_a_slash():
    """Whatever is put behind it is a path."""
    assert read(site="https://some.example/course").site == "https://some.example/course/"
    assert read(site="").site == ""


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"first": "x"}, "`polybook_notebooks: first` is unknown (known: branch, check, first_cell, launch"),
        ({"branch": 3}, "`polybook_notebooks: branch` is 3, but has to be a text"),
        ({"launch": "colab"}, "`polybook_notebooks: launch` is 'colab', but has to be a list"),
        ({"launch": ["colob"]}, "holds 'colob' (known services: colab, kaggle, studiolab)"),
        ({"launch": [{"title": "x"}]}, "Name one of them, or write `{title: ..., address: ...}`"),
        ({"launch": [{"title": "x", "address": "https://x.example/{commit}"}]}, "{commit}"),
        ({"launch": [{"title": "x", "address": "https://x.example/{path"}]}, "https://x.example/{path"),
        ({"launch": [{"title": "x", "address": "javascript:{path}"}]}, "javascript:"),
        ({"repository": "some/course"}, "has to look like https://github.com/owner/name"),
        ({"mirror": "my mirror"}, "`mirror` is 'my mirror'"),
        ({"check": "lab check"}, "has to look like package.function"),
        ({"first_cell": "gone.py"}, "`polybook_notebooks: first_cell` names 'gone.py', which is not there"),
        ({"package": "src/gone"}, "`polybook_notebooks: package` names 'src/gone', which is not there"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, values: dict[str, object], said: str):
    """Where, what was found, and what is allowed."""
    with pytest.raises(ConfigError) as raised:
        read_notebook_options(values, "", tmp_path)

    assert said in str(raised.value)
    assert "_config.yml" in str(raised.value)


def test_the_setting_has_to_be_a_mapping():
    """A list is refused."""
    with pytest.raises(ConfigError, match="has to be a mapping"):
        read_notebook_options(["colab"], "", Path("/book"))


def test_a_wrong_address_of_the_site_is_told(monkeypatch: pytest.MonkeyPatch):
    """Also where a variable sets it."""
    monkeypatch.setenv("POLYBOOK_SITE", "some.example")

    with pytest.raises(ConfigError, match="or the environment variable that sets it"):
        read()


@pytest.mark.parametrize(("template", "said"), [("set_up('$frame')", "'frame'"), ("price = '$5'", "''")])
def test_a_template_that_names_nothing_known_is_told(tmp_path: Path, template: str, said: str):
    """Before a page is read, with what it may name; a dollar sign is written twice."""
    (tmp_path / "first.py").write_text(f"{template}\nprint('$$', '$title')\n", "utf8")

    with pytest.raises(ConfigError, match=rf"first\.py: .* has {said} behind a dollar sign \(known: framework, title"):
        read(tmp_path, first_cell="first.py")


@pytest.mark.parametrize("placeholder", ["{path!r}", "{path:>9}", "{path.x}", "{0}", "{}"])
def test_a_placeholder_stands_for_a_text_as_it_is(placeholder: str):
    """Formats and attributes would fail, or change the address, only when a page is read."""
    with pytest.raises(ConfigError, match="known services"):
        read(launch=[{"title": "x", "address": f"https://x.example/{placeholder}"}])
