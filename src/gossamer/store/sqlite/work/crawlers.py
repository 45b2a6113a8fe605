"""Crawlers: names, heartbeats, when one counts as dead, and its leases given back.

A crawler holds an OS lock on crawlers/NAME.lock while its process lives. The kernel frees the lock when the process
exits for any reason. So a free lock proves death at once, without waiting for a heartbeat. A held lock proves only that
the process exists: it may be stopped. So crawlers at work watch each other's heartbeats (`store/work/heartbeats.py`).

A process that only joins or gives an order has watched nobody. It trusts a held lock, and reads the age of a heartbeat
where the lock says nothing: on another machine, or after somebody deleted the lock file.
"""

from __future__ import annotations

import fcntl
import os
import platform
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from gossamer.model import State
from gossamer.store.protocol import LEASE_SECONDS, MAX_HOST_PAUSE_SECONDS
from gossamer.store.sqlite.database import json_array
from gossamer.store.sqlite.work.digests import index_fresh_digests
from gossamer.store.values import CrawlerOrders, CrawlerRow
from gossamer.store.work.crawler_names import LOST, STOPPED, build_crawlers, crawler_names
from gossamer.store.work.heartbeats import HeartbeatWatch
from gossamer.store.work.lease_rows import MAX_COUNTED_HOSTS, RECENT_HEARTBEAT_SECONDS, fair_share

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from gossamer.store.sqlite.database import Database, Transaction
    from gossamer.store.values import CrawlerReport

COLUMNS = """id, name, machine, pid, started_at, heartbeat_at, wanted, state, pages, pages_per_second, bytes_per_second,
    limited_by, waiting_for, parsers, most_parsers, wanted_parsers"""
SELECT_WORKING = "SELECT id, name, machine, lock, heartbeat_at FROM crawlers WHERE state NOT IN ('stopped', 'lost')"
LATEST = f"SELECT {COLUMNS} FROM crawlers WHERE id IN (SELECT max(id) FROM crawlers GROUP BY name) ORDER BY id"  # noqa: S608
RECORD_HEARTBEAT = """
    UPDATE crawlers SET heartbeat_at = ?, lock = ?, state = ?, pages = ?, pages_per_second = ?, bytes_per_second = ?,
        limited_by = ?, waiting_for = ?, parsers = ?, most_parsers = ?
    WHERE id = ? AND state NOT IN ('stopped', 'lost') RETURNING wanted, wanted_parsers"""
SELECT_IF_WORKING = "SELECT 1 FROM crawlers WHERE id = ? AND state NOT IN ('stopped', 'lost')"
OTHERS_WITHOUT_HOSTS = """
    SELECT 1 FROM crawlers AS other WHERE state = 'waiting' AND id <> ? AND heartbeat_at > ?
        AND NOT EXISTS (SELECT 1 FROM hosts INDEXED BY hosts_held WHERE holder = other.id)"""
# Without paused crawlers, which keep their hosts, and without imports, whose parsers cannot be changed.
_SHARING = "FROM crawlers WHERE state IN ('running', 'waiting') AND most_parsers > 0"
HOSTS_AND_CRAWLERS = f"""
    SELECT (SELECT count(*) FROM hosts INDEXED BY hosts_held WHERE holder IN (SELECT id {_SHARING}))
        + (SELECT count(*) FROM (SELECT 1 FROM hosts INDEXED BY hosts_free
            WHERE holder IS NULL AND (queued_others > 0 OR queued_pages > 0 AND spent = 0) AND ready_at <= ? LIMIT ?)),
        (SELECT count(*) {_SHARING})"""  # noqa: S608
SET_WANTED_STATE = """
    UPDATE crawlers SET wanted = ? WHERE name = ? COLLATE NOCASE AND state NOT IN ('stopped', 'lost')"""
SET_WANTED_PARSERS = """
    UPDATE crawlers SET wanted_parsers = ?1
    WHERE name = ?2 COLLATE NOCASE AND state NOT IN ('stopped', 'lost') AND ?1 BETWEEN 1 AND most_parsers"""
LEASED_BY_HOST = """
    SELECT host, role, outcome, count(*) FROM resources INDEXED BY resources_leased
    WHERE state = 'leased' AND host IN (SELECT value FROM json_each(?)) GROUP BY 1, 2, 3"""
UNLEASE = """
    UPDATE resources SET state = 'queued'
    WHERE id IN (SELECT id FROM resources INDEXED BY resources_leased
        WHERE state = 'leased' AND host IN (SELECT value FROM json_each(?)))"""
# The time of the last request of a dead crawler is unknown, so the pause of its hosts begins now.
DELAY_HOSTS = """
    UPDATE hosts SET ready_at = max(ready_at, ?1 + delay)
    WHERE id IN (SELECT id FROM hosts INDEXED BY hosts_held WHERE holder IN (SELECT value FROM json_each(?2)))
        AND delay > 0"""


class _Worker(NamedTuple):
    """A crawler that is at work according to the table."""

    id: int
    name: str
    machine: str
    lock: int
    heartbeat_at: float


class NameLock:
    """A lock on a name, held until the process exits or `close`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self.inode = os.fstat(descriptor).st_ino

    @classmethod
    def acquire(cls, path: Path) -> NameLock | None:
        """Lock a name; return None when another process has it."""
        path.parent.mkdir(exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return cls(path, descriptor)

    def renew(self) -> NameLock:
        """Return this lock, or one on a new file if somebody deleted it, so that others see the lock."""
        if _inode(self._path) == self.inode:
            return self
        renewed = NameLock.acquire(self._path)
        if renewed is None:
            return self
        self.close()
        return renewed

    def close(self) -> None:
        """Release the name."""
        os.close(self._descriptor)


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def lock_path(directory: Path, name: str) -> Path:
    """Return the lock file of a name."""
    return directory / "crawlers" / f"{name}.lock"


def is_dead(worker: _Worker, directory: Path, machine: str, now: float, silent: Collection[int] | None = None) -> bool:
    """Return whether a crawler that the table shows at work is dead, as seen from a machine.

    `silent` are the crawlers whose heartbeats the caller misses; None: the caller has not watched.
    """
    free = _is_free(lock_path(directory, worker.name), worker.lock)
    if free:
        return True
    if silent is not None:
        return worker.id in silent
    return (free is None or worker.machine != machine) and now - worker.heartbeat_at > LEASE_SECONDS


def _is_free(path: Path, inode: int) -> bool | None:
    """Return whether nobody holds the lock; None when the file is not the one that was locked."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, PermissionError):
        return None
    try:
        if os.fstat(descriptor).st_ino != inode:
            return None
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


# -- the life of a crawler ---------------------------------------------------------------------------------------------


def join(database: Database, machine: str, pid: int) -> CrawlerRow:
    """Register a crawler under a free name, and lock the name; give back the leases of crawlers that died."""
    now = time.time()
    with ExitStack() as undo:
        with database.transaction() as tx:
            name, lock = take_name(tx, database.directory, machine, now)
            undo.callback(lock.close)
            crawler = register_crawler(tx, name, lock, machine, pid, now)
        undo.pop_all()
    database.name_locks[crawler.id] = lock
    database.watches[crawler.id] = HeartbeatWatch(now, {})
    return crawler


def take_name(tx: Transaction, directory: Path, machine: str, now: float) -> tuple[str, NameLock]:
    """Return the first free name with its lock. The transaction keeps out other joining crawlers."""
    reclaim(tx, directory, machine, now)
    taken = {worker.name for worker in working_crawlers(tx.db)}
    for name in crawler_names():
        if name not in taken and (lock := NameLock.acquire(lock_path(directory, name))):
            return name, lock
    raise AssertionError  # crawler_names() never ends


def register_crawler(tx: Transaction, name: str, lock: NameLock, machine: str, pid: int, now: float) -> CrawlerRow:
    """Insert a crawler that begins work under a name."""
    tx.db.execute("UPDATE hosts SET ready_at = ?1 WHERE ready_at > ?1 + ?2", (now, MAX_HOST_PAUSE_SECONDS))
    insert = "INSERT INTO crawlers (name, machine, pid, lock, started_at, heartbeat_at) VALUES (?, ?, ?, ?, ?, ?)"
    crawler = tx.db.execute(insert, (name, machine, pid, lock.inode, now, now)).lastrowid
    assert crawler is not None
    return CrawlerRow(id=crawler, name=name, machine=machine, pid=pid, started_at=now, heartbeat_at=now)


def heartbeat(database: Database, crawler: int, report: CrawlerReport, now: float) -> CrawlerOrders:
    """Renew a crawler's lock and leases, reclaim those of dead crawlers, and return its orders."""
    lock = database.name_locks[crawler] = database.name_locks[crawler].renew()
    with database.transaction() as tx:
        watch = database.watches[crawler].look(_heartbeats(tx.db, except_crawler=crawler), now)
        if is_working(tx.db, crawler):
            machine = machine_of(tx.db, crawler)
            reclaim(tx, database.directory, machine, now, watch.silent_crawlers(), except_crawler=crawler)
        orders = record_heartbeat(tx, crawler, lock.inode, report, now)
    database.watches[crawler] = watch  # after the commit: a crawler that could not write is blind
    return orders


def _heartbeats(db: sqlite3.Connection, except_crawler: int) -> dict[int, float]:
    return {worker.id: worker.heartbeat_at for worker in working_crawlers(db) if worker.id != except_crawler}


def record_heartbeat(tx: Transaction, crawler: int, lock: int, report: CrawlerReport, now: float) -> CrawlerOrders:
    """Record a heartbeat and return the orders; a crawler that counts as lost gets the state "lost"."""
    status = (
        report.state, report.pages, report.pages_per_second, report.bytes_per_second, report.limit, report.waiting_for,
        report.parsers, report.most_parsers,
    )  # fmt: skip
    row = tx.db.execute(RECORD_HEARTBEAT, (now, lock, *status, crawler)).fetchone()
    if row is None:
        return CrawlerOrders(state=LOST)
    return CrawlerOrders(state=row[0], parsers=row[1], hosts=_host_share(tx.db, crawler, report, now))


def is_working(db: sqlite3.Connection, crawler: int) -> bool:
    """Return whether a crawler is at work: it has not left and does not count as lost."""
    return db.execute(SELECT_IF_WORKING, (crawler,)).fetchone() is not None


def _host_share(db: sqlite3.Connection, crawler: int, report: CrawlerReport, now: float) -> int | None:
    """Return how many hosts a crawler may hold while another waits for its first; None: no limit."""
    if report.state != "running" or not report.most_parsers:
        return None
    if db.execute(OTHERS_WITHOUT_HOSTS, (crawler, now - RECENT_HEARTBEAT_SECONDS)).fetchone() is None:
        return None
    return fair_share(*db.execute(HOSTS_AND_CRAWLERS, (now + LEASE_SECONDS, MAX_COUNTED_HOSTS)).fetchone())


def leave(database: Database, crawler: int) -> None:
    """Give back every lease and the name; indexing fresh digests speeds up readers of a web at rest."""
    with database.transaction() as tx:
        release_all_hosts(tx, [crawler])
        index_fresh_digests(tx)
        tx.db.execute("UPDATE crawlers SET state = ? WHERE id = ? AND state <> ?", (STOPPED, crawler, LOST))
    database.watches.pop(crawler)
    database.name_locks.pop(crawler).close()


def set_wanted_state(database: Database, name: str, wanted: str) -> bool:
    """Ask a crawler at work to run, pause or stop; return False when none of that name is at work."""
    with database.transaction() as tx:
        reclaim(tx, database.directory, platform.node(), time.time())
        return tx.db.execute(SET_WANTED_STATE, (wanted, name)).rowcount > 0


def set_wanted_parsers(database: Database, name: str, number: int) -> bool:
    """Ask a crawler at work to run `number` parsers; return False when none of that name may run as many."""
    with database.transaction() as tx:
        reclaim(tx, database.directory, platform.node(), time.time())
        return tx.db.execute(SET_WANTED_PARSERS, (number, name)).rowcount > 0


def working_crawlers(db: sqlite3.Connection) -> list[_Worker]:
    """Return the crawlers that have not left."""
    return [_Worker(*row) for row in db.execute(SELECT_WORKING)]


def reclaim(
    tx: Transaction, directory: Path, machine: str, now: float, silent: Collection[int] | None = None,
    except_crawler: int | None = None,
) -> None:  # fmt: skip
    """Give back the leases of dead crawlers."""
    others = (worker for worker in working_crawlers(tx.db) if worker.id != except_crawler)
    dead = [worker.id for worker in others if is_dead(worker, directory, machine, now, silent)]
    if dead:
        tx.db.execute(DELAY_HOSTS, (now, json_array(dead)))
        release_all_hosts(tx, dead)
        update = "UPDATE crawlers SET state = ? WHERE id IN (SELECT value FROM json_each(?))"
        tx.db.execute(update, (LOST, json_array(dead)))


def machine_of(db: sqlite3.Connection, crawler: int) -> str:
    """Return the machine of a crawler."""
    row = db.execute("SELECT machine FROM crawlers WHERE id = ?", (crawler,)).fetchone()
    return str(row[0]) if row else ""


def latest_crawlers(database: Database) -> list[CrawlerRow]:
    """Return the last crawler of every name; a dead one gets the state "lost"."""
    now, directory = time.time(), database.directory
    with database.connection() as db:
        dead = {worker.id for worker in working_crawlers(db) if is_dead(worker, directory, worker.machine, now)}
        return build_crawlers(db.execute(LATEST).fetchall(), dead)


# -- hosts given back --------------------------------------------------------------------------------------------------


def release_all_hosts(tx: Transaction, crawlers: Iterable[int]) -> None:
    """Free every host of these crawlers."""
    select_held = "SELECT id FROM hosts INDEXED BY hosts_held WHERE holder IN (SELECT value FROM json_each(?))"
    release_hosts(tx, [host for (host,) in tx.db.execute(select_held, (json_array(crawlers),))])


def release_hosts(tx: Transaction, hosts: Iterable[int]) -> None:
    """Free these hosts and queue their leased URLs again."""
    listed = json_array(hosts)
    for host, role, outcome, times in tx.db.execute(LEASED_BY_HOST, (listed,)).fetchall():
        tx.counter_deltas.subtract(host, State.LEASED, role, outcome, times)
        tx.counter_deltas.add(host, State.QUEUED, role, outcome, times)
    tx.db.execute(UNLEASE, (listed,))
    tx.db.execute("UPDATE hosts SET holder = NULL WHERE id IN (SELECT value FROM json_each(?))", (listed,))
