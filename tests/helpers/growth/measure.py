"""Measure how the time of a reader grows when its input doubles."""

from __future__ import annotations

import gc
import math
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_GROWTH = 2.5  # times the time for twice the input; a quadratic reader takes 4 times as long
FIRST_BYTES = 4 << 10
MORE_SIZES = 2  # after the first one, at which growth that is too fast must show too
TRIES = 5  # measurements of a pair, because another process may slow one of them down


class Growth(NamedTuple):
    """The time of a reader for an input and for one of twice the size."""

    size: int
    seconds: float
    doubled_seconds: float

    @property
    def ratio(self) -> float:
        """How many times longer the double input takes."""
        return self.doubled_seconds / self.seconds


def cpu_seconds(read: Callable[[], object]) -> float:
    """Return the CPU time of a call."""
    started = time.process_time()
    read()
    return time.process_time() - started


def measure_growth(read: Callable[[int], Callable[[], object]], max_bytes: int, floor: float) -> Growth | None:
    """Return the growth at a size that takes at least `floor` seconds; None if every size takes less.

    `read` returns a call that reads an input of a size. A step, where an input outgrows a cache or a way to store it,
    shows at one size or two. So growth that is too fast must show at several sizes in a row.
    """
    size = FIRST_BYTES
    gc.disable()
    try:
        while (seconds := cpu_seconds(read(size))) < floor:
            if size * 2 >= max_bytes:
                return None
            size *= 2
        growth = _measure_pair(read(size), read(size * 2), Growth(size, seconds, math.inf))
        for _ in range(MORE_SIZES):
            if growth.ratio <= MAX_GROWTH:
                break
            size *= 2
            following = Growth(size, growth.doubled_seconds, math.inf)
            growth = _measure_pair(read(size), read(size * 2), following)
        return growth
    finally:
        gc.enable()


def measure_growth_at(read: Callable[[int], Callable[[], object]], size: int) -> Growth:
    """Return the growth from one size to its double."""
    small = read(size)
    return _measure_pair(small, read(size * 2), Growth(size, cpu_seconds(small), math.inf))


def _measure_pair(small: Callable[[], object], large: Callable[[], object], growth: Growth) -> Growth:
    """Return the growth from several measurements; the least times count, because others slow a process down."""
    for _ in range(TRIES):
        growth = growth._replace(doubled_seconds=min(growth.doubled_seconds, cpu_seconds(large)))
        if growth.ratio <= MAX_GROWTH:
            break
        growth = growth._replace(seconds=min(growth.seconds, cpu_seconds(small)))
    return growth
