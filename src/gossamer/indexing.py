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
from gossamer.parse.pool import ALLOCATOR_VARIABLES
from gossamer.processes.heap import release_memory
from gossamer.wiring import open_index, open_index_writer, open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gossamer.config import IndexSettings
    from gossamer.index.build import IndexBuilder
    from gossamer.store.protocol import Store

POLL_SECONDS = 0.25  # until the next look at a store that has nothing new for the moment ...
IDLE_POLL_SECONDS = 1.0  # ... and at one that has had nothing for a while
BUSY_RETRY_SECONDS = 0.5  # between tries for an index that another process writes
ANCHORS_DELAY_SECONDS = 30.0  # a crawl that is done by then gathers anchor texts once, at its end
ANCHORS_SHARE = 0.05  # of the time for anchor texts and graph while the crawl runs; they are complete at its end
MAX_MEMORY_BYTES = (
    2 << 30
)  # bytes of its own that the process may use; Tantivy's buffers take 80 MB, a batch of pages some more
DISK_RETRY_SECONDS = 5.0  # between tries on a full disk
REPORT_SECONDS = 0.2
QUIET_SECONDS = 5.0  # without news, after which memory is given back
SLOW_SECONDS = 60.0  # in which it is also given back ...
SLOW_DOCUMENTS = 1_000  # ... where no more than these came: words that are remembered make no such index faster
CACHE_MIB = 16  # MiB of the database's pages: it reads most of them once
NICENESS = 5  # it has time: who searches beside a crawl has not
# Tantivy starts a thread for every commit, and glibc gives each thread one of sixteen heaps, whose gaps add up: in 900
# commits of 30 documents its part went from 35 to 50 MB. With one heap it stays at 32.
ONE_HEAP_VARIABLES = {"MALLOC_ARENA_MAX": "1"}
GC_THRESHOLD = 100_000  # allocations between looks for cycles: lists of words are none


# -- the process -------------------------------------------------------------------------------------------------------


def main() -> None:
    """Follow the store of the web at the place given until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the crawl
    os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    gc.set_threshold(GC_THRESHOLD)
    location = sys.argv[1]
    store = open_store(location, settings=StoreSettings(cache=CACHE_MIB))
    try:
        if _follow_store(location, store, _ProgressReporter()):
            _update_graph(location, store)
    except GossamerError as fault:
        sys.exit(str(fault))
    finally:
        store.close()


def _follow_store(location: str, store: Store, reporter: _ProgressReporter) -> bool:
    """Follow the store to the end of the crawl; whether it was done here, and not by another process.

    For want of disk space it waits, as the crawl does, and begins at the last commit; for the end it does not.
    """
    while True:
        try:
            builder = _open_builder(location, store, reporter)
            if builder is None:
                return False
            with closing(builder):
                _follow_to_end(builder, reporter, partial(_update_graph, location, store))
                return True
        except (IndexFull, StoreFull):
            if _has_crawl_ended(DISK_RETRY_SECONDS):
                raise


def _open_builder(location: str, store: Store, reporter: _ProgressReporter) -> IndexBuilder | None:
    """What brings the index up to date; None when another process has done so to where the crawl ended."""
    from gossamer.index.build import IndexBuilder  # noqa: PLC0415 - the crawl, which imports this module, does not need it

    end_version: int | None = None  # the store's version at the end of the crawl
    while True:
        try:
            return IndexBuilder(store, partial(open_index_writer, location), reporter.report)
        except IndexBusy:
            if end_version is not None and _index_has_version(location, end_version):
                return None
            if end_version is not None:
                time.sleep(BUSY_RETRY_SECONDS)
            elif _has_crawl_ended(BUSY_RETRY_SECONDS):
                end_version = store.version()


def _index_has_version(location: str, version: int) -> bool:
    try:
        reader = open_index(location)
    except IndexMissing:
        return False
    try:
        return reader.version >= version
    finally:
        reader.close()


def _update_graph(location: str, store: Store) -> None:
    """Where the link graph is used, its links follow too: who ranks next need not read them."""
    from gossamer.graph.arrays import graph_directory  # noqa: PLC0415 - see above
    from gossamer.graph.bonds import update_kept_bonds  # noqa: PLC0415

    with graph_directory(location) as directory:
        update_kept_bonds(store, directory)


def _has_crawl_ended(seconds: float) -> bool:
    """Whether the crawl has ended, looked at for so long."""
    readable, _, _ = select.select([sys.stdin], [], [], seconds)
    return bool(readable) and not sys.stdin.read(1)


def _follow_to_end(builder: IndexBuilder, reporter: _ProgressReporter, update_graph: Callable[[], None]) -> None:
    """Take what comes until the crawl ends, then the rest."""
    follow_changes(builder, _has_crawl_ended, update_graph)
    reporter.is_enabled = True
    builder.catch_up()
    builder.catch_up_anchors()
    reporter.report_now(builder.progress)


def follow_changes(
    builder: IndexBuilder, has_ended: Callable[[float], bool], update_graph: Callable[[], None] = lambda: None
) -> None:
    """Take what comes, until it is told to have ended; `ended` waits for that so many seconds at most.

    `also` is done as often as anchor texts are gathered, which is the other work that need not be done at once.
    """
    is_complete, anchors_due_at = False, time.monotonic() + ANCHORS_DELAY_SECONDS
    monitor = _IdleMonitor(builder)
    while not has_ended(monitor.poll_seconds if is_complete else 0.0):
        is_complete = builder.step()
        monitor.check()
        if is_complete and time.monotonic() >= anchors_due_at:
            started = time.monotonic()
            builder.catch_up_anchors()
            update_graph()
            anchors_due_at = time.monotonic() + (time.monotonic() - started) / ANCHORS_SHARE


class _IdleMonitor:
    """Lets an index that has little to do get by with little memory: after a while without news, or with few."""

    def __init__(self, builder: IndexBuilder) -> None:
        self._builder = builder
        self._version = builder.progress.version  # at the last change
        self._rest_at: float | None = None  # unless something comes; None: it does rest
        self._minute_started_at, self._put_before = (
            0.0,
            0,
        )  # when the minute began, and the documents that had come by then
        self.poll_seconds = IDLE_POLL_SECONDS  # until the next look

    def check(self) -> None:
        """After every step."""
        now, progress = time.monotonic(), self._builder.progress
        if progress.version != self._version:
            if self._rest_at is None:
                self._minute_started_at, self._put_before = now, progress.put
            self._version, self._rest_at = progress.version, now + QUIET_SECONDS
            self.poll_seconds = POLL_SECONDS
        if self._rest_at is None:
            return
        is_minute_over = now >= self._minute_started_at + SLOW_SECONDS
        if now >= self._rest_at or (is_minute_over and progress.put - self._put_before <= SLOW_DOCUMENTS):
            self._rest_at, self.poll_seconds = None, IDLE_POLL_SECONDS
            self._builder.go_idle()
            release_memory()
        elif is_minute_over:
            self._minute_started_at, self._put_before = now, progress.put


class _ProgressReporter:
    """Tells the crawl how far the index is, once the crawl listens."""

    def __init__(self) -> None:
        self.is_enabled = False
        self._next_report_at = 0.0

    def report(self, progress: IndexProgress) -> None:
        if self.is_enabled and time.monotonic() >= self._next_report_at:
            self._next_report_at = time.monotonic() + REPORT_SECONDS
            self.report_now(progress)

    def report_now(self, progress: IndexProgress) -> None:
        try:
            os.write(sys.stdout.fileno(), msgspec.json.encode(progress) + b"\n")
        except BrokenPipeError:
            self.is_enabled = False  # the crawl is gone; the index is finished all the same


# -- the crawl's side --------------------------------------------------------------------------------------------------


class IndexFollower:
    """The process, as the crawl that started it sees it."""

    def __init__(self, location: str, settings: IndexSettings) -> None:
        self._log = local_directory(location) / "logs" / "index.log"
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log:
            self._log_offset = log.tell()
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-P", "-m", "gossamer.indexing", location],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **ALLOCATOR_VARIABLES, **ONE_HEAP_VARIABLES, **_index_variables(settings)},
                process_group=0,  # a terminal's Ctrl-C goes to a whole group, and could come before it is ignored
            )

    def finish(self, on_progress: Callable[[IndexProgress], None] = lambda _: None) -> str:
        """Let it catch up, and wait for that; returns why it could not, or nothing."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        with self._process.stdout as lines:
            for line in lines:
                on_progress(msgspec.json.decode(line, type=IndexProgress))
        return "" if self._process.wait() == 0 else self._last_log_line()

    def stop(self) -> None:
        """End it where it is: what is committed stays, and the next one goes on from there."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _last_log_line(self) -> str:
        with self._log.open("rb") as log:
            log.seek(self._log_offset)
            text = log.read().decode("utf-8", "replace").strip()
        return text.rpartition("\n")[2] or f"its process ended with code {self._process.returncode}"


def _index_variables(settings: IndexSettings) -> dict[str, str]:
    """Where the index is, for the process: what was given by a flag or another settings file holds there too."""
    return {f"GOSSAMER_INDEX_{name.upper()}": str(value) for name, value in msgspec.structs.asdict(settings).items()}


@contextmanager
def index_alongside(
    location: str, settings: IndexSettings | None, *, on_progress: Callable[[IndexProgress], None] = lambda _: None,
    is_hurried: Callable[[], bool] = bool,
) -> Iterator[list[str]]:  # fmt: skip
    """While a crawl, or whatever else fills the store, is under way: the index follows, and is complete at the end.

    `at` says where it is; None: there shall be none. Gives a list that holds a sentence afterwards if it is not
    complete. `hurried` says at the end whether there is no time to wait; `tell` is called while there is.
    """
    faults: list[str] = []
    if settings is None:
        yield faults
        return
    follower = IndexFollower(location, settings)
    try:
        yield faults
        if not is_hurried() and (fault := follower.finish(on_progress)):
            faults.append(fault)
    finally:
        follower.stop()


if __name__ == "__main__":
    main()
