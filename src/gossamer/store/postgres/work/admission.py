"""Turning candidates into resources: insert new ones, improve known ones (`store/work/claims.py` decides).

Several writers may find the same new URL at the same time. The first one inserts it. The others wait for its commit and
then treat the resource as known. Writers insert URLs in the order of their digests, to avoid deadlocks.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from gossamer.store.postgres.bulk_copy import (
    IMPROVED,
    NEW_RESOURCES,
    bytes_column,
    int_column,
    number_column,
    text_column,
)
from gossamer.store.postgres.database import int_array
from gossamer.store.work import claims
from gossamer.store.work.url_cache import KnownResource
from gossamer.urls.canonical import authority

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gossamer.model import Candidate
    from gossamer.store.postgres.database import Connection, Transaction
    from gossamer.store.work.claims import BestClaim

DIGEST_BYTES = 16

KNOWN_BY_DIGEST = f"""
    WITH given AS MATERIALIZED (SELECT %s::bytea AS digests)
    SELECT r.digest, r.id, r.asked, r.depth, r.hops
    FROM given CROSS JOIN generate_series(1, octet_length(given.digests), {DIGEST_BYTES}) AS n
    JOIN resources AS r ON r.digest = substr(given.digests, n, {DIGEST_BYTES})"""  # noqa: S608
SELECT_CLAIMS = """
    SELECT r.id, r.host, r.state, r.role, r.outcome, r.depth, r.hops, r.asked, r.priority, r.tries, r.kind, r.follow,
        r.seed, r.reason, coalesce((SELECT number FROM backlinks WHERE resource = r.id), 0)
    FROM resources AS r WHERE r.id = ANY(%s::bigint[])"""
HOSTS_BY_NAME = "SELECT name, id FROM hosts WHERE name = ANY(%s::text[])"
NEW_HOSTS = """
    INSERT INTO hosts (name) SELECT name FROM unnest(%s::text[]) AS n (name) ORDER BY name
    ON CONFLICT DO NOTHING RETURNING name, id"""
IDS = "SELECT nextval('resource_ids') FROM generate_series(1, %s)"
INSERT = f"""
    INSERT INTO resources ({", ".join(NEW_RESOURCES)})
    SELECT {", ".join(NEW_RESOURCES)} FROM new_resources ORDER BY digest
    ON CONFLICT (digest) DO NOTHING"""  # noqa: S608
INSERTED_BY_OTHERS = """
    SELECT r.digest, r.id, r.asked, r.depth, r.hops
    FROM new_resources AS n JOIN resources AS r ON r.digest = n.digest WHERE r.id <> n.id"""
IMPROVE = f"""
    UPDATE resources AS r SET {", ".join(f"{name} = i.{name}" for name in IMPROVED[:-1])}
    FROM improved AS i WHERE r.id = i.id"""  # noqa: S608


class Proposal(NamedTuple):
    """Decisions on known resources that are not written yet."""

    claims: dict[int, BestClaim]  # by resource
    hosts: frozenset[int]  # of these resources


def find_known_resources(tx: Transaction, wanted: Iterable[bytes]) -> dict[bytes, KnownResource]:
    """Return the known resources among these digests, from the cache or the database."""
    requested = set(wanted)
    known = tx.url_cache.lookup(requested)
    missing = requested.difference(known)
    if missing:
        loaded = load_known_resources(tx.db, KNOWN_BY_DIGEST, (b"".join(sorted(missing)),))
        tx.url_cache.put(loaded)
        known.update(loaded)
    return known


def load_known_resources(
    db: Connection, statement: str, parameters: Sequence[object] = ()
) -> dict[bytes, KnownResource]:
    """Return the resources that a statement selects, as entries of the cache."""
    rows = db.execute(statement, parameters)
    return {
        digest: KnownResource(number, asked, claims.distance(depth, hops))
        for digest, number, asked, depth, hops in rows
    }


def admit_candidates(
    tx: Transaction, candidates: Sequence[Candidate], known: dict[bytes, KnownResource], discovery: claims.Discovery
) -> list[int]:
    """Insert new candidates and improve known ones. The transaction is exclusive or holds the row `version`.

    `known` comes from `find_known_resources`; this function adds the new ones. It returns the ids of visited resources
    whose depth became smaller, so that the caller can propagate it along their links.
    """
    return improve(tx, propose(tx, candidates, known, discovery), discovery)


def propose(
    tx: Transaction, candidates: Sequence[Candidate], known: dict[bytes, KnownResource], discovery: claims.Discovery
) -> Proposal:
    """Decide on candidates and insert the new ones; `improve` writes the changes of known ones."""
    claimed = {known[c.digest].id for c in candidates if c.digest in known}
    rows = load_claims(tx.db, claimed)
    news = list(claims.select_news(candidates, known, rows, discovery))
    if not news:
        return Proposal({}, frozenset())
    best_claims = claims.choose_best_claims(news, discovery.admit(news))
    entries, late = _insert(tx, [choice for digest, choice in best_claims.items() if digest not in known], discovery)
    known.update(late)
    rows |= load_claims(tx.db, {entry.id for entry in late.values()})
    known_claims = {known[digest].id: choice for digest, choice in best_claims.items() if digest in known}
    known.update(entries)
    tx.url_cache.put(entries)
    return Proposal(known_claims, frozenset(rows[resource].host for resource in known_claims))


def load_claims(db: Connection, resources: Collection[int]) -> dict[int, claims.ResourceClaim]:
    """Return the stored state of resources."""
    return (
        {row.id: row for row in map(claims.ResourceClaim._make, db.execute(SELECT_CLAIMS, (int_array(resources),)))}
        if resources
        else {}
    )


# -- new resources -----------------------------------------------------------------------------------------------------


def _insert(
    tx: Transaction, best_claims: Sequence[BestClaim], discovery: claims.Discovery
) -> tuple[dict[bytes, KnownResource], dict[bytes, KnownResource]]:
    """Insert new resources; return the inserted ones, and the ones that another writer inserted first."""
    if not best_claims:
        return {}, {}
    names = [authority(choice.candidate.url) for choice in best_claims]
    hosts = host_ids(tx, set(names))
    ids = (number for (number,) in tx.db.execute(IDS, (len(best_claims),)).fetchall())
    rows = [
        claims.new_row(resource, hosts[name], choice, discovery)
        for resource, name, choice in zip(ids, names, best_claims, strict=True)
    ]
    _stage(tx, rows)
    inserted = tx.db.execute(INSERT).rowcount
    late = load_known_resources(tx.db, INSERTED_BY_OTHERS) if inserted < len(rows) else {}
    inserted_rows = [row for row in rows if row[1] not in late]
    for (host, state, role), times in Counter(row[2:5] for row in inserted_rows).items():
        tx.counter_deltas.add(host, state, role, "", times)
    return {row[1]: KnownResource(row[0], row[7], claims.distance(row[5], row[6])) for row in inserted_rows}, late


def _stage(tx: Transaction, rows: Sequence[tuple[Any, ...]]) -> None:
    columns = list(zip(*rows, strict=True))
    tx.stage(
        "new_resources", NEW_RESOURCES,
        [
            int_column(columns[0]), bytes_column(columns[1]), int_column(columns[2]), columns[3], columns[4],
            int_column(columns[5]), int_column(columns[6]), int_column(columns[7]), number_column(columns[8]),
            int_column(columns[9]), int_column(columns[10]), int_column(columns[11]), text_column(columns[12]),
            text_column(columns[13]), number_column(columns[14]), number_column(columns[15]),
        ],
    )  # fmt: skip


def host_ids(tx: Transaction, names: set[str]) -> dict[str, int]:
    """Return the ids of hosts; insert new ones."""
    ids = {name: tx.url_cache.hosts[name] for name in names if name in tx.url_cache.hosts}
    missing = names.difference(ids)
    if missing:
        known: dict[str, int] = dict(tx.db.execute(HOSTS_BY_NAME, (sorted(missing),)).fetchall())
        if unknown := sorted(missing.difference(known)):
            created: dict[str, int] = dict(tx.db.execute(NEW_HOSTS, (unknown,)).fetchall())
            tx.meta["hosts"] += len(created)
            known |= created
            if others := sorted(set(unknown).difference(created)):  # another writer inserted them first
                known |= dict(tx.db.execute(HOSTS_BY_NAME, (others,)).fetchall())
        tx.url_cache.put_hosts(known)
        ids.update(known)
    return ids


# -- known resources ---------------------------------------------------------------------------------------------------


def improve(tx: Transaction, proposal: Proposal, discovery: claims.Discovery) -> list[int]:
    """Apply claims to the current rows; return the visited resources whose depth became smaller."""
    rows = load_claims(tx.db, proposal.claims)
    shallower, updates, entries = [], [], {}
    for resource, claim in proposal.claims.items():
        row = rows[resource]
        new = claims.apply_claim(row, claim, discovery)
        entries[claim.candidate.digest] = claims.to_known_resource(new)
        if new == row:
            continue
        if new.depth < row.depth and row.state not in claims.OPEN_STATES | claims.ACTIVE_STATES:
            shallower.append(row.id)
        tx.counter_deltas.subtract(row.host, row.state, row.role, row.outcome)
        tx.counter_deltas.add(row.host, new.state, new.role, row.outcome)
        updates.append(claims.improved_row(new))
    tx.url_cache.put(entries)
    if updates:
        columns = list(zip(*updates, strict=True))
        written = [
            columns[0],
            columns[1],
            *map(number_column, columns[2:10]),
            text_column(columns[10]),
            int_column(columns[11]),
        ]
        tx.stage("improved", IMPROVED, written)
        tx.db.execute(IMPROVE)
    return shallower
