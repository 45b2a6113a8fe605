"""Answers about search and words, for the HTML page and for the API alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gossamer.index.word_table import WordEntry, WordTable
from gossamer.search.service import Answer
from gossamer.web.search.facets import Facets, facets, with_filters

if TYPE_CHECKING:
    from gossamer.index.word_table import DocumentOrder
    from gossamer.web.search.facets import SearchQuestion
    from gossamer.web.search.search_session import SearchSession


class SearchAnswer(Answer, frozen=True, kw_only=True):
    """The hits of a search, and the facets if the request asked for them."""

    facets: Facets | None = None


def search(session: SearchSession, question: SearchQuestion, *, with_facets: bool = False) -> SearchAnswer:
    """Search with the filters written as operators of the query language; the answer shows the query without them."""
    text = with_filters(question.q, question.filters)
    answer = session.searcher.search(text, page=question.page, limit=question.limit, explain=question.explain)
    fields = {name: getattr(answer, name) for name in Answer.__struct_fields__}
    if answer.suggestion is not None:
        fields["suggestion"] = answer.suggestion.removesuffix(text.removeprefix(question.q))
    fields["query"] = question.q
    counted_facets = (
        facets(session, question.q, question.filters, [hit.host for hit in answer.hits]) if with_facets else None
    )
    return SearchAnswer(**fields, facets=counted_facets)


class PageMatch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page that fits an unfinished query."""

    url: str
    title: str
    snippet: str | None = None  # HTML, if the request asked for snippets


class Completions(msgspec.Struct, frozen=True, kw_only=True):
    """Completions of a query, and pages that fit what is typed so far."""

    query: str
    completions: list[str]
    pages: list[PageMatch]


def complete(session: SearchSession, text: str, limit: int, with_snippets: bool) -> Completions:
    """Complete the last word of a query, and find pages for the unfinished query."""
    return Completions(
        query=text,
        completions=session.searcher.complete(text, limit),
        pages=[
            PageMatch(url=hit.url, title=hit.title, snippet=hit.snippet if with_snippets else None)
            for hit in session.searcher.find_while_typing(text, limit)
        ],
    )


def suggest(session: SearchSession, text: str, limit: int) -> list[str]:
    """Complete the last word of a query."""
    return session.searcher.complete(text, limit)


def word(session: SearchSession, typed: str, order: DocumentOrder, page_number: int, limit: int) -> WordEntry:
    """Return the word table's entry for a word."""
    return WordTable(session.store, session.index).entry(typed, order=order, page=page_number, limit=limit)
