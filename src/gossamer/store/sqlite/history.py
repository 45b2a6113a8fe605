"""What a visit found to be different from before: told apart, written down, and read.

Only visits to what was visited before come here, and their old bonds are read once for all of it: to see whether
anything differs, to say what, and to tell which targets gained or lost something.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import zstandard

from gossamer.model import Kind, Outcome
from gossamer.revisit.sameness import says_the_same
from gossamer.store.base import ChangedBond, ChangeRow, decode_source, decode_text
from gossamer.store.sqlite.admission import as_json

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gossamer.model import Page, Visit
    from gossamer.store.sqlite.database import Database, Transaction

ROWS_AT_ONCE = 500
ALL = -1  # LIMIT -1 is no limit
EVENTS = {
    Outcome.FETCHED: "changed", Outcome.NOT_FOUND: "gone", Outcome.REDIRECTED: "moved", Outcome.TYPE: "refused",
}  # fmt: skip
APPEARED = "appeared"  # it answers with a page, and did not before
COMPARED = ("title", "description", "language", "canonical", "noindex", "nofollow", "media_type")

PAST = f"""
    SELECT id, outcome, visited_at, status, bytes, content_digest, text_digest, {", ".join(COMPARED)}, dated, found,
        gap, quiet, told_at, misled, coalesce(number, 0), seed, pace
    FROM resources LEFT JOIN backlinks ON resource = id WHERE id IN (SELECT value FROM json_each(?))"""  # noqa: S608
BONDS = """
    SELECT source, target, kind, follow, weight, position, rel, anchor FROM links
    WHERE source IN (SELECT value FROM json_each(?)) ORDER BY source, seq"""
TEXTS = "SELECT resource, body FROM texts WHERE resource IN (SELECT value FROM json_each(?))"
INSERT = """
    INSERT INTO history (resource, found_at, since, event, status, bytes, title, parts, links)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
RELINKED = """
    INSERT INTO relinked (target, version) SELECT value, ?1 FROM json_each(?2) WHERE true
    ON CONFLICT DO UPDATE SET version = excluded.version"""
KEEP_SOURCE = """
    UPDATE history SET source = (SELECT body FROM sources AS s WHERE s.resource = history.resource)
    WHERE id > ? AND event IN ('changed', 'gone', 'moved', 'refused')"""
SOURCES_SINCE = "SELECT coalesce(sum(length(source)), 0) FROM history WHERE id > ? AND source IS NOT NULL"
OLDEST_SOURCES = (
    "SELECT id, length(source) FROM history INDEXED BY history_sources WHERE source IS NOT NULL ORDER BY id"
)
_ROWS = """
    SELECT c.id, r.url, c.found_at, c.since, c.event, c.status, c.bytes, c.title, c.parts, c.links,
        c.source IS NOT NULL, r.title, r.status, r.state
    FROM history AS c JOIN resources AS r ON r.id = c.resource"""
OF_RESOURCE = f"{_ROWS} WHERE c.resource = ? ORDER BY c.id"
SINCE = f"""
    {_ROWS} WHERE (c.found_at, c.id) > (?, ?) ORDER BY c.found_at, c.id LIMIT ?"""
URLS = "SELECT id, url FROM resources WHERE id IN (SELECT value FROM json_each(?))"

Row = tuple[int, int, int, int, int, str, str]  # target, kind, follow, weight, position, rel, anchor


class Past(NamedTuple):
    """A resource as it was stored before the visit."""

    id: int
    outcome: str
    visited_at: float | None
    status: int
    size: int
    content_digest: bytes
    text_digest: bytes
    title: str
    description: str
    language: str
    canonical: str
    noindex: int
    nofollow: int
    media_type: str
    dated: float | None
    found: float | None
    gap: float | None
    quiet: float | None
    told_at: float | None
    misled: int
    backlinks: int
    seed: int
    pace: int | None

    @property
    def has_content(self) -> bool:
        """Whether a page is stored of it."""
        return bool(self.content_digest)


class Difference(NamedTuple):
    """How a visit differs from what was known."""

    parts: tuple[str, ...]  # what differs; nothing: the same
    lost: list[Row]  # bonds
    gained: list[Row]


def past_of(db: sqlite3.Connection, resources: Iterable[int]) -> dict[int, Past]:
    """How resources are stored now."""
    return {past.id: past for past in map(Past._make, db.execute(PAST, (as_json(resources),)))}


def differences(
    db: sqlite3.Connection, visits: Mapping[int, Visit], past: Mapping[int, Past], bonds: Mapping[int, list[Row]]
) -> dict[int, Difference]:
    """What is different, for visits that would replace what is stored; `bonds` are those they brought."""
    old: defaultdict[int, list[Row]] = defaultdict(list)
    for source, *row in db.execute(BONDS, (as_json(visits),)):
        old[source].append(tuple(row))
    texts = _old_texts(db, visits, past)
    return {
        resource: _difference(past[resource], visit.page, texts.get(resource), old[resource], bonds[resource])
        for resource, visit in visits.items()
    }


def _old_texts(db: sqlite3.Connection, visits: Mapping[int, Visit], past: Mapping[int, Past]) -> dict[int, bytes]:
    """The texts to be compared word by word: where their digests say that they are not the same."""
    asked = [
        resource
        for resource, visit in visits.items()
        if visit.page is not None and past[resource].text_digest not in {b"", visit.page.text_digest}
    ]
    return dict(db.execute(TEXTS, (as_json(asked),))) if asked else {}


def _difference(past: Past, page: Page | None, text: bytes | None, old: list[Row], new: list[Row]) -> Difference:
    if (page is not None) != past.has_content:
        parts = ["content"]
    elif page is not None:
        parts = [name for name in COMPARED if getattr(page, name) != getattr(past, name)]
        if page.text_digest != past.text_digest and not _same_text(text, page):
            parts.insert(0, "text")
    else:
        parts = []
    if old == new:
        return Difference(tuple(parts), [], [])
    before, now = Counter(old), Counter(new)
    return Difference((*parts, "links"), list((before - now).elements()), list((now - before).elements()))


def _same_text(text: bytes | None, page: Page) -> bool:
    return text is not None and says_the_same(decode_text(text), decode_text(page.text))


# -- writing -----------------------------------------------------------------------------------------------------------


class Entry(NamedTuple):
    """A line of history to be."""

    past: Past
    visit: Visit
    difference: Difference


def write(tx: Transaction, entries: Sequence[Entry], version: int, old_sources: int) -> None:
    """Write down how resources were until now; before what is stored of them is replaced."""
    last = tx.db.execute("SELECT coalesce(max(id), 0) FROM history").fetchone()[0]
    tx.db.executemany(INSERT, map(_row, entries))
    if old_sources:
        _keep_sources(tx, last, old_sources)
    targets = {row[0] for entry in entries for row in (*entry.difference.lost, *entry.difference.gained)}
    tx.db.execute(RELINKED, (version, as_json(targets)))


def _row(entry: Entry) -> tuple[object, ...]:
    past, visit, (parts, lost, gained) = entry
    event = EVENTS[visit.outcome]
    if event == "changed" and not past.has_content:
        event = APPEARED
    links = zstandard.compress(msgspec.msgpack.encode((lost, gained))) if lost or gained else b""
    return (
        past.id, visit.visited_at, past.visited_at or visit.visited_at, event, past.status, past.size, past.title,
        " ".join(parts), links,
    )  # fmt: skip


def _keep_sources(tx: Transaction, last: int, most: int) -> None:
    """Keep the sources that are about to be replaced; the oldest ones go when they are more than so many bytes."""
    tx.db.execute(KEEP_SOURCE, (last,))
    tx.meta["old_sources"] += tx.db.execute(SOURCES_SINCE, (last,)).fetchone()[0]
    dropped = []
    for entry, size in tx.db.execute(OLDEST_SOURCES):
        if tx.meta["old_sources"] <= most:
            break
        tx.meta["old_sources"] -= size
        dropped.append(entry)
    drop = "UPDATE history SET source = NULL WHERE id IN (SELECT value FROM json_each(?))"
    tx.db.execute(drop, (as_json(dropped),))


# -- reading -----------------------------------------------------------------------------------------------------------


def of_resource(db: sqlite3.Connection, resource: int) -> list[ChangeRow]:
    """The history of a resource, oldest first."""
    return list(_read(db, db.execute(OF_RESOURCE, (resource,)).fetchall()))


def since(database: Database, when: float, limit: int | None) -> Iterator[ChangeRow]:
    """What was found changed since then, oldest first."""
    place, left = (when, 0), limit
    while left is None or left > 0:
        most = ROWS_AT_ONCE if left is None else min(left, ROWS_AT_ONCE)
        with database.reading() as db:
            rows = db.execute(SINCE, (*place, most)).fetchall()
            changes = list(_read(db, rows))
        if not rows:
            return
        yield from changes
        place = (rows[-1][2], rows[-1][0])
        left = None if left is None else left - len(rows)


def old_source(db: sqlite3.Connection, entry: int) -> bytes | None:
    """The source as it was until a change; None when it was not kept."""
    row = db.execute("SELECT source FROM history WHERE id = ? AND source IS NOT NULL", (entry,)).fetchone()
    return decode_source(row[0]) if row else None


def _read(db: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> Iterator[ChangeRow]:
    packed = {row[0]: _unpacked(row[9]) for row in rows}
    targets = {bond[0] for lost, gained in packed.values() for bond in (*lost, *gained)}
    urls = dict(db.execute(URLS, (as_json(targets),))) if targets else {}
    for entry, url, found_at, since_, event, status, size, title, parts, _, has_source, *now in rows:
        lost, gained = packed[entry]
        yield ChangeRow(
            id=entry, url=url, found_at=found_at, since=since_, event=event, status=status, bytes=size, title=title,
            parts=tuple(parts.split()), lost=_bonds(lost, urls), gained=_bonds(gained, urls),
            has_source=bool(has_source), now_title=now[0], now_status=now[1], now_state=now[2],
        )  # fmt: skip


def _unpacked(links: bytes) -> tuple[list[Row], list[Row]]:
    if not links:
        return [], []
    return msgspec.msgpack.decode(decode_source(links), type=tuple[list[Row], list[Row]])


def _bonds(rows: Sequence[Row], urls: Mapping[int, str]) -> tuple[ChangedBond, ...]:
    return tuple(
        ChangedBond(url=urls.get(target, ""), kind=Kind(kind).name.lower(), anchor=anchor, weight=weight)
        for target, kind, _, weight, _, _, anchor in rows
    )
