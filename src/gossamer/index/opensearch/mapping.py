"""A document as OpenSearch takes it.

Our terms are its tokens, split at blanks. `body` holds the title as its first value, so that it alone says which
documents a word stands in and how often; values are runs, and between them is a gap that no phrase reaches across. The
source is not kept, for the store has the texts and nothing is ever reindexed from here. Words in order are stored as
they are, compressed by us, and come back with a search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import zstandard

from gossamer.index.protocol import WordSequence
from gossamer.index.url_parts import host_number, hostname, path_prefixes, path_segments, site_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from gossamer.index.protocol import AnchorDocument, Document

FORMAT = 2  # counted up when fields or the analysis change: an index of another format is made anew
FIRST_WORDS_BYTES = (
    4 * 4_096
)  # bytes of `words`; what is behind the first 4,096 words seldom matters to the order of hits
LONGEST_REASON = 1_000  # characters
UINT64_RANGE = 1 << 64

_TEXT = {"type": "text", "analyzer": "terms"}
_TEXT_WITH_POSITIONS = {**_TEXT, "position_increment_gap": 1}
_TEXT_WITH_FREQUENCIES = {**_TEXT, "index_options": "freqs"}
_EXACT = {"type": "keyword", "doc_values": False}
_COLUMN = {"index": False, "doc_values": True}
_BYTES = {"type": "binary", "store": True}

PAGE_FIELDS: dict[str, Any] = {
    "id": {"type": "long"},
    "title": _TEXT_WITH_POSITIONS,
    "body": _TEXT_WITH_POSITIONS,
    "headings": _TEXT_WITH_FREQUENCIES,
    "url": _TEXT_WITH_FREQUENCIES,
    "host_words": {**_TEXT, "index_options": "docs", "norms": False},
    "site": _EXACT,
    "path": _EXACT,
    "media_type": _EXACT,
    "language": {"type": "keyword"},
    "changed": {"type": "double"},
    "twin": {"type": "long"},
    "host": {"type": "long", **_COLUMN},
    "steps": {"type": "integer", **_COLUMN},
    "length": {"type": "integer", **_COLUMN},
    "words": _BYTES,  # uint32, zstd: WordIDs of the first words
    "more": _BYTES,  # ... of the others
    "runs": _BYTES,  # uint32, zstd: number of words * 16 + field
    "signature": _BYTES,
    "aside": {"type": "keyword"},  # why the document could not be taken; then it has no other field but
    "aside_id": {"type": "long"},  # ... its DocID
}
ANCHOR_FIELDS: dict[str, Any] = {
    "id": {"type": "long"},
    "text": _TEXT_WITH_POSITIONS,
    "words": _BYTES,
}  # uint32, zstd: codes of terms
FORM_FIELDS: dict[str, Any] = {
    "form": {"type": "keyword"},
    "term": {"type": "keyword", "doc_values": False},
    "length": {"type": "integer"},
    "documents": {"type": "long"},
}
KINDS = {"pages": PAGE_FIELDS, "anchors": ANCHOR_FIELDS, "forms": FORM_FIELDS}
MATCH_COLUMNS = ("twin", "host", "changed", "steps")  # that come with every match


def index_body(kind: str, *, shards: int, replicas: int) -> dict[str, Any]:
    """The settings and fields of one index."""
    return {
        "settings": {
            "number_of_shards": shards if kind == "pages" else 1,
            "number_of_replicas": replicas,
            "refresh_interval": -1,  # what is written is seen from a commit on
            "gc_deletes": "10m",  # so long a late write of what was removed is known to be late
            "analysis": {
                "tokenizer": {"blanks": {"type": "whitespace", "max_token_length": 8_192}},
                "analyzer": {"terms": {"type": "custom", "tokenizer": "blanks"}},
            },
        },
        "mappings": {
            "dynamic": "strict",
            "_meta": {"format": FORMAT},
            "_source": {"enabled": kind == "forms"},  # its counts are read and added to
            "properties": KINDS[kind],
        },
    }


def page_document(document: Document) -> bytes:
    """A document for the index of pages."""
    segments, has_query = path_segments(document.url)
    fields = {
        "id": document.id,
        "title": document.title,
        "body": [document.title, *document.body] if document.title else document.body,
        "headings": " ".join(document.headings),
        "url": document.url_words,
        "host_words": " ".join(hostname(document.host).split(".")),
        "site": site_names(document.host),
        "path": path_prefixes(segments),
        "media_type": document.media_type,
        "changed": document.changed_at,
        "twin": to_signed(document.twin),
        "host": host_number(document.host),
        "steps": len(segments) + has_query,
        "length": len(document.words) // 4,
        "words": _compress(document.words[:FIRST_WORDS_BYTES]),
        "runs": _compress(document.runs),
        "signature": document.signature,
    }
    if document.language:
        fields["language"] = document.language
    if len(document.words) > FIRST_WORDS_BYTES:
        fields["more"] = _compress(document.words[FIRST_WORDS_BYTES:])
    return msgspec.json.encode(fields)


def set_aside_document(doc: int, reason: str) -> bytes:
    """What stands in the place of a document that could not be taken."""
    readable_reason = reason.encode("utf-8", "replace").decode()[:LONGEST_REASON]
    return msgspec.json.encode({"aside": readable_reason, "aside_id": doc})


def anchor_document(anchors: AnchorDocument) -> bytes:
    """A document for the index of anchor texts."""
    return msgspec.json.encode({"id": anchors.target, "text": anchors.texts, "words": _compress(anchors.words)})


def to_signed(twin: int) -> int:
    """64 bits as a signed number, as OpenSearch's columns are."""
    return twin - UINT64_RANGE if twin >= UINT64_RANGE >> 1 else twin


def _compress(data: bytes) -> bytes:
    return zstandard.compress(data, 1)


def word_sequence(fields: Mapping[str, Sequence[Any]]) -> WordSequence:
    """The words of a document in order, from the stored fields of a hit."""
    words, more, runs = (stored_numbers(fields, name) for name in ("words", "more", "runs"))
    return WordSequence(fields.get("language", ("",))[0], np.concatenate((words, more)), runs)


def stored_numbers(fields: Mapping[str, Sequence[Any]], name: str) -> NDArray[np.uint32]:
    """Numbers that were stored as `_packed` bytes, from the stored fields of a hit."""
    compressed = (msgspec.convert(one, bytes) for one in fields.get(name, ()))
    return np.frombuffer(b"".join(map(zstandard.decompress, compressed)), "<u4")
