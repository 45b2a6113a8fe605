"""Marks the words of a query in the text of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from gossamer.basics.display import escape_hidden_lines
from gossamer.basics.page_budget import MAX_MARKED_CHARACTERS
from gossamer.index.analyze import get_analyzer
from gossamer.index.protocol import AnyOf, InTitle, Phrase, Word
from gossamer.search.query import parse_query

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gossamer.index.protocol import QueryNode

    QueryTerms = Mapping[str, frozenset[str]]  # language -> terms in its analysis

MAX_MARKS = 5_000  # in one text; nobody looks at more, and each takes 60 bytes of HTML
PIECE_CHARACTERS = 10_000  # searched for words at a time
MAX_LANGUAGES = 3  # those with most pages


def question_terms(question: str, languages: Mapping[str, int]) -> QueryTerms:
    """Return the terms of a query for each of the main languages of the web."""
    main = sorted(languages, key=languages.__getitem__, reverse=True)[:MAX_LANGUAGES] or [""]
    query = parse_query(question, {language: languages.get(language, 1) for language in main}).query
    terms = frozenset(_terms((*query.wanted, *query.required)))
    return dict.fromkeys(main, terms)


def _terms(nodes: Iterable[QueryNode]) -> Iterator[str]:
    for node in nodes:
        match node:
            case Word() | InTitle():
                yield from node.terms
            case Phrase():
                yield from (term for sequence in node.alternatives for term in sequence)
            case AnyOf():
                yield from _terms(node.children)
            case _:
                pass


def mark_runs(runs: Sequence[tuple[str, str]], terms: QueryTerms) -> list[tuple[str, Markup]]:
    """Return runs (field, text) as escaped HTML with the terms marked and hidden characters shown.

    Only the first `MAX_MARKED_CHARACTERS` are searched, and at most `MAX_MARKS` marked.
    """
    marked, characters, marks = [], MAX_MARKED_CHARACTERS if terms else 0, MAX_MARKS
    for field, text in runs:
        spans = _first_spans(text[:characters], terms, marks)
        characters -= min(characters, len(text))
        marks -= len(spans)
        marked.append((field, _mark_spans(text, spans)))
    return marked


def _first_spans(text: str, terms: QueryTerms, limit: int) -> list[tuple[int, int]]:
    """Return the first positions of the terms, read in pieces so that a common word ends the search soon."""
    spans: list[tuple[int, int]] = []
    start = 0
    while start < len(text) and len(spans) < limit:
        end = _piece_end(text, start)
        spans += [(start + first, start + last) for first, last in _spans(text[start:end], terms)]
        start = end
    return spans[:limit]


def _piece_end(text: str, start: int) -> int:
    """Return the end of a piece, before a space if there is one."""
    end = start + PIECE_CHARACTERS
    if end >= len(text):
        return len(text)
    space = text.rfind(" ", start + 1, end)
    return space if space > 0 else end


def _spans(text: str, terms: QueryTerms) -> list[tuple[int, int]]:
    spans = {
        (token.start, token.end)
        for language, wanted in terms.items()
        for token in get_analyzer(language).tokens(text)
        if token.term in wanted and not token.stop
    }
    return sorted(spans)


def _mark_spans(text: str, spans: Sequence[tuple[int, int]]) -> Markup:
    pieces, at = [], 0
    for start, end in spans:
        if start >= at:  # character pairs overlap in scripts without spaces
            pieces += [_safe(text[at:start]), Markup("<mark>"), _safe(text[start:end]), Markup("</mark>")]
            at = end
    return Markup("").join([*pieces, _safe(text[at:])])


def _safe(text: str) -> Markup:
    return Markup.escape(escape_hidden_lines(text))
