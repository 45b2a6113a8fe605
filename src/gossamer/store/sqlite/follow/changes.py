"""Read changes since a version and anchor texts for the index, and assign WordIDs."""

from __future__ import annotations

from collections import Counter
from heapq import nsmallest
from itertools import chain, count
from typing import TYPE_CHECKING

from gossamer.model import Kind
from gossamer.store import rows
from gossamer.store.follow import changes as follow
from gossamer.store.sqlite.database import json_array

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gossamer.store.sqlite.database import Database, Transaction

_CHANGED = "SELECT version, id FROM resources WHERE version = ?1 AND id > ?2 ORDER BY id LIMIT ?3"
_CHANGED_LATER = "SELECT version, id FROM resources WHERE version > ?1 ORDER BY version, id LIMIT ?2"
_FORGOTTEN = "SELECT version, resource FROM forgotten WHERE version = ?1 AND resource > ?2 ORDER BY resource LIMIT ?3"
_FORGOTTEN_LATER = "SELECT version, resource FROM forgotten WHERE version > ?1 ORDER BY version, resource LIMIT ?2"
_ALIAS_KINDS = f"kind IN ({Kind.REDIRECT}, {Kind.CANONICAL})"  # exactly as in the schema, so that SQLite uses its index
# Pages that name one of these as canonical. `changes` takes two steps of it: whether a page replaces others depends on
# whether another page replaces it.
_CANONICAL_SOURCES = f"""
    SELECT source FROM links
    WHERE {_ALIAS_KINDS} AND kind = {Kind.CANONICAL} AND target IN (SELECT value FROM json_each(?))"""  # noqa: S608
_INDEXABLE_RESOURCES = f"""
    SELECT {follow.INDEXABLE_COLUMNS}
    FROM json_each(?) AS j CROSS JOIN resources AS r ON r.id = j.value JOIN hosts AS h ON h.id = r.host"""  # noqa: S608

_LINKED_BY = """
    SELECT DISTINCT target FROM links WHERE source IN (SELECT value FROM json_each(?))"""
_ALIAS_TARGETS = f"""
    SELECT l.target FROM json_each(?1) AS j CROSS JOIN resources AS r ON r.id = j.value
    JOIN links AS l ON l.source = r.id
    WHERE r.outcome = 'redirected' AND l.kind = {Kind.REDIRECT} AND l.seq = 0
    UNION
    SELECT l.target FROM json_each(?1) AS j CROSS JOIN resources AS r ON r.id = j.value
    JOIN links AS l ON l.source = r.id
    WHERE r.canonical NOT IN ('', r.url) AND l.kind = {Kind.CANONICAL}"""  # noqa: S608
_RELINKED = "SELECT target FROM relinked WHERE version > ? AND target > ? ORDER BY target LIMIT ?"
_ALIASES = f"SELECT source FROM links WHERE target = ? AND {_ALIAS_KINDS} AND source <> target LIMIT ?"  # noqa: S608
_ANCHORS = f"""
    SELECT anchor FROM links WHERE target = ? AND kind = {Kind.HYPERLINK} AND follow = 1 AND anchor <> ''
        AND source <> ? LIMIT ?"""  # noqa: S608
# Scans the table in its order: the plus keeps SQLite from looking up each link by its target.
_ALL_ANCHORS = f"""
    SELECT target, anchor FROM links WHERE +target BETWEEN ? AND ? AND kind = {Kind.HYPERLINK} AND follow = 1
        AND anchor <> '' AND source <> target"""  # noqa: S608
_ALIASED_TARGETS = f"SELECT target FROM links WHERE target BETWEEN ? AND ? AND {_ALIAS_KINDS}"  # noqa: S608
_HAVE_TEXT = "SELECT resource FROM texts WHERE resource IN (SELECT value FROM json_each(?))"
_TEXT_BYTES = "SELECT resource, length(body) FROM texts WHERE resource IN (SELECT value FROM json_each(?))"
WORDS_AT_ONCE = 10_000
SCAN_RATIO = 4  # a scan of all links is faster if at least one in so many documents is asked for
MAX_ANCHOR_COUNTS = 500_000  # pairs of target and text counted by a scan, 150 bytes each

_WORDS = "SELECT term, word FROM words WHERE term IN (SELECT value FROM json_each(?))"
_NEW_WORD = "INSERT INTO words (term, word) VALUES (?, ?) ON CONFLICT DO UPDATE SET word = excluded.word WHERE word = 0"
_NEW_STOP = "INSERT INTO words (term, word) VALUES (?, 0) ON CONFLICT DO NOTHING"


# -- changes -----------------------------------------------------------------------------------------------------------


def changes(db: sqlite3.Connection, cursor: follow.ChangeCursor, limit: int) -> follow.Changes:
    """Return the next changes. The caller passes a snapshot, because writers go on meanwhile."""
    latest = int(db.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()[0])
    changed = _read_after(db, _CHANGED, _CHANGED_LATER, cursor, limit)
    forgotten = _read_after(db, _FORGOTTEN, _FORGOTTEN_LATER, cursor, limit)
    sizes = dict(db.execute(_TEXT_BYTES, (json_array(resource for _, resource in changed),)))
    end = follow.end_within_bytes(follow.find_chunk_end(latest, limit, changed, forgotten), changed, sizes)
    ids = {resource for version, resource in changed if (version, resource) <= end}
    canonical_sources = _canonical_sources_of(db, ids)
    resources = _indexable_resources(db, ids | canonical_sources | _canonical_sources_of(db, canonical_sources))
    gone = (resource for version, resource in forgotten if (version, resource) <= end)
    return follow.build_changes(end, latest, resources, gone)


def _read_after(
    db: sqlite3.Connection, same_version: str, later_versions: str, cursor: follow.ChangeCursor, limit: int
) -> list[tuple[int, int]]:
    records = db.execute(same_version, (cursor.version, cursor.resource, limit)).fetchall()
    return records + db.execute(later_versions, (cursor.version, limit - len(records))).fetchall()


def _canonical_sources_of(db: sqlite3.Connection, ids: Iterable[int]) -> set[int]:
    return {source for (source,) in db.execute(_CANONICAL_SOURCES, (json_array(ids),))}


def _indexable_resources(db: sqlite3.Connection, ids: Iterable[int]) -> tuple[follow.IndexableResource, ...]:
    return tuple(
        rows.to_struct(follow.IndexableResource, row)
        for row in db.execute(_INDEXABLE_RESOURCES, (json_array(sorted(ids)),))
    )


# -- anchor texts ------------------------------------------------------------------------------------------------------


def relinked_documents(database: Database, after: int, at_once: int) -> Iterator[list[int]]:
    """Stream resources whose anchor texts may have changed since a version; some come more than once."""
    for same_version, later_versions in ((_CHANGED, _CHANGED_LATER), (_FORGOTTEN, _FORGOTTEN_LATER)):
        cursor = follow.ChangeCursor(version=after, resource=follow.END_OF_VERSION)
        while True:
            with database.connection() as db:
                changed = _read_after(db, same_version, later_versions, cursor, at_once)
                ids = [resource for _, resource in changed]
                # A full read (after = 0) reaches linked documents anyway: everything with text was visited.
                documents = [*ids, *_linked_documents(db, ids)] if after else ids
            if not changed:
                break
            yield documents
            cursor = follow.ChangeCursor(version=changed[-1][0], resource=changed[-1][1])
    last = 0
    while True:
        with database.connection() as db:
            targets = [target for (target,) in db.execute(_RELINKED, (after, last, at_once))]
            documents = [*targets, *_alias_targets(db, targets)]
        if not targets:
            return
        yield documents
        last = targets[-1]


def _linked_documents(db: sqlite3.Connection, sources: Sequence[int]) -> list[int]:
    targets = {target for (target,) in db.execute(_LINKED_BY, (json_array(sources),))}
    return _filter_with_text(db, targets | _alias_targets(db, targets))


def _alias_targets(db: sqlite3.Connection, resources: Iterable[int]) -> set[int]:
    return {target for (target,) in db.execute(_ALIAS_TARGETS, (json_array(resources),))}


def _filter_with_text(db: sqlite3.Connection, resources: Iterable[int]) -> list[int]:
    return [resource for (resource,) in db.execute(_HAVE_TEXT, (json_array(resources),))]


def anchor_texts(
    db: sqlite3.Connection, targets: Sequence[int], max_links: int, max_texts: int
) -> list[follow.AnchorTexts]:
    """Return the texts that other pages use for each target, also for its redirects and duplicates.

    At most `max_links` links to one resource are read, those of the pages found first. They show how a page is called,
    even if a million others link to it.
    """
    known = _scan_anchors(db, targets, max_links)
    counts = (
        (target, known[target] if target in known else _count_anchors(db, target, max_links)) for target in targets
    )
    return [follow.AnchorTexts(target=target, texts=most_used_texts(found, max_texts)) for target, found in counts]


def most_used_texts(counts: Mapping[str, int], max_texts: int) -> tuple[tuple[str, int], ...]:
    """Return the texts used most, equal ones by alphabet, so that the order of visits does not matter."""
    return tuple(nsmallest(max_texts, counts.items(), key=lambda each: (-each[1], each[0])))


def _scan_anchors(db: sqlite3.Connection, targets: Sequence[int], max_links: int) -> dict[int, dict[str, int]]:
    """Count anchor texts for many targets by one scan, in half the time; leave out complicated targets.

    Links lie in the order of their sources, so reading all is faster than looking up many.
    """
    (documents,) = db.execute("SELECT value FROM meta WHERE key = 'documents'").fetchone()
    if documents > len(targets) * SCAN_RATIO:
        return {}
    id_range = min(targets, default=0), max(targets, default=0)
    counts: dict[int, dict[str, int]] = {target: {} for target in targets}
    counted = 0
    for target, text in db.execute(_ALL_ANCHORS, id_range):
        if target in counts:
            texts = counts[target]
            if text in texts:
                texts[text] += 1
            elif counted < MAX_ANCHOR_COUNTS:
                texts[text] = 1
                counted += 1
            else:
                return {}
    for (target,) in db.execute(_ALIASED_TARGETS, id_range):
        counts.pop(target, None)
    return {target: found for target, found in counts.items() if sum(found.values()) < max_links}


def _count_anchors(db: sqlite3.Connection, target: int, max_links: int) -> Counter[str]:
    counts = Counter(chain.from_iterable(db.execute(_ANCHORS, (target, target, max_links))))
    for (source,) in db.execute(_ALIASES, (target, follow.MAX_ALIASES)).fetchall():
        counts.update(chain.from_iterable(db.execute(_ANCHORS, (source, target, max_links))))
    return counts


# -- words -------------------------------------------------------------------------------------------------------------


def known_word_ids(db: sqlite3.Connection, terms: Sequence[str]) -> dict[str, int]:
    """Return the WordIDs of those terms that have one."""
    return dict(db.execute(_WORDS, (json_array(terms),)))


def every_word(database: Database) -> Iterator[tuple[str, int]]:
    """Stream every term and its WordID in order, in short reads."""
    sql = "SELECT term, word FROM words WHERE term > ? ORDER BY term LIMIT ?"

    def read(cursor: rows.Row, max_rows: int) -> list[rows.Row]:
        with database.connection() as db:
            return db.execute(sql, (*cursor, max_rows)).fetchall()

    for chunk in rows.read_chunks(read, ("",), WORDS_AT_ONCE):  # no term is empty
        yield from chunk


def assign_word_ids(tx: Transaction, terms: Sequence[str], stops: Sequence[str]) -> dict[str, int]:
    """Give the next WordIDs to new terms; return the WordIDs of all terms."""
    known = known_word_ids(tx.db, terms)
    new = [term for term in dict.fromkeys(terms) if not known.get(term)]
    last = tx.db.execute("SELECT coalesce(max(word), 0) FROM words WHERE word <> 0").fetchone()[0]
    new_ids = dict(zip(new, count(last + 1), strict=False))
    tx.db.executemany(_NEW_WORD, new_ids.items())
    tx.db.executemany(_NEW_STOP, ((stop,) for stop in stops))
    return known | new_ids
