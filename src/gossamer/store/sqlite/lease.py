"""Work added by name and handed out: hosts, and the next URLs of each.

Only open work is looked at, by partial indexes, so that the search for it costs the same however much is finished.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from gossamer.model import Admission, HostLease, Lease, Robots, Role, State
from gossamer.store.base import LEASE_SECONDS, Added, Waiting
from gossamer.store.sqlite import rounds
from gossamer.store.sqlite.admission import ROWS, Finder, Row, as_json, authority, recall, settle
from gossamer.store.sqlite.depth import pass_on

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from gossamer.model import Candidate
    from gossamer.store.sqlite.database import Transaction

_HOST = "SELECT id, name, ready_at, failures, round_pages, queued_others FROM hosts"
HELD = f"{_HOST} WHERE holder = ? AND id IN (SELECT value FROM json_each(?))"  # noqa: S608
FREE = f"""
    {_HOST} INDEXED BY hosts_free
    WHERE holder IS NULL AND (queued_others > 0 OR queued_pages > 0 AND spent = 0) AND ready_at <= ?
    ORDER BY ready_at, id"""
_NEXT = "SELECT id, url, role, depth, hops, tries, etag, last_modified, priority, outcome FROM resources"
NEXT_PAGES = f"""
    {_NEXT} INDEXED BY resources_queued_pages WHERE host = ? AND state = 'queued' AND role = 'page'
    ORDER BY priority DESC, id LIMIT ?"""
NEXT_OTHERS = f"""
    {_NEXT} INDEXED BY resources_queued_others WHERE host = ? AND state = 'queued' AND role <> 'page'
    ORDER BY priority DESC, id LIMIT ?"""
LEASED_PAGES = """
    SELECT host, count(*) FROM resources INDEXED BY resources_leased
    WHERE state = 'leased' AND role = 'page' GROUP BY host"""
ROBOTS = """
    SELECT host, scheme, outcome, text, fetched_at, reason FROM robots
    WHERE host IN (SELECT value FROM json_each(?))"""
HELD_BY_OTHERS = "SELECT name FROM hosts WHERE holder <> ? AND name IN (SELECT value FROM json_each(?))"
CLAIMED = """
    SELECT id, host, state, role, outcome, url, depth, hops, tries FROM resources
    WHERE id IN (SELECT value FROM json_each(?))"""
CLAIM = "UPDATE resources SET state = 'leased', role = 'page' WHERE id IN (SELECT value FROM json_each(?))"
_WAITING = """
    SELECT h.name, h.queued_pages + h.queued_others AS queued, h.ready_at, coalesce(c.name, '') AS holder, h.reason
    FROM hosts AS h {index} LEFT JOIN crawlers AS c ON c.id = h.holder"""
WAITING = f"""
    SELECT * FROM (
        {_WAITING.format(index="INDEXED BY hosts_free")}
        WHERE h.holder IS NULL AND (h.queued_others > 0 OR h.queued_pages > 0 AND h.spent = 0)
            AND (h.queued_others > 0 OR NOT ?3)
        ORDER BY h.ready_at LIMIT ?1)
    UNION ALL
    SELECT * FROM (
        {_WAITING.format(index="INDEXED BY hosts_held")}
        WHERE h.holder IS NOT NULL AND h.holder <> ?2
            AND (h.queued_others > 0 OR h.queued_pages > 0 AND h.spent = 0) AND (h.queued_others > 0 OR NOT ?3)
        ORDER BY h.ready_at LIMIT ?1)
    ORDER BY ready_at LIMIT ?1"""  # noqa: S608


class _Host(NamedTuple):
    """A host that work is sought on."""

    id: int
    name: str
    ready_at: float
    failures: int
    round_pages: int
    queued_others: int


class _Budget:
    """How many pages may still be leased. Leased ones count as visited, so that limits hold exactly."""

    def __init__(self, db: sqlite3.Connection) -> None:
        limits = rounds.limits(db)
        self._per_host = limits.max_pages_per_host
        limited = limits.max_pages is not None or self._per_host is not None
        self._leased: dict[int, int] = dict(db.execute(LEASED_PAGES)) if limited else {}
        used = limits.pages + sum(self._leased.values())
        self._left = None if limits.max_pages is None else max(0, limits.max_pages - used)

    def of(self, host: _Host, most: int) -> int:
        """Pages that may be leased of a host, at most so many."""
        if self._left is not None:
            most = min(most, self._left)
        if self._per_host is not None:
            most = min(most, max(0, self._per_host - host.round_pages - self._leased.get(host.id, 0)))
        return most

    def spend(self, pages: int) -> None:
        """Pages were leased."""
        if self._left is not None:
            self._left -= pages


def add(tx: Transaction, candidates: Sequence[Candidate], finder: Finder) -> list[Added]:
    """Add URLs; the answer says of each where it stands now."""
    known = recall(tx, (candidate.digest for candidate in candidates))
    before = set(known)
    shallower = settle(tx, candidates, known, finder)
    pass_on(tx, shallower, rounds.limits(tx.db).max_depth, finder)
    ids = as_json(entry.id for entry in known.values())
    rows = {row.id: row for row in map(Row._make, tx.db.execute(ROWS, (ids,)))}
    return [
        Added(
            url=candidate.url, resource=(row := rows[known[candidate.digest].id]).id, known=candidate.digest in before,
            state=State(row.state), reason=row.reason,
        )
        for candidate in candidates
    ]  # fmt: skip


def lease(tx: Transaction, crawler: int, *, hosts: int, urls: int, held: Sequence[int], now: float) -> list[HostLease]:
    """Hand out URLs of held hosts and of free ones."""
    budget = _Budget(tx.db)
    ours = map(_Host._make, tx.db.execute(HELD, (crawler, as_json(held))).fetchall())
    free = map(_Host._make, tx.db.execute(FREE, (now + LEASE_SECONDS,)))
    chosen = list(_with_work(tx, ours, urls, budget))
    new = list(islice(_with_work(tx, free, urls, budget), hosts))
    tx.db.executemany("UPDATE hosts SET holder = ? WHERE id = ?", ((crawler, host.id) for host, _ in new))
    chosen += new
    taken = [(one.resource,) for _, leases in chosen for one in leases]
    tx.db.executemany("UPDATE resources SET state = 'leased' WHERE id = ?", taken)
    robots = _robots(tx.db, [host.id for host, _ in chosen])
    return [
        HostLease(
            host=host.id, name=host.name, ready_at=host.ready_at, failures=host.failures, robots=tuple(robots[host.id]),
            leases=tuple(leases),
        )
        for host, leases in chosen
    ]  # fmt: skip


def _with_work(
    tx: Transaction, hosts: Iterable[_Host], urls: int, budget: _Budget
) -> Iterator[tuple[_Host, list[Lease]]]:
    """The hosts on which there is something to do, and what; sought one by one, as they are asked for."""
    for host in hosts:
        if leases := _next_of(tx, host, urls, budget):
            yield host, leases


def _next_of(tx: Transaction, host: _Host, urls: int, budget: _Budget) -> list[Lease]:
    """The next URLs of a host: pages as far as the budget goes, and others, in order of priority."""
    pages = budget.of(host, urls)
    rows = tx.db.execute(NEXT_PAGES, (host.id, pages)).fetchall() if pages else []
    if host.queued_others:
        rows += tx.db.execute(NEXT_OTHERS, (host.id, urls)).fetchall()
        rows = sorted(rows, key=lambda row: (-row[8], row[0]))[:urls]
    leases = []
    for resource, url, role, depth, hops, tries, etag, last_modified, _, outcome in rows:
        leases.append(
            Lease(
                resource=resource, host=host.id, url=url, role=Role(role), depth=depth, hops=hops, tries=tries,
                etag=etag, last_modified=last_modified, before=outcome,
            )
        )  # fmt: skip
        tx.ledger.leave(host.id, State.QUEUED, role, outcome)
        tx.ledger.enter(host.id, State.LEASED, role, outcome)
    budget.spend(sum(one.role is Role.PAGE for one in leases))
    return leases


def _robots(db: sqlite3.Connection, hosts: Sequence[int]) -> defaultdict[int, list[Robots]]:
    found: defaultdict[int, list[Robots]] = defaultdict(list)
    for host, scheme, outcome, text, fetched_at, reason in db.execute(ROBOTS, (as_json(hosts),)):
        found[host].append(
            Robots(host=host, scheme=scheme, outcome=outcome, text=text, fetched_at=fetched_at, reason=reason)
        )
    return found


def waiting(db: sqlite3.Connection, crawler: int, limit: int) -> list[Waiting]:
    """Hosts with work that the crawler does not hold, soonest first; not those that only a page limit holds back."""
    limits = rounds.limits(db)
    full = limits.max_pages is not None and limits.pages >= limits.max_pages
    return [
        Waiting(host=name, queued=queued, ready_at=ready_at, holder=holder, reason=reason)
        for name, queued, ready_at, holder, reason in db.execute(WAITING, (limit, crawler, full)).fetchall()
    ]


def claim(tx: Transaction, crawler: int, candidates: Sequence[Candidate], now: float) -> list[Lease | None]:
    """Lease exactly these URLs, adding those not known; None for those on a host that another crawler holds."""
    names = {candidate.digest: authority(candidate.url) for candidate in candidates}
    others = {name for (name,) in tx.db.execute(HELD_BY_OTHERS, (crawler, as_json(set(names.values()))))}
    ours = [candidate for candidate in candidates if names[candidate.digest] not in others]
    known = recall(tx, (candidate.digest for candidate in ours))
    settle(tx, ours, known, Finder(_admit_all, now, crawler))
    ids = as_json({entry.id for entry in known.values()})
    rows = {row[0]: row for row in tx.db.execute(CLAIMED, (ids,)).fetchall()}
    for _, host, state, role, outcome, *_ in rows.values():
        tx.ledger.leave(host, state, role, outcome)
        tx.ledger.enter(host, State.LEASED, Role.PAGE, outcome)
    tx.db.execute(CLAIM, (ids,))
    hosts = {row[1] for row in rows.values()}
    tx.db.executemany("UPDATE hosts SET holder = ? WHERE id = ?", ((crawler, host) for host in hosts))
    return [
        _claimed(rows[known[candidate.digest].id]) if candidate.digest in known else None for candidate in candidates
    ]


def _admit_all(candidates: Sequence[Candidate]) -> list[Admission]:
    return [Admission(state=State.QUEUED) for _ in candidates]


def _claimed(row: tuple[int, int, str, str, str, str, int, int, int]) -> Lease:
    resource, host, _, _, outcome, url, depth, hops, tries = row
    return Lease(
        resource=resource, host=host, url=url, role=Role.PAGE, depth=depth, hops=hops, tries=tries, before=outcome
    )
