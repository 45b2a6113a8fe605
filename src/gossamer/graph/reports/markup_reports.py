"""The report about markup faults, and `inspect_sources`, which runs a check on stored page sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from gossamer.graph.reports.base import Report, Severity
from gossamer.graph.reports.inspection import inspect_pages
from gossamer.graph.reports.inspector import InspectionJob
from gossamer.store.read.questions import Question

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.graph.reports.base import ReportOptions, ReportRow
    from gossamer.graph.reports.inspector import InspectionResult
    from gossamer.store.protocol import ReportSource


def inspect_sources(
    store: ReportSource, question: Question, check: Literal["hreflang", "markup"], options: ReportOptions
) -> Iterator[tuple[str, InspectionResult]]:
    """Yield the URL and the result of a check for each page that the question returns."""
    urls: dict[int, str] = {}

    def jobs() -> Iterator[InspectionJob]:
        for page, url, charset, source in store.ask(question):
            urls[page] = url
            yield InspectionJob(page, check, url, charset, source)

    for number, result in enumerate(inspect_pages(jobs()), start=1):
        options.on_progress(f"{number:,} pages inspected")
        yield urls.pop(result.page), result


def _markup_rows(store: ReportSource, options: ReportOptions) -> Iterator[ReportRow]:
    for url, result in inspect_sources(store, Question.SOURCES, "markup", options):
        yield from ((url, *fault) for fault in result.rows)
        if result.failure:
            yield url, "could not be looked into", 1, None, result.failure


REPORTS = (
    Report(
        code="HTM001",
        name="html",
        severity=Severity.WARNING,
        finds="Faults in the markup of pages",
        why="Browsers guess the intended markup, and other browsers may guess differently from yours.",
        fix="Correct the markup near `line`; `detail` has the parser's message, or the ids.",
        columns=("url", "fault", "count", "line", "detail"),
        rows=_markup_rows,
        needs=("source",),
    ),
)
