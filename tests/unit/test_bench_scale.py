"""Size estimates: needs grow with the pages, and machines come in whole numbers."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.scale import Assumed, PageFigures, amount, at_size, size

ONE = PageFigures(
    pages=1, known=1.0, links=10.0, wire=1_000.0, sqlite=5_000.0, postgres=8_000.0, bodies=4_000.0, resource=100.0,
    link=50.0, index=2_000.0, copied=1.0,
)  # fmt: skip
PLAIN = Assumed(bigger=1.0, known=1.0, days=1.0, cpu=0.001, busy=1.0, cores=1, copies=1)


def test_all_needs_grow_in_proportion_to_the_pages() -> None:
    small, large = (asdict(at_size(pages, ONE, PLAIN)) for pages in (10**9, 10**10))
    assert large == pytest.approx({name: 10 * value for name, value in small.items()})


def test_needs_follow_from_the_measured_figures() -> None:
    need = at_size(86_400_000, ONE, PLAIN)
    assert (need.rate, need.crawlers, need.network) == pytest.approx((1_000.0, 1.0, 8e6))
    assert (need.rows, need.bodies, need.index) == pytest.approx((86.4e6 * 600, 86.4e6 * 4_000, 86.4e6 * 2_000))
    assert need.rank == pytest.approx(86.4e6 * 10 * PLAIN.rank)


def test_amounts_are_whole_and_at_least_one() -> None:
    assert (amount(0.01), amount(1.6), amount(1_234.0)) == ("1", "2", "1,234")
    assert (size(1_234), size(5e12)) == ("1.23 KB", "5 TB")
