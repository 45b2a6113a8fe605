"""What waits for the store: finished visits and what was learned of hosts, until they make a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gossamer.crawl.writer import WriteOrder

if TYPE_CHECKING:
    from gossamer.config import StoreSettings
    from gossamer.crawl.writer import WatchOptions
    from gossamer.model import Candidate, HostUpdate, Lease, Robots, Visit
    from gossamer.store.values import CrawlerReport


class Outbox:
    """Gathers, and says when it is time to write."""

    def __init__(self, settings: StoreSettings) -> None:
        self._settings = settings
        self.visits: list[Visit] = []
        self.host_updates: list[HostUpdate] = []
        self.robots: list[Robots] = []
        self.released: list[Lease] = []
        self.candidates: list[Candidate] = []  # URLs that no page links to: sitemaps, other forms of seeds
        self.readmit = False  # whether all that is not visited yet is to be judged anew
        self._oldest_visit_at = 0.0  # when the first of the visits came
        self._refused_order: WriteOrder | None = None  # an order that the full disk refused, to be given again

    def __bool__(self) -> bool:
        waiting = (
            self.visits or self.host_updates or self.robots or self.released or self.candidates or self._refused_order
        )
        return bool(waiting) or self.readmit

    @property
    def is_stuck(self) -> bool:
        """Whether the disk is full: until what it refused is written."""
        return self._refused_order is not None

    def add_visit(self, visit: Visit, now: float) -> None:
        """A visit is finished."""
        if not self.visits:
            self._oldest_visit_at = now
        self.visits.append(visit)

    def keep_refused_order(self, order: WriteOrder) -> None:
        """The store could not take it: keep it for another try."""
        self._refused_order = order

    def drop_refused_order(self) -> None:
        """It is written now, or given up, to be visited again."""
        self._refused_order = None

    def due_at(self) -> float | None:
        """When the visits have waited long enough."""
        return self._oldest_visit_at + self._settings.batch_seconds if self.visits else None

    def is_due(self, now: float, *, is_urgent: bool) -> bool:
        """Whether to write now. At half a batch, so that the other half can gather while it is written.

        In a hurry at once: nothing is left to hand out, and what was found only becomes work by being written.
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
    ) -> WriteOrder:
        """Everything gathered, as an order for the writer, and nothing is left here; or once more what was refused."""
        if self._refused_order is not None:
            return msgspec.structs.replace(self._refused_order, now=now, report=report)
        order = WriteOrder(
            now=now,
            visits=tuple(self.visits),
            host_updates=tuple(self.host_updates),
            robots=tuple(self.robots),
            released=tuple(self.released),
            candidates=tuple(self.candidates),
            readmit=self.readmit,
            watch=watch,
            report=report,
            hosts_needing_urls=tuple(hosts_needing_urls),
            new_hosts=new_hosts,
            urls_per_host=urls_per_host,
        )
        for gathered in (self.visits, self.host_updates, self.robots, self.released, self.candidates):
            gathered.clear()
        self.readmit = False
        return order
