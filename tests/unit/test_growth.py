"""Every reader of bytes from outside: twice the input takes at most 2.5 times the time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from helpers.growth.measure import MAX_GROWTH, measure_growth, measure_growth_at
from helpers.growth.patterns import DEEP_MARKUP
from helpers.growth.readers import READERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from helpers.growth.patterns import Pattern
    from helpers.growth.readers import Reader

FLOOR = 0.004  # seconds of an input, so that the time of the reader itself counts
MEASUREMENTS = 3  # that must all show too much growth
OVER_BUDGET_BYTES = 512 << 10  # of deep markup
ALWAYS_TESTED = 3  # patterns of deep markup; each takes a second
LONG_FLOOR = 0.04  # shows terms of growth that are small at first


def find_growing(reader: Reader, floor: float) -> dict[str, str]:
    """Return the patterns for which the time of a reader grows too fast, and how it grows."""
    found = {}
    for pattern in reader.patterns:
        growth = None
        for _ in range(MEASUREMENTS):  # other work on the machine can slow down one of them
            growth = measure_growth(_prepare(reader, pattern), reader.max_bytes, floor)
            if growth is None or growth.ratio <= MAX_GROWTH:
                break
        if growth is not None and growth.ratio > MAX_GROWTH:
            found[str(pattern)] = (
                f"{growth.ratio:.1f} times, from {growth.seconds * 1000:.0f} ms for {growth.size} bytes"
            )
    return found


def _prepare(reader: Reader, pattern: Pattern) -> Callable[[int], Callable[[], object]]:
    def prepare(size: int) -> Callable[[], object]:
        text = pattern.make(size)
        return lambda: reader.read(text)

    return prepare


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_the_time_of_a_reader_grows_with_its_input(reader: Reader) -> None:
    assert find_growing(reader, FLOOR) == {}


@pytest.mark.full
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_the_time_of_a_reader_grows_with_long_inputs(reader: Reader) -> None:
    assert find_growing(reader, LONG_FLOOR) == {}


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(each, marks=[] if number < ALWAYS_TESTED else pytest.mark.full)
        for number, each in enumerate(DEEP_MARKUP)
    ],
    ids=str,
)
def test_the_time_for_deep_markup_ends_at_the_page_budget(pattern: Pattern) -> None:
    html = next(reader for reader in READERS if reader.name == "HTML")
    growth = measure_growth_at(_prepare(html, pattern), OVER_BUDGET_BYTES)
    assert growth.ratio <= MAX_GROWTH, growth
