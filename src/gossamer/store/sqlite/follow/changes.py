"""Following: what changed since a version, for the index; and the numbers of words."""

from __future__ import annotations

from collections import Counter
from heapq import nsmallest
from itertools import chain, count
from typing import TYPE_CHECKING

from gossamer.model import Kind
from gossamer.store import rows
from gossamer.store.follow.changes import (
    BEHIND_ALL,
    MOST_LEADING,
    STANDING,
    AnchorTexts,
    Changes,
    Place,
    Standing,
    reach,
    told,
)
from gossamer.store.sqlite.work.admission import as_json

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence

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
_STANDINGS = f"""
    SELECT {STANDING}
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
# All of them, as they lie in the file: the plus keeps SQLite from looking each up by its target.
_EVERY_ANCHOR = f"""
    SELECT target, anchor FROM links WHERE +target BETWEEN ? AND ? AND kind = {Kind.HYPERLINK} AND follow = 1
        AND anchor <> '' AND source <> target"""  # noqa: S608
_LED = f"SELECT target FROM links WHERE target BETWEEN ? AND ? AND {_SAME}"  # noqa: S608
_HAVE_TEXT = "SELECT resource FROM texts WHERE resource IN (SELECT value FROM json_each(?))"
WORDS_AT_ONCE = 10_000
MANY = 4  # who asks for the anchor texts of one document in so many gets them quicker when all links are read
MOST_CALLS = 500_000  # targets with a text each that are counted at a time, 150 bytes each

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
        end = reach(latest, limit, changed, forgotten)
        ids = {resource for version, resource in changed if (version, resource) <= end}
        naming = _named_by(db, ids)
        standings = _standings(db, ids | naming | _named_by(db, naming))
        gone = (resource for version, resource in forgotten if (version, resource) <= end)
    finally:
        db.execute("COMMIT")
    return told(end, latest, standings, gone)


def _after(db: sqlite3.Connection, same: str, later: str, place: Place, limit: int) -> list[tuple[int, int]]:
    found = db.execute(same, (place.version, place.resource, limit)).fetchall()
    return found + db.execute(later, (place.version, limit - len(found))).fetchall()


def _named_by(db: sqlite3.Connection, ids: Iterable[int]) -> set[int]:
    return {source for (source,) in db.execute(_NAMING, (as_json(ids),))}


def _standings(db: sqlite3.Connection, ids: Iterable[int]) -> tuple[Standing, ...]:
    return tuple(rows.struct(Standing, row) for row in db.execute(_STANDINGS, (as_json(sorted(ids)),)))


# -- what others call it -----------------------------------------------------------------------------------------------


def relinked(database: Database, after: int, at_once: int) -> Iterator[list[int]]:
    """The resources whose anchor texts may be others since a version, streamed; some come more than once."""
    for same, later in ((_CHANGED, _CHANGED_LATER), (_FORGOTTEN, _FORGOTTEN_LATER)):
        place = Place(version=after, resource=BEHIND_ALL)
        while True:
            with database.reading() as db:
                changed = _after(db, same, later, place, at_once)
                ids = [resource for _, resource in changed]
                # From the beginning on, those they link to come by themselves: what has text was visited.
                found = [*ids, *_targets_of(db, ids)] if after else ids
            if not changed:
                break
            yield found
            place = Place(version=changed[-1][0], resource=changed[-1][1])
    last = 0
    while True:
        with database.reading() as db:
            targets = [target for (target,) in db.execute(_RELINKED, (after, last, at_once))]
            found = [*targets, *_led_to(db, targets)]
        if not targets:
            return
        yield found
        last = targets[-1]


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
    page is called that a million others link to.
    """
    known = _every_call(db, targets, most_links)
    calls = ((target, known[target] if target in known else _calls(db, target, most_links)) for target in targets)
    return [AnchorTexts(target=target, texts=most_used(found, most_texts)) for target, found in calls]


def most_used(calls: Mapping[str, int], most: int) -> tuple[tuple[str, int], ...]:
    """The texts used most, equal ones by the alphabet: which they are must not depend on the order of visits."""
    return tuple(nsmallest(most, calls.items(), key=lambda each: (-each[1], each[0])))


def _every_call(db: sqlite3.Connection, targets: Sequence[int], most: int) -> dict[int, dict[str, int]]:
    """The same for many targets at once, but for those that need a closer look; that takes half the time.

    Links lie in the order of their sources. To read all is quicker than to look for many of them.
    """
    (documents,) = db.execute("SELECT value FROM meta WHERE key = 'documents'").fetchone()
    if documents > len(targets) * MANY:
        return {}
    reach = min(targets, default=0), max(targets, default=0)
    calls: dict[int, dict[str, int]] = {target: {} for target in targets}
    number = 0
    for target, text in db.execute(_EVERY_ANCHOR, reach):
        if target in calls:
            found = calls[target]
            if text in found:
                found[text] += 1
            elif number < MOST_CALLS:
                found[text] = 1
                number += 1
            else:
                return {}
    for (target,) in db.execute(_LED, reach):
        calls.pop(target, None)
    return {target: found for target, found in calls.items() if sum(found.values()) < most}


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

    def read(place: rows.Row, most: int) -> list[rows.Row]:
        with database.reading() as db:
            return db.execute(sql, (*place, most)).fetchall()

    for piece in rows.in_pieces(read, ("",), WORDS_AT_ONCE):  # no term is empty
        yield from piece


def number_words(tx: Transaction, terms: Sequence[str], stops: Sequence[str]) -> dict[str, int]:
    """Give the next numbers to terms that have none; returns the numbers of all terms."""
    known = known_words(tx.db, terms)
    new = [term for term in dict.fromkeys(terms) if not known.get(term)]
    last = tx.db.execute("SELECT coalesce(max(word), 0) FROM words WHERE word <> 0").fetchone()[0]
    numbered = dict(zip(new, count(last + 1), strict=False))
    tx.db.executemany(_NEW_WORD, numbered.items())
    tx.db.executemany(_NEW_STOP, ((stop,) for stop in stops))
    return known | numbered
