"""Answer a typed query with one page of hits, notes, and a suggestion for misspelt or rare words.

parse (query) -> match and rank (passes, rank) -> show (window, snippet)

While somebody types, the way is the same with other queries (typeahead): titles first, and the last word unfinished.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from gossamer.basics.display import pluralize
from gossamer.errors import StoreCorrupt
from gossamer.index.protocol import Query
from gossamer.model import Value
from gossamer.search.frequent_words import FrequentWords
from gossamer.search.page_snippets import SnippetRenderer, SnippetSource
from gossamer.search.passes import TwoPassSearch
from gossamer.search.query import IgnoredFilter, parse_query
from gossamer.search.rank import EMPTY_SEQUENCE, part_weights
from gossamer.search.second_pass import locate_windows
from gossamer.search.snippet import MatchFinder, without_hidden_characters
from gossamer.search.suggest import completions, suggestion
from gossamer.search.typeahead import IndexedWords, UnfinishedQuery
from gossamer.search.weights import SECOND_PASS_WEIGHTS

if TYPE_CHECKING:
    from gossamer.index.protocol import IndexReader
    from gossamer.search.passes import PagerankLookup, RankedMatches
    from gossamer.search.query import ParsedQuery
    from gossamer.search.rank import Floats, Integers
    from gossamer.search.weights import RankWeights
    from gossamer.search.window import TextWindow
    from gossamer.store.protocol import SearchSource

MOST_PER_PAGE = 1_000  # hits
FEW_MATCHES = 3  # matches up to which a suggestion may take longer, because it is what helps most


class Explanation(Value, frozen=True, kw_only=True):
    """Why a hit has its rank."""

    first_pass: float  # BM25 summed over the fields
    has_all: bool  # whether the page has everything wanted
    parts: dict[str, float]  # of the second pass, each between 0 and 1; empty for matches after it
    weights: dict[str, float]  # factor of each part
    spread: float  # factor of their sum, for earlier hits on the same host


class Hit(Value, frozen=True, kw_only=True, omit_defaults=True):
    """A page of the answer."""

    url: str
    title: str
    snippet: str  # HTML, with the query's words in <mark>
    score: float
    host: str
    visited_at: float | None
    duplicates: int = 0  # further matching documents with exactly the same text
    explanation: Explanation | None = None


class Answer(Value, frozen=True, kw_only=True):
    """One page of hits."""

    query: str
    total: int  # number of matching documents
    page: int
    limit: int
    took_ms: float
    suggestion: str | None
    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()
    ignored: tuple[IgnoredFilter, ...] = ()


class Searcher:
    """Answers queries about one web."""

    def __init__(
        self,
        store: SearchSource,
        index: IndexReader,
        pagerank: PagerankLookup | None = None,
        rank_weights: RankWeights = SECOND_PASS_WEIGHTS,
    ) -> None:
        self._store = store
        self._index = index
        self._rank_weights = rank_weights
        self._languages = index.languages()
        self._snippet_renderer = SnippetRenderer()
        self._words = FrequentWords(index)
        self._word_use = IndexedWords(index)
        self._two_pass_search = TwoPassSearch(index, store.known_word_ids, pagerank or _no_ranks, rank_weights)

    def close(self) -> None:
        """Close the index; the store stays open."""
        self._index.close()

    def search(self, text: str, *, page: int = 1, limit: int = 10, explain: bool = False) -> Answer:
        """Answer a typed query; pages count from 1."""
        started = time.perf_counter()
        page, limit = max(1, page), min(max(0, limit), MOST_PER_PAGE)
        parsed = parse_query(text, self._languages)
        total, hits = 0, tuple[Hit, ...]()
        if parsed.query != Query():
            ranked = self._two_pass_search.find(parsed.query, page * limit, time.time())
            total = ranked.total
            hits = self._hits(parsed, ranked, range((page - 1) * limit, page * limit), explain=explain)
        return Answer(
            query=text,
            total=total,
            page=page,
            limit=limit,
            suggestion=self._suggestion(parsed, thorough=total <= FEW_MATCHES),
            hits=hits,
            notes=parsed.notes,
            ignored=parsed.ignored,
            took_ms=round((time.perf_counter() - started) * 1000, 3),
        )

    def complete(self, text: str, limit: int = 8) -> list[str]:
        """Return completions of a typed text."""
        return completions(text, self._words, self._word_use, limit)

    def find_while_typing(self, text: str, limit: int = 8) -> list[Hit]:
        """Return pages for an unfinished text, pages with its words in the title first. The scores do not compare."""
        found: dict[str, Hit] = {}
        unfinished = UnfinishedQuery(text, self._languages, self._words, self._word_use)
        for parsed in unfinished.queries():
            ranked = self._two_pass_search.find(parsed.query, limit, time.time())
            complete = int(ranked.matches.has_all.sum())  # others lack a word that somebody typed
            for hit in self._hits(parsed, ranked, range(min(limit, complete)), explain=False):
                found.setdefault(hit.url, hit)
            if len(found) >= limit:
                break
        return list(found.values())[:limit]

    def _hits(self, parsed: ParsedQuery, ranked: RankedMatches, positions: range, *, explain: bool) -> tuple[Hit, ...]:
        shown = np.arange(positions.start, min(positions.stop, len(ranked.scores)))
        ids, twins = ranked.matches.ids[shown].tolist(), ranked.matches.twins[shown].tolist()
        rows = self._store.documents(ids)
        self._check_complete([id_ for id_ in ids if id_ not in rows])
        duplicate_counts = self._two_pass_search.count_duplicates(parsed.query, ranked, twins) if ids else {}
        finder = MatchFinder([slot.terms for slot in ranked.slots])
        shown_hits = [
            (i, row, twin, located)
            for i, id_, twin, located in zip(positions, ids, twins, self._locate_hits(ranked, shown), strict=False)
            if (row := rows.get(id_))  # the index may still hold a page that the store has just deleted
        ]
        snippets = self._snippet_renderer.render(
            [
                SnippetSource(row.text, window, language, row.description)
                for _, row, _, (language, window) in shown_hits
            ],
            finder,
        )
        return tuple(
            Hit(
                url=row.url,
                title=without_hidden_characters(row.title),
                snippet=snippet,
                score=round(float(ranked.scores[i]), 4),
                host=row.host,
                visited_at=row.visited_at,
                duplicates=duplicate_counts.get(twin, 1) - 1,
                explanation=self._explanation(ranked, i) if explain else None,
            )
            for (i, row, twin, _), snippet in zip(shown_hits, snippets, strict=True)
        )

    def _check_complete(self, absent: list[int]) -> None:
        """Raise `StoreCorrupt` if hits are absent that the store never removed."""
        if absent and (missing := self._store.missing_documents(absent, self._index.version)):
            raise StoreCorrupt(
                f"The index has {pluralize(len(missing), 'page')} of this answer that the web lacks: the web is"
                " damaged, or the index belongs to another web. Restore the web from a backup, or run"
                " `gossamer index --rebuild` to search what is left."
            )

    def _locate_hits(self, ranked: RankedMatches, shown: Integers) -> list[tuple[str, TextWindow | None]]:
        """Return the language of each hit, and the window where the words are closest together."""
        ids, candidate_index = ranked.matches.ids[shown].tolist(), ranked.candidate_index[shown]
        windows: list[TextWindow | None] = [None] * len(ids)
        if (candidate_index >= 0).all():
            windows = ranked.windows(candidate_index.tolist())
        languages = [ranked.sequences.get(id_, EMPTY_SEQUENCE).language for id_ in ids]
        # Matches after the second pass, and pages whose first words lack the query's words.
        missing = [i for i, window in enumerate(windows) if window is None]
        if missing:
            full_sequences = self._index.word_sequences([ids[i] for i in missing])
            sequences = [full_sequences.get(ids[i], EMPTY_SEQUENCE) for i in missing]
            for i, sequence, window in zip(missing, sequences, locate_windows(sequences, ranked.slots), strict=True):
                languages[i], windows[i] = sequence.language, window
        return list(zip(languages, windows, strict=True))

    def _explanation(self, ranked: RankedMatches, i: int) -> Explanation:
        candidate = int(ranked.candidate_index[i])
        parts = (
            {name: round(float(part[candidate]), 4) for name, part in ranked.candidate_scores.parts.items()}
            if candidate >= 0
            else {}
        )
        return Explanation(
            first_pass=round(float(ranked.matches.scores[i]), 4),
            has_all=bool(ranked.matches.has_all[i]),
            parts=parts,
            weights=part_weights(self._rank_weights),
            spread=round(float(ranked.scores[i] / ranked.candidate_scores.scores[candidate]), 4)
            if candidate >= 0
            else 1.0,
        )

    def _suggestion(self, parsed: ParsedQuery, *, thorough: bool) -> str | None:
        documents = [sum(map(self._index.document_frequency, word.terms)) for word in parsed.words]
        return suggestion(parsed, documents, self._words, self._word_use, thorough=thorough)


def _no_ranks(ids: Integers) -> Floats:
    return np.zeros(len(ids))
