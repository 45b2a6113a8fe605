"""The number of cores that this process may use."""

from __future__ import annotations

import os

from gossamer.basics.cores import available_cores


def test_cores_outside_the_affinity_mask_do_not_count() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert available_cores() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert available_cores() == len(before)
