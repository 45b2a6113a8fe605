"""The memory allocator of child processes: its settings, and freed memory given back to the system.

A process keeps freed memory for later, and `ALLOCATOR_VARIABLES` make it keep much. Without `release_memory` in quiet
moments, each would stay as large as its largest page made it.
"""

from __future__ import annotations

import ctypes
import gc

# glibc returns memory to the system after every large page and takes it again for the next. That causes 50 page faults
# a page, a third of the time to build its tree. With these it keeps up to 128 MiB. Other allocators ignore them.
ALLOCATOR_VARIABLES = {"MALLOC_TRIM_THRESHOLD_": str(128 << 20), "MALLOC_MMAP_THRESHOLD_": str(32 << 20)}
# Tantivy starts a thread for every commit, and glibc gives each thread one of sixteen heaps, whose gaps add up. One
# heap stays at 32 MB after 900 commits.
ONE_HEAP_VARIABLES = {"MALLOC_ARENA_MAX": "1"}


def release_memory() -> None:
    """Collect garbage and give freed memory back, in a few milliseconds. Without glibc it only collects."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
