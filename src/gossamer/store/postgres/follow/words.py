"""The lexicon, written: new terms get the next numbers."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from gossamer.store.postgres.follow.changes import known_word_ids

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.store.postgres.database import Transaction

NEW_WORDS = """
    INSERT INTO words (term, word) SELECT * FROM unnest(%s::text[], %s::bigint[])
    ON CONFLICT (term) DO UPDATE SET word = excluded.word WHERE words.word = 0"""
NEW_STOPS = "INSERT INTO words (term, word) SELECT term, 0 FROM unnest(%s::text[]) AS t (term) ON CONFLICT DO NOTHING"


def assign_word_ids(tx: Transaction, terms: Sequence[str], stops: Sequence[str]) -> dict[str, int]:
    """Give the next numbers to terms that have none; returns the numbers of all terms."""
    tx.db.execute("LOCK TABLE words IN SHARE ROW EXCLUSIVE MODE")  # so that no number is given twice
    known = known_word_ids(tx.db, terms)
    new = [term for term in dict.fromkeys(terms) if not known.get(term)]
    row = tx.db.execute("SELECT coalesce(max(word), 0) FROM words WHERE word <> 0").fetchone()
    assert row is not None
    new_ids = dict(zip(new, count(row[0] + 1), strict=False))
    tx.db.execute(NEW_WORDS, (list(new_ids), list(new_ids.values())))
    tx.db.execute(NEW_STOPS, (list(dict.fromkeys(stops)),))
    return known | new_ids
