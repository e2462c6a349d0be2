"""What the processes of a jail use together and no rlimit bounds: memory, and what the kernel keeps for them."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

_KB_PER_MB = 1024
#: What counts of a process: its memory, what was swapped out, and the tables by which the kernel finds it.
_TABLES = ("VmPTE:",)
_ALONE, _SHARED = ("VmRSS:", "VmSwap:", *_TABLES), ("Pss:", "SwapPss:")


@dataclass(frozen=True)
class Usage:
    """What some processes use.

    Attributes:
        processes: How many they are.
        memory_mb: Their memory in MB, what they share counted once.
    """

    processes: int
    memory_mb: float


def usage(pid: int, precise_above_mb: float) -> Usage:
    """Look at a process and all below it; nothing is found where the system has no ``/proc``.

    Args:
        pid: The topmost process.
        precise_above_mb: Below this the quick sum is good enough, which counts shared memory several times.
    """
    pids = _below(pid)
    quick = sum(_resident_kb(p) for p in pids) / _KB_PER_MB
    return Usage(len(pids), quick if quick <= precise_above_mb else sum(map(_share_kb, pids)) / _KB_PER_MB)


@dataclass(frozen=True)
class Kept:
    """What the kernel keeps for a jail, in memory of its own.

    Attributes:
        files: How many files and folders there are in its temporary folders, about 1 kB each even if they are empty.
        sockets: How many sockets are open in its network, each with buffers.
    """

    files: int = 0
    sockets: int = 0


def kept(first: int, folders: Iterable[str]) -> Kept:
    """Look at what the kernel keeps for a jail.

    Args:
        first: A process in it, which has seen its own file systems for long: at first it still sees ours.
        folders: Its temporary folders, as it sees them; each is a file system of its own.
    """
    found = re.search(r"^sockets: used (\d+)", _read(f"/proc/{first}/net/sockstat"), re.MULTILINE)
    return Kept(sum(_files(f"/proc/{first}/root{folder}") for folder in folders), int(found[1]) if found else 0)


def _files(folder: str) -> int:
    try:
        found = os.statvfs(folder)
    except OSError:
        return 0
    return found.f_files - found.f_ffree


def _below(pid: int) -> list[int]:
    found = [pid]
    for known in found:
        for tasks in _read(f"/proc/{known}/task/{known}/children"), *_other_threads(known):
            found.extend(int(child) for child in tasks.split())
    return found


def _other_threads(pid: int) -> list[str]:
    try:
        threads = [path.name for path in Path(f"/proc/{pid}/task").iterdir() if path.name != str(pid)]
    except OSError:
        return []
    return [_read(f"/proc/{pid}/task/{thread}/children") for thread in threads]


def _resident_kb(pid: int) -> int:
    return _sum_kb(f"/proc/{pid}/status", _ALONE)


def _share_kb(pid: int) -> int:
    shared = _sum_kb(f"/proc/{pid}/smaps_rollup", _SHARED)
    return shared + _sum_kb(f"/proc/{pid}/status", _TABLES) if shared else _resident_kb(pid)


def _sum_kb(path: str, names: Collection[str]) -> int:
    lines = (line.split() for line in _read(path).splitlines())
    return sum(int(words[1]) for words in lines if len(words) > 1 and words[0] in names)


def _read(path: str) -> str:
    try:
        return Path(path).read_text("ascii", errors="replace")
    except OSError:
        return ""
