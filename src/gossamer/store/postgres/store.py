"""Opens the store of a web in a database: `SqlStore` on the SQL modules of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.store.postgres.follow import changes, graph, link_changes, rank_writer
from gossamer.store.postgres.opening import open_database
from gossamer.store.postgres.read import documents, export, freshness, history, recent, reports, resources
from gossamer.store.postgres.work import crawlers, forget, lease, renderings, rounds, schedule, submit
from gossamer.store.sql_modules import SqlModules
from gossamer.store.sql_store import SqlStore

if TYPE_CHECKING:
    from gossamer.store.postgres.location import PostgresLocation

SQL = SqlModules(
    crawlers=crawlers, rounds=rounds, schedule=schedule, lease=lease, submit=submit, renderings=renderings,
    forget=forget, resources=resources, documents=documents, recent=recent, reports=reports, export=export,
    freshness=freshness, history=history, link_changes=link_changes, graph=graph, rank_writer=rank_writer,
    changes=changes,
)  # fmt: skip


def open_postgres_store(
    location: PostgresLocation, *, create: bool, read_only: bool = False, old_sources_mib: int = 0
) -> SqlStore:
    """Open the web at a location; `create` makes one if there is none."""
    return SqlStore(open_database(location, create=create, read_only=read_only), SQL, old_sources_mib << 20)
