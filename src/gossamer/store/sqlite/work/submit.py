"""A batch of finished visits, written in one transaction.

The order: which visits still are this crawler's → an id for every link target, new ones admitted → redirects that run
in circles → contents and links replaced → the resources' own rows → smaller depths passed on → hosts and leases.
Statements run once for the whole batch (`executemany` over columns zipped together), never once per link.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

from gossamer.model import Kind, State
from gossamer.store.sqlite.bulk_insert import Insertion
from gossamer.store.sqlite.work import revisits, rounds, schedule
from gossamer.store.sqlite.work.admission import as_json, settle
from gossamer.store.sqlite.work.crawlers import give_back
from gossamer.store.sqlite.work.depth import pass_on
from gossamer.store.sqlite.work.digests import recall
from gossamer.store.sqlite.work.forget import change_backlinks, clear_contents
from gossamer.store.sqlite.work.revisits import compared
from gossamer.store.values import Submitted
from gossamer.store.work.claims import Finder
from gossamer.store.work.revisit_rows import told_by
from gossamer.store.work.visit_rows import (
    NOT_KEPT,
    Batch,
    Finished,
    Held,
    claims_in,
    content,
    keeps_links,
    link_rows,
    links_of,
    outcome_row,
    pages_in,
    priority,
    same_content,
    targets_in,
    targets_of,
    validators,
    visit_row,
    without_loops,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gossamer.model import AdmitCandidates, Lease, Visit
    from gossamer.store.sqlite.database import Transaction
    from gossamer.store.work.revisit_rows import Standing

HELD = """
    SELECT r.id, r.host, r.role, r.outcome, r.depth, r.hops, r.tries, r.visits, r.outlinks, r.content_digest
    FROM resources AS r JOIN hosts AS h ON h.id = r.host
    WHERE r.id IN (SELECT value FROM json_each(?)) AND r.state = 'leased' AND h.holder = ?"""
REDIRECT = "SELECT target FROM links WHERE source = ? AND seq = 0 AND kind = ?"
URLS = "SELECT id, url FROM resources WHERE id IN (SELECT value FROM json_each(?))"
INSERT_LINKS = Insertion("links", "source, seq, target, kind, follow, weight, position, rel, anchor")
INSERT_VISITS = Insertion("visits", "resource, round, visited_at, crawler, outcome, status, bytes, milliseconds")
_VISITED = """
    UPDATE resources SET state = ?, outcome = ?, reason = ?, status = ?, tries = ?, visits = visits + 1,
        visited_at = ?, visited_by = ?, dated = ?, found = ?, gap = ?, quiet = ?, misled = ?, pace = ?"""
# What is derived from the store follows the version, so it moves only with what is derived: contents and links.
UPDATE_KEPT = f"""{_VISITED}, version = coalesce(version, ?), etag = coalesce(?, etag),
        last_modified = coalesce(?, last_modified), priority = coalesce(?, priority)
    WHERE id = ?"""
UPDATE_SAME = f"{_VISITED}, etag = ?, last_modified = ?, bytes = ?, content_digest = ? WHERE id = ?"
UPDATE_REPLACED = f"""{_VISITED}, version = ?, etag = ?, last_modified = ?, bytes = ?, media_type = ?, charset = ?,
        language = ?, title = ?, description = ?, canonical = ?, noindex = ?, nofollow = ?, content_digest = ?,
        text_digest = ?, topic = ?, outlinks = ?, changes = changes + ?
    WHERE id = ?"""
ROUND_PAGES = "UPDATE rounds SET pages = pages + ? WHERE id = ?"
HOST_PAGES = """
    UPDATE hosts SET round_pages = round_pages + ?1, spent = coalesce(round_pages + ?1 >= ?2, 0) WHERE id = ?3"""
UPSERT_ROBOTS = """
    INSERT INTO robots (host, scheme, outcome, text, fetched_at, reason)
    SELECT id, ?, ?, ?, ?, ? FROM hosts WHERE id = ?
    ON CONFLICT DO UPDATE SET outcome = excluded.outcome, text = excluded.text, fetched_at = excluded.fetched_at,
        reason = excluded.reason"""
NOTE_HOST = "UPDATE hosts SET ready_at = ?, delay = ?, failures = ?, reason = ? WHERE id = ? AND holder = ?"


class Submission:
    """One batch on its way into the store."""

    def __init__(self, tx: Transaction, crawler: int, admit: AdmitCandidates, now: float, old_sources: int = 0) -> None:
        """`old_sources` is how many bytes of replaced sources are kept."""
        self._tx = tx
        self._db = tx.db
        self._crawler = crawler
        self._finder = Finder(admit, now, crawler)
        self._limits = rounds.limits(tx.db)
        self._version = tx.meta["version"] + 1
        self._old_sources = old_sources

    def write(self, batch: Batch) -> Submitted:
        """Write it all."""
        finished = list(self._held(batch.visits))
        ids, shallower = self._settle_links(finished)
        finished = list(without_loops(finished, ids, self._redirect_of, self._urls))
        weighed = compared(self._db, finished, ids, keep_links=batch.keep_links)
        finished = weighed.finished
        if weighed.changes:
            revisits.write(self._tx, weighed.changes, self._version, self._old_sources)
        self._write_contents(finished, ids, batch)
        self._write_rows(finished, weighed.standings, batch)
        schedule.tell(self._db, told_by((item.visit for item in finished), ids))
        self._count_pages(finished)
        pass_on(self._tx, shallower + self._came_nearer(finished), self._limits.max_depth, self._finder)
        self._release(batch.released)
        self._note(batch)
        resources = self._tx.meta.resources
        return Submitted(
            version=self._tx.meta["version"],
            known=sum(map(resources, State)),
            open=resources(State.QUEUED) + resources(State.LEASED),
            lost=len(batch.visits) - len(finished),
        )

    def _held(self, visits: Sequence[Visit]) -> Iterator[Finished]:
        """The visits whose lease is still ours. Another crawler has the others, or they were forgotten."""
        rows = self._rows_held(visit.lease.resource for visit in visits)
        for visit in visits:
            row = rows.pop(visit.lease.resource, None)
            if row is not None:
                yield Finished(visit, row, links_of(visit))

    def _rows_held(self, ids: Iterable[int]) -> dict[int, Held]:
        rows = self._db.execute(HELD, (as_json(ids), self._crawler))
        return {row.id: row for row in map(Held._make, rows)}

    # -- links -> resources --------------------------------------------------------------------------------------------

    def _settle_links(self, finished: Sequence[Finished]) -> tuple[dict[bytes, int], list[int]]:
        """An id for every target, and the visited resources that are less deep now."""
        linked = targets_in(finished)
        known = recall(self._tx, linked)
        shallower = settle(self._tx, claims_in(finished, linked, known), known, self._finder)
        return {digest: entry.id for digest, entry in known.items()}, shallower

    def _redirect_of(self, resource: int) -> int | None:
        stored = self._db.execute(REDIRECT, (resource, int(Kind.REDIRECT))).fetchone()
        return stored[0] if stored else None

    def _urls(self, resources: Sequence[int]) -> dict[int, str]:
        return dict(self._db.execute(URLS, (as_json(resources),)))

    # -- what the visits brought ---------------------------------------------------------------------------------------

    def _write_contents(self, finished: Sequence[Finished], ids: dict[bytes, int], batch: Batch) -> None:
        """Links, texts and sources in place of those of earlier visits."""
        replacing = [item for item in finished if item.replaces]
        backlinks = clear_contents(self._tx, [item.row.id for item in replacing if item.row.visits])
        linking = [(item, [*map(ids.__getitem__, item.links.digests)]) for item in replacing if item.links.digests]
        for item, targets in linking:
            if item.row.outlinks != NOT_KEPT:  # not known what to subtract: taken to be the same
                backlinks.update(targets_of(item.row.id, targets, item.links.kinds))
        change_backlinks(self._db, backlinks, self._limits.backlink_gain)
        kept = [pair for pair in linking if keeps_links(pair[0], batch)]
        self._insert_links(kept)
        pages = [(item.row.id, item.visit.page) for item in replacing if item.visit.page is not None]
        texts = [(resource, page.text) for resource, page in pages if page.text]
        self._db.executemany("INSERT INTO texts (resource, body) VALUES (?, ?)", texts)
        self._tx.meta["documents"] += len(texts)
        pages += ((item.row.id, item.visit.page) for item in finished if item.kept and item.visit.page is not None)
        sources = ((resource, page.source) for resource, page in pages if page.source)
        self._db.executemany("INSERT OR REPLACE INTO sources (resource, body) VALUES (?, ?)", sources)

    def _insert_links(self, kept: Sequence[tuple[Finished, list[int]]]) -> None:
        INSERT_LINKS.run(self._db, chain.from_iterable(link_rows(item, targets) for item, targets in kept))
        self._tx.meta["links"] += sum(len(targets) for _, targets in kept)

    def _write_rows(self, finished: Sequence[Finished], standings: Mapping[int, Standing], batch: Batch) -> None:
        """The resources themselves, and a row for each visit. Batches of host notes alone make no new version."""
        if finished:
            self._tx.meta["version"] = self._version
        replaced, same, kept = [], [], []
        for item in finished:
            row = (*outcome_row(item, self._crawler), *standings[item.row.id])
            if item.replaces:
                replaced.append((*row, self._version, *content(item, batch)))
            elif item.kept and item.visit.page is not None:
                same.append((*row, *same_content(item, item.visit.page)))
            else:
                kept.append((*row, self._version, *validators(item.visit), priority(item), item.row.id))
        self._db.executemany(UPDATE_REPLACED, replaced)
        self._db.executemany(UPDATE_SAME, same)
        self._db.executemany(UPDATE_KEPT, kept)
        INSERT_VISITS.run(self._db, (visit_row(item, self._limits.round, self._crawler) for item in finished))
        for item in finished:
            held = item.row
            self._tx.ledger.leave(held.host, State.LEASED, held.role, held.outcome)
            self._tx.ledger.enter(held.host, item.state, held.role, item.visit.outcome)

    def _count_pages(self, finished: Sequence[Finished]) -> None:
        """The round's pages, which its limits are about."""
        pages = pages_in(finished)
        self._db.execute(ROUND_PAGES, (len(pages), self._limits.round))
        hosts = Counter(item.row.host for item in pages)
        most = self._limits.max_pages_per_host
        self._db.executemany(HOST_PAGES, ((number, most, host) for host, number in hosts.items()))

    # -- depth ---------------------------------------------------------------------------------------------------------

    def _came_nearer(self, finished: Sequence[Finished]) -> list[int]:
        """Resources of this very batch that its other pages found at a smaller depth than they were leased with."""
        if self._limits.max_depth is None:
            return []
        before = {item.row.id: item.row.depth for item in finished}
        rows = self._db.execute(
            "SELECT id, depth FROM resources WHERE id IN (SELECT value FROM json_each(?))", (as_json(before),)
        )
        return [resource for resource, depth in rows if depth < before[resource]]

    # -- hosts and leases ----------------------------------------------------------------------------------------------

    def _release(self, leases: Sequence[Lease]) -> None:
        """Leases given back unused."""
        rows = self._rows_held(lease.resource for lease in leases)
        for row in rows.values():
            self._tx.ledger.leave(row.host, State.LEASED, row.role, row.outcome)
            self._tx.ledger.enter(row.host, State.QUEUED, row.role, row.outcome)
        self._db.executemany("UPDATE resources SET state = 'queued' WHERE id = ?", ((resource,) for resource in rows))

    def _note(self, batch: Batch) -> None:
        """What was learned of hosts, and hosts given back."""
        robots = ((r.scheme, r.outcome, r.text, r.fetched_at, r.reason, r.host) for r in batch.robots)
        self._db.executemany(UPSERT_ROBOTS, robots)
        notes = ((n.ready_at, n.delay, n.failures, n.reason, n.host, self._crawler) for n in batch.hosts)
        self._db.executemany(NOTE_HOST, notes)
        unwanted = as_json(note.host for note in batch.hosts if not note.keep)
        held = "SELECT id FROM hosts WHERE holder = ? AND id IN (SELECT value FROM json_each(?))"
        give_back(self._tx, [host for (host,) in self._db.execute(held, (self._crawler, unwanted))])
