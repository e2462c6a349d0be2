"""Say whether the jail works on this machine and, if not, why and what mends it. Every answer comes from trying."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from coursework import seccomp
from coursework.bubblewrap import visible
from coursework.errors import CourseworkError
from coursework.jail import Jail
from coursework.model import Limits, Outcome, StudentError
from coursework.process import Output, Process
from coursework.student import Submission

_CONTAINER = "Grade inside the container of grading/Containerfile, or in a private repository's CI workflow."
_NAMESPACES = Path("/proc/sys/user/max_user_namespaces")
_DEBIAN = Path("/proc/sys/kernel/unprivileged_userns_clone")
_APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_LIMITS = Limits(call_s=3, total_s=20, memory_mb=256, processes=16)

_PROBE = """
def reaches(port):
    import socket
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True

def sees(paths):
    import os
    return [path for path in paths if os.path.exists(path)]

def user():
    import os
    import asynclab
    return os.getuid()

def writes():
    import os
    found = []
    for folder in ("/", "/dev", "/usr", "/jail", "/etc"):
        try:
            os.close(os.open(folder + "/written", os.O_CREAT | os.O_WRONLY))
        except OSError:
            continue
        found.append(folder)
    return found

def takes_memory():
    return len(bytearray(1 << 30))

def forks():
    import os, time
    for count in range(200):
        try:
            if os.fork() == 0:
                time.sleep(30)
        except OSError:
            return count
    return 200

def hangs():
    while True:
        pass

def clings():
    import ctypes, os, signal
    ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
    for number in range(1, 32):
        try:
            signal.signal(number, signal.SIG_IGN)
        except OSError:
            pass
    if os.getpid() == 1:
        return False
    try:
        os.close(os.open("/proc/1/mem", os.O_RDWR))
    except OSError:
        return False
    return True
"""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: What.
        ok: Whether it is as it has to be.
        why: What was found.
        remedy: What mends it; empty if nothing has to be mended.
    """

    name: str
    ok: bool
    why: str
    remedy: str = ""


def findings(pythons: Mapping[str, Path], kind: str = "bubblewrap") -> list[Finding]:
    """Look at all that grading needs.

    Args:
        pythons: The interpreter of each framework.
        kind: The kind of jail; see `coursework.jail`.
    """
    if kind != "bubblewrap":
        first = [_other_kind(kind)]
    else:
        first = [_system(), _bubblewrap()]
        if all(finding.ok for finding in first) and os.geteuid():
            first.append(_user_namespaces())
        first.append(_filter())
    if not all(finding.ok for finding in first):
        return first
    return first + [finding for name, python in pythons.items() for finding in _framework(name, Jail(python, kind))]


def _other_kind(kind: str) -> Finding:
    name = f"jail {kind!r}"
    if kind == "unsafe":
        return Finding(name, False, "nothing is kept away from this machine", "Leave out --unsafe where you can.")
    if os.geteuid():
        return Finding(name, False, "only root may change to another user", "Use bubblewrap, or run as root.")
    why = (
        "another user without rights; files that every user may read, and the network, stay open, and a submission "
        "outlives a grader that is killed"
    )
    return Finding(name, True, why)


def _system() -> Finding:
    if sys.platform == "linux":
        return Finding("system", True, f"Linux {platform.release()} on {platform.machine()}")
    return Finding("system", False, f"{platform.system()} has no jail that grading can use", _CONTAINER)


def _bubblewrap() -> Finding:
    program = shutil.which("bwrap")
    if program:
        return Finding("bubblewrap", True, program)
    install = "Install it: `apt install bubblewrap`, `dnf install bubblewrap` or `pacman -S bubblewrap`."
    return Finding("bubblewrap", False, "bwrap is not on the PATH", install)


def _user_namespaces() -> Finding:
    name = "user namespaces"
    if _read(_NAMESPACES) == "0":
        return Finding(name, False, "switched off", "As root: `sysctl user.max_user_namespaces=10000`.")
    if _read(_DEBIAN) == "0":
        return Finding(name, False, "switched off", "As root: `sysctl kernel.unprivileged_userns_clone=1`.")
    if _read(_APPARMOR) == "1":
        remedy = (
            "If the jail does not start: allow them to bwrap alone, by a profile /etc/apparmor.d/bwrap with `abi "
            "<abi/4.0>, profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }`, then `systemctl reload apparmor`."
        )
        return Finding(name, True, "AppArmor restricts them, as Ubuntu does from 24.04 on", remedy)
    return Finding(name, True, "allowed")


def _filter() -> Finding:
    name = "filter of system calls"
    if seccomp.program():
        return Finding(name, True, f"there is one for {platform.machine()}")
    why = f"there is none for {platform.machine()}: memory is not bounded against those who try hard"
    return Finding(name, True, why, "Grade on a machine that nothing else depends on.")


def _framework(framework: str, jail: Jail) -> list[Finding]:
    """Look at an interpreter, and try to break out of its jail."""
    name = f"{framework}: interpreter"
    try:
        visible(jail.python)
    except CourseworkError as error:
        return [Finding(name, False, str(error), "Make it, or name another with --python FRAMEWORK=PATH.")]
    submission = Submission(jail, _LIMITS, framework, {"probe": _PROBE})
    try:
        submission.call("user")
    except (CourseworkError, StudentError) as error:
        return [Finding(name, False, str(error), _start_remedy(str(error), jail))]
    found = [Finding(name, True, f"{jail.python} starts in the jail")]
    tries = [_tried_network, _tried_files, _tried_user, _tried_memory, _tried_processes, _tried_time]
    # Those that reach no further than another user.
    if jail.kind == "user":
        tries = [_tried_user, _tried_memory, _tried_processes, _tried_time]
    elif jail.kind == "unsafe":
        tries = [_tried_memory, _tried_time]
    try:
        for attempt in tries:
            submission.renew()
            found.append(_looked(framework, attempt, submission))
    finally:
        submission.end()
    return [*found, _end(framework, jail)] if jail.kind == "bubblewrap" else found


def _end(framework: str, jail: Jail) -> Finding:
    """Look whether a jail ends with the grader, though the submission does what it can against that."""
    name = f"{framework}: end"
    process = Process(jail, _LIMITS, framework, Output(0), _LIMITS.total_s)
    try:
        process.cell("probe", _PROBE, _LIMITS.call_s)
        writes = process.call("clings", (), {}, _LIMITS.call_s)
        if process.dies_with_us() and not writes:
            return Finding(name, True, "a jail ends with its grader")
    except StudentError as error:
        return Finding(name, False, str(error), f"Do not grade with this jail. {_CONTAINER}")
    finally:
        process.end()
    why = "a submission can outlive a grader that is killed, and nothing limits it then"
    return Finding(name, False, why, f"Look for processes that are left after you end grading by force. {_CONTAINER}")


def _looked(framework: str, attempt: Callable[[Submission], tuple[str, bool, str]], submission: Submission) -> Finding:
    try:
        what, ok, why = attempt(submission)
    except (CourseworkError, StudentError) as error:
        what, ok, why = attempt.__name__.removeprefix("_tried_"), False, str(error)
    return Finding(f"{framework}: {what}", ok, why, "" if ok else f"Do not grade with this jail. {_CONTAINER}")


def _start_remedy(why: str, jail: Jail) -> str:
    if "asynclab" in why:
        return "The jail's user cannot read the course's own package: `chmod -R a+rX src/asynclab`."
    if "uid map" in why or "namespace" in why.lower() or "Operation not permitted" in why:
        if _read(_APPARMOR) == "1":
            return _user_namespaces().remedy
        return f"This machine, or the container you are in, does not let bubblewrap make namespaces. {_CONTAINER}"
    if "Permission denied" in why or "execvp" in why or "does not start" in why:
        return (
            f"The jail's user cannot read {jail.python} or what it leads to: make the environment with an interpreter "
            "outside of a home folder that is closed to others, such as /usr/bin/python3, or open that folder."
        )
    return _CONTAINER


def _tried_network(submission: Submission) -> tuple[str, bool, str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        reached = threading.Event()

        def accept() -> None:
            try:
                server.accept()[0].close()
                reached.set()
            except OSError:
                return

        thread = threading.Thread(target=accept)
        thread.start()
        told = submission.call("reaches", server.getsockname()[1])
        thread.join()
    ok = told is False and not reached.is_set()
    return "network", ok, "cut off" if ok else "a submission can reach it"


def _tried_files(submission: Submission) -> tuple[str, bool, str]:
    with tempfile.NamedTemporaryFile() as planted:
        # What is in the jail under the same name is another file, except for those of the system.
        own = [planted.name, *(os.path.expanduser(f"~/{name}") for name in (".profile", ".ssh")), "/etc/shadow"]  # noqa: PTH111
        seen = [*submission.call("sees", [*own, str(Path.cwd() / "course")]), *submission.call("writes")]
    return "files", not seen, f"it sees or writes {', '.join(seen)}" if seen else "nothing of ours is there"


def _tried_user(submission: Submission) -> tuple[str, bool, str]:
    user = submission.call("user")
    return "user", user != 0, "root" if user == 0 else f"without rights (number {user})"


def _tried_memory(submission: Submission) -> tuple[str, bool, str]:
    try:
        submission.call("takes_memory")
    except StudentError:
        return "memory", True, "limited"
    return "memory", False, "not limited"


def _tried_processes(submission: Submission) -> tuple[str, bool, str]:
    try:
        count = submission.call("forks")
    except StudentError as error:
        return "processes", error.outcome is Outcome.CRASHED, str(error)
    return "processes", count < 2 * _LIMITS.processes, f"{count} more were allowed"


def _tried_time(submission: Submission) -> tuple[str, bool, str]:
    try:
        submission.call("hangs")
    except StudentError as error:
        return "time", error.outcome is Outcome.TIMEOUT, "limited"
    return "time", False, "not limited"


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii").strip()
    except OSError:
        return ""
