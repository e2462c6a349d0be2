"""The command line: run cells without building, see what is fresh, record runs, make environments."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from polybook.errors import ConfigError, EnvironmentFailed, Failure, Interrupted, LockUnusable, PageFailed, PdfFailed


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: Arguments; the process's own by default.

    Returns:
        The exit status: 0 if all went well, 1 if a page or an environment failed, 2 for a wrong
        call or configuration, 130 after Ctrl-C.
    """
    arguments = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        return command(arguments)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 2
    except (EnvironmentFailed, LockUnusable, PdfFailed) as error:
        print(error, file=sys.stderr)
        return 1
    except Interrupted as stop:
        return stop.exit_status
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m polybook", description="Pages whose tabs run in different kernels."
    )
    parser.add_argument("--book", type=Path, default=Path(), help="the book's folder (default: this one)")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    _add(commands, _run, "run", "run the cells that have no fresh run, and store what they give")
    _add(commands, _status, "status", "say of each page and framework whether its run is fresh")
    _add(commands, _claims, "claims", "list what every run claims, and whether it holds")
    _add(commands, _prose, "prose", "find measurements that were typed into prose by hand")
    _add(commands, _plan, "plan", "write the variants as JSON, to run them on another machine")
    _add(commands, _build, "build", "build the book; what jupyter-book takes can follow after `--`")
    _add(commands, _env, "env", "make the frameworks' environments, or bring them up to date")
    _add(commands, _lab, "lab", "open a page as a notebook in JupyterLab, with a framework's kernel")
    _add(commands, _serve, "serve", "show the book in a browser, and build and reload it on each save")
    _add(commands, _pdf, "pdf", "print the built site, one PDF a framework")
    _add(commands, _links, "links", "check that every link inside of the built site leads somewhere")
    return parser


def _add(commands: Any, command: Callable[[argparse.Namespace], int], name: str, text: str) -> None:
    parser = commands.add_parser(name, help=text)
    parser.set_defaults(command=command)
    if name in ("run", "status", "claims", "prose", "plan"):
        parser.add_argument("pages", nargs="*", metavar="PAGE", help="docname or path (default: all)")
    if name in ("run", "plan"):
        parser.add_argument("--framework", metavar="F", help="only this framework")
        parser.add_argument("--needing", choices=("gpu",), help="only what needs such a machine")
    if name == "run":
        parser.add_argument("--force", action="store_true", help="run even what is fresh")
        parser.add_argument("--retries", type=_count, default=0, metavar="N", help="run again what was noisy")
        parser.add_argument("--record", type=Path, metavar="runs/NAME", help="write the runs there, to be committed")
        parser.add_argument("--plan", type=Path, metavar="FILE", help="run a plan, in this very interpreter")
        parser.add_argument(
            "--packages",
            type=Path,
            action="append",
            default=[],
            metavar="DIR",
            help="with --plan: import from here as well",
        )
    if name in ("status", "build"):
        parser.add_argument("--require-recorded", action="store_true", help="fail if what a page needs was run nowhere")
    if name == "build":
        parser.add_argument("rest", nargs="*", metavar="ARGUMENT", help="for `jupyter-book build`")
    if name == "env":
        parser.add_argument("names", nargs="*", metavar="F", help="frameworks (default: all)")
    if name == "lab":
        parser.add_argument("page", nargs="?", metavar="PAGE", help="docname or path (default: the first)")
        parser.add_argument("--framework", metavar="F", help="whose kernel (default: the book's first)")
        parser.add_argument("--no-browser", action="store_true", help="only say at which address it is")
    if name == "serve":
        parser.add_argument("--port", type=_count, default=8000, metavar="N", help="or the next free (default: 8000)")
    if name == "pdf":
        parser.add_argument("--framework", metavar="F", help="only this framework")
        parser.add_argument("--out", type=Path, metavar="DIR", help="where to (default: _build/pdf)")
    if name in ("pdf", "links"):
        parser.add_argument("--site", type=Path, metavar="DIR", help="the built site (default: _build/html)")


def _count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of times")
    return int(text)


def _run(arguments: argparse.Namespace) -> int:
    from polybook.commands import run

    return run(arguments)


def _status(arguments: argparse.Namespace) -> int:
    from polybook.book import open_book, pages
    from polybook.status import needs_unmet, status_table

    book = open_book(arguments.book)
    found = list(pages(book, arguments.pages))
    usable = [page for page in found if not isinstance(page, PageFailed)]
    print(status_table(book, usable))
    failures = [failure for page in found if isinstance(page, PageFailed) for failure in page.failures]
    return tell([*failures, *(needs_unmet(book, usable) if arguments.require_recorded else [])])


def _claims(arguments: argparse.Namespace) -> int:
    from polybook.book import open_book, pages
    from polybook.status import claims_table

    book = open_book(arguments.book)
    found = list(pages(book, arguments.pages))
    print(claims_table(book, [page for page in found if not isinstance(page, PageFailed)]))
    return tell([failure for page in found if isinstance(page, PageFailed) for failure in page.failures])


def _prose(arguments: argparse.Namespace) -> int:
    from polybook.book import open_book, sources
    from polybook.prose import prose_failures

    book = open_book(arguments.book)
    # Also files that are no pages of the book, such as solutions.
    files = [Path(name).resolve() for name in arguments.pages if name.endswith(".md") and Path(name).is_file()]
    names = [name for name in arguments.pages if not (name.endswith(".md") and Path(name).is_file())]
    paths = [*files, *(sources(book, names) if names or not files else [])]
    failures = [
        failure
        for path in paths
        for failure in prose_failures(os.path.relpath(path, book.root), path.read_text("utf-8-sig"))
    ]
    return tell(failures)


def _plan(arguments: argparse.Namespace) -> int:
    from polybook.book import open_book, pages
    from polybook.commands import chosen
    from polybook.plan import write_plan

    book = open_book(arguments.book)
    failures: list[Failure] = []
    print(write_plan(book.options, chosen(book, pages(book, arguments.pages), arguments, failures)))
    return tell(failures)


def _build(arguments: argparse.Namespace) -> int:
    from polybook.options import REQUIRE_RECORDED

    program = Path(sys.executable).with_name("jupyter-book")
    command = [str(program), "build", str(arguments.book), *arguments.rest]
    wanted = {REQUIRE_RECORDED: "1"} if arguments.require_recorded else {}
    return subprocess.run(command, env={**os.environ, **wanted}, check=False).returncode  # noqa: S603 - without a shell


def _env(arguments: argparse.Namespace) -> int:
    from polybook.environments import make_environments
    from polybook.options import config_file_options

    for name in make_environments(config_file_options(arguments.book), arguments.names, _say):
        print(f"environment of {name}: made")
    return 0


def _lab(arguments: argparse.Namespace) -> int:
    from polybook.lab import lab

    return lab(arguments)


def _serve(arguments: argparse.Namespace) -> int:
    from polybook.serving import serve

    return serve(arguments)


def _pdf(arguments: argparse.Namespace) -> int:
    from polybook.printing import pdf

    return pdf(arguments)


def _links(arguments: argparse.Namespace) -> int:
    from polybook.links import links

    return links(arguments)


def _say(text: str) -> None:
    print(text, flush=True)


def tell(failures: Iterable[Failure]) -> int:
    """Print failures and give the exit status."""
    failures = sorted(set(failures))
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
