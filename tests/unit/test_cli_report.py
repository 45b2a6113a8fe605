"""The command `report`: names, output formats and exit codes."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from gossamer import open_web
from gossamer.cli import report as command
from gossamer.cli.main import run
from gossamer.cli.output import cell_width
from gossamer.errors import UsageError
from gossamer.graph.reports.base import COLUMN_TYPES, Severity
from gossamer.graph.reports.registry import REPORTS, THEMES
from gossamer.store.sqlite import open_sqlite_store
from helpers.cli.terminal import gossamer_on_terminal
from helpers.store.crawl_steps import Bond, digest, start, visit_all
from helpers.store.small_web import SEED, build

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "=cmd|' /C calc'!A0"


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of the small web, ./web."""
    monkeypatch.chdir(tmp_path)
    build(tmp_path / "web").close()
    return tmp_path / "web"


def report_output(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    with pytest.raises(SystemExit) as end:
        run(["report", *arguments])
    answer = capsys.readouterr()
    assert end.value.code == code, answer.err
    return answer.err if code == 2 else answer.out


def lines_on_terminal(*arguments: str, columns: int) -> list[str]:
    """Return the lines that stay on a terminal, without the progress line."""
    session = gossamer_on_terminal(*arguments, columns=columns)
    assert session.code == 0, session.output
    return re.sub(r"[^\n]*\r\x1b\[K", "", session.output).split("\n")


def report_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(report_output(capsys, *arguments, "--json"))


# -- list of reports ---------------------------------------------------------------------------------------------------


def test_codes_and_names_are_unique_and_differ_from_groups() -> None:
    names = [name for report in REPORTS for name in (report.code.lower(), report.name)]
    assert len({*names, *THEMES, "all"}) == len(names) + len(THEMES) + 1
    assert all(re.fullmatch(r"[A-Z]{3}\d{3}", report.code) for report in REPORTS)


# Codes are permanent, so this list only grows.
CODES = """
    CAN001 CAN002 CAN003 DSC001 DSC002 DSC003 DUP001 DUP002 DUP003 HDG001 HDG002 HDG003 HDG004 HRL001 HRL002 HRL003
    HRL004 HTM001 LNK001 LNK002 LNK003 LNK010 LNK011 LNK012 LNK013 LNK020 LNK021 LNK022 LNK023 LNK030 MAP001 MAP002
    MAP003 MAP004 RED001 RED002 RED003 RED004 RED005 ROB001 TTL001 TTL002 TTL003 WEB001 WEB002 WEB003 WEB004 WEB005
    WEB006 WEB007
"""


def test_no_report_code_disappears() -> None:
    assert {report.code for report in REPORTS} >= set(CODES.split())


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.code)
def test_every_report_explains_reason_and_fix_in_sentences(report: Any) -> None:
    assert all(re.fullmatch(r"[A-Z`].*\.", text) for text in (report.why, report.fix))
    assert not report.finds.endswith(".")
    assert len(report.finds) <= 100


def test_every_typed_column_belongs_to_a_report() -> None:
    columns = {column for report in REPORTS for column in report.columns}
    assert {name for names in COLUMN_TYPES.values() for name in names} <= columns


def test_all_reports_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    lines = report_output(capsys, "--list").splitlines()
    assert len(lines) == len(REPORTS) + 1
    assert [each["code"] for each in report_json(capsys, "--list")["reports"]] == [report.code for report in REPORTS]


def test_explain_describes_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    answer = report_output(capsys, "--explain", "lnk001")
    for line in ("LNK001 broken (error)", "Why it matters: Readers", "What to do: Correct the link", "Columns: source"):
        assert line in answer
    (report,) = report_json(capsys, "--explain", "LNK001")["reports"]
    assert report.keys() == {"code", "report", "severity", "finds", "why", "fix", "columns", "needs"}


@pytest.mark.parametrize("name", ["brokn", "LNK0001"])
@pytest.mark.usefixtures("web")
def test_an_unknown_report_name_suggests_a_known_one(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Did you mean" in report_output(capsys, name, code=2)


# -- formats -----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("web")
def test_a_report_is_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    answer = report_json(capsys, "broken")
    assert {name: answer[name] for name in ("report", "code", "severity")} == {
        "report": "broken", "code": "LNK001", "severity": "error",
    }  # fmt: skip
    assert [row["url"] for row in answer["rows"]] == [f"{SEED}missing", f"{SEED}slow"]
    assert answer["rows"][0] == {
        "source": SEED, "url": f"{SEED}missing", "status": 404, "outcome": "not found", "anchor": "a broken\tlink",
        "position": "content", "kind": "hyperlink", "weight": 1, "reason": "Not Found",
    }  # fmt: skip


@pytest.mark.usefixtures("web")
def test_a_report_without_rows_is_valid_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert report_json(capsys, "redirect-loops")["rows"] == []


@pytest.mark.usefixtures("web")
def test_several_reports_share_one_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    answer = report_json(capsys, "LNK001", "orphans", "broken")
    assert [each["code"] for each in answer["reports"]] == ["LNK001", "WEB004"]
    assert answer["unavailable"] == {}


@pytest.mark.usefixtures("web")
def test_groups_and_all_leave_out_reports_that_need_a_url(capsys: pytest.CaptureFixture[str]) -> None:
    links = [each["report"] for each in report_json(capsys, "links")["reports"]]
    assert "broken" in links
    assert "inlinks" not in links
    assert len(report_json(capsys, "all")["reports"]) == len(REPORTS) - 2


@pytest.mark.usefixtures("web")
def test_a_report_in_a_pipe_is_a_tab_separated_table(capsys: pytest.CaptureFixture[str]) -> None:
    head, first, second = report_output(capsys, "broken").splitlines()
    assert head.split("\t")[:4] == ["source", "url", "status", "outcome"]
    assert first.split("\t")[4] == "a broken\\tlink"
    assert "\\x1b]0;owned" in second


@pytest.mark.usefixtures("web")
def test_a_report_on_a_terminal_shows_its_title_and_next_steps() -> None:
    answer = gossamer_on_terminal("report", "broken", "--limit", "1", columns=120)
    assert answer.code == 0
    assert "LNK001 broken (error): Links that lead nowhere: 2 found, 1 shown\n" in answer.output
    assert "Only the first 1 shown; --limit 0 shows all." in answer.output
    assert "gossamer report --explain LNK001" in answer.output


@pytest.mark.parametrize(("limit", "rows"), [("1", 1), ("0", 2)])
@pytest.mark.parametrize("format_flag", ["--json", "--csv", "--table"])
@pytest.mark.usefixtures("web")
def test_a_limit_applies_to_every_format(
    limit: str, rows: int, format_flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = report_output(capsys, "broken", "--limit", limit, format_flag)
    assert answer.count(f"{SEED}missing") + answer.count(f"{SEED}slow") == rows


def test_no_csv_cell_is_a_spreadsheet_formula(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_sqlite_store(tmp_path / "web", create=True)
    a = "http://a.test/"
    texts = [HOSTILE, "+1", "-1", "@SUM(A1)", "\tx", "fine, thanks"]
    visit_all(store, start(store, a), {a: [Bond(f"{a}{n}", anchor=text) for n, text in enumerate(texts)]})
    store.close()
    rows = list(csv.DictReader(io.StringIO(report_output(capsys, "broken", "--csv"))))
    assert [row["anchor"].strip() for row in rows] == [
        f"'{HOSTILE}", "'+1", "'-1", "'@SUM(A1)", "x", "fine, thanks",
    ]  # fmt: skip
    assert all(row["status"] == "404" for row in rows)


@pytest.mark.usefixtures("web")
def test_a_csv_holds_one_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert "CSV holds one report" in report_output(capsys, "broken", "orphans", "--csv", code=2)


# -- overview ----------------------------------------------------------------------------------------------------------


def overview(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    answer = report_json(capsys, *arguments)
    return {each["code"]: each for each in answer["reports"]} | {"score": answer["score"]}


@pytest.mark.usefixtures("web")
def test_the_overview_has_the_totals_of_all_reports(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {each["code"]: len(each["rows"]) for each in report_json(capsys, "all")["reports"]}
    counted = overview(capsys)
    assert {code: counted[code]["findings"] for code in rows} == rows
    assert all(counted[code]["current"] for code in rows)
    assert 0 < counted["score"] < 100


@pytest.mark.usefixtures("web")
def test_the_overview_is_counted_once_for_a_state_of_the_web(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = overview(capsys), overview(capsys)
    assert first == second  # with the times of the counts
    assert overview(capsys, "--recount")["LNK001"]["counted_at"] > first["LNK001"]["counted_at"]


def test_the_overview_compares_with_the_round_before(web: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert overview(capsys)["LNK001"]["change"] is None
    store = open_sqlite_store(web, create=False)
    store.begin_round("{}", [SEED], None, None)
    store.forget(digest(f"{SEED}missing"))
    store.close()
    assert overview(capsys)["LNK001"]["change"] == -1


@pytest.mark.usefixtures("web")
def test_the_overview_fits_the_terminal_worst_first() -> None:
    lines = lines_on_terminal("report", columns=80)
    assert [line for line in lines if cell_width(line) > 80] == []
    assert lines[0].startswith("Health score ")
    assert next(line.split()[1:3] for line in lines if "error" in line) == ["error", "broken"]
    assert "What is behind a number: gossamer report broken" in lines


@pytest.mark.usefixtures("web")
def test_the_overview_in_a_pipe_is_tab_separated(capsys: pytest.CaptureFixture[str]) -> None:
    head, first, *others = report_output(capsys).splitlines()
    assert head.split("\t") == ["findings", "change", "severity", "report", "code", "counted", "finds"]
    assert first.split("\t")[:5] == ["2", "", "error", "broken", "LNK001"]
    assert len(others) == len(REPORTS) - 3  # without the first, and two about one URL


@pytest.mark.parametrize(("severity", "code"), [("error", 1), ("notice", 1)])
@pytest.mark.usefixtures("web")
def test_the_overview_exits_with_code_1_for_findings(
    severity: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    report_output(capsys, "--fail-on", severity, code=code)


def test_the_overview_needs_no_place_for_its_counts(web: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (web / "reports").write_text("a file where the directory of the counts would be")
    assert overview(capsys)["LNK001"]["findings"] == 2


def test_the_health_score_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert "weight is 0.3 for errors" in report_output(capsys, "--explain", "score")


# -- tables on a terminal ----------------------------------------------------------------------------------------------


@pytest.fixture
def template_web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Crawl sixty pages whose footer has the same broken link."""
    monkeypatch.chdir(tmp_path)
    store = open_sqlite_store(tmp_path / "web", create=True)
    pages = [f"http://a.test/{'long-' * 12}{number}/page.html" for number in range(60)]
    site = {page: [Bond("http://a.test/gone", anchor="Legal")] for page in pages}
    visit_all(store, start(store, "http://a.test/"), {"http://a.test/": pages, **site})
    store.close()


@pytest.mark.usefixtures("template_web")
def test_a_terminal_shows_short_paths_and_common_facts_once() -> None:
    lines = lines_on_terminal("report", "broken", "--limit", "3", columns=80)
    assert lines[0].endswith("Links that lead nowhere: 60 found, 3 shown")
    assert "Paths are on http://a.test" in lines
    assert any("In all rows: url /gone" in line for line in lines)
    assert [line for line in lines if cell_width(line) > 80] == []


@pytest.mark.usefixtures("template_web")
def test_a_cut_path_can_be_seen_whole() -> None:
    cut = gossamer_on_terminal("report", "broken", "--limit", "3", columns=60).output
    assert "…" in cut
    assert "--wide shows them whole" in cut
    whole = gossamer_on_terminal("report", "broken", "--limit", "3", "--wide", columns=60).output
    assert f"http://a.test/{'long-' * 12}0/page.html" in whole
    assert "…" not in whole


@pytest.mark.usefixtures("template_web")
def test_a_table_longer_than_the_screen_goes_to_the_pager() -> None:
    pager = "sed s/^/paged:/"
    long, short = (gossamer_on_terminal("report", "broken", "--limit", n, pager=pager).output for n in ("50", "3"))
    assert all(line.startswith("paged:") for line in long.splitlines() if "/page.html" in line)
    assert "paged:" not in short
    unpaged = gossamer_on_terminal("report", "broken", "--limit", "50", "--no-pager", pager=pager).output
    assert "paged:" not in unpaged


@pytest.mark.usefixtures("template_web")
def test_a_missing_pager_does_not_hide_the_table() -> None:
    output = gossamer_on_terminal("report", "broken", "--limit", "50", pager="/no/such/pager").output
    assert output.count("/page.html") == 50


# -- exit codes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "severity", "code"),
    [
        (("broken",), "error", 1),
        (("broken",), "warning", 1),
        (("broken",), "notice", 1),
        (("redirect-loops",), "error", 0),  # nothing found
        (("descriptions-missing",), "warning", 0),  # found, but less severe
        (("descriptions-missing",), "notice", 1),
        (("status", "depth"), "notice", 0),  # overviews are not findings
        (("redirect-loops", "broken", "depth"), "error", 1),
    ],
)
@pytest.mark.usefixtures("web")
def test_fail_on_exits_with_code_1_for_findings_that_severe(
    names: tuple[str, ...], severity: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    report_output(capsys, *names, "--fail-on", severity, code=code)
    assert severity in {each.value for each in Severity}


@pytest.mark.usefixtures("web")
def test_findings_exit_with_code_0_without_fail_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert report_output(capsys, "broken")


# -- arguments of a report ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("web")
def test_inlinks_and_outlinks_need_a_known_url(capsys: pytest.CaptureFixture[str]) -> None:
    rows = report_json(capsys, "inlinks", "--url", "example.org/a")["rows"]
    assert [(row["source"], row["anchor"], row["weight"], row["follow"]) for row in rows] == [(SEED, "to a", 2, True)]
    assert "give it with --url" in report_output(capsys, "inlinks", code=2)
    assert "is not known in this web" in report_output(capsys, "outlinks", "--url", "https://nowhere.example/", code=2)


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("90s", 1_000_000 - 90), ("1.5h", 1_000_000 - 5_400), ("2w", 1_000_000 - 1_209_600),
        ("1970-01-02", 86_400.0), ("1970-01-01T01:00+01:00", 0.0),
    ],
)  # fmt: skip
def test_since_accepts_durations_and_dates(written: str, moment: float) -> None:
    assert command._parse_moment(written, 1_000_000) == moment


@pytest.mark.usefixtures("web")
def test_an_invalid_since_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "is not a time" in report_output(capsys, "changes", "--since", "yesterday", code=2)


# -- missing sources ---------------------------------------------------------------------------------------------------


def test_a_report_that_needs_missing_sources_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    build(tmp_path / "web", source=False).close()
    assert "2 of 2 pages were stored without their source (--no-source)" in report_output(
        capsys, "html", "--json", code=2
    )
    assert "could not run" in report_output(capsys, "html", "redirect-loops", "--fail-on", "warning", code=2)
    report_output(capsys, "html", "redirect-loops", "--fail-on", "error")  # malformed pages are a warning
    report_output(capsys, "html", "broken", "--fail-on", "warning", code=1)
    answer = report_json(capsys, "html", "broken")
    assert [each["code"] for each in answer["reports"]] == ["LNK001"]
    assert list(answer["unavailable"]) == ["HTM001"]


# -- the library -------------------------------------------------------------------------------------------------------


def test_the_library_returns_rows_by_column(web: Path) -> None:
    with open_web(str(web)) as stored:
        assert [row["url"] for row in stored.report("LNK001")] == [f"{SEED}missing", f"{SEED}slow"]
        (row,) = stored.report("inlinks", url=f"{SEED}a")
    assert (row["source"], row["follow"]) == (SEED, True)


@pytest.mark.parametrize("name", ["links", "inlinks", "nonsense"])
def test_the_library_refuses_groups_unknown_names_and_missing_urls(name: str, web: Path) -> None:
    with open_web(str(web)) as stored, pytest.raises(UsageError):
        stored.report(name)
