"""Measure what a build costs beyond its cells, and what a rebuild costs beyond plain Jupyter Book.

Everything is compared within one run, the two sides in turn; ratios and differences are medians over rounds. With
``--check`` the exit status is 1 if a limit does not hold. Nothing else should run on the machine.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from polybook.book import open_book, pages
from polybook.errors import PageFailed
from polybook.split import split

REPOSITORY = Path(__file__).resolve().parents[1]
MINIBOOK = REPOSITORY / "tests" / "minibook"
BIN = Path(sys.executable).parent
CHAPTER = "chapters/async-computation"

PAGE = """---
file_format: mystnb
polybook:
  frameworks: [alpha, beta]
---

# Page {n}

Words.

```{{code-cell}}
import tabulate
```

```{{code-cell}}
:tags: [alpha]
print("alpha", {n}, tabulate.__version__)
```

```{{code-cell}}
:tags: [beta]
print("beta", {n}, tabulate.__version__)
```

```{{code-cell}}
print("both", {n})
```
"""


@dataclass(frozen=True)
class Limit:
    """The most that a figure may be; None where it is not limited.

    Attributes:
        ratio: Ours by the other side's.
        difference_s: Ours less the other side's, in seconds.
        cells: Number of cells run in a round.
    """

    ratio: float | None = None
    difference_s: float | None = None
    cells: int | None = None


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes:
        name: What is compared.
        ours_s: Seconds of our side, a round each.
        other_s: Seconds of the other side.
        cells: The most cells that one round of ours ran.
        limit: What has to hold.
    """

    name: str
    ours_s: list[float]
    other_s: list[float]
    cells: int
    limit: Limit

    @property
    def ratio(self) -> float:
        """Median of the rounds' ratios."""
        return statistics.median(ours / other for ours, other in zip(self.ours_s, self.other_s, strict=True))

    @property
    def difference_s(self) -> float:
        """Median of the rounds' differences, in seconds."""
        return statistics.median(ours - other for ours, other in zip(self.ours_s, self.other_s, strict=True))

    @property
    def holds(self) -> bool:
        """Whether every limit of this row holds."""
        found = (self.ratio, self.difference_s, self.cells)
        limits = (self.limit.ratio, self.limit.difference_s, self.limit.cells)
        return all(limit is None or value <= limit for value, limit in zip(found, limits, strict=True))


class Site:
    """A copy of a book: with polybook, or plain with execution off.

    Attributes:
        root: Its folder.
    """

    def __init__(self, source: Path, root: Path, plain: bool) -> None:
        """Copy the book; environments are linked."""
        self.root = root
        root.mkdir(parents=True)
        for name in ("_toc.yml", "index.md", "chapters", "src", "lab", "requirements"):
            if (source / name).is_dir():
                shutil.copytree(source / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif (source / name).exists():
                shutil.copy2(source / name, root / name)
        for environment in source.glob(".venv-*"):
            (root / environment.name).symlink_to(environment.resolve())
        config = yaml.safe_load((source / "_config.yml").read_text("utf8"))
        if plain:
            config["execute"] = {"execute_notebooks": "off"}
            del config["sphinx"]
        (root / "_config.yml").write_text(yaml.safe_dump(config), "utf8")

    def build(self) -> tuple[float, int]:
        """Build; return seconds and the number of cells run."""
        return timed([str(BIN / "jupyter-book"), "build", str(self.root)], self.root)

    def edit(self, page: str, old: str, new: str) -> None:
        """Replace the first occurrence of a text in a page that must have it."""
        path = self.root / f"{page}.md"
        text = path.read_text("utf8")
        if old not in text:
            raise SystemExit(f"{path.name} has no {old!r} to edit.")
        path.write_text(text.replace(old, new, 1), "utf8")

    def forget(self) -> None:
        """Remove what was built and every stored run."""
        for name in ("_build", ".polybook"):
            shutil.rmtree(self.root / name, ignore_errors=True)


def timed(command: list[str], cwd: Path) -> tuple[float, int]:
    """Run a command; return seconds and the number of cells it says it ran."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    elapsed_s = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}")
    found = re.search(r"polybook: (\d+) cells run", done.stdout)
    return elapsed_s, int(found[1]) if found else 0


def cold_build(site: Site, rounds: int) -> Row:
    """Compare a build from nothing with the same cells as bare scripts."""
    book = open_book(site.root)
    scripts = []
    for page in pages(book):
        if isinstance(page, PageFailed):
            raise SystemExit(str(page))
        for name in page.frameworks:
            script = site.root / f"bare-{len(scripts)}.py"
            script.write_text("\n\n".join(cell.source for cell in split(page, name).cells), "utf8")
            scripts.append((str(book.options.frameworks[name].python), str(script)))
    ours, other, cells = [], [], 0
    for _ in range(rounds):
        other.append(sum(timed([python, script], site.root)[0] for python, script in scripts))
        site.forget()
        elapsed_s, cells = site.build()
        ours.append(elapsed_s)
    return Row("cold build / bare scripts", ours, other, cells, Limit(ratio=1.25, difference_s=5.0))


def rebuild(sites: tuple[Site, Site], rounds: int, edit: Callable[[Site, int], None], name: str, limit: Limit) -> Row:
    """Compare a rebuild after an edit with plain Jupyter Book's after the same edit; ``sites`` are ours and plain."""
    seconds: tuple[list[float], list[float]] = ([], [])
    most = 0
    for number in range(rounds):
        for site, times in zip(sites, seconds, strict=True):
            edit(site, number)
            elapsed_s, cells = site.build()
            times.append(elapsed_s)
            most = max(most, cells)
    return Row(name, *seconds, most, limit)


def nothing(_site: Site, _number: int) -> None:
    """Edit nothing."""


def prose_edit(page: str) -> Callable[[Site, int], None]:
    """Add a sentence below the title, another one each round."""

    def edit(site: Site, number: int) -> None:
        text = (site.root / f"{page}.md").read_text("utf8")
        title = next(line for line in text.splitlines() if line.startswith("# "))
        site.edit(page, title, f"{title}\n\nRemark {number}.\n")

    return edit


def core_chapter(folder: Path, rounds: int) -> list[Row]:
    """Measure on the book itself."""
    ours, plain = Site(REPOSITORY, folder / "ours", plain=False), Site(REPOSITORY, folder / "plain", plain=True)
    sites = (ours, plain)

    def mxnet_edit(site: Site, number: int) -> None:
        site.edit(CHAPTER, ":tags: [mxnet]\n", f":tags: [mxnet]\n\n# round {number}")

    cold = cold_build(ours, rounds)
    plain.build()
    unchanged, prose = Limit(ratio=1.1, cells=0), Limit(ratio=1.15, cells=0)
    return [
        cold,
        rebuild(sites, 3 * rounds, nothing, "no change / plain", unchanged),
        rebuild(sites, 3 * rounds, prose_edit(CHAPTER), "prose edit / plain", prose),
        rebuild(sites, rounds, mxnet_edit, "edit of MXNet / plain", Limit(cells=cold.cells // 2)),
    ]


def many_pages(folder: Path, rounds: int, count: int) -> list[Row]:
    """Measure on a generated book of many pages and two light environments."""
    source = folder / "source"
    shutil.copytree(MINIBOOK, source)
    subprocess.run([sys.executable, "-m", "polybook", "env"], cwd=source, check=True)
    (source / "chapters").mkdir()
    names = [f"chapters/page{n:02}" for n in range(count)]
    for n, name in enumerate(names):
        (source / f"{name}.md").write_text(PAGE.format(n=n), "utf8")
    (source / "index.md").write_text("# Many pages\n", "utf8")
    toc = "format: jb-book\nroot: index\nchapters:\n" + "".join(f"  - file: {name}\n" for name in names)
    (source / "_toc.yml").write_text(toc, "utf8")
    sites = (Site(source, folder / "ours", plain=False), Site(source, folder / "plain", plain=True))
    cold_s, cells = sites[0].build()
    plain_s, _ = sites[1].build()
    title = f"{count} pages: "
    unchanged, prose = Limit(ratio=1.1, cells=0), Limit(ratio=1.15, cells=0)
    return [
        Row(f"{title}cold build / plain", [cold_s], [plain_s], cells, Limit()),
        rebuild(sites, rounds, nothing, f"{title}no change / plain", unchanged),
        rebuild(sites, rounds, prose_edit(names[0]), f"{title}prose edit / plain", prose),
    ]


def table(rows: list[Row]) -> str:
    """Format the rows for people."""
    lines = [f"{'comparison':<32}{'ours s':>9}{'other s':>9}{'ratio':>8}{'diff s':>9}{'cells':>7}  limit"]
    for row in rows:
        limits = [f"ratio ≤ {row.limit.ratio}"] if row.limit.ratio else []
        limits += [f"diff ≤ {row.limit.difference_s} s"] if row.limit.difference_s else []
        limits += [f"cells ≤ {row.limit.cells}"] if row.limit.cells is not None else []
        verdict = f"{', '.join(limits)}: {'holds' if row.holds else 'DOES NOT HOLD'}" if limits else "none"
        lines.append(
            f"{row.name:<32}{statistics.median(row.ours_s):>9.2f}{statistics.median(row.other_s):>9.2f}"
            f"{row.ratio:>8.3f}{row.difference_s:>9.2f}{row.cells:>7}  {verdict}"
        )
    return "\n".join(lines)


def main() -> int:
    """Measure, print the table, and say with the exit status whether every limit holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a limit does not hold")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each comparison (default: 3)")
    parser.add_argument("--pages", type=int, default=50, help="pages of the generated book; 0 leaves it out")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = core_chapter(Path(name) / "core", arguments.rounds)
        if arguments.pages:
            rows += many_pages(Path(name) / "many", 3 * arguments.rounds, arguments.pages)
    print(table(rows))
    return int(arguments.check and not all(row.holds for row in rows))


if __name__ == "__main__":
    sys.exit(main())
