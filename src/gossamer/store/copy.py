"""Copying a whole web from one place to another, whatever each of them is kept in.

    FROM, one moment of it ── rows by key, some thousand at once ──▶ TO, unfinished and not yet to be seen
                                                                         │ read again, digests compared
                                                                         ▼
                                                                     TO, a web

FROM is read in one snapshot. Crawlers may be at work on it: the copy is the web as it was at that moment, and the same
as if they had been killed then. Each piece of a table is written to TO in one transaction with a note of how far that
went and a digest of everything so far, so a copy that was killed goes on where it stopped. If FROM has changed by then,
it begins again: half of one moment and half of another would be no web.

In the end TO is read from the first row to the last, and must give the digests that were computed while reading FROM.
Only then it appears, at once: a directory's web.db by its name, a database's schema by its.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from gossamer.errors import StoreCorrupt
from gossamer.model import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gossamer.store.rows import Row

DIGEST_BYTES = 16


class CopyTable(NamedTuple):
    """A table, the columns that order it, and how many rows of it are moved at once."""

    name: str
    key: tuple[str, ...]
    at_once: int = 10_000


BODIES_AT_ONCE = 100  # rows with a whole page in them; at most some MB each
TABLES = (
    CopyTable("crawlers", ("id",)),
    CopyTable("rounds", ("id",)),
    CopyTable("seeds", ("round", "seq")),
    CopyTable("hosts", ("id",)),
    CopyTable("robots", ("host", "scheme"), BODIES_AT_ONCE),
    CopyTable("resources", ("id",)),
    CopyTable("backlinks", ("resource",)),
    CopyTable("forgotten", ("resource",)),
    CopyTable("sources", ("resource",), BODIES_AT_ONCE),
    CopyTable("texts", ("resource",), BODIES_AT_ONCE),
    CopyTable("links", ("source", "seq")),
    CopyTable("history", ("id",), BODIES_AT_ONCE),
    CopyTable("relinked", ("target",)),
    CopyTable("words", ("term",)),
    CopyTable("visits", ("id",)),
    CopyTable("ranks", ("resource",)),
    CopyTable("host_ranks", ("host",)),
    CopyTable("rankings", ("facts",)),
)
# The counters (table `meta`) are kept in other ways in other places, so they are handed over as a whole.


class TableProgress(Value, frozen=True, kw_only=True):
    """How far a table is: what TO remembers of it."""

    rows: int = 0
    place: tuple[Any, ...] | None = None  # the key of the last row
    digest: bytes = b""  # of all rows so far, one piece after the other
    whole: bool = False


class CopySource(Protocol):
    """FROM: one moment of a web."""

    display_name: str

    def fingerprint(self) -> bytes:
        """What tells this moment of this web from every other one."""
        ...

    def columns(self, table: str) -> tuple[str, ...]:
        """The columns of a table, in whatever order."""
        ...

    def rows(self, table: CopyTable, columns: Sequence[str], after: tuple[Any, ...] | None) -> list[Row]:
        """The rows behind a key, as many as are moved at once."""
        ...

    def counters(self) -> dict[str, int]:
        """The web's counters, and as `last_resource` and `last_host` the greatest ids ever given out."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class CopyTarget(Protocol):
    """TO: a web that is being made. Nobody else sees it before `appear`."""

    display_name: str

    def begin(self, fingerprint: bytes) -> bool:
        """Make ready for a copy of that moment; True: one was begun here before, and goes on."""
        ...

    def table_progress(self) -> dict[str, TableProgress]:
        """How far each table is."""
        ...

    def convert_rows(self, rows: list[Row]) -> list[Row]:
        """Rows as they can be stored here."""
        ...

    def write(self, table: CopyTable, columns: Sequence[str], rows: list[Row], progress: TableProgress) -> None:
        """Add rows, and the note; both or nothing."""
        ...

    def rows(self, table: CopyTable, columns: Sequence[str], after: tuple[Any, ...] | None) -> list[Row]:
        """The rows behind a key, as they are stored."""
        ...

    def complete(self, counters: Mapping[str, int]) -> None:
        """Everything is there: set the counters, and make the indexes that were left for last."""
        ...

    def counters(self) -> dict[str, int]:
        """As those of a source."""
        ...

    def publish(self) -> None:
        """Become a web."""
        ...

    def close(self) -> None:
        """Let go of it; what is there can be gone on with."""
        ...


class CopyResult(Value, frozen=True, kw_only=True):
    """What was copied, and compared."""

    origin: str
    destination: str
    resumed: bool
    tables: dict[str, TableProgress]

    @property
    def rows(self) -> int:
        """Of all tables."""
        return sum(note.rows for note in self.tables.values())


def copy_store(source: CopySource, target: CopyTarget, on_progress: Callable[[str], None]) -> CopyResult:
    """Copy a web, compare, and let the copy appear."""
    resumed = target.begin(source.fingerprint())
    progress = target.table_progress()
    for table in TABLES:
        progress[table.name] = _copy_table(
            source, target, table, progress.get(table.name, TableProgress()), on_progress
        )
    counters = source.counters()
    on_progress("making indexes")
    target.complete(counters)
    for table in TABLES:
        _verify_table(source, target, table, progress[table.name], on_progress)
    if (copied_counters := target.counters()) != counters:
        raise StoreCorrupt(
            f"The copy in {target.display_name} has other counters than {source.display_name}: {copied_counters}."
        )
    target.publish()
    return CopyResult(origin=source.display_name, destination=target.display_name, resumed=resumed, tables=progress)


def _copy_table(
    source: CopySource,
    target: CopyTarget,
    table: CopyTable,
    progress: TableProgress,
    on_progress: Callable[[str], None],
) -> TableProgress:
    """Copy what is missing of a table."""
    columns = sorted(source.columns(table.name))
    while not progress.whole:
        read = source.rows(table, columns, progress.place)
        rows = target.convert_rows(read)
        progress = _advance(progress, rows, _last_key(read, table, columns), table)
        target.write(table, columns, rows, progress)
        on_progress(f"{table.name}: {progress.rows:,} rows")
    return progress


def _verify_table(
    source: CopySource,
    target: CopyTarget,
    table: CopyTable,
    expected: TableProgress,
    on_progress: Callable[[str], None],
) -> None:
    """Read what was written, and see that it is what was read."""
    columns = sorted(source.columns(table.name))
    actual = TableProgress()
    while not actual.whole:
        rows = target.rows(table, columns, actual.place)
        actual = _advance(actual, rows, _last_key(rows, table, columns), table)
        on_progress(f"comparing {table.name}: {actual.rows:,} rows")
    if (actual.rows, actual.digest) != (expected.rows, expected.digest):
        raise StoreCorrupt(
            f"The copy in {target.display_name} is not like {source.display_name}: of {table.name} {expected.rows:,} rows were read"
            f" and {actual.rows:,} found, or they differ. Copy to another place."
        )


def _last_key(rows: list[Row], table: CopyTable, columns: Sequence[str]) -> tuple[Any, ...]:
    """The key of the last of some rows, as it is where they were read: storable rows may have another."""
    return tuple(rows[-1][columns.index(name)] for name in table.key) if rows else ()


def _advance(progress: TableProgress, rows: list[Row], key: tuple[Any, ...], table: CopyTable) -> TableProgress:
    """How far a table is with some more rows; fewer than a whole piece are the last ones."""
    whole = len(rows) < table.at_once
    if not rows:
        return TableProgress(rows=progress.rows, place=progress.place, digest=progress.digest, whole=whole)
    digest = hashlib.blake2b(progress.digest + msgspec.msgpack.encode(rows), digest_size=DIGEST_BYTES).digest()
    return TableProgress(rows=progress.rows + len(rows), place=key, digest=digest, whole=whole)


# -- what the back-ends have in common ---------------------------------------------------------------------------------


# Whoever writes to a web changes one of these.
FINGERPRINT_QUERIES = (
    "SELECT key, value FROM meta ORDER BY key",
    "SELECT * FROM crawlers ORDER BY id",
    "SELECT * FROM rounds ORDER BY id",
    "SELECT facts FROM rankings",
    "SELECT max(id) FROM visits",
    "SELECT max(id) FROM history",
    "SELECT count(*) FROM words",
)


def next_rows_sql(table: CopyTable, columns: Sequence[str], after: tuple[Any, ...] | None, placeholder: str) -> str:
    """SQL for the next rows; `mark` stands where a value goes."""
    key = ", ".join(table.key)
    condition = f" WHERE ({key}) > ({', '.join(placeholder for _ in after)})" if after is not None else ""
    return f"SELECT {', '.join(columns)} FROM {table.name}{condition} ORDER BY {key} LIMIT {table.at_once}"  # noqa: S608


def compute_fingerprint(facts: Sequence[object]) -> bytes:
    """A mark made of facts, and of the way in which this version copies."""
    return hashlib.blake2b(msgspec.msgpack.encode((TABLES, facts)), digest_size=DIGEST_BYTES).digest()
