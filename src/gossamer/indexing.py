"""Indexing while a crawl runs: a process with its own priority and memory limit, which waits for disk space.

    python -P -m gossamer.indexing LOCATION

The crawl starts the process (`IndexFollower`) and holds its standard input open. The process reads the changes of the
store and commits every few seconds. When its input ends, it catches up to the last page, reports its progress in lines
of JSON, and exits.

The process follows the store, not the crawl. With several crawls on one web, the process of the first one writes the
index for all. The others wait for it.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from gossamer.basics.locations import local_directory
from gossamer.config import StoreSettings
from gossamer.errors import GossamerError, IndexBusy, IndexFull, IndexMissing, StoreFull
from gossamer.index.protocol import IndexProgress
from gossamer.processes.exit_report import describe_exit, last_log_line
from gossamer.processes.heap import ALLOCATOR_VARIABLES, ONE_HEAP_VARIABLES, release_memory
from gossamer.processes.limits import cap_data, disable_core_dumps, ignore_interrupts
from gossamer.processes.start import start_python
from gossamer.wiring import open_index, open_index_writer, open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gossamer.config import IndexSettings
    from gossamer.index.build import IndexBuilder
    from gossamer.store.protocol import Store

POLL_SECONDS = 0.25  # between looks at a store that has no changes ...
IDLE_POLL_SECONDS = 1.0  # ... and at one that has had none for a while
BUSY_RETRY_SECONDS = 0.5  # between tries to open an index that another process writes
ANCHORS_DELAY_SECONDS = 30.0  # a shorter crawl gathers anchor texts only once, at its end
ANCHORS_SHARE = 0.05  # of the time goes to anchor texts and graph during the crawl; the end completes them
MAX_MEMORY_BYTES = 2 << 30  # private memory; Tantivy's buffers take 80 MB, a batch of pages some more
DISK_RETRY_SECONDS = 5.0  # between tries on a full disk
REPORT_SECONDS = 0.2  # between progress reports
QUIET_SECONDS = 5.0  # without changes, after which the process gives memory back
SLOW_SECONDS = 60.0  # after which it also gives memory back ...
SLOW_DOCUMENTS = 1_000  # ... if no more documents came: the cached words do not speed up such a slow index
CACHE_MIB = 16  # for the database's pages: the process reads most of them once
NICENESS = 5  # searches beside a crawl go first: somebody waits for them
OUT_OF_TIME = "the crawl was stopped before the index had caught up"  # a reason of `IndexFollower.finish`
GC_THRESHOLD = 100_000  # allocations between searches for cycles: lists of words form none


# -- the process -------------------------------------------------------------------------------------------------------


def main() -> None:
    """Follow the store of the web at the location given until standard input ends."""
    ignore_interrupts()
    os.nice(NICENESS)
    disable_core_dumps()
    cap_data(MAX_MEMORY_BYTES)
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
    """Follow the store to the end of the crawl; return False if another process did all of it.

    On a full disk it waits, as the crawl does, and resumes at the last commit. After the crawl it does not wait.
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
    """Open the index for writing; None when another process has indexed all up to the end of the crawl."""
    # Imported here because the crawl imports this module and does not need it.
    from gossamer.index.build import IndexBuilder  # noqa: PLC0415

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
    """Update the links kept for the link graph, if the web has them: the next ranking need not read them."""
    from gossamer.graph.arrays import graph_directory  # noqa: PLC0415 - as above
    from gossamer.graph.bonds import update_kept_bonds  # noqa: PLC0415

    with graph_directory(location) as directory:
        update_kept_bonds(store, directory)


def _has_crawl_ended(seconds: float) -> bool:
    """Wait up to so many seconds for the end of the crawl; return whether it has ended."""
    readable, _, _ = select.select([sys.stdin], [], [], seconds)
    return bool(readable) and not sys.stdin.read(1)


def _follow_to_end(builder: IndexBuilder, reporter: _ProgressReporter, update_graph: Callable[[], None]) -> None:
    """Index changes until the crawl ends, then the rest."""
    follow_changes(builder, _has_crawl_ended, update_graph)
    reporter.is_enabled = True
    builder.catch_up()
    builder.catch_up_anchors()
    reporter.report_now(builder.progress)


def follow_changes(
    builder: IndexBuilder, has_ended: Callable[[float], bool], update_graph: Callable[[], None] = lambda: None
) -> None:
    """Index changes until `has_ended` returns True; it may wait as many seconds as its argument says.

    `update_graph` runs as often as anchor texts are gathered: neither is urgent.
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
    """Gives memory back after a while without changes, or with few."""

    def __init__(self, builder: IndexBuilder) -> None:
        self._builder = builder
        self._version = builder.progress.version  # at the last change
        self._rest_at: float | None = None  # time to give memory back unless a change comes; None: it is idle
        self._minute_started_at = 0.0
        self._put_before = 0  # documents when the minute started
        self.poll_seconds = IDLE_POLL_SECONDS  # until the next look at the store

    def check(self) -> None:
        """Decide after every step whether the index is idle."""
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
    """Reports progress to the crawl, once the crawl reads it."""

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
            self.is_enabled = False  # the crawl is gone; this process completes the index without it


# -- the crawl's side --------------------------------------------------------------------------------------------------


class IndexFollower:
    """The indexing process, as the crawl that started it sees it."""

    def __init__(self, location: str, settings: IndexSettings) -> None:
        self._log = local_directory(location) / "logs" / "index.log"
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log:
            self._log_offset = log.tell()
            self._process = start_python(
                "-m", "gossamer.indexing", location,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                environment={**os.environ, **ALLOCATOR_VARIABLES, **ONE_HEAP_VARIABLES, **_index_variables(settings)},
            )  # fmt: skip

    def finish(
        self, on_progress: Callable[[IndexProgress], None] = lambda _: None, finish_by: float = float("inf")
    ) -> str:
        """Wait until the process has caught up; return the reason if it could not, else "".

        The process is killed at `finish_by` (`time.monotonic`): its commits stay, and the next one catches up.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        timer = threading.Timer(max(0.0, min(finish_by - time.monotonic(), threading.TIMEOUT_MAX)), self._process.kill)
        timer.daemon = True
        timer.start()
        with self._process.stdout as lines:
            for line in lines:
                if line.endswith(b"\n"):  # a killed process may leave half a line
                    on_progress(msgspec.json.decode(line, type=IndexProgress))
        code = self._process.wait()
        timer.cancel()
        if code == -signal.SIGKILL and time.monotonic() >= finish_by:
            return OUT_OF_TIME
        return "" if code == 0 else last_log_line(self._log, self._log_offset) or f"its process {describe_exit(code)}"

    def stop(self) -> None:
        """Kill the process: its commits stay, and the next process continues from there."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


def _index_variables(settings: IndexSettings) -> dict[str, str]:
    """Return the index settings as variables: the process must use those from flags and settings files too."""
    return {f"GOSSAMER_INDEX_{name.upper()}": str(value) for name, value in msgspec.structs.asdict(settings).items()}


@contextmanager
def index_alongside(
    location: str, settings: IndexSettings | None, *, on_progress: Callable[[IndexProgress], None] = lambda _: None,
    finish_by: Callable[[], float] = lambda: float("inf"),
) -> Iterator[list[str]]:  # fmt: skip
    """Run the indexing process while the caller fills the store, by a crawl or an import; complete the index at exit.

    `settings` say where the index is; None: there is no index. Yields a list that holds a sentence after the exit if
    the index is incomplete. At exit, `on_progress` gets the progress, and `finish_by` says how long to wait (until
    which time of `time.monotonic`).
    """
    faults: list[str] = []
    if settings is None:
        yield faults
        return
    follower = IndexFollower(location, settings)
    try:
        yield faults
        if fault := follower.finish(on_progress, finish_by()):
            faults.append(fault)
    finally:
        follower.stop()


if __name__ == "__main__":
    main()
