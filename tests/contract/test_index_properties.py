"""An index agrees exactly with a scan of every page: words, phrases, positions, frequencies, totals."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.conftest import INDEXES
from gossamer.index.analyze import get_analyzer
from gossamer.index.protocol import Query, SiteFilter
from gossamer.index.word_table import WordTable, field_names
from gossamer.model import Field
from helpers.index.small_index import WEIGHTS, Lexicon, documents, in_title, indexable, phrase, word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contract.conftest import NewIndex
    from gossamer.store.follow.changes import IndexableResource

# Inflected forms, stop words, punctuation that joins and divides, scripts without blanks.
VOCABULARY = (
    "egg",
    "Eggs",
    "ham",
    "HAMS",
    "the",
    "and",
    "not",
    "spam",
    "boiled",
    "don't",
    "cook's",
    "x_y",
    "naïve",
    "東京都",
)
QUERY_WORDS = ("egg", "hams", "the", "not", "spam", "boiling", "dont", "cooks", "naive", "y")
PHRASES = ("egg and ham", "the egg", "egg ham", "not the spam", "boiled eggs", "x y", "cook the")
HOSTS = ("example.org", "www.example.org", "other.example")
FIELDS = (Field.H1, Field.H3, Field.PARAGRAPH, Field.TEXT, Field.DESCRIPTION)

texts = st.lists(st.sampled_from(VOCABULARY), max_size=8).map(" ".join)
bodies = st.lists(st.tuples(st.sampled_from(FIELDS), texts), max_size=4)
pages = st.tuples(texts, bodies, st.sampled_from(HOSTS))
# Changes to an index: pages are put (again) and removed, in several commits.
changes = st.lists(st.dictionaries(st.integers(1, 9), pages | st.none(), max_size=6), min_size=1, max_size=4)


History = list[dict[int, tuple[str, list[tuple[Field, str]], str] | None]]


class ScannedPages:
    """The pages themselves, scanned one by one."""

    def __init__(self) -> None:
        self.pages: dict[int, tuple[str, list[tuple[Field, str]], str]] = {}

    def runs(self, number: int) -> list[tuple[Field, list[str]]]:
        title, body, _ = self.pages[number]
        terms = get_analyzer("english").terms
        runs = [(Field.TITLE, title), *body]
        return [(field, terms(text).split()) for field, text in runs if field is not Field.DESCRIPTION]

    def words(self, number: int) -> list[tuple[str, Field]]:
        return [(term, field) for field, terms in self.runs(number) for term in terms]

    def positions(self, term: str, number: int) -> list[tuple[int, str]]:
        return [
            (position, field.name.lower() if field <= Field.H6 else "text")
            for position, (one, field) in enumerate(self.words(number))
            if one == term
        ]

    def containing(self, term: str) -> set[int]:
        return {number for number in self.pages if self.positions(term, number)}

    def with_phrase(self, terms: tuple[str, ...]) -> set[int]:
        length = len(terms)
        return {
            number
            for number in self.pages
            if any(
                tuple(run[at : at + length]) == terms
                for _, run in self.runs(number)
                for at in range(len(run) - length + 1)
            )
        }

    def with_title_word(self, term: str) -> set[int]:
        return {n for n in self.pages if term in get_analyzer("english").terms(self.pages[n][0]).split()}

    def resource(self, number: int) -> IndexableResource:
        title, body, host = self.pages[number]
        return indexable(number, [(Field.TITLE, title), *body], host=host)


class Store:
    """The part of a store that the word table uses."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon

    def known_word_ids(self, terms: list[str]) -> dict[str, int]:
        return {term: self._lexicon.numbers[term] for term in terms if term in self._lexicon.numbers}

    def urls(self, ids: list[int]) -> Iterator[tuple[int, str]]:
        return ((number, f"https://example.org/{number}") for number in ids)


@pytest.mark.parametrize("back_end", INDEXES)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(history=changes)
def test_an_index_agrees_with_a_scan_of_every_page(back_end: str, history: History) -> None:
    with TemporaryDirectory() as folder, ExitStack() as stack:
        check_agreement(INDEXES[back_end](Path(folder) / "index", stack), history)


def check_agreement(index: NewIndex, history: History) -> None:
    """Check that searches find what a scan of every page finds."""
    scanned, lexicon = ScannedPages(), Lexicon()
    with closing(index.writer()) as writer:
        for version, change in enumerate(history, 1):
            scanned.pages |= {number: page for number, page in change.items() if page is not None}
            gone = [number for number, page in change.items() if page is None]
            for number in gone:
                scanned.pages.pop(number, None)
            put = [scanned.resource(number) for number, page in change.items() if page is not None]
            assert writer.put(documents(*put, lexicon=lexicon)) == {}
            writer.remove(gone)
            writer.commit(version)
    reader = index.reader()
    assert sorted(reader.ids()) == sorted(scanned.pages)
    assert reader.count() == len(scanned.pages)

    def matching_ids(query: Query) -> set[int]:
        matches = reader.match(query, WEIGHTS, limit=100)
        assert matches.total == len(matches.ids) == len(set(matches.ids.tolist()))
        return set(matches.ids.tolist())

    table = WordTable(Store(lexicon), reader)  # type: ignore[arg-type]
    for text in QUERY_WORDS:
        node = word(text)
        (term,) = node.terms
        holding = scanned.containing(term)
        assert matching_ids(Query(wanted=(node,))) == holding
        assert matching_ids(Query(wanted=(node,), required=(SiteFilter(host="example.org"),))) == {
            n for n in holding if scanned.pages[n][2].endswith("example.org")
        }
        assert matching_ids(Query(required=(in_title(text),))) == scanned.with_title_word(term)
        assert matching_ids(Query(excluded=(node,))) == scanned.pages.keys() - holding
        assert reader.document_frequency(term) == len(holding)
        for by_frequency in (True, False):
            postings = reader.postings(term, by_frequency=by_frequency, offset=0, limit=100)
            expected = [(len(scanned.positions(term, number)), number) for number in sorted(holding)]
            if by_frequency:
                expected.sort(key=lambda pair: -pair[0])
            assert [(one.frequency, one.id) for one in postings] == expected
        entry = table.entry(text, limit=100) if scanned.pages else None
        if entry and entry.df:
            assert {one.doc_id: list(zip(one.positions, one.fields, strict=True)) for one in entry.documents} == {
                number: scanned.positions(term, number) for number in holding
            }
            assert (entry.word, entry.df, entry.word_id == 0) == (term, len(holding), node.stop)
    for text in PHRASES:
        asked_phrase = phrase(text)
        assert matching_ids(Query(required=(asked_phrase,))) == scanned.with_phrase(asked_phrase.alternatives[0])
    both = matching_ids(Query(wanted=(word("egg"), word("ham"))))
    assert both == scanned.containing("egg") | scanned.containing("ham")
    for sequence in reader.word_sequences(sorted(scanned.pages)).values():
        assert sequence.counts.sum() == len(sequence.words)
        assert len(field_names(sequence, sequence.words.nonzero()[0])) == len(sequence.words)
