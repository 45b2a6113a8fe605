"""From links to resources: who is known, who is new, who may now be visited.

Every way a URL can be found (a link, a redirect, a seed, a link found again at a smaller depth) ends in `settle`. It
asks the crawl's `admit` only about claims that are news: the resource is unknown, or this claim on it is stronger or
nearer than all that were judged before. Thousands of links to what is known for long cost a dictionary look-up each.
"""

from __future__ import annotations

from collections import Counter
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from gossamer.model import EMBEDS, Admission, Candidate, Kind, Role, State
from gossamer.store.sqlite.memory import Remembered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gossamer.model import Admit
    from gossamer.store.sqlite.database import Transaction

DIGEST_BYTES = 16
FORGOTTEN = "forgotten"  # reason of a resource that stays known only because remembered pages link to it
OPEN = frozenset({State.KNOWN, State.OUT_OF_SCOPE})  # not admitted so far
UNDER_WAY = frozenset({State.QUEUED, State.LEASED})
FAULTY = frozenset({State.FAILED, State.REFUSED, State.GONE})


class Strength(IntEnum):
    """How much a bond says for visiting its target. The numbers are stored as bits; never renumber."""

    FAINT_EMBED = 0  # an embed behind nofollow
    EMBED = 1
    FAINT_LINK = 2  # behind nofollow
    STATEMENT = 3  # what the page's head says: canonical, alternate, related
    LINK = 4  # what a reader can follow, or a site lists
    SEED = 5


# Which judged claims make another one of a strength superfluous. Embeds and links are judged by different rules (a link
# out of scope is not visited, the same URL as an image may be checked), so neither covers the other.
_EMBED_BITS = {strength: 1 << strength for strength in (Strength.FAINT_EMBED, Strength.EMBED)}
COVERED_BY: dict[int, int] = {
    **{strength: sum(bit for other, bit in _EMBED_BITS.items() if other >= strength) for strength in _EMBED_BITS},
    **{strength: (1 << len(Strength)) - (1 << strength) for strength in Strength if strength not in _EMBED_BITS},
}
EVERYTHING = (1 << len(Strength)) - 1


def _strength(kind: Kind, follow: bool) -> Strength:
    if kind in EMBEDS:
        return Strength.EMBED if follow else Strength.FAINT_EMBED
    if not follow:
        return Strength.FAINT_LINK
    return Strength.STATEMENT if kind in {Kind.CANONICAL, Kind.ALTERNATE, Kind.RELATED} else Strength.LINK


STRENGTHS: dict[tuple[int, bool], int] = {
    (int(kind), follow): int(_strength(kind, follow)) for kind in Kind for follow in (False, True)
}


def strength(candidate: Candidate) -> int:
    """How much a candidate says for visiting it."""
    return int(Strength.SEED) if candidate.seed else STRENGTHS[candidate.kind, candidate.follow]


def distance(depth: int, hops: int) -> int:
    """Depth first, then hops: one number to compare."""
    return depth << 6 | min(hops, 63)


def is_news(known: Remembered, strong: int, far: int) -> bool:
    """Whether a claim could change what is known: a strength not judged yet, or a nearer way."""
    return not known.asked & COVERED_BY[strong] or (far < known.distance and strong > Strength.EMBED)


class Finder(NamedTuple):
    """Who found the candidates, and who decides on them."""

    admit: Admit
    at: float
    by: int | None
    reopen: bool = False  # a seed given again is tried again though it failed


class Row(NamedTuple):
    """The columns of a known resource that a claim can change, and those that decide it."""

    id: int
    host: int
    state: str
    role: str
    outcome: str
    depth: int
    hops: int
    asked: int
    priority: float
    tries: int
    kind: int
    follow: int
    seed: int
    reason: str
    backlinks: int


class Choice(NamedTuple):
    """The best of the claims on one resource, and all strengths that were judged."""

    candidate: Candidate
    admission: Admission
    asked: int


KNOWN_BY_DIGEST = """
    WITH RECURSIVE at (n) AS (SELECT 1 UNION ALL SELECT n + 16 FROM at WHERE n + 16 < length(?1))
    SELECT digest, id, asked, depth, hops FROM at CROSS JOIN resources ON digest = substr(?1, n, 16)"""
ROWS = """
    SELECT id, host, state, role, outcome, depth, hops, asked, priority, tries, kind, follow, seed, reason,
        coalesce(number, 0)
    FROM resources LEFT JOIN backlinks ON resource = id WHERE id IN (SELECT value FROM json_each(?))"""
HOSTS_BY_NAME = "SELECT name, id FROM hosts WHERE name IN (SELECT value FROM json_each(?))"
INSERT = """
    INSERT INTO resources (id, digest, host, state, role, depth, hops, asked, priority, kind, follow, seed, url, reason,
        discovered_at, discovered_by)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
IMPROVE = """
    UPDATE resources SET state = ?, role = ?, depth = ?, hops = ?, asked = ?, priority = ?, tries = ?, kind = ?,
        follow = ?, seed = ?, reason = ?
    WHERE id = ?"""


def as_json(values: Iterable[int] | Iterable[str]) -> str:
    """Ids or names as one parameter, for `IN (SELECT value FROM json_each(?))`."""
    return msgspec.json.encode(list(values)).decode()


def recall(tx: Transaction, digests: Iterable[bytes]) -> dict[bytes, Remembered]:
    """Those of the resources that are known, from memory or from disk."""
    wanted = set(digests)
    found = tx.memory.recall(wanted)
    missing = wanted.difference(found)
    if missing:
        rows = tx.db.execute(KNOWN_BY_DIGEST, (b"".join(sorted(missing)),))
        read = {digest: Remembered(number, asked, distance(depth, hops)) for digest, number, asked, depth, hops in rows}
        tx.memory.remember(read)
        found.update(read)
    return found


def settle(
    tx: Transaction, candidates: Sequence[Candidate], known: dict[bytes, Remembered], finder: Finder
) -> list[int]:
    """Decide on candidates: insert the new ones, improve the known ones.

    `known` is what `recall` said of their digests; the new ones are added to it. Returns the ids of visited resources
    that are less deep than before, so that the caller can pass that on along their links.
    """
    claimed = {known[c.digest].id for c in candidates if c.digest in known}
    rows = {row.id: row for row in map(Row._make, tx.db.execute(ROWS, (as_json(claimed),)))} if claimed else {}
    asked = list(_worth_asking(candidates, known, rows, finder))
    if not asked:
        return []
    choices = _choose(asked, finder.admit(asked))
    new = [choice for digest, choice in choices.items() if digest not in known]
    changed = [(rows[known[digest].id], choice) for digest, choice in choices.items() if digest in known]
    entries = _insert(tx, new, finder)
    shallower = _improve(tx, changed, finder, entries)
    known.update(entries)
    tx.memory.remember(entries)
    return shallower


def _worth_asking(
    candidates: Sequence[Candidate], known: Mapping[bytes, Remembered], rows: Mapping[int, Row], finder: Finder
) -> Iterator[Candidate]:
    """Candidates that are new, or news; of the known ones it is told how many pages point at them."""
    for candidate in candidates:
        if candidate.digest not in known:
            yield candidate
        elif _may_change(row := rows[known[candidate.digest].id], candidate, finder):
            yield replace(candidate, backlinks=row.backlinks)


def _may_change(row: Row, candidate: Candidate, finder: Finder) -> bool:
    if row.state == State.KNOWN and row.reason == FORGOTTEN:
        return candidate.seed
    if finder.reopen and candidate.seed and row.state in FAULTY:
        return True
    remembered = Remembered(row.id, row.asked, distance(row.depth, row.hops))
    return is_news(remembered, strength(candidate), distance(candidate.depth, candidate.hops))


def _choose(candidates: Sequence[Candidate], admissions: Sequence[Admission]) -> dict[bytes, Choice]:
    choices: dict[bytes, Choice] = {}
    for candidate, admission in zip(candidates, admissions, strict=True):
        bit = 1 << strength(candidate)
        other = choices.get(candidate.digest)
        if other is None:
            choices[candidate.digest] = Choice(candidate, admission, bit)
        elif _rank(candidate, admission) > _rank(other.candidate, other.admission):
            choices[candidate.digest] = Choice(candidate, admission, bit | other.asked)
        else:
            choices[candidate.digest] = other._replace(asked=bit | other.asked)
    return choices


def _rank(candidate: Candidate, admission: Admission) -> tuple[bool, bool, int, int]:
    """Among claims on one URL: an admitted page before a check before none; then the nearest, or the strongest."""
    queued = admission.state is State.QUEUED
    strong = 0 if queued else strength(candidate)
    return queued, admission.role is not Role.CHECK, strong, -distance(candidate.depth, candidate.hops)


def _asked(choice: Choice) -> int:
    """Who is admitted as a page cannot get further by another claim, only nearer."""
    admission = choice.admission
    return EVERYTHING if admission.state is State.QUEUED and admission.role is not Role.CHECK else choice.asked


# -- new ---------------------------------------------------------------------------------------------------------------


def _insert(tx: Transaction, choices: Sequence[Choice], finder: Finder) -> dict[bytes, Remembered]:
    if not choices:
        return {}
    names = [authority(choice.candidate.url) for choice in choices]
    hosts = host_ids(tx, set(names))
    first = tx.meta["last_resource"] + 1
    tx.meta["last_resource"] += len(choices)
    entries: dict[bytes, Remembered] = {}
    rows = []
    for resource, (choice, name) in enumerate(zip(choices, names, strict=True), first):
        c, a, asked = choice.candidate, choice.admission, _asked(choice)
        entries[c.digest] = Remembered(resource, asked, distance(c.depth, c.hops))
        rows.append(
            (
                resource, c.digest, hosts[name], a.state.value, a.role.value, c.depth, c.hops, asked, a.priority,
                int(c.kind), int(c.follow), int(c.seed), c.url, a.reason, finder.at, finder.by,
            )
        )  # fmt: skip
    tx.db.executemany(INSERT, rows)
    for (host, state, role), times in Counter(row[2:5] for row in rows).items():
        tx.ledger.enter(host, state, role, "", times)
    return entries


def authority(url: str) -> str:
    """The host with its port, as a canonical URL has it: `http://localhost:8080/x` is on `localhost:8080`."""
    return url.split("/", 3)[2].rpartition("@")[2]


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
    tx: Transaction, changes: Sequence[tuple[Row, Choice]], finder: Finder, entries: dict[bytes, Remembered]
) -> list[int]:
    """Write what the choices change; the new knowledge goes to `entries`."""
    shallower, updates = [], []
    for row, choice in changes:
        new = _improved(row, choice, finder)
        entries[choice.candidate.digest] = Remembered(new.id, new.asked, distance(new.depth, new.hops))
        if new == row:
            continue
        if new.depth < row.depth and row.state not in OPEN | UNDER_WAY:
            shallower.append(row.id)
        tx.ledger.leave(row.host, row.state, row.role, row.outcome)
        tx.ledger.enter(row.host, new.state, new.role, row.outcome)
        updates.append(
            (
                new.state, new.role, new.depth, new.hops, new.asked, new.priority, new.tries, new.kind, new.follow,
                new.seed, new.reason, new.id,
            )
        )  # fmt: skip
    tx.db.executemany(IMPROVE, updates)
    return shallower


def _improved(row: Row, choice: Choice, finder: Finder) -> Row:
    """A resource after a choice on it."""
    candidate, admission = choice.candidate, choice.admission
    row = row._replace(asked=row.asked | _asked(choice))
    near = distance(candidate.depth, candidate.hops) < distance(row.depth, row.hops)
    if admission.state is not State.QUEUED:
        strong, before = strength(candidate), _standing(row)
        if row.state in OPEN and (strong > before or (strong == before and near)):
            return _claimed(row, candidate)._replace(state=admission.state.value, reason=admission.reason)
        return row
    if row.state in OPEN or _is_tried_again(row, choice, finder):
        row = row._replace(state=State.QUEUED.value, reason="", tries=0)
        return _claimed(row, candidate)._replace(role=admission.role.value, priority=admission.priority)
    if row.role == Role.CHECK and admission.role is not Role.CHECK:  # under way: the next visit will be a page's
        return _claimed(row, candidate)._replace(role=admission.role.value, priority=admission.priority)
    if near:
        return row._replace(depth=candidate.depth, hops=candidate.hops, priority=admission.priority)
    return row


def _is_tried_again(row: Row, choice: Choice, finder: Finder) -> bool:
    """Whether a resource that had its visit should have another: it was only checked, or is a seed that failed."""
    if row.state in UNDER_WAY:
        return False
    if row.role == Role.CHECK and choice.admission.role is not Role.CHECK:
        return True
    return finder.reopen and choice.candidate.seed and row.state in FAULTY


def _standing(row: Row) -> int:
    """The strength of the claim that an open resource stands on."""
    return int(Strength.SEED) if row.seed else STRENGTHS[row.kind, bool(row.follow)]


def _claimed(row: Row, candidate: Candidate) -> Row:
    return row._replace(
        depth=candidate.depth, hops=candidate.hops, kind=int(candidate.kind), follow=int(candidate.follow),
        seed=int(candidate.seed),
    )  # fmt: skip
