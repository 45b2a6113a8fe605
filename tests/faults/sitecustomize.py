"""A clock that is set while a process runs, for tests: it is on PYTHONPATH of a crawl.

As soon as there is a file CLOCK_SET, the time of day is CLOCK_JUMP seconds off. The monotonic clock goes on, as it does
when a clock is set. No such hook is in the product.
"""

from __future__ import annotations

import os
import time

_JUMP = float(os.environ["CLOCK_JUMP"])
_SET = os.environ["CLOCK_SET"]
_honest = time.time


def _time() -> float:
    return _honest() + (_JUMP if os.path.exists(_SET) else 0.0)  # noqa: PTH110 - it is asked often


time.time = _time
