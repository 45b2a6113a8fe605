"""Many hosts ask for a delay: no host waits for the delay of another."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.races.limits import CLOCK, polite_crawl

from helpers.patience import slowness

HOSTS, PAGES = 300, 2  # more than two hosts per transfer
DELAY = 2.0  # in which a quiet core asks all hosts for their robots.txt


def test_a_host_that_waits_does_not_delay_others(nginx_binary: Path) -> None:
    delay = DELAY * slowness()
    times_by_host = polite_crawl(HOSTS, PAGES, delay)
    assert {len(times) for times in times_by_host.values()} == {1 + PAGES}  # robots.txt first
    assert len(times_by_host) == HOSTS
    assert max(times[0] for times in times_by_host.values()) < min(times[-1] for times in times_by_host.values())
    gaps = [later - sooner for times in times_by_host.values() for sooner, later in pairwise(times)]
    assert min(gaps) >= delay - CLOCK
