"""The protocols of the store: what every back-end must do, and the rules of its use.

A package asks for the smallest protocol that has the calls it needs; `Store` is all of them together.

Order of calls
    A crawler calls `join` once, then `begin_round` and `add` with its seeds. Then it repeats `lease`, `submit` and
    `heartbeat`. At its end it calls `leave`. All calls of one crawler come from one thread. Reading calls (`counts`,
    `resource`, `errors` ...) may come from any process at any time, through a store object of their own.

What is atomic, what survives
    Every writing call is one transaction. After it returned, its effect survives `kill -9`. If it raised, it changed
    nothing. In one transaction `submit` replaces a page's links, text and source, enqueues new URLs, returns leases
    and records visits.

Hosts and leases
    At most one crawler holds a host, and the store leases the URLs of that host only to it. A lease ends by `submit`,
    by `leave`, by `readmit` if the URL may no longer be visited, or because its holder died. SQLite sees a free lock
    file at once. PostgreSQL sees a connection that ended and did not come back within seconds. Otherwise the lease
    runs out after `LEASE_SECONDS` without `heartbeat`: the process is stopped or hangs, or its machine vanished. The
    crawlers at work watch that (`store/work/heartbeats.py`). The store queues the URLs of a lost lease again. It
    writes nothing that a lost crawler submits.

    While another crawler waits for its first host, `heartbeat` tells the others how many hosts they may hold. They
    give hosts back by `submit`, each host when none of its URLs is under way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gossamer import model
    from gossamer.model import AdmitCandidates, Candidate, Field, HostLease, Lease, State, VisitBatch
    from gossamer.revisit.pace import Schedule, VisitBudget
    from gossamer.store.follow.changes import AnchorTexts, ChangeCursor, Changes
    from gossamer.store.follow.graph import (
        LinkChanges,
        RankColumns,
        RankedHost,
        RankedPage,
        Ranking,
        Ranks,
        ResourceHosts,
    )
    from gossamer.store.read.questions import Question
    from gossamer.store.values import (
        AddResult,
        Bond,
        ChangeRow,
        Counts,
        CrawlerOrders,
        CrawlerReport,
        CrawlerRow,
        DocumentRow,
        ErrorRow,
        Freshness,
        HostNode,
        HostRow,
        LatestVisit,
        LinkRow,
        PageNode,
        ResourceRow,
        Round,
        SubmitResult,
        VisitedTotals,
        VisitRow,
        WaitingHost,
    )

LEASE_SECONDS = 30.0  # short, so that others soon take over the work of a crawler whose machine vanished
MAX_HOST_PAUSE_SECONDS = 2 * 86_400.0  # no rule makes a host wait this long; only a wrong clock does


class StateReader(Protocol):
    """The state of a web as a whole."""

    @property
    def identity(self) -> str:
        """Which web this is: another one made at the same location later has another identity."""
        ...

    def is_current(self) -> bool:
        """Return whether this web is still the one at its location, neither removed nor replaced."""
        ...

    def version(self) -> int:
        """Return the version of the last batch written."""
        ...

    def counts(self) -> Counts:
        """Return how many resources, hosts, links and documents there are; fast at any size."""
        ...

    def visited_totals(self) -> VisitedTotals:
        """Return how many pages were visited, on how many hosts, and how many hosts have none.

        It reads every host, so a display that updates every second asks `counts` instead.
        """
        ...

    def ranking(self) -> Ranking | None:
        """Return how the ranks were computed; None when there are none."""
        ...

    def current_round(self) -> Round | None:
        """Return the last round begun, finished or not.

        Its seeds are the same tuple objects as long as they do not change.
        """
        ...


class WorkStore(StateReader, Protocol):
    """What a crawl or an import needs: it joins, begins a round, leases work and submits the results."""

    def join(self, machine: str, pid: int) -> CrawlerRow:
        """Take a free name; give back the leases of crawlers that died.

        A host that would wait longer than `MAX_HOST_PAUSE_SECONDS` becomes ready: a wrong clock wrote that time.
        """
        ...

    def heartbeat(self, crawler: int, report: CrawlerReport, now: float) -> CrawlerOrders:
        """Renew this crawler's leases, reclaim those of dead crawlers, and return its orders."""
        ...

    def leave(self, crawler: int) -> None:
        """Give back every lease and the name."""
        ...

    def begin_round(
        self,
        settings: str,
        seeds: Sequence[str],
        max_pages: int | None,
        max_per_host: int | None,
        revisit: Schedule | Literal["all"] | None = None,
    ) -> Round:
        """Start a new round; the queue and the seeds of the last round carry over.

        The transaction merges the seeds because two crawls may begin at once without knowing each other's seeds.
        `revisit` says what the round visits again: what is due by a schedule, or everything ("all").
        """
        ...

    def keep_fresh(self, schedule: Schedule, budget: VisitBudget, now: float) -> int:
        """Queue the most valuable visits that a budget allows by now; return how many.

        Each period of the budget is a round with the budget as its limits. The first caller in a period begins that
        round.
        """
        ...

    def finish_round(self, now: float) -> None:
        """Mark the current round as finished, unless URLs are queued or leased."""
        ...

    def readmit(self, admit: AdmitCandidates) -> int:
        """Ask `admit` again about every resource not visited yet, because the scope changed.

        These are the known, queued, leased and out-of-scope resources, except leases of an import. The call works in
        bounded memory. It returns how many resources changed their state.
        """
        ...

    def queue_again(self, resources: Sequence[int]) -> int:
        """Queue visited pages again without their validators, so that they come whole; return how many."""
        ...

    def add(
        self, candidates: Sequence[Candidate], admit: AdmitCandidates, discovered_by: int | None = None
    ) -> list[AddResult]:
        """Add URLs: queue those that are new and admitted; queue failed seeds again.

        If `discovered_by` is a crawler whose work others took over, nothing is added and the result is empty.
        """
        ...

    def lease(self, crawler: int, *, hosts: int, urls: int, held: Sequence[int], now: float) -> list[HostLease]:
        """Lease up to `urls` URLs of each host in `held` and of up to `hosts` free hosts.

        `held` are hosts that the crawler holds already. Free hosts come in order of `ready_at`; hosts that are not
        ready within `LEASE_SECONDS` do not come. The page limits of the round count visited and leased pages, so they
        hold exactly. The call never reads finished rows.
        """
        ...

    def lease_urls(self, crawler: int, candidates: Sequence[Candidate], now: float) -> list[Lease | None]:
        """Lease exactly these URLs in any state, adding unknown ones; None: another crawler has the host.

        `import` uses it for pages that do not come from the network. The crawler holds their hosts as usual. Pauses and
        the limits of the round do not apply, because no server is asked. `submit` ends these leases as well.
        """
        ...

    def submit(self, crawler: int, batch: VisitBatch, admit: AdmitCandidates, now: float) -> SubmitResult:
        """Write a batch of visits.

        The store calls `admit` with candidates that are new or whose state may improve. It calls it once for the links
        of the batch. In rounds with a `max_depth` it also calls it for each step along stored links that gets a smaller
        depth. In rounds with the order `best`, each page that newly points at a resource raises its priority by one.
        Visits whose lease the crawler has lost are not written; the result counts them. If others took over all work of
        the crawler, nothing of the batch is written, and the result says so.
        """
        ...

    def shapes(self, hosts: Sequence[int]) -> list[model.ShapeEvidence]:
        """Return what browsers found about the path shapes of these hosts (`crawl/rendering/`)."""
        ...

    def waiting_hosts(self, crawler: int, limit: int = 5) -> list[WaitingHost]:
        """Return hosts with open URLs that the crawler does not hold, soonest first.

        Open URLs are queued, or leased by another crawler. Hosts that only a page limit holds back are left out,
        because waiting does not help there.
        """
        ...


class CrawlerControl(Protocol):
    """The crawlers of a web, and orders for them."""

    def crawlers(self) -> list[CrawlerRow]:
        """Return the last crawler of every name, at work or not."""
        ...

    def set_wanted_state(self, name: str, wanted: str) -> bool:
        """Ask a crawler to run, pause or stop; return False when none of that name is at work."""
        ...

    def set_wanted_parsers(self, name: str, number: int) -> bool:
        """Ask a crawler to run `number` parsers.

        Return False when none of that name is at work, or when it may not run as many.
        """
        ...


class PageSource(Protocol):
    """Stored sources of pages."""

    def source(self, resource: int) -> bytes | None:
        """Return the decoded body; None when it was not kept."""
        ...


class StoreReader(StateReader, PageSource, Protocol):
    """Answers for people: hosts, resources and their links, visits, ranks, freshness and history."""

    def hosts(self, limit: int | None = None) -> list[HostRow]:
        """Return hosts, those with most pages first."""
        ...

    def resource(self, url_digest: bytes) -> ResourceRow | None:
        """Return a resource by the digest of its URL."""
        ...

    def inlinks(self, resource: int, limit: int | None = None) -> list[LinkRow]:
        """Return the bonds that point at a resource."""
        ...

    def outlinks(self, resource: int, limit: int | None = None) -> list[LinkRow]:
        """Return the bonds of a page, in order of first occurrence."""
        ...

    def errors(self, limit: int | None = None) -> Iterator[ErrorRow]:
        """Stream failed, gone and refused resources, each with one page that points at it."""
        ...

    def visits(self, resource: int) -> list[VisitRow]:
        """Return the visits of a resource, oldest first."""
        ...

    def latest_visits(self, limit: int, *, faults: bool = False) -> list[LatestVisit]:
        """Return the latest visits that brought a page, or (`faults`) failed, newest first; fast at any size."""
        ...

    def visits_by_second(self, since: float) -> list[tuple[int, int, int]]:
        """Return second, visits and bytes for each second since a time, oldest first."""
        ...

    def text(self, resource: int) -> list[tuple[Field, str]] | None:
        """Return the text by field, in reading order; None when there is none."""
        ...

    def packed_text(self, resource: int) -> bytes | None:
        """Return the text as stored, for `content.iterate_text`, which reads no more of it than wanted."""
        ...

    def packed_source(self, resource: int) -> bytes | None:
        """Return the body as stored, for `content.iterate_source`."""
        ...

    def rendering(self, resource: int) -> model.Rendering | None:
        """Return what a browser made of a page; None when none rendered it."""
        ...

    def ranks(self, resource: int) -> Ranks | None:
        """Return the ranks of a page; None when it has none."""
        ...

    def ranked_pages(self, measure: str, limit: int) -> list[RankedPage]:
        """Return the first pages by one of the fields of `Ranks`."""
        ...

    def ranked_hosts(self, limit: int) -> list[RankedHost]:
        """Return the first hosts by PageRank."""
        ...

    def freshness(self, schedule: Schedule, now: float) -> Freshness:
        """Return how fresh the web is, and what is due."""
        ...

    def pace(self, resource: int) -> int | None:
        """Return how soon a resource deserves a visit (`gossamer.revisit.pace`); None when no visit is to come."""
        ...

    def pace_counts(self) -> dict[int, int]:
        """Return how many resources wait for their next visit, by pace (`gossamer.revisit.pace`)."""
        ...

    def history(self, resource: int) -> list[ChangeRow]:
        """Return the changes that visits of a resource found, oldest first."""
        ...

    def old_source(self, change: int) -> bytes | None:
        """Return the decoded body until a change (`ChangeRow.id`); None when it was not kept."""
        ...


class UrlSource(Protocol):
    """URLs by DocID."""

    def urls(self, resources: Sequence[int]) -> Iterator[tuple[int, str]]:
        """Stream the URLs of resources, by id; removed resources are left out."""
        ...


class NodeSource(Protocol):
    """Facts and ranks of the nodes of the link graph."""

    def page_nodes(self, resources: Sequence[int]) -> Iterator[PageNode]:
        """Stream page data and ranks for these resources, in the order given."""
        ...

    def host_nodes(self, hosts: Sequence[int]) -> Iterator[HostNode]:
        """Stream page counts and ranks for these hosts, in the order given."""
        ...


class ExportSource(StateReader, PageSource, NodeSource, Protocol):
    """Whole tables, streamed in bounded memory."""

    def resources(self, state: State | None = None) -> Iterator[ResourceRow]:
        """Stream all resources, or those in a state, by id."""
        ...

    def every_link(self) -> Iterator[Bond]:
        """Stream every bond, grouped by page, in order of first occurrence."""
        ...

    def every_visit(self) -> Iterator[VisitRow]:
        """Stream every visit, oldest first."""
        ...

    def every_host(self) -> Iterator[HostRow]:
        """Stream every host, by id."""
        ...

    def every_page(self) -> Iterator[ResourceRow]:
        """Stream every resource whose content is stored, by id, whatever later visits found."""
        ...


class ReportSource(StateReader, Protocol):
    """Answers to the questions of reports."""

    def ask(self, question: Question, **values: str | float | bytes) -> Iterator[tuple[Any, ...]]:
        """Stream the answer to a report's question, each row in the order of the question's columns."""
        ...

    def count_answer(self, question: Question, **values: str | float | bytes) -> int:
        """Return the number of rows that `ask` would stream; the database counts them."""
        ...


class GraphSource(StateReader, UrlSource, NodeSource, Protocol):
    """The links that the graph follows; the graph writes its ranks back."""

    def link_changes(self, since: int) -> Iterator[LinkChanges]:
        """Stream pages and redirects that changed after a version, with their links, by id.

        The reads are short. A change made between them may appear in them or not. Its version is newer than the one
        that `version()` returned before, so the next call returns it.
        """
        ...

    def resource_hosts(self, after: int) -> Iterator[ResourceHosts]:
        """Stream the hosts of all resources with a greater id, by id. A resource never changes its host."""
        ...

    def seed_ids(self) -> list[int]:
        """Return the DocIDs of the seeds."""
        ...

    def host_names(self, hosts: Sequence[int]) -> dict[int, str]:
        """Return the names of hosts by id."""
        ...

    def host_id(self, name: str) -> int | None:
        """Return the id of a host; None when it is not known."""
        ...

    def write_ranks(self, ranking: Ranking, pages: RankColumns, hosts: RankColumns) -> None:
        """Replace all ranks of pages and hosts."""
        ...

    def reprioritize(self, resources: Iterable[object], backlinks: Iterable[object]) -> None:
        """Give queued pages the priority that the order `best` gives for these numbers of backlinks.

        The numbers need not be whole.
        """
        ...


class WordSource(Protocol):
    """The ids of known words."""

    def known_word_ids(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the WordIDs of those terms that have one."""
        ...


class IndexSource(StateReader, UrlSource, WordSource, Protocol):
    """The changes that the index follows, and new ids of words."""

    def changes(self, cursor: ChangeCursor, limit: int) -> Changes:
        """Return the next changes after a cursor, at most `limit` resources, and other documents they affect.

        The packed texts of these resources have at most `follow.changes.MAX_BATCH_BYTES` together, unless it is one.
        """
        ...

    def relinked_documents(self, after: int, at_once: int = 1_000) -> Iterator[list[int]]:
        """Stream documents whose anchor texts may have changed since a version; some come twice."""
        ...

    def anchor_texts(self, targets: Sequence[int], *, max_links: int, max_texts: int) -> list[AnchorTexts]:
        """Return the texts that other pages use for links to each target.

        Links to redirects and duplicates of a target count too. Each page's bonds count once. At most `max_links` links
        to one resource are read.
        """
        ...

    def every_word(self) -> Iterator[tuple[str, int]]:
        """Stream every term and its WordID, in order."""
        ...

    def word_ids(self, terms: Sequence[str], stops: Sequence[str] = ()) -> dict[str, int]:
        """Return the WordID of each term; a new term gets the next one, stop words have 0."""
        ...


class SearchSource(WordSource, Protocol):
    """The words of a query, and the stored pages behind its hits."""

    def documents(self, ids: Sequence[int]) -> dict[int, DocumentRow]:
        """Return what search shows of these resources, by id, in one read; those without text are left out."""
        ...

    def missing_documents(self, ids: Sequence[int], version: int) -> list[int]:
        """Return the ids that `documents` left out without reason; then the store is damaged.

        The reason is that the resource was forgotten or changed since the version of the index.
        """
        ...


class Store(
    WorkStore, CrawlerControl, StoreReader, ExportSource, ReportSource, GraphSource, IndexSource, SearchSource, Protocol
):
    """A web, kept durably."""

    def forget(self, url_digest: bytes | None = None, host: str | None = None) -> int:
        """Remove a resource, or a host with its resources and all that belongs to them; return how many."""
        ...

    def has_forgotten_since(self, version: int) -> bool:
        """Return whether resources were forgotten after a version; an index of that version still has them."""
        ...

    def close(self) -> None:
        """Close the store. A crawler that did not leave counts as dead from then on."""
        ...
