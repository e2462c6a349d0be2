"""A filter of system calls for the jail: what namespaces and rlimits alone do not bound.

A user namespace of one's own would allow a temporary folder without a size, and memory files, System V segments and
the buffers of TCP count in no rlimit. No course needs any of them. Nor may the signal be given up by which a jail dies
with its grader. Numbers are the kernel's system call tables, programs classic BPF.
"""

from __future__ import annotations

import platform
import struct

_ALLOW, _ERROR, _EPERM, _ENOSYS, _EAFNOSUPPORT = 0x7FFF0000, 0x00050000, 1, 38, 97
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _THIRD_ARGUMENT = 0, 4, 16, 32
_X32_BIT = 0x40000000
#: CLONE_NEW*: time, mount, cgroup, UTS, IPC, user, process and network namespaces.
_NAMESPACES = 0x7E020080
#: Unix and netlink (which lists the interfaces). Not vsock, which no network namespace holds. Not IPv4 and IPv6: there
#: is nobody to reach, and a connection to oneself may hold 20 MB in the kernel.
_FAMILIES = (1, 16)
#: Answered as if they were done, for libraries that ask without need: PR_SET_PDEATHSIG, and SO_SNDBUF and SO_RCVBUF, by
#: which a socket's buffers may grow to what the machine allows, often 8 MB.
_DEATH_SIGNAL, _BUFFERS = (1,), (7, 8)

# The same numbers on every architecture: open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr,
# memfd_secret, io_uring_setup, io_uring_enter, io_uring_register.
_NEW = (428, 429, 430, 431, 432, 433, 442, 447, 425, 426, 427)
# ptrace, process_vm_readv, process_vm_writev, mount, umount2, pivot_root, unshare, setns, memfd_create, shmget, msgget,
# semget, add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd.
_X86_64 = (101, 310, 311, 165, 166, 155, 272, 308, 319, 29, 68, 64, 248, 249, 250, 321, 298, 323)
_AARCH64 = (117, 270, 271, 40, 39, 41, 97, 268, 279, 194, 186, 190, 217, 218, 219, 280, 241, 282)
_CLONE3 = 435
#: By machine: its number for audits, those of clone, socket, prctl and setsockopt, and those of what is denied.
_MACHINES = {
    "x86_64": (0xC000003E, 56, 41, 157, 54, _X86_64),
    "aarch64": (0xC00000B7, 220, 198, 167, 208, _AARCH64),
}


def program(machine: str = "") -> bytes:
    """Give the filter for a machine, as ``bwrap --seccomp`` reads it; empty where none is known.

    Args:
        machine: Such as ``x86_64``; this one if not given.
    """
    known = _MACHINES.get(machine or platform.machine())
    if known is None:
        return b""
    architecture, clone, socket, prctl, setsockopt, denied = known
    deny = _answer(_EPERM)
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        deny,
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32_BIT),
        deny,
    ]
    for number in (*denied, *_NEW):
        lines += [(_EQUAL, 0, 1, number), deny]
    # Its flags stand in memory, where no filter sees them; the C library then takes clone.
    lines += [(_EQUAL, 0, 1, _CLONE3), _answer(_ENOSYS)]
    lines += [(_EQUAL, 0, 3, clone), (_LOAD, 0, 0, _FIRST_ARGUMENT), (_ANY_BIT, 0, 1, _NAMESPACES), deny]
    # After a clone that is allowed, the first argument is loaded: the number is wanted again.
    lines += [(_LOAD, 0, 0, _NUMBER)]
    lines += _as_if_done(prctl, _FIRST_ARGUMENT, _DEATH_SIGNAL) + _as_if_done(setsockopt, _THIRD_ARGUMENT, _BUFFERS)
    lines += [(_EQUAL, 0, len(_FAMILIES) + 2, socket), (_LOAD, 0, 0, _FIRST_ARGUMENT)]
    lines += [(_EQUAL, len(_FAMILIES) - place, 0, family) for place, family in enumerate(_FAMILIES)]
    lines += [_answer(_EAFNOSUPPORT), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def _as_if_done(number: int, argument: int, values: tuple[int, ...]) -> list[tuple[int, int, int, int]]:
    """Answer a call that has one of these values, without doing it; the number is loaded before and after."""
    last = len(values) - 1
    tests = [(_EQUAL, last - place, int(place == last), value) for place, value in enumerate(values)]
    # Skipping what follows, a call with another number meets the load at the end.
    return [(_EQUAL, 0, len(tests) + 2, number), (_LOAD, 0, 0, argument), *tests, _answer(0), (_LOAD, 0, 0, _NUMBER)]


def _answer(errno: int) -> tuple[int, int, int, int]:
    return _RETURN, 0, 0, _ERROR | errno
