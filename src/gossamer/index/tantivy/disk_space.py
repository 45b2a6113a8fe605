"""Whether want of disk space is why an index could not be written: that is no fault of the index, and passes."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from gossamer.errors import IndexFull

if TYPE_CHECKING:
    from pathlib import Path

LOW_SPACE = 64 << 20  # bytes; Tantivy does not tell why it failed, and writes segments of up to this size


def is_low(folder: Path) -> bool:
    """Whether so little is left that a failure to write needs no other cause."""
    return shutil.disk_usage(folder).free < LOW_SPACE


def full_error(folder: Path) -> IndexFull:
    """The fault, told."""
    return IndexFull(f"No disk space is left for the index in {folder}: make room, then `gossamer index` goes on.")
