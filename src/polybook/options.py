"""The book's settings for polybook, validated once: ``polybook_*`` in ``_config.yml``.

Pure: a mapping in, frozen dataclasses out. Used by the Sphinx extension and the command line alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from polybook.errors import ConfigError
from polybook.notebook_options import NotebookOptions, read_notebook_options
from polybook.switches import environment_switch

#: Tags that MyST-NB and Jupyter give a meaning to, both spellings where both are read.
MYST_NB_TAGS = frozenset(
    f"{verb}{separator}{part}"
    for verb in ("hide", "remove")
    for part in ("input", "output", "cell")
    for separator in "-_"
) | {
    "remove-stdout",
    "remove-stderr",
    "raises-exception",
    "skip-execution",
    "scroll-output",
    "output_scroll",
    "parameters",
}

#: Tags that sphinx-book-theme and sphinx-thebe give a meaning to.
THEME_TAGS = frozenset(
    {"margin", "sidebar", "full-width", "full_width", "popout", "thebe-init", "thebe-remove-input-init"}
)

#: The configuration values and their defaults, in the form Sphinx wants them.
DEFAULTS: dict[str, Any] = {
    "polybook_frameworks": {},
    "polybook_tags": [],
    "polybook_packages": [],
    "polybook_store": ".polybook",
    "polybook_probe": "",
    "polybook_variables": [],
    "polybook_runs": "runs",
    "polybook_require_recorded": False,
    "polybook_notebooks": {},
}

#: Settings of polybook's other extensions, which check them themselves.
OTHERS = frozenset({"polybook_needed_by"})

#: Where set to 1, the same as ``polybook_require_recorded``: ``jupyter-book build`` takes no options of ours.
REQUIRE_RECORDED = "POLYBOOK_REQUIRE_RECORDED"

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_PROBE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_FRAMEWORK_KEYS = {"title", "environment", "requirements"}


@dataclass(frozen=True)
class Framework:
    """A framework that pages may declare.

    Attributes:
        name: What tags, links and the command line call it, such as ``pytorch``.
        title: What a reader sees on the tab, such as ``PyTorch``.
        environment: A virtual environment's folder, or an interpreter, absolute.
        requirements: The file of exact pins that the environment is made from, absolute.
    """

    name: str
    title: str
    environment: Path
    requirements: Path

    @property
    def python(self) -> Path:
        """The interpreter that runs this framework's kernels."""
        if self.environment.is_dir() or not self.environment.exists():
            return self.environment / "bin" / "python"
        return self.environment


@dataclass(frozen=True)
class Options:
    """Everything that a book can set.

    Attributes:
        root: The book's folder; paths in messages are relative to it.
        frameworks: By name, in the order of the configuration.
        tags: Every cell tag that is allowed besides the frameworks' names.
        packages: Folders of the project's own code that kernels import; their content is part of a run's identity.
        store: The folder of the local run store.
        probe: ``module:function`` that takes the record of the machine in a kernel, given the framework's name; empty
            for none. It returns ``{summary, version, entries}`` (see ``provenance.py``).
        variables: Patterns of environment variables that are part of a run's identity, such as ``OMP_*``.
        timeout_s: Seconds that a cell may take, unless the page says otherwise; None for no limit.
        execute: Whether cells may be run at all (``execute_notebooks: off`` says no).
        force: Whether cells run even when a fresh run is stored (``execute_notebooks: force``).
        in_temp: Whether cells run in a temporary folder instead of the page's own.
        runs: The folder of recorded runs, one folder a machine in it.
        require_recorded: Whether a build fails when what a variant needs is met neither here nor by a recorded run.
        kernel_path: Folders that kernels import from besides their own environment, after it.
        commit: The book's commit, where the book was carried without its repository.
        notebooks: How notebooks are exported; None if none are.
    """

    root: Path
    frameworks: Mapping[str, Framework]
    tags: frozenset[str]
    packages: tuple[Path, ...]
    store: Path
    probe: str = ""
    variables: tuple[str, ...] = ()
    timeout_s: float | None = None
    execute: bool = True
    force: bool = False
    in_temp: bool = False
    runs: Path = Path("runs")
    require_recorded: bool = False
    kernel_path: tuple[Path, ...] = ()
    commit: str = ""
    notebooks: NotebookOptions | None = None


def read_options(values: Mapping[str, Any], root: Path) -> Options:
    """Validate the configuration values.

    Args:
        values: Sphinx configuration values by name; absent ones take their default.
        root: The book's folder, which relative paths start from.

    Returns:
        The options.

    Raises:
        ConfigError: If a value has the wrong shape, naming the value and what is allowed.
    """
    root = root.resolve()
    raw = {name: values.get(name, default) for name, default in DEFAULTS.items()}
    mode = values.get("nb_execution_mode", "auto")
    timeout = values.get("nb_execution_timeout", 30)
    if not isinstance(timeout, (int, float, type(None))):
        raise ConfigError(
            f"_config.yml: `execute: timeout` is {timeout!r}, but has to be a number of seconds.\nCorrect it."
        )
    return Options(
        root=root,
        frameworks=_read_frameworks(raw["polybook_frameworks"], root),
        tags=MYST_NB_TAGS | THEME_TAGS | frozenset(_strings("polybook_tags", raw["polybook_tags"])),
        packages=tuple(
            _existing_folder("polybook_packages", root / path)
            for path in _strings("polybook_packages", raw["polybook_packages"])
        ),
        store=root / _string("polybook_store", raw["polybook_store"]),
        probe=_probe(raw["polybook_probe"]),
        variables=tuple(_strings("polybook_variables", raw["polybook_variables"])),
        timeout_s=float(timeout) if timeout and timeout > 0 else None,
        execute=mode != "off",
        force=mode == "force",
        in_temp=bool(values.get("nb_execution_in_temp", False)),
        runs=root / _inside("polybook_runs", raw["polybook_runs"]),
        require_recorded=_switch("polybook_require_recorded", raw["polybook_require_recorded"])
        or environment_switch(REQUIRE_RECORDED),
        notebooks=read_notebook_options(raw["polybook_notebooks"], str(values.get("html_baseurl") or ""), root),
    )


def config_file_options(root: Path) -> Options:
    """Read polybook's own settings from ``_config.yml`` and nothing else; needs no Jupyter Book."""
    # Imported late: a machine that only runs a plan has no YAML.
    import yaml

    path = root / "_config.yml"
    try:
        text = path.read_text("utf8")
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror}.\nRun this in a book's folder, or name one with --book."
        ) from error
    try:
        settings = yaml.safe_load(text) or {}
        values = (settings.get("sphinx") or {}).get("config") or {}
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not valid YAML: {error}\nCorrect it.") from error
    except AttributeError as error:
        raise ConfigError(f"{path}: the file and its `sphinx` have to be mappings.\nCorrect it.") from error
    if not isinstance(values, Mapping):
        raise ConfigError(f"{path}: `sphinx: config` is {values!r}, but has to be a mapping.\nCorrect it.")
    _check_names(settings, values)
    return read_options(values, root)


def _check_names(settings: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Find settings of ours that nobody would read: in the wrong place, or with a wrong name."""
    for name in map(str, settings):
        if name.startswith("polybook_"):
            raise ConfigError(
                f"_config.yml: `{name}` stands at the top, where nothing reads it.\nMove it below `sphinx: config:`."
            )
    for name in map(str, values):
        if name.startswith("polybook_") and name not in {*DEFAULTS, *OTHERS}:
            known = ", ".join(sorted({*DEFAULTS, *OTHERS}))
            raise ConfigError(f"_config.yml: `sphinx: config: {name}` is unknown (known: {known}).\nCorrect the name.")


def _read_frameworks(value: object, root: Path) -> dict[str, Framework]:
    if not isinstance(value, Mapping):
        raise ConfigError(
            f"_config.yml: `polybook_frameworks` is {value!r}, but has to be a mapping.\n"
            "Write one entry a framework: `name: {title: ..., environment: ...}`."
        )
    return {str(name): _read_framework(str(name), entry, root) for name, entry in value.items()}


def _read_framework(name: str, entry: object, root: Path) -> Framework:
    where = f"_config.yml: `polybook_frameworks: {name}`"
    if not _NAME.fullmatch(name) or name in MYST_NB_TAGS | THEME_TAGS:
        raise ConfigError(
            f"{where} is no name for a framework.\n"
            "Use lower-case letters, digits, `-` and `_`, and no tag that MyST-NB or the theme already knows."
        )
    if not isinstance(entry, Mapping) or not {"title", "environment"} <= set(entry):
        raise ConfigError(f"{where} needs a `title` and an `environment`, but is {entry!r}.\nAdd what is missing.")
    unknown = sorted(set(entry) - _FRAMEWORK_KEYS)
    if unknown:
        raise ConfigError(
            f"{where} has the unknown key {unknown[0]!r} (known: {', '.join(sorted(_FRAMEWORK_KEYS))}).\n"
            "Remove or correct it."
        )
    return Framework(
        name=name,
        title=_string(f"polybook_frameworks: {name}: title", entry["title"]),
        environment=root / _string(f"polybook_frameworks: {name}: environment", entry["environment"]),
        requirements=root
        / _string(f"polybook_frameworks: {name}: requirements", entry.get("requirements", f"requirements/{name}.txt")),
    )


def _probe(value: object) -> str:
    if value == "" or (isinstance(value, str) and _PROBE.fullmatch(value)):
        return str(value)
    raise ConfigError(
        f"_config.yml: `polybook_probe` is {value!r}, but has to be `module:function`.\n"
        "Name a function that takes a framework's name and returns a record."
    )


def _string(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError(f"_config.yml: `{name}` is {value!r}, but has to be a text.\nCorrect it.")
    return value


def _switch(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"_config.yml: `{name}` is {value!r}, but has to be true or false.\nCorrect it.")
    return value


def _inside(name: str, value: object) -> str:
    path = PurePath(_string(name, value))
    if path.is_absolute() or ".." in path.parts:
        raise ConfigError(f"_config.yml: `{name}` is {value!r}, but has to be a folder of the book.\nCorrect it.")
    return str(path)


def _strings(name: str, value: object) -> Iterable[str]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"_config.yml: `{name}` is {value!r}, but has to be a list of texts.\nCorrect it.")
    return value


def _existing_folder(name: str, path: Path) -> Path:
    if not path.is_dir():
        raise ConfigError(f"_config.yml: `{name}` names {path.name!r}, which is no folder.\nCorrect the path.")
    return path
