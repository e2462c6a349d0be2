"""What one kernel produced for one variant, as data that can be stored and carried to another machine.

Pure data; written and read as versioned JSON (see ``store.py``), made by ``execute.py``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polybook.errors import StoreEntryUnreadable

#: Raised when the stored shape changes; entries of another version are run again.
SCHEMA = 3


@dataclass(frozen=True)
class Run:
    """Outputs of a variant, from one kernel on one machine in one go.

    Attributes:
        page: The docname of the page it was made for.
        framework: The framework's name.
        code: The digest of the variant's code.
        circumstances: Digests of what else a run depends on, by name (see ``circumstances.py``).
        started: When the kernel was asked for, ISO 8601 in UTC.
        ended: When the kernel was gone, ISO 8601 in UTC.
        elapsed_s: Seconds from first to last, kernel start included.
        cells: For each cell of the variant ``{outputs, execution_count, started, elapsed_s}``, outputs as nbformat 4.
        machine: The record that the book's probe took in the kernel; empty if the book has no probe.
        load: The machine's load average over a minute, before and after.
        commit: The book's commit, with a plus sign if files had been changed since; empty outside of git.
        differs: How the environment differed from the pins, in words, as a vendor's image does.
        noise: What disturbed the run, in words (see ``noise.py``).
        dropped: For each earlier attempt that was dropped because it was noisy: what disturbed it, in words.
        metadata: Notebook metadata that rendering needs: ``language_info`` and, if there are any, ``widgets``.
    """

    page: str
    framework: str
    code: str
    circumstances: Mapping[str, str]
    started: str
    ended: str
    elapsed_s: float
    cells: tuple[dict[str, Any], ...]
    metadata: Mapping[str, Any]
    machine: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    load: tuple[float, float] = (0.0, 0.0)
    commit: str = ""
    differs: tuple[str, ...] = ()
    noise: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def provides(self) -> frozenset[str]:
        """What the machine had that a variant may need, such as ``gpu``; a processor is always there."""
        return frozenset({"cpu", *self.machine.get("provides", ())})

    def as_json(self) -> dict[str, Any]:
        """Give the run as plain data."""
        return {"schema": SCHEMA, **{f.name: getattr(self, f.name) for f in dataclasses.fields(self)}}


@dataclass(frozen=True)
class Offer:
    """A run that a page can show.

    Attributes:
        run: The run.
        identity: The digest of its content.
        source: The folder of recorded runs that it comes from, such as ``h200``; empty if it was made here.
        changed: What of the book has changed since it was recorded, in words.
    """

    run: Run
    identity: str
    source: str = ""
    changed: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What a reader chooses it by."""
        return run_label(self.source)


def named_identity(source: str, identity: str) -> str:
    """Give what tells a run from another on a page: its content, and the name that it goes by there."""
    return f"{source}:{identity}" if source else identity


def run_label(source: str) -> str:
    """Give what a reader chooses a run by, from the folder of recorded runs that it comes from, if any."""
    return f"recorded ({source})" if source else "this build"


def run_from_json(data: object) -> Run | None:
    """Read a run from plain data.

    Returns:
        The run; None if the data are of another version.

    Raises:
        StoreEntryUnreadable: If the data are not a run at all.
    """
    if not isinstance(data, dict) or not isinstance(data.get("schema"), int):
        raise StoreEntryUnreadable("not a run")
    if data["schema"] != SCHEMA:
        return None
    fields = {f.name for f in dataclasses.fields(Run)}
    if set(data) - {"schema"} != fields or not _is_shaped(data):
        raise StoreEntryUnreadable("fields are missing or unknown")
    lists = ("cells", "load", "differs", "noise", "dropped")
    values: dict[str, Any] = {name: tuple(data[name]) if name in lists else data[name] for name in fields}
    return Run(**values)


def _is_shaped(data: dict[str, Any]) -> bool:
    """Tell whether what is walked through later has the shape for it."""
    cells, machine = data["cells"], data["machine"]
    return (
        isinstance(cells, list)
        and all(isinstance(cell, dict) and isinstance(cell.get("outputs"), list) for cell in cells)
        and all(isinstance(output, dict) for cell in cells for output in cell["outputs"])
        and isinstance(machine, dict)
        and isinstance(data["circumstances"], dict)
        and all(isinstance(data[name], list) for name in ("load", "differs", "noise", "dropped"))
    )
