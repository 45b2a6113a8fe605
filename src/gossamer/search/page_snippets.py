"""The snippets of one answer: the kernel renders them together, and Python those that it is not sure of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gossamer.basics.cache import SizedCache
from gossamer.index.documents import LazyRuns
from gossamer.kernels import native
from gossamer.search.snippet import PREFIX_STEMMING_LANGUAGES, render_snippet
from gossamer.store.content import decode_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.search.snippet import MatchFinder
    from gossamer.search.window import TextWindow

CACHE_BYTES = 64 << 20  # texts, packed and unpacked; about eight thousand pages


class SnippetSource(NamedTuple):
    """A page to show, and where its words are."""

    text: bytes  # as stored
    window: TextWindow | None
    language: str
    description: str


class SnippetRenderer:
    """Renders snippets, and keeps unpacked texts: the best pages for one query are often among those for others."""

    def __init__(self) -> None:
        self._unpacked: SizedCache[bytes, bytes] = SizedCache(CACHE_BYTES)

    def render(self, pages: Sequence[SnippetSource], finder: MatchFinder) -> list[str]:
        """Return the snippet of each page."""
        if native is None:
            return [render_page(page, finder) for page in pages]
        unpacked = [
            (self._unpack(text), window, language, description) for text, window, language, description in pages
        ]
        languages = list(PREFIX_STEMMING_LANGUAGES)
        rendered = native.render_snippets(unpacked, finder.prefixes, finder.bigrams, languages, finder.word_matches)
        return [
            render_page(page, finder) if snippet is None else snippet
            for page, snippet in zip(pages, rendered, strict=True)
        ]

    def _unpack(self, text: bytes) -> bytes:
        unpacked = self._unpacked.get(text)
        if unpacked is None:
            unpacked = decode_source(text)
            self._unpacked.put(text, unpacked, len(text) + len(unpacked))
        return unpacked


def render_page(page: SnippetSource, finder: MatchFinder) -> str:
    """Return the snippet of a page, the Python way."""
    return render_snippet(LazyRuns(page.text), page.window, finder, page.language, page.description)
