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

    from gossamer.kernels import NativeKernels, StoredText
    from gossamer.search.snippet import MatchFinder
    from gossamer.search.window import TextWindow

CACHE_BYTES = 64 << 20  # texts, packed and unpacked; about five thousand pages
RUNS_SHARE = 2  # bytes of memory for each byte of an unpacked text, with the table of its runs
MAX_CACHED_BYTES = 4 << 20  # of one text; a few longer ones would push out all others


class SnippetSource(NamedTuple):
    """A page to show, and where its words are."""

    text: bytes  # as stored
    window: TextWindow | None
    language: str
    description: str


class SnippetRenderer:
    """Renders snippets, and keeps unpacked texts: the best pages for one query are often among those for others."""

    def __init__(self) -> None:
        self._texts: SizedCache[bytes, StoredText] = SizedCache(CACHE_BYTES)

    def render(self, pages: Sequence[SnippetSource], finder: MatchFinder) -> list[str]:
        """Return the snippet of each page."""
        if native is None:
            return [render_page(page, finder) for page in pages]
        sources = [(self._read(native, page.text), *page[1:]) for page in pages]
        languages = list(PREFIX_STEMMING_LANGUAGES)
        rendered = native.render_snippets(sources, finder.prefixes, finder.bigrams, languages, finder.word_matches)
        return [
            render_page(page, finder) if snippet is None else snippet
            for page, snippet in zip(pages, rendered, strict=True)
        ]

    def _read(self, kernels: NativeKernels, packed: bytes) -> StoredText | None:
        text = self._texts.get(packed)
        if text is None:
            unpacked = decode_source(packed)
            text = kernels.read_text(unpacked)
            if text is not None and len(unpacked) <= MAX_CACHED_BYTES:
                self._texts.put(packed, text, len(packed) + RUNS_SHARE * len(unpacked))
        return text


def render_page(page: SnippetSource, finder: MatchFinder) -> str:
    """Return the snippet of a page, the Python way."""
    return render_snippet(LazyRuns(page.text), page.window, finder, page.language, page.description)
