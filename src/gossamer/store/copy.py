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


class Table(NamedTuple):
    """A table, the columns that order it, and how many rows of it are moved at once."""

    name: str
    key: tuple[str, ...]
    at_once: int = 10_000


BODIES = 100  # rows with a whole page in them; at most some MB each
TABLES = (
    Table("crawlers", ("id",)),
    Table("rounds", ("id",)),
    Table("seeds", ("round", "seq")),
    Table("hosts", ("id",)),
    Table("robots", ("host", "scheme"), BODIES),
    Table("resources", ("id",)),
    Table("backlinks", ("resource",)),
    Table("forgotten", ("resource",)),
    Table("sources", ("resource",), BODIES),
    Table("texts", ("resource",), BODIES),
    Table("links", ("source", "seq")),
    Table("history", ("id",), BODIES),
    Table("relinked", ("target",)),
    Table("words", ("term",)),
    Table("visits", ("id",)),
    Table("ranks", ("resource",)),
    Table("host_ranks", ("host",)),
    Table("rankings", ("facts",)),
)
# The counters (table `meta`) are kept in other ways in other places, so they are handed over as a whole.


class Note(Value, frozen=True, kw_only=True):
    """How far a table is: what TO remembers of it."""

    rows: int = 0
    place: tuple[Any, ...] | None = None  # the key of the last row
    digest: bytes = b""  # of all rows so far, one piece after the other
    whole: bool = False


class Source(Protocol):
    """FROM: one moment of a web."""

    shown: str

    def mark(self) -> bytes:
        """What tells this moment of this web from every other one."""
        ...

    def columns(self, table: str) -> tuple[str, ...]:
        """The columns of a table, in whatever order."""
        ...

    def rows(self, table: Table, columns: Sequence[str], after: tuple[Any, ...] | None) -> list[Row]:
        """The rows behind a key, as many as are moved at once."""
        ...

    def counters(self) -> dict[str, int]:
        """The web's counters, and as `last_resource` and `last_host` the greatest ids ever given out."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Target(Protocol):
    """TO: a web that is being made. Nobody else sees it before `appear`."""

    shown: str

    def begin(self, mark: bytes) -> bool:
        """Make ready for a copy of that moment; True: one was begun here before, and goes on."""
        ...

    def notes(self) -> dict[str, Note]:
        """How far each table is."""
        ...

    def storable(self, rows: list[Row]) -> list[Row]:
        """Rows as they can be stored here."""
        ...

    def write(self, table: Table, columns: Sequence[str], rows: list[Row], note: Note) -> None:
        """Add rows, and the note; both or nothing."""
        ...

    def rows(self, table: Table, columns: Sequence[str], after: tuple[Any, ...] | None) -> list[Row]:
        """The rows behind a key, as they are stored."""
        ...

    def complete(self, counters: Mapping[str, int]) -> None:
        """Everything is there: set the counters, and make the indexes that were left for last."""
        ...

    def counters(self) -> dict[str, int]:
        """As those of a source."""
        ...

    def appear(self) -> None:
        """Become a web."""
        ...

    def close(self) -> None:
        """Let go of it; what is there can be gone on with."""
        ...


class Copied(Value, frozen=True, kw_only=True):
    """What was copied, and compared."""

    origin: str
    place: str
    resumed: bool
    tables: dict[str, Note]

    @property
    def rows(self) -> int:
        """Of all tables."""
        return sum(note.rows for note in self.tables.values())


def copy(source: Source, target: Target, tell: Callable[[str], None]) -> Copied:
    """Copy a web, compare, and let the copy appear."""
    resumed = target.begin(source.mark())
    notes = target.notes()
    for table in TABLES:
        notes[table.name] = _copied(source, target, table, notes.get(table.name, Note()), tell)
    counters = source.counters()
    tell("making indexes")
    target.complete(counters)
    for table in TABLES:
        _compare(source, target, table, notes[table.name], tell)
    if (found := target.counters()) != counters:
        raise StoreCorrupt(f"The copy in {target.shown} has other counters than {source.shown}: {found}.")
    target.appear()
    return Copied(origin=source.shown, place=target.shown, resumed=resumed, tables=notes)


def _copied(source: Source, target: Target, table: Table, note: Note, tell: Callable[[str], None]) -> Note:
    """Copy what is missing of a table."""
    columns = sorted(source.columns(table.name))
    while not note.whole:
        read = source.rows(table, columns, note.place)
        rows = target.storable(read)
        note = _after(note, rows, _key(read, table, columns), table)
        target.write(table, columns, rows, note)
        tell(f"{table.name}: {note.rows:,} rows")
    return note


def _compare(source: Source, target: Target, table: Table, expected: Note, tell: Callable[[str], None]) -> None:
    """Read what was written, and see that it is what was read."""
    columns = sorted(source.columns(table.name))
    found = Note()
    while not found.whole:
        rows = target.rows(table, columns, found.place)
        found = _after(found, rows, _key(rows, table, columns), table)
        tell(f"comparing {table.name}: {found.rows:,} rows")
    if (found.rows, found.digest) != (expected.rows, expected.digest):
        raise StoreCorrupt(
            f"The copy in {target.shown} is not like {source.shown}: of {table.name} {expected.rows:,} rows were read"
            f" and {found.rows:,} found, or they differ. Copy to another place."
        )


def _key(rows: list[Row], table: Table, columns: Sequence[str]) -> tuple[Any, ...]:
    """The key of the last of some rows, as it is where they were read: storable rows may have another."""
    return tuple(rows[-1][columns.index(name)] for name in table.key) if rows else ()


def _after(note: Note, rows: list[Row], key: tuple[Any, ...], table: Table) -> Note:
    """How far a table is with some more rows; fewer than a whole piece are the last ones."""
    whole = len(rows) < table.at_once
    if not rows:
        return Note(rows=note.rows, place=note.place, digest=note.digest, whole=whole)
    digest = hashlib.blake2b(note.digest + msgspec.msgpack.encode(rows), digest_size=DIGEST_BYTES).digest()
    return Note(rows=note.rows + len(rows), place=key, digest=digest, whole=whole)


# -- what the back-ends have in common ---------------------------------------------------------------------------------


# Whoever writes to a web changes one of these.
FACTS = (
    "SELECT key, value FROM meta ORDER BY key",
    "SELECT * FROM crawlers ORDER BY id",
    "SELECT * FROM rounds ORDER BY id",
    "SELECT facts FROM rankings",
    "SELECT max(id) FROM visits",
    "SELECT max(id) FROM history",
    "SELECT count(*) FROM words",
)


def select(table: Table, columns: Sequence[str], after: tuple[Any, ...] | None, mark: str) -> str:
    """SQL for the next rows; `mark` stands where a value goes."""
    key = ", ".join(table.key)
    behind = f" WHERE ({key}) > ({', '.join(mark for _ in after)})" if after is not None else ""
    return f"SELECT {', '.join(columns)} FROM {table.name}{behind} ORDER BY {key} LIMIT {table.at_once}"  # noqa: S608


def digest_of(facts: Sequence[object]) -> bytes:
    """A mark made of facts, and of the way in which this version copies."""
    return hashlib.blake2b(msgspec.msgpack.encode((TABLES, facts)), digest_size=DIGEST_BYTES).digest()
