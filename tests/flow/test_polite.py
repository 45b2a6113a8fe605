"""Many hosts that ask for a delay: none has to wait for another one's."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.limits import CLOCK, polite_crawl

HOSTS, PAGES, DELAY = 300, 2, 2.0  # more hosts than twice the transfers


def test_hosts_that_pause_hold_up_no_others(nginx_binary: Path) -> None:
    asked = polite_crawl(HOSTS, PAGES, DELAY)
    assert {len(times) for times in asked.values()} == {1 + PAGES}  # robots.txt first
    assert len(asked) == HOSTS
    assert max(times[0] for times in asked.values()) < min(times[-1] for times in asked.values())
    gaps = [later - sooner for times in asked.values() for sooner, later in pairwise(times)]
    assert min(gaps) >= DELAY - CLOCK
