"""URLs that scripts would turn into links: in JSON-LD, in `data-href` and in the inline state of frameworks.

They are guesses: a state names files and requests too. So a crawl follows them only if its user asks for it.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_JSON_BYTES = 4 << 20  # of one script; the states of shops have one or two
MAX_VALUES = 200_000  # values of one JSON text looked at
MAX_URL_CHARACTERS = 2_000

_ATTRIBUTE = re.compile(
    rb"""\sdata-(?:href|url|link)\s*=\s*(?:"([^"<>]*+)"|'([^'<>]*+)'|([^\s"'<>]++))""", re.IGNORECASE
)
_SCRIPT = re.compile(rb"<script\b([^<>]*+)>([^<]*+(?:<(?!/script)[^<]*+)*+)", re.IGNORECASE)
# <script type="application/ld+json">, <script id="__NEXT_DATA__" type="application/json">.
_JSON_TYPE = re.compile(rb"""\btype\s*=\s*["']?application/(?:ld\+)?json\b""", re.IGNORECASE)
_STATE = re.compile(rb"\b__[A-Z_]*(?:STATE|DATA|NUXT|PROPS)(?:__)?\s*=\s*(?=[{\[])")  # window.__INITIAL_STATE__ = {...}
_PATH = re.compile(r"/(?!/)[^\s<>\"'\\{}|^`]*+")
_ADDRESS = re.compile(r"https?://[^\s<>\"'\\{}|^`]++", re.IGNORECASE)
# Files that are no pages, and calls that only scripts make.
_NO_PAGE = re.compile(
    r"\.(?:avif|css|eot|gif|ico|jpe?g|js|json|map|mjs|mp[34]|ogg|otf|png|svg|ttf|wasm|webm|webp|woff2?)(?:[?#]|$)"
    r"|^(?:https?://[^/]+)?/(?:api|graphql|_next|_nuxt|static|assets)(?:/|$)|schema\.org",
    re.IGNORECASE,
)
_TOKEN = re.compile(rb"""[{}\[\]]|"(?:[^"\\]++|\\.)*+(?:"|$)""", re.DOTALL)
_decode = msgspec.json.Decoder().decode


def script_urls(source: bytes) -> Iterator[str]:
    """Yield hrefs of pages that scripts of a source name, relative to the page; some come twice."""
    for quoted, single, plain in _ATTRIBUTE.findall(source):
        href = html.unescape((quoted or single or plain).decode("utf-8", "replace")).strip()
        if href and not href.startswith(("#", "javascript:", "data:")) and not _NO_PAGE.search(href):
            yield href
    for attributes, text in _SCRIPT.findall(source):
        if _JSON_TYPE.search(attributes):
            yield from _urls_in(_read_json(text))
        elif state := _STATE.search(text):
            yield from _urls_in(_read_json(_first_value(text[state.end() :])))


def _read_json(text: bytes) -> Any:
    try:
        return _decode(text[:MAX_JSON_BYTES].strip())
    except msgspec.DecodeError:
        return None  # no JSON after all: a script may write anything there


def _first_value(text: bytes) -> bytes:
    """Return the object or list that a text begins with, without the statements behind it."""
    depth, at, end = 0, 0, min(len(text), MAX_JSON_BYTES)
    for token in _TOKEN.finditer(text, at, end):
        mark = token[0]
        if mark in {b"{", b"["}:
            depth += 1
        elif mark in {b"}", b"]"}:
            depth -= 1
            if not depth:
                return text[: token.end()]
    return b""


def _urls_in(value: Any) -> Iterator[str]:
    """Yield the strings of a JSON value that look like URLs of pages, without recursion."""
    pending, looked_at = [value], 0
    while pending and looked_at < MAX_VALUES:
        looked_at += 1
        value = pending.pop()
        if isinstance(value, dict):
            pending.extend(reversed(value.values()))
        elif isinstance(value, list):
            pending.extend(reversed(value))
        elif isinstance(value, str) and value and _is_page_url(value):
            yield value


def _is_page_url(text: str) -> bool:
    if len(text) > MAX_URL_CHARACTERS or text[0] not in "/hH":
        return False
    return bool(_PATH.fullmatch(text) or _ADDRESS.fullmatch(text)) and not _NO_PAGE.search(text)
