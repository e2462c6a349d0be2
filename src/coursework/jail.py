"""Start a submission's process where it can do no harm, and end it with all that it started.

``bubblewrap`` is the jail proper. ``user`` only changes to a user without rights, for containers that are thrown away
afterwards. ``unsafe`` keeps nothing away; only who reads all submissions first may ask for it. See `doctor`.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coursework import seccomp
from coursework.bubblewrap import PACKAGES_INSIDE, TEMPORARY, WORKER, WORKER_INSIDE, Descriptors, command
from coursework.errors import JailError
from coursework.model import Limits

KINDS = ("bubblewrap", "user", "unsafe")

_MB = 1024 * 1024
_OPEN_FILES = 256
#: What a framework's libraries map without using it: PyTorch's, made for CUDA, 3.7 GB. What is used is watched.
_LIBRARIES_MB = 8192
#: Far above all users of a machine, so that no two jails share a user: limits on processes count by user.
_FIRST_USER, _USERS = 0x60000000, 0x10000000
_END_S = 10.0


@dataclass(frozen=True)
class Jail:
    """Where submissions run.

    Attributes:
        python: The interpreter that has the framework.
        kind: One of `KINDS`.
        gpu: Whether they may use the machine's GPUs. Address space is not limited then: CUDA wants all of it.
    """

    python: Path = field(default_factory=lambda: Path(sys.executable))
    kind: str = "bubblewrap"
    gpu: bool = False

    def __post_init__(self) -> None:
        """Refuse a kind that does not exist.

        Raises:
            JailError: If it is none of `KINDS`.
        """
        if self.kind not in KINDS:
            raise JailError(f"jail {self.kind!r} is unknown (known: {', '.join(KINDS)}).")


@dataclass(frozen=True)
class Inmate:
    """A process in its jail, and the pipes to it.

    Attributes:
        process: What was started: the jail's own program, or the interpreter itself.
        requests: Where messages to it are written; does not block.
        replies: Where its messages are read; does not block.
        output: Where what it prints is read; does not block.
        first: The process ID of the jail's first process, whose end is that of all others; 0 if there is none.
        handle: Its pidfd; -1 if there is none.
        uid: The user it runs as; None if it is ours.
        folder: Its temporary folder on this machine; None if it has one of its own.
    """

    process: subprocess.Popen[bytes]
    requests: int
    replies: int
    output: int
    first: int
    handle: int
    uid: int | None
    folder: Path | None


def interpreter(framework: str, root: Path) -> Path:
    """Give the interpreter that the course's repository has for a framework."""
    return root / f".venv-{framework}" / "bin" / "python"


def start(jail: Jail, limits: Limits, framework: str, *, cpu_s: float) -> Inmate:
    """Start a worker in its jail.

    Args:
        jail: Where.
        limits: What it may use.
        framework: Whose tensors it makes.
        cpu_s: Seconds of processor time after which the kernel ends it.

    Raises:
        JailError: If the jail does not work here.
    """
    given, taken = os.pipe(), os.pipe()
    printed, status = os.pipe(), os.pipe()
    ours = given[1], taken[0], printed[0], status[0]
    theirs = given[0], taken[1], printed[1], status[1]
    uid = _FIRST_USER + secrets.randbelow(_USERS) if os.geteuid() == 0 and jail.kind != "unsafe" else None
    settings = {
        "requests": given[0],
        "replies": taken[1],
        "framework": framework,
        "uid": uid if jail.kind == "bubblewrap" else None,
        "rlimits": _rlimits(jail, limits, cpu_s),
        "reply_bytes": limits.reply_kb * 1024,
        "memory_mb": limits.memory_mb,
    }
    folder = None
    try:
        if jail.kind == "bubblewrap":
            process = _bubblewrap(jail, settings, os.geteuid() if uid is None else uid, printed[1], status[1])
        else:
            folder = Path(tempfile.mkdtemp(prefix="coursework-"))
            process = _bare(jail, settings, uid, printed[1], folder)
    except BaseException:
        for pipe in ours:
            os.close(pipe)
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        for pipe in theirs:
            os.close(pipe)
    with open(status[0], "rb") as told:  # noqa: PTH123
        first = _first(told.read()) if jail.kind == "bubblewrap" else 0
    for pipe in ours[:3]:
        os.set_blocking(pipe, False)
    inmate = Inmate(process, *ours[:3], max(first, 0), _handle(first), uid, folder)
    if first < 0:
        process.wait(_END_S)
        told_why = os.read(inmate.output, 2000).decode(errors="replace").strip()
        end(inmate)
        raise JailError(f"bubblewrap could not make a jail here ({told_why}). See `python -m coursework doctor`.")
    return inmate


def kill(inmate: Inmate) -> None:
    """Kill the process and every other one that it started; `end` has still to be called."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if inmate.handle >= 0:
            # The end of a process namespace's first process is the end of all, and it is over when they are.
            signal.pidfd_send_signal(inmate.handle, signal.SIGKILL)
        else:
            os.killpg(inmate.process.pid, signal.SIGKILL)
    if inmate.uid is not None and inmate.folder:
        _kill_user(inmate.uid)


def end(inmate: Inmate) -> None:
    """Kill the process and every other one that it started, and wait until they are gone.

    What the kernel has still to clear away, such as very many files, may take long. No process does anything any more
    then, so that is waited for some seconds, and from then on apart.
    """
    kill(inmate)
    if not _buried(inmate, _END_S):
        threading.Thread(target=_buried, args=(inmate, None), daemon=True).start()


def dies_with_us(inmate: Inmate) -> bool:
    """Do to a jail of bubblewrap what our own death would, and tell whether that is its end; call `end` then."""
    inmate.process.kill()
    return _over(inmate.handle, _END_S)


def _over(handle: int, most_s: float | None) -> bool:
    gone = select.poll()
    gone.register(handle, select.POLLIN)
    return bool(gone.poll(None if most_s is None else most_s * 1000))


def _buried(inmate: Inmate, most_s: float | None) -> bool:
    """Wait until the processes are gone, and close and remove what was theirs; tell whether that was in time."""
    if inmate.handle >= 0 and not _over(inmate.handle, most_s):
        return False
    with contextlib.suppress(ProcessLookupError):
        inmate.process.kill()
    try:
        inmate.process.wait(most_s)
    except subprocess.TimeoutExpired:
        return False
    for descriptor in (inmate.requests, inmate.replies, inmate.output, inmate.handle):
        if descriptor >= 0:
            os.close(descriptor)
    if inmate.folder:
        shutil.rmtree(inmate.folder, ignore_errors=True)
    return True


def environment(jail: Jail, home: str) -> dict[str, str]:
    """Give the whole environment of a submission's process: nothing of ours.

    Args:
        jail: Where it runs.
        home: Its folder.
    """
    # One thread each: times vary less, and threads count as processes. Each arena reserves 128 MB of address space.
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    fixed = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "USER": "student", "LOGNAME": "student", "MPLBACKEND": "agg"}
    python = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1"}
    devices = {} if jail.gpu else {"CUDA_VISIBLE_DEVICES": ""}
    return {**fixed, **python, **one, **devices, "MALLOC_ARENA_MAX": "2", "HOME": home, "TMPDIR": home}


def _bubblewrap(jail: Jail, settings: dict[str, Any], user: int, printed: int, status: int) -> subprocess.Popen[bytes]:
    if sys.platform != "linux" or shutil.which("bwrap") is None:
        raise JailError("bubblewrap is not installed here; `python -m coursework doctor` says what to do.")
    rules = seccomp.program()
    users = f"student:x:{user}:{user}:student:{TEMPORARY}:/bin/sh\n"
    descriptors = Descriptors(_file(rules) if rules else -1, status, _file(users.encode()))
    try:
        call = command(jail.python, settings["memory_mb"], descriptors, gpu=jail.gpu)
        call += _worker(jail, WORKER_INSIDE, {**settings, "path": [PACKAGES_INSIDE]})
        passed = [settings["requests"], settings["replies"], status, descriptors.users]
        passed += [descriptors.filter] if rules else []
        return _popen(call, environment(jail, TEMPORARY), printed, passed, cwd="/")
    finally:
        os.close(descriptors.users)
        if rules:
            os.close(descriptors.filter)


def _bare(jail: Jail, settings: dict[str, Any], uid: int | None, printed: int, folder: Path) -> subprocess.Popen[bytes]:
    if jail.kind == "user" and uid is None:
        raise JailError('The jail "user" changes to another user, which only root may do.')
    call = _worker(jail, str(WORKER), {**settings, "path": [str(WORKER.parents[1])] if uid is None else []})
    user: dict[str, Any] = {}
    if uid is not None:
        os.chown(folder, uid, uid)
        user = {"user": uid, "group": uid, "extra_groups": []}
    passed = [settings["requests"], settings["replies"]]
    return _popen(
        call, environment(jail, str(folder)), printed, passed, cwd=str(folder), start_new_session=True, **user
    )


def _popen(
    call: list[str], env: dict[str, str], printed: int, passed: list[int], **more: Any
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603
            call, env=env, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed, pass_fds=passed, **more
        )
    except OSError as error:
        raise JailError(f"{call[0]} does not start: {error.strerror}. See `python -m coursework doctor`.") from None


def _worker(jail: Jail, path: str, settings: dict[str, Any]) -> list[str]:
    # Not -I: it would ignore the hash seed, too. -P keeps the worker's folder out of where modules are looked for.
    return [os.path.abspath(jail.python), "-s", "-P", "-B", path, json.dumps(settings)]  # noqa: PTH100


def _rlimits(jail: Jail, limits: Limits, cpu_s: float) -> dict[str, int]:
    found = {
        "RLIMIT_CPU": int(cpu_s) + 1,
        "RLIMIT_FSIZE": limits.memory_mb * _MB,
        "RLIMIT_NOFILE": _OPEN_FILES,
        "RLIMIT_CORE": 0,
    }
    if not jail.gpu:
        found["RLIMIT_AS"] = (limits.memory_mb + _LIBRARIES_MB) * _MB
    # Older kernels count all processes of an ordinary user, also those outside of the jail.
    apart = os.geteuid() == 0 or _kernel() >= (5, 14)
    if jail.kind != "unsafe" and apart:
        found["RLIMIT_NPROC"] = limits.processes
    return found


def _kernel() -> tuple[int, ...]:
    return tuple(int(part) for part in platform.release().split("-")[0].split(".")[:2] if part.isdigit())


def _first(told: bytes) -> int:
    """Read the ID of the jail's first process from what bubblewrap told; -1 if it came to nothing."""
    try:
        return int(json.loads(told)["child-pid"])
    except (ValueError, KeyError, TypeError):
        return -1


def _handle(pid: int) -> int:
    return os.pidfd_open(pid) if pid > 0 else -1


def _kill_user(uid: int) -> None:
    """Kill all processes of a jail's user at once, also those that left its group: a fork cannot be quicker."""
    user: dict[str, Any] = {"user": uid, "group": uid, "extra_groups": []}
    # It fails if nobody is left.
    subprocess.run(["/bin/sh", "-c", "kill -9 -1"], capture_output=True, check=False, cwd="/", **user)


def _file(content: bytes) -> int:
    descriptor = os.memfd_create("coursework")
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
