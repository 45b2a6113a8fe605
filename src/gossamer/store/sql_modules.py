"""The SQL modules that a back-end gives to `SqlStore`; `protocol.py` explains what the functions do.

The first parameter of a function says what it runs in:

    db        one read; `SqlDatabase.read` passes the connection
    tx        one transaction; `SqlDatabase.write` passes it
    database  several reads or transactions of its own: streams, crawlers and their locks, ranks
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gossamer import model
    from gossamer.model import AdmitCandidates, Candidate, Field, HostLease, Lease, State, VisitBatch
    from gossamer.revisit.pace import Schedule, VisitBudget
    from gossamer.store import values
    from gossamer.store.follow import graph
    from gossamer.store.follow.changes import AnchorTexts, ChangeCursor, Changes
    from gossamer.store.read.questions import Question
    from gossamer.store.work.claims import Discovery
    from gossamer.store.work.rounds import SeedCache

T = TypeVar("T")


class SqlDatabase(Protocol):
    """A connection that runs the work of a store."""

    opened_identity: str  # what `identity` returned when this connection was opened

    def identity(self) -> str:
        """Return which web is at the location now, "" when there is none."""
        ...

    def read(self, work: Callable[[Any], T]) -> T:
        """Run a read; each of its statements sees the last commit."""
        ...

    def snapshot(self, work: Callable[[Any], T]) -> T:
        """Run a read whose statements all see the same state."""
        ...

    def write(self, work: Callable[[Any], T], *, exclusive: bool = False) -> T:
        """Run one transaction: all of it takes effect once, or nothing. A retry calls `work` again.

        An `exclusive` transaction runs alone, because it reads or changes many rows.
        """
        ...

    def close(self) -> None:
        """Close the connection. Crawlers that joined through it and did not leave count as dead from then on."""
        ...


# -- work --------------------------------------------------------------------------------------------------------------


class CrawlerModule(Protocol):
    """`work/crawlers.py`."""

    def join(self, database: Any, machine: str, pid: int, /) -> values.CrawlerRow: ...
    def heartbeat(
        self, database: Any, crawler: int, report: values.CrawlerReport, now: float, /
    ) -> values.CrawlerOrders: ...
    def leave(self, database: Any, crawler: int, /) -> None: ...
    def set_wanted_state(self, database: Any, name: str, wanted: str, /) -> bool: ...
    def set_wanted_parsers(self, database: Any, name: str, number: int, /) -> bool: ...
    def latest_crawlers(self, database: Any, /) -> list[values.CrawlerRow]: ...


class RoundModule(Protocol):
    """`work/rounds.py`."""

    def current_round(self, db: Any, seed_cache: SeedCache | None, /) -> values.Round | None: ...
    def begin_round(
        self,
        tx: Any,
        settings: str,
        seeds: Sequence[str],
        max_pages: int | None,
        max_pages_per_host: int | None,
        now: float,
        /,
    ) -> values.Round: ...
    def finish_round(self, tx: Any, now: float, /) -> None: ...
    def requeue(self, tx: Any, now: float, /) -> int: ...
    def queue_again(self, tx: Any, resources: Sequence[int], /) -> int: ...
    def readmit(self, tx: Any, admit: AdmitCandidates, /) -> int: ...


class ScheduleModule(Protocol):
    """`work/schedule.py`."""

    def queue_due(self, tx: Any, schedule: Schedule, now: float, /) -> int: ...
    def keep_fresh(self, tx: Any, schedule: Schedule, budget: VisitBudget, now: float, /) -> int: ...


class LeaseModule(Protocol):
    """`work/lease.py`."""

    def add(self, tx: Any, candidates: Sequence[Candidate], discovery: Discovery, /) -> list[values.AddResult]: ...
    def lease(
        self, tx: Any, crawler: int, /, *, hosts: int, urls: int, held: Sequence[int], now: float
    ) -> list[HostLease]: ...
    def lease_urls(
        self, tx: Any, crawler: int, candidates: Sequence[Candidate], now: float, /
    ) -> list[Lease | None]: ...
    def waiting_hosts(self, db: Any, crawler: int, limit: int, /) -> list[values.WaitingHost]: ...


class SubmitModule(Protocol):
    """`work/submit.py`."""

    def submit(
        self, tx: Any, crawler: int, batch: VisitBatch, admit: AdmitCandidates, now: float, old_sources: int, /
    ) -> values.SubmitResult: ...


class RenderingModule(Protocol):
    """`work/renderings.py`."""

    def rendering(self, db: Any, resource: int, /) -> model.Rendering | None: ...
    def shapes(self, db: Any, hosts: Sequence[int], /) -> list[model.ShapeEvidence]: ...


class ForgetModule(Protocol):
    """`work/forget.py`."""

    def forget_resource(self, tx: Any, digest: bytes, /) -> int: ...
    def forget_host(self, tx: Any, name: str, /) -> int: ...


# -- read --------------------------------------------------------------------------------------------------------------


class ResourceModule(Protocol):
    """`read/resources.py`."""

    def version(self, db: Any, /) -> int: ...
    def counts(self, db: Any, /) -> values.Counts: ...
    def visited_totals(self, db: Any, /) -> values.VisitedTotals: ...
    def hosts(self, db: Any, limit: int | None, /) -> list[values.HostRow]: ...
    def resource(self, db: Any, digest: bytes, /) -> values.ResourceRow | None: ...
    def resources(self, database: Any, state: State | None, /) -> Iterator[values.ResourceRow]: ...
    def inlinks(self, db: Any, resource: int, limit: int | None, /) -> list[values.LinkRow]: ...
    def outlinks(self, db: Any, resource: int, limit: int | None, /) -> list[values.LinkRow]: ...
    def errors(self, database: Any, limit: int | None, /) -> Iterator[values.ErrorRow]: ...
    def visits(self, db: Any, resource: int, /) -> list[values.VisitRow]: ...
    def text(self, db: Any, resource: int, /) -> list[tuple[Field, str]] | None: ...
    def source(self, db: Any, resource: int, /) -> bytes | None: ...
    def packed_text(self, db: Any, resource: int, /) -> bytes | None: ...
    def packed_source(self, db: Any, resource: int, /) -> bytes | None: ...


class DocumentModule(Protocol):
    """`read/documents.py`."""

    def documents(self, db: Any, ids: Sequence[int], /) -> dict[int, values.DocumentRow]: ...
    def missing_documents(self, db: Any, ids: Sequence[int], version: int, /) -> list[int]: ...
    def has_forgotten_since(self, db: Any, version: int, /) -> bool: ...


class RecentModule(Protocol):
    """`read/recent.py`."""

    def latest_visits(self, db: Any, limit: int, /, *, faults: bool) -> list[values.LatestVisit]: ...
    def visits_by_second(self, db: Any, since: float, /) -> list[tuple[int, int, int]]: ...


class ReportModule(Protocol):
    """`read/reports.py`."""

    def ask(
        self, database: Any, question: Question, parameters: Mapping[str, str | float | bytes], /
    ) -> Iterator[tuple[Any, ...]]: ...

    def count(self, database: Any, question: Question, parameters: Mapping[str, str | float | bytes], /) -> int: ...


class ExportModule(Protocol):
    """`read/export.py`."""

    def links(self, database: Any, /) -> Iterator[values.Bond]: ...
    def visits(self, database: Any, /) -> Iterator[values.VisitRow]: ...
    def hosts(self, database: Any, /) -> Iterator[values.HostRow]: ...
    def pages(self, database: Any, /) -> Iterator[values.ResourceRow]: ...
    def page_nodes(self, database: Any, ids: Sequence[int], /) -> Iterator[values.PageNode]: ...
    def host_nodes(self, database: Any, ids: Sequence[int], /) -> Iterator[values.HostNode]: ...


class FreshnessModule(Protocol):
    """`read/freshness.py`."""

    def pace_counts(self, db: Any, /) -> dict[int, int]: ...
    def resource_pace(self, db: Any, resource: int, /) -> int | None: ...
    def freshness(self, db: Any, schedule: Schedule, now: float, /) -> values.Freshness: ...


class HistoryModule(Protocol):
    """`read/history.py`."""

    def history(self, db: Any, resource: int, /) -> list[values.ChangeRow]: ...
    def old_source(self, db: Any, change: int, /) -> bytes | None: ...


# -- follow ------------------------------------------------------------------------------------------------------------


class LinkChangeModule(Protocol):
    """`follow/link_changes.py`."""

    def link_changes(self, database: Any, since: int, /) -> Iterator[graph.LinkChanges]: ...


class GraphModule(Protocol):
    """`follow/graph.py`."""

    def resource_hosts(self, database: Any, after: int, /) -> Iterator[graph.ResourceHosts]: ...
    def urls(self, database: Any, resources: Sequence[int], /) -> Iterator[tuple[int, str]]: ...
    def seed_ids(self, db: Any, /) -> list[int]: ...
    def host_names(self, db: Any, hosts: Sequence[int], /) -> dict[int, str]: ...
    def host_id(self, db: Any, name: str, /) -> int | None: ...
    def ranking(self, db: Any, /) -> graph.Ranking | None: ...
    def ranks(self, db: Any, resource: int, /) -> graph.Ranks | None: ...
    def ranked_pages(self, db: Any, measure: str, limit: int, /) -> list[graph.RankedPage]: ...
    def ranked_hosts(self, db: Any, limit: int, /) -> list[graph.RankedHost]: ...


class RankModule(Protocol):
    """`follow/rank_writer.py`."""

    def write_ranks(
        self, database: Any, ranking: graph.Ranking, pages: graph.RankColumns, hosts: graph.RankColumns, /
    ) -> None: ...
    def reprioritize(self, database: Any, resources: Iterable[object], backlinks: Iterable[object], /) -> None: ...


class ChangeModule(Protocol):
    """`follow/changes.py`."""

    def changes(self, db: Any, cursor: ChangeCursor, limit: int, /) -> Changes: ...
    def relinked_documents(self, database: Any, after: int, at_once: int, /) -> Iterator[list[int]]: ...
    def anchor_texts(self, db: Any, targets: Sequence[int], max_links: int, max_texts: int, /) -> list[AnchorTexts]: ...
    def known_word_ids(self, db: Any, terms: Sequence[str], /) -> dict[str, int]: ...
    def every_word(self, database: Any, /) -> Iterator[tuple[str, int]]: ...
    def assign_word_ids(self, tx: Any, terms: Sequence[str], stops: Sequence[str], /) -> dict[str, int]: ...


class SqlModules(NamedTuple):
    """All SQL modules of a back-end."""

    crawlers: CrawlerModule
    rounds: RoundModule
    schedule: ScheduleModule
    lease: LeaseModule
    submit: SubmitModule
    renderings: RenderingModule
    forget: ForgetModule
    resources: ResourceModule
    documents: DocumentModule
    recent: RecentModule
    reports: ReportModule
    export: ExportModule
    freshness: FreshnessModule
    history: HistoryModule
    link_changes: LinkChangeModule
    graph: GraphModule
    rank_writer: RankModule
    changes: ChangeModule
