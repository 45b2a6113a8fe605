"""The values of the Store protocol: crawlers, rounds, hosts, resources, links and visits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gossamer.basics.display import pluralize
from gossamer.model import Kind, Position, State, Value

if TYPE_CHECKING:
    from gossamer.store.follow.graph import HostRanks, Ranks


class CrawlerRow(Value, frozen=True, kw_only=True):
    """A crawler at work, or the last one of its name: a row of `crawlers`."""

    id: int
    name: str
    machine: str
    pid: int
    started_at: float
    heartbeat_at: float
    wanted: str = "run"  # run, pause, stop
    state: str = "running"  # running, paused, waiting, stopped, lost
    pages: int = 0
    pages_per_second: float = 0.0
    bytes_per_second: float = 0.0
    limit: str = ""  # the limiting factor: politeness, network, parsing, store, disk
    waiting_for: str = ""  # what it waits for, and which crawler holds it
    parsers: int = 0  # parser processes it has
    most_parsers: int = 0  # it may have at most; 0: the number cannot be changed
    wanted_parsers: int | None = None  # it shall have; None: as many as it was started with


class CrawlerReport(Value, frozen=True, kw_only=True):
    """A crawler's report with every heartbeat."""

    state: str
    pages: int
    pages_per_second: float
    bytes_per_second: float
    limit: str
    waiting_for: str
    parsers: int = 0
    most_parsers: int = 0


class CrawlerOrders(Value, frozen=True, kw_only=True):
    """Orders for a crawler."""

    state: str  # run, pause, stop; lost: the store gave its work to others
    parsers: int | None = None  # parser processes; None: as many as it was started with
    hosts: int | None = None  # to hold at most while another crawler has none; None: no limit


class Round(Value, frozen=True, kw_only=True):
    """One run of a crawl with its settings: a row of `rounds`. Limits hold for all crawlers together."""

    id: int
    started_at: float
    finished_at: float | None
    settings: str  # CrawlSettings as JSON
    seeds: tuple[str, ...]  # as given
    joined: tuple[str, ...]  # URLs that seeds led to: redirect targets, the other scheme
    max_pages: int | None
    max_pages_per_host: int | None
    pages: int  # visited in this round so far


class AddResult(Value, frozen=True, kw_only=True):
    """The result of adding one URL."""

    url: str
    resource: int
    known: bool  # it was in the store already
    state: State
    reason: str


class SubmitResult(Value, frozen=True, kw_only=True):
    """The web after a `submit`."""

    version: int  # the store version that holds the batch
    known: int  # resources in any state
    open: int  # of these queued or leased
    lost: int = 0  # visits not written: another crawler took over their lease, or they were forgotten
    crawler_lost: bool = False  # nothing was written, because others took over all work of this crawler


class WaitingHost(Value, frozen=True, kw_only=True):
    """A host with queued URLs that this crawler cannot lease now."""

    host: str
    queued: int
    ready_at: float
    holder: str  # name of the crawler that holds it, "" when it only has to wait
    reason: str


class Counts(Value, frozen=True, kw_only=True):
    """How many resources, hosts, links and documents there are."""

    resources: dict[str, int]  # by state
    hosts: int
    links: int
    documents: int  # resources with text
    cut: int = 0  # pages over the page budget, of which only the beginning was kept
    rendered: int = 0  # pages that a browser rendered
    unrendered: int = 0  # pages that scripts seem to make, and no browser rendered


class VisitedTotals(Value, frozen=True, kw_only=True):
    """How much of a web was visited."""

    pages: int
    hosts: int  # with at least one page
    linked_hosts: int  # the others: links or seeds name them

    def describe(self) -> str:
        """Say it in words: `758 pages on 1 host, 141 hosts linked to`."""
        linked = f", {pluralize(self.linked_hosts, 'host')} linked to" if self.linked_hosts else ""
        return f"{pluralize(self.pages, 'page')} on {pluralize(self.hosts, 'host')}{linked}"


class HostRow(Value, frozen=True, kw_only=True):
    """A host, for reading."""

    id: int
    name: str
    known: int
    queued: int
    pages: int
    failed: int
    ready_at: float
    delay: float
    failures: int
    reason: str
    holder: str
    robots: str  # outcome of robots.txt, "" when it was not fetched yet


class ResourceRow(Value, frozen=True, kw_only=True):
    """A resource, for reading: the columns of `resources`."""

    id: int
    url: str
    host: str
    state: str
    role: str
    reason: str
    depth: int
    status: int
    outcome: str
    media_type: str
    charset: str
    title: str
    description: str
    language: str
    canonical: str
    noindex: bool
    nofollow: bool
    bytes: int
    etag: str
    last_modified: str
    content_digest: str  # hex
    backlinks: int
    priority: float
    tries: int
    visits: int
    discovered_at: float
    discovered_by: str
    visited_at: float | None
    visited_by: str
    version: int
    cut: str  # parts over the page budget, of which only the beginning was kept: "text, words"
    script_sign: str  # why scripts seem to make it: "app shell"
    rendered: str  # why a browser rendered it; "": none did


class LinkRow(Value, frozen=True, kw_only=True):
    """One bond, seen from one of its ends: `url` is the other end."""

    url: str
    state: str  # of the other end
    status: int  # of the other end
    kind: str
    follow: bool
    anchor: str
    weight: int
    rel: str
    position: str


class ErrorRow(Value, frozen=True, kw_only=True):
    """A failed, gone or refused resource with one page that points at it."""

    url: str
    state: str
    outcome: str
    status: int
    reason: str
    source: str
    anchor: str
    inlinks: int


class VisitRow(Value, frozen=True, kw_only=True):
    """One visit, for reading."""

    url: str
    round: int
    visited_at: float
    crawler: str
    outcome: str
    status: int
    bytes: int
    milliseconds: int


class LatestVisit(Value, frozen=True, kw_only=True):
    """A recent visit, for the live display."""

    url: str
    title: str
    visited_at: float
    crawler: str
    outcome: str
    status: int
    reason: str
    bytes: int
    milliseconds: int


class DocumentRow(msgspec.Struct, frozen=True):
    """A page as search results show it."""

    id: int
    url: str
    host: str
    title: str
    description: str
    visited_at: float | None
    text: bytes  # packed: see `decode_text`


class Bond(Value, frozen=True, kw_only=True):
    """One bond with both its ends, for exports; the fields after `position` are the target's."""

    source: str
    target: str
    kind: Kind
    follow: bool
    anchor: str
    weight: int
    rel: str
    position: Position
    state: str
    outcome: str
    status: int
    bytes: int


class PageNode(Value, frozen=True, kw_only=True):
    """A page in the link graph."""

    title: str
    status: int
    media_type: str
    language: str
    ranks: Ranks | None


class HostNode(Value, frozen=True, kw_only=True):
    """A host in the link graph."""

    pages: int  # visited
    ranks: HostRanks | None


class ChangedBond(Value, frozen=True, kw_only=True):
    """A bond that a page gained or lost."""

    url: str  # of its target
    kind: str
    anchor: str
    weight: int


class ChangeRow(Value, frozen=True, kw_only=True):
    """A difference that a visit found. `status`, `bytes` and `title` are the old ones, `now_...` the current."""

    id: int
    url: str
    found_at: float  # the visit that found it
    since: float  # the last visit that found the old content
    event: str  # changed, gone, moved (it redirects), refused (its type), appeared
    status: int
    bytes: int
    title: str
    parts: tuple[str, ...]  # content (it appeared or vanished), text, title, language, ..., links
    lost: tuple[ChangedBond, ...]
    gained: tuple[ChangedBond, ...]
    has_source: bool  # the old source was kept: `StoreReader.old_source(id)`
    now_title: str
    now_status: int
    now_state: str


class Freshness(Value, frozen=True, kw_only=True):
    """How fresh a web is."""

    pages: int  # with content, not queued or leased
    ages: dict[str, float]  # seconds since the last visit: "50", "90", "99" (percentiles) and "100"
    out_of_date: float  # share of them expected to have changed since
    due: int  # resources that should be visited now
    next_at: float | None  # when the next one will be
