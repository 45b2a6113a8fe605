"""One page, one question or one damaged file takes nothing from other clients of `serve`, which says what is wrong."""

from __future__ import annotations

import os
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import psutil
import pytest

from gossamer.basics.page_budget import MAX_ANSWER_BYTES, MAX_ANSWER_POSITIONS, MAX_VIEW_CHARACTERS
from helpers.cli.commands import FAST, crawl
from helpers.patience import until
from helpers.web.served_app import App, page, served_app, site
from webs.served import SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONG_WORD_COUNT = 400_000
MAX_MIB = 400


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Serve a page of one repeated word, and one of a repeated pair of Chinese characters."""
    pages = site() | {"/": page("Webs", "All", ("/long", "long"), ("/cjk", "cjk"), ("/dew", "dew"))}
    pages["/long"] = page("Long", "silk " * LONG_WORD_COUNT)
    pages["/cjk"] = page("Han", "漢字" * 300_000)
    with served_app(tmp_path_factory.mktemp("truth"), pages) as served:
        yield served


def processes(app: App) -> list[psutil.Process]:
    server = psutil.Process(app.serving.pid)
    return [server, *server.children()]


def mebibytes(app: App) -> float:
    """Return the memory of the server and its search process, without pages that they share."""
    return float(sum(process.memory_full_info().uss for process in processes(app))) / (1 << 20)


def kill_search_process(app: App) -> None:
    (search_process,) = processes(app)[1:]
    search_process.kill()


def is_answering(app: App) -> bool:
    return app.get("/api/search", params={"q": "silk"}).status_code == 200


def graph_urls(app: App) -> set[str]:
    return set(app.get("/api/graph", params={"level": "pages"}).json()["nodes"]["key"])


def test_views_of_a_giant_page_are_cut_and_cost_little(app: App) -> None:
    with ThreadPoolExecutor(4) as pool:
        question = {"url": f"{app.web}long", "q": "silk"}
        views = [future.result() for future in [pool.submit(app.get, "/page", params=question) for _ in range(4)]]
    for view in views:
        assert view.status_code == 200
        assert len(view.text) < 3 * MAX_VIEW_CHARACTERS
        assert 0 < view.text.count("<mark>") <= 5_000
        assert "only the beginning of the text" in view.text
    assert mebibytes(app) < MAX_MIB


def test_the_text_of_a_giant_page_comes_whole_in_pieces(app: App) -> None:
    answer = app.get("/api/text", params={"url": f"{app.web}long"})
    text = answer.json()
    assert sum(run["text"].count("silk") for run in text["text"]) == LONG_WORD_COUNT
    assert "cut" not in text
    assert len(answer.content) < MAX_ANSWER_BYTES
    short = app.get("/api/text", params={"url": f"{app.web}dew"})
    assert short.headers["etag"]
    assert "cut" not in short.json()


@pytest.mark.parametrize("path", ["/source", "/source/raw"])
def test_the_source_of_a_giant_page_is_cut(app: App, path: str) -> None:
    view = app.get(path, params={"url": f"{app.web}long"})
    assert view.status_code == 200
    assert 1 << 20 <= len(view.text) < (1 << 20) + 100_000


def test_a_word_answer_has_a_limited_number_of_positions(app: App) -> None:
    entry = app.get("/api/word/silk", params={"limit": 1000}).json()
    first = entry["documents"][0]
    assert first["tf"] == LONG_WORD_COUNT
    assert first["cut"]
    assert 0.9 * MAX_ANSWER_POSITIONS < sum(len(one["positions"]) for one in entry["documents"]) <= MAX_ANSWER_POSITIONS
    assert all(len(one["positions"]) == one["tf"] and "cut" not in one for one in entry["documents"][1:])
    assert len(first["positions"]) == len(first["fields"])


def test_a_long_phrase_without_spaces_gets_an_answer(app: App) -> None:
    for path in ("/api/search", "/search"):
        assert app.get(path, params={"q": "漢字" * 32}).status_code == 200


def test_a_killed_search_process_costs_only_its_clients(app: App) -> None:
    assert is_answering(app)
    before = processes(app)[1].pid
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(app.get, "/api/search", params={"q": f"silk {number}"}) for number in range(100)]
        until(answers[20].done)
        kill_search_process(app)
        statuses = {future.result().status_code for future in answers}
    assert statuses <= {200, 503}
    until(lambda: is_answering(app), "a new search process")
    assert processes(app)[1].pid != before
    assert app.get("/healthz").json()["status"] == "ok"


def test_truncated_index_files_do_not_end_the_server(tmp_path: Path) -> None:
    with served_app(tmp_path, site()) as app:
        assert is_answering(app)
        for file in (app.store / "index").glob("*/pages/*.*"):
            if file.suffix not in {".lock", ".json"}:
                os.truncate(file, 0)
        for word in ("dew", "wind"):
            answer = app.get("/api/search", params={"q": word})
            assert answer.status_code == 503
            assert answer.headers["retry-after"]
            assert "index" in answer.json()["detail"]
        assert app.get("/healthz").status_code == 503
        assert "gossamer index --rebuild" in app.get("/").text
        assert app.get("/page", params={"url": app.web, "q": "dew"}).status_code == 200


def test_a_web_made_again_under_the_server_is_read_again(tmp_path: Path) -> None:
    with served_app(tmp_path, site()) as app:
        assert app.get("/api/search", params={"q": "gossamer"}).json()["total"] > 1
        assert app.web in graph_urls(app)
        shutil.rmtree(app.store)
        until(lambda: app.get("/healthz").status_code == 503, "the server to miss its web")
        until(lambda: not is_answering(app), "the search process to miss its web")
        assert "no web" in app.get("/api/search", params={"q": "gossamer"}).json()["detail"]
        with SiteServer({"/": page("Other", "A different web about gossamer.")}) as other:
            crawl(other.url, app.store, *FAST)
            until(lambda: is_answering(app), "the server to find the new web")
            hits = app.get("/api/search", params={"q": "gossamer"}).json()["hits"]
            assert [hit["url"] for hit in hits] == [other.url]
            hosts = app.get("/api/hosts").json()["hosts"]
            assert len(hosts) == 1
            assert graph_urls(app) <= {other.url}


def test_a_damaged_database_is_no_empty_answer(tmp_path: Path) -> None:
    with served_app(tmp_path, site()) as app:
        assert is_answering(app)
        with closing(sqlite3.connect(app.store / "web.db")) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = (app.store / "web.db").stat().st_size
        with (app.store / "web.db").open("r+b") as file:
            for offset in range(4096, size, 4096):  # every page but the first, which holds the schema
                file.seek(offset)
                file.write(b"\0" * 4096)
        answers = [app.get("/api/search", params={"q": word}) for word in ("dew", "wind", "prey")]
        for answer in answers:
            assert answer.status_code == 503 or answer.json()["total"] == len(answer.json()["hits"])
        assert any(answer.status_code == 503 for answer in answers)
        assert app.get("/healthz").status_code == 503
