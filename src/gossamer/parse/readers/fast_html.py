"""The fast way to read HTML: a compiled kernel, for pages whose markup is ordinary.

The kernel reads most pages exactly as `html.HtmlWalker` does over Lexbor's tree, without a tree. It says when it is not
sure; html.py reads such a page. `urls.canonical` resolves the few hrefs that need a URL parser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.basics.page_budget import MAX_WORDS
from gossamer.kernels import native
from gossamer.model import Kind, Links, Position
from gossamer.parse.readers.document import ParsedDocument
from gossamer.parse.readers.links import LinkCollector
from gossamer.urls.canonical import SCHEMES, canonicalize

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.kernels import PageReading

# Open elements that the kernel may search, per byte. Documentation needs 2; nesting that costs more is not ordinary.
_STEPS_PER_BYTE = 64


class ColumnCollector(LinkCollector):
    """The links of a page in a kernel. They become rows in Python only if more links join them."""

    def __init__(self, base: str, max_links: int, reading: PageReading) -> None:
        super().__init__(base, max_links)
        self._reading: PageReading | None = reading

    def __len__(self) -> int:
        self._make_rows()
        return super().__len__()

    def add(self, href: str, kind: int, anchor: str = "", rel: str = "", position: int = 0) -> None:
        """Count one occurrence of a link."""
        self._make_rows()
        super().add(href, kind, anchor, rel, position)

    def links(
        self, digest: Callable[[str], bytes], *, nofollow: bool = False, keep_all: bool = True, has_rules: bool = True
    ) -> Links:
        """Return the bonds as columns; the kernel makes them if it has all of them."""
        if self._reading is None:
            return super().links(digest, nofollow=nofollow, keep_all=keep_all)
        columns = self._reading.columns(nofollow, keep_all, has_rules)
        digests = [known or digest(url) for known, url in zip(columns[0], columns[1], strict=True)]
        return Links(digests, *columns[1:])

    def _make_rows(self) -> None:
        if self._reading is None:
            return
        columns = self._reading.columns(False, True, False)
        self._reading = None
        for _, url, kind, follow, anchor, weight, rel, position in zip(*columns, strict=True):
            self._rows[url, kind, follow, anchor] = [weight, position, rel]


def read_ordinary_html(html: bytes, url: str, max_links: int, *, keep_anchors: bool) -> ParsedDocument | None:
    """Read a page in UTF-8; None if no kernel is sure of it, or the kernel fails."""
    if native is None:
        return None
    try:
        reading = native.read_page(html, url, max_links, keep_anchors, _STEPS_PER_BYTE * len(html))
    except native.KernelFault:
        return None  # it says nothing about the page: the sure way reads it, or finds out what is wrong with it
    if isinstance(reading, str):
        return None
    text = reading.packed_runs
    if len(text) > MAX_WORDS:
        return None  # it may be over the page budget
    base = reading.base
    if unresolved := reading.unresolved:
        reading.complete([canonicalize(href, None if href.startswith(SCHEMES) else base) for href in unresolved])
    bonds = ColumnCollector(base, max_links, reading)
    document = ParsedDocument(
        bonds,
        title=reading.title,
        description=reading.description,
        language=reading.language,
        canonical=reading.canonical,
        robots=reading.metas,
        packed_runs=text,
    )
    if base != url:  # as in `html.read_html`
        bonds.add(base, int(Kind.RELATED), "", "base", int(Position.HEAD))
    return document
