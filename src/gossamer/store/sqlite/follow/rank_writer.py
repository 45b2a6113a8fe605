"""Write the ranks that the graph package computes, always as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gossamer.store.follow.graph import HostRanks, Ranks
from gossamer.store.sqlite.bulk_insert import BulkInsert
from gossamer.store.work.rounds import LOWEST_PRIORITY

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from gossamer.store.follow.graph import RankColumns, Ranking
    from gossamer.store.sqlite.database import Database

DELETE_FORGOTTEN = """
    DELETE FROM ranks WHERE resource IN (SELECT resource FROM forgotten WHERE version > ?1
        UNION ALL SELECT id FROM resources WHERE version > ?1 AND visits = 0)"""
# As in `crawl.policy`: a backlink adds one, and a level of depth costs one.
UPDATE_PRIORITIES = f"""
    UPDATE resources SET priority = ? - depth
    WHERE id = ? AND state = 'queued' AND role = 'page' AND priority > {LOWEST_PRIORITY}"""  # noqa: S608


def write_ranks(database: Database, ranking: Ranking, pages: RankColumns, hosts: RankColumns) -> None:
    """Replace all ranks in one transaction; resources forgotten since `ranking.version` get none."""
    with database.transaction() as tx:
        tx.db.execute("DELETE FROM ranks")
        tx.db.execute("DELETE FROM host_ranks")
        tx.db.execute("DELETE FROM rankings")
        _insert(tx.db, "ranks", pages.columns_by_name("resource", Ranks.__struct_fields__))
        _insert(tx.db, "host_ranks", hosts.columns_by_name("host", HostRanks.__struct_fields__))
        tx.db.execute(DELETE_FORGOTTEN, (ranking.version,))
        tx.db.execute("DELETE FROM host_ranks WHERE host NOT IN (SELECT id FROM hosts)")
        tx.db.execute("INSERT INTO rankings (facts) VALUES (?)", (msgspec.json.encode(ranking).decode(),))


def _insert(db: sqlite3.Connection, table: str, columns: dict[str, Iterable[object]]) -> None:
    """Insert rows of these columns only; binding NULL for the others would double the time."""
    BulkInsert(table, ", ".join(columns)).insert(db, zip(*columns.values(), strict=True))


def reprioritize(database: Database, resources: Iterable[object], backlinks: Iterable[object]) -> None:
    """Give queued pages the priority that the order `best` gives for these numbers of backlinks."""
    with database.transaction() as tx:
        tx.db.executemany(UPDATE_PRIORITIES, zip(backlinks, resources, strict=True))
