"""The URL cache of the store keeps URLs between batches in bounded space."""

from __future__ import annotations

from gossamer.store.work.url_cache import MAX_CACHED_URLS, KnownResource, UrlCache

ENTRY = KnownResource(1, 0, 0)


def fill(cache: UrlCache, name: bytes) -> None:
    """Add so many other entries that a generation passes."""
    cache.put({b"%s %d" % (name, number): ENTRY for number in range(MAX_CACHED_URLS + 1)})


def test_urls_that_are_looked_up_survive_generations_and_others_do_not() -> None:
    cache = UrlCache()
    cache.put({b"looked up": ENTRY, b"not looked up": ENTRY})
    fill(cache, b"first")
    assert cache.lookup({b"looked up", b"never seen"}) == {b"looked up": ENTRY}
    fill(cache, b"second")
    assert cache.lookup({b"looked up", b"not looked up"}) == {b"looked up": ENTRY}
