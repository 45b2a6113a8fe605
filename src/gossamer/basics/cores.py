"""The processor cores that Gossamer may use."""

from __future__ import annotations

import os


def available_cores() -> int:
    """Return the number of cores that this process and its children may run on.

    Containers and `taskset` often give a process fewer than the machine has.
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1  # macOS has none
