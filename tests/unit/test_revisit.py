"""Revisits: change rates, the worth of a visit, schedules, and the detection of changes."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model import Field
from gossamer.revisit.dates import parse_http_date, parse_listed_date
from gossamer.revisit.evidence import (
    DAY,
    FREQUENCIES,
    Evidence,
    change_rate,
    initial_evidence,
    prior_evidence,
    with_visit,
)
from gossamer.revisit.pace import (
    GONE_OR_REFUSED,
    HINT_NEWER,
    HINT_UNCHANGED,
    LISTING,
    MISSING_ONCE,
    NO_HINT,
    UNREACHABLE,
    PaceLimits,
    Schedule,
    changes_at_share,
    listing_hint,
    pace_rate,
    page_pace,
    schedule_within_budget,
    stale_probability,
    visit_worth,
)
from gossamer.revisit.sameness import MAX_COMPARED, is_same_content, without_volatile

PERIODS = st.floats(min_value=3600.0, max_value=500 * DAY)
AGES = st.floats(min_value=1.0, max_value=400 * DAY)


def pace(period: float, *, backlinks: int = 0, seed: bool = False, hint: int = NO_HINT) -> int:
    return page_pace(Evidence(dated=1.0, quiet=period), backlinks=backlinks, seed=seed, hint=hint)


# -- the estimator -----------------------------------------------------------------------------------------------------


@given(st.integers(1, 200), st.data(), st.floats(60.0, 30 * DAY))
def test_regular_visits_give_the_estimate_of_cho_and_garcia_molina(
    visits: int, data: st.DataObject, interval: float
) -> None:
    changes = data.draw(st.integers(0, visits))
    evidence = Evidence()
    for number in range(visits):
        evidence = with_visit(evidence, interval, changed=number < changes, fade=1.0)
    expected = -math.log((visits - changes + 0.5) / (visits + 0.5)) / interval
    assert change_rate(evidence) == pytest.approx(expected, rel=1e-6, abs=1e-15)


def simulate_visits(period: float, waits: tuple[float, ...], visits: int, *, dated: bool, seed: int) -> Evidence:
    """Return the evidence of visits to a page that changes as a Poisson process."""
    rng = random.Random(seed)
    evidence = Evidence()
    for _ in range(visits):
        wait = rng.choice(waits)
        # A Poisson process is symmetric in time, so the age of the last change is exponential too.
        ago = rng.expovariate(1 / period)
        evidence = with_visit(evidence, wait, changed=ago < wait, age=ago if dated and ago < wait else None, fade=1.0)
    return evidence


@pytest.mark.parametrize("dated", [False, True], ids=["changes seen", "changes dated"])
@pytest.mark.parametrize("waits", [(2 * DAY,), (DAY, 2 * DAY, 5 * DAY), (DAY / 2, 7 * DAY)])
def test_the_rate_of_a_poisson_process_is_estimated(waits: tuple[float, ...], dated: bool) -> None:
    evidence = simulate_visits(3 * DAY, waits, 3_000, dated=dated, seed=7)
    # The evidence keeps only the mean of irregular waits, which leaves a lasting error.
    tolerance = 0.05 if dated or len(set(waits)) == 1 else 0.25
    assert 1 / change_rate(evidence) == pytest.approx(3 * DAY, rel=tolerance)


@given(PERIODS, st.lists(st.tuples(AGES, st.booleans(), st.none() | AGES), max_size=30))
def test_the_estimate_is_always_finite_and_positive(
    period: float, visits: list[tuple[float, bool, float | None]]
) -> None:
    evidence = prior_evidence(period)
    for wait, changed, age in visits:
        evidence = with_visit(evidence, wait, changed=changed, age=age)
    assert 0 < change_rate(evidence) < math.inf
    assert 0 <= page_pace(evidence, backlinks=0, seed=False) < LISTING


@given(PERIODS, AGES)
def test_an_unchanged_visit_never_raises_the_rate_nor_a_changed_one_quarters_it(period: float, wait: float) -> None:
    before = prior_evidence(period)
    assert change_rate(with_visit(before, wait, changed=False, fade=1.0)) <= change_rate(before) * (1 + 1e-9)
    assert change_rate(with_visit(before, wait, changed=True, fade=1.0)) >= change_rate(before) * 0.25, (
        "the bias correction weighs much against little evidence"
    )


def test_the_rate_adapts_soon_when_a_page_begins_to_change() -> None:
    evidence = prior_evidence(14 * DAY)
    for _ in range(30):
        evidence = with_visit(evidence, 10 * DAY, changed=False)
    assert 1 / change_rate(evidence) > 100 * DAY
    for _ in range(20):
        evidence = with_visit(evidence, DAY, changed=True)
    assert 1 / change_rate(evidence) < 3 * DAY


@pytest.mark.parametrize(("word", "period"), FREQUENCIES.items())
def test_the_first_estimate_is_the_changefreq_of_the_sitemap(word: str, period: float) -> None:
    assert 1 / change_rate(initial_evidence(None, prior_evidence(period))) == pytest.approx(period), word


def test_an_old_page_starts_with_a_lower_rate_than_a_new_one() -> None:
    old, new, unknown = (change_rate(initial_evidence(age)) for age in (1000 * DAY, DAY, None))
    assert old < unknown < new
    assert change_rate(initial_evidence(5.0)) == unknown, "a date equal to the response time says nothing"


# -- worth and schedule ------------------------------------------------------------------------------------------------


@given(PERIODS, AGES, AGES)
def test_visit_worth_grows_with_age_up_to_the_change_interval(period: float, one: float, other: float) -> None:
    number = pace(period)
    assert visit_worth(number, min(one, other)) <= visit_worth(number, max(one, other)) <= 1.0000001 / pace_rate(number)
    assert 0 <= stale_probability(number, one) <= 1


def test_pages_that_change_very_often_or_rarely_are_worth_less() -> None:
    assert (
        visit_worth(pace(3600.0), 7 * DAY) < visit_worth(pace(7 * DAY), 7 * DAY) > visit_worth(pace(400 * DAY), 7 * DAY)
    )


def test_pages_listed_as_newer_come_first_and_as_unchanged_last() -> None:
    newer, without_hint, unchanged = (
        visit_worth(pace(7 * DAY, hint=hint), DAY) for hint in (HINT_NEWER, NO_HINT, HINT_UNCHANGED)
    )
    assert newer > without_hint > unchanged


def test_important_pages_are_visited_sooner() -> None:
    by_links = [visit_worth(pace(7 * DAY, backlinks=number), DAY) for number in (0, 10, 100, 1_000)]
    assert by_links == sorted(set(by_links))
    assert visit_worth(pace(7 * DAY, seed=True), DAY) == by_links[-1]


@given(st.floats(0, 0.999))
def test_the_worth_function_can_be_inverted(share: float) -> None:
    x = changes_at_share(share)
    assert 1 - math.exp(-x) * (1 + x) == pytest.approx(share, abs=1e-9)


@given(st.integers(0, 1023), st.floats(0, 1e9), st.floats(60, DAY), st.floats(2 * DAY, 300 * DAY))
def test_every_interval_lies_between_the_limits(number: int, price: float, shortest: float, longest: float) -> None:
    schedule = Schedule(limits=PaceLimits(shortest=shortest, longest=longest), price=price)
    assert shortest <= schedule.interval(number) <= longest


def test_fixed_paces_have_their_own_intervals() -> None:
    limits = PaceLimits(longest=9 * DAY, listings=100.0, confirm=200.0)
    schedule = Schedule(limits=limits, price=1e9)
    assert [schedule.interval(number) for number in (LISTING, MISSING_ONCE, UNREACHABLE, GONE_OR_REFUSED)] == [
        100,
        200,
        DAY,
        9 * DAY,
    ]


@given(st.dictionaries(st.integers(0, 255), st.integers(1, 10_000), min_size=1, max_size=20), st.floats(1e-5, 10.0))
def test_a_schedule_stays_within_the_visit_budget(paces: dict[int, int], visits: float) -> None:
    limits = PaceLimits()
    schedule = schedule_within_budget(paces, limits, visits)
    least = sum(paces.values()) / limits.longest  # each page at least once per longest interval
    assert schedule.expected_visits(paces) <= max(visits, least) * 1.01


def test_no_schedule_with_the_same_visits_keeps_more_pages_up_to_date() -> None:
    paces = {pace(DAY): 400, pace(7 * DAY): 600, pace(30 * DAY): 600, pace(300 * DAY): 400}
    limits = PaceLimits(shortest=60.0, longest=200 * DAY)
    visits = 300 / DAY

    def up_to_date(intervals: dict[int, float]) -> float:
        return sum(
            number * -math.expm1(-pace_rate(each) * intervals[each]) / (pace_rate(each) * intervals[each])
            for each, number in paces.items()
        )

    schedule = schedule_within_budget(paces, limits, visits)
    ours = {each: schedule.interval(each) for each in paces}
    best = up_to_date(ours)
    rng = random.Random(3)
    for _ in range(2_000):
        other = {each: interval * math.exp(rng.uniform(-0.4, 0.4)) for each, interval in ours.items()}
        scale = sum(number / other[each] for each, number in paces.items()) / visits
        assert up_to_date({each: interval * scale for each, interval in other.items()}) <= best * 1.002


def share_up_to_date(period: float | None, interval: float) -> float:
    """Return the share of time that a page is up to date, by its change period and visit interval."""
    return 1.0 if period is None else -math.expm1(-interval / period) * period / interval


def test_a_schedule_without_hints_gains_little_when_visits_are_scarce() -> None:
    """Uses the site of tests/contract/test_store_freshness_simulated.py, with every rate known."""
    site: list[tuple[float | None, int]] = [(DAY, 400), (7 * DAY, 600), (30 * DAY, 600), (None, 400)]
    pages, visits = 2_000, 300 / DAY
    paces = {pace(period or 1_000 * DAY): number for period, number in site}
    schedule = schedule_within_budget(paces, PaceLimits(shortest=60.0, longest=30 * DAY), visits)
    intervals = [schedule.interval(pace(period or 1_000 * DAY)) for period, _ in site]
    best = sum(n * share_up_to_date(period, t) for (period, n), t in zip(site, intervals, strict=True)) / pages
    in_turn = sum(n * share_up_to_date(period, pages / visits) for period, n in site) / pages
    print(f"in turn {in_turn:.3f}, at best {best:.3f}: {best / in_turn - 1:+.1%}")
    assert 0.03 < best / in_turn - 1 < 0.06


def test_listed_dates_that_were_wrong_twice_are_ignored() -> None:
    assert [listing_hint(20.0, 10.0, misled) for misled in range(3)] == [HINT_NEWER, HINT_NEWER, NO_HINT]
    assert listing_hint(5.0, 10.0, 0) == HINT_UNCHANGED
    assert listing_hint(None, 10.0, 0) == NO_HINT


# -- what counts as a change -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("Served at 2024-05-12T10:11:12Z by web-3", "Served at 2024-05-13T08:00:59Z by web-3"),
        ("Sun, 12 May 2024 10:11:12 GMT", "Sun, 19 May 2024 07:00:02 GMT"),
        ("Page generated on 12 May 2024", "Page generated on 3 June 2024"),
        ("Last updated: May 12, 2024 at 10:11", "Last updated: May 13, 2024 at 09:00"),
        ("Posted 3 hours ago", "Posted 27 hours ago"),
        ("Rendered in 0.013 seconds", "Rendered in 1.2 seconds"),
        ("nonce 8f14e45fceea167a5a36dedd4bea2543", "nonce c9f0f895fb98ab9159f51fd0297e236d"),
    ],
)
def test_volatile_text_is_no_change(before: str, now: str) -> None:
    assert is_same_content([(Field.TEXT, before)], [(Field.TEXT, now)])


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("The concert is on 12 May 2024", "The concert is on 13 May 2024"),
        ("Doors open at 19:00", "Doors open at 20:00"),
        ("Version 3.11.2", "Version 3.11.3"),
        ("It costs 10 euros", "It costs 11 euros"),
        ("internationalization", "internationalisation"),
        ("a", "a b"),
    ],
)
def test_visible_differences_are_changes(before: str, now: str) -> None:
    assert not is_same_content([(Field.TEXT, before)], [(Field.TEXT, now)])


def test_the_same_words_in_another_field_are_a_change() -> None:
    assert not is_same_content([(Field.H1, "Spiders")], [(Field.PARAGRAPH, "Spiders")])
    assert not is_same_content([(Field.TEXT, "a")], [(Field.TEXT, "a"), (Field.TEXT, "b")])


@pytest.mark.parametrize(
    "piece", ["a-", "1:11", "12 may ", "1", "a1", "generated 1.1.1.", "_", "2024-05-12 ", "1 s ", "12:00:00+"]
)
def test_no_text_takes_long_to_compare(piece: str) -> None:
    assert (
        len(without_volatile(piece * (MAX_COMPARED // len(piece)))) <= MAX_COMPARED
    )  # the test's time limit is the real check


@given(st.text(max_size=200))
def test_equal_texts_have_the_same_content(text: str) -> None:
    assert without_volatile(text) == without_volatile(text)
    assert is_same_content([(Field.TEXT, text)], [(Field.TEXT, text)])


# -- dates -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "at"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784111777.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784111777.0),
        ("Sun Nov  6 08:49:37 1994", None),
        ("yesterday", None),
        ("", None),
        ("Sun, 06 Foo 1994 08:49:37 GMT", None),
    ],
)
def test_last_modified_dates_are_parsed(written: str, at: float | None) -> None:
    parsed = parse_http_date(written)
    assert parsed == at or (at is None and parsed in {784111777.0, None})


@pytest.mark.parametrize(
    ("written", "at"),
    [
        ("1994-11-06T08:49:37Z", 784111777.0),
        ("1994-11-06T09:49:37+01:00", 784111777.0),
        ("1994-11-06T08:49:37", 784111777.0),
        ("1994-11-06", 784123200.0),
        ("Sun, 06 Nov 1994 08:49:37 +0000", 784111777.0),
        ("1994-13-06", None),
        ("soon", None),
        ("9" * 5000, None),
    ],
)
def test_dates_of_sitemaps_and_feeds_are_parsed(written: str, at: float | None) -> None:
    assert parse_listed_date(written) == at


@given(st.text(max_size=80))
def test_no_date_string_raises(written: str) -> None:
    parse_http_date(written)
    parse_listed_date(written)
