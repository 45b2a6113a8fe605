"""What the store tells those who follow it: which documents changed, what others call them, which number a word has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.model import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class ChangeCursor(Value, frozen=True, kw_only=True):
    """How far one has read in the changes: by version, and within a version by DocID."""

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
    seen_at: float  # when it was first seen as it is
    text_digest: bytes
    text: bytes | None  # as a parser packed it (`decode_text`); None: it does not belong in the index


class Changes(Value, frozen=True, kw_only=True):
    """The next stretch of what changed. A resource may come more than once."""

    resources: tuple[IndexableResource, ...]
    gone: tuple[int, ...]  # forgotten altogether
    cursor: ChangeCursor  # to go on from
    version: int  # everything up to this store version has been told
    latest: int  # the store's version when this was read; equal to `version`: that was all


class AnchorTexts(Value, frozen=True, kw_only=True):
    """What other pages call a resource: their anchor texts, each with the number of pages that use it."""

    target: int
    texts: tuple[tuple[str, int], ...]  # most used first


# -- what every back-end does alike ------------------------------------------------------------------------------------

END_OF_VERSION = 1 << 62  # greater than every DocID: the end of a version
MAX_ALIASES = 20  # redirects and duplicates whose anchor texts count for where they lead


def _indexable_sql(name: str) -> str:
    """SQL: has this resource something to find, and may it be found."""
    return f"""({name}.role = 'page' AND {name}.noindex = 0
        AND EXISTS (SELECT 1 FROM texts WHERE resource = {name}.id))"""  # noqa: S608


def _canonical_sql(page: str, link: str, other: str) -> str:
    """SQL: the other pages that a page names as canonical and that could stand in for it."""
    return f"""SELECT 1 FROM links AS {link} JOIN resources AS {other} ON {other}.id = {link}.target
        WHERE {page}.canonical NOT IN ('', {page}.url) AND {link}.source = {page}.id AND {link}.kind = {Kind.CANONICAL}
            AND {other}.id <> {page}.id AND {_indexable_sql(other)}"""  # noqa: S608


# The columns of a `Standing`, of resources r on hosts h, in the SQL that all back-ends speak. A document belongs in the
# index when it was visited and has text, does not say `noindex`, and does not name another page of this web as
# canonical in its place (one that belongs there by itself). So a change of one page can change the standing of those
# that name it: they are told together with it.
INDEXABLE_COLUMNS = f"""r.id, r.url, h.name, r.language, r.media_type, r.last_modified,
    coalesce((SELECT max(found_at) FROM history WHERE resource = r.id AND event <> 'gone'),
             (SELECT min(visited_at) FROM visits WHERE resource = r.id), 0.0),
    r.text_digest,
    CASE WHEN {_indexable_sql("r")} AND NOT EXISTS ({_canonical_sql("r", "l", "c")} AND NOT EXISTS ({_canonical_sql("c", "m", "d")}))
        THEN (SELECT body FROM texts WHERE resource = r.id) END"""  # noqa: S608


def find_chunk_end(latest: int, limit: int, *streams: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """How far a stretch reaches, as version and DocID: whichever of its streams was cut short says so."""
    return min((rows[-1] for rows in streams if len(rows) == limit), default=(latest, END_OF_VERSION))


def build_changes(
    end: tuple[int, int], latest: int, resources: Iterable[IndexableResource], gone: Iterable[int]
) -> Changes:
    """The stretch up to there."""
    return Changes(
        resources=tuple(resources),
        gone=tuple(gone),
        cursor=ChangeCursor(version=end[0], resource=end[1]),
        version=latest if end == (latest, END_OF_VERSION) else max(end[0] - 1, 0),
        latest=latest,
    )
