"""The reading half of the SQLite store: each method is one read, or a stream of short ones, made elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gossamer.store.sqlite.follow import changes, graph, link_changes
from gossamer.store.sqlite.read import documents, export, recent, reports, resources
from gossamer.store.sqlite.work import revisits, schedule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.model import Field, State
    from gossamer.revisit.pace import Schedule
    from gossamer.store.follow.changes import AnchorTexts, ChangeCursor, Changes
    from gossamer.store.follow.graph import LinkChanges, RankedHost, RankedPage, Ranking, Ranks, ResourceHosts
    from gossamer.store.read.questions import Question
    from gossamer.store.sqlite.database import Database
    from gossamer.store.values import (
        Bond,
        ChangeRow,
        Counts,
        DocumentRow,
        ErrorRow,
        Freshness,
        HostNode,
        HostRow,
        LatestVisit,
        LinkRow,
        PageNode,
        ResourceRow,
        VisitRow,
    )


class StoreReader:
    """What can be asked of a web in a file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- what is there -------------------------------------------------------------------------------------------------

    def version(self) -> int:
        """The version of the last batch written."""
        with self._database.connection() as db:
            return resources.version(db)

    def counts(self) -> Counts:
        """How much is there."""
        with self._database.connection() as db:
            return resources.counts(db)

    def hosts(self, limit: int | None = None) -> list[HostRow]:
        """Hosts, those with most pages first."""
        with self._database.connection() as db:
            return resources.hosts(db, limit)

    def resource(self, url_digest: bytes) -> ResourceRow | None:
        """A resource by the digest of its URL."""
        with self._database.connection() as db:
            return resources.resource(db, url_digest)

    def resources(self, state: State | None = None) -> Iterator[ResourceRow]:
        """All resources (of a state), by id, streamed."""
        return resources.resources(self._database, state)

    def inlinks(self, resource: int, limit: int | None = None) -> list[LinkRow]:
        """Bonds that point at a resource."""
        with self._database.connection() as db:
            return resources.inlinks(db, resource, limit)

    def outlinks(self, resource: int, limit: int | None = None) -> list[LinkRow]:
        """Bonds of a page, in order of first occurrence."""
        with self._database.connection() as db:
            return resources.outlinks(db, resource, limit)

    def errors(self, limit: int | None = None) -> Iterator[ErrorRow]:
        """Failed, gone and refused resources, each with one page that points at it; streamed."""
        return resources.errors(self._database, limit)

    def visits(self, resource: int) -> list[VisitRow]:
        """Every visit of a resource, oldest first."""
        with self._database.connection() as db:
            return resources.visits(db, resource)

    def latest_visits(self, limit: int, *, faults: bool = False) -> list[LatestVisit]:
        """The latest visits that brought a page, or those that failed, newest first."""
        with self._database.connection() as db:
            return recent.latest_visits(db, limit, faults=faults)

    def visits_by_second(self, since: float) -> list[tuple[int, int, int]]:
        """How many visits and bytes there were in each second since a time."""
        with self._database.connection() as db:
            return recent.visits_by_second(db, since)

    def text(self, resource: int) -> list[tuple[Field, str]] | None:
        """The text by field, in reading order; None when there is none."""
        with self._database.connection() as db:
            return resources.text(db, resource)

    def documents(self, ids: Sequence[int]) -> dict[int, DocumentRow]:
        """What a search shows of those of these resources that have a text, by id; one read."""
        with self._database.connection() as db:
            return documents.documents(db, ids)

    def source(self, resource: int) -> bytes | None:
        """The decoded body as it was; None when it was not kept."""
        with self._database.connection() as db:
            return resources.source(db, resource)

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
        return link_changes.link_changes(self._database, since)

    def resource_hosts(self, after: int) -> Iterator[ResourceHosts]:
        """The hosts of all resources with a greater id."""
        return graph.resource_hosts(self._database, after)

    def urls(self, resources: Sequence[int]) -> Iterator[tuple[int, str]]:
        """The URLs of resources, by id; without those that are no more."""
        return graph.urls(self._database, resources)

    def seed_ids(self) -> list[int]:
        """The DocIDs of the seeds."""
        with self._database.connection() as db:
            return graph.seed_ids(db)

    def host_names(self, hosts: Sequence[int]) -> dict[int, str]:
        """The names of hosts by their id."""
        with self._database.connection() as db:
            return graph.host_names(db, hosts)

    def host_id(self, name: str) -> int | None:
        """The id of a host; None when it is not known."""
        with self._database.connection() as db:
            return graph.host_id(db, name)

    def ranking(self) -> Ranking | None:
        """How the ranks were made; None when there are none."""
        with self._database.connection() as db:
            return graph.ranking(db)

    def ranks(self, resource: int) -> Ranks | None:
        """The ranks of a page; None when it has none."""
        with self._database.connection() as db:
            return graph.ranks(db, resource)

    def ranked_pages(self, measure: str, limit: int) -> list[RankedPage]:
        """The first pages by one of the fields of `Ranks`."""
        with self._database.connection() as db:
            return graph.ranked_pages(db, measure, limit)

    def ranked_hosts(self, limit: int) -> list[RankedHost]:
        """The first hosts by PageRank."""
        with self._database.connection() as db:
            return graph.ranked_hosts(db, limit)

    # -- what is derived from it ---------------------------------------------------------------------------------------

    def changes(self, cursor: ChangeCursor, limit: int) -> Changes:
        """The next stretch of what changed, with the standing of every document that it concerns."""
        with self._database.connection() as db:
            return changes.changes(db, cursor, limit)

    def relinked_documents(self, after: int, at_once: int = 1_000) -> Iterator[list[int]]:
        """The documents whose anchor texts may be others since a version, streamed; some come more than once."""
        return changes.relinked_documents(self._database, after, at_once)

    def anchor_texts(self, targets: Sequence[int], *, max_links: int, max_texts: int) -> list[AnchorTexts]:
        """What other pages call each of these."""
        with self._database.connection() as db:
            return changes.anchor_texts(db, targets, max_links, max_texts)

    def known_word_ids(self, terms: Sequence[str]) -> dict[str, int]:
        """The numbers of those terms that have one."""
        with self._database.connection() as db:
            return changes.known_word_ids(db, terms)

    def every_word(self) -> Iterator[tuple[str, int]]:
        """Every term and its number, in order, streamed."""
        return changes.every_word(self._database)

    # -- what changed --------------------------------------------------------------------------------------------------

    def pace_counts(self) -> dict[int, int]:
        """How many resources wait for their next visit, by pace."""
        with self._database.connection() as db:
            return schedule.pace_counts(db)

    def pace(self, resource: int) -> int | None:
        """How soon a resource deserves a visit; None when it has none to come."""
        with self._database.connection() as db:
            return schedule.resource_pace(db, resource)

    def freshness(self, schedule_: Schedule, now: float) -> Freshness:
        """How fresh the web is, and what is due."""
        with self._database.connection() as db:
            return schedule.freshness(db, schedule_, now)

    def history(self, resource: int) -> list[ChangeRow]:
        """What visits of a resource found to be different, oldest first."""
        with self._database.connection() as db:
            return revisits.resource_history(db, resource)

    def history_since(self, when: float, limit: int | None = None) -> Iterator[ChangeRow]:
        """What visits found to be different after a time, oldest first; streamed."""
        return revisits.history_since(self._database, when, limit)

    def old_source(self, change: int) -> bytes | None:
        """The decoded body as it was until a change; None when it was not kept."""
        with self._database.connection() as db:
            return revisits.old_source(db, change)
