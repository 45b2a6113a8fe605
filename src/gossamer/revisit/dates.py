"""Dates as servers, sitemaps and feeds write them, as Unix seconds."""

from __future__ import annotations

import re
from calendar import timegm
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_NAMES, 1)}
_FIXED = re.compile(r"[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT")  # RFC 9110 §5.6.7
_W3C = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_LONGEST = 64  # characters
_NOON = timedelta(hours=12)


def http_time(written: str) -> float | None:
    """The time in a Last-Modified header. All but the one form that servers should send takes ten times as long."""
    found = _FIXED.fullmatch(written)
    if found is None:
        return _mail_time(written)
    day, month, year, hour, minute, second = found.groups()
    if month not in _MONTHS:
        return None
    return float(timegm((int(year), _MONTHS[month], int(day), int(hour), int(minute), int(second))))


def listed_time(written: str) -> float | None:
    """The time in a sitemap (W3C date and time) or a feed (that, or a date as in mail).

    Of a day without a time its noon: earlier would miss changes, later would tell of some that are still to come.
    """
    written = written.strip()[:_LONGEST]
    if _W3C.match(written) is None:
        return _mail_time(written)
    try:
        at = datetime.fromisoformat(written)
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return (at + _NOON if len(written) == len("2000-01-01") else at).timestamp()
    except (ValueError, OverflowError):
        return None


def _mail_time(written: str) -> float | None:
    if len(written) > _LONGEST:
        return None
    try:
        return parsedate_to_datetime(written).timestamp()
    except (ValueError, OverflowError):
        return None
