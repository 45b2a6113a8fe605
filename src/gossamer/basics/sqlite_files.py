"""Open SQLite files with a write-ahead log, for reading also where nothing can be written.

SQLite keeps an index of the log in a file beside it, which the first process to open the log creates. A full disk has
no space for that file, and a read-only directory does not allow it.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# Primary result codes of SQLite when it cannot create the index of the log.
NO_LOG_INDEX = frozenset(
    {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}
)


def open_sqlite_file(path: Path, mode: str, busy_seconds: float) -> sqlite3.Connection:
    """Open a file in a mode of SQLite's URIs, such as "rw", without looking at its content."""
    # isolation_level=None: the code begins transactions itself. Callers keep the thread rule: one at a time.
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=busy_seconds, isolation_level=None,
        check_same_thread=False,
    )  # fmt: skip


def open_sqlite_reader(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """Open a file for reading, also on a full disk and in a directory that this process cannot write to.

    With `readonly_shm` SQLite reads the log into an index in its own memory. It does so again for each read, so it sees
    later commits of other processes. Where no log can be created, an empty log means that the file alone is complete.
    """
    modes = ["ro", "ro&readonly_shm=1"]
    if _has_empty_log(path):
        modes.append("ro&immutable=1")
    for mode in modes:
        db = open_sqlite_file(path, mode, busy_seconds)
        try:
            db.execute("SELECT 1 FROM sqlite_schema").fetchone()
        except sqlite3.Error as error:
            db.close()
            if mode == modes[-1] or getattr(error, "sqlite_errorcode", 0) & 0xFF not in NO_LOG_INDEX:
                raise
        else:
            return db
    raise AssertionError  # the last mode returns or raises


def _has_empty_log(path: Path) -> bool:
    log = path.with_name(f"{path.name}-wal")
    return not log.exists() or log.stat().st_size == 0
