"""Answers that are remembered: the same as a search's, told at once, and gone when they no longer hold."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.index.build import update_index
from gossamer.urls.canonical import url_digest
from gossamer.web import answers
from gossamer.web.answers import SearchAnswer, SearchQuestion
from gossamer.web.app import create_app
from gossamer.web.http import sessions
from gossamer.web.http.security import access_rules
from gossamer.web.search import fast_path, search_cache
from gossamer.web.search.search_cache import SearchQueue, encode_answer
from gossamer.wiring import open_index_writer
from helpers.store.small_web import SEED, build

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.store.sqlite import SqliteStore

HOME = SearchQuestion(q="home")


class Web(NamedTuple):
    """A web that is searched, and written."""

    place: Path
    store: SqliteStore
    lane: SearchQueue

    def indexed(self) -> None:
        """Bring the index up to date."""
        update_index(self.store, lambda: open_index_writer(str(self.place)))

    def forget(self, url: str) -> None:
        """Remove a page from the store only."""
        self.store.forget(url_digest=url_digest(url))

    async def urls(self, asked: SearchQuestion = HOME) -> list[str]:
        """The pages found."""
        return [hit.url for hit in (await self.lane.search(asked)).answer.hits]


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    monkeypatch.setattr(sessions, "CHECK_SECONDS", -1.0)
    monkeypatch.setattr(search_cache, "CHECK_SECONDS", 60.0)
    with closing(build(tmp_path / "web")) as store, closing(SearchQueue(str(tmp_path / "web"))) as lane:
        made = Web(tmp_path / "web", store, lane)
        made.indexed()
        yield made


def test_what_is_remembered_is_what_a_search_finds(web: Web) -> None:
    async def asked() -> None:
        first, second = await web.lane.search(HOME), await web.lane.search(HOME)
        with closing(sessions.ReadSession(str(web.place))) as other:
            searched = answers.search(other, HOME)
        assert searched.hits
        for each in (first, second):
            assert msgspec.structs.replace(each.answer, took_ms=0.0) == msgspec.structs.replace(searched, took_ms=0.0)
        assert second.tag == first.tag != (await web.lane.search(SearchQuestion(q="elsewhere"))).tag

    asyncio.run(asked())


def test_who_asks_the_same_at_once_waits_for_one_search(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[answers.SearchQuestion] = []

    def counted(desk_: sessions.ReadSession, asked: answers.SearchQuestion, *, with_facets: bool) -> SearchAnswer:
        searches.append(asked)
        return search(desk_, asked, with_facets=with_facets)

    search = answers.search
    monkeypatch.setattr(answers, "search", counted)

    async def asked() -> None:
        same = await asyncio.gather(*(web.lane.search(HOME) for _ in range(5)))
        assert len({each.tag for each in same}) == 1

    asyncio.run(asked())
    assert searches == [HOME]


def test_a_remembered_answer_does_not_wait_for_searches(web: Web) -> None:
    async def asked() -> None:
        before = await web.lane.search(HOME)
        go_on = threading.Event()
        web.lane._thread.submit(go_on.wait)  # a search that takes long
        new = asyncio.ensure_future(web.lane.search(SearchQuestion(q="elsewhere")))
        again = await asyncio.wait_for(web.lane.search(HOME), 10)
        assert not new.done()
        go_on.set()
        assert again.tag == before.tag != (await new).tag

    asyncio.run(asked())


def test_in_a_crowd_a_remembered_answer_waits_its_turn(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_cache, "LONG_QUEUE", 2)

    async def asked() -> None:
        await web.lane.search(HOME)
        go_on = threading.Event()
        web.lane._thread.submit(go_on.wait)  # a search that takes long
        order: list[str] = []

        async def told(words: str) -> None:
            await web.lane.search(SearchQuestion(q=words))
            order.append(words)

        asking = [asyncio.ensure_future(told(words)) for words in ("elsewhere", "home")]
        await asyncio.sleep(0.05)
        assert order == ["home"]  # one search in line is no crowd
        asking += [asyncio.ensure_future(told(words)) for words in ("away", "home", "there")]
        await asyncio.sleep(0.05)
        assert order == ["home"]
        go_on.set()
        await asyncio.gather(*asking)
        assert order == ["home", "elsewhere", "away", "home", "there"]

    asyncio.run(asked())


def test_one_who_goes_away_does_not_end_the_search_of_others(web: Web) -> None:
    async def asked() -> None:
        one, other = (asyncio.ensure_future(web.lane.search(HOME)) for _ in range(2))
        await asyncio.sleep(0)
        one.cancel()
        assert (await other).answer.hits
        assert one.cancelled()

    asyncio.run(asked())


def test_another_commit_of_the_index_is_seen(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_cache, "CHECK_SECONDS", -1.0)

    async def asked() -> None:
        assert SEED in await web.urls()
        web.forget(SEED)
        web.indexed()
        assert SEED not in await web.urls()

    asyncio.run(asked())


def test_an_answer_of_a_store_that_was_written_holds_for_seconds(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_cache, "CHECK_SECONDS", -1.0)

    async def asked() -> None:
        assert SEED in await web.urls()
        web.forget(SEED)
        assert SEED in await web.urls()
        monkeypatch.setattr(search_cache, "MAX_STALE_SECONDS", -1.0)
        assert SEED not in await web.urls()

    asyncio.run(asked())


def test_what_was_forgotten_through_the_server_is_not_remembered(web: Web) -> None:
    async def asked() -> None:
        assert SEED in await web.urls()
        web.forget(SEED)
        web.lane.clear()
        assert SEED not in await web.urls()

    asyncio.run(asked())


def test_no_more_is_remembered_than_was_said(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_cache, "MAX_CACHE_BYTES", 8_000)
    web.lane.clear()

    async def asked() -> None:
        for number in range(20):
            await web.lane.search(SearchQuestion(q=f"home {number}"))
        assert web.lane.cached_answer((SearchQuestion(q="home 19"), False))
        assert not web.lane.cached_answer((SearchQuestion(q="home 0"), False))

    asyncio.run(asked())


def test_a_web_without_an_index_is_told_as_a_problem_by_the_short_way_too(tmp_path: Path) -> None:
    build(tmp_path / "web").close()
    app = create_app(str(tmp_path / "web"), access_rules("127.0.0.1", None, frozenset(), 0.0))

    async def asked() -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
            return [await client.get(f"/api/search?q=home{more}") for more in ("", "&facets=true")]

    short, long = asyncio.run(asked())
    assert short.status_code == long.status_code == 503
    assert short.json() == long.json()
    assert dict(short.headers) == dict(long.headers)


@given(st.text(), st.floats(0, 1e6))
def test_an_answer_is_the_same_json_but_for_its_time(text: str, took: float) -> None:
    answer = SearchAnswer(
        query=text, total=1, page=1, limit=10, took_ms=3.0, suggestion=f'"took_ms":{text}', hits=(), notes=(text,)
    )
    told = encode_answer(answer, 1, 0.0)._replace(took_ms=took)
    assert told.answer == msgspec.structs.replace(answer, took_ms=json.loads(f"{took:.3f}"))
    assert json.loads(told.body) == {**json.loads(msgspec.json.encode(answer)), "took_ms": told.answer.took_ms}


# -- the short way -----------------------------------------------------------------------------------------------------


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
