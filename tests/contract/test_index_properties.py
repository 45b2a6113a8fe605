"""An index says exactly what a look at every page says: words, phrases, positions, document frequencies, totals."""

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
from helpers.index.small_index import WEIGHTS, Lexicon, documents, in_title, phrase, standing, word

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
ASKED = ("egg", "hams", "the", "not", "spam", "boiling", "dont", "cooks", "naive", "y")
PHRASES = ("egg and ham", "the egg", "egg ham", "not the spam", "boiled eggs", "x y", "cook the")
HOSTS = ("example.org", "www.example.org", "other.example")
FIELDS = (Field.H1, Field.H3, Field.PARAGRAPH, Field.TEXT, Field.DESCRIPTION)

texts = st.lists(st.sampled_from(VOCABULARY), max_size=8).map(" ".join)
bodies = st.lists(st.tuples(st.sampled_from(FIELDS), texts), max_size=4)
pages = st.tuples(texts, bodies, st.sampled_from(HOSTS))
# What happens to an index: pages are put (again) and removed, in several commits.
changes = st.lists(st.dictionaries(st.integers(1, 9), pages | st.none(), max_size=6), min_size=1, max_size=4)


History = list[dict[int, tuple[str, list[tuple[Field, str]], str] | None]]


class Shelf:
    """The pages themselves, looked at one by one."""

    def __init__(self) -> None:
        self.pages: dict[int, tuple[str, list[tuple[Field, str]], str]] = {}

    def runs(self, number: int) -> list[tuple[Field, list[str]]]:
        title, body, _ = self.pages[number]
        terms = get_analyzer("english").terms
        runs = [(Field.TITLE, title), *body]
        return [(field, terms(text).split()) for field, text in runs if field is not Field.DESCRIPTION]

    def words(self, number: int) -> list[tuple[str, Field]]:
        return [(term, field) for field, terms in self.runs(number) for term in terms]

    def places(self, term: str, number: int) -> list[tuple[int, str]]:
        return [
            (place, field.name.lower() if field <= Field.H6 else "text")
            for place, (one, field) in enumerate(self.words(number))
            if one == term
        ]

    def holding(self, term: str) -> set[int]:
        return {number for number in self.pages if self.places(term, number)}

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

    def titled(self, term: str) -> set[int]:
        return {n for n in self.pages if term in get_analyzer("english").terms(self.pages[n][0]).split()}

    def standing(self, number: int) -> IndexableResource:
        title, body, host = self.pages[number]
        return standing(number, [(Field.TITLE, title), *body], host=host)


class Store:
    """As much of a store as the word table asks."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon

    def known_word_ids(self, terms: list[str]) -> dict[str, int]:
        return {term: self._lexicon.numbers[term] for term in terms if term in self._lexicon.numbers}

    def urls(self, ids: list[int]) -> Iterator[tuple[int, str]]:
        return ((number, f"https://example.org/{number}") for number in ids)


@pytest.mark.parametrize("back_end", INDEXES)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(history=changes)
def test_an_index_agrees_with_a_look_at_every_page(back_end: str, history: History) -> None:
    with TemporaryDirectory() as folder, ExitStack() as stack:
        agrees(INDEXES[back_end](Path(folder) / "index", stack), history)


def agrees(index: NewIndex, history: History) -> None:
    """What is found is what a look at every page finds."""
    shelf, lexicon = Shelf(), Lexicon()
    with closing(index.writer()) as writer:
        for version, change in enumerate(history, 1):
            shelf.pages |= {number: page for number, page in change.items() if page is not None}
            gone = [number for number, page in change.items() if page is None]
            for number in gone:
                shelf.pages.pop(number, None)
            put = [shelf.standing(number) for number, page in change.items() if page is not None]
            assert writer.put(documents(*put, lexicon=lexicon)) == {}
            writer.remove(gone)
            writer.commit(version)
    reader = index.reader()
    assert sorted(reader.ids()) == sorted(shelf.pages)
    assert reader.count() == len(shelf.pages)

    def found(query: Query) -> set[int]:
        matches = reader.match(query, WEIGHTS, limit=100)
        assert matches.total == len(matches.ids) == len(set(matches.ids.tolist()))
        return set(matches.ids.tolist())

    table = WordTable(Store(lexicon), reader)  # type: ignore[arg-type]
    for text in ASKED:
        asked = word(text)
        (term,) = asked.terms
        holding = shelf.holding(term)
        assert found(Query(wanted=(asked,))) == holding
        assert found(Query(wanted=(asked,), required=(SiteFilter(host="example.org"),))) == {
            n for n in holding if shelf.pages[n][2].endswith("example.org")
        }
        assert found(Query(required=(in_title(text),))) == shelf.titled(term)
        assert found(Query(excluded=(asked,))) == shelf.pages.keys() - holding
        assert reader.document_frequency(term) == len(holding)
        for by_frequency in (True, False):
            told = reader.postings(term, by_frequency=by_frequency, offset=0, limit=100)
            expected = [(len(shelf.places(term, number)), number) for number in sorted(holding)]
            if by_frequency:
                expected.sort(key=lambda pair: -pair[0])
            assert [(one.frequency, one.id) for one in told] == expected
        entry = table.entry(text, limit=100) if shelf.pages else None
        if entry and entry.df:
            assert {one.doc_id: list(zip(one.positions, one.fields, strict=True)) for one in entry.documents} == {
                number: shelf.places(term, number) for number in holding
            }
            assert (entry.word, entry.df, entry.word_id == 0) == (term, len(holding), asked.stop)
    for text in PHRASES:
        asked_phrase = phrase(text)
        assert found(Query(required=(asked_phrase,))) == shelf.with_phrase(asked_phrase.alternatives[0])
    both = found(Query(wanted=(word("egg"), word("ham"))))
    assert both == shelf.holding("egg") | shelf.holding("ham")
    for sequence in reader.word_sequences(sorted(shelf.pages)).values():
        assert sequence.counts.sum() == len(sequence.words)
        assert len(field_names(sequence, sequence.words.nonzero()[0])) == len(sequence.words)
