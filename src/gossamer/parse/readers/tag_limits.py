"""Cuts markup that would cost Lexbor quadratic time, before it builds a tree.

Lexbor searches the open elements at most tags, the attributes of a tag at each new one, and the options of a list. It
also opens unclosed formatting elements (`<b>`, `<font>`) again in every paragraph. A few kilobytes can so cost minutes.

Most pages have so few tags that the worst case is cheap, and `find_cut` only counts them. For the others it checks with
a regular expression. Only suspicious pages are read tag by tag, with an estimate of the work that is never too low.
"""

from __future__ import annotations

import re

from gossamer.basics.page_budget import MAX_ATTRIBUTES, MAX_NODES, MAX_TREE_STEPS
from gossamer.kernels import native

# In the worst case, a page within these limits takes a second (Lexbor of selectolax 0.4, a core of 2024).
_FEW_BYTES = 8 << 10
_FEW_TAGS = 2_000
_MANY_TAGS = 30_000  # beyond it, nesting alone can take more than a second
_MANY_OPTIONS = 8_000
_LONG_PAGE_BYTES = 128 << 10  # a shorter page has no room for enough attributes
_MAX_REOPENED = 1_500_000  # elements that Lexbor may open again: tags times unclosed formatting elements

_REOPEN_STEPS = 500  # an element opened again costs as much as so many steps over open elements
_FREE_REOPENED = 16  # unclosed formatting elements that honest pages have
_SAME_REOPENED = 3  # equal elements that are opened again: WHATWG HTML §13.2.4.3, the Noah's Ark clause
_RAW_TEXT = frozenset(b"script style textarea title xmp iframe noembed noframes".split())
_VOID = frozenset(b"area base br col embed hr img input link meta source track wbr frame param keygen".split())
# Elements that end the open one of their kind, so that they nest only inside others that are counted.
_IMPLIED_ENDS = frozenset(b"p li dd dt tr td th tbody thead tfoot option rb rt rp rtc colgroup".split())
_FORMATTING = frozenset(b"b big code em font i nobr s small strike strong tt u".split())
# An end tag has no effect beyond one of these (WHATWG HTML §13.2.4.2, "has an element in scope").
_SCOPES = frozenset(b"applet caption html table td th marquee object template select button svg math".split())
_SCOPES |= frozenset(b"foreignobject desc annotation-xml mi mo mn ms mtext title".split())
_FOREIGN = frozenset((b"svg", b"math"))
_CDATA = b"![CDATA["
_SPECIAL = (
    frozenset(
        b"address article aside blockquote body center details dialog dir div dl fieldset figcaption figure footer "
        b"form frameset h1 h2 h3 h4 h5 h6 head header hgroup listing main menu nav noscript ol plaintext pre search "
        b"section summary ul".split()
    )
    | _SCOPES
)

_ATTRIBUTE = rb"""[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\s>"'][^\s>]*+)?+)?+"""
_FORMATTING_WITH_ATTRIBUTES = re.compile(
    rb"<(?=[biusetcfn])(?:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)[\s/]", re.IGNORECASE
)
_OPTION = re.compile(rb"<option", re.IGNORECASE)
_TOO_MANY_ATTRIBUTES = re.compile(rb"<[a-zA-Z][^\s/>]*+(?:%b){%d}" % (_ATTRIBUTE, MAX_ATTRIBUTES))
_TOKEN = re.compile(
    rb"<(?:(?P<comment>!--)(?:-?>|.*?(?:--!?>|\Z))|(?P<cdata>!\[CDATA\[)|[!?][^>]*+"
    rb"|(?P<end>/?)(?P<name>[a-zA-Z][^\s/>]*+)(?P<attributes>(?:%b)*+)[\s/]*+>?)" % _ATTRIBUTE,
    re.DOTALL,
)


def find_cut(html: bytes) -> int | None:
    """Return where the markup becomes too expensive for Lexbor; None: it is affordable as a whole."""
    return native.find_cut(html) if native else find_cut_in_python(html)


def find_cut_in_python(html: bytes) -> int | None:
    """Do the same without a kernel."""
    if len(html) <= _FEW_BYTES:
        return None
    tags = html.count(b"<")
    if tags <= _FEW_TAGS and len(html) <= _LONG_PAGE_BYTES:
        return None
    return _TagReader(html).find_cut() if _is_suspicious(html, tags) else None


def _is_suspicious(html: bytes, tags: int) -> bool:
    """Return whether the markup could be too expensive, by regular expressions alone."""
    if tags > _MANY_TAGS:
        return True
    if tags > _FEW_TAGS and len(_FORMATTING_WITH_ATTRIBUTES.findall(html)) * tags > _MAX_REOPENED:
        return True
    if tags > _MANY_OPTIONS and len(_OPTION.findall(html)) > _MANY_OPTIONS:
        return True
    return len(html) > _LONG_PAGE_BYTES and _TOO_MANY_ATTRIBUTES.search(html) is not None


class _TagReader:
    """Reads tag by tag and adds up the work. In doubt an element stays open, so the sum is never too low."""

    def __init__(self, html: bytes) -> None:
        self._html = html
        self._open: list[bytes] = []  # names of open elements
        self._open_counts: dict[bytes, int] = {}
        self._reopened: dict[bytes, list[tuple[int, bytes]]] = {}  # formatting elements: scope, attributes; by name
        self._reopened_total = 0
        self._scope = 0  # a number for each element that separates formatting elements inside from those outside
        self._has_foreign = False  # SVG or MathML came: what is raw text is uncertain from here on
        self._options = 0  # of the current list
        self._body_attributes = 0  # of all <html> and <body> tags, which Lexbor merges
        self._uncertain_until = 0  # end tags before this offset may be text
        self._ends: dict[bytes, int] = {}  # by name of raw text: its next end, so that no text is searched twice
        self._steps = 0

    def find_cut(self) -> int | None:
        """Return the offset of the first tag that is over the budget, None if there is none."""
        html, offset, tags = self._html, 0, 0
        while token := _TOKEN.search(html, offset):
            offset = token.end()
            name = token["name"]
            if name is None:
                self._skip_declaration(token)
                continue
            tags += 1
            name = name.lower()
            if token["end"]:
                if token.start() >= self._uncertain_until:
                    self._close(name)
            elif not self._start(name, token["attributes"]):
                return token.start()
            elif name in _RAW_TEXT:
                offset = self._skip_raw_text(name, offset)
            elif name == b"plaintext" and not self._has_foreign:
                return None
            self._steps += len(self._open) + self._reopened_total
            if tags > MAX_NODES or self._steps > MAX_TREE_STEPS:
                return token.start()
        return None

    def _skip_declaration(self, token: re.Match[bytes]) -> None:
        if token["cdata"]:  # in HTML a comment up to ">", in SVG text up to "]]>"
            if token.end() > self._ends.get(_CDATA, 0):
                end = self._html.find(b"]]>", token.end())
                self._ends[_CDATA] = end if end >= 0 else len(self._html)
            self._uncertain_until = max(self._uncertain_until, self._ends[_CDATA])

    def _skip_raw_text(self, name: bytes, offset: int) -> int:
        """Return the offset behind raw text. After SVG it may be markup: only its end tags are ignored."""
        if offset > self._ends.get(name, 0):
            end = re.compile(rb"</%b(?=[\s/>])" % re.escape(name), re.IGNORECASE).search(self._html, offset)
            self._ends[name] = end.start() if end else len(self._html)
        end_offset = self._ends[name]
        if self._has_foreign:
            self._uncertain_until = max(self._uncertain_until, end_offset)
            return offset
        return end_offset

    def _start(self, name: bytes, attributes: bytes) -> bool:
        """Open an element; return whether it is affordable."""
        if len(attributes) > MAX_ATTRIBUTES and _TOO_MANY_ATTRIBUTES.match(b"<a " + attributes):
            return False
        if name == b"option":
            self._options += 1
            self._steps += 2 * self._options
        elif name == b"select":
            self._options = 0
        elif name in (b"html", b"body"):
            self._body_attributes += len(attributes) // 4
            self._steps += self._body_attributes * (1 + len(attributes) // 4)
        elif self._reopened_total > _FREE_REOPENED and name not in _VOID:
            self._steps += _REOPEN_STEPS * self._reopened_total
        if name in _FORMATTING:
            self._open_formatting(name, attributes)
        elif name in _SCOPES:
            self._scope += 1
            self._has_foreign = self._has_foreign or name in _FOREIGN
        if name not in _VOID and name not in _IMPLIED_ENDS and name not in _RAW_TEXT:
            self._open.append(name)
            self._open_counts[name] = self._open_counts.get(name, 0) + 1
        return True

    def _open_formatting(self, name: bytes, attributes: bytes) -> None:
        entries = self._reopened.setdefault(name, [])
        entry = (self._scope, attributes)
        if entries[-_SAME_REOPENED:].count(entry) < _SAME_REOPENED:
            entries.append(entry)
            self._reopened_total += 1

    def _close(self, name: bytes) -> None:
        """Close the open elements that an end tag closes for certain."""
        if name in _FORMATTING:
            entries = self._reopened.get(name)
            if entries and entries[-1][0] == self._scope:
                entries.pop()
                self._reopened_total -= 1
        opened = self._open
        if not self._open_counts.get(name):
            return
        stops = _SCOPES if name in _SPECIAL else _SPECIAL
        at = len(opened) - 1
        while opened[at] != name:
            if opened[at] in stops:
                return
            at -= 1
        for closed in opened[at:]:
            self._open_counts[closed] -= 1
        del opened[at:]
