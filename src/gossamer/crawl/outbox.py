"""What waits for the store: finished visits and what was learned of hosts, until they make a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gossamer.crawl.writer import Order

if TYPE_CHECKING:
    from gossamer.config import StoreSettings
    from gossamer.crawl.writer import Watch
    from gossamer.model import Candidate, HostUpdate, Lease, Robots, Visit
    from gossamer.store.values import CrawlerReport


class Outbox:
    """Gathers, and says when it is time to write."""

    def __init__(self, settings: StoreSettings) -> None:
        self._settings = settings
        self.visits: list[Visit] = []
        self.notes: list[HostUpdate] = []
        self.robots: list[Robots] = []
        self.released: list[Lease] = []
        self.found: list[Candidate] = []  # URLs that no page links to: sitemaps, other forms of seeds
        self.readmit = False  # whether all that is not visited yet is to be judged anew
        self._oldest = 0.0  # when the first of the visits came
        self._refused: Order | None = None  # an order that the full disk refused, to be given again

    def __bool__(self) -> bool:
        waiting = self.visits or self.notes or self.robots or self.released or self.found or self._refused
        return bool(waiting) or self.readmit

    @property
    def stuck(self) -> bool:
        """Whether the disk is full: until what it refused is written."""
        return self._refused is not None

    def put(self, visit: Visit, now: float) -> None:
        """A visit is finished."""
        if not self.visits:
            self._oldest = now
        self.visits.append(visit)

    def refuse(self, order: Order) -> None:
        """The store could not take it: keep it for another try."""
        self._refused = order

    def done_with_refused(self) -> None:
        """It is written now, or given up, to be visited again."""
        self._refused = None

    def due_at(self) -> float | None:
        """When the visits have waited long enough."""
        return self._oldest + self._settings.batch_seconds if self.visits else None

    def is_due(self, now: float, *, hurry: bool) -> bool:
        """Whether to write now. At half a batch, so that the other half can gather while it is written.

        In a hurry at once: nothing is left to hand out, and what was found only becomes work by being written.
        """
        due_at = self.due_at()
        return (
            len(self.visits) >= max(1, self._settings.batch_visits // 2)
            or (due_at is not None and now >= due_at)
            or (hurry and bool(self))
        )

    def order(
        self, now: float, *, watch: Watch | None, report: CrawlerReport | None, hungry: list[int], hosts: int, urls: int
    ) -> Order:
        """Everything gathered, as an order for the writer, and nothing is left here; or once more what was refused."""
        if self._refused is not None:
            return msgspec.structs.replace(self._refused, now=now, report=report)
        order = Order(
            now=now,
            visits=tuple(self.visits),
            hosts=tuple(self.notes),
            robots=tuple(self.robots),
            released=tuple(self.released),
            add=tuple(self.found),
            readmit=self.readmit,
            watch=watch,
            report=report,
            hungry=tuple(hungry),
            new_hosts=hosts,
            urls=urls,
        )
        for gathered in (self.visits, self.notes, self.robots, self.released, self.found):
            gathered.clear()
        self.readmit = False
        return order
