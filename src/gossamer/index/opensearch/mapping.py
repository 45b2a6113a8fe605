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
from gossamer.index.url_parts import host_number, hostname, path_of, paths, sites

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from gossamer.index.protocol import Anchors, Document

FORMAT = 2  # counted up when fields or the analysis change: an index of another format is made anew
FIRST = 4 * 4_096  # bytes of `words`; what is behind the first 4,096 words seldom matters to the order of hits
LONGEST_REASON = 1_000  # characters
SIGN = 1 << 64

_TEXT = {"type": "text", "analyzer": "terms"}
_WORDS = {**_TEXT, "position_increment_gap": 1}
_COUNTED = {**_TEXT, "index_options": "freqs"}
_EXACT = {"type": "keyword", "doc_values": False}
_COLUMN = {"index": False, "doc_values": True}
_BYTES = {"type": "binary", "store": True}

PAGES: dict[str, Any] = {
    "id": {"type": "long"},
    "title": _WORDS,
    "body": _WORDS,
    "headings": _COUNTED,
    "url": _COUNTED,
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
ANCHORS: dict[str, Any] = {"id": {"type": "long"}, "text": _WORDS, "words": _BYTES}  # uint32, zstd: codes of terms
FORMS: dict[str, Any] = {
    "form": {"type": "keyword"},
    "term": {"type": "keyword", "doc_values": False},
    "length": {"type": "integer"},
    "documents": {"type": "long"},
}
KINDS = {"pages": PAGES, "anchors": ANCHORS, "forms": FORMS}
COLUMNS = ("twin", "host", "changed", "steps")  # that come with every match


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


def page(document: Document) -> bytes:
    """A document for the index of pages."""
    segments, query = path_of(document.url)
    made = {
        "id": document.id,
        "title": document.title,
        "body": [document.title, *document.body] if document.title else document.body,
        "headings": " ".join(document.headings),
        "url": document.url_words,
        "host_words": " ".join(hostname(document.host).split(".")),
        "site": sites(document.host),
        "path": paths(segments),
        "media_type": document.media_type,
        "changed": document.changed_at,
        "twin": signed(document.twin),
        "host": host_number(document.host),
        "steps": len(segments) + query,
        "length": len(document.words) // 4,
        "words": _packed(document.words[:FIRST]),
        "runs": _packed(document.runs),
        "signature": document.signature,
    }
    if document.language:
        made["language"] = document.language
    if len(document.words) > FIRST:
        made["more"] = _packed(document.words[FIRST:])
    return msgspec.json.encode(made)


def aside(doc: int, reason: str) -> bytes:
    """What stands in the place of a document that could not be taken."""
    told = reason.encode("utf-8", "replace").decode()[:LONGEST_REASON]
    return msgspec.json.encode({"aside": told, "aside_id": doc})


def anchors(anchors_: Anchors) -> bytes:
    """A document for the index of anchor texts."""
    return msgspec.json.encode({"id": anchors_.target, "text": anchors_.texts, "words": _packed(anchors_.words)})


def signed(twin: int) -> int:
    """64 bits as a signed number, as OpenSearch's columns are."""
    return twin - SIGN if twin >= SIGN >> 1 else twin


def _packed(data: bytes) -> bytes:
    return zstandard.compress(data, 1)


def sequence(fields: Mapping[str, Sequence[Any]]) -> WordSequence:
    """The words of a document in order, from the stored fields of a hit."""
    words, more, runs = (numbers(fields, name) for name in ("words", "more", "runs"))
    return WordSequence(fields.get("language", ("",))[0], np.concatenate((words, more)), runs)


def numbers(fields: Mapping[str, Sequence[Any]], name: str) -> NDArray[np.uint32]:
    """Numbers that were stored as `_packed` bytes, from the stored fields of a hit."""
    packed = (msgspec.convert(one, bytes) for one in fields.get(name, ()))
    return np.frombuffer(b"".join(map(zstandard.decompress, packed)), "<u4")
