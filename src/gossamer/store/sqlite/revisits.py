"""What visits mean for what is known already: the same as before, changed, or not to be believed yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gossamer.model import Outcome
from gossamer.store.sqlite.history import Entry, differences, past_of
from gossamer.store.sqlite.schedule import Standing, standing_after

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping, Sequence

    from gossamer.store.sqlite.history import Difference, Past, Row
    from gossamer.store.sqlite.submit import Finished


class Weighed(NamedTuple):
    """A batch of visits, compared with what is stored."""

    finished: list[Finished]  # those that replace nothing are marked
    changes: list[Entry]
    standings: dict[int, Standing]


def weigh(
    db: sqlite3.Connection, finished: Sequence[Finished], ids: Mapping[bytes, int], *, keep_links: bool
) -> Weighed:
    """Compare visits with what is stored of their resources."""
    past = past_of(db, (item.row.id for item in finished))
    again = {item.row.id: item for item in finished if item.row.visits and item.replaces}
    visits = {resource: item.visit for resource, item in again.items()}
    bonds = {resource: list(_bonds(item, ids, keep_links=keep_links)) for resource, item in again.items()}
    found = differences(db, visits, past, bonds) if again else {}
    weighed = Weighed([], [], {})
    for item in finished:
        _weigh(item, past[item.row.id], found.get(item.row.id), weighed)
    return weighed


def _weigh(item: Finished, past: Past, difference: Difference | None, weighed: Weighed) -> None:
    visit = item.visit
    # The first "not found" of a page may be an accident: it is asked for again before it goes.
    doubtful = visit.outcome is Outcome.NOT_FOUND and past.has_content and past.outcome != Outcome.NOT_FOUND
    changed = difference is not None and bool(difference.parts) and not doubtful
    if changed and difference is not None:
        weighed.changes.append(Entry(past, visit, difference))
    kept = difference is not None and not changed
    weighed.finished.append(item._replace(kept=True) if kept else item)
    weighed.standings[past.id] = standing_after(past, visit, role=item.row.role, changed=changed, doubtful=doubtful)


def _bonds(item: Finished, ids: Mapping[bytes, int], *, keep_links: bool) -> Iterator[Row]:
    """The bonds that would be stored of a visit."""
    links = item.links
    if not keep_links and item.visit.redirect is None:
        return
    targets = map(ids.__getitem__, links.digests)
    yield from zip(
        targets, links.kinds, map(int, links.follows), links.weights, links.positions, links.rels, links.anchors,
        strict=True,
    )  # fmt: skip
