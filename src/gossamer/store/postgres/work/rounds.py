"""What was asked: rounds with their seeds and limits, and what a new round does to resources known before.

All that writes here is alone (database.py).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gossamer.model import State
from gossamer.store.postgres.bulk_copy import numbers, texts, whole
from gossamer.store.postgres.work.depth import shorten_ways
from gossamer.store.work.claims import FORGOTTEN
from gossamer.store.work.rounds import (
    LAST_OF_ALL,
    READMIT_AT_ONCE,
    Claim,
    Limits,
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
    from collections.abc import Sequence

    from gossamer.model import AdmitCandidates
    from gossamer.store.postgres.database import Connection, Transaction
    from gossamer.store.values import Round
    from gossamer.store.work.rounds import RoundRow

LAST = """
    SELECT id, started_at, finished_at, settings, max_pages, max_pages_per_host, pages
    FROM rounds ORDER BY id DESC LIMIT 1"""
JOINED = "SELECT url FROM resources WHERE seed = 1 ORDER BY id"
MARKED = "SELECT count(*), max(id) FROM resources WHERE seed = 1"
BEGIN = """
    INSERT INTO rounds (started_at, settings, max_pages, max_pages_per_host) VALUES (%s, %s, %s, %s) RETURNING id"""
SEEDS = """
    INSERT INTO seeds (round, seq, url) SELECT %s, n - 1, url FROM unnest(%s::text[]) WITH ORDINALITY AS s (url, n)"""
READ_ANEW = "UPDATE resources SET etag = '', last_modified = '' WHERE etag <> '' OR last_modified <> ''"
COUNT_ANEW = "UPDATE hosts SET round_pages = 0, spent = 0 WHERE round_pages > 0 OR spent > 0"
FINISH = "UPDATE rounds SET finished_at = %s WHERE finished_at IS NULL"
AGAIN = f"""
    state = 'queued', reason = '', tries = 0,
    priority = CASE WHEN priority <= {LAST_OF_ALL} THEN -depth ELSE priority END"""
HAD_VISIT = "state IN ('visited', 'failed', 'refused', 'gone') AND visited_at <= %s"
STANDINGS = f"SELECT host, state, role, outcome, count(*) FROM resources WHERE {HAD_VISIT} GROUP BY 1, 2, 3, 4"  # noqa: S608
REQUEUE = f"UPDATE resources SET {AGAIN} WHERE {HAD_VISIT}"  # noqa: S608
# Not what an import has claimed, for which no scope is asked: it is a crawler without parsers that can be changed.
CLAIMS = """
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
READMITTED = ("state", "role", "reason", "priority", "asked", "id")
READMIT = """
    UPDATE resources AS r SET state = n.state, role = n.role, reason = n.reason, priority = n.priority, asked = n.asked
    FROM readmitted AS n WHERE r.id = n.id"""


def last(db: Connection) -> RoundRow | None:
    """The row of the last round begun."""
    return db.execute(LAST).fetchone()


def current(db: Connection, seeds_read: SeedsRead | None = None) -> Round | None:
    """The last round begun, finished or not. What is in memory must not come from a transaction that may fail."""
    row = last(db)
    if row is None:
        return None
    seeds_read = seeds_read or SeedsRead()
    return round_of(row, seeds_read.of(row[0], db.execute(MARKED).fetchone(), partial(_seeds, db)))


def _seeds(db: Connection, round_id: int) -> RoundSeeds:
    given = db.execute("SELECT url FROM seeds WHERE round = %s ORDER BY seq", (round_id,)).fetchall()
    return RoundSeeds.of((url for (url,) in given), (url for (url,) in db.execute(JOINED)))


def limits(db: Connection) -> Limits:
    """What the current round allows; everything when there is none."""
    return limits_of(last(db))


def begin(
    tx: Transaction, settings: str, seeds: Sequence[str], max_pages: int | None, max_pages_per_host: int | None,
    now: float,
) -> Round:  # fmt: skip
    """Start a round; the one before, if it is under way, ends here, and its seeds stay seeds."""
    before = current(tx.db)
    if before is not None and not reads_alike(before.settings, settings):
        tx.db.execute(READ_ANEW)
    seeds = tuple(dict.fromkeys((*(before.seeds if before else ()), *seeds)))
    tx.db.execute(FINISH, (now,))
    begun = tx.db.execute(BEGIN, (now, settings, max_pages, max_pages_per_host)).fetchone()
    assert begun is not None
    tx.db.execute(SEEDS, (begun[0], list(seeds)))
    tx.db.execute(COUNT_ANEW)
    started = current(tx.db)
    assert started is not None
    return started


def finish(tx: Transaction, now: float) -> None:
    """End the round if nothing is queued or leased: another crawler may have found work in the meantime."""
    totals = tx.totals()
    if not totals[f"resources {State.QUEUED}"] and not totals[f"resources {State.LEASED}"]:
        tx.db.execute(FINISH, (now,))


def requeue(tx: Transaction, now: float) -> int:
    """Queue again all that had its visit up to now."""
    for host, state, role, outcome, times in tx.db.execute(STANDINGS, (now,)).fetchall():
        tx.ledger.leave(host, state, role, outcome, times)
        tx.ledger.enter(host, State.QUEUED, role, outcome, times)
    return tx.db.execute(REQUEUE, (now,)).rowcount


def readmit(tx: Transaction, admit: AdmitCandidates) -> int:
    """Decide anew on everything not visited yet, leased or not."""
    # What other processes remember of claims judged is no longer so.
    tx.db.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
    depth = limits(tx.db).max_depth
    if depth is not None and not kept_minimal((row[0] for row in tx.db.execute("SELECT settings FROM rounds")), depth):
        shorten_ways(tx.db, depth)
    changed, last_ = 0, 0
    while claims := [claim_of(row) for row in tx.db.execute(CLAIMS, (last_, FORGOTTEN, READMIT_AT_ONCE))]:
        changed += _decide(tx, claims, admit)
        last_ = claims[-1].id
    return changed


def _decide(tx: Transaction, claims: Sequence[Claim], admit: AdmitCandidates) -> int:
    """Decide on some; returns how many changed their state."""
    admissions = admit([claim.candidate for claim in claims])
    decisions = ((claim, decided(claim, a)) for claim, a in zip(claims, admissions, strict=True))
    changes = [(claim, new) for claim, new in decisions if new != claim.standing]
    if not changes:
        return 0
    state, role, reason, priority, asked, ids = zip(*((*new, claim.id) for claim, new in changes), strict=True)
    columns = [state, role, texts(reason), numbers(priority), whole(asked), whole(ids)]
    tx.stage("readmitted", READMITTED, columns)
    tx.db.execute(READMIT)
    for claim, new in changes:
        tx.ledger.leave(claim.host, claim.standing.state, claim.standing.role, claim.outcome)
        tx.ledger.enter(claim.host, new.state, new.role, claim.outcome)
    return sum(claim.standing.state != new.state for claim, new in changes)
