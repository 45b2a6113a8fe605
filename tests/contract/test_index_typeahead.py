"""Queries while one types, on every back-end: unfinished and misspelt words, titles first, words that exist."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from gossamer.index.documents import DocumentMaker
from gossamer.search.frequent_words import FrequentWords
from gossamer.search.suggest import completions
from gossamer.search.typeahead import IndexedWords, UnfinishedQuery
from gossamer.search.weights import FIRST_PASS_WEIGHTS
from helpers.index.small_index import Lexicon, indexable, page

if TYPE_CHECKING:
    from contract.conftest import NewIndex
    from gossamer.index.protocol import IndexReader

PAGES = {
    1: page("Asyncio queues", "A queue for tasks of asyncio."),
    2: page("Tasks", "Asyncio runs tasks; a task waits in queues."),
    3: page("LinkedHashMap", "A map that keeps the order."),
    4: page("std::vector", "A vector of the standard library."),
    5: page("Zygote", "One misspelt wrod about queues, and asyncio."),
}


@pytest.fixture
def typed_pages(index: NewIndex) -> IndexReader:
    """Return an index of a few pages with its written words."""
    maker = DocumentMaker(Lexicon())
    with closing(index.writer()) as writer:
        writer.put(maker.make([indexable(number, runs) for number, runs in PAGES.items()]).documents)
        writer.note_forms(maker.take_forms())
        writer.commit(1)
    return index.reader()


def find(reader: IndexReader, text: str) -> list[int]:
    """Return the pages for a typed text in order."""
    unfinished = UnfinishedQuery(text, reader.languages(), FrequentWords(reader), IndexedWords(reader))
    found: dict[int, None] = {}
    for parsed in unfinished.queries():
        matches = reader.match(parsed.query, FIRST_PASS_WEIGHTS, limit=10)
        found |= dict.fromkeys(matches.ids[matches.has_all].tolist())
    return list(found)


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("asyn", [1, 2, 5]),  # the page with the word in its title first
        ("asnyc", [1, 2, 5]),
        ("tasks asyn", [2, 1]),
        ("asnycio que", [1, 2, 5]),
        ("linked hash", [3]),
        ("std::vec", [4]),
        ("queues -misspelt", [1, 2]),
        ("zzzzqqqq", []),
        ("", []),
    ],
)
def test_an_unfinished_text_finds_pages(typed_pages: IndexReader, typed: str, found: list[int]) -> None:
    answer = find(typed_pages, typed)
    assert sorted(answer) == sorted(found)
    assert answer[:1] == found[:1]


def test_completions_are_words_of_several_pages_or_of_a_title(typed_pages: IndexReader) -> None:
    words, use = FrequentWords(typed_pages), IndexedWords(typed_pages)
    assert completions("two que", words, use, 5) == ["two queues", "two queue"]
    assert completions("zyg", words, use, 5) == ["zygote"]
    assert completions("wro", words, use, 5) == []
