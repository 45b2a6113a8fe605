"""What a process can do to files: the operations that `faults.recording` writes and `faults.replay` reads."""

from __future__ import annotations

from typing import NamedTuple


class Create(NamedTuple):
    """Open a file, and create it if it is missing."""

    path: str
    empty: bool  # cut an existing file to nothing


class Write(NamedTuple):
    """Write bytes at an offset."""

    path: str
    offset: int
    data: bytes


class Truncate(NamedTuple):
    """Set the size of a file."""

    path: str
    size: int


class Sync(NamedTuple):
    """Flush a file, or the names in a directory."""

    path: str


class Rename(NamedTuple):
    """Rename a file within its directory."""

    path: str
    new: str


class Remove(NamedTuple):
    """Remove a file or an empty directory."""

    path: str


class MakeDirectory(NamedTuple):
    """Make a directory."""

    path: str


class Mark(NamedTuple):
    """A line of the command itself: it reports that something is stored."""

    line: str


Operation = Create | Write | Truncate | Sync | Rename | Remove | MakeDirectory | Mark
