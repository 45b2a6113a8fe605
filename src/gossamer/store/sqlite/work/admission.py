"""Links into resources: insert new ones, improve known ones (`store/work/claims.py` decides)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gossamer.store.sqlite.bulk_insert import BulkInsert
from gossamer.store.sqlite.database import json_array
from gossamer.store.sqlite.work.digests import cache_resources
from gossamer.store.work import claims
from gossamer.store.work.url_cache import KnownResource
from gossamer.urls.canonical import authority

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.model import Candidate
    from gossamer.store.sqlite.database import Transaction
    from gossamer.store.work.claims import BestClaim

SELECT_CLAIMS = """
    SELECT id, host, state, role, outcome, depth, hops, asked, priority, tries, kind, follow, seed, reason,
        coalesce(number, 0)
    FROM resources LEFT JOIN backlinks ON resource = id WHERE id IN (SELECT value FROM json_each(?))"""
HOSTS_BY_NAME = "SELECT name, id FROM hosts WHERE name IN (SELECT value FROM json_each(?))"
INSERT = BulkInsert(
    "resources",
    "id, digest, host, state, role, depth, hops, asked, priority, kind, follow, seed, url, reason, discovered_at,"
    " discovered_by",
)
IMPROVE = """
    UPDATE resources SET state = ?, role = ?, depth = ?, hops = ?, asked = ?, priority = ?, tries = ?, kind = ?,
        follow = ?, seed = ?, reason = ?
    WHERE id = ?"""


def admit_candidates(
    tx: Transaction, candidates: Sequence[Candidate], known: dict[bytes, KnownResource], discovery: claims.Discovery
) -> list[int]:
    """Decide on candidates: insert the new ones, improve the known ones.

    `known` is the answer of `find_known_resources` for their digests; new resources are added to it. Return the ids of
    visited resources that got a smaller depth, so that the caller can pass it on along their links.
    """
    claimed = {known[c.digest].id for c in candidates if c.digest in known}
    rows = (
        {row.id: row for row in map(claims.ResourceClaim._make, tx.db.execute(SELECT_CLAIMS, (json_array(claimed),)))}
        if claimed
        else {}
    )
    news = list(claims.select_news(candidates, known, rows, discovery))
    if not news:
        return []
    best_claims = claims.choose_best_claims(news, discovery.admit(news))
    new = [choice for digest, choice in best_claims.items() if digest not in known]
    changed = [(rows[known[digest].id], choice) for digest, choice in best_claims.items() if digest in known]
    new_entries = _insert(tx, new, discovery)
    improved_entries, shallower = _improve(tx, changed, discovery)
    known.update(new_entries)
    known.update(improved_entries)
    cache_resources(tx, new_entries, improved_entries)
    return shallower


# -- new ---------------------------------------------------------------------------------------------------------------


def _insert(
    tx: Transaction, best_claims: Sequence[BestClaim], discovery: claims.Discovery
) -> dict[bytes, KnownResource]:
    if not best_claims:
        return {}
    names = [authority(choice.candidate.url) for choice in best_claims]
    hosts = host_ids(tx, set(names))
    first = tx.meta["last_resource"] + 1
    tx.meta["last_resource"] += len(best_claims)
    rows = [
        claims.new_row(resource, hosts[name], choice, discovery)
        for resource, (choice, name) in enumerate(zip(best_claims, names, strict=True), first)
    ]
    INSERT.insert(tx.db, rows)
    for (host, state, role), times in Counter(row[2:5] for row in rows).items():
        tx.counter_deltas.add(host, state, role, "", times)
    return {row[1]: KnownResource(row[0], row[7], claims.distance(row[5], row[6])) for row in rows}


def host_ids(tx: Transaction, names: set[str]) -> dict[str, int]:
    """Return the ids of hosts, inserting new hosts."""
    ids = {name: tx.url_cache.hosts[name] for name in names if name in tx.url_cache.hosts}
    missing = names.difference(ids)
    if missing:
        known = dict(tx.db.execute(HOSTS_BY_NAME, (json_array(missing),)))
        new = {name: tx.meta["last_host"] + n for n, name in enumerate(sorted(missing.difference(known)), 1)}
        tx.db.executemany("INSERT INTO hosts (name, id) VALUES (?, ?)", new.items())
        tx.meta["last_host"] += len(new)
        tx.meta["hosts"] += len(new)
        known.update(new)
        tx.url_cache.put_hosts(known)
        ids.update(known)
    return ids


# -- known -------------------------------------------------------------------------------------------------------------


def _improve(
    tx: Transaction, changes: Sequence[tuple[claims.ResourceClaim, BestClaim]], discovery: claims.Discovery
) -> tuple[dict[bytes, KnownResource], list[int]]:
    """Write the changes by claims; return what is known now, and the resources with a smaller depth."""
    entries: dict[bytes, KnownResource] = {}
    shallower, updates = [], []
    for row, claim in changes:
        new = claims.apply_claim(row, claim, discovery)
        entries[claim.candidate.digest] = claims.to_known_resource(new)
        if new == row:
            continue
        if new.depth < row.depth and row.state not in claims.OPEN_STATES | claims.ACTIVE_STATES:
            shallower.append(row.id)
        tx.counter_deltas.subtract(row.host, row.state, row.role, row.outcome)
        tx.counter_deltas.add(row.host, new.state, new.role, row.outcome)
        updates.append(claims.improved_row(new))
    tx.db.executemany(IMPROVE, updates)
    return entries, shallower
