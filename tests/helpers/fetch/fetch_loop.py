"""A crawl loop that contains only a fetcher."""

from __future__ import annotations

import selectors
import time
from typing import TYPE_CHECKING

from gossamer.config import DEFAULT_ACCEPT, FetchSettings
from gossamer.fetch.fetcher import Fetcher
from gossamer.model import Request, Role
from helpers.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gossamer.config import HostSettings
    from gossamer.model import FetchResult

LIMITS = FetchSettings(
    connect_timeout=PATIENCE, timeout=PATIENCE, min_rate=100, min_rate_seconds=int(PATIENCE), max_bytes=1 << 20,
    max_header_bytes=64 << 10,
)  # fmt: skip


class FetchLoop:
    """A crawl loop that contains only a fetcher."""

    def __init__(self, settings: FetchSettings = LIMITS, hosts: Mapping[str, HostSettings] | None = None) -> None:
        self.selector = selectors.DefaultSelector()
        self.fetcher = Fetcher(
            settings, hosts or {}, accept=DEFAULT_ACCEPT, selector=self.selector, transfers=8, idle_connections=8
        )

    def run_once(self) -> list[FetchResult]:
        """Run one iteration of the loop."""
        for key, mask in self.selector.select(self.fetcher.next_timeout(time.monotonic())):
            key.data(mask)
        self.fetcher.tick(time.monotonic())
        return self.fetcher.take_results()

    def fetch_all(self, *requests: Request) -> list[FetchResult]:
        for request in requests:
            self.fetcher.start(request)
        results = []
        while self.fetcher.active_count:
            results += self.run_once()
        return results

    def fetch(self, url: str, role: Role = Role.PAGE, etag: str = "", last_modified: str = "") -> FetchResult:
        [result] = self.fetch_all(Request(id=1, url=url, role=role, etag=etag, last_modified=last_modified))
        return result

    def close(self) -> None:
        self.fetcher.close()
        assert not self.selector.get_map()
        self.selector.close()
