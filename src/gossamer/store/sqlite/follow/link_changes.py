"""For the graph room: links as columns, read by what changed.

Rows go into flat arrays: 0.8 µs a link. One read covers a few thousand sources and is closed before the next, for a
long one would keep the log from being folded into the file. What changes between two reads has a newer version and is
read again next time.

Of a big web, a process on another core reads every other piece. Not a thread: of the time that a link takes most is
Python's own. For few pages it would take longer to start one.
"""

from __future__ import annotations

from array import array
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.basics.cores import available_cores, helper_process
from gossamer.errors import StoreError
from gossamer.model import Kind
from gossamer.store.follow.graph import LinkChanges
from gossamer.store.sqlite.database import open_database
from gossamer.store.sqlite.work.admission import json_array

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from multiprocessing.connection import Connection

    from gossamer.store.sqlite.database import Database

SOURCES_AT_ONCE = 5_000  # with 60 links each about 10 MB
ROWS_AT_ONCE = 1_000  # links read together stay in the cache: a tenth less than with fifty times as many
MIN_PARALLEL_PAGES = 500_000  # pages; below that they take a few seconds
CACHE_MIB = 64  # of the other process: most is read only once

CHANGED = """
    SELECT id FROM resources WHERE version > ?1
    UNION ALL SELECT resource FROM forgotten WHERE version > ?1"""
# A page is what the store has the content of, whatever became of later visits.
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
    """What changed since a version, by id."""
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
    """All numbers of all rows, one after the other."""
    numbers = array("q")
    while rows := cursor.fetchmany(ROWS_AT_ONCE):
        numbers.extend(chain.from_iterable(rows))
    return numbers


# -- the other process -------------------------------------------------------------------------------------------------


def _send_ids(helper: Connection[Any, Any], chunk: Sequence[int]) -> None:
    with suppress(OSError):  # it has ended, and will not answer
        helper.send_bytes(array("q", chunk).tobytes())


def _receive_changes(helper: Connection[Any, Any]) -> LinkChanges | None:
    """What it found; None when it has ended. Then this process comes to whatever was in its way."""
    try:
        gone, ids, links = (array("q", helper.recv_bytes()) for _ in range(3))
        return LinkChanges(gone, ids, msgspec.msgpack.decode(helper.recv_bytes(), type=list[str]), links)
    except (EOFError, OSError):
        return None


def main(directory: str, connection: str) -> None:
    """Answer as long as somebody asks. Who asks comes to the same fault and says it."""
    from multiprocessing.connection import Connection  # noqa: PLC0415 - see `on_another`

    with suppress(EOFError, OSError, StoreError), Connection(int(connection)) as parent:
        database = open_database(Path(directory), create=False, read_only=True, cache_mib=CACHE_MIB)
        while True:
            changes = _read_changes(database, array("q", parent.recv_bytes()))
            for numbers in (changes.gone, changes.ids, changes.links):
                parent.send_bytes(numbers.tobytes())
            parent.send_bytes(msgspec.msgpack.encode(changes.urls))
