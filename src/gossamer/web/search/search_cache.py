"""Searches one by one, and the answers to what was asked lately: people ask the same things, and go back to them.

A search is some milliseconds, most of them of Python, which runs one thread at a time, and a thread more takes 140 MB.
So one thread makes them all, the lane, first come, first served. Who asks what is being searched for already waits for
that search. What is remembered is told in the event loop, past the line, unless the line is long.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from gossamer.index.recent import TwoGenerationCache
from gossamer.web import answers
from gossamer.web.http.sessions import ReadSession

MAX_CACHE_BYTES = 32 << 20  # of answers, which have about 5 kB
OVERHEAD_BYTES = 500  # bytes of a remembered answer that are not its text
CHECK_SECONDS = 1.0  # after which somebody must look again whether index and ranks are others
# How old an answer may be when the store was written meanwhile, but index and ranks are the same. Another would differ
# in nothing but the title, text and time of pages visited again; new ones are found after the index's next commit.
MAX_STALE_SECONDS = 5.0
# Searches in line, from which on what is remembered waits its turn. Passing a long line would only make it longer: by
# then all that are asked at once wait as long on the whole, and those in line would wait twice as long as the others.
LONG_QUEUE = 8
TOOK_KEY = b'"took_ms":'  # cannot stand within a text of JSON: its quotes have backslashes

CacheKey = tuple[answers.SearchQuestion, bool]


class CachedAnswer(NamedTuple):
    """An answer as it goes over the wire, but for the time it took."""

    before: bytes
    after: bytes
    tag: str  # for caches; the same answer has the same
    version: int  # of the store
    made_at: float
    took_ms: float

    @property
    def body(self) -> bytes:
        """The answer as JSON."""
        return b"%b%.3f%b" % (self.before, self.took_ms, self.after)

    @property
    def answer(self) -> answers.SearchAnswer:
        """The answer as a value."""
        return msgspec.json.decode(self.body, type=answers.SearchAnswer)


def encode_answer(answer: answers.SearchAnswer, version: int, now: float) -> CachedAnswer:
    """An answer, to be remembered."""
    before, took, rest = msgspec.json.encode(answer).partition(TOOK_KEY)
    after = rest[rest.index(b",") :]
    tag = f'W/"{blake2b(before + after, digest_size=10).hexdigest()}"'
    return CachedAnswer(before + took, after, tag, version, now, answer.took_ms)


class SearchQueue:
    """Where all searches of a server are made."""

    def __init__(self, location: str) -> None:
        self._location = location
        self._thread = ThreadPoolExecutor(1, "search")
        self._running: dict[CacheKey, asyncio.Future[CachedAnswer]] = {}
        # Written by the thread, read in the event loop.
        self._session: ReadSession | None = None
        self._answers: TwoGenerationCache[CacheKey, CachedAnswer] = TwoGenerationCache(MAX_CACHE_BYTES)
        self._generation = self._version = -1
        self._checked_at = float("-inf")

    async def search(self, question: answers.SearchQuestion, *, with_facets: bool = False) -> CachedAnswer:
        """Search, or find the answer of a moment ago."""
        key = (question, with_facets)
        if time.monotonic() - self._checked_at > CHECK_SECONDS:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._refresh_session)
        cached = self.cached_answer(key)
        if cached is None:
            return await self._search_once(key)
        if len(self._running) >= LONG_QUEUE:
            last_in_line = next(reversed(self._running.values()))
            await asyncio.wait((last_in_line,))
        return cached

    def cached_answer(self, key: CacheKey) -> CachedAnswer | None:
        """The answer of a moment ago, if it still holds."""
        started = time.perf_counter()
        cached = self._answers.get(key)
        if cached is None or (
            cached.version != self._version and time.monotonic() - cached.made_at > MAX_STALE_SECONDS
        ):
            return None
        return cached._replace(took_ms=(time.perf_counter() - started) * 1000)

    def clear(self) -> None:
        """Forget all answers: a page that was in them must not be seen again."""
        self._answers = TwoGenerationCache(MAX_CACHE_BYTES)

    def close(self) -> None:
        """Let go of everything."""
        self._thread.shutdown(cancel_futures=True)
        if self._session is not None:
            self._session.close()

    async def _search_once(self, key: CacheKey) -> CachedAnswer:
        running = self._running.get(key)
        if running is None:
            running = self._running[key] = asyncio.get_running_loop().run_in_executor(self._thread, self._search, key)
            running.add_done_callback(lambda _: self._running.pop(key))
        return await asyncio.shield(running)  # others may wait for it too

    # -- in the thread -------------------------------------------------------------------------------------------------

    def _search(self, key: CacheKey) -> CachedAnswer:
        session, now = self._refresh_session(), time.monotonic()
        version, cache = self._version, self._answers  # what is forgotten meanwhile stays forgotten
        cached = encode_answer(answers.search(session, key[0], with_facets=key[1]), version, now)
        cache.put(key, cached, len(cached.before) + len(cached.after) + OVERHEAD_BYTES)
        return cached

    def _refresh_session(self) -> ReadSession:
        """The desk; answers from another index or other ranks are forgotten."""
        session = self._session = self._session or ReadSession(self._location)
        generation, self._version = session.state
        if generation != self._generation:
            self._generation = generation
            self.clear()
        self._checked_at = session.checked_at
        return session
