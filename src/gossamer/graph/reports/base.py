"""What a report is."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from gossamer.model import Value
from gossamer.store.read.questions import Question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gossamer.store.protocol import Store

ReportRow = tuple[Any, ...]
ColumnType = Literal["text", "integer", "number", "flag", "time"]

# Columns that are no text; a name means the same in every report.
COLUMN_TYPES: dict[ColumnType, frozenset[str]] = {
    "integer": frozenset(
        {
            "answers", "backlinks", "bytes", "bytes_before", "canonicals", "characters", "copies", "count", "depth",
            "equal_pages", "external", "final_status", "hops", "indexable", "inlinks", "line", "links", "links_out",
            "max", "nofollow", "other_pages", "p50", "p90", "p95", "p99", "pages", "resources", "status",
            "status_before", "targets", "texts", "weight",
        }
    ),
    "number": frozenset({"share", "similarity"}),
    "flag": frozenset({"follow"}),
    "time": frozenset({"visited_at", "visited_before"}),
}  # fmt: skip


class Severity(StrEnum):
    """How bad it is that a report has rows."""

    ERROR = "error"  # readers meet it, or a search engine does
    WARNING = "warning"  # costs visitors or rank
    NOTICE = "notice"  # worth a look
    INFO = "info"  # an overview: no finding at all

    @property
    def rank(self) -> int:
        """0 is worst."""
        return list(Severity).index(self)


def _ignore_progress(_: str) -> None:
    """Nobody wants to know."""


class ReportOptions(Value, frozen=True, kw_only=True):
    """What a report is asked about, where it is asked about something."""

    resource: int | None = None  # its DocID
    since: float = 0.0  # Unix time
    on_progress: Callable[[str], None] = _ignore_progress  # told again and again how far a long report is


class Report(Value, frozen=True, kw_only=True):
    """A report: what it finds, why that matters, and how its rows come about."""

    code: str  # for ever the same
    name: str
    severity: Severity
    finds: str  # what a row is, as a title
    why: str
    fix: str
    columns: tuple[str, ...]
    rows: Callable[[Store, ReportOptions], Iterator[ReportRow]]
    needs: tuple[Literal["links", "source"], ...] = ()  # what a crawl may leave out, and this needs
    takes: tuple[Literal["url", "since"], ...] = ()


def column_type(name: str) -> ColumnType:
    """What the values of a column are."""
    return next((kind for kind, names in COLUMN_TYPES.items() if name in names), "text")


def question_rows(
    question: Question, **values: str | float | bytes
) -> Callable[[Store, ReportOptions], Iterator[ReportRow]]:
    """The rows of a report that is one question to the store."""

    def rows(store: Store, options: ReportOptions) -> Iterator[ReportRow]:
        option_values = {"resource": options.resource or 0, "since": options.since}
        arguments = {name: option_values[name] for name in question.values if name in option_values}
        return store.ask(question, **values, **arguments)

    return rows


class MissingData(Value, frozen=True, kw_only=True):
    """Why a report is incomplete, or cannot be made at all."""

    reason: str
    is_total: bool  # of all pages, so that an empty report would mean nothing


def find_missing_data(store: Store, reports: Sequence[Report]) -> dict[str, MissingData]:
    """What stored parts the reports miss, by code; without those that miss none."""
    if not any(report.needs for report in reports):
        return {}
    pages, *without = next(store.ask(Question.KEPT))
    missing = dict(zip(("links", "source"), without, strict=True))
    by_code: dict[str, MissingData] = {}
    for report in reports:
        part = max(report.needs, key=missing.__getitem__, default=None)
        if part and missing[part]:
            reason = f"{missing[part]:,} of {pages:,} pages were stored without their {part} (--no-{part})"
            by_code[report.code] = MissingData(reason=reason, is_total=missing[part] == pages)
    return by_code
