"""What hangs on a resource (links, text, source), taken away; and the backlinks that change with it."""

from __future__ import annotations

from collections import Counter
from itertools import compress
from typing import TYPE_CHECKING

from gossamer.model import EMBEDS, Kind
from gossamer.store.sqlite.admission import as_json

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from gossamer.store.sqlite.database import Transaction

NOT_KEPT = -1  # resources.outlinks of a page whose links were followed and counted, but not stored
BACKLINK_KINDS = frozenset(int(kind) for kind in Kind if kind not in EMBEDS)

OLD_BACKLINKS = """
    SELECT target, count(DISTINCT source) FROM links
    WHERE source IN (SELECT value FROM json_each(?)) AND kind IN (SELECT value FROM json_each(?)) AND source <> target
    GROUP BY target"""
LESS_LINKS = "DELETE FROM links WHERE source IN (SELECT value FROM json_each(?))"
LESS_TEXTS = "DELETE FROM texts WHERE resource IN (SELECT value FROM json_each(?))"
LESS_SOURCES = "DELETE FROM sources WHERE resource IN (SELECT value FROM json_each(?))"
BACKLINKS = "UPDATE resources SET backlinks = backlinks + ?1 WHERE id = ?2"
BACKLINKS_AND_PRIORITY = "UPDATE resources SET backlinks = backlinks + ?1, priority = priority + ?1 * ?3 WHERE id = ?2"


def targets_of(source: int, targets: Sequence[int], kinds: Sequence[int]) -> set[int]:
    """The other resources that a page leads to, each once."""
    found = set(compress(targets, map(BACKLINK_KINDS.__contains__, kinds)))
    found.discard(source)
    return found


def clear_contents(tx: Transaction, resources: Sequence[int]) -> Counter[int]:
    """Take away links, texts and sources; returns how the backlinks of others change, for `change_backlinks`."""
    backlinks: Counter[int] = Counter()
    if resources:
        listed = as_json(resources)
        backlinks.subtract(dict(tx.db.execute(OLD_BACKLINKS, (listed, as_json(BACKLINK_KINDS)))))
        tx.meta["links"] -= tx.db.execute(LESS_LINKS, (listed,)).rowcount
        tx.meta["documents"] -= tx.db.execute(LESS_TEXTS, (listed,)).rowcount
        tx.db.execute(LESS_SOURCES, (listed,))
    return backlinks


def change_backlinks(db: sqlite3.Connection, changes: Counter[int], gain: float = 0.0) -> None:
    """Add to backlinks; with a gain, to priorities as well: what many pages point at comes sooner."""
    rows = ((number, resource) for resource, number in changes.items() if number)
    if gain:
        db.executemany(BACKLINKS_AND_PRIORITY, ((*row, gain) for row in rows))
    else:
        db.executemany(BACKLINKS, rows)
