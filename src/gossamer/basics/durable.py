"""Names of files that survive a power cut: syncing a file keeps its content, not its name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def sync_directory(directory: Path) -> None:
    """Flush a directory's names to disk: without it, a power cut can undo new files and renames."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_directory(directory: Path) -> None:
    """Make a directory and its missing parents, durably."""
    missing = [one for one in (directory, *directory.parents) if not one.exists()]
    directory.mkdir(parents=True, exist_ok=True)
    for one in missing:
        if os.access(one.parent, os.R_OK):  # syncing a directory needs the right to list it
            sync_directory(one.parent)
