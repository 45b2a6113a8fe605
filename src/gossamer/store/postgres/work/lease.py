"""Work added by name and handed out: hosts, and the next URLs of each.

Only open work is looked at, by partial indexes, so that the search for it costs the same however much is finished.
Crawlers that lease at the same time pass over the hosts that another one is just taking or writing to (SKIP LOCKED);
those come next time.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from gossamer.store.postgres.database import ints
from gossamer.store.postgres.work import rounds
from gossamer.store.postgres.work.admission import ROWS, recall, settle
from gossamer.store.postgres.work.crawlers import is_at_work
from gossamer.store.postgres.work.depth import pass_on
from gossamer.store.protocol import LEASE_SECONDS
from gossamer.store.work import lease_rows
from gossamer.store.work.claims import Finder, Row, authority
from gossamer.store.work.lease_rows import Budget, Host
from gossamer.store.work.rounds import limits_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.model import Candidate, HostLease, Lease
    from gossamer.store.postgres.database import Connection, Transaction
    from gossamer.store.values import Added, Waiting

_HOST = "SELECT id, name, ready_at, failures, round_pages, queued_pages, queued_others FROM hosts"
HELD = f"{_HOST} WHERE holder = %s AND id = ANY(%s::bigint[]) ORDER BY id FOR UPDATE"
_HAS_WORK = "(queued_others > 0 OR queued_pages > 0 AND spent = 0)"
FREE = f"""
    {_HOST} WHERE holder IS NULL AND {_HAS_WORK} AND ready_at <= %s AND (queued_others > 0 OR %s)
    ORDER BY ready_at, id LIMIT %s FOR UPDATE SKIP LOCKED"""
_NEXT = "SELECT host, id, url, role, depth, hops, tries, etag, last_modified, priority, outcome FROM resources"
# Of each host so many pages and so many others, the best of each first.
NEXT = f"""
    SELECT n.* FROM unnest(%s::bigint[], %s::integer[], %s::integer[]) AS h (id, pages, others)
    CROSS JOIN LATERAL (
        SELECT * FROM ({_NEXT} WHERE host = h.id AND state = 'queued' AND role = 'page'
            ORDER BY priority DESC, id LIMIT h.pages) AS p
        UNION ALL
        SELECT * FROM ({_NEXT} WHERE host = h.id AND state = 'queued' AND role <> 'page'
            ORDER BY priority DESC, id LIMIT h.others) AS o) AS n"""  # noqa: S608
TAKE_HOSTS = "UPDATE hosts SET holder = %s WHERE id = ANY(%s::bigint[])"
TAKE = "UPDATE resources SET state = 'leased' WHERE id = ANY(%s::bigint[])"
LAST_LOCKED = f"{rounds.LAST} FOR UPDATE"
LEASED_PAGES = "SELECT host, count(*) FROM resources WHERE state = 'leased' AND role = 'page' GROUP BY host"
ROBOTS = """
    SELECT host, scheme, outcome, text, fetched_at, reason FROM robots WHERE host = ANY(%s::bigint[])"""
HELD_BY_OTHERS = "SELECT name FROM hosts WHERE holder <> %s AND name = ANY(%s::text[])"
CLAIMED = """
    SELECT id, host, state, role, outcome, url, depth, hops, tries FROM resources WHERE id = ANY(%s::bigint[])"""
CLAIM = "UPDATE resources SET state = 'leased', role = 'page' WHERE id = ANY(%s::bigint[])"
_WAITING = """
    SELECT h.name, h.queued_pages + h.queued_others AS queued, h.ready_at, coalesce(c.name, '') AS holder, h.reason
    FROM hosts AS h LEFT JOIN crawlers AS c ON c.id = h.holder"""
_IN_VAIN = "(queued_pages > 0 AND queued_others = 0 AND %(full)s)"
WAITING = f"""
    (({_WAITING} WHERE h.holder IS NULL AND {_HAS_WORK} AND NOT {_IN_VAIN} ORDER BY h.ready_at LIMIT %(limit)s)
    UNION ALL
    ({_WAITING} WHERE h.holder IS NOT NULL AND h.holder <> %(crawler)s AND ({_HAS_WORK} AND NOT {_IN_VAIN}
        OR EXISTS (SELECT 1 FROM resources WHERE state = 'leased' AND host = h.id))
    ORDER BY h.ready_at LIMIT %(limit)s))
    ORDER BY ready_at LIMIT %(limit)s"""  # noqa: S608


def add(tx: Transaction, candidates: Sequence[Candidate], finder: Finder) -> list[Added]:
    """Add URLs; the answer says of each where it stands now. The transaction is alone."""
    known = recall(tx, (candidate.digest for candidate in candidates))
    before = set(known)
    shallower = settle(tx, candidates, known, finder)
    pass_on(tx, shallower, rounds.limits(tx.db).max_depth, finder)
    ids = ints(entry.id for entry in known.values())
    rows = {row.id: row for row in map(Row._make, tx.db.execute(ROWS, (ids,)))}
    return lease_rows.added(candidates, known, before, rows)


def lease(tx: Transaction, crawler: int, *, hosts: int, urls: int, held: Sequence[int], now: float) -> list[HostLease]:
    """Hand out URLs of held hosts and of free ones; none to a crawler that was given up for lost."""
    if not is_at_work(tx.db, crawler):
        return []
    budget = _budget(tx.db)
    ours = [Host._make(row) for row in tx.db.execute(HELD, (crawler, ints(held))).fetchall()] if held else []
    pages_too = budget.left is None or budget.left > 0
    free = tx.db.execute(FREE, (now + LEASE_SECONDS, pages_too, hosts)).fetchall() if hosts else []
    new = [Host._make(row) for row in free]
    if not ours and not new:
        return []
    tx.pass_gate()
    chosen = _with_work(tx, [*ours, *new], urls, budget)
    if not chosen:
        return []
    tx.db.execute(TAKE_HOSTS, (crawler, ints({host.id for host in new}.intersection(host.id for host, _ in chosen))))
    tx.db.execute(TAKE, (ints(one.resource for _, leases in chosen for one in leases),))
    robots = tx.db.execute(ROBOTS, (ints(host.id for host, _ in chosen),))
    return lease_rows.host_leases(chosen, robots)


def _budget(db: Connection) -> Budget:
    """What the round still allows.

    Where there are limits the round's row is locked first: who writes visits changes it, so what is visited and what
    is leased are seen as of one moment, and two crawlers do not lease the same last page.
    """
    limits = rounds.limits(db)
    if not lease_rows.is_limited(limits):
        return Budget(limits, {})
    limits = limits_of(db.execute(LAST_LOCKED).fetchone())
    return Budget(limits, dict(db.execute(LEASED_PAGES).fetchall()))


def _with_work(tx: Transaction, hosts: Sequence[Host], urls: int, budget: Budget) -> list[tuple[Host, list[Lease]]]:
    """The hosts on which there is something to do, and what: pages as far as the budget goes, and others."""
    found = _next_of(tx.db, hosts, urls, budget)
    first = ((host, lease_rows.best_first(found[host.id], urls)) for host in hosts)
    chosen = [(host, granted) for host, leases in first if (granted := budget.granted(leases))]
    for _, leases in chosen:
        lease_rows.count_leased(tx.ledger, leases)
    return chosen


def _next_of(db: Connection, hosts: Sequence[Host], urls: int, budget: Budget) -> defaultdict[int, list[Any]]:
    """The rows of the next URLs of hosts; nobody else changes them now."""
    found: defaultdict[int, list[Any]] = defaultdict(list)
    asked = [
        (host.id, budget.of(host, urls) if host.queued_pages else 0, urls if host.queued_others else 0)
        for host in hosts
        if host.queued_pages or host.queued_others
    ]
    if asked:
        for row in db.execute(NEXT, [ints(column) for column in zip(*asked, strict=True)]):
            found[row[0]].append(row)
    return found


def waiting(db: Connection, crawler: int, limit: int) -> list[Waiting]:
    """Hosts with work that the crawler does not hold, soonest first; not those that only a page limit holds back.

    What another crawler has leased counts as work: it may lead to more, and comes back should that crawler die.
    """
    limits = rounds.limits(db)
    full = limits.max_pages is not None and limits.pages >= limits.max_pages
    return lease_rows.waiting(db.execute(WAITING, {"limit": limit, "crawler": crawler, "full": full}).fetchall())


def claim(tx: Transaction, crawler: int, candidates: Sequence[Candidate], now: float) -> list[Lease | None]:
    """Lease exactly these URLs, adding those not known; None for those on a host that another crawler holds.

    The transaction is alone.
    """
    if not is_at_work(tx.db, crawler):
        return [None] * len(candidates)
    names = {candidate.digest: authority(candidate.url) for candidate in candidates}
    others = {name for (name,) in tx.db.execute(HELD_BY_OTHERS, (crawler, sorted(set(names.values()))))}
    ours = [candidate for candidate in candidates if names[candidate.digest] not in others]
    known = recall(tx, (candidate.digest for candidate in ours))
    settle(tx, ours, known, Finder(lease_rows.admit_all, now, crawler))
    ids = ints({entry.id for entry in known.values()})
    leases = lease_rows.claimed(tx.ledger, tx.db.execute(CLAIMED, (ids,)).fetchall())
    tx.db.execute(CLAIM, (ids,))
    tx.db.execute(TAKE_HOSTS, (crawler, ints({lease.host for lease in leases.values()})))
    return [leases[known[candidate.digest].id] if candidate.digest in known else None for candidate in candidates]
