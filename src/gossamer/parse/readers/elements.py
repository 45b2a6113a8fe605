"""What the elements of HTML mean to a crawler: links, metadata, blocks of text.

`html.HtmlWalker` calls a handler at the start of its element. The handler returns what to do at the element's end.
Elements without a handler are inline: they neither separate words nor contain links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from gossamer.model import Field, Kind, Position
from gossamer.parse.readers.document import MAX_DESCRIPTION, MAX_TITLE
from gossamer.parse.readers.links import normalize_rel, refresh_target, rel_kind, srcset_urls
from gossamer.parse.readers.text import clean
from gossamer.urls.canonical import canonicalize

if TYPE_CHECKING:
    from collections.abc import Callable

    from selectolax.lexbor import LexborNode

    from gossamer.parse.readers.html import HtmlWalker

# Marks in the text, as separate words. They begin with NUL, which no page can contain: the HTML parser drops or
# replaces it (WHATWG HTML §13.2.5).
BLOCK = " \0 "  # between two blocks
MARKS = tuple(f" \0{int(field)} " for field in Field)  # the text behind belongs to this field
HIDE, SHOW = " \0- ", " \0+ "  # the text between them is not page text
INHERITED_MARKS = frozenset({*MARKS[Field.H1 : Field.H6 + 1], HIDE})  # paragraphs inside keep this mark
SKIP = "skip"  # returned by a handler: ignore the content of the element
MAX_OPEN_ANCHORS = 8  # anchors nest only in broken pages; without a limit, collecting their texts would be quadratic
LINK_BATCH = 4096  # links collected before they are counted: a page with millions must not hold all in memory
HYPERLINK = int(Kind.HYPERLINK)


class OpenAnchor(NamedTuple):
    """An `<a href>` that is open."""

    href: str
    rel: str
    link_index: int  # in the walker's pending links
    first_part: int  # index of its first part of text
    first_alt: int  # index of its first alt text


class OpenDrawing(NamedTuple):
    """An `<svg>` that is open."""

    outer_mark: str  # of the field around it


class OpenLandmark(NamedTuple):
    """A landmark that is open."""

    outer_position: int  # position of the text around it


if TYPE_CHECKING:
    # At an element's end: BLOCK ends a block, another mark restores its field, an open element is closed; None: no-op.
    Closing = str | OpenAnchor | OpenDrawing | OpenLandmark | None
    Handler = Callable[[HtmlWalker, LexborNode], Closing]

POSITION_BY_ROLE = {
    "navigation": int(Position.NAV),
    "banner": int(Position.HEADER),
    "contentinfo": int(Position.FOOTER),
    "complementary": int(Position.ASIDE),
    "main": int(Position.CONTENT),
}
_POSITION_BY_ELEMENT = {
    "head": int(Position.HEAD),
    "nav": int(Position.NAV),
    "header": int(Position.HEADER),
    "footer": int(Position.FOOTER),
    "aside": int(Position.ASIDE),
    "main": int(Position.CONTENT),
}
_FIELD_BY_ELEMENT = {"p": Field.PARAGRAPH, **{f"h{level}": Field(level) for level in range(1, 7)}}
_BLOCK_ELEMENTS = (
    "address", "article", "blockquote", "button", "caption", "center", "dd", "details", "dialog", "dir", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "form", "frameset", "hgroup", "hr", "legend", "li", "menu", "noscript",
    "ol", "optgroup", "option", "pre", "search", "section", "select", "summary", "tbody", "td", "textarea", "tfoot",
    "th", "thead", "tr", "ul",
)  # fmt: skip
_HIDDEN_ELEMENTS = ("datalist", "noembed", "style", "template")
_EMBED_BY_ELEMENT = {  # element -> attribute, kind
    "frame": ("src", Kind.FRAME),
    "iframe": ("src", Kind.FRAME),
    "script": ("src", Kind.SCRIPT),
    "audio": ("src", Kind.MEDIA),
    "track": ("src", Kind.MEDIA),
    "embed": ("src", Kind.MEDIA),
    "object": ("data", Kind.MEDIA),
}

_new_node = LexborHTMLParser("").create_node


def _tag_id(name: str) -> int:
    """Return Lexbor's number of an element, the same in every document."""
    return _new_node(name).tag_id


def _text_tag_id() -> int:
    text = LexborHTMLParser("text").css("body")[0].first_child
    assert text is not None
    return text.tag_id


TEXT_NODE = _text_tag_id()  # Lexbor gives text nodes a tag number too
POSITION_BY_TAG = {_tag_id(name): position for name, position in _POSITION_BY_ELEMENT.items()}
_EMBED_BY_TAG = {_tag_id(name): embed for name, embed in _EMBED_BY_ELEMENT.items()}
_RAW_TEXT = frozenset({_tag_id("iframe"), _tag_id("script")})  # embeds whose content is not markup


def _landmark(walker: HtmlWalker, node: LexborNode) -> Closing:
    return walker.enter_landmark(walker.role_positions.get(node.mem_id, POSITION_BY_TAG[node.tag_id]))


def _break(walker: HtmlWalker, _: LexborNode) -> Closing:
    walker.text_parts.append(" ")
    return None


def _skip(_: HtmlWalker, __: LexborNode) -> Closing:
    return SKIP


def _html(walker: HtmlWalker, node: LexborNode) -> Closing:
    attributes = node.attributes
    walker.document.language = attributes.get("lang") or attributes.get("xml:lang") or walker.document.language
    return None


def _noframes(walker: HtmlWalker, node: LexborNode) -> Closing:
    """Keep the content for browsers without frames: it is markup, but the HTML parser reads it as text."""
    if walker.noframes_markup is not None:
        walker.noframes_markup.append(node.text())
    return SKIP


def _title(walker: HtmlWalker, node: LexborNode) -> Closing:
    if walker.mark is not HIDE:
        walker.document.title = walker.document.title or clean(node.text(), MAX_TITLE)
    elif walker.open_anchors:  # the title of a drawing serves as its alt text
        walker.alts.append(node.text())
    return SKIP


def _base(walker: HtmlWalker, node: LexborNode) -> Closing:
    """Use the first one with an href (WHATWG HTML §4.2.3); if that is invalid, the page's own URL."""
    attributes = node.attributes
    if not walker.base and "href" in attributes:
        walker.base = canonicalize(attributes["href"] or "", walker.url) or walker.url
        if not walker.pending_links and not len(walker.bonds):
            walker.bonds.base = walker.base
    return None


def _meta(walker: HtmlWalker, node: LexborNode) -> Closing:
    attributes = node.attributes
    content = attributes.get("content")
    if not content:
        return None
    name = (attributes.get("name") or "").strip().lower()
    pragma = (attributes.get("http-equiv") or "").strip().lower()
    if name == "description":
        walker.document.description = walker.document.description or clean(content, MAX_DESCRIPTION)
    elif name:
        walker.document.robots.append((name, content))
    elif pragma == "refresh":
        walker.add_link(refresh_target(content), Kind.REFRESH)
    elif pragma == "content-language":
        walker.document.language = walker.document.language or content
    return None


def _link(walker: HtmlWalker, node: LexborNode) -> Closing:
    attributes = node.attributes
    href = attributes.get("href")
    rel = normalize_rel(attributes.get("rel") or "")
    kind = rel_kind(rel)
    if href and kind:
        if kind is Kind.CANONICAL and not walker.document.canonical:
            walker.document.canonical = walker.bonds.resolve_href(href) or ""
        walker.add_link(href, kind, attributes.get("title"), rel)
    return None


def _a(walker: HtmlWalker, node: LexborNode) -> Closing:
    attributes = node.attributes
    href = attributes.get("href")
    if href is None:
        href = "" if "href" in attributes else attributes.get("xlink:href")  # an empty href means the page itself
        if href is None:
            return None
    rel = attributes.get("rel")
    rel = normalize_rel(rel) if rel else ""
    links = walker.pending_links
    if len(links) >= LINK_BATCH:
        walker.flush_full_batch()
    if not walker.keep_anchors or walker.open_anchors == MAX_OPEN_ANCHORS:
        links.append((href, HYPERLINK, "", rel, walker.position))
        return None
    child = node.first_child
    if child is not None and child.tag_id == TEXT_NODE and child.next is None:  # only text, as in most anchors
        text = child.text_content or ""
        walker.text_parts.append(text)
        links.append((href, HYPERLINK, text, rel, walker.position))
        return SKIP
    walker.open_anchors += 1
    links.append((href, HYPERLINK, "", rel, walker.position))  # `_close_element` fills in the text
    return OpenAnchor(href, rel, len(links) - 1, len(walker.text_parts), len(walker.alts))


def _area(walker: HtmlWalker, node: LexborNode) -> Closing:
    attributes = node.attributes
    if "href" in attributes:
        walker.add_link(
            attributes["href"] or "#", Kind.HYPERLINK, attributes.get("alt"), normalize_rel(attributes.get("rel") or "")
        )
    return None


def _img(walker: HtmlWalker, node: LexborNode) -> Closing:
    attributes = node.attributes
    alt = attributes.get("alt")
    if alt and walker.open_anchors:
        walker.alts.append(alt)
    source, candidates = attributes.get("src"), attributes.get("srcset")
    walker.add_link(source, Kind.IMAGE, alt)
    if candidates:
        for href in dict.fromkeys(srcset_urls(candidates)):
            walker.add_link(href if href != source else None, Kind.IMAGE, alt)
    return None


def _input(walker: HtmlWalker, node: LexborNode) -> Closing:
    attributes = node.attributes
    if (attributes.get("type") or "").lower() == "image":
        walker.add_link(attributes.get("src"), Kind.IMAGE, attributes.get("alt"))
    return None


def _source(walker: HtmlWalker, node: LexborNode) -> Closing:
    attributes = node.attributes
    walker.add_link(attributes.get("src"), Kind.MEDIA)
    for href in dict.fromkeys(srcset_urls(attributes.get("srcset") or "")):
        walker.add_link(href, Kind.IMAGE)
    return None


def _video(walker: HtmlWalker, node: LexborNode) -> Closing:
    attributes = node.attributes
    walker.add_link(attributes.get("src"), Kind.MEDIA)
    walker.add_link(attributes.get("poster"), Kind.IMAGE)
    return None


def _embed(walker: HtmlWalker, node: LexborNode) -> Closing:
    tag = node.tag_id
    attribute, kind = _EMBED_BY_TAG[tag]
    walker.add_link(node.attributes.get(attribute), kind)
    return SKIP if tag in _RAW_TEXT else None


def _block_with_background(walker: HtmlWalker, node: LexborNode) -> Closing:
    walker.add_link(node.attributes.get("background"), Kind.OTHER)
    walker.text_parts.append(BLOCK)
    return BLOCK


def _svg(walker: HtmlWalker, _: LexborNode) -> Closing:
    """Hide the text of a drawing, but keep its links."""
    if walker.mark is HIDE:
        return None  # a drawing in a drawing
    closing = OpenDrawing(walker.mark)
    walker.has_drawings = True
    walker.mark = HIDE
    walker.text_parts.append(HIDE)
    return closing


# By tag number: a handler, or the mark of a block of text.
HANDLERS: dict[int, Handler | str] = {
    **dict.fromkeys(map(_tag_id, _BLOCK_ELEMENTS), BLOCK),
    **{_tag_id(name): MARKS[field] for name, field in _FIELD_BY_ELEMENT.items()},
    **dict.fromkeys(map(_tag_id, _HIDDEN_ELEMENTS), _skip),
    **dict.fromkeys(POSITION_BY_TAG, _landmark),
    **dict.fromkeys(_EMBED_BY_TAG, _embed),
    _tag_id("html"): _html,
    _tag_id("noframes"): _noframes,
    _tag_id("title"): _title,
    _tag_id("base"): _base,
    _tag_id("meta"): _meta,
    _tag_id("link"): _link,
    _tag_id("a"): _a,
    _tag_id("area"): _area,
    _tag_id("img"): _img,
    _tag_id("input"): _input,
    _tag_id("source"): _source,
    _tag_id("video"): _video,
    _tag_id("body"): _block_with_background,
    _tag_id("table"): _block_with_background,
    _tag_id("svg"): _svg,
    _tag_id("br"): _break,
}
