"""How many processor cores are ours: containers and `taskset` often give a process fewer than the machine has."""

from __future__ import annotations

import os


def cores() -> int:
    """The cores that this process and its children may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1  # macOS has none
