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
from gossamer.web.http.sessions import Desk

MOST_BYTES = 32 << 20  # of answers, which have about 5 kB
OVERHEAD = 500  # bytes of a remembered answer that are not its text
LOOKED_SECONDS = 1.0  # after which somebody must look again whether index and ranks are others
# How old an answer may be when the store was written meanwhile, but index and ranks are the same. Another would differ
# in nothing but the title, text and time of pages visited again; new ones are found after the index's next commit.
HOLD_SECONDS = 5.0
# Searches in line, from which on what is remembered waits its turn. Passing a long line would only make it longer: by
# then all that are asked at once wait as long on the whole, and those in line would wait twice as long as the others.
CROWD = 8
TOOK = b'"took_ms":'  # cannot stand within a text of JSON: its quotes have backslashes

Key = tuple[answers.Question, bool]


class Remembered(NamedTuple):
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


def encoded(answer: answers.SearchAnswer, version: int, now: float) -> Remembered:
    """An answer, to be remembered."""
    before, took, rest = msgspec.json.encode(answer).partition(TOOK)
    after = rest[rest.index(b",") :]
    tag = f'W/"{blake2b(before + after, digest_size=10).hexdigest()}"'
    return Remembered(before + took, after, tag, version, now, answer.took_ms)


class Lane:
    """Where all searches of a server are made."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._thread = ThreadPoolExecutor(1, "search")
        self._making: dict[Key, asyncio.Future[Remembered]] = {}
        # Written by the thread, read in the event loop.
        self._desk: Desk | None = None
        self._answers: TwoGenerationCache[Key, Remembered] = TwoGenerationCache(MOST_BYTES)
        self._opened = self._version = -1
        self._looked_at = float("-inf")

    async def search(self, asked: answers.Question, *, with_facets: bool = False) -> Remembered:
        """Search, or find the answer of a moment ago."""
        key = (asked, with_facets)
        if time.monotonic() - self._looked_at > LOOKED_SECONDS:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._look)
        found = self.recall(key)
        if found is None:
            return await self._made(key)
        if len(self._making) >= CROWD:
            last_in_line = next(reversed(self._making.values()))
            await asyncio.wait((last_in_line,))
        return found

    def recall(self, key: Key) -> Remembered | None:
        """The answer of a moment ago, if it still holds."""
        started = time.perf_counter()
        found = self._answers.get(key)
        if found is None or (found.version != self._version and time.monotonic() - found.made_at > HOLD_SECONDS):
            return None
        return found._replace(took_ms=(time.perf_counter() - started) * 1000)

    def forget(self) -> None:
        """Forget all answers: a page that was in them must not be seen again."""
        self._answers = TwoGenerationCache(MOST_BYTES)

    def close(self) -> None:
        """Let go of everything."""
        self._thread.shutdown(cancel_futures=True)
        if self._desk is not None:
            self._desk.close()

    async def _made(self, key: Key) -> Remembered:
        making = self._making.get(key)
        if making is None:
            making = self._making[key] = asyncio.get_running_loop().run_in_executor(self._thread, self._search, key)
            making.add_done_callback(lambda _: self._making.pop(key))
        return await asyncio.shield(making)  # others may wait for it too

    # -- in the thread -------------------------------------------------------------------------------------------------

    def _search(self, key: Key) -> Remembered:
        desk, now = self._look(), time.monotonic()
        version, kept = self._version, self._answers  # what is forgotten meanwhile stays forgotten
        made = encoded(answers.search(desk, key[0], with_facets=key[1]), version, now)
        kept.put(key, made, len(made.before) + len(made.after) + OVERHEAD)
        return made

    def _look(self) -> Desk:
        """The desk; answers from another index or other ranks are forgotten."""
        desk = self._desk = self._desk or Desk(self._place)
        opened, self._version = desk.state
        if opened != self._opened:
            self._opened = opened
            self.forget()
        self._looked_at = desk.looked_at
        return desk
