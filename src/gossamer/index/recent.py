"""What was read lately, so that it need not be read again: good pages are candidates, and hits, of many questions."""

from __future__ import annotations

from typing import Generic, TypeVar

Key = TypeVar("Key")
CachedValue = TypeVar("CachedValue")


class TwoGenerationCache(Generic[Key, CachedValue]):
    """Things of up to so many bytes in all.

    Two generations: what is used moves to the younger, and when that has half of the bytes, the older one is let go
    of. That costs less than to keep everything in order. Threads may share it: at worst a thing is read once more.
    """

    def __init__(self, max_bytes: int) -> None:
        self._generation_bytes = max_bytes // 2
        self._young: dict[Key, tuple[CachedValue, int]] = {}
        self._old: dict[Key, tuple[CachedValue, int]] = {}
        self._young_bytes = 0  # of the young

    def get(self, key: Key) -> CachedValue | None:
        """A thing, if it is here."""
        entry = self._young.get(key)
        if entry is None:
            entry = self._old.get(key)
            if entry is None:
                return None
            self.put(key, *entry)
        return entry[0]

    def put(self, key: Key, value: CachedValue, size: int) -> None:
        """Remember a thing of so many bytes."""
        if self._young_bytes + size > self._generation_bytes:
            self._old, self._young, self._young_bytes = self._young, {}, 0
        self._young[key] = value, size
        self._young_bytes += size
