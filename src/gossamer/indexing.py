"""Indexing while a crawl runs: a process of its own that follows the store, so that nothing it does can stop the crawl.

    python -P -m gossamer.indexing DIR

The crawl starts it (`IndexFollower`) and holds its standard input open. The process takes what the store says has
changed, commits every few seconds, and when its input ends it catches up to the last page and ends too, telling how
far it is, a line of JSON each time. It follows the store, not the crawl: of several crawls on one web, the first one's
process has the index and takes the pages of all; the others wait for it.
"""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from gossamer.basics.locations import local_directory
from gossamer.config import StoreSettings
from gossamer.errors import GossamerError, IndexBusy, IndexFull, IndexMissing, StoreFull
from gossamer.index.progress import IndexProgress
from gossamer.parse.pool import ALLOCATOR
from gossamer.processes.heap import give_back
from gossamer.wiring import open_index, open_index_writer, open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gossamer.config import IndexSettings
    from gossamer.index.build import IndexBuilder
    from gossamer.store.protocol import Store

SOON_SECONDS = 0.25  # until the next look at a store that has nothing new for the moment ...
LOOK_SECONDS = 1.0  # ... and at one that has had nothing for a while
BUSY_SECONDS = 0.5  # between tries for an index that another process writes
ANCHORS_SECONDS = 30.0  # a crawl that is done by then gathers anchor texts once, at its end
ANCHORS_SHARE = 0.05  # of the time for anchor texts and graph while the crawl runs; they are complete at its end
MEMORY = 2 << 30  # bytes of its own that the process may use; Tantivy's buffers take 80 MB, a batch of pages some more
FULL_SECONDS = 5.0  # between tries on a full disk
TELL_SECONDS = 0.2
QUIET_SECONDS = 5.0  # without news, after which memory is given back
SLOW_SECONDS = 60.0  # in which it is also given back ...
SLOW_DOCUMENTS = 1_000  # ... where no more than these came: words that are remembered make no such index faster
CACHE = 16  # MiB of the database's pages: it reads most of them once
NICENESS = 5  # it has time: who searches beside a crawl has not
# Tantivy starts a thread for every commit, and glibc gives each thread one of sixteen heaps, whose gaps add up: in 900
# commits of 30 documents its part went from 35 to 50 MB. With one heap it stays at 32.
ONE_HEAP = {"MALLOC_ARENA_MAX": "1"}
WORDS_CHECKED = 100_000  # allocations between looks for cycles: lists of words are none


# -- the process -------------------------------------------------------------------------------------------------------


def main() -> None:
    """Follow the store of the web at the place given until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the crawl
    os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    gc.set_threshold(WORDS_CHECKED)
    place = sys.argv[1]
    store = open_store(place, settings=StoreSettings(cache=CACHE))
    try:
        if _bring_along(place, store, _Teller()):
            _keep_graph(place, store)
    except GossamerError as fault:
        sys.exit(str(fault))
    finally:
        store.close()


def _bring_along(place: str, store: Store, teller: _Teller) -> bool:
    """Follow the store to the end of the crawl; whether it was done here, and not by another process.

    For want of disk space it waits, as the crawl does, and begins at the last commit; for the end it does not.
    """
    while True:
        try:
            builder = _builder(place, store, teller)
            if builder is None:
                return False
            with closing(builder):
                _follow(builder, teller, partial(_keep_graph, place, store))
                return True
        except (IndexFull, StoreFull):
            if _ended(FULL_SECONDS):
                raise


def _builder(place: str, store: Store, teller: _Teller) -> IndexBuilder | None:
    """What brings the index up to date; None when another process has done so to where the crawl ended."""
    from gossamer.index.build import IndexBuilder  # noqa: PLC0415 - the crawl, which imports this module, does not need it

    ended_at: int | None = None  # the store's version at the end of the crawl
    while True:
        try:
            return IndexBuilder(store, partial(open_index_writer, place), teller.tell)
        except IndexBusy:
            if ended_at is not None and _holds(place, ended_at):
                return None
            if ended_at is not None:
                time.sleep(BUSY_SECONDS)
            elif _ended(BUSY_SECONDS):
                ended_at = store.version()


def _holds(place: str, version: int) -> bool:
    try:
        reader = open_index(place)
    except IndexMissing:
        return False
    try:
        return reader.version >= version
    finally:
        reader.close()


def _keep_graph(place: str, store: Store) -> None:
    """Where the link graph is used, its links follow too: who ranks next need not read them."""
    from gossamer.graph.arrays import graph_directory  # noqa: PLC0415 - see above
    from gossamer.graph.bonds import update_kept_bonds  # noqa: PLC0415

    with graph_directory(place) as directory:
        update_kept_bonds(store, directory)


def _ended(seconds: float) -> bool:
    """Whether the crawl has ended, looked at for so long."""
    readable, _, _ = select.select([sys.stdin], [], [], seconds)
    return bool(readable) and not sys.stdin.read(1)


def _follow(builder: IndexBuilder, teller: _Teller, keep_graph: Callable[[], None]) -> None:
    """Take what comes until the crawl ends, then the rest."""
    follow(builder, _ended, keep_graph)
    teller.aloud = True
    builder.catch_up()
    builder.catch_up_anchors()
    teller.last(builder.progress)


def follow(builder: IndexBuilder, ended: Callable[[float], bool], also: Callable[[], None] = lambda: None) -> None:
    """Take what comes, until it is told to have ended; `ended` waits for that so many seconds at most.

    `also` is done as often as anchor texts are gathered, which is the other work that need not be done at once.
    """
    complete, anchors_allowed = False, time.monotonic() + ANCHORS_SECONDS
    quiet = _Quiet(builder)
    while not ended(quiet.seconds if complete else 0.0):
        complete = builder.step()
        quiet.look()
        if complete and time.monotonic() >= anchors_allowed:
            started = time.monotonic()
            builder.catch_up_anchors()
            also()
            anchors_allowed = time.monotonic() + (time.monotonic() - started) / ANCHORS_SHARE


class _Quiet:
    """Lets an index that has little to do get by with little memory: after a while without news, or with few."""

    def __init__(self, builder: IndexBuilder) -> None:
        self._builder = builder
        self._version = builder.progress.version  # at the last change
        self._rests_at: float | None = None  # unless something comes; None: it does rest
        self._since, self._put_then = 0.0, 0  # when the minute began, and the documents that had come by then
        self.seconds = LOOK_SECONDS  # until the next look

    def look(self) -> None:
        """After every step."""
        now, progress = time.monotonic(), self._builder.progress
        if progress.version != self._version:
            if self._rests_at is None:
                self._since, self._put_then = now, progress.put
            self._version, self._rests_at = progress.version, now + QUIET_SECONDS
            self.seconds = SOON_SECONDS
        if self._rests_at is None:
            return
        over = now >= self._since + SLOW_SECONDS
        if now >= self._rests_at or (over and progress.put - self._put_then <= SLOW_DOCUMENTS):
            self._rests_at, self.seconds = None, LOOK_SECONDS
            self._builder.go_idle()
            give_back()
        elif over:
            self._since, self._put_then = now, progress.put


class _Teller:
    """Tells the crawl how far the index is, once the crawl listens."""

    def __init__(self) -> None:
        self.aloud = False
        self._next = 0.0

    def tell(self, progress: IndexProgress) -> None:
        if self.aloud and time.monotonic() >= self._next:
            self._next = time.monotonic() + TELL_SECONDS
            self.last(progress)

    def last(self, progress: IndexProgress) -> None:
        try:
            os.write(sys.stdout.fileno(), msgspec.json.encode(progress) + b"\n")
        except BrokenPipeError:
            self.aloud = False  # the crawl is gone; the index is finished all the same


# -- the crawl's side --------------------------------------------------------------------------------------------------


class IndexFollower:
    """The process, as the crawl that started it sees it."""

    def __init__(self, place: str, at: IndexSettings) -> None:
        self._log = local_directory(place) / "logs" / "index.log"
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log:
            self._logged = log.tell()
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-P", "-m", "gossamer.indexing", place],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **ALLOCATOR, **ONE_HEAP, **_variables(at)},
                process_group=0,  # a terminal's Ctrl-C goes to a whole group, and could come before it is ignored
            )

    def finish(self, tell: Callable[[IndexProgress], None] = lambda _: None) -> str:
        """Let it catch up, and wait for that; returns why it could not, or nothing."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        with self._process.stdout as lines:
            for line in lines:
                tell(msgspec.json.decode(line, type=IndexProgress))
        return "" if self._process.wait() == 0 else self._last_words()

    def stop(self) -> None:
        """End it where it is: what is committed stays, and the next one goes on from there."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _last_words(self) -> str:
        with self._log.open("rb") as log:
            log.seek(self._logged)
            said = log.read().decode("utf-8", "replace").strip()
        return said.rpartition("\n")[2] or f"its process ended with code {self._process.returncode}"


def _variables(at: IndexSettings) -> dict[str, str]:
    """Where the index is, for the process: what was given by a flag or another settings file holds there too."""
    return {f"GOSSAMER_INDEX_{name.upper()}": str(value) for name, value in msgspec.structs.asdict(at).items()}


@contextmanager
def indexed(
    place: str, at: IndexSettings | None, *, tell: Callable[[IndexProgress], None] = lambda _: None,
    hurried: Callable[[], bool] = bool,
) -> Iterator[list[str]]:  # fmt: skip
    """While a crawl, or whatever else fills the store, is under way: the index follows, and is complete at the end.

    `at` says where it is; None: there shall be none. Gives a list that holds a sentence afterwards if it is not
    complete. `hurried` says at the end whether there is no time to wait; `tell` is called while there is.
    """
    faults: list[str] = []
    if at is None:
        yield faults
        return
    follower = IndexFollower(place, at)
    try:
        yield faults
        if not hurried() and (fault := follower.finish(tell)):
            faults.append(fault)
    finally:
        follower.stop()


if __name__ == "__main__":
    main()
