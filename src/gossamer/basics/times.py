"""Which times Gossamer accepts, and how it writes them.

Servers, archives and files name any time. Readers check it with `accepted_time` where it enters, so that the store
holds only times that every zone and every format can write. Webs of older versions may hold others: writers call
`utc_time`, which returns None for those.
"""

from __future__ import annotations

from datetime import UTC, datetime

FIRST_TIME = 0.0  # 1970: before the web, and 0 means "never" in columns
LAST_TIME = 253_402_128_000.0  # 9999-12-30: a day before the last one that `datetime` writes, for zones east of UTC


def accepted_time(moment: float | None) -> float | None:
    """Return a Unix time if Gossamer accepts it, else None."""
    return moment if moment is not None and FIRST_TIME <= moment <= LAST_TIME else None  # NaN is in no range


def utc_time(moment: float | None) -> datetime | None:
    """Return a stored Unix time as a date in UTC; None if there is none, or no format can write it."""
    return datetime.fromtimestamp(moment, UTC) if moment and accepted_time(moment) else None
