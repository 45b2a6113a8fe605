"""Links as columns, for the graph: those of all resources that changed since a version.

Rows go into flat arrays: 0.8 µs a link. One read covers a few thousand sources. A longer read would keep SQLite from
folding its log into the file. A change between two reads has a newer version, so the next call reads it again.

On a big web, a process on another core reads every other chunk. A thread would not help: most of the time per link is
Python's own. For few pages, starting a process takes longer than reading.
"""

from __future__ import annotations

from array import array
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.basics.cores import available_cores
from gossamer.errors import StoreError
from gossamer.model import Kind
from gossamer.processes.helper_process import connect_to_parent, helper_process
from gossamer.store.follow.graph import LinkChanges
from gossamer.store.sqlite.database import json_array
from gossamer.store.sqlite.opening import open_database

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from multiprocessing.connection import Connection

    from gossamer.store.sqlite.database import Database

SOURCES_AT_ONCE = 5_000  # with 60 links each about 10 MB
ROWS_AT_ONCE = 1_000  # links; so many stay in the processor's cache
MIN_PARALLEL_PAGES = 500_000  # pages; fewer take a few seconds
CACHE_MIB = 64  # of the helper process, which reads most rows only once

CHANGED = """
    SELECT id FROM resources WHERE version > ?1
    UNION ALL SELECT resource FROM forgotten WHERE version > ?1"""
# A page is a resource whose content the store has, even if later visits failed.
SELECT_PAGES = f"""
    SELECT id, url FROM resources AS r
    WHERE id IN (SELECT value FROM json_each(?)) AND (role = 'page' AND length(content_digest) > 0
        OR EXISTS (SELECT 1 FROM links WHERE source = r.id AND seq = 0 AND kind = {int(Kind.REDIRECT)}))
    ORDER BY id"""  # noqa: S608
LINKS = f"""
    SELECT source, target, CASE kind WHEN {int(Kind.REDIRECT)} THEN 0 ELSE weight END FROM links
    WHERE source IN (SELECT value FROM json_each(?)) AND follow = 1
        AND kind IN ({int(Kind.HYPERLINK)}, {int(Kind.REDIRECT)})"""  # noqa: S608


def link_changes(database: Database, since: int) -> Iterator[LinkChanges]:
    """Yield the changes since a version, by id."""
    with database.connection() as db:
        changed = sorted(resource for (resource,) in db.execute(CHANGED, (since,)))
    chunks = (changed[start : start + SOURCES_AT_ONCE] for start in range(0, len(changed), SOURCES_AT_ONCE))
    if len(changed) < MIN_PARALLEL_PAGES or available_cores() == 1:
        return (_read_changes(database, chunk) for chunk in chunks)
    return _read_with_helper(database, chunks)


def _read_with_helper(database: Database, chunks: Iterator[list[int]]) -> Iterator[LinkChanges]:
    with helper_process(__name__, database.directory) as helper:
        for chunk in chunks:
            next_chunk = next(chunks, None)
            if next_chunk is not None:
                _send_ids(helper, next_chunk)
            yield _read_changes(database, chunk)
            if next_chunk is not None:
                yield _receive_changes(helper) or _read_changes(database, next_chunk)


def _read_changes(database: Database, chunk: Sequence[int]) -> LinkChanges:
    with database.connection() as db:
        db.execute("BEGIN")  # both reads see the same state
        try:
            pages = db.execute(SELECT_PAGES, (json_array(chunk),)).fetchall()
            ids = array("q", (resource for resource, _ in pages))
            links = _flatten(db.execute(LINKS, (json_array(ids),)))
        finally:
            db.execute("COMMIT")
    present = set(ids)
    gone = array("q", (resource for resource in chunk if resource not in present))
    return LinkChanges(gone=gone, ids=ids, urls=[url for _, url in pages], links=links)


def _flatten(cursor: sqlite3.Cursor) -> array[int]:
    """Return all numbers of all rows in one array."""
    numbers = array("q")
    while rows := cursor.fetchmany(ROWS_AT_ONCE):
        numbers.extend(chain.from_iterable(rows))
    return numbers


# -- the helper process ------------------------------------------------------------------------------------------------


def _send_ids(helper: Connection[Any, Any], chunk: Sequence[int]) -> None:
    with suppress(OSError):  # it has exited; `_receive_changes` finds that out
        helper.send_bytes(array("q", chunk).tobytes())


def _receive_changes(helper: Connection[Any, Any]) -> LinkChanges | None:
    """Wait for the changes of a chunk; None when the helper exited. This process then reads the chunk itself."""
    try:
        gone, ids, links = (array("q", helper.recv_bytes()) for _ in range(3))
        return LinkChanges(gone, ids, msgspec.msgpack.decode(helper.recv_bytes(), type=list[str]), links)
    except (EOFError, OSError):
        return None


def main(directory: str, connection: str) -> None:
    """Read chunks in the helper process until the parent closes the connection.

    It exits silently on faults: the parent then meets the same fault and reports it.
    """
    with suppress(EOFError, OSError, StoreError), connect_to_parent(connection) as parent:
        database = open_database(Path(directory), create=False, read_only=True, cache_mib=CACHE_MIB)
        while True:
            changes = _read_changes(database, array("q", parent.recv_bytes()))
            for numbers in (changes.gone, changes.ids, changes.links):
                parent.send_bytes(numbers.tobytes())
            parent.send_bytes(msgspec.msgpack.encode(changes.urls))
