"""What the store remembers between batches, in bounded space."""

from __future__ import annotations

from gossamer.store.work.url_cache import MAX_CACHED_URLS, KnownResource, UrlCache

ENTRY = KnownResource(1, 0, 0)


def fill(memory: UrlCache, name: bytes) -> None:
    """Remember so much else that a generation passes."""
    memory.put({b"%s %d" % (name, number): ENTRY for number in range(MAX_CACHED_URLS + 1)})


def test_what_is_asked_for_outlives_generations_and_what_is_not_is_dropped() -> None:
    memory = UrlCache()
    memory.put({b"asked for": ENTRY, b"not asked for": ENTRY})
    fill(memory, b"first")
    assert memory.lookup({b"asked for", b"never seen"}) == {b"asked for": ENTRY}
    fill(memory, b"second")
    assert memory.lookup({b"asked for", b"not asked for"}) == {b"asked for": ENTRY}
