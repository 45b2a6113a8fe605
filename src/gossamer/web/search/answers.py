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


class Completions(msgspec.Struct, frozen=True, kw_only=True):
    """Completions of a query."""

    query: str
    completions: list[str]


def complete(session: SearchSession, text: str, limit: int) -> Completions:
    """Complete the last word of a query."""
    return Completions(query=text, completions=session.searcher.complete(text, limit))


def word(session: SearchSession, typed: str, order: DocumentOrder, page_number: int, limit: int) -> WordEntry:
    """Return the word table's entry for a word."""
    return WordTable(session.store, session.index).entry(typed, order=order, page=page_number, limit=limit)
