"""From links to resources: who is known, who is new, who may now be visited (`store/work/claims.py` decides)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from gossamer.store.sqlite.bulk_insert import Insertion
from gossamer.store.sqlite.work.digests import remember
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
    from collections.abc import Iterable, Sequence

    from gossamer.model import Candidate
    from gossamer.store.sqlite.database import Transaction
    from gossamer.store.work.claims import Choice

ROWS = """
    SELECT id, host, state, role, outcome, depth, hops, asked, priority, tries, kind, follow, seed, reason,
        coalesce(number, 0)
    FROM resources LEFT JOIN backlinks ON resource = id WHERE id IN (SELECT value FROM json_each(?))"""
HOSTS_BY_NAME = "SELECT name, id FROM hosts WHERE name IN (SELECT value FROM json_each(?))"
INSERT = Insertion(
    "resources",
    "id, digest, host, state, role, depth, hops, asked, priority, kind, follow, seed, url, reason, discovered_at,"
    " discovered_by",
)
IMPROVE = """
    UPDATE resources SET state = ?, role = ?, depth = ?, hops = ?, asked = ?, priority = ?, tries = ?, kind = ?,
        follow = ?, seed = ?, reason = ?
    WHERE id = ?"""


def as_json(values: Iterable[int] | Iterable[str]) -> str:
    """Ids or names as one parameter, for `IN (SELECT value FROM json_each(?))`."""
    return msgspec.json.encode(list(values)).decode()


def settle(
    tx: Transaction, candidates: Sequence[Candidate], known: dict[bytes, Remembered], finder: Finder
) -> list[int]:
    """Decide on candidates: insert the new ones, improve the known ones.

    `known` is what `recall` said of their digests; the new ones are added to it. Returns the ids of visited resources
    that are less deep than before, so that the caller can pass that on along their links.
    """
    claimed = {known[c.digest].id for c in candidates if c.digest in known}
    rows = {row.id: row for row in map(Row._make, tx.db.execute(ROWS, (as_json(claimed),)))} if claimed else {}
    asked = list(worth_asking(candidates, known, rows, finder))
    if not asked:
        return []
    choices = choose(asked, finder.admit(asked))
    new = [choice for digest, choice in choices.items() if digest not in known]
    changed = [(rows[known[digest].id], choice) for digest, choice in choices.items() if digest in known]
    added = _insert(tx, new, finder)
    bettered, shallower = _improve(tx, changed, finder)
    known.update(added)
    known.update(bettered)
    remember(tx, added, bettered)
    return shallower


# -- new ---------------------------------------------------------------------------------------------------------------


def _insert(tx: Transaction, choices: Sequence[Choice], finder: Finder) -> dict[bytes, Remembered]:
    if not choices:
        return {}
    names = [authority(choice.candidate.url) for choice in choices]
    hosts = host_ids(tx, set(names))
    first = tx.meta["last_resource"] + 1
    tx.meta["last_resource"] += len(choices)
    rows = [
        new_row(resource, hosts[name], choice, finder)
        for resource, (choice, name) in enumerate(zip(choices, names, strict=True), first)
    ]
    INSERT.run(tx.db, rows)
    for (host, state, role), times in Counter(row[2:5] for row in rows).items():
        tx.ledger.enter(host, state, role, "", times)
    return {row[1]: Remembered(row[0], row[7], distance(row[5], row[6])) for row in rows}


def host_ids(tx: Transaction, names: set[str]) -> dict[str, int]:
    """The ids of hosts, new ones made as needed."""
    ids = {name: tx.memory.hosts[name] for name in names if name in tx.memory.hosts}
    missing = names.difference(ids)
    if missing:
        found = dict(tx.db.execute(HOSTS_BY_NAME, (as_json(missing),)))
        new = {name: tx.meta["last_host"] + n for n, name in enumerate(sorted(missing.difference(found)), 1)}
        tx.db.executemany("INSERT INTO hosts (name, id) VALUES (?, ?)", new.items())
        tx.meta["last_host"] += len(new)
        tx.meta["hosts"] += len(new)
        found.update(new)
        tx.memory.remember_hosts(found)
        ids.update(found)
    return ids


# -- known -------------------------------------------------------------------------------------------------------------


def _improve(
    tx: Transaction, changes: Sequence[tuple[Row, Choice]], finder: Finder
) -> tuple[dict[bytes, Remembered], list[int]]:
    """Write what the choices change; gives what is known now, and what is less deep."""
    entries: dict[bytes, Remembered] = {}
    shallower, updates = [], []
    for row, choice in changes:
        new = improved(row, choice, finder)
        entries[choice.candidate.digest] = remembered(new)
        if new == row:
            continue
        if new.depth < row.depth and row.state not in OPEN | UNDER_WAY:
            shallower.append(row.id)
        tx.ledger.leave(row.host, row.state, row.role, row.outcome)
        tx.ledger.enter(row.host, new.state, new.role, row.outcome)
        updates.append(improved_row(new))
    tx.db.executemany(IMPROVE, updates)
    return entries, shallower
