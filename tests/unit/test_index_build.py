"""The index builder follows a store: additions, removals, documents set aside, no repeated work."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from gossamer.errors import IndexBroken, IndexFault
from gossamer.index import build
from gossamer.index import pieces as piece_tables
from gossamer.index.build import IndexBuilder, update_index
from gossamer.index.tantivy import TantivyLocation, TantivyReader, TantivyWriter
from gossamer.index.word_table import WordTable
from gossamer.model import VisitBatch
from gossamer.store.sqlite import open_sqlite_store
from helpers.index.small_index import WEIGHTS, words
from helpers.store.crawl_steps import (
    Bond,
    admit_all,
    digest,
    fetched_visit,
    lease_all,
    leases,
    requeue,
    start,
    visit_all,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gossamer.index.protocol import Document, IndexProgress
    from gossamer.store.sql_store import SqlStore

HOME = "http://a.test/"


def pages(count: int) -> dict[str, list[Bond | str]]:
    """Return a home page and this many other pages, with their links."""
    others = [f"{HOME}{number}" for number in range(count)]
    return {HOME: list(others), **{url: [HOME] for url in others}}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    with closing(open_sqlite_store(tmp_path / "web", create=True)) as store:
        yield store


@pytest.fixture
def location(tmp_path: Path) -> TantivyLocation:
    return TantivyLocation(tmp_path / "index")


def catch_up(store: SqlStore, location: TantivyLocation, *, rebuild: bool = False) -> IndexProgress:
    return update_index(store, lambda: TantivyWriter(location, rebuild=rebuild))


def indexed_ids(location: TantivyLocation) -> list[int]:
    with closing(TantivyReader(location)) as reader:
        return sorted(reader.ids())


def leave_killed_writer(location: TantivyLocation) -> None:
    """Leave the files of a writer that is killed before its first commit."""
    writer = TantivyWriter(location)
    attempt_file = location.require_current() / "attempt"
    left = attempt_file.read_bytes()
    writer.close()
    attempt_file.write_bytes(left)


def id_of(store: SqlStore, url: str) -> int:
    row = store.resource(digest(url))
    assert row is not None
    return row.id


def test_stored_pages_are_indexed_once(store: SqlStore, location: TantivyLocation) -> None:
    crawler = start(store, HOME)
    visit_all(store, crawler, pages(20))
    first = catch_up(store, location)
    assert (first.put, first.version, first.set_aside) == (21, store.version(), 0)
    again = catch_up(store, location)
    assert (again.put, again.unchanged, again.anchors) == (0, 0, 0)
    with closing(TantivyReader(location)) as reader:
        assert reader.version == reader.anchors_version == store.version()


def test_a_rebuild_yields_the_same_index(store: SqlStore, location: TantivyLocation) -> None:
    crawler = start(store, HOME)
    visit_all(store, crawler, pages(20))
    catch_up(store, location)
    word_ids = store.known_word_ids(["bodi", "titl"])
    before = indexed_ids(location)
    assert catch_up(store, location, rebuild=True).put == 21
    assert indexed_ids(location) == before
    assert store.known_word_ids(["bodi", "titl"]) == word_ids, "words keep their ids"


def test_a_forgotten_page_leaves_the_index(store: SqlStore, location: TantivyLocation) -> None:
    crawler = start(store, HOME)
    visit_all(store, crawler, pages(3))
    catch_up(store, location)
    forgotten = id_of(store, f"{HOME}1")
    store.forget(url_digest=digest(f"{HOME}1"))
    assert catch_up(store, location).removed >= 1
    assert forgotten not in indexed_ids(location)


def test_an_unreadable_text_is_set_aside_and_the_rest_is_indexed(
    store: SqlStore, location: TantivyLocation, tmp_path: Path
) -> None:
    crawler = start(store, HOME)
    visit_all(store, crawler, pages(5))
    bad = id_of(store, f"{HOME}3")
    with closing(sqlite3.connect(tmp_path / "web" / "web.db")) as database, database:
        database.execute("UPDATE texts SET body = x'00ff' WHERE resource = ?", (bad,))
    progress = catch_up(store, location)
    assert (progress.put, progress.set_aside) == (5, 1)
    assert bad not in indexed_ids(location)
    with closing(TantivyReader(location)) as reader:
        assert "cannot be decompressed" in reader.set_aside_documents()[bad]


class FragileWriter(TantivyWriter):
    """A writer that some documents break, when they are put or at the commit."""

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


class HungryWriter(TantivyWriter):
    """A writer that some documents take all memory from."""

    bad: frozenset[int] = frozenset()

    def put(self, documents: Sequence[Document]) -> dict[int, str]:
        if self.bad & {document.id for document in documents}:
            raise MemoryError
        return super().put(documents)


def test_a_document_that_needs_too_much_memory_is_set_aside(store: SqlStore, location: TantivyLocation) -> None:
    crawler = start(store, HOME)
    visit_all(store, crawler, pages(40))
    bad = frozenset({id_of(store, f"{HOME}7")})

    def hungry_writer() -> HungryWriter:
        writer = HungryWriter(location)
        writer.bad = bad
        return writer

    assert update_index(store, hungry_writer).set_aside == 1
    with closing(TantivyReader(location)) as reader:
        assert reader.set_aside_documents() == dict.fromkeys(bad, build.MEMORY_REASON)
        assert reader.count() == 40
    assert update_index(store, hungry_writer).put == 0  # a later run is not blocked


def test_texts_that_are_long_together_become_documents_in_parts(
    store: SqlStore, location: TantivyLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "BATCH_TEXT_BYTES", 100)
    crawler = start(store, HOME)
    visit_all(store, crawler, pages(40))
    assert catch_up(store, location).put == 41
    assert len(indexed_ids(location)) == 41


@pytest.mark.parametrize("late", [False, True])
def test_documents_that_break_the_writer_are_set_aside(store: SqlStore, location: TantivyLocation, late: bool) -> None:
    crawler = start(store, HOME)
    visit_all(store, crawler, pages(300))
    bad = frozenset({id_of(store, f"{HOME}7"), id_of(store, f"{HOME}200")})

    def fragile_writer() -> FragileWriter:
        writer = FragileWriter(location)
        writer.bad, writer.late = bad, late
        return writer

    update_index(store, fragile_writer)
    visited = {row.id for row in store.resources() if row.state == "visited"}
    assert set(indexed_ids(location)) == visited - bad
    with closing(TantivyReader(location)) as reader:
        assert reader.set_aside_documents().keys() == bad
        assert reader.version == store.version()
        assert all("broke" in reason for reason in reader.set_aside_documents().values())


def test_a_document_that_kills_every_writer_is_set_aside(store: SqlStore, location: TantivyLocation) -> None:
    crawler = start(store, HOME)
    visit_all(store, crawler, pages(3))
    for _ in range(build.MOST_ATTEMPTS):
        leave_killed_writer(location)
    progress = catch_up(store, location)
    assert (progress.put, progress.set_aside) == (3, 1)
    with closing(TantivyReader(location)) as reader:
        assert list(reader.set_aside_documents().values()) == [build.KILLED_REASON]


def test_one_killed_writer_sets_no_document_aside(store: SqlStore, location: TantivyLocation) -> None:
    crawler = start(store, HOME)
    visit_all(store, crawler, pages(3))
    leave_killed_writer(location)
    assert catch_up(store, location).set_aside == 0


def test_new_anchor_texts_do_not_index_their_documents_again(store: SqlStore, location: TantivyLocation) -> None:
    crawler = start(store, HOME)
    visit_all(store, crawler, pages(1_000), urls=2_000)
    catch_up(store, location)
    documents = location.commit_state()[1]
    requeue(store)
    by_url = leases(lease_all(store, crawler, urls=1))
    bonds = [Bond(f"{HOME}{number}", anchor=f"calling {number} zebra") for number in range(1_000)]
    # The text of the page is the same; only its anchor texts are new.
    store.submit(
        crawler,
        VisitBatch(visits=[fetched_visit(by_url[HOME], *bonds, body=f"the body of {HOME}")]),
        admit_all,
        time.time(),
    )
    progress = catch_up(store, location)
    assert progress.put == 0
    assert progress.anchors >= 1_000
    with closing(TantivyReader(location)) as reader:
        assert len(reader.best_by_anchor(words("zebra"), 2_000)) == 1_000
        assert reader.best_by_anchor(words("77"), 10) == [id_of(store, f"{HOME}77")]
        assert reader.match(words("zebra"), WEIGHTS, limit=5).total == 0
    assert documents != location.commit_state()[1], "only its version is new"


def test_removed_anchor_texts_leave_the_index(store: SqlStore, location: TantivyLocation) -> None:
    crawler = start(store, HOME)
    target = f"{HOME}0"
    visit_all(store, crawler, {HOME: [Bond(target, anchor="zebra")], target: []})
    catch_up(store, location)
    requeue(store)
    by_url = leases(lease_all(store, crawler, urls=9))
    store.submit(crawler, VisitBatch(visits=[fetched_visit(by_url[HOME], body="changed")]), admit_all, time.time())
    catch_up(store, location)
    with closing(TantivyReader(location)) as reader:
        assert reader.best_by_anchor(words("zebra"), 10) == []


def test_a_word_entry_holds_forms_positions_and_fields(store: SqlStore, location: TantivyLocation) -> None:
    crawler = start(store, HOME)
    by_url = leases(lease_all(store, crawler, urls=9))
    store.submit(
        crawler,
        VisitBatch(visits=[fetched_visit(by_url[HOME], body="Boil two eggs, or an EGG.")]),
        admit_all,
        time.time(),
    )
    catch_up(store, location)
    with closing(TantivyReader(location)) as reader:
        entry = WordTable(store, reader).entry("Egg")
        assert (entry.word, entry.df, sorted(entry.forms)) == ("egg", 1, ["egg", "eggs"])
        assert entry.documents[0].url == HOME
        assert entry.documents[0].positions == [4, 7]
        assert entry.documents[0].fields == ["text", "text"]


def test_words_evicted_from_the_cache_are_still_counted(
    store: SqlStore, location: TantivyLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def word_counts() -> list[tuple[str, int]]:
        with closing(TantivyReader(location)) as reader:
            return reader.words_like("", shortest=1, longest=99)

    crawler = start(store, HOME)
    visit_all(store, crawler, pages(20))
    catch_up(store, location)
    expected = word_counts()
    assert ("body", 21) in expected
    monkeypatch.setattr(piece_tables, "MOST_CACHED_WORDS", 8)
    monkeypatch.setattr(build, "BATCH_SIZE", 2)
    catch_up(store, location, rebuild=True)
    assert word_counts() == expected


def test_a_builder_commits_at_intervals(
    store: SqlStore, location: TantivyLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawler = start(store, HOME)
    visit_all(store, crawler, pages(10))
    builder = IndexBuilder(store, lambda: TantivyWriter(location))
    assert builder.step()
    with closing(TantivyReader(location)) as reader:
        assert reader.count() == 0, "not yet"
    monkeypatch.setattr(time, "monotonic", lambda now=time.monotonic: now() + build.COMMIT_SECONDS)
    assert builder.step()
    with closing(TantivyReader(location)) as reader:
        assert reader.count() == 11
    builder.close()


def test_an_idle_builder_commits_its_word_counts(
    store: SqlStore, location: TantivyLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def word_counts() -> list[tuple[str, int]]:
        with closing(TantivyReader(location)) as reader:
            return reader.words_like("", shortest=1, longest=99)

    crawler = start(store, HOME)
    visit_all(store, crawler, pages(20))
    catch_up(store, location)
    expected = word_counts()
    monkeypatch.setattr(build, "BATCH_SIZE", 7)
    with closing(IndexBuilder(store, lambda: TantivyWriter(location, rebuild=True))) as builder:
        while not builder.step():
            builder.go_idle()
        builder.go_idle()
        builder.complete()
    assert word_counts() == expected
    assert indexed_ids(location) == list(range(1, 22))


def test_word_counts_survive_going_idle_before_catching_up(
    store: SqlStore, location: TantivyLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def word_counts() -> list[tuple[str, int]]:
        with closing(TantivyReader(location)) as reader:
            return reader.words_like("", shortest=1, longest=99)

    visit_all(store, start(store, HOME), pages(20))
    catch_up(store, location)
    expected = word_counts()
    monkeypatch.setattr(build, "BATCH_SIZE", 5)
    monkeypatch.setattr(build, "COMMIT_SECONDS", 0.0)  # each step commits, so repeated words are not new
    monkeypatch.setattr(build, "COMMIT_SHARE", float("inf"))
    with closing(IndexBuilder(store, lambda: TantivyWriter(location, rebuild=True))) as builder:
        builder.step()
        builder.step()
        monkeypatch.setattr(build, "COMMIT_SECONDS", 60.0)
        builder.step()
        builder.step()
        builder.go_idle()
        builder.catch_up()
        builder.complete()
    assert word_counts() == expected


def test_text_without_blanks_is_indexed_by_character_pairs(store: SqlStore, location: TantivyLocation) -> None:
    crawler = start(store, HOME)
    by_url = leases(lease_all(store, crawler, urls=9))
    store.submit(
        crawler, VisitBatch(visits=[fetched_visit(by_url[HOME], body="東京都の天気、" * 20)]), admit_all, time.time()
    )
    catch_up(store, location)
    with closing(TantivyReader(location)) as reader:
        assert reader.forms("東京") == ["東京"]
        assert reader.postings("天気", by_frequency=True, offset=0, limit=1)[0].frequency == 20
        entry = WordTable(store, reader).entry("京都")
        assert entry.documents[0].tf == 20


def test_an_index_of_another_web_is_refused_without_rebuild(
    store: SqlStore, location: TantivyLocation, tmp_path: Path
) -> None:
    visit_all(store, start(store, HOME), pages(3), urls=1)
    catch_up(store, location)
    with closing(open_sqlite_store(tmp_path / "new", create=True)) as new:
        visit_all(new, start(new, HOME), pages(0))
        with pytest.raises(IndexFault, match="--rebuild"):
            catch_up(new, location)
        catch_up(new, location, rebuild=True)
        assert indexed_ids(location) == [1]
