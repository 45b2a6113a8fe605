"""The reading methods of the PostgreSQL store: each is one read, or a stream of short ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gossamer.store.postgres.follow import changes, graph, link_changes
from gossamer.store.postgres.read import documents, export, freshness, history, recent, reports, resources

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.model import Field, State
    from gossamer.revisit.pace import Schedule
    from gossamer.store.follow.changes import AnchorTexts, ChangeCursor, Changes
    from gossamer.store.follow.graph import LinkChanges, RankedHost, RankedPage, Ranking, Ranks, ResourceHosts
    from gossamer.store.postgres.database import Database
    from gossamer.store.read.questions import Question
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
    """Answers questions about a web in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- resources -----------------------------------------------------------------------------------------------------

    def version(self) -> int:
        """Return the version of the last batch written."""
        return self._database.read(resources.version)

    def counts(self) -> Counts:
        """Return the numbers of resources, hosts, links and documents."""
        return self._database.read(resources.counts)

    def hosts(self, limit: int | None = None) -> list[HostRow]:
        """Return hosts, those with most pages first."""
        return self._database.read(lambda db: resources.hosts(db, limit))

    def resource(self, url_digest: bytes) -> ResourceRow | None:
        """Return a resource by the digest of its URL."""
        return self._database.read(lambda db: resources.resource(db, url_digest))

    def resources(self, state: State | None = None) -> Iterator[ResourceRow]:
        """Yield all resources (of a state), by id."""
        return resources.resources(self._database, state)

    def inlinks(self, resource: int, limit: int | None = None) -> list[LinkRow]:
        """Return the bonds that point at a resource."""
        return self._database.read(lambda db: resources.inlinks(db, resource, limit))

    def outlinks(self, resource: int, limit: int | None = None) -> list[LinkRow]:
        """Return the bonds of a page, in order of first occurrence."""
        return self._database.read(lambda db: resources.outlinks(db, resource, limit))

    def errors(self, limit: int | None = None) -> Iterator[ErrorRow]:
        """Yield failed, gone and refused resources, each with one page that points at it."""
        return resources.errors(self._database, limit)

    def visits(self, resource: int) -> list[VisitRow]:
        """Return every visit of a resource, oldest first."""
        return self._database.read(lambda db: resources.visits(db, resource))

    def latest_visits(self, limit: int, *, faults: bool = False) -> list[LatestVisit]:
        """Return the latest visits that fetched a page, or with `faults` those that failed; newest first."""
        return self._database.read(lambda db: recent.latest_visits(db, limit, faults=faults))

    def visits_by_second(self, since: float) -> list[tuple[int, int, int]]:
        """Return (second, visits, bytes) for each second with visits since a time."""
        return self._database.read(lambda db: recent.visits_by_second(db, since))

    def text(self, resource: int) -> list[tuple[Field, str]] | None:
        """Return the text by field, in reading order; None if there is none."""
        return self._database.read(lambda db: resources.text(db, resource))

    def documents(self, ids: Sequence[int]) -> dict[int, DocumentRow]:
        """Return what a search result shows, by id, of the resources that have a text; one read."""
        return self._database.read(lambda db: documents.documents(db, ids))

    def source(self, resource: int) -> bytes | None:
        """Return the decoded body; None if it was not kept."""
        return self._database.read(lambda db: resources.source(db, resource))

    def ask(self, question: Question, **values: str | float | bytes) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that answer a question of a report."""
        return reports.ask(self._database, question, values)

    # -- exports -------------------------------------------------------------------------------------------------------

    def every_link(self) -> Iterator[Bond]:
        """Yield every bond, by page and order of first occurrence."""
        return export.links(self._database)

    def every_visit(self) -> Iterator[VisitRow]:
        """Yield every visit, oldest first."""
        return export.visits(self._database)

    def every_host(self) -> Iterator[HostRow]:
        """Yield every host, by id."""
        return export.hosts(self._database)

    def every_page(self) -> Iterator[ResourceRow]:
        """Yield every resource whose content is stored, even if later visits failed; by id."""
        return export.pages(self._database)

    def page_nodes(self, resources: Sequence[int]) -> Iterator[PageNode]:
        """Yield facts and ranks of pages, in the order of `resources`."""
        return export.page_nodes(self._database, resources)

    def host_nodes(self, hosts: Sequence[int]) -> Iterator[HostNode]:
        """Yield facts and ranks of hosts, in the order of `hosts`."""
        return export.host_nodes(self._database, hosts)

    # -- the link graph ------------------------------------------------------------------------------------------------

    def link_changes(self, since: int) -> Iterator[LinkChanges]:
        """Yield pages and redirects that changed after a version, with their links, and the ids of gone ones."""
        return link_changes.link_changes(self._database, since)

    def resource_hosts(self, after: int) -> Iterator[ResourceHosts]:
        """Yield the hosts of all resources with a greater id."""
        return graph.resource_hosts(self._database, after)

    def urls(self, resources: Sequence[int]) -> Iterator[tuple[int, str]]:
        """Yield the URLs of resources, by id; without forgotten ones."""
        return graph.urls(self._database, resources)

    def seed_ids(self) -> list[int]:
        """Return the DocIDs of the seeds."""
        return self._database.read(graph.seed_ids)

    def host_names(self, hosts: Sequence[int]) -> dict[int, str]:
        """Return the names of hosts by their id."""
        return self._database.read(lambda db: graph.host_names(db, hosts))

    def host_id(self, name: str) -> int | None:
        """Return the id of a host; None if it is unknown."""
        return self._database.read(lambda db: graph.host_id(db, name))

    def ranking(self) -> Ranking | None:
        """Return how the ranks were computed; None without ranks."""
        return self._database.read(graph.ranking)

    def ranks(self, resource: int) -> Ranks | None:
        """Return the ranks of a page; None if it has none."""
        return self._database.read(lambda db: graph.ranks(db, resource))

    def ranked_pages(self, measure: str, limit: int) -> list[RankedPage]:
        """Return the first pages by one of the fields of `Ranks`."""
        return self._database.read(lambda db: graph.ranked_pages(db, measure, limit))

    def ranked_hosts(self, limit: int) -> list[RankedHost]:
        """Return the first hosts by PageRank."""
        return self._database.read(lambda db: graph.ranked_hosts(db, limit))

    # -- the index -----------------------------------------------------------------------------------------------------

    def changes(self, cursor: ChangeCursor, limit: int) -> Changes:
        """Return the next batch of changes, with every resource whose document they affect."""
        return self._database.snapshot(lambda db: changes.changes(db, cursor, limit))

    def relinked_documents(self, after: int, at_once: int = 1_000) -> Iterator[list[int]]:
        """Yield the documents whose anchor texts may have changed after a version; some come more than once."""
        return changes.relinked_documents(self._database, after, at_once)

    def anchor_texts(self, targets: Sequence[int], *, max_links: int, max_texts: int) -> list[AnchorTexts]:
        """Return the texts of the links to each target."""
        return self._database.read(lambda db: changes.anchor_texts(db, targets, max_links, max_texts))

    def known_word_ids(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the ids of the terms that have one."""
        return self._database.read(lambda db: changes.known_word_ids(db, terms))

    def every_word(self) -> Iterator[tuple[str, int]]:
        """Yield every term and its id, in order."""
        return changes.every_word(self._database)

    # -- freshness and history -----------------------------------------------------------------------------------------

    def pace_counts(self) -> dict[int, int]:
        """Return how many resources wait for their next visit, by pace."""
        return self._database.read(freshness.pace_counts)

    def pace(self, resource: int) -> int | None:
        """Return the pace of a resource; None if it gets no further visit."""
        return self._database.read(lambda db: freshness.resource_pace(db, resource))

    def freshness(self, schedule: Schedule, now: float) -> Freshness:
        """Return how fresh the web is, and how many visits are due."""
        return self._database.read(lambda db: freshness.freshness(db, schedule, now))

    def history(self, resource: int) -> list[ChangeRow]:
        """Return the changes that visits of a resource found, oldest first."""
        return history.resource_history(self._database, resource)

    def history_since(self, when: float, limit: int | None = None) -> Iterator[ChangeRow]:
        """Yield the changes that visits found after a time, oldest first."""
        return history.history_since(self._database, when, limit)

    def old_source(self, change: int) -> bytes | None:
        """Return the decoded body before a change; None if it was not kept."""
        return self._database.read(lambda db: history.old_source(db, change))
