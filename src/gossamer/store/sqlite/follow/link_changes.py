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
from gossamer.store.sqlite.work.admission import as_json

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from multiprocessing.connection import Connection

    from gossamer.store.sqlite.database import Database

SOURCES_AT_ONCE = 5_000  # with 60 links each about 10 MB
ROWS_AT_ONCE = 1_000  # links read together stay in the cache: a tenth less than with fifty times as many
BIG = 500_000  # pages; below that they take a few seconds
CACHE_MIB = 64  # of the other process: most is read only once

CHANGED = """
    SELECT id FROM resources WHERE version > ?1
    UNION ALL SELECT resource FROM forgotten WHERE version > ?1"""
# A page is what the store has the content of, whatever became of later visits.
STANDINGS = f"""
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
    with database.reading() as db:
        changed = sorted(resource for (resource,) in db.execute(CHANGED, (since,)))
    pieces = (changed[start : start + SOURCES_AT_ONCE] for start in range(0, len(changed), SOURCES_AT_ONCE))
    if len(changed) < BIG or available_cores() == 1:
        return (_changes_of(database, piece) for piece in pieces)
    return _by_two(database, pieces)


def _by_two(database: Database, pieces: Iterator[list[int]]) -> Iterator[LinkChanges]:
    with helper_process(__name__, database.directory) as other:
        for piece in pieces:
            following = next(pieces, None)
            if following is not None:
                _ask(other, following)
            yield _changes_of(database, piece)
            if following is not None:
                yield _answered(other) or _changes_of(database, following)


def _changes_of(database: Database, piece: Sequence[int]) -> LinkChanges:
    with database.reading() as db:
        db.execute("BEGIN")  # both reads see the same state
        try:
            found = db.execute(STANDINGS, (as_json(piece),)).fetchall()
            ids = array("q", (resource for resource, _ in found))
            links = _flat(db.execute(LINKS, (as_json(ids),)))
        finally:
            db.execute("COMMIT")
    there = set(ids)
    gone = array("q", (resource for resource in piece if resource not in there))
    return LinkChanges(gone=gone, ids=ids, urls=[url for _, url in found], links=links)


def _flat(cursor: sqlite3.Cursor) -> array[int]:
    """All numbers of all rows, one after the other."""
    numbers = array("q")
    while found := cursor.fetchmany(ROWS_AT_ONCE):
        numbers.extend(chain.from_iterable(found))
    return numbers


# -- the other process -------------------------------------------------------------------------------------------------


def _ask(other: Connection[Any, Any], piece: Sequence[int]) -> None:
    with suppress(OSError):  # it has ended, and will not answer
        other.send_bytes(array("q", piece).tobytes())


def _answered(other: Connection[Any, Any]) -> LinkChanges | None:
    """What it found; None when it has ended. Then this process comes to whatever was in its way."""
    try:
        gone, ids, links = (array("q", other.recv_bytes()) for _ in range(3))
        return LinkChanges(gone, ids, msgspec.msgpack.decode(other.recv_bytes(), type=list[str]), links)
    except (EOFError, OSError):
        return None


def main(directory: str, connection: str) -> None:
    """Answer as long as somebody asks. Who asks comes to the same fault and says it."""
    from multiprocessing.connection import Connection  # noqa: PLC0415 - see `on_another`

    with suppress(EOFError, OSError, StoreError), Connection(int(connection)) as asker:
        database = open_database(Path(directory), create=False, read_only=True, cache_mib=CACHE_MIB)
        while True:
            found = _changes_of(database, array("q", asker.recv_bytes()))
            for numbers in (found.gone, found.ids, found.links):
                asker.send_bytes(numbers.tobytes())
            asker.send_bytes(msgspec.msgpack.encode(found.urls))
