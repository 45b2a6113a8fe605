"""Opening a web for a command."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.store.protocol import Store
    from gossamer.store.values import CrawlerRow


@contextmanager
def open_web(location: str, *, write: bool = False) -> Iterator[Store]:
    """The web at a place, closed at the end."""
    from gossamer.wiring import open_store

    store = open_store(location, read_only=not write)
    try:
        yield store
    finally:
        store.close()


def is_at_work(crawler: CrawlerRow) -> bool:
    """Whether a crawler works here now; the store also remembers those that did."""
    return crawler.state not in {"stopped", "lost"}
