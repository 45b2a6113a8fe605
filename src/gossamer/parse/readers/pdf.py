"""PDF -> title, text, links, by PDFium.

PDFium has one state per process, is written in C++ and reads hostile files; it runs in parser processes only. The
reader closes every page before it opens the next, so it needs the memory of the largest page.
"""

from __future__ import annotations

import ctypes
import re
from typing import TYPE_CHECKING

import pypdfium2
from pypdfium2 import raw

from gossamer.basics.page_budget import MAX_TEXT_BYTES
from gossamer.model import Field, Kind
from gossamer.parse.readers.document import MAX_DESCRIPTION, MAX_TITLE, ParsedDocument
from gossamer.parse.readers.links import MAX_ANCHOR, LinkCollector
from gossamer.parse.readers.text import clean, collapse_blanks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_PAGES = 500  # pages read of one file
_MAX_URI = 64 << 10  # bytes of a link's target
_HYPHEN = re.compile("[\x02\ufffe](?:\r?\n)?")  # PDFium's marks in a word that is broken at a line's end


def read_pdf(body: bytes, url: str, max_links: int) -> ParsedDocument:
    """Read a PDF's text page by page."""
    document = ParsedDocument(LinkCollector(url, max_links))
    try:
        with pypdfium2.PdfDocument(body) as pdf:
            _read_document(pdf, document)
    except pypdfium2.PdfiumError as fault:
        document.reason = f"unreadable PDF: {fault}"
    return document


def _read_document(pdf: pypdfium2.PdfDocument, document: ParsedDocument) -> None:
    document.title = clean(_metadata(pdf, b"Title\0"), MAX_TITLE)
    document.description = clean(_metadata(pdf, b"Subject\0"), MAX_DESCRIPTION)
    document.language = _read_utf16(lambda buffer, size: raw.FPDFCatalog_GetLanguage(pdf.raw, buffer, size))
    pages, unreadable = len(pdf), 0
    if pages > MAX_PAGES:
        document.reason = f"only the first {MAX_PAGES} of {pages} PDF pages read"
        document.cut.append("PDF pages")
    texts: list[str] = []
    for index in range(min(pages, MAX_PAGES)):
        if sum(map(len, texts)) > MAX_TEXT_BYTES:
            break
        try:
            texts.append(_page_text(pdf, index, document.bonds))
        except pypdfium2.PdfiumError:
            unreadable += 1
    if unreadable:
        document.reason = f"{unreadable} of {pages} PDF pages unreadable"
    text = "\n".join(filter(None, texts))
    document.runs = [(int(Field.TEXT), text)] if text else []


def _page_text(pdf: pypdfium2.PdfDocument, index: int, bonds: LinkCollector) -> str:
    page = pdf[index]
    try:
        textpage = page.get_textpage()
        try:
            for link in _page_links(page):
                _add_link(link, pdf, textpage, bonds)
            text: str = textpage.get_text_bounded()
        finally:
            textpage.close()
    finally:
        page.close()
    return collapse_blanks(_HYPHEN.sub("", text).replace("\0", ""))


def _page_links(page: pypdfium2.PdfPage) -> Iterator[raw.FPDF_LINK]:
    position, link = ctypes.c_int(0), raw.FPDF_LINK()
    while raw.FPDFLink_Enumerate(page.raw, ctypes.byref(position), ctypes.byref(link)):
        yield link


def _add_link(
    link: raw.FPDF_LINK, pdf: pypdfium2.PdfDocument, textpage: pypdfium2.PdfTextPage, bonds: LinkCollector
) -> None:
    action = raw.FPDFLink_GetAction(link)
    if not action or raw.FPDFAction_GetType(action) != raw.PDFACTION_URI:
        return
    size = raw.FPDFAction_GetURIPath(pdf.raw, action, None, 0)
    if not 1 < size <= _MAX_URI:
        return
    buffer = ctypes.create_string_buffer(size)
    raw.FPDFAction_GetURIPath(pdf.raw, action, buffer, size)
    rect = raw.FS_RECTF()
    anchor = ""
    if raw.FPDFLink_GetAnnotRect(link, ctypes.byref(rect)):
        anchor = clean(textpage.get_text_bounded(rect.left, rect.bottom, rect.right, rect.top), MAX_ANCHOR)
    bonds.add(buffer.value.decode("utf-8", "replace"), int(Kind.HYPERLINK), anchor)


def _metadata(pdf: pypdfium2.PdfDocument, key: bytes) -> str:
    return _read_utf16(lambda buffer, size: raw.FPDF_GetMetaText(pdf.raw, key, buffer, size))


def _read_utf16(call: Callable[[object, int], int]) -> str:
    """Return a string of PDFium: UTF-16 with a NUL at the end, not always valid. The first call gets its size."""
    size = call(None, 0)
    buffer = (ctypes.c_ushort * (size // 2))()
    call(buffer, size)
    return bytes(buffer)[:-2].decode("utf-16-le", "replace")
