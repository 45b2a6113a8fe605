"""A cache of known URLs and their ids, kept between batches.

Most links of a page lead where its neighbours link too, so the cache saves a disk look-up for each. Entries are hints.
If another process changed a resource, a stale entry only causes one needless check, because ids never change. `forget`
and `readmit` could make entries harmful, so they raise the store's generation. A new generation empties the cache at
the start of the next transaction.
"""

from __future__ import annotations

import msgspec

from gossamer.basics.cache import BatchCache

MAX_CACHED_URLS = 60_000  # in each of two generations and the last batch; 190 bytes each, so 23 to 34 MB at most
MAX_CACHED_HOSTS = 50_000


class KnownResource(msgspec.Struct, frozen=True, gc=False):  # gc=False: only numbers, up to 180,000 objects
    """The facts that decide whether a claim on a known resource is news."""

    id: int
    asked: int  # judged strengths of claims (`claims.Strength`), as bits
    distance: int  # of its best claim


class UrlCache(BatchCache[bytes, KnownResource]):
    """Known resources by digest and hosts by name, in bounded space."""

    def __init__(self) -> None:
        super().__init__(MAX_CACHED_URLS)
        self._generation = -1
        self.hosts: dict[str, int] = {}

    def set_generation(self, generation: int) -> None:
        """Drop everything when the store has another generation."""
        if generation != self._generation:
            self.clear()
            self._generation = generation

    def clear(self) -> None:
        """Drop everything."""
        super().clear()
        self.hosts.clear()

    def put_hosts(self, hosts: dict[str, int]) -> None:
        """Keep these hosts for the next batches."""
        if len(self.hosts) > MAX_CACHED_HOSTS:
            self.hosts.clear()
        self.hosts.update(hosts)
