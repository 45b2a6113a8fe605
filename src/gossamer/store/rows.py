"""Database rows into the values of the protocol (totals, links, freshness ...), the same for every back-end.

The statements of a back-end return columns under the names of the fields or in their order. This module builds the
values once, so that the back-ends cannot differ.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from gossamer.errors import StoreCorrupt
from gossamer.model import Kind, Position, State
from gossamer.revisit.pace import stale_probability
from gossamer.store.content import decode_source
from gossamer.store.follow.graph import HostRanks, Ranks
from gossamer.store.values import ChangedBond, ChangeRow, Counts, Freshness, HostNode, LinkRow, PageNode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gossamer.revisit.pace import Schedule

Row = tuple[Any, ...]
BondRow = tuple[int, int, int, int, int, str, str]  # target, kind, follow, weight, position, rel, anchor
RowReader = Callable[[Row, int], list[Row]]  # reads up to so many rows after a cursor
T = TypeVar("T")

# Visits have no index by time. Ids grow with time, so queries read the visits with the greatest ids.
RECENT_VISITS = 5_000  # visits searched for the latest of a kind
MAX_COUNTED_VISITS = 500_000  # visits counted by second

PERCENTILES = (50, 90, 99, 100)
MINUTE = 60.0  # seconds; ages are counted by the minute


class QueryResult(Protocol):
    """A result of sqlite3 or psycopg (PEP 249)."""

    @property
    def description(self) -> Sequence[Any] | None:
        """The columns; the first item of each is its name."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the rows."""
        ...


# -- rows into values --------------------------------------------------------------------------------------------------


def to_structs_by_name(type_: type[T], result: QueryResult) -> list[T]:
    """Convert rows by the names of their columns; 0 and 1 become False and True where a field is a bool."""
    return _convert(type_, [column[0] for column in result.description or ()], result)


def to_structs_by_position(type_: type[T], rows: Iterable[Row]) -> list[T]:
    """Convert rows whose columns are in the order of the fields."""
    return _convert(type_, type_.__struct_fields__, rows)  # type: ignore[attr-defined]


def _convert(type_: type[T], names: Sequence[str], rows: Iterable[Row]) -> list[T]:
    values = [dict(zip(names, row, strict=True)) for row in rows]
    try:
        return msgspec.convert(values, list[type_], strict=False)  # type: ignore[valid-type]
    except msgspec.ValidationError as error:
        raise StoreCorrupt(
            f"The web is damaged: a stored value has the wrong type ({error}). Restore it from a backup."
        ) from error


def to_struct(type_: type[T], row: Sequence[object]) -> T:
    """Build a value from one row that needs no conversion."""
    return type_(**dict(zip(type_.__struct_fields__, row, strict=True)))  # type: ignore[attr-defined]


def to_struct_or_none(type_: type[T], row: Sequence[object]) -> T | None:
    """Build a value from the far side of an outer join; None when the join found nothing."""
    return None if row[0] is None else to_struct(type_, row)


def read_chunks(
    read: RowReader, cursor: tuple[Any, ...], at_once: int, limit: int | None = None
) -> Iterator[list[Row]]:
    """Yield a long answer in chunks, at most `limit` rows in all.

    Each row begins with the columns of the cursor.
    """
    remaining = limit
    while remaining is None or remaining > 0:
        rows = read(cursor, at_once if remaining is None else min(remaining, at_once))
        if not rows:
            return
        yield rows
        cursor = rows[-1][: len(cursor)]
        remaining = None if remaining is None else remaining - len(rows)


def stream_structs(read: RowReader, cursor: tuple[Any, ...], type_: type[T], at_once: int) -> Iterator[T]:
    """Stream a long answer as values; their columns follow those of the cursor."""
    for chunk in read_chunks(read, cursor, at_once):
        yield from to_structs_by_position(type_, [row[len(cursor) :] for row in chunk])


# -- counts, links and nodes -------------------------------------------------------------------------------------------


VISITED_TOTALS = """
    SELECT CAST(coalesce(sum(pages), 0) AS BIGINT) AS pages, count(CASE WHEN pages > 0 THEN 1 END) AS hosts,
        count(CASE WHEN pages = 0 THEN 1 END) AS linked_hosts
    FROM hosts"""
# Few resources are in the indexes that these counts read.
COUNT_MARKED = """
    SELECT (SELECT count(*) FROM resources WHERE cut <> ''), (SELECT count(*) FROM resources WHERE rendered <> ''),
        (SELECT count(*) FROM resources WHERE script_sign <> '' AND rendered = '')"""


def counts(meta: Mapping[str, int], marked: Sequence[int]) -> Counts:
    """Build `Counts` from the counters and the answer to `COUNT_MARKED`."""
    cut, rendered, unrendered = marked
    try:
        states = {state.value: meta[f"resources {state}"] for state in State}
        return Counts(
            resources=states, hosts=meta["hosts"], links=meta["links"], documents=meta["documents"], cut=cut,
            rendered=rendered, unrendered=unrendered,
        )  # fmt: skip
    except KeyError as error:
        raise missing_counter(str(error)) from error


def missing_counter(name: str) -> StoreCorrupt:
    """Return the error for a web without one of its counters."""
    return StoreCorrupt(f"The web is damaged: it lacks its counter {name}. Restore it from a backup.")


def links(rows: Iterable[Row]) -> list[LinkRow]:
    """Build links from rows, seen from one end."""
    return [
        LinkRow(
            url=url, state=state, status=status, kind=Kind(kind).name.lower(), follow=bool(follow), anchor=anchor,
            weight=weight, rel=rel, position=Position(position).name.lower(),
        )
        for url, state, status, kind, follow, anchor, weight, rel, position in rows
    ]  # fmt: skip


def page_nodes(rows: Iterable[Row]) -> Iterator[PageNode]:
    """Build pages from rows of title, status, media_type, language and the fields of `Ranks`."""
    for row in rows:
        ranks = to_struct_or_none(Ranks, row[4:])
        yield PageNode(title=row[0], status=row[1], media_type=row[2], language=row[3], ranks=ranks)


def host_nodes(rows: Iterable[Row]) -> Iterator[HostNode]:
    """Build hosts from rows of pages and the fields of `HostRanks`."""
    for row in rows:
        yield HostNode(pages=row[0], ranks=to_struct_or_none(HostRanks, row[1:]))


# -- history -----------------------------------------------------------------------------------------------------------


def changes(rows: Sequence[Row], urls_of: Callable[[set[int]], dict[int, str]]) -> Iterator[ChangeRow]:
    """Build lines of history; `urls_of` is called once with the targets of all bonds in them.

    A row: found_at, id, url, since, event, status, bytes, title, parts, links, whether the source was kept; then the
    current title, status and state.
    """
    bonds = [_unpack_bonds(row[9]) for row in rows]
    targets = {bond[0] for lost, gained in bonds for bond in (*lost, *gained)}
    urls = urls_of(targets) if targets else {}
    for row, (lost, gained) in zip(rows, bonds, strict=True):
        found_at, entry, url, since, event, status, size, title, parts, _, has_source, *now = row
        yield ChangeRow(
            id=entry, url=url, found_at=found_at, since=since, event=event, status=status, bytes=size, title=title,
            parts=tuple(parts.split()), lost=_build_changed_bonds(lost, urls),
            gained=_build_changed_bonds(gained, urls), has_source=bool(has_source), now_title=now[0],
            now_status=now[1], now_state=now[2],
        )  # fmt: skip


def _unpack_bonds(packed: bytes) -> tuple[list[BondRow], list[BondRow]]:
    if not packed:
        return [], []
    return msgspec.msgpack.decode(decode_source(packed), type=tuple[list[BondRow], list[BondRow]])


def _build_changed_bonds(rows: Sequence[BondRow], urls: Mapping[int, str]) -> tuple[ChangedBond, ...]:
    return tuple(
        ChangedBond(url=urls.get(target, ""), kind=Kind(kind).name.lower(), anchor=anchor, weight=weight)
        for target, kind, _, weight, _, _, anchor in rows
    )


# -- freshness ---------------------------------------------------------------------------------------------------------


def freshness(ages: Sequence[tuple[int, int, int]], due: int, next_at: float | None) -> Freshness:
    """Compute freshness from rows of pace, age in minutes and number of pages."""
    pages = sum(number for _, _, number in ages)
    changed = sum(stale_probability(pace, age * MINUTE) * number for pace, age, number in ages)
    by_age: Counter[int] = Counter()
    for _, age, number in ages:
        by_age[age] += number
    return Freshness(
        pages=pages, ages=_percentiles(by_age, pages), out_of_date=changed / pages if pages else 0.0, due=due,
        next_at=next_at,
    )  # fmt: skip


def _percentiles(by_age: Mapping[int, int], pages: int) -> dict[str, float]:
    percentiles: dict[str, float] = {}
    reached = 0
    for age, number in sorted(by_age.items()):
        reached += number
        for percent in PERCENTILES:
            if reached * 100 >= percent * pages:
                percentiles.setdefault(str(percent), age * MINUTE)
    return percentiles


def count_due_and_next(
    paces: Iterable[int], schedule: Schedule, now: float, count_due: Callable[[int, float], tuple[int, float | None]]
) -> tuple[int, float | None]:
    """Return how many resources are due, and when the next one is.

    `count_due` returns for a pace how many were last visited up to a time, and when the first one after it was.
    """
    due, next_at = 0, None
    for pace in paces:
        interval = schedule.interval(pace)
        number, oldest = count_due(pace, now - interval)
        due += number
        if oldest is not None:
            next_at = min(next_at or math.inf, oldest + interval)
    return due, next_at
