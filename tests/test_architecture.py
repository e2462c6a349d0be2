"""One direction only: who imports whom, seen in fresh processes and in the sources."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src"
MODULES = sorted(SOURCES.rglob("*.py"))
POLYBOOK = sorted(
    f"polybook.{path.stem}" for path in (SOURCES / "polybook").glob("*.py") if path.stem not in ("__init__", "launch")
)


def loaded(*imports: str) -> set[str]:
    """The top-level packages that a fresh process has loaded after these imports."""
    code = f"import sys, {', '.join(imports)}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def imported(path: Path) -> set[str]:
    """The top-level packages that a module names in an import, at its top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def named(path: Path) -> str:
    """A module's path below `src`."""
    return path.relative_to(SOURCES).as_posix()


def test_polybook_loads_no_framework_and_not_asynclab():
    """All of polybook together loads neither a framework nor the package of this course."""
    found = loaded("polybook", *POLYBOOK)

    assert {"polybook", "sphinx", "myst_nb", "jupyter_client"} <= found
    assert found & {"asynclab", "coursework", "torch", "mxnet", "d2l", "numpy"} == set()


def test_asynclab_loads_no_framework_and_no_sphinx():
    """In every kernel asynclab works: it loads no framework, no Sphinx, no NumPy and nothing of polybook."""
    found = loaded("asynclab")

    assert found & {"torch", "mxnet", "numpy", "d2l", "sphinx", "docutils", "myst_nb", "polybook", "IPython"} == set()


def test_polybook_by_itself_loads_no_sphinx():
    """`import polybook` costs nothing: Sphinx and all that is below comes with the extension."""
    assert loaded("polybook") - loaded("typing", "__future__") == {"polybook"}


@pytest.mark.parametrize("module", ["options", "page", "split", "run", "store", "circumstances", "lock", "obtain"])
def test_pure_modules_load_no_sphinx(module: str):
    """What another machine needs to read, recall and plan runs loads neither Sphinx nor a Jupyter client."""
    assert loaded(f"polybook.{module}") & {"sphinx", "docutils", "myst_nb", "jupyter_client", "nbclient"} == set()


def test_running_a_variant_needs_no_sphinx():
    """The engine that runs cells loads neither Sphinx nor MyST-NB."""
    assert loaded("polybook.execute") & {"sphinx", "docutils", "myst_nb", "jupyter_book"} == set()


def test_each_library_is_touched_in_few_places():
    """MyST-NB and sphinx-design are imported only where DESIGN.md says."""
    users = {name: {named(p) for p in MODULES if name in imported(p)} for name in ("myst_nb", "sphinx_design")}

    assert users["myst_nb"] == {f"polybook/{name}.py" for name in ("parser", "session", "book", "ext")}
    assert users["sphinx_design"] == {"polybook/tabs.py"}


def test_nobody_imports_against_the_direction():
    """No package names another of ours, polybook no framework, asynclab and coursework no Sphinx."""
    forbidden = {
        "polybook": {"asynclab", "coursework", "torch", "mxnet", "d2l"},
        "asynclab": {"polybook", "coursework", "sphinx", "docutils", "myst_nb", "jupyter_book"},
        "coursework": {"polybook", "sphinx", "docutils", "myst_nb", "jupyter_book"},
    }

    wrong = [
        f"{named(path)} imports {name}"
        for path in MODULES
        for name in imported(path) & forbidden[path.relative_to(SOURCES).parts[0]]
    ]
    assert wrong == []


def test_launcher_needs_nothing_but_ipykernel():
    """The script that a framework's interpreter runs imports the standard library and ipykernel."""
    assert imported(SOURCES / "polybook" / "launch.py") - sys.stdlib_module_names == {"ipykernel"}


def test_modules_are_short():
    """No module has more than 400 lines."""
    assert [named(path) for path in MODULES if len(path.read_text("utf8").splitlines()) > 400] == []


def public(node: ast.AST, name: str) -> Iterator[tuple[str, ast.AST]]:
    """Every public definition below a module or a class, with its dotted name."""
    yield name, node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (
            not child.name.startswith("_") or child.name == "__init__"
        ):
            if isinstance(child, ast.ClassDef):
                yield from public(child, f"{name}.{child.name}")
            else:
                yield f"{name}.{child.name}", child


def test_everything_public_has_a_docstring():
    """Every public module, class, function and method says what it is for."""
    found = [item for path in MODULES for item in public(ast.parse(path.read_text("utf8")), named(path))]

    assert len(found) > len(MODULES)
    assert [name for name, node in found if not ast.get_docstring(node)] == []
