"""How far an index is: apart from `build`, which a crawl that only listens need not import."""

from __future__ import annotations

from gossamer.model import Value


class IndexProgress(Value, frozen=True, kw_only=True):
    """What was done, and how far the index is behind the store."""

    put: int = 0
    removed: int = 0
    unchanged: int = 0  # looked at, and found to be the same
    set_aside: int = 0
    anchors: int = 0  # documents whose anchor texts were gathered
    version: int = 0  # of the store, as far as it is taken
    latest: int = 0  # of the store
