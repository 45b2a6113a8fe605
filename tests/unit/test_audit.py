"""The audit of a web: score, order, trend, and the counts that are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gossamer.graph.reports.audit import (
    COUNTED_REPORTS,
    MAX_ROUNDS,
    ReportCount,
    StoredCounts,
    WebState,
    health_score,
    make_audit,
)
from gossamer.graph.reports.audit_file import add_counts, counting_lock, is_counting, read_counts
from gossamer.graph.reports.base import MissingData

if TYPE_CHECKING:
    from pathlib import Path

PAGES = 100


def state(number: int = 1, digest: str = "now", identity: str = "web") -> WebState:
    return WebState(identity=identity, round=number, digest=digest)


def counts(*, state_digest: str = "now", at: float = 10.0, **findings: int) -> dict[str, ReportCount]:
    return {code: ReportCount(findings=number, counted_at=at, state=state_digest) for code, number in findings.items()}


def names(stored: StoredCounts) -> list[str]:
    return [each.report.name for each in make_audit(stored, state(), {}).reports]


# -- score -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("findings", "score"),
    [
        ({"LNK001": 0}, 100),
        ({"LNK001": 1}, 99),  # rounded down: 100 means that nothing was found
        ({"LNK001": 50}, 85),  # an error on half of the pages
        ({"LNK001": 5_000}, 70),  # a report takes 30 points at most
        ({"TTL001": 100}, 90),
        ({"DSC001": 100}, 98),
        ({"LNK001": 100, "TTL001": 100}, 63),
        ({"WEB003": 100}, 100),  # an overview finds nothing
        ({}, None),
    ],
)
def test_the_score_falls_with_the_share_of_findings(findings: dict[str, int], score: int | None) -> None:
    assert health_score(findings, PAGES) == score


def test_a_web_without_pages_has_no_score() -> None:
    assert health_score({"LNK001": 0}, 0) is None


# -- order and trend ---------------------------------------------------------------------------------------------------


def test_reports_are_ordered_by_severity_then_findings_and_zeros_come_last() -> None:
    all_counted: dict[str, Any] = {report.code: 0 for report in COUNTED_REPORTS} | {
        "DSC001": 90, "TTL001": 3, "TTL002": 5, "LNK001": 1, "WEB003": 7,
    }  # fmt: skip
    order = names(StoredCounts().with_counts(state(), PAGES, counts(**all_counted)))
    assert order[:5] == ["broken", "titles-duplicate", "titles-missing", "descriptions-missing", "depth"]


def test_a_report_that_is_not_counted_yet_stands_before_reports_without_findings() -> None:
    all_but_html: dict[str, Any] = {report.code: 0 for report in COUNTED_REPORTS if report.name != "html"}
    stored = StoredCounts().with_counts(state(), PAGES, counts(**all_but_html))
    assert names(stored)[0] == "html"
    assert [each.report.name for each in make_audit(stored, state(), {}).uncounted_reports] == ["html"]


def test_the_trend_compares_with_the_last_counts_of_an_earlier_round() -> None:
    stored = StoredCounts().with_counts(state(1), PAGES, counts(at=1.0, LNK001=60, TTL001=5))
    stored = stored.with_counts(state(1), PAGES, counts(at=2.0, LNK001=50))  # counted again in the same round
    stored = stored.with_counts(state(2), PAGES, counts(at=3.0, LNK001=0, TTL001=7, DSC001=4))
    audit = make_audit(stored, state(2), {})
    assert (audit.since, audit.score, audit.change) == (2.0, 99, 99 - 84)
    assert {each.report.code: each.change for each in audit.reports if each.change} == {"LNK001": -50, "TTL001": 2}


def test_the_trend_of_the_score_ignores_reports_counted_only_once() -> None:
    stored = StoredCounts().with_counts(state(1), PAGES, counts(LNK001=0))
    stored = stored.with_counts(state(2), PAGES, counts(LNK001=0, HTM001=100))
    audit = make_audit(stored, state(2), {})
    assert (audit.score, audit.change) == (90, 0)


def test_counts_taken_beside_a_crawl_are_nothing_to_compare_with() -> None:
    stored = StoredCounts().with_counts(state(1), PAGES, counts(at=1.0, LNK001=60))
    stored = stored.with_counts(state(2), PAGES, counts(at=2.0, LNK001=1), beside_crawl=True)
    stored = stored.with_counts(state(3), PAGES, counts(at=3.0, LNK001=50))
    audit = make_audit(stored, state(3), {})
    assert (audit.since, audit.reports[0].change) == (1.0, -10)


def test_a_count_after_the_crawl_replaces_one_beside_it() -> None:
    stored = StoredCounts().with_counts(state(1), PAGES, counts(LNK001=1, TTL001=1), beside_crawl=True)
    stored = stored.with_counts(state(1), PAGES, counts(LNK001=60))
    stored = stored.with_counts(state(2), PAGES, counts(LNK001=50, TTL001=50))
    changes = {each.report.code: each.change for each in make_audit(stored, state(2), {}).reports}
    assert (changes["LNK001"], changes["TTL001"]) == (-10, None)


def test_a_first_crawl_has_no_trend() -> None:
    audit = make_audit(StoredCounts().with_counts(state(), PAGES, counts(LNK001=1)), state(), {})
    assert (audit.change, audit.since, audit.reports[0].change) == (None, None, None)


def test_a_count_of_an_older_state_is_shown_as_such() -> None:
    stored = StoredCounts().with_counts(state(digest="before"), PAGES, counts(state_digest="before", LNK001=1))
    assert [each.report.name for each in make_audit(stored, state(digest="now"), {}).outdated_reports] == ["broken"]


def test_a_report_that_misses_data_is_unavailable_instead_of_counted() -> None:
    lacking = {"LNK001": MissingData(reason="no links", is_total=True)}
    stored = StoredCounts().with_counts(state(), PAGES, counts(LNK001=0, TTL001=0))
    broken = next(each for each in make_audit(stored, state(), lacking).reports if each.report.name == "broken")
    assert (broken.findings, broken.unavailable) == (None, "no links")


# -- kept counts -------------------------------------------------------------------------------------------------------


def test_counts_of_another_web_at_the_same_place_are_dropped() -> None:
    old = StoredCounts().with_counts(state(identity="old"), PAGES, counts(LNK001=1))
    assert old.with_counts(state(), PAGES, counts(TTL001=2)).counts.keys() == {"TTL001"}
    assert make_audit(old, state(), {}).score is None


def test_old_rounds_are_forgotten() -> None:
    stored = StoredCounts()
    for number in range(1, MAX_ROUNDS + 10):
        stored = stored.with_counts(state(number), PAGES, counts(LNK001=number))
    assert [each.round for each in stored.rounds] == list(range(10, MAX_ROUNDS + 10))


def test_counts_survive_in_their_file(tmp_path: Path) -> None:
    added = add_counts(tmp_path / "reports", state(), PAGES, counts(LNK001=3))
    assert read_counts(tmp_path / "reports") == added
    assert add_counts(tmp_path / "reports", state(), PAGES, counts(TTL001=1)).counts.keys() == {"LNK001", "TTL001"}


@pytest.mark.parametrize("content", [b"", b"{", b'{"counts": 3}', b"\xff"])
def test_a_damaged_file_of_counts_is_as_good_as_none(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "counts.json").write_bytes(content)
    assert read_counts(tmp_path) == StoredCounts()


def test_one_process_at_a_time_counts_in_the_background(tmp_path: Path) -> None:
    assert not is_counting(tmp_path / "none")
    with counting_lock(tmp_path) as is_mine:
        assert is_mine
        assert is_counting(tmp_path)
        with counting_lock(tmp_path) as is_also_mine:
            assert not is_also_mine
    assert not is_counting(tmp_path)
