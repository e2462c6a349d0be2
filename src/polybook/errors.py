"""What can go wrong, and how it is said: where, what was found, what is allowed, what to do.

``Failure`` is data (a build collects them from every page before it stops); the exceptions carry them.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Failure:
    """One fault of one page, ready to be shown to the author.

    Attributes:
        path: The source file, relative to the book.
        line: 1-based line in that file; 0 if no line is to blame.
        framework: The framework's name; empty if the fault concerns all of them.
        what: What was found, and what is allowed.
        remedy: What to do about it.
    """

    path: str
    line: int
    framework: str
    what: str
    remedy: str

    def __str__(self) -> str:
        """Give ``path:line: [framework] what`` and, on the next line, the remedy."""
        place = f"{self.path}:{self.line}" if self.line else self.path
        framework = f"[{self.framework}] " if self.framework else ""
        return f"{place}: {framework}{self.what}\n{self.remedy}"


class PolybookError(Exception):
    """Base of every error that polybook raises on purpose."""


class ConfigError(PolybookError):
    """The book's configuration cannot be used."""


class EnvironmentFailed(PolybookError):
    """A framework's environment could not be made."""


class LockUnusable(PolybookError):
    """The machine's kernel lock cannot be had, and no kernel may start without it."""


class StoreEntryUnreadable(PolybookError):
    """An entry of the run store is damaged, or of a shape that this version does not know."""


class PageFailed(PolybookError):
    """A page cannot be used, or a variant of it cannot be run.

    Attributes:
        failures: At least one failure, in the order in which they stand on the page.
    """

    def __init__(self, failures: Sequence[Failure]) -> None:
        """Keep the failures; the message is all of them."""
        self.failures = tuple(failures)
        super().__init__("\n".join(map(str, self.failures)))


#: The signals that end a build: Ctrl-C, a termination, a closed terminal.
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(PolybookError):
    """A signal asked the build to stop while a kernel was running.

    Attributes:
        exit_status: 128 plus the signal's number, as a shell reports it (130 for Ctrl-C).
    """

    def __init__(self, signum: int) -> None:
        """Remember which signal it was."""
        self.exit_status = 128 + signum
        super().__init__(f"stopped by signal {signum}")


class WheelFailed(PolybookError):
    """The wheel of a package could not be built."""


class PdfFailed(PolybookError):
    """A site could not be printed."""
