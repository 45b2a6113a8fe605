"""The audit of the served web: its counts are read from their file, and counted again when the web changes."""

from __future__ import annotations

import subprocess
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from gossamer.auditing import is_crawled_now, start_background_count
from gossamer.graph.reports.audit import COUNTED_REPORTS, Audit, make_audit
from gossamer.graph.reports.audit_file import lent_counts_directory, read_counts, web_state
from gossamer.graph.reports.base import count_stored_parts, missing_data
from gossamer.graph.reports.registry import REPORTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from gossamer.graph.reports.audit import StoredCounts, WebState
    from gossamer.graph.reports.base import MissingData, Report
    from gossamer.web.http.sessions import ReadSession

MIN_RECOUNT_SECONDS = 60.0  # between two counts while a crawl changes the web
RECOUNT_COST_FACTOR = 10  # and at least this many times the duration of the last count
MAX_WAIT_SECONDS = 5.0  # of a request for the quick reports; longer counts are shown by a later request
POLL_SECONDS = 0.05
END_SECONDS = 5.0  # for the counting process to end with the server


class AuditAnswer(NamedTuple):
    """The audit, and what happens to the web meanwhile."""

    audit: Audit
    is_crawled: bool
    is_counting: bool


class AuditCache:
    """The audit of one web. One process at a time counts; requests read what it has finished."""

    def __init__(self, location: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._location = location
        self._clock = clock
        self._stack = ExitStack()
        self._directory: Path = self._stack.enter_context(lent_counts_directory(location))
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None  # while it counts
        self._waiter: threading.Thread | None = None
        self._next_count_at = 0.0  # of the clock
        self._counted_state: WebState | None = None

    def close(self) -> None:
        """End the counting process; it has kept every count that it finished."""
        with self._lock:
            process, waiter = self._process, self._waiter
        if process is not None:
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
        if waiter is not None:
            waiter.join()
        self._stack.close()

    def audit(self, session: ReadSession, lacking: Mapping[str, MissingData]) -> AuditAnswer:
        """Return the audit: of the web as it is, or while a crawl runs as it was at the last count."""
        possible = [each for each in COUNTED_REPORTS if not (each.code in lacking and lacking[each.code].is_total)]
        state, stored, is_crawled = (
            web_state(session.store),
            read_counts(self._directory),
            is_crawled_now(session.store),
        )
        if stored.find_outdated(state, possible):
            is_shown = is_crawled and stored.identity == state.identity
            if self._start_counting(state, is_shown=is_shown) and not is_shown:
                stored = self._wait_for(state, [each for each in possible if not each.inspects])
        return AuditAnswer(make_audit(stored, state, lacking), is_crawled, self._is_counting())

    def missing_data(self, session: ReadSession) -> dict[str, MissingData]:
        """Return the data that reports miss, from the kept counts; a web that changed since is read again.

        While a crawl runs, the kept answer holds like the kept counts: reading every page would be slow each time.
        """
        store, stored = session.store, read_counts(self._directory)
        state = web_state(store)
        is_valid = stored.identity == state.identity and (stored.parts_state == state.digest or is_crawled_now(store))
        parts = stored.parts if is_valid else None
        return missing_data(parts or count_stored_parts(store), REPORTS)

    def _start_counting(self, state: WebState, *, is_shown: bool) -> bool:
        """Start the counting process if none runs; return whether one runs.

        While older counts are shown, or if the last process changed nothing, the next one waits for its time.
        """
        with self._lock:
            if self._is_counting():
                return True
            now = self._clock()
            if now < self._next_count_at and (is_shown or state == self._counted_state):
                return False
            self._counted_state = state
            self._process = start_background_count(self._location, self._directory)
            self._waiter = threading.Thread(target=self._wait_for_end, args=(self._process, now), daemon=True)
            self._waiter.start()
            return True

    def _wait_for_end(self, process: subprocess.Popen[bytes], started: float) -> None:
        """Wait for the counting process; its duration, not the time of the next look, decides about the next one."""
        process.wait()
        with self._lock:
            now = self._clock()
            self._next_count_at = now + max(MIN_RECOUNT_SECONDS, RECOUNT_COST_FACTOR * (now - started))
            self._process = None

    def _is_counting(self) -> bool:
        return self._process is not None

    def _wait_for(self, state: WebState, quick: Sequence[Report]) -> StoredCounts:
        """Wait a moment for the reports that the database answers, and return the counts."""
        deadline = time.monotonic() + MAX_WAIT_SECONDS
        while True:
            stored = read_counts(self._directory)
            if not stored.find_outdated(state, quick) or not self._is_counting() or time.monotonic() > deadline:
                return stored
            time.sleep(POLL_SECONDS)
