"""Collects the links of a page as bonds, for all kinds of documents.

A bond is one row per (target, kind, follow, anchor) and counts its occurrences. This module also parses URLs outside of
an `href` (Link and Refresh headers, `srcset`) and the meaning of a `rel`.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from gossamer.model import Kind, Links, PageLink
from gossamer.parse.readers.text import clean_all
from gossamer.urls.canonical import CACHED_HREFS, CACHED_LENGTH, SCHEMES, canonicalize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MAX_ANCHOR = 500  # characters of anchor text kept; longer ones are not read by people
_MAX_REL = 200  # characters of a rel kept
_MAX_URL = 64 << 10  # characters; no server accepts a longer one
_MAX_CACHED_TARGETS = 100_000  # hrefs of a page
_MAX_CHARACTERS = 16 << 20  # of all URLs of a page: with a long <base> every short href becomes long
# Simple hrefs stay cached for the pages of a directory, because three of four occur again: at most 45 MB.
_CACHED_DIRECTORIES = 256
_MAX_CACHED_PER_DIRECTORY = 500

# What the rel of a <link> leads to. Hints about hosts name no resource; only browsers fetch the targets of other rels.
_REL_KINDS = {
    "canonical": Kind.CANONICAL,
    "stylesheet": Kind.STYLE,
    "alternate": Kind.ALTERNATE,
    **dict.fromkeys(
        (
            "next", "prev", "previous", "first", "last", "start", "begin", "end", "up", "top", "home", "contents",
            "toc", "index", "chapter", "section", "subsection", "appendix", "glossary", "help", "author", "license",
            "copyright", "search", "bookmark", "archives", "terms-of-service", "privacy-policy", "amphtml", "shortlink",
        ),
        Kind.RELATED,
    ),
}  # fmt: skip
_HOST_HINTS = frozenset({"dns-prefetch", "preconnect"})

# Headers and attributes are hostile too: quantifiers are possessive, and no search restarts at every position.
_LINK_VALUE = re.compile(r"""[\s,]*+<([^<>]*+)>((?:[^,"]++|"(?:[^"\\]++|\\.)*+(?:"|$))*+)""")  # RFC 8288 §3
_LINK_PARAMETER = re.compile(r""";\s*+([^\s=;,"]++)\s*+=\s*+(?:"((?:[^"\\]++|\\.)*+)"|([^\s;,"]*+))""")
# WHATWG HTML §4.2.5.3 (shared declarative refresh steps): a time, then a URL, with or without "url=" and quotes.
_REFRESH = re.compile(
    r"""\s*+(?:[0-9]++|(?=\.))[0-9.]*+(?:\s*+[;,]\s*+|\s++)(?:url\s*+=\s*+)?+(?:"([^"]*+)|'([^']*+)|(.++))""",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)
# WHATWG HTML §4.8.4.2.2: a URL up to a blank (it may contain commas, not end in one), then descriptors up to a comma.
_SRCSET_URL = re.compile(r"[\s,]*+([^\s,]\S*+)", re.ASCII)
_SRCSET_DESCRIPTORS = re.compile(r"[^,(]*+(?:\([^)]*+\)?[^,(]*+)*+")

# "page.html", "../a/b/": most hrefs of most sites. They have dot segments only at the start, no scheme, and nothing to
# encode. So the URL is the base's directory plus this, without a URL parser (0.7 µs against 2.6).
_SIMPLE_HREF = re.compile(
    r"((?:\.\./)*+)((?:[A-Za-z0-9_-][A-Za-z0-9._-]*+/)*+(?:[A-Za-z0-9_-][A-Za-z0-9._-]*+)?)(?<=.)"
)
_SLASH = re.compile("/")

if TYPE_CHECKING:
    Bond = tuple[str, int, bool, str]  # url, kind, follow, anchor
    FoundLink = tuple[str, int, str, str, int]  # a link as written: href, kind, text, rel, position
    BondRow = list[Any]  # weight, position, rel; a list, because the innermost loop increments the weight


class LinkCollector:
    """The links of one page. `base` may change until the first link is added."""

    def __init__(self, base: str, max_links: int) -> None:
        self.base = base  # canonical URL; hrefs are relative to it
        self.dropped = 0  # links left out
        self._max_links = max_links
        self._characters_left = _MAX_CHARACTERS
        self._targets: dict[str, str | None] = {}  # href without fragment -> canonical URL
        self._directory_cache: dict[str, str] = {}  # the same for simple hrefs, shared by the pages of a directory
        self._rows: dict[Bond, BondRow] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, href: str, kind: int, anchor: str = "", rel: str = "", position: int = 0) -> None:
        """Count one occurrence of a link. `rel` comes from `normalize_rel`, `anchor` is collapsed."""
        url = self._targets.get(href.partition("#")[0]) or self.resolve_href(href)
        if url is None:
            return
        bond = (url, kind, not rel or "nofollow" not in rel.split(), anchor)
        rows = self._rows
        if bond in rows:
            rows[bond][0] += 1
        elif len(rows) < self._max_links:
            rows[bond] = [1, position, rel]
        else:
            self.dropped += 1

    def add_all(self, found_links: Sequence[FoundLink]) -> None:
        """Add many links at once; their texts need not be collapsed."""
        hrefs, kinds, texts, rels, positions = zip(*found_links, strict=True)
        anchors = clean_all(texts, MAX_ANCHOR)
        rows = self._rows
        if len(rows) + len(found_links) > self._max_links:  # not all may fit
            for link in zip(hrefs, kinds, anchors, rels, positions, strict=True):
                self.add(*link)
            return
        self._targets[""] = self.base
        self._directory_cache = _cache_for_directory(self._directory)
        directory_cache, resolve = self._directory_cache, self._resolve_cached
        urls = [directory_cache.get(href) or resolve(href) for href in hrefs]
        follows = [not rel or "nofollow" not in rel.split() for rel in rels]
        bonds: Iterator[Any] = zip(urls, kinds, follows, anchors, strict=True)  # Bond, or None in place of its URL
        for bond, position, rel in zip(bonds, positions, rels, strict=True):
            if bond in rows:
                rows[bond][0] += 1
            elif bond[0] is not None:
                rows[bond] = [1, position, rel]

    def _resolve_cached(self, href: str) -> str | None:
        key = href.partition("#")[0]
        return self._directory_cache.get(key) or self._targets.get(key) or self.resolve_href(href)

    def resolve_href(self, href: str) -> str | None:
        """Return the canonical URL of an href on this page; None when there is none to visit."""
        targets = self._targets
        key = plain = href.partition("#")[0]  # in an http URL the first "#" always begins the fragment
        if not plain:
            return self.base
        if plain[-1] <= " ":  # a blank is stripped at the end of an href, but not before a "#"
            plain, key = href, href + "#"  # a key that differs from every href without its fragment
        if key in targets:
            return targets[key]
        if len(plain) > _MAX_URL or self._characters_left <= 0 or len(self._rows) >= self._max_links:
            self.dropped += plain[:5].lower() != "data:"
            return None
        url = self._resolve(plain)
        self._characters_left -= len(url or plain)
        if len(targets) < _MAX_CACHED_TARGETS:
            targets[key] = url
        return url

    def _resolve(self, href: str) -> str | None:
        simple = _split_simple_href(href) if len(href) <= CACHED_LENGTH else None
        if simple is None:
            base = None if href.startswith(SCHEMES) else self.base  # without a base, more hrefs share a cache entry
            return canonicalize(href, base)
        up, rest = simple
        ancestors = self._ancestors
        url = ancestors[up] + rest if up < len(ancestors) else ancestors[-1] + rest
        if len(self._directory_cache) < _MAX_CACHED_PER_DIRECTORY and len(url) <= CACHED_LENGTH:
            self._directory_cache[href] = url
        return url

    @property
    def _directory(self) -> str:
        path = self.base.partition("?")[0]
        return path[: path.rfind("/", 8) + 1] or path

    @cached_property
    def _ancestors(self) -> list[str]:
        """The base's directory, its parent and so on: simple hrefs are relative to one of these."""
        path = self.base.partition("?")[0]
        ends = [slash.end() for slash in _SLASH.finditer(path, path.index("/", 8))]
        return [path[:end] for end in reversed(ends)]

    def links(
        self,
        digest: Callable[[str], bytes],
        *,
        nofollow: bool = False,
        keep_all: bool = True,
        has_rules: bool = True,  # noqa: ARG002  for collectors that know digests themselves
    ) -> Links:
        """Return the bonds as columns.

        `nofollow`: the page asks it for all its links. Without `keep_all`: one row per target, enough to follow it.
        `has_rules`: digests depend on more than the spelling of URLs.
        """
        rows = self._rows
        if nofollow:
            rows = _merge_rows(rows, lambda bond: (bond[0], bond[1], False, bond[3]))
        if not keep_all:
            rows = _merge_by_target(rows)
        if not rows:
            return Links()
        urls, kinds, follows, anchors = map(list, zip(*rows, strict=True))
        weights, positions, rels = map(list, zip(*rows.values(), strict=True))
        columns = (map(digest, urls), urls, kinds, follows, anchors, weights, rels, positions)
        return Links.pack(map(PageLink, *columns))

    def describe_dropped(self) -> str:
        """Return the number of dropped links in words, "" for none."""
        return f"{self.dropped:,} more link{'s' if self.dropped > 1 else ''} left out" if self.dropped else ""


@lru_cache(_CACHED_DIRECTORIES)
def _cache_for_directory(directory: str) -> dict[str, str]:  # noqa: ARG001  the key
    return {}


@lru_cache(CACHED_HREFS)
def _split_simple_href(href: str) -> tuple[int, str] | None:
    """Return how many directories a simple href goes up, and the rest of it; the cache answers 7 to 9 of 10 calls."""
    simple = _SIMPLE_HREF.fullmatch(href)
    return (len(simple[1]) // 3, simple[2]) if simple else None


def _merge_rows(rows: dict[Bond, BondRow], merged_bond: Callable[[Bond], Bond]) -> dict[Bond, BondRow]:
    merged: dict[Bond, BondRow] = {}
    for bond, row in rows.items():
        kept = merged.setdefault(merged_bond(bond), [0, *row[1:]])
        kept[0] += row[0]
    return merged


def _merge_by_target(rows: dict[Bond, BondRow]) -> dict[Bond, BondRow]:
    """Keep one row per target, of its strongest bond: followed ones first, then links before embeds."""
    strongest: dict[str, Bond] = {}
    for bond in rows:
        best = strongest.get(bond[0])
        if best is None or (not bond[2], bond[1]) < (not best[2], best[1]):
            strongest[bond[0]] = bond
    return _merge_rows(rows, lambda bond: (*strongest[bond[0]][:3], ""))


def normalize_rel(rel: str) -> str:
    """Return a rel attribute in lower case, with single blanks."""
    return " ".join(rel[:_MAX_REL].lower().split())


def rel_kind(rel: str) -> Kind | None:
    """Return what a `<link>` with this rel leads to; None when it names no resource."""
    words = rel.split()
    if "stylesheet" in words:  # also in "alternate stylesheet"
        return Kind.STYLE
    kinds = [kind for word in words if (kind := _REL_KINDS.get(word))]
    if kinds:
        return min(kinds)
    return None if not words or _HOST_HINTS.issuperset(words) else Kind.OTHER


def parse_link_header(value: str) -> Iterator[tuple[str, str, str]]:
    """Yield target, rel and title of each link in a Link header (RFC 8288 §3), except links of other resources."""
    offset = 0
    while match := _LINK_VALUE.match(value, offset):
        offset = match.end()
        parameters: dict[str, str] = {}
        for name, quoted, token in _LINK_PARAMETER.findall(match[2]):
            parameters.setdefault(name.lower(), quoted or token)  # RFC 8288 §3.3: the first rel counts
        if "anchor" not in parameters:
            yield match[1].strip(), normalize_rel(parameters.get("rel", "")), parameters.get("title", "")


def refresh_target(value: str) -> str | None:
    """Return the URL in a Refresh header or meta element; None when it only reloads the page."""
    match = _REFRESH.match(value)
    return next(filter(None, match.groups()), None) if match else None


def srcset_urls(value: str) -> Iterator[str]:
    """Yield the URLs in a srcset."""
    offset = 0
    while match := _SRCSET_URL.match(value, offset):
        url, offset = match[1], match.end()
        if not url.endswith(","):  # a comma at the end: no descriptors, the next candidate follows
            descriptors = _SRCSET_DESCRIPTORS.match(value, offset)
            offset = descriptors.end() if descriptors else offset
        yield url.rstrip(",")
