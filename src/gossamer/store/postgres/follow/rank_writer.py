"""Ranks, written as a whole by the graph room."""

from __future__ import annotations

from array import array
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, cast

import msgspec

from gossamer.store.follow.graph import HostRanks, Ranks
from gossamer.store.postgres.bulk_copy import copy, numbers
from gossamer.store.postgres.database import ints
from gossamer.store.work.rounds import LAST_OF_ALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gossamer.store.follow.graph import RankColumns, Ranking
    from gossamer.store.postgres.database import Transaction

    Piece = list[Sequence[object]]  # some rows of all columns

ROWS_AT_ONCE = 100_000  # so that their text, and the objects made of them, stay small beside the ranks themselves

FORGOTTEN_SINCE = """
    DELETE FROM ranks WHERE resource IN (SELECT resource FROM forgotten WHERE version > %(version)s
        UNION ALL SELECT id FROM resources WHERE version > %(version)s AND visits = 0)"""
NO_HOSTS = "DELETE FROM host_ranks WHERE NOT EXISTS (SELECT 1 FROM hosts WHERE id = host_ranks.host)"
# As `crawl.policy` has it: a backlink is the unit, and a level of depth costs one.
REORDER = f"""
    UPDATE resources AS r SET priority = n.backlinks - r.depth
    FROM unnest(%s::double precision[], %s::bigint[]) AS n (backlinks, id)
    WHERE r.id = n.id AND r.state = 'queued' AND r.role = 'page' AND r.priority > {LAST_OF_ALL}"""  # noqa: S608


class Pieces(NamedTuple):
    """Rows to write: the names of their columns, and some rows at a time."""

    names: tuple[str, ...]
    pieces: list[Piece]


def page_pieces(pages: RankColumns) -> Pieces:
    """The ranks of pages that were computed."""
    columns = pages.by_name("resource", Ranks.__struct_fields__)
    return Pieces(tuple(columns), in_pieces(tuple(columns.values())))


def host_pieces(hosts: RankColumns) -> Pieces:
    """The ranks of hosts that were computed."""
    columns = hosts.by_name("host", HostRanks.__struct_fields__)
    return Pieces(tuple(columns), in_pieces(tuple(columns.values())))


def in_pieces(columns: Sequence[Iterable[object]]) -> list[Piece]:
    """Columns that can be read only once, kept so that they can be written again after a fault."""
    left, pieces = [iter(column) for column in columns], []
    while any(map(len, piece := [_packed(list(islice(column, ROWS_AT_ONCE))) for column in left])):
        pieces.append(piece)
    return pieces


def _packed(values: list[object]) -> Sequence[object]:
    """8 bytes for each number instead of 32, where there are numbers of one kind and nothing else."""
    kinds = set(map(type, values))
    if kinds == {float}:
        return array("d", cast("list[float]", values))
    return array("q", cast("list[int]", values)) if kinds == {int} else values


def write_ranks(tx: Transaction, ranking: Ranking, pages: Pieces, hosts: Pieces) -> None:
    """Put new ranks in place of the old ones. What was forgotten in the meantime gets none."""
    tx.db.execute("LOCK TABLE rankings IN EXCLUSIVE MODE")  # one at a time; who reads is not kept out
    for table in ("ranks", "host_ranks", "rankings"):
        tx.db.execute(f"DELETE FROM {table}")  # noqa: S608 - TRUNCATE would keep out those who read
    _insert(tx, "ranks", pages)
    _insert(tx, "host_ranks", hosts)
    tx.db.execute(FORGOTTEN_SINCE, {"version": ranking.version})
    tx.db.execute(NO_HOSTS)
    tx.db.execute("INSERT INTO rankings (facts) VALUES (%s)", (msgspec.json.encode(ranking).decode(),))


def _insert(tx: Transaction, table: str, pieces: Pieces) -> None:
    for piece in pieces.pieces:
        copy(tx.db, table, pieces.names, [numbers(column) for column in piece])


def reorder(tx: Transaction, pieces: list[Piece]) -> None:
    """Give queued pages the priority that the order `best` gives to so many backlinks."""
    for resources, backlinks in pieces:
        tx.db.execute(REORDER, (ints(backlinks), ints(resources)))
