"""The types of a report: `Report`, its severity, its options, and the data that it may lack."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from gossamer.model import Value
from gossamer.store.read.questions import Question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gossamer.graph import OnProgress
    from gossamer.store.protocol import ReportSource

ReportRow = tuple[Any, ...]
ColumnType = Literal["text", "integer", "number", "flag", "time"]

# Types of columns that are not text; a column name has the same type in every report.
COLUMN_TYPES: dict[ColumnType, frozenset[str]] = {
    "integer": frozenset(
        {
            "answers", "backlinks", "bytes", "bytes_before", "canonicals", "characters", "copies", "count", "depth",
            "equal_pages", "external", "final_status", "hops", "indexable", "inlinks", "line", "links", "links_out",
            "max", "nofollow", "other_pages", "p50", "p90", "p95", "p99", "pages", "plain_links", "plain_words",
            "resources", "status", "status_before", "targets", "texts", "weight", "words",
        }
    ),
    "number": frozenset({"share", "similarity"}),
    "flag": frozenset({"follow"}),
    "time": frozenset({"visited_at", "visited_before"}),
}  # fmt: skip


class Severity(StrEnum):
    """How serious the rows of a report are."""

    ERROR = "error"  # readers or search engines get an error
    WARNING = "warning"  # costs visitors or rank
    NOTICE = "notice"  # worth checking
    INFO = "info"  # an overview, not a finding

    @property
    def rank(self) -> int:
        """The order of severities; 0 is the worst."""
        return list(Severity).index(self)


def _ignore_progress(_: str) -> None:
    """Ignore the progress of a report."""


class ReportOptions(Value, frozen=True, kw_only=True):
    """Parameters of a report. Most reports need none."""

    resource: int | None = None  # DocID, for reports about one URL
    since: float = 0.0  # Unix time
    on_progress: OnProgress = _ignore_progress


class Report(Value, frozen=True, kw_only=True):
    """A report: what it finds, why that matters, what to do, and the function that makes its rows."""

    code: str  # never changes
    name: str
    severity: Severity
    finds: str  # title: what a row is
    why: str
    fix: str
    columns: tuple[str, ...]
    rows: Callable[[ReportSource, ReportOptions], Iterator[ReportRow]]
    needs: tuple[Literal["links", "source"], ...] = ()  # optional parts of a crawl that the report needs
    takes: tuple[Literal["url", "since"], ...] = ()

    @property
    def inspects(self) -> bool:
        """Whether the report reads stored texts or sources one by one; the store answers the others in SQL."""
        return not isinstance(self.rows, QuestionRows)

    def count(self, store: ReportSource, options: ReportOptions) -> int:
        """Return the number of rows."""
        if isinstance(self.rows, QuestionRows):
            return self.rows.count(store, options)
        return sum(1 for _ in self.rows(store, options))


def column_type(name: str) -> ColumnType:
    """Return the type of a column's values."""
    return next((kind for kind, names in COLUMN_TYPES.items() if name in names), "text")


class QuestionRows:
    """The `rows` of a report that is a single question to the store."""

    def __init__(self, question: Question, values: Mapping[str, str | float | bytes]) -> None:
        self._question = question
        self._values = values

    def __call__(self, store: ReportSource, options: ReportOptions) -> Iterator[ReportRow]:
        """Yield the rows."""
        return store.ask(self._question, **self._all_values(options))

    def count(self, store: ReportSource, options: ReportOptions) -> int:
        """Return the number of rows without reading them."""
        return store.count_answer(self._question, **self._all_values(options))

    def _all_values(self, options: ReportOptions) -> dict[str, str | float | bytes]:
        option_values = {"resource": options.resource or 0, "since": options.since}
        arguments = {name: option_values[name] for name in self._question.values if name in option_values}
        return {**self._values, **arguments}


def question_rows(question: Question, **values: str | float | bytes) -> QuestionRows:
    """Return the `rows` function of a report that is a single question to the store."""
    return QuestionRows(question, values)


class StoredParts(Value, frozen=True, kw_only=True):
    """The number of fetched pages, and of those stored without an optional part."""

    pages: int
    without_links: int
    without_source: int


class MissingData(Value, frozen=True, kw_only=True):
    """Why a report is incomplete or not available."""

    reason: str
    is_total: bool  # missing for all pages: an empty report would mean nothing


def find_missing_data(store: ReportSource, reports: Sequence[Report]) -> dict[str, MissingData]:
    """Return the missing data of reports by code, without complete reports."""
    return missing_data(count_stored_parts(store), reports) if any(report.needs for report in reports) else {}


def count_stored_parts(store: ReportSource) -> StoredParts:
    """Count the pages and what was stored of them. This reads every page, so its answer is kept with the counts."""
    pages, without_links, without_source = next(store.ask(Question.KEPT))
    return StoredParts(pages=pages, without_links=without_links, without_source=without_source)


def missing_data(parts: StoredParts, reports: Sequence[Report]) -> dict[str, MissingData]:
    """Return the missing data of reports by code, from what was counted before."""
    pages, missing = parts.pages, {"links": parts.without_links, "source": parts.without_source}
    by_code: dict[str, MissingData] = {}
    for report in reports:
        part = max(report.needs, key=missing.__getitem__, default=None)
        if part and missing[part]:
            reason = f"{missing[part]:,} of {pages:,} pages were stored without their {part} (--no-{part})"
            by_code[report.code] = MissingData(reason=reason, is_total=missing[part] == pages)
    return by_code
