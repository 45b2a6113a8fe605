"""Compare visits with stored resources: unchanged, changed, or doubtful."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import zstandard

from gossamer.model import Outcome
from gossamer.revisit.sameness import is_same_content
from gossamer.store.content import decode_text
from gossamer.store.work.revisit_rows import RevisitState, revisit_state_after

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gossamer.model import Page, Visit
    from gossamer.store.rows import BondRow
    from gossamer.store.work.visit_rows import FinishedVisit

EVENTS = {
    Outcome.FETCHED: "changed", Outcome.NOT_FOUND: "gone", Outcome.REDIRECTED: "moved", Outcome.TYPE: "refused",
}  # fmt: skip
APPEARED = "appeared"  # the event when a page appears where none was stored
COMPARED_FIELDS = ("title", "description", "language", "canonical", "noindex", "nofollow", "media_type")


class StoredResource(NamedTuple):
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
        """Whether the store has a page of it."""
        return bool(self.content_digest)


class Difference(NamedTuple):
    """How a visit differs from the stored resource."""

    parts: tuple[str, ...]  # the parts that differ; empty: unchanged
    lost: list[BondRow]  # bonds
    gained: list[BondRow]


class HistoryEntry(NamedTuple):
    """A line of history to write."""

    stored: StoredResource
    visit: Visit
    difference: Difference


class ComparedBatch(NamedTuple):
    """A batch of visits, compared with the store."""

    finished: list[FinishedVisit]  # visits that change nothing are marked
    changes: list[HistoryEntry]
    revisit_states: dict[int, RevisitState]


def select_revisits(finished: Iterable[FinishedVisit]) -> dict[int, FinishedVisit]:
    """Return the visits that would replace stored content, by resource."""
    return {item.row.id: item for item in finished if item.row.visits and item.replaces}


def texts_to_compare(revisits: Mapping[int, FinishedVisit], stored: Mapping[int, StoredResource]) -> list[int]:
    """Return resources whose texts must be compared word by word because their digests differ."""
    return [
        resource
        for resource, item in revisits.items()
        if item.visit.page is not None and stored[resource].text_digest not in {b"", item.visit.page.text_digest}
    ]


def visit_bonds(item: FinishedVisit, ids: Mapping[bytes, int], *, keep_links: bool) -> Iterator[BondRow]:
    """Yield the bonds that a visit would store."""
    links = item.links
    if not keep_links and item.visit.redirect is None:
        return
    targets = map(ids.__getitem__, item.targets)
    yield from zip(
        targets, links.kinds, links.follows, links.weights, links.positions, links.rels, links.anchors,
        strict=True,
    )  # fmt: skip


def find_difference(
    stored: StoredResource,
    page: Page | None,
    old_text: bytes | None,
    old_bonds: list[BondRow],
    new_bonds: list[BondRow],
) -> Difference:
    """Return how a visit differs; `page` is its new page, `old_text` the stored text if it must be compared."""
    if (page is not None) != stored.has_content:
        parts = ["content"]
    elif page is not None:
        parts = [name for name in COMPARED_FIELDS if getattr(page, name) != getattr(stored, name)]
        if page.text_digest != stored.text_digest and not _same_text(old_text, page):
            parts.insert(0, "text")
    else:
        parts = []
    if old_bonds == new_bonds:
        return Difference(tuple(parts), [], [])
    before, now = Counter(old_bonds), Counter(new_bonds)
    return Difference((*parts, "links"), list((before - now).elements()), list((now - before).elements()))


def _same_text(text: bytes | None, page: Page) -> bool:
    return text is not None and is_same_content(decode_text(text), decode_text(page.text))


def assess_visits(
    finished: Sequence[FinishedVisit], stored: Mapping[int, StoredResource], differences: Mapping[int, Difference]
) -> ComparedBatch:
    """Decide what each visit means, by the differences."""
    compared = ComparedBatch([], [], {})
    for item in finished:
        _assess_visit(item, stored[item.row.id], differences.get(item.row.id), compared)
    return compared


def _assess_visit(
    item: FinishedVisit, stored: StoredResource, difference: Difference | None, compared: ComparedBatch
) -> None:
    visit = item.visit
    # The first "not found" of a page may be an accident, so the page stays until a second one.
    doubtful = visit.outcome is Outcome.NOT_FOUND and stored.has_content and stored.outcome != Outcome.NOT_FOUND
    changed = difference is not None and bool(difference.parts) and not doubtful
    if changed and difference is not None:
        compared.changes.append(HistoryEntry(stored, visit, difference))
    is_unchanged = difference is not None and not changed
    compared.finished.append(item._replace(is_unchanged=True) if is_unchanged else item)
    compared.revisit_states[stored.id] = revisit_state_after(
        stored, visit, role=item.row.role, changed=changed, doubtful=doubtful
    )


def history_row(entry: HistoryEntry) -> tuple[int, float, float, str, int, int, str, str, bytes]:
    """Return a line of history as it is stored."""
    stored, visit, (parts, lost, gained) = entry
    event = EVENTS[visit.outcome]
    if event == "changed" and not stored.has_content:
        event = APPEARED
    links = zstandard.compress(msgspec.msgpack.encode((lost, gained))) if lost or gained else b""
    return (
        stored.id, visit.visited_at, stored.visited_at or visit.visited_at, event, stored.status, stored.size,
        stored.title, " ".join(parts), links,
    )  # fmt: skip
