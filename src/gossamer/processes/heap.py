"""Memory that was freed, given back to the system: for processes that live long and have quiet moments.

What a process frees, its allocator keeps for the next time, and ours is told to keep much (`parsers.ALLOCATOR`). So
every process would stay as large as the largest page made it, for ever.
"""

from __future__ import annotations

import ctypes
import gc


def release_memory() -> None:
    """Find what is unused and give it back; some milliseconds. Without glibc only the first half of it."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
