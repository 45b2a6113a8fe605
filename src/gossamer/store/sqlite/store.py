"""The SQLite store: each writing method is one transaction."""

from __future__ import annotations

import platform
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Literal

from gossamer.store.sqlite.database import BUSY_SECONDS
from gossamer.store.sqlite.follow import changes, rank_writer
from gossamer.store.sqlite.opening import open_database
from gossamer.store.sqlite.reader import StoreReader
from gossamer.store.sqlite.work import crawlers, forget, lease, rounds, schedule
from gossamer.store.sqlite.work.submit import Submission
from gossamer.store.work.claims import Discovery
from gossamer.store.work.rounds import SeedCache

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from gossamer.model import AdmitCandidates, Candidate, HostLease, Lease, VisitBatch
    from gossamer.revisit.pace import Schedule, VisitBudget
    from gossamer.store.follow.graph import RankColumns, Ranking
    from gossamer.store.sqlite.database import Database
    from gossamer.store.values import (
        AddResult,
        CrawlerOrders,
        CrawlerReport,
        CrawlerRow,
        Round,
        SubmitResult,
        WaitingHost,
    )


class SqliteStore(StoreReader):
    """A web in a directory. One thread at a time uses it; the thread may change."""

    def __init__(self, database: Database, old_sources: int = 0) -> None:
        super().__init__(database)
        self._old_sources = old_sources  # bytes of replaced sources to keep
        self._seed_cache = SeedCache()
        self._locks: dict[int, crawlers.NameLock] = {}  # by crawler that joined through this object

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        create: bool,
        read_only: bool = False,
        cache_mib: int = 64,
        busy_seconds: float = BUSY_SECONDS,
        old_sources_mib: int = 0,
    ) -> SqliteStore:
        """Open the web in a directory; `create` makes one if there is none."""
        database = open_database(
            path, create=create, read_only=read_only, cache_mib=cache_mib, busy_seconds=busy_seconds
        )
        return cls(database, old_sources_mib << 20)

    def close(self) -> None:
        """Close the file. A crawler that did not leave counts as dead from then on."""
        try:
            self._database.close()
        finally:
            while self._locks:
                self._locks.popitem()[1].close()

    # -- crawlers ------------------------------------------------------------------------------------------------------

    def join(self, machine: str, pid: int) -> CrawlerRow:
        """Take a free name; give back the leases of crawlers that died."""
        now = time.time()
        with ExitStack() as undo:
            with self._database.transaction() as tx:
                name, lock = crawlers.take_name(tx, self._database.directory, machine, now)
                undo.callback(lock.close)
                crawler = crawlers.register_crawler(tx, name, lock, machine, pid, now)
            undo.pop_all()
        self._locks[crawler.id] = lock
        return crawler

    def heartbeat(self, crawler: int, report: CrawlerReport, now: float) -> CrawlerOrders:
        """Renew this crawler's leases, reclaim those of dead crawlers, and return its orders."""
        lock = self._locks[crawler] = self._locks[crawler].renew()
        with self._database.transaction() as tx:
            machine = crawlers.machine_of(tx.db, crawler)
            crawlers.reclaim(tx, self._database.directory, machine, now, except_crawler=crawler)
            return crawlers.record_heartbeat(tx, crawler, lock.inode, report, now)

    def leave(self, crawler: int) -> None:
        """Give back every lease and the name."""
        with self._database.transaction() as tx:
            crawlers.leave(tx, crawler)
        self._locks.pop(crawler).close()

    def set_wanted_state(self, name: str, wanted: str) -> bool:
        """Ask a crawler to run, pause or stop; return False when none of that name is at work."""
        with self._database.transaction() as tx:
            crawlers.reclaim(tx, self._database.directory, platform.node(), time.time())
            return crawlers.set_wanted_state(tx, name, wanted)

    def set_wanted_parsers(self, name: str, number: int) -> bool:
        """Ask a crawler to run `number` parsers."""
        with self._database.transaction() as tx:
            crawlers.reclaim(tx, self._database.directory, platform.node(), time.time())
            return crawlers.set_wanted_parsers(tx, name, number)

    def crawlers(self) -> list[CrawlerRow]:
        """Return the last crawler of every name, at work or not."""
        with self._database.connection() as db:
            return crawlers.latest_crawlers(db, self._database.directory, time.time())

    # -- rounds --------------------------------------------------------------------------------------------------------

    def current_round(self) -> Round | None:
        """Return the last round begun, finished or not."""
        with self._database.connection() as db:
            return rounds.current_round(db, self._seed_cache)

    def begin_round(
        self,
        settings: str,
        seeds: Sequence[str],
        max_pages: int | None,
        max_per_host: int | None,
        revisit: Schedule | Literal["all"] | None = None,
    ) -> Round:
        """Start a new round; the queue and the seeds of the last round carry over."""
        now = time.time()
        with self._database.transaction() as tx:
            new_round = rounds.begin_round(tx, settings, seeds, max_pages, max_per_host, now)
            if revisit == "all":
                rounds.requeue(tx, now)
            elif revisit is not None:
                schedule.queue_due(tx, revisit, now)
            return new_round

    def keep_fresh(self, schedule_: Schedule, budget: VisitBudget, now: float) -> int:
        """Queue the most valuable visits that a budget allows by now; return how many."""
        with self._database.transaction() as tx:
            return schedule.keep_fresh(tx, schedule_, budget, now)

    def finish_round(self, now: float) -> None:
        """Mark the current round as finished, unless URLs are queued or leased."""
        with self._database.transaction() as tx:
            rounds.finish_round(tx, now)

    def readmit(self, admit: AdmitCandidates) -> int:
        """Ask `admit` again about every resource not visited yet, because the scope changed."""
        with self._database.transaction() as tx:
            return rounds.readmit(tx, admit)

    def requeue(self, now: float) -> int:
        """Queue every visited, failed, refused or gone resource again; return how many."""
        with self._database.transaction() as tx:
            return rounds.requeue(tx, now)

    # -- work ----------------------------------------------------------------------------------------------------------

    def add(
        self, candidates: Sequence[Candidate], admit: AdmitCandidates, discovered_by: int | None = None
    ) -> list[AddResult]:
        """Add URLs: queue those that are new and admitted; queue failed seeds again."""
        with self._database.transaction() as tx:
            return lease.add(tx, candidates, Discovery(admit, time.time(), discovered_by, reopen=True))

    def lease(self, crawler: int, *, hosts: int, urls: int, held: Sequence[int], now: float) -> list[HostLease]:
        """Lease up to `urls` URLs of each host in `held` and of up to `hosts` free hosts."""
        with self._database.transaction() as tx:
            return lease.lease(tx, crawler, hosts=hosts, urls=urls, held=held, now=now)

    def lease_urls(self, crawler: int, candidates: Sequence[Candidate], now: float) -> list[Lease | None]:
        """Lease exactly these URLs in any state, adding unknown ones; None: another crawler has the host."""
        with self._database.transaction() as tx:
            return lease.lease_urls(tx, crawler, candidates, now)

    def submit(self, crawler: int, batch: VisitBatch, admit: AdmitCandidates, now: float) -> SubmitResult:
        """Write a batch of visits."""
        with self._database.transaction() as tx:
            return Submission(tx, crawler, admit, now, self._old_sources).write(batch)

    def waiting_hosts(self, crawler: int, limit: int = 5) -> list[WaitingHost]:
        """Return hosts with open URLs that the crawler does not hold, soonest first."""
        with self._database.connection() as db:
            return lease.waiting_hosts(db, crawler, limit)

    # -- for index and graph -------------------------------------------------------------------------------------------

    def write_ranks(self, ranking: Ranking, pages: RankColumns, hosts: RankColumns) -> None:
        """Replace all ranks of pages and hosts."""
        with self._database.transaction() as tx:
            rank_writer.write_ranks(tx, ranking, pages, hosts)

    def reprioritize(self, resources: Iterable[object], backlinks: Iterable[object]) -> None:
        """Give queued pages the priority that the order `best` gives for these numbers of backlinks."""
        with self._database.transaction() as tx:
            rank_writer.reprioritize(tx, resources, backlinks)

    def word_ids(self, terms: Sequence[str], stops: Sequence[str] = ()) -> dict[str, int]:
        """Return the WordID of each term; a new term gets the next one, stop words have 0."""
        with self._database.transaction() as tx:
            return changes.assign_word_ids(tx, terms, stops)

    # -- removing ------------------------------------------------------------------------------------------------------

    def forget(self, url_digest: bytes | None = None, host: str | None = None) -> int:
        """Remove a resource, or a host with its resources and all that belongs to them; return how many."""
        with self._database.transaction() as tx:
            removed = forget.forget_resource(tx, url_digest) if url_digest is not None else 0
            return removed + (forget.forget_host(tx, host) if host is not None else 0)
