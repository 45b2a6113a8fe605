"""The outbox: finished visits and news about hosts, gathered until they make a batch for the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gossamer.crawl.writer import WriteOrder
from gossamer.model import VisitBatch

if TYPE_CHECKING:
    from gossamer.config import StoreSettings
    from gossamer.crawl.plan import WatchOptions
    from gossamer.crawl.rendering.decisions import ShapeKey
    from gossamer.model import Candidate, HostUpdate, Lease, Robots, ShapeEvidence, Visit
    from gossamer.store.values import CrawlerReport


class Outbox:
    """Gathers results and decides when to write them."""

    def __init__(self, settings: StoreSettings) -> None:
        self._settings = settings
        self.visits: list[Visit] = []
        self.host_updates: list[HostUpdate] = []
        self.robots: list[Robots] = []
        self.released: list[Lease] = []
        self.candidates: list[Candidate] = []  # URLs that no page links to: sitemaps, http forms of seeds
        self.shapes: dict[ShapeKey, ShapeEvidence] = {}  # what browsers found about path shapes since the last order
        self.requeued: list[int] = []  # DocIDs of pages to visit again, because a browser must render them
        self.readmit = False  # whether the store must decide again about every URL not visited yet
        self._oldest_visit_at = 0.0  # Unix time at which the first of `visits` was added
        self._refused_order: WriteOrder | None = None  # an order refused because the disk is full

    def __bool__(self) -> bool:
        waiting = (
            self.visits or self.host_updates or self.robots or self.released or self.candidates or self._refused_order
        )
        return bool(waiting or self.shapes or self.requeued) or self.readmit

    @property
    def is_stuck(self) -> bool:
        """Whether an order that the full disk refused waits to be written."""
        return self._refused_order is not None

    def add_visit(self, visit: Visit, now: float) -> None:
        """Add a finished visit."""
        if not self.visits:
            self._oldest_visit_at = now
        self.visits.append(visit)

    def keep_refused_order(self, order: WriteOrder) -> None:
        """Keep an order that the store refused, to submit it again."""
        self._refused_order = order

    def drop_refused_order(self) -> None:
        """Drop the refused order: it is written now, or a stop gives it up and its URLs are visited again."""
        self._refused_order = None

    def due_at(self) -> float | None:
        """Return when the oldest visit has waited for `batch_seconds`; None if none waits to be written."""
        return self._oldest_visit_at + self._settings.batch_seconds if self.visits and not self.is_stuck else None

    def is_due(self, now: float, *, is_urgent: bool) -> bool:
        """Return whether to write now.

        Half a batch is enough, so that the other half gathers during the write. `is_urgent` writes at once: the
        frontier is empty, and new links only become work once they are stored.
        """
        due_at = self.due_at()
        return (
            len(self.visits) >= max(1, self._settings.batch_visits // 2)
            or (due_at is not None and now >= due_at)
            or (is_urgent and bool(self))
        )

    def take_order(
        self,
        now: float,
        *,
        watch: WatchOptions | None,
        report: CrawlerReport | None,
        hosts_needing_urls: list[int],
        new_hosts: int,
        urls_per_host: int,
        keep_links: bool,
        with_shapes: bool = False,
    ) -> WriteOrder:
        """Return a refused order again, or else empty the outbox into a new order."""
        if self._refused_order is not None:
            return msgspec.structs.replace(self._refused_order, now=now, report=report)
        order = WriteOrder(
            now=now,
            batch=VisitBatch(
                visits=tuple(self.visits),
                hosts=tuple(self.host_updates),
                robots=tuple(self.robots),
                released=tuple(self.released),
                shapes=tuple(self.shapes.values()),
                keep_links=keep_links,
            ),
            candidates=tuple(self.candidates),
            requeued=tuple(self.requeued),
            readmit=self.readmit,
            watch=watch,
            report=report,
            hosts_needing_urls=tuple(hosts_needing_urls),
            new_hosts=new_hosts,
            urls_per_host=urls_per_host,
            with_shapes=with_shapes,
        )
        for gathered in (
            self.visits, self.host_updates, self.robots, self.released, self.candidates, self.shapes, self.requeued,
        ):  # fmt: skip
            gathered.clear()
        self.readmit = False
        return order
