"""Begin and finish rounds: merge the seeds of crawls, keep limits, and readmit or requeue known resources."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gossamer.model import State
from gossamer.store.sqlite.database import json_array
from gossamer.store.sqlite.work.depth import minimize_depths
from gossamer.store.work.claims import FORGOTTEN
from gossamer.store.work.rounds import (
    LOWEST_PRIORITY,
    READMIT_AT_ONCE,
    RoundSeeds,
    SeedCache,
    build_round,
    build_unvisited_resource,
    decide_admission,
    has_minimal_depths,
    has_same_content_settings,
    round_limits,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from gossamer.model import AdmitCandidates
    from gossamer.store.sqlite.database import Transaction
    from gossamer.store.values import Round
    from gossamer.store.work.rounds import RoundLimits

SELECT_LAST_ROUND = """
    SELECT id, started_at, finished_at, settings, max_pages, max_pages_per_host, pages
    FROM rounds ORDER BY id DESC LIMIT 1"""
SELECT_SEED_URLS = "SELECT url FROM resources INDEXED BY resources_seeds WHERE seed = 1 ORDER BY id"
_FROM_SEEDS = "FROM resources INDEXED BY resources_seeds WHERE seed = 1"
# Two subqueries, because one with both aggregates takes three times as long.
SELECT_SEED_SUMMARY = f"SELECT (SELECT count(*) {_FROM_SEEDS}), (SELECT max(id) {_FROM_SEEDS})"
# Without leases of an import, to which no scope applies: its crawler has most_parsers = 0.
SELECT_UNVISITED = """
    SELECT r.id, r.host, r.outcome, r.state, r.role, r.reason, r.priority, r.asked, r.url, r.digest, r.kind, r.follow,
        r.depth, r.hops, r.seed, coalesce(b.number, 0), coalesce(l.anchor, ''), coalesce(s.topic, 0)
    FROM resources AS r LEFT JOIN backlinks AS b ON b.resource = r.id
    LEFT JOIN links AS l ON (l.source, l.seq) = (SELECT source, seq FROM links WHERE target = r.id LIMIT 1)
    LEFT JOIN resources AS s ON s.id = l.source
    WHERE r.id > ? AND r.state IN ('known', 'queued', 'leased', 'out of scope')
        AND NOT (r.state = 'known' AND r.reason = ?)
        AND NOT (r.state = 'leased' AND EXISTS (SELECT 1 FROM hosts AS h JOIN crawlers AS c ON c.id = h.holder
            WHERE h.id = r.host AND c.most_parsers = 0))
    ORDER BY r.id LIMIT ?"""
RESET_HOSTS = """
    UPDATE hosts SET round_pages = 0, spent = 0, round_sitemaps = 0
    WHERE round_pages > 0 OR spent > 0 OR round_sitemaps > 0"""
READMIT = "UPDATE resources SET state = ?, role = ?, reason = ?, priority = ?, asked = ? WHERE id = ?"


def current_round(db: sqlite3.Connection, seed_cache: SeedCache | None = None) -> Round | None:
    """Return the last round begun, finished or not.

    Pass a `seed_cache` only outside a transaction, because the transaction may fail.
    """
    row = db.execute(SELECT_LAST_ROUND).fetchone()
    if row is None:
        return None
    seed_cache = seed_cache or SeedCache()
    return build_round(
        row, seed_cache.get(row[0], db.execute(SELECT_SEED_SUMMARY).fetchone(), partial(_load_seeds, db))
    )


def _load_seeds(db: sqlite3.Connection, round_id: int) -> RoundSeeds:
    given = db.execute("SELECT url FROM seeds WHERE round = ? ORDER BY seq", (round_id,)).fetchall()
    return RoundSeeds.from_urls((url for (url,) in given), (url for (url,) in db.execute(SELECT_SEED_URLS)))


def current_limits(db: sqlite3.Connection) -> RoundLimits:
    """Return the limits of the current round; no limits when there is none."""
    return round_limits(db.execute(SELECT_LAST_ROUND).fetchone())


def begin_round(
    tx: Transaction, settings: str, seeds: Sequence[str], max_pages: int | None, max_pages_per_host: int | None,
    now: float,
) -> Round:  # fmt: skip
    """Start a round; end the last one if it is unfinished, and keep its seeds."""
    previous = current_round(tx.db)
    if previous is not None and not has_same_content_settings(previous.settings, settings):
        tx.db.execute("UPDATE resources SET etag = '', last_modified = '' WHERE etag <> '' OR last_modified <> ''")
    seeds = tuple(dict.fromkeys((*(previous.seeds if previous else ()), *seeds)))
    tx.db.execute("UPDATE rounds SET finished_at = ? WHERE finished_at IS NULL", (now,))
    row = (now, settings, max_pages, max_pages_per_host)
    insert = "INSERT INTO rounds (started_at, settings, max_pages, max_pages_per_host) VALUES (?, ?, ?, ?)"
    round_id = tx.db.execute(insert, row).lastrowid
    rows = ((round_id, seq, url) for seq, url in enumerate(seeds))
    tx.db.executemany("INSERT INTO seeds (round, seq, url) VALUES (?, ?, ?)", rows)
    tx.db.execute(RESET_HOSTS)
    new_round = current_round(tx.db)
    assert new_round is not None
    return new_round


def finish_round(tx: Transaction, now: float) -> None:
    """End the round unless URLs are queued or leased; another crawler may have found work."""
    if not tx.meta.resources(State.QUEUED) and not tx.meta.resources(State.LEASED):
        tx.db.execute("UPDATE rounds SET finished_at = ? WHERE finished_at IS NULL", (now,))


def requeue(tx: Transaction, now: float) -> int:
    """Queue every resource visited up to `now` again."""
    condition = "state IN ('visited', 'failed', 'refused', 'gone') AND visited_at <= ?"
    count_states = f"SELECT host, state, role, outcome, count(*) FROM resources WHERE {condition} GROUP BY 1, 2, 3, 4"  # noqa: S608
    for host, state, role, outcome, times in tx.db.execute(count_states, (now,)).fetchall():
        tx.counter_deltas.subtract(host, state, role, outcome, times)
        tx.counter_deltas.add(host, State.QUEUED, role, outcome, times)
    update = f"""
        UPDATE resources SET state = 'queued', reason = '', tries = 0,
            priority = CASE WHEN priority <= {LOWEST_PRIORITY} THEN -depth ELSE priority END
        WHERE {condition}"""  # noqa: S608
    return tx.db.execute(update, (now,)).rowcount


def queue_again(tx: Transaction, resources: Sequence[int]) -> int:
    """Queue visited pages again, and forget what would let their servers answer "not modified"."""
    condition = "id IN (SELECT value FROM json_each(?)) AND state = 'visited' AND role = 'page'"
    count_states = f"SELECT host, state, role, outcome, count(*) FROM resources WHERE {condition} GROUP BY 1, 2, 3, 4"  # noqa: S608
    listed = json_array(resources)
    for host, state, role, outcome, times in tx.db.execute(count_states, (listed,)).fetchall():
        tx.counter_deltas.subtract(host, state, role, outcome, times)
        tx.counter_deltas.add(host, State.QUEUED, role, outcome, times)
    update = f"UPDATE resources SET state = 'queued', tries = 0, etag = '', last_modified = '' WHERE {condition}"  # noqa: S608
    return tx.db.execute(update, (listed,)).rowcount


# -- readmit -----------------------------------------------------------------------------------------------------------


def readmit(tx: Transaction, admit: AdmitCandidates) -> int:
    """Decide again on every resource not visited yet, leased or not."""
    tx.meta["generation"] += 1  # so that other processes drop cached decisions
    depth = current_limits(tx.db).max_depth
    if depth is not None and not has_minimal_depths(
        (row[0] for row in tx.db.execute("SELECT settings FROM rounds")), depth
    ):
        minimize_depths(tx.db, depth)
    changed, last_id = 0, 0
    while unvisited := [
        build_unvisited_resource(row) for row in tx.db.execute(SELECT_UNVISITED, (last_id, FORGOTTEN, READMIT_AT_ONCE))
    ]:
        admissions = admit([claim.candidate for claim in unvisited])
        decisions = ((claim, decide_admission(claim, a)) for claim, a in zip(unvisited, admissions, strict=True))
        changes = [(claim, new) for claim, new in decisions if new != claim.admission_state]
        tx.db.executemany(READMIT, ((*new, claim.id) for claim, new in changes))
        for claim, new in changes:
            tx.counter_deltas.subtract(
                claim.host, claim.admission_state.state, claim.admission_state.role, claim.outcome
            )
            tx.counter_deltas.add(claim.host, new.state, new.role, claim.outcome)
        changed += sum(claim.admission_state.state != new.state for claim, new in changes)
        last_id = unvisited[-1].id
    return changed
