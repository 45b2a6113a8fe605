"""Add URLs, and lease hosts with their next URLs to crawlers.

The statements read only open work by partial indexes, so the cost does not grow with finished work.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from gossamer.store.protocol import LEASE_SECONDS
from gossamer.store.sqlite.database import json_array
from gossamer.store.sqlite.work import rounds
from gossamer.store.sqlite.work.admission import SELECT_CLAIMS, admit_candidates
from gossamer.store.sqlite.work.crawlers import is_working
from gossamer.store.sqlite.work.depth import propagate_depths
from gossamer.store.sqlite.work.digests import find_known_resources
from gossamer.store.work import lease_rows
from gossamer.store.work.claims import Discovery, ResourceClaim
from gossamer.store.work.lease_rows import LeasableHost, PageBudget
from gossamer.urls.canonical import authority

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from gossamer.model import Candidate, HostLease, Lease
    from gossamer.store.sqlite.database import Transaction
    from gossamer.store.values import AddResult, WaitingHost

_HOST = "SELECT id, name, ready_at, failures, round_pages, queued_pages, queued_others, round_sitemaps FROM hosts"
SELECT_HELD_HOSTS = f"{_HOST} WHERE holder = ? AND id IN (SELECT value FROM json_each(?))"  # noqa: S608
SELECT_FREE_HOSTS = f"""
    {_HOST} INDEXED BY hosts_free
    WHERE holder IS NULL AND (queued_others > 0 OR queued_pages > 0 AND spent = 0) AND ready_at <= ?
    ORDER BY ready_at, id"""
_NEXT = """
    SELECT host, id, url, role, depth, hops, tries, etag, last_modified, priority, outcome, visited_at FROM resources"""
NEXT_PAGES = f"""
    {_NEXT} INDEXED BY resources_queued_pages WHERE host = ? AND state = 'queued' AND role = 'page'
    ORDER BY priority DESC, id LIMIT ?"""
NEXT_OTHERS = f"""
    {_NEXT} INDEXED BY resources_queued_others WHERE host = ? AND state = 'queued' AND role <> 'page'
    ORDER BY priority DESC, id LIMIT ?"""
LEASED_PAGES = """
    SELECT host, count(*) FROM resources INDEXED BY resources_leased
    WHERE state = 'leased' AND role = 'page' GROUP BY host"""
LEASED_SITEMAPS = """
    SELECT count(*) FROM resources INDEXED BY resources_leased
    WHERE state = 'leased' AND role = 'sitemap' AND host = ?"""
SET_SITEMAPS_ASIDE = f"""
    UPDATE resources INDEXED BY resources_queued_others SET state = {lease_rows.STATE_BEFORE}, reason = ?
    WHERE host = ? AND state = 'queued' AND role <> 'page' AND role = 'sitemap'
        AND (visited_at IS NULL OR visited_at < ? OR tries > 0)
    RETURNING state, outcome"""  # noqa: S608
ROBOTS = """
    SELECT host, scheme, outcome, text, fetched_at, reason FROM robots
    WHERE host IN (SELECT value FROM json_each(?))"""
HELD_BY_OTHERS = "SELECT name FROM hosts WHERE holder <> ? AND name IN (SELECT value FROM json_each(?))"
SELECT_URL_ROWS = """
    SELECT id, host, state, role, outcome, url, depth, hops, tries FROM resources
    WHERE id IN (SELECT value FROM json_each(?))"""
LEASE_RESOURCES = "UPDATE resources SET state = 'leased' WHERE id IN (SELECT value FROM json_each(?))"
LEASE_URLS = "UPDATE resources SET state = 'leased', role = 'page' WHERE id IN (SELECT value FROM json_each(?))"
_WAITING = """
    SELECT h.name, h.queued_pages + h.queued_others AS queued, h.ready_at, coalesce(c.name, '') AS holder, h.reason
    FROM hosts AS h {index} LEFT JOIN crawlers AS c ON c.id = h.holder"""
SELECT_WAITING_HOSTS = f"""
    SELECT * FROM (
        {_WAITING.format(index="INDEXED BY hosts_free")}
        WHERE h.holder IS NULL AND (h.queued_others > 0 OR h.queued_pages > 0 AND h.spent = 0)
            AND (h.queued_others > 0 OR NOT ?3)
        ORDER BY h.ready_at LIMIT ?1)
    UNION ALL
    SELECT * FROM (
        {_WAITING.format(index="INDEXED BY hosts_held")}
        WHERE h.holder IS NOT NULL AND h.holder <> ?2 AND (
            (h.queued_others > 0 OR h.queued_pages > 0 AND h.spent = 0) AND (h.queued_others > 0 OR NOT ?3)
            OR EXISTS (SELECT 1 FROM resources INDEXED BY resources_leased WHERE state = 'leased' AND host = h.id))
        ORDER BY h.ready_at LIMIT ?1)
    ORDER BY ready_at LIMIT ?1"""  # noqa: S608


def add(tx: Transaction, candidates: Sequence[Candidate], discovery: Discovery) -> list[AddResult]:
    """Add URLs; return the state of each. A lost crawler adds nothing."""
    if discovery.discovered_by is not None and not is_working(tx.db, discovery.discovered_by):
        return []
    known = find_known_resources(tx, (candidate.digest for candidate in candidates))
    before = set(known)
    shallower = admit_candidates(tx, candidates, known, discovery)
    propagate_depths(tx, shallower, rounds.current_limits(tx.db).max_depth, discovery)
    ids = json_array(entry.id for entry in known.values())
    rows = {row.id: row for row in map(ResourceClaim._make, tx.db.execute(SELECT_CLAIMS, (ids,)))}
    return lease_rows.build_add_results(candidates, known, before, rows)


def lease(tx: Transaction, crawler: int, *, hosts: int, urls: int, held: Sequence[int], now: float) -> list[HostLease]:
    """Lease URLs of held and of free hosts; return none for a crawler that counts as lost."""
    if not is_working(tx.db, crawler):
        return []
    limits = rounds.current_limits(tx.db)
    leased = dict(tx.db.execute(LEASED_PAGES)) if lease_rows.is_limited(limits) else {}
    budget = PageBudget(limits, leased)
    held_hosts = map(LeasableHost._make, tx.db.execute(SELECT_HELD_HOSTS, (crawler, json_array(held))).fetchall())
    free_hosts = map(LeasableHost._make, tx.db.execute(SELECT_FREE_HOSTS, (now + LEASE_SECONDS,)))
    host_leases = list(_lease_hosts(tx, held_hosts, urls, budget))
    new_hosts = list(islice(_lease_hosts(tx, free_hosts, urls, budget), hosts))
    tx.db.executemany("UPDATE hosts SET holder = ? WHERE id = ?", ((crawler, host.id) for host, _ in new_hosts))
    host_leases += new_hosts
    tx.db.execute(LEASE_RESOURCES, (json_array(one.resource for _, leases in host_leases for one in leases),))
    robots = tx.db.execute(ROBOTS, (json_array(host.id for host, _ in host_leases),))
    return lease_rows.host_leases(host_leases, robots)


def _lease_hosts(
    tx: Transaction, hosts: Iterable[LeasableHost], urls: int, budget: PageBudget
) -> Iterator[tuple[LeasableHost, list[Lease]]]:
    """Yield hosts with work, and their leases; each host is searched when the caller asks for the next."""
    for host in hosts:
        if leases := _next_urls(tx, host, urls, budget):
            yield host, leases


def _next_urls(tx: Transaction, host: LeasableHost, urls: int, budget: PageBudget) -> list[Lease]:
    """Return the next URLs of a host by priority: pages within the budget, and others."""
    pages = budget.pages_for_host(host, urls)
    rows = tx.db.execute(NEXT_PAGES, (host.id, pages)).fetchall() if pages else []
    if host.queued_others:
        rows += _next_others(tx, host, urls, budget)
    leases = budget.grant(lease_rows.choose_best_leases(rows, urls))
    lease_rows.count_new_leases(tx.counter_deltas, leases)
    return leases


def _next_others(tx: Transaction, host: LeasableHost, urls: int, budget: PageBudget) -> list[Sequence[Any]]:
    """Return the next sitemaps and checks of a host; set sitemaps aside that the round does not allow."""
    rows = tx.db.execute(NEXT_OTHERS, (host.id, urls)).fetchall()
    (leased_sitemaps,) = tx.db.execute(LEASED_SITEMAPS, (host.id,)).fetchone()
    selected, is_limit_reached = budget.select_others(host, rows, leased_sitemaps)
    if len(selected) < len(rows) and is_limit_reached:
        parameters = (lease_rows.TOO_MANY_SITEMAPS, host.id, budget.round_started_at)
        for state, outcome in tx.db.execute(SET_SITEMAPS_ASIDE, parameters).fetchall():
            lease_rows.count_set_aside(tx.counter_deltas, host.id, state, outcome)
        return _next_others(tx, host, urls, budget)
    return selected


def waiting_hosts(db: sqlite3.Connection, crawler: int, limit: int) -> list[WaitingHost]:
    """Return hosts with work that the crawler does not hold, soonest first.

    Hosts that only a page limit holds back are left out. URLs leased by another crawler count as work. They may lead to
    more, and return to the queue if that crawler dies.
    """
    limits = rounds.current_limits(db)
    full = limits.max_pages is not None and limits.pages >= limits.max_pages
    return lease_rows.build_waiting_hosts(db.execute(SELECT_WAITING_HOSTS, (limit, crawler, full)).fetchall())


def lease_urls(tx: Transaction, crawler: int, candidates: Sequence[Candidate], now: float) -> list[Lease | None]:
    """Lease exactly these URLs, adding unknown ones; None for URLs on hosts of other crawlers."""
    if not is_working(tx.db, crawler):
        return [None] * len(candidates)
    names = {candidate.digest: authority(candidate.url) for candidate in candidates}
    held_by_others = {name for (name,) in tx.db.execute(HELD_BY_OTHERS, (crawler, json_array(set(names.values()))))}
    own_candidates = [candidate for candidate in candidates if names[candidate.digest] not in held_by_others]
    known = find_known_resources(tx, (candidate.digest for candidate in own_candidates))
    admit_candidates(tx, own_candidates, known, Discovery(lease_rows.admit_all, now, crawler))
    ids = json_array({entry.id for entry in known.values()})
    leases = lease_rows.lease_rows(tx.counter_deltas, tx.db.execute(SELECT_URL_ROWS, (ids,)).fetchall())
    tx.db.execute(LEASE_URLS, (ids,))
    hosts = {lease.host for lease in leases.values()}
    tx.db.executemany("UPDATE hosts SET holder = ? WHERE id = ?", ((crawler, host) for host in hosts))
    return [leases[known[candidate.digest].id] if candidate.digest in known else None for candidate in candidates]
