"""Answers of a search on their way from the search process to the cache: hits and facets stay JSON.

Hits and facets are packed, because their values take 2.5 times the memory of their JSON.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec

from gossamer.web.search.answers import SearchAnswer

ENCODER = msgspec.json.Encoder()
PACKED_FIELDS = ("hits", "facets")

# The fields of `SearchAnswer` in the same order, so the same JSON, with hits and facets already as JSON.
PackedAnswer = msgspec.defstruct("PackedAnswer", SearchAnswer.__struct_fields__, frozen=True, gc=False)


class SearchReply(msgspec.Struct, frozen=True, array_like=True):
    """An answer as the search process sends it."""

    fields: dict[str, Any]  # of the answer; `PACKED_FIELDS` as JSON
    tag: str  # the ETag, which ignores `took_ms`


def search_reply(answer: SearchAnswer) -> SearchReply:
    """Pack an answer for the socket."""
    fields = msgspec.structs.asdict(answer)
    fields |= {name: ENCODER.encode(fields[name]) for name in PACKED_FIELDS}
    untimed = ENCODER.encode(msgspec.structs.replace(packed_answer(fields), took_ms=0))
    return SearchReply(fields, f'W/"{blake2b(untimed, digest_size=10).hexdigest()}"')


def packed_answer(fields: dict[str, Any]) -> msgspec.Struct:
    """Return the answer of a reply for the cache."""
    return PackedAnswer(**{**fields, **{name: msgspec.Raw(fields[name]) for name in PACKED_FIELDS}})
