"""Reads a page both ways, and mutates pages so that the two ways could differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gossamer.parse.readers.fast_html import read_ordinary_html
from gossamer.parse.readers.html import read_any_html
from gossamer.parse.readers.tag_limits import find_cut
from gossamer.parse.readers.text import pack_runs, page_runs, unpack_runs
from gossamer.urls.canonical import url_digest

if TYPE_CHECKING:
    from random import Random

    from gossamer.parse.readers.document import ParsedDocument

MAX_LINKS = 50_000
TAGS = (
    "a", "abbr", "address", "article", "aside", "audio", "b", "base", "big", "blockquote", "body", "br", "button",
    "caption", "center", "code", "col", "colgroup", "dd", "details", "dialog", "dir", "div", "dl", "dt", "em",
    "embed", "fieldset", "figcaption", "figure", "font", "footer", "form", "frame", "frameset", "g", "h1", "h2", "h3",
    "h6", "head", "header", "hgroup", "hr", "html", "i", "iframe", "image", "img", "input", "label", "legend", "li",
    "link", "listing", "main", "map", "mark", "marquee", "math", "menu", "meta", "nav", "nobr", "noembed", "noframes",
    "noscript", "object", "ol", "optgroup", "option", "p", "param", "path", "picture", "plaintext", "pre", "q", "rp",
    "rt", "ruby", "s", "script", "search", "section", "select", "small", "source", "span", "strike", "strong",
    "style", "sub", "summary", "sup", "svg", "table", "tbody", "td", "template", "text", "textarea", "tfoot", "th",
    "thead", "title", "tr", "track", "tt", "u", "ul", "use", "var", "video", "wbr", "x-y", "xmp",
)  # fmt: skip
INTERLEAVING = ("a", "b", "font", "i", "p", "div", "span", "table", "td", "li", "h1", "form", "button", "object", "svg")
ATTRIBUTES = (
    "href=x", 'href="../a/b.html#c"', "href='/d?e=1&amp;f=2'", "href", "HREF=http://example.org", "href='a b'",
    "src=i.png", 'alt="a  b"', "rel='NoFollow me'", "rel=canonical", "rel=stylesheet", "role=navigation",
    'role="main"', "role = banner", "name=description", "name=robots", "content='x, y'", "lang=de", "type=hidden",
    "type=image", "class=a", "background=b", 'srcset="a 1x, b 2x"', "title=t", "poster=p", "data=d",
    "http-equiv=content-language", "a=b", "/", "=", '"', "a='", "href=y", "xlink:href=z", "href=javascript:x",
    "href=?q", "href=//h/p", "href='http://A.b:80/'",
)  # fmt: skip
STARTS = (
    "",
    "<!doctype html>",
    "<!DOCTYPE html><html><head><title>t</title></head><body>",
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "x"><p>',
    "<!DOCTYPE HTML PUBLIC '-//W3C//DTD HTML 4.01 Transitional//EN'><p>",
    '<!doctype html public "-//W3C//DTD HTML 4.01 Transitional//EN" "x"><p>',
    '<!doctype html public "-//W3C//DTD HTML 4.01//EN"><p>',
)
PIECES = (
    "text", " ", "\n", "&amp;", "&nbsp;", "&lt;b", "&copy", "&copy;", "&#39;", "&#x41;", "&#128;", "&bogus;", "& ",
    "<!-- c -->", "<!-->", "<!--->", "<!--", "-->", "<!doctype html>", "<![CDATA[x]]>", "<?php ?>", "</>", "< ",
    "</ x>", "<", ">", "\r\n", "\t", "ä", "\u00a0", "\u3000", "日本", "</p", "<a href='", '"', "'", "<p/>", "<br/>",
    "<svg><path d=x /></svg>", "<svg/>", "<svg><title>t</title></svg>", "<table><tr><td>", "</td></tr></table>",
    "<a href=q><img alt=i src=j></a>", "<ul><li>", "<select><option>o</select>", "<script><!-- <script> --></script>",
    "<b><p></b></p>", "\x0c", "\x0b", "\x1c", "\ufeff", "</br>",
)  # fmt: skip


def page_content(document: ParsedDocument, *, keep_all: bool = True) -> dict[str, Any]:
    """Return all that a document says, by name."""
    packed = document.packed_runs or pack_runs(page_runs(document.title, document.description, document.runs))
    names = ("title", "description", "language", "canonical", "robots", "noindex", "reason", "cut")
    links = document.bonds.links(url_digest, keep_all=keep_all, has_rules=False)
    columns = {name: getattr(links, name) for name in links.__struct_fields__}
    return {
        **{name: getattr(document, name) for name in names},
        **columns,
        "base": document.bonds.base,
        "dropped": document.bonds.dropped,
        "runs": unpack_runs(packed),
    }


def find_differences(html: bytes, url: str, *, keep_anchors: bool = True) -> dict[str, tuple[Any, Any]] | None:
    """Return what differs between the fast and the sure way; None if the fast way is not sure of the page."""
    cut = find_cut(html)
    fast = read_ordinary_html(html, url, MAX_LINKS, keep_anchors=keep_anchors) if cut is None else None
    if fast is None:
        return None
    sure = page_content(read_any_html(html, url, MAX_LINKS, keep_anchors=keep_anchors, cut=None), keep_all=keep_anchors)
    ours = page_content(fast, keep_all=keep_anchors)
    return {name: (ours[name], sure[name]) for name in sure if ours[name] != sure[name]}


def random_tag(rng: Random) -> str:
    """Return a start or end tag, sometimes an odd one."""
    name = rng.choice(TAGS if rng.random() < 0.5 else INTERLEAVING)
    if rng.random() < 0.1:
        name = name.upper()
    if rng.random() < 0.4:
        return f"</{name}>"
    attributes = "".join(f" {rng.choice(ATTRIBUTES)}" for _ in range(rng.choice((0, 0, 1, 1, 2, 3))))
    return f"<{name}{attributes}>"


def random_page(rng: Random, length: int) -> bytes:
    """Return a page of tags and pieces."""
    start = rng.choice(STARTS)
    pieces = (random_tag(rng) if rng.random() < 0.6 else rng.choice(PIECES) for _ in range(rng.randint(1, length)))
    return (start + "".join(pieces)).encode()


def mutate_page(html: bytes, rng: Random) -> bytes:
    """Return a page with a few changes: parts removed, repeated, moved, inserted."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        at = rng.randrange(len(html) + 1)
        tag_start = html.rfind(b"<", 0, at)
        tag_end = html.find(b">", at) + 1
        match rng.randrange(8):
            case 0:
                html = html[:at] + random_tag(rng).encode() + html[at:]
            case 1:
                html = html[:at] + rng.choice(PIECES).encode() + html[at:]
            case 2 if tag_start >= 0:  # at the start of a tag
                html = html[:tag_start] + random_tag(rng).encode() + html[tag_start:]
            case 3 if 0 <= tag_start < tag_end:  # without a tag
                html = html[:tag_start] + html[tag_end:]
            case 4:
                html = html[:at] + html[at + rng.choice((1, 1, 2, 5, 20, 200)) :]
            case 5:
                other = rng.randrange(len(html) + 1)
                html = html[:at] + html[other : other + rng.choice((5, 20, 100, 500))] + html[at:]
            case 6 if tag_start >= 0:  # another attribute
                name_end = html.find(b" ", tag_start)
                if name_end >= 0:
                    html = html[:name_end] + b" " + rng.choice(ATTRIBUTES).encode() + html[name_end:]
            case _:
                html = html[:tag_start] + rng.choice(PIECES).encode() + html[max(tag_start, 0) :]
    return html
