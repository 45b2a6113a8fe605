"""Copy a whole web from one location to another, between any two back-ends.

    source (one snapshot) ── rows by key, some thousand at once ──▶ target, unfinished and invisible
                                                                        │ read again, digests compared
                                                                        ▼
                                                                    target, a web

The copy reads the source in one snapshot while crawlers may work on it. The target becomes the web of that moment, as
if the crawlers had been killed then. One transaction writes a chunk of a table, how far the table is, and a digest of
all rows so far. So a copy that was killed resumes where it stopped. If the source has changed by then, the copy starts
again: two halves of different moments are not a web.

At the end the copy reads the target from the first row to the last and compares the digests. Only then the target
appears, by an atomic rename of its web.db or its schema.
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
    """A table, the columns that order it, and how many rows are moved at once."""

    name: str
    key: tuple[str, ...]
    at_once: int = 10_000


BODIES_AT_ONCE = 100  # rows that hold a whole page, up to some MB each
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
    CopyTable("renderings", ("resource",), BODIES_AT_ONCE),
    CopyTable("shapes", ("host", "shape", "signed")),
    CopyTable("links", ("source", "seq")),
    CopyTable("history", ("id",), BODIES_AT_ONCE),
    CopyTable("relinked", ("target",)),
    CopyTable("words", ("term",)),
    CopyTable("visits", ("id",)),
    CopyTable("ranks", ("resource",)),
    CopyTable("host_ranks", ("host",)),
    CopyTable("rankings", ("facts",)),
)
# The back-ends keep counters (table `meta`) in different ways, so the copy passes them as one mapping.


class TableProgress(Value, frozen=True, kw_only=True):
    """How far the copy of a table is; the target stores it."""

    rows: int = 0
    last_key: tuple[Any, ...] | None = msgspec.field(default=None, name="place")  # stored as `place` since 0.1
    digest: bytes = b""  # of all rows so far, chunk after chunk
    whole: bool = False


class CopySource(Protocol):
    """One snapshot of a web."""

    display_name: str

    def fingerprint(self) -> bytes:
        """Return a digest that identifies this moment of this web."""
        ...

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table, in any order."""
        ...

    def rows(self, table: CopyTable, columns: Sequence[str], after: tuple[Any, ...] | None) -> list[Row]:
        """Return the rows after a key, at most `table.at_once`."""
        ...

    def counters(self) -> dict[str, int]:
        """Return the counters, with the greatest ids ever assigned as `last_resource` and `last_host`."""
        ...

    def close(self) -> None:
        """Release the snapshot."""
        ...


class CopyTarget(Protocol):
    """A web under construction. Nobody else sees it before `publish`."""

    display_name: str

    def begin(self, fingerprint: bytes) -> bool:
        """Prepare for a copy of that moment; return True when this resumes an earlier copy."""
        ...

    def table_progress(self) -> dict[str, TableProgress]:
        """Return how far each table is."""
        ...

    def convert_rows(self, rows: list[Row]) -> list[Row]:
        """Return the rows as they can be stored here."""
        ...

    def write(self, table: CopyTable, columns: Sequence[str], rows: list[Row], progress: TableProgress) -> None:
        """Write rows and progress in one transaction."""
        ...

    def rows(self, table: CopyTable, columns: Sequence[str], after: tuple[Any, ...] | None) -> list[Row]:
        """Return the stored rows after a key, at most `table.at_once`."""
        ...

    def complete(self, counters: Mapping[str, int]) -> None:
        """Set the counters and create the remaining indexes, after the last row."""
        ...

    def counters(self) -> dict[str, int]:
        """Return the counters, like those of a source."""
        ...

    def publish(self) -> None:
        """Make the copy a web that others can open."""
        ...

    def close(self) -> None:
        """Close the target; a later copy can resume it."""
        ...


class CopyResult(Value, frozen=True, kw_only=True):
    """The result of a copy."""

    origin: str
    destination: str
    resumed: bool
    tables: dict[str, TableProgress]

    @property
    def rows(self) -> int:
        """The number of rows of all tables."""
        return sum(note.rows for note in self.tables.values())


def copy_store(source: CopySource, target: CopyTarget, on_progress: Callable[[str], None]) -> CopyResult:
    """Copy a web, compare the copy, and publish it."""
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
            " Copy to another location."
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
    """Copy the rows of a table that are missing."""
    columns = sorted(source.columns(table.name))
    while not progress.whole:
        read = source.rows(table, columns, progress.last_key)
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
    """Read the copied table and compare its digest."""
    columns = sorted(source.columns(table.name))
    actual = TableProgress()
    while not actual.whole:
        rows = target.rows(table, columns, actual.last_key)
        actual = _advance(actual, rows, _last_key(rows, table, columns), table)
        on_progress(f"comparing {table.name}: {actual.rows:,} rows")
    if (actual.rows, actual.digest) != (expected.rows, expected.digest):
        raise StoreCorrupt(
            f"The copy in {target.display_name} differs from {source.display_name} in the table {table.name}"
            f" ({expected.rows:,} rows, {actual.rows:,} in the copy). Copy to another location."
        )


def _last_key(rows: list[Row], table: CopyTable, columns: Sequence[str]) -> tuple[Any, ...]:
    """Return the key of the last row as its own store has it; converted rows may have another."""
    return tuple(rows[-1][columns.index(name)] for name in table.key) if rows else ()


def _advance(progress: TableProgress, rows: list[Row], key: tuple[Any, ...], table: CopyTable) -> TableProgress:
    """Return the progress after some more rows; a chunk that is not full is the last."""
    whole = len(rows) < table.at_once
    if not rows:
        return TableProgress(rows=progress.rows, last_key=progress.last_key, digest=progress.digest, whole=whole)
    digest = hashlib.blake2b(progress.digest + msgspec.msgpack.encode(rows), digest_size=DIGEST_BYTES).digest()
    return TableProgress(rows=progress.rows + len(rows), last_key=key, digest=digest, whole=whole)


# -- for both back-ends ------------------------------------------------------------------------------------------------


# Every write to a web changes the answer to one of these.
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
    """Return SQL for the next rows, with `placeholder` for each value."""
    key = ", ".join(table.key)
    condition = f" WHERE ({key}) > ({', '.join(placeholder for _ in after)})" if after is not None else ""
    return f"SELECT {', '.join(columns)} FROM {table.name}{condition} ORDER BY {key} LIMIT {table.at_once}"  # noqa: S608


def compute_fingerprint(facts: Sequence[object]) -> bytes:
    """Return a digest of facts and of the tables that this version copies."""
    return hashlib.blake2b(msgspec.msgpack.encode((TABLES, facts)), digest_size=DIGEST_BYTES).digest()
