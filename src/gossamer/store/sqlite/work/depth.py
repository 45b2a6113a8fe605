"""Pass smaller depths on along stored links, in rounds that limit depth; a wrong depth would lose pages."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from gossamer.model import Kind
from gossamer.store.sqlite.database import json_array
from gossamer.store.sqlite.work.admission import admit_candidates
from gossamer.store.sqlite.work.digests import find_known_resources
from gossamer.store.work.claims import Discovery, distance, is_news, strength
from gossamer.store.work.visit_rows import stored_link_candidate

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from gossamer.store.sqlite.database import Transaction

PAGES_AT_ONCE = 200  # pages whose links are read together, to bound memory

OUTLINKS = """
    SELECT t.digest, t.url, l.kind, l.follow, l.anchor, s.depth, s.hops, s.role, s.topic
    FROM resources AS s JOIN links AS l ON l.source = s.id JOIN resources AS t ON t.id = l.target
    WHERE s.id IN (SELECT value FROM json_each(?)) AND s.depth < ?"""
# Targets of links are one level deeper, targets of redirects are not. Kinds from 20 on are embeds.
SHORTEN_BY_LINK = """
    UPDATE resources SET depth = ?1 + 1, hops = 0 WHERE depth > ?1 + 1 AND id IN (
        SELECT l.target FROM resources AS s JOIN links AS l ON l.source = s.id
        WHERE s.depth = ?1 AND l.follow AND l.kind < 20 AND l.kind <> ?2)"""
SHORTEN_BY_REDIRECT = """
    UPDATE resources SET depth = ?1 WHERE depth > ?1 AND id IN (
        SELECT l.target FROM resources AS s JOIN links AS l ON l.source = s.id AND l.seq = 0
        WHERE s.depth = ?1 AND l.kind = ?2)"""


def propagate_depths(tx: Transaction, shallower: Iterable[int], max_depth: int | None, discovery: Discovery) -> None:
    """Give the targets of these pages smaller depths, and so on.

    Each resource can improve at most `max_depth` times.
    """
    pending = deque(shallower if max_depth is not None else ())
    while pending:
        chunk = [pending.popleft() for _ in range(min(len(pending), PAGES_AT_ONCE))]
        candidates = [
            stored_link_candidate(row) for row in tx.db.execute(OUTLINKS, (json_array(chunk), max_depth)).fetchall()
        ]
        known = find_known_resources(tx, (candidate.digest for candidate in candidates))
        news = [c for c in candidates if is_news(known[c.digest], strength(c), distance(c.depth, c.hops))]
        pending.extend(admit_candidates(tx, news, known, discovery))


def minimize_depths(db: sqlite3.Connection, max_depth: int) -> None:
    """Make depths minimal, level by level; rounds without a depth limit do not keep them minimal."""
    for depth in range(max_depth + 1):
        while db.execute(SHORTEN_BY_REDIRECT, (depth, int(Kind.REDIRECT))).rowcount:
            pass
        db.execute(SHORTEN_BY_LINK, (depth, int(Kind.REDIRECT)))
