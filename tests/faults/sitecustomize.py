"""Set the clock of a running process, for tests: this folder is on PYTHONPATH of a crawl.

Once a file CLOCK_SET exists, the time of day is CLOCK_JUMP seconds off. The monotonic clock goes on, as when somebody
sets a real clock. The product has no such hook.
"""

from __future__ import annotations

import os
import time

_JUMP = float(os.environ["CLOCK_JUMP"])
_SET = os.environ["CLOCK_SET"]
_real_time = time.time


def _time() -> float:
    return _real_time() + (_JUMP if os.path.exists(_SET) else 0.0)  # noqa: PTH110 - called often


time.time = _time
