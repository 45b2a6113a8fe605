"""Ranking at the end of `crawl` and beside `watch`, as these commands show it, and the note about stale ranks."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

from gossamer.basics.display import pluralize
from gossamer.cli.hints import hint
from gossamer.cli.output import ProgressLine, print_message
from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gossamer.ranking import RankingProcess
    from gossamer.store.read.rank_state import RankState


def rank_web_after_crawl(location: str) -> None:
    """Rank a web after its crawl and say so; say why if that is not possible. Start to count its reports."""
    from gossamer.ranking import RankingReport, count_after_crawl, rank_after_crawl

    progress_line = ProgressLine()
    try:
        report = rank_after_crawl(location, lambda text: progress_line.update(f"Ranking: {text}"))
    except KeyboardInterrupt:
        report = RankingReport(reason="the ranking was stopped")
    progress_line.close()
    count_after_crawl(location)
    if report is None:
        return
    if report.reason:
        print_message(f"Not ranked: {report.reason}. Rank the web later: {hint('rank')}")
        return
    print_message(f"Ranked {pluralize(report.pages, 'page')} by {pluralize(report.links, 'link')}.")


def print_rank_note(state: RankState | None) -> None:
    """Say on stderr if ranks that were shown are of an older state."""
    if state is not None and state.note:
        print_message(f"Ranks {state.note}. Update them: {hint('rank')}")


@contextmanager
def hourly_ranking(location: str, *, enabled: bool) -> Iterator[Callable[[], None]]:
    """Yield a function that `watch` calls in its loop; it starts a ranking when the last one is an hour old."""
    if not enabled:
        yield lambda: None
        return
    with ExitStack() as processes:
        yield HourlyRanking(location, processes).rank_if_due


class HourlyRanking:
    """Ranks a web that is kept fresh, at most once an hour over all crawlers together."""

    def __init__(self, location: str, processes: ExitStack) -> None:
        self._location = location
        self._processes = processes  # closed at the end; that ends a ranking under way
        self._process: RankingProcess | None = None
        self._next_at = time.monotonic()

    def rank_if_due(self) -> None:
        """Start a ranking if one is due; never wait for it."""
        from gossamer.ranking import WATCH_SECONDS

        if time.monotonic() < self._next_at or (self._process is not None and self._process.is_running()):
            return
        self._next_at = time.monotonic() + WATCH_SECONDS
        self._processes.close()  # reaps the last process
        self._process = self._start()

    def _start(self) -> RankingProcess | None:
        from gossamer.ranking import WATCH_SECONDS, RankingProcess, needs_ranking
        from gossamer.wiring import open_store

        try:
            with closing(open_store(self._location, read_only=True)) as store:
                if not needs_ranking(store, while_crawling=True, min_age=WATCH_SECONDS):
                    return None
            return self._processes.enter_context(RankingProcess(self._location, reports=False))
        except (GossamerError, OSError) as fault:  # the crawl goes on without ranks
            print_message(f"Not ranked: {fault}")
            return None
