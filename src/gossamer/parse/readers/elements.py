"""What HTML's elements mean to a crawler: links, metadata, where text stops and goes on.

A handler is called when an element begins and answers what is to be done when it ends (see `html.Walk`). Elements
without one are inline: they neither separate words nor hold links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from gossamer.model import Field, Kind, Position
from gossamer.parse.readers.document import MAX_DESCRIPTION, MAX_TITLE
from gossamer.parse.readers.links import kind_of_rel, refresh_target, rel_list, srcset_urls
from gossamer.parse.readers.text import clean
from gossamer.urls.canonical import canonicalize

if TYPE_CHECKING:
    from collections.abc import Callable

    from selectolax.lexbor import LexborNode

    from gossamer.parse.readers.html import Walk

# Marks in the text, words of their own that begin with NUL, which the HTML parser lets nobody write (dropped or
# replaced, WHATWG HTML §13.2.5).
BLOCK = " \0 "  # stands between two blocks
MARKS = tuple(f" \0{int(field)} " for field in Field)  # what follows stands in this field
HIDE, SHOW = " \0- ", " \0+ "  # what stands between is no page text
FIRM = frozenset({*MARKS[Field.H1 : Field.H6 + 1], HIDE})  # hold for paragraphs within as well
SKIP = "skip"  # a handler's answer: do not look at the content
MAX_OPEN_ANCHORS = 8  # they nest in broken pages only; without a bound, gathering their texts would be quadratic
BATCH = 4096  # links gathered before they are counted: most pages have fewer, and a page of millions must not hold all
HYPERLINK = int(Kind.HYPERLINK)


class Anchor(NamedTuple):
    """An `<a href>` that is open."""

    href: str
    rel: str
    place: int  # among the links found
    parts: int  # pieces of text before it
    alts: int  # alt texts before it


class Drawing(NamedTuple):
    """An `<svg>` that is open."""

    mark: str  # of the field it stands in


class Landmark(NamedTuple):
    """A landmark that is open."""

    before: int  # position that holds again behind it


if TYPE_CHECKING:
    # At an element's end: a block ends, go back to the field of this mark, close one of the above, do nothing.
    Closing = str | Anchor | Drawing | Landmark | None
    Handler = Callable[[Walk, LexborNode], Closing]

ROLES = {
    "navigation": int(Position.NAV),
    "banner": int(Position.HEADER),
    "contentinfo": int(Position.FOOTER),
    "complementary": int(Position.ASIDE),
    "main": int(Position.CONTENT),
}
_LANDMARKS = {
    "head": int(Position.HEAD),
    "nav": int(Position.NAV),
    "header": int(Position.HEADER),
    "footer": int(Position.FOOTER),
    "aside": int(Position.ASIDE),
    "main": int(Position.CONTENT),
}
_FIELDS = {"p": Field.PARAGRAPH, **{f"h{level}": Field(level) for level in range(1, 7)}}
_BLOCKS = (
    "address", "article", "blockquote", "button", "caption", "center", "dd", "details", "dialog", "dir", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "form", "frameset", "hgroup", "hr", "legend", "li", "menu", "noscript",
    "ol", "optgroup", "option", "pre", "search", "section", "select", "summary", "tbody", "td", "textarea", "tfoot",
    "th", "thead", "tr", "ul",
)  # fmt: skip
_UNSEEN = ("datalist", "noembed", "style", "template")
_EMBEDS = {  # element -> attribute, kind
    "frame": ("src", Kind.FRAME),
    "iframe": ("src", Kind.FRAME),
    "script": ("src", Kind.SCRIPT),
    "audio": ("src", Kind.MEDIA),
    "track": ("src", Kind.MEDIA),
    "embed": ("src", Kind.MEDIA),
    "object": ("data", Kind.MEDIA),
}

_new_node = LexborHTMLParser("").create_node


def _tag(name: str) -> int:
    """Lexbor's number of an element, the same in every document."""
    return _new_node(name).tag_id


def _text_tag() -> int:
    text = LexborHTMLParser("text").css("body")[0].first_child
    assert text is not None
    return text.tag_id


TEXT_NODE = _text_tag()  # Lexbor gives text nodes a tag number too
LANDMARK_BY_TAG = {_tag(name): position for name, position in _LANDMARKS.items()}
_EMBED_BY_TAG = {_tag(name): embed for name, embed in _EMBEDS.items()}
_RAW_TEXT = frozenset({_tag("iframe"), _tag("script")})  # embeds whose content is not markup


def _landmark(walk: Walk, node: LexborNode) -> Closing:
    return walk.enter(walk.roles.get(node.mem_id, LANDMARK_BY_TAG[node.tag_id]))


def _break(walk: Walk, _: LexborNode) -> Closing:
    walk.parts.append(" ")
    return None


def _skip(_: Walk, __: LexborNode) -> Closing:
    return SKIP


def _html(walk: Walk, node: LexborNode) -> Closing:
    attributes = node.attributes
    walk.document.language = attributes.get("lang") or attributes.get("xml:lang") or walk.document.language
    return None


def _noframes(walk: Walk, node: LexborNode) -> Closing:
    """What a page shows without frames: markup that the HTML parser takes for text."""
    if walk.frameless is not None:
        walk.frameless.append(node.text())
    return SKIP


def _title(walk: Walk, node: LexborNode) -> Closing:
    if walk.mark is not HIDE:
        walk.document.title = walk.document.title or clean(node.text(), MAX_TITLE)
    elif walk.open_anchors:  # a drawing's title is like an image's alt
        walk.alts.append(node.text())
    return SKIP


def _base(walk: Walk, node: LexborNode) -> Closing:
    """The first one with an href counts (WHATWG HTML §4.2.3); if that is broken, the page's own URL does."""
    attributes = node.attributes
    if not walk.base and "href" in attributes:
        walk.base = canonicalize(attributes["href"] or "", walk.url) or walk.url
        if not walk.found and not len(walk.bonds):
            walk.bonds.base = walk.base
    return None


def _meta(walk: Walk, node: LexborNode) -> Closing:
    attributes = node.attributes
    content = attributes.get("content")
    if not content:
        return None
    name = (attributes.get("name") or "").strip().lower()
    pragma = (attributes.get("http-equiv") or "").strip().lower()
    if name == "description":
        walk.document.description = walk.document.description or clean(content, MAX_DESCRIPTION)
    elif name:
        walk.document.robots.append((name, content))
    elif pragma == "refresh":
        walk.link(refresh_target(content), Kind.REFRESH)
    elif pragma == "content-language":
        walk.document.language = walk.document.language or content
    return None


def _link(walk: Walk, node: LexborNode) -> Closing:
    attributes = node.attributes
    href = attributes.get("href")
    rel = rel_list(attributes.get("rel") or "")
    kind = kind_of_rel(rel)
    if href and kind:
        if kind is Kind.CANONICAL and not walk.document.canonical:
            walk.document.canonical = walk.bonds.target(href) or ""
        walk.link(href, kind, attributes.get("title"), rel)
    return None


def _a(walk: Walk, node: LexborNode) -> Closing:
    attributes = node.attributes
    href = attributes.get("href")
    if href is None:
        href = "" if "href" in attributes else attributes.get("xlink:href")  # an empty one leads to the page itself
        if href is None:
            return None
    rel = attributes.get("rel")
    rel = rel_list(rel) if rel else ""
    found = walk.found
    if len(found) >= BATCH:
        walk.count_batch()
    if not walk.anchors or walk.open_anchors == MAX_OPEN_ANCHORS:
        found.append((href, HYPERLINK, "", rel, walk.position))
        return None
    child = node.first_child
    if child is not None and child.tag_id == TEXT_NODE and child.next is None:  # nothing but text: most are
        text = child.text_content or ""
        walk.parts.append(text)
        found.append((href, HYPERLINK, text, rel, walk.position))
        return SKIP
    walk.open_anchors += 1
    found.append((href, HYPERLINK, "", rel, walk.position))  # its text is put in at its end
    return Anchor(href, rel, len(found) - 1, len(walk.parts), len(walk.alts))


def _area(walk: Walk, node: LexborNode) -> Closing:
    attributes = node.attributes
    if "href" in attributes:
        walk.link(
            attributes["href"] or "#", Kind.HYPERLINK, attributes.get("alt"), rel_list(attributes.get("rel") or "")
        )
    return None


def _img(walk: Walk, node: LexborNode) -> Closing:
    attributes = node.attributes
    alt = attributes.get("alt")
    if alt and walk.open_anchors:
        walk.alts.append(alt)
    source, candidates = attributes.get("src"), attributes.get("srcset")
    walk.link(source, Kind.IMAGE, alt)
    if candidates:
        for href in dict.fromkeys(srcset_urls(candidates)):
            walk.link(href if href != source else None, Kind.IMAGE, alt)
    return None


def _input(walk: Walk, node: LexborNode) -> Closing:
    attributes = node.attributes
    if (attributes.get("type") or "").lower() == "image":
        walk.link(attributes.get("src"), Kind.IMAGE, attributes.get("alt"))
    return None


def _source(walk: Walk, node: LexborNode) -> Closing:
    attributes = node.attributes
    walk.link(attributes.get("src"), Kind.MEDIA)
    for href in dict.fromkeys(srcset_urls(attributes.get("srcset") or "")):
        walk.link(href, Kind.IMAGE)
    return None


def _video(walk: Walk, node: LexborNode) -> Closing:
    attributes = node.attributes
    walk.link(attributes.get("src"), Kind.MEDIA)
    walk.link(attributes.get("poster"), Kind.IMAGE)
    return None


def _embed(walk: Walk, node: LexborNode) -> Closing:
    tag = node.tag_id
    attribute, kind = _EMBED_BY_TAG[tag]
    walk.link(node.attributes.get(attribute), kind)
    return SKIP if tag in _RAW_TEXT else None


def _with_background(walk: Walk, node: LexborNode) -> Closing:
    walk.link(node.attributes.get("background"), Kind.OTHER)
    walk.parts.append(BLOCK)
    return BLOCK


def _svg(walk: Walk, _: LexborNode) -> Closing:
    """A drawing's text is no page text, but its links are links."""
    if walk.mark is HIDE:
        return None  # a drawing in a drawing
    closing = Drawing(walk.mark)
    walk.drawn = True
    walk.mark = HIDE
    walk.parts.append(HIDE)
    return closing


# By tag number: a handler, or for blocks of text their mark.
HANDLERS: dict[int, Handler | str] = {
    **dict.fromkeys(map(_tag, _BLOCKS), BLOCK),
    **{_tag(name): MARKS[field] for name, field in _FIELDS.items()},
    **dict.fromkeys(map(_tag, _UNSEEN), _skip),
    **dict.fromkeys(LANDMARK_BY_TAG, _landmark),
    **dict.fromkeys(_EMBED_BY_TAG, _embed),
    _tag("html"): _html,
    _tag("noframes"): _noframes,
    _tag("title"): _title,
    _tag("base"): _base,
    _tag("meta"): _meta,
    _tag("link"): _link,
    _tag("a"): _a,
    _tag("area"): _area,
    _tag("img"): _img,
    _tag("input"): _input,
    _tag("source"): _source,
    _tag("video"): _video,
    _tag("body"): _with_background,
    _tag("table"): _with_background,
    _tag("svg"): _svg,
    _tag("br"): _break,
}
