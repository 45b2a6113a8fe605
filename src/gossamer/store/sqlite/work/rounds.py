"""What was asked: rounds with their seeds and limits, and what a new round does to resources known before."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gossamer.model import State
from gossamer.store.sqlite.work.depth import shorten_ways
from gossamer.store.work.claims import FORGOTTEN
from gossamer.store.work.rounds import (
    LAST_OF_ALL,
    READMIT_AT_ONCE,
    RoundSeeds,
    SeedsRead,
    claim_of,
    decided,
    kept_minimal,
    limits_of,
    reads_alike,
    round_of,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from gossamer.model import AdmitCandidates
    from gossamer.store.sqlite.database import Transaction
    from gossamer.store.values import Round
    from gossamer.store.work.rounds import Limits

LAST = """
    SELECT id, started_at, finished_at, settings, max_pages, max_pages_per_host, pages
    FROM rounds ORDER BY id DESC LIMIT 1"""
JOINED = "SELECT url FROM resources INDEXED BY resources_seeds WHERE seed = 1 ORDER BY id"
_MARKED = "FROM resources INDEXED BY resources_seeds WHERE seed = 1"
# Asked apart: together they take three times as long.
MARKED = f"SELECT (SELECT count(*) {_MARKED}), (SELECT max(id) {_MARKED})"
# Not what an import has claimed, for which no scope is asked: it is a crawler without parsers that can be changed.
CLAIMS = """
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
READMIT = "UPDATE resources SET state = ?, role = ?, reason = ?, priority = ?, asked = ? WHERE id = ?"


def current(db: sqlite3.Connection, seeds_read: SeedsRead | None = None) -> Round | None:
    """The last round begun, finished or not. What is in memory must not come from a transaction that may fail."""
    row = db.execute(LAST).fetchone()
    if row is None:
        return None
    seeds_read = seeds_read or SeedsRead()
    return round_of(row, seeds_read.of(row[0], db.execute(MARKED).fetchone(), partial(_seeds, db)))


def _seeds(db: sqlite3.Connection, round_id: int) -> RoundSeeds:
    given = db.execute("SELECT url FROM seeds WHERE round = ? ORDER BY seq", (round_id,)).fetchall()
    return RoundSeeds.of((url for (url,) in given), (url for (url,) in db.execute(JOINED)))


def limits(db: sqlite3.Connection) -> Limits:
    """What the current round allows; everything when there is none."""
    return limits_of(db.execute(LAST).fetchone())


def begin(
    tx: Transaction, settings: str, seeds: Sequence[str], max_pages: int | None, max_pages_per_host: int | None,
    now: float,
) -> Round:  # fmt: skip
    """Start a round; the one before, if it is under way, ends here, and its seeds stay seeds."""
    before = current(tx.db)
    if before is not None and not reads_alike(before.settings, settings):
        tx.db.execute("UPDATE resources SET etag = '', last_modified = '' WHERE etag <> '' OR last_modified <> ''")
    seeds = tuple(dict.fromkeys((*(before.seeds if before else ()), *seeds)))
    tx.db.execute("UPDATE rounds SET finished_at = ? WHERE finished_at IS NULL", (now,))
    row = (now, settings, max_pages, max_pages_per_host)
    insert = "INSERT INTO rounds (started_at, settings, max_pages, max_pages_per_host) VALUES (?, ?, ?, ?)"
    begun = tx.db.execute(insert, row).lastrowid
    rows = ((begun, seq, url) for seq, url in enumerate(seeds))
    tx.db.executemany("INSERT INTO seeds (round, seq, url) VALUES (?, ?, ?)", rows)
    tx.db.execute("UPDATE hosts SET round_pages = 0, spent = 0 WHERE round_pages > 0 OR spent > 0")
    started = current(tx.db)
    assert started is not None
    return started


def finish(tx: Transaction, now: float) -> None:
    """End the round if nothing is queued or leased: another crawler may have found work in the meantime."""
    if not tx.meta.resources(State.QUEUED) and not tx.meta.resources(State.LEASED):
        tx.db.execute("UPDATE rounds SET finished_at = ? WHERE finished_at IS NULL", (now,))


def requeue(tx: Transaction, now: float) -> int:
    """Queue again all that had its visit up to now."""
    which = "state IN ('visited', 'failed', 'refused', 'gone') AND visited_at <= ?"
    grouped = f"SELECT host, state, role, outcome, count(*) FROM resources WHERE {which} GROUP BY 1, 2, 3, 4"  # noqa: S608
    for host, state, role, outcome, times in tx.db.execute(grouped, (now,)).fetchall():
        tx.ledger.leave(host, state, role, outcome, times)
        tx.ledger.enter(host, State.QUEUED, role, outcome, times)
    update = f"""
        UPDATE resources SET state = 'queued', reason = '', tries = 0,
            priority = CASE WHEN priority <= {LAST_OF_ALL} THEN -depth ELSE priority END
        WHERE {which}"""  # noqa: S608
    return tx.db.execute(update, (now,)).rowcount


# -- readmit -----------------------------------------------------------------------------------------------------------


def readmit(tx: Transaction, admit: AdmitCandidates) -> int:
    """Decide anew on everything not visited yet, leased or not."""
    tx.meta["generation"] += 1  # what other processes remember of claims judged is no longer so
    depth = limits(tx.db).max_depth
    if depth is not None and not kept_minimal((row[0] for row in tx.db.execute("SELECT settings FROM rounds")), depth):
        shorten_ways(tx.db, depth)
    changed, last = 0, 0
    while claims := [claim_of(row) for row in tx.db.execute(CLAIMS, (last, FORGOTTEN, READMIT_AT_ONCE))]:
        admissions = admit([claim.candidate for claim in claims])
        decisions = ((claim, decided(claim, a)) for claim, a in zip(claims, admissions, strict=True))
        changes = [(claim, new) for claim, new in decisions if new != claim.standing]
        tx.db.executemany(READMIT, ((*new, claim.id) for claim, new in changes))
        for claim, new in changes:
            tx.ledger.leave(claim.host, claim.standing.state, claim.standing.role, claim.outcome)
            tx.ledger.enter(claim.host, new.state, new.role, claim.outcome)
        changed += sum(claim.standing.state != new.state for claim, new in changes)
        last = claims[-1].id
    return changed
