"""HTML and XHTML -> links, text by field, metadata: one pass over Lexbor's tree.

This is the innermost loop of a crawl. A node costs three calls into Lexbor (tag, text or first child, next sibling) and
one look-up; what is rarer is left to a handler per element. Text is gathered in one list with marks between the blocks
and cut up once at the end, because joining and splitting a whole page is cheaper than doing it block by block. Walking
the tree beat searching its serialisation with a regular expression, 0.18 ms to 0.55 (see bench/parse.py).
"""

from __future__ import annotations

import re
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from selectolax.lexbor import LexborHTMLParser

from gossamer.crawl.document import MAX_DESCRIPTION, MAX_TITLE, Document
from gossamer.crawl.links import MAX_ANCHOR, Bonds, kind_of_rel, refresh_target, rel_list, srcset_urls
from gossamer.crawl.text import clean, collapsed
from gossamer.crawl.urls import canonical
from gossamer.model import Field, Kind, Position

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from selectolax.lexbor import LexborNode

    from gossamer.crawl.text import Run

# Between two blocks of text stands a mark: NUL and the field of what follows. The HTML parser lets no NUL through (it is
# dropped or replaced, WHATWG HTML §13.2.5), so a page cannot forge one.
_MARKS = tuple(f" \0{int(field)} " for field in Field)
_HEADINGS = frozenset(_MARKS[Field.H1 : Field.H6 + 1])
_MARKED = re.compile(r"\0([0-9]) ([^\0 ][^\0]*) (?=\0)")
_MARK = re.compile(r"\0[0-9]")

_BLOCKS = (
    "address article blockquote button caption center dd details dialog dir div dl dt fieldset figcaption figure "
    "form frameset hgroup hr legend li menu noscript ol optgroup option pre search section select summary tbody td textarea "
    "tfoot th thead tr ul"
).split()
_FIELDS = {"p": Field.PARAGRAPH, **{f"h{level}": Field(level) for level in range(1, 7)}}
_LANDMARKS = {
    "head": Position.HEAD,
    "nav": Position.NAV,
    "header": Position.HEADER,
    "footer": Position.FOOTER,
    "aside": Position.ASIDE,
    "main": Position.CONTENT,
}
_ROLES = {
    "navigation": Position.NAV,
    "banner": Position.HEADER,
    "contentinfo": Position.FOOTER,
    "complementary": Position.ASIDE,
    "main": Position.CONTENT,
}
_EMBEDS = {  # element -> attribute, kind
    "frame": ("src", Kind.FRAME),
    "iframe": ("src", Kind.FRAME),
    "script": ("src", Kind.SCRIPT),
    "audio": ("src", Kind.MEDIA),
    "track": ("src", Kind.MEDIA),
    "embed": ("src", Kind.MEDIA),
    "object": ("data", Kind.MEDIA),
}
_UNSEEN = frozenset("datalist iframe noembed noframes script style template".split())  # content that is not page text
_MAX_OPEN_ANCHORS = 8  # anchors nest in broken pages only; without a bound, gathering their text would be quadratic
_ANCHOR_PARTS = 256  # pieces of text of an anchor looked at


if TYPE_CHECKING:
    # What to do when an element ends: go back to the field of this mark, close a landmark or an anchor, nothing.
    Closing = str | tuple[int] | tuple[str, str, int, int, int] | None
    Handler = Callable[["_Walk", LexborNode], Closing]

_SKIP = "skip"  # a handler's answer when the element's content is not to be looked at


def read_html(html: bytes, url: str, most_links: int, *, anchors: bool = True) -> Document:
    """Read a page in UTF-8. Without `anchors`, links come without text, rel and position: enough to follow them."""
    tree = LexborHTMLParser(html)  # scripting off, so what stands in <noscript> counts
    roles = _roles(tree, html) if anchors else {}
    walk = _Walk(Document(Bonds(url, most_links)), roles, anchors=anchors)
    walk.run(tree.root)
    if walk.base and walk.base != walk.bonds.base:  # a <base> behind links that it holds for as well
        walk = _Walk(Document(Bonds(walk.base, most_links)), roles, anchors=anchors)
        walk.run(tree.root)
    walk.finish()
    return walk.document


def _roles(tree: LexborHTMLParser, html: bytes) -> dict[int, Position]:
    """Elements made landmarks by their role attribute."""
    if b"role=" not in html:
        return {}
    named = ((node.mem_id, node.attributes["role"] or "") for node in tree.css("[role]"))
    return {element: _ROLES[role] for element, role in named if role in _ROLES}


class _Walk:
    """One pass over one tree."""

    def __init__(self, document: Document, roles: dict[int, Position], *, anchors: bool) -> None:
        self.document = document
        self.bonds = document.bonds
        self.base = ""  # what the first <base href> says
        self._url = document.bonds.base
        self._roles = roles
        self._anchors = anchors
        self._mark = _MARKS[Field.TEXT]  # of the field that text stands in now
        self._parts = [self._mark]
        self._alts: list[str] = []
        self._position = Position.CONTENT
        self._order = 0  # links seen
        self._open = 0  # anchors open
        self._disordered = False  # bonds were added in another order than they occur

    def run(self, node: LexborNode | None) -> None:
        """Walk the tree below and behind `node`, without recursion: pages nest as deep as they like."""
        handlers, roles, add, mark = _HANDLERS, self._roles, self._parts.append, self._mark
        stack: list[tuple[LexborNode, Closing]] = []
        while node is not None:
            tag = node.tag_id
            if tag == _TEXT_NODE:
                add(node.text_content or "")
            else:
                handler = handlers.get(tag)
                closing: Closing = None
                if handler is None:
                    pass
                elif handler.__class__ is not str:
                    closing = handler(self, node)
                elif roles and node.mem_id in roles:
                    closing = self._enter(roles[node.mem_id])
                else:
                    closing = mark
                    if handler and mark not in _HEADINGS:  # a paragraph in a heading is heading
                        self._mark = mark = handler
                    add(mark)
                if closing is not _SKIP:
                    child = node.first_child
                    if child is not None and child.tag_id == _TEXT_NODE:  # half of all elements hold just that
                        add(child.text_content or "")
                        child = child.next
                    if child is not None:
                        stack.append((node, closing))
                        node = child
                        continue
                    if closing is not None:
                        mark = self._close(closing)
            following = node.next
            while following is None and stack:
                node, closing = stack.pop()
                if closing is mark:
                    add(mark)
                elif closing is not None:
                    mark = self._close(closing)
                following = node.next
            node = following

    def _close(self, closing: str | tuple[Any, ...]) -> str:
        """An element ends; answer the mark that holds now."""
        if closing.__class__ is str:
            self._mark = closing
            self._parts.append(closing)
        elif len(closing) == 1:
            self._position = closing[0]
            self._parts.append(self._mark)
        else:
            self._close_anchor(*closing)
        return self._mark

    def _close_anchor(self, href: str, rel: str, order: int, parts_before: int, alts_before: int) -> None:
        self._open -= 1
        text = "".join(self._parts[parts_before : parts_before + _ANCHOR_PARTS])
        if "\0" in text:
            text = _MARK.sub("", text)
        anchor = collapsed(text)[:MAX_ANCHOR]
        if self._alts:
            if not anchor or anchor.isspace():
                anchor = " ".join(self._alts[alts_before:])[:MAX_ANCHOR]
            del self._alts[alts_before:]
        self.bonds.add(href, _HYPERLINK, anchor, rel, self._position, order)

    def finish(self) -> None:
        """Cut the gathered text up into runs."""
        if self._disordered:
            self.bonds.sort()
        self._parts.append(" \0")
        found = _MARKED.findall(collapsed("".join(self._parts)))
        self.document.runs = list(_merged(found))

    # Handlers: what an element means. Each answers what is to be done when it ends.

    def _enter(self, position: Position) -> Closing:
        before = self._position
        self._position = position
        self._parts.append(self._mark)
        return (before,)

    def _landmark(self, node: LexborNode) -> Closing:
        return self._enter(self._roles.get(node.mem_id, _LANDMARK_BY_TAG[node.tag_id]))

    def _with_background(self, node: LexborNode) -> Closing:
        self.embed(node.attributes.get("background"), Kind.OTHER)
        self._parts.append(self._mark)
        return self._mark

    def _space(self, _: LexborNode) -> Closing:
        self._parts.append(" ")
        return None

    def _skip(self, _: LexborNode) -> Closing:
        return _SKIP

    def _html(self, node: LexborNode) -> Closing:
        attributes = node.attributes
        self.document.language = attributes.get("lang") or attributes.get("xml:lang") or self.document.language
        return None

    def _title(self, node: LexborNode) -> Closing:
        self.document.title = self.document.title or clean(node.text(), MAX_TITLE)
        return _SKIP

    def _base(self, node: LexborNode) -> Closing:
        """The first with an href counts (WHATWG HTML §4.2.3), and if that is broken, the page's own URL does."""
        attributes = node.attributes
        if not self.base and "href" in attributes:
            self.base = canonical(attributes["href"] or "", self._url) or self._url
            if not len(self.bonds):
                self.bonds.base = self.base
        return None

    def _meta(self, node: LexborNode) -> Closing:
        attributes = node.attributes
        content = attributes.get("content")
        if not content:
            return None
        name = (attributes.get("name") or "").strip().lower()
        pragma = (attributes.get("http-equiv") or "").strip().lower()
        if name == "description":
            self.document.description = self.document.description or clean(content, MAX_DESCRIPTION)
        elif name:
            self.document.robots.append((name, content))
        elif pragma == "refresh":
            self.embed(refresh_target(content), Kind.REFRESH)
        elif pragma == "content-language":
            self.document.language = self.document.language or content
        return None

    def _link(self, node: LexborNode) -> Closing:
        attributes = node.attributes
        href = attributes.get("href")
        rel = rel_list(attributes.get("rel") or "")
        kind = kind_of_rel(rel)
        if href and kind:
            if kind is Kind.CANONICAL and not self.document.canonical:
                self.document.canonical = self.bonds.target(href) or ""
            self.embed(href, kind, clean(attributes.get("title") or "", MAX_ANCHOR), rel)
        return None

    def _a(self, node: LexborNode) -> Closing:
        attributes = node.attributes
        href = attributes.get("href")
        if href is None:
            if "href" not in attributes:
                return None
            href = ""  # leads to the page itself
        rel = attributes.get("rel")
        rel = rel_list(rel) if rel else ""
        self._order += 1
        if not self._anchors or self._open == _MAX_OPEN_ANCHORS:
            self.bonds.add(href, _HYPERLINK, "", rel, self._position, self._order)
            return None
        if self._open:
            self._disordered = True
        child = node.first_child
        if child is not None and child.tag_id == _TEXT_NODE and child.next is None:  # nothing but text: most are
            text = child.text_content or ""
            self._parts.append(text)
            self.bonds.add(href, _HYPERLINK, collapsed(text)[:MAX_ANCHOR], rel, self._position, self._order)
            return _SKIP
        self._open += 1
        return href, rel, self._order, len(self._parts), len(self._alts)

    def _area(self, node: LexborNode) -> Closing:
        attributes = node.attributes
        if "href" in attributes:
            alt = clean(attributes.get("alt") or "", MAX_ANCHOR)
            self.embed(attributes["href"] or "#", Kind.HYPERLINK, alt, rel_list(attributes.get("rel") or ""))
        return None

    def _img(self, node: LexborNode) -> Closing:
        attributes = node.attributes
        alt = clean(attributes.get("alt") or "", MAX_ANCHOR)
        if alt and self._open:
            self._alts.append(alt)
        srcset = attributes.get("srcset")
        if srcset:
            for href in {attributes.get("src"): None, **dict.fromkeys(srcset_urls(srcset))}:
                self.embed(href, Kind.IMAGE, alt)
        else:
            self.embed(attributes.get("src"), Kind.IMAGE, alt)
        return None

    def _input(self, node: LexborNode) -> Closing:
        attributes = node.attributes
        if (attributes.get("type") or "").lower() == "image":
            self.embed(attributes.get("src"), Kind.IMAGE, clean(attributes.get("alt") or "", MAX_ANCHOR))
        return None

    def _source(self, node: LexborNode) -> Closing:
        attributes = node.attributes
        self.embed(attributes.get("src"), Kind.MEDIA)
        for href in dict.fromkeys(srcset_urls(attributes.get("srcset") or "")):
            self.embed(href, Kind.IMAGE)
        return None

    def _video(self, node: LexborNode) -> Closing:
        attributes = node.attributes
        self.embed(attributes.get("src"), Kind.MEDIA)
        self.embed(attributes.get("poster"), Kind.IMAGE)
        return None

    def _embed(self, node: LexborNode) -> Closing:
        attribute, kind = _EMBED_BY_TAG[node.tag_id]
        self.embed(node.attributes.get(attribute), kind)
        return _SKIP if node.tag_id in _UNSEEN_TAGS else None

    def _svg(self, node: LexborNode) -> Closing:
        """A drawing's text is no page text, but its links are links."""
        for link in node.css("a"):
            attributes = link.attributes
            href = attributes.get("href") or attributes.get("xlink:href")
            anchor = clean(link.text(), MAX_ANCHOR) if self._anchors else ""
            self.embed(href, Kind.HYPERLINK, anchor, rel_list(attributes.get("rel") or ""))
        return _SKIP

    def embed(self, href: str | None, kind: Kind, anchor: str = "", rel: str = "") -> None:
        """Count a link that stands in an attribute alone. An empty one names nothing (WHATWG HTML, of src)."""
        if not href:
            return
        self._order += 1
        if self._open:
            self._disordered = True
        if not self._anchors:
            anchor = ""
        self.bonds.add(href, int(kind), anchor, rel, self._position, self._order)


def _merged(found: list[tuple[str, str]]) -> Iterator[Run]:
    """Blocks as runs: each heading and paragraph by itself, what else stands together as lines of one run."""
    text_field = str(int(Field.TEXT))
    for field, blocks in groupby(found, itemgetter(0)):
        if field == text_field:
            yield int(Field.TEXT), "\n".join([text for _, text in blocks])
        else:
            for _, text in blocks:
                yield int(field), text


_new_node = LexborHTMLParser("").create_node


def _tag(name: str) -> int:
    """Lexbor's number of an element, the same in every document."""
    return _new_node(name).tag_id


_TEXT_NODE = 2
_HYPERLINK = int(Kind.HYPERLINK)
_EMBED_BY_TAG = {_tag(name): embed for name, embed in _EMBEDS.items()}
_LANDMARK_BY_TAG = {_tag(name): position for name, position in _LANDMARKS.items()}
_UNSEEN_TAGS = frozenset(map(_tag, _UNSEEN))
_HANDLERS: dict[int, Handler | str] = {
    **dict.fromkeys(map(_tag, _BLOCKS), ""),
    **dict.fromkeys(_UNSEEN_TAGS, _Walk._skip),
    **dict.fromkeys(_EMBED_BY_TAG, _Walk._embed),
    **{_tag(name): _MARKS[field] for name, field in _FIELDS.items()},
    **dict.fromkeys(_LANDMARK_BY_TAG, _Walk._landmark),
    _tag("html"): _Walk._html,
    _tag("title"): _Walk._title,
    _tag("body"): _Walk._with_background,
    _tag("table"): _Walk._with_background,
    _tag("base"): _Walk._base,
    _tag("meta"): _Walk._meta,
    _tag("link"): _Walk._link,
    _tag("a"): _Walk._a,
    _tag("area"): _Walk._area,
    _tag("img"): _Walk._img,
    _tag("input"): _Walk._input,
    _tag("source"): _Walk._source,
    _tag("video"): _Walk._video,
    _tag("svg"): _Walk._svg,
    _tag("br"): _Walk._space,
}
