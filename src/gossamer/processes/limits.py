"""Limits that a child process sets itself before it reads its first job. The kernel enforces them."""

from __future__ import annotations

import resource
import signal
from functools import partial

# Ends the process with SIGALRM after so many seconds, even when its parent is gone; 0 stops the timer. SIGALRM
# keeps its default action. A partial of the C function: parsers call it twice a page.
set_job_timer = partial(signal.setitimer, signal.ITIMER_REAL)


def ignore_interrupts() -> None:
    """Ignore Ctrl-C: the parent process handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def disable_core_dumps() -> None:
    """Write no core dump: it would hold pages of strangers, up to the size of the memory cap."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def cap_address_space(mebibytes: int) -> None:
    """Limit the address space for good, to the hard limit of the machine if that is lower."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    size = mebibytes << 20
    size = size if hard == resource.RLIM_INFINITY else min(size, hard)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def cap_data(size: int) -> None:
    """Limit the bytes of private memory. Unlike the address space, it does not count files that are mapped."""
    resource.setrlimit(resource.RLIMIT_DATA, (size, resource.getrlimit(resource.RLIMIT_DATA)[1]))
