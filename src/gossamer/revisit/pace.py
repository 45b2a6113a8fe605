"""Paces, and the schedule of visits that uses them: which visit is worth most.

A page visited t seconds ago that changes at rate r is out of date with probability 1 - e^(-rt). If pages are visited at
intervals t, one more visit adds this much up-to-date time:  worth = (1 - e^(-rt) - rt·e^(-rt)) · weight / r.  The best
use of a number of visits is to visit every page when its worth reaches one common price (Cho and Garcia-Molina,
"Effective page refresh policies for web crawlers", ACM TODS 28/4, 2003). Some pages change so fast that their worth
never reaches the price; they get no more visits than the limits demand. Visits in proportion to change rates would be
worse than equal visits for all pages.

So a schedule needs one number, the price. With a budget of visits, taking the visits of most worth finds the price.
Resources of about the same rate and weight share a *pace*, a small number. Within one pace, the resource not visited
for longest is worth most. So the store finds the best visits among millions of resources at the head of each pace.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from gossamer.model import Value
from gossamer.revisit.evidence import DAY, LONGEST_PERIOD, SHORTEST_PERIOD, USUAL_PERIOD, Evidence, change_rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gossamer.config import FreshnessSettings

# The pace of a page packs three small numbers: rate | weight << 6 | hint << 8. The store keeps paces.
STEPS_PER_OCTAVE = 2  # rates that differ by less than a factor of 1.4 share a step
WEIGHTS = (1.0, 1.5, 2.0, 3.0)  # for fewer than 10 backlinks, from 10, from 100, from 1000
NO_HINT, HINT_UNCHANGED, HINT_NEWER = range(3)  # a sitemap or feed lists no date, no later change, a later change
RATE_BITS, WEIGHT_BITS = 6, 2
HINT_BIT = 1 << (RATE_BITS + WEIGHT_BITS)
STEADY_MASK = HINT_BIT - 1  # selects rate and weight, without the hint

# Paces of resources that are visited again after a fixed time.
LISTING = 1024  # sitemaps and feeds, which list other pages
MISSING_ONCE = 1025  # answered 404 or 410 once; the store still has its content
UNREACHABLE = 1026  # failed
GONE_OR_REFUSED = 1027  # confirmed as gone, or refused; it may come back

HOUR = 3600.0  # seconds
UNANNOUNCED_SHARE = 0.1  # share of changes that sitemaps and feeds fail to mention
MAX_MISLED = 2  # wrong dates in a row, after which a page's dates in sitemaps and feeds are ignored
MAX_EXPECTED = 700.0  # changes: more make no difference, and infinity has no product
MIN_CHANGE_PROBABILITY = 0.1  # a page is not due below this probability of a change, even with budget left
RETRY_SECONDS = DAY  # between two visits of a failed resource: outages tend to last


class PaceLimits(Value, frozen=True, kw_only=True):
    """Times that the user sets (`gossamer.config.FreshnessSettings`), in seconds."""

    shortest: float = HOUR  # between two visits of a page
    longest: float = 30 * DAY  # between two visits of a page
    listings: float = 6 * HOUR  # between two visits of a sitemap or feed
    confirm: float = DAY  # before a page that answered 404 is requested again


@lru_cache(maxsize=4096)
def rate_step(changes_a_second: float) -> int:
    """Return the rate part of a pace."""
    period = 1 / changes_a_second if changes_a_second > 1 / LONGEST_PERIOD else LONGEST_PERIOD
    return round(STEPS_PER_OCTAVE * math.log2(max(period, SHORTEST_PERIOD) / SHORTEST_PERIOD))


def page_pace(evidence: Evidence, *, backlinks: int, seed: bool, hint: int = NO_HINT) -> int:
    """Return the pace of a page. A seed has the greatest weight."""
    weight = len(WEIGHTS) - 1 if seed else min(len(str(backlinks)) - 1, len(WEIGHTS) - 1)
    return rate_step(change_rate(evidence)) | weight << RATE_BITS | hint * HINT_BIT


def listing_hint(listed_at: float | None, visited_at: float, misled: int) -> int:
    """Return the hint of a date of change that a sitemap or feed lists for a page, given its last visit."""
    if listed_at is None or misled >= MAX_MISLED:
        return NO_HINT
    return HINT_NEWER if listed_at > visited_at else HINT_UNCHANGED


def pace_rate(pace: int) -> float:
    """Return the change rate of a page of this pace, per second."""
    return math.exp2(-(pace & ((1 << RATE_BITS) - 1)) / STEPS_PER_OCTAVE) / SHORTEST_PERIOD


def pace_weight(pace: int) -> float:
    """Return how much it counts that a page of this pace is up to date."""
    return WEIGHTS[pace >> RATE_BITS & (1 << WEIGHT_BITS) - 1]


def is_page(pace: int) -> bool:
    """Return whether a resource of this pace is due by its change rate, not after a fixed time."""
    return pace < LISTING


def unannounced_rate(pace: int) -> float:
    """Return the rate of changes that no sitemap or feed announces, per second."""
    return pace_rate(pace) * (UNANNOUNCED_SHARE if pace // HINT_BIT == HINT_UNCHANGED else 1.0)


def stale_probability(pace: int, age: float) -> float:
    """Return the probability that a page of this pace, visited `age` seconds ago, has changed since."""
    return 1.0 if pace // HINT_BIT == HINT_NEWER else -math.expm1(-unannounced_rate(pace) * max(age, 0.0))


def visit_worth(pace: int, age: float) -> float:
    """Return the worth of visiting a resource of this pace now: the up-to-date seconds that one visit adds."""
    if pace == UNREACHABLE:
        pace = rate_step(1 / USUAL_PERIOD)
    elif not is_page(pace):
        return math.inf  # such resources are few, and other visits depend on them
    most = pace_weight(pace) / pace_rate(pace)
    if pace // HINT_BIT == HINT_NEWER:
        return most
    expected = min(unannounced_rate(pace) * max(age, 0.0), MAX_EXPECTED)
    return (-math.expm1(-expected) - expected * math.exp(-expected)) * most


class VisitBudget(Value, frozen=True, kw_only=True):
    """The number of visits allowed in a time."""

    pages: int  # over all crawlers
    per_host: int | None = None  # None: no limit
    seconds: float = HOUR  # the time that both limits cover


class Schedule(Value, frozen=True, kw_only=True, dict=True):
    """When resources are due. A price of 0 leaves the choice to a budget, which takes the visits of most worth."""

    limits: PaceLimits = PaceLimits()
    price: float = 0.0  # worth at which a visit is due (seconds)

    def interval(self, pace: int) -> float:
        """Return the seconds from the last visit of a resource of this pace until it is due."""
        if pace not in self._intervals:
            self._intervals[pace] = self._compute_interval(pace)
        return self._intervals[pace]

    @cached_property
    def _intervals(self) -> dict[int, float]:
        limits = self.limits
        return {
            LISTING: limits.listings, MISSING_ONCE: limits.confirm, UNREACHABLE: min(RETRY_SECONDS, limits.longest),
            GONE_OR_REFUSED: limits.longest,
        }  # fmt: skip

    def _compute_interval(self, pace: int) -> float:
        if pace // HINT_BIT == HINT_NEWER:
            return self.limits.shortest
        unannounced = unannounced_rate(pace)
        share = self.price * pace_rate(pace) / pace_weight(pace)  # price as a share of the greatest possible worth
        least = -math.log1p(-MIN_CHANGE_PROBABILITY)
        expected = max(least, changes_at_share(share)) if share < 1 else math.inf
        return min(max(expected / unannounced, self.limits.shortest), self.limits.longest)

    def expected_visits(self, paces: Mapping[int, int]) -> float:
        """Return the visits per second that a web with these numbers of resources per pace needs."""
        return sum(number / self.interval(pace) for pace, number in paces.items())


def changes_at_share(share: float) -> float:
    """Return the x with 1 - e^(-x) - x·e^(-x) = share, for 0 ≤ share < 1, by Newton's method."""
    if share <= 0:
        return 0.0
    x = math.sqrt(2 * share) if share < 0.264 else 1 - math.log1p(-share)  # 0.264: value at the inflection point x = 1
    for _ in range(50):
        correction = (1 - math.exp(-x) * (1 + x) - share) / (x * math.exp(-x))
        x -= correction
        if abs(correction) < 1e-9 * x:
            break
    return x


def schedule_within_budget(paces: Mapping[int, int], limits: PaceLimits, visits_a_second: float) -> Schedule:
    """Return the schedule with the lowest price at which a web of these paces needs no more visits than allowed."""
    unlimited = Schedule(limits=limits)
    if unlimited.expected_visits(paces) <= visits_a_second:
        return unlimited
    low, high = 1.0, 3 * LONGEST_PERIOD  # seconds; above the greatest worth a visit can have
    for _ in range(60):
        middle = math.sqrt(low * high)
        if Schedule(limits=limits, price=middle).expected_visits(paces) > visits_a_second:
            low = middle
        else:
            high = middle
    return Schedule(limits=limits, price=high)


# -- from settings -----------------------------------------------------------------------------------------------------


def limits_from_settings(settings: FreshnessSettings) -> PaceLimits:
    """Return the limits that the settings give."""
    return PaceLimits(
        shortest=settings.shortest_wait, longest=float(settings.longest_wait), listings=settings.sitemap_wait,
        confirm=settings.confirm_gone,
    )  # fmt: skip


def schedule_from_settings(settings: FreshnessSettings, paces: Mapping[int, int]) -> Schedule:
    """Return the schedule that keeps a web of these paces within `pages_per_hour`."""
    return schedule_within_budget(paces, limits_from_settings(settings), settings.pages_per_hour / HOUR)
