"""Times that Gossamer accepts, and their texts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.basics import display
from gossamer.basics.headers import header_text, parse_length
from gossamer.basics.times import LAST_TIME, accepted_time, utc_time
from gossamer.crawl.policy import retry_after
from gossamer.files.tables import format_time
from gossamer.revisit.dates import parse_archive_date, parse_http_date, parse_listed_date
from gossamer.revisit.pace import stale_probability, visit_worth
from gossamer.web.http.templates import iso, moment

DATES = st.one_of(
    st.text(max_size=80),
    st.from_regex(r"[A-Z][a-z]{2}, \d\d (Jan|Feb|Dec) \d{4} \d\d:\d\d:\d\d GMT", fullmatch=True),
    st.from_regex(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)?)?", fullmatch=True),
    st.from_regex(r"\d{1,2} (Jan|Dec) \d{1,9} \d\d:\d\d [+-]\d{1,9}", fullmatch=True),
    st.from_regex(r"\d{8,17}", fullmatch=True),
)


@given(st.floats())
def test_every_stored_time_can_be_written(when: float) -> None:
    assert (format_time(when) is None) == (utc_time(when) is None)
    for text in (display.format_time(when), display.format_age(when), moment(when), iso(when)):
        assert text
    if not math.isnan(when):
        assert 0 <= stale_probability(20, when) <= 1
        assert math.isfinite(visit_worth(20, when))


@given(DATES)
def test_every_written_date_gives_an_accepted_time_or_none(written: str) -> None:
    for parse in (parse_http_date, parse_listed_date, parse_archive_date):
        assert accepted_time(parse(written)) == parse(written)
    assert 0 <= retry_after(written, 1e9) <= 86_400


@pytest.mark.parametrize("when", [0.0, 1.0, LAST_TIME])
def test_the_first_and_the_last_time_are_accepted(when: float) -> None:
    assert accepted_time(when) == when


@pytest.mark.parametrize("when", [-0.001, LAST_TIME + 1, math.inf, -math.inf, math.nan, None])
def test_other_times_are_not_accepted(when: float | None) -> None:
    assert accepted_time(when) is None


@pytest.mark.parametrize(
    ("written", "length"),
    [
        ("0", 0),
        ("12", 12),
        ("0" * 9_999 + "7", 7),
        ("9" * 9_999, 2**63 - 1),
        ("", None),
        ("-1", None),
        ("1e3", None),
        ("²", None),
    ],
)
def test_a_content_length_is_a_number_that_a_column_holds(written: str, length: int | None) -> None:
    assert parse_length(written) == length


@pytest.mark.parametrize("value", ["a\0b", "a\nb", "\ud800", "\x7f", "a" * 11])
def test_a_header_text_that_no_column_should_hold_is_dropped(value: str) -> None:
    assert header_text(value, 10) == ""
    assert header_text('"é"', 10) == '"é"'
