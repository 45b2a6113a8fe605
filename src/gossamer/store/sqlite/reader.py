"""The reading methods of the SQLite store: each is one read, or a stream of short ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gossamer.store.sqlite.follow import changes, graph, link_changes
from gossamer.store.sqlite.read import documents, export, freshness, history, recent, reports, resources

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
    """The reading methods of a web in a file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- counts, hosts and resources -----------------------------------------------------------------------------------

    def version(self) -> int:
        """Return the version of the last batch written."""
        with self._database.connection() as db:
            return resources.version(db)

    def counts(self) -> Counts:
        """Return how many resources, hosts, links and documents there are; fast at any size."""
        with self._database.connection() as db:
            return resources.counts(db)

    def hosts(self, limit: int | None = None) -> list[HostRow]:
        """Return hosts, those with most pages first."""
        with self._database.connection() as db:
            return resources.hosts(db, limit)

    def resource(self, url_digest: bytes) -> ResourceRow | None:
        """Return a resource by the digest of its URL."""
        with self._database.connection() as db:
            return resources.resource(db, url_digest)

    def resources(self, state: State | None = None) -> Iterator[ResourceRow]:
        """Stream all resources, or those in a state, by id."""
        return resources.resources(self._database, state)

    def inlinks(self, resource: int, limit: int | None = None) -> list[LinkRow]:
        """Return the bonds that point at a resource."""
        with self._database.connection() as db:
            return resources.inlinks(db, resource, limit)

    def outlinks(self, resource: int, limit: int | None = None) -> list[LinkRow]:
        """Return the bonds of a page, in order of first occurrence."""
        with self._database.connection() as db:
            return resources.outlinks(db, resource, limit)

    def errors(self, limit: int | None = None) -> Iterator[ErrorRow]:
        """Stream failed, gone and refused resources, each with one page that points at it."""
        return resources.errors(self._database, limit)

    def visits(self, resource: int) -> list[VisitRow]:
        """Return the visits of a resource, oldest first."""
        with self._database.connection() as db:
            return resources.visits(db, resource)

    def latest_visits(self, limit: int, *, faults: bool = False) -> list[LatestVisit]:
        """Return the latest visits that brought a page, or (`faults`) failed, newest first; fast at any size."""
        with self._database.connection() as db:
            return recent.latest_visits(db, limit, faults=faults)

    def visits_by_second(self, since: float) -> list[tuple[int, int, int]]:
        """Return second, visits and bytes for each second since a time, oldest first."""
        with self._database.connection() as db:
            return recent.visits_by_second(db, since)

    def text(self, resource: int) -> list[tuple[Field, str]] | None:
        """Return the text by field, in reading order; None when there is none."""
        with self._database.connection() as db:
            return resources.text(db, resource)

    def documents(self, ids: Sequence[int]) -> dict[int, DocumentRow]:
        """Return what search shows of these resources, by id, in one read; those without text are left out."""
        with self._database.connection() as db:
            return documents.documents(db, ids)

    def source(self, resource: int) -> bytes | None:
        """Return the decoded body; None when it was not kept."""
        with self._database.connection() as db:
            return resources.source(db, resource)

    def ask(self, question: Question, **values: str | float | bytes) -> Iterator[tuple[Any, ...]]:
        """Stream the answer to a report's question, each row in the order of the question's columns."""
        return reports.ask(self._database, question, values)

    # -- whole tables --------------------------------------------------------------------------------------------------

    def every_link(self) -> Iterator[Bond]:
        """Stream every bond, grouped by page, in order of first occurrence."""
        return export.links(self._database)

    def every_visit(self) -> Iterator[VisitRow]:
        """Stream every visit, oldest first."""
        return export.visits(self._database)

    def every_host(self) -> Iterator[HostRow]:
        """Stream every host, by id."""
        return export.hosts(self._database)

    def every_page(self) -> Iterator[ResourceRow]:
        """Stream every resource whose content is stored, by id, whatever later visits found."""
        return export.pages(self._database)

    def page_nodes(self, resources: Sequence[int]) -> Iterator[PageNode]:
        """Stream page data and ranks for these resources, in the order given."""
        return export.page_nodes(self._database, resources)

    def host_nodes(self, hosts: Sequence[int]) -> Iterator[HostNode]:
        """Stream page counts and ranks for these hosts, in the order given."""
        return export.host_nodes(self._database, hosts)

    # -- the link graph ------------------------------------------------------------------------------------------------

    def link_changes(self, since: int) -> Iterator[LinkChanges]:
        """Stream pages and redirects that changed after a version, with their links, by id."""
        return link_changes.link_changes(self._database, since)

    def resource_hosts(self, after: int) -> Iterator[ResourceHosts]:
        """Stream the hosts of all resources with a greater id, by id. A resource never changes its host."""
        return graph.resource_hosts(self._database, after)

    def urls(self, resources: Sequence[int]) -> Iterator[tuple[int, str]]:
        """Stream the URLs of resources, by id; removed resources are left out."""
        return graph.urls(self._database, resources)

    def seed_ids(self) -> list[int]:
        """Return the DocIDs of the seeds."""
        with self._database.connection() as db:
            return graph.seed_ids(db)

    def host_names(self, hosts: Sequence[int]) -> dict[int, str]:
        """Return the names of hosts by id."""
        with self._database.connection() as db:
            return graph.host_names(db, hosts)

    def host_id(self, name: str) -> int | None:
        """Return the id of a host; None when it is not known."""
        with self._database.connection() as db:
            return graph.host_id(db, name)

    def ranking(self) -> Ranking | None:
        """Return how the ranks were computed; None when there are none."""
        with self._database.connection() as db:
            return graph.ranking(db)

    def ranks(self, resource: int) -> Ranks | None:
        """Return the ranks of a page; None when it has none."""
        with self._database.connection() as db:
            return graph.ranks(db, resource)

    def ranked_pages(self, measure: str, limit: int) -> list[RankedPage]:
        """Return the first pages by one of the fields of `Ranks`."""
        with self._database.connection() as db:
            return graph.ranked_pages(db, measure, limit)

    def ranked_hosts(self, limit: int) -> list[RankedHost]:
        """Return the first hosts by PageRank."""
        with self._database.connection() as db:
            return graph.ranked_hosts(db, limit)

    # -- for the index -------------------------------------------------------------------------------------------------

    def changes(self, cursor: ChangeCursor, limit: int) -> Changes:
        """Return the next changes after a cursor, at most `limit` resources, and other documents they affect."""
        with self._database.connection() as db:
            return changes.changes(db, cursor, limit)

    def relinked_documents(self, after: int, at_once: int = 1_000) -> Iterator[list[int]]:
        """Stream documents whose anchor texts may have changed since a version; some come twice."""
        return changes.relinked_documents(self._database, after, at_once)

    def anchor_texts(self, targets: Sequence[int], *, max_links: int, max_texts: int) -> list[AnchorTexts]:
        """Return the texts that other pages use for links to each target."""
        with self._database.connection() as db:
            return changes.anchor_texts(db, targets, max_links, max_texts)

    def known_word_ids(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the WordIDs of those terms that have one."""
        with self._database.connection() as db:
            return changes.known_word_ids(db, terms)

    def every_word(self) -> Iterator[tuple[str, int]]:
        """Stream every term and its WordID, in order."""
        return changes.every_word(self._database)

    # -- freshness and history -----------------------------------------------------------------------------------------

    def pace_counts(self) -> dict[int, int]:
        """Return how many resources wait for their next visit, by pace (`gossamer.revisit.pace`)."""
        with self._database.connection() as db:
            return freshness.pace_counts(db)

    def pace(self, resource: int) -> int | None:
        """Return how soon a resource deserves a visit (`gossamer.revisit.pace`); None when no visit is to come."""
        with self._database.connection() as db:
            return freshness.resource_pace(db, resource)

    def freshness(self, schedule: Schedule, now: float) -> Freshness:
        """Return how fresh the web is, and what is due."""
        with self._database.connection() as db:
            return freshness.freshness(db, schedule, now)

    def history(self, resource: int) -> list[ChangeRow]:
        """Return the changes that visits of a resource found, oldest first."""
        with self._database.connection() as db:
            return history.resource_history(db, resource)

    def history_since(self, when: float, limit: int | None = None) -> Iterator[ChangeRow]:
        """Stream the changes that visits found after a time, oldest first."""
        return history.history_since(self._database, when, limit)

    def old_source(self, change: int) -> bytes | None:
        """Return the decoded body until a change (`ChangeRow.id`); None when it was not kept."""
        with self._database.connection() as db:
            return history.old_source(db, change)
