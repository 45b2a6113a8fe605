"""Dates as servers, sitemaps and feeds write them, as Unix seconds."""

from __future__ import annotations

import re
from calendar import timegm
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_HTTP_DATE = re.compile(r"[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT")  # RFC 9110 §5.6.7
_W3C_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_MAX_LENGTH = 64  # characters
_HALF_DAY = timedelta(hours=12)


def parse_http_date(written: str) -> float | None:
    """The time in a Last-Modified header. All but the one form that servers should send takes ten times as long."""
    match = _HTTP_DATE.fullmatch(written)
    if match is None:
        return _parse_mail_date(written)
    day, month, year, hour, minute, second = match.groups()
    if month not in _MONTHS:
        return None
    return float(timegm((int(year), _MONTHS[month], int(day), int(hour), int(minute), int(second))))


def parse_listed_date(written: str) -> float | None:
    """The time in a sitemap (W3C date and time) or a feed (that, or a date as in mail).

    Of a day without a time its noon: earlier would miss changes, later would tell of some that are still to come.
    """
    written = written.strip()[:_MAX_LENGTH]
    if _W3C_DATE.match(written) is None:
        return _parse_mail_date(written)
    try:
        moment = datetime.fromisoformat(written)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (moment + _HALF_DAY if len(written) == len("2000-01-01") else moment).timestamp()
    except (ValueError, OverflowError):
        return None


def _parse_mail_date(written: str) -> float | None:
    if len(written) > _MAX_LENGTH:
        return None
    try:
        return parsedate_to_datetime(written).timestamp()
    except (ValueError, OverflowError):
        return None
