"""Leasing: free hosts and their next URLs for a crawler; and URLs that users add by name.

Partial indexes contain only open work, so finding it costs the same however much is finished. Crawlers that lease at
the same time skip hosts that another transaction has locked (SKIP LOCKED). They get those next time.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from gossamer.model import Role
from gossamer.store.postgres.database import int_array
from gossamer.store.postgres.work import rounds
from gossamer.store.postgres.work.admission import SELECT_CLAIMS, admit_candidates, find_known_resources
from gossamer.store.postgres.work.crawlers import is_working
from gossamer.store.postgres.work.depth import propagate_depths
from gossamer.store.protocol import LEASE_SECONDS
from gossamer.store.work import lease_rows
from gossamer.store.work.claims import Discovery, ResourceClaim
from gossamer.store.work.lease_rows import LeasableHost, PageBudget
from gossamer.store.work.rounds import round_limits
from gossamer.urls.canonical import authority

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.model import Candidate, HostLease, Lease
    from gossamer.store.postgres.database import Connection, Transaction
    from gossamer.store.values import AddResult, WaitingHost

_HOST = "SELECT id, name, ready_at, failures, round_pages, queued_pages, queued_others, round_sitemaps FROM hosts"
SELECT_HELD_HOSTS = f"{_HOST} WHERE holder = %s AND id = ANY(%s::bigint[]) ORDER BY id FOR UPDATE"
_HAS_WORK = "(queued_others > 0 OR queued_pages > 0 AND spent = 0)"
SELECT_FREE_HOSTS = f"""
    {_HOST} WHERE holder IS NULL AND {_HAS_WORK} AND ready_at <= %s AND (queued_others > 0 OR %s)
    ORDER BY ready_at, id LIMIT %s FOR UPDATE SKIP LOCKED"""
_NEXT = """
    SELECT host, id, url, role, depth, hops, tries, etag, last_modified, priority, outcome, visited_at FROM resources"""
# Up to `pages` pages and `others` other URLs of each host, best first.
NEXT = f"""
    SELECT n.* FROM unnest(%s::bigint[], %s::integer[], %s::integer[]) AS h (id, pages, others)
    CROSS JOIN LATERAL (
        SELECT * FROM ({_NEXT} WHERE host = h.id AND state = 'queued' AND role = 'page'
            ORDER BY priority DESC, id LIMIT h.pages) AS p
        UNION ALL
        SELECT * FROM ({_NEXT} WHERE host = h.id AND state = 'queued' AND role <> 'page'
            ORDER BY priority DESC, id LIMIT h.others) AS o) AS n"""  # noqa: S608
HOLD_HOSTS = "UPDATE hosts SET holder = %s WHERE id = ANY(%s::bigint[])"
LEASE_RESOURCES = "UPDATE resources SET state = 'leased' WHERE id = ANY(%s::bigint[])"
LOCK_LAST_ROUND = f"{rounds.SELECT_LAST_ROUND} FOR UPDATE"
LEASED_PAGES = "SELECT host, count(*) FROM resources WHERE state = 'leased' AND role = 'page' GROUP BY host"
LEASED_SITEMAPS = """
    SELECT host, count(*) FROM resources WHERE state = 'leased' AND role = 'sitemap' AND host = ANY(%s::bigint[])
    GROUP BY host"""
SET_SITEMAPS_ASIDE = f"""
    UPDATE resources SET state = {lease_rows.STATE_BEFORE}, reason = %s
    WHERE host = %s AND state = 'queued' AND role <> 'page' AND role = 'sitemap'
        AND (visited_at IS NULL OR visited_at < %s OR tries > 0)
    RETURNING state, outcome"""  # noqa: S608
ROBOTS = """
    SELECT host, scheme, outcome, text, fetched_at, reason FROM robots WHERE host = ANY(%s::bigint[])"""
HELD_BY_OTHERS = "SELECT name FROM hosts WHERE holder <> %s AND name = ANY(%s::text[])"
SELECT_URL_ROWS = """
    SELECT id, host, state, role, outcome, url, depth, hops, tries FROM resources WHERE id = ANY(%s::bigint[])"""
LEASE_URLS = "UPDATE resources SET state = 'leased', role = 'page' WHERE id = ANY(%s::bigint[])"
_WAITING = """
    SELECT h.name, h.queued_pages + h.queued_others AS queued, h.ready_at, coalesce(c.name, '') AS holder, h.reason
    FROM hosts AS h LEFT JOIN crawlers AS c ON c.id = h.holder"""
_ONLY_PAGES_OVER_LIMIT = "(queued_pages > 0 AND queued_others = 0 AND %(full)s)"
SELECT_WAITING_HOSTS = f"""
    (({_WAITING} WHERE h.holder IS NULL AND {_HAS_WORK} AND NOT {_ONLY_PAGES_OVER_LIMIT}
    ORDER BY h.ready_at LIMIT %(limit)s)
    UNION ALL
    ({_WAITING} WHERE h.holder IS NOT NULL AND h.holder <> %(crawler)s AND ({_HAS_WORK} AND NOT {_ONLY_PAGES_OVER_LIMIT}
        OR EXISTS (SELECT 1 FROM resources WHERE state = 'leased' AND host = h.id))
    ORDER BY h.ready_at LIMIT %(limit)s))
    ORDER BY ready_at LIMIT %(limit)s"""  # noqa: S608


def add(tx: Transaction, candidates: Sequence[Candidate], discovery: Discovery) -> list[AddResult]:
    """Add URLs, in an exclusive transaction; return the resulting state of each. A lost crawler adds none."""
    if discovery.discovered_by is not None and not is_working(tx.db, discovery.discovered_by):
        return []
    known = find_known_resources(tx, (candidate.digest for candidate in candidates))
    before = set(known)
    shallower = admit_candidates(tx, candidates, known, discovery)
    propagate_depths(tx, shallower, rounds.current_limits(tx.db).max_depth, discovery)
    ids = int_array(entry.id for entry in known.values())
    rows = {row.id: row for row in map(ResourceClaim._make, tx.db.execute(SELECT_CLAIMS, (ids,)))}
    return lease_rows.build_add_results(candidates, known, before, rows)


def lease(tx: Transaction, crawler: int, *, hosts: int, urls: int, held: Sequence[int], now: float) -> list[HostLease]:
    """Lease URLs of held hosts and of free ones; none to a lost crawler."""
    if not is_working(tx.db, crawler):
        return []
    budget = _budget(tx.db)
    held_hosts = (
        [LeasableHost._make(row) for row in tx.db.execute(SELECT_HELD_HOSTS, (crawler, int_array(held))).fetchall()]
        if held
        else []
    )
    has_page_budget = budget.pages_left is None or budget.pages_left > 0
    free_hosts = (
        tx.db.execute(SELECT_FREE_HOSTS, (now + LEASE_SECONDS, has_page_budget, hosts)).fetchall() if hosts else []
    )
    new_hosts = [LeasableHost._make(row) for row in free_hosts]
    if not held_hosts and not new_hosts:
        return []
    tx.lock_version()
    host_leases = _lease_hosts(tx, [*held_hosts, *new_hosts], urls, budget)
    if not host_leases:
        return []
    tx.db.execute(
        HOLD_HOSTS,
        (crawler, int_array({host.id for host in new_hosts}.intersection(host.id for host, _ in host_leases))),
    )
    tx.db.execute(LEASE_RESOURCES, (int_array(one.resource for _, leases in host_leases for one in leases),))
    robots = tx.db.execute(ROBOTS, (int_array(host.id for host, _ in host_leases),))
    return lease_rows.host_leases(host_leases, robots)


def _budget(db: Connection) -> PageBudget:
    """Return how many pages the round still allows.

    With limits, this locks the round's row first. `submit` changes that row. So the counts of visited and leased pages
    belong to one moment, and two crawlers cannot both lease the last page.
    """
    limits = rounds.current_limits(db)
    if not lease_rows.is_limited(limits):
        return PageBudget(limits, {})
    limits = round_limits(db.execute(LOCK_LAST_ROUND).fetchone())
    return PageBudget(limits, dict(db.execute(LEASED_PAGES).fetchall()))


def _lease_hosts(
    tx: Transaction, hosts: Sequence[LeasableHost], urls: int, budget: PageBudget
) -> list[tuple[LeasableHost, list[Lease]]]:
    """Return the hosts that have work, with their leases: pages within the budget, and other URLs."""
    rows = _next_urls(tx.db, hosts, urls, budget)
    _limit_sitemaps(tx, hosts, rows, budget)
    candidates = ((host, lease_rows.choose_best_leases(rows[host.id], urls)) for host in hosts)
    leased = [(host, granted_leases) for host, leases in candidates if (granted_leases := budget.grant(leases))]
    for _, leases in leased:
        lease_rows.count_new_leases(tx.counter_deltas, leases)
    return leased


def _next_urls(
    db: Connection, hosts: Sequence[LeasableHost], urls: int, budget: PageBudget
) -> defaultdict[int, list[Any]]:
    """Return the next URLs of hosts, as rows by host. The caller holds the row `version`, so they cannot change."""
    rows: defaultdict[int, list[Any]] = defaultdict(list)
    requested = [
        (host.id, budget.pages_for_host(host, urls) if host.queued_pages else 0, urls if host.queued_others else 0)
        for host in hosts
        if host.queued_pages or host.queued_others
    ]
    if requested:
        for row in db.execute(NEXT, [int_array(column) for column in zip(*requested, strict=True)]):
            rows[row[0]].append(row)
    return rows


def _limit_sitemaps(
    tx: Transaction, hosts: Sequence[LeasableHost], rows: defaultdict[int, list[Any]], budget: PageBudget
) -> None:
    """Remove the sitemaps that the round does not allow from the rows, and set them aside."""
    with_sitemaps = [host for host in hosts if any(row[3] == Role.SITEMAP for row in rows[host.id])]
    if not with_sitemaps:
        return
    leased: dict[int, int] = dict(
        tx.db.execute(LEASED_SITEMAPS, (int_array(host.id for host in with_sitemaps),)).fetchall()
    )
    for host in with_sitemaps:
        selected, is_limit_reached = budget.select_others(host, rows[host.id], leased.get(host.id, 0))
        if len(selected) < len(rows[host.id]) and is_limit_reached:
            parameters = (lease_rows.TOO_MANY_SITEMAPS, host.id, budget.round_started_at)
            for state, outcome in tx.db.execute(SET_SITEMAPS_ASIDE, parameters).fetchall():
                lease_rows.count_set_aside(tx.counter_deltas, host.id, state, outcome)
        rows[host.id] = selected


def waiting_hosts(db: Connection, crawler: int, limit: int) -> list[WaitingHost]:
    """Return hosts with work that the crawler does not hold, soonest first; without hosts over the page limit.

    URLs that another crawler has leased count as work: they may lead to more, and return to the queue if it dies.
    """
    limits = rounds.current_limits(db)
    full = limits.max_pages is not None and limits.pages >= limits.max_pages
    return lease_rows.build_waiting_hosts(
        db.execute(SELECT_WAITING_HOSTS, {"limit": limit, "crawler": crawler, "full": full}).fetchall()
    )


def lease_urls(tx: Transaction, crawler: int, candidates: Sequence[Candidate], now: float) -> list[Lease | None]:
    """Lease exactly these URLs and add unknown ones, in an exclusive transaction.

    The result is None for a URL whose host another crawler holds.
    """
    if not is_working(tx.db, crawler):
        return [None] * len(candidates)
    names = {candidate.digest: authority(candidate.url) for candidate in candidates}
    held_by_others = {name for (name,) in tx.db.execute(HELD_BY_OTHERS, (crawler, sorted(set(names.values()))))}
    own_candidates = [candidate for candidate in candidates if names[candidate.digest] not in held_by_others]
    known = find_known_resources(tx, (candidate.digest for candidate in own_candidates))
    admit_candidates(tx, own_candidates, known, Discovery(lease_rows.admit_all, now, crawler))
    ids = int_array({entry.id for entry in known.values()})
    leases = lease_rows.lease_rows(tx.counter_deltas, tx.db.execute(SELECT_URL_ROWS, (ids,)).fetchall())
    tx.db.execute(LEASE_URLS, (ids,))
    tx.db.execute(HOLD_HOSTS, (crawler, int_array({lease.host for lease in leases.values()})))
    return [leases[known[candidate.digest].id] if candidate.digest in known else None for candidate in candidates]
