"""Propagating smaller depths along stored links. With a depth limit, a depth that is too great would lose pages."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from gossamer.model import Kind
from gossamer.store.postgres.database import int_array
from gossamer.store.postgres.work.admission import admit_candidates, find_known_resources
from gossamer.store.work.claims import Discovery, distance, is_news, strength
from gossamer.store.work.visit_rows import stored_link_candidate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gossamer.store.postgres.database import Connection, Transaction

PAGES_AT_ONCE = 200  # pages whose links are read together; bounds memory

OUTLINKS = """
    SELECT t.digest, t.url, l.kind, l.follow, l.anchor, s.depth, s.hops, s.role, s.topic
    FROM resources AS s JOIN links AS l ON l.source = s.id JOIN resources AS t ON t.id = l.target
    WHERE s.id = ANY(%s::bigint[]) AND s.depth < %s"""
# Links that a reader follows add one level (kinds below 20; embeds have 20 and above). Redirects add none.
SHORTEN_BY_LINK = """
    UPDATE resources SET depth = %(depth)s + 1, hops = 0 WHERE depth > %(depth)s + 1 AND id IN (
        SELECT l.target FROM resources AS s JOIN links AS l ON l.source = s.id
        WHERE s.depth = %(depth)s AND l.follow = 1 AND l.kind < 20 AND l.kind <> %(redirect)s)"""
SHORTEN_BY_REDIRECT = """
    UPDATE resources SET depth = %(depth)s WHERE depth > %(depth)s AND id IN (
        SELECT l.target FROM resources AS s JOIN links AS l ON l.source = s.id AND l.seq = 0
        WHERE s.depth = %(depth)s AND l.kind = %(redirect)s)"""


def propagate_depths(tx: Transaction, shallower: Iterable[int], max_depth: int | None, discovery: Discovery) -> None:
    """Propagate smaller depths to link targets, transitively. A page can improve at most `max_depth` times."""
    pending = deque(shallower if max_depth is not None else ())
    while pending:
        chunk = [pending.popleft() for _ in range(min(len(pending), PAGES_AT_ONCE))]
        candidates = [
            stored_link_candidate(row) for row in tx.db.execute(OUTLINKS, (int_array(chunk), max_depth)).fetchall()
        ]
        known = find_known_resources(tx, (candidate.digest for candidate in candidates))
        news = [c for c in candidates if is_news(known[c.digest], strength(c), distance(c.depth, c.hops))]
        pending.extend(admit_candidates(tx, news, known, discovery))


def minimize_depths(db: Connection, max_depth: int) -> None:
    """Make all depths minimal, level by level. Rounds without a depth limit do not keep them minimal."""
    for depth in range(max_depth + 1):
        values = {"depth": depth, "redirect": int(Kind.REDIRECT)}
        while db.execute(SHORTEN_BY_REDIRECT, values).rowcount:
            pass
        db.execute(SHORTEN_BY_LINK, values)
