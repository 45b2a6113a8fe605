"""The Store protocol: what every back-end must do, and the rules of its use.

Who calls what, in order
    A crawler calls `join` once, then `begin_round` and `add` (its seeds), then again and again `lease`, `submit` and
    `beat`, and at its end `leave`. All calls of one crawler come from one thread. Reading calls (`counts`, `resource`,
    `errors` ...) may come from any process at any time, through a store object of their own.

What is atomic, what survives
    Every writing call is one transaction: after it returned, its effect survives `kill -9`; if it raised, nothing of it
    is there. `submit` replaces a page's links, text and source, enqueues what is new, returns leases and records
    visits, all in that one transaction.

Who holds what
    A host is held by at most one crawler, and its URLs are leased to that crawler only. A lease ends by `submit`, by
    `release`, by `leave`, or because its holder died: SQLite sees a free lock file at once, PostgreSQL a connection
    that ended and did not come back within seconds; otherwise the lease runs out after `LEASE_SECONDS` without `beat`.
    URLs of a lost lease are queued again. It ends by `readmit` too, if the URL may be visited no longer. Who holds more
    than a fair share while another crawler waits for its first host hears so with `beat`, and gives hosts back by
    `submit`, each when nothing of it is under way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gossamer.model import AdmitCandidates, Candidate, Field, HostLease, HostUpdate, Lease, Robots, State, Visit
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
        VisitRow,
        WaitingHost,
    )

LEASE_SECONDS = 30.0  # short, so that the work of a crawler that vanished with its machine is soon taken over
MAX_HOST_PAUSE_SECONDS = (
    2 * 86_400.0
)  # nothing makes a host wait for two days, but a clock that was wrong when it was written


class Store(Protocol):
    """What is known, durably."""

    # -- who works here ------------------------------------------------------------------------------------------

    def join(self, machine: str, pid: int) -> CrawlerRow:
        """Take a free name; give back the leases of crawlers seen to be dead.

        Hosts that would wait longer than LONGEST_PAUSE need not wait: whoever wrote that had a wrong clock.
        """
        ...

    def heartbeat(self, crawler: int, report: CrawlerReport, now: float) -> CrawlerOrders:
        """Renew this crawler's leases, reclaim those of dead ones, and learn what is wanted of it."""
        ...

    def leave(self, crawler: int) -> None:
        """Give back every lease and the name."""
        ...

    def set_wanted_state(self, name: str, wanted: str) -> bool:
        """Ask a crawler to run, pause or stop; False when there is none of that name at work."""
        ...

    def set_wanted_parsers(self, name: str, number: int) -> bool:
        """Ask a crawler to have so many parsers; False when none of that name is at work, or may not have as many."""
        ...

    # -- what was asked ------------------------------------------------------------------------------------------

    def current_round(self) -> Round | None:
        """The last round begun, finished or not. As long as its seeds are the same, they are the very same tuples."""
        ...

    def begin_round(
        self,
        settings: str,
        seeds: Sequence[str],
        max_pages: int | None,
        max_per_host: int | None,
        revisit: Schedule | Literal["all"] | None = None,
    ) -> Round:
        """Start a new round; the queue carries over, and so do the seeds of the round before.

        They do so here, in one transaction, for two crawls may begin at once and know nothing of each other's seeds.
        `again` says what a round visits once more: all that is due by a schedule, or everything ("all").
        """
        ...

    def keep_fresh(self, schedule: Schedule, budget: VisitBudget, now: float) -> int:
        """Queue the visits of most worth that a budget allows by now; returns how many.

        Each period of the budget is a round with the budget as its limits, begun here by whoever comes first.
        """
        ...

    def pace_counts(self) -> dict[int, int]:
        """How many resources wait for their next visit, by pace (`gossamer.revisit.pace`)."""
        ...

    def finish_round(self, now: float) -> None:
        """Mark the current round as finished; only when nothing is queued or leased."""
        ...

    def readmit(self, admit: AdmitCandidates) -> int:
        """Ask `admit` again about every resource not visited yet: the scope changed.

        That is what is known, queued, out of scope or leased; of the last not what was claimed for an import.
        Streams in bounded memory; returns how many changed their state.
        """
        ...

    def requeue(self, now: float) -> int:
        """Queue every visited, failed, refused or gone resource again (a new round visits them); returns how many."""
        ...

    # -- work ----------------------------------------------------------------------------------------------------

    def add(
        self, candidates: Sequence[Candidate], admit: AdmitCandidates, discovered_by: int | None = None
    ) -> list[AddResult]:
        """Add URLs: each is known already, or new and (if admitted) queued.

        A seed that failed before is tried again.
        """
        ...

    def lease(self, crawler: int, *, hosts: int, urls: int, held: Sequence[int], now: float) -> list[HostLease]:
        """Hand out up to `urls` URLs for each host in `held` (already ours) and for up to `hosts` further free hosts.

        Free hosts come in order of `ready_at`, those not ready for longer than LEASE_SECONDS not at all. The round's
        page limits count visited and leased pages, so that they hold exactly. Never looks at finished rows.
        """
        ...

    def lease_urls(self, crawler: int, candidates: Sequence[Candidate], now: float) -> list[Lease | None]:
        """Lease exactly these URLs, whatever their state; those not known are added. None: another has the host.

        For pages that come from elsewhere than the network (`import`): their hosts are held like any other, but neither
        pauses nor the round's limits are asked, for nobody is bothered. `submit` ends these leases as well.
        """
        ...

    def submit(
        self,
        crawler: int,
        visits: Sequence[Visit],
        admit: AdmitCandidates,
        *,
        hosts: Sequence[HostUpdate] = (),
        robots: Sequence[Robots] = (),
        released: Sequence[Lease] = (),
        now: float,
        keep_links: bool = True,
    ) -> SubmitResult:
        """Write a batch.

        `admit` is called with the candidates that are new or whose state may improve: once for the links of the batch,
        and once for each step along stored links where a smaller depth is passed on (in rounds with a `max_depth`).
        `keep_links=False` follows and counts links without storing them (redirects are stored). In rounds with the
        order `best` a resource's priority grows by one for each page that newly points at it. Visits whose lease is
        no longer the crawler's are not written, but counted in the answer.
        """
        ...

    def waiting_hosts(self, crawler: int, limit: int = 5) -> list[WaitingHost]:
        """Hosts that the crawler does not hold and that have URLs queued, or leased by another; soonest first.

        Not those that only a page limit holds back: no waiting helps there.
        """
        ...

    # -- reading -------------------------------------------------------------------------------------------------

    def version(self) -> int:
        """The version of the last batch written."""
        ...

    def counts(self) -> Counts:
        """How much is there; quick at any size."""
        ...

    def crawlers(self) -> list[CrawlerRow]:
        """Who works here, and who did."""
        ...

    def hosts(self, limit: int | None = None) -> list[HostRow]:
        """The hosts, those with most pages first."""
        ...

    def resource(self, url_digest: bytes) -> ResourceRow | None:
        """A resource by the digest of its URL."""
        ...

    def resources(self, state: State | None = None) -> Iterator[ResourceRow]:
        """All resources (of a state), by id, streamed."""
        ...

    def inlinks(self, resource: int, limit: int | None = None) -> list[LinkRow]:
        """Bonds that lead to a resource."""
        ...

    def outlinks(self, resource: int, limit: int | None = None) -> list[LinkRow]:
        """Bonds of a page, in order of first occurrence."""
        ...

    def errors(self, limit: int | None = None) -> Iterator[ErrorRow]:
        """Failed, gone and refused resources, each with one page that points at it; streamed."""
        ...

    def visits(self, resource: int) -> list[VisitRow]:
        """The visits of a resource, oldest first."""
        ...

    def latest_visits(self, limit: int, *, faults: bool = False) -> list[LatestVisit]:
        """The latest visits that brought a page, or (`faults`) those that failed, newest first; quick at any size."""
        ...

    def visits_by_second(self, since: float) -> list[tuple[int, int, int]]:
        """How many visits and bytes there were in each second since a time: second, visits, bytes; oldest first."""
        ...

    def text(self, resource: int) -> list[tuple[Field, str]] | None:
        """The text by field, in reading order; None when there is none."""
        ...

    def documents(self, ids: Sequence[int]) -> dict[int, DocumentRow]:
        """What a search shows of those of these resources that have a text, by id; one read."""
        ...

    def source(self, resource: int) -> bytes | None:
        """The decoded body as it was; None when it was not kept."""
        ...

    def ask(self, question: Question, **values: str | float | bytes) -> Iterator[tuple[Any, ...]]:
        """The answer to a question of a report, streamed, each row in the order of the question's columns."""
        ...

    # -- all there is, streamed in bounded memory ----------------------------------------------------------------

    def every_link(self) -> Iterator[Bond]:
        """Every bond, those of a page together and in order of first occurrence."""
        ...

    def every_visit(self) -> Iterator[VisitRow]:
        """Every visit, oldest first."""
        ...

    def every_host(self) -> Iterator[HostRow]:
        """Every host, by id."""
        ...

    def every_page(self) -> Iterator[ResourceRow]:
        """Every resource whose content is known, whatever became of later visits; by id."""
        ...

    def page_nodes(self, resources: Sequence[int]) -> Iterator[PageNode]:
        """What is known of pages and what the link graph says of them, in the order asked for."""
        ...

    def host_nodes(self, hosts: Sequence[int]) -> Iterator[HostNode]:
        """The same of hosts."""
        ...

    # -- the link graph ------------------------------------------------------------------------------------------

    def link_changes(self, since: int) -> Iterator[LinkChanges]:
        """Pages and redirects that changed after a version, with their links, and what is no more; by id, streamed.

        The reads are short, so what changes while they go on may be in them or not: it has a newer version than
        `version()` told before, and comes again when one asks for what changed since that.
        """
        ...

    def resource_hosts(self, after: int) -> Iterator[ResourceHosts]:
        """The hosts of all resources with a greater id, by id, streamed. A resource never changes its host."""
        ...

    def urls(self, resources: Sequence[int]) -> Iterator[tuple[int, str]]:
        """The URLs of resources, by id; without those that are no more."""
        ...

    def seed_ids(self) -> list[int]:
        """The DocIDs of the seeds."""
        ...

    def host_names(self, hosts: Sequence[int]) -> dict[int, str]:
        """The names of hosts by their id."""
        ...

    def host_id(self, name: str) -> int | None:
        """The id of a host; None when it is not known."""
        ...

    def write_ranks(self, ranking: Ranking, pages: RankColumns, hosts: RankColumns) -> None:
        """Put new ranks of pages and hosts in place of all old ones."""
        ...

    def reprioritize(self, resources: Iterable[object], backlinks: Iterable[object]) -> None:
        """Give queued pages the priority that the order `best` gives to so many backlinks, which need not be whole."""
        ...

    def ranking(self) -> Ranking | None:
        """How the ranks were made; None when there are none."""
        ...

    def ranks(self, resource: int) -> Ranks | None:
        """The ranks of a page; None when it has none."""
        ...

    def ranked_pages(self, measure: str, limit: int) -> list[RankedPage]:
        """The first pages by one of the fields of `Ranks`."""
        ...

    def ranked_hosts(self, limit: int) -> list[RankedHost]:
        """The first hosts by PageRank."""
        ...

    # -- what is derived from it -----------------------------------------------------------------------------------

    def changes(self, cursor: ChangeCursor, limit: int) -> Changes:
        """The next stretch of what changed, at most so many resources, with the standing of all that it concerns."""
        ...

    def relinked_documents(self, after: int, at_once: int = 1_000) -> Iterator[list[int]]:
        """The documents whose anchor texts may be others since a version, streamed; some come more than once."""
        ...

    def anchor_texts(self, targets: Sequence[int], *, max_links: int, max_texts: int) -> list[AnchorTexts]:
        """What other pages call each of these, also by way of redirects and duplicates; each page's bonds count once.

        At most so many links to one resource are looked at.
        """
        ...

    def known_word_ids(self, terms: Sequence[str]) -> dict[str, int]:
        """The numbers of those terms that have one."""
        ...

    def every_word(self) -> Iterator[tuple[str, int]]:
        """Every term and its number, in order, streamed."""
        ...

    def word_ids(self, terms: Sequence[str], stops: Sequence[str] = ()) -> dict[str, int]:
        """The number (WordID) of each term; new ones get the next, for ever. Stop words have 0. One transaction."""
        ...

    # -- what changed --------------------------------------------------------------------------------------------

    def freshness(self, schedule: Schedule, now: float) -> Freshness:
        """How fresh the web is, and what is due."""
        ...

    def pace(self, resource: int) -> int | None:
        """How soon a resource deserves a visit (`gossamer.revisit.pace`); None when it has none to come."""
        ...

    def history(self, resource: int) -> list[ChangeRow]:
        """What visits of a resource found to be different, oldest first."""
        ...

    def history_since(self, when: float, limit: int | None = None) -> Iterator[ChangeRow]:
        """What visits found to be different after a time, oldest first; streamed."""
        ...

    def old_source(self, change: int) -> bytes | None:
        """The decoded body as it was until a change (`ChangeRow.id`); None when it was not kept."""
        ...

    # -- removing ------------------------------------------------------------------------------------------------

    def forget(self, url_digest: bytes | None = None, host: str | None = None) -> int:
        """Remove a resource, or a host with its resources, with everything that hangs on them; returns how many."""
        ...

    def close(self) -> None:
        """Let go of the store. A crawler that did not leave counts as dead from now on."""
        ...
