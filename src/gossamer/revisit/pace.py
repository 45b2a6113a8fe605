"""Which visit is worth most: paces, and the schedule made of them.

A page visited t ago that changes at a rate r is out of date with the probability 1 - e^(-rt). Visiting at intervals t,
the time it is up to date grows, per visit more, by  worth = (1 - e^(-rt) - rt·e^(-rt)) · weight / r.  The best use of a
number of visits is to visit every page when its worth reaches one and the same price (Cho and Garcia-Molina,
"Effective page refresh policies for web crawlers", ACM TODS 28/4, 2003). A page that changes so fast that its worth
never gets there is not worth visiting more often than it must be: to visit pages in proportion to their changes is
worse than to visit all alike.

So the one number that a schedule needs is the price, and where visits are limited, taking those of most worth finds it.
Resources of about the same rate and weight share a *pace*, a small number. Of one pace, the one not visited for longest
is worth most; so the store finds the best visits of millions by looking at the head of each pace.
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

# A pace of a page is made of three small numbers: rate | weight << 6 | told << 8.
STEPS_PER_OCTAVE = 2  # rates that differ by less than a factor of 1.4 are one
WEIGHTS = (1.0, 1.5, 2.0, 3.0)  # of pages that ten, a hundred, a thousand others point at
NO_HINT, HINT_UNCHANGED, HINT_NEWER = range(
    3
)  # what a sitemap or feed says: nothing; no change since our visit; a change
RATE_BITS, WEIGHT_BITS = 6, 2
HINT_BIT = 1 << (RATE_BITS + WEIGHT_BITS)
STEADY_MASK = HINT_BIT - 1  # mask: all but what was told

# Paces of resources that are looked at again after a fixed time.
LISTING = 1024  # sitemaps and feeds: they tell of other pages
MISSING_ONCE = 1025  # answered 404 or 410 once, and still has its content
UNREACHABLE = 1026  # failed
GONE_OR_REFUSED = 1027  # gone for sure, refused: perhaps it comes back

HOUR = 3600.0
UNANNOUNCED_SHARE = 0.1  # share of changes that sitemaps and feeds fail to mention
MAX_MISLED = 2  # wrong dates in a row after which a page's are not believed any more
MIN_CHANGE_PROBABILITY = (
    0.1  # a page is not asked before it has changed with this probability: a budget need not be used up
)
RETRY_SECONDS = DAY  # a host that is down is down for a while


class PaceLimits(Value, frozen=True, kw_only=True):
    """What the user allows (`gossamer.config.FreshnessSettings`). Times in seconds."""

    shortest: float = HOUR  # between two visits
    longest: float = 30 * DAY
    listings: float = 6 * HOUR  # between two visits of a sitemap or feed
    confirm: float = DAY  # before a page that answered 404 is asked again


@lru_cache(maxsize=4096)
def rate_step(changes_a_second: float) -> int:
    """The rate's part of a pace."""
    period = 1 / changes_a_second if changes_a_second > 1 / LONGEST_PERIOD else LONGEST_PERIOD
    return round(STEPS_PER_OCTAVE * math.log2(max(period, SHORTEST_PERIOD) / SHORTEST_PERIOD))


def page_pace(evidence: Evidence, *, backlinks: int, seed: bool, hint: int = NO_HINT) -> int:
    """The pace of a page."""
    weight = len(WEIGHTS) - 1 if seed else min(len(str(backlinks)) - 1, len(WEIGHTS) - 1)
    return rate_step(change_rate(evidence)) | weight << RATE_BITS | hint * HINT_BIT


def listing_hint(told_at: float | None, visited_at: float, misled: int) -> int:
    """What a sitemap or feed says of a page visited then."""
    if told_at is None or misled >= MAX_MISLED:
        return NO_HINT
    return HINT_NEWER if told_at > visited_at else HINT_UNCHANGED


def pace_rate(pace: int) -> float:
    """Changes a second, of a page of this pace."""
    return math.exp2(-(pace & ((1 << RATE_BITS) - 1)) / STEPS_PER_OCTAVE) / SHORTEST_PERIOD


def pace_weight(pace: int) -> float:
    """How much it counts that a page of this pace is up to date."""
    return WEIGHTS[pace >> RATE_BITS & (1 << WEIGHT_BITS) - 1]


def is_page(pace: int) -> bool:
    """Whether its time follows from its changes."""
    return pace < LISTING


def unannounced_rate(pace: int) -> float:
    """Changes a second that nobody tells us of."""
    return pace_rate(pace) * (UNANNOUNCED_SHARE if pace // HINT_BIT == HINT_UNCHANGED else 1.0)


def stale_probability(pace: int, age: float) -> float:
    """The probability that a page of this pace, visited so long ago, has changed since."""
    return 1.0 if pace // HINT_BIT == HINT_NEWER else -math.expm1(-unannounced_rate(pace) * age)


def visit_worth(pace: int, age: float) -> float:
    """What a visit of a resource of this pace is worth now: seconds that a page will be up to date, per visit more."""
    if pace == UNREACHABLE:
        pace = rate_step(1 / USUAL_PERIOD)
    elif not is_page(pace):
        return math.inf  # when their time has come: they are few, and much hangs on them
    most = pace_weight(pace) / pace_rate(pace)
    if pace // HINT_BIT == HINT_NEWER:
        return most
    expected = unannounced_rate(pace) * age
    return (-math.expm1(-expected) - expected * math.exp(-expected)) * most


class VisitBudget(Value, frozen=True, kw_only=True):
    """How many visits are allowed."""

    pages: int  # in such a time, over all crawlers
    per_host: int | None = None
    seconds: float = HOUR


class Schedule(Value, frozen=True, kw_only=True, dict=True):
    """What is due when. At a price of 0 every visit is, that is not too soon; a budget then chooses the best ones."""

    limits: PaceLimits = PaceLimits()
    price: float = 0.0  # seconds

    def interval(self, pace: int) -> float:
        """The time after its last visit at which a resource of this pace is due."""
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
        share = self.price * pace_rate(pace) / pace_weight(pace)  # the share of all a visit can be worth
        least = -math.log1p(-MIN_CHANGE_PROBABILITY)
        expected = max(least, changes_at_share(share)) if share < 1 else math.inf
        return min(max(expected / unannounced, self.limits.shortest), self.limits.longest)

    def expected_visits(self, paces: Mapping[int, int]) -> float:
        """Visits a second that a web of so many resources of each pace asks for."""
        return sum(number / self.interval(pace) for pace, number in paces.items())


def changes_at_share(share: float) -> float:
    """The x at which 1 - e^(-x) - x·e^(-x) is this share, 0 ≤ share < 1; Newton's method on a convex stretch."""
    if share <= 0:
        return 0.0
    x = math.sqrt(2 * share) if share < 0.264 else 1 - math.log1p(-share)  # 0.264 is the value at 1, where it turns
    for _ in range(50):
        correction = (1 - math.exp(-x) * (1 + x) - share) / (x * math.exp(-x))
        x -= correction
        if abs(correction) < 1e-9 * x:
            break
    return x


def schedule_within_budget(paces: Mapping[int, int], limits: PaceLimits, visits_a_second: float) -> Schedule:
    """The schedule whose price makes a web of these paces ask for so many visits, or fewer."""
    unlimited = Schedule(limits=limits)
    if unlimited.expected_visits(paces) <= visits_a_second:
        return unlimited
    low, high = 1.0, 3 * LONGEST_PERIOD  # beyond the most a visit can be worth
    for _ in range(60):
        middle = math.sqrt(low * high)
        if Schedule(limits=limits, price=middle).expected_visits(paces) > visits_a_second:
            low = middle
        else:
            high = middle
    return Schedule(limits=limits, price=high)


# -- from settings -----------------------------------------------------------------------------------------------------


def limits_from_settings(settings: FreshnessSettings) -> PaceLimits:
    """Between which times pages are visited again."""
    return PaceLimits(
        shortest=settings.shortest_wait, longest=float(settings.longest_wait), listings=settings.sitemap_wait,
        confirm=settings.confirm_gone,
    )  # fmt: skip


def schedule_from_settings(settings: FreshnessSettings, paces: Mapping[int, int]) -> Schedule:
    """When the pages of a web of these paces are due, if so many may be visited in an hour."""
    return schedule_within_budget(paces, limits_from_settings(settings), settings.pages_per_hour / HOUR)
