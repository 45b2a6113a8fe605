"""The fields of Tantivy, and a document in them.

Only this module builds Tantivy documents, because a value of the wrong type kills Tantivy's writer thread. The id is a
signed field: `delete_documents_by_term` treats a Python number as signed and finds nothing in an unsigned field.
Tantivy stores no text, because the store has it. The first value of `body` is the title, so `body` alone gives the
documents and the frequency of a word. Tantivy leaves a gap in the positions between values, so no phrase matches
across them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tantivy

from gossamer.index.url_parts import host_number, path_prefixes, path_segments, site_names
from gossamer.urls.canonical import hostname

if TYPE_CHECKING:
    from gossamer.index.protocol import AnchorDocument, Document

TERMS_TOKENIZER = "whitespace"  # Tantivy's tokenizer that keeps our terms
RAW_TOKENIZER = "raw"
VERSION_ID = 0  # the id of the one document that holds the store version; DocIDs begin at 1


def pages_schema() -> tantivy.Schema:
    """Return the fields of a page."""
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("id", indexed=True, fast=True)
    builder.add_unsigned_field("version", fast=True)
    builder.add_text_field("title", tokenizer_name=TERMS_TOKENIZER, index_option="position")
    builder.add_text_field("body", tokenizer_name=TERMS_TOKENIZER, index_option="position")
    builder.add_text_field("headings", tokenizer_name=TERMS_TOKENIZER, index_option="freq")
    builder.add_text_field("url", tokenizer_name=TERMS_TOKENIZER, index_option="freq")
    for name in ("host_words", "site", "path", "language", "media_type"):
        builder.add_text_field(
            name, tokenizer_name=TERMS_TOKENIZER if name == "host_words" else RAW_TOKENIZER, index_option="basic"
        )
    builder.add_float_field("changed", fast=True)
    builder.add_unsigned_field("twin", indexed=True, fast=True)
    for name in ("host", "length", "steps"):
        builder.add_unsigned_field(name, fast=True)
    return builder.build()


def anchors_schema() -> tantivy.Schema:
    """Return the fields of the anchor texts of a page."""
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("id", indexed=True, fast=True)
    builder.add_unsigned_field("version", fast=True)
    builder.add_text_field("text", tokenizer_name=TERMS_TOKENIZER, index_option="position")
    return builder.build()


def page_document(document: Document) -> tantivy.Document:
    """Return a document for the index of pages."""
    tantivy_document = tantivy.Document()
    tantivy_document.add_integer("id", document.id)
    if document.title:
        tantivy_document.add_text("title", document.title)
        tantivy_document.add_text("body", document.title)
    for run in document.body:
        tantivy_document.add_text("body", run)
    if document.headings:
        tantivy_document.add_text("headings", " ".join(document.headings))
    tantivy_document.add_text("url", document.url_words)
    tantivy_document.add_text("media_type", document.media_type)
    if document.language:
        tantivy_document.add_text("language", document.language)
    _add_url_parts(tantivy_document, document)
    tantivy_document.add_float("changed", document.changed_at)
    tantivy_document.add_unsigned("twin", document.twin)
    tantivy_document.add_unsigned("host", host_number(document.host))
    tantivy_document.add_unsigned("length", len(document.words) // 4)
    return tantivy_document


def _add_url_parts(tantivy_document: tantivy.Document, document: Document) -> None:
    for site in site_names(document.host):
        tantivy_document.add_text("site", site)
    tantivy_document.add_text("host_words", " ".join(hostname(document.host).split(".")))
    segments, has_query = path_segments(document.url)
    for path in path_prefixes(segments):
        tantivy_document.add_text("path", path)
    tantivy_document.add_unsigned("steps", len(segments) + has_query)


def anchor_document(anchors: AnchorDocument) -> tantivy.Document:
    """Return a document for the index of anchor texts."""
    tantivy_document = tantivy.Document()
    tantivy_document.add_integer("id", anchors.target)
    for text in anchors.texts:
        tantivy_document.add_text("text", text)
    return tantivy_document


def version_document(number: int) -> tantivy.Document:
    """Return the document that holds the store version; each commit replaces it."""
    tantivy_document = tantivy.Document()
    tantivy_document.add_integer("id", VERSION_ID)
    tantivy_document.add_unsigned("version", number)
    return tantivy_document
