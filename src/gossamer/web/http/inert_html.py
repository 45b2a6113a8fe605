"""A stored page as HTML that opens no connection: known elements without the attributes that name other resources.

A content security policy stops requests, but browsers connect before it speaks: `<link rel=preconnect>` and
`<iframe src>` open TCP connections. So the page is written again from its tags. The result holds only tags and
attributes of the lists below; every other `<` is dropped or escaped. That holds however a browser would read the page.
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ELEMENT_NAMES = """
    a abbr acronym address article aside b bdi bdo big blockquote body br caption center cite code col colgroup data dd
    del details dfn dir div dl dt em fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hgroup hr
    html i img input ins kbd label legend li main mark menu nav nobr noscript ol optgroup option output p picture pre q
    rp rt ruby s samp search section select small span strike strong style sub summary sup table tbody td textarea tfoot
    th thead time title tr tt u ul var wbr
"""
ATTRIBUTE_NAMES = """
    abbr align alt aria-hidden aria-label bgcolor border cellpadding cellspacing checked class clear color cols colspan
    datetime dir disabled face for headers height hidden id label lang multiple name nowrap open placeholder readonly
    reversed role rows rowspan scope selected size span start style tabindex title type valign value width
"""
ELEMENTS, ATTRIBUTES = frozenset(ELEMENT_NAMES.split()), frozenset(ATTRIBUTE_NAMES.split())
LOCAL_URLS = {"href": "#", "src": "data:image/"}  # an anchor in this page, or a picture inside the attribute
# The content of these is no markup, up to their end tag (HTML, section 13.1.2).
RAW_TEXT = frozenset({"iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp"})
SHOWN_RAW_TEXT = frozenset({"style", "textarea", "title"})

TAG = re.compile(r"</?([a-zA-Z][^\s/>]*+)")
ATTRIBUTE = re.compile(r"""[\s/]*+([^\s/>=][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+)))?""")
TAG_END = re.compile(r"[^>]*+>")


def inert_html(text: str) -> str:
    """Return a page without anything that could make a browser connect."""
    doctype = "<!doctype html>" if text[:1_000].lstrip("\ufeff \t\r\n")[:9].lower() == "<!doctype" else ""
    return doctype + "".join(_inert_pieces(text))


def _inert_pieces(text: str) -> Iterator[str]:
    """Yield the page in one pass. Nothing is read twice, so the time grows with the length alone."""
    position = 0
    while (start := text.find("<", position)) >= 0:
        yield text[position:start]
        tag = TAG.match(text, start)
        if tag is None:
            position = _after_other_markup(text, start)
            if position == start + 1:
                yield "&lt;"
            continue
        name, is_end = tag[1].lower(), text[start + 1] == "/"
        attributes, position = _read_attributes(text, tag.end())
        if position < 0:
            return  # a browser drops a tag without an end, too
        if name in ELEMENTS:
            yield f"</{name}>" if is_end else f"<{name}{attributes}>"
        if name in RAW_TEXT and not is_end:
            raw, position = _raw_text(text, name, position)
            if name in SHOWN_RAW_TEXT:
                yield f"{raw.replace('<', '')}</{name}>"
    yield text[position:]


def _after_other_markup(text: str, start: int) -> int:
    """Return where a comment, doctype or instruction ends; the next character if `<` is text."""
    if text.startswith("<!--", start):
        end = text.find("-->", start + 4)
        return end + 3 if end >= 0 else len(text)
    if text.startswith(("<!", "<?", "</"), start):
        end = text.find(">", start)
        return end + 1 if end >= 0 else len(text)
    return start + 1


def _read_attributes(text: str, position: int) -> tuple[str, int]:
    """Return the attributes to keep and where the tag ends; -1 if it does not."""
    kept = []
    while found := ATTRIBUTE.match(text, position):
        position = found.end()
        name = found[1].lower()
        if name in ATTRIBUTES or name in LOCAL_URLS:
            value = unescape(found[2] or found[3] or found[4] or "")
            if name in ATTRIBUTES or value.startswith(LOCAL_URLS[name]):
                kept.append(f' {name}="{escape(value)}"')
    end = TAG_END.match(text, position)
    return "".join(kept), end.end() if end else -1


def _raw_text(text: str, name: str, start: int) -> tuple[str, int]:
    """Return the content of an element without markup, and the position after its end tag."""
    end = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(text, start)
    if end is None:
        return text[start:], len(text)
    close = text.find(">", end.end())
    return text[start : end.start()], close + 1 if close >= 0 else len(text)
