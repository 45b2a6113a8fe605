"""The private HOME directories of browsers, and their end, also after a kill.

A lock on the directory says that its browser lives. Containers may share /tmp: a process of another one has no number
here, or the number of another process. The kernel ends the lock with the renderer process.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "gossamer-browser-"
_UNLOCKED_PREFIX = ".gossamer-browser-"  # until the lock is held


def make_home(process: int) -> tuple[Path, int]:
    """Make and lock the HOME of a browser of a renderer process; return it with the descriptor that holds the lock.

    Its name has the process, for `remove_homes`.
    """
    unlocked = Path(tempfile.mkdtemp(prefix=f"{_UNLOCKED_PREFIX}{process}-"))
    lock = os.open(unlocked, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    home = unlocked.with_name(unlocked.name.removeprefix("."))
    return unlocked.rename(home), lock


def remove_homes(process: int) -> None:
    """Remove what browsers of a renderer process left that has exited."""
    for home in Path(tempfile.gettempdir()).glob(f"{_PREFIX}{process}-*"):
        _remove_unless_locked(home)


def remove_old_homes() -> None:
    """Remove what browsers left whose renderer process and crawler were killed together."""
    for home in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        process = home.name.removeprefix(_PREFIX).partition("-")[0]
        if process.isdigit() and not Path("/proc", process).exists():
            _remove_unless_locked(home)


def _remove_unless_locked(home: Path) -> None:
    try:
        lock = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:  # gone, or of another user
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(home, ignore_errors=True)
    except BlockingIOError:
        pass  # its browser lives, maybe in another container
    finally:
        os.close(lock)
