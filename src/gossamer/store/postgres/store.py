"""The PostgreSQL store: each writing method runs one transaction of `work/` or `follow/`."""

from __future__ import annotations

import platform
import time
from functools import partial
from typing import TYPE_CHECKING, Literal

from gossamer.store.postgres.follow import changes, rank_writer
from gossamer.store.postgres.location import parse_postgres_location
from gossamer.store.postgres.opening import open_database
from gossamer.store.postgres.reader import StoreReader
from gossamer.store.postgres.work import crawlers, forget, lease, rounds, schedule
from gossamer.store.postgres.work.submit import Submission
from gossamer.store.work.claims import Discovery
from gossamer.store.work.rounds import SeedCache

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gossamer.model import AdmitCandidates, Candidate, HostLease, Lease, VisitBatch
    from gossamer.revisit.pace import Schedule, VisitBudget
    from gossamer.store.follow.graph import RankColumns, Ranking
    from gossamer.store.postgres.database import Database, Transaction
    from gossamer.store.postgres.location import PostgresLocation
    from gossamer.store.values import (
        AddResult,
        CrawlerOrders,
        CrawlerReport,
        CrawlerRow,
        Round,
        SubmitResult,
        WaitingHost,
    )


class PostgresStore(StoreReader):
    """A web in a database, shared by any number of machines. Use it from one thread at a time; any thread will do."""

    def __init__(self, database: Database, old_sources: int = 0) -> None:
        super().__init__(database)
        self._old_sources = old_sources  # bytes of replaced sources to keep
        self._seed_cache = SeedCache()

    @classmethod
    def open(cls, url: str, *, create: bool, read_only: bool = False, old_sources_mib: int = 0) -> PostgresStore:
        """Open the web that a URL names; `create` creates a missing one."""
        return cls.open_location(
            parse_postgres_location(url), create=create, read_only=read_only, old_sources_mib=old_sources_mib
        )

    @classmethod
    def open_location(
        cls, location: PostgresLocation, *, create: bool, read_only: bool = False, old_sources_mib: int = 0
    ) -> PostgresStore:
        """Open the web at a parsed location."""
        return cls(open_database(location, create=create, read_only=read_only), old_sources_mib << 20)

    def close(self) -> None:
        """Close the connection. A crawler that did not leave counts as dead at once."""
        self._database.close()

    # -- crawlers ------------------------------------------------------------------------------------------------------

    def join(self, machine: str, pid: int) -> CrawlerRow:
        """Register a crawler under a free name, and reclaim the leases of dead crawlers."""
        crawler = self._database.write(
            lambda tx: crawlers.register_crawler(tx, machine, pid, time.time()), exclusive=True
        )
        self._database.lock_crawler(crawler.id)
        return crawler

    def heartbeat(self, crawler: int, report: CrawlerReport, now: float) -> CrawlerOrders:
        """Renew a crawler's leases, reclaim those of dead crawlers, and return its orders."""
        self._database.relock_crawlers()
        machine = self._database.read(lambda db: crawlers.machine_of(db, crawler))
        self._reclaim(machine, now, except_crawler=crawler)
        return self._database.write(lambda tx: crawlers.record_heartbeat(tx.db, crawler, report, now))

    def _reclaim(self, machine: str, now: float, except_crawler: int | None = None) -> None:
        reconnected_at = self._database.reconnected_at
        if self._database.read(lambda db: crawlers.dead_crawlers(db, machine, now, reconnected_at, except_crawler)):
            self._database.write(
                lambda tx: crawlers.reclaim(tx, machine, now, reconnected_at, except_crawler), exclusive=True
            )

    def leave(self, crawler: int) -> None:
        """Release every lease and the name of a crawler."""
        self._database.write(lambda tx: crawlers.leave(tx, crawler), exclusive=True)
        self._database.unlock_crawler(crawler)

    def set_wanted_state(self, name: str, wanted: str) -> bool:
        """Ask a crawler to run, pause or stop; return False if no crawler of that name works."""
        self._reclaim(platform.node(), time.time())
        return self._database.write(lambda tx: crawlers.set_wanted_state(tx, name, wanted))

    def set_wanted_parsers(self, name: str, number: int) -> bool:
        """Ask a crawler to run `number` parsers; return False if none of that name works or its maximum is lower."""
        self._reclaim(platform.node(), time.time())
        return self._database.write(lambda tx: crawlers.set_wanted_parsers(tx, name, number))

    def crawlers(self) -> list[CrawlerRow]:
        """Return the latest crawler of every name, working or not."""
        return self._database.read(crawlers.latest_crawlers)

    # -- rounds --------------------------------------------------------------------------------------------------------

    def current_round(self) -> Round | None:
        """Return the latest round, finished or not."""
        return self._database.snapshot(partial(rounds.current_round, seed_cache=self._seed_cache))

    def begin_round(
        self,
        settings: str,
        seeds: Sequence[str],
        max_pages: int | None,
        max_per_host: int | None,
        revisit: Schedule | Literal["all"] | None = None,
    ) -> Round:
        """Start a new round. The queue carries over, and `revisit` adds resources to visit again."""
        now = time.time()

        def begin(tx: Transaction) -> Round:
            new_round = rounds.begin_round(tx, settings, seeds, max_pages, max_per_host, now)
            if revisit == "all":
                rounds.requeue(tx, now)
            elif revisit is not None:
                schedule.queue_due(tx, revisit, now)
            return new_round

        return self._database.write(begin, exclusive=True)

    def keep_fresh(self, schedule_: Schedule, budget: VisitBudget, now: float) -> int:
        """Queue the most valuable visits that the budget allows by now; return how many."""
        return self._database.write(lambda tx: schedule.keep_fresh(tx, schedule_, budget, now), exclusive=True)

    def finish_round(self, now: float) -> None:
        """Mark the current round as finished, unless a resource is queued or leased."""
        self._database.write(lambda tx: rounds.finish_round(tx, now), exclusive=True)

    def readmit(self, admit: AdmitCandidates) -> int:
        """Ask `admit` again about every unvisited resource; return how many changed their state."""
        return self._database.write(lambda tx: rounds.readmit(tx, admit), exclusive=True)

    def requeue(self, now: float) -> int:
        """Queue every visited, failed, refused or gone resource again; return how many."""
        return self._database.write(lambda tx: rounds.requeue(tx, now), exclusive=True)

    # -- work ----------------------------------------------------------------------------------------------------------

    def add(
        self, candidates: Sequence[Candidate], admit: AdmitCandidates, discovered_by: int | None = None
    ) -> list[AddResult]:
        """Add URLs. New and admitted ones are queued."""
        discovery = Discovery(admit, time.time(), discovered_by, reopen=True)
        return self._database.write(lambda tx: lease.add(tx, candidates, discovery), exclusive=True)

    def lease(self, crawler: int, *, hosts: int, urls: int, held: Sequence[int], now: float) -> list[HostLease]:
        """Lease up to `urls` URLs of each host in `held` and of up to `hosts` further free hosts."""
        return self._database.write(partial(lease.lease, crawler=crawler, hosts=hosts, urls=urls, held=held, now=now))

    def lease_urls(self, crawler: int, candidates: Sequence[Candidate], now: float) -> list[Lease | None]:
        """Lease exactly these URLs in any state, adding unknown ones. None: another crawler holds the host."""
        return self._database.write(lambda tx: lease.lease_urls(tx, crawler, candidates, now), exclusive=True)

    def submit(self, crawler: int, batch: VisitBatch, admit: AdmitCandidates, now: float) -> SubmitResult:
        """Write a batch of visits in one transaction."""
        return self._database.write(lambda tx: Submission(tx, crawler, admit, now, self._old_sources).write(batch))

    def waiting_hosts(self, crawler: int, limit: int = 5) -> list[WaitingHost]:
        """Return hosts with queued URLs that the crawler does not hold, soonest first."""
        return self._database.read(lambda db: lease.waiting_hosts(db, crawler, limit))

    # -- index and graph -----------------------------------------------------------------------------------------------

    def write_ranks(self, ranking_: Ranking, pages: RankColumns, hosts: RankColumns) -> None:
        """Replace all ranks of pages and hosts."""
        page_chunks, host_chunks = rank_writer.page_rank_chunks(pages), rank_writer.host_rank_chunks(hosts)
        self._database.write(lambda tx: rank_writer.write_ranks(tx, ranking_, page_chunks, host_chunks))

    def reprioritize(self, resources: Iterable[object], backlinks: Iterable[object]) -> None:
        """Give queued pages the priority that the order `best` derives from these numbers of backlinks."""
        chunks = rank_writer.split_columns((resources, backlinks))
        self._database.write(lambda tx: rank_writer.reprioritize(tx, chunks), exclusive=True)

    def word_ids(self, terms: Sequence[str], stops: Sequence[str] = ()) -> dict[str, int]:
        """Return the id of each term. New terms get the next ids, which never change. Stop words have 0."""
        return self._database.write(lambda tx: changes.assign_word_ids(tx, terms, stops))

    # -- removing ------------------------------------------------------------------------------------------------------

    def forget(self, url_digest: bytes | None = None, host: str | None = None) -> int:
        """Remove a resource, or a host and its resources, with all their data; return how many resources."""

        def remove(tx: Transaction) -> int:
            removed = forget.forget_resource(tx, url_digest) if url_digest is not None else 0
            return removed + (forget.forget_host(tx, host) if host is not None else 0)

        return self._database.write(remove, exclusive=True)
