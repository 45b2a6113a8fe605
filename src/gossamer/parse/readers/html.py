"""HTML and XHTML -> links, text by field, metadata: one pass over Lexbor's tree.

This is the innermost loop of a crawl. A node costs three calls into Lexbor (tag, text or first child, next sibling) and
one look-up; what is rarer is left to a handler per element (elements.py). Text is gathered in one list, with marks
between the blocks, and cut up once at the end. Walking the tree beat searching its serialisation with a regular
expression, 0.19 to 0.55 ms a page of 36 kB.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser

from gossamer.model import Field, Kind, Position
from gossamer.parse.readers.document import Document
from gossamer.parse.readers.elements import (
    BATCH,
    BLOCK,
    FIRM,
    HANDLERS,
    HYPERLINK,
    LANDMARK_BY_TAG,
    MARKS,
    ROLES,
    SHOW,
    SKIP,
    TEXT_NODE,
    Anchor,
    Drawing,
    Landmark,
)
from gossamer.parse.readers.links import Bonds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborNode

    from gossamer.parse.readers.elements import Closing
    from gossamer.parse.readers.links import Found
    from gossamer.parse.readers.text import Run

_MARK = re.compile(r"\0[0-9+-]?")
_HIDDEN = re.compile(r" \0- .*? \0\+ ", re.DOTALL)
_TEXT = int(Field.TEXT)
_AT_ONCE = 1 << 20  # bytes of text cut into words together
_ANCHOR_PARTS = 256  # pieces of text of one anchor looked at
# In XML "<script/>" is empty; in HTML it is open, and swallows the rest of the page. No "<" within: that is how XML has
# it, and it keeps the search from going over the same text twice.
_SELF_CLOSED = re.compile(rb"""<([A-Za-z][\w:-]*+)((?:[^<>"'/]++|/(?!>)|"[^"<]*+"|'[^'<]*+')*+)/>""")
_ROLE_STARTS = frozenset({role[:1].encode() for role in ROLES})
_LANDMARK_TAGS = (b"<nav", b"<header", b"<footer", b"<aside", b"<main")
_VOID = frozenset(b"area base br col embed hr img input link meta source track wbr frame param".split())


def read_html(html: bytes, url: str, most_links: int, *, anchors: bool = True) -> Document:
    """Read a page in UTF-8. Without `anchors`, links come without text, rel and position: enough to follow them."""
    tree = LexborHTMLParser(html)  # scripting off, so what stands in <noscript> counts
    roles = _roles(tree, html) if anchors else {}
    walk = Walk(Document(Bonds(url, most_links)), roles, anchors=anchors)
    walk.run_all(tree)
    base = walk.base or url
    if walk.bonds.base != base:  # a <base> behind links that it holds for as well
        walk = Walk(Document(Bonds(base, most_links)), roles, anchors=anchors)
        walk.run_all(tree)
    walk.finish()
    if base != url:  # it is there for other links, but names a document all the same
        walk.bonds.add(base, int(Kind.RELATED), "", "base", int(Position.HEAD))
    return walk.document


def read_xhtml(xhtml: bytes, url: str, most_links: int, *, anchors: bool = True) -> Document:
    """Read a page in XML syntax: as HTML with its empty elements closed, for most XHTML is not well-formed either."""
    return read_html(_SELF_CLOSED.sub(_closed, xhtml), url, most_links, anchors=anchors)


def _closed(tag: re.Match[bytes]) -> bytes:
    return tag[0] if tag[1].lower() in _VOID else b"<%b%b></%b>" % (tag[1], tag[2], tag[1])


def _roles(tree: LexborHTMLParser, html: bytes) -> dict[int, int]:
    """Elements that only their role attribute makes landmarks, and the position they stand for."""
    if not _has_roles(html):
        return {}
    roles: dict[int, int] = {}
    for node in tree.css("[role]"):
        position = ROLES.get(node.attributes["role"] or "")
        if position is not None and position != LANDMARK_BY_TAG.get(node.tag_id):
            roles[node.mem_id] = position
    return roles


def _has_roles(html: bytes) -> bool:
    """Whether a role may make a landmark of what is none by its tag. Searching the tree costs as much again."""
    at = html.find(b"role=")
    while at >= 0:
        role = html[at + 5 : at + 7].lstrip(b"\"'")[:1]
        if role in _ROLE_STARTS:
            begin = html.rfind(b"<", 0, at)
            if not html.startswith(_LANDMARK_TAGS, begin):
                return True
        at = html.find(b"role=", at + 5)
    return False


class Walk:
    """One pass over one tree; what the handlers need to know and to change."""

    def __init__(self, document: Document, roles: dict[int, int], *, anchors: bool) -> None:
        self.document = document
        self.bonds = document.bonds
        self.url = document.bonds.base
        self.roles = roles
        self.anchors = anchors
        self.base = ""  # what the first <base href> says
        self.mark = MARKS[Field.TEXT]  # of the field that text stands in now
        self.position = int(Position.CONTENT)
        self.parts = [self.mark]  # text so far
        self.alts: list[str] = []  # of images in open anchors
        self.open_anchors = 0
        self.found: list[Found] = []  # links not counted yet, in the order they begin
        self.drawn = False  # there is text that is none
        self.frameless: list[str] | None = []  # markup in <noframes>; None: it counts no more

    def run_all(self, tree: LexborHTMLParser) -> None:
        """Walk a document, then what it has for browsers without frames. Once: what nests in there counts no more."""
        self.run(tree.root)
        frameless, self.frameless = self.frameless or [], None
        for html in frameless:
            self.run(LexborHTMLParser(html).root)

    def run(self, node: LexborNode | None) -> None:  # noqa: C901, PLR0912  the innermost loop: calls would cost more than they tell
        """Walk the tree below and behind `node`, without recursion: pages nest as deep as they like."""
        handlers, roles, add = HANDLERS, self.roles, self.parts.append
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
                    closing = self.enter(roles[node.mem_id])
                elif handler is BLOCK or self.mark in FIRM:
                    closing = BLOCK
                    add(BLOCK)
                else:
                    closing = self.mark
                    self.mark = handler
                    add(handler)
                if closing is not SKIP:
                    child = node.first_child
                    if child is not None and child.tag_id == TEXT_NODE:  # half of all elements hold just that
                        add(child.text_content or "")
                        child = child.next
                    if child is not None:
                        stack.append((node, closing))
                        node = child
                        continue
                    if closing is BLOCK:
                        add(BLOCK)
                    elif closing is not None:
                        self._close(closing)
            following = node.next
            while following is None and stack:
                node, closing = stack.pop()
                if closing is BLOCK:
                    add(BLOCK)
                elif closing is not None:
                    self._close(closing)
                following = node.next
            node = following

    def enter(self, position: int) -> Landmark:
        """A landmark begins."""
        before = self.position
        self.position = position
        self.parts.append(BLOCK)
        return Landmark(before)

    def link(self, href: str | None, kind: Kind, anchor: str | None = None, rel: str = "") -> None:
        """Count a link that stands in an attribute alone. An empty one names nothing (WHATWG HTML, of src)."""
        if href:
            text = anchor if anchor and self.anchors else ""
            self.found.append((href, int(kind), text, rel, self.position))
            self.count_batch()

    def count_batch(self) -> None:
        """Count the links found, when they are many and the text of each is known."""
        if len(self.found) >= BATCH and not self.open_anchors:
            self._count()

    def _count(self) -> None:
        if self.found:
            self.bonds.add_all(self.found)
            self.found.clear()

    def _close(self, closing: str | Anchor | Drawing | Landmark) -> None:
        """An element ends."""
        if isinstance(closing, str):
            self.mark = closing
            self.parts.append(closing)
        elif isinstance(closing, Anchor):
            self.open_anchors -= 1
            self.found[closing.place] = (closing.href, HYPERLINK, self._text_of(closing), closing.rel, self.position)
        elif isinstance(closing, Drawing):
            self.mark = closing.mark
            self.parts.append(SHOW)
        else:
            self.position = closing.before
            self.parts.append(BLOCK)

    def _text_of(self, anchor: Anchor) -> str:
        """Its text, or the alt texts of the images in it, with blanks as they come."""
        text = "".join(self.parts[anchor.parts : anchor.parts + _ANCHOR_PARTS])
        if "\0" in text:
            text = _MARK.sub(" ", text)
        if self.alts:
            alts = self.alts[anchor.alts :]
            del self.alts[anchor.alts :]
            if not text.strip():  # blanks of other scripts too
                return " ".join(alts)
        return text

    def finish(self) -> None:
        """Count the links, and cut the text up into runs."""
        self._count()
        text = "".join(self.parts)
        if self.drawn:
            text = _HIDDEN.sub("", text)
        self.document.runs = _runs(text)


def _stretches(text: bytes) -> Iterator[bytes]:
    """The text, cut at blanks where it is long: all words of a long one at once take ten times its room."""
    start = 0
    while (end := text.find(b" ", start + _AT_ONCE)) >= 0:
        yield text[start:end]
        start = end
    yield text[start:] if start else text


def _spaced(text: bytes) -> bytes:
    """Its words, marks among them, with one blank behind each."""
    return b" ".join([*text.split(), b""])


def _runs(marked: str) -> list[Run]:
    """Each heading and paragraph is a run by itself; what else stands together is lines of one."""
    collapsed = b"".join(map(_spaced, _stretches(marked.encode("utf-8", "replace")))).decode()
    strip = None if collapsed.isascii() else str.strip  # blanks of other scripts
    runs: list[Run] = []
    lines: list[str] = []  # of the run of plain text that is being gathered
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
