"""The SQLite store as the rest of the house sees it: each method is one transaction or one read, made elsewhere."""

from __future__ import annotations

import platform
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from gossamer.store.sqlite import crawlers, forget, lease, read, rounds
from gossamer.store.sqlite.admission import Finder
from gossamer.store.sqlite.database import BUSY_SECONDS, Database, open_database
from gossamer.store.sqlite.submit import Batch, Submission

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gossamer.model import Admit, Candidate, Field, HostLease, HostNote, Lease, Robots, State, Visit
    from gossamer.store.base import (
        Added,
        Counts,
        Crawler,
        ErrorRow,
        HostRow,
        LinkRow,
        Report,
        ResourceRow,
        Round,
        Submitted,
        VisitRow,
        Waiting,
    )


class SqliteStore:
    """A web in a directory. Used from one thread at a time; which one may change."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._locks: dict[int, crawlers.NameLock] = {}  # of the crawlers that joined through this object

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        create: bool,
        read_only: bool = False,
        cache_mib: int = 64,
        busy_seconds: float = BUSY_SECONDS,
    ) -> SqliteStore:
        """Open the web in a directory; `create` makes one where there is none."""
        return cls(
            open_database(path, create=create, read_only=read_only, cache_mib=cache_mib, busy_seconds=busy_seconds)
        )

    def close(self) -> None:
        """Close the file. A crawler that did not leave counts as dead from now on."""
        try:
            self._database.close()
        finally:
            while self._locks:
                self._locks.popitem()[1].close()

    # -- who works here ------------------------------------------------------------------------------------------------

    def join(self, machine: str, pid: int) -> Crawler:
        """Take a free name; give back the leases of crawlers seen to be dead."""
        now = time.time()
        with ExitStack() as undo:
            with self._database.writing() as tx:
                name, lock = crawlers.take_name(tx, self._database.directory, machine, now)
                undo.callback(lock.close)
                crawler = crawlers.enter(tx, name, lock, machine, pid, now)
            undo.pop_all()
        self._locks[crawler.id] = lock
        return crawler

    def beat(self, crawler: int, report: Report, now: float) -> str:
        """Renew this crawler's leases, reclaim those of dead ones, and learn the wanted state: run, pause or stop."""
        lock = self._locks[crawler] = self._locks[crawler].kept()
        with self._database.writing() as tx:
            machine = crawlers.machine_of(tx.db, crawler)
            crawlers.reclaim(tx, self._database.directory, machine, now, asking=crawler)
            return crawlers.beat(tx, crawler, lock.inode, report, now)

    def leave(self, crawler: int) -> None:
        """Give back every lease and the name."""
        with self._database.writing() as tx:
            crawlers.leave(tx, crawler)
        self._locks.pop(crawler).close()

    def want(self, name: str, wanted: str) -> bool:
        """Ask a crawler to run, pause or stop; False when there is none of that name at work."""
        with self._database.writing() as tx:
            crawlers.reclaim(tx, self._database.directory, platform.node(), time.time())
            return crawlers.want(tx, name, wanted)

    # -- what was asked ------------------------------------------------------------------------------------------------

    def current_round(self) -> Round | None:
        """The last round begun, finished or not."""
        with self._database.reading() as db:
            return rounds.current(db)

    def begin_round(
        self, settings: str, seeds: Sequence[str], max_pages: int | None, max_per_host: int | None
    ) -> Round:
        """Start a new round; the queue carries over."""
        with self._database.writing() as tx:
            return rounds.begin(tx, settings, seeds, max_pages, max_per_host)

    def finish_round(self, now: float) -> None:
        """Mark the current round as finished; only when nothing is queued or leased."""
        with self._database.writing() as tx:
            rounds.finish(tx, now)

    def readmit(self, admit: Admit) -> int:
        """Ask `admit` again about every resource not visited yet; returns how many changed their state."""
        with self._database.writing() as tx:
            return rounds.readmit(tx, admit)

    def requeue(self, now: float) -> int:
        """Queue every visited, failed, refused or gone resource again; returns how many."""
        with self._database.writing() as tx:
            return rounds.requeue(tx, now)

    # -- work ----------------------------------------------------------------------------------------------------------

    def add(self, candidates: Sequence[Candidate], admit: Admit, by: int | None = None) -> list[Added]:
        """Add URLs: each is known already, or new and (if admitted) queued."""
        with self._database.writing() as tx:
            return lease.add(tx, candidates, Finder(admit, time.time(), by, reopen=True))

    def lease(self, crawler: int, *, hosts: int, urls: int, held: Sequence[int], now: float) -> list[HostLease]:
        """Hand out up to `urls` URLs for each host in `held` and for up to `hosts` further free hosts."""
        with self._database.writing() as tx:
            return lease.lease(tx, crawler, hosts=hosts, urls=urls, held=held, now=now)

    def claim(self, crawler: int, candidates: Sequence[Candidate], now: float) -> list[Lease | None]:
        """Lease exactly these URLs, whatever their state; those not known are added. None: another has the host."""
        with self._database.writing() as tx:
            return lease.claim(tx, crawler, candidates, now)

    def submit(
        self,
        crawler: int,
        visits: Sequence[Visit],
        admit: Admit,
        *,
        hosts: Sequence[HostNote] = (),
        robots: Sequence[Robots] = (),
        released: Sequence[Lease] = (),
        now: float,
        keep_links: bool = True,
    ) -> Submitted:
        """Write a batch."""
        batch = Batch(visits, hosts, robots, released, keep_links)
        with self._database.writing() as tx:
            return Submission(tx, crawler, admit, now).write(batch)

    def waiting(self, crawler: int, limit: int = 5) -> list[Waiting]:
        """Hosts with queued URLs that the crawler does not hold, soonest first."""
        with self._database.reading() as db:
            return lease.waiting(db, crawler, limit)

    # -- reading -------------------------------------------------------------------------------------------------------

    def version(self) -> int:
        """The version of the last batch written."""
        with self._database.reading() as db:
            return read.version(db)

    def counts(self) -> Counts:
        """How much is there."""
        with self._database.reading() as db:
            return read.counts(db)

    def crawlers(self) -> list[Crawler]:
        """The last life of every name: who is at work, and who was."""
        with self._database.reading() as db:
            return crawlers.latest(db, self._database.directory, time.time())

    def hosts(self, limit: int | None = None) -> list[HostRow]:
        """Hosts, those with most pages first."""
        with self._database.reading() as db:
            return read.hosts(db, limit)

    def resource(self, url_digest: bytes) -> ResourceRow | None:
        """A resource by the digest of its URL."""
        with self._database.reading() as db:
            return read.resource(db, url_digest)

    def resources(self, state: State | None = None) -> Iterator[ResourceRow]:
        """All resources (of a state), by id, streamed."""
        return read.resources(self._database, state)

    def inlinks(self, resource: int, limit: int | None = None) -> list[LinkRow]:
        """Bonds that point at a resource."""
        with self._database.reading() as db:
            return read.inlinks(db, resource, limit)

    def outlinks(self, resource: int, limit: int | None = None) -> list[LinkRow]:
        """Bonds of a page, in order of first occurrence."""
        with self._database.reading() as db:
            return read.outlinks(db, resource, limit)

    def errors(self, limit: int | None = None) -> Iterator[ErrorRow]:
        """Failed, gone and refused resources, each with one page that points at it; streamed."""
        return read.errors(self._database, limit)

    def visits(self, resource: int) -> list[VisitRow]:
        """Every visit of a resource, oldest first."""
        with self._database.reading() as db:
            return read.visits(db, resource)

    def text(self, resource: int) -> list[tuple[Field, str]] | None:
        """The text by field, in reading order; None when there is none."""
        with self._database.reading() as db:
            return read.text(db, resource)

    def source(self, resource: int) -> bytes | None:
        """The decoded body as it was; None when it was not kept."""
        with self._database.reading() as db:
            return read.source(db, resource)

    # -- removing ------------------------------------------------------------------------------------------------------

    def forget(self, url_digest: bytes | None = None, host: str | None = None) -> int:
        """Remove a resource, or a host with its resources, with everything that hangs on them; returns how many."""
        with self._database.writing() as tx:
            removed = forget.forget_resource(tx, url_digest) if url_digest is not None else 0
            return removed + (forget.forget_host(tx, host) if host is not None else 0)
