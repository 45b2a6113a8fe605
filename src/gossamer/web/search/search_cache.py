"""A queue with one thread for all searches, and a cache of recent answers with the age they may reach.

A search takes some milliseconds, mostly of Python, which runs one thread at a time; each further thread costs 140 MB.
So one thread makes all searches in order. Requests for a running search wait for its answer. Cached answers skip the
queue and go out from the event loop, unless the queue is long (docs/decisions/0024).
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from gossamer.basics.cache import SizedCache
from gossamer.web.http.sessions import ReadSession
from gossamer.web.search import answers
from gossamer.web.search.question import SearchQuestion

MAX_CACHE_BYTES = 32 << 20  # about 6,000 answers of 5 kB
OVERHEAD_BYTES = 700  # of a cached answer besides its JSON
CHECK_SECONDS = 1.0  # between two checks for a new index or new ranks
# Maximum age of an answer after a write to the store, while index and ranks stay the same. A new answer would differ
# only in title, text and time of pages visited again. New pages appear with the next commit of the index.
MAX_STALE_SECONDS = 5.0
# Running searches from which on cached answers wait for the end of the queue too. If they skipped a long queue, the
# mean wait would stay the same. Requests in the queue would wait twice as long as the others.
LONG_QUEUE = 8
ENCODER = msgspec.json.Encoder()

CacheKey = tuple[SearchQuestion, bool]

# The fields of `SearchAnswer` in the same order, so the same JSON, with hits and facets already as JSON.
PackedAnswer = msgspec.defstruct("PackedAnswer", answers.SearchAnswer.__struct_fields__, frozen=True, gc=False)


class CachedAnswer(NamedTuple):
    """An answer in the cache. It becomes JSON for the API, and a value for HTML pages and feeds.

    Hits and facets are packed, because their values take 2.5 times the memory of their JSON.
    """

    packed: msgspec.Struct
    tag: str  # the ETag, which ignores `took_ms`
    version: int  # of the store
    made_at: float  # monotonic time

    @property
    def body(self) -> bytes:
        """The answer as JSON."""
        return ENCODER.encode(self.packed)

    @property
    def answer(self) -> answers.SearchAnswer:
        """The answer as a value."""
        return msgspec.json.decode(self.body, type=answers.SearchAnswer)

    def with_time(self, took_ms: float) -> CachedAnswer:
        """Return the answer for a request that took so long."""
        packed = msgspec.structs.replace(self.packed, took_ms=round(took_ms, 3))
        return CachedAnswer(packed, self.tag, self.version, self.made_at)


def pack_answer(answer: answers.SearchAnswer, version: int, now: float) -> CachedAnswer:
    """Pack an answer for the cache."""
    fields = msgspec.structs.asdict(answer)
    packed = PackedAnswer(**{**fields, "hits": _pack(answer.hits), "facets": _pack(answer.facets)})
    untimed = ENCODER.encode(msgspec.structs.replace(packed, took_ms=0))
    return CachedAnswer(packed, f'W/"{blake2b(untimed, digest_size=10).hexdigest()}"', version, now)


def _pack(value: object) -> msgspec.Raw:
    buffer = bytearray()
    ENCODER.encode_into(value, buffer)
    return msgspec.Raw(bytes(buffer))  # the result of `encode` holds up to 1 kB of unused memory


class SearchQueue:
    """Makes all searches of a server in one thread."""

    def __init__(self, location: str) -> None:
        self._location = location
        self._thread = ThreadPoolExecutor(1, "search")
        self._running: dict[CacheKey, asyncio.Future[CachedAnswer]] = {}
        # The thread writes these; the event loop reads them.
        self._session: ReadSession | None = None
        self._answers: SizedCache[CacheKey, CachedAnswer] = SizedCache(MAX_CACHE_BYTES)
        self._generation = self._version = -1
        self._checked_at = float("-inf")

    async def search(self, question: SearchQuestion, *, with_facets: bool = False) -> CachedAnswer:
        """Return a cached answer, or search."""
        key = (question, with_facets)
        if time.monotonic() - self._checked_at > CHECK_SECONDS:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._refresh_session)
        cached = self.cached_answer(key)
        if cached is None:
            return await self._search_once(key)
        if len(self._running) >= LONG_QUEUE:
            newest = next(reversed(self._running.values()))
            await asyncio.wait((newest,))
        return cached

    def cached_answer(self, key: CacheKey) -> CachedAnswer | None:
        """Return the cached answer if it is still valid."""
        started = time.perf_counter()
        cached = self._answers.get(key)
        if cached is None or (
            cached.version != self._version and time.monotonic() - cached.made_at > MAX_STALE_SECONDS
        ):
            return None
        return cached.with_time((time.perf_counter() - started) * 1000)

    def clear(self) -> None:
        """Drop all cached answers, for example because the web forgot a page."""
        self._answers = SizedCache(MAX_CACHE_BYTES)

    def close(self) -> None:
        """End the thread and close its session."""
        self._thread.shutdown(cancel_futures=True)
        if self._session is not None:
            self._session.close()

    async def _search_once(self, key: CacheKey) -> CachedAnswer:
        running = self._running.get(key)
        if running is None:
            running = self._running[key] = asyncio.get_running_loop().run_in_executor(self._thread, self._search, key)
            running.add_done_callback(lambda _: self._running.pop(key))
        return await asyncio.shield(running)  # a cancelled request must not cancel the search of others

    # -- in the thread -------------------------------------------------------------------------------------------------

    def _search(self, key: CacheKey) -> CachedAnswer:
        session, now = self._refresh_session(), time.monotonic()
        version, cache = self._version, self._answers  # a `clear` during the search discards this answer
        cached = pack_answer(answers.search(session, key[0], with_facets=key[1]), version, now)
        cache.put(key, cached, len(cached.body) + OVERHEAD_BYTES)
        return cached

    def _refresh_session(self) -> ReadSession:
        """Return the session; drop all answers if its index or ranks changed."""
        session = self._session = self._session or ReadSession(self._location)
        generation, self._version = session.state
        if generation != self._generation:
            self._generation = generation
            self.clear()
        self._checked_at = session.checked_at
        return session
