"""The runs of a stored text, for documents and for snippets."""

from __future__ import annotations

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import StoreCorrupt, StoreFull
from gossamer.index.documents import DocumentMaker, LazyRuns, indexed_runs
from gossamer.model import Field
from helpers.index.small_index import Lexicon, documents, indexable, page

runs = st.lists(st.tuples(st.sampled_from(Field), st.text(max_size=20)), max_size=12)


def stored_text(text: object) -> bytes:
    return zstandard.compress(msgspec.msgpack.encode(text))


@given(runs)
def test_titles_come_first_and_descriptions_are_left_out(text: list[tuple[Field, str]]) -> None:
    titles = [run for run in text if run[0] is Field.TITLE]
    others = [run for run in text if run[0] not in {Field.TITLE, Field.DESCRIPTION}]
    assert indexed_runs(stored_text(text)) == titles + others


@given(runs)
def test_lazy_runs_equal_the_indexed_runs(text: list[tuple[Field, str]]) -> None:
    whole, lazy = indexed_runs(stored_text(text)), LazyRuns(stored_text(text))
    assert len(lazy) == len(whole)
    assert list(lazy) == whole
    assert lazy[1:4] == whole[1:4]


@pytest.mark.parametrize("text", [b"no zstd", stored_text("no runs"), stored_text([[0, 5]])])
def test_an_unreadable_text_raises_store_corrupt(text: bytes) -> None:
    with pytest.raises(StoreCorrupt):
        list(LazyRuns(text))


def test_a_failed_batch_leaves_no_word_ids_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    one = indexable(1, page("Spam and eggs", "of the eggs"))
    lexicon = Lexicon()
    maker = DocumentMaker(lexicon)
    with monkeypatch.context() as full:
        full.setattr(lexicon, "word_ids", lambda *_: (_ for _ in ()).throw(StoreFull("no space")))
        with pytest.raises(StoreFull):
            maker.make([one])
    assert maker.make([one]).documents == documents(one)
