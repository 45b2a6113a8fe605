"""How a crawl goes, as one value: made by the crawl loop several times a second, shown by displays."""

from __future__ import annotations

from gossamer.model import Value


class CrawlProgress(Value, frozen=True, kw_only=True):
    """A crawler at one moment. Counts are of this crawler since it started, `known` and `queued` of the whole web."""

    name: str  # of the crawler
    state: str  # running, paused, waiting, stopping
    note: str  # why it is not running, for people: "disk nearly full"; "" when all is well
    seconds: float  # since it started
    pages: int  # visited
    failed: int
    refused: int
    bytes: int  # of bodies, decoded
    known: int  # resources
    queued: int  # resources still to be visited
    transfers: int  # under way
    hosts: int  # held
    pages_per_second: float  # over the last few seconds
    bytes_per_second: float  # over the last few seconds
    mean_pages_per_second: float  # since the start
    limit: str  # what it waits for most: politeness, network, parsing, store, disk; "" when unknown
    eta_seconds: float | None  # until the queue is empty or the page limit reached, when that can be known
    waiting: tuple[tuple[str, float, str], ...]  # hosts that cannot be visited yet: name, seconds left, why
    latest: tuple[tuple[str, str], ...]  # the last few visits: URL, outcome
