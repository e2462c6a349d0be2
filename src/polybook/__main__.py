"""The command line: run cells without building, see what is fresh, plan a run elsewhere, make environments."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from polybook.errors import ConfigError, EnvironmentFailed, Failure, Interrupted, LockUnusable, PageFailed


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
    except (EnvironmentFailed, LockUnusable) as error:
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

    run = commands.add_parser("run", help="run the cells that have no fresh run, and store what they give")
    run.add_argument("pages", nargs="*", metavar="PAGE", help="docname or path (default: all)")
    run.add_argument("--framework", metavar="F", help="only this framework")
    run.add_argument("--force", action="store_true", help="run even what is fresh")
    run.set_defaults(command=_run)

    status = commands.add_parser("status", help="say of each page and framework whether its run is fresh")
    status.add_argument("pages", nargs="*", metavar="PAGE", help="docname or path (default: all)")
    status.set_defaults(command=_status)

    plan = commands.add_parser("plan", help="write the variants as JSON, to run them on another machine")
    plan.add_argument("pages", nargs="*", metavar="PAGE", help="docname or path (default: all)")
    plan.set_defaults(command=_plan)

    env = commands.add_parser("env", help="make the frameworks' environments, or bring them up to date")
    env.add_argument("names", nargs="*", metavar="F", help="frameworks (default: all)")
    env.set_defaults(command=_env)
    return parser


def _run(arguments: argparse.Namespace) -> int:
    from polybook.book import open_book, pages
    from polybook.obtain import Runner
    from polybook.split import split

    book = open_book(arguments.book)
    if arguments.framework and arguments.framework not in book.options.frameworks:
        known = ", ".join(book.options.frameworks)
        raise ConfigError(f"framework {arguments.framework!r} is unknown (known: {known}).\nCorrect the name.")
    runner = Runner(
        book.options, say=print, warn=lambda text: print(f"warning: {text}", file=sys.stderr), live=sys.stderr
    )
    failures: list[Failure] = []
    for page in pages(book, arguments.pages):
        if isinstance(page, PageFailed):
            failures += page.failures
            continue
        for name in page.frameworks:
            if arguments.framework in (None, name):
                try:
                    result = runner.obtain(split(page, name), force=arguments.force)
                except PageFailed as failed:
                    failures += failed.failures
                    continue
                if result and not result.cells_run:
                    print(f"{page.docname} [{name}]: fresh, of {_when(result.run.started)}")
    return _tell(failures)


def _status(arguments: argparse.Namespace) -> int:
    from polybook.book import open_book, pages
    from polybook.status import status_table

    book = open_book(arguments.book)
    found = list(pages(book, arguments.pages))
    print(status_table(book, [page for page in found if not isinstance(page, PageFailed)]))
    return _tell([failure for page in found if isinstance(page, PageFailed) for failure in page.failures])


def _plan(arguments: argparse.Namespace) -> int:
    from polybook.book import open_book, pages
    from polybook.split import split

    found = list(pages(open_book(arguments.book), arguments.pages))
    variants = [
        split(page, name).as_json() for page in found if not isinstance(page, PageFailed) for name in page.frameworks
    ]
    print(json.dumps({"schema": 1, "variants": variants}, indent=1, ensure_ascii=False))
    return _tell([failure for page in found if isinstance(page, PageFailed) for failure in page.failures])


def _env(arguments: argparse.Namespace) -> int:
    from polybook.environments import make_environments
    from polybook.options import config_file_options

    for name in make_environments(config_file_options(arguments.book), arguments.names, _say):
        print(f"environment of {name}: made")
    return 0


def _say(text: str) -> None:
    print(text, flush=True)


def _when(iso: str) -> str:
    from polybook.status import local_time

    return local_time(iso)


def _tell(failures: list[Failure]) -> int:
    for failure in sorted(set(failures)):
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
