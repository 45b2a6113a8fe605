"""Views of the rows of a report: filtered, by facet, grouped and sorted. Pure functions over rows in memory."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from gossamer.basics.display import site_of
from gossamer.errors import UsageError
from gossamer.graph.reports.base import column_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gossamer.graph.reports.base import ColumnType, Report, ReportRow

HOST = "host"  # a facet of the site in `HOST_COLUMNS`, unless the report has a column of this name
HOST_COLUMNS = ("url", "source", "origin")  # the first that a report has names the host of a row
FACET_COLUMNS = (
    "status", "outcome", "state", "reason", "why", "fault", "change", "kind", "position", "follow", "depth",
    "media_type", "known_from", "hreflang",
)  # fmt: skip
# By which columns people group, the most useful first: one template error is one target with many sources.
GROUP_COLUMNS = (
    "url", "source", "title", "description", "heading", "fault", "anchor", "final", "canonical", "same_as", "sitemap",
    "target", "reason",
)  # fmt: skip
URL_COLUMNS = frozenset({"url", "source", "final", "canonical", "same_as", "sitemap", "target"})
MAX_FACET_VALUES = 30  # offered per facet


class TableFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows to show, in which groups and order; "" means no condition."""

    text: str = ""  # in any column, in any case
    facets: tuple[tuple[str, str], ...] = ()  # name and value
    group: str = ""  # column
    member: str | None = None  # value of the column to group by: the rows of one group
    sort: str = ""
    order: str = "asc"

    @property
    def is_whole(self) -> bool:
        """Whether all rows are shown as the report has them."""
        return self == TableFilter()

    @property
    def is_grouped(self) -> bool:
        """Whether rows are shown as groups."""
        return bool(self.group) and self.member is None


class FacetChoice(msgspec.Struct, frozen=True, kw_only=True):
    """A value of a facet."""

    value: str
    rows: int  # that it would leave, with all other conditions


class TableFacet(msgspec.Struct, frozen=True, kw_only=True):
    """A column by whose values rows can be filtered."""

    name: str
    chosen: str  # "" for none
    values: list[FacetChoice]  # those with most rows first
    more: int  # values that are not listed


class TableColumn(NamedTuple):
    """A column of a view."""

    name: str
    type: ColumnType


class TableView(NamedTuple):
    """The rows that a filter leaves, in order, with the columns they have."""

    columns: list[TableColumn]
    rows: Sequence[ReportRow]
    facets: list[TableFacet]
    found: int  # rows before grouping


def table_facets(report: Report) -> list[str]:
    """Return the names of the facets of a report."""
    host = [HOST] if HOST in report.columns or any(name in report.columns for name in HOST_COLUMNS) else []
    return [*host, *(name for name in FACET_COLUMNS if name in report.columns)]


def table_groups(report: Report) -> list[str]:
    """Return the columns by which the rows of a report can be grouped."""
    names = [name for name in GROUP_COLUMNS if name in report.columns]
    # A report with one row for each URL has nothing to group by it.
    one_row_each = "url" in names and "source" not in names and "sitemap" not in names and report.name != "html"
    return [name for name in names if not (one_row_each and name == "url")]


def make_view(report: Report, rows: Sequence[ReportRow], wanted: TableFilter) -> TableView:
    """Return the view of rows that a filter describes."""
    check_filter(report, wanted)
    found, facets = _filter_rows(report, rows, wanted)
    columns = [TableColumn(name, column_type(name)) for name in report.columns]
    shown: Sequence[ReportRow] = found
    if wanted.is_grouped:
        columns, shown = _group_rows(report, found, wanted.group)
    return TableView(columns, _sort_rows(columns, shown, wanted), facets, len(found))


def matching_rows(report: Report, rows: Iterable[ReportRow], wanted: TableFilter) -> Iterator[ReportRow]:
    """Yield the rows that fit the text, the facets and the group, in the order given; in bounded memory."""
    check_filter(report, wanted)
    conditions = [(_reader(report, name), value) for name, value in wanted.facets]
    fits = _base_condition(report, wanted)
    return (row for row in rows if fits(row) and all(read(row) == value for read, value in conditions))


def check_filter(report: Report, wanted: TableFilter) -> None:
    """Raise `UsageError` if a report lacks a column of a filter."""
    for name, _ in wanted.facets:
        _check(report, "facet", name, table_facets(report))
    if wanted.group:
        _check(report, "column to group by", wanted.group, table_groups(report))


def _check(report: Report, kind: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        there_are = f"only {', '.join(known)}" if known else "none"
        raise UsageError(f'The report {report.name} has no {kind} "{name}", {there_are}.')


# -- filters and facets ------------------------------------------------------------------------------------------------


def _reader(report: Report, name: str) -> Callable[[ReportRow], str]:
    """Return a function from a row to its value of a facet, as text."""
    if name == HOST and HOST not in report.columns:
        host = report.columns.index(next(column for column in HOST_COLUMNS if column in report.columns))
        return lambda row: site_of(row[host]).partition("://")[2] or str(row[host])
    column = report.columns.index(name)
    if column_type(name) == "flag":
        return lambda row: "yes" if row[column] else "no"
    return lambda row: "" if row[column] is None else str(row[column])


def _base_condition(report: Report, wanted: TableFilter) -> Callable[[ReportRow], bool]:
    """Return whether a row has the text of a filter and belongs to its group."""
    needle = wanted.text.casefold()
    column = report.columns.index(wanted.group) if wanted.group and wanted.member is not None else None

    def fits(row: ReportRow) -> bool:
        if column is not None and str(row[column]) != wanted.member:
            return False
        return not needle or any(needle in str(cell).casefold() for cell in row if cell is not None)

    return fits


def _filter_rows(
    report: Report, rows: Sequence[ReportRow], wanted: TableFilter
) -> tuple[list[ReportRow], list[TableFacet]]:
    """Return the rows that fit, and for each facet how many rows each value would leave."""
    fits, chosen = _base_condition(report, wanted), dict(wanted.facets)
    readers = {name: _reader(report, name) for name in table_facets(report)}
    counts: dict[str, Counter[str]] = {name: Counter() for name in readers}
    found = []
    for row in rows:
        if not fits(row):
            continue
        values = {name: read(row) for name, read in readers.items()}
        failed = [name for name, value in chosen.items() if values[name] != value]
        if not failed:
            found.append(row)
            for name, value in values.items():
                counts[name][value] += 1
        elif len(failed) == 1:  # another value of this facet would show the row
            counts[failed[0]][values[failed[0]]] += 1
    facets = [_facet(name, chosen.get(name, ""), counter) for name, counter in counts.items()]
    return found, [each for each in facets if each.chosen or len(each.values) + each.more > 1]


def _facet(name: str, chosen: str, counter: Counter[str]) -> TableFacet:
    choices = [(value, number) for value, number in counter.items() if value]
    choices.sort(key=lambda choice: (-choice[1], choice[0]))
    values = [FacetChoice(value=value, rows=number) for value, number in choices[:MAX_FACET_VALUES]]
    return TableFacet(name=name, chosen=chosen, values=values, more=max(0, len(choices) - MAX_FACET_VALUES))


# -- groups and order --------------------------------------------------------------------------------------------------


def _group_rows(report: Report, rows: Sequence[ReportRow], name: str) -> tuple[list[TableColumn], list[ReportRow]]:
    """Return a row for each value of a column, the largest first: its rows, its sources, and what all of them share."""
    column = report.columns.index(name)
    groups: dict[Any, list[ReportRow]] = {}
    for row in rows:
        groups.setdefault(row[column], []).append(row)
    source = report.columns.index("source") if "source" in report.columns and name != "source" else None
    others = [i for i in range(len(report.columns)) if i not in {column, source}]
    shared = {value: [_common_value(members, i) for i in others] for value, members in groups.items()}
    kept = [n for n in range(len(others)) if any(values[n] is not None for values in shared.values())]
    columns = [TableColumn(name, column_type(name)), TableColumn("rows", "integer")]
    if source is not None:
        columns.append(TableColumn("sources", "integer"))
    columns += [TableColumn(each, column_type(each)) for each in (report.columns[others[n]] for n in kept)]
    grouped = []
    for value, members in groups.items():
        sources = [] if source is None else [len({row[source] for row in members})]
        grouped.append((value, len(members), *sources, *(shared[value][n] for n in kept)))
    grouped.sort(key=lambda row: -int(row[1]))
    return columns, grouped


def _common_value(rows: Sequence[ReportRow], column: int) -> Any:
    """Return the value that all rows have; None if they differ."""
    first = rows[0][column]
    return first if all(row[column] == first for row in rows) else None


def _sort_rows(columns: Sequence[TableColumn], rows: Sequence[ReportRow], wanted: TableFilter) -> Sequence[ReportRow]:
    """Sort rows by a column; rows without a value come last in both orders."""
    if not wanted.sort:
        return rows
    names = [column.name for column in columns]
    if wanted.sort not in names:
        raise UsageError(f'This table has no column "{wanted.sort}", only {", ".join(names)}.')
    at = names.index(wanted.sort)
    present = [row for row in rows if row[at] is not None]
    is_text = columns[at].type == "text"
    present.sort(key=lambda row: str(row[at]).casefold() if is_text else row[at], reverse=wanted.order == "desc")
    return [*present, *(row for row in rows if row[at] is None)]


def row_cells(columns: Sequence[TableColumn], row: ReportRow) -> Mapping[str, Any]:
    """Return a row by column name, flags as booleans."""
    return {
        column.name: bool(value) if column.type == "flag" and value is not None else value
        for column, value in zip(columns, row, strict=True)
    }
