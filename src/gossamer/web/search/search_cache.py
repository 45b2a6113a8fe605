"""A cache of recent answers with the age they may reach, in front of the search process.

One process makes all searches in order (`search_client`). Requests for a running search wait for its answer. Cached
answers skip the queue and go out from the event loop, unless the queue is long (docs/decisions/0024).
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from gossamer.basics.cache import SizedCache
from gossamer.errors import GossamerError
from gossamer.web.search import answers
from gossamer.web.search.facets import SearchQuestion
from gossamer.web.search.packed_answer import ENCODER, SearchReply, packed_answer

if TYPE_CHECKING:
    from gossamer.web.search.search_client import SearchClient
    from gossamer.web.search.search_process import IndexReply

MAX_CACHE_BYTES = 32 << 20  # about 6,000 answers of 5 kB
OVERHEAD_BYTES = 700  # of a cached answer besides its JSON
CHECK_SECONDS = 1.0  # between two checks for a new index or new ranks
# Maximum age of an answer after a write to the store, while index and ranks stay the same. A new answer would differ
# only in title, text and time of pages visited again. New pages appear with the next commit of the index.
MAX_STALE_SECONDS = 5.0
# Running searches from which on cached answers wait for the end of the queue too. If they skipped a long queue, the
# mean wait would stay the same. Requests in the queue would wait twice as long as the others.
LONG_QUEUE = 8
REPLY = msgspec.msgpack.Decoder(SearchReply)

CacheKey = tuple[SearchQuestion, bool]


class CachedAnswer(NamedTuple):
    """An answer in the cache. It becomes JSON for the API, and a value for HTML pages and feeds."""

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


class SearchQueue:
    """Answers searches from the cache or by the search process. Its coroutines belong to the event loop."""

    def __init__(self, client: SearchClient) -> None:
        self.client = client
        self._running: dict[CacheKey, asyncio.Future[CachedAnswer]] = {}
        self._answers: SizedCache[CacheKey, CachedAnswer] = SizedCache(MAX_CACHE_BYTES)
        self._generation = (0, -1)  # number of the process, and its generation
        self._version = -1  # of the store
        self._checked_at = float("-inf")
        self._check: asyncio.Future[IndexReply] | None = None
        self._clears = 0  # calls of `clear`

    async def search(self, question: SearchQuestion, *, with_facets: bool = False) -> CachedAnswer:
        """Return a cached answer, or search."""
        key = (question, with_facets)
        if key in self._running:
            return await self._search_once(key)
        if time.monotonic() - self._checked_at > CHECK_SECONDS:
            await self._check_state()
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
        """Drop all cached answers, for example because the web forgot a page. Any thread may call this."""
        self._clears += 1
        self._answers = SizedCache(MAX_CACHE_BYTES)

    def close(self) -> None:
        """End the search process."""
        self.client.close()

    async def _search_once(self, key: CacheKey) -> CachedAnswer:
        running = self._running.get(key)
        if running is None:
            running = self._running[key] = asyncio.ensure_future(self._search(key))
            running.add_done_callback(lambda _: self._running.pop(key))
        return await asyncio.shield(running)  # a cancelled request must not cancel the search of others

    async def _search(self, key: CacheKey) -> CachedAnswer:
        clears, now = self._clears, time.monotonic()
        reply = await self._ask("search", *key)
        received = REPLY.decode(reply.value)
        cached = CachedAnswer(packed_answer(received.fields), received.tag, reply.version, now)
        if clears == self._clears:  # a `clear` during the search discards this answer
            self._answers.put(key, cached, len(cached.body) + OVERHEAD_BYTES)
        return cached

    async def _check_state(self) -> None:
        """Ask for the state of the web, once for all requests that wait for it."""
        if self._check is None or self._check.done():
            self._check = asyncio.ensure_future(self._ask("state"))
        await asyncio.shield(self._check)

    async def _ask(self, function: str, *arguments: object) -> IndexReply:
        """Return the reply to a question; drop all answers if it comes from another index, web or process."""
        now = time.monotonic()
        try:
            reply = await self.client.reply(function, *arguments)
        except GossamerError:
            self._checked_at = float("-inf")  # the web may be gone: the next cached answer needs a check first
            raise
        generation = (self.client.starts, reply.generation)
        if generation != self._generation:
            self._generation = generation
            self._answers = SizedCache(MAX_CACHE_BYTES)
        self._version, self._checked_at = reply.version, now
        return reply
