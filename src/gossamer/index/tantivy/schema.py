"""A document as Tantivy takes it.

Everything is built against the schema here, for a value of the wrong type kills Tantivy's writer thread. The id is
signed, for Tantivy takes a Python number in `delete_documents_by_term` as signed, and finds nothing in an unsigned
field. Text is not stored: the store has it. `body` holds the title as its first value, so that it alone says which
documents a word stands in and how often; between values Tantivy leaves a gap in the positions, so that no phrase
reaches across.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tantivy

from gossamer.index.url_parts import host_number, hostname, path_of, paths, sites

if TYPE_CHECKING:
    from gossamer.index.protocol import Anchors, Document

WORDS = "whitespace"  # Tantivy's tokenizer that takes our terms as they are
RAW = "raw"
VERSION_ID = 0  # the id of the one document that holds the store version; DocIDs begin at 1


def pages_schema() -> tantivy.Schema:
    """The fields of a document."""
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("id", indexed=True, fast=True)
    builder.add_unsigned_field("version", fast=True)
    builder.add_text_field("title", tokenizer_name=WORDS, index_option="position")
    builder.add_text_field("body", tokenizer_name=WORDS, index_option="position")
    builder.add_text_field("headings", tokenizer_name=WORDS, index_option="freq")
    builder.add_text_field("url", tokenizer_name=WORDS, index_option="freq")
    for name in ("host_words", "site", "path", "language", "media_type"):
        builder.add_text_field(name, tokenizer_name=WORDS if name == "host_words" else RAW, index_option="basic")
    builder.add_float_field("changed", fast=True)
    builder.add_unsigned_field("twin", indexed=True, fast=True)
    for name in ("host", "length", "steps"):
        builder.add_unsigned_field(name, fast=True)
    return builder.build()


def anchors_schema() -> tantivy.Schema:
    """The fields of what others call a document."""
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("id", indexed=True, fast=True)
    builder.add_unsigned_field("version", fast=True)
    builder.add_text_field("text", tokenizer_name=WORDS, index_option="position")
    return builder.build()


def page(document: Document) -> tantivy.Document:
    """A document for the index of pages."""
    made = tantivy.Document()
    made.add_integer("id", document.id)
    if document.title:
        made.add_text("title", document.title)
        made.add_text("body", document.title)
    for run in document.body:
        made.add_text("body", run)
    if document.headings:
        made.add_text("headings", " ".join(document.headings))
    made.add_text("url", document.url_words)
    made.add_text("media_type", document.media_type)
    if document.language:
        made.add_text("language", document.language)
    _add_place(made, document)
    made.add_float("changed", document.changed_at)
    made.add_unsigned("twin", document.twin)
    made.add_unsigned("host", host_number(document.host))
    made.add_unsigned("length", len(document.words) // 4)
    return made


def _add_place(made: tantivy.Document, document: Document) -> None:
    for site in sites(document.host):
        made.add_text("site", site)
    made.add_text("host_words", " ".join(hostname(document.host).split(".")))
    segments, query = path_of(document.url)
    for path in paths(segments):
        made.add_text("path", path)
    made.add_unsigned("steps", len(segments) + query)


def anchors(anchors_: Anchors) -> tantivy.Document:
    """A document for the index of anchor texts."""
    made = tantivy.Document()
    made.add_integer("id", anchors_.target)
    for text in anchors_.texts:
        made.add_text("text", text)
    return made


def version(number: int) -> tantivy.Document:
    """The document that says which store version an index holds: replaced in the commit that it speaks of."""
    made = tantivy.Document()
    made.add_integer("id", VERSION_ID)
    made.add_unsigned("version", number)
    return made
