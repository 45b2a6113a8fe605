"""The connection to a database: it reconnects, retries, and commits every transaction exactly once.

This module handles PostgreSQL as a server: broken connections, restarts, deadlocks. The other modules only run SQL
inside a `Transaction`.

How writers share a web
    Every writing transaction holds one advisory lock of the web. The frequent ones hold it shared: `submit`, `lease`,
    `heartbeat`. The ones that read or change many rows hold it exclusively: a new round, a new scope, forgetting,
    reclaiming the leases of dead crawlers. An exclusive transaction needs no other locks.

    Shared writers lock rows in one order, to avoid deadlocks: new hosts by name, new resources by digest, backlinks by
    id, the round, hosts by id, and last the row `version` of `meta`. One writer at a time holds that row, and only its
    holder changes resources that others know. The big tables that need no lock are written before: bonds, texts,
    sources, visits. Propagating smaller depths cannot keep the order. There PostgreSQL aborts one of two deadlocked
    transactions, and `_retry` runs it again.

When the server goes away
    `_retry` runs the work again on a new connection. If the connection broke during COMMIT, `_was_committed` asks the
    server about that transaction. So no batch is lost, and none is written twice.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from contextlib import contextmanager
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg import errors, sql

from gossamer.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreMissing,
    StoreNotWritable,
    StoreUnreachable,
)
from gossamer.store.postgres.bulk_copy import STAGES, copy_rows
from gossamer.store.work.counters import CounterDeltas
from gossamer.store.work.url_cache import UrlCache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gossamer.store.postgres.location import PostgresLocation
    from gossamer.store.work.heartbeats import HeartbeatWatch

    Connection = psycopg.Connection[tuple[Any, ...]]

T = TypeVar("T")

RECONNECT_SECONDS = 120.0  # a restart of the server takes a few seconds, a failover up to a minute
FIRST_WAIT, LONGEST_WAIT = 0.05, 2.0  # seconds between two attempts; the wait doubles
LONG_EXCLUSIVE_SECONDS = 1.0  # an exclusive transaction longer than this delays heartbeats, so it is noted
MAX_DEADLOCKS = 20  # attempts of one transaction
WEB_LOCK = 0  # number of the web's lock; a crawler's lock has its id, and ids begin at 1

# force_custom_plan: a plan for the first thousand resources must not serve the next million.
# jit: compiling takes longer than these short queries.
# lock_timeout: a change of scope may make others wait for minutes.
# idle_in_transaction_session_timeout: a frozen crawler must not block others with an open transaction.
# tcp_keepalives: the server notices within 30 s that a machine is gone, and frees the locks of its crawlers.
SESSION = """
    SET plan_cache_mode = force_custom_plan; SET jit = off; SET random_page_cost = 1.1; SET lock_timeout = '600s';
    SET statement_timeout = 0; SET idle_in_transaction_session_timeout = '60s'; SET client_encoding = 'UTF8';
    SET client_min_messages = warning;
    SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 4"""
# Shared transactions go from a few rows to others by index. Outdated statistics of a fast-growing table would make
# the planner scan it. Exclusive transactions may scan whole tables.
BEGIN_SHARED = (
    "BEGIN; SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off"
)
LOCK_SHARED = "SELECT pg_advisory_xact_lock_shared(%s, %s)"
LOCK_EXCLUSIVE = "SELECT pg_advisory_xact_lock(%s, %s)"
GENERATION = "SELECT value FROM meta WHERE key = 'generation'"
NEXT_VERSION = "UPDATE meta SET value = value + 1 WHERE key = 'version' RETURNING value"
LOCK_VERSION = "SELECT value FROM meta WHERE key = 'version' FOR UPDATE"
UPDATE_HOST_COUNTERS = """
    UPDATE hosts AS h SET known = h.known + c.known, queued_pages = h.queued_pages + c.queued_pages,
        queued_others = h.queued_others + c.queued_others, pages = h.pages + c.pages, failed = h.failed + c.failed
    FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
        AS c (known, queued_pages, queued_others, pages, failed, id)
    WHERE h.id = c.id"""
LOCK_HOSTS = "SELECT id FROM hosts WHERE id = ANY(%s::bigint[]) ORDER BY id FOR UPDATE"
UPDATE_COUNTERS = """
    UPDATE meta AS m SET value = m.value + c.n
    FROM unnest(%s::text[], %s::bigint[]) AS c (key, n) WHERE m.key = c.key"""
# No crawler could send a heartbeat during an exclusive transaction, so a late one does not mean that it died.
NOTE_EXCLUSIVE_END = """
    INSERT INTO meta (key, value) VALUES ('alone', %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value"""
SELECT_IDENTITY = "SELECT to_regclass('web')::oid::bigint"
SELECT_WEB_OID = "SELECT oid::bigint FROM pg_namespace WHERE nspname = %s"
TRY_LOCK = "SELECT pg_try_advisory_lock(%s, %s)"
UNLOCK = "SELECT pg_advisory_unlock(%s, %s)"
MARK_CLOSED = "UPDATE crawlers SET heartbeat_at = 0 WHERE id = ANY(%s::bigint[]) AND state NOT IN ('stopped', 'lost')"
SELECT_TRANSACTION_ID = "SELECT pg_current_xact_id_if_assigned()::text"
SELECT_TRANSACTION_STATUS = "SELECT pg_xact_status(%s::text::xid8)"


class Transaction:
    """One writing transaction: the connection, the counters it changes, and the cache of known URLs."""

    def __init__(self, db: Connection, url_cache: UrlCache) -> None:
        self.db = db
        self.meta: Counter[str] = Counter()  # changes of the web's counters
        self.counter_deltas = CounterDeltas(self.meta)
        self.url_cache = url_cache
        self._staged: set[str] = set()

    def stage(self, table: str, names: Sequence[str], columns: Sequence[Iterable[str]]) -> None:
        """Fill a temporary table of `STAGES`, replacing the rows of an earlier call in this transaction."""
        if table in self._staged:
            self.db.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
        self._staged.add(table)
        copy_rows(self.db, table, names, columns)

    def lock_version(self) -> None:
        """Make other writers wait until this transaction ends."""
        self.db.execute(LOCK_VERSION)

    def next_version(self) -> int:
        """Return the store version of this transaction. This locks the row `version`, as `lock_version` does."""
        row = self.db.execute(NEXT_VERSION).fetchone()
        assert row is not None
        return int(row[0])

    def lock_hosts(self, hosts: Iterable[int]) -> None:
        """Lock these hosts and the ones with changed counters. Call it before `lock_version`."""
        self.db.execute(LOCK_HOSTS, (int_array(sorted(self.counter_deltas.changed_hosts().union(hosts))),))

    def write_host_counters(self) -> None:
        """Write the changed counters of hosts."""
        if changed := self.counter_deltas.take_host_deltas():
            self.db.execute(UPDATE_HOST_COUNTERS, [int_array(column) for column in zip(*changed, strict=True)])

    def finish(self) -> None:
        """Write all changed counters; the last step before COMMIT."""
        self.write_host_counters()
        if changed := [(key, number) for key, number in self.meta.items() if number]:
            self.lock_version()
            keys, numbers = zip(*changed, strict=True)
            self.db.execute(UPDATE_COUNTERS, (list(keys), int_array(numbers)))

    def totals(self) -> dict[str, int]:
        """Return the web's counters as they will be after this transaction."""
        stored: dict[str, int] = dict(self.db.execute("SELECT key, value FROM meta"))
        return {key: value + self.meta[key] for key, value in stored.items()}


class Database:
    """A web in a database: one connection, opened on demand and again after it broke."""

    def __init__(self, location: PostgresLocation, *, read_only: bool) -> None:
        self.location = location
        self._read_only = read_only
        self._url_cache = UrlCache()
        self._db: Connection | None = None
        self._has_stages = False
        self._web_oid = 0
        self.opened_identity = ""  # of the web that `open_database` opened
        self._crawlers: set[int] = set()  # crawlers that hold their lock through this connection
        self._unlocked_crawlers: set[int] = set()  # the server has not yet freed their lock of an earlier connection
        self._has_lost_server = False
        self.reconnected_at = 0.0  # time of the last reconnection after a loss
        self.watches: dict[int, HeartbeatWatch] = {}  # by crawler that joined through this connection

    # -- reading -------------------------------------------------------------------------------------------------------

    def identity(self) -> str:
        """Return which web is at the location now, "" when there is none. A table made again has another number."""

        def read_identity(db: Connection) -> str:
            row = db.execute(SELECT_IDENTITY).fetchone()
            return "" if row is None or row[0] is None else str(row[0])

        return self.read(read_identity)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run a read. Each of its statements sees the latest committed state."""
        return self._retry(work)

    def snapshot(self, work: Callable[[Connection], T]) -> T:
        """Run a read whose statements all see the same state."""

        def read_snapshot(db: Connection) -> T:
            db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                return work(db)
            finally:
                _end_transaction(db, "COMMIT")

        return self._retry(read_snapshot)

    # -- writing -------------------------------------------------------------------------------------------------------

    def write(self, work: Callable[[Transaction], T], *, exclusive: bool = False) -> T:
        """Run `work` in one transaction: all of it takes effect once, or nothing. A retry calls `work` again."""
        return self._retry(lambda db: self._write(db, work, exclusive=exclusive))

    def _write(self, db: Connection, work: Callable[[Transaction], T], *, exclusive: bool) -> T:
        if not self._has_stages:
            db.execute(STAGES)
            self._has_stages = True
        try:
            db.execute("BEGIN" if exclusive else BEGIN_SHARED)
            db.execute(LOCK_EXCLUSIVE if exclusive else LOCK_SHARED, (self._web_oid, WEB_LOCK))
            began = time.monotonic()
            row = db.execute(GENERATION).fetchone()
            assert row is not None
            self._url_cache.set_generation(row[0])
            transaction = Transaction(db, self._url_cache)
            result = work(transaction)
            transaction.finish()
            if exclusive and time.monotonic() - began > LONG_EXCLUSIVE_SECONDS:
                db.execute(NOTE_EXCLUSIVE_END, (math.ceil(time.time()),))
            self._commit(db)
        except BaseException:
            self._url_cache.clear()  # it may hold ids that this rollback undoes
            _end_transaction(db, "ROLLBACK")
            raise
        return result

    def _commit(self, db: Connection) -> None:
        """Commit. If the connection breaks meanwhile, ask the server whether the commit took effect."""
        row = db.execute(SELECT_TRANSACTION_ID).fetchone()
        assert row is not None
        try:
            db.execute("COMMIT")
        except psycopg.OperationalError as error:
            if not _is_server_lost(error, db) or row[0] is None or not self._was_committed(row[0]):
                raise

    def _was_committed(self, transaction_id: str) -> bool:
        def wait_for_outcome(db: Connection) -> bool:
            while True:
                try:
                    row = db.execute(SELECT_TRANSACTION_STATUS, (transaction_id,)).fetchone()
                except errors.InvalidParameterValue:  # the id lies in the server's future: a failover lost it
                    return False
                if row is None or row[0] != "in progress":
                    return row is not None and row[0] == "committed"
                time.sleep(FIRST_WAIT)

        return self._retry(wait_for_outcome)

    # -- locks of crawlers ---------------------------------------------------------------------------------------------

    def lock_crawler(self, crawler: int) -> None:
        """Hold a crawler's lock. Others see by it that the crawler lives, until this connection ends."""
        self._crawlers.add(crawler)
        self._unlocked_crawlers.add(crawler)
        self.relock_crawlers()

    def relock_crawlers(self) -> None:
        """Take the locks of an earlier connection again. The server may notice its end later than this process."""
        if self._unlocked_crawlers:
            self.read(self._take_locks)

    def _take_locks(self, db: Connection) -> None:
        for crawler in tuple(self._unlocked_crawlers):
            row = db.execute(TRY_LOCK, (self._web_oid, crawler)).fetchone()
            if row is not None and row[0]:
                self._unlocked_crawlers.discard(crawler)

    def unlock_crawler(self, crawler: int) -> None:
        """Free the lock of a crawler that left."""
        if crawler in self._crawlers:
            self._crawlers.discard(crawler)
            self._unlocked_crawlers.discard(crawler)
            self.read(lambda db: db.execute(UNLOCK, (self._web_oid, crawler)))

    # -- the connection ------------------------------------------------------------------------------------------------

    def _retry(self, work: Callable[[Connection], T]) -> T:
        """Run `work`; run it again after a deadlock, and after the server went away and came back."""
        started, deadlocks, wait = time.monotonic(), 0, FIRST_WAIT
        with translate_errors(self.location):
            while True:
                db = self._db
                try:
                    db = self.connection()
                    return work(db)
                except (errors.DeadlockDetected, errors.SerializationFailure):
                    deadlocks += 1
                    if deadlocks > MAX_DEADLOCKS:
                        raise
                    time.sleep(random.uniform(0, FIRST_WAIT))  # noqa: S311 - so that the two do not collide again
                except (psycopg.OperationalError, errors.IdleInTransactionSessionTimeout) as error:
                    if not _is_server_lost(error, db) or time.monotonic() - started > RECONNECT_SECONDS:
                        raise
                    self._drop_connection()
                    self._has_lost_server = True
                    time.sleep(wait)
                    wait = min(2 * wait, LONGEST_WAIT)

    def connection(self) -> Connection:
        """Return the connection; open one if there is none."""
        if self._db is None or self._db.closed:
            self._drop_connection()
            self.use_connection(connect(self.location))
            if self._has_lost_server:
                self._has_lost_server, self.reconnected_at = False, time.time()
        assert self._db is not None
        return self._db

    def use_connection(self, db: Connection) -> None:
        """Use this connection from now on, and own it: `close` closes it."""
        self._db = db
        try:
            self._prepare(db)
        except BaseException:
            self._drop_connection()
            raise

    def _prepare(self, db: Connection) -> None:
        self._web_oid = web_lock_number(db, self.location)
        if self._read_only:
            db.execute("SET default_transaction_read_only = on")
        self._has_stages = False
        self._unlocked_crawlers = set(self._crawlers)
        self._take_locks(db)

    def _drop_connection(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def close(self) -> None:
        """Close the connection and mark its crawlers, so that others can reclaim their leases at once."""
        try:
            if self._crawlers and self._db is not None and not self._db.closed:
                self._db.execute(MARK_CLOSED, (int_array(self._crawlers),))
        except psycopg.OperationalError:
            pass  # the server is gone too; others will notice the missing heartbeat
        finally:
            self._drop_connection()


def connect(location: PostgresLocation) -> Connection:
    """Open a connection whose search path is the schema of the web."""
    db = psycopg.connect(location.connection, autocommit=True, application_name="gossamer", connect_timeout=10)
    try:
        db.execute(SESSION)
        db.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(location.schema)))
    except BaseException:
        db.close()
        raise
    return db


def web_lock_number(db: Connection, location: PostgresLocation) -> int:
    """Return the first number of the advisory locks of a web."""
    row = db.execute(SELECT_WEB_OID, (location.schema,)).fetchone()
    if row is None:
        raise missing_web(location)
    return int(row[0]) - (1 << 32 if row[0] >= 1 << 31 else 0)  # lock numbers are signed 32-bit


def int_array(values: Iterable[object]) -> str:
    """Return numbers as one parameter for `%s::bigint[]`; psycopg takes ten times as long for a list."""
    return f"{{{','.join(map(str, values))}}}"


def _end_transaction(db: Connection, command: str) -> None:
    """End a transaction, unless the connection is closed."""
    if not db.closed:
        db.execute(command)


# -- errors ------------------------------------------------------------------------------------------------------------


UNREACHABLE = frozenset(
    {"08", "28", "3D", "53", "57"}
)  # SQLSTATE classes: connection, password, database, resources, operator
SERVER_LOST_ERRORS = (
    errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow,
    errors.IdleInTransactionSessionTimeout,  # this process was suspended; the server rolled back
)  # fmt: skip


def _is_server_lost(error: psycopg.Error, db: Connection | None) -> bool:
    """Return whether the server went away or is still starting, rather than refused the statement."""
    if isinstance(error, SERVER_LOST_ERRORS) or (error.sqlstate or "").startswith("08"):
        return True
    return error.sqlstate is None and (db is None or db.closed)


@contextmanager
def translate_errors(location: PostgresLocation) -> Iterator[None]:
    """Raise errors of PostgreSQL as `StoreError`s."""
    try:
        yield
    except psycopg.Error as error:
        raise _store_error(error, location) from error


def missing_web(location: PostgresLocation) -> StoreMissing:
    """Return the error for a location without a web."""
    return StoreMissing(
        f"There is no web at {location.display_name}: `gossamer crawl URL --store {quote(location.display_name)}`"
        " makes one."
    )


def _store_error(error: psycopg.Error, location: PostgresLocation) -> StoreError:
    message = str(error).strip().partition("\n")[0]
    match error:
        case errors.DiskFull():
            return StoreFull(
                f"No disk space is left for {location.display_name}; nothing of the last batch was written:"
                " free some on the database server, then start again."
            )
        case errors.LockNotAvailable() | errors.DeadlockDetected() | errors.SerializationFailure():
            return StoreBusy(f"Another process keeps writing to {location.display_name}: try again when it is done.")
        case errors.InsufficientPrivilege() | errors.ReadOnlySqlTransaction():
            return StoreNotWritable(f"{location.display_name} cannot be written to ({message}).")
        case errors.UndefinedTable() | errors.UndefinedColumn() | errors.DataCorrupted() | errors.IndexCorrupted():
            return StoreCorrupt(f"{location.display_name} is damaged or not a Gossamer web ({message}).")
        case psycopg.OperationalError() if (error.sqlstate or "08")[:2] in UNREACHABLE:
            return StoreUnreachable(f"{location.display_name} cannot be reached ({message}).")
    return StoreError(f"The store at {location.display_name} failed ({message}).")
