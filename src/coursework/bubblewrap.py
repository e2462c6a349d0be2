"""The call of bubblewrap: what of this machine is in the jail, and nothing else. Used by `jail`."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import asynclab
from coursework.errors import JailError

WORKER = Path(__file__).with_name("worker.py")
#: Where things are in the jail.
WORKER_INSIDE, PACKAGES_INSIDE, TEMPORARY = "/jail/worker.py", "/jail/packages", "/tmp"  # noqa: S108
#: The folders of the system that a program needs; nothing else of the machine is in the jail.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
SYSTEM_FILES = (
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/localtime",
    "/etc/fonts",
)
#: Only how many processors there are; PyTorch asks.
PROCESSORS = "/sys/devices/system/cpu"

_SHARED_MEMORY = "/dev/shm"  # noqa: S108
#: Where a submission may write; each is a file system of its own, in memory.
TEMPORARY_FOLDERS = (TEMPORARY, _SHARED_MEMORY)

_MB = 1024 * 1024
_SHARED_MEMORY_MB = 64
_ASK = (
    "import json, sys; print(json.dumps([sys.version_info[:2], sys.prefix, sys.base_prefix, sys.exec_prefix, "
    "sys.base_exec_prefix]))"
)


@functools.cache
def visible(python: Path) -> tuple[tuple[int, int], tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Ask an interpreter what it needs to be seen.

    Args:
        python: Its path, as it is started.

    Returns:
        Its version, its folders, and the links that lead to its program, each with its target.

    Raises:
        JailError: If it does not start, or would show too much.
    """
    try:
        asked = subprocess.run([python, "-I", "-c", _ASK], capture_output=True, text=True, timeout=60, check=True)  # noqa: S603
        version, *prefixes = json.loads(asked.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise JailError(
            f"The interpreter {python} does not start ({error}). Make the environment with `make environments`, or "
            "name another with --python FRAMEWORK=PATH."
        ) from None
    if tuple(version) < (3, 11):
        raise JailError(f"The interpreter {python} is Python {version[0]}.{version[1]}; 3.11 or later is needed.")
    folders = {path for prefix in prefixes for path in (prefix, os.path.realpath(prefix))}
    everything = _above_home()
    for path in sorted(folders):
        if Path(path) in everything:
            raise JailError(f"The interpreter {python} lives in {path}: a jail that holds it would hold everything.")
    links = []
    place = Path(os.path.abspath(python))  # noqa: PTH100 - a link must stay one
    while place.is_symlink():
        links.append((str(place), os.path.realpath(place)))
        place = place.parent / place.readlink()
    inside = (*folders, *SYSTEM)
    links = [link for link in [*links, (str(place), str(place))] if not any(_below(link[0], path) for path in inside)]
    return (version[0], version[1]), tuple(sorted(folders)), tuple(links)


@dataclass(frozen=True)
class Descriptors:
    """The open files by which bubblewrap is told and tells.

    Attributes:
        filter: Where it reads the filter of system calls; -1 for none.
        status: Where it tells the first process's ID.
        users: Where it reads the list of users.
    """

    filter: int
    status: int
    users: int


def command(python: Path, memory_mb: int, descriptors: Descriptors, *, gpu: bool) -> list[str]:
    """Give the call of bubblewrap, up to the program that it starts.

    Args:
        python: The interpreter that is to be seen.
        memory_mb: The size of the temporary folder.
        descriptors: Its open files.
        gpu: Whether the GPUs are to be seen.
    """
    _, folders, links = visible(python)
    call = ["bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    # Real root makes the mounts, since it may read every interpreter, and the worker then takes a user without rights.
    root = os.geteuid() == 0
    # For others bubblewrap's own first process would have the worker's user, who may write into its memory: it would do
    # what the submission wants, and nobody would limit it or end it. So there the worker is the first one itself.
    call += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"] if root else ["--unshare-user", "--as-pid-1"]
    call += ["--die-with-parent", "--new-session", "--hostname", "jail", "--info-fd", str(descriptors.status)]
    if descriptors.filter >= 0:
        call += ["--seccomp", str(descriptors.filter)]
    call += _system()
    # Bubblewrap's own /dev/shm, / and /dev are temporary folders of no size: nobody may write to them.
    call += ["--proc", "/proc", "--dev", "/dev", *(_gpu() if gpu else [])]
    for place, size_mb in ((_SHARED_MEMORY, _SHARED_MEMORY_MB), (TEMPORARY, memory_mb)):
        call += ["--perms", "1777", "--size", str(size_mb * _MB), "--tmpfs", place]
    call += _mounts(folders, links)
    call += ["--perms", "0444", "--ro-bind-data", str(descriptors.users), "/etc/passwd"]
    return [*call, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", TEMPORARY, "--"]


def _above_home() -> set[Path]:
    """Give the folders that hold more than a program needs: the root, and this user's home with all above it."""
    try:
        home = Path.home()
    except RuntimeError:  # a user whom the machine does not list, as containers and clusters have them
        return {Path("/")}
    return {Path("/"), home, *home.parents}


def _system() -> list[str]:
    call = []
    for path in SYSTEM:
        if Path(path).is_symlink():
            call += ["--symlink", str(Path(path).readlink()), path]
        elif Path(path).exists():
            call += ["--ro-bind", path, path]
    return call


def _gpu() -> list[str]:
    devices = [str(device) for device in (*Path("/dev").glob("nvidia*"), *Path("/dev/dri").glob("*"))]
    return [*(part for device in devices for part in ("--dev-bind", device, device)), "--ro-bind-try", "/sys", "/sys"]


def _mounts(folders: tuple[str, ...], links: tuple[tuple[str, str], ...]) -> list[str]:
    """Give the mounts of the interpreter, of the worker with what it needs, and of the system's files."""
    own = [(str(WORKER), WORKER_INSIDE), (str(Path(asynclab.__file__).parent), f"{PACKAGES_INSIDE}/asynclab")]
    own += [(path, path) for path in folders if not any(_below(path, system) for system in SYSTEM)]
    own += [(target, place) for place, target in links]
    optional = [path for path in (*SYSTEM_FILES, PROCESSORS) if Path(path).exists()]
    places = [*(place for _, place in own), *optional, "/etc/passwd"]
    # Some versions of bubblewrap make the folders above a mount for root alone.
    above = {str(up) for place in places for up in Path(place).parents} - {"/", TEMPORARY}
    call = [part for path in sorted(above) for part in ("--perms", "0755", "--dir", path)]
    for path in optional:
        call += ["--ro-bind-try", path, path]
    for source, place in own:
        call += ["--ro-bind", source, place]
    return call


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
