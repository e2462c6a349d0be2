"""The command line: assign, collect, grade, return; make, verify and export exercises; see whether the jail works.

Each command reads its options and calls what does the work. Exit status: 0 if all went well, 1 if something could not
be done, 2 for a wrong call, 130 after Ctrl-C.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from coursework.batch import default_jobs
from coursework.choosing import collected, exercise_of, jails_for, pythons_for, slug_and_sources
from coursework.course import Course
from coursework.errors import CourseworkError
from coursework.exercise import Places, load
from coursework.rows import Status
from coursework.source import FRAMEWORKS

Command = TypeVar("Command", bound=Callable[..., Any])
_FOLDER = click.Path(file_okay=False, path_type=Path)
_THERE = click.Path(exists=True, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: Arguments; the process's own by default.

    Returns:
        The exit status.
    """
    try:
        status = cli.main(argv, prog_name="python -m coursework", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except CourseworkError as error:
        click.echo(error, err=True)
        return 1
    except OSError as error:
        click.echo(f"{error.filename or 'the system'}: {error.strerror or error}", err=True)
        return 1
    except click.Abort as error:
        return 130 if isinstance(error.__cause__, KeyboardInterrupt) else 1
    except KeyboardInterrupt:
        return 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def cli() -> None:
    """Assign exercises as notebooks, collect what comes back, grade it safely, return grades and feedback."""


def _course(command: Command) -> Command:
    text = "The course's folder, kept out of every public repository."
    return click.option("--course", "root", type=_FOLDER, default=Path("course"), show_default=True, help=text)(command)


def _places(command: Command) -> Command:
    given = click.option("--overlay", type=_THERE, help="A folder whose <slug>.yml and <slug>.md change exercises.")
    given_teacher = click.option("--teacher", type=_THERE, help="A folder with the teachers' parts, if kept apart.")
    exercises = click.option(
        "--exercises", type=_THERE, default=Path("exercises"), show_default=True, help="The folder with the exercises."
    )
    return exercises(given_teacher(given(command)))


def _jails(command: Command) -> Command:
    python = click.option(
        "--python",
        "pythons",
        multiple=True,
        metavar="FRAMEWORK=PATH",
        help="The interpreter that has a framework (default: .venv-FRAMEWORK beside the exercises).",
    )
    unsafe = click.option("--unsafe", is_flag=True, help="Without a jail. Only for programs you have read.")
    gpu = click.option("--gpu", is_flag=True, help="Let submissions use the GPU.")
    return python(unsafe(gpu(command)))


def _framework(text: str) -> Callable[[Command], Command]:
    return click.option("--framework", type=click.Choice(FRAMEWORKS), help=text)


@cli.command()
@click.argument("slug")
@click.option("--title", default="", help="Its name for readers.")
@click.option("--page", default="", help="The chapter it belongs to, such as chapters/cost-model.")
@_places
def new(slug: str, title: str, page: str, **places: Any) -> None:
    """Make a new exercise with a small example of each of its parts."""
    from coursework.new import new as make

    for path in make(slug, Places(**places), title=title, page=page):
        click.echo(path)


@cli.command()
@click.argument("slugs", nargs=-1, required=True, metavar="SLUG...")
@click.option("--framework", "frameworks", type=click.Choice(FRAMEWORKS), multiple=True, required=True)
@click.option("--out", type=_FOLDER, help="Where to (default: assigned/ in the course's folder).")
@click.option("--site", default="", help="Where the course's site is published: links, and what notebooks install.")
@click.option("--mirror", default="", help="A package index that students can reach.")
@click.option("--force", is_flag=True, help="Replace files that hold something else.")
@_course
@_places
def assign(  # noqa: PLR0913, PLR0917
    slugs: Sequence[str],
    frameworks: Sequence[str],
    out: Path | None,
    site: str,
    mirror: str,
    force: bool,
    root: Path,
    **places: Any,
) -> None:
    """Make the notebooks to hand out, and a zip of each for a learning platform."""
    from coursework.assign import HAND_OUT_THE_ZIP, write

    target = out or root / "assigned"
    for framework in frameworks:
        made = write(slugs, framework, target, root, Places(**places), site=site, mirror=mirror, force=force)
        for path in made:
            click.echo(path)
    if not site:
        click.echo(HAND_OUT_THE_ZIP)


@cli.command()
@click.argument("arguments", nargs=-1, required=True, metavar="[SLUG] SOURCE...")
@_framework("Take only notebooks for this one.")
@click.option("--due", default="", metavar="DATE", help="For those whose line in roster.csv says no date.")
@_course
@_places
def collect(arguments: Sequence[str], framework: str | None, due: str, root: Path, **places: Any) -> int:
    """Sort in what students handed in: a zip of Canvas or Moodle, a folder, cloned repositories.

    Without SLUG it is the exercise that most of the notebooks are of.
    """
    from coursework.collect import collect as sort_in
    from coursework.collect import counted, expected, unmatched
    from coursework.roster import moment, read_roster

    course, where = Course(root), Places(**places)
    try:
        until = moment(due) if due else None
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--due") from None
    slug, sources = slug_and_sources(arguments, where)
    wanted = expected(exercise_of(slug, framework, where), course, framework, until)
    roster = read_roster(course)
    rows = sort_in(course, sources, wanted, roster)
    for row in rows:
        if row.status is not Status.COLLECTED or row.message:
            click.echo(
                f"{row.student or '?'}: {row.status}: {row.message} {f'[{row.original}]' if row.original else ''}"
            )
    told = ", ".join(f"{count} {status}" for status, count in counted(rows).items()) or "nothing found"
    click.echo(f"{slug}: {told}")
    click.echo(course.collected)
    if told := unmatched(course, rows, roster):
        click.echo(told)
    return 0


@cli.command()
@click.argument("slugs", nargs=-1, metavar="[SLUG...]")
@click.option("-j", "--jobs", type=click.IntRange(1), default=default_jobs, show_default="half of the processors")
@_framework("Only this one.")
@click.option("--regrade", is_flag=True, help="Grade what is unchanged, too.")
@click.option("--only", multiple=True, metavar="STUDENT", help="Only this one.")
@_jails
@_course
@_places
def grade(  # noqa: PLR0913, PLR0917
    slugs: Sequence[str],
    jobs: int,
    framework: str | None,
    regrade: bool,
    only: Sequence[str],
    pythons: Sequence[str],
    unsafe: bool,
    gpu: bool,
    root: Path,
    **places: Any,
) -> int:
    """Grade what was collected, each submission in a jail of its own. Interrupted and started again, it goes on."""
    from coursework.assignment import assignment
    from coursework.batch import Batch
    from coursework.batch import grade as grade_batch
    from coursework.judge import judge
    from coursework.marks import read_decisions
    from coursework.overview import finish
    from coursework.roster import read_roster

    course, where = Course(root), Places(**places)
    wanted = collected(course, where, slugs, framework, only)
    read_decisions(course)  # what cannot be read is told before an hour of grading, not after
    jails = jails_for(pythons_for(sorted({name for _, name in wanted}), where, pythons), unsafe=unsafe, gpu=gpu)
    assignments = [assignment(load(slug, where), name, course, where) for slug, name in wanted]

    def ask(one: Any, code: Mapping[str, str], time_factor: float) -> Any:
        return judge(one.asked, code, one.framework, one.limits, jails[one.framework], time_factor)

    batch = Batch(course, assignments, ask, read_roster(course), jobs, regrade, only, click.echo)
    try:
        report = grade_batch(batch)
    except KeyboardInterrupt:
        click.echo("stopped; what is graded is kept, `grade` goes on from here", err=True)
        raise
    results, notes = finish(course, assignments)
    for text in [*report.faults, *notes.faults, *notes.warnings]:
        click.echo(text, err=True)
    click.echo(f"{report.graded} graded, {report.kept} unchanged, {len(results)} results in all")
    if notes.waiting:
        click.echo(f"{notes.waiting} answers wait for points in {course.marks}")
    click.echo(course.grades / "overview.html")
    return 1 if report.faults or notes.faults else 0


@cli.command("return")
@click.argument("slug")
@click.option("--sheet", type=_FILE, help="Canvas's exported gradebook, or Moodle's grading worksheet.")
@click.option("--column", default="", help="The grade's column there, if it does not have the exercise's title.")
@click.option("--scale", is_flag=True, help="Scale points to the platform's maximum.")
@click.option("--zero", is_flag=True, help="0 points for what is missing or cannot be graded (else left as it is).")
@click.option("--out", type=_FOLDER, help="Where to (default: returned/<slug>/ in the course's folder).")
@_course
@_places
def give_back(  # noqa: PLR0913, PLR0917
    slug: str,
    sheet: Path | None,
    column: str,
    scale: bool,
    zero: bool,
    out: Path | None,
    root: Path,
    **places: Any,
) -> int:
    """Fill the platform's own grade sheet, and pack feedback as the platform takes it."""
    from coursework.returning import Wish
    from coursework.returning import give_back as write

    course = Course(root)
    title = load(slug, Places(**places)).title
    done = write(course, Wish(slug, title, column, scale, zero), sheet, out or course.returned / slug)
    for text in done.left:
        click.echo(text, err=True)
    if sheet:
        click.echo(f"{done.filled} grades filled in")
    for path in done.files:
        click.echo(path)
    return 0


@cli.command()
@click.argument("student")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_course
def forget(student: str, yes: bool, root: Path) -> int:
    """Delete everything that the course's folder holds of one student."""
    from coursework.forget import changes, holds
    from coursework.forget import forget as delete

    course = Course(root)
    found = holds(course, student)
    again = "collecting the same download again brings this person back"
    if found and not yes:
        click.echo("\n".join(str(path) for path in found))
        click.echo("\n".join(f"{path}: written anew, without this person" for path in changes(course, student)))
        click.confirm(f"Delete all of {student} for good ({again})?", abort=True)
    for line in delete(course, student):
        click.echo(line)
    click.echo(f"What lies elsewhere, such as the platform's downloads, is yours to delete: {again}.")
    return 0


@cli.command()
@click.argument("slugs", nargs=-1, metavar="[SLUG...]")
@click.option("--site", "sites", multiple=True, type=_THERE, help="The built site, searched for hidden strings.")
@click.option("--out", "outs", multiple=True, type=_THERE, help="Handed-out notebooks and zips, searched as well.")
@_framework("Only this one.")
@_jails
@_course
@_places
def verify(  # noqa: PLR0913, PLR0917
    slugs: Sequence[str],
    sites: Sequence[Path],
    outs: Sequence[Path],
    framework: str | None,
    pythons: Sequence[str],
    unsafe: bool,
    gpu: bool,
    root: Path,
    **places: Any,
) -> int:
    """Prove that exercises are sound: solutions, stubs and wrong answers score what they should, nothing leaks."""
    from coursework import drawing
    from coursework.exercise import slugs as all_slugs
    from coursework.verify import verify as prove

    where = Places(**places)
    names = [framework] if framework else list(FRAMEWORKS)
    jails = jails_for(pythons_for(names, where, pythons), unsafe=unsafe, gpu=gpu)
    # Without a course, any seed will do.
    seed = drawing.course(root).seed if (root / drawing.FILE).is_file() else "0" * 32
    checks = prove(list(slugs) or all_slugs(where), where, jails, seed=seed, artefacts=[*sites, *outs])
    wrong = 0
    for check in checks:
        click.echo(f"{check.subject}: {check.wrong or 'as it should be'}", err=bool(check.wrong))
        wrong += bool(check.wrong)
    return 1 if wrong else 0


@cli.command()
@click.option("--out", type=_FOLDER, default=Path("solutions/exercises"), show_default=True, help="Where to.")
@_places
def solutions(out: Path, **places: Any) -> None:
    """Write the instructor's pages: each exercise with its solution, for `make book SOLUTIONS=1`."""
    from coursework.exercise import slugs as all_slugs
    from coursework.instructor import write_solution_pages

    where = Places(**places)
    for path in write_solution_pages([load(slug, where) for slug in all_slugs(where)], out):
        click.echo(path)


@cli.group()
def export() -> None:
    """Hand an exercise over to another grading service."""


@export.command()
@click.argument("slug")
@click.option("--framework", type=click.Choice(FRAMEWORKS), required=True)
@click.option("--out", type=_FOLDER, help="Where to (default: exported/ in the course's folder).")
@_course
@_places
def gradescope(slug: str, framework: str, out: Path | None, root: Path, **places: Any) -> None:
    """Make an autograder archive for Gradescope."""
    from coursework.export import gradescope as write

    click.echo(write(slug, framework, out or root / "exported", root, Places(**places)))


@cli.command()
@click.option("--python", "pythons", multiple=True, metavar="FRAMEWORK=PATH", help="The interpreter of a framework.")
@_places
def doctor(pythons: Sequence[str], **places: Any) -> int:
    """Say whether the jail works on this machine and, if not, why and what mends it."""
    from coursework.doctor import findings

    found = findings(pythons_for(FRAMEWORKS, Places(**places), pythons))
    for one in found:
        click.echo(f"{'fine' if one.ok else 'BAD '}  {one.name}: {one.why}")
        if one.remedy:
            click.echo(f"      {one.remedy}")
    return 0 if all(one.ok for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
