"""What was read lately is at hand, what was not is let go of, and there is never too much."""

from __future__ import annotations

from gossamer.index.recent import TwoGenerationCache


def test_what_was_put_is_found_and_what_was_not_is_not() -> None:
    recent: TwoGenerationCache[int, str] = TwoGenerationCache(100)
    recent.put(1, "one", 10)
    assert (recent.get(1), recent.get(2)) == ("one", None)


def test_what_is_used_stays_and_what_is_not_goes() -> None:
    recent: TwoGenerationCache[int, str] = TwoGenerationCache(100)
    for number in range(50):
        recent.put(number, str(number), 10)
        assert recent.get(0) == "0"
    assert recent.get(1) is None


def test_it_never_holds_more_than_it_may() -> None:
    recent: TwoGenerationCache[int, bytes] = TwoGenerationCache(100)
    for number in range(50):
        recent.put(number, bytes(10), 10)
    held = [number for number in range(50) if recent.get(number) is not None]
    assert 5 <= len(held) <= 10
    assert held[-1] == 49
