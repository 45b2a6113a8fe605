"""How often a resource changes, estimated from visits at irregular times.

Changes are taken to be a Poisson process (Cho and Garcia-Molina, "Estimating frequency of change", ACM TOIT 3/3, 2003).
A visit tells whether there was a change since the one before, seldom how many. Four numbers hold what all visits said:

    found   visits that found a change
    gap     the time before those visits, summed: somewhere in it there was at least one change
    dated   visits that found a change and its date (Last-Modified)
    quiet   the time known to have passed without a change

With `mean = gap / found`, the most likely rate solves

    dated / rate  +  found · mean / (e^(rate·mean) - 1)  =  quiet

Half a mean is added to `quiet`: with visits at regular times that is exactly Cho and Garcia-Molina's bias-reduced
-ln((n - X + ½) / (n + ½)) / interval. With dated changes only it is their estimator for last-modified dates,
dated / quiet: of a change that is a point in time, all that counts is how long it was quiet since.

Old evidence fades, for sites change their habits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

DAY = 86_400.0
FADE = 0.9  # what a visit leaves of all evidence before it: the last ten visits count most
USUAL_PERIOD = 14 * DAY  # between two changes, of a page nobody said anything about
PRIOR_WEIGHT = 0.5  # visits that a prior belief or a hint weighs as much as
MAX_GAP_CHANGES = 6.0  # expected changes; that there was one in a longer time goes without saying, whatever the rate
NEWTON_STEPS = 20
MIN_AGE = 60.0  # seconds; a date of change younger than that is the time of the answer, which says nothing
SHORTEST_PERIOD = 15 * 60.0  # nothing is taken to change more often (seconds)
LONGEST_PERIOD = 4 * 365 * DAY  # ... nor more seldom

# What a sitemap's <changefreq> says, as the time between two changes (sitemaps.org). "always" is each time it is asked.
FREQUENCIES = {
    "always": SHORTEST_PERIOD, "hourly": 3600.0, "daily": DAY, "weekly": 7 * DAY, "monthly": 30 * DAY,
    "yearly": 365 * DAY, "never": LONGEST_PERIOD,
}  # fmt: skip


class Evidence(NamedTuple):
    """What the visits of a resource said about its changes. Times in seconds."""

    dated: float = 0.0
    found: float = 0.0
    gap: float = 0.0
    quiet: float = 0.0


def change_rate(evidence: Evidence) -> float:
    """Changes a second."""
    dated, found, gap, quiet = evidence
    if not found:
        return dated / max(quiet, 1.0)
    mean = gap / found
    quiet += mean / 2
    # Either term alone gives a rate that is too low; from below, Newton's method climbs to the root and not beyond it,
    # for the left side falls and is convex.
    guess = max(dated / quiet, math.log1p(gap / quiet) / mean)
    for _ in range(NEWTON_STEPS if dated else 0):
        x = min(guess * mean, 700.0)
        grown = math.expm1(x)
        value = dated / guess + gap / grown - quiet
        slope = dated / guess**2 + gap * mean * (grown + 1) / grown**2
        guess += value / slope
        if value < quiet * 1e-6:
            break
    return guess


def prior_evidence(period: float) -> Evidence:
    """A prior belief: it changes once in such a time."""
    return Evidence(dated=PRIOR_WEIGHT, quiet=PRIOR_WEIGHT * min(max(period, SHORTEST_PERIOD), LONGEST_PERIOD))


def initial_evidence(age: float | None, hint: Evidence | None = None) -> Evidence:
    """What the first visit says: the age of the page when that is known, and what others said before.

    A page last changed an age ago has been quiet for that long; that is one change seen, and one that is dated.
    """
    evidence = hint or prior_evidence(USUAL_PERIOD)
    if age is None or age < MIN_AGE:
        return evidence
    quiet = evidence.quiet + PRIOR_WEIGHT * min(age, LONGEST_PERIOD)
    return evidence._replace(dated=evidence.dated + PRIOR_WEIGHT, quiet=quiet)


def with_visit(
    evidence: Evidence, elapsed: float, *, changed: bool, age: float | None = None, fade: float = FADE
) -> Evidence:
    """The evidence after one more visit, so long after the one before; `age` of the last change, when that is known."""
    dated, found, gap, quiet = (part * fade for part in evidence)
    elapsed = max(elapsed, 1.0)
    if not changed:
        return Evidence(dated, found, gap, quiet + elapsed)
    if age is not None and MIN_AGE <= age < elapsed:
        return Evidence(dated + 1, found, gap, quiet + age)
    rate_before = change_rate(evidence)
    return Evidence(
        dated, found + 1, gap + (min(elapsed, MAX_GAP_CHANGES / rate_before) if rate_before else elapsed), quiet
    )
