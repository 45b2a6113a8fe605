"""Caches with two generations: recently used entries stay, the others go, in bounded space.

A lookup moves an entry to the young generation. A full young generation becomes the old one, and the cache drops the
entries that nobody used since. This costs less than keeping all entries in the order of their use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Key = TypeVar("Key")
Entry = TypeVar("Entry")
CachedValue = TypeVar("CachedValue")


class TwoGenerationCache(Generic[Key, Entry]):
    """The two generations; a subclass decides when the young one is full."""

    def __init__(self) -> None:
        self._young: dict[Key, Entry] = {}
        self._old: dict[Key, Entry] = {}

    def clear(self) -> None:
        """Drop every entry."""
        self._young.clear()
        self._old.clear()

    def _start_generation(self) -> None:
        self._young, self._old = {}, self._young


class SizedCache(TwoGenerationCache[Key, tuple[CachedValue, int]], Generic[Key, CachedValue]):
    """Single values, limited by the sum of their sizes.

    Threads may share it without a lock: a race costs at most one more read of a value.
    """

    def __init__(self, max_size: int) -> None:
        super().__init__()
        self._generation_size = max_size // 2
        self._young_size = 0

    def get(self, key: Key) -> CachedValue | None:
        """Return the value of a key, or None."""
        entry = self._young.get(key)
        if entry is None:
            entry = self._old.get(key)
            if entry is None:
                return None
            self.put(key, *entry)
        return entry[0]

    def find(self, keys: Iterable[Key]) -> dict[Key, CachedValue]:
        """Return the values of those keys that the cache has."""
        values, young = {}, self._young
        for key in keys:
            entry = young.get(key)
            if entry is not None:
                values[key] = entry[0]
            elif (value := self.get(key)) is not None:
                values[key] = value
        return values

    def put(self, key: Key, value: CachedValue, size: int) -> None:
        """Add a value; `size` is in the unit of `max_size`, mostly bytes."""
        if self._young_size + size > self._generation_size:
            self._start_generation()
            self._young_size = 0
        self._young[key] = value, size
        self._young_size += size

    def clear(self) -> None:
        """Drop every entry."""
        super().clear()
        self._young_size = 0


class BatchCache(TwoGenerationCache[Key, Entry]):
    """Values read and written in batches, limited by their number.

    It stores values without a size beside them, because the store keeps 120,000 of them and looks up hundreds a page.
    """

    def __init__(self, generation_entries: int) -> None:
        super().__init__()
        self._generation_entries = generation_entries

    def lookup(self, keys: set[Key]) -> dict[Key, Entry]:
        """Return the entries of those keys that are here."""
        young, old = self._young, self._old
        known = {key: young[key] for key in keys if key in young}
        moved = {key: old[key] for key in keys.difference(known) if key in old}
        young.update(moved)
        known.update(moved)
        return known

    def put(self, entries: Mapping[Key, Entry]) -> None:
        """Add entries."""
        self._young.update(entries)
        if len(self._young) > self._generation_entries:
            self._start_generation()
