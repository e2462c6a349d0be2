"""Read a page's settings and check its grammar; every fault is found before a kernel starts.

Stage 1 of a build (see ``ext.py``). Pure: text and the notebook that MyST-NB read from it go in, a ``Page``
comes out, or a ``PageFailed`` that lists every fault with its line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import yaml
from nbformat import NotebookNode

from polybook.errors import Failure, PageFailed
from polybook.options import Options

#: The front-matter key under which all of a page's settings stand.
SETTINGS_KEY = "polybook"

_SETTINGS = {"frameworks", "needs", "timeout"}
_NEEDS = {"cpu", "gpu"}
_CELLS = {"code-cell", "raw-cell"}
_FENCE = re.compile(r"^(?:[ \t>]|(?:[-*+]|\d+[.)])[ \t]+)*(?P<marks>`{3,}|~{3,}|:{3,})(?P<info>.*)$")
_FRONT_MATTER = re.compile(r"-{3,}[ \t]*\r?\n(.*?)^(?:-{3,}|\.\.\.)[ \t\r]*$", re.DOTALL | re.MULTILINE)
#: Directives whose body is shown as it stands: a code cell in there is an example, not a cell.
_LITERAL = {"code", "code-block", "sourcecode", "literalinclude", "parsed-literal", "raw", "math", "mermaid", "prompt"}


@dataclass(frozen=True)
class Page:
    """A page that declares frameworks, checked.

    Attributes:
        docname: Sphinx's name for it, such as ``chapters/async-computation``.
        path: Its source file, relative to the book, for messages.
        frameworks: The frameworks' names, in the order of the front matter (the order of the tabs).
        notebook: The cells as MyST-NB read them.
        lines: For each cell of the notebook, the 1-based line of its first line of code (of its text, if prose).
        needs: What a framework's variant needs, such as ``{"pytorch": "gpu"}``.
        timeout_s: Seconds that a cell may take; None if the page does not say.
        folder: The folder that its cells run in, relative to the book; empty for a temporary one.
    """

    docname: str
    path: str
    frameworks: tuple[str, ...]
    notebook: NotebookNode
    lines: tuple[int, ...]
    needs: Mapping[str, str]
    timeout_s: float | None
    folder: str = ""


def page_settings(text: str) -> object | None:
    """Return what stands under ``polybook:`` in a page's front matter, or None if there is no such key.

    Front matter that names the key but is not valid YAML gives the error: MyST-Parser would only warn, and publish
    the page without its cells.
    """
    match = _FRONT_MATTER.match(text)
    if not match or SETTINGS_KEY not in match[1]:
        return None
    try:
        matter = yaml.safe_load(match[1])
    except yaml.YAMLError as error:
        return error
    if not isinstance(matter, dict) or SETTINGS_KEY not in matter:
        return None
    return {} if matter[SETTINGS_KEY] is None else matter[SETTINGS_KEY]


def declares_frameworks(text: str) -> bool:
    """Tell whether a page's front matter has a ``polybook:`` key, well-formed or not."""
    return page_settings(text) is not None


def check_page(docname: str, path: str, text: str, notebook: NotebookNode | None, options: Options) -> Page:
    """Check a page that has polybook settings.

    Args:
        docname: Sphinx's name for the page.
        path: The source file, relative to the book.
        text: The source.
        notebook: What MyST-NB read from the text; None if it does not take the page for a notebook.
        options: The book's settings.

    Returns:
        The page.

    Raises:
        PageFailed: If anything is wrong with it, with every fault that was found.
    """
    checker = _Checker(path, text, options)
    raw = page_settings(text)
    if isinstance(raw, yaml.YAMLError):
        raise PageFailed([_invalid_yaml(path, raw)])
    settings = checker.settings(raw)
    if notebook is None:
        checker.add(
            1,
            "the page has `polybook` settings but is no MyST-NB notebook, so its code cells would not run.",
            "Add `file_format: mystnb` to its front matter.",
        )
        raise PageFailed(checker.failures)
    checker.useless_settings(notebook)
    checker.miscut_lines()
    checker.dropped_cells(notebook)
    checker.tags(notebook, settings["frameworks"])
    if checker.failures:
        raise PageFailed(checker.failures)
    return Page(
        docname=docname,
        path=path,
        notebook=notebook,
        lines=tuple(_cell_lines(text, notebook)),
        frameworks=settings["frameworks"],
        needs=settings["needs"],
        timeout_s=settings["timeout"],
        folder="" if options.in_temp else PurePosixPath(path).parent.as_posix(),
    )


def read_page(
    docname: str, path: str, text: str, read: Callable[[str], NotebookNode | None] | None, options: Options
) -> Page:
    """Read a page and check it.

    Args:
        docname: Sphinx's name for the page.
        path: The source file, relative to the book.
        text: The source.
        read: MyST-NB's reader; None, or a reader that returns None, if it does not take the page for a notebook.
        options: The book's settings.

    Returns:
        The page.

    Raises:
        PageFailed: If MyST-NB cannot read it, or anything is wrong with it.
    """
    if read is None:
        return check_page(docname, path, text, None, options)
    try:
        notebook = read(text)
    except Exception as error:
        raise PageFailed([_unreadable(path, text, read, error)]) from error
    return check_page(docname, path, text, notebook, options)


def cell_tags(cell: NotebookNode) -> list[str]:
    """Return a cell's tags; a single tag written without brackets counts as a list of one."""
    tags = cell.metadata.get("tags", [])
    return [tags] if isinstance(tags, str) else [str(tag) for tag in tags or []]


def fence_line(notebook: NotebookNode, index: int) -> int:
    """Return the 1-based line of the fence that opens code cell ``index``; 0 for a notebook without a source map."""
    source_map = notebook.metadata.get("source_map")
    return int(source_map[index]) if source_map else 0


def _invalid_yaml(path: str, error: yaml.YAMLError) -> Failure:
    mark = getattr(error, "problem_mark", None)
    what = f"the front matter is not valid YAML: {getattr(error, 'problem', None) or error}."
    # The front matter starts on the second line, and marks count from 0.
    return Failure(path, mark.line + 2 if mark else 1, "", what, "Correct it.")


def _unreadable(path: str, text: str, read: Callable[[str], NotebookNode | None], error: Exception) -> Failure:
    """Blame the first cell up to which the page cannot be read: what MyST-NB raises seldom tells a line."""
    lines = _lines(text)
    starts = list(_code_cell_fences(lines))
    culprit = 0
    for start, end in zip(starts, [*starts[1:], len(lines) + 1], strict=True):
        try:
            read("\n".join(lines[: end - 1]))
        except Exception:
            culprit = start
            break
    return Failure(
        path,
        culprit,
        "",
        f"MyST-NB cannot read {'this cell' if culprit else 'the page'}: {str(error).partition(chr(10))[0]}.",
        "Correct the cell's options; tags are a list without duplicates: `:tags: [pytorch]`.",
    )


class _Checker:
    """Collects what is wrong with one page."""

    def __init__(self, path: str, text: str, options: Options) -> None:
        self.path = path
        self.text = text
        self.lines = _lines(text)
        self.options = options
        self.failures: list[Failure] = []

    def add(self, line: int, what: str, remedy: str, framework: str = "") -> None:
        self.failures.append(Failure(self.path, line, framework, what, remedy))

    def settings(self, raw: object) -> dict[str, Any]:
        """Check the front matter; what is wrong is recorded and replaced by nothing."""
        result: dict[str, Any] = {"frameworks": (), "needs": {}, "timeout": None}
        if not isinstance(raw, Mapping):
            self.add(
                self._line_of(SETTINGS_KEY),
                f"`polybook` is {raw!r}, but has to be a mapping (known keys: {', '.join(sorted(_SETTINGS))}).",
                "Write `polybook:` and, indented below it, `frameworks: [...]`.",
            )
            return result
        for key in sorted(set(map(str, raw)) - _SETTINGS):
            self.add(
                self._line_of(key),
                f"unknown front-matter key `polybook: {key}` (known: {', '.join(sorted(_SETTINGS))}).",
                "Remove or correct it.",
            )
        result["frameworks"] = self._frameworks(raw.get("frameworks"))
        result["needs"] = self._needs(raw.get("needs", {}), result["frameworks"])
        result["timeout"] = self._timeout(raw.get("timeout"))
        return result

    def _frameworks(self, raw: object) -> tuple[str, ...]:
        known = ", ".join(sorted(self.options.frameworks)) or "none"
        if not isinstance(raw, list) or not raw or len(set(map(str, raw))) != len(raw) or not _are_texts(raw):
            self.add(
                self._line_of("frameworks"),
                f"`polybook: frameworks` is {raw!r}, but has to be a list of different frameworks (known: {known}).",
                "Name at least one, for example `frameworks: [pytorch, mxnet]`.",
            )
            return ()
        for name in raw:
            if name not in self.options.frameworks:
                self.add(
                    self._line_of("frameworks"),
                    f"framework {name!r} is unknown (known: {known}).",
                    "Correct the name, or add the framework to `polybook_frameworks` in _config.yml.",
                )
        return tuple(name for name in raw if name in self.options.frameworks)

    def _needs(self, raw: object, frameworks: tuple[str, ...]) -> dict[str, str]:
        if isinstance(raw, Mapping) and all(k in frameworks and str(v) in _NEEDS for k, v in raw.items()):
            return {str(k): str(v) for k, v in raw.items()}
        self.add(
            self._line_of("needs"),
            f"`polybook: needs` is {raw!r}, but has to map the page's frameworks to {' or '.join(sorted(_NEEDS))}.",
            "Write for example `needs: {pytorch: gpu}`.",
        )
        return {}

    def _timeout(self, raw: object) -> float | None:
        if raw is None or (isinstance(raw, (int, float)) and not isinstance(raw, bool) and 0 < raw < math.inf):
            return None if raw is None else float(raw)
        self.add(
            self._line_of("timeout"),
            f"`polybook: timeout` is {raw!r}, but has to be a positive number of seconds.",
            "Correct or remove it.",
        )
        return None

    def tags(self, notebook: NotebookNode, frameworks: tuple[str, ...]) -> None:
        """Check every code cell's tags, and that every framework has a cell."""
        owned: set[str] = set()
        tagged = False
        for index, cell in enumerate(notebook.cells):
            if cell.cell_type != "code":
                continue
            tags = cell_tags(cell)
            tagged = tagged or bool(set(tags) & set(self.options.frameworks))
            owned |= set(tags) & set(frameworks)
            for tag in tags:
                if tag not in frameworks and tag not in self.options.tags:
                    self._unknown_tag(fence_line(notebook, index), tag, frameworks)
        has_code = any(cell.cell_type == "code" for cell in notebook.cells)
        for name in frameworks:
            if name not in owned and (tagged or not has_code):
                self.add(
                    self._line_of("frameworks"),
                    f"framework {name!r} is declared, but no cell is tagged with it.",
                    f"Tag a cell (`:tags: [{name}]`), or remove {name!r} from `polybook: frameworks`.",
                    framework=name,
                )

    def _unknown_tag(self, line: int, tag: str, frameworks: tuple[str, ...]) -> None:
        if tag in self.options.frameworks:
            self.add(
                line,
                f"the cell is tagged {tag!r}, a framework that this page does not declare.",
                f"Add {tag!r} to `polybook: frameworks` in the page's front matter, or correct the tag.",
                framework=tag,
            )
            return
        allowed = ", ".join(sorted(frameworks)) or "none"
        self.add(
            line,
            f"tag {tag!r} is unknown (known: {allowed}, and the tags of MyST-NB and the theme).",
            "Correct the cell's tag, or add it to `polybook_tags` in _config.yml.",
        )

    def useless_settings(self, notebook: NotebookNode) -> None:
        """Find MyST-NB's own settings of how a page is run: the author believes in something that does not happen."""
        settings = notebook.metadata.get("mystnb", {})
        for key in sorted(settings) if isinstance(settings, Mapping) else ():
            if str(key).startswith("execution_"):
                self.add(
                    1,
                    f"`mystnb: {key}` has no effect on a page with frameworks.",
                    "Remove it; there are `polybook: timeout`, and the cell tags raises-exception and skip-execution.",
                )

    def miscut_lines(self) -> None:
        """Find characters at which MyST-NB cuts a line in two: all prose below them would be shifted."""
        for number, line in enumerate(self.lines, start=1):
            cut = f"{line}.".splitlines(keepends=True)[0][-1]
            if cut != ".":
                self.add(number, f"the line holds the character {cut!r}, at which MyST-NB would cut it.", "Remove it.")

    def dropped_cells(self, notebook: NotebookNode) -> None:
        """Find code cells that MyST-NB did not take: it reads only backtick fences at top level."""
        taken = {fence_line(notebook, index) for index, _ in enumerate(notebook.cells)}
        for line in _code_cell_fences(self.lines):
            if line not in taken:
                self.add(
                    line,
                    "this code cell would be dropped: it is nested in something, or not fenced with backticks.",
                    "Put it at top level, fenced with backticks; tag it with the framework to have it in a tab.",
                )

    def _line_of(self, key: str) -> int:
        """Find the 1-based line of ``polybook`` in the front matter, or of a key below it; 1 if there is none."""
        match = _FRONT_MATTER.match(self.text)
        line, settings = _find_key(yaml.compose(match[1]) if match else None, SETTINGS_KEY)
        if key != SETTINGS_KEY:
            line = _find_key(settings, key)[0] or line
        return line or 1


def _are_texts(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _find_key(node: yaml.Node | None, key: str) -> tuple[int, yaml.Node | None]:
    """Return the line in the page of a key of a front-matter mapping, and its value; 0 and None if it is not there."""
    for name, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if name.value == key:
            return name.start_mark.line + 2, value
    return 0, None


def _lines(text: str) -> list[str]:
    """Cut a page where Markdown does: ``str.splitlines`` also cuts at form feeds and other odd characters."""
    return re.split(r"\r\n?|\n", text)


def _code_cell_fences(lines: list[str]) -> Iterator[int]:
    """Walk the fences of a page and yield the 1-based line of each one that opens a code cell, however deep.

    Fences nest as in MyST: a directive's body is parsed again, everything else between fences is literal.
    What is commented out (``<!-- ... -->``) is no cell.
    """
    open_fences: list[tuple[str, bool]] = []
    commented = False
    for number, line in enumerate(lines, start=1):
        commented = commented or (not open_fences and line.lstrip().startswith("<!--"))
        match = None if commented else _FENCE.match(line)
        commented = commented and "-->" not in line
        if not match:
            continue
        marks, info = match["marks"], match["info"].strip()
        if open_fences and not info and _closes(marks, open_fences[-1][0]):
            open_fences.pop()
            continue
        if any(literal for _, literal in open_fences) or (marks[0] == "`" and "`" in info):
            continue
        name = info[1:].partition("}")[0] if info.startswith("{") else ""
        if name in _CELLS:
            yield number
        open_fences.append((marks, not name or name in _LITERAL | _CELLS))


def _closes(marks: str, opening: str) -> bool:
    return marks[0] == opening[0] and len(marks) >= len(opening)


def _cell_lines(text: str, notebook: NotebookNode) -> Iterator[int]:
    """Yield, for each cell, the line on which its code starts: below the fence and the cell's options."""
    lines = [line.strip() for line in _lines(text)]
    for index, cell in enumerate(notebook.cells):
        fence = fence_line(notebook, index)
        body = [line.strip() for line in _lines(cell.source)] if cell.source else []
        start = next((n for n in range(fence, len(lines)) if lines[n : n + len(body)] == body), fence)
        yield start + 1 if body and fence else fence
