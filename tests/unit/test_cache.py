"""The sized cache keeps recently used values and never exceeds its size."""

from __future__ import annotations

from gossamer.basics.cache import SizedCache


def test_the_cache_returns_only_stored_values() -> None:
    cache: SizedCache[int, str] = SizedCache(100)
    cache.put(1, "one", 10)
    assert (cache.get(1), cache.get(2)) == ("one", None)


def test_the_cache_keeps_used_values_and_drops_unused_ones() -> None:
    cache: SizedCache[int, str] = SizedCache(100)
    for number in range(50):
        cache.put(number, str(number), 10)
        assert cache.get(0) == "0"
    assert cache.get(1) is None


def test_the_cache_never_exceeds_its_size() -> None:
    cache: SizedCache[int, bytes] = SizedCache(100)
    for number in range(50):
        cache.put(number, bytes(10), 10)
    cached = [number for number in range(50) if cache.get(number) is not None]
    assert 5 <= len(cached) <= 10
    assert cached[-1] == 49
