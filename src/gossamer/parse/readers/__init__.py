"""Decoded document -> ParsedDocument: the readers behind `parse.page_parser`.

In: the body of a page in UTF-8 (PDF: its bytes) and its URL. Out: a `ParsedDocument` with bonds, text by field and
metadata. Readers do no I/O, and they limit everything, because the documents are hostile.

    document  ParsedDocument: the result of a reader
    links     LinkCollector: links counted, resolved and capped
    fast_html read_ordinary_html: pages that a compiled kernel reads
    html      read_html, and the walk over a tree: all other pages
    elements  what each element means to read_html
    feeds     read_xml: RSS, Atom, any other XML
    pdf       read_pdf
    text      text collapsed, capped, packed
"""
