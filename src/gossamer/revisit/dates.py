"""Parsers for the dates of servers, archives, sitemaps and feeds; they return accepted Unix times."""

from __future__ import annotations

import re
from calendar import timegm
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from gossamer.basics.times import accepted_time

_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_HTTP_DATE = re.compile(r"[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT")  # RFC 9110 §5.6.7
_W3C_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_MAX_LENGTH = 64  # characters; bounds the time for hostile input
_FIRST_YEAR = 1970  # as `accepted_time`: `timegm` cannot compute with the year 0
_HALF_DAY = timedelta(hours=12)


def parse_http_date(written: str) -> float | None:
    """Return the time of a header such as Last-Modified, None if it is invalid.

    The regular form takes a tenth of the time of the general parser.
    """
    match = _HTTP_DATE.fullmatch(written)
    if match is None:
        return _parse_mail_date(written)
    day, month, year, hour, minute, second = match.groups()
    if month not in _MONTHS or int(year) < _FIRST_YEAR:
        return None
    return accepted_time(float(timegm((int(year), _MONTHS[month], int(day), int(hour), int(minute), int(second)))))


def parse_listed_date(written: str) -> float | None:
    """Return the time of a sitemap entry (W3C date) or a feed entry (W3C date or mail date).

    A day without a time means its noon: an earlier time would miss changes, a later one would announce future changes.
    """
    written = written.strip()[:_MAX_LENGTH]
    if _W3C_DATE.match(written) is None:
        return _parse_mail_date(written)
    try:
        moment = datetime.fromisoformat(written)
        return _utc_seconds(moment + _HALF_DAY if len(written) == len("2000-01-01") else moment)
    except (ValueError, OverflowError):
        return None


def parse_archive_date(written: str) -> float | None:
    """Return the time of a WARC-Date (W3C profile of ISO 8601, UTC) or an ARC date (14 digits)."""
    written = written[:_MAX_LENGTH]
    try:
        return _utc_seconds(
            datetime.strptime(written[:14], "%Y%m%d%H%M%S") if written.isdecimal() else datetime.fromisoformat(written)  # noqa: DTZ007 - UTC by definition
        )
    except (ValueError, OverflowError):
        return None


def _parse_mail_date(written: str) -> float | None:
    if len(written) > _MAX_LENGTH:
        return None
    try:
        return _utc_seconds(parsedate_to_datetime(written))
    except (ValueError, OverflowError):
        return None


def _utc_seconds(moment: datetime) -> float | None:
    """Return the Unix time of a date, in UTC if it names no zone."""
    return accepted_time((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
