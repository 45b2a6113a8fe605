"""What the index follows: changes since a version, anchor texts, and word ids."""

from __future__ import annotations

from itertools import chain, count, groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from gossamer.model import Kind
from gossamer.store import rows
from gossamer.store.follow import changes as follow
from gossamer.store.postgres.database import int_array
from gossamer.store.postgres.read.resources import fetch_rows, row_reader, version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gossamer.store.postgres.database import Connection, Database, Transaction

# `IS NOT NULL` repeats the condition of the partial index: the planner does not infer it from the comparison.
_CHANGED = """
    SELECT version, id FROM resources WHERE version IS NOT NULL AND (version, id) > (%s, %s)
    ORDER BY version, id LIMIT %s"""
_FORGOTTEN = """
    SELECT version, resource FROM forgotten WHERE (version, resource) > (%s, %s) ORDER BY version, resource LIMIT %s"""
# The schema has this condition word for word; otherwise the planner does not use its index.
_ALIAS_KINDS = f"kind IN ({Kind.REDIRECT}, {Kind.CANONICAL})"
_CANONICAL_SOURCES = f"""
    SELECT source FROM links
    WHERE {_ALIAS_KINDS} AND kind = {Kind.CANONICAL} AND target = ANY(%s::bigint[])"""  # noqa: S608
_INDEXABLE_RESOURCES = f"""
    SELECT {follow.INDEXABLE_COLUMNS}
    FROM resources AS r JOIN hosts AS h ON h.id = r.host
    WHERE r.id = ANY(%s::bigint[]) ORDER BY r.id"""  # noqa: S608

_LINKED_BY = "SELECT DISTINCT target FROM links WHERE source = ANY(%s::bigint[])"
_ALIAS_TARGETS = f"""
    SELECT l.target FROM resources AS r JOIN links AS l ON l.source = r.id
    WHERE r.id = ANY(%s::bigint[])
        AND (r.outcome = 'redirected' AND l.kind = {Kind.REDIRECT} AND l.seq = 0
            OR r.canonical NOT IN ('', r.url) AND l.kind = {Kind.CANONICAL})"""  # noqa: S608
_HAVE_TEXT = "SELECT resource FROM texts WHERE resource = ANY(%s::bigint[])"
_TEXT_BYTES = "SELECT resource, octet_length(body) FROM texts WHERE resource = ANY(%s::bigint[])"
_RELINKED = "SELECT target FROM relinked WHERE version > %s AND target > %s ORDER BY target LIMIT %s"
# `via` is the resource itself, or a redirect or duplicate that leads to it.
_ANCHORS = f"""
    WITH asked (target) AS (SELECT unnest(%(targets)s::bigint[])),
    ways (target, via) AS (
        SELECT target, target FROM asked
        UNION ALL
        SELECT a.target, l.source FROM asked AS a CROSS JOIN LATERAL (
            SELECT source FROM links WHERE links.target = a.target AND {_ALIAS_KINDS} AND source <> a.target
            LIMIT {follow.MAX_ALIASES}) AS l)
    SELECT w.target, l.anchor, count(*)
    FROM ways AS w CROSS JOIN LATERAL (
        SELECT source, anchor FROM links
        WHERE links.target = w.via AND kind = {Kind.HYPERLINK} AND follow = 1 AND anchor <> '' AND source <> w.target
        LIMIT %(most)s) AS l
    GROUP BY w.target, l.anchor ORDER BY w.target, count(*) DESC, l.anchor COLLATE "C" """  # noqa: S608
WORDS_AT_ONCE = 10_000  # rows per read; bounds memory
_WORDS = "SELECT term, word FROM words WHERE term = ANY(%s::text[])"
_EVERY_WORD = "SELECT term, word FROM words WHERE term > %s ORDER BY term LIMIT %s"
_NEW_WORDS = """
    INSERT INTO words (term, word) SELECT * FROM unnest(%s::text[], %s::bigint[])
    ON CONFLICT (term) DO UPDATE SET word = excluded.word WHERE words.word = 0"""
_NEW_STOPS = "INSERT INTO words (term, word) SELECT term, 0 FROM unnest(%s::text[]) AS t (term) ON CONFLICT DO NOTHING"


# -- changes -----------------------------------------------------------------------------------------------------------


def changes(db: Connection, cursor: follow.ChangeCursor, limit: int) -> follow.Changes:
    """Return the next batch of changes. The caller gives a snapshot, because writers go on at the same time.

    A change of one page can change whether the pages that name it as canonical are indexable. This reaches two levels:
    a page stands in for others only if no other page stands in for it. The batch contains both levels.
    """
    latest = version(db)
    position = (cursor.version, cursor.resource, limit)
    changed = db.execute(_CHANGED, position).fetchall()
    forgotten = db.execute(_FORGOTTEN, position).fetchall()
    sizes: dict[int, int] = dict(
        db.execute(_TEXT_BYTES, (int_array(sorted(resource for _, resource in changed)),)).fetchall()
    )
    end = follow.end_within_bytes(follow.find_chunk_end(latest, limit, changed, forgotten), changed, sizes)
    ids = {resource for changed_in, resource in changed if (changed_in, resource) <= end}
    canonical_sources = _select_ids(db, _CANONICAL_SOURCES, ids)
    resources = db.execute(
        _INDEXABLE_RESOURCES,
        (int_array(sorted(ids | canonical_sources | _select_ids(db, _CANONICAL_SOURCES, canonical_sources))),),
    )
    gone = (resource for lost_in, resource in forgotten if (lost_in, resource) <= end)
    return follow.build_changes(end, latest, (rows.to_struct(follow.IndexableResource, row) for row in resources), gone)


def _select_ids(db: Connection, sql: str, ids: Iterable[int]) -> set[int]:
    """Return the DocIDs that a statement selects for these ids."""
    return set(chain.from_iterable(db.execute(sql, (int_array(ids),))))


# -- anchor texts ------------------------------------------------------------------------------------------------------


def relinked_documents(database: Database, after: int, at_once: int) -> Iterator[list[int]]:
    """Yield the documents whose anchor texts may have changed after a version; some come more than once."""
    for sql in (_CHANGED, _FORGOTTEN):
        for chunk in rows.read_chunks(row_reader(database, sql), (after, follow.END_OF_VERSION), at_once):
            ids = [resource for _, resource in chunk]
            yield [*ids, *database.snapshot(lambda db, ids=ids: _linked_documents(db, ids))]  # type: ignore[misc]
    last = 0
    while targets := [target for (target,) in fetch_rows(database, _RELINKED, (after, last, at_once))]:
        yield [*targets, *database.read(lambda db, ids=targets: _select_ids(db, _ALIAS_TARGETS, ids))]  # type: ignore[misc]
        last = targets[-1]


def _linked_documents(db: Connection, sources: Sequence[int]) -> set[int]:
    targets = _select_ids(db, _LINKED_BY, sources)
    return _select_ids(db, _HAVE_TEXT, targets | _select_ids(db, _ALIAS_TARGETS, targets))


def anchor_texts(db: Connection, targets: Sequence[int], max_links: int, max_texts: int) -> list[follow.AnchorTexts]:
    """Return the texts of the links to each target, also of links to its redirects and duplicates.

    It counts at most `max_links` links per resource: a sample names a home page as well as its 100,000 links do.
    """
    counted = db.execute(_ANCHORS, {"targets": int_array(targets), "most": max_links}).fetchall()
    texts = {target: [row[1:] for row in group] for target, group in groupby(counted, itemgetter(0))}
    return [follow.AnchorTexts(target=target, texts=tuple(texts.get(target, ())[:max_texts])) for target in targets]


# -- words -------------------------------------------------------------------------------------------------------------


def known_word_ids(db: Connection, terms: Sequence[str]) -> dict[str, int]:
    """Return the ids of the terms that have one. PostgreSQL accepts no NUL, so no term with a NUL has an id."""
    return dict(db.execute(_WORDS, ([term for term in terms if "\0" not in term],)).fetchall())


def every_word(database: Database) -> Iterator[tuple[str, int]]:
    """Yield every term and its id, in order, in short reads."""
    for chunk in rows.read_chunks(row_reader(database, _EVERY_WORD), ("",), WORDS_AT_ONCE):  # no term is empty
        yield from chunk


def assign_word_ids(tx: Transaction, terms: Sequence[str], stops: Sequence[str]) -> dict[str, int]:
    """Give the next ids to terms that have none; return the ids of all terms."""
    tx.db.execute("LOCK TABLE words IN SHARE ROW EXCLUSIVE MODE")  # two writers must not assign the same id
    known = known_word_ids(tx.db, terms)
    new = [term for term in dict.fromkeys(terms) if not known.get(term)]
    row = tx.db.execute("SELECT coalesce(max(word), 0) FROM words WHERE word <> 0").fetchone()
    assert row is not None
    new_ids = dict(zip(new, count(row[0] + 1), strict=False))
    tx.db.execute(_NEW_WORDS, (list(new_ids), list(new_ids.values())))
    tx.db.execute(_NEW_STOPS, (list(dict.fromkeys(stops)),))
    return known | new_ids
