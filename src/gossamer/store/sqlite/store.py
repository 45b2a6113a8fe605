"""Opens the store of a web in a directory: `SqlStore` on the SQL modules of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.store.sql_modules import SqlModules
from gossamer.store.sql_store import SqlStore
from gossamer.store.sqlite.database import BUSY_SECONDS
from gossamer.store.sqlite.follow import changes, graph, link_changes, rank_writer
from gossamer.store.sqlite.opening import open_database
from gossamer.store.sqlite.read import documents, export, freshness, history, recent, reports, resources
from gossamer.store.sqlite.work import crawlers, forget, lease, renderings, rounds, schedule, submit

if TYPE_CHECKING:
    from pathlib import Path

SQL = SqlModules(
    crawlers=crawlers, rounds=rounds, schedule=schedule, lease=lease, submit=submit, renderings=renderings,
    forget=forget, resources=resources, documents=documents, recent=recent, reports=reports, export=export,
    freshness=freshness, history=history, link_changes=link_changes, graph=graph, rank_writer=rank_writer,
    changes=changes,
)  # fmt: skip


def open_sqlite_store(
    directory: Path,
    *,
    create: bool,
    read_only: bool = False,
    cache_mib: int = 64,
    busy_seconds: float = BUSY_SECONDS,
    old_sources_mib: int = 0,
) -> SqlStore:
    """Open the web in a directory; `create` makes one if there is none."""
    database = open_database(
        directory, create=create, read_only=read_only, cache_mib=cache_mib, busy_seconds=busy_seconds
    )
    return SqlStore(database, SQL, old_sources_mib << 20)
