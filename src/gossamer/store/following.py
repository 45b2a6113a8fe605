"""What the store tells those who follow it: which documents changed, what others call them, which number a word has."""

from __future__ import annotations

from gossamer.model import Value


class Place(Value, frozen=True, kw_only=True):
    """How far one has read in the changes: by version, and within a version by DocID."""

    version: int = 0
    resource: int = 0


class Standing(Value, frozen=True, kw_only=True):
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

    standings: tuple[Standing, ...]
    gone: tuple[int, ...]  # forgotten altogether
    place: Place  # to go on from
    version: int  # everything up to this store version has been told
    latest: int  # the store's version when this was read; equal to `version`: that was all


class AnchorTexts(Value, frozen=True, kw_only=True):
    """What other pages call a resource: their anchor texts, each with the number of pages that use it."""

    target: int
    texts: tuple[tuple[str, int], ...]  # most used first
