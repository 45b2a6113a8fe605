"""Changed documents and anchor texts for the index, and SQL that both back-ends share."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from gossamer.model import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class ChangeCursor(Value, frozen=True, kw_only=True):
    """A position in the changes: a version, and within it a DocID."""

    version: int = 0
    resource: int = 0


class IndexableResource(Value, frozen=True, kw_only=True):
    """A resource as the index must see it."""

    id: int  # DocID
    url: str
    host: str
    language: str  # as declared
    media_type: str
    last_modified: str  # as the server wrote it
    seen_at: float  # when a visit first saw the current content
    text_digest: bytes
    text: bytes | None  # as a parser packed it (`decode_text`); None: it does not belong in the index


class Changes(Value, frozen=True, kw_only=True):
    """The next changes. A resource may come more than once."""

    resources: tuple[IndexableResource, ...]
    gone: tuple[int, ...]  # forgotten altogether
    cursor: ChangeCursor  # where the next call starts
    version: int  # the changes up to this store version are complete
    latest: int  # the store's version at the time of reading; equal to `version`: no changes are left


class AnchorTexts(Value, frozen=True, kw_only=True):
    """The link texts of other pages for a resource, each with the number of pages that use it."""

    target: int
    texts: tuple[tuple[str, int], ...]  # most used first


# -- for both back-ends ------------------------------------------------------------------------------------------------

END_OF_VERSION = 1 << 62  # greater than every DocID
MAX_BATCH_BYTES = 32 << 20  # of packed texts in one batch of changes; a larger one comes alone
MAX_ALIASES = 20  # redirects and duplicates whose anchor texts count for their target


def _indexable_sql(name: str) -> str:
    """Return an SQL condition: the resource has text and may be found."""
    return f"""({name}.role = 'page' AND {name}.noindex = 0
        AND EXISTS (SELECT 1 FROM texts WHERE resource = {name}.id))"""  # noqa: S608


def _canonical_sql(page: str, link: str, other: str) -> str:
    """Return SQL for the other pages that a page names as canonical and that could replace it."""
    return f"""SELECT 1 FROM links AS {link} JOIN resources AS {other} ON {other}.id = {link}.target
        WHERE {page}.canonical NOT IN ('', {page}.url) AND {link}.source = {page}.id AND {link}.kind = {Kind.CANONICAL}
            AND {other}.id <> {page}.id AND {_indexable_sql(other)}"""  # noqa: S608


# The columns of an `IndexableResource`, from resources r and hosts h, in SQL that both back-ends understand. A document
# belongs in the index when it was visited, has text, and does not say `noindex`. It must not name another indexable
# page of this web as canonical. So a change of one page can add or remove pages that name it; `changes` returns both.
INDEXABLE_COLUMNS = f"""r.id, r.url, h.name, r.language, r.media_type, r.last_modified,
    coalesce((SELECT max(found_at) FROM history WHERE resource = r.id AND event <> 'gone'),
             (SELECT min(visited_at) FROM visits WHERE resource = r.id), 0.0),
    r.text_digest,
    CASE WHEN {_indexable_sql("r")} AND NOT EXISTS ({_canonical_sql("r", "l", "c")}
            AND NOT EXISTS ({_canonical_sql("c", "m", "d")}))
        THEN (SELECT body FROM texts WHERE resource = r.id) END"""  # noqa: S608


def find_chunk_end(latest: int, limit: int, *streams: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the version and DocID where a chunk ends: at the first stream that the limit cut off."""
    return min((rows[-1] for rows in streams if len(rows) == limit), default=(latest, END_OF_VERSION))


def end_within_bytes(
    end: tuple[int, int], changed: Sequence[tuple[int, int]], sizes: Mapping[int, int]
) -> tuple[int, int]:
    """Return the end, or the last changed resource before it whose texts together are small enough for one batch."""
    total = 0
    for previous, current in pairwise((None, *changed)):
        assert current is not None
        total += sizes.get(current[1], 0)
        if total > MAX_BATCH_BYTES and previous is not None:
            return min(end, previous)
    return end


def build_changes(
    end: tuple[int, int], latest: int, resources: Iterable[IndexableResource], gone: Iterable[int]
) -> Changes:
    """Build the changes up to `end`."""
    return Changes(
        resources=tuple(resources),
        gone=tuple(gone),
        cursor=ChangeCursor(version=end[0], resource=end[1]),
        version=latest if end == (latest, END_OF_VERSION) else max(end[0] - 1, 0),
        latest=latest,
    )
