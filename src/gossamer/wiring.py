"""The one place that names concrete back-ends: a place becomes a store.

Everybody else talks to protocols. Kept light, for every reading command comes through here; a crawl is put together in
`start`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.config import StoreSettings
from gossamer.errors import UsageError
from gossamer.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from gossamer.store.base import Store


def open_store(
    place: str, *, create: bool = False, read_only: bool = False, settings: StoreSettings | None = None
) -> Store:
    """The store at a place."""
    if "://" in place:
        raise UsageError(f"{place.partition('://')[0]} stores are not there yet; give a directory.")
    cache = (settings or StoreSettings()).cache
    return SqliteStore.open(Path(place), create=create, read_only=read_only, cache_mib=cache)
