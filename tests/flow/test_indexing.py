"""A real crawl is indexed while it runs, even if the index process is killed."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from contextlib import closing
from typing import TYPE_CHECKING

import psutil
import pytest

from gossamer import Crawler, open_web, wiring
from gossamer.index.protocol import Query
from helpers.cli.commands import FAST, command, crawl, environment, gossamer, query
from helpers.index.small_index import WEIGHTS
from helpers.patience import PATIENCE
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOSTILE = "evil\u202ereversed\x1b[31mred <script>alert(1)</script>"
PAGES = 30


@pytest.fixture
def site() -> Iterator[SiteServer]:
    links = "".join(f'<a href="/{number}">number {number}</a>' for number in range(PAGES))
    pages: dict[str, str | SiteResponse] = {
        f"/{number}": f"<html lang=en><title>Page {number}</title><p>Some eggs, and the {number}th ham."
        for number in range(PAGES)
    }
    pages["/"] = f"<html lang=en><title>Home {HOSTILE}</title><h1>Zebras</h1><p>An <b>egg</b>less zebra. {links}"
    pages["/hidden"] = "<html><meta name=robots content=noindex><title>Hidden zebra</title>"
    pages["/0"] = "<html lang=en><title>Zero</title><a href=/hidden>hidden</a>"
    with SiteServer(pages) as served:
        yield served


def indexed_ids(store: Path) -> set[int]:
    with closing(wiring.open_index(str(store))) as reader:
        assert (
            reader.version == reader.anchors_version == query(store, "SELECT value FROM meta WHERE key='version'")[0][0]
        )
        assert reader.count() == len(list(reader.ids())) == reader.match(Query(), WEIGHTS, limit=1).total
        return set(reader.ids())


def expected_ids(store: Path) -> set[int]:
    rows = query(store, "SELECT resource FROM texts JOIN resources ON id = resource WHERE noindex = 0")
    return {number for (number,) in rows}


def test_a_crawl_leaves_a_complete_index(site: SiteServer, tmp_path: Path) -> None:
    store = tmp_path / "web"
    crawl(site.url, store, *FAST)
    assert indexed_ids(store) == expected_ids(store)
    assert len(indexed_ids(store)) == PAGES + 1
    entry = json.loads(gossamer("word", "ZEBRA", "--store", store, "--json").stdout)
    assert (entry["word"], entry["df"]) == ("zebra", 1)
    assert entry["documents"][0]["fields"] == ["h1", "text"]


def test_no_index_is_built_until_the_index_command_runs(site: SiteServer, tmp_path: Path) -> None:
    store = tmp_path / "web"
    crawl(site.url, store, *FAST, "--no-index")
    assert not (store / "index").exists()
    missing = gossamer("word", "egg", "--store", store)
    assert missing.returncode == 2
    assert "gossamer index" in missing.stderr
    done = json.loads(gossamer("index", "--store", store, "--json").stdout)
    assert (done["documents"], done["set_aside"]) == (PAGES + 1, [])
    assert indexed_ids(store) == expected_ids(store)


def test_hostile_words_are_printed_escaped(site: SiteServer, tmp_path: Path) -> None:
    store = tmp_path / "web"
    crawl(site.url, store, *FAST)
    for word in ("reversed", "script", "31mred"):
        for options in ([], ["--json"]):
            shown = gossamer("word", word, "--store", store, *options)
            assert shown.returncode == 0, shown.stderr
            assert not {"\x1b", "\u202e", "\x07"} & set(shown.stdout + shown.stderr)
    odd = gossamer("word", "\x1b[31mred\u202e <script>", "--store", store)
    assert odd.returncode == 2
    assert not {"\x1b", "\u202e"} & set(odd.stdout + odd.stderr)


def test_a_crawl_survives_a_killed_index_process_and_the_next_catches_up(site: SiteServer, tmp_path: Path) -> None:
    store = tmp_path / "web"
    process = subprocess.Popen(
        command("crawl", site.url, "--store", store, "--delay", "0.1"), env=environment(), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    _kill_follower(process.pid)
    _, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "The index could not follow" in stderr
    assert len(query(store, "SELECT 1 FROM texts")) == PAGES + 2, "every page was stored"
    crawl(site.url, store, *FAST)
    assert indexed_ids(store) == expected_ids(store)


def _kill_follower(crawler: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for child in psutil.Process(crawler).children():
            if "gossamer.indexing" in child.cmdline():
                child.send_signal(signal.SIGKILL)
                return
        time.sleep(0.01)
    pytest.fail("there is no index process")


def test_two_crawls_of_one_web_share_one_index(site: SiteServer, tmp_path: Path) -> None:
    store = tmp_path / "web"
    crawl(site.url, store, *FAST, "--max-pages", "1")  # so that both crawls join the same round
    arguments = command("crawl", "--store", store, "--max-pages", "none", "--delay", "0.05")
    processes = [
        subprocess.Popen(
            arguments, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    stderr = [process.communicate(timeout=PATIENCE)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], stderr
    assert not any("could not" in one for one in stderr)
    assert indexed_ids(store) == expected_ids(store)
    assert len(indexed_ids(store)) == PAGES + 1


def test_a_forgotten_page_leaves_the_index_at_once(site: SiteServer, tmp_path: Path) -> None:
    store = tmp_path / "web"
    crawl(site.url, store, *FAST)
    before = indexed_ids(store)
    done = gossamer("forget", f"{site.url}7", "--store", store, "--yes")
    assert done.returncode == 0, done.stderr
    assert len(before - indexed_ids(store)) == 1
    assert indexed_ids(store) == expected_ids(store)


def test_the_library_indexes_pages_and_looks_up_words(site: SiteServer, tmp_path: Path) -> None:
    store = tmp_path / "web"
    crawler = Crawler(site.url, store=store, delay=0)
    for number, _ in enumerate(crawler):
        if number == 5:
            break
    assert crawler.index_fault == ""
    assert indexed_ids(store) == expected_ids(store)
    with open_web(store) as web:
        entry = web.word("Eggs", order="document", limit=2)
        assert entry.df >= 3
        assert [one.doc_id for one in entry.documents] == sorted(one.doc_id for one in entry.documents)
        assert entry.next == 2
        assert web.word("eggs", order="document", limit=2, page=2).documents[0].doc_id > entry.documents[-1].doc_id
        assert web.word("the").word_id == 0
        assert web.word("neverseen").documents == []
