"""A plan: everything that a machine without Sphinx, MyST-NB and the book's environments needs to run cells.

Written here as JSON, read there; ``polybook run --plan`` then runs it in the interpreter that it is called with.
Standard library only, apart from what runs cells anyway.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from polybook.circumstances import commit
from polybook.errors import ConfigError
from polybook.options import Framework, Options
from polybook.variant import Variant, variant_from_json

#: Raised when the shape of a plan changes.
SCHEMA = 2


def write_plan(options: Options, variants: Iterable[Variant]) -> str:
    """Write a plan for some variants of a book."""
    variants = list(variants)
    frameworks = [options.frameworks[name] for name in sorted({variant.framework for variant in variants})]
    plan = {
        "schema": SCHEMA,
        "commit": commit(options.root),
        "probe": options.probe,
        "variables": list(options.variables),
        "packages": [path.relative_to(options.root).as_posix() for path in options.packages],
        "runs": options.runs.relative_to(options.root).as_posix(),
        "timeout_s": options.timeout_s,
        "in_temp": options.in_temp,
        "frameworks": {
            framework.name: {"title": framework.title, "pins": _text(framework.requirements)}
            for framework in frameworks
        },
        "variants": [variant.as_json() for variant in variants],
    }
    return json.dumps(plan, indent=1, ensure_ascii=False)


def read_plan(path: Path, root: Path, kernel_path: Iterable[Path]) -> tuple[Options, list[Variant]]:
    """Read a plan, to be run by this very interpreter.

    Args:
        path: The plan.
        root: The folder that the project's packages were carried to; runs and what is made on the way go there too.
        kernel_path: Further folders that kernels import from.

    Returns:
        Settings whose frameworks all stand for this interpreter, and the variants.

    Raises:
        ConfigError: If it is no plan, or what it names is not here.
    """
    root = root.resolve()
    try:
        plan = json.loads(path.read_text("utf8"))
        if plan["schema"] != SCHEMA:
            raise ValueError(f"it is of version {plan['schema']}, this program reads version {SCHEMA}")
        _check_shape(plan)
        variants = [variant_from_json(data) for data in plan["variants"]]
        packages = tuple(root / name for name in plan["packages"])
        options = Options(
            root=root,
            frameworks={name: _framework(name, entry, root) for name, entry in plan["frameworks"].items()},
            tags=frozenset(),
            packages=packages,
            store=root / ".polybook",
            probe=plan["probe"],
            variables=tuple(plan["variables"]),
            timeout_s=plan["timeout_s"],
            in_temp=plan["in_temp"],
            runs=root / plan["runs"],
            kernel_path=(*(folder.parent for folder in packages), *(folder.resolve() for folder in kernel_path)),
            commit=plan["commit"],
        )
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}.\nWrite a plan with `python -m polybook plan`.") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"{path} is no plan that can be run: {error}.\nWrite it again.") from error
    for folder in [*packages, *({root / variant.folder for variant in variants} if not options.in_temp else ())]:
        if not folder.is_dir():
            raise ConfigError(f"the plan needs the folder {folder}, which is not here.\nCarry it along.")
    return options, variants


def _check_shape(plan: dict[str, Any]) -> None:
    """Raise ``ValueError`` at the first thing that is not of the shape that ``write_plan`` gives it."""
    texts = {name: isinstance(plan[name], str) for name in ("commit", "probe", "runs")}
    lists = {
        name: isinstance(plan[name], list) and all(isinstance(item, str) for item in plan[name])
        for name in ("variables", "packages")
    }
    number = plan["timeout_s"] is None or (
        isinstance(plan["timeout_s"], (int, float)) and not isinstance(plan["timeout_s"], bool)
    )
    others = {"timeout_s": number, "in_temp": isinstance(plan["in_temp"], bool)}
    for name, right in {**texts, **lists, **others}.items():
        if not right:
            raise ValueError(f"its {name} is {plan[name]!r}")
    lacking = sorted({data["framework"] for data in plan["variants"]} - set(plan["frameworks"]))
    if lacking:
        raise ValueError(f"its frameworks lack {', '.join(lacking)}")


def _framework(name: str, entry: dict[str, Any], root: Path) -> Framework:
    """Let a framework stand for this interpreter; its pins go where pins are looked for."""
    pins = root / ".polybook" / f"{name}-pins.txt"
    pins.parent.mkdir(exist_ok=True)
    pins.write_text(entry["pins"], "utf8")
    return Framework(name, entry["title"], Path(sys.executable), pins)


def _text(path: Path) -> str:
    return path.read_text("utf8") if path.is_file() else ""
