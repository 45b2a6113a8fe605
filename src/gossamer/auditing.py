"""Counts the findings of all reports: at once those that the database answers, in the background the others.

    python -P -m gossamer.auditing LOCATION [DIRECTORY]

A report that inspects stored pages takes up to minutes on a big web. A process of low priority counts these
(`start_background_count`). It keeps every finished count, so a killed process loses one report at most. A crawl that
ranks starts it at its end, without a directory (`ranking.count_after_crawl`): so every round has counts to compare.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.basics.cores import available_cores
from gossamer.errors import GossamerError
from gossamer.graph.reports.audit import COUNTED_REPORTS, ReportCount, StoredCounts
from gossamer.graph.reports.audit_file import (
    add_counts,
    add_parts,
    counting_lock,
    counts_directory,
    read_counts,
    web_state,
)
from gossamer.graph.reports.base import ReportOptions, count_stored_parts, missing_data
from gossamer.processes.helper_process import connect_to_parent, helper_process
from gossamer.processes.limits import disable_core_dumps, ignore_interrupts
from gossamer.processes.start import start_python
from gossamer.wiring import open_store

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Sequence

    from gossamer.graph import OnProgress
    from gossamer.graph.reports.audit import WebState
    from gossamer.graph.reports.base import Report
    from gossamer.store.protocol import CrawlerControl, Store

QUICK_REPORTS = tuple(report for report in COUNTED_REPORTS if not report.inspects)
SLOW_REPORTS = tuple(report for report in COUNTED_REPORTS if report.inspects)
NICENESS = 10  # of the background process: crawls and searches go first
MAX_PROCESSES = 4  # for the statements of quick reports
MIN_HELPED_PAGES = 2_000  # of a smaller web one process counts them sooner than a second one has started
HELPER = "count_for_parent"  # the function of the other processes


def main() -> None:
    """Count all reports of the web at the location given that have no count for its present state.

    Without a directory the process counts after a crawl: only if no crawler is at work, and where it can keep counts.
    """
    ignore_interrupts()
    os.nice(NICENESS)
    disable_core_dumps()
    location, is_after_crawl = sys.argv[1], len(sys.argv) == 2
    try:
        directory = counts_directory(location) if is_after_crawl else Path(sys.argv[2])
        if directory is None:
            return
        with counting_lock(directory) as is_free:
            if is_free:
                _count_outdated(location, directory, is_after_crawl=is_after_crawl)
    except (GossamerError, OSError) as fault:
        sys.exit(str(fault))


def is_crawled_now(store: CrawlerControl) -> bool:
    """Return whether a crawler is at work."""
    return any(crawler.state not in {"stopped", "lost"} for crawler in store.crawlers())


def _count_outdated(location: str, directory: Path, *, is_after_crawl: bool) -> None:
    with closing(open_store(location, read_only=True)) as store:
        if is_after_crawl and is_crawled_now(store):
            return  # the last crawler counts
        for reports in (QUICK_REPORTS, SLOW_REPORTS):
            if outdated := read_counts(directory).find_outdated(web_state(store), reports):
                count_reports(location, store, outdated, directory)


def start_background_count(location: str, directory: Path) -> subprocess.Popen[bytes]:
    """Start the process that counts in the background. It ends at once if another one counts already."""
    import subprocess  # noqa: PLC0415 - most commands start no process

    return start_python(
        "-m", "gossamer.auditing", location, str(directory), stderr=subprocess.DEVNULL, own_session=True
    )


def count_reports(
    location: str,
    store: Store,
    reports: Sequence[Report],
    directory: Path | None,
    on_progress: OnProgress = lambda _: None,
) -> StoredCounts:
    """Count the findings of reports and return all counts. Without a directory they are not kept."""
    state, parts = web_state(store), count_stored_parts(store)
    lacking = missing_data(parts, reports)
    if directory is not None:
        add_parts(directory, state, parts)
    possible = [each for each in reports if not (each.code in lacking and lacking[each.code].is_total)]
    quick = [each for each in possible if not each.inspects]
    counted: dict[str, ReportCount] = {}
    is_crawled = is_crawled_now(store)

    def keep(counts: dict[str, ReportCount]) -> StoredCounts:
        counted.update(counts)
        if directory is None:
            return StoredCounts().with_counts(state, parts.pages, counted)
        return add_counts(directory, state, parts.pages, counted, beside_crawl=is_crawled)

    stored = keep(_count_quick(location, store, quick, state))
    for number, each in enumerate((each for each in possible if each.inspects), start=1):
        on_progress(f"counting {each.name}, {number} of {len(possible) - len(quick)} reports that inspect pages")
        stored = keep({each.code: _count(store, each, state)})
    return stored


def _count_quick(location: str, store: Store, reports: Sequence[Report], state: WebState) -> dict[str, ReportCount]:
    """Count in several processes. Threads would need as long as one, because all wait for SQLite's memory allocator."""
    counts: dict[str, ReportCount] = {}
    todo = iter(reports)
    is_big = store.counts().documents >= MIN_HELPED_PAGES
    helpers = min(available_cores(), MAX_PROCESSES) - 1 if is_big and len(reports) > 1 else 0
    with ThreadPoolExecutor(max(helpers, 1)) as threads:  # each waits for one process
        started = [threads.submit(_count_in_helper, location, todo, state) for _ in range(helpers)]
        counts |= {each.code: _count(store, each, state) for each in todo}
        for each in started:
            counts |= each.result()
    lost = (each for each in reports if each.code not in counts)  # with a helper that exited
    return counts | {each.code: _count(store, each, state) for each in lost}


def _count_in_helper(location: str, todo: Iterator[Report], state: WebState) -> dict[str, ReportCount]:
    """Let a helper process count the next reports; return what it has counted when it exits or none is left."""
    counts: dict[str, ReportCount] = {}
    with suppress(EOFError, OSError), helper_process("gossamer.auditing", function=HELPER) as helper:
        helper.send_bytes(location.encode())  # not as an argument, because it may have a password
        helper.recv_bytes()  # before it takes a report, so that this process does not wait for its start
        for each in todo:
            helper.send_bytes(each.code.encode())
            counts[each.code] = _stamped(int(helper.recv_bytes()), state)
    return counts


def count_for_parent(descriptor: str) -> None:
    """Count the reports that the parent process asks for by their codes, in a process on another core."""
    disable_core_dumps()
    reports = {each.code: each for each in QUICK_REPORTS}
    with (
        suppress(EOFError, OSError, GossamerError),  # the parent may be gone; it counts what this process leaves
        connect_to_parent(descriptor) as parent,
        closing(open_store(parent.recv_bytes().decode(), read_only=True)) as store,
    ):
        parent.send_bytes(b"")
        while True:
            parent.send_bytes(str(_findings(store, reports[parent.recv_bytes().decode()])).encode())


def _count(store: Store, report: Report, state: WebState) -> ReportCount:
    return _stamped(_findings(store, report), state)


def _findings(store: Store, report: Report) -> int:
    current = store.current_round()
    since = current.started_at if current and "since" in report.takes else 0.0
    return report.count(store, ReportOptions(since=since))


def _stamped(findings: int, state: WebState) -> ReportCount:
    return ReportCount(findings=findings, counted_at=time.time(), state=state.digest)


if __name__ == "__main__":
    main()
