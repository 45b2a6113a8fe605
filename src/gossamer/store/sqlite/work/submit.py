"""Write a batch of finished visits in one transaction.

The order: keep visits whose lease the crawler still has → an id for every link target, new ones admitted → find
redirect loops → replace contents and links → update resources → pass smaller depths on → hosts and leases. Statements
run once for the whole batch (`executemany`), never once per link.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gossamer.model import Kind, State
from gossamer.store import columns
from gossamer.store.sqlite.bulk_insert import BulkInsert
from gossamer.store.sqlite.columns import assign
from gossamer.store.sqlite.database import json_array
from gossamer.store.sqlite.work import renderings, revisits, rounds, schedule
from gossamer.store.sqlite.work.admission import admit_candidates
from gossamer.store.sqlite.work.crawlers import is_working, release_hosts
from gossamer.store.sqlite.work.depth import propagate_depths
from gossamer.store.sqlite.work.digests import find_known_resources
from gossamer.store.sqlite.work.forget import change_backlinks, clear_contents
from gossamer.store.sqlite.work.revisits import compare_visits
from gossamer.store.values import SubmitResult
from gossamer.store.work import visit_rows
from gossamer.store.work.claims import Discovery
from gossamer.store.work.revisit_rows import collect_hints

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gossamer.model import AdmitCandidates, Lease, Visit, VisitBatch
    from gossamer.store.sqlite.database import Transaction
    from gossamer.store.work.revisit_rows import RevisitState

SELECT_LEASED_ROWS = """
    SELECT r.id, r.host, r.role, r.outcome, r.depth, r.hops, r.tries, r.visits, r.outlinks, r.content_digest,
        r.visited_at
    FROM resources AS r JOIN hosts AS h ON h.id = r.host
    WHERE r.id IN (SELECT value FROM json_each(?)) AND r.state = 'leased' AND h.holder = ?"""
REDIRECT = "SELECT target FROM links WHERE source = ? AND seq = 0 AND kind = ?"
URLS = "SELECT id, url FROM resources WHERE id IN (SELECT value FROM json_each(?))"
INSERT_LINKS = BulkInsert("links", "source, seq, target, kind, follow, weight, position, rel, anchor")
INSERT_VISITS = BulkInsert("visits", "resource, round, visited_at, crawler, outcome, status, bytes, milliseconds")
_UPDATE_OUTCOME = f"UPDATE resources SET visits = visits + 1, {assign(*columns.OUTCOME, *columns.REVISIT)}"  # noqa: S608
# Index and graph follow the version, so only changes of contents and links raise it.
UPDATE_UNREPLACED = f"""{_UPDATE_OUTCOME}, version = coalesce(version, ?), etag = coalesce(?, etag),
        last_modified = coalesce(?, last_modified), priority = coalesce(?, priority)
    WHERE id = ?"""
UPDATE_UNCHANGED = f"{_UPDATE_OUTCOME}, {assign(*columns.RESPONSE)} WHERE id = ?"
UPDATE_REPLACED = f"""{_UPDATE_OUTCOME}, version = ?, {assign(*columns.RESPONSE, *columns.CONTENT)},
        changes = changes + ? WHERE id = ?"""
ROUND_PAGES = "UPDATE rounds SET pages = pages + ? WHERE id = ?"
HOST_PAGES = """
    UPDATE hosts SET round_pages = round_pages + ?1, spent = coalesce(round_pages + ?1 >= ?2, 0) WHERE id = ?3"""
HOST_SITEMAPS = "UPDATE hosts SET round_sitemaps = round_sitemaps + ? WHERE id = ?"
UPSERT_ROBOTS = """
    INSERT INTO robots (host, scheme, outcome, text, fetched_at, reason)
    SELECT id, ?, ?, ?, ?, ? FROM hosts WHERE id = ?
    ON CONFLICT DO UPDATE SET outcome = excluded.outcome, text = excluded.text, fetched_at = excluded.fetched_at,
        reason = excluded.reason"""
UPDATE_HOST = "UPDATE hosts SET ready_at = ?, delay = ?, failures = ?, reason = ? WHERE id = ? AND holder = ?"


def submit(
    tx: Transaction, crawler: int, batch: VisitBatch, admit: AdmitCandidates, now: float, old_sources: int
) -> SubmitResult:
    """Write a batch of visits; keep up to `old_sources` bytes of replaced sources. A lost crawler writes nothing."""
    if not is_working(tx.db, crawler):
        return _build_result(tx, lost=len(batch.visits), crawler_lost=True)
    return Submission(tx, crawler, admit, now, old_sources).write(batch)


def _build_result(tx: Transaction, *, lost: int, crawler_lost: bool = False) -> SubmitResult:
    resources = tx.meta.resources
    return SubmitResult(
        version=tx.meta["version"],
        known=sum(map(resources, State)),
        open=resources(State.QUEUED) + resources(State.LEASED),
        lost=lost,
        crawler_lost=crawler_lost,
    )


class Submission:
    """One batch on its way into the store."""

    def __init__(self, tx: Transaction, crawler: int, admit: AdmitCandidates, now: float, old_sources: int) -> None:
        self._tx = tx
        self._db = tx.db
        self._crawler = crawler
        self._discovery = Discovery(admit, now, crawler)
        self._limits = rounds.current_limits(tx.db)
        self._version = tx.meta["version"] + 1
        self._old_sources = old_sources

    def write(self, batch: VisitBatch) -> SubmitResult:
        """Write the batch."""
        finished = list(self._leased_visits(batch.visits))
        ids, shallower = self._admit_links(finished)
        finished = list(visit_rows.without_loops(finished, ids, self._stored_redirect, self._load_urls))
        compared = compare_visits(self._db, finished, ids, keep_links=batch.keep_links)
        finished = compared.finished
        if compared.changes:
            revisits.write_history(self._tx, compared.changes, self._version, self._old_sources)
        self._write_contents(finished, ids, batch)
        self._write_rows(finished, compared.revisit_states, batch)
        schedule.write_hints(self._db, collect_hints((item.visit for item in finished), ids))
        self._count_pages(finished)
        propagate_depths(
            self._tx, shallower + self._shallower_visits(finished), self._limits.max_depth, self._discovery
        )
        self._release(batch.released)
        self._update_hosts(batch)
        return _build_result(self._tx, lost=len(batch.visits) - len(finished))

    def _leased_visits(self, visits: Sequence[Visit]) -> Iterator[visit_rows.FinishedVisit]:
        """Yield the visits whose lease is still ours; others were taken over or forgotten."""
        rows = self._leased_rows(visit.lease.resource for visit in visits)
        for visit in visits:
            row = rows.pop(visit.lease.resource, None)
            if row is not None:
                yield visit_rows.finish_visit(visit, row)

    def _leased_rows(self, ids: Iterable[int]) -> dict[int, visit_rows.LeasedRow]:
        rows = self._db.execute(SELECT_LEASED_ROWS, (json_array(ids), self._crawler))
        return {row.id: row for row in map(visit_rows.LeasedRow._make, rows)}

    # -- links -> resources --------------------------------------------------------------------------------------------

    def _admit_links(self, finished: Sequence[visit_rows.FinishedVisit]) -> tuple[dict[bytes, int], list[int]]:
        """Return an id for every target, and the visited resources that got a smaller depth."""
        linked = visit_rows.target_digests(finished)
        known = find_known_resources(self._tx, linked)
        shallower = admit_candidates(
            self._tx, visit_rows.collect_claims(finished, linked, known), known, self._discovery
        )
        return {digest: entry.id for digest, entry in known.items()}, shallower

    def _stored_redirect(self, resource: int) -> int | None:
        stored = self._db.execute(REDIRECT, (resource, int(Kind.REDIRECT))).fetchone()
        return stored[0] if stored else None

    def _load_urls(self, resources: Sequence[int]) -> dict[int, str]:
        return dict(self._db.execute(URLS, (json_array(resources),)))

    # -- contents and rows ---------------------------------------------------------------------------------------------

    def _write_contents(
        self, finished: Sequence[visit_rows.FinishedVisit], ids: dict[bytes, int], batch: VisitBatch
    ) -> None:
        """Replace links, texts and sources of earlier visits."""
        replacing = [item for item in finished if item.replaces]
        backlinks = clear_contents(self._tx, [item.row.id for item in replacing if item.row.visits])
        linking = [(item, [*map(ids.__getitem__, item.targets)]) for item in replacing if item.targets]
        for item, targets in linking:
            if item.row.outlinks != visit_rows.LINKS_NOT_STORED:  # else unknown what to subtract: assume the same
                backlinks.update(visit_rows.backlink_targets(item.row.id, targets, item.links.kinds))
        change_backlinks(self._db, backlinks, self._limits.backlink_gain)
        stored_links = [pair for pair in linking if visit_rows.stores_links(pair[0], batch)]
        self._insert_links(stored_links)
        pages = [(item.row.id, item.visit.page) for item in replacing if item.visit.page is not None]
        texts = [(resource, page.text) for resource, page in pages if page.text]
        self._db.executemany("INSERT INTO texts (resource, body) VALUES (?, ?)", texts)
        self._tx.meta["documents"] += len(texts)
        pages += (
            (item.row.id, item.visit.page) for item in finished if item.is_unchanged and item.visit.page is not None
        )
        sources = ((resource, page.source) for resource, page in pages if page.source)
        self._db.executemany("INSERT OR REPLACE INTO sources (resource, body) VALUES (?, ?)", sources)
        renderings.write_renderings(self._db, finished)

    def _insert_links(self, stored_links: Sequence[tuple[visit_rows.FinishedVisit, list[int]]]) -> None:
        INSERT_LINKS.insert_columns(
            self._db, (visit_rows.link_columns(item, targets) for item, targets in stored_links)
        )
        self._tx.meta["links"] += sum(len(targets) for _, targets in stored_links)

    def _write_rows(
        self,
        finished: Sequence[visit_rows.FinishedVisit],
        revisit_states: Mapping[int, RevisitState],
        batch: VisitBatch,
    ) -> None:
        """Update resources and insert visits; a batch without visits makes no new version."""
        if finished:
            self._tx.meta["version"] = self._version
        replaced, unchanged, unreplaced = [], [], []
        for item in finished:
            row = (*visit_rows.outcome_row(item, self._crawler), *revisit_states[item.row.id])
            if item.replaces:
                content = (
                    *visit_rows.response_row(item),
                    *visit_rows.content_row(item, batch),
                    visit_rows.is_new_content(item),
                )
                replaced.append((*row, self._version, *content, item.row.id))
            elif item.is_unchanged and item.visit.page is not None:
                unchanged.append((*row, *visit_rows.response_row(item), item.row.id))
            else:
                unreplaced.append(
                    (
                        *row,
                        self._version,
                        *visit_rows.validators(item.visit),
                        visit_rows.retry_priority(item),
                        item.row.id,
                    )
                )
        self._db.executemany(UPDATE_REPLACED, replaced)
        self._db.executemany(UPDATE_UNCHANGED, unchanged)
        self._db.executemany(UPDATE_UNREPLACED, unreplaced)
        INSERT_VISITS.insert(
            self._db, (visit_rows.visit_row(item, self._limits.round, self._crawler) for item in finished)
        )
        visit_rows.count_finished(self._tx.counter_deltas, finished)

    def _count_pages(self, finished: Sequence[visit_rows.FinishedVisit]) -> None:
        """Count pages and sitemaps for the limits of the round."""
        pages = visit_rows.page_visits(finished)
        self._db.execute(ROUND_PAGES, (len(pages), self._limits.round))
        hosts = Counter(item.row.host for item in pages)
        max_pages = self._limits.max_pages_per_host
        self._db.executemany(HOST_PAGES, ((number, max_pages, host) for host, number in hosts.items()))
        sitemaps = Counter(item.row.host for item in visit_rows.sitemap_requests(finished, self._limits.started_at))
        self._db.executemany(HOST_SITEMAPS, ((number, host) for host, number in sitemaps.items()))

    # -- depth ---------------------------------------------------------------------------------------------------------

    def _shallower_visits(self, finished: Sequence[visit_rows.FinishedVisit]) -> list[int]:
        """Return resources of this batch that its other pages found at a smaller depth."""
        if self._limits.max_depth is None:
            return []
        before = {item.row.id: item.row.depth for item in finished}
        rows = self._db.execute(
            "SELECT id, depth FROM resources WHERE id IN (SELECT value FROM json_each(?))", (json_array(before),)
        )
        return [resource for resource, depth in rows if depth < before[resource]]

    # -- hosts and leases ----------------------------------------------------------------------------------------------

    def _release(self, leases: Sequence[Lease]) -> None:
        """Queue leases that were given back unused."""
        rows = self._leased_rows(lease.resource for lease in leases)
        for row in rows.values():
            self._tx.counter_deltas.subtract(row.host, State.LEASED, row.role, row.outcome)
            self._tx.counter_deltas.add(row.host, State.QUEUED, row.role, row.outcome)
        self._db.executemany("UPDATE resources SET state = 'queued' WHERE id = ?", ((resource,) for resource in rows))

    def _update_hosts(self, batch: VisitBatch) -> None:
        """Write news about hosts, and free hosts that were given back."""
        robots = ((r.scheme, r.outcome, r.text, r.fetched_at, r.reason, r.host) for r in batch.robots)
        self._db.executemany(UPSERT_ROBOTS, robots)
        renderings.write_shapes(self._db, batch.shapes)
        notes = ((n.ready_at, n.delay, n.failures, n.reason, n.host, self._crawler) for n in batch.hosts)
        self._db.executemany(UPDATE_HOST, notes)
        returned = json_array(note.host for note in batch.hosts if not note.keep)
        select_held = "SELECT id FROM hosts WHERE holder = ? AND id IN (SELECT value FROM json_each(?))"
        release_hosts(self._tx, [host for (host,) in self._db.execute(select_held, (self._crawler, returned))])
