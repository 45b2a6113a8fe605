"""Rules of every index: keep committed documents, find them, report frequencies and positions."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gossamer.errors import IndexBusy, IndexMissing
from gossamer.index.protocol import (
    FIRST_STOP_CODE,
    AnchorDocument,
    AnyOf,
    ChangeDateFilter,
    InUrl,
    LanguageFilter,
    MediaTypeFilter,
    Query,
    SiteFilter,
    TwinFilter,
    stop_code,
    term_code,
)
from gossamer.model import Field
from helpers.index.small_index import (
    SEEN,
    WEIGHTS,
    Lexicon,
    documents,
    fill,
    in_title,
    indexable,
    page,
    phrase,
    word,
    words,
)

if TYPE_CHECKING:
    from contract.conftest import NewIndex
    from gossamer.index.protocol import IndexReader, Matches


def matching_ids(index: NewIndex, query: Query, limit: int = 100) -> list[int]:
    matches = match(index, query, limit)
    assert matches.total == len(matches.ids)
    return sorted(matches.ids.tolist())


def match(index: NewIndex, query: Query, limit: int = 100, offset: int = 0) -> Matches:
    return index.reader().match(query, WEIGHTS, limit=limit, offset=offset)


def put(index: NewIndex, *runs: list[tuple[Field, str]]) -> None:
    with closing(index.writer()) as writer:
        fill(writer, *(indexable(number, page_runs) for number, page_runs in enumerate(runs, 1)))


# -- what it holds -----------------------------------------------------------------------------------------------------


def test_an_index_without_a_first_writer_is_missing(index: NewIndex) -> None:
    with pytest.raises(IndexMissing):
        index.reader()


def test_a_new_index_is_empty(index: NewIndex) -> None:
    index.writer().close()
    reader = index.reader()
    assert (reader.version, reader.count(), list(reader.ids()), reader.languages()) == (0, 0, [], {})
    assert match(index, words("egg")).total == 0


def test_a_commit_publishes_documents_and_version(index: NewIndex) -> None:
    with closing(index.writer()) as writer:
        fill(writer, indexable(7, page("Egg")), indexable(3, page("Ham")), version=42)
        assert writer.version == 42
    reader = index.reader()
    assert (reader.version, reader.count(), sorted(reader.ids())) == (42, 2, [3, 7])


def test_uncommitted_changes_are_lost(index: NewIndex) -> None:
    with closing(index.writer()) as writer:
        fill(writer, indexable(1, page("Egg")))
        writer.put(documents(indexable(2, page("Egg"))))
        writer.remove([1])
    assert matching_ids(index, words("egg")) == [1]
    with closing(index.writer()) as writer:
        assert writer.version == 1
        assert writer.signatures([1, 2]).keys() <= {1}


def test_a_document_replaces_the_one_with_its_id(index: NewIndex) -> None:
    for version, text in enumerate(("egg", "ham", "spam"), 1):
        with closing(index.writer()) as writer:
            fill(writer, indexable(1, page("Menu", text)), version=version)
    assert matching_ids(index, words("egg")) == []
    assert matching_ids(index, words("spam")) == [1]
    assert index.reader().count() == 1
    assert index.reader().document_frequency("egg") == 0


def test_a_document_put_twice_before_a_commit_is_held_once(index: NewIndex) -> None:
    with closing(index.writer()) as writer:
        writer.put(documents(indexable(1, page("Egg"))))
        fill(writer, indexable(1, page("Egg", "and ham")))
    assert index.reader().document_frequency("egg") == 1
    assert matching_ids(index, words("ham")) == [1]


def test_removed_documents_disappear(index: NewIndex) -> None:
    put(index, page("Egg"), page("Egg too"))
    with closing(index.writer()) as writer:
        writer.remove([1, 99])
        writer.commit(2)
    reader = index.reader()
    assert (list(reader.ids()), reader.document_frequency("egg"), reader.count()) == ([2], 1, 1)
    assert reader.word_sequences([1, 2]).keys() == {2}


def test_a_removed_document_can_come_back(index: NewIndex) -> None:
    put(index, page("Egg"))
    with closing(index.writer()) as writer:
        writer.remove([1])
        writer.commit(2)
        assert writer.signatures([1]) == {}
        fill(writer, indexable(1, page("Egg")), version=3)
    assert matching_ids(index, words("egg")) == [1]


def test_signatures_identify_committed_documents(index: NewIndex) -> None:
    (document,) = documents(indexable(1, page("Egg")))
    (other,) = documents(indexable(1, page("Ham")))
    assert document.signature != other.signature
    with closing(index.writer()) as writer:
        writer.put([document])
        assert writer.signatures([1]) == {}, "not before the commit"
        writer.commit(1)
        assert writer.signatures([1]) == {1: document.signature}


def test_only_one_writer_can_open_an_index(index: NewIndex) -> None:
    with closing(index.writer()), pytest.raises(IndexBusy):
        index.writer()
    index.writer().close()


def test_a_reader_keeps_its_snapshot_and_knows_that_it_is_outdated(index: NewIndex) -> None:
    put(index, page("Egg"))
    before = index.reader()
    assert before.is_current()
    with closing(index.writer()) as writer:
        fill(writer, indexable(2, page("Egg")), version=2)
    assert not before.is_current()
    assert before.match(words("egg"), WEIGHTS, limit=9).total == 1
    assert index.reader().is_current()


def test_a_complete_rebuild_replaces_the_old_index(index: NewIndex) -> None:
    put(index, page("Egg"))
    with closing(index.writer(rebuild=True)) as writer:
        assert writer.version == 0
        fill(writer, indexable(2, page("Ham")), version=5)
        assert matching_ids(index, words("egg")) == [1], "readers use the old index until then"
        writer.complete()
    assert matching_ids(index, words("egg")) == []
    assert matching_ids(index, words("ham")) == [2]


def test_an_incomplete_rebuild_changes_nothing(index: NewIndex) -> None:
    put(index, page("Egg"))
    with closing(index.writer(rebuild=True)) as writer:
        fill(writer, indexable(2, page("Ham")), version=5)
    with closing(index.writer()) as writer:
        assert writer.version == 1
    assert matching_ids(index, words("egg")) == [1]


def test_documents_are_counted_by_language(index: NewIndex) -> None:
    with closing(index.writer()) as writer:
        fill(
            writer, indexable(1, page("Egg")), indexable(2, page("Eier"), language="de"),
            indexable(3, page("jajko"), language="pl"), indexable(4, page("Ham"), language="en-GB"),
        )  # fmt: skip
    assert index.reader().languages() == {"english": 2, "german": 1, "": 1}


def test_a_refused_document_gets_a_reason_and_the_others_are_indexed(index: NewIndex) -> None:
    good, bad = documents(indexable(1, page("Egg")), indexable(2, page("Ham")))
    bad = type(bad)(**{name: getattr(bad, name) for name in bad.__struct_fields__} | {"title": "lone \ud800 surrogate"})
    with closing(index.writer()) as writer:
        refused = writer.put([bad, good])
        assert refused.keys() == {2}
        writer.set_aside(refused)
        writer.commit(1)
    reader = index.reader()
    assert list(reader.ids()) == [1]
    assert reader.set_aside_documents() == refused
    assert "surrogate" in refused[2]


def test_an_indexed_document_is_no_longer_set_aside(index: NewIndex) -> None:
    with closing(index.writer()) as writer:
        writer.set_aside({1: "too odd", 2: "odd as well"})
        writer.commit(1)
        fill(writer, indexable(1, page("Egg")), version=2)
    assert index.reader().set_aside_documents() == {2: "odd as well"}


# -- what it finds -----------------------------------------------------------------------------------------------------


def test_any_word_matches_and_pages_with_all_words_come_first(index: NewIndex) -> None:
    put(index, page("Egg egg egg egg", "egg egg egg"), page("Menu", "ham and then much later an egg"), page("Spam"))
    matches = match(index, words("egg", "ham"))
    assert matches.ids.tolist() == [2, 1]
    assert matches.has_all.tolist() == [True, False]
    assert matches.total == 2


def test_forms_of_a_word_match_regardless_of_case_and_accents(index: NewIndex) -> None:
    put(index, page("EGGS"), page("A naïve café"))
    assert matching_ids(index, words("egg")) == [1]
    assert matching_ids(index, words("Cafe")) == [2]


def test_words_of_a_url_path_match_but_not_those_of_its_host(index: NewIndex) -> None:
    with closing(index.writer()) as writer:
        fill(
            writer,
            indexable(1, page("Menu"), url="https://breakfast.example/boiled%20eggs.html", host="breakfast.example"),
        )
    assert matching_ids(index, words("egg")) == [1]
    assert matching_ids(index, words("breakfast")) == []
    assert matching_ids(index, Query(required=(InUrl(text="", words=("breakfast", "eggs")),))) == [1]
    assert matching_ids(index, Query(required=(InUrl(text="", words=("breakfast", "ham")),))) == []


def test_a_phrase_matches_within_one_run_including_stop_words(index: NewIndex) -> None:
    put(
        index, page("Menu", "ham and the egg"), page("Menu", "ham the egg"), page("Menu", "ham and", "the egg"),
        page("ham and", "the egg"), page("Ham and the Eggs"),
    )  # fmt: skip
    assert matching_ids(index, Query(required=(phrase("ham and the egg"),))) == [1, 5]
    assert matching_ids(index, Query(required=(phrase("ham and the egg", title_only=True),))) == [5]


def test_stop_words_count_only_in_queries_without_other_words(index: NewIndex) -> None:
    put(index, page("The egg"), page("The ham"), page("Spam"))
    assert matching_ids(index, words("the", "egg")) == [1]
    assert matching_ids(index, words("the")) == [1, 2]
    assert matching_ids(index, Query(required=(phrase("the ham"),), wanted=(word("the"),))) == [2]


def test_excluded_words_remove_matches(index: NewIndex) -> None:
    put(index, page("Egg", "ham"), page("Egg"), page("Ham"))
    assert matching_ids(index, Query(wanted=(word("egg"),), excluded=(word("ham"),))) == [2]
    assert matching_ids(index, Query(excluded=(word("ham"),))) == [2]
    assert matching_ids(index, Query()) == [1, 2, 3]


def test_operators_narrow_the_matches(index: NewIndex) -> None:
    with closing(index.writer()) as writer:
        fill(
            writer,
            indexable(1, page("Egg"), url="https://www.example.org/a/b.html", host="www.example.org"),
            indexable(2, page("Egg"), url="http://localhost:8080/a/c", host="localhost:8080", media_type="text/plain"),
            indexable(3, page("Ei", "egg"), url="https://example.org/ab?q=1", host="example.org", language="de",
                     last_modified="Tue, 01 Jun 2021 10:00:00 GMT"),
            indexable(4, page("Egg"), url="http://127.0.0.1/a", host="127.0.0.1"),
        )  # fmt: skip

    def matches_with(*nodes: object) -> list[int]:
        return matching_ids(index, Query(wanted=(word("egg"),), required=nodes))  # type: ignore[arg-type]

    assert matches_with(SiteFilter(host="example.org")) == [1, 3]
    assert matches_with(SiteFilter(host="org")) == [1, 3]
    assert matches_with(SiteFilter(host="WWW.example.org")) == [1]
    assert matches_with(SiteFilter(host="ample.org")) == []
    assert matches_with(SiteFilter(host="localhost")) == matches_with(SiteFilter(host="localhost:8080")) == [2]
    assert matches_with(SiteFilter(host="0.0.1")) == []
    assert matches_with(SiteFilter(host="example.org", path="/a/")) == [1]
    assert matches_with(SiteFilter(host="example.org", path="/a/b.html")) == [1]
    assert matches_with(in_title("egg")) == [1, 2, 4]
    assert matches_with(LanguageFilter(name="german")) == [3]
    assert matches_with(MediaTypeFilter(media_type="text/plain")) == [2]
    assert matches_with(ChangeDateFilter(until=SEEN)) == [3]
    assert matches_with(ChangeDateFilter(since=SEEN)) == [1, 2, 4]
    assert matches_with(AnyOf(children=(MediaTypeFilter(media_type="text/plain"), LanguageFilter(name="german")))) == [
        2,
        3,
    ]


def test_matches_carry_what_the_second_pass_needs(index: NewIndex) -> None:
    with closing(index.writer()) as writer:
        fill(
            writer,
            indexable(1, page("Egg"), url="https://a.example/", host="a.example"),
            indexable(2, page("Egg"), url="https://b.example/x/y?z", host="b.example"),
            indexable(3, page("Egg", "ham"), url="https://a.example/x", host="a.example"),
        )
    matches = match(index, words("egg"))
    by_id = {id_: i for i, id_ in enumerate(matches.ids.tolist())}
    page_runs, two, three = (by_id[id_] for id_ in (1, 2, 3))
    assert matches.twins[page_runs] == matches.twins[two] != matches.twins[three]
    assert matches.hosts[page_runs] == matches.hosts[three] != matches.hosts[two]
    assert [matches.steps[i] for i in (page_runs, two, three)] == [0, 3, 1]
    assert matches.changed.tolist() == [SEEN] * 3
    assert matching_ids(index, Query(required=(TwinFilter(value=int(matches.twins[page_runs])),))) == [1, 2]
    assert index.reader().has_twins([int(matches.twins[three]), int(matches.twins[page_runs])])


def test_pages_of_matches_follow_one_order(index: NewIndex) -> None:
    put(index, *(page("Egg", "ham " * (number % 7), "egg " * (number % 5)) for number in range(60)))
    whole = match(index, words("egg", "ham"), limit=60)
    pieces = [match(index, words("egg", "ham"), limit=7, offset=offset) for offset in range(0, 60, 7)]
    assert np.concatenate([piece.ids for piece in pieces]).tolist() == whole.ids.tolist()
    assert {piece.total for piece in pieces} == {60}
    assert match(index, words("egg"), limit=7, offset=600).ids.tolist() == []


def test_scores_of_given_documents_equal_those_of_the_match(index: NewIndex) -> None:
    put(index, *(page("Egg", "egg " * number) for number in range(1, 20)), page("Ham"))
    whole = match(index, words("egg"))
    some = index.reader().score(words("egg"), WEIGHTS, [3, 5, 20, 77])
    assert sorted(some.ids.tolist()) == [3, 5]
    expected = dict(zip(whole.ids.tolist(), whole.scores.tolist(), strict=True))
    for id_, score in zip(some.ids.tolist(), some.scores.tolist(), strict=True):
        assert score == pytest.approx(expected[id_], abs=1e-3)


def test_a_word_in_the_title_weighs_more(index: NewIndex) -> None:
    put(index, page("Menu", "an egg, and a ham"), page("Egg", "some menu and a ham"))
    assert match(index, words("egg")).ids.tolist() == [2, 1]


# -- anchors -----------------------------------------------------------------------------------------------------------


def anchors(target: int, *texts: str) -> AnchorDocument:
    codes = [term_code(term) for text in texts for term in text.split()]
    return AnchorDocument(target=target, texts=texts, words=np.array(codes, "<u4").tobytes())


def anchor_words(reader: IndexReader) -> dict[int, str]:
    """Return the anchor words of documents 1 and 2."""
    terms = {term_code(term): term for term in ("breakfast", "egg", "ham")}
    return {doc: " ".join(map(terms.__getitem__, codes.tolist())) for doc, codes in reader.anchor_terms([1, 2]).items()}


def test_anchor_texts_find_their_targets_and_are_replaced(index: NewIndex) -> None:
    with closing(index.writer()) as writer:
        fill(writer, indexable(1, page("Menu")), indexable(2, page("Menu")))
        writer.put_anchors([anchors(1, "breakfast egg", "egg"), anchors(2, "ham")])
        writer.commit_anchors(1)
    reader = index.reader()
    assert reader.best_by_anchor(words("egg"), 10) == [1]
    assert reader.best_by_anchor(Query(required=(phrase("breakfast egg"),)), 10) == [1]
    assert reader.best_by_anchor(Query(required=(phrase("egg egg"),)), 10) == []
    assert anchor_words(reader) == {1: "breakfast egg egg", 2: "ham"}
    with closing(index.writer()) as writer:
        assert writer.anchors_version == 1
        writer.put_anchors([anchors(1), anchors(2, "egg")])
        writer.commit_anchors(2)
    reader = index.reader()
    assert reader.best_by_anchor(words("egg"), 10) == [2]
    assert reader.best_by_anchor(words("ham"), 10) == []
    assert anchor_words(reader) == {2: "egg"}
    assert reader.version == 1, "the commit does not touch documents"


def test_anchor_texts_are_removed_with_their_document(index: NewIndex) -> None:
    with closing(index.writer()) as writer:
        fill(writer, indexable(1, page("Menu")))
        writer.put_anchors([anchors(1, "egg")])
        writer.commit_anchors(1)
        writer.remove([1])
        writer.commit(2)
        writer.commit_anchors(2)
    assert index.reader().best_by_anchor(words("egg"), 10) == []
    assert anchor_words(index.reader()) == {}


# -- words -------------------------------------------------------------------------------------------------------------


def test_word_sequences_keep_order_and_fields(index: NewIndex) -> None:
    lexicon = Lexicon()
    runs = [(Field.PARAGRAPH, "Ham is ham"), (Field.TITLE, "The Egg"), (Field.DESCRIPTION, "no"), (Field.H2, "Eggs")]
    with closing(index.writer()) as writer:
        fill(writer, indexable(5, runs), lexicon=lexicon)
    sequence = index.reader().word_sequences([5])[5]
    egg, ham = lexicon.numbers["egg"], lexicon.numbers["ham"]
    assert sequence.words.tolist() == [stop_code("the"), egg, ham, stop_code("is"), ham, egg]
    assert sequence.fields.tolist() == [Field.TITLE, Field.PARAGRAPH, Field.H2]
    assert sequence.counts.tolist() == [2, 3, 1]
    assert sequence.language == "english"
    assert egg < FIRST_STOP_CODE <= stop_code("the")


def test_frequencies_are_exact_and_ordered(index: NewIndex) -> None:
    often = {1: 3, 2: 1, 3: 700, 4: 3, 5: 41}
    put(index, *(page("Egg", "egg " * (number - 1), "ham " * 50) for number in often.values()), page("Ham"))
    reader = index.reader()
    by_frequency = reader.postings("egg", by_frequency=True, offset=0, limit=10)
    assert [(page_runs.id, page_runs.frequency) for page_runs in by_frequency] == [
        (3, 700),
        (5, 41),
        (1, 3),
        (4, 3),
        (2, 1),
    ]
    by_id = reader.postings("egg", by_frequency=False, offset=0, limit=10)
    assert [(page_runs.id, page_runs.frequency) for page_runs in by_id] == list(often.items())
    assert reader.postings("egg", by_frequency=True, offset=1, limit=2) == by_frequency[1:3]
    assert reader.postings("egg", by_frequency=False, offset=1, limit=2) == by_id[1:3]
    assert reader.postings("egg", by_frequency=False, offset=9, limit=2) == []
    assert reader.postings("spam", by_frequency=True, offset=0, limit=2) == []
    assert reader.document_frequency("egg") == 5


def test_written_forms_are_counted_approximately_by_document(index: NewIndex) -> None:
    with closing(index.writer()) as writer:
        writer.note_forms({("eggs", "egg"): 3, ("egg", "egg"): 1, ("ham", "ham"): 2})
        writer.note_forms({("egg", "egg"): 4})
        writer.commit(1)
    reader = index.reader()
    assert reader.forms("egg") == ["egg", "eggs"]
    assert reader.words_like("eg") == [("egg", 5), ("eggs", 3)]
    assert reader.words_like("", longest=3) == [("egg", 5), ("ham", 2)]
    assert reader.words_like("", limit=1) == [("egg", 5)]
