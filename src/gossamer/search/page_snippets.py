"""The snippets of one answer: the kernel renders them together, and Python those that it is not sure of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gossamer.index.documents import LazyRuns
from gossamer.kernels import native
from gossamer.search.snippet import PREFIX_STEMMING_LANGUAGES, render_snippet
from gossamer.store.content import decode_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.kernels import NativeKernels
    from gossamer.search.snippet import MatchFinder
    from gossamer.search.window import TextWindow


class SnippetSource(NamedTuple):
    """A page to show, and where its words are."""

    text: bytes  # as stored
    window: TextWindow | None
    language: str
    description: str


def render_snippets(pages: Sequence[SnippetSource], finder: MatchFinder) -> list[str]:
    """Return the snippet of each page."""
    if native is None:
        return [render_page(page, finder) for page in pages]
    rendered = _render_natively(native, pages, finder)
    return [
        render_page(page, finder) if snippet is None else snippet for page, snippet in zip(pages, rendered, strict=True)
    ]


def render_page(page: SnippetSource, finder: MatchFinder) -> str:
    """Return the snippet of a page, the Python way."""
    return render_snippet(LazyRuns(page.text), page.window, finder, page.language, page.description)


def _render_natively(kernels: NativeKernels, pages: Sequence[SnippetSource], finder: MatchFinder) -> list[str | None]:
    unpacked = [
        (decode_source(text), window and (window.first_run, window.words_before, window.run_length, window.last_run),
         language, description)
        for text, window, language, description in pages
    ]  # fmt: skip
    languages = list(PREFIX_STEMMING_LANGUAGES)
    return kernels.render_snippets(unpacked, finder.prefixes, finder.bigrams, languages, finder.word_matches)
