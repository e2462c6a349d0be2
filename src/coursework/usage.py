"""How much memory a process and all below it use together: what no rlimit bounds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_PAGE_KB = 4
_KB_PER_MB = 1024


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
    fields = _read(f"/proc/{pid}/statm").split()
    return int(fields[1]) * _PAGE_KB if len(fields) > 1 else 0


def _share_kb(pid: int) -> int:
    for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return _resident_kb(pid)


def _read(path: str) -> str:
    try:
        return Path(path).read_text("ascii", errors="replace")
    except OSError:
        return ""
