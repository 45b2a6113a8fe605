"""Estimates how often a resource changes, from visits at irregular times.

The model is a Poisson process (Cho and Garcia-Molina, "Estimating frequency of change", ACM TOIT 3/3, 2003). A visit
shows whether the resource changed since the visit before, and seldom how often. Four numbers sum up all visits:

    found   visits that found a change
    gap     the summed time before those visits; each gap holds at least one change
    dated   visits that found a change and its date (Last-Modified)
    quiet   the time known to have passed without a change

With `mean = gap / found`, the most likely rate solves

    dated / rate  +  found · mean / (e^(rate·mean) - 1)  =  quiet

The code adds half a mean to `quiet`. With visits at regular times this gives exactly Cho and Garcia-Molina's
bias-reduced estimator -ln((n - X + ½) / (n + ½)) / interval. With dated changes only, it gives their estimator for
last-modified dates, dated / quiet. A dated change is a point in time, so only the quiet time after it counts.

Old evidence fades, because sites change their habits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

DAY = 86_400.0  # seconds
FADE = 0.9  # each visit multiplies older evidence by this, so that the last ten visits count most
USUAL_PERIOD = 14 * DAY  # assumed time between two changes of a page without evidence
PRIOR_WEIGHT = 0.5  # weight of a prior belief or a hint, in visits
MAX_GAP_CHANGES = 6.0  # a gap counts up to this many expected changes; a change in a longer gap is certain at any rate
NEWTON_STEPS = 20  # upper bound; the iteration usually converges earlier
MIN_AGE = 60.0  # seconds; servers that send the current time as date of change report younger ages
SHORTEST_PERIOD = 15 * 60.0  # seconds; shortest time between two changes that the model uses
LONGEST_PERIOD = 4 * 365 * DAY  # seconds; longest time between two changes that the model uses

# Time between two changes for each <changefreq> of a sitemap (sitemaps.org). "always" means a change at each request.
FREQUENCIES = {
    "always": SHORTEST_PERIOD, "hourly": 3600.0, "daily": DAY, "weekly": 7 * DAY, "monthly": 30 * DAY,
    "yearly": 365 * DAY, "never": LONGEST_PERIOD,
}  # fmt: skip


class Evidence(NamedTuple):
    """Sums over the visits of a resource, as the module docstring defines them. Times in seconds."""

    dated: float = 0.0
    found: float = 0.0
    gap: float = 0.0
    quiet: float = 0.0


def change_rate(evidence: Evidence) -> float:
    """Return the most likely rate, in changes per second."""
    dated, found, gap, quiet = evidence
    if not found:
        return dated / max(quiet, 1.0)
    mean = gap / found
    quiet += mean / 2
    # Either term alone gives a rate that is too low. From below, Newton's method reaches the root without passing it,
    # because the left side is decreasing and convex.
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
    """Return the evidence of a prior belief that a resource changes once per period (seconds)."""
    return Evidence(dated=PRIOR_WEIGHT, quiet=PRIOR_WEIGHT * min(max(period, SHORTEST_PERIOD), LONGEST_PERIOD))


def initial_evidence(age: float | None, hint: Evidence | None = None) -> Evidence:
    """Return the evidence of a first visit: the age of the page if known, and the hint of a sitemap or feed.

    A page with a known age has been quiet for that time, and its last change counts as one dated change.
    """
    evidence = hint or prior_evidence(USUAL_PERIOD)
    if age is None or age < MIN_AGE:
        return evidence
    quiet = evidence.quiet + PRIOR_WEIGHT * min(age, LONGEST_PERIOD)
    return evidence._replace(dated=evidence.dated + PRIOR_WEIGHT, quiet=quiet)


def with_visit(
    evidence: Evidence, elapsed: float, *, changed: bool, age: float | None = None, fade: float = FADE
) -> Evidence:
    """Return the evidence after one more visit, `elapsed` seconds after the one before.

    `age` is the time since the last change, if known.
    """
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
