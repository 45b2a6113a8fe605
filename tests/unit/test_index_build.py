"""Following a store: what comes in, what leaves, what is set aside, and what need not be done again."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from gossamer.errors import IndexBroken, IndexFault
from gossamer.index import build, documents
from gossamer.index.build import IndexBuilder, update_index
from gossamer.index.tantivy import TantivyLocation, TantivyReader, TantivyWriter
from gossamer.index.word_table import WordTable
from gossamer.store.sqlite import SqliteStore
from helpers.index.small_index import WEIGHTS, words
from helpers.store.crawl_steps import Bond, admit_all, digest, fetched, lease_all, leases, start, visit_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gossamer.index.progress import IndexProgress
    from gossamer.index.protocol import Document

HOME = "http://a.test/"


def pages(number: int) -> dict[str, list[Bond | str]]:
    """A home page and so many others."""
    others = [f"{HOME}{one}" for one in range(number)]
    return {HOME: list(others), **{url: [HOME] for url in others}}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore.open(tmp_path / "web", create=True)) as store:
        yield store


@pytest.fixture
def place(tmp_path: Path) -> TantivyLocation:
    return TantivyLocation(tmp_path / "index")


def catch_up(store: SqliteStore, place: TantivyLocation, *, rebuild: bool = False) -> IndexProgress:
    return update_index(store, lambda: TantivyWriter(place, rebuild=rebuild))


def held(place: TantivyLocation) -> list[int]:
    with closing(TantivyReader(place)) as reader:
        return sorted(reader.ids())


def killed(place: TantivyLocation) -> None:
    """Leave what a writer leaves that is killed before its first commit."""
    writer = TantivyWriter(place)
    note = place.require_current() / "attempt"
    left = note.read_bytes()
    writer.close()
    note.write_bytes(left)


def id_of(store: SqliteStore, url: str) -> int:
    row = store.resource(digest(url))
    assert row is not None
    return row.id


def test_what_is_stored_comes_in_and_nothing_is_done_twice(store: SqliteStore, place: TantivyLocation) -> None:
    crawler = start(store, HOME)
    visit_all(store, crawler, pages(20))
    first = catch_up(store, place)
    assert (first.put, first.version, first.set_aside) == (21, store.version(), 0)
    again = catch_up(store, place)
    assert (again.put, again.unchanged, again.anchors) == (0, 0, 0)
    with closing(TantivyReader(place)) as reader:
        assert reader.version == reader.anchors_version == store.version()


def test_a_rebuild_makes_the_same(store: SqliteStore, place: TantivyLocation) -> None:
    crawler = start(store, HOME)
    visit_all(store, crawler, pages(20))
    catch_up(store, place)
    numbers = store.known_word_ids(["bodi", "titl"])
    before = held(place)
    assert catch_up(store, place, rebuild=True).put == 21
    assert held(place) == before
    assert store.known_word_ids(["bodi", "titl"]) == numbers, "a word keeps its number"


def test_a_forgotten_page_leaves(store: SqliteStore, place: TantivyLocation) -> None:
    crawler = start(store, HOME)
    visit_all(store, crawler, pages(3))
    catch_up(store, place)
    number = id_of(store, f"{HOME}1")
    store.forget(url_digest=digest(f"{HOME}1"))
    assert catch_up(store, place).removed >= 1
    assert number not in held(place)


def test_a_text_that_cannot_be_read_is_set_aside_and_the_rest_goes_on(
    store: SqliteStore, place: TantivyLocation, tmp_path: Path
) -> None:
    crawler = start(store, HOME)
    visit_all(store, crawler, pages(5))
    bad = id_of(store, f"{HOME}3")
    with closing(sqlite3.connect(tmp_path / "web" / "web.db")) as database, database:
        database.execute("UPDATE texts SET body = x'00ff' WHERE resource = ?", (bad,))
    done = catch_up(store, place)
    assert (done.put, done.set_aside) == (5, 1)
    assert bad not in held(place)
    with closing(TantivyReader(place)) as reader:
        assert "cannot be decompressed" in reader.set_aside_documents()[bad]


class Fragile(TantivyWriter):
    """A writer that some documents break, when they are put or only at the commit."""

    bad: frozenset[int] = frozenset()
    late = False
    doomed = False

    def put(self, documents: Sequence[Document]) -> dict[int, str]:
        self.doomed |= bool(self.bad & {document.id for document in documents})
        if self.doomed and not self.late:
            raise IndexBroken("The index writer broke (of a document).")
        return super().put(documents)

    def commit(self, version: int) -> None:
        if self.doomed:
            raise IndexBroken("The index writer broke (of a document).")
        super().commit(version)


@pytest.mark.parametrize("late", [False, True])
def test_documents_that_break_the_writer_are_found_and_set_aside(
    store: SqliteStore, place: TantivyLocation, late: bool
) -> None:
    crawler = start(store, HOME)
    visit_all(store, crawler, pages(300))
    bad = frozenset({id_of(store, f"{HOME}7"), id_of(store, f"{HOME}200")})

    def fragile() -> Fragile:
        writer = Fragile(place)
        writer.bad, writer.late = bad, late
        return writer

    update_index(store, fragile)
    everything = {row.id for row in store.resources() if row.state == "visited"}
    assert set(held(place)) == everything - bad
    with closing(TantivyReader(place)) as reader:
        assert reader.set_aside_documents().keys() == bad
        assert reader.version == store.version()
        assert all("broke" in reason for reason in reader.set_aside_documents().values())


def test_a_document_that_kills_every_writer_is_set_aside_in_the_end(store: SqliteStore, place: TantivyLocation) -> None:
    crawler = start(store, HOME)
    visit_all(store, crawler, pages(3))
    for _ in range(build.MOST_ATTEMPTS):
        killed(place)
    done = catch_up(store, place)
    assert (done.put, done.set_aside) == (3, 1)
    with closing(TantivyReader(place)) as reader:
        assert list(reader.set_aside_documents().values()) == [build.KILLED_REASON]


def test_one_killed_writer_means_nothing(store: SqliteStore, place: TantivyLocation) -> None:
    crawler = start(store, HOME)
    visit_all(store, crawler, pages(3))
    killed(place)
    assert catch_up(store, place).set_aside == 0


def test_new_anchor_texts_of_a_thousand_pages_arrive_without_putting_a_document_again(
    store: SqliteStore, place: TantivyLocation
) -> None:
    crawler = start(store, HOME)
    visit_all(store, crawler, pages(1_000), urls=2_000)
    catch_up(store, place)
    documents = place.commit_state()[1]
    store.requeue(time.time())
    found = leases(lease_all(store, crawler, urls=1))
    calls = [Bond(f"{HOME}{one}", anchor=f"calling {one} zebra") for one in range(1_000)]
    # The page itself says the same; only what it calls the others is new.
    store.submit(crawler, [fetched(found[HOME], *calls, body=f"the body of {HOME}")], admit_all, now=time.time())
    done = catch_up(store, place)
    assert done.put == 0
    assert done.anchors >= 1_000
    with closing(TantivyReader(place)) as reader:
        assert len(reader.best_by_anchor(words("zebra"), 2_000)) == 1_000
        assert reader.best_by_anchor(words("77"), 10) == [id_of(store, f"{HOME}77")]
        assert reader.match(words("zebra"), WEIGHTS, limit=5).total == 0
    assert documents != place.commit_state()[1], "only the version in it is new"


def test_lost_anchor_texts_are_lost(store: SqliteStore, place: TantivyLocation) -> None:
    crawler = start(store, HOME)
    target = f"{HOME}0"
    visit_all(store, crawler, {HOME: [Bond(target, anchor="zebra")], target: []})
    catch_up(store, place)
    store.requeue(time.time())
    found = leases(lease_all(store, crawler, urls=9))
    store.submit(crawler, [fetched(found[HOME], body="changed")], admit_all, now=time.time())
    catch_up(store, place)
    with closing(TantivyReader(place)) as reader:
        assert reader.best_by_anchor(words("zebra"), 10) == []


def test_words_seen_are_told_with_their_forms(store: SqliteStore, place: TantivyLocation) -> None:
    crawler = start(store, HOME)
    found = leases(lease_all(store, crawler, urls=9))
    store.submit(crawler, [fetched(found[HOME], body="Boil two eggs, or an EGG.")], admit_all, now=time.time())
    catch_up(store, place)
    with closing(TantivyReader(place)) as reader:
        entry = WordTable(store, reader).entry("Egg")
        assert (entry.word, entry.df, sorted(entry.forms)) == ("egg", 1, ["egg", "eggs"])
        assert entry.documents[0].url == HOME
        assert entry.documents[0].positions == [4, 7]
        assert entry.documents[0].fields == ["text", "text"]


def test_words_that_make_room_for_others_are_told_and_counted_all_the_same(
    store: SqliteStore, place: TantivyLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told() -> list[tuple[str, int]]:
        with closing(TantivyReader(place)) as reader:
            return reader.words_like("", shortest=1, longest=99)

    crawler = start(store, HOME)
    visit_all(store, crawler, pages(20))
    catch_up(store, place)
    at_once = told()
    assert ("body", 21) in at_once
    monkeypatch.setattr(documents, "MOST_CACHED_WORDS", 8)
    monkeypatch.setattr(build, "BATCH_SIZE", 2)
    catch_up(store, place, rebuild=True)
    assert told() == at_once


def test_a_builder_commits_on_a_rhythm_while_it_follows(
    store: SqliteStore, place: TantivyLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawler = start(store, HOME)
    visit_all(store, crawler, pages(10))
    builder = IndexBuilder(store, lambda: TantivyWriter(place))
    assert builder.step()
    with closing(TantivyReader(place)) as reader:
        assert reader.count() == 0, "not yet"
    monkeypatch.setattr(time, "monotonic", lambda now=time.monotonic: now() + build.COMMIT_SECONDS)
    assert builder.step()
    with closing(TantivyReader(place)) as reader:
        assert reader.count() == 11
    builder.close()


def test_what_a_builder_forgets_at_rest_is_committed_and_counted(
    store: SqliteStore, place: TantivyLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told() -> list[tuple[str, int]]:
        with closing(TantivyReader(place)) as reader:
            return reader.words_like("", shortest=1, longest=99)

    crawler = start(store, HOME)
    visit_all(store, crawler, pages(20))
    catch_up(store, place)
    at_once = told()
    monkeypatch.setattr(build, "BATCH_SIZE", 7)
    with closing(IndexBuilder(store, lambda: TantivyWriter(place, rebuild=True))) as builder:
        while not builder.step():
            builder.go_idle()
        builder.go_idle()
        builder.complete()
    assert told() == at_once
    assert held(place) == list(range(1, 22))


def test_counts_are_not_lost_when_a_builder_rests_before_it_is_up_to_date(
    store: SqliteStore, place: TantivyLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told() -> list[tuple[str, int]]:
        with closing(TantivyReader(place)) as reader:
            return reader.words_like("", shortest=1, longest=99)

    visit_all(store, start(store, HOME), pages(20))
    catch_up(store, place)
    at_once = told()
    monkeypatch.setattr(build, "BATCH_SIZE", 5)
    monkeypatch.setattr(build, "COMMIT_SECONDS", 0.0)  # words are not new any more when they come again
    monkeypatch.setattr(build, "COMMIT_SHARE", float("inf"))
    with closing(IndexBuilder(store, lambda: TantivyWriter(place, rebuild=True))) as builder:
        builder.step()
        builder.step()
        monkeypatch.setattr(build, "COMMIT_SECONDS", 60.0)
        builder.step()
        builder.step()
        builder.go_idle()
        builder.catch_up()
        builder.complete()
    assert told() == at_once


def test_text_without_blanks_is_not_remembered_but_its_words_are(store: SqliteStore, place: TantivyLocation) -> None:
    crawler = start(store, HOME)
    found = leases(lease_all(store, crawler, urls=9))
    store.submit(crawler, [fetched(found[HOME], body="東京都の天気、" * 20)], admit_all, now=time.time())
    catch_up(store, place)
    with closing(TantivyReader(place)) as reader:
        assert reader.forms("東京") == ["東京"]
        assert reader.postings("天気", by_frequency=True, offset=0, limit=1)[0].frequency == 20
        entry = WordTable(store, reader).entry("京都")
        assert entry.documents[0].tf == 20


def test_an_index_of_another_web_that_was_here_before_is_not_gone_on_with(
    store: SqliteStore, place: TantivyLocation, tmp_path: Path
) -> None:
    visit_all(store, start(store, HOME), pages(3), urls=1)
    catch_up(store, place)
    with closing(SqliteStore.open(tmp_path / "new", create=True)) as new:
        visit_all(new, start(new, HOME), pages(0))
        with pytest.raises(IndexFault, match="--rebuild"):
            catch_up(new, place)
        catch_up(new, place, rebuild=True)
        assert held(place) == [1]
