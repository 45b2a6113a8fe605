"""A report for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.errors import UsageError
from gossamer.graph.reports.base import Options, column_type, lacks
from gossamer.graph.reports.registry import chosen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.graph.reports.base import Report, Row
    from gossamer.store.protocol import Store


def made(store: Store, name: str, *, resource: int | None = None, since: float = 0.0) -> Iterator[dict[str, object]]:
    """The rows of one report, by the names of their columns."""
    reports = chosen([name])
    if len(reports) > 1:
        raise UsageError(f"{name} is a group of reports: ask for {reports[0].name} and the others one by one.")
    report = reports[0]
    if "url" in report.takes and resource is None:
        raise UsageError(f"The report {report.name} is about one URL: give it.")
    lack = lacks(store, reports).get(report.code)
    if lack and lack.wholly:
        raise UsageError(f"The report {report.name} cannot be made: {lack.reason}.")
    return (named(report, row) for row in report.rows(store, Options(resource=resource, since=since)))


def named(report: Report, row: Row) -> dict[str, object]:
    """A row by the names of its columns."""
    cells = zip(report.columns, row, strict=True)
    return {name: bool(value) if column_type(name) == "flag" else value for name, value in cells}
