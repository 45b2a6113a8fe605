"""Visits compared with what is known of their resources: the same as before, changed, or not to be believed yet."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import zstandard

from gossamer.model import Outcome
from gossamer.revisit.sameness import is_same_content
from gossamer.store.content import decode_text
from gossamer.store.work.revisit_rows import Standing, standing_after

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gossamer.model import Page, Visit
    from gossamer.store.rows import BondRow as Row
    from gossamer.store.work.visit_rows import Finished

EVENTS = {
    Outcome.FETCHED: "changed", Outcome.NOT_FOUND: "gone", Outcome.REDIRECTED: "moved", Outcome.TYPE: "refused",
}  # fmt: skip
APPEARED = "appeared"  # it answers with a page, and did not before
COMPARED = ("title", "description", "language", "canonical", "noindex", "nofollow", "media_type")


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


class Entry(NamedTuple):
    """A line of history to be."""

    past: Past
    visit: Visit
    difference: Difference


class Weighed(NamedTuple):
    """A batch of visits, compared with what is stored."""

    finished: list[Finished]  # those that replace nothing are marked
    changes: list[Entry]
    standings: dict[int, Standing]


def revisited(finished: Iterable[Finished]) -> dict[int, Finished]:
    """The visits that would replace what is stored, by resource: those to compare."""
    return {item.row.id: item for item in finished if item.row.visits and item.replaces}


def texts_to_compare(again: Mapping[int, Finished], past: Mapping[int, Past]) -> list[int]:
    """The resources whose texts must be compared word by word: their digests say that they are not the same."""
    return [
        resource
        for resource, item in again.items()
        if item.visit.page is not None and past[resource].text_digest not in {b"", item.visit.page.text_digest}
    ]


def bonds_of(item: Finished, ids: Mapping[bytes, int], *, keep_links: bool) -> Iterator[Row]:
    """The bonds that would be stored of a visit."""
    links = item.links
    if not keep_links and item.visit.redirect is None:
        return
    targets = map(ids.__getitem__, links.digests)
    yield from zip(
        targets, links.kinds, map(int, links.follows), links.weights, links.positions, links.rels, links.anchors,
        strict=True,
    )  # fmt: skip


def difference(past: Past, page: Page | None, text: bytes | None, old: list[Row], new: list[Row]) -> Difference:
    """How a visit differs: `page` is what it brought, `text` the text of before, where it has to be compared."""
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
    return text is not None and is_same_content(decode_text(text), decode_text(page.text))


def weigh(finished: Sequence[Finished], past: Mapping[int, Past], found: Mapping[int, Difference]) -> Weighed:
    """What each visit means, by the differences found."""
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


def history_row(entry: Entry) -> tuple[int, float, float, str, int, int, str, str, bytes]:
    """A line of history, as it is stored."""
    past, visit, (parts, lost, gained) = entry
    event = EVENTS[visit.outcome]
    if event == "changed" and not past.has_content:
        event = APPEARED
    links = zstandard.compress(msgspec.msgpack.encode((lost, gained))) if lost or gained else b""
    return (
        past.id, visit.visited_at, past.visited_at or visit.visited_at, event, past.status, past.size, past.title,
        " ".join(parts), links,
    )  # fmt: skip
