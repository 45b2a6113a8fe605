"""The SQLite store as the rest of the house sees it: each method is one transaction or one read, made elsewhere."""

from __future__ import annotations

import platform
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal

from gossamer.store.claims import Finder
from gossamer.store.sqlite import (
    crawlers,
    documents,
    export,
    following,
    forget,
    graph,
    history,
    lease,
    read,
    recent,
    reports,
    rounds,
    schedule,
)
from gossamer.store.sqlite.database import BUSY_SECONDS, Database, open_database
from gossamer.store.sqlite.submit import Submission
from gossamer.store.visiting import Batch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from gossamer.model import Admit, Candidate, Field, HostLease, HostNote, Lease, Robots, State, Visit
    from gossamer.revisit.pace import Budget, Schedule
    from gossamer.store.following import AnchorTexts, Changes, Place
    from gossamer.store.graph import LinkChanges, Places, RankColumns, RankedHost, RankedPage, Ranking, Ranks
    from gossamer.store.questions import Question
    from gossamer.store.values import (
        Added,
        Bond,
        ChangeRow,
        Counts,
        Crawler,
        DocumentRow,
        ErrorRow,
        Freshness,
        HostNode,
        HostRow,
        LatestVisit,
        LinkRow,
        PageNode,
        Report,
        ResourceRow,
        Round,
        Submitted,
        VisitRow,
        Waiting,
        Wanted,
    )


class SqliteStore:
    """A web in a directory. Used from one thread at a time; which one may change."""

    def __init__(self, database: Database, old_sources: int = 0) -> None:
        self._database = database
        self._old_sources = old_sources  # bytes of them to keep
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
        old_sources_mib: int = 0,
    ) -> SqliteStore:
        """Open the web in a directory; `create` makes one where there is none."""
        database = open_database(
            path, create=create, read_only=read_only, cache_mib=cache_mib, busy_seconds=busy_seconds
        )
        return cls(database, old_sources_mib << 20)

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

    def beat(self, crawler: int, report: Report, now: float) -> Wanted:
        """Renew this crawler's leases, reclaim those of dead ones, and learn what is wanted of it."""
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

    def want_parsers(self, name: str, number: int) -> bool:
        """Ask a crawler to have so many parsers; False when none of that name is at work, or may not have as many."""
        with self._database.writing() as tx:
            crawlers.reclaim(tx, self._database.directory, platform.node(), time.time())
            return crawlers.want_parsers(tx, name, number)

    # -- what was asked ------------------------------------------------------------------------------------------------

    def current_round(self) -> Round | None:
        """The last round begun, finished or not."""
        with self._database.reading() as db:
            return rounds.current(db)

    def begin_round(
        self,
        settings: str,
        seeds: Sequence[str],
        max_pages: int | None,
        max_per_host: int | None,
        again: Schedule | Literal["all"] | None = None,
    ) -> Round:
        """Start a new round; the queue carries over, and what is to be visited again joins it."""
        now = time.time()
        with self._database.writing() as tx:
            begun = rounds.begin(tx, settings, seeds, max_pages, max_per_host, now)
            if again == "all":
                rounds.requeue(tx, now)
            elif again is not None:
                schedule.queue_due(tx, again, now)
            return begun

    def keep_fresh(self, schedule_: Schedule, budget: Budget, now: float) -> int:
        """Queue the visits of most worth that a budget allows by now; returns how many."""
        with self._database.writing() as tx:
            return schedule.keep_fresh(tx, schedule_, budget, now)

    def paces(self) -> dict[int, int]:
        """How many resources wait for their next visit, by pace."""
        with self._database.reading() as db:
            return schedule.paces(db)

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
            return Submission(tx, crawler, admit, now, self._old_sources).write(batch)

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

    def latest(self, limit: int, *, faults: bool = False) -> list[LatestVisit]:
        """The latest visits that brought a page, or those that failed, newest first."""
        with self._database.reading() as db:
            return recent.latest(db, limit, faults=faults)

    def by_second(self, since: float) -> list[tuple[int, int, int]]:
        """How many visits and bytes there were in each second since a time."""
        with self._database.reading() as db:
            return recent.by_second(db, since)

    def text(self, resource: int) -> list[tuple[Field, str]] | None:
        """The text by field, in reading order; None when there is none."""
        with self._database.reading() as db:
            return read.text(db, resource)

    def documents(self, ids: Sequence[int]) -> dict[int, DocumentRow]:
        """What a search shows of those of these resources that have a text, by id; one read."""
        with self._database.reading() as db:
            return documents.documents(db, ids)

    def source(self, resource: int) -> bytes | None:
        """The decoded body as it was; None when it was not kept."""
        with self._database.reading() as db:
            return read.source(db, resource)

    def ask(self, question: Question, **values: str | float | bytes) -> Iterator[tuple[Any, ...]]:
        """The answer to a question of a report, streamed."""
        return reports.ask(self._database, question, values)

    # -- all there is --------------------------------------------------------------------------------------------------

    def every_link(self) -> Iterator[Bond]:
        """Every bond, those of a page together and in order of first occurrence."""
        return export.links(self._database)

    def every_visit(self) -> Iterator[VisitRow]:
        """Every visit, oldest first."""
        return export.visits(self._database)

    def every_host(self) -> Iterator[HostRow]:
        """Every host, by id."""
        return export.hosts(self._database)

    def every_page(self) -> Iterator[ResourceRow]:
        """Every resource whose content is known, whatever became of later visits; by id."""
        return export.pages(self._database)

    def page_nodes(self, resources: Sequence[int]) -> Iterator[PageNode]:
        """What is known of pages and what the link graph says of them, in the order asked for."""
        return export.page_nodes(self._database, resources)

    def host_nodes(self, hosts: Sequence[int]) -> Iterator[HostNode]:
        """The same of hosts."""
        return export.host_nodes(self._database, hosts)

    # -- the link graph ------------------------------------------------------------------------------------------------

    def link_changes(self, since: int) -> Iterator[LinkChanges]:
        """Pages and redirects that changed after a version, with their links, and what is no more."""
        return graph.link_changes(self._database, since)

    def places(self, after: int) -> Iterator[Places]:
        """The hosts of all resources with a greater id."""
        return graph.places(self._database, after)

    def urls(self, resources: Sequence[int]) -> Iterator[tuple[int, str]]:
        """The URLs of resources, by id; without those that are no more."""
        return graph.urls(self._database, resources)

    def seeds(self) -> list[int]:
        """The DocIDs of the seeds."""
        with self._database.reading() as db:
            return graph.seeds(db)

    def host_names(self, hosts: Sequence[int]) -> dict[int, str]:
        """The names of hosts by their id."""
        with self._database.reading() as db:
            return graph.host_names(db, hosts)

    def host_number(self, name: str) -> int | None:
        """The id of a host; None when it is not known."""
        with self._database.reading() as db:
            return graph.host_number(db, name)

    def write_ranks(self, ranking: Ranking, pages: RankColumns, hosts: RankColumns) -> None:
        """Put new ranks of pages and hosts in place of all old ones."""
        with self._database.writing() as tx:
            graph.write_ranks(tx, ranking, pages, hosts)

    def reorder(self, resources: Iterable[object], backlinks: Iterable[object]) -> None:
        """Give queued pages the priority that the order `best` gives to so many backlinks."""
        with self._database.writing() as tx:
            graph.reorder(tx, resources, backlinks)

    def ranking(self) -> Ranking | None:
        """How the ranks were made; None when there are none."""
        with self._database.reading() as db:
            return graph.ranking(db)

    def ranks(self, resource: int) -> Ranks | None:
        """The ranks of a page; None when it has none."""
        with self._database.reading() as db:
            return graph.ranks(db, resource)

    def ranked(self, by: str, limit: int) -> list[RankedPage]:
        """The first pages by one of the fields of `Ranks`."""
        with self._database.reading() as db:
            return graph.ranked(db, by, limit)

    def ranked_hosts(self, limit: int) -> list[RankedHost]:
        """The first hosts by PageRank."""
        with self._database.reading() as db:
            return graph.ranked_hosts(db, limit)

    # -- what is derived from it ---------------------------------------------------------------------------------------

    def changes(self, place: Place, limit: int) -> Changes:
        """The next stretch of what changed, with the standing of every document that it concerns."""
        with self._database.reading() as db:
            return following.changes(db, place, limit)

    def relinked(self, after: int, at_once: int = 1_000) -> Iterator[list[int]]:
        """The documents whose anchor texts may be others since a version, streamed; some come more than once."""
        return following.relinked(self._database, after, at_once)

    def anchors(self, targets: Sequence[int], *, most_links: int, most_texts: int) -> list[AnchorTexts]:
        """What other pages call each of these."""
        with self._database.reading() as db:
            return following.anchors(db, targets, most_links, most_texts)

    def known_words(self, terms: Sequence[str]) -> dict[str, int]:
        """The numbers of those terms that have one."""
        with self._database.reading() as db:
            return following.known_words(db, terms)

    def every_word(self) -> Iterator[tuple[str, int]]:
        """Every term and its number, in order, streamed."""
        return following.every_word(self._database)

    def word_ids(self, terms: Sequence[str], stops: Sequence[str] = ()) -> dict[str, int]:
        """The number of each term; new ones get the next, for ever. Stop words have 0."""
        with self._database.writing() as tx:
            return following.number_words(tx, terms, stops)

    # -- what changed --------------------------------------------------------------------------------------------------

    def freshness(self, schedule_: Schedule, now: float) -> Freshness:
        """How fresh the web is, and what is due."""
        with self._database.reading() as db:
            return schedule.freshness(db, schedule_, now)

    def pace(self, resource: int) -> int | None:
        """How soon a resource deserves a visit; None when it has none to come."""
        with self._database.reading() as db:
            return schedule.pace(db, resource)

    def history(self, resource: int) -> list[ChangeRow]:
        """What visits of a resource found to be different, oldest first."""
        with self._database.reading() as db:
            return history.of_resource(db, resource)

    def changed_since(self, when: float, limit: int | None = None) -> Iterator[ChangeRow]:
        """What visits found to be different after a time, oldest first; streamed."""
        return history.since(self._database, when, limit)

    def old_source(self, change: int) -> bytes | None:
        """The decoded body as it was until a change; None when it was not kept."""
        with self._database.reading() as db:
            return history.old_source(db, change)

    # -- removing ------------------------------------------------------------------------------------------------------

    def forget(self, url_digest: bytes | None = None, host: str | None = None) -> int:
        """Remove a resource, or a host with its resources, with everything that hangs on them; returns how many."""
        with self._database.writing() as tx:
            removed = forget.forget_resource(tx, url_digest) if url_digest is not None else 0
            return removed + (forget.forget_host(tx, host) if host is not None else 0)
