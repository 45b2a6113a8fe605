"""Links as columns, for the graph: what changed since a version.

The server works out the changed ids once and keeps them (`spool`). Each read covers a few thousand sources. A page that
changes between two reads gets a newer version, so the next call reads it again.
"""

from __future__ import annotations

from array import array
from itertools import chain
from typing import TYPE_CHECKING

from gossamer.model import Kind
from gossamer.store.follow.graph import LinkChanges
from gossamer.store.postgres.database import int_array
from gossamer.store.postgres.read.spool import spool_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.store.postgres.database import Connection, Database

SOURCES_AT_ONCE = 5_000  # about 10 MB at 60 links each

CHANGED = """
    SELECT id FROM resources WHERE version > %(since)s
    UNION ALL SELECT resource FROM forgotten WHERE version > %(since)s
    ORDER BY 1"""
# A page is a resource whose content is stored, even if later visits failed.
SELECT_PAGES = f"""
    SELECT id, url FROM resources AS r
    WHERE id = ANY(%s::bigint[]) AND (role = 'page' AND length(content_digest) > 0
        OR EXISTS (SELECT 1 FROM links WHERE source = r.id AND seq = 0 AND kind = {int(Kind.REDIRECT)}))
    ORDER BY id"""  # noqa: S608
LINKS = f"""
    SELECT source, target, CASE kind WHEN {int(Kind.REDIRECT)} THEN 0 ELSE weight END FROM links
    WHERE source = ANY(%s::bigint[]) AND follow = 1 AND kind IN ({int(Kind.HYPERLINK)}, {int(Kind.REDIRECT)})
    ORDER BY source, seq"""  # noqa: S608


def link_changes(database: Database, since: int) -> Iterator[LinkChanges]:
    """Yield the pages and redirects that changed after a version, by id, with their links."""
    for chunk in spool_rows(database, CHANGED, {"since": since}, SOURCES_AT_ONCE):
        yield _read_changes(database, list(chain.from_iterable(chunk)))


def _read_changes(database: Database, chunk: list[int]) -> LinkChanges:
    def read_pages(db: Connection) -> LinkChanges:
        pages = db.execute(SELECT_PAGES, (int_array(chunk),)).fetchall()
        ids = [resource for resource, _ in pages]
        links = array("q", chain.from_iterable(db.execute(LINKS, (int_array(ids),))))
        gone = array("q", sorted(set(chunk).difference(ids)))
        return LinkChanges(gone=gone, ids=array("q", ids), urls=[url for _, url in pages], links=links)

    return database.snapshot(read_pages)  # both reads see the same state
