"""What is remembered between batches: which URLs are known, and under which id.

Most links of a page lead to what its neighbours linked to as well; remembering those saves a look-up on disk for each.
Entries are hints. Another process may have changed a resource since, but only in ways that make us ask once more than
needed: ids stay, and whatever could make an entry harmful (`forget`, `readmit`) raises the store's generation, which
empties the memory at the start of the next transaction.
"""

from __future__ import annotations

import msgspec

MAX_CACHED_URLS = 60_000  # in each of two generations, and what came last; 190 bytes each, so 23 to 34 MB at most
MAX_CACHED_HOSTS = 50_000


class KnownResource(msgspec.Struct, frozen=True, gc=False):  # gc: numbers only, up to 180,000 of them
    """A known resource, as much of it as decides whether a claim on it is news."""

    id: int
    asked: int  # strengths of claim judged so far (`claims.Strength`), as bits
    distance: int  # of the claim it stands on


class UrlCache:
    """Known resources by digest and hosts by name, in bounded space.

    Two generations: what is asked for moves to the young one; when that is full it becomes the old one, and what nobody
    asked for since is dropped.
    """

    def __init__(self) -> None:
        self._young: dict[bytes, KnownResource] = {}
        self._old: dict[bytes, KnownResource] = {}
        self._generation = -1
        self.hosts: dict[str, int] = {}

    def set_generation(self, generation: int) -> None:
        """Forget everything if the store is of another generation."""
        if generation != self._generation:
            self.clear()
            self._generation = generation

    def clear(self) -> None:
        """Forget everything."""
        self._young.clear()
        self._old.clear()
        self.hosts.clear()

    def lookup(self, digests: set[bytes]) -> dict[bytes, KnownResource]:
        """Those of the resources that are remembered."""
        young, old = self._young, self._old
        known = {digest: young[digest] for digest in digests if digest in young}
        moved = {digest: old[digest] for digest in digests.difference(known) if digest in old}
        young.update(moved)
        known.update(moved)
        return known

    def put(self, entries: dict[bytes, KnownResource]) -> None:
        """Keep these for the next batches."""
        self._young.update(entries)
        if len(self._young) > MAX_CACHED_URLS:
            self._young, self._old = {}, self._young

    def put_hosts(self, hosts: dict[str, int]) -> None:
        """Keep these for the next batches."""
        if len(self.hosts) > MAX_CACHED_HOSTS:
            self.hosts.clear()
        self.hosts.update(hosts)
