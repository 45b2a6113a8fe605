"""Ranking after a crawl: a process of its own computes the ranks, so that its memory and its faults stay there.

    python -P -m gossamer.ranking LOCATION

The last crawler of a round starts the process (`RankingProcess`) when the index has caught up; `watch` starts it every
hour. One process at a time ranks a web on a machine; `gossamer rank` and programs wait for their turn. The ranks are
written in one transaction: a kill leaves the old ones. The process reports its progress in lines of JSON. It ends with
the crawl that started it, because that holds its standard input open.
"""

from __future__ import annotations

import fcntl
import math
import os
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec

from gossamer.basics.locations import local_directory
from gossamer.errors import GossamerError
from gossamer.model import Value
from gossamer.processes.exit_report import describe_exit, last_log_line
from gossamer.processes.limits import disable_core_dumps, ignore_interrupts
from gossamer.processes.start import start_python
from gossamer.wiring import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from gossamer.store.protocol import Store

NICENESS = 5  # crawls and searches go first
OOM_PREFERENCE = "500"  # of 1000: if memory runs out, the kernel ends this process before a crawler
LOCK_SECONDS = 10.0  # to wait for another process that ranks the web; on a small web it ends within them
LOCK_POLL_SECONDS = 0.2
REPORT_SECONDS = 0.2  # between progress reports
WATCH_SECONDS = 3600.0  # between two rankings of a web that `watch` keeps fresh
ANOTHER_RANKS = "another process ranks this web"


class RankingReport(Value, frozen=True, kw_only=True):
    """A line of the process: what it does now, or its result."""

    progress: str = ""  # what it does now
    pages: int = 0  # ranked
    links: int = 0
    reason: str = ""  # why there are no new ranks, the end of a sentence


# -- the process -------------------------------------------------------------------------------------------------------


def main() -> None:
    """Rank the web at the location given, and write the result as the last line."""
    ignore_interrupts()
    os.nice(NICENESS)
    disable_core_dumps()
    with suppress(OSError):  # not every kernel or container lets a process set it
        Path("/proc/self/oom_score_adj").write_text(OOM_PREFERENCE)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    try:
        report = rank_alone(sys.argv[1], _ProgressWriter().write)
    except GossamerError as fault:
        sys.exit(str(fault))
    except MemoryError:
        sys.exit("there is too little memory")
    _write_line(report)


def _exit_with_parent() -> None:
    """End the process with its parent; the ranks of the last run stay."""
    os.read(sys.stdin.fileno(), 1)  # not buffered: Python would wait for the lock of the buffer at its exit
    os._exit(1)


def rank_alone(location: str, on_progress: Callable[[str], None]) -> RankingReport:
    """Rank a web as the last time, unless another process does."""
    from gossamer.graph.arrays import graph_directory  # noqa: PLC0415 - the crawl imports this module without numpy
    from gossamer.graph.ranking.rank_web import rank_web, stored_options  # noqa: PLC0415

    with (
        closing(open_store(location)) as store,
        graph_directory(location) as directory,
        ranking_lock(directory, seconds=LOCK_SECONDS) as is_free,
    ):
        if not is_free:
            return RankingReport(reason=ANOTHER_RANKS)
        ranking = rank_web(store, directory, stored_options(store), on_progress)
    return RankingReport(pages=ranking.pages, links=ranking.links)


@contextmanager
def ranking_lock(
    directory: Path, on_progress: Callable[[str], None] = lambda _: None, *, seconds: float = math.inf
) -> Iterator[bool]:
    """Exclude other rankings on this machine; yield whether the lock became free within some seconds."""
    directory.mkdir(parents=True, exist_ok=True)
    handle = os.open(directory / "ranking.lock", os.O_RDWR | os.O_CREAT, 0o644)
    deadline = time.monotonic() + seconds
    try:
        while not (is_free := _try_lock(handle)) and time.monotonic() < deadline:
            on_progress(f"waiting: {ANOTHER_RANKS}")
            time.sleep(LOCK_POLL_SECONDS)
        yield is_free
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class _ProgressWriter:
    """Reports progress to the parent, at most every `REPORT_SECONDS`."""

    def __init__(self) -> None:
        self._next_at = 0.0

    def write(self, text: str) -> None:
        if time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + REPORT_SECONDS
            _write_line(RankingReport(progress=text))


def _write_line(report: RankingReport) -> None:
    os.write(sys.stdout.fileno(), msgspec.json.encode(report) + b"\n")


# -- the crawl's side --------------------------------------------------------------------------------------------------


def needs_ranking(store: Store, *, while_crawling: bool = False, min_age: float = 0.0) -> bool:
    """Return whether a web has changes that its ranks do not reflect, and no crawler at work will rank it.

    `while_crawling` ranks beside crawlers. Ranks younger than `min_age` seconds are fresh enough.
    """
    if not store.counts().links:
        return False
    ranking = store.ranking()
    if ranking is not None and (ranking.version == store.version() or time.time() - ranking.made_at < min_age):
        return False
    return while_crawling or all(each.state in {"stopped", "lost"} for each in store.crawlers())


class RankingProcess:
    """The process that ranks, as the crawl that started it sees it. Leaving its context kills it."""

    def __init__(self, location: str, *, reports: bool = True) -> None:
        """Start the process. A caller that does not `wait` wants no reports: they would fill the pipe."""
        self._log = local_directory(location) / "logs" / "rank.log"
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log:
            self._log_offset = log.tell()
            self._process = start_python(
                "-m", "gossamer.ranking", location, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if reports else subprocess.DEVNULL, stderr=log,
            )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def is_running(self) -> bool:
        """Return whether the process is still at work."""
        return self._process.poll() is None

    def wait(self, on_progress: Callable[[str], None] = lambda _: None) -> RankingReport:
        """Wait for the end of the process and return its result."""
        assert self._process.stdout is not None
        report = RankingReport()
        for line in self._process.stdout:
            if line.endswith(b"\n"):  # a killed process may leave half a line
                report = msgspec.json.decode(line, type=RankingReport)
                on_progress(report.progress)
        code = self._process.wait()
        if code == 0 and not report.progress:
            return report
        reason = last_log_line(self._log, self._log_offset) or f"its process {describe_exit(code)}"
        return RankingReport(reason=reason.rstrip("."))


def rank_after_crawl(location: str, on_progress: Callable[[str], None] = lambda _: None) -> RankingReport | None:
    """Rank a web whose last crawler has ended; None if its ranks are current or another crawler is at work."""
    try:
        with closing(open_store(location, read_only=True)) as store:
            if not needs_ranking(store):
                return None
        with RankingProcess(location) as process:
            return process.wait(on_progress)
    except (GossamerError, OSError) as fault:
        return RankingReport(reason=str(fault).rstrip("."))


def count_after_crawl(location: str) -> None:
    """Start the process that counts the findings of all reports, and leave it to itself; it has a low priority."""
    with suppress(OSError):  # readers count later
        process = start_python("-m", "gossamer.auditing", location, stderr=subprocess.DEVNULL, own_session=True)
        threading.Thread(target=process.wait, daemon=True).start()  # so that no program keeps a zombie


if __name__ == "__main__":
    main()
