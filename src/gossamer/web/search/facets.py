"""Filters of a search, and how many pages each value would leave."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from gossamer.index.protocol import AnyOf, ChangeDateFilter, LanguageFilter, MediaTypeFilter, Query, SiteFilter
from gossamer.search.query import MEDIA_TYPES, parse_query
from gossamer.search.weights import FIRST_PASS_WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gossamer.index.protocol import IndexReader, QueryNode
    from gossamer.web.search.search_session import SearchSession

MAX_HOSTS = 8  # hosts offered as filters
MAX_SECONDS = 1.0  # for counting; twenty filters run a slow query twenty times, and hits matter more
KINDS = ("html", "pdf", "text", "xml", "feed")
PERIODS = {"past day": 1, "past week": 7, "past month": 30, "past year": 365}
DAY_SECONDS = 86_400.0


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions on hits; "" means no condition."""

    host: str = ""
    language: str = ""
    type: str = ""
    since: str = ""  # YYYY, YYYY-MM or YYYY-MM-DD
    until: str = ""


class SearchQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A search: the query, its filters and the page of hits to return."""

    q: str
    page: int = 1
    limit: int = 10
    explain: bool = False
    filters: Filters = Filters()


class FacetValue(msgspec.Struct, frozen=True, kw_only=True):
    """A value to filter by."""

    value: str
    label: str
    count: int  # pages that the filter would leave


class Facets(msgspec.Struct, frozen=True, kw_only=True):
    """Values to filter by, those that leave most pages first."""

    host: list[FacetValue]
    language: list[FacetValue]
    type: list[FacetValue]
    changed: list[FacetValue]  # values of `since`


OPERATORS = {"host": "site", "language": "lang", "type": "type", "since": "after", "until": "before"}


def with_filters(text: str, filters: Filters) -> str:
    """Return the query with the filters written as operators of the query language."""
    values = ((OPERATORS[name], getattr(filters, name)) for name in Filters.__struct_fields__)
    words = [f'{operator}:"{clean}"' for operator, value in values if (clean := value.replace('"', "").strip())]
    return " ".join([text, *words])


def facets(session: SearchSession, text: str, filters: Filters, hosts: Iterable[str]) -> Facets:
    """Count the values of each facet. All filters but its own apply, so that a user can change to another value."""
    counter = _FacetCounter(session.index, text, filters)
    known = dict.fromkeys([*hosts, *(host.name for host in session.store.hosts(MAX_HOSTS))])
    languages = [name for name in session.index.languages() if name]
    return Facets(
        host=counter.count_values(
            "host", {name: (name, SiteFilter(host=name)) for name in list(known)[: 2 * MAX_HOSTS]}
        )[:MAX_HOSTS],
        language=counter.count_values(
            "language", {name: (name.capitalize(), LanguageFilter(name=name)) for name in languages}
        ),
        type=counter.count_values(
            "type", {kind: (kind.upper() if kind != "text" else "Text", _type_filter(kind)) for kind in KINDS}
        ),
        changed=counter.count_values(
            "since", {_date_before(days): (label, _changed_filter(days)) for label, days in PERIODS.items()}
        ),
    )


class _FacetCounter:
    def __init__(self, index: IndexReader, text: str, filters: Filters) -> None:
        self._index = index
        self._languages = index.languages()
        self._text = text
        self._filters = filters
        self._ends_at = time.monotonic() + MAX_SECONDS

    def count_values(self, name: str, values: dict[str, tuple[str, QueryNode]]) -> list[FacetValue]:
        """Return the values that leave any page. Periods keep their order. Values beyond `MAX_SECONDS` are left out."""
        others = msgspec.structs.replace(self._filters, **{name: ""})
        query = parse_query(with_filters(self._text, others), self._languages).query
        counted = [
            FacetValue(value=value, label=label, count=self._count(query, node))
            for value, (label, node) in values.items()
            if time.monotonic() < self._ends_at
        ]
        nonempty = [choice for choice in counted if choice.count]
        return nonempty if name == "since" else sorted(nonempty, key=lambda choice: (-choice.count, choice.label))

    def _count(self, query: Query, node: QueryNode) -> int:
        narrowed = Query(wanted=query.wanted, required=(*query.required, node), excluded=query.excluded)
        return self._index.match(narrowed, FIRST_PASS_WEIGHTS, limit=1).total


def _type_filter(kind: str) -> QueryNode:
    return AnyOf(children=tuple(MediaTypeFilter(media_type=name) for name in MEDIA_TYPES[kind]))


def _date_before(days: int) -> str:
    return f"{datetime.fromtimestamp(time.time() - days * DAY_SECONDS, UTC):%Y-%m-%d}"


def _changed_filter(days: int) -> QueryNode:
    return ChangeDateFilter(since=datetime.fromisoformat(_date_before(days)).replace(tzinfo=UTC).timestamp())
