"""What was read lately, so that it need not be read again: good pages are candidates, and hits, of many questions."""

from __future__ import annotations

from typing import Generic, TypeVar

Key = TypeVar("Key")
Thing = TypeVar("Thing")


class Recent(Generic[Key, Thing]):
    """Things of up to so many bytes in all.

    Two generations: what is used moves to the younger, and when that has half of the bytes, the older one is let go
    of. That costs less than to keep everything in order. Threads may share it: at worst a thing is read once more.
    """

    def __init__(self, most: int) -> None:
        self._most = most // 2
        self._young: dict[Key, tuple[Thing, int]] = {}
        self._old: dict[Key, tuple[Thing, int]] = {}
        self._bytes = 0  # of the young

    def get(self, key: Key) -> Thing | None:
        """A thing, if it is here."""
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is None:
                return None
            self.put(key, *found)
        return found[0]

    def put(self, key: Key, thing: Thing, size: int) -> None:
        """Remember a thing of so many bytes."""
        if self._bytes + size > self._most:
            self._old, self._young, self._bytes = self._young, {}, 0
        self._young[key] = thing, size
        self._bytes += size
