"""Get the runs of a variant: one from the store or, if none is fresh, from a kernel; and those that were recorded.

The one road to a run, for the Sphinx extension and the command line alike.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from polybook.circumstances import circumstances, differences, environment_differences
from polybook.errors import PageFailed, StoreEntryUnreadable
from polybook.options import Framework, Options
from polybook.progress import Progress
from polybook.recorded import Recorded, RecordedRuns
from polybook.run import Offer, Run, named_identity
from polybook.store import Store
from polybook.variant import Variant


@dataclass(frozen=True)
class Obtained:
    """A run and where it came from.

    Attributes:
        run: The run.
        identity: The digest of its stored content.
        cells_run: How many cells were run to get it; 0 if it was recalled.
    """

    run: Run
    identity: str
    cells_run: int


@dataclass(frozen=True)
class Lookup:
    """What the store holds for a variant, or did once.

    Attributes:
        state: ``fresh``, ``stale``, ``unreadable`` or ``missing``.
        reasons: Why it is stale or unreadable, in words.
        identity: The digest of the entry's content; empty unless the state is fresh or stale.
        run: The stored run, if it could be read.
    """

    state: str
    reasons: tuple[str, ...] = ()
    identity: str = ""
    run: Run | None = None


class Runner:
    """Recalls or makes runs for one book.

    Args:
        options: The book's settings.
        say: Prints a line that stays.
        warn: Prints a warning.
        live: A terminal for the live line, or None.
    """

    def __init__(
        self,
        options: Options,
        say: Callable[[str], None],
        warn: Callable[[str], None],
        live: TextIO | None = None,
    ) -> None:
        """Open the store; nothing runs yet."""
        self.options = options
        self.store = Store(options.store)
        self._say = say
        self._warn = warn
        self._live = live
        # The disk is asked once a build; the cache goes with this object.
        self._circumstances = functools.cache(lambda name: circumstances(options.frameworks[name], options))

    def look_up(self, framework: str, code: str) -> Lookup:
        """Say what the store holds for this code under today's circumstances; nothing runs."""
        try:
            found = self.store.get(framework, code)
        except StoreEntryUnreadable as error:
            return Lookup("unreadable", (str(error),))
        if found is None:
            return Lookup("missing")
        identity, run = found
        reasons = tuple(differences(run.circumstances, self._circumstances(framework)))
        return Lookup("stale" if reasons else "fresh", reasons, identity, run)

    @functools.cached_property
    def recorded(self) -> RecordedRuns:
        """The book's recorded runs, read when they are first asked for; what is wrong with them is told then."""
        runs = RecordedRuns(self.options.runs)
        for problem in runs.problems:
            self._warn(problem)
        return runs

    def offers(self, page: str, framework: str, code: str, needs: str, live: tuple[str, Run] | None) -> list[Offer]:
        """List the runs that a page can show for a code, the one to show first at the front.

        What was made here comes first, then what was recorded, the latest first; but a run that has what the
        variant needs goes before one that has not.

        Args:
            page: The docname of the page: of several records of this code in one folder its own is taken.
            framework: The framework's name.
            code: The digest of the variant's code.
            needs: What the variant needs, or an empty text.
            live: The run that was made here, if there is one, and its identity.
        """
        found = [Offer(live[1], live[0])] if live else []
        same = sorted(self.recorded.of_code(framework, code), key=lambda item: item.run.page == page)
        one_a_folder = {item.name: item for item in same}.values()
        for item in sorted(one_a_folder, key=lambda item: item.run.started, reverse=True):
            if live and item.run.started == live[1].started:
                continue  # the very run that was made here
            changed = tuple(differences(item.run.circumstances, self._circumstances(framework), ("pins", "packages")))
            found.append(Offer(item.run, item.identity, item.name, changed))
        return sorted(found, key=lambda offer: bool(needs) and needs not in offer.run.provides)

    def stale(self, page: str, framework: str, code: str) -> list[Recorded]:
        """List the recorded runs of a page that are of other code than this."""
        return [item for item in self.recorded.of_page(page, framework) if item.run.code != code]

    def expected(self, page: str, framework: str, code: str, needs: str) -> tuple[str, ...]:
        """Give the identities of the runs that a page would show if nothing ran now."""
        found = self.look_up(framework, code)
        live = (found.identity, found.run) if found.state == "fresh" and found.run else None
        return tuple(named_identity(o.source, o.identity) for o in self.offers(page, framework, code, needs, live))

    def obtain(self, variant: Variant, force: bool = False, retries: int = 0) -> Obtained | None:
        """Recall the run of a variant, or make it.

        Args:
            variant: The variant.
            force: Run it even if a fresh run is stored.
            retries: How often to run it again if a run was noisy; a stored run that is noisy is not good enough then.

        Returns:
            The run; None if there is nothing to run, or no fresh run and the book says that nothing may be run.

        Raises:
            PageFailed: If the variant cannot be run.
            Interrupted: If a signal came.
        """
        if not variant.cells:
            return None
        found = self.look_up(variant.framework, variant.code)
        if found.state == "unreadable":
            self._warn(
                f"stored run of {variant.docname} [{variant.framework}] is unreadable and ignored: {found.reasons[0]}"
            )
        good_enough = found.run and not (retries and found.run.noise)
        if found.state == "fresh" and found.run and good_enough and not (force or self.options.force):
            return Obtained(found.run, found.identity, 0)
        if not self.options.execute and not force:
            label = f"{variant.docname} [{variant.framework}]"
            self._say(f"{label}: not run, since _config.yml says `execute_notebooks: off`")
            return None
        noisy = [_joined(found.run)] if found.state == "fresh" and found.run and found.run.noise else []
        run = self._quietest(variant, retries, noisy)
        try:
            identity = self.store.put(run)
        except OSError as error:
            # What was made is shown all the same; the next build makes it again.
            self._warn(f"the run of {variant.docname} [{variant.framework}] could not be stored: {error}")
            identity = "not stored"
        return Obtained(run, identity, len(run.cells))

    def _quietest(self, variant: Variant, retries: int, dropped: list[str]) -> Run:
        """Run a variant, again as long as it was noisy; what is dropped is told, here and in the run."""
        framework = self.options.frameworks[variant.framework]
        run = self._run(variant, framework)
        for _ in range(retries):
            if not run.noise:
                break
            dropped.append(_joined(run))
            self._say(f"{variant.docname} [{variant.framework}]: noisy ({dropped[-1]}); dropped, and run again")
            try:
                run = self._run(variant, framework)
            except PageFailed as failed:
                # A run that is noisy is better than none.
                dropped.pop()
                self._warn(f"{failed}\nThat was a repetition; the noisy run is kept.")
                break
        if run.noise:
            self._say(f"{variant.docname} [{variant.framework}]: noisy ({_joined(run)})")
        differs = tuple(environment_differences(framework))
        return dataclasses.replace(run, dropped=tuple(dropped), differs=differs)

    def _run(self, variant: Variant, framework: Framework) -> Run:
        # Imported late: a build that recalls everything needs no Jupyter client.
        from polybook.execute import execute
        from polybook.lock import machine_lock

        label = f"{variant.docname} [{variant.framework}]"
        with machine_lock(label, lambda text: self._say(f"{label}: {text}")):
            # Its clock starts here: waiting for the lock is no part of the run.
            progress = Progress(label, len(variant.cells), self._say, self._live)
            run = execute(variant, framework, self.options, self._circumstances(variant.framework), progress)
        progress.done()
        return run


def _joined(run: Run) -> str:
    return "; ".join(run.noise)
