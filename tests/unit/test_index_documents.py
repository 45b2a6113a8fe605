"""The runs of a stored text, as a document is made of them and as a snippet reads them."""

from __future__ import annotations

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import StoreCorrupt, StoreFull
from gossamer.index.documents import DocumentMaker, LazyRuns, indexed_runs
from gossamer.model import Field
from helpers.index.small_index import Lexicon, documents, page, standing

runs = st.lists(st.tuples(st.sampled_from(Field), st.text(max_size=20)), max_size=12)


def stored(text: object) -> bytes:
    return zstandard.compress(msgspec.msgpack.encode(text))


@given(runs)
def test_titles_come_first_and_descriptions_do_not_count(text: list[tuple[Field, str]]) -> None:
    titles = [run for run in text if run[0] is Field.TITLE]
    others = [run for run in text if run[0] not in {Field.TITLE, Field.DESCRIPTION}]
    assert indexed_runs(stored(text)) == titles + others


@given(runs)
def test_runs_that_are_read_when_looked_at_are_the_same(text: list[tuple[Field, str]]) -> None:
    whole, lazy = indexed_runs(stored(text)), LazyRuns(stored(text))
    assert len(lazy) == len(whole)
    assert list(lazy) == whole
    assert lazy[1:4] == whole[1:4]


@pytest.mark.parametrize("text", [b"no zstd", stored("no runs"), stored([[0, 5]])])
def test_what_cannot_be_read_is_said_to_be_corrupt(text: bytes) -> None:
    with pytest.raises(StoreCorrupt):
        list(LazyRuns(text))


def test_a_batch_that_broke_off_leaves_no_numbers_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    one = standing(1, page("Spam and eggs", "of the eggs"))
    lexicon = Lexicon()
    maker = DocumentMaker(lexicon)
    with monkeypatch.context() as full:
        full.setattr(lexicon, "word_ids", lambda *_: (_ for _ in ()).throw(StoreFull("no space")))
        with pytest.raises(StoreFull):
            maker.make([one])
    assert maker.make([one]).documents == documents(one)
