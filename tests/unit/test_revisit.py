"""How often pages change, which visit is worth most, and what counts as a change."""

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


def pace(period: float, *, backlinks: int = 0, seed: bool = False, told: int = NO_HINT) -> int:
    return page_pace(Evidence(dated=1.0, quiet=period), backlinks=backlinks, seed=seed, hint=told)


# -- the estimator -----------------------------------------------------------------------------------------------------


@given(st.integers(1, 200), st.data(), st.floats(60.0, 30 * DAY))
def test_at_regular_times_it_is_the_estimator_of_cho_and_garcia_molina(
    visits: int, data: st.DataObject, interval: float
) -> None:
    changes = data.draw(st.integers(0, visits))
    evidence = Evidence()
    for number in range(visits):
        evidence = with_visit(evidence, interval, changed=number < changes, fade=1.0)
    theirs = -math.log((visits - changes + 0.5) / (visits + 0.5)) / interval
    assert change_rate(evidence) == pytest.approx(theirs, rel=1e-6, abs=1e-15)


def visited(period: float, waits: tuple[float, ...], visits: int, *, dated: bool, seed: int) -> Evidence:
    """The evidence of visits to a page that changes as a Poisson process."""
    chance = random.Random(seed)
    evidence = Evidence()
    for _ in range(visits):
        wait = chance.choice(waits)
        # The process looks the same backwards: the last change was so long ago.
        ago = chance.expovariate(1 / period)
        evidence = with_visit(evidence, wait, changed=ago < wait, age=ago if dated and ago < wait else None, fade=1.0)
    return evidence


@pytest.mark.parametrize("dated", [False, True], ids=["changes seen", "changes dated"])
@pytest.mark.parametrize("waits", [(2 * DAY,), (DAY, 2 * DAY, 5 * DAY), (DAY / 2, 7 * DAY)])
def test_the_rate_of_a_poisson_process_is_found(waits: tuple[float, ...], dated: bool) -> None:
    evidence = visited(3 * DAY, waits, 3_000, dated=dated, seed=7)
    # Of irregular waits only the mean is kept, which leaves an error that does not go away.
    near = 0.05 if dated or len(set(waits)) == 1 else 0.25
    assert 1 / change_rate(evidence) == pytest.approx(3 * DAY, rel=near)


@given(PERIODS, st.lists(st.tuples(AGES, st.booleans(), st.none() | AGES), max_size=30))
def test_the_estimate_is_always_a_number(period: float, visits: list[tuple[float, bool, float | None]]) -> None:
    evidence = prior_evidence(period)
    for wait, changed, age in visits:
        evidence = with_visit(evidence, wait, changed=changed, age=age)
    assert 0 < change_rate(evidence) < math.inf
    assert 0 <= page_pace(evidence, backlinks=0, seed=False) < LISTING


@given(PERIODS, AGES)
def test_a_visit_without_a_change_never_makes_a_page_faster_and_one_with_a_change_never_much_slower(
    period: float, wait: float
) -> None:
    before = prior_evidence(period)
    assert change_rate(with_visit(before, wait, changed=False, fade=1.0)) <= change_rate(before) * (1 + 1e-9)
    assert change_rate(with_visit(before, wait, changed=True, fade=1.0)) >= change_rate(before) * 0.25, (
        "the correction for bias weighs as much as little evidence"
    )


def test_a_page_that_begins_to_change_is_soon_believed() -> None:
    evidence = prior_evidence(14 * DAY)
    for _ in range(30):
        evidence = with_visit(evidence, 10 * DAY, changed=False)
    assert 1 / change_rate(evidence) > 100 * DAY
    for _ in range(20):
        evidence = with_visit(evidence, DAY, changed=True)
    assert 1 / change_rate(evidence) < 3 * DAY


@pytest.mark.parametrize(("word", "period"), FREQUENCIES.items())
def test_a_sitemaps_changefreq_is_believed_at_first(word: str, period: float) -> None:
    assert 1 / change_rate(initial_evidence(None, prior_evidence(period))) == pytest.approx(period), word


def test_an_old_page_is_taken_to_change_more_seldom_than_a_new_one() -> None:
    old, new, unknown = (change_rate(initial_evidence(age)) for age in (1000 * DAY, DAY, None))
    assert old < unknown < new
    assert change_rate(initial_evidence(5.0)) == unknown, "the time of the answer says nothing"


# -- worth and schedule ------------------------------------------------------------------------------------------------


@given(PERIODS, AGES, AGES)
def test_the_longer_ago_the_more_a_visit_is_worth_and_never_more_than_the_time_between_two_changes(
    period: float, one: float, other: float
) -> None:
    number = pace(period)
    assert visit_worth(number, min(one, other)) <= visit_worth(number, max(one, other)) <= 1.0000001 / pace_rate(number)
    assert 0 <= stale_probability(number, one) <= 1


def test_a_page_that_changes_too_fast_is_worth_less_than_one_that_changes_now_and_then() -> None:
    assert (
        visit_worth(pace(3600.0), 7 * DAY) < visit_worth(pace(7 * DAY), 7 * DAY) > visit_worth(pace(400 * DAY), 7 * DAY)
    )


def test_what_a_sitemap_says_to_be_newer_comes_first_and_what_it_says_to_be_the_same_last() -> None:
    newer, untold, same = (visit_worth(pace(7 * DAY, told=told), DAY) for told in (HINT_NEWER, NO_HINT, HINT_UNCHANGED))
    assert newer > untold > same


def test_important_pages_come_sooner() -> None:
    by_links = [visit_worth(pace(7 * DAY, backlinks=number), DAY) for number in (0, 10, 100, 1_000)]
    assert by_links == sorted(set(by_links))
    assert visit_worth(pace(7 * DAY, seed=True), DAY) == by_links[-1]


@given(st.floats(0, 0.999))
def test_the_worth_can_be_turned_round(share: float) -> None:
    x = changes_at_share(share)
    assert 1 - math.exp(-x) * (1 + x) == pytest.approx(share, abs=1e-9)


@given(st.integers(0, 1023), st.floats(0, 1e9), st.floats(60, DAY), st.floats(2 * DAY, 300 * DAY))
def test_every_interval_lies_between_the_limits(number: int, price: float, shortest: float, longest: float) -> None:
    schedule = Schedule(limits=PaceLimits(shortest=shortest, longest=longest), price=price)
    assert shortest <= schedule.interval(number) <= longest


def test_fixed_paces_have_their_own_times() -> None:
    limits = PaceLimits(longest=9 * DAY, listings=100.0, confirm=200.0)
    schedule = Schedule(limits=limits, price=1e9)
    assert [schedule.interval(number) for number in (LISTING, MISSING_ONCE, UNREACHABLE, GONE_OR_REFUSED)] == [
        100,
        200,
        DAY,
        9 * DAY,
    ]


@given(st.dictionaries(st.integers(0, 255), st.integers(1, 10_000), min_size=1, max_size=20), st.floats(1e-5, 10.0))
def test_a_schedule_asks_for_no_more_visits_than_there_may_be(paces: dict[int, int], visits: float) -> None:
    limits = PaceLimits()
    schedule = schedule_within_budget(paces, limits, visits)
    least = sum(paces.values()) / limits.longest  # every page once in the longest time, whatever it costs
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
    chance = random.Random(3)
    for _ in range(2_000):
        other = {each: interval * math.exp(chance.uniform(-0.4, 0.4)) for each, interval in ours.items()}
        scale = sum(number / other[each] for each, number in paces.items()) / visits
        assert up_to_date({each: interval * scale for each, interval in other.items()}) <= best * 1.002


def share_up_to_date(period: float | None, interval: float) -> float:
    """Of the time, for a page that changes once in a period and is visited at intervals."""
    return 1.0 if period is None else -math.expm1(-interval / period) * period / interval


def test_a_schedule_that_is_told_nothing_cannot_gain_much_where_visits_are_few() -> None:
    """The site of the simulation (tests/contract/test_store_freshness_simulated.py), every rate known beforehand."""
    site: list[tuple[float | None, int]] = [(DAY, 400), (7 * DAY, 600), (30 * DAY, 600), (None, 400)]
    pages, visits = 2_000, 300 / DAY
    paces = {pace(period or 1_000 * DAY): number for period, number in site}
    schedule = schedule_within_budget(paces, PaceLimits(shortest=60.0, longest=30 * DAY), visits)
    intervals = [schedule.interval(pace(period or 1_000 * DAY)) for period, _ in site]
    best = sum(n * share_up_to_date(period, t) for (period, n), t in zip(site, intervals, strict=True)) / pages
    in_turn = sum(n * share_up_to_date(period, pages / visits) for period, n in site) / pages
    print(f"in turn {in_turn:.3f}, at best {best:.3f}: {best / in_turn - 1:+.1%}")
    assert 0.03 < best / in_turn - 1 < 0.06


def test_dates_that_were_wrong_twice_are_not_believed_any_more() -> None:
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
def test_what_every_answer_says_anew_is_no_change(before: str, now: str) -> None:
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
def test_what_a_reader_would_see_changed_is_a_change(before: str, now: str) -> None:
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
    )  # the limit of the test's time is the claim


@given(st.text(max_size=200))
def test_text_that_is_the_same_says_the_same(text: str) -> None:
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
def test_last_modified_is_read(written: str, at: float | None) -> None:
    read = parse_http_date(written)
    assert read == at or (at is None and read in {784111777.0, None})


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
def test_dates_of_sitemaps_and_feeds_are_read(written: str, at: float | None) -> None:
    assert parse_listed_date(written) == at


@given(st.text(max_size=80))
def test_no_date_is_a_fault(written: str) -> None:
    parse_http_date(written)
    parse_listed_date(written)
