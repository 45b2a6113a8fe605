"""Writing what the graph computed: all ranks at once, and new priorities of queued pages."""

from __future__ import annotations

from array import array
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, cast

import msgspec

from gossamer.store.follow.graph import HostRanks, Ranks
from gossamer.store.postgres.bulk_copy import copy_rows, number_column
from gossamer.store.postgres.database import int_array
from gossamer.store.work.rounds import LOWEST_PRIORITY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gossamer.store.follow.graph import RankColumns, Ranking
    from gossamer.store.postgres.database import Database, Transaction

    ColumnChunk = list[Sequence[object]]  # some rows of all columns

ROWS_AT_ONCE = 100_000  # keeps the text that COPY sends small beside the ranks themselves

DELETE_FORGOTTEN = """
    DELETE FROM ranks WHERE resource IN (SELECT resource FROM forgotten WHERE version > %(version)s
        UNION ALL SELECT id FROM resources WHERE version > %(version)s AND visits = 0)"""
DELETE_LOST_HOSTS = "DELETE FROM host_ranks WHERE NOT EXISTS (SELECT 1 FROM hosts WHERE id = host_ranks.host)"
# The formula of `crawl.policy`: a backlink adds one, a level of depth subtracts one.
UPDATE_PRIORITIES = f"""
    UPDATE resources AS r SET priority = n.backlinks - r.depth
    FROM unnest(%s::double precision[], %s::bigint[]) AS n (backlinks, id)
    WHERE r.id = n.id AND r.state = 'queued' AND r.role = 'page' AND r.priority > {LOWEST_PRIORITY}"""  # noqa: S608


class RankChunks(NamedTuple):
    """Rows to write: the names of their columns, and the rows in chunks."""

    names: tuple[str, ...]
    chunks: list[ColumnChunk]


def page_rank_chunks(pages: RankColumns) -> RankChunks:
    """Return the computed ranks of pages as rows to write."""
    columns = pages.columns_by_name("resource", Ranks.__struct_fields__)
    return RankChunks(tuple(columns), split_columns(tuple(columns.values())))


def host_rank_chunks(hosts: RankColumns) -> RankChunks:
    """Return the computed ranks of hosts as rows to write."""
    columns = hosts.columns_by_name("host", HostRanks.__struct_fields__)
    return RankChunks(tuple(columns), split_columns(tuple(columns.values())))


def split_columns(columns: Sequence[Iterable[object]]) -> list[ColumnChunk]:
    """Return columns in chunks. The iterables can be read only once; a retried transaction needs them again."""
    iterators, chunks = [iter(column) for column in columns], []
    while any(map(len, chunk := [_pack_numbers(list(islice(column, ROWS_AT_ONCE))) for column in iterators])):
        chunks.append(chunk)
    return chunks


def _pack_numbers(values: list[object]) -> Sequence[object]:
    """Pack a column of only floats or only ints into 8 bytes per number instead of 32."""
    types = set(map(type, values))
    if types == {float}:
        return array("d", cast("list[float]", values))
    return array("q", cast("list[int]", values)) if types == {int} else values


def write_ranks(database: Database, ranking: Ranking, pages: RankColumns, hosts: RankColumns) -> None:
    """Replace all ranks in one transaction."""
    page_chunks, host_chunks = page_rank_chunks(pages), host_rank_chunks(hosts)
    database.write(lambda tx: _replace_ranks(tx, ranking, page_chunks, host_chunks))


def _replace_ranks(tx: Transaction, ranking: Ranking, pages: RankChunks, hosts: RankChunks) -> None:
    """Replace all ranks by new ones. Resources and hosts that were forgotten in the meantime get none."""
    tx.db.execute("LOCK TABLE rankings IN EXCLUSIVE MODE")  # one writer at a time; readers go on
    for table in ("ranks", "host_ranks", "rankings"):
        tx.db.execute(f"DELETE FROM {table}")  # noqa: S608 - TRUNCATE would block readers
    _insert(tx, "ranks", pages)
    _insert(tx, "host_ranks", hosts)
    tx.db.execute(DELETE_FORGOTTEN, {"version": ranking.version})
    tx.db.execute(DELETE_LOST_HOSTS)
    tx.db.execute("INSERT INTO rankings (facts) VALUES (%s)", (msgspec.json.encode(ranking).decode(),))


def _insert(tx: Transaction, table: str, chunks: RankChunks) -> None:
    for chunk in chunks.chunks:
        copy_rows(tx.db, table, chunks.names, [number_column(column) for column in chunk])


def reprioritize(database: Database, resources: Iterable[object], backlinks: Iterable[object]) -> None:
    """Give queued pages the priority that the order `best` derives from these numbers of backlinks."""
    chunks = split_columns((resources, backlinks))

    def update(tx: Transaction) -> None:
        for ids, numbers in chunks:
            tx.db.execute(UPDATE_PRIORITIES, (int_array(numbers), int_array(ids)))

    database.write(update, exclusive=True)
