"""The store on a SQL database: it runs the functions of a back-end's SQL modules, each in its transaction.

`protocol.py` documents the methods. The modules of `sqlite/` and `postgres/` hold the SQL.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

from gossamer.store.protocol import Store
from gossamer.store.work.claims import Discovery
from gossamer.store.work.rounds import SeedCache

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gossamer import model
    from gossamer.model import AdmitCandidates, Candidate, Field, HostLease, Lease, State, VisitBatch
    from gossamer.revisit.pace import Schedule, VisitBudget
    from gossamer.store import values
    from gossamer.store.follow import graph
    from gossamer.store.follow.changes import AnchorTexts, ChangeCursor, Changes
    from gossamer.store.read.questions import Question
    from gossamer.store.sql_modules import SqlDatabase, SqlModules


class SqlStore(Store):
    """A web in a SQL database. One thread at a time uses it; the thread may change."""

    def __init__(self, database: SqlDatabase, sql: SqlModules, old_sources: int = 0) -> None:
        """`old_sources` is the number of bytes of replaced sources to keep."""
        self._database = database
        self._sql = sql
        self._old_sources = old_sources
        self._seed_cache = SeedCache()

    def close(self) -> None:
        self._database.close()

    # -- crawlers ------------------------------------------------------------------------------------------------------

    def join(self, machine: str, pid: int) -> values.CrawlerRow:
        return self._sql.crawlers.join(self._database, machine, pid)

    def heartbeat(self, crawler: int, report: values.CrawlerReport, now: float) -> values.CrawlerOrders:
        return self._sql.crawlers.heartbeat(self._database, crawler, report, now)

    def leave(self, crawler: int) -> None:
        self._sql.crawlers.leave(self._database, crawler)

    def set_wanted_state(self, name: str, wanted: str) -> bool:
        return self._sql.crawlers.set_wanted_state(self._database, name, wanted)

    def set_wanted_parsers(self, name: str, number: int) -> bool:
        return self._sql.crawlers.set_wanted_parsers(self._database, name, number)

    def crawlers(self) -> list[values.CrawlerRow]:
        return self._sql.crawlers.latest_crawlers(self._database)

    # -- rounds --------------------------------------------------------------------------------------------------------

    def current_round(self) -> values.Round | None:
        return self._database.snapshot(lambda db: self._sql.rounds.current_round(db, self._seed_cache))

    def begin_round(
        self,
        settings: str,
        seeds: Sequence[str],
        max_pages: int | None,
        max_per_host: int | None,
        revisit: Schedule | Literal["all"] | None = None,
    ) -> values.Round:
        now = time.time()

        def begin(tx: Any) -> values.Round:
            new_round = self._sql.rounds.begin_round(tx, settings, seeds, max_pages, max_per_host, now)
            if revisit == "all":
                self._sql.rounds.requeue(tx, now)
            elif revisit is not None:
                self._sql.schedule.queue_due(tx, revisit, now)
            return new_round

        return self._database.write(begin, exclusive=True)

    def keep_fresh(self, schedule: Schedule, budget: VisitBudget, now: float) -> int:
        return self._database.write(lambda tx: self._sql.schedule.keep_fresh(tx, schedule, budget, now), exclusive=True)

    def finish_round(self, now: float) -> None:
        self._database.write(lambda tx: self._sql.rounds.finish_round(tx, now), exclusive=True)

    def queue_again(self, resources: Sequence[int]) -> int:
        return self._database.write(lambda tx: self._sql.rounds.queue_again(tx, resources), exclusive=True)

    def readmit(self, admit: AdmitCandidates) -> int:
        return self._database.write(lambda tx: self._sql.rounds.readmit(tx, admit), exclusive=True)

    # -- work ----------------------------------------------------------------------------------------------------------

    def add(
        self, candidates: Sequence[Candidate], admit: AdmitCandidates, discovered_by: int | None = None
    ) -> list[values.AddResult]:
        discovery = Discovery(admit, time.time(), discovered_by, reopen=True)
        return self._database.write(lambda tx: self._sql.lease.add(tx, candidates, discovery), exclusive=True)

    def lease(self, crawler: int, *, hosts: int, urls: int, held: Sequence[int], now: float) -> list[HostLease]:
        return self._database.write(
            lambda tx: self._sql.lease.lease(tx, crawler, hosts=hosts, urls=urls, held=held, now=now)
        )

    def lease_urls(self, crawler: int, candidates: Sequence[Candidate], now: float) -> list[Lease | None]:
        return self._database.write(lambda tx: self._sql.lease.lease_urls(tx, crawler, candidates, now), exclusive=True)

    def submit(self, crawler: int, batch: VisitBatch, admit: AdmitCandidates, now: float) -> values.SubmitResult:
        return self._database.write(
            lambda tx: self._sql.submit.submit(tx, crawler, batch, admit, now, self._old_sources)
        )

    def shapes(self, hosts: Sequence[int]) -> list[model.ShapeEvidence]:
        return self._database.read(lambda db: self._sql.renderings.shapes(db, hosts))

    def waiting_hosts(self, crawler: int, limit: int = 5) -> list[values.WaitingHost]:
        return self._database.read(lambda db: self._sql.lease.waiting_hosts(db, crawler, limit))

    # -- reading -------------------------------------------------------------------------------------------------------

    @property
    def identity(self) -> str:
        return self._database.opened_identity

    def is_current(self) -> bool:
        return self._database.identity() == self.identity

    def version(self) -> int:
        return self._database.read(self._sql.resources.version)

    def counts(self) -> values.Counts:
        return self._database.read(self._sql.resources.counts)

    def visited_totals(self) -> values.VisitedTotals:
        return self._database.read(self._sql.resources.visited_totals)

    def hosts(self, limit: int | None = None) -> list[values.HostRow]:
        return self._database.read(lambda db: self._sql.resources.hosts(db, limit))

    def resource(self, url_digest: bytes) -> values.ResourceRow | None:
        return self._database.read(lambda db: self._sql.resources.resource(db, url_digest))

    def resources(self, state: State | None = None) -> Iterator[values.ResourceRow]:
        return self._sql.resources.resources(self._database, state)

    def inlinks(self, resource: int, limit: int | None = None) -> list[values.LinkRow]:
        return self._database.read(lambda db: self._sql.resources.inlinks(db, resource, limit))

    def outlinks(self, resource: int, limit: int | None = None) -> list[values.LinkRow]:
        return self._database.read(lambda db: self._sql.resources.outlinks(db, resource, limit))

    def errors(self, limit: int | None = None) -> Iterator[values.ErrorRow]:
        return self._sql.resources.errors(self._database, limit)

    def visits(self, resource: int) -> list[values.VisitRow]:
        return self._database.read(lambda db: self._sql.resources.visits(db, resource))

    def latest_visits(self, limit: int, *, faults: bool = False) -> list[values.LatestVisit]:
        return self._database.read(lambda db: self._sql.recent.latest_visits(db, limit, faults=faults))

    def visits_by_second(self, since: float) -> list[tuple[int, int, int]]:
        return self._database.read(lambda db: self._sql.recent.visits_by_second(db, since))

    def text(self, resource: int) -> list[tuple[Field, str]] | None:
        return self._database.read(lambda db: self._sql.resources.text(db, resource))

    def documents(self, ids: Sequence[int]) -> dict[int, values.DocumentRow]:
        return self._database.read(lambda db: self._sql.documents.documents(db, ids))

    def missing_documents(self, ids: Sequence[int], version: int) -> list[int]:
        return self._database.read(lambda db: self._sql.documents.missing_documents(db, ids, version))

    def source(self, resource: int) -> bytes | None:
        return self._database.read(lambda db: self._sql.resources.source(db, resource))

    def rendering(self, resource: int) -> model.Rendering | None:
        return self._database.read(lambda db: self._sql.renderings.rendering(db, resource))

    def packed_text(self, resource: int) -> bytes | None:
        return self._database.read(lambda db: self._sql.resources.packed_text(db, resource))

    def packed_source(self, resource: int) -> bytes | None:
        return self._database.read(lambda db: self._sql.resources.packed_source(db, resource))

    def ask(self, question: Question, **parameters: str | float | bytes) -> Iterator[tuple[Any, ...]]:
        return self._sql.reports.ask(self._database, question, parameters)

    def count_answer(self, question: Question, **parameters: str | float | bytes) -> int:
        return self._sql.reports.count(self._database, question, parameters)

    # -- whole tables --------------------------------------------------------------------------------------------------

    def every_link(self) -> Iterator[values.Bond]:
        return self._sql.export.links(self._database)

    def every_visit(self) -> Iterator[values.VisitRow]:
        return self._sql.export.visits(self._database)

    def every_host(self) -> Iterator[values.HostRow]:
        return self._sql.export.hosts(self._database)

    def every_page(self) -> Iterator[values.ResourceRow]:
        return self._sql.export.pages(self._database)

    def page_nodes(self, resources: Sequence[int]) -> Iterator[values.PageNode]:
        return self._sql.export.page_nodes(self._database, resources)

    def host_nodes(self, hosts: Sequence[int]) -> Iterator[values.HostNode]:
        return self._sql.export.host_nodes(self._database, hosts)

    # -- the link graph ------------------------------------------------------------------------------------------------

    def link_changes(self, since: int) -> Iterator[graph.LinkChanges]:
        return self._sql.link_changes.link_changes(self._database, since)

    def resource_hosts(self, after: int) -> Iterator[graph.ResourceHosts]:
        return self._sql.graph.resource_hosts(self._database, after)

    def urls(self, resources: Sequence[int]) -> Iterator[tuple[int, str]]:
        return self._sql.graph.urls(self._database, resources)

    def seed_ids(self) -> list[int]:
        return self._database.read(self._sql.graph.seed_ids)

    def host_names(self, hosts: Sequence[int]) -> dict[int, str]:
        return self._database.read(lambda db: self._sql.graph.host_names(db, hosts))

    def host_id(self, name: str) -> int | None:
        return self._database.read(lambda db: self._sql.graph.host_id(db, name))

    def write_ranks(self, ranking: graph.Ranking, pages: graph.RankColumns, hosts: graph.RankColumns) -> None:
        self._sql.rank_writer.write_ranks(self._database, ranking, pages, hosts)

    def reprioritize(self, resources: Iterable[object], backlinks: Iterable[object]) -> None:
        self._sql.rank_writer.reprioritize(self._database, resources, backlinks)

    def ranking(self) -> graph.Ranking | None:
        return self._database.read(self._sql.graph.ranking)

    def ranks(self, resource: int) -> graph.Ranks | None:
        return self._database.read(lambda db: self._sql.graph.ranks(db, resource))

    def ranked_pages(self, measure: str, limit: int) -> list[graph.RankedPage]:
        return self._database.read(lambda db: self._sql.graph.ranked_pages(db, measure, limit))

    def ranked_hosts(self, limit: int) -> list[graph.RankedHost]:
        return self._database.read(lambda db: self._sql.graph.ranked_hosts(db, limit))

    # -- the index -----------------------------------------------------------------------------------------------------

    def changes(self, cursor: ChangeCursor, limit: int) -> Changes:
        return self._database.snapshot(lambda db: self._sql.changes.changes(db, cursor, limit))

    def relinked_documents(self, after: int, at_once: int = 1_000) -> Iterator[list[int]]:
        return self._sql.changes.relinked_documents(self._database, after, at_once)

    def anchor_texts(self, targets: Sequence[int], *, max_links: int, max_texts: int) -> list[AnchorTexts]:
        return self._database.read(lambda db: self._sql.changes.anchor_texts(db, targets, max_links, max_texts))

    def known_word_ids(self, terms: Sequence[str]) -> dict[str, int]:
        return self._database.read(lambda db: self._sql.changes.known_word_ids(db, terms))

    def every_word(self) -> Iterator[tuple[str, int]]:
        return self._sql.changes.every_word(self._database)

    def word_ids(self, terms: Sequence[str], stops: Sequence[str] = ()) -> dict[str, int]:
        return self._database.write(lambda tx: self._sql.changes.assign_word_ids(tx, terms, stops))

    # -- freshness and history -----------------------------------------------------------------------------------------

    def pace_counts(self) -> dict[int, int]:
        return self._database.read(self._sql.freshness.pace_counts)

    def pace(self, resource: int) -> int | None:
        return self._database.read(lambda db: self._sql.freshness.resource_pace(db, resource))

    def freshness(self, schedule: Schedule, now: float) -> values.Freshness:
        return self._database.read(lambda db: self._sql.freshness.freshness(db, schedule, now))

    def history(self, resource: int) -> list[values.ChangeRow]:
        return self._database.read(lambda db: self._sql.history.history(db, resource))

    def old_source(self, change: int) -> bytes | None:
        return self._database.read(lambda db: self._sql.history.old_source(db, change))

    # -- removing ------------------------------------------------------------------------------------------------------

    def forget(self, url_digest: bytes | None = None, host: str | None = None) -> int:
        def remove(tx: Any) -> int:
            removed = self._sql.forget.forget_resource(tx, url_digest) if url_digest is not None else 0
            return removed + (self._sql.forget.forget_host(tx, host) if host is not None else 0)

        return self._database.write(remove, exclusive=True)

    def has_forgotten_since(self, version: int) -> bool:
        return self._database.read(lambda db: self._sql.documents.has_forgotten_since(db, version))
