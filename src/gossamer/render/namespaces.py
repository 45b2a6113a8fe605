"""System calls that separate a process from the network and tie it to its parent. Only Linux has them."""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWPID = 0x20000000
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    _check(_libc().prctl(option, value, 0, 0, 0))


def enter_empty_network() -> None:
    """Move this process to a network namespace of its own, without any network. Raises OSError.

    Like `unshare --user --map-current-user --net`. The user stays the same: without the mapping, the process has no
    user in its namespace, and Chromium's sandbox does not start there. Only a process with one thread may do this.
    """
    user, group = os.geteuid(), os.getegid()
    _prctl(_PR_SET_DUMPABLE, 1)  # after a change of the user, /proc/self belongs to root
    _check(_libc().unshare(_CLONE_NEWUSER | _CLONE_NEWNET))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def try_sandbox_namespaces() -> None:
    """Enter the namespaces that Chromium's sandbox needs, to find out whether they are there. Raises OSError."""
    _check(_libc().unshare(_CLONE_NEWUSER | _CLONE_NEWPID | _CLONE_NEWNET))


def refuse_new_privileges() -> None:
    """Make set-user-ID programs run as the same user, for this process and its children."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def adopt_orphans() -> None:
    """Become the parent of grandchildren whose parent dies, so that none outlives this process unnoticed."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int) -> None:
    """Get SIGKILL when the parent dies, and exit if it has died already. Changes of the user undo it: call it last."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
