"""A decoded document -> what is in it: the readers behind `gossamer.parse.page_parser`.

In comes the body of one page in UTF-8 (PDF: its bytes) and its URL; out comes a `Document`: bonds, text by field,
metadata. Nothing here does I/O, and everything is bounded, for the documents are hostile.

    document.py   Document: what a reader finds
    links.py      Bonds: links counted, resolved and capped
    html.py       read_html, the innermost loop, and elements.py, what each element means to it
    feeds.py      read_xml: RSS, Atom, any other XML
    pdf.py        read_pdf
    text.py       text collapsed, capped, packed
"""
