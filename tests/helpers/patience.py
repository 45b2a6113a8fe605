"""Wait for events, and measure the machine, so that no test depends on how fast the machine is."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE = 600.0  # seconds until a test gives up; only a fault takes so long
# Variables of a crawl that waits for the test or for the machine: no transfer and no parser times out.
PATIENT_CRAWL = {
    f"GOSSAMER_{name}": f"{PATIENCE:g}"
    for name in ("FETCH_CONNECT_TIMEOUT", "FETCH_TIMEOUT", "FETCH_MIN_RATE_SECONDS", "PARSE_SECONDS")
}
UNIT_SECONDS = 0.1  # that a quiet core takes at most for the unit of work


def until(condition: Callable[[], object], event: str = "an event", pause: float = 0.05) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE:.0f} seconds for {event}"
        time.sleep(pause)


def slowness(clock: Callable[[], float] = time.perf_counter) -> float:
    """Return how many times longer than on a quiet core a unit of work takes now; at least 1."""
    started = clock()
    sum(range(5_000_000))
    return max(1.0, (clock() - started) / UNIT_SECONDS)


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Check that the block uses less CPU time than this; a core that is slow now gets more."""
    started = time.process_time()
    yield
    used = time.process_time() - started
    assert used < seconds or used < seconds * slowness(time.process_time), f"used {used:.1f} s of CPU time"
