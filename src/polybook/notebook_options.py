"""The settings for exported notebooks, validated once: ``polybook_notebooks`` in ``_config.yml``.

Pure: a mapping in, a frozen dataclass out. Where a site is published is known to whoever publishes it: environment
variables stand in for what the configuration leaves open.
"""

from __future__ import annotations

import os
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polybook.errors import ConfigError
from polybook.switches import environment_switch

#: Where the book is published; instead of Jupyter Book's own ``html: baseurl``.
SITE_VARIABLE = "POLYBOOK_SITE"
#: The repository whose branch holds the notebooks; instead of ``polybook_notebooks: repository``.
REPOSITORY_VARIABLE = "POLYBOOK_REPOSITORY"
#: Set to 1, notebooks keep their outputs.
OUTPUTS_VARIABLE = "POLYBOOK_OUTPUTS"

#: Services that open a notebook which lies in a public repository: what a reader sees, and the address.
SERVICES = {
    "colab": ("Colab", "https://colab.research.google.com/github/{owner}/{name}/blob/{branch}/{path}"),
    "kaggle": ("Kaggle", "https://www.kaggle.com/kernels/welcome?src={repository}/blob/{branch}/{path}"),
    "studiolab": (
        "Studio Lab",
        "https://studiolab.sagemaker.aws/import/github/{owner}/{name}/blob/{branch}/{path}",
    ),
}

#: What the template of the first cell may name.
FIRST_CELL_NAMES = ("framework", "title", "needs", "wheel", "mirror", "version")

_KEYS = {"repository", "branch", "launch", "mirror", "first_cell", "package", "check", "local"}
_REPOSITORY = re.compile(r"https://[\w.-]+/(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?")
_WEB = re.compile(r"https?://[^\s<>\"']+")
_FUNCTION = re.compile(r"[A-Za-z_][\w.]*")
_PLACEHOLDERS = {"owner", "name", "branch", "path", "repository"}


@dataclass(frozen=True)
class Launch:
    """A service that can open a notebook.

    Attributes:
        title: What a reader sees.
        address: The address, with placeholders in braces.
    """

    title: str
    address: str


@dataclass(frozen=True)
class NotebookOptions:
    """How notebooks are exported.

    Attributes:
        site: Where the site is published, ending in a slash; empty if that is not known.
        repository: The address of the repository whose branch holds the notebooks; empty if there is none.
        branch: That branch.
        launch: The services that can open a notebook.
        mirror: A package index for the first cell; empty for whatever the reader's machine uses.
        first_cell: The template of the first cell; None for no such cell.
        package: The folder of the package that readers install from the site; None if there is none.
        check: The function by which notebooks compare a reader's figures with the site's; empty for no such cells.
        local: The page, and behind ``#`` the place, that says how to run a notebook locally; empty if there is none.
        outputs: Whether notebooks keep their outputs.
    """

    site: str = ""
    repository: str = ""
    branch: str = "notebooks"
    launch: tuple[Launch, ...] = ()
    mirror: str = ""
    first_cell: Path | None = None
    package: Path | None = None
    check: str = ""
    local: str = ""
    outputs: bool = False

    def launch_address(self, launch: Launch, path: str) -> str:
        """Give the address at which a service opens a notebook.

        Args:
            launch: The service.
            path: The notebook's path in the branch.
        """
        match = _REPOSITORY.fullmatch(self.repository)
        owner, name = match.group("owner", "name") if match else ("", "")
        repository = self.repository.rstrip("/").removesuffix(".git")
        return launch.address.format(owner=owner, name=name, branch=self.branch, path=path, repository=repository)


def read_notebook_options(value: object, site: str, root: Path) -> NotebookOptions | None:
    """Validate ``polybook_notebooks``.

    Args:
        value: The setting.
        site: Where the site is published, if the configuration says so (``html: baseurl``).
        root: The book's folder.

    Returns:
        The options; None if the book exports no notebooks.

    Raises:
        ConfigError: If something is wrong with it.
    """
    if value in ({}, None):
        return None
    if not isinstance(value, Mapping):
        raise ConfigError(f"_config.yml: `polybook_notebooks` is {value!r}, but has to be a mapping.\nCorrect it.")
    unknown = sorted(map(str, set(value) - _KEYS))
    if unknown:
        raise ConfigError(
            f"_config.yml: `polybook_notebooks: {unknown[0]}` is unknown (known: {', '.join(sorted(_KEYS))}).\n"
            "Remove or correct it."
        )
    texts = {name: _text(name, value.get(name, "")) for name in _KEYS - {"launch"}}
    repository = _matching("repository", os.environ.get(REPOSITORY_VARIABLE) or texts["repository"], _REPOSITORY)
    launch = tuple(_launch(entry) for entry in _list("launch", value.get("launch", [])))
    site = _matching("html: baseurl", os.environ.get(SITE_VARIABLE) or site, _WEB)
    return NotebookOptions(
        site=f"{site.rstrip('/')}/" if site else "",
        repository=repository,
        branch=texts["branch"] or "notebooks",
        # A button that needs a repository leads nowhere without one.
        launch=tuple(entry for entry in launch if repository or not _needs_repository(entry)),
        mirror=_matching("mirror", texts["mirror"], _WEB),
        first_cell=_template(_existing("first_cell", root, texts["first_cell"], Path.is_file)),
        package=_existing("package", root, texts["package"], Path.is_dir),
        check=_matching("check", texts["check"], _FUNCTION),
        local=texts["local"],
        outputs=environment_switch(OUTPUTS_VARIABLE),
    )


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"_config.yml: `polybook_notebooks: {name}` is {value!r}, but has to be a text.\nCorrect it.")
    return value.strip()


def _list(name: str, value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ConfigError(
            f"_config.yml: `polybook_notebooks: {name}` is {value!r}, but has to be a list.\n"
            f"List services ({', '.join(SERVICES)}), or entries of `title` and `address`."
        )
    return value


def _matching(name: str, value: str, pattern: re.Pattern[str]) -> str:
    if value and not pattern.fullmatch(value):
        example = {"check": "package.function", "repository": "https://github.com/owner/name"}
        raise ConfigError(
            f"_config.yml: `{name}` is {value!r}, but has to look like {example.get(name, 'https://example.org/path')}.\n"
            "Correct it, or the environment variable that sets it."
        )
    return value


def _existing(name: str, root: Path, path: str, is_there: Any) -> Path | None:
    if path and not is_there(root / path):
        raise ConfigError(
            f"_config.yml: `polybook_notebooks: {name}` names {path!r}, which is not there.\nCorrect the path."
        )
    return root / path if path else None


def _template(path: Path | None) -> Path | None:
    """See that nothing but what is given stands behind a dollar sign in the template of the first cell."""
    template = string.Template(path.read_text("utf8")) if path else string.Template("")
    unknown = sorted(set(template.get_identifiers()) - set(FIRST_CELL_NAMES)) if template.is_valid() else [""]
    if unknown:
        raise ConfigError(
            f"{path}: the template of the first cell has {unknown[0]!r} behind a dollar sign "
            f"(known: {', '.join(FIRST_CELL_NAMES)}).\nCorrect it, or write a dollar sign as $$."
        )
    return path


def _launch(entry: object) -> Launch:
    if isinstance(entry, str) and entry in SERVICES:
        return Launch(*SERVICES[entry])
    if isinstance(entry, Mapping) and set(entry) == {"title", "address"}:
        launch = Launch(_text("launch: title", entry["title"]), _text("launch: address", entry["address"]))
        if _fields(launch) <= _PLACEHOLDERS and _WEB.match(launch.address):
            return launch
    raise ConfigError(
        f"_config.yml: `polybook_notebooks: launch` holds {entry!r} (known services: {', '.join(SERVICES)}).\n"
        "Name one of them, or write `{title: ..., address: ...}`, the address with any of "
        f"{', '.join(f'{{{name}}}' for name in sorted(_PLACEHOLDERS))} in it."
    )


def _needs_repository(launch: Launch) -> bool:
    return bool(_fields(launch) & {"owner", "name", "repository"})


def _fields(launch: Launch) -> set[str]:
    try:
        parsed = [entry for entry in string.Formatter().parse(launch.address) if entry[1] is not None]
    except ValueError:
        return {"(unbalanced)"}
    # No conversion, no format: a placeholder stands for a text as it is.
    return {f"{name}{form or ''}{conversion or ''}" for _, name, form, conversion in parsed}
