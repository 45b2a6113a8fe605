"""A clock that is set while a process runs, for tests: it is on PYTHONPATH of a crawl.

CLOCK_AFTER seconds (0.5 when not said) after the start of the process, the time of day jumps by CLOCK_JUMP seconds. The
monotonic clock goes on, as it does when a clock is set. No such hook is in the product.
"""

from __future__ import annotations

import os
import time

_JUMP = float(os.environ.get("CLOCK_JUMP", "0"))
_FROM = time.monotonic() + float(os.environ.get("CLOCK_AFTER", "0.5"))
_honest = time.time


def _time() -> float:
    return _honest() + (_JUMP if time.monotonic() >= _FROM else 0.0)


time.time = _time
