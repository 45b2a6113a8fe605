"""Where the words of a question stand in a page's text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from gossamer.basics.display import escape_hidden_lines
from gossamer.index.analyze import get_analyzer
from gossamer.index.protocol import AnyOf, InTitle, Phrase, Word
from gossamer.search.query import parse_query

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gossamer.index.protocol import QueryNode

    Terms = Mapping[str, frozenset[str]]  # by the analysis that they are of

MAX_MARKED_CHARACTERS = 200_000  # characters of a text that are looked at
MAX_LANGUAGES = 3  # of the languages that most pages are in


def question_terms(question: str, languages: Mapping[str, int]) -> Terms:
    """The terms of a question in each of the web's main languages."""
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


def mark_runs(runs: Sequence[tuple[str, str]], terms: Terms) -> list[tuple[str, Markup]]:
    """Runs of text (field, text) with the words marked, escaped and with nothing hidden in them."""
    marked, room = [], MAX_MARKED_CHARACTERS if terms else 0
    for field, text in runs:
        spans = _spans(text, terms) if room > 0 else []
        room -= len(text)
        marked.append((field, _mark_spans(text, spans)))
    return marked


def _spans(text: str, terms: Terms) -> list[tuple[int, int]]:
    found = {
        (token.start, token.end)
        for language, wanted in terms.items()
        for token in get_analyzer(language).tokens(text)
        if token.term in wanted and not token.stop
    }
    return sorted(found)


def _mark_spans(text: str, spans: Sequence[tuple[int, int]]) -> Markup:
    pieces, at = [], 0
    for start, end in spans:
        if start >= at:  # pairs of characters overlap in scripts without blanks
            pieces += [_safe(text[at:start]), Markup("<mark>"), _safe(text[start:end]), Markup("</mark>")]
            at = end
    return Markup("").join([*pieces, _safe(text[at:])])


def _safe(text: str) -> Markup:
    return Markup.escape(escape_hidden_lines(text))
