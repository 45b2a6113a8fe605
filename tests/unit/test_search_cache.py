"""The search cache: cached answers equal a search, come at once, and expire with their data."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.index.build import update_index
from gossamer.search.service import Hit
from gossamer.urls.canonical import url_digest
from gossamer.web.app import create_app
from gossamer.web.http.security import access_rules
from gossamer.web.search import answers, fast_path, search_cache
from gossamer.web.search.answers import SearchAnswer
from gossamer.web.search.facets import SearchQuestion
from gossamer.web.search.packed_answer import packed_answer, search_reply
from gossamer.web.search.search_cache import CachedAnswer, SearchQueue
from gossamer.web.search.search_client import SearchClient
from gossamer.web.search.search_session import SearchSession
from gossamer.wiring import open_index_writer
from helpers.store.small_web import SEED, build
from helpers.web.lifespan import started

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.store.sql_store import SqlStore

HOME = SearchQuestion(q="home")


class SearchedWeb(NamedTuple):
    """A web with an index, its store for writing, and its search queue."""

    location: Path
    store: SqlStore
    queue: SearchQueue

    def update_index(self) -> None:
        """Bring the index up to date."""
        update_index(self.store, lambda: open_index_writer(str(self.location)))

    def forget(self, url: str) -> None:
        """Remove a page from the store only."""
        self.store.forget(url_digest=url_digest(url))

    async def urls(self, question: SearchQuestion = HOME) -> list[str]:
        """Return the URLs of the hits."""
        return [hit.url for hit in (await self.queue.search(question)).answer.hits]


def open_queue(location: Path) -> SearchQueue:
    """Return a queue whose search process looks for a newer web at every question."""
    return SearchQueue(SearchClient(str(location), check_seconds=-1.0))


async def pause_searches(queue: SearchQueue) -> int:
    """Stop the search process, as if a search took long; return its number to let it go on."""
    pid = queue.client.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    return pid


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SearchedWeb]:
    monkeypatch.setattr(search_cache, "CHECK_SECONDS", 60.0)
    with closing(build(tmp_path / "web")) as store, closing(open_queue(tmp_path / "web")) as queue:
        searched_web = SearchedWeb(tmp_path / "web", store, queue)
        searched_web.update_index()
        yield searched_web


def test_a_cached_answer_equals_the_answer_of_a_search(web: SearchedWeb) -> None:
    async def scenario() -> None:
        first, second = await web.queue.search(HOME), await web.queue.search(HOME)
        with closing(SearchSession(str(web.location))) as other:
            searched = answers.search(other, HOME)
        assert searched.hits
        for each in (first, second):
            assert msgspec.structs.replace(each.answer, took_ms=0.0) == msgspec.structs.replace(searched, took_ms=0.0)
        assert second.tag == first.tag != (await web.queue.search(SearchQuestion(q="elsewhere"))).tag

    asyncio.run(scenario())


def test_equal_questions_at_once_share_one_search(web: SearchedWeb) -> None:
    async def scenario() -> None:
        await web.queue.search(SearchQuestion(q="elsewhere"))
        paused = await pause_searches(web.queue)
        searches = [asyncio.ensure_future(web.queue.search(HOME)) for _ in range(5)]
        await asyncio.sleep(0.1)
        assert len(web.queue.client.waiting) == 1
        os.kill(paused, signal.SIGCONT)
        assert len({each.tag for each in await asyncio.gather(*searches)}) == 1

    asyncio.run(scenario())


def test_a_cached_answer_does_not_wait_for_searches(web: SearchedWeb) -> None:
    async def scenario() -> None:
        before = await web.queue.search(HOME)
        paused = await pause_searches(web.queue)
        new_search = asyncio.ensure_future(web.queue.search(SearchQuestion(q="elsewhere")))
        again = await asyncio.wait_for(web.queue.search(HOME), 10)
        assert not new_search.done()
        os.kill(paused, signal.SIGCONT)
        assert again.tag == before.tag != (await new_search).tag

    asyncio.run(scenario())


def test_a_cached_answer_waits_behind_a_long_queue(web: SearchedWeb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_cache, "LONG_QUEUE", 2)

    async def scenario() -> None:
        await web.queue.search(HOME)
        paused = await pause_searches(web.queue)
        order: list[str] = []

        async def search_for(words: str) -> None:
            await web.queue.search(SearchQuestion(q=words))
            order.append(words)

        searches = [asyncio.ensure_future(search_for(words)) for words in ("elsewhere", "home")]
        while not order:
            await asyncio.sleep(0.01)
        assert order == ["home"]  # one waiting search is no long queue
        searches += [asyncio.ensure_future(search_for(words)) for words in ("away", "home", "there")]
        os.kill(paused, signal.SIGCONT)
        await asyncio.gather(*searches)
        assert order == ["home", "elsewhere", "away", "home", "there"]

    asyncio.run(scenario())


def test_a_cancelled_request_does_not_end_the_search_of_others(web: SearchedWeb) -> None:
    async def scenario() -> None:
        one, other = (asyncio.ensure_future(web.queue.search(HOME)) for _ in range(2))
        await asyncio.sleep(0)
        one.cancel()
        assert (await other).answer.hits
        assert one.cancelled()

    asyncio.run(scenario())


def test_a_new_index_commit_replaces_cached_answers(web: SearchedWeb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_cache, "CHECK_SECONDS", -1.0)

    async def scenario() -> None:
        assert SEED in await web.urls()
        web.forget(SEED)
        web.update_index()
        assert SEED not in await web.urls()

    asyncio.run(scenario())


def test_a_cached_answer_outlives_a_store_write_for_seconds_only(
    web: SearchedWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_cache, "CHECK_SECONDS", -1.0)

    async def scenario() -> None:
        assert SEED in await web.urls()
        web.forget(SEED)
        assert SEED in await web.urls()
        monkeypatch.setattr(search_cache, "MAX_STALE_SECONDS", -1.0)
        assert SEED not in await web.urls()

    asyncio.run(scenario())


def test_a_cleared_cache_does_not_return_forgotten_pages(web: SearchedWeb) -> None:
    async def scenario() -> None:
        assert SEED in await web.urls()
        web.forget(SEED)
        web.queue.clear()
        assert SEED not in await web.urls()

    asyncio.run(scenario())


def test_the_cache_size_is_limited(web: SearchedWeb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_cache, "MAX_CACHE_BYTES", 8_000)
    web.queue.clear()

    async def scenario() -> None:
        for number in range(20):
            await web.queue.search(SearchQuestion(q=f"home {number}"))
        assert web.queue.cached_answer((SearchQuestion(q="home 19"), False))
        assert not web.queue.cached_answer((SearchQuestion(q="home 0"), False))

    asyncio.run(scenario())


def test_the_fast_path_reports_a_missing_index_like_the_framework(tmp_path: Path) -> None:
    build(tmp_path / "web").close()
    app = create_app(str(tmp_path / "web"), access_rules("127.0.0.1", None, frozenset(), 0.0))

    async def scenario() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app)
        async with started(app), httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return [await client.get(f"/api/search?q=home{more}") for more in ("", "&facets=true")]

    fast, slow = asyncio.run(scenario())
    assert fast.status_code == slow.status_code == 503
    assert fast.json() == slow.json()
    assert dict(fast.headers) == dict(slow.headers)


@given(st.text(), st.floats(0, 1e6))
def test_a_cached_answer_is_the_same_json_except_for_its_time(text: str, took: float) -> None:
    hit = Hit(url=text, title=text, snippet=text, score=1.5, host=text, visited_at=None)
    answer = SearchAnswer(
        query=text, total=1, page=1, limit=10, took_ms=3.0, suggestion=text, hits=(hit,), notes=(text,)
    )
    fields, tag = msgspec.structs.astuple(search_reply(answer))
    cached = CachedAnswer(packed_answer(fields), tag, 1, 0.0)
    assert cached.body == msgspec.json.encode(answer)
    later = cached.with_time(took)
    timed = msgspec.structs.replace(answer, took_ms=round(took, 3))
    assert later.answer == timed
    assert later.body == msgspec.json.encode(timed)
    assert later.tag == cached.tag


# -- the fast path -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "question"),
    [
        (b"q=link+graph", SearchQuestion(q="link graph")),
        (b"q=%E2%82%AC%FF&page=2", SearchQuestion(q="\u20ac\ufffd", page=2)),
        (b"limit=100&q=a%26b", SearchQuestion(q="a&b", limit=100)),
        (b"q=", SearchQuestion(q="")),
        (b"", SearchQuestion(q="")),
        (b"q=" + b"a" * 2_000, SearchQuestion(q="a" * 2_000)),
    ],
)
def test_a_plain_question_is_understood(query: bytes, question: SearchQuestion) -> None:
    assert fast_path.plain_question(query) == question


@pytest.mark.parametrize(
    "query",
    [
        b"q=a&host=b", b"q=a&facets=true", b"q=a&explain=1", b"q=a&q=b", b"q=a&page=0", b"q=a&page=10001", b"q=a&page=",
        b"q=a&page=+1", b"q=a&page=1.0", b"q=a&page=%D9%A1", b"q=a&limit=101", b"q=a&limit=-1", b"q=a&unknown=1",
        b"q=a&page=" + b"9" * 5_000, b"q=" + b"a" * 2_001,
    ],
)  # fmt: skip
def test_any_other_question_is_left_to_the_framework(query: bytes) -> None:
    assert fast_path.plain_question(query) is None
