"""Tell whether a run was disturbed: by other work on its cores, or by measurements that did not repeat.

Linux counts the seconds that each core has worked; what neither the build nor its kernel used is somebody else's. The
load average would be no judge: it still holds the kernel that ran a minute before.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from polybook.facts import Value

#: Other work is told from this share of the cores' time on, and from this many seconds: below are the system's chores.
FOREIGN_SHARE = 0.10
FOREIGN_S = 0.5
#: A repeated measurement is no figure when its relative spread is above this.
SPREAD = 0.25

# The columns of a core's line in /proc/stat that are work: user, nice, system, irq, softirq, steal (proc(5)).
_WORK = (1, 2, 3, 6, 7, 8)


@dataclass(frozen=True)
class Usage:
    """Processor time at one moment.

    Attributes:
        at_s: The moment, on a monotonic clock.
        cores: How many cores this process may use.
        busy_s: Seconds that these cores have worked since the machine started.
        own_s: Seconds of that which the build and its kernel took.
    """

    at_s: float
    cores: int
    busy_s: float
    own_s: float


def usage(kernel: int | None = None, proc: Path = Path("/proc")) -> Usage | None:
    """Take the processor time of now.

    Args:
        kernel: The process of a kernel that is running; it and its children are ours.
        proc: Where the system tells it.

    Returns:
        The usage; None where the system does not tell.
    """
    try:
        cores = os.sched_getaffinity(0)
        second = os.sysconf("SC_CLK_TCK")
        lines = [line.split() for line in (proc / "stat").read_text("ascii").splitlines()]
        busy = sum(int(line[column]) for line in lines if _is_core(line[0], cores) for column in _WORK) / second
        own = sum(os.times()[:4]) + (_tree_ticks(kernel, proc) / second if kernel else 0.0)
    except (AttributeError, OSError, ValueError, IndexError):
        return None
    return Usage(time.monotonic(), len(cores), busy, own)


def disturbances(before: Usage | None, after: Usage | None, values: Iterable[Value]) -> list[str]:
    """List in words what makes a run's figures doubtful; nothing if it was quiet."""
    found = []
    if before and after:
        foreign_s = (after.busy_s - before.busy_s) - (after.own_s - before.own_s)
        share = foreign_s / max(after.cores * (after.at_s - before.at_s), 1e-9)
        if share > FOREIGN_SHARE and foreign_s > FOREIGN_S:
            found.append(f"other work took {share:.0%} of the cores")
    shaky = [value for value in values if value.spread and value.spread > SPREAD]
    found += [f"the value {value.name} spread by {value.spread:.0%}" for value in shaky]
    return found


def _is_core(name: str, cores: Iterable[int]) -> bool:
    return name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cores


def _tree_ticks(root: int, proc: Path) -> int:
    """The clock ticks of a process, of all in its session or below it that live, and of those that were waited for."""
    parents: dict[int, int] = {}
    sessions: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for folder in proc.iterdir():
        if folder.name.isdigit():
            try:
                # The name of a process, in brackets, may hold anything; fields count from behind it.
                fields = (folder / "stat").read_text("utf8", errors="replace").rpartition(")")[2].split()
            except OSError:
                continue  # gone meanwhile
            parents[int(folder.name)], sessions[int(folder.name)] = int(fields[1]), int(fields[3])
            ticks[int(folder.name)] = sum(map(int, fields[11:15]))
    # A kernel leads a session of its own, in which also those stay whose parent has gone.
    own = sessions.get(root)
    return sum(
        count for pid, count in ticks.items() if _descends(pid, root, parents) or (own == root and sessions[pid] == own)
    )


def _descends(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid in parents and pid != root:
        pid = parents[pid]
    return pid == root
