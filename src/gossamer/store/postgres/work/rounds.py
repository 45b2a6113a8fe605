"""Begin and finish rounds: merge the seeds of crawls, keep limits, and readmit or requeue known resources.

All writing functions of this module need an exclusive transaction (database.py).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gossamer.model import State
from gossamer.store.postgres.bulk_copy import READMITTED, int_column, number_column, text_column
from gossamer.store.postgres.database import int_array
from gossamer.store.postgres.work.depth import minimize_depths
from gossamer.store.work.claims import FORGOTTEN
from gossamer.store.work.rounds import (
    LOWEST_PRIORITY,
    READMIT_AT_ONCE,
    RoundLimits,
    RoundSeeds,
    SeedCache,
    UnvisitedResource,
    build_round,
    build_unvisited_resource,
    decide_admission,
    has_minimal_depths,
    has_same_content_settings,
    round_limits,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.model import AdmitCandidates
    from gossamer.store.postgres.database import Connection, Transaction
    from gossamer.store.values import Round
    from gossamer.store.work.rounds import RoundRow

SELECT_LAST_ROUND = """
    SELECT id, started_at, finished_at, settings, max_pages, max_pages_per_host, pages
    FROM rounds ORDER BY id DESC LIMIT 1"""
SELECT_SEED_URLS = "SELECT url FROM resources WHERE seed = 1 ORDER BY id"
SELECT_SEED_SUMMARY = "SELECT count(*), max(id) FROM resources WHERE seed = 1"
INSERT_ROUND = """
    INSERT INTO rounds (started_at, settings, max_pages, max_pages_per_host) VALUES (%s, %s, %s, %s) RETURNING id"""
INSERT_SEEDS = """
    INSERT INTO seeds (round, seq, url) SELECT %s, n - 1, url FROM unnest(%s::text[]) WITH ORDINALITY AS s (url, n)"""
CLEAR_VALIDATORS = "UPDATE resources SET etag = '', last_modified = '' WHERE etag <> '' OR last_modified <> ''"
RESET_HOST_PAGES = """
    UPDATE hosts SET round_pages = 0, spent = 0, round_sitemaps = 0
    WHERE round_pages > 0 OR spent > 0 OR round_sitemaps > 0"""
FINISH = "UPDATE rounds SET finished_at = %s WHERE finished_at IS NULL"
SET_QUEUED = f"""
    state = 'queued', reason = '', tries = 0,
    priority = CASE WHEN priority <= {LOWEST_PRIORITY} THEN -depth ELSE priority END"""
WHERE_VISITED = "state IN ('visited', 'failed', 'refused', 'gone') AND visited_at <= %s"
COUNT_STATES = f"SELECT host, state, role, outcome, count(*) FROM resources WHERE {WHERE_VISITED} GROUP BY 1, 2, 3, 4"  # noqa: S608
REQUEUE = f"UPDATE resources SET {SET_QUEUED} WHERE {WHERE_VISITED}"  # noqa: S608
# Leases of an import stay: it has no scope. An import is a crawler with most_parsers = 0.
SELECT_UNVISITED = """
    SELECT r.id, r.host, r.outcome, r.state, r.role, r.reason, r.priority, r.asked, r.url, r.digest, r.kind, r.follow,
        r.depth, r.hops, r.seed, coalesce(b.number, 0), coalesce(l.anchor, ''), coalesce(s.topic, 0)
    FROM resources AS r LEFT JOIN backlinks AS b ON b.resource = r.id
    LEFT JOIN LATERAL (SELECT source, anchor FROM links WHERE target = r.id ORDER BY source, seq LIMIT 1) AS l ON true
    LEFT JOIN resources AS s ON s.id = l.source
    WHERE r.id > %s AND r.state IN ('known', 'queued', 'leased', 'out of scope')
        AND NOT (r.state = 'known' AND r.reason = %s)
        AND NOT (r.state = 'leased' AND EXISTS (SELECT 1 FROM hosts AS h JOIN crawlers AS c ON c.id = h.holder
            WHERE h.id = r.host AND c.most_parsers = 0))
    ORDER BY r.id LIMIT %s"""
_VISITED = "id = ANY(%s::bigint[]) AND state = 'visited' AND role = 'page'"
COUNT_VISITED = f"SELECT host, state, role, outcome, count(*) FROM resources WHERE {_VISITED} GROUP BY 1, 2, 3, 4"  # noqa: S608
QUEUE_AGAIN = f"UPDATE resources SET state = 'queued', tries = 0, etag = '', last_modified = '' WHERE {_VISITED}"  # noqa: S608
READMIT = """
    UPDATE resources AS r SET state = n.state, role = n.role, reason = n.reason, priority = n.priority, asked = n.asked
    FROM readmitted AS n WHERE r.id = n.id"""


def last_round_row(db: Connection) -> RoundRow | None:
    """Return the row of the latest round."""
    return db.execute(SELECT_LAST_ROUND).fetchone()


def current_round(db: Connection, seed_cache: SeedCache | None = None) -> Round | None:
    """Return the latest round, finished or not. Give no cache inside a transaction that may roll back."""
    row = last_round_row(db)
    if row is None:
        return None
    seed_cache = seed_cache or SeedCache()
    return build_round(
        row, seed_cache.get(row[0], db.execute(SELECT_SEED_SUMMARY).fetchone(), partial(_load_seeds, db))
    )


def _load_seeds(db: Connection, round_id: int) -> RoundSeeds:
    given = db.execute("SELECT url FROM seeds WHERE round = %s ORDER BY seq", (round_id,)).fetchall()
    return RoundSeeds.from_urls((url for (url,) in given), (url for (url,) in db.execute(SELECT_SEED_URLS)))


def current_limits(db: Connection) -> RoundLimits:
    """Return the limits of the current round; no limits without a round."""
    return round_limits(last_round_row(db))


def begin_round(
    tx: Transaction, settings: str, seeds: Sequence[str], max_pages: int | None, max_pages_per_host: int | None,
    now: float,
) -> Round:  # fmt: skip
    """Start a round. It ends the previous one and keeps its seeds."""
    previous = current_round(tx.db)
    if previous is not None and not has_same_content_settings(previous.settings, settings):
        tx.db.execute(CLEAR_VALIDATORS)
    seeds = tuple(dict.fromkeys((*(previous.seeds if previous else ()), *seeds)))
    tx.db.execute(FINISH, (now,))
    round_id = tx.db.execute(INSERT_ROUND, (now, settings, max_pages, max_pages_per_host)).fetchone()
    assert round_id is not None
    tx.db.execute(INSERT_SEEDS, (round_id[0], list(seeds)))
    tx.db.execute(RESET_HOST_PAGES)
    new_round = current_round(tx.db)
    assert new_round is not None
    return new_round


def finish_round(tx: Transaction, now: float) -> None:
    """Finish the round, unless another crawler has found work in the meantime."""
    totals = tx.totals()
    if not totals[f"resources {State.QUEUED}"] and not totals[f"resources {State.LEASED}"]:
        tx.db.execute(FINISH, (now,))


def requeue(tx: Transaction, now: float) -> int:
    """Queue again every resource whose last visit is not after `now`; return how many."""
    for host, state, role, outcome, times in tx.db.execute(COUNT_STATES, (now,)).fetchall():
        tx.counter_deltas.subtract(host, state, role, outcome, times)
        tx.counter_deltas.add(host, State.QUEUED, role, outcome, times)
    return tx.db.execute(REQUEUE, (now,)).rowcount


def queue_again(tx: Transaction, resources: Sequence[int]) -> int:
    """Queue visited pages again, and forget what would let their servers answer "not modified"."""
    listed = int_array(resources)
    for host, state, role, outcome, times in tx.db.execute(COUNT_VISITED, (listed,)).fetchall():
        tx.counter_deltas.subtract(host, state, role, outcome, times)
        tx.counter_deltas.add(host, State.QUEUED, role, outcome, times)
    return tx.db.execute(QUEUE_AGAIN, (listed,)).rowcount


def readmit(tx: Transaction, admit: AdmitCandidates) -> int:
    """Decide again on every unvisited resource, leased or not; return how many changed their state."""
    # A new generation empties the URL caches of all processes: they contain claims judged by the old scope.
    tx.db.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
    depth = current_limits(tx.db).max_depth
    if depth is not None and not has_minimal_depths(
        (row[0] for row in tx.db.execute("SELECT settings FROM rounds")), depth
    ):
        minimize_depths(tx.db, depth)
    changed, last_id = 0, 0
    while unvisited := [
        build_unvisited_resource(row) for row in tx.db.execute(SELECT_UNVISITED, (last_id, FORGOTTEN, READMIT_AT_ONCE))
    ]:
        changed += _readmit_chunk(tx, unvisited, admit)
        last_id = unvisited[-1].id
    return changed


def _readmit_chunk(tx: Transaction, unvisited: Sequence[UnvisitedResource], admit: AdmitCandidates) -> int:
    """Decide on some resources; return how many changed their state."""
    admissions = admit([claim.candidate for claim in unvisited])
    decisions = ((claim, decide_admission(claim, a)) for claim, a in zip(unvisited, admissions, strict=True))
    changes = [(claim, new) for claim, new in decisions if new != claim.admission_state]
    if not changes:
        return 0
    state, role, reason, priority, asked, ids = zip(*((*new, claim.id) for claim, new in changes), strict=True)
    columns = [state, role, text_column(reason), number_column(priority), int_column(asked), int_column(ids)]
    tx.stage("readmitted", READMITTED, columns)
    tx.db.execute(READMIT)
    for claim, new in changes:
        tx.counter_deltas.subtract(claim.host, claim.admission_state.state, claim.admission_state.role, claim.outcome)
        tx.counter_deltas.add(claim.host, new.state, new.role, claim.outcome)
    return sum(claim.admission_state.state != new.state for claim, new in changes)
