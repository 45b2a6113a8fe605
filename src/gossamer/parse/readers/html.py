"""HTML and XHTML -> links, text by field, metadata: one pass over Lexbor's tree.

This is the innermost loop of a crawl: 0.19 ms for a page of 36 kB. A node costs three calls into Lexbor (tag, text or
first child, next sibling) and one lookup; handlers (elements.py) do the rarer work. The walker collects text in one
list, with marks between the blocks, and splits it once at the end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser

from gossamer.model import Field, Kind, Position
from gossamer.parse.readers.document import ParsedDocument
from gossamer.parse.readers.elements import (
    BLOCK,
    HANDLERS,
    HYPERLINK,
    INHERITED_MARKS,
    LINK_BATCH,
    MARKS,
    POSITION_BY_ROLE,
    POSITION_BY_TAG,
    SHOW,
    SKIP,
    TEXT_NODE,
    OpenAnchor,
    OpenDrawing,
    OpenLandmark,
)
from gossamer.parse.readers.fast_html import read_ordinary_html
from gossamer.parse.readers.links import LinkCollector
from gossamer.parse.readers.tag_limits import find_cut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborNode

    from gossamer.parse.readers.elements import Closing
    from gossamer.parse.readers.links import FoundLink
    from gossamer.parse.readers.text import TextRun

_MARK = re.compile(r"\0[0-9+-]?")
_HIDDEN = re.compile(r" \0- .*? \0\+ ", re.DOTALL)
_TEXT = int(Field.TEXT)
_SPLIT_BYTES = 1 << 20  # bytes of text split into words at a time
_MAX_ANCHOR_PARTS = 256  # parts of text used of one anchor
# In XML "<script/>" is empty; in HTML it is open and contains the rest of the page. No "<" inside: XML forbids it, and
# so the search never reads the same text twice.
_SELF_CLOSED = re.compile(rb"""<([A-Za-z][\w:-]*+)((?:[^<>"'/]++|/(?!>)|"[^"<]*+"|'[^'<]*+')*+)/>""")
_ROLE_STARTS = frozenset({role[:1].encode() for role in POSITION_BY_ROLE})
_LANDMARK_TAGS = (b"<nav", b"<header", b"<footer", b"<aside", b"<main")
_VOID_ELEMENTS = frozenset(b"area base br col embed hr img input link meta source track wbr frame param".split())


def read_html(html: bytes, url: str, max_links: int, *, keep_anchors: bool = True) -> ParsedDocument:
    """Read a page in UTF-8. Without `keep_anchors`, links have no anchor text: enough to follow them."""
    cut = find_cut(html)
    document = read_ordinary_html(html, url, max_links, keep_anchors=keep_anchors) if cut is None else None
    return document or read_any_html(html, url, max_links, keep_anchors=keep_anchors, cut=cut)


def read_any_html(
    html: bytes, url: str, max_links: int, *, keep_anchors: bool = True, cut: int | None
) -> ParsedDocument:
    """Read any markup, up to `cut` of `find_cut`: the sure way."""
    tree = LexborHTMLParser(html if cut is None else html[:cut])  # scripting is off: the content of <noscript> counts
    roles = _positions_by_role(tree, html) if keep_anchors else {}
    walker = HtmlWalker(ParsedDocument(LinkCollector(url, max_links)), roles, keep_anchors=keep_anchors)
    walker.walk_document(tree)
    base = walker.base or url
    if walker.bonds.base != base:  # a <base> applies to the links before it too
        walker = HtmlWalker(ParsedDocument(LinkCollector(base, max_links)), roles, keep_anchors=keep_anchors)
        walker.walk_document(tree)
    walker.finish()
    if cut is not None:
        walker.document.cut.append("markup")
    if base != url:  # the base serves other links, but it names a document too
        walker.bonds.add(base, int(Kind.RELATED), "", "base", int(Position.HEAD))
    return walker.document


def read_xhtml(xhtml: bytes, url: str, max_links: int, *, keep_anchors: bool = True) -> ParsedDocument:
    """Read XHTML as HTML with its empty elements closed, because most XHTML is not well-formed."""
    return read_html(_SELF_CLOSED.sub(_close_empty_element, xhtml), url, max_links, keep_anchors=keep_anchors)


def _close_empty_element(tag: re.Match[bytes]) -> bytes:
    return tag[0] if tag[1].lower() in _VOID_ELEMENTS else b"<%b%b></%b>" % (tag[1], tag[2], tag[1])


def _positions_by_role(tree: LexborHTMLParser, html: bytes) -> dict[int, int]:
    """Return the position of elements that are landmarks by their role only, by node."""
    if not _has_roles(html):
        return {}
    positions: dict[int, int] = {}
    for node in tree.css("[role]"):
        position = POSITION_BY_ROLE.get(node.attributes["role"] or "")
        if position is not None and position != POSITION_BY_TAG.get(node.tag_id):
            positions[node.mem_id] = position
    return positions


def _has_roles(html: bytes) -> bool:
    """Return whether a role may make an element a landmark. Searching the tree would double the cost."""
    at = html.find(b"role=")
    while at >= 0:
        role = html[at + 5 : at + 7].lstrip(b"\"'")[:1]
        if role in _ROLE_STARTS:
            begin = html.rfind(b"<", 0, at)
            if not html.startswith(_LANDMARK_TAGS, begin):
                return True
        at = html.find(b"role=", at + 5)
    return False


class HtmlWalker:
    """One pass over one tree, and the state that handlers read and change."""

    def __init__(self, document: ParsedDocument, role_positions: dict[int, int], *, keep_anchors: bool) -> None:
        self.document = document
        self.bonds = document.bonds
        self.url = document.bonds.base
        self.role_positions = role_positions
        self.keep_anchors = keep_anchors
        self.base = ""  # of the first <base href>
        self.mark = MARKS[Field.TEXT]  # of the current field
        self.position = int(Position.CONTENT)
        self.text_parts = [self.mark]  # text so far
        self.alts: list[str] = []  # of images in open anchors
        self.open_anchors = 0
        self.pending_links: list[FoundLink] = []  # links not counted yet, in document order
        self.has_drawings = False  # some text is hidden
        self.noframes_markup: list[str] | None = []  # markup in <noframes>; None: ignore it

    def walk_document(self, tree: LexborHTMLParser) -> None:
        """Walk a document, then its content for browsers without frames; <noframes> inside that is ignored."""
        self.walk(tree.root)
        noframes_markup, self.noframes_markup = self.noframes_markup or [], None
        for html in noframes_markup:
            markup = html.encode("utf-8", "replace")
            self.walk(LexborHTMLParser(markup[: find_cut(markup)]).root)

    def walk(self, node: LexborNode | None) -> None:  # noqa: C901, PLR0912  the innermost loop: calls cost too much
        """Walk `node`, its descendants and the nodes behind it, without recursion: pages may nest at any depth."""
        handlers, roles, add = HANDLERS, self.role_positions, self.text_parts.append
        stack: list[tuple[LexborNode, Closing]] = []
        while node is not None:
            tag = node.tag_id
            if tag == TEXT_NODE:
                add(node.text_content or "")
            else:
                handler = handlers.get(tag)
                closing: Closing = None
                if handler is None:
                    pass
                elif not isinstance(handler, str):
                    closing = handler(self, node)
                elif roles and node.mem_id in roles:
                    closing = self.enter_landmark(roles[node.mem_id])
                elif handler is BLOCK or self.mark in INHERITED_MARKS:
                    closing = BLOCK
                    add(BLOCK)
                else:
                    closing = self.mark
                    self.mark = handler
                    add(handler)
                if closing is not SKIP:
                    child = node.first_child
                    if child is not None and child.tag_id == TEXT_NODE:  # half of all elements contain only text
                        add(child.text_content or "")
                        child = child.next
                    if child is not None:
                        stack.append((node, closing))
                        node = child
                        continue
                    if closing is BLOCK:
                        add(BLOCK)
                    elif closing is not None:
                        self._close_element(closing)
            following = node.next
            while following is None and stack:
                node, closing = stack.pop()
                if closing is BLOCK:
                    add(BLOCK)
                elif closing is not None:
                    self._close_element(closing)
                following = node.next
            node = following

    def enter_landmark(self, position: int) -> OpenLandmark:
        """Start a landmark."""
        before = self.position
        self.position = position
        self.text_parts.append(BLOCK)
        return OpenLandmark(before)

    def add_link(self, href: str | None, kind: Kind, anchor: str | None = None, rel: str = "") -> None:
        """Add a link from an attribute. An empty one names no resource (WHATWG HTML on src)."""
        if href:
            text = anchor if anchor and self.keep_anchors else ""
            self.pending_links.append((href, int(kind), text, rel, self.position))
            self.flush_full_batch()

    def flush_full_batch(self) -> None:
        """Count the pending links if they are many and no anchor is open."""
        if len(self.pending_links) >= LINK_BATCH and not self.open_anchors:
            self._flush_links()

    def _flush_links(self) -> None:
        if self.pending_links:
            self.bonds.add_all(self.pending_links)
            self.pending_links.clear()

    def _close_element(self, closing: str | OpenAnchor | OpenDrawing | OpenLandmark) -> None:
        """End an element."""
        if isinstance(closing, str):
            self.mark = closing
            self.text_parts.append(closing)
        elif isinstance(closing, OpenAnchor):
            self.open_anchors -= 1
            self.pending_links[closing.link_index] = (
                closing.href,
                HYPERLINK,
                self._anchor_text(closing),
                closing.rel,
                self.position,
            )
        elif isinstance(closing, OpenDrawing):
            self.mark = closing.outer_mark
            self.text_parts.append(SHOW)
        else:
            self.position = closing.outer_position
            self.text_parts.append(BLOCK)

    def _anchor_text(self, anchor: OpenAnchor) -> str:
        """Return the text of an anchor, or the alt texts of its images; blanks are not collapsed."""
        text = "".join(self.text_parts[anchor.first_part : anchor.first_part + _MAX_ANCHOR_PARTS])
        if "\0" in text:
            text = _MARK.sub(" ", text)
        if self.alts:
            alts = self.alts[anchor.first_alt :]
            del self.alts[anchor.first_alt :]
            if not text.strip():  # Unicode blanks too
                return " ".join(alts)
        return text

    def finish(self) -> None:
        """Count the pending links, and split the text into runs."""
        self._flush_links()
        text = "".join(self.text_parts)
        if self.has_drawings:
            text = _HIDDEN.sub("", text)
        self.document.runs = _split_into_runs(text)


def _split_at_blanks(text: bytes) -> Iterator[bytes]:
    """Yield the text in chunks that end at blanks: a list of all its words would take ten times its memory."""
    start = 0
    while (end := text.find(b" ", start + _SPLIT_BYTES)) >= 0:
        yield text[start:end]
        start = end
    yield text[start:] if start else text


def _separate_words(text: bytes) -> bytes:
    """Return the words and marks of a text, with one blank behind each."""
    return b" ".join([*text.split(), b""])


def _split_into_runs(marked: str) -> list[TextRun]:
    """Split text with marks into runs: one for each heading and paragraph, one for other text between them."""
    collapsed = b"".join(map(_separate_words, _split_at_blanks(marked.encode("utf-8", "replace")))).decode()
    strip = None if collapsed.isascii() else str.strip  # Unicode blanks
    runs: list[TextRun] = []
    lines: list[str] = []  # of the current run of plain text
    field = _TEXT
    for block in collapsed.split("\0")[1:]:  # it begins with a mark
        if block == " ":
            continue
        if block[0] == " ":
            text = block[1:-1]
        else:
            field = int(block[0])
            text = block[2:-1]
        if strip:
            text = strip(text)
        if not text:
            continue
        if field == _TEXT:
            lines.append(text)
            continue
        if lines:
            runs.append((_TEXT, "\n".join(lines)))
            lines = []
        runs.append((field, text))
    if lines:
        runs.append((_TEXT, "\n".join(lines)))
    return runs
