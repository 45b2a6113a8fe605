"""The fast way to read HTML: a compiled kernel, for pages whose markup is ordinary.

The kernel reads most pages exactly as `html.HtmlWalker` does over Lexbor's tree, without a tree. It says when it is not
sure; html.py reads such a page. `urls.canonical` resolves the few hrefs that need a URL parser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from gossamer.basics.page_budget import MAX_TEXT_BYTES, MAX_WORDS
from gossamer.basics.words import most_words
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
# A kernel without memory ends its process, so the tree takes larger pages: it reports a lack of memory.
_MAX_BYTES = 8 << 20


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
        digests, marks, urls, rels, anchors, missing = self._reading.columns(nofollow, keep_all, has_rules)
        links = Links(digests, marks, urls, rels, anchors)
        if not missing:
            return links
        targets, known = links.urls, links.digests
        for number in missing:
            known[number] = digest(targets[number])
        return replace(links, packed_digests=b"".join(known))

    def _make_rows(self) -> None:
        if self._reading is None:
            return
        digests, marks, urls, rels, anchors, _ = self._reading.columns(False, True, False)
        links = Links(digests, marks, urls, rels, anchors)
        self._reading = None
        bonds = zip(links.urls, links.kinds, map(bool, links.follows), links.anchors, strict=True)
        facts = zip(links.weights, links.positions, links.rels, strict=True)
        for bond, (weight, position, rel) in zip(bonds, facts, strict=True):
            self._rows[bond] = [weight, position, rel]


def read_ordinary_html(html: bytes, url: str, max_links: int, *, keep_anchors: bool) -> ParsedDocument | None:
    """Read a page in UTF-8; None if no kernel is sure of it, or the kernel fails."""
    if native is None or len(html) > _MAX_BYTES:
        return None
    try:
        reading = native.read_page(html, url, max_links, keep_anchors, _STEPS_PER_BYTE * len(html))
    except native.KernelFault:
        return None  # it says nothing about the page: the sure way reads it, or finds out what is wrong with it
    if isinstance(reading, str):
        return None
    text = reading.packed_runs
    if len(text) > MAX_WORDS and (len(text) > MAX_TEXT_BYTES or most_words(text) > MAX_WORDS):
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
