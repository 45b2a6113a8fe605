"""Following: what changed since a version, for the index; and the numbers of words.

A document belongs in the index when it was visited and has text, does not say `noindex`, and does not name another
page of this web as canonical in its place (one that belongs there by itself). So a change of one page can change the
standing of those that name it: they are told together with it.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain, count
from typing import TYPE_CHECKING

from gossamer.model import Kind
from gossamer.store.following import AnchorTexts, Changes, Place, Standing
from gossamer.store.sqlite.admission import as_json

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from gossamer.store.sqlite.database import Database, Transaction

_CHANGED = "SELECT version, id FROM resources WHERE version = ?1 AND id > ?2 ORDER BY id LIMIT ?3"
_CHANGED_LATER = "SELECT version, id FROM resources WHERE version > ?1 ORDER BY version, id LIMIT ?2"
_FORGOTTEN = "SELECT version, resource FROM forgotten WHERE version = ?1 AND resource > ?2 ORDER BY resource LIMIT ?3"
_FORGOTTEN_LATER = "SELECT version, resource FROM forgotten WHERE version > ?1 ORDER BY version, resource LIMIT ?2"
# Those that name one of these as canonical, and those that name one of those: whether a page stands in for others
# depends on whether another stands in for it.
_SAME = f"kind IN ({Kind.REDIRECT}, {Kind.CANONICAL})"  # word by word as in the schema: so its index is used
_NAMING = f"""
    SELECT source FROM links
    WHERE {_SAME} AND kind = {Kind.CANONICAL} AND target IN (SELECT value FROM json_each(?))"""  # noqa: S608


def _fit(name: str) -> str:
    """SQL: has this resource something to find, and may it be found."""
    return f"""({name}.role = 'page' AND {name}.noindex = 0
        AND EXISTS (SELECT 1 FROM texts WHERE resource = {name}.id))"""  # noqa: S608


def _canonical(page: str, link: str, other: str) -> str:
    """SQL: the other pages that a page names as canonical and that could stand in for it."""
    return f"""SELECT 1 FROM links AS {link} JOIN resources AS {other} ON {other}.id = {link}.target
        WHERE {page}.canonical NOT IN ('', {page}.url) AND {link}.source = {page}.id AND {link}.kind = {Kind.CANONICAL}
            AND {other}.id <> {page}.id AND {_fit(other)}"""  # noqa: S608


_STANDINGS = f"""
    SELECT r.id, r.url, h.name, r.language, r.media_type, r.last_modified,
        coalesce((SELECT max(found_at) FROM history WHERE resource = r.id AND event <> 'gone'),
                 (SELECT min(visited_at) FROM visits WHERE resource = r.id), 0.0),
        r.text_digest,
        CASE WHEN {_fit("r")} AND NOT EXISTS ({_canonical("r", "l", "c")} AND NOT EXISTS ({_canonical("c", "m", "d")}))
            THEN (SELECT body FROM texts WHERE resource = r.id) END
    FROM json_each(?) AS j CROSS JOIN resources AS r ON r.id = j.value JOIN hosts AS h ON h.id = r.host"""  # noqa: S608

_LINKED_BY = """
    SELECT DISTINCT target FROM links WHERE source IN (SELECT value FROM json_each(?))"""
_LED_TO = f"""
    SELECT l.target FROM json_each(?1) AS j CROSS JOIN resources AS r ON r.id = j.value
    JOIN links AS l ON l.source = r.id
    WHERE r.outcome = 'redirected' AND l.kind = {Kind.REDIRECT} AND l.seq = 0
    UNION
    SELECT l.target FROM json_each(?1) AS j CROSS JOIN resources AS r ON r.id = j.value
    JOIN links AS l ON l.source = r.id
    WHERE r.canonical NOT IN ('', r.url) AND l.kind = {Kind.CANONICAL}"""  # noqa: S608
_RELINKED = "SELECT target FROM relinked WHERE version > ? AND target > ? ORDER BY target LIMIT ?"
_LEADING = f"SELECT source FROM links WHERE target = ? AND {_SAME} AND source <> target LIMIT ?"  # noqa: S608
_ANCHORS = f"""
    SELECT anchor FROM links WHERE target = ? AND kind = {Kind.HYPERLINK} AND follow = 1 AND anchor <> ''
        AND source <> ? LIMIT ?"""  # noqa: S608
_HAVE_TEXT = "SELECT resource FROM texts WHERE resource IN (SELECT value FROM json_each(?))"
WORDS_AT_ONCE = 10_000
MOST_LEADING = 20  # redirects and duplicates whose anchor texts count for where they lead

_WORDS = "SELECT term, word FROM words WHERE term IN (SELECT value FROM json_each(?))"
_NEW_WORD = "INSERT INTO words (term, word) VALUES (?, ?) ON CONFLICT DO UPDATE SET word = excluded.word WHERE word = 0"
_NEW_STOP = "INSERT INTO words (term, word) VALUES (?, 0) ON CONFLICT DO NOTHING"


# -- what changed ------------------------------------------------------------------------------------------------------


def changes(db: sqlite3.Connection, place: Place, limit: int) -> Changes:
    """The next stretch of changes; one look, for writers go on meanwhile."""
    db.execute("BEGIN")
    try:
        latest = int(db.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()[0])
        changed = _after(db, _CHANGED, _CHANGED_LATER, place, limit)
        forgotten = _after(db, _FORGOTTEN, _FORGOTTEN_LATER, place, limit)
        # Whichever was cut short says how far this stretch reaches.
        end = min((rows[-1] for rows in (changed, forgotten) if len(rows) == limit), default=(latest, 1 << 62))
        ids = {resource for version, resource in changed if (version, resource) <= end}
        naming = _named_by(db, ids)
        standings = _standings(db, ids | naming | _named_by(db, naming))
        gone = tuple(resource for version, resource in forgotten if (version, resource) <= end)
    finally:
        db.execute("COMMIT")
    complete = end[0] == latest and end[1] == 1 << 62
    return Changes(
        standings=standings,
        gone=gone,
        place=Place(version=end[0], resource=end[1]),
        version=latest if complete else max(end[0] - 1, 0),
        latest=latest,
    )


def _after(db: sqlite3.Connection, same: str, later: str, place: Place, limit: int) -> list[tuple[int, int]]:
    rows = db.execute(same, (place.version, place.resource, limit)).fetchall()
    return rows + db.execute(later, (place.version, limit - len(rows))).fetchall()


def _named_by(db: sqlite3.Connection, ids: Iterable[int]) -> set[int]:
    return {source for (source,) in db.execute(_NAMING, (as_json(ids),))}


def _standings(db: sqlite3.Connection, ids: Iterable[int]) -> tuple[Standing, ...]:
    names = Standing.__struct_fields__
    rows = db.execute(_STANDINGS, (as_json(sorted(ids)),))
    return tuple(Standing(**dict(zip(names, row, strict=True))) for row in rows)


# -- what others call it -----------------------------------------------------------------------------------------------


def relinked(database: Database, after: int, at_once: int) -> Iterator[list[int]]:
    """The resources whose anchor texts may be others since a version, streamed; some come more than once."""
    for same, later in ((_CHANGED, _CHANGED_LATER), (_FORGOTTEN, _FORGOTTEN_LATER)):
        place = Place(version=after, resource=1 << 62)
        while True:
            with database.reading() as db:
                rows = _after(db, same, later, place, at_once)
                ids = [resource for _, resource in rows]
                found = [*ids, *_targets_of(db, ids)]
            if not rows:
                break
            yield found
            place = Place(version=rows[-1][0], resource=rows[-1][1])
    last = 0
    while True:
        with database.reading() as db:
            changed = [target for (target,) in db.execute(_RELINKED, (after, last, at_once))]
            found = [*changed, *_led_to(db, changed)]
        if not changed:
            return
        yield found
        last = changed[-1]


def _targets_of(db: sqlite3.Connection, sources: Sequence[int]) -> list[int]:
    targets = {target for (target,) in db.execute(_LINKED_BY, (as_json(sources),))}
    return _with_text(db, targets | _led_to(db, targets))


def _led_to(db: sqlite3.Connection, resources: Iterable[int]) -> set[int]:
    return {target for (target,) in db.execute(_LED_TO, (as_json(resources),))}


def _with_text(db: sqlite3.Connection, resources: Iterable[int]) -> list[int]:
    return [resource for (resource,) in db.execute(_HAVE_TEXT, (as_json(resources),))]


def anchors(db: sqlite3.Connection, targets: Sequence[int], most_links: int, most_texts: int) -> list[AnchorTexts]:
    """What other pages call each of these, also by way of redirects and duplicates.

    At most so many links to one resource are looked at, those of the pages found first: that is enough to know how a
    home page with a hundred thousand links to it is called.
    """
    return [
        AnchorTexts(target=target, texts=tuple(_calls(db, target, most_links).most_common(most_texts)))
        for target in targets
    ]


def _calls(db: sqlite3.Connection, target: int, most: int) -> Counter[str]:
    calls = Counter(chain.from_iterable(db.execute(_ANCHORS, (target, target, most))))
    for (source,) in db.execute(_LEADING, (target, MOST_LEADING)).fetchall():
        calls.update(chain.from_iterable(db.execute(_ANCHORS, (source, target, most))))
    return calls


# -- words -------------------------------------------------------------------------------------------------------------


def known_words(db: sqlite3.Connection, terms: Sequence[str]) -> dict[str, int]:
    """The numbers of those terms that have one."""
    return dict(db.execute(_WORDS, (as_json(terms),)))


def every_word(database: Database) -> Iterator[tuple[str, int]]:
    """Every term and its number, in order, in short reads."""
    sql = "SELECT term, word FROM words WHERE term > ? ORDER BY term LIMIT ?"
    rows = [("", 0)]  # no term is empty
    while rows:
        with database.reading() as db:
            rows = db.execute(sql, (rows[-1][0], WORDS_AT_ONCE)).fetchall()
        yield from rows


def number_words(tx: Transaction, terms: Sequence[str], stops: Sequence[str]) -> dict[str, int]:
    """Give the next numbers to terms that have none; returns the numbers of all terms."""
    known = known_words(tx.db, terms)
    new = [term for term in dict.fromkeys(terms) if not known.get(term)]
    last = tx.db.execute("SELECT coalesce(max(word), 0) FROM words WHERE word <> 0").fetchone()[0]
    numbered = dict(zip(new, count(last + 1), strict=False))
    tx.db.executemany(_NEW_WORD, numbered.items())
    tx.db.executemany(_NEW_STOP, ((stop,) for stop in stops))
    return known | numbered
