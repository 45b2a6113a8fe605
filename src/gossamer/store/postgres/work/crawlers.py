"""Crawlers: names, heartbeats, when one counts as dead, and its leases given back.

A crawler holds an advisory lock as long as its connection lives. When its process exits, the kernel closes the
connection and the server frees the lock. A connection can also break while the crawler lives. So a free lock means
death only after a grace period that is longer than a reconnection takes. A vanished machine leaves its connections
open, and a stopped process keeps its own. So crawlers at work watch each other's heartbeats
(`store/work/heartbeats.py`). A process that only joins or gives an order has watched nobody. It trusts a lock of its
own machine, and reads the age of a heartbeat for other machines.
"""

from __future__ import annotations

import platform
import time
from typing import TYPE_CHECKING, NamedTuple

from gossamer.model import State
from gossamer.store.postgres.database import int_array
from gossamer.store.protocol import LEASE_SECONDS, MAX_HOST_PAUSE_SECONDS
from gossamer.store.values import CrawlerOrders, CrawlerRow
from gossamer.store.work.crawler_names import LOST, STOPPED, build_crawlers, crawler_names
from gossamer.store.work.heartbeats import HeartbeatWatch
from gossamer.store.work.lease_rows import MAX_COUNTED_HOSTS, RECENT_HEARTBEAT_SECONDS, fair_share

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gossamer.store.postgres.database import Connection, Database, Transaction
    from gossamer.store.values import CrawlerReport

# A free lock means death this many seconds after the last heartbeat, server start or reconnection.
RECONNECT_GRACE_SECONDS = 10.0
RECONNECT_POLL_SECONDS = 0.5  # between looks at crawlers that may reconnect
CLOSED_HEARTBEAT = 0.0  # marks a crawler whose store was closed before it left

COLUMNS = """id, name, machine, pid, started_at, heartbeat_at, wanted, state, pages, pages_per_second, bytes_per_second,
    limited_by, waiting_for, parsers, most_parsers, wanted_parsers"""
# Advisory locks with two numbers have objsubid 2; classid is the oid of the web's schema, objid the crawler's id.
SELECT_WORKING = """
    SELECT c.id, c.name, c.machine,
        greatest(c.heartbeat_at, CASE WHEN c.heartbeat_at > 0 THEN (SELECT value FROM meta WHERE key = 'alone') END),
        extract(epoch FROM pg_postmaster_start_time())::double precision,
        EXISTS (SELECT 1 FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database
            WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.granted AND d.datname = current_database()
                AND l.classid = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
                AND l.objid::bigint = c.id)
    FROM crawlers AS c WHERE c.state NOT IN ('stopped', 'lost') ORDER BY c.id"""
LATEST = f"SELECT {COLUMNS} FROM crawlers WHERE id IN (SELECT max(id) FROM crawlers GROUP BY name) ORDER BY id"  # noqa: S608
ENTER = """
    INSERT INTO crawlers (name, machine, pid, started_at, heartbeat_at) VALUES (%s, %s, %s, %s, %s) RETURNING id"""
RECORD_HEARTBEAT = """
    UPDATE crawlers SET heartbeat_at = %s, state = %s, pages = %s, pages_per_second = %s, bytes_per_second = %s,
        limited_by = %s, waiting_for = %s, parsers = %s, most_parsers = %s
    WHERE id = %s AND state NOT IN ('stopped', 'lost') RETURNING wanted, wanted_parsers"""
SELECT_IF_WORKING = "SELECT 1 FROM crawlers WHERE id = %s AND state NOT IN ('stopped', 'lost')"
OTHERS_WITHOUT_HOSTS = """
    SELECT 1 FROM crawlers AS other WHERE state = 'waiting' AND id <> %s AND heartbeat_at > %s
        AND NOT EXISTS (SELECT 1 FROM hosts WHERE holder = other.id) LIMIT 1"""
# Crawlers that share hosts. Paused crawlers keep theirs, and imports (most_parsers = 0) need exactly theirs.
_SHARING = "FROM crawlers WHERE state IN ('running', 'waiting') AND most_parsers > 0"
HOSTS_AND_CRAWLERS = f"""
    SELECT (SELECT count(*) FROM hosts WHERE holder IN (SELECT id {_SHARING}))
        + (SELECT count(*) FROM (SELECT 1 FROM hosts
            WHERE holder IS NULL AND (queued_others > 0 OR queued_pages > 0 AND spent = 0) AND ready_at <= %s LIMIT %s)
            AS free),
        (SELECT count(*) {_SHARING})"""  # noqa: S608
SET_WANTED_STATE = "UPDATE crawlers SET wanted = %s WHERE lower(name) = lower(%s) AND state NOT IN ('stopped', 'lost')"
SET_WANTED_PARSERS = """
    UPDATE crawlers SET wanted_parsers = %(number)s
    WHERE lower(name) = lower(%(name)s) AND state NOT IN ('stopped', 'lost')
        AND %(number)s BETWEEN 1 AND most_parsers"""
SELECT_HELD_HOSTS = "SELECT id FROM hosts WHERE holder = ANY(%s::bigint[]) ORDER BY id"
UNLEASE = """
    UPDATE resources SET state = 'queued' WHERE state = 'leased' AND host = ANY(%s::bigint[])
    RETURNING host, role, outcome"""
# The time of a dead crawler's last request is unknown, so the delay of its hosts begins now.
DELAY_HOSTS = (
    "UPDATE hosts SET ready_at = greatest(ready_at, %s + delay) WHERE holder = ANY(%s::bigint[]) AND delay > 0"
)
RELEASE_HOSTS = "UPDATE hosts SET holder = NULL WHERE id = ANY(%s::bigint[])"


class _Worker(NamedTuple):
    """A crawler that works according to its row."""

    id: int
    name: str
    machine: str
    heartbeat_at: float  # or the end of the last long exclusive transaction, if later
    server_since: float
    holds_lock: bool


class _Observer(NamedTuple):
    """The process that asks which crawlers are dead."""

    machine: str
    now: float
    reconnected_at: float = 0.0  # after it lost the server: other crawlers may still be reconnecting
    crawler: int | None = None  # it is this crawler itself
    watch: HeartbeatWatch | None = None  # the heartbeats that it saw before; None: it has not watched

    def silent_crawlers(self, workers: Iterable[_Worker]) -> set[int] | None:
        """Return the crawlers whose heartbeats it misses; None: it has not watched."""
        return None if self.watch is None else self.watch.look(_heartbeats(workers), self.now).silent_crawlers()


def _heartbeats(workers: Iterable[_Worker]) -> dict[int, float]:
    return {worker.id: worker.heartbeat_at for worker in workers}


def _is_dead(worker: _Worker, observer: _Observer, silent: Collection[int] | None = None) -> bool:
    """Return whether a crawler that works according to its row has died, as one process sees it."""
    if worker.heartbeat_at == CLOSED_HEARTBEAT:
        return True
    if worker.holds_lock and silent is not None:
        return worker.id in silent
    if worker.holds_lock:
        return worker.machine != observer.machine and observer.now - worker.heartbeat_at > LEASE_SECONDS
    last_sign = max(worker.heartbeat_at, worker.server_since, observer.reconnected_at)
    return observer.now - last_sign > RECONNECT_GRACE_SECONDS


def working_crawlers(db: Connection) -> list[_Worker]:
    """Return the crawlers that have not left."""
    return [_Worker(*row) for row in db.execute(SELECT_WORKING)]


def wait_for_reconnections(db: Connection, machine: str) -> None:
    """Wait while a crawler without its lock may still reconnect, because the server started a moment ago."""
    deadline = time.monotonic() + RECONNECT_GRACE_SECONDS
    while time.monotonic() < deadline:
        observer = _Observer(machine, time.time())
        if all(worker.holds_lock or _is_dead(worker, observer) for worker in working_crawlers(db)):
            return
        time.sleep(RECONNECT_POLL_SECONDS)


def names_at_work(db: Connection, machine: str, now: float) -> list[str]:
    """Return the names of crawlers that work and have not died."""
    observer = _Observer(machine, now)
    return [worker.name for worker in working_crawlers(db) if not _is_dead(worker, observer)]


def _dead_crawlers(workers: Iterable[_Worker], observer: _Observer) -> list[int]:
    """Return the ids of crawlers that died without leaving, or whose heartbeats the observer misses."""
    others = [worker for worker in workers if worker.id != observer.crawler]
    silent = observer.silent_crawlers(others)
    return [worker.id for worker in others if _is_dead(worker, observer, silent)]


# -- the life of a crawler ---------------------------------------------------------------------------------------------


def join(database: Database, machine: str, pid: int) -> CrawlerRow:
    """Register a crawler under a free name, and lock it; reclaim the leases of dead crawlers."""
    crawler = database.write(lambda tx: register_crawler(tx, machine, pid, time.time()), exclusive=True)
    database.lock_crawler(crawler.id)
    database.watches[crawler.id] = HeartbeatWatch(crawler.started_at, {})
    return crawler


def register_crawler(tx: Transaction, machine: str, pid: int, now: float) -> CrawlerRow:
    """Register a crawler under the first free name, in an exclusive transaction."""
    tx.db.execute("UPDATE hosts SET ready_at = %s WHERE ready_at > %s", (now, now + MAX_HOST_PAUSE_SECONDS))
    _reclaim(tx, _Observer(machine, now))
    taken = {worker.name for worker in working_crawlers(tx.db)}
    name = next(name for name in crawler_names() if name not in taken)
    row = tx.db.execute(ENTER, (name, machine, pid, now, now)).fetchone()
    assert row is not None
    return CrawlerRow(id=row[0], name=name, machine=machine, pid=pid, started_at=now, heartbeat_at=now)


def heartbeat(database: Database, crawler: int, report: CrawlerReport, now: float) -> CrawlerOrders:
    """Renew a crawler's lock and leases, reclaim those of dead crawlers, and return its orders."""
    database.relock_crawlers()
    watch = database.watches.get(crawler, HeartbeatWatch(now, {}))
    machine, workers = database.read(lambda db: (machine_of(db, crawler), working_crawlers(db)))
    heartbeats = _heartbeats(workers)
    observer = _Observer(machine, now, database.reconnected_at, crawler, watch)
    if crawler in heartbeats and _dead_crawlers(workers, observer):  # a lost crawler may not judge others
        database.write(lambda tx: _reclaim(tx, observer), exclusive=True)
    orders = database.write(lambda tx: record_heartbeat(tx.db, crawler, report, now))
    database.watches[crawler] = watch.look(heartbeats, now)  # after the commit: a crawler that could not write is blind
    return orders


def record_heartbeat(db: Connection, crawler: int, report: CrawlerReport, now: float) -> CrawlerOrders:
    """Record a heartbeat and return the crawler's orders. A lost crawler stops, because others have its work."""
    status = (
        report.state, report.pages, report.pages_per_second, report.bytes_per_second, report.limit, report.waiting_for,
        report.parsers, report.most_parsers,
    )  # fmt: skip
    row = db.execute(RECORD_HEARTBEAT, (now, *status, crawler)).fetchone()
    if row is None:
        return CrawlerOrders(state=LOST)
    return CrawlerOrders(state=row[0], parsers=row[1], hosts=_host_share(db, crawler, report, now))


def is_working(db: Connection, crawler: int) -> bool:
    """Return whether a crawler has neither left nor been declared lost."""
    return db.execute(SELECT_IF_WORKING, (crawler,)).fetchone() is not None


def _host_share(db: Connection, crawler: int, report: CrawlerReport, now: float) -> int | None:
    """Return how many hosts a crawler may hold while another one has none; None: no limit."""
    if report.state != "running" or not report.most_parsers:
        return None
    if db.execute(OTHERS_WITHOUT_HOSTS, (crawler, now - RECENT_HEARTBEAT_SECONDS)).fetchone() is None:
        return None
    row = db.execute(HOSTS_AND_CRAWLERS, (now + LEASE_SECONDS, MAX_COUNTED_HOSTS)).fetchone()
    assert row is not None
    return fair_share(*row)


def machine_of(db: Connection, crawler: int) -> str:
    """Return the machine of a crawler."""
    row = db.execute("SELECT machine FROM crawlers WHERE id = %s", (crawler,)).fetchone()
    return str(row[0]) if row else ""


def leave(database: Database, crawler: int) -> None:
    """Release every lease and the lock of a crawler."""

    def stop(tx: Transaction) -> None:
        release_all_hosts(tx, [crawler])
        tx.db.execute("UPDATE crawlers SET state = %s WHERE id = %s AND state <> %s", (STOPPED, crawler, LOST))

    database.write(stop, exclusive=True)
    database.watches.pop(crawler, None)
    database.unlock_crawler(crawler)


def set_wanted_state(database: Database, name: str, wanted: str) -> bool:
    """Ask a working crawler to run, pause or stop; return whether there is one of that name."""
    _reclaim_if_dead(database)
    return database.write(lambda tx: tx.db.execute(SET_WANTED_STATE, (wanted, name)).rowcount > 0)


def set_wanted_parsers(database: Database, name: str, number: int) -> bool:
    """Ask a working crawler to run `number` parsers; return False if none of that name may run as many."""
    _reclaim_if_dead(database)
    parameters = {"number": number, "name": name}
    return database.write(lambda tx: tx.db.execute(SET_WANTED_PARSERS, parameters).rowcount > 0)


def _reclaim_if_dead(database: Database) -> None:
    """Reclaim the leases of dead crawlers. Most calls only read, because the writing transaction is exclusive."""
    observer = _Observer(platform.node(), time.time(), database.reconnected_at)
    if _dead_crawlers(database.read(working_crawlers), observer):
        database.write(lambda tx: _reclaim(tx, observer), exclusive=True)


def _reclaim(tx: Transaction, observer: _Observer) -> None:
    """Release the leases of dead crawlers and declare them lost, in an exclusive transaction."""
    if lost := _dead_crawlers(working_crawlers(tx.db), observer):
        tx.db.execute(DELAY_HOSTS, (observer.now, int_array(lost)))
        release_all_hosts(tx, lost)
        tx.db.execute("UPDATE crawlers SET state = %s WHERE id = ANY(%s::bigint[])", (LOST, int_array(lost)))


def latest_crawlers(database: Database) -> list[CrawlerRow]:
    """Return the latest crawler of every name; dead ones show as lost."""
    return database.read(_latest_crawlers)


def _latest_crawlers(db: Connection) -> list[CrawlerRow]:
    now = time.time()
    gone = {worker.id for worker in working_crawlers(db) if _is_dead(worker, _Observer(worker.machine, now))}
    return build_crawlers(db.execute(LATEST).fetchall(), gone)


# -- releasing ---------------------------------------------------------------------------------------------------------


def release_all_hosts(tx: Transaction, crawlers: Iterable[int]) -> None:
    """Release every host of these crawlers."""
    release_hosts(tx, [host for (host,) in tx.db.execute(SELECT_HELD_HOSTS, (int_array(crawlers),))])


def release_hosts(tx: Transaction, hosts: Iterable[int]) -> None:
    """Release these hosts, and queue their leased URLs again."""
    listed = int_array(hosts)
    for host, role, outcome in tx.db.execute(UNLEASE, (listed,)).fetchall():
        tx.counter_deltas.subtract(host, State.LEASED, role, outcome)
        tx.counter_deltas.add(host, State.QUEUED, role, outcome)
    tx.db.execute(RELEASE_HOSTS, (listed,))
