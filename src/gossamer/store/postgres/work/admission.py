"""From links to resources: who is known, who is new, who may now be visited (`store/work/claims.py` decides).

Several writers may find the same new URL at the same time. The first to insert it wins, the other waits until that one
has committed and then takes its resource for a known one. New URLs are inserted in the order of their digests, so that
two writers do not wait for each other.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from gossamer.store.postgres.bulk_copy import digests, numbers, texts, whole
from gossamer.store.postgres.database import ints
from gossamer.store.work.claims import (
    OPEN,
    UNDER_WAY,
    Finder,
    Row,
    authority,
    choose,
    distance,
    improved,
    improved_row,
    new_row,
    remembered,
    worth_asking,
)
from gossamer.store.work.url_cache import Remembered

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gossamer.model import Candidate
    from gossamer.store.postgres.database import Connection, Transaction
    from gossamer.store.work.claims import Choice

DIGEST_BYTES = 16

KNOWN_BY_DIGEST = f"""
    WITH given AS MATERIALIZED (SELECT %s::bytea AS digests)
    SELECT r.digest, r.id, r.asked, r.depth, r.hops
    FROM given CROSS JOIN generate_series(1, octet_length(given.digests), {DIGEST_BYTES}) AS n
    JOIN resources AS r ON r.digest = substr(given.digests, n, {DIGEST_BYTES})"""  # noqa: S608
ROWS = """
    SELECT r.id, r.host, r.state, r.role, r.outcome, r.depth, r.hops, r.asked, r.priority, r.tries, r.kind, r.follow,
        r.seed, r.reason, coalesce((SELECT number FROM backlinks WHERE resource = r.id), 0)
    FROM resources AS r WHERE r.id = ANY(%s::bigint[])"""
HOSTS_BY_NAME = "SELECT name, id FROM hosts WHERE name = ANY(%s::text[])"
NEW_HOSTS = """
    INSERT INTO hosts (name) SELECT name FROM unnest(%s::text[]) AS n (name) ORDER BY name
    ON CONFLICT DO NOTHING RETURNING name, id"""
IDS = "SELECT nextval('resource_ids') FROM generate_series(1, %s)"
NEW = (
    "id", "digest", "host", "state", "role", "depth", "hops", "asked", "priority", "kind", "follow", "seed", "url",
    "reason", "discovered_at", "discovered_by",
)  # fmt: skip
INSERT = f"""
    INSERT INTO resources ({", ".join(NEW)}) SELECT {", ".join(NEW)} FROM new_resources ORDER BY digest
    ON CONFLICT (digest) DO NOTHING"""  # noqa: S608
FOUND_BY_OTHERS = """
    SELECT r.digest, r.id, r.asked, r.depth, r.hops
    FROM new_resources AS n JOIN resources AS r ON r.digest = n.digest WHERE r.id <> n.id"""
IMPROVED = (
    "state", "role", "depth", "hops", "asked", "priority", "tries", "kind", "follow", "seed", "reason", "id",
)  # fmt: skip
IMPROVE = f"""
    UPDATE resources AS r SET {", ".join(f"{name} = i.{name}" for name in IMPROVED[:-1])}
    FROM improved AS i WHERE r.id = i.id"""  # noqa: S608


class Proposal(NamedTuple):
    """What was decided on candidates and is not written yet: the choices on resources that are known, by id."""

    choices: dict[int, Choice]
    hosts: frozenset[int]  # theirs


def recall(tx: Transaction, wanted: Iterable[bytes]) -> dict[bytes, Remembered]:
    """Those of the resources that are known, from memory or from the database."""
    digests_ = set(wanted)
    found = tx.memory.recall(digests_)
    missing = digests_.difference(found)
    if missing:
        read = known_in(tx.db, KNOWN_BY_DIGEST, (b"".join(sorted(missing)),))
        tx.memory.remember(read)
        found.update(read)
    return found


def known_in(db: Connection, statement: str, parameters: Sequence[object] = ()) -> dict[bytes, Remembered]:
    """Resources that a statement finds, as they are remembered."""
    rows = db.execute(statement, parameters)
    return {digest: Remembered(number, asked, distance(depth, hops)) for digest, number, asked, depth, hops in rows}


def settle(
    tx: Transaction, candidates: Sequence[Candidate], known: dict[bytes, Remembered], finder: Finder
) -> list[int]:
    """Decide on candidates: insert the new ones, improve the known ones; for who is alone, or has passed the gate.

    `known` is what `recall` said of their digests; the new ones are added to it. Returns the ids of visited resources
    that are less deep than before, so that the caller can pass that on along their links.
    """
    return improve(tx, propose(tx, candidates, known, finder), finder)


def propose(
    tx: Transaction, candidates: Sequence[Candidate], known: dict[bytes, Remembered], finder: Finder
) -> Proposal:
    """Decide on candidates and insert the new ones; what changes of the known ones is left to `improve`."""
    claimed = {known[c.digest].id for c in candidates if c.digest in known}
    rows = rows_of(tx.db, claimed)
    asked = list(worth_asking(candidates, known, rows, finder))
    if not asked:
        return Proposal({}, frozenset())
    choices = choose(asked, finder.admit(asked))
    entries, late = _insert(tx, [choice for digest, choice in choices.items() if digest not in known], finder)
    known.update(late)
    rows |= rows_of(tx.db, {entry.id for entry in late.values()})
    left = {known[digest].id: choice for digest, choice in choices.items() if digest in known}
    known.update(entries)
    tx.memory.remember(entries)
    return Proposal(left, frozenset(rows[resource].host for resource in left))


def rows_of(db: Connection, resources: Collection[int]) -> dict[int, Row]:
    """Resources as they are."""
    return {row.id: row for row in map(Row._make, db.execute(ROWS, (ints(resources),)))} if resources else {}


# -- new ---------------------------------------------------------------------------------------------------------------


def _insert(
    tx: Transaction, choices: Sequence[Choice], finder: Finder
) -> tuple[dict[bytes, Remembered], dict[bytes, Remembered]]:
    """Insert new resources; returns those inserted, and those that another writer inserted just now."""
    if not choices:
        return {}, {}
    names = [authority(choice.candidate.url) for choice in choices]
    hosts = host_ids(tx, set(names))
    ids = (number for (number,) in tx.db.execute(IDS, (len(choices),)).fetchall())
    rows = [
        new_row(resource, hosts[name], choice, finder)
        for resource, name, choice in zip(ids, names, choices, strict=True)
    ]
    _stage(tx, rows)
    inserted = tx.db.execute(INSERT).rowcount
    late = known_in(tx.db, FOUND_BY_OTHERS) if inserted < len(rows) else {}
    mine = [row for row in rows if row[1] not in late]
    for (host, state, role), times in Counter(row[2:5] for row in mine).items():
        tx.ledger.enter(host, state, role, "", times)
    return {row[1]: Remembered(row[0], row[7], distance(row[5], row[6])) for row in mine}, late


def _stage(tx: Transaction, rows: Sequence[tuple[Any, ...]]) -> None:
    columns = list(zip(*rows, strict=True))
    tx.stage(
        "new_resources", NEW,
        [
            whole(columns[0]), digests(columns[1]), whole(columns[2]), columns[3], columns[4], whole(columns[5]),
            whole(columns[6]), whole(columns[7]), numbers(columns[8]), whole(columns[9]), whole(columns[10]),
            whole(columns[11]), texts(columns[12]), texts(columns[13]), numbers(columns[14]), numbers(columns[15]),
        ],
    )  # fmt: skip


def host_ids(tx: Transaction, names: set[str]) -> dict[str, int]:
    """The ids of hosts, new ones made as needed."""
    ids = {name: tx.memory.hosts[name] for name in names if name in tx.memory.hosts}
    missing = names.difference(ids)
    if missing:
        found: dict[str, int] = dict(tx.db.execute(HOSTS_BY_NAME, (sorted(missing),)).fetchall())
        if unknown := sorted(missing.difference(found)):
            made: dict[str, int] = dict(tx.db.execute(NEW_HOSTS, (unknown,)).fetchall())
            tx.meta["hosts"] += len(made)
            found |= made
            if others := sorted(set(unknown).difference(made)):  # another writer made them just now
                found |= dict(tx.db.execute(HOSTS_BY_NAME, (others,)).fetchall())
        tx.memory.remember_hosts(found)
        ids.update(found)
    return ids


# -- known -------------------------------------------------------------------------------------------------------------


def improve(tx: Transaction, proposal: Proposal, finder: Finder) -> list[int]:
    """Write what the choices change of resources as they are now; returns visited ones that are less deep now."""
    rows = rows_of(tx.db, proposal.choices)
    shallower, updates, entries = [], [], {}
    for resource, choice in proposal.choices.items():
        row = rows[resource]
        new = improved(row, choice, finder)
        entries[choice.candidate.digest] = remembered(new)
        if new == row:
            continue
        if new.depth < row.depth and row.state not in OPEN | UNDER_WAY:
            shallower.append(row.id)
        tx.ledger.leave(row.host, row.state, row.role, row.outcome)
        tx.ledger.enter(row.host, new.state, new.role, row.outcome)
        updates.append(improved_row(new))
    tx.memory.remember(entries)
    if updates:
        columns = list(zip(*updates, strict=True))
        written = [columns[0], columns[1], *map(numbers, columns[2:10]), texts(columns[10]), whole(columns[11])]
        tx.stage("improved", IMPROVED, written)
        tx.db.execute(IMPROVE)
    return shallower
