"""The connection to a database: kept up, asked, written to in transactions that happen once.

Everything that knows how PostgreSQL behaves as a server stands here: connections that break, servers that restart,
deadlocks. The other modules of this package only speak SQL inside a `Transaction`.

How writers share a web
    Every transaction holds one advisory lock for the web: shared for what crawlers do all the time (`submit`, `lease`,
    `beat`), alone for what looks at or changes many things at once (a new round, a new scope, forgetting, taking back
    the work of the dead). So those few need no thought about others.

    Writers at the same time take rows in one order, so that they do not wait for each other in circles: new hosts by
    name, new resources by digest, backlinks by id, the round, hosts by id, and then the gate, which is the row
    `version` of the counters. It lets one through at a time, and only who has passed it changes resources that others
    know. What is big and needs nobody else (bonds, texts, sources, visits) is written before. Where that order cannot
    be kept (a smaller depth passed on), PostgreSQL ends one of two that wait for each other, and it is done again.

What happens when the server goes away
    The work is done again on a new connection. If the connection broke while committing, the server is asked what
    became of that very transaction, so nothing is lost and nothing written twice.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from contextlib import contextmanager
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
from gossamer.store.postgres.bulk_copy import STAGES, copy
from gossamer.store.work.counters import Ledger
from gossamer.store.work.url_cache import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gossamer.store.postgres.location import PostgresPlace

    Connection = psycopg.Connection[tuple[Any, ...]]

T = TypeVar("T")

PATIENCE = 120.0  # seconds for a server to come back; a restart takes a few, a failover up to a minute
FIRST_WAIT, LONGEST_WAIT = 0.05, 2.0  # seconds between two tries
LONG_ALONE = 1.0  # seconds of a transaction that others had to wait for
MOST_DEADLOCKS = 20  # a transaction is done again so many times
WEB_LOCK = 0  # number of the web's lock; those of crawlers are their ids, which begin at 1

# A plan made for the first thousand resources must not be used for the next million. Compiling helps no short query.
# A change of scope may keep others waiting for minutes; one that was frozen in the middle of a batch must not.
# Keepalives let the server notice within half a minute that a machine is gone, and its crawler with it.
SESSION = """
    SET plan_cache_mode = force_custom_plan; SET jit = off; SET random_page_cost = 1.1; SET lock_timeout = '600s';
    SET statement_timeout = 0; SET idle_in_transaction_session_timeout = '60s'; SET client_encoding = 'UTF8';
    SET client_min_messages = warning;
    SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 4"""
# Statements of crawlers go from a few rows to others by index; statistics of a table that grew a thousandfold since
# would say otherwise. Who is alone may look at whole tables.
BEGIN = "BEGIN; SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off"
SHARE = "SELECT pg_advisory_xact_lock_shared(%s, %s)"
ALONE = "SELECT pg_advisory_xact_lock(%s, %s)"
GENERATION = "SELECT value FROM meta WHERE key = 'generation'"
NEXT_VERSION = "UPDATE meta SET value = value + 1 WHERE key = 'version' RETURNING value"
GATE = "SELECT value FROM meta WHERE key = 'version' FOR UPDATE"
COUNT_HOSTS = """
    UPDATE hosts AS h SET known = h.known + c.known, queued_pages = h.queued_pages + c.queued_pages,
        queued_others = h.queued_others + c.queued_others, pages = h.pages + c.pages, failed = h.failed + c.failed
    FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
        AS c (known, queued_pages, queued_others, pages, failed, id)
    WHERE h.id = c.id"""
LOCK_HOSTS = "SELECT id FROM hosts WHERE id = ANY(%s::bigint[]) ORDER BY id FOR UPDATE"
COUNT = """
    UPDATE meta AS m SET value = m.value + c.n
    FROM unnest(%s::text[], %s::bigint[]) AS c (key, n) WHERE m.key = c.key"""
# While somebody was alone nobody could beat: that is not a sign of death.
WAS_ALONE = """
    INSERT INTO meta (key, value) VALUES ('alone', %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value"""
WEB = "SELECT oid::bigint FROM pg_namespace WHERE nspname = %s"
HOLD = "SELECT pg_try_advisory_lock(%s, %s)"
LET_GO = "SELECT pg_advisory_unlock(%s, %s)"
CLOSED = "UPDATE crawlers SET heartbeat_at = 0 WHERE id = ANY(%s::bigint[]) AND state NOT IN ('stopped', 'lost')"
OWN_NUMBER = "SELECT pg_current_xact_id_if_assigned()::text"
OUTCOME = "SELECT pg_xact_status(%s::text::xid8)"


class Transaction:
    """One writing transaction: the connection, the counters it changes, and what is remembered between batches."""

    def __init__(self, db: Connection, memory: Memory) -> None:
        self.db = db
        self.meta: Counter[str] = Counter()  # by how much the web's counters change
        self.ledger = Ledger(self.meta)
        self.memory = memory
        self._staged: set[str] = set()

    def stage(self, table: str, names: Sequence[str], columns: Sequence[Iterable[str]]) -> None:
        """Put rows on a stage (loading.py), in place of those that stood there in this transaction."""
        if table in self._staged:
            self.db.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
        self._staged.add(table)
        copy(self.db, table, names, columns)

    def pass_gate(self) -> None:
        """From here on others wait, until this transaction ends."""
        self.db.execute(GATE)

    def next_version(self) -> int:
        """The store version that this transaction makes; passes the gate."""
        row = self.db.execute(NEXT_VERSION).fetchone()
        assert row is not None
        return int(row[0])

    def lock_hosts(self, hosts: Iterable[int]) -> None:
        """Lock these hosts, and those whose counters have changed so far; before the gate."""
        self.db.execute(LOCK_HOSTS, (ints(sorted(self.ledger.hosts().union(hosts))),))

    def count_hosts(self) -> None:
        """Bring the hosts' own counters up to date."""
        if changed := self.ledger.host_changes():
            self.db.execute(COUNT_HOSTS, [ints(column) for column in zip(*changed, strict=True)])

    def finish(self) -> None:
        """Write the counters; the last thing before COMMIT."""
        self.count_hosts()
        if changed := [(key, number) for key, number in self.meta.items() if number]:
            self.pass_gate()
            keys, numbers = zip(*changed, strict=True)
            self.db.execute(COUNT, (list(keys), ints(numbers)))

    def totals(self) -> dict[str, int]:
        """The web's counters as they will be; the hosts' are written."""
        stored: dict[str, int] = dict(self.db.execute("SELECT key, value FROM meta"))
        return {key: value + self.meta[key] for key, value in stored.items()}


class Database:
    """A web in a database. One connection, made when it is needed and again when it broke."""

    def __init__(self, place: PostgresPlace, *, read_only: bool) -> None:
        self.place = place
        self._read_only = read_only
        self._memory = Memory()
        self._db: Connection | None = None
        self._has_stages = False
        self._web = 0
        self._held: set[int] = set()  # crawlers that live through this connection
        self._unlocked: set[int] = set()  # those of them whose lock an earlier connection still has
        self._is_away = False  # the server was lost
        self.back_since = 0.0  # when a lost server was there again

    # -- asking --------------------------------------------------------------------------------------------------------

    def read(self, work: Callable[[Connection], T]) -> T:
        """Ask; every statement sees the web as it is at that moment."""
        return self._insisting(work)

    def snapshot(self, work: Callable[[Connection], T]) -> T:
        """Ask several things of one moment."""

        def at_once(db: Connection) -> T:
            db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                return work(db)
            finally:
                _end(db, "COMMIT")

        return self._insisting(at_once)

    # -- writing -------------------------------------------------------------------------------------------------------

    def write(self, work: Callable[[Transaction], T], *, alone: bool = False) -> T:
        """Do all of it, once, or leave nothing behind. `work` may be called again after a fault that passes."""
        return self._insisting(lambda db: self._write(db, work, alone=alone))

    def _write(self, db: Connection, work: Callable[[Transaction], T], *, alone: bool) -> T:
        if not self._has_stages:
            db.execute(STAGES)
            self._has_stages = True
        try:
            db.execute("BEGIN" if alone else BEGIN)
            db.execute(ALONE if alone else SHARE, (self._web, WEB_LOCK))
            began = time.monotonic()
            row = db.execute(GENERATION).fetchone()
            assert row is not None
            self._memory.belong_to(row[0])
            transaction = Transaction(db, self._memory)
            result = work(transaction)
            transaction.finish()
            if alone and time.monotonic() - began > LONG_ALONE:
                db.execute(WAS_ALONE, (math.ceil(time.time()),))
            self._commit(db)
        except BaseException:
            self._memory.clear()  # it may hold ids that now were never given out
            _end(db, "ROLLBACK")
            raise
        return result

    def _commit(self, db: Connection) -> None:
        """Commit; if the connection breaks over it, find out what came of it."""
        row = db.execute(OWN_NUMBER).fetchone()
        assert row is not None
        try:
            db.execute("COMMIT")
        except psycopg.OperationalError as error:
            if not _is_away(error, db) or row[0] is None or not self._was_committed(row[0]):
                raise

    def _was_committed(self, number: str) -> bool:
        def outcome(db: Connection) -> bool:
            while True:
                try:
                    row = db.execute(OUTCOME, (number,)).fetchone()
                except errors.InvalidParameterValue:  # this server has not come so far: it is another one
                    return False
                if row is None or row[0] != "in progress":
                    return row is not None and row[0] == "committed"
                time.sleep(FIRST_WAIT)

        return self._insisting(outcome)

    # -- crawlers that live through this connection --------------------------------------------------------------------

    def hold(self, crawler: int) -> None:
        """Show others that a crawler lives, for as long as this connection does."""
        self._held.add(crawler)
        self._unlocked.add(crawler)
        self.hold_again()

    def hold_again(self) -> None:
        """Take the locks that an earlier connection had: the server may see its end later than we do."""
        if self._unlocked:
            self.read(self._lock)

    def _lock(self, db: Connection) -> None:
        for crawler in tuple(self._unlocked):
            row = db.execute(HOLD, (self._web, crawler)).fetchone()
            if row is not None and row[0]:
                self._unlocked.discard(crawler)

    def let_go(self, crawler: int) -> None:
        """It has left."""
        if crawler in self._held:
            self._held.discard(crawler)
            self._unlocked.discard(crawler)
            self.read(lambda db: db.execute(LET_GO, (self._web, crawler)))

    # -- the connection ------------------------------------------------------------------------------------------------

    def _insisting(self, work: Callable[[Connection], T]) -> T:
        """Do it, again after a deadlock, and again when the server is back after it went away."""
        started, deadlocks, wait = time.monotonic(), 0, FIRST_WAIT
        with translated(self.place):
            while True:
                db = self._db
                try:
                    db = self.connection()
                    return work(db)
                except (errors.DeadlockDetected, errors.SerializationFailure):
                    deadlocks += 1
                    if deadlocks > MOST_DEADLOCKS:
                        raise
                    time.sleep(random.uniform(0, FIRST_WAIT))  # noqa: S311 - so that two do not meet again
                except (psycopg.OperationalError, errors.IdleInTransactionSessionTimeout) as error:
                    if not _is_away(error, db) or time.monotonic() - started > PATIENCE:
                        raise
                    self._drop()
                    self._is_away = True
                    time.sleep(wait)
                    wait = min(2 * wait, LONGEST_WAIT)

    def connection(self) -> Connection:
        """The connection, made if there is none."""
        if self._db is None or self._db.closed:
            self._drop()
            self.use(connect(self.place))
            if self._is_away:
                self._is_away, self.back_since = False, time.time()
        assert self._db is not None
        return self._db

    def use(self, db: Connection) -> None:
        """Work with this connection from now on, and end it at the end."""
        self._db = db
        try:
            self._prepare(db)
        except BaseException:
            self._drop()
            raise

    def _prepare(self, db: Connection) -> None:
        row = db.execute(WEB, (self.place.schema,)).fetchone()
        if row is None:
            raise missing(self.place)
        self._web = int(row[0]) - (1 << 32 if row[0] >= 1 << 31 else 0)  # locks have signed numbers
        if self._read_only:
            db.execute("SET default_transaction_read_only = on")
        self._has_stages = False
        self._unlocked = set(self._held)
        self._lock(db)

    def _drop(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def close(self) -> None:
        """End the connection; crawlers that live through it are dead from now on, and others need not wonder."""
        try:
            if self._held and self._db is not None and not self._db.closed:
                self._db.execute(CLOSED, (ints(self._held),))
        except psycopg.OperationalError:
            pass  # the server is gone as well; others will see that no beat comes
        finally:
            self._drop()


def connect(place: PostgresPlace) -> Connection:
    """A connection to the database, whose names are those of the web's schema."""
    db = psycopg.connect(place.connection, autocommit=True, application_name="gossamer", connect_timeout=10)
    try:
        db.execute(SESSION)
        db.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(place.schema)))
    except BaseException:
        db.close()
        raise
    return db


def ints(values: Iterable[object]) -> str:
    """Numbers as one parameter, for `%s::bigint[]`; ten times as fast as a list given to psycopg."""
    return f"{{{','.join(map(str, values))}}}"


def _end(db: Connection, how: str) -> None:
    """End a transaction, if the connection still is there."""
    if not db.closed:
        db.execute(how)


# -- faults ------------------------------------------------------------------------------------------------------------


UNREACHABLE = frozenset({"08", "28", "3D", "53", "57"})  # connection, password, database, resources, operator
AWAY = (
    errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow,
    errors.IdleInTransactionSessionTimeout,  # we were frozen over a transaction, which is undone
)  # fmt: skip


def _is_away(error: psycopg.Error, db: Connection | None) -> bool:
    """Whether the server went away, or is not there yet, as opposed to being there and refusing."""
    if isinstance(error, AWAY) or (error.sqlstate or "").startswith("08"):
        return True
    return error.sqlstate is None and (db is None or db.closed)


@contextmanager
def translated(place: PostgresPlace) -> Iterator[None]:
    """The border: faults of PostgreSQL leave as our own."""
    try:
        yield
    except psycopg.Error as error:
        raise _fault(error, place) from error


def missing(place: PostgresPlace) -> StoreMissing:
    """There is no web there."""
    return StoreMissing(f"There is no web at {place.shown}: `gossamer crawl URL --store {place.shown}` makes one.")


def _fault(error: psycopg.Error, place: PostgresPlace) -> StoreError:
    said = str(error).strip().partition("\n")[0]
    match error:
        case errors.DiskFull():
            return StoreFull(f"No disk space is left for {place.shown}; nothing of the last batch was written.")
        case errors.LockNotAvailable() | errors.DeadlockDetected() | errors.SerializationFailure():
            return StoreBusy(f"Another process keeps writing to {place.shown}: try again when it is done.")
        case errors.InsufficientPrivilege() | errors.ReadOnlySqlTransaction():
            return StoreNotWritable(f"{place.shown} cannot be written to ({said}).")
        case errors.UndefinedTable() | errors.UndefinedColumn() | errors.DataCorrupted() | errors.IndexCorrupted():
            return StoreCorrupt(f"{place.shown} is damaged or not a Gossamer web ({said}).")
        case psycopg.OperationalError() if (error.sqlstate or "08")[:2] in UNREACHABLE:
            return StoreUnreachable(f"{place.shown} cannot be reached ({said}).")
    return StoreError(f"The store at {place.shown} failed ({said}).")
