"""Signs in the source of a page that scripts make its words and links.

Only pages with little text are searched: one comparison settles nine pages of ten. The patterns look for bytes, so that
both ways of reading HTML agree. A sign is a suspicion; a browser tells whether it is right (`crawl/rendering/`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gossamer.model import Field
from gossamer.parse.readers.text import unpack_runs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gossamer.parse.readers.text import TextRun

MAX_TEXT_BYTES = 2_000  # of packed text; a page with more has words of its own
MAX_SHELL_CHARACTERS = 200  # text beside a root element: a header, a footer, "Loading ..."
MAX_NOTICE_CHARACTERS = 300  # text beside a <noscript> that asks for JavaScript
MAX_WAIT_CHARACTERS = 60  # "Please wait while the page is loading ..."
MAX_SEARCHED_BYTES = 1 << 20  # of the source

APP_SHELL = "app shell"
NOSCRIPT = "noscript"
LOADING = "loading"
NO_TEXT = "script without text"

_SCRIPT = re.compile(rb"<script[\s>]", re.IGNORECASE)
# The ids of the elements that frameworks fill, and their own elements.
_ROOT = re.compile(
    rb"""\bid\s*=\s*["']?(?:root|app|__next|__nuxt|___gatsby|(?:react|vue|app|svelte|ember|q|main)-(?:root|app)|"""
    rb"""application|spa|mount)["'\s>]|<app-root\b|\bng-app\b|\bdata-reactroot\b|\bng-version\b""",
    re.IGNORECASE,
)
_NOSCRIPT = re.compile(rb"<noscript\b[^<>]*+>([^<]*+(?:<(?!/noscript)[^<]*+)*+)", re.IGNORECASE)
_TAG = re.compile(rb"<[^<>]*+>")
_JAVASCRIPT = re.compile(rb"java\s?script|\bscripts?\b|\bscripting\b", re.IGNORECASE)
_WAIT = re.compile(r"\bloading\b|\bplease wait\b|\bone moment\b|\bjust a moment\b", re.IGNORECASE)
_REFRESH = re.compile(rb"""http-equiv\s*=\s*["']?refresh\b""", re.IGNORECASE)
_FRAME = re.compile(rb"<i?frame[\s>]", re.IGNORECASE)
_HEAD_FIELDS = frozenset({int(Field.TITLE), int(Field.DESCRIPTION)})


def script_sign(html: bytes, packed_text: bytes) -> str:
    """Return why scripts seem to make a page, "" if nothing says so. The text is in the form of the store."""
    if len(packed_text) > MAX_TEXT_BYTES:
        return ""
    html = html[:MAX_SEARCHED_BYTES]
    if not _SCRIPT.search(html) or _REFRESH.search(html):  # a page that leads elsewhere says where
        return ""
    return _find_sign(html, unpack_runs(packed_text))


def _find_sign(html: bytes, runs: Iterable[TextRun]) -> str:
    text = " ".join(run for field, run in runs if field not in _HEAD_FIELDS)
    notices = [b" ".join(_TAG.sub(b" ", markup).split()) for markup in _NOSCRIPT.findall(html)]
    characters = max(0, len(text) - sum(map(len, notices)))  # beside <noscript>, which browsers do not show
    if characters <= MAX_SHELL_CHARACTERS and _ROOT.search(html):
        return APP_SHELL
    if characters <= MAX_NOTICE_CHARACTERS and any(map(_JAVASCRIPT.search, notices)):
        return NOSCRIPT
    if characters <= MAX_WAIT_CHARACTERS and _WAIT.search(text):
        return LOADING
    return NO_TEXT if not characters and not _FRAME.search(html) else ""
