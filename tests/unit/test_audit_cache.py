"""When the server counts the findings of a crawled web again."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from gossamer.graph.reports.audit import COUNTED_REPORTS
from gossamer.graph.reports.base import find_missing_data
from gossamer.web.http.sessions import ReadSession
from gossamer.web.reports.audits import MIN_RECOUNT_SECONDS, AuditCache
from helpers.patience import until
from helpers.store.small_web import build

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.store.sql_store import SqlStore
    from gossamer.web.reports.audits import AuditAnswer


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def crawled(tmp_path: Path) -> Iterator[SqlStore]:
    """Yield a web that a crawler changes."""
    with closing(build(tmp_path / "web")) as store:
        yield store


def test_the_time_between_two_counts_follows_from_their_duration(crawled: SqlStore, tmp_path: Path) -> None:
    clock = Clock()
    location = str(tmp_path / "web")
    with closing(ReadSession(location)) as session, closing(AuditCache(location, clock)) as cache:

        def look() -> AuditAnswer:
            return cache.audit(session, find_missing_data(session.store, COUNTED_REPORTS))

        until(lambda: not look().audit.uncounted_reports, "the first counts")
        until(lambda: not look().is_counting, "the end of the first count")
        crawled.begin_round("{}", ["https://example.org/"], None, None)  # the web changes
        clock.now = MIN_RECOUNT_SECONDS - 1
        assert look().audit.outdated_reports
        assert not look().is_counting
        clock.now = MIN_RECOUNT_SECONDS + 1  # nobody looked at the moment when the count ended
        until(lambda: not look().audit.outdated_reports, "the second counts")
