"""Two months of a changing site on a virtual clock: the result of 300 scheduled visits a day.

Site, clock and responses are simulated; the store under test chooses the visits, as `gossamer watch` does. Pages change
as a Poisson process: a fifth once a day, three tenths once a week, three tenths once a month, a fifth never.

The gain of a schedule depends on its information. Perfect knowledge of all rates gains 4.5 % over visiting all in turn
(tests/unit/test_revisit.py). So the aim of 15 % applies to a site whose sitemap has dates.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from email.utils import formatdate
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from gossamer.model import Hints, Kind, Lease, Outcome, Role, State, Visit, VisitBatch
from gossamer.revisit.evidence import DAY
from gossamer.revisit.pace import PaceLimits, Schedule, VisitBudget
from helpers.store.crawl_steps import Policy, candidate, digest, ended_visit, fetched_visit, join

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.store.protocol import Store

PAGES, DAYS, VISITS_A_DAY = 2_000, 60, 300
SITEMAPS_A_DAY = 4  # these count as visits too
STEP = DAY / 4  # seconds between looks for work
LIMITS = PaceLimits(longest=30 * DAY, listings=DAY / SITEMAPS_A_DAY)
PERIODS = (DAY, 7 * DAY, 30 * DAY, None)  # between two changes
SHARES = (0.2, 0.3, 0.3, 0.2)
SITEMAP = "http://site.test/sitemap.xml"
START = 1_000_000_000.0
END = START + DAYS * DAY


class Site:
    """Pages and the times at which each changes."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.changes: dict[str, list[float]] = {}
        for number in range(PAGES):
            period = chance.choices(PERIODS, SHARES)[0]
            self.changes[f"http://site.test/{number}"] = list(_poisson(chance, period))

    def last_change(self, url: str, now: float) -> float:
        """Return the time of the last change; long ago if there was none."""
        before = bisect_right(self.changes[url], now)
        return self.changes[url][before - 1] if before else START - 100 * DAY

    def share_up_to_date(self, visits: dict[str, list[float]]) -> float:
        """Return the mean share of up-to-date pages: the time from each visit to the next change."""
        fresh = 0.0
        for url, times in visits.items():
            changes = self.changes[url]
            for at, later in zip(times, [*times[1:], END], strict=True):
                index = bisect_right(changes, at)
                fresh += min(changes[index] if index < len(changes) else END, later) - at
        return fresh / (PAGES * (END - START))


def _poisson(chance: random.Random, period: float | None) -> Sequence[float]:
    times, at = [], START
    while period is not None and (at := at + chance.expovariate(1 / period)) < END:
        times.append(at)
    return times


def visit_in_turn(site: Site) -> dict[str, list[float]]:
    """Visit all pages in turn with the same budget."""
    visits = {url: [START] for url in site.changes}
    urls = list(visits)
    for number in range(DAYS * VISITS_A_DAY):
        visits[urls[number % PAGES]].append(START + (number + 1) * DAY / VISITS_A_DAY)
    return visits


class SimulatedCrawler:
    """A crawler on a virtual clock."""

    def __init__(self, store: Store, site: Site, *, dates: bool, sitemap: bool) -> None:
        self.store, self.site, self.dates = store, site, dates
        self.visits: dict[str, list[float]] = {url: [] for url in site.changes}
        self.visit_count = 0  # all visits, including those of the sitemap
        self.crawler = join(store)
        store.begin_round("{}", [], None, None)
        store.add([candidate(url, depth=1) for url in site.changes], Policy())
        if sitemap:
            store.add([candidate(SITEMAP, kind=Kind.SITEMAP_FILE)], Policy())
        while self.visit_queued(START):
            pass
        self.visit_count = 0

    def keep_fresh(self) -> None:
        """Keep the web fresh until the end."""
        budget = VisitBudget(pages=DAYS * (VISITS_A_DAY - SITEMAPS_A_DAY), seconds=DAYS * DAY)
        schedule = Schedule(limits=LIMITS)
        for step in range(1, round(DAYS * DAY / STEP)):
            now = START + step * STEP
            self.store.keep_fresh(schedule, budget, now)
            self.visit_queued(now)

    def visit_queued(self, now: float) -> int:
        """Visit everything that is queued."""
        held = [host.id for host in self.store.hosts()]
        leased = self.store.lease(self.crawler, hosts=1, urls=PAGES, held=held, now=now)
        leases = [lease for host in leased for lease in host.leases]
        self.store.submit(self.crawler, VisitBatch(visits=[self.visit(lease, now) for lease in leases]), Policy(), now)
        self.visit_count += len(leases)
        return len(leases)

    def visit(self, lease: Lease, now: float) -> Visit:
        """Return a fetched page if it changed, else "not modified"."""
        if lease.role is Role.SITEMAP:
            return self.sitemap(lease, now)
        times = self.visits[lease.url]
        changed = not times or self.site.last_change(lease.url, now) > times[-1]
        times.append(now)
        if changed:
            visit = fetched_visit(lease, body=f"{lease.url} of {now}", at=now)
        else:
            visit = replace(ended_visit(lease, Outcome.NOT_MODIFIED, State.VISITED, status=304), visited_at=now)
        if self.dates:
            visit = replace(visit, last_modified=formatdate(self.site.last_change(lease.url, now), usegmt=True))
        return visit

    def sitemap(self, lease: Lease, now: float) -> Visit:
        urls = list(self.site.changes)
        modified = [self.site.last_change(url, now) for url in urls]
        visit = fetched_visit(lease, *urls, body=str(now), at=now)
        assert visit.page is not None
        hints = Hints([digest(url) for url in urls], modified, [0.0] * len(urls))
        return replace(visit, page=replace(visit.page, hints=hints))


def longest_wait(visits: dict[str, list[float]]) -> float:
    return max(later - at for times in visits.values() for at, later in zip(times, [*times[1:], END], strict=True))


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 6))])
@pytest.mark.parametrize(
    ("dates", "sitemap", "gain"),
    [
        pytest.param(False, False, 0.01, id="no hints"),
        pytest.param(True, False, 0.01, id="Last-Modified", marks=pytest.mark.full),
        pytest.param(False, True, 0.15, id="a sitemap with dates", marks=pytest.mark.full),
        pytest.param(True, True, 0.15, id="both", marks=pytest.mark.full),
    ],
)
def test_the_schedule_beats_visiting_all_pages_in_turn(
    store: Store, dates: bool, sitemap: bool, gain: float, seed: int
) -> None:
    site = Site(seed)
    crawler = SimulatedCrawler(store, site, dates=dates, sitemap=sitemap)
    crawler.keep_fresh()
    ours, theirs = site.share_up_to_date(crawler.visits), site.share_up_to_date(visit_in_turn(site))
    waited = longest_wait(crawler.visits) / DAY
    print(f"up to date: {ours:.4f}, in turn {theirs:.4f}: {ours / theirs - 1:+.1%}; longest wait {waited:.1f} days;"
          f" {crawler.visit_count} visits")  # fmt: skip
    assert crawler.visit_count <= DAYS * VISITS_A_DAY
    assert waited * DAY <= LIMITS.longest
    assert ours >= (1 + gain) * theirs
