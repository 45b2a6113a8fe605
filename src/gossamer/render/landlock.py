"""Landlock: a process gives up files and TCP for good, for itself and its children. Linux 5.13 or newer.

Documentation: https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on all architectures
_RULE_PATH_BENEATH = 1
_ASK_VERSION = 1

# Rights on files by the version that brought them.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | 1 << 14 | 1 << 15  # rights that a single file, not a folder, can have
READ = _EXECUTE | _READ_FILE | _READ_DIR
WRITE = (1 << 16) - 1
_TCP_RIGHTS = 3  # bind and connect, since version 4
_SCOPES = 3  # abstract sockets and signals to processes outside, since version 6


def _system_call(number: int, *arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result: int = libc.syscall(number, *arguments)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def landlock_version() -> int:
    """Return the version of Landlock in this kernel; 0 without it."""
    try:
        return _system_call(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)
    except OSError:
        return 0


def restrict_files(version: int, allowed: Iterable[tuple[Path, int]]) -> None:
    """Allow only these folders and files with these rights, no TCP, and no signals to other processes.

    The process must have refused new privileges. Paths that do not exist are left out. Raises OSError.
    """
    handled = sum(rights for since, rights in _FILE_RIGHTS.items() if since <= version)
    attributes = struct.pack("QQQ", handled, _TCP_RIGHTS if version >= 4 else 0, _SCOPES if version >= 6 else 0)
    attributes = attributes[: 24 if version >= 6 else 16 if version >= 4 else 8]
    rules = _system_call(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    try:
        for path, rights in allowed:
            if path.exists():
                _allow(rules, path, rights & handled if path.is_dir() else rights & handled & _OF_FILES)
        _system_call(_RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: Path, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        _system_call(_ADD_RULE, rules, _RULE_PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)
