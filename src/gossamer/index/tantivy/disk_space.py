"""Errors of a full disk, kept apart from a broken index: freeing space cures one, a rebuild the other."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from gossamer.errors import IndexFull

if TYPE_CHECKING:
    from pathlib import Path

LOW_SPACE = 64 << 20  # bytes; Tantivy gives no reason for a failed write, and its segments are up to this size


def is_low(folder: Path) -> bool:
    """Return whether so little space is left that it explains a failed write."""
    return shutil.disk_usage(folder).free < LOW_SPACE


def full_error(folder: Path) -> IndexFull:
    """Return the error for a full disk."""
    return IndexFull(f"No disk space is left for the index in {folder}: free some, then run `gossamer index`.")
