"""The fields of the indexes on OpenSearch, and documents in them.

OpenSearch splits our terms at spaces. The first value of `body` is the title, so `body` alone gives the documents and
the frequency of a word. Each value is a run, and a gap between values keeps phrases from matching across them. The
indexes keep no source, because the store has the texts and a rebuild reads them there. Word sequences are stored
fields, which we compress.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import zstandard

from gossamer.index.protocol import WordSequence
from gossamer.index.url_parts import host_number, path_prefixes, path_segments, site_names
from gossamer.urls.canonical import hostname

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from gossamer.index.protocol import AnchorDocument, Document

FORMAT = 2  # raise it when fields or the analysis change; the next writer rebuilds an index of another format
FIRST_WORDS_BYTES = 4 * 4_096  # of `words`; the words after the first 4,096 seldom change the order of hits
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
    "more": _BYTES,  # uint32, zstd: WordIDs of the other words
    "runs": _BYTES,  # uint32, zstd: number of words * 16 + field
    "signature": _BYTES,
    "aside": {"type": "keyword"},  # why the index could not take the document; then it has only
    "aside_id": {"type": "long"},  # ... this further field, its DocID
}
ANCHOR_FIELDS: dict[str, Any] = {
    "id": {"type": "long"},
    "text": _TEXT_WITH_POSITIONS,
    "words": _BYTES,  # uint32, zstd: codes of terms
}
FORM_FIELDS: dict[str, Any] = {
    "form": {"type": "keyword"},
    "term": {"type": "keyword", "doc_values": False},
    "length": {"type": "integer"},
    "documents": {"type": "long"},
}
KINDS = {"pages": PAGE_FIELDS, "anchors": ANCHOR_FIELDS, "forms": FORM_FIELDS}
MATCH_COLUMNS = ("twin", "host", "changed", "steps")  # columns of every match


def index_body(kind: str, *, shards: int, replicas: int) -> dict[str, Any]:
    """Return the settings and fields of one index."""
    return {
        "settings": {
            "number_of_shards": shards if kind == "pages" else 1,
            "number_of_replicas": replicas,
            "refresh_interval": -1,  # only a commit makes writes visible
            "gc_deletes": "10m",  # how long OpenSearch recognizes a late write of a removed document
            "analysis": {
                "tokenizer": {"blanks": {"type": "whitespace", "max_token_length": 8_192}},
                "analyzer": {"terms": {"type": "custom", "tokenizer": "blanks"}},
            },
        },
        "mappings": {
            "dynamic": "strict",
            "_meta": {"format": FORMAT},
            "_source": {"enabled": kind == "forms"},  # the writer reads its counts
            "properties": KINDS[kind],
        },
    }


def page_document(document: Document) -> bytes:
    """Return a document for the index of pages."""
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
    """Return the document that replaces one that the index could not take."""
    readable_reason = reason.encode("utf-8", "replace").decode()[:LONGEST_REASON]
    return msgspec.json.encode({"aside": readable_reason, "aside_id": doc})


def anchor_document(anchors: AnchorDocument) -> bytes:
    """Return a document for the index of anchor texts."""
    return msgspec.json.encode({"id": anchors.target, "text": anchors.texts, "words": _compress(anchors.words)})


def to_signed(twin: int) -> int:
    """Return 64 bits as a signed number, because OpenSearch has only signed columns."""
    return twin - UINT64_RANGE if twin >= UINT64_RANGE >> 1 else twin


def _compress(data: bytes) -> bytes:
    return zstandard.compress(data, 1)


def word_sequence(fields: Mapping[str, Sequence[Any]]) -> WordSequence:
    """Return the words of a document in order, from the stored fields of a hit."""
    words, more, runs = (stored_numbers(fields, name) for name in ("words", "more", "runs"))
    return WordSequence(fields.get("language", ("",))[0], words.tobytes() + more.tobytes(), runs.tobytes())


def stored_numbers(fields: Mapping[str, Sequence[Any]], name: str) -> NDArray[np.uint32]:
    """Return the numbers of a compressed field, from the stored fields of a hit."""
    compressed = (msgspec.convert(one, bytes) for one in fields.get(name, ()))
    return np.frombuffer(b"".join(map(zstandard.decompress, compressed)), "<u4")
