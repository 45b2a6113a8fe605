"""The audit of a web: how many findings each report has, the health score, and the change since an earlier round.

All functions here are pure. `audit_file` keeps the counts, `gossamer.auditing` counts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from gossamer.graph.reports.base import Severity, StoredParts
from gossamer.graph.reports.registry import REPORTS
from gossamer.model import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gossamer.graph.reports.base import MissingData, Report

# The share of the score that a report takes when it has as many findings as the web has pages, or more.
WEIGHTS = {Severity.ERROR: 0.3, Severity.WARNING: 0.1, Severity.NOTICE: 0.02, Severity.INFO: 0.0}
SCORE_TEXT = (
    "The health score is 100, multiplied by 1 - weight * share for each report with findings, rounded down."
    " The share is findings / pages, at most 1. The weight is 0.3 for errors, 0.1 for warnings and 0.02 for notices."
    " Overviews do not count. So 100 means that no report found anything."
)
MAX_ROUNDS = 50  # rounds whose counts are kept, for trends

COUNTED_REPORTS = tuple(report for report in REPORTS if "url" not in report.takes)


class WebState(Value, frozen=True, kw_only=True):
    """The state of a web that counts belong to."""

    identity: str  # which web this is
    round: int  # the last round begun, 0: none
    digest: str  # of everything that changes the answers of reports


class ReportCount(Value, frozen=True, kw_only=True):
    """The findings of one report at one state of the web."""

    findings: int
    counted_at: float  # Unix time
    state: str  # `WebState.digest`


class RoundCounts(Value, frozen=True, kw_only=True):
    """The last counts of one round."""

    round: int
    counted_at: float
    pages: int
    findings: dict[str, int]  # by report code
    beside_crawl: list[str] = msgspec.field(default_factory=list)  # codes counted while a crawler changed the web

    @property
    def settled_findings(self) -> dict[str, int]:
        """The findings that a later round can be compared with."""
        return {code: number for code, number in self.findings.items() if code not in self.beside_crawl}


class StoredCounts(Value, frozen=True, kw_only=True):
    """All counts that are kept for a web."""

    identity: str = ""
    pages: int = 0
    counts: dict[str, ReportCount] = msgspec.field(default_factory=dict)  # by report code
    rounds: list[RoundCounts] = msgspec.field(default_factory=list)  # oldest first
    parts: StoredParts | None = None  # what was stored of the pages
    parts_state: str = ""  # `WebState.digest` that the parts belong to

    def with_parts(self, state: WebState, parts: StoredParts) -> StoredCounts:
        """Return the counts with the parts stored of the pages."""
        known = self if self.identity == state.identity else StoredCounts(identity=state.identity)
        return msgspec.structs.replace(known, parts=parts, parts_state=state.digest)

    def with_counts(
        self, state: WebState, pages: int, counts: Mapping[str, ReportCount], *, beside_crawl: bool = False
    ) -> StoredCounts:
        """Return the counts with newer ones; those of another web are dropped."""
        known = self if self.identity == state.identity else StoredCounts(identity=state.identity)
        if not counts:
            return known
        earlier = [each for each in known.rounds if each.round != state.round]
        same = next((each for each in known.rounds if each.round == state.round), None)
        unsettled = {*(same.beside_crawl if same else ())} - counts.keys()
        this_round = RoundCounts(
            round=state.round,
            counted_at=max(each.counted_at for each in counts.values()),
            pages=pages,
            findings=(same.findings if same else {}) | {code: each.findings for code, each in counts.items()},
            beside_crawl=sorted(unsettled | counts.keys() if beside_crawl else unsettled),
        )
        return StoredCounts(
            identity=state.identity,
            pages=pages,
            counts=known.counts | dict(counts),
            rounds=[*earlier, this_round][-MAX_ROUNDS:],
            parts=known.parts,
            parts_state=known.parts_state,
        )

    def find_outdated(self, state: WebState, reports: Iterable[Report]) -> list[Report]:
        """Return the reports that have no count for a state."""
        if self.identity != state.identity:
            return list(reports)
        return [
            each for each in reports if (count := self.counts.get(each.code)) is None or count.state != state.digest
        ]


class AuditedReport(Value, frozen=True, kw_only=True):
    """One report in the audit."""

    report: Report
    findings: int | None  # None: not counted yet, or not possible
    counted_at: float | None
    is_current: bool  # whether the count belongs to the state of the web now
    change: int | None  # since the earlier round; None: not counted then
    unavailable: str = ""  # why the report cannot be made; "" when it can

    @property
    def is_overview(self) -> bool:
        """Whether its rows are facts instead of findings."""
        return self.report.severity is Severity.INFO


class Audit(Value, frozen=True, kw_only=True):
    """The findings of all reports, worst first."""

    score: int | None  # None: no page, or nothing counted
    change: int | None  # of the score since the earlier round
    since: float | None  # when the earlier round was counted
    pages: int
    reports: list[AuditedReport]

    @property
    def uncounted_reports(self) -> list[AuditedReport]:
        """The reports without a count, of those that can be made."""
        return [each for each in self.reports if each.findings is None and not each.unavailable]

    @property
    def is_complete(self) -> bool:
        """Whether every report that can be made has a count; before, the score is that so far."""
        return not self.uncounted_reports

    @property
    def outdated_reports(self) -> list[AuditedReport]:
        """The reports whose count belongs to an earlier state."""
        return [each for each in self.reports if each.findings is not None and not each.is_current]


def health_score(findings: Mapping[str, int], pages: int) -> int | None:
    """Return the score of a web: see `SCORE_TEXT`."""
    if not pages or not findings:
        return None
    score = 100.0
    for report in COUNTED_REPORTS:
        score *= 1 - WEIGHTS[report.severity] * min(1.0, findings.get(report.code, 0) / pages)
    return math.floor(score)


def make_audit(stored: StoredCounts, state: WebState, lacking: Mapping[str, MissingData]) -> Audit:
    """Return the audit of a web from its counts. `lacking` has the data that reports miss."""
    if stored.identity != state.identity:
        stored = StoredCounts(identity=state.identity)
    before = next(
        (each for each in reversed(stored.rounds) if each.round < state.round and each.settled_findings), None
    )
    unavailable = {code: lack.reason for code, lack in lacking.items() if lack.is_total}
    counts = {code: each for code, each in stored.counts.items() if code not in unavailable}
    findings = {code: each.findings for code, each in counts.items()}
    reports = [
        AuditedReport(
            report=each,
            findings=findings.get(each.code),
            counted_at=counts[each.code].counted_at if each.code in counts else None,
            is_current=each.code in counts and counts[each.code].state == state.digest,
            change=_change(findings, before, each.code),
            unavailable=unavailable.get(each.code, ""),
        )
        for each in COUNTED_REPORTS
    ]
    return Audit(
        score=health_score(findings, stored.pages),
        change=_score_change(findings, stored.pages, before),
        since=before.counted_at if before else None,
        pages=stored.pages,
        reports=sorted(reports, key=_badness),
    )


def _change(findings: Mapping[str, int], before: RoundCounts | None, code: str) -> int | None:
    if before is None or code not in before.settled_findings or code not in findings:
        return None
    return findings[code] - before.settled_findings[code]


def _score_change(findings: Mapping[str, int], pages: int, before: RoundCounts | None) -> int | None:
    """Compare the scores of the reports that were counted both times."""
    if before is None:
        return None
    both = findings.keys() & before.settled_findings.keys()
    now = health_score({code: findings[code] for code in both}, pages)
    then = health_score({code: before.findings[code] for code in both}, before.pages)
    return None if now is None or then is None else now - then


def _badness(each: AuditedReport) -> tuple[bool, bool, int, int]:
    """Order by: findings, then overviews, then none; within each by severity and number."""
    number = each.findings or 0
    return (not number and not _is_open(each), each.is_overview, each.report.severity.rank, -number)


def _is_open(each: AuditedReport) -> bool:
    """Whether a report may still turn out to have findings."""
    return each.findings is None and not each.unavailable
