"""Writing a batch of finished visits in one transaction.

The steps keep the lock order of database.py, to avoid deadlocks:

1. keep the visits whose lease this crawler still holds
2. find the id of every link target; admit and insert new ones
3. detect redirect loops
4. replace contents and links, count backlinks
5. lock the round, the hosts and the row `version`
6. improve known link targets
7. write the rows of the visited resources
8. propagate smaller depths
9. update hosts, release leases
"""

from __future__ import annotations

from collections import Counter
from itertools import chain, repeat
from typing import TYPE_CHECKING

from gossamer.model import State
from gossamer.store import columns
from gossamer.store.postgres.bulk_copy import (
    COLUMN_ENCODERS,
    VISITED,
    copy_bodies,
    copy_rows,
    int_column,
    number_column,
    text_column,
)
from gossamer.store.postgres.database import int_array
from gossamer.store.postgres.work import renderings, revisits, rounds, schedule
from gossamer.store.postgres.work.admission import find_known_resources, improve, load_claims, propose
from gossamer.store.postgres.work.crawlers import is_working, release_hosts
from gossamer.store.postgres.work.depth import propagate_depths
from gossamer.store.postgres.work.forget import change_backlinks, change_priorities, clear_contents
from gossamer.store.values import SubmitResult
from gossamer.store.work import visit_rows
from gossamer.store.work.claims import Discovery
from gossamer.store.work.revisit_rows import collect_hints

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gossamer.model import AdmitCandidates, Lease, Visit, VisitBatch
    from gossamer.store.postgres.database import Transaction
    from gossamer.store.postgres.work.admission import Proposal
    from gossamer.store.work.change_detection import ComparedBatch

SELECT_LEASED_ROWS = """
    SELECT r.id, r.host, r.role, r.outcome, r.depth, r.hops, r.tries, r.visits, r.outlinks, r.content_digest,
        r.visited_at
    FROM resources AS r JOIN hosts AS h ON h.id = r.host
    WHERE r.id = ANY(%s::bigint[]) AND r.state = 'leased' AND h.holder = %s"""
# The chains of stored redirects that begin at these resources.
REDIRECTS = f"""
    WITH RECURSIVE way (source, target, steps) AS (
        SELECT l.source, l.target, 1 FROM links AS l
        WHERE l.source = ANY(%s::bigint[]) AND l.seq = 0 AND l.kind = 4
        UNION
        SELECT l.source, l.target, w.steps + 1 FROM way AS w JOIN links AS l ON l.source = w.target
        WHERE l.seq = 0 AND l.kind = 4 AND w.steps <= {visit_rows.MAX_REDIRECT_CHAIN})
    SELECT DISTINCT source, target FROM way"""  # noqa: S608
URLS = "SELECT id, url FROM resources WHERE id = ANY(%s::bigint[])"
DEPTHS = "SELECT id, depth FROM resources WHERE id = ANY(%s::bigint[])"
LINK_COLUMNS = ("source", "seq", "target", "kind", "follow", "weight", "position", "rel", "anchor")
VISIT_COLUMNS = ("resource", "round", "visited_at", "crawler", "outcome", "status", "bytes", "milliseconds")
# NULL in a content column keeps the stored value. The version changes only with the content, because index and graph
# follow it. A title that is not NULL, even an empty one, means new content.
UPDATE_VISITED = f"""
    UPDATE resources AS r SET {", ".join(f"{name} = v.{name}" for name in (*columns.OUTCOME, *columns.REVISIT))},
        visits = r.visits + 1, priority = coalesce(v.priority, r.priority), changes = r.changes + v.changes,
        {", ".join(f"{name} = coalesce(v.{name}, r.{name})" for name in (*columns.RESPONSE, *columns.CONTENT))},
        version = CASE WHEN v.title IS NULL THEN coalesce(r.version, %(version)s) ELSE %(version)s END
    FROM visited AS v WHERE r.id = v.id"""  # noqa: S608
ROUND_PAGES = "UPDATE rounds SET pages = pages + %s WHERE id = %s"
HOST_PAGES = """
    UPDATE hosts AS h SET round_pages = h.round_pages + p.number,
        spent = CASE WHEN h.round_pages + p.number >= %s::bigint THEN 1 ELSE 0 END
    FROM unnest(%s::bigint[], %s::bigint[]) AS p (id, number) WHERE h.id = p.id"""
RELEASE = "UPDATE resources SET state = 'queued' WHERE id = ANY(%s::bigint[])"
HOST_SITEMAPS = """
    UPDATE hosts AS h SET round_sitemaps = h.round_sitemaps + p.number
    FROM unnest(%s::bigint[], %s::bigint[]) AS p (id, number) WHERE h.id = p.id"""
UPSERT_ROBOTS = """
    INSERT INTO robots (host, scheme, outcome, text, fetched_at, reason)
    SELECT n.* FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::text[], %s::double precision[], %s::text[])
        AS n (host, scheme, outcome, text, fetched_at, reason)
    WHERE n.host IN (SELECT id FROM hosts)
    ON CONFLICT (host, scheme) DO UPDATE SET outcome = excluded.outcome, text = excluded.text,
        fetched_at = excluded.fetched_at, reason = excluded.reason"""
UPDATE_HOSTS = """
    UPDATE hosts AS h SET ready_at = n.ready_at, delay = n.delay, failures = n.failures, reason = n.reason
    FROM unnest(%s::bigint[], %s::double precision[], %s::double precision[], %s::integer[], %s::text[])
        AS n (id, ready_at, delay, failures, reason)
    WHERE h.id = n.id AND h.holder = %s"""
SELECT_RETURNED_HOSTS = "SELECT id FROM hosts WHERE holder = %s AND id = ANY(%s::bigint[])"


def submit(
    tx: Transaction, crawler: int, batch: VisitBatch, admit: AdmitCandidates, now: float, old_sources: int
) -> SubmitResult:
    """Write a batch of visits; keep up to `old_sources` bytes of replaced sources. A lost crawler writes nothing."""
    if not is_working(tx.db, crawler):
        return _build_result(tx, lost=len(batch.visits), crawler_lost=True)
    return Submission(tx, crawler, admit, now, old_sources).write(batch)


def _build_result(tx: Transaction, *, lost: int, crawler_lost: bool = False) -> SubmitResult:
    totals = tx.totals()
    return SubmitResult(
        version=totals["version"],
        known=sum(totals[f"resources {state}"] for state in State),
        open=totals[f"resources {State.QUEUED}"] + totals[f"resources {State.LEASED}"],
        lost=lost,
        crawler_lost=crawler_lost,
    )


class Submission:
    """Writes one batch of visits."""

    def __init__(self, tx: Transaction, crawler: int, admit: AdmitCandidates, now: float, old_sources: int) -> None:
        self._tx = tx
        self._db = tx.db
        self._crawler = crawler
        self._discovery = Discovery(admit, now, crawler)
        self._limits = rounds.current_limits(tx.db)
        self._old_sources = old_sources

    def write(self, batch: VisitBatch) -> SubmitResult:
        """Write the batch."""
        finished = list(self._leased_visits(batch.visits))
        linked = visit_rows.target_digests(finished)
        known = find_known_resources(self._tx, linked)
        proposal = propose(self._tx, visit_rows.collect_claims(finished, linked, known), known, self._discovery)
        ids = {digest: entry.id for digest, entry in known.items()}
        finished = list(self._without_loops(finished, ids))
        compared = revisits.compare_visits(self._db, finished, ids, keep_links=batch.keep_links)
        finished = compared.finished
        revisits.write_history(self._tx, compared.changes, self._old_sources)
        backlinks = self._write_contents(finished, ids, batch)
        self._lock_rows(finished, proposal, batch)
        shallower = improve(self._tx, proposal, self._discovery)
        change_priorities(self._db, backlinks, self._limits.backlink_gain)
        self._write_rows(compared, batch)
        schedule.write_hints(self._db, collect_hints((item.visit for item in finished), ids))
        self._count_pages(finished)
        propagate_depths(
            self._tx, shallower + self._shallower_visits(finished), self._limits.max_depth, self._discovery
        )
        self._release(batch.released)
        self._update_hosts(batch)
        return _build_result(self._tx, lost=len(batch.visits) - len(finished))

    def _leased_visits(self, visits: Sequence[Visit]) -> Iterator[visit_rows.FinishedVisit]:
        """Yield the visits whose lease this crawler still holds.

        Another crawler has the other resources, or they were forgotten. Only exclusive transactions take leases away,
        so none can do that during this one.
        """
        rows = self._leased_rows(visit.lease.resource for visit in visits)
        for visit in visits:
            row = rows.pop(visit.lease.resource, None)
            if row is not None:
                yield visit_rows.finish_visit(visit, row)

    def _leased_rows(self, ids: Iterable[int]) -> dict[int, visit_rows.LeasedRow]:
        rows = self._db.execute(SELECT_LEASED_ROWS, (int_array(ids), self._crawler)).fetchall()
        return {row.id: row for row in map(visit_rows.LeasedRow._make, rows)}

    def _without_loops(
        self, finished: Sequence[visit_rows.FinishedVisit], ids: Mapping[bytes, int]
    ) -> Iterator[visit_rows.FinishedVisit]:
        targets = [ids[item.visit.redirect.digest] for item in finished if item.visit.redirect is not None]
        stored: dict[int, int] = dict(self._db.execute(REDIRECTS, (int_array(targets),)).fetchall()) if targets else {}
        return visit_rows.without_loops(finished, ids, stored.get, self._load_urls)

    def _load_urls(self, resources: Sequence[int]) -> dict[int, str]:
        return dict(self._db.execute(URLS, (int_array(resources),)).fetchall())

    # -- contents ------------------------------------------------------------------------------------------------------

    def _write_contents(
        self, finished: Sequence[visit_rows.FinishedVisit], ids: Mapping[bytes, int], batch: VisitBatch
    ) -> Counter[int]:
        """Replace links, texts and sources of earlier visits; return the changes of backlinks by target."""
        replacing = [item for item in finished if item.replaces]
        backlinks = clear_contents(self._tx, [item.row.id for item in replacing if item.row.visits])
        linking = [(item, [*map(ids.__getitem__, item.targets)]) for item in replacing if item.targets]
        for item, targets in linking:
            if item.row.outlinks != visit_rows.LINKS_NOT_STORED:  # without the old links, assume that they are the same
                backlinks.update(visit_rows.backlink_targets(item.row.id, targets, item.links.kinds))
        self._insert_links([pair for pair in linking if visit_rows.stores_links(pair[0], batch)])
        self._write_bodies(replacing, finished)
        self._write_visits(finished)
        change_backlinks(self._db, backlinks)
        return backlinks

    def _write_bodies(
        self, replacing: Sequence[visit_rows.FinishedVisit], finished: Sequence[visit_rows.FinishedVisit]
    ) -> None:
        pages = [(item.row.id, item.visit.page) for item in replacing if item.visit.page is not None]
        bodies = [(resource, page.text) for resource, page in pages if page.text]
        copy_bodies(self._db, "texts", bodies)
        self._tx.meta["documents"] += len(bodies)
        unchanged = [
            (item.row.id, item.visit.page) for item in finished if item.is_unchanged and item.visit.page is not None
        ]
        replaced = [resource for resource, page in unchanged if page.source]
        if replaced:
            self._db.execute("DELETE FROM sources WHERE resource = ANY(%s::bigint[])", (int_array(replaced),))
        copy_bodies(
            self._db, "sources", [(resource, page.source) for resource, page in pages + unchanged if page.source]
        )
        renderings.write_renderings(self._db, finished)

    def _insert_links(self, stored_links: Sequence[tuple[visit_rows.FinishedVisit, list[int]]]) -> None:
        all_links = [item.links for item, _ in stored_links]
        copy_rows(
            self._db, "links", LINK_COLUMNS,
            [
                int_column(chain.from_iterable(repeat(item.row.id, len(targets)) for item, targets in stored_links)),
                int_column(chain.from_iterable(range(len(targets)) for _, targets in stored_links)),
                int_column(chain.from_iterable(targets for _, targets in stored_links)),
                int_column(chain.from_iterable(links.kinds for links in all_links)),
                int_column(chain.from_iterable(links.follows for links in all_links)),
                int_column(chain.from_iterable(links.weights for links in all_links)),
                int_column(chain.from_iterable(links.positions for links in all_links)),
                text_column(list(chain.from_iterable(links.rels for links in all_links))),
                text_column(list(chain.from_iterable(links.anchors for links in all_links))),
            ],
        )  # fmt: skip
        self._tx.meta["links"] += sum(len(targets) for _, targets in stored_links)

    def _write_visits(self, finished: Sequence[visit_rows.FinishedVisit]) -> None:
        rows = [visit_rows.visit_row(item, self._limits.round, self._crawler) for item in finished]
        if rows:
            columns = list(zip(*rows, strict=True))
            copy_rows(
                self._db, "visits", VISIT_COLUMNS, [number_column(c) if n != 4 else c for n, c in enumerate(columns)]
            )

    # -- rows that others change too -----------------------------------------------------------------------------------

    def _lock_rows(self, finished: Sequence[visit_rows.FinishedVisit], proposal: Proposal, batch: VisitBatch) -> None:
        """Lock the round, then the hosts, then the row `version`; `lease` locks them in the same order."""
        if pages := len(visit_rows.page_visits(finished)):
            self._db.execute(ROUND_PAGES, (pages, self._limits.round))
        hosts = [*(item.row.host for item in finished), *(note.host for note in batch.hosts)]
        self._tx.lock_hosts([*hosts, *(lease.host for lease in batch.released), *proposal.hosts])
        self._tx.lock_version()

    def _write_rows(self, compared: ComparedBatch, batch: VisitBatch) -> None:
        """Write the rows of the visited resources. A batch without visits makes no new version."""
        if not compared.finished:
            return
        version = self._tx.next_version()
        finished = self._with_current_roles(compared.finished)
        rows = [
            (
                *visit_rows.outcome_row(item, self._crawler),
                *compared.revisit_states[item.row.id],
                *_content_values(item, batch),
                visit_rows.retry_priority(item),
                int(item.replaces and visit_rows.is_new_content(item)),
                item.row.id,
            )
            for item in finished
        ]
        self._tx.stage("visited", VISITED, _to_columns(rows))
        self._db.execute(UPDATE_VISITED, {"version": version})
        revisits.write_relinked_targets(self._tx, compared.changes, version)
        if compared.changes and self._old_sources:
            revisits.drop_old_sources(self._tx, self._old_sources)
        visit_rows.count_finished(self._tx.counter_deltas, finished)

    def _with_current_roles(self, finished: Sequence[visit_rows.FinishedVisit]) -> list[visit_rows.FinishedVisit]:
        """Read the roles again: another page may have linked to an embed, which makes it a page."""
        current = load_claims(self._db, {item.row.id for item in finished})
        return [item._replace(row=item.row._replace(role=current[item.row.id].role)) for item in finished]

    def _count_pages(self, finished: Sequence[visit_rows.FinishedVisit]) -> None:
        """Add to the hosts' pages and sitemaps of this round, which have limits."""
        counted = Counter(item.row.host for item in visit_rows.page_visits(finished))
        if counted:
            max_pages = self._limits.max_pages_per_host
            self._db.execute(HOST_PAGES, (max_pages, int_array(counted), int_array(counted.values())))
        sitemaps = Counter(item.row.host for item in visit_rows.sitemap_requests(finished, self._limits.started_at))
        if sitemaps:
            self._db.execute(HOST_SITEMAPS, (int_array(sitemaps), int_array(sitemaps.values())))

    def _shallower_visits(self, finished: Sequence[visit_rows.FinishedVisit]) -> list[int]:
        """Return the visited resources that other pages of this batch found at a smaller depth."""
        if self._limits.max_depth is None:
            return []
        before = {item.row.id: item.row.depth for item in finished}
        rows = self._db.execute(DEPTHS, (int_array(before),)).fetchall()
        return [resource for resource, depth in rows if depth < before[resource]]

    # -- hosts and leases ----------------------------------------------------------------------------------------------

    def _release(self, leases: Sequence[Lease]) -> None:
        """Queue the URLs of unused leases again."""
        if not leases:
            return
        rows = self._leased_rows(lease.resource for lease in leases)
        for row in rows.values():
            self._tx.counter_deltas.subtract(row.host, State.LEASED, row.role, row.outcome)
            self._tx.counter_deltas.add(row.host, State.QUEUED, row.role, row.outcome)
        self._db.execute(RELEASE, (int_array(rows),))

    def _update_hosts(self, batch: VisitBatch) -> None:
        """Write robots.txt rules, path shapes and host notes, and release the hosts that the crawler gives back."""
        if batch.robots:
            rules = {(one.host, one.scheme): one for one in batch.robots}.values()  # the last one per host and scheme
            self._db.execute(
                UPSERT_ROBOTS,
                (
                    int_array(r.host for r in rules), [r.scheme for r in rules], [r.outcome for r in rules],
                    [_replace_nul(r.text) for r in rules], [float(r.fetched_at) for r in rules],
                    [_replace_nul(r.reason) for r in rules],
                ),
            )  # fmt: skip
        renderings.write_shapes(self._db, batch.shapes)
        if batch.hosts:
            notes = {note.host: note for note in batch.hosts}.values()
            self._db.execute(
                UPDATE_HOSTS,
                (
                    int_array(n.host for n in notes), [float(n.ready_at) for n in notes],
                    [float(n.delay) for n in notes], [n.failures for n in notes],
                    [_replace_nul(n.reason) for n in notes], self._crawler,
                ),
            )  # fmt: skip
            returned = int_array(note.host for note in batch.hosts if not note.keep)
            released_hosts = [
                host for (host,) in self._db.execute(SELECT_RETURNED_HOSTS, (self._crawler, returned)).fetchall()
            ]
            if released_hosts:
                release_hosts(self._tx, released_hosts)


# -- pure helpers ------------------------------------------------------------------------------------------------------


def _replace_nul(text: str) -> str:
    """Replace NUL, which PostgreSQL text cannot contain, by U+FFFD as HTML parsers do."""
    return text.replace("\0", "\ufffd")


def _content_values(item: visit_rows.FinishedVisit, batch: VisitBatch) -> tuple[object, ...]:
    """Return the values of `columns.RESPONSE` and `columns.CONTENT`; None keeps the stored value."""
    if item.replaces:
        return (*visit_rows.response_row(item), *visit_rows.content_row(item, batch))
    if item.is_unchanged and item.visit.page is not None:
        return (*visit_rows.response_row(item), *repeat(None, len(columns.CONTENT)))
    kept = len(columns.RESPONSE) - len(columns.VALIDATORS) + len(columns.CONTENT)
    return (*visit_rows.validators(item.visit), *repeat(None, kept))


def _to_columns(rows: Sequence[tuple[object, ...]]) -> list[Iterable[str]]:
    return [_column(name, values) for name, values in zip(VISITED, zip(*rows, strict=True), strict=True)]


def _column(name: str, values: Sequence[object]) -> Iterable[str]:
    if name in {"state", "outcome"}:
        return values  # type: ignore[return-value]
    encode = COLUMN_ENCODERS.get(columns.TYPES[name], number_column)
    return encode(values)
