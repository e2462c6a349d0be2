"""The command line: assign, collect, grade, return; make, verify and export exercises; see whether the jail works.

Each command reads its options and calls what does the work. Exit status: 0 if all went well, 1 if something could not
be done, 2 for a wrong call, 130 after Ctrl-C.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from coursework.batch import default_jobs
from coursework.choosing import collected, exercise_of, jails_for, pythons_for, remember
from coursework.course import Course
from coursework.errors import CourseworkError
from coursework.exercise import Places, load
from coursework.given import FILE, FOLDER, THERE, course_option, framework_option, jails_options, places_options
from coursework.source import FRAMEWORKS


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


@cli.command()
@click.argument("slug")
@click.option("--title", default="", help="Its name for readers.")
@click.option("--page", default="", help="The chapter it belongs to, such as chapters/cost-model.")
@places_options
def new(slug: str, title: str, page: str, **places: Any) -> None:
    """Make a new exercise with a small example of each of its parts."""
    from coursework.new import about_public
    from coursework.new import new as make

    where = Places(**places)
    for told in [*make(slug, where, title=title, page=page), about_public(slug, where)]:
        click.echo(told, nl=bool(told))


@cli.command()
@click.argument("slugs", nargs=-1, required=True, metavar="SLUG...")
@click.option("--framework", "frameworks", type=click.Choice(FRAMEWORKS), multiple=True, required=True)
@click.option("--out", type=FOLDER, help="Where to (default: assigned/ in the course's folder).")
@click.option("--site", default="", help="Where the course's site is published: links, and what notebooks install.")
@click.option("--mirror", default="", help="A package index that students can reach.")
@click.option("--force", is_flag=True, help="Replace files that hold something else.")
@course_option
@places_options
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
    remember(root, places)
    if not site:
        click.echo(HAND_OUT_THE_ZIP)


@cli.command()
@click.argument("arguments", nargs=-1, required=True, metavar="[SLUG] SOURCE...")
@framework_option("Take only notebooks for this one.")
@click.option(
    "--due",
    default="",
    metavar="DATE",
    help="For those of whom roster.csv says nothing: its column `due:SLUG` goes before `due`, and both before this.",
)
@click.option("--sheet", type=FILE, help="Moodle's grading worksheet, which says when hand-ins came.")
@course_option
@places_options
def collect(
    arguments: Sequence[str], framework: str | None, due: str, sheet: Path | None, root: Path, **places: Any
) -> int:
    """Sort in what students handed in: a zip of Canvas or Moodle, a folder, cloned repositories.

    Without SLUG every notebook goes to the exercise that it was handed out for.
    """
    from coursework.alone import alone
    from coursework.exercise import slugs as all_slugs
    from coursework.gathering import gathered, sort_in
    from coursework.roster import moment

    course, where = Course(root), Places(**places)
    try:
        until = moment(due) if due else None
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--due") from None
    found = gathered(arguments, all_slugs(where))
    exercises = [exercise_of(slug, framework, where) for slug in found.sources]
    root.mkdir(parents=True, exist_ok=True)  # or there would be nothing to lock
    with alone(course, "collect"):
        told = sort_in(course, found, [(one, framework, until) for one in exercises], sheet, click.echo)
    for text in told:
        click.echo(text, err=True)
    return 0


@cli.command()
@click.option("--sheet", type=FILE, required=True, help="Moodle's grading worksheet, or Canvas's exported gradebook.")
@course_option
def roster(sheet: Path, root: Path) -> int:
    """Write roster.csv from a platform's list, with a pseudonym for everyone; lines that are there stay."""
    from coursework.alone import alone
    from coursework.enrol import enrol

    course = Course(root)
    root.mkdir(parents=True, exist_ok=True)
    with alone(course, "roster"):
        done = enrol(course, sheet)
    for text in done.left:
        click.echo(text, err=True)
    new = f"{len(done.added)} new: {done.added[0]} to {done.added[-1]}" if done.added else "nobody new"
    click.echo(f"{course.roster}: {new}; {done.known} had a line already, which stays as it is")
    return 1 if done.left else 0


@cli.command()
@click.argument("slugs", nargs=-1, metavar="[SLUG...]")
@click.option("-j", "--jobs", type=click.IntRange(1), default=default_jobs, show_default="half of the processors")
@framework_option("Only this one.")
@click.option("--regrade", is_flag=True, help="Grade what is unchanged, too.")
@click.option("--only", multiple=True, metavar="STUDENT", help="Only this one.")
@jails_options
@course_option
@places_options
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
    from coursework.alone import alone
    from coursework.assignment import assignment
    from coursework.batch import Batch, grade_held
    from coursework.judge import judge
    from coursework.marks import read_decisions
    from coursework.overview import finish
    from coursework.roster import read_roster

    course, where = Course(root), Places(**places)
    with alone(course, "grade"):
        remember(root, places)
        wanted = collected(course, where, slugs, framework, only)
        read_decisions(course)  # what cannot be read is told before an hour of grading, not after
        jails = jails_for(pythons_for(sorted({name for _, name in wanted}), where, pythons), unsafe=unsafe, gpu=gpu)
        assignments = [assignment(load(slug, where), name, course, where) for slug, name in wanted]

        def ask(one: Any, code: Mapping[str, str], time_factor: float) -> Any:
            return judge(one.asked, code, one.framework, one.limits, jails[one.framework], time_factor)

        batch = Batch(course, assignments, ask, read_roster(course), jobs, regrade, only, click.echo)
        try:
            report = grade_held(batch)
        except KeyboardInterrupt:
            click.echo("stopped; what is graded is kept, `grade` goes on from here", err=True)
            raise
        results, notes = finish(course, assignments)
    for text in [*report.faults, *notes.faults, *notes.warnings]:
        click.echo(text, err=True)
    click.echo(report.summary(results, course.marks))
    click.echo(course.grades / "overview.html")
    return 1 if report.faults or notes.faults else 0


@cli.command("return")
@click.argument("slug")
@click.option("--sheet", type=FILE, help="Canvas's exported gradebook, or Moodle's grading worksheet.")
@click.option("--column", default="", help="The grade's column there, if it does not have the exercise's title.")
@click.option("--scale", is_flag=True, help="Scale points to the platform's maximum.")
@click.option("--zero", is_flag=True, help="0 points for what is missing or cannot be graded (else left as it is).")
@click.option("--out", type=FOLDER, help="Where to (default: returned/<slug>/ in the course's folder).")
@course_option
@places_options
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
    for text in [*done.left, *([f"{sheet}: {done.doubt}"] if done.unsure else [])]:
        click.echo(text, err=True)
    for text in [*done.changed, *([done.summary] if sheet else [])]:
        click.echo(text)
    for path in done.files:
        click.echo(path)
    return 1 if sheet and not done.filled else 0


@cli.command()
@click.argument("student")
@click.option("--yes", is_flag=True, help="Do not ask.")
@course_option
def forget(student: str, yes: bool, root: Path) -> int:
    """Delete everything that the course's folder holds of one student.

    STUDENT is the pseudonym, or the full name if one line of roster.csv has it.
    """
    from coursework.forget import changes, holds, whom
    from coursework.forget import forget as delete

    course, said = Course(root), student
    student = whom(course, said)
    if student != said:
        click.echo(f"{course.roster}: by this name it is {student}")
    found = holds(course, student)
    again = "collecting the same download again brings this person back"
    if not yes:
        click.echo("\n".join(str(path) for path in found))
        click.echo("\n".join(f"{path}: written anew, without this person" for path in changes(course, student)))
        click.confirm(f"Delete all of {student} for good ({again})?", abort=True)
    done = delete(course, student)
    for line in done.said:
        click.echo(line)
    for path in done.others:
        click.echo(f"{path}: is not the course's own and was not looked into; see whether it holds this person")
    for line in done.faults:
        click.echo(line, err=True)
    click.echo(f"What lies outside of {root}, such as the platform's downloads, is yours to delete: {again}.")
    return 1 if done.faults else 0


@cli.command()
@click.argument("slugs", nargs=-1, metavar="[SLUG...]")
@click.option("--site", "sites", multiple=True, type=THERE, help="The built site, searched for hidden strings.")
@click.option("--out", "outs", multiple=True, type=THERE, help="Handed-out notebooks and zips, searched as well.")
@framework_option("Only this one.")
@jails_options
@course_option
@places_options
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
        click.echo(f"{check.subject}: {check.wrong or check.told}", err=bool(check.wrong))
        wrong += bool(check.wrong)
    return 1 if wrong else 0


@cli.command()
@click.option("--out", type=FOLDER, default=Path("solutions/exercises"), show_default=True, help="Where to.")
@places_options
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
@click.option("--out", type=FOLDER, help="Where to (default: exported/ in the course's folder).")
@course_option
@places_options
def gradescope(slug: str, framework: str, out: Path | None, root: Path, **places: Any) -> None:
    """Make an autograder archive for Gradescope."""
    from coursework.export import gradescope as write

    click.echo(write(slug, framework, out or root / "exported", root, Places(**places)))


@cli.command()
@click.option("--python", "pythons", multiple=True, metavar="FRAMEWORK=PATH", help="The interpreter of a framework.")
@places_options
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
